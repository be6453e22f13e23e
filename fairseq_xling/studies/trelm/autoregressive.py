"""An autoregressive translation model next to a migration: same text, same width, same time."""

import dataclasses
import functools
from pathlib import Path

from fairseq_xling import USER_DIR
from fairseq_xling.runs.step import Step
from fairseq_xling.studies.trelm.autoregressive_training import (
    autoregressive_step,
    seconds_of,
    translation_data_step,
)
from fairseq_xling.studies.trelm.book import Book
from fairseq_xling.studies.trelm.config import TrelmConfig
from fairseq_xling.studies.trelm.facts import Facts
from fairseq_xling.studies.trelm.steps import Outcome, add_migration, add_translation
from fairseq_xling.studies.trelm.translator import add_translator

NAME = "autoregressive"
_MAX_TOKENS = 4096
_LR = 5e-4
_GENERATE_BATCH = 64


def add_compared(
    book: Book, config: TrelmConfig, facts: Facts, target: str, seed: int, label: str = ""
) -> Outcome:
    """`add_migration`, with a translator and an autoregressive model if they are asked for."""
    outcome = add_migration(book, config, facts, target, seed, label)
    if config.translator_steps and outcome.translations:
        add_translator(book, config, facts, outcome)
    if config.autoregressive and outcome.translations:
        add_autoregressive(book, config, facts, outcome)
    return outcome


def add_autoregressive(book: Book, config: TrelmConfig, facts: Facts, outcome: Outcome) -> None:
    """Train it for as long as everything that the forward model is built on took, except the data
    folder; its beam search becomes one of the translations of ``outcome``.

    It has half of the source's layers in its encoder and half in its decoder.
    """
    run, pair = book.run, (config.source_lang, outcome.target)
    spent = [
        step
        for step in book.needed([outcome.checkpoints["forward"]])
        if not step.name.startswith("prepare-")
    ]
    data = book.add(
        f"{NAME}-data-{outcome.target}",
        outcome.label,
        lambda name: translation_data_step(name, outcome.data, run / "data" / name, pair),
        plain=True,
    )
    folder = run / "data" / data

    def train(name: str) -> Step:
        options = () if "valid" in facts.parallel else ("--disable-validation",)
        step = autoregressive_step(
            name,
            folder,
            run / "models" / name,
            run / "logs" / f"{name}.log",
            pair,
            seconds_of(run, spent),
            layers=max(1, facts.shape.layers // 2),
            dim=facts.shape.dim,
            max_tokens=config.max_tokens or _MAX_TOKENS,
            lr=_LR,
            seed=outcome.seed,
            shared=len(facts.dictionaries) == 1,
            options=[*options, *config.words("autoregressive_args")],
            device=config.device,
        )
        # It must not start before its time limit is known.
        return dataclasses.replace(step, inputs=[*step.inputs, outcome.checkpoints["forward"]])

    kind = f"{NAME}-{outcome.target}-{outcome.seed}"
    trained = book.add(kind, outcome.label, train)
    best = "best" if "valid" in facts.parallel else "last"
    model = run / "models" / trained / f"checkpoint_{best}.pt"
    for split in config.translate_list:
        build = functools.partial(_translate, run, config, folder, model, pair, split)
        add_translation(book, config, outcome, NAME, split, build, f"{NAME}, beam 5")


def _translate(
    run: Path,
    config: TrelmConfig,
    folder: Path,
    model: Path,
    pair: tuple[str, str],
    split: str,
    name: str,
) -> Step:
    output = run / "translations" / name
    command = [
        *("fairseq-generate", str(folder), "--user-dir", str(USER_DIR), "--path", str(model)),
        *("--task", "translation"),
        *("-s", pair[0], "-t", pair[1], "--gen-subset", split, "--beam", "5"),
        *("--remove-bpe", "sentencepiece", "--batch-size", str(_GENERATE_BATCH)),
        *("--required-batch-size-multiple", "1", "--results-path", str(output)),
        *(("--cpu",) if config.device == "cpu" else ()),
    ]
    return Step(name, commands=[command], inputs=[folder, model], outputs=[output])
