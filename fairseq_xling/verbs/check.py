"""Check that a data folder is still as it was prepared.

  fairseq-xling check data

Reads every file in full: each must have the digest that `meta.json` records, sentences must end in
</s> and have ids of their dictionary, word alignments must lie in their sentences, and the models
that cut text must fit the dictionaries. Prints a line for each file that does not, and exits with
status 1 if there is one. A training checks the same of what it reads, but digests only by a sample.
Folders of earlier versions have digests of their dictionaries alone.
"""

import dataclasses
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairseq_xling.core.named_files import Input
from fairseq_xling.core.options import argument

if TYPE_CHECKING:
    from fairseq_xling.data.folder import DataFolder

GROUP = "Data"
Check = Callable[[], Any]


@dataclasses.dataclass(frozen=True)
class Options:
    folder: str = argument("data folder, written by `prepare`", Input("FOLDER"))


def run(options: Options) -> None:
    from fairseq_xling.core.errors import UserError

    count, digests, damaged = check_folder(options.folder)
    for line in damaged:
        print(line)
    if damaged:
        many = "is 1 problem" if len(damaged) == 1 else f"are {len(damaged)} problems"
        raise UserError(f"{options.folder}: there {many}; prepare the folder again")
    print(f"{options.folder}: {count} checks, all passed")
    if not digests:
        print("no digests of its text, as of earlier versions; `prepare --overwrite` adds them")


def check_folder(path: str | Path) -> tuple[int, bool, list[str]]:
    """Every file against its digest, and every text, alignment, dictionary and model by itself.

    Returns:
        How many files and parts were checked, whether the folder has digests of all its files,
        and a message for each problem.
    """
    from fairseq_xling.core.errors import UserError
    from fairseq_xling.data.folder import DataFolder

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


def _files(folder: "DataFolder") -> Iterator[Check]:
    from fairseq_xling.data.meta import check_file

    for name, recorded in folder.meta.get("files", {}).items():
        yield partial(check_file, folder.path / name, recorded, fully=True)


def _contents(folder: "DataFolder") -> Iterator[Check]:
    from fairseq_xling.text.encoder import TextEncoder

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
