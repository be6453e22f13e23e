"""A trained model of structures with all that prediction needs, in one safetensors file.

The word vectors are not in it: it records the paths and digests of their files.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from fairseq_xling.array_file import ArrayFile, described_well
from fairseq_xling.errors import UserError
from fairseq_xling.files import sha256
from fairseq_xling.structures.batch import Examples
from fairseq_xling.structures.data import Loaded
from fairseq_xling.structures.features import WORD, Tables, features
from fairseq_xling.structures.fit import predict
from fairseq_xling.structures.model import StructureModel
from fairseq_xling.structures.networks import networks
from fairseq_xling.structures.sentence import NONE
from fairseq_xling.structures.settings import ModelSettings
from fairseq_xling.structures.tasks import tasks
from fairseq_xling.structures.words import Words, WordSource, find_source

_FILE = ArrayFile(
    "fairseq_xling.structures", "a model of structures (as `fairseq-xling struct train` writes it)"
)
MODEL = "model.safetensors"


@dataclass(frozen=True)
class Description:
    """What a model is, besides its weights.

    Attributes:
        task: a name in `tasks`.
        features: in the order of a node's vector.
        labels: by number, `NONE` first.
        names: rows of the learnt features' tables, without that of unknown names.
        vectors: width of word vectors.
        model: its settings.
        words: `WordSource.about` of its word vectors.
        origin: of its training; JSON values.
    """

    task: str
    features: tuple[str, ...]
    labels: tuple[str, ...]
    names: Mapping[str, list[str]]
    vectors: int
    model: ModelSettings
    words: Mapping[str, Any]
    origin: Mapping[str, Any]

    @property
    def tables(self) -> Tables:
        """The tables of its learnt features, in their order (that of a file's keys is another)."""
        return Tables({name: self.names[name] for name in self.features if name != WORD})

    @property
    def needs_trees(self) -> bool:
        """Whether its input must have trees."""
        return needs_trees(self.features, self.model)

    def make(self) -> StructureModel:
        """The model with new weights, from torch's global generator."""
        rows = {name: 1 + len(self.names[name]) for name in self.features if name != WORD}
        return StructureModel(self.vectors, rows, len(self.labels), self.model)

    def source(
        self,
        vectors: Mapping[str, str | Path],
        encoder: str = "",
        encoder_data: str = "",
        device: str = "cpu",
    ) -> WordSource:
        """The word vectors: those given take precedence over those recorded.

        Raises:
            UserError: if a recorded file is missing or has changed.
        """
        found: dict[str, str | Path] = {}
        for lang, one in self.words.get("vectors", {}).items():
            if lang not in vectors:
                _check_same("--vectors", one["path"], one["sha256"])
                found[lang] = one["path"]
        own = self.words.get("encoder")
        if own:
            _check_same("--encoder", encoder or own["checkpoint"], own["sha256"])
            encoder, encoder_data = encoder or own["checkpoint"], encoder_data or own["data"] or ""
        pool = own["pool"] if own else "first"
        return find_source(
            WORD in self.features, {**found, **vectors}, encoder, encoder_data, pool, device
        )


def needs_trees(chosen: Sequence[str], model: ModelSettings) -> bool:
    """Whether a model with these features reads trees."""
    of_trees = any(features[name].of_tree for name in chosen if name != WORD)
    network = model.layers > 0 and networks[model.network].needs_tree
    return of_trees or network or model.prune >= 0


@dataclass(frozen=True)
class Trained:
    """A model that can predict."""

    about: Description
    network: StructureModel

    def predict(self, file: Loaded, words: Words) -> list[list[str]]:
        """For each sentence the labels of its candidates.

        Raises:
            UserError: if the vectors have another width than the model's.
        """
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
    """The model in a file of `write_model`, or in a folder of `fairseq-xling struct train`.

    Raises:
        UserError: if the file is missing or damaged, or is of another kind.
    """
    path = Path(path) / MODEL if Path(path).is_dir() else Path(path)
    arrays, described = _FILE.read(path)
    for name, array in arrays.items():
        if array.dtype.kind != "f":
            raise UserError(f"{path}: {name} must be floats, got {array.dtype}")
    with described_well(path):
        described.pop("format")
        about = Description(**described)
        about = replace(
            about,
            features=tuple(about.features),
            labels=tuple(about.labels),
            model=ModelSettings(**described["model"]),
        )
        tasks.check(about.task)
        if about.labels[0] != NONE or set(about.names) != set(about.features) - {WORD}:
            raise ValueError("labels or features")
        _check_sizes(path, about, arrays)
        network = about.make()
    try:
        network.load_state_dict({k: torch.from_numpy(np.array(v)) for k, v in arrays.items()})
    except RuntimeError:
        raise UserError(f"{path}: its weights do not fit its description") from None
    if not all(bool(value.isfinite().all()) for value in network.state_dict().values()):
        raise UserError(f"{path}: its weights must be finite")
    return Trained(about, network.to(device).eval())


def _check_sizes(path: Path, about: Description, arrays: Mapping[str, np.ndarray]) -> None:
    """Nothing larger is made than the file has weights for."""
    held = sum(array.size for array in arrays.values())
    most = max(about.model.width, about.model.hidden, about.model.embedding, about.vectors)
    if most > held or about.model.layers > len(arrays):
        raise UserError(f"{path}: its weights do not fit its description")


def _check_same(option: str, path: str, digest: str) -> None:
    if not Path(path).is_file():
        raise UserError(f"`{option}` must be given, since {path}, as in training, is missing")
    if sha256(path) != digest:
        raise UserError(f"`{option}` {path}: must be the file of the training; it has changed")
