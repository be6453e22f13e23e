"""A data folder on disk, as written by `fairseq-xling prepare`."""

import functools
import os
import re
from functools import cached_property
from pathlib import Path
from typing import Any, NoReturn

from fairseq_xling.core.errors import UserError, well_formed
from fairseq_xling.core.files import plain_lines, read_json, sha256
from fairseq_xling.core.registry import did_you_mean, unknown_name
from fairseq_xling.data.meta import check_file, in_order, read_meta
from fairseq_xling.data.mmap import RawText, TokenFile, check_further, check_links, raw_text_path

SPECIAL_SYMBOLS = ("<s>", "<pad>", "</s>", "<unk>", "<mask>", "<null>")
OWN_SYMBOLS = SPECIAL_SYMBOLS[4:]  # fairseq puts the first four in front of every dictionary itself


def read_dictionary(path: str | Path) -> list[str]:
    """All symbols by id, the four that fairseq puts in front included.

    Raises:
        UserError: if the file is missing, or is not a dictionary written by `prepare` (names the
            line that has no count, or a symbol that occurs twice).
    """
    symbols = [*SPECIAL_SYMBOLS[:4]]
    for number, line in enumerate(plain_lines(path), start=1):
        symbol, _, count = line.rpartition(" ")
        if not (symbol and count.isascii() and count.isdecimal() and len(count) < 20):
            raise UserError(f"{path}:{number}: must be a symbol, a space and a count, got {line!r}")
        symbols.append(symbol)
    if tuple(symbols[: len(SPECIAL_SYMBOLS)]) != SPECIAL_SYMBOLS:
        names = " and ".join(OWN_SYMBOLS)
        raise UserError(f"{path}: must begin with {names}, as `prepare` writes it")
    if len(set(symbols)) < len(symbols):
        seen: set[str] = set()
        for number, symbol in enumerate(symbols, start=-3):
            if symbol in seen:
                raise UserError(f"{path}:{number}: has {symbol!r} a second time")
            seen.add(symbol)
    return symbols


def dictionary_size(path: Path) -> int:
    """Number of symbols in a dictionary; read once per process, until the file changes.

    Errors as for `read_dictionary`.
    """
    state = os.stat(path)
    return _size(path, state.st_mtime_ns, state.st_size)


@functools.cache
def _size(path: Path, changed: int, size: int) -> int:
    return len(read_dictionary(path))


# The first ids of every dictionary of ours (fairseq fixes the first four).
CLS, PAD, SEP, UNK, MASK, NULL = range(6)
SPECIALS = 6


def text_mask(tokens: Any, unknown: bool = False) -> Any:
    """True where ``tokens`` (array or tensor) are no special symbols; ``unknown``: also ``<unk>``.

    >>> import numpy as np
    >>> text_mask(np.array([CLS, 7, UNK, SEP])).tolist()
    [False, True, False, False]
    """
    return (tokens >= SPECIALS) | (tokens == UNK) if unknown else tokens >= SPECIALS


WITHOUT_VALID = "train with `--disable-validation`, or prepare it again with `--held-out N`"


def _refuse(path: Path) -> NoReturn:
    """Say what a ``path`` is that is no finished data folder."""
    if (first := path / "shard0").is_dir():
        raise UserError(f"{path}: is a folder of shards; name one of them, such as {first}")
    texts = [*path.glob("mono/*.txt*"), *path.glob("parallel/*.txt*")]
    if languages := sorted({file.name.split(".txt")[0].split(".")[-1] for file in texts}):
        raise UserError(
            f"{path}: is a folder of text, from which `fairseq-xling prepare DATA --from {path} "
            f"--languages {','.join(languages)}` makes a data folder"
        )
    if path.is_file():
        raise UserError(
            f"{path}: is a file; name the folder that `fairseq-xling prepare` makes of it"
        )
    what = "not a finished data folder" if path.is_dir() else "no such folder"
    raise UserError(f"{path}: {what} (no meta.json); run `fairseq-xling prepare {path}`")


class DataFolder:
    """Languages, dictionaries and token files of one data folder; opens files on demand.

    A file is checked when it is opened: that it is the one that ``meta.json`` describes (of text,
    by a sample), and that its content is consistent. Folders of older versions lack the digests of
    all files but the dictionaries.

    Raises:
        UserError: if the folder was not finished by `fairseq-xling prepare`, was written by
            another format, or a dictionary is not the one that its ``meta.json`` describes.
    """

    def __init__(self, path: str | Path):
        self.path = Path(path)
        if not (self.path / "meta.json").is_file():
            _refuse(self.path)
        self.meta: dict[str, Any] = read_meta(self.path / "meta.json")
        self.languages: list[str] = list(self.meta["languages"])
        for name, digest in self.meta["dictionaries"].items():
            file = self.path / name
            if not file.is_file():
                raise UserError(f"{file}: no such file, though meta.json lists it")
            if sha256(file) != digest:
                raise UserError(f"{file}: changed since the folder was prepared; prepare it again")
            dictionary_size(file)

    def file(self, name: str) -> Path:
        """A file of the folder, which is the one that was prepared."""
        path = self.path / name
        recorded = self.meta.get("files")
        if recorded is not None:
            if name not in recorded:
                there = path.is_file()
                what = "was not written by `prepare`; remove it" if there else "no such file"
                raise UserError(f"{path}: {what}")
            check_file(path, recorded[name])
        return path

    @property
    def splits(self) -> list[str]:
        """Every split that has text, monolingual or parallel."""
        return in_order({*self.meta.get("mono", {}), *self.meta.get("parallel", {})})

    def other_splits(self, split: str) -> str:
        """The end of a message about ``split``: what there is instead; empty if it is there."""
        if split in self.splits:
            return ""
        if split == "valid":
            return f"; {WITHOUT_VALID}"
        there = ", ".join(self.splits) or "none"
        return f"; its splits are {there}{did_you_mean(split, self.splits)}"

    @property
    def separate_vocabularies(self) -> bool:
        """Whether every language has its own dictionary."""
        return "dict.txt" not in self.meta["dictionaries"]

    def dictionary_path(self, lang: str) -> Path:
        """The dictionary that the ids of ``lang`` refer to."""
        self._check(lang)
        return self.path / (f"dict.{lang}.txt" if self.separate_vocabularies else "dict.txt")

    def dictionary_digest(self, lang: str) -> str:
        """SHA-256 of the dictionary of ``lang``."""
        return self.meta["dictionaries"][self.dictionary_path(lang).name]

    @cached_property
    def vocab_sizes(self) -> dict[str, int]:
        """Number of ids, specials included, by language."""
        return {lang: dictionary_size(self.dictionary_path(lang)) for lang in self.languages}

    def has_mono(self, split: str, lang: str) -> bool:
        """Whether there is monolingual text of ``lang``."""
        return lang in self.meta.get("mono", {}).get(split, {})

    def mono(self, split: str, lang: str) -> TokenFile:
        """Sentences of ``lang``: each its ids and a final ``</s>``."""
        self._check(lang)
        if not self.has_mono(split, lang):
            what = f"monolingual {split!r} text of language {lang!r}"
            raise UserError(f"{self.path}: has no {what}{self.other_splits(split)}")
        return self._open(f"mono/{split}.{lang}", lang)

    def pairs(self, split: str) -> list[tuple[str, str]]:
        """The language pairs with parallel text in ``split``, named as they were prepared."""
        names = self.meta.get("parallel", {}).get(split, {})
        return [tuple(name.split("-")) for name in names]  # type: ignore[misc]

    def parallel(self, split: str, source: str, target: str) -> tuple[TokenFile, TokenFile]:
        """Both sides of the pair, line by line, in whichever direction it was prepared.

        Errors as for `mono`.
        """
        stem = self._pair_stem(split, source, target)
        sides = (self._open(f"{stem}.{source}", source), self._open(f"{stem}.{target}", target))
        if len(sides[0]) != len(sides[1]):
            raise UserError(
                f"{self.path / stem}: sides must be equally long, got {len(sides[0])} and "
                f"{len(sides[1])} sentences"
            )
        return sides

    def raw_text(self, split: str, source: str, target: str) -> RawText | None:
        """The side ``target`` of `parallel` as it was before it was cut into pieces; None for
        training text and in a folder of an earlier version.

        Errors as for `mono`, and if it is of other text.
        """
        stem = self._pair_stem(split, source, target)
        name = raw_text_path(stem, target).as_posix()
        index = f"{name}.idx"
        if not (self.path / index).is_file() and index not in self.meta.get("files", {}):
            return None
        text = RawText(self._stem(name))
        sentences = len(TokenFile(self._stem(f"{stem}.{target}")))
        if len(text) != sentences:
            raise UserError(
                f"{self.path / name}.idx: must have a text for each of {sentences} sentences, got "
                f"{len(text)}; prepare the folder again"
            )
        return text

    def _pair_stem(self, split: str, source: str, target: str) -> str:
        for name in (f"{source}-{target}", f"{target}-{source}"):
            if name in self.meta.get("parallel", {}).get(split, {}):
                return f"parallel/{split}.{name}"
        what = f"parallel {split!r} text of {source}-{target}"
        raise UserError(f"{self.path}: has no {what}{self.other_splits(split)}")

    def is_aligned(self, split: str, source: str, target: str) -> bool:
        """Whether there is a word alignment from ``source`` to ``target``."""
        return (self.path / "parallel" / f"{split}.{source}-{target}.order.idx").is_file()

    def order(self, split: str, source: str, target: str) -> TokenFile:
        """For each target token the index + 1 of its source token, or 0."""
        if not self.is_aligned(split, source, target):
            raise UserError(
                f"{self.path}: has no word alignment {source}-{target} for {split!r}; "
                f"prepare it with an --aligner or --alignment{self.other_splits(split)}"
            )
        order = TokenFile(self._stem(f"parallel/{split}.{source}-{target}.order"))
        check_links(order, *self.parallel(split, source, target))
        return order

    def further(self, split: str, source: str, target: str) -> TokenFile | None:
        """Links in addition to those of `order`, by which states are averaged: of each sentence,
        equally many numbers for each target token; None if the folder was prepared without.
        """
        name = f"parallel/{split}.{source}-{target}.further"
        if not (self.path / f"{name}.idx").is_file():
            return None
        further = TokenFile(self._stem(name))
        check_further(further, *self.parallel(split, source, target))
        return further

    def anchors(self, lang: str) -> list:
        """Entries ``[source ids, [[target ids, weight, language], ...]]`` of the dictionary of
        ``lang``; empty if the folder has none."""
        path = self.path / f"anchors.{lang}.json"
        if not path.is_file() and path.name not in self.meta.get("files", {}):
            return []
        with well_formed(f"{path}: damaged; prepare the folder again"):
            entries = read_json(self.file(path.name))["entries"]
            for source, targets in entries:
                right = all(0 < weight < float("inf") for _, weight, _ in targets)
                for ids, owner in ((source, lang), *((ids, other) for ids, _, other in targets)):
                    right &= min(ids) >= 0 and max(ids) < self.vocab_sizes[owner]
                    right &= all(type(number) is int for number in ids)
                if not right:
                    raise ValueError
        return entries

    def _stem(self, name: str) -> Path:
        for end in ("idx", "bin"):
            self.file(f"{name}.{end}")
        return self.path / name

    def _open(self, name: str, lang: str) -> TokenFile:
        file = TokenFile(self._stem(name))
        file.check_sentences(self.vocab_sizes[lang], self.dictionary_path(lang))
        return file

    def _check(self, lang: str) -> None:
        if lang not in self.languages:
            raise UserError(f"{self.path}: {unknown_name('language', lang, self.languages)}")


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
