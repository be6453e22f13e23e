"""Registers tasks, models, criterions and optimizers with fairseq; the import of `USER_DIR`.

Then come the user's own (`fairseq_xling.engine.extensions`): fairseq itself knows one folder alone.
"""

import importlib

from fairseq_xling.core.errors import exits_on_user_error
from fairseq_xling.engine.extensions import load_plugins
from fairseq_xling.engine.prepare import prepare_engine

# In this order: models, optimizers and criterions before the tasks that use them.
MODULES = (
    "fairseq_xling.models.separable_transformer",
    "fairseq_xling.models.tri_encoder",
    "fairseq_xling.models.transfer_encoder",
    "fairseq_xling.papers.clcr.model",
    "fairseq_xling.models.tagging.model",
    "fairseq_xling.models.bilstm_baseline",
    "fairseq_xling.engine.fused_adam",
    "fairseq_xling.training.criterion",
    "fairseq_xling.training.transfer_criterion",
    "fairseq_xling.training.word_alignment",
    "fairseq_xling.papers.clcr.criterion",
    "fairseq_xling.training.tagging_criterion",
    "fairseq_xling.training.task",
    "fairseq_xling.training.cdlm",
    "fairseq_xling.training.cross_lingual_transfer",
    "fairseq_xling.papers.clcr.task",
    "fairseq_xling.training.adversarial_tagging",
    "fairseq_xling.training.bilstm_baseline",
)

exits_on_user_error(prepare_engine)()  # what is imported here is often one of fairseq's programs
for module in MODULES:
    importlib.import_module(module)
exits_on_user_error(load_plugins)()
