"""Pretrained encoders as the start of a migration, one file per family or some relatives.

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
    path = Path(path)
    source = _of_folder(path) if path.is_dir() else _of_checkpoint(path, data, language)
    if not (source.tied or untied):
        raise UserError(f"{path}: its softmax must be tied to its embeddings, got one that is not")
    return source


def _of_folder(path: Path) -> SourceModel:
    folder = Folder.open(path)
    if folder.model_type not in folder_families:
        reason = DIFFERENCES.get(folder.model_type, "")
        raise UserError(
            f"{path}: unsupported architecture {folder.model_type!r}{reason and f' ({reason})'}; "
            f"supported: Hugging Face folders of {', '.join(folder_families)}"
        )
    return folder_families[folder.model_type](folder)


def _of_checkpoint(path: Path, data: str | Path | None, language: str | None) -> SourceModel:
    from fairseq_xling.checkpoints.files import load_plain

    if not path.is_file():
        raise UserError(f"{path}: no such source checkpoint")
    state = load_plain(path, ("model",))
    for name in checkpoint_families:
        if checkpoint_families[name].matches(state["model"]):
            return checkpoint_families[name].read(path, state, data, language)
    values = settings_of((state.get("cfg") or {}).get("model") or state.get("args"))
    found = str(values.get("_name") or values.get("arch") or "unknown")
    raise UserError(
        f"{path}: unsupported architecture {found!r}; supported: fairseq checkpoints of "
        f"{', '.join(checkpoint_families)}"
    )


def folder_family(path: str | Path) -> str:
    """The family of the encoder in a Hugging Face folder; empty if ``path`` is no folder."""
    return Folder.open(Path(path)).model_type if Path(path).is_dir() else ""
