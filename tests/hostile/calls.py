"""How every command is called: a valid call of each verb and of each of fairseq's programs.

``{w}/`` is the folder of valid files (`tests.tiny_world`). Where a checkpoint is read stands one
of `CHECKPOINTS` in the call; the cases of `tests.hostile.checkpoints` put a hostile one in its
place. A new verb, or a new argument for a checkpoint, fails the test of this table, which says what
to add.
"""

import argparse
import dataclasses
import re
from collections.abc import Iterator

from fairseq_xling import USER_DIR
from fairseq_xling.command_line import verbs
from fairseq_xling.engine.lean import lean_engine

CHECKPOINTS = (
    *("lm", "start", "forward", "backward", "translator", "slots"),
    *("pos", "clcr", "points", "order", "names", "parse", "lstm"),
)

_DATA = "--data {w}/data"
_TEXT = "{w}/text/parallel/test.en-de.en.txt"
_TEXTS = "{w}/text/parallel/test.en-de.en.txt {w}/text/parallel/test.en-de.de.txt"
_ROWS = "--train en={w}/rows.jsonl --valid en={w}/rows.jsonl --test en={w}/rows.jsonl"
_NLI = "{w}/text/gold/nli"
_TUNING = (
    "--encoder {w}/lm.pt --data {w}/data --head pos --columns token=0,tag=1 --epochs 1 --lrs 1e-3 "
    "--train en={w}/text/gold/tags.train.en.tsv --valid en={w}/text/gold/tags.valid.en.tsv "
    "--test en={w}/text/gold/tags.test.en.tsv --test de={w}/text/gold/tags.test.de.tsv "
    "--output out"
)
_CLCR = (
    "--data {w}/data --encoder en={w}/lm.pt --encoder de={w}/lm.pt --transform-steps 1 "
    "--lm-steps 1 --extract-steps 1 --order-steps 1 --every 1 --warmup 1 --max-tokens 300 "
    "--encode-text test.en={w}/text/parallel/test.en-de.en.txt --output out"
)
_TRELM = (
    "--source {w}/lm.pt --source-data {w}/data --text {w}/text --languages en,de --vocab-type word "
    "--vocab-size 300 --embeddings random --mapping none --commonality-steps 1 --transfer-steps 1 "
    "--language-steps 1 --warmup 0 --every 1 --batch-size 16 --output out"
)
_STUDY = "--data-text {w}/text --languages en,de --updates 1 --every 1 --layers 2 --output out"
_TASK = (
    "--tasks pos --task-head pos --task-columns token=0,tag=1 "
    "--task-train en={w}/text/gold/tags.train.en.tsv "
    "--task-valid en={w}/text/gold/tags.valid.en.tsv "
    "--task-test de={w}/text/gold/tags.test.de.tsv"
)
_READY = "--encoder en={w}/lm.pt --encoder de={w}/lm.pt --data en={w}/data --data de={w}/data"
_STRUCTURES = (
    "--train en={w}/structures.jsonl --valid en={w}/structures.jsonl "
    "--test en={w}/structures.jsonl --encoder {w}/lm.pt --encoder-data {w}/data --epochs 1 "
    "--trees {w}/parse.pt --trees-data {w}/data "
    "--output out"
)
_MAP = "{w}/sentences-de {w}/sentences-en --pairs rows --output map"

# Verb (sub-verbs after a space) to a call that ends well. `--dry-run` where a run takes long: a
# plan is refused for the same reasons as the run.
VERBS = {
    "ablate adversarial-tagging": "--train {w}/text/gold/tags.train.{lang}.tsv --valid "
    "{w}/text/gold/tags.valid.{lang}.tsv --test {w}/text/gold/tags.test.{lang}.tsv "
    "--unlabelled {w}/text/mono/train.{lang}.txt --columns token=0,tag=2 --output out --dry-run",
    "ablate clcr-pairs": f"{_CLCR} --sizes 20,40 --rows T --train en={_NLI}.train.en.tsv "
    f"--valid en={_NLI}.valid.en.tsv --test de={_NLI}.test.de.tsv --threshold 9 --dry-run",
    "ablate clcr-readings": f"{_CLCR} --readings second,finetune --rows T "
    f"--train en={_NLI}.train.en.tsv --valid en={_NLI}.valid.en.tsv "
    f"--test de={_NLI}.test.de.tsv --threshold 9 --dry-run",
    "ablate emerging-structure": f"{_STUDY} --settings A1 --dry-run",
    "ablate mapped-layers": f"--data-text {{w}}/text {_READY} --output out --dry-run",
    "ablate similarity": f"--data-text {{w}}/text {_READY} --same false --rows mapped "
    "--output out --dry-run",
    "ablate size-window": f"{_STUDY} --models glove --sizes 20 --windows 8,4 --vocab-type word "
    "--vocab-size 300 --dim 4 --vector-epochs 1 --ready m={w}/lm.pt:{w}/data --dry-run",
    "ablate token-translation": f"{_STUDY} --tasks pos --dry-run",
    **{
        f"ablate trelm-{study}": f"{_TRELM} --tasks pos,parsing --dry-run"
        for study in ("baselines", "compensated", "init", "objectives", "parts", "translators")
    },
    "ablate trelm-parallel": f"{_TRELM} --sizes 20 --dry-run",
    "ablate trelm-transfers": f"{_TRELM} --multilingual {{w}}/lm.pt --multilingual-data {{w}}/data "
    "--tasks pos,parsing --dry-run",
    "align": f"fwd {_TEXTS} --encoder {{w}}/lm.pt {_DATA} --languages en,de --output links",
    "check": "{w}/data",
    "clcr": "",
    "clcr-classify": f"--train en={_NLI}.train.en.tsv --valid en={_NLI}.valid.en.tsv "
    f"--test de={_NLI}.test.de.tsv "
    "--vectors T={w}/sequences/{side}/{file} --epochs 1 --output out",
    "clcr-encode": f"{{w}}/clcr.pt {_DATA} --text {_TEXT} --lang en --row T --output out",
    "clcr-label": f"{{w}}/clcr.pt {_DATA} --threshold 100 --output out",
    "clcr-measure curves": "one={w}/clcr.log --tag train_inner --output out.json",
    "clcr-measure keypoints": f"{{w}}/points.pt {_DATA} --labels {{w}}/labels --split test "
    "--output out.json",
    "clcr-measure order": f"{{w}}/order.pt {_DATA} --labels {{w}}/labels --split train "
    "--output out.json",
    "clcr-measure report": "{w}/sequences/x.en {w}/sequences/y.de --checkpoint {w}/clcr.pt "
    f"{_DATA} --text en={_TEXT} --output out.json",
    "clcr-measure show": f"{{w}}/points.pt {_DATA} --labels {{w}}/labels --split test "
    "--output out.json",
    "clcr-probe": f"{_DATA} --vectors T={{w}}/sequences/{{file}}/en {_ROWS} --epochs 1 "
    "--output out",
    "clcr-run": f"{_CLCR} --dry-run",
    "clcr-texts": f"{_NLI}.test.en.tsv --output texts",
    "clcr-train": f"{_CLCR} --dry-run",
    "combine": "{w}/forward.pt {w}/backward.pt --output combined.pt",
    "demo": "--scale tiny --output out --dry-run",
    "embed train": "{w}/data --dim 4 --epochs 1 --output vectors.safetensors",
    "embed link": "{w}/data --pair en-de --source-vectors {w}/source.safetensors "
    "--output vectors.safetensors",
    "embed words": f"{{w}}/data --lang en --text {_TEXT} --dim 4 --epochs 1 --buckets 100 "
    "--min-count 1 --output out",
    "embed inspect": "{w}/source.safetensors --word ▁the --output out",
    "eval": f"{{w}}/lm.pt {_DATA}",
    "eval-aligned": "{w}/tokens-de {w}/tokens-en --alignments {w}/links --output out.json",
    "eval-bli": "{w}/types-en {w}/types-de --dictionary {w}/text/dictionary/en-de.tsv "
    "--output out.json",
    "eval-cka": "{w}/sentences-en {w}/sentences-de --output out.json",
    "eval-correlate": "{w}/tatoeba.json {w}/tatoeba.json --output out.json",
    "eval-matrix": f"{_TUNING} --dry-run",
    "eval-meanshift": "{w}/sentences-en {w}/sentences-de --output out.json",
    "eval-overlap": "{w}/ner --output out",
    "eval-tatoeba": "{w}/sentences-en {w}/sentences-de --output out.json",
    "eval-transfer": f"{_TUNING} --dry-run",
    "eval-word-order": "{w}/ner --features {w}/features.tsv --output out",
    "export": f"{{w}}/lm.pt {_DATA} --shortlist {{w}}/shortlist.safetensors --output out",
    "extract": f"{{w}}/lm.pt {_DATA} --lang en --text {_TEXT} --output out",
    "import": "{w}/hf --languages en --output out",
    "init": f"{{w}}/lm.pt {_DATA} --arch tri_bert_tiny --output start.pt",
    "map adversarial": "--source-vectors {w}/source.safetensors --vectors {w}/source.safetensors "
    "--epochs 1 --epoch-size 64 --hidden 8 --seeds 1 --chance 1 --keep-failed --output v",
    "map identical": "--source-vectors {w}/source.safetensors --vectors {w}/source.safetensors "
    "--refine 1 --seeds 1 --chance 1 --keep-failed --output v",
    "map contextual": "{w}/tokens-de {w}/tokens-en --alignments {w}/links --output map",
    "map meeting": _MAP,
    "map procrustes": _MAP,
    "map unconstrained": _MAP,
    "map apply": "{w}/map.safetensors {w}/sentences-de --output out",
    "mean": f"{{w}}/lm.pt {_DATA} --lang en --text {_TEXT} --output mean",
    "predict": f"{{w}}/pos.pt en={{w}}/text/gold/tags.test.en.tsv {_DATA} "
    "--unknown-labels wrong --output out",
    "predict-mapped": f"{{w}}/pos.pt de={{w}}/text/gold/tags.test.de.tsv {_DATA} "
    "--encoder {w}/lm.pt --encoder-data {w}/data --map none --layer 1 --output out",
    "prepare": "out --languages en,de --from {w}/text --vocab-type word --vocab-size 300",
    "probe": f"{{w}}/lm.pt {_DATA} {_ROWS} --epochs 1 --output out",
    "probe-convert": "{w}/text/gold/test.en.conllu --task pos --output rows.jsonl",
    "probe-texts": "{w}/rows.jsonl --output texts",
    "realign": "{w}/text/gold/tags.test.en.tsv --words {w}/text/parallel/test.en-de.en.txt "
    "--columns token=0,tag=2 --output words.tsv",
    "report": "{w}/tatoeba.json --output out --figures out/figures --figure-width 3.3",
    "shortlist": "{w}/data --from en --to de --output out.safetensors",
    "struct matrix": f"--task roles {_STRUCTURES} --seeds 1",
    "struct predict": "{w}/structures de={w}/kbp.txt --format kbp37 --trees {w}/parse.pt "
    "--trees-data {w}/data --output out",
    "struct train": f"{_STRUCTURES} --pool mean",
    "synthesize": "out --sentences 4 --held-out 2 --parallel-sentences 4 --annotated 2",
    "translate": f"{{w}}/translator.pt {_DATA} --shortlist {{w}}/shortlist.safetensors --from en "
    f"--to de --input {_TEXT} --output out.txt",
    "translate-mds": f"{{w}}/lm.pt {_DATA} --from en --to de --text {_TEXT} --layer 1 --alpha 1 "
    "--output out.txt",
    "trelm run": f"{_TRELM} --dry-run",
    "user-dir": "",
}
# Further calls of a verb, by the name of each: its first options are in the name.
FORMS = {
    "align gdfa": f"{_TEXTS} --output links",
} | {
    f"export --format {name}": f"{{w}}/lm.pt {_DATA} --output out"
    for name in ("hf", "sentence-transformers")
}
# A verb that only points to others, and so has no call that ends well.
POINTERS = {"clcr"}

_PLUGIN = f"--user-dir {USER_DIR} --cpu --num-workers 0"
_SMALL = (
    f"{_PLUGIN} --encoder-layers 2 --encoder-embed-dim 16 --encoder-ffn-embed-dim 32 "
    "--max-positions 48 --max-tokens 256 --sample-break-mode sentence"
)
_TRAIN = (
    "--optimizer adam --lr 1e-3 --max-update 2 --no-epoch-checkpoints --disable-validation "
    "--no-progress-bar --save-dir out"
)
_LM = (
    "{w}/data --task bilingual_mlm --arch separable_transformer_tiny --criterion unified_lm "
    f"{_SMALL} {_TRAIN}"
)
_TRI = (
    "{w}/data --task cdlm --arch tri_bert_tiny --criterion unified_lm --objectives cdlm "
    f"--lm-head linear --norm-eps 1e-5 {_SMALL} {_TRAIN}"
)
_POS = (
    "{w}/data --task cross_lingual_transfer --arch cross_lingual_transfer --criterion "
    "cross_lingual_transfer --head pos --columns token=0,tag=1 --batch-size 8 "
    "--train-file en={w}/text/gold/tags.train.en.tsv --valid-file "
    f"en={{w}}/text/gold/tags.valid.en.tsv {_PLUGIN} {_TRAIN}"
)
_ALIGNED = (
    f"{{w}}/data --task clcr --arch clcr --criterion clcr --max-tokens 300 {_PLUGIN} {_TRAIN}"
)
_TAGGER = (
    "--task adversarial_tagging --arch adversarial_tagger --criterion adversarial_tagging "
    "--languages en,de --vectors en={w}/en.vec,de={w}/de.vec --columns token=0,tag=2 "
    "--train-file en={w}/text/gold/tags.train.en.tsv --valid-file "
    "en={w}/text/gold/tags.valid.en.tsv --text-file de={w}/text/mono/train.de.txt "
    f"--adversary reversal --batch-size 8 {_PLUGIN} {_TRAIN}"
)
_BASELINE = (
    "--task bilstm_baseline --arch bilstm_baseline --criterion cross_lingual_transfer "
    "--languages en --train-file en={w}/text/gold/train.en.conllu --valid-file "
    "en={w}/text/gold/valid.en.conllu --lstm-layers 1 --lstm-hidden 4 --word-dim 4 --tag-dim 4 "
    f"--batch-size 8 {_PLUGIN} {_TRAIN}"
)
# fairseq's programs, by a name for each call.
PROGRAMS = {
    "fairseq-train": _LM,
    "fairseq-train --restore-file": f"{_LM} --restore-file {{w}}/lm.pt",
    "fairseq-train --finetune-from-model": f"{_LM} --finetune-from-model {{w}}/lm.pt",
    "fairseq-train --initial-encoder": f"{_LM} --objectives word-alignment "
    "--criterion word_alignment --directions en-de --initial-encoder {w}/lm.pt",
    "fairseq-train cdlm": f"{_TRI} --trelm-phase forward --finetune-from-model {{w}}/start.pt",
    "fairseq-train cross_lingual_transfer": f"{_POS} --encoder {{w}}/lm.pt",
    "fairseq-train cross_lingual_transfer --map": f"{_POS} --encoder {{w}}/lm.pt "
    "--map {w}/map.safetensors",
    "fairseq-train cross_lingual_transfer --concat-vectors": f"{_POS} --encoder {{w}}/lm.pt "
    "--concat-vectors en={w}/en.vec,de={w}/de.vec",
    "fairseq-train clcr": f"{_ALIGNED} --encoder en={{w}}/lm.pt,de={{w}}/lm.pt",
    "fairseq-train clcr --clcr-start": f"{_ALIGNED} --clcr-start {{w}}/clcr.pt --clcr-phase lm1",
    "fairseq-train adversarial_tagging": _TAGGER,
    "fairseq-train adversarial_tagging --restore-file": f"{_TAGGER} --restore-file {{w}}/names.pt",
    "fairseq-train bilstm_baseline": _BASELINE,
    "fairseq-train bilstm_baseline --restore-file": f"{_BASELINE} --restore-file {{w}}/lstm.pt",
    "fairseq-validate": f"{{w}}/data --path {{w}}/lm.pt --task bilingual_mlm --max-tokens 256 "
    f"{_PLUGIN}",
    "fairseq-generate": f"{{w}}/data --path {{w}}/translator.pt --task cdlm --source-lang en "
    f"--target-lang de --gen-subset test --max-tokens 256 {_PLUGIN}",
    "fairseq-interactive": "{w}/data --path {w}/translator.pt --task cdlm --source-lang en "
    f"--target-lang de --input {_TEXT} --max-tokens 256 {_PLUGIN}",
}


def calls() -> dict[str, str]:
    """Every call by its name, with the program first."""
    ours = {name: f"fairseq-xling {name} {text}" for name, text in (VERBS | FORMS).items()}
    return ours | {name: f"{name.split()[0]} {text}" for name, text in PROGRAMS.items()}


def checkpoint_places(text: str) -> Iterator[tuple[int, str]]:
    """The words of a call that name a checkpoint, by number, with the checkpoint's name."""
    for number, word in enumerate(text.split()):
        for name in re.findall(r"\{w\}/(\w+)\.pt", word)[:1]:
            yield number, name


def parsers() -> dict[str, argparse.ArgumentParser]:
    """The parser of every verb, those of sub-verbs under "verb sub-verb"."""
    found: dict[str, argparse.ArgumentParser] = {}

    def visit(name: str, parser: argparse.ArgumentParser) -> None:
        inner = [a for a in parser._actions if isinstance(a, argparse._SubParsersAction)]
        for action in inner:
            for word, sub in action.choices.items():
                visit(f"{name} {word}", sub)
        if not inner:
            found[name] = parser

    for name, verb in verbs().items():
        parser = argparse.ArgumentParser()
        verb.add_arguments(parser)
        visit(name, parser)
    return found


# What speaks of checkpoints and encoders, in the help of an argument that reads one.
_READS = re.compile(
    r"checkpoint|trained encoder|source encoder|^model file|the encoder of the files", re.I
)
# Arguments that speak of checkpoints and read none.
_READS_NONE = {
    "--checkpoint": "which of a training's own: last or best",
    "--every": "a number of steps",
    "--output": "written",
    "--source-data": "a folder",
    "--encoder-data": "a folder",
    "--multilingual-data": "a folder",
    "--ready": "read by the steps, as `eval` and `eval transfer` read theirs",
    "--scratch": "read as --encoder is, for its sizes",
    "--dim": "a number",
    "--source-vectors": "written",
    "--teacher": "a model of the engine's own task: tests/unit/papers/trelm/test_teacher.py",
}


def checkpoint_arguments(parser: argparse.ArgumentParser) -> list[str]:
    """The arguments of a verb that read a checkpoint, as far as its parser tells."""
    return [
        name
        for action in parser._actions
        for name in [action.option_strings[-1] if action.option_strings else action.dest]
        if _READS.search(f"{action.metavar or ''} {action.help or ''}") and name not in _READS_NONE
    ]


def checkpoint_fields() -> Iterator[tuple[str, str]]:
    """(owner, option) of every option of our tasks and models whose help names a checkpoint."""
    lean_engine()
    from fairseq.models import MODEL_DATACLASS_REGISTRY
    from fairseq.tasks import TASK_DATACLASS_REGISTRY

    import fairseq_xling.plugin  # noqa: F401

    for registry in (TASK_DATACLASS_REGISTRY, MODEL_DATACLASS_REGISTRY):
        for owner, config in registry.items():
            if config is None or not config.__module__.startswith("fairseq_xling."):
                continue
            for field in dataclasses.fields(config):
                help = str(field.metadata.get("help", ""))
                if re.match(r"checkpoint|the two encoders", help):
                    yield owner, f"--{field.name.replace('_', '-')}"
