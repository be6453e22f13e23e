"""What an export is of; light, since the options of all formats are declared with it."""

import dataclasses
from pathlib import Path


@dataclasses.dataclass(frozen=True)
class Job:
    """What is exported, and where to.

    Attributes:
        checkpoint: the model's file, or a folder that `fairseq-xling export` wrote.
        data: its data folder, if it has moved.
        language: the language whose parts are chosen, for formats of one language.
        folder: an empty folder to fill, renamed to ``output`` if nothing fails.
        output: the folder's later name, for messages and cards.
    """

    checkpoint: str
    data: str | None
    language: str | None
    folder: Path
    output: Path
