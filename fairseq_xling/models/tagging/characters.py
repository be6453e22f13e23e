"""A vector of each word from its letters, by convolutions."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from fairseq_xling.models.tagging.convolution import MaxConvolution


class CharacterCnn(nn.Module):
    """One table of letters for all languages; convolutions shared, or of each language.

    Args:
        letters: rows of the table; row 0 is the padding, which is zero.
        dim: width of the table.
        maps, widths: of the convolutions; the result is ``maps * len(widths)`` wide.
        languages: how many sets of convolutions there are.
    """

    def __init__(self, letters: int, dim: int, maps: int, widths: Sequence[int], languages: int):
        super().__init__()
        self.table = nn.Embedding(letters, dim, padding_idx=0)
        self.layers = nn.ModuleList(MaxConvolution(dim, maps, widths) for _ in range(languages))
        self.width = maps * len(widths)

    def forward(self, forms: Tensor, form: Tensor, lang: int) -> Tensor:
        """(B, N, E) of words ``form`` (B, N), numbers among the different ``forms`` (T, C)."""
        lengths = (forms != 0).sum(1).clamp(min=1)
        layer = self.layers[lang if len(self.layers) > 1 else 0]
        return nn.functional.embedding(form, layer(self.table(forms), lengths))


class NoCharacters(nn.Module):
    """Words have their vectors alone."""

    width = 0

    def forward(self, forms: Tensor, form: Tensor, lang: int) -> Tensor:
        """(B, N, 0)."""
        return torch.zeros(*form.shape, 0, device=form.device)
