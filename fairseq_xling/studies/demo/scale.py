"""How large a demonstration is, and the two models of it."""

import dataclasses
from collections.abc import Mapping

from fairseq_xling.studies.demo.migration import MigrationScale
from fairseq_xling.studies.training_command import Training

SOURCE, TARGET = "en", "de"
SHOWN = ("pos", "ner", "parsing")  # the tasks of zero-shot transfer


@dataclasses.dataclass(frozen=True)
class Scale:
    """How large a demonstration is.

    ``efforts`` are the seconds that its steps took on two common cores, to estimate the time left.
    """

    sentences: int
    held_out: int
    vocab_size: int
    annotated: int
    training: Training
    migration: MigrationScale
    efforts: Mapping[str, float] = dataclasses.field(default_factory=dict)


def _efforts(train: float, evaluate: float, transfer: float, migrate: float) -> dict[str, float]:
    """By step; the others take a few seconds at every scale."""
    return {
        **dict.fromkeys(("train-default", "train-separate"), train),
        **dict.fromkeys(("eval-default", "eval-separate"), evaluate),
        **dict.fromkeys([f"transfer-{name}" for name in SHOWN], transfer),
        **dict.fromkeys(("synthesize", "synthesize-parallel"), 3),
        "migrate": migrate,
    }


SCALES = {
    "tiny": Scale(
        sentences=1000,
        held_out=100,
        vocab_size=2000,
        annotated=100,
        training=Training(
            "separable_transformer_tiny", updates=40, every=20, max_tokens=1024, lr=3e-3, warmup=10
        ),
        migration=MigrationScale(
            pairs=500,
            commonality=10,
            transfer=16,
            language=10,
            translator=16,
            every=8,
            max_tokens=512,
            warmup=2,
        ),
        efforts=_efforts(train=9, evaluate=2, transfer=4, migrate=13),
    ),
    "mini": Scale(
        sentences=8000,
        held_out=500,
        vocab_size=2000,
        annotated=500,
        training=Training(
            "separable_transformer_tiny",
            updates=500,
            every=100,
            max_tokens=2048,
            lr=3e-3,
            warmup=60,
        ),
        # Many small steps without dropout: what learns word order wants steps more than text.
        migration=MigrationScale(
            pairs=10000,
            commonality=400,
            transfer=2000,
            language=400,
            translator=800,
            every=400,
            max_tokens=512,
            warmup=200,
            betas="0.9,0.98",
            train_args="--attention-dropout 0 --dropout 0",
        ),
        efforts=_efforts(train=60, evaluate=6, transfer=8, migrate=345),
    ),
    "small": Scale(
        sentences=20000,
        held_out=1000,
        vocab_size=2000,
        annotated=2000,
        training=Training(
            "separable_transformer_tiny",
            updates=1600,
            every=200,
            max_tokens=2048,
            lr=3e-3,
            warmup=100,
        ),
        migration=MigrationScale(
            pairs=20000,
            commonality=200,
            transfer=1000,
            language=200,
            translator=500,
            every=200,
            max_tokens=2048,
            warmup=50,
            compared=True,
        ),
    ),
}

LAYERS = 4  # of separable_transformer_tiny

# name: (vocabulary mode, options of fairseq-train, what it is)
MODELS = {
    "default": (
        "union",
        (),
        "all parameters shared; identically spelt words share an id (default anchors)",
    ),
    "separate": (
        "separate",
        ("--separate", f"emb,1-{LAYERS}", "--random-within-language"),
        "a private copy of every parameter per language, so that nothing can align them",
    ),
}
