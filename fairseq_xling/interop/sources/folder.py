"""A Hugging Face folder: configuration and weights, no executable code."""

import pickle
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from fairseq_xling.checkpoints import check_archive, check_tensors, fits, unwrapped
from fairseq_xling.core.errors import UserError, shown
from fairseq_xling.core.files import read_json

_MOST = 1 << 31  # of a size: torch counts in 64 bits, and two are multiplied
# Their names of the activations that our layers compute (`models.activations`).
ACTIVATIONS = {
    "gelu": "gelu",
    "gelu_python": "gelu",
    "gelu_new": "gelu_tanh",
    "gelu_fast": "gelu_tanh",
    "gelu_pytorch_tanh": "gelu_tanh",
    "relu": "relu",
}
EXACT_GELU = ("gelu", "gelu_python")
# The name that each of ours is written with.
PUBLISHED = {"gelu": "gelu", "gelu_tanh": "gelu_pytorch_tanh", "relu": "relu"}


class Settings:
    """A model's settings in ``file``; a UserError names the file and one that cannot be."""

    file: Path

    def get(self, name: str, default: Any = None) -> Any:
        """The setting ``name``."""
        raise NotImplementedError

    def size(self, name: str, default: int | None = None, least: int = 1) -> int:
        """The whole number ``name``."""
        value = self.get(name, default)
        if not isinstance(value, int) or isinstance(value, bool) or value < least:
            raise UserError(
                f"{self.file}: `{name}` must be an integer of at least {least}, got {shown(value)}"
            )
        if value >= _MOST:
            raise UserError(f"{self.file}: `{name}` must be below {_MOST}, got {shown(value)}")
        return value

    def rate(self, name: str, default: float) -> float:
        """The number ``name``."""
        value = self.get(name, default)
        if not (fits(value, float) and 0 <= value <= 1):
            raise UserError(f"{self.file}: `{name}` must lie in [0, 1], got {shown(value)}")
        return float(value)

    def require(self, name: str, default: Any, *allowed: Any) -> None:
        """Refuse a model whose setting ``name`` is none of ``allowed``."""
        value = self.get(name, default)
        if value not in allowed:
            raise UserError(
                f"{self.file}: unsupported architecture: `{name}` must be "
                f"{' or '.join(map(repr, allowed))}, got {value!r}"
            )


@dataclass(frozen=True)
class Folder(Settings):
    """A folder with ``config.json`` and weights."""

    path: Path
    config: dict[str, Any]

    @property
    def file(self) -> Path:  # type: ignore[override]
        return self.path / "config.json"

    def get(self, name: str, default: Any = None) -> Any:
        return self.config.get(name, default)

    @classmethod
    def open(cls, path: Path) -> "Folder":
        """The folder at ``path``.

        Raises:
            UserError: if it has no ``config.json``, or one without ``model_type``.
        """
        if not (path / "config.json").is_file():
            raise UserError(f"{path}: no source model (it has no config.json)")
        config = read_json(path / "config.json")
        if not isinstance(config, dict) or not isinstance(config.get("model_type"), str):
            raise UserError(f"{path / 'config.json'}: names no model_type")
        return cls(path, config)

    @property
    def model_type(self) -> str:
        return self.config["model_type"]

    def activation(self, name: str = "hidden_act") -> str:
        """Our name of the activation that the setting ``name`` gives, if our layers have it."""
        self.require(name, "gelu", *ACTIVATIONS)
        return ACTIVATIONS[self.get(name, "gelu")]

    def require_plain_bert(self, untied: bool = False) -> None:
        """Check what BERT and its relatives share with our layers, unlike their variants.

        Args:
            untied: whether `tie_word_embeddings` may also be false.
        """
        self.require("position_embedding_type", "absolute", "absolute")
        self.require("is_decoder", False, False)
        self.require("add_cross_attention", False, False)
        self.require("tie_word_embeddings", True, True, *([False] if untied else []))
        self.require_multiple("hidden_size", "num_attention_heads")

    def require_multiple(self, width: str, heads: str) -> None:
        """Refuse a model whose size ``width`` its number of ``heads`` does not divide."""
        if self.size(width) % self.size(heads):
            raise UserError(
                f"{self.file}: `{width}` must be a multiple of `{heads}`, got {self.size(width)} "
                f"and {self.size(heads)}"
            )

    def tensors(self, prefix: str) -> dict[str, Tensor]:
        """The weights on the CPU, by the names that they have where the encoder is saved without
        its head, which puts ``prefix`` before them.

        Raises:
            UserError: if there are none, a shard is missing, or a file is damaged.
        """
        for stem, read in (("model.safetensors", _safetensors), ("pytorch_model.bin", _plain)):
            file, index = self.path / stem, self.path / f"{stem}.index.json"
            if file.is_file() or index.is_file():
                found = unwrapped(read(file) if file.is_file() else self._shards(index, read))
                return {name.removeprefix(prefix): tensor for name, tensor in found.items()}
        raise UserError(
            f"{self.path}: no weights (it has neither model.safetensors nor pytorch_model.bin)"
        )

    def _shards(self, index: Path, read: Any) -> dict[str, Tensor]:
        places = read_json(index)
        places = places.get("weight_map") if isinstance(places, dict) else None
        if not isinstance(places, dict) or not all(isinstance(n, str) for n in places.values()):
            raise UserError(f"{index}: has no weight_map")
        tensors: dict[str, Tensor] = {}
        for name in sorted(set(places.values())):
            if Path(name).name != name:
                raise UserError(f"{index}: a shard must be in the same folder, got {name!r}")
            if not (self.path / name).is_file():
                raise UserError(f"{self.path / name}: no such file, though {index.name} lists it")
            tensors |= read(self.path / name)
        return tensors


def _safetensors(file: Path) -> dict[str, Tensor]:
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    try:
        tensors = load_file(file)
    except (SafetensorError, OSError, ValueError) as error:
        raise UserError(f"{file}: damaged or not safetensors ({_first(error)})") from None
    check_tensors(tensors, file, "weights")
    return tensors


def _plain(file: Path) -> dict[str, Tensor]:
    try:
        with open(file, "rb") as opened:
            check_archive(opened, file)
            state = torch.load(opened, map_location="cpu", weights_only=True)
    except UserError:
        raise
    except pickle.UnpicklingError:
        raise UserError(
            f"{file}: not loaded, because it contains more than tensors or is damaged"
        ) from None
    except (RuntimeError, EOFError, ValueError, zipfile.BadZipFile, OSError) as error:
        raise UserError(f"{file}: damaged or not a file of weights ({_first(error)})") from None
    if not isinstance(state, dict) or not all(map(torch.is_tensor, state.values())):
        raise UserError(f"{file}: must contain tensors by name")
    check_tensors(state, file, "weights")
    return state


def _first(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]
