"""Fields and steps shared by the studies that train their own encoders.

A study's fields are in the order of its bases from the last to the first, followed by its own; a
field that it redefines, with another help, keeps its position.
"""

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from fairseq_xling.core.errors import UserError
from fairseq_xling.core.options import option, reads
from fairseq_xling.studies.corpus_steps import segment_options
from fairseq_xling.studies.gold_tasks import GoldTask, transfer_step
from fairseq_xling.studies.training_command import Training, training_step
from fairseq_xling.text.vocabularies import modes
from fairseq_xling.workflow.options import WithLanguages, WithSeeds, split_words
from fairseq_xling.workflow.recipe import Run

Config = TypeVar("Config", bound="EncoderTraining")
# What an epoch is counted in.
BATCHES, SENTENCES = "batches", "sentences"
# Conneau et al. (2020), "Emerging Cross-lingual Structure", Section 3.1. The architecture has the
# sizes, GELU and dropout .1. The paper's "200 epochs of 200k batches" are 40 million updates if
# read literally; in XLM, with which it was trained, an epoch is a number of sentences, of
# which each process counts its own.
PAPER: Mapping[str, Any] = {
    "vocab_type": "bpe",
    "vocab_size": 80_000,
    "prepare_args": "--vocab-sample 250",
    "arch": "separable_transformer_base",
    "layers": 8,
    "block": 256,
    "batch_size": 96,
    "processes": 8,
    "update_freq": 1,
    "max_tokens": 0,
    "epochs": 200,
    "epoch_size": 200_000,
    "epoch_unit": SENTENCES,
    "lr": 1e-4,
    "warmup": 30_000,
    "device": "cuda",
    "precision": "fp16",
}


@dataclasses.dataclass(frozen=True)
class StudyText:
    """The text of a study that is published with settings of its own."""

    preset: str = option("", "values of the published study: paper")
    data_text: str = reads("", "text in the layout of `fairseq-xling synthesize`")


@dataclasses.dataclass(frozen=True)
class PreparedText(WithSeeds, WithLanguages):
    """How text becomes a data folder; a study also has ``languages`` and ``seeds``."""

    vocab_type: str = option("bpe", "bpe, unigram, wordpiece or word")
    vocab_size: int = option(
        2000, "pieces of a joint vocabulary; separate ones have half as many", least=1
    )
    segment: str = option("", "LANG=HOW for `fairseq-xling prepare`, comma-separated")
    prepare_args: str = option("", "more options of `fairseq-xling prepare`, as one text")


@dataclasses.dataclass(frozen=True)
class EncoderTraining:
    """The fairseq-train of every encoder."""

    arch: str = option("separable_transformer_tiny", "architecture of fairseq-train")
    layers: int = option(4, "depth", least=1)
    updates: int = option(1600, "optimiser steps of every encoder", least=1)
    every: int = option(200, "steps between validations; a divisor of updates", least=1)
    epochs: int = option(
        0, "epochs to train for, which replace updates and every; 0 uses these", least=0
    )
    epoch_size: int = option(200_000, "size of an epoch, in --epoch-unit", least=1)
    epoch_unit: str = option(
        SENTENCES,
        "what an epoch is counted in: batches (optimiser steps), or sentences (rows of a batch of "
        "one process, which are blocks with --block)",
        choices=(BATCHES, SENTENCES),
    )
    block: int = option(
        0, "tokens per block of continuous text; 0 trains on single sentences", least=0
    )
    batch_size: int = option(0, "rows per batch; 0 is no limit", least=0)
    max_tokens: int = option(2048, "tokens per batch; 0 is no limit", least=0)
    update_freq: int = option(1, "batches per step and process", least=1)
    processes: int = option(0, "GPUs to train on at once; 0 is all that there are", least=0)
    lr: float = option(0.003, "peak learning rate", least=0)
    warmup: int = option(100, "steps of warm-up", least=1)
    train_args: str = option("", "more options for every fairseq-train, as one quoted text")

    @property
    def training(self) -> Training:
        """The same for a study's steps."""
        if not self.epochs:
            check_every(self)
        if not (self.batch_size or self.max_tokens):
            raise UserError("`--batch-size` or `--max-tokens` must be above 0")
        if self.block == 1:
            raise UserError("`--block` must be 0 or at least 2, got 1")
        if self.processes > 1 and self.device != "cuda":
            raise UserError(
                f"`--processes` must be at most 1 on a CPU, got {self.processes}; `--update-freq` "
                "makes steps of as many batches"
            )
        own = split_words("--train-args", self.train_args)
        extra = ("--encoder-layers", str(self.layers), "--no-epoch-checkpoints", *own)
        sizes = (self.updates, self.every, self.max_tokens, self.lr, self.warmup)
        rows = (self.batch_size, self.block, self.update_freq, self.processes)
        return Training(self.arch, *sizes, extra, *rows)


class EncoderRun(Run):
    """The steps of a study that trains encoders: data folders, trainings, states, zero-shot tasks.

    Its settings are of a class derived from `PreparedText` or `EncoderTraining`, or have the fields
    of these that it uses.
    """

    def prepare(
        self, name: str, data: str, languages: Sequence[str], mode: str, *source: Any
    ) -> Path:
        """A data folder of ``data_text`` with the vocabulary ``mode``, and further text."""
        o = self.options
        return self(
            name,
            "fairseq-xling prepare {out} --languages",
            [",".join(languages), "--from", o.data_text],
            *source,
            ["--vocab", mode, "--vocab-type", o.vocab_type, "--vocab-size"],
            max(1, o.vocab_size // len(modes[mode]().groups(languages))),
            "--aligner none",
            segment_options(o.segment, languages),
            split_words("--prepare-args", getattr(o, "prepare_args", "")),
            to=data,
            resumable=True,
        )

    def train(
        self,
        name: str,
        data: Path,
        seed: int,
        choose_by: str,
        options: Sequence[str] = (),
        training: Training | None = None,
    ) -> Path:
        """The folder of a trained encoder; arguments as of `training_step`, with a ``training`` if
        not that of the settings."""
        o, log = self.options, self.folder / "logs" / f"train-{name}.log"
        given = (data, self.folder / "models" / name, log, seed, choose_by, options)
        how = (o.device, o.precision)
        return self.add(training_step(f"train-{name}", training or o.training, *given, *how))

    def untrained(self, name: str, data: Path, seed: int, choose_by: str) -> Path:
        """The folder of an encoder that keeps the weights it is drawn with: a step without a
        learning rate."""
        still = dataclasses.replace(self.options.training, updates=1, every=1, lr=0.0)
        return self.train(name, data, seed, choose_by, training=still)

    def extract(
        self,
        name: str,
        to: str,
        checkpoint: Path,
        data: Path,
        lang: str,
        text: Path,
        unit: str,
        *more: Any,
    ) -> Path:
        """The states of ``text``, below ``to``."""
        return self(
            name,
            *("fairseq-xling extract", checkpoint, "--data", data, "--lang", [lang]),
            *("--text", text, "--unit", [unit], *more, "--device", [self.options.device]),
            "--output {out}",
            to=to,
            resumable=True,
        )

    def transfer(
        self,
        name: str,
        task: GoldTask,
        languages: Sequence[str],
        encoders: Mapping[str, tuple[Path, Path]],
        options: Sequence[str] = (),
        seeds: str = "1",
        **more: Any,
    ) -> Path:
        """The folder of a zero-shot task; arguments as of `transfer_step`."""
        options = ("--device", self.options.device, "--precision", self.options.precision, *options)
        output, text = self.folder / "tasks" / name, Path(self.options.data_text)
        given = (name, task, output, text, languages, encoders, seeds, options)
        return self.add(transfer_step(*given, **more))


def counted(config: Config) -> Config:
    """``config`` with its epochs, if it has any, as ``updates`` and ``every``.

    Sentences are those of one batch: in XLM each process counts its own. An epoch of them is a
    whole number of steps, so the last validation comes a few steps after the last whole epoch.
    """
    if not config.epochs:
        return config
    rows = 1
    if config.epoch_unit == SENTENCES:
        if not config.batch_size:
            raise UserError("`--epoch-unit sentences` needs `--batch-size`, got 0")
        rows = config.batch_size
    updates = round(config.epochs * config.epoch_size / rows)
    every = min(updates, config.epoch_size // rows)
    if every < 1:
        raise UserError(
            f"`--epoch-size` must be at least the {rows} rows of a batch, got {config.epoch_size}"
        )
    return dataclasses.replace(config, updates=updates, every=every)


def check_text(config: Any, *parts: str) -> None:
    """Reject a ``data_text`` without one of the folders ``parts``, and fewer than two languages."""
    if not all((Path(config.data_text or ".") / part).is_dir() for part in parts):
        raise UserError(
            f"`--data-text` must be a folder with text in {'/ and '.join(parts)}/, got "
            f"{config.data_text!r}"
        )
    if len(config.language_list) < 2:
        raise UserError(f"`--languages` must name at least two, got {config.languages!r}")


def check_every(config: Any) -> None:
    """Reject ``updates`` that are no multiple of ``every``."""
    if config.updates % config.every:
        raise UserError(
            f"`--updates` must be a multiple of `--every`, got {config.updates} and {config.every}"
        )


def describe_steps(config: Mapping[str, Any]) -> str:
    """The steps of a study in words, from its recorded settings, also of an older version.

    >>> describe_steps({"updates": 1600, "max_tokens": 2048})
    '1,600 steps of at most 2,048 tokens'
    >>> describe_steps({"updates": 5, "max_tokens": 0, "batch_size": 96, "processes": 8})
    '5 steps of 768 sentences'
    >>> describe_steps({"updates": 5, "max_tokens": 512, "update_freq": 2, "block": 64})
    '5 steps of at most 1,024 tokens, in blocks of 64'
    """
    batches = max(1, config.get("processes", 0)) * config.get("update_freq", 1)
    size, tokens, block = config.get("batch_size", 0), config["max_tokens"], config.get("block", 0)
    unit = "blocks" if block else "sentences"
    parts = [f"{size * batches:,} {unit}"] if size else []
    parts += [f"at most {tokens * batches:,} tokens"] if tokens else []
    of_blocks = ("" if size else ", in blocks") + f" of {block}" if block else ""
    return f"{config['updates']:,} steps of {' and '.join(parts)}{of_blocks}"
