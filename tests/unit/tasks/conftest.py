"""A prepared folder of a few words, a codec for it, and items written to files."""

from collections.abc import Callable
from pathlib import Path

import pytest

from fairseq_xling.tasks.encode import Codec
from fairseq_xling.text.options import PrepareOptions
from fairseq_xling.text.prepare import prepare
from fairseq_xling.text.sources import parse_sources

WORDS = "the dog cat sees a big red house in rain he ran home and slept".split()


@pytest.fixture(scope="session")
def words_folder(tmp_path_factory) -> Path:
    """A data folder of English and German (the same words in capitals), whole words as tokens.

    ``housedog`` and other strange words are unknown to it.
    """
    root = tmp_path_factory.mktemp("words")
    lines = {"en": WORDS, "de": [word.upper() for word in WORDS]}
    for lang, words in lines.items():
        (root / lang).write_text("".join(f"{word} {word}\n" for word in words), encoding="utf-8")
    sources = parse_sources(("en", "de"), mono=[f"train.{lang}={root / lang}" for lang in lines])
    segment = dict.fromkeys(lines, "space")
    options = PrepareOptions(
        tuple(lines), vocab_type="word", vocab_size=100, segment=segment, aligner="none"
    )
    prepare(root / "data", sources, options)
    return root / "data"


@pytest.fixture
def codec(words_folder) -> Callable[..., Codec]:
    """``codec(max_positions=32, lang="en")``."""

    def make(max_positions: int = 32, lang: str = "en", too_long: str = "truncate") -> Codec:
        return Codec(words_folder, lang, max_positions, too_long)

    return make


@pytest.fixture
def written(tmp_path) -> Callable[..., Path]:
    """``written("name.tsv", "text")``: a file with that text."""

    def write(name: str, text: str) -> Path:
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        return path

    return write
