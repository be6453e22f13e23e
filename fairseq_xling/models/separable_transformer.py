"""`--arch separable_transformer*`: the shared-or-private bilingual encoder as a fairseq model.

Conneau et al. (2020), "Emerging Cross-lingual Structure in Pretrained Language Models". The preset
`separable_transformer_base` is the paper's: 8 layers, 12 heads, 768 wide, GELU, 256 positions,
input and output embeddings tied.
"""

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import torch
from fairseq.dataclass import FairseqDataclass
from fairseq.models import register_model, register_model_architecture
from torch import Tensor

from fairseq_xling.checkpoints import check_kinds, origin, settings_of_file
from fairseq_xling.core.errors import UserError, about, exits_on_user_error
from fairseq_xling.core.ranges import (
    COUNT,
    NOT_NEGATIVE,
    POSITIVE,
    SHARE,
    Range,
    check_fields,
    ranged,
)
from fairseq_xling.models.auxiliary import AuxiliaryHead, Prediction, View, auxiliary_heads
from fairseq_xling.models.encoder import EncoderShape, Pair, SeparableEncoder
from fairseq_xling.models.heads import lm_heads
from fairseq_xling.models.identity import (
    check_identity,
    decode_identity,
    encode_identity,
    first_difference,
)
from fairseq_xling.models.layer import activations, recompute_layers
from fairseq_xling.models.sharing import SharingPlan
from fairseq_xling.models.trainable import TrainableModel
from fairseq_xling.models.unpadded import source_grid, target_grid

RECOMPUTES = (
    "keep only the input of each layer for the backward pass and compute the rest again: less "
    "memory, about a quarter more time"
)
# Of checkpoints that do not record their activation, as those from before the option.
_OLDEST = "gelu"


@dataclass
class SeparableTransformerConfig(FairseqDataclass):
    encoder_layers: int = field(default=8, metadata=ranged("number of layers", COUNT))
    encoder_embed_dim: int = field(default=768, metadata=ranged("width of the states", COUNT))
    encoder_ffn_embed_dim: int = field(default=3072, metadata=ranged("feed-forward width", COUNT))
    encoder_attention_heads: int = field(default=12, metadata=ranged("attention heads", COUNT))
    max_positions: int = field(
        default=256,
        # A row holds at least <s>, one token and </s>.
        metadata=ranged("rows of the position table = longest input, in tokens", Range(3)),
    )
    dropout: float = field(
        default=0.1, metadata=ranged("dropout on embeddings and sublayers", SHARE)
    )
    attention_dropout: float = field(
        default=0.1,
        metadata=ranged("dropout on attention weights", SHARE),
    )
    separate: str = field(
        default="",
        metadata={
            "help": "parts that are private to each language: 'emb' (= tokens,positions,softmax), "
            "layer numbers and ranges, e.g. emb,1-3"
        },
    )
    separate_start: str = field(
        default="",
        metadata={
            "help": "private parts whose copies begin with equal weights, named as for --separate; "
            "'alike' is all but the embeddings of words (default: each copy has its own)"
        },
    )
    freeze_embeddings: bool = field(
        default=False,
        metadata={
            "help": "leave the embeddings of tokens as they begin, as those that "
            "`fairseq-xling init --vectors` wrote"
        },
    )
    no_token_positional_embeddings: bool = field(
        default=False,
        metadata={
            "help": "leave out the position embeddings (an ablation): a sentence is the set of its "
            "words, in any order; --max-positions still limits the input"
        },
    )
    language_embeddings: bool = field(
        default=False, metadata={"help": "add a language embedding to every token"}
    )
    num_segments: int = field(
        default=0,
        metadata=ranged("rows of the segment table; 0 disables segment embeddings", NOT_NEGATIVE),
    )
    lm_head: str = field(
        default="linear",
        metadata={"help": "output layer: linear, or bert (dense, activation, norm)"},
    )
    activation_fn: str = field(
        default="gelu",
        metadata={"help": "activation of feed-forward layers: gelu, gelu_tanh (approximate), relu"},
    )
    init_std: float = field(
        default=0.02, metadata=ranged("standard deviation of the initial weights", NOT_NEGATIVE)
    )
    norm_eps: float = field(
        default=1e-5, metadata=ranged("epsilon of the LayerNorms (BERT's is 1e-12)", POSITIVE)
    )
    checkpoint_activations: bool = field(default=False, metadata={"help": RECOMPUTES})
    auxiliary: str = field(
        default="",
        metadata={"help": "heads with their own losses in addition to the LM's, e.g. order,nsp"},
    )


@register_model("separable_transformer", dataclass=SeparableTransformerConfig)
class SeparableTransformer(TrainableModel):
    """An encoder that records which vocabulary, languages and plan it was trained with."""

    config = SeparableTransformerConfig

    def __init__(
        self,
        encoder: SeparableEncoder,
        identity: Mapping[str, Any],
        auxiliary: Mapping[str, AuxiliaryHead] | None = None,
    ):
        super().__init__()
        self.encoder, self.identity = encoder, dict(identity)
        self.auxiliary = torch.nn.ModuleDict(auxiliary or {})

    @classmethod
    def build_encoder(
        cls, cfg: SeparableTransformerConfig, task: Any, plan: SharingPlan
    ) -> SeparableEncoder:
        """The encoder that ``cfg`` describes."""
        return SeparableEncoder(make_shape(cfg), task.vocab_sizes, plan)

    @classmethod
    @exits_on_user_error
    def build_model(cls, cfg: SeparableTransformerConfig, task: Any) -> "SeparableTransformer":
        """The model for ``task``, with its ``vocab_sizes`` and ``dictionary_digests``."""
        if not hasattr(task, "check_plan"):
            raise UserError(
                "`--arch separable_transformer*` needs a task that makes its batches, such as "
                f"bilingual_mlm, got {type(task).__name__}"
            )
        cfg = _complete(cfg, cls.config)
        _check_sizes(cfg)
        plan = SharingPlan.parse(cfg.separate, cfg.encoder_layers)
        start = plan.start(cfg.separate_start, cfg.encoder_layers)
        task.check_plan(plan)
        with about("`--lm-head`"):
            lm_heads.check(cfg.lm_head)
        with about("`--activation-fn`"):
            activations.check(cfg.activation_fn)
        encoder = cls.build_encoder(cfg, task, plan)
        encoder.begin_alike(start)
        if cfg.freeze_embeddings:
            encoder.tokens.requires_grad_(False)
        identity = {
            "languages": list(task.vocab_sizes),
            "dictionaries": task.dictionary_digests,
            "separate": str(plan),
            # The weights' shapes do not reveal these, and another value would be silently wrong.
            "heads": encoder.shape.heads,
            "norm_eps": encoder.shape.norm_eps,
        }
        if encoder.shape.activation != _OLDEST:
            identity["activation_fn"] = encoder.shape.activation
        with about("`--auxiliary`"):
            heads = {
                name.strip(): auxiliary_heads[name.strip()](encoder.shape, len(task.vocab_sizes))
                for name in filter(None, cfg.auxiliary.split(","))
            }
        for name, head in heads.items():
            if head.needs_middle and not encoder.reorders:
                raise UserError(f"`--auxiliary` {name} needs a model with a TRILayer")
            head.apply(encoder.initialise)
        model = cls(encoder, identity, heads)
        if cfg.checkpoint_activations:
            recompute_layers(model)
        return model

    def forward(
        self,
        src: Mapping[str, Tensor],
        tgt: Mapping[str, Tensor],
        order: Tensor | None = None,
        pair: Pair | None = None,
        extra: Mapping[str, Tensor] | None = None,
        layers: Sequence[int] = (),
        unpadded: Mapping[str, Any] | None = None,
    ) -> Prediction:
        """Logits (n, V) at the n positions that ``tgt["predict"]`` (B, U) marks, row by row, and
        the states of ``layers``.

        With ``unpadded``, the batch's layout (`data.unpadded`), no state of padding is computed.
        """
        lower, upper = self.encoder.halves(src, tgt, order, pair, unpadded)
        states = read_layers(lower, upper, layers, src, tgt, unpadded)
        middle, final = lower[-1] if lower else None, upper[-1]
        del lower, upper  # without a gradient, memory need not have them any more
        if unpadded is None:
            where = tgt["predict"].nonzero(as_tuple=True)  # once: a GPU is waited for
            predicted = final[where]
        else:
            where = unpadded["rows"], unpadded["columns"]
            predicted = final.index_select(0, unpadded["predicted"])
        auxiliary = {}
        if self.auxiliary:
            middle = None if middle is None else source_grid(middle, src, unpadded)
            final = target_grid(final, tgt, unpadded)
            view = View(src, tgt, order, extra or {}, middle, final)
            auxiliary = {name: head(view) for name, head in self.auxiliary.items()}
        logits = self.encoder.logits(predicted, pair)
        return Prediction(logits, auxiliary, where, states=states)

    @exits_on_user_error
    def load_state_dict(self, state_dict, strict=True, model_cfg=None, args=None):
        """As fairseq's, but with a one-line error."""
        check_kinds(self, state_dict)
        try:
            return super().load_state_dict(state_dict, strict, model_cfg, args)
        except RuntimeError as error:  # torch lists every tensor; the first is enough
            raise UserError(
                f"{origin()} does not fit this model; is it of another --arch or size? "
                f"({first_difference(error)})"
            ) from None

    @property
    def reorders(self) -> bool:
        """Whether its output can be in another order than its input."""
        return self.encoder.reorders

    def max_positions(self) -> int:
        return self.encoder.shape.max_positions

    def private_parameters(self) -> dict[str, list[torch.nn.Parameter]]:
        return self.encoder.private_parameters()

    def get_extra_state(self) -> Tensor:
        return encode_identity(self.identity)

    @exits_on_user_error
    def set_extra_state(self, state: Tensor) -> None:
        """Reject a checkpoint of another vocabulary, other languages or another plan."""
        try:
            theirs = decode_identity(state)
        except ValueError:
            raise UserError(
                f"{origin()} is damaged: it does not record which languages, dictionaries and plan "
                "it was trained with"
            ) from None
        self.check_identity(theirs)

    def check_identity(self, theirs: Mapping[str, Any]) -> None:
        """Raise a UserError if a checkpoint's identity does not fit this model."""
        check_identity({**self.unrecorded, **self.identity}, {**self.unrecorded, **theirs})

    @property
    def unrecorded(self) -> Mapping[str, Any]:
        """The values of facts that an identity only records where they are others."""
        return {"activation_fn": _OLDEST}


def read_layers(
    lower: Sequence[Tensor],
    upper: Sequence[Tensor],
    layers: Sequence[int],
    src: Mapping[str, Tensor],
    tgt: Mapping[str, Tensor],
    unpadded: Mapping[str, Any] | None = None,
) -> dict[int, Tensor]:
    """The states of ``layers`` by number, of those below and above a TRILayer.

    Raises:
        UserError: for a layer that the model does not have.
    """
    states: dict[int, Tensor] = {}
    length, most = src["tokens"].shape[1], len(lower) + len(upper) - 1
    for number in layers:
        if not 0 <= number <= most:
            raise UserError(
                f"`layers` of the criterion must lie in [0, {most}], the layers of this model, got "
                f"{number}"
            )
        if number < len(lower):  # below a TRILayer without the null state
            states[number] = source_grid(lower[number], src, unpadded)[:, :length]
        else:
            states[number] = target_grid(upper[number - len(lower)], tgt, unpadded)
    return states


def make_shape(cfg: SeparableTransformerConfig) -> EncoderShape:
    """The encoder's sizes and rates from the options."""
    return EncoderShape(
        layers=cfg.encoder_layers,
        dim=cfg.encoder_embed_dim,
        ffn_dim=cfg.encoder_ffn_embed_dim,
        heads=cfg.encoder_attention_heads,
        max_positions=cfg.max_positions,
        dropout=cfg.dropout,
        attention_dropout=cfg.attention_dropout,
        language_embeddings=cfg.language_embeddings,
        num_segments=cfg.num_segments,
        lm_head=cfg.lm_head,
        init_std=cfg.init_std,
        norm_eps=cfg.norm_eps,
        activation=cfg.activation_fn,
        token_positions=not cfg.no_token_positional_embeddings,
    )


def _complete(cfg: Any, config: type) -> SimpleNamespace:
    """``cfg`` with defaults for options that are younger than the checkpoint it comes from.

    fairseq fills them in for models, but not for named architectures.
    """
    names = [option.name for option in dataclasses.fields(config)]
    return SimpleNamespace(**{name: getattr(cfg, name, getattr(config, name)) for name in names})


@settings_of_file()
def _check_sizes(cfg: SeparableTransformerConfig) -> None:
    check_fields(SeparableTransformerConfig, cfg)
    if cfg.encoder_embed_dim % cfg.encoder_attention_heads:
        raise UserError(
            "`--encoder-embed-dim` must be a multiple of `--encoder-attention-heads`, got "
            f"{cfg.encoder_embed_dim} and {cfg.encoder_attention_heads}"
        )


def architecture(
    model: str, name: str, layers: int, dim: int, heads: int, positions: int, **more: Any
) -> None:
    """Register ``name`` of ``model``: these sizes, feed-forward layers of four times the width, and
    what ``more`` says; a user's option overrides each."""
    values = {
        "encoder_layers": layers,
        "encoder_embed_dim": dim,
        "encoder_ffn_embed_dim": 4 * dim,
        "encoder_attention_heads": heads,
        "max_positions": positions,
        **more,
    }

    def fill(args: Any) -> None:
        for option, value in values.items():
            setattr(args, option, getattr(args, option, value))

    register_model_architecture(model, name)(fill)


# "Emerging Cross-lingual Structure", Section 3.1.
architecture("separable_transformer", "separable_transformer_base", 8, 768, 12, 256)
# The BERT-small that TreLM trains from scratch as a baseline, Appendix A.5.
architecture(
    "separable_transformer", "separable_transformer_small", 12, 256, 4, 128, lm_head="bert"
)
TINY = {"init_std": 0.05, "attention_dropout": 0.0}  # for tests and the demo
architecture("separable_transformer", "separable_transformer_tiny", 4, 64, 4, 128, **TINY)
