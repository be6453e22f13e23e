"""Embeddings of new words from the source's embeddings of the words that they are aligned with.

TreLM maps skip-gram vectors (section 3.2), which requires much text. With little text, the parallel
text of its transfer phases is more informative: a word starts as the mean of the source's
embeddings of its translations. Subwords t and s with ``n(t, s)`` links have weight ``n(t, s)^2 /
(n(t) n(s))``, which is ``p(s | t) p(t | s)``, so that an article linked to everything counts
little.

T and S ids of the target's and the source language's vocabulary, D width.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from scipy import sparse

from fairseq_xling.data.dictionary import read_dictionary
from fairseq_xling.data.folder import SPECIALS, DataFolder
from fairseq_xling.data.mmap import TokenFile
from fairseq_xling.data.sources import Pairs
from fairseq_xling.errors import UserError
from fairseq_xling.mapping.vectors_file import Vectors, read_vectors, write_vectors
from fairseq_xling.text.vocabularies import mode_of

_PIECE = 1 << 14  # sentence pairs counted at a time


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

    Raises:
        UserError: if the folder has no aligned text of the pair, ``language`` is not of the pair,
            the file of vectors is invalid or has no symbols, or no word was found at all.
    """
    if language not in pair:
        raise UserError(f"`--language` must be one of {', '.join(pair)}, got {language!r}")
    folder = DataFolder(data)
    theirs = read_vectors(source_vectors)
    if theirs.symbols is None:
        raise UserError(f"{source_vectors}: has no symbols; make it with `init --source-vectors`")
    source, target = pair
    symbols = {lang: _symbols(folder, lang) for lang in pair}
    shared = not folder.separate_vocabularies
    links = count_links(folder, source, target)
    # The embedding of a source-language subword: its own, or else that of its translations.
    rows_s, known_s = _spelt_alike(symbols[source], theirs)
    rows_t, known_t = mean_of_linked(links, rows_s, known_s)
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
    counts = np.zeros(len(rows), dtype=np.int64)
    for lang in pair if shared else [language]:
        counts += _count(folder.mono("train", lang), len(rows))
    settings = {"method": "linked", "pair": list(pair), "language": language}
    digests = {lang: folder.dictionary_digest(lang) for lang in (pair if shared else [language])}
    written = read_dictionary(folder.dictionary_path(language))
    write_vectors(output, Vectors(rows.astype(np.float32), counts, written, digests, settings))
    share = counts[~known].sum() / max(counts.sum(), 1)
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
    for start in range(0, len(pairs), _PIECE):
        span = start, min(start + _PIECE, len(pairs))
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


def _symbols(folder: DataFolder, lang: str) -> list[str]:
    mode = mode_of(folder)
    entries = read_dictionary(folder.dictionary_path(lang))
    return [*entries[:SPECIALS], *map(mode.piece, entries[SPECIALS:])]


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


def _count(file: TokenFile, size: int) -> np.ndarray:
    from fairseq_xling.papers.trelm.skipgram import count_ids  # imports gensim, which is slow

    return count_ids([file], size)
