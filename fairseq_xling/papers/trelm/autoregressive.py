"""An autoregressive translation model next to a migration: same text, same width, and the same time
or until it no longer improves."""

import dataclasses
import functools
from collections.abc import Sequence
from pathlib import Path

from fairseq_xling import USER_DIR
from fairseq_xling.analysis.sampled_bleu import tokenizer_for
from fairseq_xling.papers.trelm.autoregressive_training import (
    autoregressive_step,
    translation_data_step,
    until_it_stops_improving,
)
from fairseq_xling.papers.trelm.book import Book
from fairseq_xling.papers.trelm.config import AUTOREGRESSIVE, TrelmConfig
from fairseq_xling.papers.trelm.facts import Facts
from fairseq_xling.papers.trelm.length_penalty import SPLIT, add_length_penalty, chosen_penalty
from fairseq_xling.papers.trelm.steps import Outcome
from fairseq_xling.papers.trelm.translations import Direction, add_translation, directions
from fairseq_xling.runs.step import Step, seconds_taken

NAME = AUTOREGRESSIVE
_MAX_TOKENS = 4096
_LR = 5e-4
_GENERATE_BATCH = 64


def add_autoregressive(book: Book, config: TrelmConfig, facts: Facts, outcome: Outcome) -> Path:
    """Train it in each direction; its beam search becomes one of the translations of ``outcome``.

    Returns:
        The forward model.
    """
    models = []
    for way in directions(config, outcome.target):
        folder, model = train_autoregressive(book, config, facts, outcome, way)
        models.append(model)
        whose = f"{NAME}-{way.prefix}{outcome.target}-{outcome.seed}"
        add_beam_search(book, config, facts, outcome, way, folder, model, NAME, whose)
    return models[0]


def add_beam_search(
    book: Book,
    config: TrelmConfig,
    facts: Facts,
    outcome: Outcome,
    direction: Direction,
    folder: Path,
    model: Path,
    what: str,
    whose: str,
) -> None:
    """What an autoregressive ``model`` writes for every split to translate, with beam 5 and the
    best of the length penalties to try; ``whose`` it is, in the names of their steps."""
    text = ("--remove-bpe", "sentencepiece", "--batch-size", str(_GENERATE_BATCH))

    def search(split: str, options: Sequence[str], name: str) -> Step:
        more = (*text, *options)
        return beam_search(book.run, config, folder, model, direction.pair, split, more, name)

    record = None
    if config.lenpen_list and SPLIT in facts.parallel:
        written = direction.pair[1]
        tokenizer = tokenizer_for(
            written, config.bleu_tokenizer if written == outcome.target else ""
        )
        penalties = config.lenpen_list
        record = add_length_penalty(book, penalties, whose, outcome.label, tokenizer, search)

    def translate(split: str, name: str) -> Step:
        step = search(split, (), name)
        if record is None:
            return step
        late = functools.partial(chosen_penalty, record)
        return dataclasses.replace(step, late=late, inputs=[*step.inputs, record])

    for split in config.translate_list:
        build = functools.partial(translate, split)
        add_translation(book, config, outcome, direction, what, split, build, f"{what}, beam 5")


def train_autoregressive(
    book: Book, config: TrelmConfig, facts: Facts, outcome: Outcome, direction: Direction
) -> tuple[Path, Path]:
    """Its data folder and its checkpoint.

    It is trained for as long as everything took that the model of this direction is built on,
    except the data folder, or until it no longer improves (`--autoregressive-patience`). It has
    half of the source's layers in its encoder and half in its decoder.
    """
    run, ours = book.run, outcome.checkpoints[direction.phase]
    spent = [step for step in book.needed([ours]) if not step.name.startswith("prepare-")]
    folder = linked_data(book, outcome, outcome.data, direction)

    def train(name: str) -> Step:
        options = () if "valid" in facts.parallel else ("--disable-validation",)
        if config.autoregressive_patience:
            options = until_it_stops_improving(config.autoregressive_patience)
        step = autoregressive_step(
            name,
            folder,
            run / "models" / name,
            run / "logs" / f"{name}.log",
            direction.pair,
            None if config.autoregressive_patience else lambda: seconds_taken(run, spent),
            layers=max(1, facts.shape.layers // 2),
            dim=facts.shape.dim,
            max_tokens=config.max_tokens or _MAX_TOKENS,
            lr=_LR,
            seed=outcome.seed,
            shared=len(facts.dictionaries) == 1,
            options=[*options, *config.words("autoregressive_args")],
            device=config.device,
        )
        if config.autoregressive_patience:
            return step
        # It must not start before its time limit is known.
        return dataclasses.replace(step, inputs=[*step.inputs, ours])

    kind = f"{NAME}-{direction.prefix}{outcome.target}-{outcome.seed}"
    trained = book.add(kind, outcome.label, train)
    best = "best" if "valid" in facts.parallel else "last"
    return folder, run / "models" / trained / f"checkpoint_{best}.pt"


def linked_data(book: Book, outcome: Outcome, data: Path, direction: Direction) -> Path:
    """The parallel text of ``data`` as fairseq's ``translation`` task expects it."""
    folder = book.run / "data"
    name = book.add(
        f"{NAME}-data-{direction.prefix}{outcome.target}",
        outcome.label,
        lambda name: translation_data_step(name, data, folder / name, direction.pair),
        plain=True,
    )
    return folder / name


def beam_search(
    run: Path,
    config: TrelmConfig,
    folder: Path,
    model: Path,
    pair: tuple[str, str],
    split: str,
    options: Sequence[str],
    name: str,
) -> Step:
    """fairseq-generate with beam 5, into the folder ``translations/name`` of the run."""
    output = run / "translations" / name
    command = [
        *("fairseq-generate", str(folder), "--user-dir", str(USER_DIR), "--path", str(model)),
        *("--task", "translation"),
        *("-s", pair[0], "-t", pair[1], "--gen-subset", split, "--beam", "5"),
        *("--required-batch-size-multiple", "1", "--results-path", str(output), *options),
        *(("--cpu",) if config.device == "cpu" else ()),
    ]
    return Step(name, commands=[command], inputs=[folder, model], outputs=[output])
