"""Vectors of a data folder's subwords: trained on its text, read from a ``.vec`` file, or linked.

TreLM, Section 3.2 and its released code: 10 epochs, window 5, 10 negative samples, every subword
however rare, which requires much text. With little text, the parallel text of its transfer phases
is more informative: a word starts as the mean of the source's embeddings of its translations.
Subwords t and s with ``n(t, s)`` links have weight ``n(t, s)^2 / (n(t) n(s))``, which is ``p(s | t)
p(t | s)``, so that an article linked to everything counts little.

Symbols: ``V`` ids of the vocabulary, ``T`` and ``S`` of the target's and the source language's,
``D`` width.
"""

import dataclasses
import importlib.metadata
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from fairseq_xling.core.errors import UserError
from fairseq_xling.core.files import write_json
from fairseq_xling.core.folders import work_folder
from fairseq_xling.core.progress import progress
from fairseq_xling.core.provenance import provenance
from fairseq_xling.data.folder import SPECIALS, DataFolder, read_dictionary
from fairseq_xling.data.mmap import TokenFile
from fairseq_xling.data.sources import Pairs
from fairseq_xling.mapping.text_vectors import read_text_vectors
from fairseq_xling.mapping.vectors_file import (
    Vectors,
    count_ids,
    fill_missing,
    read_vectors,
    write_vectors,
)
from fairseq_xling.text.vocabularies import mode_of

if TYPE_CHECKING:
    from fairseq_xling.papers.trelm.skipgram import SkipGramOptions

_PAIRS = 1 << 14  # sentence pairs counted at a time


def train_vectors(
    data: str | Path,
    output: str | Path,
    languages: Sequence[str],
    options: "SkipGramOptions",
    method: str = "skip-gram",
) -> dict[str, Any]:
    """Train subword vectors on the training text of ``languages`` (empty: all of the folder's).

    Special symbols are not trained. They, and ids too rare for ``min_count``, are drawn by
    `fill_missing`. Epochs that a killed run finished are not repeated.

    Args:
        output: vectors file to write, together with the returned report, ``<output>.json``.
        options: those of the ``method``, a name in `skipgram.embedders`.
    """
    from fairseq_xling.papers.trelm.skipgram import embedders  # imports gensim, which is slow

    text, started = TrainingText(data, languages), time.monotonic()
    tokens = int(text.counts.sum())
    model = embedders[method].model(text.files, text.counts, options, text.symbols)
    settings = {"method": method, "languages": text.languages, **dataclasses.asdict(options)}
    with work_folder(output, [settings, text.folder.meta]) as work:
        found = work.find("training")
        resumed = found[1]["epochs"] if found else 0
        if found:
            model.restore(found[0], found[1]["random"])
        with progress(tokens * options.epochs, method, "ids") as bar:
            bar.update(tokens * resumed)
            for epoch in range(resumed, options.epochs):
                model.train_epoch(epoch, bar.update)
                arrays, random = model.state()
                work.keep("training", arrays, {"epochs": epoch + 1, "random": random})
        table, known = model.table()
        table = fill_missing(table, known, options.seed)
        report = {
            "settings": settings,
            "tokens": tokens,
            "trained_ids": len(model.ids),
            "composed_ids": int(known.sum()) - len(model.ids),
            "untrained_ids": int((~known[SPECIALS:]).sum()),
            "resumed_after_epochs": resumed,
            "seconds": round(time.monotonic() - started, 1),
        }
        return _write(output, text, table, report)


def import_vectors(
    data: str | Path,
    output: str | Path,
    languages: Sequence[str],
    file: str | Path,
    seed: int = 1,
) -> dict[str, Any]:
    """The same from a text file in word2vec's or fastText's format, for ids it has a word for.

    Ids whose word is missing from the file are drawn by `fill_missing`, counted and reported.
    """
    text = TrainingText(data, languages)
    counts, symbols = text.counts, text.symbols
    table, known = read_text_vectors(file, symbols, SPECIALS)
    missing = np.flatnonzero(~known)[SPECIALS:]
    missing = missing[np.argsort(-counts[missing], kind="stable")]
    settings = {"method": "text", "languages": text.languages, "file": Path(file).name}
    report = {
        "settings": {**settings, "seed": seed},
        "tokens": int(counts.sum()),
        "found_ids": int(known.sum()),
        "missing_ids": len(missing),
        "missing_share_of_text": float(counts[missing].sum() / max(counts.sum(), 1)),
        "most_frequent_missing": [symbols[i] for i in missing[:20]],
    }
    return _write(output, text, fill_missing(table, known, seed), report, {"text": file})


class TrainingText:
    """The training text of some languages, or all, that have one dictionary."""

    def __init__(self, data: str | Path, languages: Sequence[str]):
        self.folder = folder = DataFolder(data)
        self.languages = list(languages) or folder.languages
        paths = [folder.dictionary_path(lang) for lang in self.languages]
        if folder.separate_vocabularies and len(paths) != 1:
            raise UserError(
                f"{folder.path}: each language has its own vocabulary, so `--languages` must name "
                f"one of {', '.join(folder.languages)}, got {','.join(self.languages)}"
            )
        self.files = [file for lang in self.languages for file in _sentences(folder, lang)]
        self.counts = count_ids(self.files, folder.vocab_sizes[self.languages[0]])
        self.symbols = read_dictionary(paths[0])

    def vectors(self, table: np.ndarray, settings: Mapping[str, Any]) -> Vectors:
        """A row for each symbol, (V, D), as vectors of these languages."""
        digests = {lang: self.folder.dictionary_digest(lang) for lang in self.languages}
        return Vectors(table, self.counts, self.symbols, digests, settings)


def _sentences(folder: DataFolder, lang: str) -> list[TokenFile]:
    """The monolingual training text of ``lang``; without any, its sides of the parallel text."""
    pairs = [pair for pair in folder.pairs("train") if lang in pair]
    if folder.has_mono("train", lang) or not pairs:
        return [folder.mono("train", lang)]
    return [folder.parallel("train", *pair)[pair.index(lang)] for pair in pairs]


def _write(
    output: str | Path,
    text: TrainingText,
    table: np.ndarray,
    report: dict[str, Any],
    inputs: Mapping[str, str | Path] | None = None,
) -> dict[str, Any]:
    """Write the vectors, and the report with what it was made from; returns the report."""
    write_vectors(output, text.vectors(table, report["settings"]))
    report["provenance"] = provenance({"data": text.folder.path / "meta.json", **(inputs or {})})
    report["provenance"]["versions"]["gensim"] = importlib.metadata.version("gensim")
    write_json(f"{output}.json", report)
    return report


def link_vectors(
    data: str | Path,
    output: str | Path,
    pair: tuple[str, str],
    language: str,
    source_vectors: str | Path,
) -> str:
    """Write vectors for the dictionary of ``language``, one of ``pair``; returns a report.

    Subwords with the same spelling in the source get its embedding; the others the mean of those
    they are linked with, words of the source language last. A subword without either gets a zero
    vector, which `fairseq-xling init` replaces by a random one.

    Args:
        data: data folder with aligned parallel training text of the pair.
        pair: the source's language, the target.
        source_vectors: the source's embeddings, as `fairseq-xling init --source-vectors` writes.
    """
    if language not in pair:
        raise UserError(f"`--language` must be one of {', '.join(pair)}, got {language!r}")
    folder = DataFolder(data)
    theirs = read_vectors(source_vectors)
    if theirs.symbols is None:
        raise UserError(f"{source_vectors}: has no symbols; make it with `init --source-vectors`")
    source, target = pair
    entries, piece = read_dictionary(folder.dictionary_path(source)), mode_of(folder).piece
    symbols = [*entries[:SPECIALS], *map(piece, entries[SPECIALS:])]
    shared = not folder.separate_vocabularies
    # The embedding of a source-language subword: its own, or else that of its translations.
    rows_s, known_s = _spelt_alike(symbols, theirs)
    rows_t, known_t = mean_of_linked(count_links(folder, source, target), rows_s, known_s)
    back, found = mean_of_linked(count_links(folder, target, source), rows_t, known_t)
    rows_s, known_s = _fill(rows_s, known_s, back, found)
    if language == source:
        rows, known = rows_s, known_s
    else:
        rows, known = rows_t, known_t
        if shared:
            rows, known = _fill(rows, known, rows_s, known_s)
    if not known.any():
        raise UserError(
            f"{data}: no word of {source!r} is in {source_vectors}, so no other can be linked to it"
        )
    text = TrainingText(data, pair if shared else [language])
    settings = {"method": "linked", "pair": list(pair), "language": language}
    write_vectors(output, text.vectors(rows.astype(np.float32), settings))
    share = text.counts[~known].sum() / max(text.counts.sum(), 1)
    return (
        f"{output}: {int(known.sum()):,} of {len(rows) - SPECIALS:,} subwords found, the others "
        f"are {100 * share:.2f} % of the text"
    )


def count_links(folder: DataFolder, source: str, target: str) -> sparse.csr_array:
    """(T, S) the number of links from each subword of ``target`` to each of ``source``, in
    training.

    Links of special symbols are left out. The text is read in pieces.
    """
    sides = folder.parallel("train", source, target)
    order = folder.order("train", source, target)
    pairs = Pairs(*sides, (source, target), 1 << 30, order)
    shape = (folder.vocab_sizes[target], folder.vocab_sizes[source])
    total = sparse.csr_array(shape, dtype=np.int64)
    for start in range(0, len(pairs), _PAIRS):
        span = start, min(start + _PAIRS, len(pairs))
        theirs, their_sizes = pairs.source.block(*span)
        ours, sizes = pairs.target.block(*span)
        stored, _ = order.block(*span)
        firsts = np.repeat(np.cumsum(their_sizes) - their_sizes, sizes)
        linked = np.flatnonzero(stored)
        columns, rows = theirs[firsts[linked] + stored[linked] - 1], ours[linked]
        kept = (rows >= SPECIALS) & (columns >= SPECIALS)
        ones = np.ones(int(kept.sum()), dtype=np.int64)
        total += sparse.coo_array((ones, (rows[kept], columns[kept])), shape=shape).tocsr()
    return total


def mean_of_linked(
    links: sparse.csr_array, rows: np.ndarray, known: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The means of ``rows`` (S, D), of those that are ``known`` (S,), by ``links`` (T, S).

    Returns:
        (T, D) means, zero where there are no links, and (T,) whether there are.

    >>> links = sparse.csr_array(np.array([[3, 1, 0], [0, 0, 2], [0, 0, 0]]))
    >>> means, found = mean_of_linked(links, np.array([[4.0], [8.0], [0.0]]), np.array([1, 1, 0]))
    >>> [round(float(x), 2) for x in means[:, 0]], found.tolist()
    ([5.0, 0.0, 0.0], [True, False, False])
    """
    links = links.astype(np.float64)
    by_target, by_source = links.sum(1), links.sum(0)
    with np.errstate(divide="ignore"):
        scale_t, scale_s = (np.where(n > 0, 1 / n, 0.0) for n in (by_target, by_source))
    weights = sparse.diags_array(scale_t) @ links.power(2) @ sparse.diags_array(scale_s * known)
    mass = weights.sum(1)
    found = mass > 0
    means = np.zeros((links.shape[0], rows.shape[1]))
    means[found] = (weights @ rows)[found] / mass[found, None]
    return means, found


def _spelt_alike(symbols: Sequence[str], theirs: Vectors) -> tuple[np.ndarray, np.ndarray]:
    """(S, D) the source's rows of the same spelling, and (S,) where there is one."""
    places = {symbol: i for i, symbol in enumerate(theirs.symbols or []) if theirs.counts[i] > 0}
    found = np.array([places.get(symbol, -1) for symbol in symbols])
    found[:SPECIALS] = -1
    known = found >= 0
    return np.where(known[:, None], theirs.vectors[found], 0.0), known


def _fill(
    rows: np.ndarray, known: np.ndarray, others: np.ndarray, theirs: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    return np.where(known[:, None], rows, others), known | theirs
