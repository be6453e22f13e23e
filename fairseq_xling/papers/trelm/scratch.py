"""Encoders trained from scratch, to compare with a migrated one (TreLM, Table 2, Appendix A.5)."""

import dataclasses
import functools
from collections.abc import Sequence

from fairseq_xling.papers.trelm.book import Book
from fairseq_xling.papers.trelm.config import Stage, TrelmConfig
from fairseq_xling.papers.trelm.facts import Facts
from fairseq_xling.papers.trelm.steps import Outcome, add_bpw
from fairseq_xling.papers.trelm.text import data_folder
from fairseq_xling.papers.trelm.training import checkpoint, model_options, training_step


def budget(config: TrelmConfig) -> int:
    """The total steps of a migration: the transfer phase trains two models."""
    return config.commonality_steps + 2 * config.transfer_steps + config.language_steps


def add_scratch(
    book: Book,
    config: TrelmConfig,
    facts: Facts,
    target: str,
    seed: int,
    label: str,
    *,
    task: str,
    objectives: str,
    languages: Sequence[str] | None = None,
    model: Sequence[str] | None = None,
) -> Outcome:
    """Steps that train an encoder on the migration's data folder for as many updates.

    Args:
        languages: those of the monolingual text (default: both).
        model: its options (default: those of the migrated one without a TRILayer).
    """
    data = data_folder(book, config, facts, target, label)
    outcome = Outcome(target, seed, label, data)
    pair = (config.source_lang, target)
    stage = Stage("scratch", budget(config), config.commonality_lr, objectives, ())
    mono = languages or pair
    options = [
        *(model or model_options(dataclasses.replace(config, trilayer=False), facts.shape)),
        *("--objectives", objectives, "--mono-languages", ",".join(mono)),
        *("--sample-break-mode", "sentence", "--mix-in-batch"),
    ]
    build = functools.partial(
        training_step,
        run=book.run,
        config=config,
        stage=stage,
        data=data,
        languages=pair,
        options=options,
        seed=seed,
        validate=facts.validates(mono, True, "tlm" in objectives),
        task=task,
    )
    name = book.add(f"scratch-{target}-{seed}", label, build)
    outcome.checkpoints["from scratch"] = checkpoint(book.run, name, config)
    outcome.logs["from scratch"] = book.run / "logs" / f"{name}.log"
    outcome.updates["from scratch"] = stage.steps
    outcome.bpw = add_bpw(book, config, outcome)
    return outcome
