"""Data folders that are read in turn: `fairseq-train data/shard0:data/shard1`, or `data` alone
with shard0 and so on inside.

As in fairseq, epoch e trains on shard (e - 1) mod N, and the first shard has all other splits.
"""

import os
import re
from pathlib import Path

from fairseq_xling.data.folder import DataFolder
from fairseq_xling.errors import UserError

_NAME = re.compile("shard(0|[1-9][0-9]*)", re.ASCII)


def shard_paths(data: str) -> list[Path]:
    """The data folders that ``data`` names: one, several separated by colons, or a folder of
    shards.

    Raises:
        UserError: if the shards inside a folder are not numbered from 0 without a gap, or one is
            named twice.
    """
    paths = [Path(part) for part in data.split(os.pathsep) if part]
    for path in paths:
        if paths.count(path) > 1:
            raise UserError(f"data: {path} is named twice in {data!r}")
    if len(paths) != 1 or (paths[0] / "meta.json").is_file():
        return paths or [Path(data)]
    found = (_NAME.fullmatch(path.name) for path in paths[0].glob("shard*"))
    numbers = {int(match[1]) for match in found if match}
    count = max(numbers, default=-1) + 1
    for number in range(count):
        if number not in numbers:
            raise UserError(
                f"{paths[0] / f'shard{number}'}: no such folder, though there is "
                f"shard{count - 1}; run `fairseq-xling prepare --shards` again"
            )
    return [paths[0] / f"shard{number}" for number in range(count)] or paths


class Shards:
    """The shards of ``data`` (see `shard_paths`), which have languages and dictionaries in common.

    Attributes:
        first: shard 0, as any other data folder.
        paths: of all.

    Raises:
        UserError: names the shard that is missing, damaged or another.
    """

    def __init__(self, data: str):
        self.paths = shard_paths(data)
        self.first = DataFolder(self.paths[0])
        for number in range(1, len(self.paths)):
            self.open(number)

    def __len__(self) -> int:
        return len(self.paths)

    def number(self, epoch: int) -> int:
        """The shard that an epoch (from 1) trains on.

        >>> shards = Shards.__new__(Shards)
        >>> shards.paths = ["shard0", "shard1", "shard2"]
        >>> [shards.number(epoch) for epoch in (1, 2, 3, 4)]
        [0, 1, 2, 0]
        """
        return max(epoch - 1, 0) % len(self.paths)

    def folder(self, split: str, epoch: int) -> DataFolder:
        """Where an epoch reads ``split``; errors as when the shards were opened."""
        number = self.number(epoch) if split == "train" else 0
        return self.open(number) if number else self.first

    def open(self, number: int) -> DataFolder:
        """A shard that goes with the first."""
        folder, first = DataFolder(self.paths[number]), self.first
        for what, theirs, ours in (
            ("languages", ",".join(folder.languages), ",".join(first.languages)),
            ("dictionaries", folder.meta["dictionaries"], first.meta["dictionaries"]),
        ):
            if theirs != ours:
                got = f": {theirs}, not {ours}" if what == "languages" else ""
                raise UserError(
                    f"{folder.path}: has other {what} than {first.path}{got}; prepare them "
                    "together, with `--shards`"
                )
        return folder
