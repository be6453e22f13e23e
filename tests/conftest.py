"""Fixtures for every room: a tiny data folder with known content, and a task's default options."""

import functools
import gc
import os
import shutil
import signal
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from fairseq_xling.core.files import sha256, write_json
from fairseq_xling.data.folder import SEP, SPECIALS
from fairseq_xling.data.meta import describe_files
from fairseq_xling.data.mmap import best_dtype, write_items
from tests.once import once

pytest_plugins = [
    "tests.slow_parts",
    # What the tests of several rooms share.
    "tests.fixtures.planted_encoder",
    "tests.fixtures.planted_states",
    "tests.fixtures.word_files",
]

# Results are compared with thresholds, so they must not depend on the processor: `--precision auto`
# is fp32 wherever the tests run. Those of the choice itself unset it.
os.environ["FAIRSEQ_XLING_NATIVE_BF16"] = "0"

# A shell's `&` ignores Ctrl-C for what it starts, and all below inherits that: tests that send it
# would wait in vain.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Millions of objects are made while tests are collected, and nearly all of them stay: looking
# through them for garbage, then and whenever a test makes many more, takes a twentieth of the time.
gc.disable()


def pytest_collection_finish() -> None:
    gc.freeze()
    gc.enable()


Sentence = list[int]


@dataclass
class TinyCorpus:
    """A data folder on disk and, for oracles, all that was written into it.

    English and German have ``words`` words each, ``▁en0``, ``▁en1``, ... and ``▁de0``, ...; word k
    of one translates word k of the other, and a German sentence is its English one backwards.

    Attributes:
        path: the data folder.
        ids: by language, the id of each of its words.
        mono: by split and language, the sentences, as ids without the final ``</s>``.
        pairs: by split, (English, German) sentences.
    """

    path: Path
    ids: dict[str, list[int]]
    mono: dict[str, dict[str, list[Sentence]]] = field(default_factory=dict)
    pairs: dict[str, list[tuple[Sentence, Sentence]]] = field(default_factory=dict)

    def stream(self, split: str, lang: str) -> list[int]:
        """The sentences of a split run together, each with its ``</s>``."""
        return [token for sentence in self.mono[split][lang] for token in [*sentence, SEP]]


def build_corpus(
    path: Path,
    *,
    mode: str = "joint",
    words: int = 40,
    sentences: tuple[int, int] = (90, 30),
    seed: int = 0,
    digests: bool = False,
) -> TinyCorpus:
    """Write a `TinyCorpus`.

    Args:
        path: an empty or missing folder.
        mode: vocabulary mode: ``joint`` or ``prefixed`` (one dictionary), or ``separate``.
        words: words of each language.
        sentences: how many of English and of German are in the training split; the others, and
            the parallel text, have 20.
        digests: of all files in ``meta.json``; without, it is as earlier versions wrote it.
        seed: draws lengths (1 to 12 words, short ones more often) and words (Zipf's law).
    """
    rng = np.random.default_rng(seed)
    languages = ["en", "de"]
    spelled = {
        lang: [f"{lang + ':' if mode == 'prefixed' else ''}▁{lang}{k}" for k in range(words)]
        for lang in languages
    }
    first = {"en": SPECIALS, "de": SPECIALS if mode == "separate" else SPECIALS + words}
    corpus = TinyCorpus(path, {lang: [first[lang] + k for k in range(words)] for lang in languages})

    files = {"dict.txt": spelled["en"] + spelled["de"]}
    if mode == "separate":
        files = {f"dict.{lang}.txt": spelled[lang] for lang in languages}
    path.mkdir(parents=True, exist_ok=True)
    for name, symbols in files.items():
        lines = "".join(f"{symbol} 1\n" for symbol in ["<mask>", "<null>", *symbols])
        (path / name).write_text(lines, encoding="utf-8")

    def sentence() -> np.ndarray:
        return rng.zipf(1.4, min(12, int(rng.zipf(1.5)))) % words

    def write(stem: Path, items: list[Sentence]) -> None:
        write_items(stem, [np.array([*item, SEP]) for item in items], best_dtype(2 * words))

    meta: dict = {"mono": {}, "parallel": {}}
    for split in ("train", "valid", "test"):
        corpus.mono[split] = {}
        for lang, count in zip(languages, sentences, strict=True):
            made = [(first[lang] + sentence()).tolist() for _ in range(count)]
            corpus.mono[split][lang] = made if split == "train" else made[:20]
            write(path / "mono" / f"{split}.{lang}", corpus.mono[split][lang])
        drawn = [sentence() for _ in range(20)]
        corpus.pairs[split] = [
            ((first["en"] + s).tolist(), (first["de"] + s[::-1]).tolist()) for s in drawn
        ]
        stem = path / "parallel" / f"{split}.en-de"
        for side, lang in enumerate(languages):
            write(stem.with_name(f"{stem.name}.{lang}"), [p[side] for p in corpus.pairs[split]])
        # Backwards: target token u comes from source token n - 1 - u, stored plus 1; SEP to SEP.
        orders = [np.array([*range(len(s), 0, -1), len(s) + 1]) for s in drawn]
        for pair in ("en-de", "de-en"):
            write_items(path / "parallel" / f"{split}.{pair}.order", orders, np.dtype("<u2"))
        counts = {lang: {"sentences": len(corpus.mono[split][lang])} for lang in languages}
        meta["mono"][split] = counts
        meta["parallel"][split] = {"en-de": {"pairs": 20, "orders": ["en-de", "de-en"]}}

    for lang, other in (("en", "de"), ("de", "en")):
        entries = [
            [[corpus.ids[lang][k]], [[[corpus.ids[other][k]], 1.0, other]]] for k in range(words)
        ]
        write_json(path / f"anchors.{lang}.json", {"entries": entries})
    meta |= {"format": 1, "languages": languages, "vocab": {"mode": mode, "size": words}}
    meta["dictionaries"] = {name: sha256(path / name) for name in files}
    if digests:
        made = [file.relative_to(path).as_posix() for file in path.rglob("*") if file.is_file()]
        meta["files"] = describe_files(path, made)
    write_json(path / "meta.json", meta)
    return corpus


@pytest.fixture(scope="session")
def shared_root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where folders are that all workers of the session read."""
    root = tmp_path_factory.getbasetemp()
    return (root.parent if "PYTEST_XDIST_WORKER" in os.environ else root) / "shared"


@pytest.fixture(scope="session")
def tiny_world(shared_root: Path) -> Path:
    """The folder of the `World` that hostile cases, kills and short trainings begin with."""
    from tests.tiny_world import build_world

    return once(shared_root / "tiny-world", build_world)


@pytest.fixture(scope="session")
def built_corpora(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., TinyCorpus]:
    """`build_corpus`, once for each of its settings; read what it made, do not change it."""

    @functools.cache
    def build(**changes) -> TinyCorpus:
        return build_corpus(tmp_path_factory.mktemp("tiny") / "data-bin", **changes)

    return build


@pytest.fixture(scope="session")
def tiny_corpus(built_corpora: Callable[..., TinyCorpus]) -> TinyCorpus:
    """A `TinyCorpus` with one vocabulary for both languages; read it, do not change it."""
    return built_corpora()


@pytest.fixture
def make_corpus(
    tmp_path: Path, built_corpora: Callable[..., TinyCorpus]
) -> Callable[..., TinyCorpus]:
    """`build_corpus` in a folder of the test's own: ``make_corpus(mode="separate", words=9)``."""

    def make(name: str = "data-bin", **changes) -> TinyCorpus:
        built = built_corpora(**changes)
        return replace(built, path=shutil.copytree(built.path, tmp_path / name))

    return make


@pytest.fixture
def options() -> Callable[..., SimpleNamespace]:
    """The task options that objectives and feeds read, at their defaults but for the changes."""

    def make(**changes) -> SimpleNamespace:
        defaults = {
            "mask_prob": 0.15,
            "leave_unmasked": 0.1,
            "random_token": 0.1,
            "random_within_language": False,
            "lang_sampling_alpha": 0.7,
            "sample_break_mode": "sentence",
            "tokens_per_sample": 16,
            "max_positions": 64,
            "directions": "",
            "mono_languages": "",
            "mono_text": "mono",
            "too_long": "truncate",
        }
        assert set(changes) <= set(defaults), "an option that objectives and feeds do not read"
        return SimpleNamespace(**defaults | changes)

    return make
