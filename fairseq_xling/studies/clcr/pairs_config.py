"""The settings of `fairseq-xling ablate clcr-pairs`: those of `clcr run`, a task, and sizes."""

import dataclasses

from fairseq_xling.options import option
from fairseq_xling.runs.options import parse_numbers
from fairseq_xling.studies.clcr.task_config import ClcrTaskConfig


@dataclasses.dataclass(frozen=True)
class ClcrPairsConfig(ClcrTaskConfig):
    """One sentence of help per field."""

    sizes: str = option("", "numbers of sentence pairs to train on, e.g. 1000,4000,16000")

    @property
    def size_list(self) -> list[int]:
        """Ascending."""
        return sorted(parse_numbers("--sizes", self.sizes, int))
