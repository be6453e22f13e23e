"""Tasks on the models at the end: TreLM, Tables 1 to 3, 9 and 10.

There is no zero-shot transfer here: a task is trained and tested in the target language, on what
the last phase leaves.
"""

import dataclasses
import functools
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from fairseq_xling.errors import UserError
from fairseq_xling.options import option, reads
from fairseq_xling.papers.trelm.book import Book
from fairseq_xling.runs.step import Step
from fairseq_xling.studies.gold_tasks import GoldTask, transfer_mean, transfer_step
from fairseq_xling.studies.task_options import TaskOptions, check_tasks

if TYPE_CHECKING:
    from fairseq_xling.papers.trelm.config import TrelmConfig
    from fairseq_xling.papers.trelm.steps import Outcome


@dataclasses.dataclass(frozen=True)
class TargetTasks(TaskOptions):
    """`TaskOptions` of tasks that are trained in each target language."""

    tasks: str = option(
        "", "tasks trained and tested in the target, from text/gold: nli, ner, pos, parsing"
    )
    task_train: tuple = reads((), "LANG=FILE to train it on; repeatable, one for each target")
    task_valid: tuple = reads((), "LANG=FILE to select its epoch by, likewise")
    task_test: tuple = reads((), "LANG=FILE to test it on, likewise")


def check_target_tasks(config: "TrelmConfig") -> None:
    """Reject tasks without files of each target, before anything runs.

    Raises:
        UserError: for the first.
    """
    if config.tasks and not config.text:
        raise UserError(
            f"`--tasks` {config.tasks} needs `--text`, whose gold/ has the files; with other text "
            "use `--task-head`"
        )
    for target in config.targets:
        check_tasks(config, Path(config.text), [target])


def add_tasks(book: Book, config: "TrelmConfig", outcome: "Outcome") -> None:
    """Add a step for each task, which reads the last of the checkpoints of ``outcome``."""
    *_, last = outcome.checkpoints.values()
    for name, task in config.task_table.items():
        build = functools.partial(_step, book.run, config, task, outcome, last)
        kind = f"task-{name}-{outcome.target}-{outcome.seed}"
        outcome.tasks[name] = _folder(book.run, book.add(kind, outcome.label, build))


def _step(
    run: Path, config: "TrelmConfig", task: GoldTask, outcome: "Outcome", last: Path, name: str
) -> Step:
    step = transfer_step(
        name,
        task,
        _folder(run, name),
        Path(config.text),
        [outcome.target],
        {"model": (last, outcome.data)},
        str(outcome.seed),
        ["--device", config.device, "--precision", config.precision, *_options(config, outcome)],
    )
    return dataclasses.replace(step, inputs=[*step.inputs, *outcome.head_inputs])


def _options(config: "TrelmConfig", outcome: "Outcome") -> Sequence[str]:
    given = config.words("task_args")
    return _train_args(given, outcome.head_options) if outcome.head_options else given


def _train_args(words: tuple[str, ...], more: list[str]) -> list[str]:
    """Options of `eval transfer` with ``more`` in their `--train-args`.

    >>> _train_args(("--epochs", "1", "--train-args=--lr 1"), ["--map", "a b"])
    ['--epochs', '1', '--train-args', "--lr 1 --map 'a b'"]
    """
    found, own, rest = [], shlex.join(more), iter(words)
    for word in rest:
        name, equals, value = word.partition("=")
        if name == "--train-args":
            own = f"{value if equals else next(rest, '')} {own}"
        else:
            found.append(word)
    return [*found, "--train-args", own]


def _folder(run: Path, name: str) -> Path:
    return run / "tasks" / name


def task_figures(config: "TrelmConfig", outcome: "Outcome") -> dict[str, float]:
    """The figures of finished tasks in the target, in percent, by title."""
    return {
        title: transfer_mean(outcome.tasks[name], outcome.target, figure=figure)
        for name, task in config.task_table.items()
        for title, figure in task.figures.items()
    }
