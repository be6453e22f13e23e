"""Fields shared by the studies that train their own encoders.

A study's fields are in the order of its bases from the last to the first, followed by its own; a
field that it redefines, with another help, keeps its position.
"""

import dataclasses

from fairseq_xling.languages import parse_languages
from fairseq_xling.runs.config_file import option, parse_seeds, split_words
from fairseq_xling.runs.training_command import Training


@dataclasses.dataclass(frozen=True)
class PreparedText:
    """How text becomes a data folder; a study also has ``languages`` and ``seeds``."""

    vocab_type: str = option("bpe", "bpe, unigram or word")
    vocab_size: int = option(
        2000, "pieces of a joint vocabulary; separate ones have half as many", least=1
    )
    segment: str = option("", "LANG=HOW for `fairseq-xling prepare`, comma-separated")

    @property
    def language_list(self) -> list[str]:
        return parse_languages(self.languages)

    @property
    def seed_list(self) -> list[int]:
        return parse_seeds("--seeds", self.seeds)


@dataclasses.dataclass(frozen=True)
class EncoderTraining:
    """The fairseq-train of every encoder."""

    arch: str = option("separable_transformer_tiny", "architecture of fairseq-train")
    layers: int = option(4, "depth", least=1)
    updates: int = option(1600, "optimiser steps of every encoder", least=1)
    every: int = option(200, "steps between validations; a divisor of updates", least=1)
    max_tokens: int = option(2048, "tokens per step", least=1)
    lr: float = option(0.003, "peak learning rate", least=0)
    warmup: int = option(100, "steps of warm-up", least=1)
    train_args: str = option("", "more options for every fairseq-train, as one quoted text")

    @property
    def training(self) -> Training:
        """The same for a study's steps.

        Raises:
            UserError: for an unclosed quotation in ``train_args``.
        """
        extra = ("--encoder-layers", str(self.layers), "--no-epoch-checkpoints")
        extra += split_words("--train-args", self.train_args)
        return Training(
            self.arch, self.updates, self.every, self.max_tokens, self.lr, self.warmup, extra
        )
