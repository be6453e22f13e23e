"""`--task cdlm`: cross-lingual language modelling, migration phases, and translation.

Li et al. (2021), "Cross-lingual Transferring of Pre-trained Contextualized Language Models"
(TreLM), Section 3. By default CdLM over parallel text and MLM over monolingual text have
equal shares of the batches; with `--mix-in-batch` rows of both are in each batch.
"""

import logging
from dataclasses import dataclass, field
from typing import Any

from fairseq.dataclass import FairseqDataclass
from fairseq.tasks import register_task
from omegaconf import II

from fairseq_xling.core.errors import UserError, exits_on_user_error
from fairseq_xling.core.ranges import SHARE, ranged
from fairseq_xling.data.folder import Shards
from fairseq_xling.data.sources import Pairs
from fairseq_xling.generation.options import TranslationOptions
from fairseq_xling.generation.task import Translates
from fairseq_xling.models.glancing import share_at
from fairseq_xling.models.phases import phases
from fairseq_xling.training.config import UnifiedTaskConfig
from fairseq_xling.training.task import UnifiedTask

logger = logging.getLogger(__name__)


@dataclass
class CdlmConfig(TranslationOptions, UnifiedTaskConfig):
    objectives: str = field(
        default="cdlm,mlm",
        metadata={
            "help": "objectives: cdlm, mlm, tlm, brlm-mask, brlm-attn, nsp; with an --emission "
            "that finds the order itself, translation; or only word-alignment"
        },
    )
    sample_break_mode: str = field(
        default="sentence",
        metadata={"help": "none: continuous text in blocks; sentence: one sentence per row"},
    )
    trelm_phase: str = field(
        default="",
        metadata={
            "help": "phase of a migration, which freezes its part of the model: commonality, "
            "forward, backward or language (default: nothing is frozen)"
        },
    )
    glancing: float = field(
        default=0.0,
        metadata=ranged(
            "share of the slots that a first pass gets wrong to show the words of; 0 saves that "
            "pass",
            SHARE,
        ),
    )
    glancing_end: float = field(
        default=0.3,
        metadata=ranged(
            "that share after the last of --max-update updates, if less than --glancing",
            SHARE,
        ),
    )
    max_update: int = II("optimization.max_update")


@register_task("cdlm", dataclass=CdlmConfig)
class CdlmTask(Translates, UnifiedTask):
    """CdLM with any other objectives; see the module's docstring."""

    def __init__(self, cfg: CdlmConfig, shards: Shards):
        super().__init__(cfg, shards)
        self.phase, self._slots = cfg.trelm_phase, 0
        if self.phase:
            phases.check(self.phase)
        self.check_translation()

    @exits_on_user_error
    def build_model(self, cfg: FairseqDataclass, from_checkpoint: bool = False):
        model = super().build_model(cfg, from_checkpoint)
        if self.cfg.glancing:
            if not getattr(model, "reorders", False):
                raise UserError(f"`--glancing` needs a TRILayer, got {self.cfg.glancing:g}")
            first, last = self.cfg.glancing, min(self.cfg.glancing, self.cfg.glancing_end)
            most = self.cfg.max_update
            model.share_at = lambda update: share_at(update, most, first, last)
        if self.phase != getattr(model, "identity", {}).get("phase", ""):
            raise UserError(
                f"`--trelm-phase` {self.phase} needs an `--arch` that supports phases, such as "
                f"tri_bert_base, got {type(model).__name__}"
            )
        if not getattr(getattr(model, "emission", None), "in_order", True):
            self._slots = model.encoder.shape.upsample
        return model

    @exits_on_user_error
    def load_dataset(self, split: str, combine: bool = False, **kwargs: Any) -> None:
        """As the base class's; translations that the model's slots cannot write are counted."""
        super().load_dataset(split, combine, **kwargs)
        for feed in getattr(self.datasets[split], "feeds", ()) if self._slots else ():
            if not (feed.objective.reorders and isinstance(feed.source, Pairs)):
                continue
            longer = feed.source.num_without_slots(self._slots)
            if longer and self.cfg.too_long == "refuse":
                raise UserError(
                    f"{self.cfg.data}: {longer:,} translations of {split} {feed.source.name} are "
                    f"longer than `--upsample` {self._slots} slots for each token of their source, "
                    "and `--too-long` is refuse"
                )
            if longer:
                logger.warning(
                    "%s %s: %s of %s translations are longer than %d slots for each token of their "
                    "source (--upsample), and not learnt",
                    *(split, feed.source.name, f"{longer:,}", f"{len(feed.source):,}"),
                    self._slots,
                )
