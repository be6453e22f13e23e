"""Pretrained encoders as the start of a migration, one file per family.

`read_source` reads a Hugging Face folder, whose ``config.json`` names its family, or a fairseq
checkpoint, whose contents reveal it, into a `SourceModel`: the weights under our names, the sizes,
the vocabulary. Nothing that is read can run code. To add a family, put a file here with a function
registered under ``@folder_families.register("model_type")``, or a `CheckpointFamily`.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

from fairseq_xling.checkpoints import settings_of
from fairseq_xling.core.errors import UserError
from fairseq_xling.core.registry import Registry
from fairseq_xling.interop.sources.folder import Folder
from fairseq_xling.interop.sources.model import SourceModel

_RELATIVE = "it has relative positions"

DIFFERENCES = {
    "albert": "its layers share weights, and its embeddings are projected to their width",
    "deberta": _RELATIVE,
    "deberta-v2": _RELATIVE,
    "eurobert": "it has rotary positions and LayerNorm before its sublayers",
    "modernbert": "it has rotary positions, local attention, gated feed-forward layers, and "
    "LayerNorm before its sublayers",
    "mpnet": _RELATIVE,
    "rembert": "its embeddings are projected to the width of its layers",
    "roformer": "it has rotary positions",
    "xlm-roberta-xl": "it has LayerNorm before its sublayers",
}


__all__ = ["SourceModel", "checkpoint_families", "folder_families", "folder_family", "read_source"]


class CheckpointFamily(Protocol):
    """How to recognise and read one kind of fairseq checkpoint."""

    def matches(self, weights: dict[str, Any]) -> bool:
        """Whether a model with these weights by name is one of this family."""

    def read(
        self, path: Path, state: dict[str, Any], data: str | Path | None, language: str | None
    ) -> SourceModel:
        """The model in the loaded checkpoint ``state``; ``data`` and ``language`` as in
        `read_source`."""


# By the `model_type` of config.json.
folder_families: Registry[Callable[[Folder], SourceModel]] = Registry("source family", __name__)
checkpoint_families: Registry[CheckpointFamily] = Registry("source checkpoint", __name__)


def read_source(
    path: str | Path,
    data: str | Path | None = None,
    language: str | None = None,
    untied: bool = False,
) -> SourceModel:
    """The pretrained encoder at ``path``.

    Args:
        path: a folder with ``config.json``, ``model.safetensors`` (whole or in shards) and a
            vocabulary, or a fairseq checkpoint.
        data: location of a checkpoint's data folder or ``dict.txt``, if not as in its training.
        language: for checkpoints of ours with private parts, the language whose parts are read.
        untied: whether it may have a softmax that is not tied to its embeddings.

    Raises:
        UserError: if something is missing or damaged, or if our encoders cannot represent the
            architecture (the message names it).
    """
    source = _read(Path(path), data, language)
    if not (source.tied or untied):
        raise UserError(f"{path}: its softmax must be tied to its embeddings, got one that is not")
    return source


def _read(path: Path, data: str | Path | None, language: str | None) -> SourceModel:
    if path.is_dir():
        folder = Folder.open(path)
        if folder.model_type not in folder_families:
            reason = DIFFERENCES.get(folder.model_type, "")
            kinds = f"Hugging Face folders of {', '.join(folder_families)}"
            raise _unsupported(path, folder.model_type, kinds, reason and f" ({reason})")
        return folder_families[folder.model_type](folder)
    state = _load(path)
    for name in checkpoint_families:
        if checkpoint_families[name].matches(state["model"]):
            return checkpoint_families[name].read(path, state, data, language)
    kinds = f"fairseq checkpoints of {', '.join(checkpoint_families)}"
    raise _unsupported(path, _architecture(state), kinds)


def folder_family(path: str | Path) -> str:
    """The family of the encoder in a Hugging Face folder; empty if ``path`` is no folder."""
    return Folder.open(Path(path)).model_type if Path(path).is_dir() else ""


def _unsupported(path: Path, found: str, supported: str, reason: str = "") -> UserError:
    return UserError(f"{path}: unsupported architecture {found!r}{reason}; supported: {supported}")


def _load(path: Path) -> dict[str, Any]:
    if not path.is_file():
        raise UserError(f"{path}: no such source checkpoint")
    from fairseq_xling.checkpoints.files import load_plain

    return load_plain(path, ("model",))


def _architecture(state: dict[str, Any]) -> str:
    values = settings_of((state.get("cfg") or {}).get("model") or state.get("args"))
    return str(values.get("_name") or values.get("arch") or "unknown")
