"""One training from files to a `Trained` model, with all that prediction needs in one file.

Files and word vectors are read once. The word vectors are not in the model's safetensors file: it
records the paths and digests of their files.
"""

import dataclasses
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from fairseq_xling.core.array_file import ArrayFile, described_well
from fairseq_xling.core.errors import UserError
from fairseq_xling.core.files import sha256
from fairseq_xling.core.progress import progress
from fairseq_xling.papers.transfer.structures.batch import Examples
from fairseq_xling.papers.transfer.structures.data import (
    FitSettings,
    Loaded,
    ModelSettings,
    Reader,
    label_names,
)
from fairseq_xling.papers.transfer.structures.features import (
    WORD,
    NoWords,
    Tables,
    Words,
    WordSource,
    find_source,
)
from fairseq_xling.papers.transfer.structures.fit import Progress, fit, micro_scores, predict
from fairseq_xling.papers.transfer.structures.model import StructureModel
from fairseq_xling.papers.transfer.structures.sentence import NONE, tasks

_FILE = ArrayFile(
    "fairseq_xling.structures", "a model of structures (as `fairseq-xling struct train` writes it)"
)
MODEL = "model.safetensors"


@dataclass(frozen=True)
class Description:
    """What a model is, besides its weights."""

    task: str  # a name in `tasks`
    features: tuple[str, ...]  # in the order of a node's vector
    labels: tuple[str, ...]  # by number, `NONE` first
    names: Mapping[str, list[str]]  # rows of the learnt features' tables, from 1
    vectors: int  # width of word vectors
    model: ModelSettings
    words: Mapping[str, Any]  # `WordSource.about` of its word vectors
    origin: Mapping[str, Any]  # of its training; JSON values

    @property
    def tables(self) -> Tables:
        """The tables of its learnt features, in their order (that of a file's keys is another)."""
        return Tables({name: self.names[name] for name in self.features if name != WORD})

    def make(self) -> StructureModel:
        """The model with new weights, from torch's global generator."""
        rows = {name: 1 + len(known) for name, known in self.tables.names.items()}
        return StructureModel(self.vectors, rows, len(self.labels), self.model)

    def source(
        self,
        vectors: Mapping[str, str | Path],
        encoder: str = "",
        encoder_data: str = "",
        device: str = "cpu",
    ) -> WordSource:
        """The word vectors: those given take precedence over those recorded."""
        recorded = self.words.get("vectors", {})
        found = {lang: one["path"] for lang, one in recorded.items()} | dict(vectors)
        for lang in (lang for lang in recorded if lang not in vectors):
            _check_same("--vectors", found[lang], recorded[lang]["sha256"])
        pool = "first"
        if own := self.words.get("encoder"):
            encoder, encoder_data = encoder or own["checkpoint"], encoder_data or own["data"] or ""
            pool = own["pool"]
            _check_same("--encoder", encoder, own["sha256"])
        return find_source(WORD in self.features, found, encoder, encoder_data, pool, device)


@dataclass(frozen=True)
class Trained:
    """A model that can predict."""

    about: Description
    network: StructureModel

    def predict(self, file: Loaded, words: Words) -> list[list[str]]:
        """For each sentence the labels of its candidates."""
        if words.width != self.about.vectors:
            raise UserError(
                f"{file.path}: its word vectors must be {self.about.vectors} wide as in training, "
                f"got {words.width}"
            )
        labels = self.about.labels
        examples = Examples(file.sentences, file.candidates, [words], self.about.tables, labels)
        return [[labels[n] for n in own] for own in predict(self.network, examples)]


def write_model(path: Path, trained: Trained) -> None:
    """Write atomically; equal models give equal bytes."""
    arrays = {name: v.cpu().numpy() for name, v in trained.network.state_dict().items()}
    _FILE.write(path, arrays, asdict(trained.about))


def read_model(path: str | Path, device: torch.device) -> Trained:
    """The model in a file of `write_model`, or in a folder of `fairseq-xling struct train`."""
    path = Path(path) / MODEL if Path(path).is_dir() else Path(path)
    arrays, described = _FILE.read(path)
    for name, array in arrays.items():
        if array.dtype.kind != "f":
            raise UserError(f"{path}: {name} must be floats, got {array.dtype}")
    with described_well(path):
        described.pop("format")
        given = {name: tuple(described.pop(name)) for name in ("features", "labels")}
        about = Description(model=ModelSettings(**described.pop("model")), **given, **described)
        tasks.check(about.task)
        if about.labels[0] != NONE or set(about.names) != set(about.features) - {WORD}:
            raise ValueError("labels or features")
        # Nothing larger is made than the file has weights for.
        held = sum(array.size for array in arrays.values())
        most = max(about.model.width, about.model.hidden, about.model.embedding, about.vectors)
        if most > held or about.model.layers > len(arrays):
            raise UserError(f"{path}: its weights do not fit its description")
        network = about.make()
    try:
        network.load_state_dict({k: torch.from_numpy(np.array(v)) for k, v in arrays.items()})
    except RuntimeError:
        raise UserError(f"{path}: its weights do not fit its description") from None
    if not all(bool(value.isfinite().all()) for value in network.state_dict().values()):
        raise UserError(f"{path}: its weights must be finite")
    return Trained(about, network.to(device).eval())


def _check_same(option: str, path: str, digest: str) -> None:
    if not Path(path).is_file():
        raise UserError(f"`{option}` must be given, since {path}, as in training, is missing")
    if sha256(path) != digest:
        raise UserError(f"`{option}` {path}: must be the file of the training; it has changed")


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
    """
    files = [library.file(place) for place in places]
    dev_files = [library.file(place) for place in dev]
    labels = label_names(files)
    if not any(label != NONE for file in dev_files for label in file.gold):
        raise UserError(f"{dev_files[0].path}: must have at least 1 annotated pair, got 0")
    tables = Tables.of((one for file in files for one in file.sentences), chosen)
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
    sentences = [one for file in files for one in file.sentences]
    candidates = [some for file in files for some in file.candidates]
    return Examples(sentences, candidates, words, tables, labels)


def _origin(files: Sequence[Loaded]) -> list[list[str]]:
    return [[file.lang, file.digest] for file in files]


def tested(trained: Trained, file: Loaded, words: Words) -> tuple[list[list[str]], dict[str, Any]]:
    """The labels of a file's candidates, and their scores with what must be known about them."""
    predicted = trained.predict(file, words)
    flat = [label for own in predicted for label in own]
    unseen = Counter(label for label in file.gold if label not in trained.about.labels)
    right = sum(one == other for one, other in zip(flat, file.gold, strict=True))
    return predicted, {
        **micro_scores(flat, file.gold).values(),
        "accuracy": right / len(flat),  # NONE is a label like any other
        "candidates": len(flat),
        "unseen_labels": dict(sorted(unseen.items())),
        "unknown_words": words.unknown,
        "words": sum(len(one.words) for one in file.sentences),
    }
