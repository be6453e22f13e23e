"""Heads with a loss of their own in addition to the language model's, one file each, found by name.

A head is a module built from the encoder's shape. It sees everything that a step has computed (a
`View`) and returns what its loss needs; the loss is a sum over the examples that it concerns, so a
batch with none of them costs nothing. `--auxiliary order,nsp` puts heads into a model and
`--auxiliary-weights` weights their losses. To add one, put a file here, or in your own folder, with
a class registered under ``@auxiliary_heads.register("name")``.

B batch, T source length, U target length, D width.
"""

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from torch import Tensor, nn

from fairseq_xling.core.registry import Registry
from fairseq_xling.models.encoder import EncoderShape

auxiliary_heads: Registry = Registry("auxiliary head", __name__)


@dataclass(frozen=True)
class View:
    """What a head can read.

    Attributes:
        src, tgt, order, extra: the batch's ``net_input``.
        middle: (B, T + 1, D) below the TRILayer, the null state last; ``None`` without one.
        final: (B, U, D), the input of the softmax.
    """

    src: Mapping[str, Tensor]
    tgt: Mapping[str, Tensor]
    order: Tensor | None
    extra: Mapping[str, Tensor]
    middle: Tensor | None
    final: Tensor


class Emitted(NamedTuple):
    """Rows that are predicted as a whole.

    Attributes:
        rows: (R,) their numbers; nll: (R,) the loss of each in nats.
        sizes: (R,) the number of tokens that it is for, 0 where a translation does not fit.
    """

    rows: Tensor
    nll: Tensor
    sizes: Tensor


class Prediction(NamedTuple):
    """A step's output.

    Attributes:
        logits: (n, V) at n positions, row by row.
        auxiliary: for each auxiliary head (loss sum, count).
        where: rows and positions of these, (n,) each; ``None`` for those that the batch marks.
        emitted: rows with no such positions, or ``None``.
        plain: with glancing (loss sum, count) of the translations before words were shown.
        states: of the layers that the criterion reads, by number: (B, T, D), or (B, U, D) from a
            TRILayer on.
    """

    logits: Tensor
    auxiliary: dict[str, tuple[Tensor, Tensor]]
    where: tuple[Tensor, Tensor] | None = None
    emitted: Emitted | None = None
    plain: tuple[Tensor, Tensor] | None = None
    states: Mapping[int, Tensor] | None = None


class AuxiliaryHead(nn.Module):
    """Base class of the heads. ``needs_middle`` if it reads the states below a TRILayer;
    ``needs_order`` if it learns from word alignments."""

    needs_middle: ClassVar[bool] = False
    needs_order: ClassVar[bool] = False

    def __init__(self, shape: EncoderShape, num_languages: int):
        super().__init__()

    @abstractmethod
    def forward(self, view: View) -> tuple[Tensor, Tensor]:
        """The sum of the losses in nats, and their number, both scalar tensors.

        If the batch has nothing for this head, the sum is 0 but still depends on the head's
        parameters, so that a step treats them alike in one process and in several.
        """
