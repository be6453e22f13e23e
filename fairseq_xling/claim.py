"""The folder of a run: it is made for some settings, and rejected for others."""

from pathlib import Path
from typing import Any

from fairseq_xling.errors import UserError
from fairseq_xling.files import is_unfinished, read_json, write_json


def claim(output: Path, settings: dict[str, Any]) -> None:
    """Make ``output`` the folder of these settings, or check that it is.

    Raises:
        UserError: if it contains anything else.
    """
    path = output / "settings.json"
    if path.is_file() and read_json(path) == settings:
        return
    if output.exists() and not output.is_dir():
        raise UserError(f"`--output` {output}: is a file, not a folder")
    if output.exists() and not all(is_unfinished(one.name) for one in output.iterdir()):
        raise UserError(f"`--output` {output}: must be a new folder; it contains something else")
    output.mkdir(parents=True, exist_ok=True)
    write_json(path, settings)
