"""Bilingual dictionaries: a source word and a target word on each line.

They are separated by a tab, and further columns are ignored, or by spaces, as in MUSE's.
"""

from pathlib import Path

from fairseq_xling.core.errors import UserError
from fairseq_xling.core.texts import cells_of, read_lines


def dictionary_path(given: str | Path, source: str, target: str) -> Path:
    """The file for ``source`` to ``target``: ``given`` itself, or the matching one in that folder.

    Raises:
        UserError: if the folder has no dictionary of the pair.
    """
    given = Path(given)
    if not given.is_dir():
        return given
    path = given / f"{source}-{target}.tsv"
    if not path.is_file():
        raise UserError(f"{given}: has no dictionary {path.name}")
    return path


def read_dictionary(path: str | Path) -> list[tuple[str, str]]:
    """Distinct (source word, target word) pairs in file order; blank lines are skipped."""
    pairs: dict[tuple[str, str], None] = {}
    for number, line in enumerate(read_lines(path), start=1):
        if not line.strip():
            continue
        fields = cells_of(line)
        if len(fields) < 2 or not all(fields[:2]) or ("\t" not in line and len(fields) > 2):
            raise UserError(
                f"{path}:{number}: must be two words separated by a tab or a space, got {line!r}"
            )
        pairs[fields[0], fields[1]] = None
    if not pairs:
        raise UserError(f"{path}: the dictionary is empty")
    return list(pairs)
