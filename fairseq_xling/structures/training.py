"""One training from files to a `Trained` model; files and word vectors are read once."""

import dataclasses
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import torch

from fairseq_xling.errors import UserError
from fairseq_xling.progress import progress
from fairseq_xling.structures.batch import Examples
from fairseq_xling.structures.data import Loaded, Reader, joined, label_names
from fairseq_xling.structures.features import WORD, Tables
from fairseq_xling.structures.fit import Progress, fit
from fairseq_xling.structures.model_file import Description, Trained
from fairseq_xling.structures.scores import micro_scores
from fairseq_xling.structures.sentence import NONE
from fairseq_xling.structures.settings import FitSettings, ModelSettings
from fairseq_xling.structures.words import NoWords, Words, WordSource

Place = tuple[str, Path]  # language and file


class Library:
    """Files that several trainings and tests read."""

    def __init__(self, reader: Reader, source: WordSource):
        self._reader, self.source = reader, source
        self._files: dict[Place, Loaded] = {}
        self._words: dict[Place, Words] = {}

    def file(self, place: Place) -> Loaded:
        """A file; errors as `Reader.read`."""
        if place not in self._files:
            self._files[place] = self._reader.read(*place)
        return self._files[place]

    def labels(self, place: Place) -> list[str]:
        """The labels of a file's candidates; it is not parsed for them alone."""
        if place in self._files:
            return self._files[place].gold
        return dataclasses.replace(self._reader, trees="", needs_trees=False).read(*place).gold

    def check(self, places: Iterable[Place]) -> None:
        """Read files before anything is written; errors as `file`."""
        for place in places:
            self.file(place)

    def words(self, place: Place, chosen: Sequence[str]) -> Words:
        """The vectors of its words, of width 0 without the feature ``word``."""
        sentences = [one.words for one in self.file(place).sentences]
        if WORD not in chosen:
            return NoWords().vectors(sentences, place[0])
        if place not in self._words:
            self._words[place] = self.source.vectors(sentences, place[0])
        return self._words[place]


def train(
    library: Library,
    places: Sequence[Place],
    dev: Sequence[Place],
    task: str,
    chosen: Sequence[str],
    model: ModelSettings,
    settings: FitSettings,
    device: torch.device,
    state: Path,
    what: str = "struct",
) -> tuple[Trained, Progress]:
    """Train on the files ``places`` joined, with early stopping on ``dev`` joined.

    Args:
        chosen: features. state: as for `fit`; what: a few words for the progress bar.

    Raises:
        UserError: if the vectors of two languages differ in width, nothing is annotated, or as
            `fit`.
    """
    files = [library.file(place) for place in places]
    dev_files = [library.file(place) for place in dev]
    labels = label_names(files)
    if not any(label != NONE for file in dev_files for label in file.gold):
        raise UserError(f"{dev_files[0].path}: must have at least 1 annotated pair, got 0")
    tables = Tables.of(joined(files, lambda file: file.sentences), chosen)
    words = [library.words(place, chosen) for place in (*places, *dev)]
    for place, own in zip((*places, *dev), words, strict=True):
        if own.width != words[0].width:
            raise UserError(
                f"`--vectors` of {place[0]}: must be {words[0].width} wide as those of "
                f"{places[0][0]}, got {own.width}"
            )
    about = Description(
        task, tuple(chosen), tuple(labels), tables.names, words[0].width, model,
        library.source.about() if WORD in chosen else {},
        {"fit": vars(settings), "train": _origin(files), "valid": _origin(dev_files)},
    )  # fmt: skip
    identity = {"words": about.words, "model": vars(model), "of": about.origin}
    with progress(settings.epochs, what, "epochs") as bar:

        def passed(f1: float) -> None:
            bar.set_postfix_str(f"dev F1 {100 * f1:.1f} %", refresh=False)
            bar.update()

        trained, done = fit(
            about.make,
            _examples(files, words[: len(files)], tables, labels),
            _examples(dev_files, words[len(files) :], tables, labels),
            [label for file in dev_files for label in file.gold],
            labels,
            settings,
            device,
            state,
            {**identity, "features": list(chosen)},
            passed,
        )
    return Trained(about, trained), done


def _examples(
    files: Sequence[Loaded], words: Sequence[Words], tables: Tables, labels: Sequence[str]
) -> Examples:
    sentences = list(joined(files, lambda file: file.sentences))
    return Examples(
        sentences, list(joined(files, lambda file: file.candidates)), words, tables, labels
    )


def _origin(files: Sequence[Loaded]) -> list[list[str]]:
    return [[file.lang, file.digest] for file in files]


def tested(trained: Trained, file: Loaded, words: Words) -> tuple[list[list[str]], dict[str, Any]]:
    """The labels of a file's candidates, and their scores with what must be known about them."""
    predicted = trained.predict(file, words)
    flat = [label for own in predicted for label in own]
    unseen: dict[str, int] = {}
    for label in file.gold:
        if label not in trained.about.labels:
            unseen[label] = unseen.get(label, 0) + 1
    scores: dict[str, Any] = {**micro_scores(flat, file.gold).values()}
    right = sum(one == other for one, other in zip(flat, file.gold, strict=True))
    scores |= {"accuracy": right / len(flat)}  # NONE is a label like any other
    scores |= {"candidates": len(flat), "unseen_labels": dict(sorted(unseen.items()))}
    scores |= {
        "unknown_words": words.unknown,
        "words": sum(len(one.words) for one in file.sentences),
    }
    return predicted, scores
