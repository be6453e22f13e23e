"""Read whole checkpoints from disk; nothing in them can run."""

import argparse
import functools
import os
import pickle
import re
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from fairseq_xling.checkpoints.archive import check_archive
from fairseq_xling.checkpoints.layout import check_layout, settings_of
from fairseq_xling.checkpoints.tensors import check_tensors, unwrapped
from fairseq_xling.core.errors import UserError, exits_on_user_error, program_error

_DAMAGED = RuntimeError, EOFError, LookupError, TypeError, AttributeError, ValueError


def allow_fairseq_values() -> None:
    """torch loads only plain data (`weights_only`); this adds what else fairseq stores."""
    import torch

    torch.serialization.add_safe_globals(
        [
            argparse.Namespace,
            np.ndarray,
            np.dtype,
            np.array(0).__reduce__()[0],
            np.float64(0).__reduce__()[0],
            type(np.dtype("int64")),
            type(np.dtype("float64")),
        ]
    )


def in_one_line(load: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(load)
    @exits_on_user_error
    def wrapper(path: str, *args: Any, **kwargs: Any) -> Any:
        try:
            return load(path, *args, **kwargs)
        except UserError:
            raise
        except FileNotFoundError:
            raise UserError(f"{path}: no such checkpoint") from None
        except pickle.UnpicklingError as error:
            # Either not a checkpoint, or one that names code to run; nothing of it was run. torch's
            # first line advises to load it unsafely, so only what it stumbled over is passed on.
            found = re.search(r"GLOBAL (\S+)|Unsupported \w+ \w+", str(error))
            reason = f"found {found[1] or found[0]}" if found else type(error).__name__
            raise UserError(
                f"{path}: not loaded, because it contains more than plain data and tensors or is "
                f"damaged ({reason})"
            ) from None
        except (*_DAMAGED, zipfile.BadZipFile, OSError) as error:
            reason = str(error).splitlines()[0].split(". ")[0] if str(error) else "it is empty"
            raise UserError(f"{path}: truncated or not a checkpoint ({reason})") from None

    return wrapper


def load_plain(path: str | os.PathLike, needed: tuple[str, ...] = ()) -> Any:
    """The contents of a fairseq checkpoint, as on disk; nothing in it can run.

    What is there is of the right kind, and its weights are finite numbers.

    Args:
        needed: places that must be there, such as ``cfg.task``.
    """
    import torch

    allow_fairseq_values()

    def load(path: str) -> Any:
        with open(path, "rb") as file:
            check_archive(file, path)
            state = torch.load(file, map_location="cpu", weights_only=True)
        check_layout(state, path, needed)
        if "model" in state:
            state["model"] = unwrapped(state["model"])
            check_tensors(state["model"], path)
        return state

    try:
        return in_one_line(load)(str(path))
    except SystemExit as error:  # one line, meant for fairseq's own programs
        raise program_error(error) from None


MODEL = "model.pt"  # in a folder of `fairseq-xling export`


def checkpoint_in(
    place: str | Path, data: str | Path | None = None
) -> tuple[str | Path, str | Path | None]:
    """The checkpoint in a folder, and its data folder if that is in there, too."""
    folder = Path(place)
    for name, beside in ((MODEL, "."), ("checkpoint.pt", "data")):  # of an export, an import
        if (folder / name).is_file():
            own = folder / beside
            return folder / name, own if data is None and own.is_dir() else data
    for name in ("checkpoint_best.pt", "checkpoint_last.pt"):
        if (folder / name).is_file():
            return folder / name, data
    return place, data


def model_and_data(place: str, data: str | None) -> tuple[str, str]:
    """A checkpoint, which may be in the folder ``place``, and its data folder: ``data``, or the one
    that it was trained with.

    Raises:
        UserError: if there is no checkpoint, or nothing says where its data folder is.
    """
    checkpoint, found = (None if x is None else str(x) for x in checkpoint_in(place, data))
    if not Path(str(checkpoint)).is_file():
        raise UserError(f"{place}: no such checkpoint")
    if found is None:
        named = named_data(str(checkpoint))
        found = find_data(named, str(checkpoint)) if named else ""
        if not found:
            raise UserError(
                f"{checkpoint}: its data folder {named or 'is not named in it, and'} is not here; "
                "name it by `--data`"
            )
    return str(checkpoint), found


def named_data(checkpoint: str | Path) -> str:
    """The data folder that a whole checkpoint says it was trained with."""
    task = settings_of(load_plain(checkpoint, ("cfg.task",))["cfg"]["task"])
    return str(task.get("data", ""))


def find_data(data: str, checkpoint: str | os.PathLike) -> str:
    """Where the data folders are that a checkpoint names; empty if they are nowhere.

    A relative path is looked for in the working directory, then in the folders above the
    checkpoint, so that a folder of runs can be moved and used from anywhere. A folder of that name
    without a dictionary is another.

    Args:
        data: as `--data` of a training; several, with colons between, are shards.
    """
    folders = data.split(":")
    for base in (Path(), *Path(checkpoint).absolute().parents):
        found = [base / folder for folder in folders]
        if all(any(folder.glob("dict*.txt")) for folder in found):
            return ":".join(map(str, found))
    return ""
