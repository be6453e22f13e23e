"""The part of the model that lets words see each other. To add one, add a file here."""

from typing import Any, ClassVar, Protocol

from torch import Tensor

from fairseq_xling.registry import Registry


class Network(Protocol):
    """A module made with ``(inputs, layers, width, dropout)``.

    Attributes:
        needs_tree: whether its layers read ``heads``.
        outputs: width of its states; ``inputs`` without layers.
    """

    needs_tree: ClassVar[bool]
    outputs: int

    def __call__(self, x: Tensor, heads: Tensor, mask: Tensor) -> Tensor:
        """The states of words.

        Args:
            x: (R, T, inputs); heads: (R, T), from 1, 0 the root, -1 padding; mask: (R, T) bool.

        Returns:
            (R, T, outputs).
        """


networks: Registry[Any] = Registry("network", __name__)
