"""Translations by a teacher, which a translator learns from instead of the references.

Sequence-level distillation (Kim and Rush, 2016): what a model writes is more regular than what
people write, which helps one that writes all words at once (Gu et al., 2018). A teacher is an
autoregressive model, trained here or given, or a file of translations.
"""

import dataclasses
import functools
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from fairseq.data import Dictionary

from fairseq_xling.data.folder import SEP, DataFolder
from fairseq_xling.errors import UserError
from fairseq_xling.generation.autoregressive import check_autoregressive
from fairseq_xling.papers.trelm.autoregressive import (
    add_beam_search,
    beam_search,
    linked_data,
    train_autoregressive,
)
from fairseq_xling.papers.trelm.book import Book
from fairseq_xling.papers.trelm.config import AUTOREGRESSIVE, TrelmConfig
from fairseq_xling.papers.trelm.data import with_translations
from fairseq_xling.papers.trelm.facts import Facts
from fairseq_xling.papers.trelm.steps import Outcome
from fairseq_xling.papers.trelm.text import transfer_folder
from fairseq_xling.papers.trelm.translations import forward
from fairseq_xling.runs.step import Step
from fairseq_xling.sentences import read_sentences
from fairseq_xling.text.encoder import TextEncoder

NAME = "teacher"
_BATCH = 64
SHARDS = 8  # what an interruption costs, and how finely progress is seen


def taught_folder(book: Book, config: TrelmConfig, facts: Facts, outcome: Outcome) -> Path:
    """The data folder that a translator trains on: the transfer phase's, or one with the
    translations of `--teacher`."""
    data = transfer_folder(book, config, outcome.data, outcome.target, outcome.label)
    if not config.teacher:
        return data
    direction = forward(config, outcome.target)
    pair = direction.pair
    model = config.teacher_checkpoint
    if config.teacher == AUTOREGRESSIVE:
        _, model = train_autoregressive(book, config, facts, outcome, direction)
    if model:
        folder = linked_data(book, outcome, data, direction)
        checked = _checked(book, config, outcome, data, model, pair)
        files = _translations(book, config, outcome, data, folder, checked)
        if config.teacher_checkpoint:
            whose = f"{NAME}-{_whose(config, outcome)}"
            add_beam_search(book, config, facts, outcome, direction, folder, checked, NAME, whose)
    else:
        files = [Path(config.teacher)]
    read = _of_file if config.teacher == str(files[0]) else of_model

    def build(name: str) -> Step:
        output = book.run / "data" / name
        return Step(
            name,
            call=lambda: with_translations(
                data, output, pair, read(data, pair, files), config.teacher_original
            ),
            settings={"pair": list(pair), "original": config.teacher_original},
            inputs=[data, *files],
            outputs=[output],
        )

    kind = f"taught-{_whose(config, outcome)}"
    return book.run / "data" / book.add(kind, outcome.label, build)


def _whose(config: TrelmConfig, outcome: Outcome) -> str:
    """The end of the names of a teacher's steps: one that is given teaches all seeds."""
    trained = config.teacher == AUTOREGRESSIVE
    return f"{outcome.target}-{outcome.seed}" if trained else outcome.target


def _checked(
    book: Book,
    config: TrelmConfig,
    outcome: Outcome,
    data: Path,
    model: Path,
    pair: tuple[str, str],
) -> Path:
    """A link to the teacher ``model``, which is known to translate ``data``."""
    check = functools.partial(_check, book.run, data, model, pair)
    name = book.add(f"{NAME}-{_whose(config, outcome)}", outcome.label, check)
    return book.run / "models" / f"{name}.pt"


def _translations(
    book: Book, config: TrelmConfig, outcome: Outcome, data: Path, folder: Path, model: Path
) -> list[Path]:
    """What ``model`` writes for the training text of ``data``, a file for each shard."""
    pair = forward(config, outcome.target).pair
    files = []
    for shard in range(SHARDS):
        build = functools.partial(_translate, book.run, config, data, folder, model, pair, shard)
        kind = f"{NAME}-{_whose(config, outcome)}-{shard + 1}of{SHARDS}"
        name = book.add(kind, outcome.label, build)
        files.append(book.run / "translations" / name / "generate-train.txt")
    return files


def _translate(
    run: Path,
    config: TrelmConfig,
    data: Path,
    folder: Path,
    model: Path,
    pair: tuple[str, str],
    shard: int,
    name: str,
) -> Step:
    # For the engine's own task it is these that split a text: `--num-shards` does nothing there.
    options = ("--distributed-world-size", str(SHARDS), "--distributed-rank", str(shard))
    step = beam_search(run, config, folder, model, pair, "train", options, name)

    def batches() -> list[str]:
        """fairseq-generate ends in a traceback if a shard has no batch."""
        count = len(DataFolder(data).parallel("train", *pair)[0])
        return ["--batch-size", str(max(1, min(_BATCH, count // SHARDS)))]

    return dataclasses.replace(step, late=batches)


def _check(run: Path, data: Path, model: Path, pair: tuple[str, str], name: str) -> Step:
    """A link to the teacher, once it is known that it translates this text."""
    link = run / "models" / f"{name}.pt"

    def call() -> None:
        check_autoregressive(model, data, pair, "--teacher")
        link.unlink(missing_ok=True)
        link.symlink_to(model.resolve())

    return Step(
        name, call=call, settings={"pair": list(pair)}, inputs=[data, model], outputs=[link]
    )


def _of_file(data: Path, pair: tuple[str, str], files: list[Path]) -> Iterator[np.ndarray]:
    """The lines of a file of text."""
    count = len(DataFolder(data).parallel("train", *pair)[1])
    lines = sum(1 for _ in read_sentences(files[0]))
    if lines != count:
        raise UserError(
            f"`--teacher` {files[0]}: must have a line for each of the {count:,} training pairs of "
            f"{data}, got {lines:,}"
        )
    encoder = TextEncoder.load(data, pair[1])
    for line in read_sentences(files[0]):
        yield encoder.encode([line])[0]


def of_model(data: Path, pair: tuple[str, str], files: list[Path]) -> Iterator[np.ndarray]:
    """What fairseq-generate has written, in the order of the text.

    Places in the files are kept, not what stands there, so memory hardly grows with the text.
    """
    folder = DataFolder(data)
    count = len(folder.parallel("train", *pair)[1])
    dictionary = Dictionary.load(str(folder.dictionary_path(pair[1])))
    places = np.full((count, 2), -1, dtype=np.int64)
    for number, path in enumerate(files):
        with open(path, "rb") as file:
            start = 0
            for line in file:
                if line.startswith(b"H-"):
                    places[int(line[2 : line.index(b"\t")])] = number, start
                start += len(line)
    missing = int((places[:, 0] < 0).sum())
    if missing:
        raise UserError(
            f"{files[0].parent}: {missing:,} of {count:,} training sentences have no translation"
        )
    opened = [open(path, "rb") for path in files]  # noqa: SIM115
    try:
        for number, start in places.tolist():
            opened[number].seek(start)
            words = opened[number].readline().decode().rstrip("\n").split("\t")[-1].split(" ")
            yield np.array([*map(dictionary.index, filter(None, words)), SEP])
    finally:
        for file in opened:
            file.close()
