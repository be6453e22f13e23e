"""What hostile files are made from and what programs read that are killed: text, a data folder, a
checkpoint of each kind, states, maps, vectors, sequences and a finished run, all of them tiny."""

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from fairseq_xling import USER_DIR
from tests.end_to_end.engine import checked, command
from tests.tiny_sources import write_folder, write_tokenizer

_TRAIN = (
    f"--user-dir {USER_DIR} --cpu --num-workers 0 --max-update 1 --optimizer adam --lr 1e-3 "
    "--no-epoch-checkpoints --disable-validation --no-progress-bar --log-format json "
    "--log-interval 1 --save-dir"
)
_SMALL = (
    "--encoder-layers 2 --encoder-embed-dim 16 --encoder-ffn-embed-dim 32 --max-positions 48 "
    "--max-tokens 256"
)
_CDLM = (
    f"fairseq-train {{w}}/data --task cdlm --arch tri_bert_tiny --criterion unified_lm {_SMALL} "
    "--lm-head linear --norm-eps 1e-5 --objectives cdlm"
)
_EXTRACT = "fairseq-xling extract {w}/lm.pt --data {w}/data"
_CLCR = "fairseq-train {w}/data --task clcr --arch clcr --criterion clcr --max-tokens 300"
_TUNE = (
    "fairseq-train {w}/data --task cross_lingual_transfer --arch cross_lingual_transfer "
    "--criterion cross_lingual_transfer --encoder {w}/lm.pt --batch-size 8"
)
_TAGS = "{w}/text/gold/tags"
_TEXT = "{w}/text/parallel/test.en-de"
_NLI = "{w}/text/gold/nli"

# Carried out in this order, in the world's folder ``{w}``, which the steps write to. A training's
# last checkpoint becomes FOLDER.pt.
STEPS = [
    "fairseq-xling synthesize text --sentences 40 --held-out 10 --parallel-sentences 40 "
    "--annotated 16 --nli 16",
    "fairseq-xling prepare data --languages en,de --from text --vocab-type word --vocab-size 300",
    "fairseq-train {w}/data --task bilingual_mlm --arch separable_transformer_tiny --criterion "
    f"unified_lm {_SMALL} --sample-break-mode sentence {_TRAIN} lm",
    f"{_CDLM} --auxiliary order {_TRAIN} translator",
    f"{_TUNE} --head pos --columns token=0,tag=1 --train-file en={_TAGS}.train.en.tsv "
    f"--valid-file en={_TAGS}.valid.en.tsv "
    f"--read-layer 1 --head-layers 1 --freeze-encoder --unknown-labels wrong {_TRAIN} pos",
    *(
        f"{_EXTRACT} --lang {lang} --text {_TEXT}.{lang}.txt --output sentences-{lang}"
        for lang in ("en", "de")
    ),
    "fairseq-xling map procrustes sentences-de sentences-en --pairs rows --output map.safetensors",
]
# What only the full list of cases needs.
MORE_STEPS = [
    # Trained until sentences have several pivots, which `clcr order` is about.
    f"{_CLCR} --encoder en={{w}}/lm.pt,de={{w}}/lm.pt "
    f"{_TRAIN.replace('--max-update 1', '--max-update 60')} clcr",
    "fairseq-xling init lm.pt --data data --arch tri_bert_tiny --output start.pt --num-segments 2 "
    "--source-vectors source.safetensors",
    *(
        f"{_CDLM} --trelm-phase {phase} --finetune-from-model {{w}}/start.pt {_TRAIN} {phase}"
        for phase in ("forward", "backward")
    ),
    f"{_CDLM} --emission ctc --finetune-from-model {{w}}/translator.pt {_TRAIN} slots",
    "fairseq-xling clcr label clcr.pt --output labels --threshold 100 --splits train,valid,test",
    f"{_CLCR} --clcr-start {{w}}/clcr.pt --clcr-labels labels --clcr-module extract {_TRAIN} "
    "points",
    f"{_CLCR} --clcr-start {{w}}/points.pt --clcr-labels labels --clcr-module order --order rel "
    f"{_TRAIN} order",
    *(
        f"{_EXTRACT} --unit {unit} --lang {lang} --text {_TEXT}.{lang}.txt --output {unit}-{lang}"
        for unit in ("types", "tokens")
        for lang in ("en", "de")
    ),
    *(
        f"{_TUNE} --head {head} --train-file en={file} --valid-file en={file} {_TRAIN} {name}"
        for head, name, file in (
            ("parsing_pos", "parse", "{w}/text/gold/train.en.conllu"),
            ("span_qa", "questions", "{w}/squad.json"),
        )
    ),
    "fairseq-train --task adversarial_tagging --arch adversarial_tagger --criterion "
    "adversarial_tagging --languages en,de --vectors en={w}/en.vec,de={w}/de.vec --columns "
    f"token=0,tag=2 --train-file en={_TAGS}.train.en.tsv --valid-file en={_TAGS}.valid.en.tsv "
    f"--text-file de={{w}}/text/mono/train.de.txt --adversary reversal --batch-size 8 {_TRAIN} "
    "names",
    "fairseq-xling shortlist data --from en --to de --output shortlist.safetensors",
    "fairseq-train --task bilstm_baseline --arch bilstm_baseline --criterion "
    "cross_lingual_transfer --languages en --train-file en={w}/text/gold/train.en.conllu "
    "--valid-file en={w}/text/gold/valid.en.conllu --batch-size 8 "
    f"--lstm-layers 1 --lstm-hidden 4 --word-dim 4 --tag-dim 4 {_TRAIN} lstm",
    "fairseq-xling eval tatoeba sentences-en sentences-de --output tatoeba.json",
    "fairseq-xling probe convert text/gold/train.en.conllu --task pos --output rows.jsonl",
    "fairseq-xling probe texts rows.jsonl --output rows.txt",
    f"fairseq-xling align intersection {_TEXT}.de.txt {_TEXT}.en.txt --output links",
    *(
        f"fairseq-xling clcr texts {_NLI}.{split}.tsv --output {split}"
        for split in (
            "train.en",
            "valid.en",
            "test.de",
        )
    ),
    *(
        f"fairseq-xling clcr encode clcr.pt --row T --lang {name[-2:]} --text {text} "
        f"--output sequences/{name}"
        for name, text in {
            "x.en": f"{_TEXT}.en.txt",
            "y.de": f"{_TEXT}.de.txt",
            "rows/en": "rows.txt",
            **{
                f"{side}/nli.{split}": f"{split}.{side}"
                for split in ("train.en", "valid.en", "test.de")
                for side in ("premise", "hypothesis")
            },
        }.items()
    ),
    "fairseq-xling struct train --train en=structures.jsonl --valid en=structures.jsonl --epochs 1 "
    "--features pos,entity,relation --output structures",
    "fairseq-xling eval transfer --encoder {w}/lm.pt --data {w}/data --head ner "
    "--columns token=0,tag=2 --epochs 1 "
    f"--train en={_TAGS}.train.en.tsv --valid en={_TAGS}.valid.en.tsv --lrs 1e-3 "
    f"--test en={_TAGS}.test.en.tsv --test de={_TAGS}.test.de.tsv --output ner",
]


SQUAD = (
    '{"data": [{"paragraphs": [{"context": "the dog sees the cat", "qas": [{"id": "1", '
    '"question": "who", "answers": [{"text": "dog", "answer_start": 4}]}]}]}]}'
)
_KBP37 = '1\t" <e1> Ann </e1> sees the dog of <e2> Bob </e2> "\nx(e1,e2)\n\n\n'
_STRUCTURE = (
    '{"id": "1", "words": ["the", "dog", "sees", "the", "cat"], '
    '"upos": ["DET", "NOUN", "VERB", "DET", "NOUN"], "heads": [2, 3, 0, 5, 3], '
    '"deprels": ["det", "nsubj", "root", "det", "obj"], '
    '"entities": [{"span": [1, 2], "type": "A"}, {"span": [4, 5], "type": "A"}], '
    '"triggers": [{"span": [2, 3], "type": "see"}], '
    '"relations": [{"from": 0, "to": 1, "label": "sees"}], '
    '"arguments": [{"trigger": 0, "entity": 0, "role": "Agent"}]}\n'
)


@dataclass(frozen=True)
class World:
    """``root`` has the results of the steps; hostile cases read them and change nothing."""

    root: Path

    def copy(self, name: str, here: Path) -> Path:
        """A file or folder of the world in a case's own folder, to be damaged there."""
        source, target = self.root / name, here / name
        if source.is_dir():
            shutil.copytree(source, target)
        else:
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, target)
        return target


def _carry_out(root: Path, steps: Sequence[str]) -> None:
    for step in steps:
        program, *words = step.replace("{w}", str(root)).split()
        done = checked(command(program, *words), cwd=root)
        if program == "fairseq-train":
            name = words[-1]
            (root / name / "checkpoint_last.pt").rename(root / f"{name}.pt")
            shutil.rmtree(root / name)
            (root / f"{name}.log").write_text(done.stdout + done.stderr)


def build_world(root: Path) -> None:
    """Carry out `STEPS` in the empty folder ``root``."""
    _carry_out(root, STEPS)


def write_vectors(path: Path, text: Path) -> None:
    """Vectors of the words of a text, in fastText's format."""
    words = sorted(set(text.read_text().split()))
    rows = np.random.default_rng(len(words)).normal(size=(len(words), 8))
    lines = [f"{w} {' '.join(f'{x:.3f}' for x in row)}" for w, row in zip(words, rows, strict=True)]
    path.write_text("\n".join([f"{len(words)} 8", *lines]) + "\n")


def complete_world(world: World) -> World:
    """The ``world`` with what every call of `tests.hostile.calls` reads."""
    (world.root / "squad.json").write_text(SQUAD)
    for lang in ("en", "de"):
        write_vectors(world.root / f"{lang}.vec", world.root / f"text/mono/train.{lang}.txt")
    (world.root / "structures.jsonl").write_text(2 * _STRUCTURE)
    (world.root / "kbp.txt").write_text(_KBP37)
    _carry_out(world.root, MORE_STEPS)
    write_folder(world.root / "hf", "bert")
    write_tokenizer(world.root / "hf")
    (world.root / "features.tsv").write_text("language\tverb\nen\tVO\nde\tVO\n")
    return world
