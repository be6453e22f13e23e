"""The encoder with a TRILayer: it can read one sentence and predict another, in another order.

Li et al. (2021), "Cross-lingual Transferring of Pre-trained Contextualized Language Models"
(TreLM), Section 3.1 and Figure 5. Between the lower and the upper half of the layers is one
additional Transformer layer. Its input at target position u is the state of the source position
that ``order`` names:

    Hbar_u = H^{N/2}[order_u]        H^TL = TRF(Hbar + E_lang(target) + E_pos(0 .. U-1))

If one source word becomes several target tokens, they all start as the same state, and positions
distinguish them only after much training (after 2M tokens of image captions, 97 % of such tokens
still repeated the previous one). With ``copy_embeddings``, which is not in the paper, the
TRILayer's input also encodes that a token is the second, third, ... from its source position.

If one target word has several source words, the mean of their states can take the state's place
(``further``; `--many-to-one mean` of `fairseq-xling prepare`).

The lower half reads the source in its language; the TRILayer, the upper half and the softmax work
at the target's positions, in its language and with its mask.

Several slots for each source token cost as many times the work of every layer that has them. With
``slot_layers``, which is not in the paper, only so many layers at the top have them; the TRILayer
and the others have one state for each source token, whose slots then begin as the TRILayer's input
does.

B batch, T source length, U target length, D width, N layers.
"""

from collections.abc import Mapping
from typing import Any, ClassVar

import torch
from torch import Tensor

from fairseq_xling.core.errors import UserError
from fairseq_xling.core.ranges import SLOTS
from fairseq_xling.data.folder import NULL
from fairseq_xling.models.encoder import EncoderShape, Pair, SeparableEncoder
from fairseq_xling.models.layer import attention_mask
from fairseq_xling.models.sharing import SharingPlan
from fairseq_xling.models.unpadded import begin, flat, segments_of

COPIES = int(SLOTS.most)  # rows of the table of copies; further ones share the last


class TriEncoder(SeparableEncoder):
    """A `SeparableEncoder` with a TRILayer in its middle.

    After the last source position, padded or not, the model itself appends the null state: the
    symbol ``<null>`` at no position, which every source token may attend to and from which
    unaligned target positions get their state. Since it has no position, and is also present for
    monolingual rows, no row depends on the padding of its batch.

    Raises:
        UserError: for an odd number of layers.
    """

    reorders = True
    has_null: ClassVar[bool] = True

    def __init__(self, shape: EncoderShape, vocab_sizes: Mapping[str, int], plan: SharingPlan):
        if shape.layers % 2:
            raise UserError(f"`--encoder-layers` must be even with a TRILayer, got {shape.layers}")
        super().__init__(shape, vocab_sizes, plan)
        self.trilayer = self.new_layer()
        self.trilayer.apply(self.initialise)
        self.half = shape.layers // 2
        if shape.copy_embeddings:
            self.copy_table = torch.nn.Embedding(COPIES, shape.dim, padding_idx=0)
            with torch.no_grad():
                self.copy_table.weight.copy_(new_copy_table(shape.dim))

    @property
    def depth(self) -> int:
        return self.shape.layers + 1

    def states(
        self,
        src: Mapping[str, Tensor],
        pair: Pair | None = None,
        layout: Mapping[str, Any] | None = None,
    ) -> list[Tensor]:
        """The states of a monolingual pass: N + 2 tensors (B, T, D), TRILayer's in the middle.

        The order is the identity and the target is the source itself (Section 3.1).
        """
        if layout is not None:
            raise ValueError("a layout without padding has two sides with a TRILayer; see `halves`")
        lower = self.lower(src, pair)
        length = src["tokens"].shape[1]
        own = self.target_side(src, src, None)
        return [x[:, :length] for x in lower] + self.upper(lower[-1], own, None, pair)

    def halves(
        self,
        src: Mapping[str, Tensor],
        tgt: Mapping[str, Tensor],
        order: Tensor | None = None,
        pair: Pair | None = None,
        unpadded: Mapping[str, Any] | None = None,
    ) -> tuple[list[Tensor], list[Tensor]]:
        """The states of `lower`, (B, T + 1, D) each, and of `upper`, (B, U, D) each; those without
        padding with ``unpadded``, (N, D)."""
        lower = self.lower(src, pair, unpadded)
        side = self.target_side(src, tgt, order)
        return lower, self.upper(lower[-1], side, order, pair, unpadded)

    def target_side(
        self, src: Mapping[str, Tensor], tgt: Mapping[str, Tensor], order: Tensor | None
    ) -> Mapping[str, Tensor]:
        """``tgt`` with what `upper` needs from the source in addition to its states."""
        group = src.get("attn_group")
        return tgt if group is None else {**tgt, "attn_group": _gather_groups(group, order)}

    def lower(
        self,
        src: Mapping[str, Tensor],
        pair: Pair | None = None,
        unpadded: Mapping[str, Any] | None = None,
    ) -> list[Tensor]:
        """The states of the lower half: N/2 + 1 tensors (B, T + 1, D), the null state last."""
        lang = self._language(pair, 0)
        group = src.get("attn_group")
        if unpadded is not None:
            layout, mask = unpadded["src"], segments_of(unpadded["src"])
        else:
            if group is not None:  # group 0 is that of tokens without a group, and of null states
                group = torch.nn.functional.pad(group, (0, 1), value=0)
            padding = src.get("padding_mask")
            if padding is not None:  # null states are attended to
                padding = torch.nn.functional.pad(padding, (0, 1), value=False)
            layout, mask = None, attention_mask(padding, group)
        states = [self.embed(src, lang, layout)]
        for slot in self.layers[: self.half]:
            states.append(slot.select(lang)(states[-1], mask))
        return states

    def upper(
        self,
        middle: Tensor,
        tgt: Mapping[str, Tensor],
        order: Tensor | None = None,
        pair: Pair | None = None,
        unpadded: Mapping[str, Any] | None = None,
    ) -> list[Tensor]:
        """The states of the TRILayer and the upper half: N/2 + 1 tensors (B, U, D), but (B, T, D)
        below ``slot_layers``.

        Args:
            middle: (B, T + 1, D), the last of `lower`.
            tgt: target ``langs`` and ``positions`` (B, U), and ``padding_mask`` where padded; see
                `target_side`; in training perhaps ``shown`` (B, U): target words that are given
                instead of states, -1 for none; perhaps ``further`` (B, U, K): positions
                besides those of ``order``, -1 for none; and with ``slot_layers`` perhaps
                ``first`` (B, T): the first slot of each source position, which is the only one
                below these layers.
            order: (B, U) source positions, -1 for the null state; ``None`` is the identity.
            unpadded: the batch's layout if ``middle`` and the states are without padding; not with
                ``first``.
        """
        lang = self._language(pair, 1)
        if unpadded is not None:
            return self._flat_upper(middle, tgt, order, lang, unpadded["tgt"])
        own, places, starts = tgt, order, len(self.layers)
        if "first" in tgt:
            own, places = _of_first_slots(tgt, order)
            starts -= self.shape.slot_layers
        x = self._begin(middle, own, places, lang)
        mask = attention_mask(own.get("padding_mask"), own.get("attn_group"))
        states = [self.trilayer(x, mask)]
        for number, slot in enumerate(self.layers[self.half :], start=self.half):
            x = states[-1]
            if number == starts:
                x = self._begin(x, tgt, order, lang)
                mask = attention_mask(tgt.get("padding_mask"), tgt.get("attn_group"))
            states.append(slot.select(lang)(x, mask))
        return states

    def _flat_upper(
        self,
        middle: Tensor,
        tgt: Mapping[str, Tensor],
        order: Tensor | None,
        lang: str | None,
        layout: Mapping[str, Any],
    ) -> list[Tensor]:
        """The states of `upper`, (N, D) each, in the ``layout`` of the target."""
        copies = None
        if self.shape.copy_embeddings and order is not None:
            copies = copy_number(order).flatten()[layout["index"]]
        x = self._placed(begin(middle, layout), flat(tgt, layout), copies, lang)
        segments = segments_of(layout)
        states = [self.trilayer(x, segments)]
        for slot in self.layers[self.half :]:
            states.append(slot.select(lang)(states[-1], segments))
        return states

    def _begin(
        self, states: Tensor, tgt: Mapping[str, Tensor], order: Tensor | None, lang: str | None
    ) -> Tensor:
        """The input (B, U, D) of the first layer at the positions of ``tgt``, from ``states``
        (B, T or more, D); arguments as of `upper`."""
        x = take(states, order, tgt["positions"].shape[1], tgt.get("further"))
        copied = self.shape.copy_embeddings and order is not None
        return self._placed(x, tgt, copy_number(order) if copied else None, lang)

    def _placed(
        self, x: Tensor, tgt: Mapping[str, Tensor], copies: Tensor | None, lang: str | None
    ) -> Tensor:
        """States (..., D) of the source with the embeddings of the target, whose fields are (...,);
        ``copies`` are their `copy_number`."""
        if "shown" in tgt:
            words = self.embedding_norm(self.tokens.select(lang)(tgt["shown"].clamp(min=0)))
            x = torch.where((tgt["shown"] >= 0)[..., None], words.to(x), x)
        x = x + self.positions.select(lang)(tgt["positions"])
        if self.shape.language_embeddings:
            x = x + self.language_table(tgt["langs"])
        if copies is not None:
            x = x + self.copy_table(copies)
        return x

    def _sum(self, src: Mapping[str, Tensor], lang: str | None) -> Tensor:
        """The sums of embeddings, (B, T + 1, D): those of the source, then the null state's."""
        null = self._null(src, lang)  # first: gradients of a shared table add up in this order
        return torch.cat([super()._sum(src, lang), null], 1)

    def _flat_sum(
        self, src: Mapping[str, Tensor], lang: str | None, layout: Mapping[str, Any]
    ) -> Tensor:
        null = self._null(src, lang)[:, 0]
        return super()._flat_sum(src, lang, layout).index_copy(0, layout["null"], null)

    def _null(self, src: Mapping[str, Tensor], lang: str | None) -> Tensor:
        """The sum of embeddings that the null state begins as, (B, 1, D)."""
        x = self.tokens.select(lang).weight[NULL]
        if self.shape.num_segments:
            x = x + self.segment_table.weight[0]
        if self.shape.language_embeddings:
            x = x + self.language_table(src["langs"][:, 0])
        return x.expand(src["tokens"].shape[0], 1, -1) if x.dim() == 1 else x[:, None]


def take(
    middle: Tensor, order: Tensor | None, length: int, further: Tensor | None = None
) -> Tensor:
    """Hbar (B, U, D): for each target position the state that ``order`` (B, U) names, or the mean
    of those that it and ``further`` (B, U, K) name.

    >>> middle = torch.tensor([[[10.0], [11.0], [99.0]]])  # two source states, then the null state
    >>> take(middle, torch.tensor([[1, -1, 0, 1]]), 4).flatten().tolist()
    [11.0, 99.0, 10.0, 11.0]
    >>> take(middle, None, 2).flatten().tolist()
    [10.0, 11.0]
    >>> take(middle, torch.tensor([[0, -1]]), 2, torch.tensor([[[1], [-1]]])).flatten().tolist()
    [10.5, 99.0]
    """
    if order is None:
        return middle[:, :length]
    if further is not None:
        return _weights(order, further, middle.shape[1]).to(middle) @ middle
    # The null state is last, so it is -1; gather itself counts from the front only.
    index = order.where(order >= 0, middle.shape[1] - 1)
    return middle.gather(1, index[..., None].expand(-1, -1, middle.shape[-1]))


def _of_first_slots(
    tgt: Mapping[str, Tensor], order: Tensor | None
) -> tuple[dict[str, Tensor], Tensor]:
    """The first slots' ``tgt`` and order, (B, T) each; what is shown is shown to slots."""
    if order is None:
        raise ValueError("``first`` needs an order")
    first = tgt["first"]
    names = tgt.keys() & {"langs", "positions", "padding_mask", "attn_group"}
    return {name: tgt[name].gather(1, first) for name in names}, order.gather(1, first)


def _weights(order: Tensor, further: Tensor, length: int) -> Tensor:
    """(B, U, length): how much of each position a mean has; rows sum to 1."""
    places = torch.cat([order[..., None], further], -1)
    linked = places >= 0
    share = linked / linked.sum(-1, keepdim=True).clamp(min=1)
    weights = share.new_zeros(*order.shape, length)
    weights.scatter_add_(-1, places.clamp(min=0), share)
    weights[..., -1] += ~linked.any(-1)  # the null state
    return weights


def check_slot_layers(number: int, layers: int, whose: str) -> None:
    """Raise a UserError unless so many of the ``layers``, named as ``whose``, can have slots."""
    if number > layers // 2:
        raise UserError(
            f"`--slot-layers` must be at most half of {whose}, which is {layers // 2}, got {number}"
        )


def new_copy_table(dim: int, generator: torch.Generator | None = None) -> Tensor:
    """(COPIES, D): zero for the first of its copies, the others drawn with a deviation of 0.5.

    That is half of a state's; at the scale of other initial embeddings they are negligible next
    to a state, and a thousand steps do not change that.
    """
    table = torch.randn(COPIES, dim, generator=generator) * 0.5
    table[0] = 0
    return table


def copy_number(order: Tensor) -> Tensor:
    """(B, U) how many earlier target positions have the same source position; 0 for none.

    >>> copy_number(torch.tensor([[3, 1, 3, -1, -1, 3]])).tolist()
    [[0, 0, 1, 0, 0, 2]]
    """
    same = (order[:, :, None] == order[:, None, :]) & (order >= 0)[:, :, None]
    return same.tril(-1).sum(-1).clamp(max=COPIES - 1)


def _gather_groups(group: Tensor, order: Tensor | None) -> Tensor:
    if order is None:
        return group
    found = group.gather(1, order.clamp(min=0))
    return found.masked_fill(order < 0, 0)
