"""What a checkpoint may contain, and what it may have built.

A checkpoint is someone else's file. That it holds plain data alone (torch's ``weights_only``) does
not make it harmless: its settings name classes of fairseq, some of which evaluate an option as
Python. So everything is checked once, where a file is read and before anything is built from it:
its `layout`, its `plain` settings, its `tensors`, and what it asks to be `served`. What is then
built may not exceed the `budget` of its weights.
"""

from fairseq_xling.checkpoints.archive import check_archive
from fairseq_xling.checkpoints.budget import (
    Budget,
    check_complete,
    check_layers,
    current,
    no_larger_than,
    origin,
    reading,
    settings_of_file,
)
from fairseq_xling.checkpoints.building import building, reason
from fairseq_xling.checkpoints.layout import TRAINED, check_layout
from fairseq_xling.checkpoints.plain import settings_of
from fairseq_xling.checkpoints.restored import check_optimizer, check_restored
from fairseq_xling.checkpoints.served import check_architecture, check_served, fits, is_project
from fairseq_xling.checkpoints.tensors import check_kinds, check_tensors, unwrapped

__all__ = [
    "TRAINED",
    "Budget",
    "building",
    "check_architecture",
    "check_archive",
    "check_complete",
    "check_kinds",
    "check_layers",
    "check_layout",
    "check_optimizer",
    "check_restored",
    "check_served",
    "check_tensors",
    "current",
    "fits",
    "is_project",
    "no_larger_than",
    "origin",
    "reading",
    "reason",
    "settings_of",
    "settings_of_file",
    "unwrapped",
]
