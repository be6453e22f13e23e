"""Options of a study that fine-tunes its encoders on tasks and tests other languages.

Tasks are those of `gold_tasks`, with files in ``gold/`` of the text, or one of any head whose files
the user names. The first language is trained on, all are tested.
"""

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path

from fairseq_xling.core.errors import UserError
from fairseq_xling.core.options import option, reads
from fairseq_xling.core.registry import unknown_name
from fairseq_xling.studies.gold_tasks import GoldTask, parse_tasks
from fairseq_xling.workflow.options import split_words

OWN = "own"  # the name of the user's task in steps and files


@dataclasses.dataclass(frozen=True)
class FileTask(GoldTask):
    """A task with files anywhere: ``files[split, lang]``."""

    files: Mapping[tuple[str, str], Path] = dataclasses.field(default_factory=dict)

    def file(self, text: Path, split: str, lang: str) -> Path:
        """As of a `GoldTask`; ``text`` is ignored."""
        if (split, lang) not in self.files:
            raise UserError(f"`--task-{split}` must name a file of {lang!r}, as in {lang}=FILE")
        return self.files[split, lang]


@dataclasses.dataclass(frozen=True)
class TaskOptions:
    """One sentence of help per field; `task_table` has the tasks."""

    tasks: str = option("", "zero-shot tasks, from data-text/gold: nli, ner, pos, parsing")
    task_head: str = option(
        "", "head of an additional task, with your own files, as in `fairseq-xling eval transfer`"
    )
    task_train: tuple = reads((), "LANG=FILE to train it on, of the first language")
    task_valid: tuple = reads((), "LANG=FILE to select its epoch by, of the first language")
    task_test: tuple = reads((), "LANG=FILE to test it on; repeatable, one for each language")
    task_columns: str = option("", "which column of these files holds what, e.g. text=0,label=1")
    task_args: str = option(
        "", "more options for every `fairseq-xling eval transfer`, as one quoted text"
    )

    @property
    def task_table(self) -> dict[str, GoldTask]:
        """The tasks by name."""
        found = parse_tasks("--tasks", self.tasks)
        given = {name: getattr(self, f"task_{name}") for name in ("train", "valid", "test")}
        if not self.task_head:
            for name, texts in given.items():
                if texts:
                    raise UserError(f"`--task-{name}` needs `--task-head`")
            return found
        from fairseq_xling.tasks.heads import heads
        from fairseq_xling.tasks.items import parse_files

        if self.task_head not in heads:
            raise unknown_name("`--task-head`", self.task_head, list(heads))
        head = heads[self.task_head]
        files = {
            (split, lang): path
            for split, texts in given.items()
            if texts
            for lang, path in parse_files(f"--task-{split}", ",".join(texts))
        }
        title = f"{self.task_head} {head.metric}"
        own = FileTask(
            *(title, self.task_head, head.metric, "", self.task_columns),
            further={f"{self.task_head} {name}": name for name in head.further},
            files=files,
        )
        return {**found, OWN: own}


def check_tasks(options: TaskOptions, text: Path, languages: Sequence[str]) -> None:
    """Reject tasks without a file of each language, before anything runs."""
    for task in options.task_table.values():
        task.check(text, languages)
    split_words("--task-args", options.task_args)
