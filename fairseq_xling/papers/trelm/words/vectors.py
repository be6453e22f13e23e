"""Embeddings from word vectors that were mapped onto the source's embeddings.

TreLM, Section 3.2 and Appendix A.1. The map is orthogonal and preserves the lengths of the
skip-gram vectors, while the source's layers expect embeddings of another length; so one factor
scales all vectors to the mean length of the source's embeddings (the paper does not say;
`--keep-norms` disables this). A zero vector means a symbol without vector: it is drawn.
"""

import torch
from torch import Tensor

from fairseq_xling.data.folder import SPECIALS
from fairseq_xling.errors import UserError
from fairseq_xling.papers.trelm.words import WordRequest, word_ways


@word_ways.register("vectors")
class FromVectors:
    """The given vectors, scaled."""

    reads_vectors = True

    @staticmethod
    def rows(request: WordRequest) -> tuple[Tensor, str]:
        """See `Way`.

        Raises:
            UserError: if there are no vectors of this vocabulary.
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
