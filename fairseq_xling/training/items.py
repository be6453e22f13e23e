"""Tasks over annotated items that lie in memory: files of one format, batches by fairseq."""

from pathlib import Path
from typing import Any

from fairseq_xling.core.errors import UserError, exits_on_user_error
from fairseq_xling.core.registry import unknown_name
from fairseq_xling.tasks.formats import Format, read_items
from fairseq_xling.tasks.heads import Head
from fairseq_xling.tasks.items import Item
from fairseq_xling.training.base import Task


class ItemTask(Task):
    """A task whose ``languages`` and ``format``, with ``columns``, say what its files hold.

    Attributes:
        kind: the head's class, which needs no labels.
        trained: whether a checkpoint brings the labels and other contents.
        skip_bad: maximum number of bad rows of a file that are left out.
    """

    languages: list[str]
    format: type[Format]
    columns: dict[str, str]
    kind: type[Head]

    def __init__(self, cfg: Any):
        super().__init__(cfg)
        self.trained = False
        self.skip_bad = getattr(cfg, "skip_bad", 0)  # an older checkpoint has no such option

    @classmethod
    @exits_on_user_error
    def setup_task(cls, cfg: Any, **kwargs: Any):
        task = cls(cfg)
        task.trained = bool(kwargs.get("from_checkpoint"))
        return task

    def file_option(self, split: str) -> tuple[str, str]:
        """The option that names the files of a split, and its value.

        Raises:
            UserError: for a split that is neither trained nor selected on.
        """
        if split not in ("train", "valid"):
            raise UserError(
                f"`--valid-subset` must be valid or train; test by `predict`, got {split!r}"
            )
        return f"--{split}-file", getattr(self.cfg, f"{split}_file")

    def read(self, lang: str, path: str | Path) -> list[Item]:
        """The items of a file.

        Raises:
            UserError: for a language that the model does not have, or a damaged file, or more bad
                rows than are left out.
        """
        if lang not in self.languages:
            raise unknown_name("language of this model", lang, self.languages)
        return self.items_of(lang, path)

    def items_of(self, lang: str, path: str | Path) -> list[Item]:
        """As `read`, of any language."""
        return read_items(
            self.format, Path(path), self.columns, lang, self.kind.check, self.skip_bad
        )

    @exits_on_user_error
    def get_batch_iterator(self, dataset: Any, *args: Any, **kwargs: Any):
        """fairseq's, but nothing is dropped, and each epoch has its own batches."""
        kwargs |= {
            "required_batch_size_multiple": 1,
            "disable_iterator_cache": True,
            "max_positions": None,
        }
        return super().get_batch_iterator(dataset, *args, **kwargs)
