"""A folder of results that is written atomically and can be resumed after a kill.

It is filled as ``.NAME.partial`` in the same parent folder, with its settings in ``settings.json``.
``meta.json``, with the same ``settings``, marks a finished one.
"""

import contextlib
import os
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from fairseq_xling.errors import UserError
from fairseq_xling.files import exclusive, read_json, write_json

META = "meta.json"
_SETTINGS = "settings.json"


def is_finished(output: Path, settings: Mapping[str, Any]) -> bool:
    """Whether ``output`` was written with these settings; False if there is nothing yet.

    Raises:
        UserError: if it contains anything else.
    """
    if not output.exists() or (output.is_dir() and not any(output.iterdir())):
        return False
    if (output / META).is_file():
        meta = read_json(output / META)
        if isinstance(meta, dict) and meta.get("settings") == settings:
            return True
    raise UserError(f"`--output` {output}: must be new; it contains something else")


def begun_settings(output: Path) -> Mapping[str, Any] | None:
    """The settings that ``output`` was written with, or is being written with; None for neither."""
    begun, done = _partial(output) / _SETTINGS, output / META
    if begun.is_file():
        return read_json(begun)
    meta = read_json(done) if done.is_file() else None
    return meta.get("settings") if isinstance(meta, dict) else None


@contextlib.contextmanager
def new_folder(output: Path, settings: Mapping[str, Any], verb: str) -> Iterator[Path]:
    """The folder to fill, which is renamed to ``output`` when the block succeeds.

    What a killed run with the same ``settings`` left is still in it. A user error removes it, since
    it would be useless once the error is corrected.

    Raises:
        UserError: if another process is filling it.
    """
    folder = _partial(output)
    folder.mkdir(parents=True, exist_ok=True)
    with exclusive(folder, f"`--output` {output}: another `{verb}` is writing it"):
        begun = folder / _SETTINGS
        if not begun.is_file() or read_json(begun) != settings:
            for path in folder.iterdir():
                path.unlink()
            write_json(begun, settings)
        try:
            yield folder
        except (UserError, MemoryError):
            shutil.rmtree(folder, ignore_errors=True)
            raise
        begun.unlink()
        if output.exists():
            output.rmdir()  # empty, or `is_finished` would have refused it
        os.replace(folder, output)


def _partial(output: Path) -> Path:
    return output.parent / f".{output.name}.partial"
