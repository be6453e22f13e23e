"""The settings of "Emerging Cross-lingual Structure" (Conneau et al. 2020), Table 1, and options of
the study that compares them.

One `Setting` per row of the table: a vocabulary, a text, and options of `fairseq-train`.
"""

import dataclasses
import itertools
import math
from pathlib import Path

from fairseq_xling.core.errors import UserError
from fairseq_xling.core.options import like, option, reads
from fairseq_xling.core.registry import unknown_name
from fairseq_xling.data.meta import check_test_set
from fairseq_xling.runs.corpus_steps import check_vocabulary
from fairseq_xling.runs.options import jobs_option, seeds_option, split_words
from fairseq_xling.runs.settled import device_option, precision_option
from fairseq_xling.studies.encoder_training import (
    PAPER,
    EncoderTraining,
    PreparedText,
    StudyText,
    check_text,
)
from fairseq_xling.studies.gold_tasks import TASK_SETTINGS, GoldTask, parse_tasks
from fairseq_xling.studies.task_options import TaskOptions
from fairseq_xling.text.vocabularies import modes


@dataclasses.dataclass(frozen=True)
class Setting:
    """One row of the table.

    Attributes:
        code: its row in the specification; ``C`` and ``T`` are our controls, ``A5-union`` is A5
            with the vocabulary of A3, so that only anchors differ.
        name: its name in the paper; ``{third}`` and ``{sixth}`` stand for the last layer of the
            paper's L1-3 and L1-6 at the given depth, ``{fourth}`` for the one after ``{third}``,
            ``{depth}`` for the depth.
        vocab: vocabulary mode of `fairseq-xling prepare`.
        separate: the sharing plan, with the same fields.
        other_text: whether the non-English training text is of another domain.
        options: further options of `fairseq-train`.
        paper_xnli: mean XNLI accuracy (%) over fr, ru and zh in the paper, if reported.
    """

    code: str
    name: str
    vocab: str
    separate: str = ""
    other_text: bool = False
    options: tuple[str, ...] = ()
    paper_xnli: float | None = None

    def at_depth(self, layers: int) -> "Setting":
        """The setting with its fields filled in for a model of ``layers`` layers.

        >>> Setting("A7", "L1-{third}", "separate", "emb,1-{third}").at_depth(8).separate
        'emb,1-3'
        """
        third = scaled(3, layers)
        fields = {"third": third, "sixth": scaled(6, layers), "depth": layers}
        fields["fourth"] = min(third + 1, layers)
        return dataclasses.replace(
            self, name=self.name.format(**fields), separate=self.separate.format(**fields)
        )

    @property
    def train_options(self) -> list[str]:
        """What this setting adds to `fairseq-train`. Random tokens come from the same language in
        every run with a private part."""
        private = ("--separate", self.separate, "--random-within-language") if self.separate else ()
        return [*private, *self.options]

    def bpe(self, size: int) -> str:
        """Table 1's column "BPE merges" with a joint vocabulary of ``size`` pieces.

        >>> Setting("A1", "", "joint").bpe(80_000), Setting("A3", "", "union").bpe(80_000)
        ('80,000', '40,000/40,000')
        """
        share = len(modes[self.vocab]().groups(["a", "b"]))
        return "/".join([f"{size // share:,}"] * share)

    @property
    def needs_dictionary(self) -> bool:
        return "--extra-anchors" in self.options


def scaled(layer: int, layers: int) -> int:
    """``layer`` of the paper's 8 as the same share of ``layers``, at least 1; halves round up.

    >>> [scaled(3, n) for n in (1, 4, 8, 12)], [scaled(6, n) for n in (1, 4, 8, 12)]
    ([1, 2, 3, 5], [1, 3, 6, 9])
    """
    return max(1, math.floor(layer * layers / 8 + 0.5))


SETTINGS = (
    Setting("A1", "Default", "joint", paper_xnli=70.2),
    Setting("A2", "Other domain", "joint", other_text=True),
    Setting("A3", "Default anchors", "union"),
    Setting("A4", "No anchors", "prefixed", paper_xnli=69.1),
    Setting("A5", "Extra anchors", "joint", options=("--extra-anchors",)),
    Setting("A6", "Sep Emb", "separate", "emb"),
    Setting("A7", "Sep Emb + L1-{third}", "separate", "emb,1-{third}"),
    Setting("A8", "Sep Emb + L1-{sixth}", "separate", "emb,1-{sixth}", paper_xnli=40.6),
    Setting("A9", "Sep L1-{third}", "union", "1-{third}"),
    Setting("A10", "Sep L1-{sixth}", "union", "1-{sixth}"),
    Setting("A5-union", "Extra anchors, union", "union", options=("--extra-anchors",)),
    Setting("C", "Control: nothing shared", "separate", "emb,1-{depth}"),
    Setting("T", "Control: Sep L{fourth}-{depth}", "union", "{fourth}-{depth}"),
)


@dataclasses.dataclass(frozen=True)
class _Compared(StudyText):
    """What is compared, on which text."""

    other_text: str = reads("", "second text in that layout, of another domain (setting A2)")
    languages: str = option(
        "en,de", "a bilingual model is trained on the first with each other one"
    )
    dictionary: str = reads("", "TSV or folder of them (default: that of data-text)")
    settings: str = option("", "codes of the settings to run (default: all that the text allows)")
    separate_start: str = option(
        "",
        "alike: private parts other than the embeddings of words begin with equal weights "
        "(default: each language's own)",
        choices=("", "alike"),
    )
    seeds: str = seeds_option("1,2,3")


@dataclasses.dataclass(frozen=True)
class AblationConfig(EncoderTraining, PreparedText, _Compared):
    """One sentence of help per field; lists are comma-separated text."""

    layers: int = option(4, "depth; the paper's L1-3 and L1-6 are 3/8 and 6/8 of it", least=1)
    words_limit: int = option(5000, "sentences used as contexts of the dictionary's words")
    test_splits: str = option("test", "sets to test on, comma-separated, e.g. test,test1")
    tasks: str = like(
        *(TaskOptions, "tasks"),
        help="zero-shot tasks with a column each, from data-text/gold: nli, ner, pos, parsing",
    )
    task_settings: str = option(
        "small",
        "how they are fine-tuned: small (one setting, for small encoders), or paper (the grid of "
        "`fairseq-xling eval transfer --preset xnli`, ner or parsing)",
        choices=tuple(TASK_SETTINGS),
    )
    task_args: str = like(TaskOptions, "task_args")
    device: str = device_option()
    precision: str = precision_option()
    jobs: int = jobs_option()

    @property
    def dictionary_path(self) -> Path | None:
        """The given dictionary, or the folder of the text if there is one."""
        if self.dictionary:
            return Path(self.dictionary)
        beside = Path(self.data_text) / "dictionary"
        return beside if beside.is_dir() else None

    @property
    def test_list(self) -> list[str]:
        """The sets to test on."""
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


def check_config(config: AblationConfig) -> None:
    """Reject settings that cannot work, before anything runs."""
    check_text(config, "mono")
    if config.other_text and not (Path(config.other_text) / "mono").is_dir():
        raise UserError(
            f"`--other-text` must be a folder with text in mono/, got {config.other_text!r}"
        )
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
