"""Zero-shot tasks with files in ``gold/`` of a folder of text, as `synthesize` writes them.

Other text can be used if it has files with these names. The settings of the fine-tuning are meant
for small encoders; a study that runs a task allows its user to change them.
"""

import itertools
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from fairseq_xling.core.arguments import names_in
from fairseq_xling.core.errors import UserError
from fairseq_xling.core.registry import unknown_name
from fairseq_xling.reports.record import read_record
from fairseq_xling.reports.rows import Row, select
from fairseq_xling.workflow.step import Step, last_line

SMALL = ("--lrs", "1e-3", "--batch-sizes", "32", "--epochs", "3", "--head-options", "dropout=0")
# How a task is fine-tuned, by name: options of `fairseq-xling eval transfer`.
TASK_SETTINGS: Mapping[str, Callable[["GoldTask"], Sequence[str]]] = {
    "small": lambda task: SMALL,
    "paper": lambda task: ("--preset", task.preset) if task.preset else SMALL,
}


@dataclass(frozen=True)
class GoldTask:
    """A head and its files."""

    title: str  # of its figure
    head: str
    metric: str  # the figure's name in the head's scores
    pattern: str  # of the files' names in gold/
    columns: str = ""  # of these files, if they are not the format's own
    preset: str = ""  # of `eval transfer`, with the paper's settings, if it has any
    further: Mapping[str, str] = field(default_factory=dict)  # other figures, name by title

    @property
    def figures(self) -> dict[str, str]:
        """Names of its figures in the head's scores by their titles, ``metric`` last."""
        return {**self.further, self.title: self.metric}

    def file(self, text: Path, split: str, lang: str) -> Path:
        """The path of a file of this task."""
        return text / "gold" / self.pattern.format(split=split, lang=lang)

    def check(self, text: Path, languages: Sequence[str], tests: Sequence[str] = ("test",)) -> None:
        """Raise a UserError unless all files exist; the first language is trained on."""
        wanted = [("train", languages[0]), ("valid", languages[0])]
        for split, lang in [*wanted, *((test, lang) for test in tests for lang in languages)]:
            path = self.file(text, split, lang)
            if not path.is_file():
                raise UserError(f"{path}: no such file; the task {self.title} needs it")


TASKS = {
    "nli": GoldTask("NLI", "classification", "accuracy", "nli.{split}.{lang}.tsv", preset="xnli"),
    "ner": GoldTask("NER F1", "ner", "f1", "tags.{split}.{lang}.tsv", "token=0,tag=2", "ner"),
    "pos": GoldTask("POS", "pos", "accuracy", "tags.{split}.{lang}.tsv", "token=0,tag=1"),
    "parsing": GoldTask(
        "LAS", "parsing", "las", "{split}.{lang}.conllu", preset="parsing", further={"UAS": "uas"}
    ),
}


def parse_tasks(option: str, text: str) -> dict[str, GoldTask]:
    """Names separated by commas."""
    names = names_in(text)
    for name in names:
        if name not in TASKS:
            raise unknown_name(f"`{option}`", name, list(TASKS))
    return {name: TASKS[name] for name in names}


def transfer_mean(folder: Path, lang: str, test: str = "test", figure: str = "") -> float:
    """The figure of a finished `transfer_step` of one encoder in ``lang``, in percent, the mean
    over its chosen settings and seeds; ``test`` is the set that it is tested on, and ``figure``
    another of the head's scores than its metric."""
    where = {"shifted": False, "task": _label(test, lang)}
    return statistics.fmean(row["value"] for row in select(tested_scores(folder, figure), where))


def tested_scores(folder: Path, figure: str = "") -> list[Row]:
    """The figures of tests in the record of a finished `transfer_step`, by the head's metric or
    another ``figure``; their columns are those of `papers.transfer.zero_shot`."""
    record = read_record(folder)
    return select(record.rows, {"part": "test", "measure": figure or record.facts["metric"]})


def _label(test: str, lang: str) -> str:
    """A file to test on, as `--test` and results name it."""
    return lang if test == "test" else f"{test}.{lang}"


def transfer_step(
    name: str,
    task: GoldTask,
    output: Path,
    text: Path,
    languages: Sequence[str],
    encoders: Mapping[str, tuple[Path, Path]],
    seeds: str,
    options: Sequence[str] = (),
    settings: str = "small",
    tests: Sequence[str] = ("test",),
) -> Step:
    """`fairseq-xling eval transfer` from the first language to all of them; nobody looks into the
    files to test on before (zero-shot).

    Args:
        text: the folder with ``gold/``; it may still have to be made.
        encoders: checkpoint and data folder by name.
        options: further ones, which take precedence over `TASK_SETTINGS`.
    """
    source = languages[0]
    command = ["fairseq-xling", "eval", "transfer", "--output", str(output), "--head", task.head]
    for encoder, (checkpoint, data) in encoders.items():
        command += ["--encoder", f"{encoder}={checkpoint}", "--data", f"{encoder}={data}"]
    for split in ("train", "valid"):
        command += [f"--{split}", f"{source}={task.file(text, split, source)}"]
    for test, lang in itertools.product(tests, languages):
        command += ["--test", f"{_label(test, lang)}={task.file(text, test, lang)}"]
    command += ["--columns", task.columns] if task.columns else []
    command += [*TASK_SETTINGS[settings](task), "--seeds", seeds, *options]
    return Step(name, [command], outputs=[output], resumable=True, progress=last_line)
