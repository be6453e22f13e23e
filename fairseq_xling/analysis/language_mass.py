"""Language leakage: the probability that masked positions assign to each language's own words.

Liu et al. 2020, "A Study of Cross-Lingual Ability and Language-specific Information in Multilingual
BERT", section 4.1: with ``V_k`` the tokens that occur in the corpus of language k,

    mass_k = sum over v in V_k and in no other V_j of p(v | masked position)

Tokens of several languages, or of none, are excluded, so the masses sum to at most 1.

Symbols: ``B`` masked positions, ``V`` size of the vocabulary, ``K`` languages.
"""

import torch
from torch import Tensor

from fairseq_xling.core.errors import UserError

_CELLS = 1 << 22  # probabilities in double precision at a time: 32 MB


def exclusive(vocabularies: Tensor) -> Tensor:
    """The tokens that each language alone has: (K, V) bool, from sets (K, V) bool.

    >>> exclusive(torch.tensor([[True, True, False], [False, True, False]])).tolist()
    [[True, False, False], [False, False, False]]
    """
    return vocabularies & (vocabularies.sum(0) == 1)


def language_mass(logits: Tensor, vocabularies: Tensor) -> Tensor:
    """Probability of each language's exclusive tokens at every position.

    ``mass[b, k] = sum_v softmax(logits[b])_v [v exclusive to k]``, in double precision.

    Args:
        logits: (B, V), natural-log scale, of masked positions, or log-probabilities. -inf is a
            token that cannot be predicted.
        vocabularies: (K, V) bool, as from `convert.vocabulary`, one row per language.

    Returns:
        (B, K); rows sum to at most 1, the rest is on tokens of several languages or none.

    Raises:
        UserError: for logits that are NaN, +inf, or all -inf.

    >>> sets = torch.tensor([[True, True, False, False], [False, True, True, False]])
    >>> logits = torch.tensor([[0.5, 0.25, 0.125, 0.125]]).log()
    >>> language_mass(logits, sets).round(decimals=6).tolist()
    [[0.5, 0.125]]
    """
    own = exclusive(vocabularies.to(logits.device)).double().T
    rows = max(1, _CELLS // max(1, logits.shape[1]))
    mass = torch.cat([part.double().softmax(1) @ own for part in logits.split(rows)])
    if not torch.isfinite(mass).all():
        row = int((~torch.isfinite(mass).all(1)).nonzero()[0])
        raise UserError(f"logits must be finite, got NaN or infinity in row {row}")
    return mass


class LanguageMass:
    """Mean of `language_mass` over positions that come in batches.

    >>> mass = LanguageMass(torch.eye(2, 3, dtype=torch.bool))
    >>> mass.update(torch.tensor([[0.5, 0.25, 0.25]]).log())
    >>> mass.update(torch.tensor([[0.25, 0.5, 0.25]]).log())
    >>> mass.value().round(decimals=6).tolist(), mass.count
    ([0.375, 0.375], 2)
    """

    def __init__(self, vocabularies: Tensor):
        self.count = 0
        self._vocabularies = vocabularies
        self._sums = torch.zeros(len(vocabularies), dtype=torch.float64)

    def update(self, logits: Tensor) -> None:
        """Add B more masked positions; errors as `language_mass`."""
        self._sums += language_mass(logits, self._vocabularies).sum(0).cpu()
        self.count += len(logits)

    def value(self) -> Tensor:
        """(K,) in double precision, the mean mass of each language.

        Raises:
            UserError: if there is no position.
        """
        if not self.count:
            raise UserError("language mass needs at least 1 masked position, got 0")
        return self._sums / self.count
