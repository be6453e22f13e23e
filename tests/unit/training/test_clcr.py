"""`--task clcr`: its names and options, and which pair it takes."""

from dataclasses import fields
from types import SimpleNamespace

import pytest

import fairseq_xling.plugin  # noqa: F401
from fairseq_xling.data.folder import DataFolder
from fairseq_xling.errors import UserError
from fairseq_xling.models.clcr.model import ClcrModelConfig
from fairseq_xling.training.clcr import ClcrConfig, choose_pair


def test_the_registered_names_are_ours():
    from fairseq.criterions import CRITERION_REGISTRY
    from fairseq.models import ARCH_MODEL_REGISTRY, MODEL_REGISTRY
    from fairseq.tasks import TASK_REGISTRY

    for registry in (TASK_REGISTRY, CRITERION_REGISTRY, MODEL_REGISTRY, ARCH_MODEL_REGISTRY):
        assert registry["clcr"].__module__.startswith("fairseq_xling.")


def test_no_option_hides_another():
    """fairseq swallows clashing option names, and one of the two would then do nothing."""
    from fairseq.dataclass.configs import FairseqConfig

    ours = [
        {
            f.name
            for f in fields(config)
            if not f.name.startswith("_") and not str(f.default).endswith(f".{f.name}}}")
        }
        for config in (ClcrConfig, ClcrModelConfig)
    ]
    theirs = set()
    for group in fields(FairseqConfig):
        if hasattr(group.type, "__dataclass_fields__"):
            theirs |= {f.name for f in fields(group.type)}
    assert not ours[0] & ours[1]
    assert not (ours[0] | ours[1]) & theirs


def test_the_pair_is_the_folders_only_one_or_the_one_that_is_named(tiny_corpus):
    folder = DataFolder(tiny_corpus.path)
    assert choose_pair(folder, None) == ("en", "de")
    assert choose_pair(folder, "de,en") == ("de", "en")
    with pytest.raises(UserError, match=r"`--clcr-pair` must be two languages, e\.g\. en,de"):
        choose_pair(folder, "en,de,fr")
    several = SimpleNamespace(path="x", pairs=lambda split: [("en", "de"), ("en", "zh")])
    with pytest.raises(UserError, match=r"has not one pair .* but en-de, en-zh"):
        choose_pair(several, None)
