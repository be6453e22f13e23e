"""A word among all others in one or more files of vectors.

TreLM, appendix A.2, inspects the raw embeddings of encoders in this way: the histogram of a term's
cosines to all words, and its 50 nearest neighbours on their first two principal components.

Symbols: ``V`` words, ``D`` width, ``N`` neighbours.
"""

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from fairseq_xling.errors import UserError
from fairseq_xling.files import atomic_write, write_json
from fairseq_xling.mapping.vectors_file import Vectors, read_vectors
from fairseq_xling.provenance import provenance
from fairseq_xling.registry import did_you_mean
from fairseq_xling.runs.tables import write_csv
from fairseq_xling.text.pieces import WORD_MARK

BINS = 80  # of equal width over [-1, 1]


def cosines(vectors: np.ndarray, row: int) -> np.ndarray:
    """Cosine of row ``row`` with every row, itself included: (V,) in [-1, 1].

    ``cos(x, y) = x . y / (||x|| ||y||)``, 0 where a vector is zero.

    >>> cosines(np.array([[2.0, 0.0], [0.0, 1.0], [-3.0, 0.0], [0.0, 0.0]]), 0).tolist()
    [1.0, 0.0, -1.0, 0.0]
    """
    wide = vectors.astype(np.float64)
    lengths = np.linalg.norm(wide, axis=1)
    products = wide @ wide[row]
    scale = lengths * lengths[row]
    return np.clip(np.divide(products, scale, out=np.zeros_like(products), where=scale > 0), -1, 1)


def principal_plane(x: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The first two principal components of rows ``x`` (N, D).

    With ``x - mean = U S V^T``, the components are the first two rows of ``V^T`` and component i
    explains the share ``s_i^2 / sum_j s_j^2`` of the variance. The sign of each is chosen so that
    its largest coordinate is positive.

    Returns:
        The mean (D,), the components (2, D), their shares (2,); zero if ``x`` has fewer.

    >>> mean, components, shares = principal_plane(np.array([[0.0, 3], [0, -3], [1, 0], [-1, 0]]))
    >>> components.round(6).tolist(), shares.round(6).tolist()
    ([[0.0, 1.0], [1.0, 0.0]], [0.9, 0.1])
    """
    x = x.astype(np.float64)
    mean = x.mean(0)
    _, values, rows = np.linalg.svd(x - mean, full_matrices=False)
    components, shares = np.zeros((2, x.shape[1])), np.zeros(2)
    found = min(2, len(values))
    if values[0] > 0:
        shares[:found] = values[:found] ** 2 / (values**2).sum()
    signs = [np.sign(row[np.abs(row).argmax()]) or 1.0 for row in rows[:found]]
    components[:found] = rows[:found] * np.array(signs)[:, None] + 0.0
    return mean, components, shares


@dataclasses.dataclass(frozen=True)
class Neighbourhood:
    """A word among the others of one file.

    Attributes:
        name: of the file.
        word: the word's symbol.
        counts: (BINS,) how many of the V cosines fall into each bin; they sum to V.
        neighbours: N symbols, nearest first, without the word itself.
        similarities: (N,) their cosines.
        points: (N, 2) on the plane of `principal_plane`; ``own``, (2,), the word itself.
        shares: (2,) of the neighbours' variance.
    """

    name: str
    word: str
    counts: np.ndarray
    neighbours: list[str]
    similarities: np.ndarray
    points: np.ndarray
    own: np.ndarray
    shares: np.ndarray


def neighbourhood(vectors: Vectors, name: str, word: str, top: int) -> Neighbourhood:
    """Inspect ``word`` in ``vectors``; special symbols and words that never occur are others, too.

    Raises:
        UserError: if ``name`` has no symbols or not this one (near matches are named).
    """
    row = _find(vectors, name, word)
    found = cosines(vectors.vectors, row)
    order = np.argsort(-found, kind="stable")
    order = order[order != row][:top]
    mean, components, shares = principal_plane(vectors.vectors[order])
    return Neighbourhood(
        name,
        vectors.symbols[row],
        np.histogram(found, bins=BINS, range=(-1, 1))[0],
        [vectors.symbols[i] for i in order],
        found[order],
        (vectors.vectors[order] - mean) @ components.T,
        (vectors.vectors[row] - mean) @ components.T,
        shares,
    )


def inspect_vectors(files: Sequence[str], word: str, top: int, output: str | Path) -> str:
    """Write ``inspect.{svg,png,json}``, ``histogram.csv`` and ``neighbours.csv`` into ``output``.

    Returns:
        The text to print: the nearest neighbours by file.

    Raises:
        UserError: for a missing file or word, or ``top`` below 2.
    """
    if top < 2:
        raise UserError(f"`--top` must be at least 2, got {top}")
    found = [neighbourhood(read_vectors(file), str(file), word, top) for file in files]
    from fairseq_xling.verbs.parts.embed_inspect_figure import draw_neighbourhoods, to_png, to_svg

    output = Path(output)
    output.mkdir(parents=True, exist_ok=True)
    figure = draw_neighbourhoods(found)
    for name, content in (("inspect.png", to_png(figure)), ("inspect.svg", to_svg(figure))):
        with atomic_write(output / name) as file:
            file.write(content)
    for name, table in tables(found).items():
        write_csv(output / f"{name}.csv", *table)
    write_json(
        output / "inspect.json",
        {
            "word": word,
            "files": [_about(n) for n in found],
            "provenance": provenance({f"vectors {i}": file for i, file in enumerate(files)}),
        },
    )
    lines = [f"{n.name}: {n.word} ~ {' '.join(n.neighbours[:10])}" for n in found]
    return "\n".join([*lines, f"{output}: inspect.svg, inspect.png, two tables and inspect.json"])


def tables(found: Sequence[Neighbourhood]) -> dict[str, tuple[list[str], list[list[Any]]]]:
    """``histogram`` and ``neighbours`` of all files, each a header and rows."""
    edges = np.linspace(-1, 1, BINS + 1).round(6).tolist()
    bins = [[n.name, *edges[i : i + 2], int(n.counts[i])] for n in found for i in range(BINS)]
    nearest = [
        [n.name, i + 1, symbol, *(round(float(v), 6) for v in (n.similarities[i], *n.points[i]))]
        for n in found
        for i, symbol in enumerate(n.neighbours)
    ]
    return {
        "histogram": (["file", "from", "to", "words"], bins),
        "neighbours": (["file", "rank", "symbol", "cosine", "x", "y"], nearest),
    }


def _about(found: Neighbourhood) -> dict[str, Any]:
    return {
        "file": found.name,
        "symbol": found.word,
        "words": int(found.counts.sum()),
        "histogram": found.counts.tolist(),
        "neighbours": found.neighbours,
        "cosines": found.similarities.round(6).tolist(),
        "points": found.points.round(6).tolist(),
        "own": found.own.round(6).tolist(),
        "variance_shares": found.shares.round(6).tolist(),
    }


def from_record(about: Mapping[str, Any]) -> Neighbourhood:
    """One of the ``files`` of ``inspect.json``.

    Raises:
        KeyError: if something is missing.
    """
    return Neighbourhood(
        about["file"],
        about["symbol"],
        np.array(about["histogram"], dtype=np.int64),
        list(about["neighbours"]),
        np.array(about["cosines"], dtype=np.float64),
        np.array(about["points"], dtype=np.float64).reshape(-1, 2),
        np.array(about["own"], dtype=np.float64),
        np.array(about["variance_shares"], dtype=np.float64),
    )


def _find(vectors: Vectors, name: str, word: str) -> int:
    if vectors.symbols is None:
        raise UserError(f"{name}: has no symbols, so no word can be found in it")
    places = {symbol: row for row, symbol in reversed(list(enumerate(vectors.symbols)))}
    for symbol in (f"{WORD_MARK}{word}", word):
        if symbol in places:
            return places[symbol]
    plain = sorted({symbol.removeprefix(WORD_MARK) for symbol in vectors.symbols})
    raise UserError(f"{name}: has no word {word!r}{did_you_mean(word, plain)}")
