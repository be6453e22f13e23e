"""Folders that ``save_to_disk`` of Hugging Face's datasets has written: Arrow files, in order."""

from pathlib import Path

from fairseq_xling.core.arguments import get_value
from fairseq_xling.core.errors import UserError
from fairseq_xling.core.files import read_json

_STATE = "state.json"  # of one dataset: its files
_SPLITS = "dataset_dict.json"  # of several, each in a folder of its own


def files_of(path: str | Path) -> list[Path]:
    """The files of such a folder, each with the column that ``path`` names; any other path itself.

    >>> files_of("novels.txt"), files_of("train.parquet:text")
    ([PosixPath('novels.txt')], [PosixPath('train.parquet:text')])

    Raises:
        UserError: for a folder of several splits, or one that is damaged or lacks a file.
    """
    folder, column = Path(path), ""
    if not folder.is_dir():
        name, colon, rest = str(path).rpartition(":")
        if not name:
            return [folder]
        folder, column = Path(name), colon + rest
    if (splits := folder / _SPLITS).is_file():
        names = get_value(str(splits), read_json(splits), "splits", list)
        raise UserError(
            f"{folder}: has the splits {', '.join(map(str, names))}; name the folder of one, as in "
            f"{folder}/{names[0] if names else 'train'}{column}"
        )
    if not (state := folder / _STATE).is_file():
        return [Path(path)]
    found = []
    for entry in get_value(str(state), read_json(state), "_data_files", list):
        name = get_value(str(state), entry, "filename", str)
        file = folder / Path(name).name
        if not file.is_file():
            raise UserError(f"{state}: names the file {name!r}, which is not in the folder")
        found.append(Path(f"{file}{column}"))
    if not found:
        raise UserError(f"{state}: names no file")
    return found
