"""`--arch tri_bert_*`, `tri_roberta_*`: an encoder with a TRILayer as a fairseq model.

Li et al. (2021), "Cross-lingual Transferring of Pre-trained Contextualized Language Models"
(TreLM). The presets have the sizes of the source models in Appendix A.5: with a vocabulary of
80,000, tri_bert_base has 154.65M parameters (147.56M without TRILayer), tri_bert_large 398.49M.
"""

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from fairseq.models import register_model, register_model_architecture

from fairseq_xling.errors import UserError, exits_on_user_error
from fairseq_xling.models.encoder import SeparableEncoder
from fairseq_xling.models.identity import read_identity
from fairseq_xling.models.phases import check_succession, fingerprint, freeze
from fairseq_xling.models.separable_transformer import (
    SeparableTransformer,
    SeparableTransformerConfig,
    make_shape,
    preset,
)
from fairseq_xling.models.sharing import SharingPlan
from fairseq_xling.models.trilayer import TriEncoder
from fairseq_xling.models.trilayer_compat import CompatTriEncoder


@dataclass
class TriTransformerConfig(SeparableTransformerConfig):
    no_trilayer: bool = field(
        default=False, metadata={"help": "leave out the TRILayer (an ablation, without CdLM)"}
    )
    copy_embeddings: bool = field(
        default=False,
        metadata={
            "help": "distinguish target tokens of one source word by an embedding of their "
            "number; helps "
            "translation, not in the paper"
        },
    )
    compat: bool = field(
        default=False,
        metadata={
            "help": "attend as in the code released with TreLM: the TRILayer to padding, the "
            "upper half with the source's mask, no token to the null state; results then depend on "
            "the padding of a batch"
        },
    )
    no_language_embeddings: bool = field(
        default=False,
        metadata={
            "help": "leave out the language embeddings (if each language has its own tokens)"
        },
    )


@register_model("tri_encoder", dataclass=TriTransformerConfig)
class TriTransformer(SeparableTransformer):
    """A `TriEncoder` that records which phase of a migration it is in.

    Its identity also has ``phase`` and ``parent``: the fingerprint of the weights that the phase
    started from, by which `combine` recognises the two halves of one model.
    """

    config = TriTransformerConfig

    @classmethod
    def build_encoder(
        cls, cfg: TriTransformerConfig, task: Any, plan: SharingPlan
    ) -> SeparableEncoder:
        shape = make_shape(cfg)
        if cfg.no_language_embeddings:
            shape = dataclasses.replace(shape, language_embeddings=False)
        for option in ("copy_embeddings", "compat"):
            if getattr(cfg, option) and cfg.no_trilayer:
                name = option.replace("_", "-")
                raise UserError(f"`--{name}` needs a TRILayer, got `--no-trilayer`")
        shape = dataclasses.replace(shape, copy_embeddings=cfg.copy_embeddings)
        if cfg.no_token_positional_embeddings and not cfg.no_trilayer:
            raise UserError(
                "`--no-token-positional-embeddings` leaves a TRILayer without target positions; "
                "use `--no-trilayer` with it"
            )
        kind = CompatTriEncoder if cfg.compat else TriEncoder
        kind = SeparableEncoder if cfg.no_trilayer else kind
        return kind(shape, task.vocab_sizes, plan)

    @classmethod
    @exits_on_user_error
    def build_model(cls, cfg: TriTransformerConfig, task: Any) -> "TriTransformer":
        model = super().build_model(cfg, task)
        phase = getattr(task, "phase", "")
        model.identity |= {"phase": phase, "parent": ""}
        if phase:
            freeze(model, phase, cfg.encoder_layers)
        return model

    @exits_on_user_error
    def load_state_dict(self, state_dict, strict=True, model_cfg=None, args=None):
        """As the base class's; a checkpoint of an earlier phase may have other auxiliary heads."""
        state = dict(state_dict)
        theirs = read_identity(state)
        begins = theirs.get("phase", "") != self.identity["phase"]
        if begins:
            own = self.state_dict()
            for name in [n for n in {**state, **own} if n.startswith("auxiliary.")]:
                if name in own:
                    state.setdefault(name, own[name])
                else:
                    del state[name]
        result = super().load_state_dict(state, strict, model_cfg, args)
        self.identity["parent"] = fingerprint(state_dict) if begins else theirs.get("parent", "")
        return result

    def check_identity(self, theirs: Mapping[str, Any]) -> None:
        check_succession(self.identity["phase"], theirs.get("phase", ""))
        own = {"phase": self.identity["phase"], "parent": self.identity["parent"]}
        super().check_identity({**theirs, **own})


def _bert(args: Any, **sizes: Any) -> None:
    common = {"language_embeddings": True, "lm_head": "bert", "max_positions": 512}
    preset(args, **sizes, **{k: v for k, v in common.items() if k not in sizes})


@register_model_architecture("tri_encoder", "tri_bert_base")
def tri_bert_base(args: Any) -> None:
    """BERT-base with a TRILayer: 12 layers, 768 wide."""
    _bert(
        args,
        encoder_layers=12,
        encoder_embed_dim=768,
        encoder_ffn_embed_dim=3072,
        encoder_attention_heads=12,
        num_segments=2,
        norm_eps=1e-12,
    )


@register_model_architecture("tri_encoder", "tri_bert_large")
def tri_bert_large(args: Any) -> None:
    """BERT-large with a TRILayer: 24 layers, 1024 wide."""
    _bert(
        args,
        encoder_layers=24,
        encoder_embed_dim=1024,
        encoder_ffn_embed_dim=4096,
        encoder_attention_heads=16,
        num_segments=2,
        norm_eps=1e-12,
    )


@register_model_architecture("tri_encoder", "tri_roberta_base")
def tri_roberta_base(args: Any) -> None:
    """RoBERTa-base with a TRILayer: one segment, epsilon 1e-5."""
    preset(args, num_segments=1, norm_eps=1e-5)
    tri_bert_base(args)


@register_model_architecture("tri_encoder", "tri_roberta_large")
def tri_roberta_large(args: Any) -> None:
    """RoBERTa-large with a TRILayer: one segment, epsilon 1e-5."""
    preset(args, num_segments=1, norm_eps=1e-5)
    tri_bert_large(args)


def _tiny(args: Any) -> None:
    _bert(
        args,
        encoder_layers=4,
        encoder_embed_dim=64,
        encoder_ffn_embed_dim=256,
        encoder_attention_heads=4,
        max_positions=128,
        num_segments=2,
        norm_eps=1e-12,
        init_std=0.05,
        attention_dropout=0.0,
    )


@register_model_architecture("tri_encoder", "tri_bert_tiny")
def tri_bert_tiny(args: Any) -> None:
    """For tests and the demo: 4 layers, 64 wide."""
    _tiny(args)


@register_model_architecture("tri_encoder", "tri_roberta_tiny")
def tri_roberta_tiny(args: Any) -> None:
    """For tests: RoBERTa's form of `tri_bert_tiny`."""
    preset(args, num_segments=1, norm_eps=1e-5)
    _tiny(args)


# By architecture, the rows of the specification that it implements.
SPEC_ROWS = {"tri_bert_base": ("T1", "T2", "T3", "T10"), "tri_bert_large": ("T10",)}
