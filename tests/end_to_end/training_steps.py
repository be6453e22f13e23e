"""A short training of every criterion and of every registered part that has a loss, on tiny data.

A new emission, adversary or output of a tagger is covered as soon as it is registered; a head needs
an entry below, with its options, and a criterion a case: tests fail until they have one.
"""

import json
import tempfile
from collections.abc import Sequence
from pathlib import Path

import torch

from fairseq_xling import USER_DIR
from fairseq_xling.cli import main
from fairseq_xling.mapping.fitted import FittedMap, LayerMap, Side, write_map
from fairseq_xling.mapping.steps import Step
from fairseq_xling.models.auxiliary import auxiliary_heads
from fairseq_xling.models.emissions import emissions
from fairseq_xling.models.ordering import order_heads
from fairseq_xling.models.tagging.adversaries import adversaries
from fairseq_xling.models.tagging.outputs import outputs
from fairseq_xling.tasks.heads import heads
from tests.end_to_end.engine import in_process
from tests.tiny_world import SQUAD, write_vectors

UPDATES = 2  # with --adversary flip, one of each kind

_TRAINER = (
    f"--optimizer adam --lr 1e-3 --max-update {UPDATES} --num-workers 0 --no-progress-bar "
    "--disable-validation --no-save --log-format json --log-interval 1"
).split()
SMALL = (
    "--encoder-layers 2 --encoder-embed-dim 16 --encoder-ffn-embed-dim 32 --max-positions 48 "
    "--max-tokens 256 --sample-break-mode sentence"
)
LM = f"--task bilingual_mlm --arch separable_transformer_tiny --criterion unified_lm {SMALL}"
CDLM = (
    "--task cdlm --arch tri_bert_tiny --criterion unified_lm --directions en-de,de-en "
    f"--mix-in-batch {SMALL}"
)
_TAGGER = (
    "--task adversarial_tagging --arch adversarial_tagger --criterion adversarial_tagging "
    "--languages en,de --vectors en={w}/en.vec,de={w}/de.vec --columns token=0,tag=2 "
    "--train-file en={w}/text/gold/tags.train.en.tsv "
    "--valid-file en={w}/text/gold/tags.valid.en.tsv --batch-size 4 --encoder-hidden 6 "
    "--tagger-hidden 5"
)
TRANSFER = (
    "{w}/data --task cross_lingual_transfer --arch cross_lingual_transfer --criterion "
    "cross_lingual_transfer --encoder {w}/lm.pt --batch-size 4"
)
_BASELINE = (
    "--task bilstm_baseline --arch bilstm_baseline --criterion cross_lingual_transfer "
    "--languages en --batch-size 4"
)
CLCR = "{w}/data --task clcr --arch clcr --criterion clcr --max-tokens 300"
START = "--encoder en={w}/lm.pt,de={w}/lm.pt"
_LABELLED = (
    f"{CLCR} --clcr-start {{w}}/clcr/checkpoint_last.pt --clcr-labels {{w}}/labels --clcr-module"
)

# By head, what its training file and format are.
HEADS = {
    "classification": "--train-file en={w}/text/gold/nli.train.en.tsv",
    "multiple_choice": "--train-file en={w}/choices.jsonl",
    "ner": "--columns token=0,tag=2 --train-file en={w}/text/gold/tags.train.en.tsv",
    "parsing": "--train-file en={w}/text/gold/train.en.conllu",
    "parsing_pos": "--train-file en={w}/text/gold/train.en.conllu",
    "pos": "--columns token=0,tag=1 --train-file en={w}/text/gold/tags.train.en.tsv",
    "slots": "--columns token=0,tag=2 --train-file en={w}/text/gold/tags.train.en.tsv",
    "span_qa": "--train-file en={w}/squad.json",
    "srl": "--head-options senses=yes --train-file en={w}/frames.conll09",
}
AUXILIARY = {"order": "", "relative": "", "nsp": "--objectives cdlm,nsp"}


def cases() -> dict[str, str]:
    """By name the options of a training; a name begins with the criterion's."""
    found = {
        "unified_lm": f"{{w}}/data {LM} --objectives mlm,tlm --mix-in-batch",
        "unified_lm private": f"{{w}}/data {LM} --separate emb,1-2",
        "unified_lm weights": f"{{w}}/data {CDLM} --objective-weights mlm=0.5",
        "word_alignment": "{w}/data --task cdlm --arch separable_transformer_tiny --criterion "
        f"word_alignment --objectives word-alignment --directions en-de {SMALL} "
        "--initial-encoder {w}/lm.pt "
        "--finetune-from-model {w}/lm.pt",
        "clcr": f"{CLCR} {START}",
        "clcr extract": f"{_LABELLED} extract --confident",
        "clcr extract copies": f"{_LABELLED} extract --extract-encoder finetune",
        "cross_lingual_transfer vectors": f"{TRANSFER} --head pos {HEADS['pos']} "
        "--concat-vectors en={w}/en.vec,de={w}/de.vec",
        "cross_lingual_transfer map": f"{TRANSFER} --head pos {HEADS['pos']} --map {{w}}/map",
    }
    for name in emissions:
        shown = "" if emissions[name].in_order else "--glancing 0.5 --glancing-end 0.5"
        options = f"{CDLM} --emission {name} {shown}"
        found[f"unified_lm {name}"] = f"{{w}}/data {options}"
        found[f"unified_lm {name} alone"] = f"{{w}}/data {options} --objectives cdlm"
    for name in auxiliary_heads:
        options = f"{CDLM} --auxiliary {name} {AUXILIARY[name]}"
        found[f"unified_lm {name}"] = f"{{w}}/data {options}"
    for name in order_heads:
        found[f"clcr {name}"] = f"{_LABELLED} order --order {name}"
    for name in heads:
        found[f"cross_lingual_transfer {name}"] = f"{TRANSFER} --head {name} {HEADS[name]}"
        if heads[name].reads_tags:
            options = f"{_BASELINE} --head {name} {HEADS[name]}"
            found[f"cross_lingual_transfer {name} without an encoder"] = options
    for name in outputs:
        for adversary in adversaries:
            options = f"{_TAGGER} --tagger {name} --adversary {adversary}"
            if adversaries[adversary].discriminates:
                options += " --text-file de={w}/text/mono/train.de.txt"
            found[f"adversarial_tagging {adversary} {name}"] = options
    return found


def needs_labels(options: str) -> bool:
    """Whether a case reads what `make_labels` writes."""
    return "{w}/labels" in options


def train(root: Path, options: str, device: Sequence[str] = ("--cpu",)) -> str:
    """The output of a training of a case, in this process."""
    words = [*options.format(w=root).split(), *_TRAINER, *device]
    with tempfile.TemporaryDirectory() as folder:
        return in_process("train", *words, "--user-dir", USER_DIR, "--save-dir", folder)


def make_world(root: Path) -> None:
    """Add to a tiny world an encoder with separate words, vectors, a map and annotated files."""
    text = root / "text"
    saved(root, "untied", f"{{w}}/data {LM} --separate tokens")
    for lang in ("en", "de"):
        write_vectors(root / f"{lang}.vec", text / f"mono/train.{lang}.txt")
    side = Side(16, (Step("centre", torch.ones(16)),), torch.eye(16))
    languages = {"moving": {"lang": "de"}, "fixed": {"lang": "en"}}
    write_map(root / "map", FittedMap({2: LayerMap(side, side)}, "procrustes", languages))
    (root / "squad.json").write_text(SQUAD)
    rows = [
        {"question": "who", "choices": ["dog", "a cat", "man"][: 2 + n], "label": n} for n in (0, 1)
    ]
    (root / "choices.jsonl").write_text("".join(json.dumps(row) + "\n" for row in 3 * rows))
    words = [
        (1, "dog", "_", "_", "A0"),
        (2, "sees", "Y", "see.01", "_"),
        (3, "cats", "_", "_", "A1"),
    ]
    lines = [
        "\t".join([str(n), w, w, w, "N", "N", *6 * "_", y, p, r]) + "\n" for n, w, y, p, r in words
    ]
    (root / "frames.conll09").write_text(4 * ("".join(lines) + "\n"))


def make_labels(root: Path) -> None:
    """Pseudo-gold pivots of a model that is trained until sentences have several."""
    saved(root, "clcr", f"{CLCR} {START} --max-update 60 --lr 1e-2")
    label = ("clcr", "label", root / "clcr" / "checkpoint_last.pt", "--output", root / "labels")
    assert main([*map(str, label), *"--threshold 100 --splits train,valid".split()]) == 0


def saved(root: Path, folder: str, options: str) -> None:
    """Train with ``options`` into a folder of the world."""
    words = [word for word in _TRAINER if word != "--no-save"] + options.format(w=root).split()
    in_process("train", "--cpu", *words, "--user-dir", USER_DIR, "--save-dir", root / folder)
