"""What a study of TreLM declares: the same migration several times, with a few settings changed.

Work that two rows share is done once. Imports here are light, because all studies are declared
before any runs.
"""

import argparse
import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fairseq_xling.papers.trelm.config import TrelmConfig
    from fairseq_xling.papers.trelm.migration import Migration


@dataclasses.dataclass(frozen=True)
class Variation:
    """One variation.

    Attributes:
        code: its name in options, files and tables.
        name: a short description.
        changes: settings that differ from the study's.
        paper: the paper's bits per word, if reported.
        add: adds its steps, if they are not those of `run.with_baselines`.
        needs_text: whether it makes its own data folder, and so cannot use an existing one.
    """

    code: str
    name: str
    changes: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    paper: float | None = None
    add: Callable[["Migration"], None] | None = None
    needs_text: bool = False


class Study:
    """The declaration of a study.

    ``help`` is for the command line, ``title`` and ``lead`` open the report, ``notes`` are printed
    under the table.
    """

    help: str
    title: str
    lead: str
    notes: Sequence[str] = ()
    translates = False  # whether its rows have translators unless the settings say so
    heads = True  # whether CdLM trains heads to translate unless the settings say so
    axis = ""  # if the study draws a curve, what is on its horizontal axis
    size = ""  # and the setting of a row that says where on it the row is

    def rows(self, config: "TrelmConfig", args: argparse.Namespace) -> list[Variation]:
        """All variations of the settings ``config``; the others are compared with the first."""
        raise NotImplementedError(type(self).__name__)

    @property
    def settings(self) -> type["TrelmConfig"]:
        from fairseq_xling.papers.trelm.config import HeadlessConfig, TrelmConfig

        return TrelmConfig if self.heads else HeadlessConfig

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        from fairseq_xling.workflow.launcher import add_run_arguments
        from fairseq_xling.workflow.options import add_options

        add_run_arguments(parser)
        parser.add_argument("--rows", metavar="CODES", help="rows to run (default: all)")
        add_options(parser, self.settings)
