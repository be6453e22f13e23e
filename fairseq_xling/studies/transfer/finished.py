"""Figures of finished runs of `eval transfer` and `eval matrix`, for verbs that analyse them."""

import dataclasses
import statistics
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from fairseq_xling.errors import MALFORMED, UserError
from fairseq_xling.files import read_json, same_place
from fairseq_xling.results.page import RESULTS
from fairseq_xling.studies.transfer.config import TransferConfig
from fairseq_xling.studies.transfer.plan import parse_tests
from fairseq_xling.studies.transfer.table import lines_of
from fairseq_xling.tasks.heads import heads
from fairseq_xling.tasks.items import parse_files


@dataclasses.dataclass(frozen=True)
class FinishedFigure:
    """A figure of a run: one encoder on one language.

    Attributes:
        run: its folder.
        config: its settings; their paths are relative to the folder in which it was started.
        encoder: the encoder's name there.
        row: its name among other rows, of other encoders and other runs.
        sources: the languages that were trained on.
        lang: the language tested.
        values: the figure for each seed, in percent.
        tested: the file it was tested on.
    """

    run: Path
    config: TransferConfig
    encoder: str
    row: str
    sources: tuple[str, ...]
    lang: str
    values: tuple[float, ...]
    tested: Path = Path()

    @property
    def zero_shot(self) -> bool:
        """Whether the model was not trained on this language."""
        return self.lang not in self.sources

    @property
    def mean(self) -> float:
        """The figure's mean over the seeds."""
        return statistics.fmean(self.values)


def read_runs(runs: Sequence[str | Path]) -> list[FinishedFigure]:
    """All figures of some runs of one head, in the order of their commands.

    Rows with translated files are left out: their models have seen the language, or another one.
    If several runs have the same encoder name, it is followed by the run's.

    Raises:
        UserError: for a folder without such a run, one that is named twice, runs of different
            heads or metrics, or runs without a figure of a language that was not trained on.
    """
    folders = [Path(run) for run in runs]
    for folder in folders:
        if sum(same_place(folder, other) for other in folders) > 1:
            raise UserError(f"the run {folder} is named twice")
    by_run = [_read(folder) for folder in folders]
    cells = [cell for found in by_run for cell in found]
    for cell in cells:
        if cell.config.head != cells[0].config.head:
            raise UserError(
                f"{cell.run}: head must be {cells[0].config.head!r} like that of {cells[0].run}, "
                f"got {cell.config.head!r}"
            )
        if cell.config.figure != cells[0].config.figure:
            raise UserError(
                f"{cell.run}: metric must be {cells[0].config.figure!r} like that of "
                f"{cells[0].run}, got {cell.config.figure!r}"
            )
    if not any(cell.zero_shot for cell in cells):
        raise UserError(
            f"{', '.join(map(str, folders))}: no figure of a language that was not trained on"
        )
    rows = Counter(row for found in by_run for row in {cell.row for cell in found})
    names = Counter(folder.name for folder in folders)
    return [
        dataclasses.replace(cell, row=f"{cell.row} ({_called(cell.run, names)})")
        if rows[cell.row] > 1
        else cell
        for cell in cells
    ]


def _called(run: Path, names: Mapping[str, int]) -> str:
    return run.name if names[run.name] == 1 else str(run)


def _read(run: Path) -> list[FinishedFigure]:
    if not run.is_dir():
        raise UserError(f"{run}: no such folder of a run")
    if not (run / RESULTS).is_file():
        raise UserError(f"{run}: is not the folder of a finished run (no {RESULTS})")
    record = read_json(run / RESULTS)
    try:
        settings = {k: tuple(v) if isinstance(v, list) else v for k, v in record["config"].items()}
        config = TransferConfig(**settings)
        heads.check(config.head)
        return [cell for one in record["results"] for cell in _cells(run, config, one)]
    except UserError:
        raise
    except MALFORMED:
        raise UserError(
            f"{run / RESULTS}: contains no results of `fairseq-xling eval transfer` or `eval "
            f"matrix` "
            "of this version"
        ) from None


def _cells(
    run: Path, config: TransferConfig, result: Mapping[str, Any]
) -> Iterator[FinishedFigure]:
    if result["how"]:
        return
    sources = tuple(result["sources"])
    for line in lines_of(result["encoder"], sources, result):
        # The order is that of the command; the results' files sort their keys.
        for test in parse_tests("--test", config.test):
            if test.name == line.test_set and test.lang in line.values:
                about = result["encoder"], line.name, sources, test.lang
                yield FinishedFigure(run, config, *about, tuple(line.values[test.lang]), test.path)


def training_files(config: TransferConfig) -> list[tuple[str, Path]]:
    """The files of ``--train``, each with its language."""
    return parse_files("--train", ",".join(config.train))
