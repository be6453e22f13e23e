"""A data folder on disk, as written by `fairseq-xling prepare`."""

from functools import cached_property
from pathlib import Path
from typing import Any

from fairseq_xling.data.mmap import TokenFile
from fairseq_xling.data.splits import in_order
from fairseq_xling.errors import UserError
from fairseq_xling.files import read_json, sha256
from fairseq_xling.registry import did_you_mean, unknown_name

FORMAT = 1

# The first ids of every dictionary of ours (fairseq fixes the first four).
CLS, PAD, SEP, UNK, MASK, NULL = range(6)
SPECIALS = 6


class DataFolder:
    """Languages, dictionaries and token files of one data folder; opens files on demand.

    Raises:
        UserError: if the folder was not finished by `fairseq-xling prepare`, was written by
            another format, or a dictionary is not the one that its ``meta.json`` describes.
    """

    def __init__(self, path: str | Path):
        self.path = Path(path)
        if not (self.path / "meta.json").is_file():
            what = "not a finished data folder" if self.path.is_dir() else "no such folder"
            raise UserError(f"{path}: {what} (no meta.json); run `fairseq-xling prepare {path}`")
        self.meta = _read_meta(self.path / "meta.json")
        self.languages: list[str] = list(self.meta["languages"])
        for name, digest in self.meta["dictionaries"].items():
            file = self.path / name
            if not file.is_file():
                raise UserError(f"{file}: no such file, though meta.json lists it")
            if sha256(file) != digest:
                raise UserError(f"{file}: changed since the folder was prepared; prepare it again")

    @property
    def splits(self) -> list[str]:
        """Every split that has text, monolingual or parallel."""
        return in_order({*self.meta.get("mono", {}), *self.meta.get("parallel", {})})

    def other_splits(self, split: str) -> str:
        """The end of a message about ``split``: what there is instead; empty if it is there."""
        if split in self.splits:
            return ""
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
        counts: dict[Path, int] = {}
        for lang in self.languages:
            path = self.dictionary_path(lang)
            if path not in counts:
                with open(path, "rb") as file:
                    counts[path] = sum(1 for _ in file) + 4  # fairseq adds four of its own
        return {lang: counts[self.dictionary_path(lang)] for lang in self.languages}

    def mono(self, split: str, lang: str) -> TokenFile:
        """Sentences of ``lang``: each its ids and a final ``</s>``.

        Raises:
            UserError: if there is no such text, or its file is damaged or of another dictionary.
        """
        self._check(lang)
        if lang not in self.meta.get("mono", {}).get(split, {}):
            what = f"monolingual {split!r} text of language {lang!r}"
            raise UserError(f"{self.path}: has no {what}{self.other_splits(split)}")
        return self._open(self.path / "mono" / f"{split}.{lang}", lang)

    def pairs(self, split: str) -> list[tuple[str, str]]:
        """The language pairs with parallel text in ``split``, named as they were prepared."""
        names = self.meta.get("parallel", {}).get(split, {})
        return [tuple(name.split("-")) for name in names]  # type: ignore[misc]

    def parallel(self, split: str, source: str, target: str) -> tuple[TokenFile, TokenFile]:
        """Both sides of the pair, line by line, in whichever direction it was prepared.

        Errors as for `mono`.
        """
        for name in (f"{source}-{target}", f"{target}-{source}"):
            if name in self.meta.get("parallel", {}).get(split, {}):
                stem = self.path / "parallel" / f"{split}.{name}"
                sides = (
                    self._open(f"{stem}.{source}", source),
                    self._open(f"{stem}.{target}", target),
                )
                if len(sides[0]) != len(sides[1]):
                    counts = f"{len(sides[0])} and {len(sides[1])}"
                    raise UserError(f"{stem}: sides must be equally long, got {counts} sentences")
                return sides
        what = f"parallel {split!r} text of {source}-{target}"
        raise UserError(f"{self.path}: has no {what}{self.other_splits(split)}")

    def order(self, split: str, source: str, target: str) -> TokenFile:
        """For each target token the index + 1 of its source token, or 0."""
        stem = self.path / "parallel" / f"{split}.{source}-{target}.order"
        if not stem.with_name(stem.name + ".idx").is_file():
            raise UserError(
                f"{self.path}: has no word alignment {source}-{target} for {split!r}; "
                f"prepare it with an --aligner or --alignment{self.other_splits(split)}"
            )
        return TokenFile(stem)

    def anchors(self, lang: str) -> list:
        """Entries ``[source ids, [[target ids, weight, language], ...]]`` of the dictionary of
        ``lang``; empty if the folder has none."""
        path = self.path / f"anchors.{lang}.json"
        if not path.is_file():
            return []
        try:
            entries = read_json(path)["entries"]
            for source, targets in entries:
                for ids, owner in ((source, lang), *((ids, other) for ids, _, other in targets)):
                    if not (min(ids) >= 0 and max(ids) < self.vocab_sizes[owner]):
                        raise ValueError
                if not all(weight > 0 for _, weight, _ in targets):
                    raise ValueError
        except (KeyError, TypeError, ValueError):
            raise UserError(f"{path}: damaged; prepare the folder again") from None
        return entries

    def _open(self, stem: str | Path, lang: str) -> TokenFile:
        file = TokenFile(stem)
        file.check_below(self.vocab_sizes[lang], self.dictionary_path(lang))
        return file

    def _check(self, lang: str) -> None:
        if lang not in self.languages:
            error = unknown_name("language", lang, self.languages)
            raise UserError(f"{self.path}: {error}")


def _read_meta(path: Path) -> dict[str, Any]:
    meta = read_json(path)
    found = meta.get("format") if isinstance(meta, dict) else None
    if found != FORMAT:
        raise UserError(f"{path}: format must be {FORMAT}, got {found!r}")
    kinds = {"languages": list, "dictionaries": dict, "mono": dict, "parallel": dict}
    for name, kind in kinds.items():
        if not isinstance(meta.get(name, {} if name in ("mono", "parallel") else None), kind):
            raise UserError(f"{path}: has no {name}; prepare the folder again")
    return meta
