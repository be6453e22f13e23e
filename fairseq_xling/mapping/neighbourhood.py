"""A word among all others in one or more files of vectors.

TreLM, appendix A.2, inspects the raw embeddings of encoders in this way: the histogram of a term's
cosines to all words, and its 50 nearest neighbours on their first two principal components.

Symbols: ``V`` words, ``D`` width, ``N`` neighbours.
"""

import dataclasses

import numpy as np

from fairseq_xling.core.errors import UserError
from fairseq_xling.core.registry import did_you_mean
from fairseq_xling.mapping.vectors_file import Vectors
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
    if vectors.symbols is None:
        raise UserError(f"{name}: has no symbols, so no word can be found in it")
    places = {symbol: row for row, symbol in reversed(list(enumerate(vectors.symbols)))}
    row = places.get(f"{WORD_MARK}{word}", places.get(word))
    if row is None:
        plain = sorted({symbol.removeprefix(WORD_MARK) for symbol in vectors.symbols})
        raise UserError(f"{name}: has no word {word!r}{did_you_mean(word, plain)}")
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
