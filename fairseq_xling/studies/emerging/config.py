"""Options of the ablation study, from a YAML file and the command line, checked at once."""

import argparse
import dataclasses
import itertools
from pathlib import Path

from fairseq_xling.data.meta import check_test_set
from fairseq_xling.errors import UserError
from fairseq_xling.options import option, reads
from fairseq_xling.registry import unknown_name
from fairseq_xling.runs.corpus_steps import check_vocabulary
from fairseq_xling.runs.options import load_config as read_config
from fairseq_xling.runs.options import split_words
from fairseq_xling.runs.settled import precision_option
from fairseq_xling.studies.emerging.settings import SETTINGS
from fairseq_xling.studies.encoder_training import (
    PAPER,
    PRESET_HELP,
    EncoderTraining,
    PreparedText,
    counted,
)
from fairseq_xling.studies.gold_tasks import TASK_SETTINGS, GoldTask, parse_tasks


@dataclasses.dataclass(frozen=True)
class _Compared:
    """What is compared, on which text."""

    preset: str = option("", PRESET_HELP)
    data_text: str = reads("", "text in the layout of `fairseq-xling synthesize`")
    other_text: str = reads("", "second text in that layout, of another domain (setting A2)")
    languages: str = option(
        "en,de", "a bilingual model is trained on the first with each other one"
    )
    dictionary: str = reads("", "TSV or folder of them (default: that of data-text)")
    settings: str = option("", "codes of the settings to run (default: all that the text allows)")
    seeds: str = option("1,2,3", "seeds of training")


@dataclasses.dataclass(frozen=True)
class AblationConfig(EncoderTraining, PreparedText, _Compared):
    """One sentence of help per field; lists are comma-separated text."""

    vocab_size: int = option(
        2000, "pieces of the joint vocabulary; separate ones have half as many", least=1
    )
    layers: int = option(4, "depth; the paper's L1-3 and L1-6 are 3/8 and 6/8 of it", least=1)
    updates: int = option(1600, "optimiser steps", least=1)
    words_limit: int = option(5000, "sentences used as contexts of the dictionary's words")
    test_splits: str = option("test", "sets to test on, comma-separated, e.g. test,test1")
    tasks: str = option(
        "", "zero-shot tasks with a column each, from data-text/gold: nli, ner, pos, parsing"
    )
    task_settings: str = option(
        "small",
        "how they are fine-tuned: small (one setting, for small encoders), or paper (the grid of "
        "`fairseq-xling eval transfer --preset xnli`, ner or parsing)",
        choices=tuple(TASK_SETTINGS),
    )
    task_args: str = option(
        "", "more options for every `fairseq-xling eval transfer`, as one quoted text"
    )
    device: str = option("cpu", "cpu or cuda", choices=("cpu", "cuda"))
    precision: str = precision_option()
    jobs: int = option(1, "steps that run at the same time", least=1)

    @property
    def dictionary_path(self) -> Path | None:
        """The given dictionary, or the folder of the text if there is one."""
        if self.dictionary:
            return Path(self.dictionary)
        beside = Path(self.data_text) / "dictionary"
        return beside if beside.is_dir() else None

    @property
    def test_list(self) -> list[str]:
        """The sets to test on.

        Raises:
            UserError: for none, one that is named twice, or a name that no such set can have.
        """
        names = [name.strip() for name in self.test_splits.split(",") if name.strip()]
        if not names or len(set(names)) < len(names):
            raise UserError(
                f"`--test-splits` must name one or several different sets, got {self.test_splits!r}"
            )
        return [check_test_set("`--test-splits`", name) for name in names]

    @property
    def task_table(self) -> dict[str, GoldTask]:
        """The tasks by name."""
        return parse_tasks("--tasks", self.tasks)


# Table 1: its languages, tasks and settings (Sections 3.1 and 3.2).
PRESETS = {
    "paper": {
        **PAPER,
        "languages": "en,fr,ru,zh",
        "tasks": "nli,ner,parsing",
        "task_settings": "paper",
    }
}
# By preset, the rows of the specification that it implements.
SPEC_ROWS = {"paper": ("P8", "D2", "A12")}


def load_config(args: argparse.Namespace) -> AblationConfig:
    """The values of ``args``, else of the YAML file ``args.config``, else the defaults.

    Raises:
        UserError: for an unknown key or a value that breaks a rule.
    """
    config = counted(read_config(AblationConfig, args, PRESETS))
    _check(config)
    return config


def _check(config: AblationConfig) -> None:
    if not config.data_text:
        raise UserError("`--data-text` must name a folder of text")
    for name, folder in (("data-text", config.data_text), ("other-text", config.other_text)):
        if folder and not (Path(folder) / "mono").is_dir():
            raise UserError(f"`--{name}` must be a folder with text in mono/, got {folder!r}")
    if len(config.language_list) < 2:
        raise UserError(f"`--languages` must name at least two, got {config.languages!r}")
    check_vocabulary(config.vocab_type, config.segment, config.language_list)
    split_words("--task-args", config.task_args)
    split_words("--prepare-args", config.prepare_args)
    _ = config.seed_list, config.training  # raises for errors
    for task in config.task_table.values():
        task.check(Path(config.data_text), config.language_list, config.test_list)
    _check_test_sets(config)
    codes = [setting.code for setting in SETTINGS]
    for code in filter(None, config.settings.split(",")):
        if code.strip() not in codes:
            raise unknown_name("`--settings`", code.strip(), codes)


def _check_test_sets(config: AblationConfig) -> None:
    """Further sets are asked for by name, so their parallel text has to be there."""
    source, *targets = config.language_list
    for test, target in itertools.product(config.test_list, targets):
        found = [
            any((Path(config.data_text) / "parallel").glob(f"{test}.{pair}.{lang}.txt*"))
            for lang in (source, target)
            for pair in (f"{source}-{target}", f"{target}-{source}")
        ]
        if test != "test" and sum(found) < 2:
            raise UserError(
                f"`--test-splits` {test}: {config.data_text} has no parallel/{test}.{source}-"
                f"{target}.{source}.txt and .{target}.txt"
            )
