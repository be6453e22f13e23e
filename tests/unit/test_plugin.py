"""Each registered name is ours once the plug-in is loaded; fairseq would keep an earlier one."""

from pathlib import Path

import fairseq_xling.plugin  # noqa: F401
from fairseq_xling import USER_DIR


def test_each_task_model_architecture_and_criterion_is_ours():
    from fairseq.criterions import CRITERION_REGISTRY
    from fairseq.models import ARCH_MODEL_REGISTRY
    from fairseq.tasks import TASK_REGISTRY

    made = [TASK_REGISTRY["bilingual_mlm"], CRITERION_REGISTRY["unified_lm"]]
    made += [
        ARCH_MODEL_REGISTRY[f"separable_transformer{size}"]
        for size in ("", "_base", "_small", "_tiny")
    ]
    assert all(one.__module__.startswith("fairseq_xling.") for one in made)


def test_no_option_of_a_task_or_model_hides_one_of_fairseqs():
    """fairseq swallows clashing option names, and one of the two would then do nothing."""
    from dataclasses import fields

    from fairseq.dataclass.configs import FairseqConfig

    from fairseq_xling.models.separable_transformer import SeparableTransformerConfig
    from fairseq_xling.training.config import UnifiedTaskConfig

    # Those that are defined as fairseq's own value of the same name are meant to be the same.
    ours = [
        {
            f.name
            for f in fields(c)
            if not f.name.startswith("_") and not str(f.default).endswith(f".{f.name}}}")
        }
        for c in (UnifiedTaskConfig, SeparableTransformerConfig)
    ]
    theirs = set()
    for group in fields(FairseqConfig):
        kind = group.type
        if hasattr(kind, "__dataclass_fields__"):
            theirs |= {f.name for f in fields(kind)}
    assert not ours[0] & ours[1]
    assert not (ours[0] | ours[1]) & theirs


def test_each_user_dir_imports_the_plugin_and_nothing_else():
    for folder in (USER_DIR, Path(__file__).parents[2] / "user_dir"):
        lines = [line for line in (folder / "__init__.py").read_text().splitlines() if line]
        assert len(lines) == 1 and lines[0].startswith("import fairseq_xling.plugin"), folder


def test_what_fairseq_puts_on_the_path_holds_the_user_dir_alone():
    assert [path.name for path in USER_DIR.parent.iterdir()] == ["fairseq_xling_user_dir"]
