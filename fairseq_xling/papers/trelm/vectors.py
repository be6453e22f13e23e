"""Vectors of a data folder's subwords: trained on its text, or read from a ``.vec`` file.

TreLM, Section 3.2 and its released code: 10 epochs, window 5, 10 negative samples, every subword
however rare.

Symbols: ``V`` ids of the vocabulary, ``D`` width.
"""

import dataclasses
import importlib.metadata
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from fairseq_xling.data.dictionary import read_dictionary
from fairseq_xling.data.folder import SPECIALS, DataFolder
from fairseq_xling.errors import UserError
from fairseq_xling.files import write_json
from fairseq_xling.folders import work_folder
from fairseq_xling.mapping.text_vectors import read_text_vectors
from fairseq_xling.mapping.vectors_file import Vectors, write_vectors
from fairseq_xling.papers.trelm.embedders import embedders
from fairseq_xling.papers.trelm.skipgram import SkipGramOptions, count_ids
from fairseq_xling.progress import progress
from fairseq_xling.provenance import provenance


def train_vectors(
    data: str | Path,
    output: str | Path,
    languages: Sequence[str],
    options: SkipGramOptions,
    method: str = "skip-gram",
) -> dict[str, Any]:
    """Train subword vectors on the training text of ``languages`` (empty: all of the folder's).

    Special symbols are not trained. They, and ids too rare for ``min_count``, are drawn by
    `fill_missing`. Epochs that a killed run finished are not repeated.

    Args:
        output: vectors file to write, together with the returned report, ``<output>.json``.
        options: those of the ``method``, a name in `trelm.embedders`.

    Raises:
        UserError: if a language or its text is missing, several languages have separate
            vocabularies, or another run is writing ``output``.
    """
    folder = DataFolder(data)
    languages = _checked(folder, languages)
    started = time.monotonic()
    files = [folder.mono("train", lang) for lang in languages]
    counts = count_ids(files, folder.vocab_sizes[languages[0]])
    symbols = read_dictionary(folder.dictionary_path(languages[0]))
    model = embedders[method].model(files, counts, options, symbols)
    settings = {"method": method, "languages": languages, **dataclasses.asdict(options)}
    with work_folder(output, [settings, folder.meta]) as work:
        found = work.find("training")
        resumed = found[1]["epochs"] if found else 0
        if found:
            model.restore(found[0], found[1]["random"])
        with progress(int(counts.sum()) * options.epochs, method, "ids") as bar:
            bar.update(int(counts.sum()) * resumed)
            for epoch in range(resumed, options.epochs):
                model.train_epoch(epoch, bar.update)
                arrays, random = model.state()
                work.keep("training", arrays, {"epochs": epoch + 1, "random": random})
        table, known = model.table()
        table = fill_missing(table, known, options.seed)
        report = {
            "settings": settings,
            "tokens": int(counts.sum()),
            "trained_ids": len(model.ids),
            "composed_ids": int(known.sum()) - len(model.ids),
            "untrained_ids": int((~known[SPECIALS:]).sum()),
            "resumed_after_epochs": resumed,
            "seconds": round(time.monotonic() - started, 1),
        }
        return _write(output, folder, languages, table, counts, settings, report)


def import_vectors(
    data: str | Path,
    output: str | Path,
    languages: Sequence[str],
    text: str | Path,
    seed: int = 1,
) -> dict[str, Any]:
    """The same from a text file in word2vec's or fastText's format, for ids it has a word for.

    Ids whose word is missing from the file are drawn by `fill_missing`, counted and reported.

    Raises:
        UserError: as `train_vectors`; and if the file is damaged or has none of the words.
    """
    folder = DataFolder(data)
    languages = _checked(folder, languages)
    files = [folder.mono("train", lang) for lang in languages]
    counts = count_ids(files, folder.vocab_sizes[languages[0]])
    symbols = read_dictionary(folder.dictionary_path(languages[0]))
    table, known = read_text_vectors(text, symbols, SPECIALS)
    missing = np.flatnonzero(~known)[SPECIALS:]
    missing = missing[np.argsort(-counts[missing], kind="stable")]
    settings = {"method": "text", "languages": languages, "file": Path(text).name, "seed": seed}
    report = {
        "settings": settings,
        "tokens": int(counts.sum()),
        "found_ids": int(known.sum()),
        "missing_ids": len(missing),
        "missing_share_of_text": float(counts[missing].sum() / max(counts.sum(), 1)),
        "most_frequent_missing": [symbols[i] for i in missing[:20]],
    }
    table = fill_missing(table, known, seed)
    return _write(output, folder, languages, table, counts, settings, report, {"text": text})


def fill_missing(vectors: np.ndarray, known: np.ndarray, seed: int) -> np.ndarray:
    """Draw the rows of ids without a vector from the normal distribution of those with one.

    ``x[i, d] ~ N(m_d, s_d^2)`` with the mean and the standard deviation of column d over the known
    rows; ``seed`` and ``i`` determine the draw for row i.

    Args:
        vectors: (V, D); known: (V,) bool, with at least one True.

    >>> x = fill_missing(np.array([[1, 5], [3, 5], [0, 0]], np.float32), np.array([1, 1, 0]) > 0, 1)
    >>> x[:2].tolist(), float(x[2, 1])
    ([[1.0, 5.0], [3.0, 5.0]], 5.0)
    """
    mean, spread = vectors[known].mean(0), vectors[known].std(0)
    filled = vectors.copy()
    for row in np.flatnonzero(~known):
        drawn = np.random.default_rng((seed, int(row))).standard_normal(vectors.shape[1])
        filled[row] = mean + spread * drawn
    return filled


def _checked(folder: DataFolder, languages: Sequence[str]) -> list[str]:
    chosen = list(languages) or folder.languages
    for lang in chosen:
        folder.dictionary_path(lang)
    if folder.separate_vocabularies and len(chosen) != 1:
        raise UserError(
            f"{folder.path}: each language has its own vocabulary, so `--languages` must name one "
            f"of {', '.join(folder.languages)}, got {','.join(chosen)}"
        )
    return chosen


def _write(
    output: str | Path,
    folder: DataFolder,
    languages: list[str],
    table: np.ndarray,
    counts: np.ndarray,
    settings: dict[str, Any],
    report: dict[str, Any],
    inputs: dict[str, str | Path] | None = None,
) -> dict[str, Any]:
    digests = {lang: folder.dictionary_digest(lang) for lang in languages}
    symbols = read_dictionary(folder.dictionary_path(languages[0]))
    write_vectors(output, Vectors(table, counts, symbols, digests, settings))
    report["provenance"] = provenance({"data": folder.path / "meta.json", **(inputs or {})})
    report["provenance"]["versions"]["gensim"] = importlib.metadata.version("gensim")
    write_json(f"{output}.json", report)
    return report
