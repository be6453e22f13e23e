"""The studies of `fairseq-xling ablate`, found by name: a file each in this folder and those of
papers.

A study is a class with ``help``, ``add_arguments(parser)`` and ``run(args)``, such as a
`fairseq_xling.workflow.recipe.Study`. Heavy imports belong inside functions: the options of all
studies are declared before any is run.
"""

from typing import Any

from fairseq_xling.core.registry import Registry

STUDIES: Registry[Any] = Registry(
    "study",
    __name__,
    "fairseq_xling.papers.clcr.pairs",
    "fairseq_xling.papers.clcr.readings",
    "fairseq_xling.papers.emerging.mapped_layers",
    "fairseq_xling.papers.emerging.sharing",
    "fairseq_xling.papers.emerging.similarity",
    "fairseq_xling.papers.mbert.size_window",
    "fairseq_xling.papers.mbert.token_translation",
    "fairseq_xling.papers.transfer.tagging",
    "fairseq_xling.papers.trelm.ablations",
)
