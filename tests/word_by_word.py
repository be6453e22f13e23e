"""A model with a TRILayer that translates word by word, without any training.

All sublayers give nothing and all other embeddings are zero, so a state is its word's vector,
normalised. A word and its translation have the same vector, and a bias leaves only words of the
target language and ``</s>`` to choose from.
"""

from collections.abc import Mapping

import torch

from fairseq_xling.data.folder import NULL, SEP
from fairseq_xling.models.trilayer import TriEncoder


@torch.no_grad()
def make_word_by_word(encoder: TriEncoder, translation: Mapping[int, int], null_word: int) -> None:
    """Let ``encoder`` (shared parts, head ``linear``) write ``translation`` of each source id.

    ``null_word`` is what it writes where nothing is aligned.
    """
    for name, parameter in encoder.named_parameters():
        if "norm" not in name:
            parameter.zero_()
    table = encoder.tokens.shared.weight
    generator = torch.Generator().manual_seed(5)
    vectors = torch.randn(table.shape, generator=generator)
    bias = encoder.softmax.shared.bias.fill_(-1e4)
    for source, target in {**translation, SEP: SEP, NULL: null_word}.items():
        table[source] = table[target] = vectors[target]
        bias[target] = 0.0
