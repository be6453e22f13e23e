"""Small corpora of made-up words, and data folders prepared from them in the same process."""

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from fairseq_xling.text.options import PrepareOptions, parse_segmentation
from fairseq_xling.text.prepare import prepare
from fairseq_xling.text.sources import parse_sources


def sentences(seed: int, count: int, letters: str = "abcdefgh", words: int = 60) -> list[str]:
    """``count`` sentences of 3 to 12 words drawn with Zipf's frequencies."""
    rng = np.random.default_rng(seed)
    lexicon = ["".join(rng.choice(list(letters), rng.integers(2, 7))) for _ in range(words)]
    chance = 1 / np.arange(1, words + 1)
    chance /= chance.sum()
    return [" ".join(rng.choice(lexicon, rng.integers(3, 13), p=chance)) for _ in range(count)]


def write_lines(path: Path, lines: list[str]) -> Path:
    """A text file; returns its path."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(line + "\n" for line in lines), encoding="utf-8")
    return path


def write_corpus(folder: Path) -> Path:
    """Text as `fairseq-xling synthesize` lays it out: two languages that share some words, and
    parallel text in which the second side is the first one backwards, in capitals."""
    shared = sentences(9, 30, letters="xyz", words=10)
    for k, (lang, letters) in enumerate((("en", "abcdefgh"), ("de", "efghijkl"))):
        lines = sentences(k, 300, letters) + shared
        write_lines(folder / "mono" / f"train.{lang}.txt", lines)
        write_lines(folder / "mono" / f"valid.{lang}.txt", lines[:20])
    for split, count in (("train", 80), ("valid", 10)):
        left = sentences(5, count, letters="mnopq")
        right = [" ".join(reversed(line.upper().split())) for line in left]
        write_lines(folder / "parallel" / f"{split}.en-de.en.txt", left)
        write_lines(folder / "parallel" / f"{split}.en-de.de.txt", right)
    return folder


def prepare_folder(out: Path, files: dict, segment: tuple[str, ...] = (), **changes) -> Path:
    """Prepare English and German text; returns the data folder.

    Args:
        files: arguments of `parse_sources`.
        segment: as on the command line.
        changes: ``workers``, ``overwrite`` and fields of `PrepareOptions`.
    """
    run = {key: changes.pop(key) for key in ("workers", "overwrite") if key in changes}
    languages = ("en", "de")
    settings = {"vocab_size": 60, "aligner": "none", **changes}
    options = PrepareOptions(
        languages=languages, segment=parse_segmentation(segment, languages), **settings
    )
    prepare(out, parse_sources(languages, **files), options, **run)
    return out


@pytest.fixture(scope="session")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The text of `write_corpus`; read it, do not change it."""
    return write_corpus(tmp_path_factory.mktemp("corpus"))


@pytest.fixture(scope="session")
def make_folder(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """``make_folder(vocab="union", ...)``: a data folder of ``corpus``, made once for all tests
    that ask for the same; read it, do not change it."""
    made: dict[str, Path] = {}

    def make(**changes) -> Path:
        key = repr(sorted(changes.items()))
        if key not in made:
            out = tmp_path_factory.mktemp("folder") / "bin"
            made[key] = prepare_folder(out, {"folder": corpus}, **changes)
        return made[key]

    return make


@pytest.fixture
def helpers() -> SimpleNamespace:
    """The functions of this file, for tests that write text of their own."""
    return SimpleNamespace(
        sentences=sentences,
        write_lines=write_lines,
        write_corpus=write_corpus,
        prepare_folder=prepare_folder,
    )
