"""`--task bilingual_mlm`: masked language modelling of two or more languages with one encoder.

Conneau et al. (2020), "Emerging Cross-lingual Structure in Pretrained Language Models",
Section 3.1. One language per batch, sampled by size^alpha; with parallel text, also TLM.
"""

from dataclasses import dataclass

from fairseq.tasks import register_task

from fairseq_xling.training.config import UnifiedTaskConfig
from fairseq_xling.training.task import UnifiedTask


@dataclass
class BilingualMLMConfig(UnifiedTaskConfig):
    pass


@register_task("bilingual_mlm", dataclass=BilingualMLMConfig)
class BilingualMLMTask(UnifiedTask):
    """Objectives (`--objectives`): ``mlm`` by default; ``tlm`` reads parallel text."""


# By task, the rows of the specification that it implements.
