"""The layers of a tagger: letters to words, the BiLSTM, and the discriminator of languages."""

from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from fairseq_xling.engine.compat import lstm_states


class BiLstm(nn.Module):
    """B sentences, N positions, D width of the input, H units in each direction."""

    def __init__(self, dim: int, hidden: int):
        super().__init__()
        self.forth = nn.LSTM(dim, hidden, batch_first=True)
        self.back = nn.LSTM(dim, hidden, batch_first=True)

    def forward(self, states: Tensor, lengths: Tensor) -> Tensor:
        """(B, N, 2H) from ``states`` (B, N, D) and ``lengths`` (B,); zero beyond the ends."""
        places = torch.arange(states.shape[1], device=lengths.device)
        inside = places < lengths[:, None]
        # What is beyond an end stays there, so it is read last in both directions.
        order = torch.where(inside, lengths[:, None] - 1 - places, places)
        forth = lstm_states(self.forth, states)
        back = _reorder(lstm_states(self.back, _reorder(states, order)), order)
        return torch.cat([forth, back], -1).masked_fill(~inside[..., None], 0)


def _reorder(states: Tensor, order: Tensor) -> Tensor:
    return states.gather(1, order[..., None].expand_as(states))


class MaxConvolution(nn.Module):
    """The maximum over positions of relu(convolution), for each width; concatenated.

    A window counts if it lies inside its sequence. A sequence that is shorter than a width has one
    window, filled up with zeros. So what follows a sequence never counts.

    Args:
        dim: width of the input, D.
        maps: filters of each width, M.
        widths: W of them.
    """

    def __init__(self, dim: int, maps: int, widths: Sequence[int]):
        super().__init__()
        self.layers = nn.ModuleList(nn.Conv1d(dim, maps, width) for width in widths)

    def forward(self, states: Tensor, lengths: Tensor) -> Tensor:
        """(B, W * M) from ``states`` (B, N, D) and ``lengths`` (B,)."""
        places = torch.arange(states.shape[1], device=lengths.device)
        states = states.masked_fill((places >= lengths[:, None])[..., None], 0).transpose(1, 2)
        found = []
        for layer in self.layers:
            (width,) = layer.kernel_size
            short = max(0, width - states.shape[2])
            maps = layer(nn.functional.pad(states, (0, short))).relu()
            windows = (lengths - width + 1).clamp(min=1)
            beyond = torch.arange(maps.shape[2], device=lengths.device) >= windows[:, None]
            found.append(maps.masked_fill(beyond[:, None], 0).amax(2))  # no relu is below 0
        return torch.cat(found, 1)


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


class Discriminator(nn.Module):
    """One decision for a sentence: the logit of q = P(target language), from its states h.

    B sentences, N positions, D width.
    """

    def __init__(self, dim: int, maps: int, widths: Sequence[int], dropout: float):
        super().__init__()
        self.convolution = MaxConvolution(dim, maps, widths)
        self.dropout = nn.Dropout(dropout)
        self.out = nn.Linear(maps * len(widths), 1)

    def forward(self, states: Tensor, lengths: Tensor) -> Tensor:
        """Logits (B,) from ``states`` (B, N, D)."""
        return self.out(self.dropout(self.convolution(states, lengths)))[:, 0]


def language_loss(logits: Tensor, target: Tensor, smoothing: float = 0.0) -> Tensor:
    """L_D: the mean over sentences of -l' log q - (1 - l') log(1 - q).

    Args:
        logits: (B,), of q.
        target: (B,) bool, l: whether a sentence is of the target language.
        smoothing: eps of l' = l (1 - eps) + (1 - l) eps.
    """
    l = target.float()
    smooth = l * (1 - smoothing) + (1 - l) * smoothing
    return F.binary_cross_entropy_with_logits(logits.float(), smooth)
