"""What `fairseq-xling clcr measure` measures: a file for each kind, found by its name.

A kind is a module with a docstring (its help), a dataclass ``Options`` with `OutputOptions`, and
``measure(options)``: the record, and the files by role that it was made of. Heavy imports belong
inside: the options of all kinds are declared before one is measured.
"""

from __future__ import annotations

import dataclasses
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairseq_xling.core import options as shared
from fairseq_xling.core.named_files import CHECKPOINT, DATA, LABELS
from fairseq_xling.core.options import REQUIRED, argument, option
from fairseq_xling.core.ranges import COUNT

if TYPE_CHECKING:
    from fairseq_xling.data.mmap import TokenFile
    from fairseq_xling.papers.clcr.trained import Clcr


@dataclasses.dataclass(frozen=True)
class LabelledOptions:
    """A checkpoint, and labelled sentence pairs that its modules are measured on."""

    checkpoint: str = argument("of fairseq-train --task clcr, with what is measured", CHECKPOINT)
    data: str | None = option(None, "its data folder, if it has moved", metavar=DATA)
    labels: str = option(REQUIRED, "folder of `fairseq-xling clcr label`", metavar=LABELS)
    split: str = option("valid", "of the data folder's parallel text", metavar=())


@dataclasses.dataclass(frozen=True)
class BatchOptions:
    """How large batches are, and where they are computed."""

    max_tokens: int = option(
        8192, "maximum padded tokens per side and batch", range=COUNT, metavar=()
    )
    device: str = shared.device()


class Labelled:
    """The model, the labelled sentence pairs and the pivots that options name.

    Attributes:
        pair: the languages; files: those that were read, by role.
    """

    def __init__(self, options: Any, module: str = ""):
        """
        Args:
            module: that the model must have.
        """
        from fairseq_xling.papers.clcr.labels import META, Labels
        from fairseq_xling.papers.clcr.trained import Clcr

        self.split = options.split
        self.model: Clcr = Clcr.load(options.checkpoint, options.data, options.device)
        if module:
            self.model.model.require(module, self.model.checkpoint)
        self.pair = "-".join(self.model.pair)
        self.sides = self.model.folder.parallel(options.split, *self.model.pair)
        self.labels = Labels(Path(options.labels, options.split))
        self.files = {"checkpoint": Path(options.checkpoint), "labels": self.labels.path / META}

    @cached_property
    def order(self) -> TokenFile:
        """The pivots, see `labels.Labels.order`."""
        return self.labels.order(self.sides, self.model.pair)
