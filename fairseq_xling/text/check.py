"""`fairseq-xling check`: whether a data folder is still as `prepare` left it, read in full."""

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from fairseq_xling.data.digests import check_file
from fairseq_xling.data.folder import DataFolder
from fairseq_xling.errors import UserError
from fairseq_xling.text.encoder import TextEncoder

Check = Callable[[], Any]


def check_folder(path: str | Path) -> tuple[int, bool, list[str]]:
    """Every file against its digest, and every text, alignment, dictionary and model by itself.

    Returns:
        How many files and parts were checked, whether the folder has digests of all its files,
        and a message for each problem.

    Raises:
        UserError: if ``path`` is not a finished data folder.
    """
    folder = DataFolder(path)
    found: list[str] = []
    count = 0
    for checks in (_files(folder), _contents(folder)):
        for check in checks:
            count += 1
            try:
                check()
            except UserError as error:
                found.append(str(error))
        if found:  # a file that is another is not also said to be damaged
            break
    return count, "files" in folder.meta, found


def _files(folder: DataFolder) -> Iterator[Check]:
    for name, recorded in folder.meta.get("files", {}).items():
        yield partial(check_file, folder.path / name, recorded, fully=True)


def _contents(folder: DataFolder) -> Iterator[Check]:
    for split, languages in folder.meta.get("mono", {}).items():
        for lang in languages:
            yield partial(folder.mono, split, lang)
    for split in folder.meta.get("parallel", {}):
        for pair in folder.pairs(split):
            yield partial(folder.parallel, split, *pair)
            for one in (pair, pair[::-1]):
                yield partial(folder.raw_text, split, *one)
                if folder.is_aligned(split, *one):
                    yield partial(folder.order, split, *one)
                    yield partial(folder.further, split, *one)
    for lang in folder.languages:
        yield partial(folder.anchors, lang)
        yield partial(TextEncoder.load, folder.path, lang)
