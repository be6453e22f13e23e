"""The encoder of every model here: embeddings, layers and output, each place a `Slot`.

B batch, T source length, U target length, D width, L layers, V vocabulary, n predicted positions.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from torch import Tensor, nn

from fairseq_xling.core.ranges import BELOW_ONE, COUNT, NOT_NEGATIVE, POSITIVE
from fairseq_xling.data.folder import PAD
from fairseq_xling.models.dropout import dropout
from fairseq_xling.models.heads import lm_heads
from fairseq_xling.models.layer import EncoderLayer, attention_mask
from fairseq_xling.models.sharing import SharingPlan, Slot
from fairseq_xling.models.unpadded import flat, segments_of

Pair = tuple[str, str]


@dataclass(frozen=True)
class EncoderShape:
    """Sizes and rates of an encoder."""

    layers: int
    dim: int
    ffn_dim: int
    heads: int
    max_positions: int
    dropout: float = 0.1
    attention_dropout: float = 0.1
    language_embeddings: bool = False
    num_segments: int = 0
    lm_head: str = "linear"
    init_std: float = 0.02
    norm_eps: float = 1e-5
    activation: str = "gelu"  # of feed-forward layers and BERT's head (`models.activations`)
    copy_embeddings: bool = False  # only a TRILayer has them
    token_positions: bool = True  # whether position embeddings are added to words
    emission: str = "aligned"  # how a translation is written (`models.emissions`)
    upsample: int = 1  # slots of each source position in the upper half, if there is a TRILayer
    slot_layers: int = 0  # how many layers at the top have them; 0 for TRILayer and upper half

    def __post_init__(self) -> None:
        for names, allowed in (
            (("layers", "num_segments", "slot_layers"), NOT_NEGATIVE),
            (("dim", "ffn_dim", "heads", "max_positions", "upsample"), COUNT),
            (("dropout", "attention_dropout"), BELOW_ONE),
            (("norm_eps",), POSITIVE),
        ):
            for name in names:
                if (value := getattr(self, name)) not in allowed:
                    raise ValueError(f"{name} {allowed.rule}, got {value}")
        if self.dim % self.heads:
            raise ValueError(f"dim must be a multiple of heads, got {self.dim} and {self.heads}")


class SeparableEncoder(nn.Module):
    """A Transformer encoder whose parts are shared by all languages or private, by plan.

    Args:
        shape: sizes and rates.
        vocab_sizes: number of ids by language, in the order that numbers the languages.
        plan: which parts are private.

    The softmax is tied to the token embeddings if the plan treats both alike; if only one of
    them is private, the output has its own embeddings.
    """

    reorders: ClassVar[bool] = False  # whether `halves` can follow an order
    has_null: ClassVar[bool] = False  # whether each row has a null state

    def __init__(self, shape: EncoderShape, vocab_sizes: Mapping[str, int], plan: SharingPlan):
        super().__init__()
        self.shape, self.plan, self.languages = shape, plan, list(vocab_sizes)

        def slot(make, part: str) -> Slot:
            return Slot(make, self.languages, part in plan.parts)

        def size(lang: str | None) -> int:
            return max(vocab_sizes.values()) if lang is None else vocab_sizes[lang]

        def token_table(lang: str | None) -> nn.Embedding:
            return nn.Embedding(size(lang), shape.dim, padding_idx=PAD)

        self.tokens = slot(token_table, "tokens")
        if shape.token_positions:
            self.positions = slot(
                lambda lang: nn.Embedding(shape.max_positions, shape.dim), "positions"
            )
        if shape.language_embeddings:
            self.language_table = nn.Embedding(len(self.languages), shape.dim)
        if shape.num_segments:
            self.segment_table = nn.Embedding(shape.num_segments, shape.dim)
        self.embedding_norm = nn.LayerNorm(shape.dim, shape.norm_eps)
        self.layers = nn.ModuleList(
            Slot(lambda lang: self.new_layer(), self.languages, number in plan.layers)
            for number in range(1, shape.layers + 1)
        )
        self.softmax = slot(
            lambda lang: lm_heads[shape.lm_head](
                shape.dim, size(lang), shape.norm_eps, shape.activation
            ),
            "softmax",
        )
        self.tied = ("tokens" in plan.parts) == ("softmax" in plan.parts)
        if not self.tied:
            self.output_tokens = slot(token_table, "softmax")
        self.apply(self.initialise)

    def begin_alike(self, start: SharingPlan) -> None:
        """Give the private copies of the parts in ``start`` equal weights."""
        slots = [self.layers[number - 1] for number in sorted(start.layers)]
        # Without position embeddings, there is no such part.
        slots += [getattr(self, part) for part in sorted(start.parts) if hasattr(self, part)]
        if "softmax" in start.parts and not self.tied:
            slots.append(self.output_tokens)
        for slot in slots:
            slot.begin_alike()

    def new_layer(self) -> EncoderLayer:
        """A layer of this encoder's sizes and rates, with torch's initial weights."""
        s = self.shape
        rates = s.dropout, s.attention_dropout, s.norm_eps
        return EncoderLayer(s.dim, s.ffn_dim, s.heads, *rates, s.activation)

    def initialise(self, module: nn.Module) -> None:
        """BERT's initial weights, for ``module.apply``."""
        if isinstance(module, nn.Linear | nn.Embedding):
            nn.init.normal_(module.weight, std=self.shape.init_std)
        if isinstance(module, nn.Linear):
            nn.init.zeros_(module.bias)
        if isinstance(module, nn.Embedding) and module.padding_idx is not None:
            nn.init.zeros_(module.weight[module.padding_idx].data)

    @property
    def depth(self) -> int:
        """The number of layers that a token's state goes through."""
        return self.shape.layers

    def embed(
        self,
        src: Mapping[str, Tensor],
        lang: str | None,
        layout: Mapping[str, Any] | None = None,
    ) -> Tensor:
        """The sum of the embeddings of word, position, language and segment, where present, then
        LayerNorm and dropout: (B, T, D), or (N, D) in a ``layout`` without padding.

        ``src`` is a batch's source side; ``lang`` its language where the plan needs it.
        """
        x = self._sum(src, lang) if layout is None else self._flat_sum(src, lang, layout)
        return dropout(self.embedding_norm(x), self.shape.dropout, self.training)

    def _flat_sum(
        self, src: Mapping[str, Tensor], lang: str | None, layout: Mapping[str, Any]
    ) -> Tensor:
        return SeparableEncoder._sum(self, flat(src, layout), lang)

    def _sum(self, src: Mapping[str, Tensor], lang: str | None) -> Tensor:
        x = self.tokens.select(lang)(src["tokens"])
        if self.shape.token_positions:
            x = x + self.positions.select(lang)(src["positions"])
        if self.shape.language_embeddings:
            x = x + self.language_table(src["langs"])
        if self.shape.num_segments:
            segments = src.get("segments")
            rows = (
                self.segment_table.weight[0] if segments is None else self.segment_table(segments)
            )
            x = x + rows
        return x

    def states(
        self,
        src: Mapping[str, Tensor],
        pair: Pair | None = None,
        layout: Mapping[str, Any] | None = None,
    ) -> list[Tensor]:
        """The states after each layer: L + 1 tensors (B, T, D), the first the embeddings' output;
        (N, D) in the ``layout`` of a source without padding.

        Raises:
            ValueError: if the plan has private parts and the batch has no one ``pair``.
        """
        lang = self._language(pair, 0)
        x = self.embed(src, lang, layout)
        if layout is None:
            mask = attention_mask(src.get("padding_mask"), src.get("attn_group"))
        else:
            mask = segments_of(layout)
        states = [x]
        for slot in self.layers:
            x = slot.select(lang)(x, mask)
            states.append(x)
        return states

    def halves(
        self,
        src: Mapping[str, Tensor],
        tgt: Mapping[str, Tensor],
        order: Tensor | None = None,
        pair: Pair | None = None,
        unpadded: Mapping[str, Any] | None = None,
    ) -> tuple[list[Tensor], list[Tensor]]:
        """What a training step needs: the states at the source's positions, if others follow, and
        those at the target's, the final ones (B, U, D) last; here those are the source's.

        With the layout of a batch, ``unpadded`` (`data.unpadded`), they are (N, D) each.
        """
        if order is not None:
            raise ValueError("a model without a TRILayer reads its source in the given order")
        return [], self.states(src, pair, None if unpadded is None else unpadded["src"])

    def logits(
        self, states: Tensor, pair: Pair | None = None, tokens: Tensor | None = None
    ) -> Tensor:
        """(n, D) states to (n, V) logits over the vocabulary of the pair's target language; with
        ``tokens`` (R, C), (R, S, D) states to the (R, S, C) logits of each row's own tokens."""
        lang = self._language(pair, 1)
        table = self.tokens if self.tied else self.output_tokens
        return self.softmax.select(lang)(states, table.select(lang).weight, tokens)

    def _language(self, pair: Pair | None, side: int) -> str | None:
        if not self.plan.any:
            return None
        if pair is None:
            raise ValueError(
                "with private parts a batch must hold one language pair, got a mixed batch"
            )
        return pair[side]

    def private_parameters(self) -> dict[str, list[nn.Parameter]]:
        """The parameters that belong to one language only, by language."""
        private: dict[str, list[nn.Parameter]] = {lang: [] for lang in self.languages}
        for module in self.modules():
            if isinstance(module, Slot) and module.is_private:
                for lang in self.languages:
                    private[lang].extend(module.select(lang).parameters())
        return private

    def path_weights(self, lang: str) -> dict[str, Tensor]:
        """The weights that text of ``lang`` meets, float32 on the CPU, named as if all were
        shared."""
        weights = {}
        for name, tensor in self.state_dict().items():
            shared = name.replace(f".private.{lang}.", ".shared.")
            if ".private." not in shared:
                weights[shared] = tensor.detach().float().cpu().clone()
        return weights


def count_parameters(encoder: SeparableEncoder) -> dict[str, int]:
    """How many parameters each part has, tied ones counted once; their sum is the model's size."""
    counts: dict[str, int] = {}
    for name, parameter in encoder.named_parameters():
        pieces = name.split(".")
        part = f"layer {int(pieces[1]) + 1}" if pieces[0] == "layers" else pieces[0]
        if "private" in pieces:
            part += f" [{pieces[pieces.index('private') + 1]}]"
        counts[part] = counts.get(part, 0) + parameter.numel()
    return counts


def parameter_table(encoder: SeparableEncoder) -> str:
    """`count_parameters` as lines of text with a total."""
    counts = count_parameters(encoder)
    width = max(map(len, counts))
    lines = [f"{part:<{width}}  {count:>14,}" for part, count in counts.items()]
    lines.append(f"{'total':<{width}}  {sum(counts.values()):>14,}")
    if encoder.shape.token_positions:
        rows = encoder.shape.max_positions
        lines.append(
            f"(position tables have exactly {rows} rows, without fairseq's padding offset)"
        )
    return "\n".join(lines)
