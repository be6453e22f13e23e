"""The outputs of a tagger: from scores of words to a loss and to tags, found by name.

To add one, put a file here with a `torch.nn.Module` registered under ``@outputs.register("name")``.
It is made as ``Kind(K)``.

B sentences, N positions, K tags; ``emissions`` (B, N, K), ``lengths`` (B,).
"""

from typing import Protocol

from torch import Tensor

from fairseq_xling.registry import Registry


class Output(Protocol):
    """One file in this folder."""

    def loss(self, emissions: Tensor, lengths: Tensor, tags: Tensor) -> Tensor:
        """-log p(tags) of each sentence, (B,); ``tags`` (B, N) beyond a length are not read."""

    def decode(self, emissions: Tensor, lengths: Tensor) -> Tensor:
        """The most probable tags (B, N), 0 beyond a length."""


outputs: Registry[type[Output]] = Registry("`--tagger`", __name__)
