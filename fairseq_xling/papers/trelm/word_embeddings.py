"""Methods for the embeddings of a new vocabulary (TreLM, Table 5).

A method returns a row for every id; afterwards the rows of the special symbols, and on request
those of symbols that the source also has, are replaced by the source's.

V ids of the new vocabulary, D width of the encoder.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from fairseq_xling.core.errors import UserError
from fairseq_xling.core.registry import Registry
from fairseq_xling.data.folder import SPECIALS
from fairseq_xling.interop.sources import SourceModel
from fairseq_xling.mapping.vectors_file import Vectors


@dataclass(frozen=True)
class WordRequest:
    """One vocabulary that needs embeddings.

    Attributes:
        name: its language, for messages.
        symbols: its V symbols by id, word starts marked ``▁``.
        source: the model that is migrated.
        generator: generator of all draws.
        vectors: given vectors of this vocabulary, or ``None``.
        keep_norms: whether given vectors keep their length.
    """

    name: str
    symbols: Sequence[str]
    source: SourceModel
    generator: torch.Generator
    vectors: Vectors | None = None
    keep_norms: bool = False

    def draw(self, rows: int) -> Tensor:
        """(rows, D) from a normal distribution with the source's initial deviation."""
        shape = self.source.shape
        return torch.randn(rows, shape.dim, generator=self.generator) * shape.init_std


# By name, what returns (V, D) embeddings, with their own memory, and a short description.
word_inits: Registry[Callable[[WordRequest], tuple[Tensor, str]]] = Registry("`--embeddings`")


@word_inits.register("random")
def random(request: WordRequest) -> tuple[Tensor, str]:
    """Normal with the source's initial standard deviation."""
    std = request.source.shape.init_std
    return request.draw(len(request.symbols)), f"drawn, standard deviation {std:g}"


@word_inits.register("source")
def of_source(request: WordRequest) -> tuple[Tensor, str]:
    """Every symbol's row in the source, which must have all of them: a migration that keeps its
    vocabulary (TreLM, Table 9)."""
    source, symbols = request.source, request.symbols
    theirs = {symbol: number for number, symbol in enumerate(source.symbols)}
    missing = [symbol for symbol in symbols[SPECIALS:] if symbol not in theirs]
    if missing:
        raise UserError(
            f"`--embeddings source` needs the vocabulary of {source.origin}, which lacks "
            f"{len(missing):,} symbols of {request.name!r}, such as {missing[0]!r}; prepare the "
            "text with `--tokenizer`"
        )
    rows = request.draw(len(symbols))  # those of special symbols are replaced afterwards
    rows[SPECIALS:] = source.embeddings[[theirs[symbol] for symbol in symbols[SPECIALS:]]]
    return rows, "the source's"


@word_inits.register("vectors")
def from_vectors(request: WordRequest) -> tuple[Tensor, str]:
    """The given vectors, mapped onto the source's embeddings, and scaled.

    TreLM, Section 3.2 and Appendix A.1. The map is orthogonal and preserves the lengths of the
    skip-gram vectors, while the source's layers expect embeddings of another length; so one factor
    scales all vectors to the mean length of the source's embeddings (the paper does not say;
    `--keep-norms` disables this). A zero vector means a symbol without vector: it is drawn.
    """
    if request.vectors is None:
        raise UserError(f"`--embeddings vectors` needs `--vectors` of language {request.name}")
    rows = torch.from_numpy(request.vectors.vectors)
    norms = rows.norm(dim=1)
    empty = norms == 0
    factor, text = 1.0, "from vectors, unscaled"
    known = norms[SPECIALS:][~empty[SPECIALS:]]
    if not request.keep_norms and len(known):
        theirs = request.source.embeddings[request.source.words()].norm(dim=1)
        factor = float(theirs.mean() / known.mean())
        text = f"from vectors, scaled by {factor:.4g}"
    if count := int(empty[SPECIALS:].sum()):
        text += f" ({count:,} without one drawn)"
    return torch.where(empty[:, None], request.draw(len(rows)), rows * factor), text
