"""`--task cdlm`: cross-lingual language modelling, migration phases, and translation.

Li et al. (2021), "Cross-lingual Transferring of Pre-trained Contextualized Language Models"
(TreLM), Section 3. By default a batch mixes CdLM over parallel text and MLM over monolingual text,
row by row.
"""

from dataclasses import dataclass, field

from fairseq.dataclass import FairseqDataclass
from fairseq.tasks import register_task

from fairseq_xling.data.folder import DataFolder
from fairseq_xling.errors import UserError, exits_on_user_error
from fairseq_xling.generation.options import TranslationOptions
from fairseq_xling.generation.task import Translates
from fairseq_xling.models.phases import phases
from fairseq_xling.training.config import UnifiedTaskConfig
from fairseq_xling.training.task import UnifiedTask


@dataclass
class CdlmConfig(TranslationOptions, UnifiedTaskConfig):
    objectives: str = field(
        default="cdlm,mlm",
        metadata={
            "help": "objectives: cdlm, mlm, tlm, brlm-mask, brlm-attn, nsp; or only word-alignment"
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


@register_task("cdlm", dataclass=CdlmConfig)
class CdlmTask(Translates, UnifiedTask):
    """CdLM with any other objectives; see the module's docstring."""

    def __init__(self, cfg: CdlmConfig, folder: DataFolder):
        super().__init__(cfg, folder)
        self.phase = cfg.trelm_phase
        if self.phase:
            phases.check(self.phase)
        self.check_translation()

    @exits_on_user_error
    def build_model(self, cfg: FairseqDataclass, from_checkpoint: bool = False):
        model = super().build_model(cfg, from_checkpoint)
        if self.phase != getattr(model, "identity", {}).get("phase", ""):
            raise UserError(
                f"`--trelm-phase` {self.phase} needs an `--arch` that supports phases, such as "
                f"tri_bert_base, got {type(model).__name__}"
            )
        return model
