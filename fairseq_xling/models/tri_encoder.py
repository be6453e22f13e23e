"""`--arch tri_bert_*`, `tri_roberta_*`: an encoder with a TRILayer as a fairseq model.

Li et al. (2021), "Cross-lingual Transferring of Pre-trained Contextualized Language Models"
(TreLM). The presets have the sizes of the source models in Appendix A.5: with a vocabulary of
80,000, tri_bert_base has 154.65M parameters (147.56M without TRILayer), tri_bert_large 398.49M.
"""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Optional

import torch
import torch.nn.functional as F
from fairseq.models import register_model
from torch import Tensor

from fairseq_xling.checkpoints import origin
from fairseq_xling.core.errors import UserError, about, exits_on_user_error
from fairseq_xling.core.ranges import SLOTS, Range, ranged
from fairseq_xling.models.auxiliary import AuxiliaryHead, Emitted, Prediction, View
from fairseq_xling.models.emissions import emissions
from fairseq_xling.models.encoder import Pair, SeparableEncoder
from fairseq_xling.models.glancing import show
from fairseq_xling.models.identity import read_identity
from fairseq_xling.models.phases import check_succession, fingerprint, freeze
from fairseq_xling.models.separable_transformer import (
    TINY,
    SeparableTransformer,
    SeparableTransformerConfig,
    architecture,
    make_shape,
    read_layers,
)
from fairseq_xling.models.sharing import SharingPlan
from fairseq_xling.models.trilayer import TriEncoder, check_slot_layers
from fairseq_xling.models.unpadded import source_grid, target_grid

ALIGNED = "aligned"  # the paper's emission


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
    emission: str = field(
        default="aligned",
        metadata={
            "help": "how slots become the words of a translation: aligned (a word each, as in the "
            "paper), ctc (a word or nothing, several slots a source token), lattice (paths through "
            "several slots a source token)"
        },
    )
    upsample: Optional[int] = field(
        default=None,
        metadata=ranged(
            "slots of each source token, unless they are aligned (default: 2 with ctc, 4 with "
            "lattice)",
            SLOTS,
        ),
    )
    slot_layers: int = field(
        default=0,
        metadata=ranged(
            "layers at the top that have the slots, the others having one state for each source "
            "token: fewer are faster; 0 for the whole upper half and the TRILayer",
            Range(0),
        ),
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

    Attributes:
        glancing: in training, the share of the words that a first pass gets wrong to show.
        share_at: that share in the batches of update u, counted from 0, if it changes.
    """

    config = TriTransformerConfig

    def __init__(
        self,
        encoder: SeparableEncoder,
        identity: Mapping[str, Any],
        auxiliary: Mapping[str, AuxiliaryHead] | None = None,
    ):
        super().__init__(encoder, identity, auxiliary)
        self.emission = emissions[encoder.shape.emission](encoder.shape)
        self.glancing = 0.0
        self.share_at: Callable[[int], float] | None = None

    @classmethod
    def build_encoder(
        cls, cfg: TriTransformerConfig, task: Any, plan: SharingPlan
    ) -> SeparableEncoder:
        shape = make_shape(cfg)
        if cfg.no_language_embeddings:
            shape = dataclasses.replace(shape, language_embeddings=False)
        if cfg.copy_embeddings and cfg.no_trilayer:
            raise UserError("`--copy-embeddings` needs a TRILayer, got `--no-trilayer`")
        with about("`--emission`"):
            emissions.check(cfg.emission)
        if cfg.slot_layers and "slot_layers" not in emissions[cfg.emission].unrecorded:
            raise UserError(f"`--slot-layers` cannot be used with `--emission {cfg.emission}`")
        if not emissions[cfg.emission].in_order:
            if cfg.no_trilayer:
                raise UserError(f"`--emission {cfg.emission}` cannot be used with `--no-trilayer`")
            check_slot_layers(cfg.slot_layers, cfg.encoder_layers, "`--encoder-layers`")
            upsample = cfg.upsample or emissions[cfg.emission].upsample
            shape = dataclasses.replace(shape, upsample=upsample, slot_layers=cfg.slot_layers)
        shape = dataclasses.replace(shape, emission=cfg.emission)
        # Slots of one position are as different as tokens of one source word.
        copies = cfg.copy_embeddings or shape.upsample > 1
        shape = dataclasses.replace(shape, copy_embeddings=copies)
        if cfg.no_token_positional_embeddings and not cfg.no_trilayer:
            raise UserError(
                "`--no-token-positional-embeddings` leaves a TRILayer without target positions; "
                "use `--no-trilayer` with it"
            )
        kind = SeparableEncoder if cfg.no_trilayer else TriEncoder
        return kind(shape, task.vocab_sizes, plan)

    @classmethod
    @exits_on_user_error
    def build_model(cls, cfg: TriTransformerConfig, task: Any) -> "TriTransformer":
        model = super().build_model(cfg, task)
        model.identity |= model.emission.facts()
        phase = getattr(task, "phase", "")
        model.identity |= {"phase": phase, "parent": ""}
        if phase:
            freeze(model, phase, cfg.encoder_layers)
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
        """As the base class's, but rows of CdLM are predicted as their emission does, and in
        training with `glancing` once some of their words are shown."""
        translates = (extra or {}).get("reordered")
        if translates is None:
            return super().forward(src, tgt, order, pair, extra, layers, unpadded)
        translates = translates[:, 0] > 0
        if self.emission.in_order:
            if self.training and self.glancing:
                inputs = src, tgt, order, pair, extra or {}, translates, layers
                return self._glanced(*inputs, unpadded)
            return super().forward(src, tgt, order, pair, extra, layers, unpadded)
        rows = translates.nonzero()[:, 0]  # once: a GPU is waited for
        if not len(rows):
            return super().forward(src, tgt, order, pair, extra, layers, unpadded)
        if layers:  # those of slots are at other positions
            raise UserError(
                "a criterion that reads `layers` needs an `--emission` with a word at each slot, "
                f"got {self.emission.shape.emission}"
            )
        # Slots, whose number a device finds out, are padded.
        middle = source_grid(self.encoder.lower(src, pair, unpadded)[-1], src, unpadded)
        final = middle.new_zeros(*tgt["tokens"].shape, middle.shape[-1])
        others = translates.int().argsort(stable=True)[: len(translates) - len(rows)]
        if len(others):
            final[others] = self._upper(middle, src, tgt, order, pair, others)
        view = View(src, tgt, order, extra or {}, middle, final)
        auxiliary = {name: head(view) for name, head in self.auxiliary.items()}
        where = (tgt["predict"] & ~translates[:, None]).nonzero(as_tuple=True)
        emitted, plain = self._emitted(middle, src, tgt, pair, rows)
        logits = self.encoder.logits(final[where], pair)
        return Prediction(logits, auxiliary, where, emitted, plain)

    def set_num_updates(self, num_updates: int) -> None:
        """fairseq's hook, before each training step."""
        super().set_num_updates(num_updates)
        if self.share_at is not None:
            self.glancing = self.share_at(num_updates)

    def _glanced(
        self,
        src: Mapping[str, Tensor],
        tgt: Mapping[str, Tensor],
        order: Tensor | None,
        pair: Pair | None,
        extra: Mapping[str, Tensor],
        translates: Tensor,
        layers: Sequence[int],
        unpadded: Mapping[str, Any] | None = None,
    ) -> Prediction:
        """Where each slot is a position of the translation, only those are predicted whose words
        are not shown (Qian et al., 2021, Section 3.1)."""
        lower = self.encoder.lower(src, pair, unpadded)
        middle, side = lower[-1], self.encoder.target_side(src, tgt, order)
        predicted = tgt["predict"] & translates[:, None]
        words = tgt["tokens"][predicted]
        with torch.no_grad():
            states = self.encoder.upper(middle, side, order, pair, unpadded)[-1]
            states = target_grid(states, tgt, unpadded)
            logits = self.encoder.logits(states[predicted], pair)
            path = tgt["tokens"].masked_fill(~predicted, -1)
            guess = path.masked_scatter(predicted, logits.argmax(-1))
            loss = F.cross_entropy(logits.float(), words, reduction="sum")
            shown = show(path, guess, self.glancing)
        upper = self.encoder.upper(middle, {**side, "shown": shown}, order, pair, unpadded)
        read = read_layers(lower, upper, layers, src, tgt, unpadded)
        final = target_grid(upper[-1], tgt, unpadded)
        view = View(src, tgt, order, extra, source_grid(middle, src, unpadded), final)
        auxiliary = {name: head(view) for name, head in self.auxiliary.items()}
        where = (tgt["predict"] & (shown < 0)).nonzero(as_tuple=True)
        plain = (loss, predicted.sum())
        logits = self.encoder.logits(final[where], pair)
        return Prediction(logits, auxiliary, where, None, plain, read)

    def _upper(
        self,
        middle: Tensor,
        src: Mapping[str, Tensor],
        tgt: Mapping[str, Tensor],
        order: Tensor | None,
        pair: Pair | None,
        rows: Tensor,
    ) -> Tensor:
        """The final states of some ``rows`` (R,)."""
        src, tgt = ({name: value[rows] for name, value in side.items()} for side in (src, tgt))
        order = None if order is None else order[rows]
        tgt = self.encoder.target_side(src, tgt, order)
        return self.encoder.upper(middle[rows], tgt, order, pair)[-1]

    def _emitted(
        self,
        middle: Tensor,
        src: Mapping[str, Tensor],
        tgt: Mapping[str, Tensor],
        pair: Pair | None,
        rows: Tensor,
    ) -> tuple[Emitted, tuple[Tensor, Tensor] | None]:
        """The loss of the ``rows`` (R,), which translate, and with glancing the sum and the count
        of that before words were shown."""
        lengths, ends = (_lengths(side)[rows] for side in (src, tgt))
        width, padded = src["tokens"].shape[1], "padding_mask" in src
        end = tgt["tokens"].shape[1]
        if len(rows) < len(src["tokens"]):  # a longer row may be of another objective
            sizes = torch.stack([*torch.aminmax(lengths), ends.max()])
            least, width, end = sizes.tolist()  # at once: a GPU is waited for
            padded = least < width
        placed = self.emission.place(lengths, None, tgt["langs"][rows, 0], (width, padded))
        inputs = {"padding_mask": src.get("padding_mask"), "attn_group": src.get("attn_group")}
        inputs = {name: value[rows] for name, value in inputs.items() if value is not None}
        side = self.encoder.target_side(inputs, placed.tgt, placed.order)
        sizes = ends - 2  # without the frame
        words = tgt["tokens"][rows, 1 : end - 1]
        logits = partial(self.encoder.logits, pair=pair)

        def states(shown: Mapping[str, Tensor]) -> Tensor:
            return self.encoder.upper(middle[rows], {**side, **shown}, placed.order, pair)[-1]

        plain, shown = None, {}
        if self.training and self.glancing:
            with torch.no_grad():
                best = self.emission.best(states({}), placed, words, sizes, logits)
            plain, shown = best.nll, {"shown": show(best.path, best.guess, self.glancing)}
        nll = self.emission.loss(states(shown), placed, words, sizes, logits)
        fits = self.emission.fits(placed, words, sizes)
        counted = torch.where(fits, sizes + 1, 0)
        before = None if plain is None else (plain.sum(), counted.sum())
        return Emitted(rows, nll, counted), before

    @exits_on_user_error
    def load_state_dict(self, state_dict, strict=True, model_cfg=None, args=None):
        """As the base class's; a checkpoint of an earlier phase, or with an aligned emission where
        this model has another, may have other auxiliary heads."""
        state = dict(state_dict)
        theirs = read_identity(state)
        becomes = emission_of(theirs) != emission_of(self.identity)
        begins = becomes or theirs.get("phase", "") != self.identity["phase"]
        own = self.state_dict()
        if begins:
            for name in [n for n in {**state, **own} if n.startswith("auxiliary.")]:
                if name in own:
                    state.setdefault(name, own[name])
                else:
                    del state[name]
        if becomes:
            for name in own:
                if name.startswith(("emission.", "encoder.copy_table.")):
                    state.setdefault(name, own[name])
        result = super().load_state_dict(state, strict, model_cfg, args)
        self.identity["parent"] = fingerprint(state_dict) if begins else theirs.get("parent", "")
        return result

    def check_identity(self, theirs: Mapping[str, Any]) -> None:
        check_succession(self.identity["phase"], theirs.get("phase", ""))
        own = {"phase": self.identity["phase"], "parent": self.identity["parent"]}
        if emission_of(theirs) == ALIGNED:
            own |= {name: self.identity[name] for name in self.emission.facts()}
        elif emission_of(self.identity) == ALIGNED:
            raise UserError(
                f"{origin()} does not fit: it was trained with `--emission {emission_of(theirs)}`, "
                f"this model has {ALIGNED}"
            )
        super().check_identity({**theirs, **own})

    @property
    def unrecorded(self) -> Mapping[str, Any]:
        return {**super().unrecorded, **self.emission.unrecorded}


def emission_of(identity: Mapping[str, Any]) -> str:
    """The name of the emission in a checkpoint's identity; the aligned one is not recorded."""
    return identity.get("emission", ALIGNED)


def _lengths(side: Mapping[str, Tensor]) -> Tensor:
    """How many positions of each row are no padding, (B,)."""
    mask = side.get("padding_mask")
    positions = side["positions"]
    if mask is None:
        return positions.new_full((len(positions),), positions.shape[1])
    return (~mask).sum(1)


for _family, _own in (
    ("bert", {"num_segments": 2, "norm_eps": 1e-12}),
    ("roberta", {"num_segments": 1, "norm_eps": 1e-5}),
):
    _own |= {"language_embeddings": True, "lm_head": "bert"}
    architecture("tri_encoder", f"tri_{_family}_base", 12, 768, 12, 512, **_own)
    architecture("tri_encoder", f"tri_{_family}_large", 24, 1024, 16, 512, **_own)
    architecture("tri_encoder", f"tri_{_family}_tiny", 4, 64, 4, 128, **_own, **TINY)
