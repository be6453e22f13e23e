"""Probe a frozen encoder: what can be predicted from its vectors of one or two spans.

  fairseq-xling probe checkpoint_best.pt --data data-bin --train en=train.jsonl \\
      --valid en=valid.jsonl --test en=test.jsonl --test de=test.de.jsonl --layers all \\
      --output runs/probe-pos

Rows are {"text": "The cat sat .", "span1": [1, 2], "label": "NOUN"}, with a "span2" for tasks on
two spans, or a text with a list of them as "targets". A span is [first, end), counted in
space-separated tokens, or with --offsets in characters. A label may be a list. `fairseq-xling probe
convert` makes rows from treebanks and tagged files.

The probe pools each span by attention and classifies with a sigmoid for each label (Tenney et al.
2019); the encoder is not trained. Writes results.json, table.csv, plot.svg for several layers, and
predictions in the format of the test files. If interrupted, the same command resumes.
"""

import dataclasses

from fairseq_xling.core import options as shared
from fairseq_xling.core.extras import OF_PAGES, check_installed
from fairseq_xling.core.named_files import LANG_FILE, NEW_FOLDER
from fairseq_xling.core.options import REQUIRED, option
from fairseq_xling.tasks.probing.examples import FitOptions

GROUP = "Analyse"


@dataclasses.dataclass(frozen=True)
class ExampleOptions:
    """The files of a probe."""

    train: str = option(REQUIRED, "examples to train on", metavar=LANG_FILE)
    valid: str = option(REQUIRED, "examples for early stopping", metavar=LANG_FILE)
    test: tuple[str, ...] = option(
        REQUIRED,
        "examples to predict, and score where they have labels; repeatable",
        metavar=LANG_FILE,
    )
    offsets: str = shared.offsets()


@dataclasses.dataclass(frozen=True)
class ProbeRunOptions(FitOptions):
    """The network of a probe, its training, and where it runs."""

    seeds: str = option("1", "seeds, one probe each, comma-separated", metavar="SEEDS")
    device: str = shared.device()


@dataclasses.dataclass(frozen=True)
class _Encoder:
    checkpoint: str = shared.checkpoint()
    data: str = shared.data()


@dataclasses.dataclass(frozen=True)
class _Layers:
    layers: str | None = option(
        None, "such as 0,2-4 or all, one probe each (default: the last)", metavar="LAYERS"
    )
    mix: bool = option(False, "one probe on a learnt mixture of --layers instead")


@dataclasses.dataclass(frozen=True)
class _Vectors:
    dtype: str = option(
        "float32", "type of vectors on disk", choices=("float32", "float16"), usage=True
    )
    max_tokens: int = shared.max_tokens("N")
    output: str = shared.output("folder to write", NEW_FOLDER)


@dataclasses.dataclass(frozen=True)
class Options(_Vectors, ProbeRunOptions, _Layers, ExampleOptions, _Encoder):
    """All of them, in this order from the end."""


def run(options: Options) -> None:
    check_installed("`fairseq-xling probe`", *OF_PAGES)
    from fairseq_xling.verbs.parts.probe import run_probe

    run_probe(options)
