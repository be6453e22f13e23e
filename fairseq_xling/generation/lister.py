"""The target tokens that a sentence may be translated with, from a shortlist.

B sentences, T source length, N tokens for each source token, C in all.
"""

import torch
from torch import Tensor

from fairseq_xling.data.folder import PAD, SPECIALS
from fairseq_xling.data.shortlist import Shortlist


class Lister:
    """The tokens of each sentence's words, the frequent ones and the special ones."""

    def __init__(self, shortlist: Shortlist):
        self.linked = torch.from_numpy(shortlist.linked)
        self.always = torch.cat([torch.arange(SPECIALS), torch.from_numpy(shortlist.frequent)])

    def __call__(self, src_tokens: Tensor) -> Tensor:
        """(B, T) source tokens to (B, C), as `Few.tokens`: the same for a sentence in any batch
        but for padding at the end."""
        device = src_tokens.device
        if self.linked.device != device:
            self.linked, self.always = self.linked.to(device), self.always.to(device)
        found = self.linked[src_tokens].flatten(1).sort(1).values
        found[:, 1:].masked_fill_(found[:, 1:] == found[:, :-1], PAD)
        found = found.sort(1, descending=True).values.long()
        width = int((found != PAD).sum(1).max())
        return torch.cat([self.always.expand(len(found), -1), found[:, :width]], 1)
