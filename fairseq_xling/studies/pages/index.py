"""The index: every row of the specification with its tests, presets and latest figure."""

import dataclasses
import itertools
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from fairseq_xling.core.errors import MALFORMED, UserError
from fairseq_xling.core.files import read_json
from fairseq_xling.results.page import Measured, Page, Result, csv_text, download
from fairseq_xling.results.report import write_template
from fairseq_xling.studies.pages.presets import Preset
from fairseq_xling.studies.pages.rows import (
    TESTS_FORMAT,
    TESTS_KIND,
    SpecRow,
    check_codes,
    spec_rows,
)

OUTCOMES = ("passed", "failed", "skipped", "left out")
NO_TEST = "no test"


@dataclasses.dataclass(frozen=True)
class Test:
    """A test that checks a row, or several cases of one test.

    Attributes:
        name: pytest's id.
        rows: what it checks.
        outcome: one of `OUTCOMES`.
        figures: what it measured, by name.
        reason: why it was skipped.
        cases: how many there are.
    """

    __test__ = False  # not a test of pytest's

    name: str
    rows: tuple[str, ...]
    outcome: str
    figures: Mapping[str, Any]
    reason: str = ""
    cases: int = 1

    @property
    def title(self) -> str:
        """Its name in words, with its file.

        >>> Test("tests/unit/test_a.py::test_it_works", (), "passed", {}, cases=2).title
        'it works, 2 cases (unit/test_a.py)'
        """
        file, _, name = self.name.partition("::")
        words = name.rpartition("::")[2].removeprefix("test_").replace("_", " ")
        cases = f", {self.cases} cases" if self.cases > 1 else ""
        return f"{words}{cases} ({file.removeprefix('tests/')})"


@dataclasses.dataclass(frozen=True)
class Figure:
    """The latest measured figure of a row.

    Attributes:
        found: the figure; date: when; run: the name of its results; link: its page.
    """

    found: Measured
    date: str
    run: str
    link: str

    @property
    def shown(self) -> str:
        """The number with four significant digits."""
        return f"{self.found.value:.4g}"


@dataclasses.dataclass(frozen=True)
class Entry:
    """A row of the index."""

    row: SpecRow
    presets: Sequence[str]
    tests: Sequence[Test]
    figure: Figure | None

    @property
    def measured(self) -> str:
        """In words, if there is no figure."""
        if self.figure is not None:
            return ""
        return "not measured yet" if self.row.result == "figure" else "its tests are the result"


def read_tests(paths: Sequence[Path]) -> list[Test]:
    """Tests with their outcome, as written by ``pytest --rows FILE``; later files win."""
    found: dict[str, Test] = {}
    for path in paths:
        record = read_json(path)
        if not isinstance(record, dict) or record.get("kind") != TESTS_KIND:
            raise UserError(f"{path}: not a file of tests; `pytest --rows FILE` writes one")
        if record.get("format") != TESTS_FORMAT:
            raise UserError(f"{path}: format must be {TESTS_FORMAT}, got {record.get('format')!r}")
        try:
            for one in record["tests"]:
                test = Test(
                    one["id"],
                    check_codes(one["rows"]),
                    one["outcome"],
                    one["figures"],
                    one["reason"],
                )
                known = found.get(test.name)
                if known is None or test.outcome != "left out":
                    found[test.name] = test
        except UserError:
            raise
        except MALFORMED as error:
            raise UserError(f"{path}: damaged ({type(error).__name__}: {error})") from None
    return list(found.values())


def join_cases(tests: Sequence[Test]) -> list[Test]:
    """Tests, the cases of each joined: failed if one is, passed if one is and none failed.

    >>> passed, skipped = (Test(f"t.py::test_a[{n}]", (), n, {}) for n in ("passed", "skipped"))
    >>> join_cases([passed, skipped])[0].outcome, join_cases([passed, skipped])[0].reason
    ('passed', '1 of 2 cases skipped')
    """
    by_name: dict[str, list[Test]] = {}
    for test in tests:
        by_name.setdefault(test.name.partition("[")[0], []).append(test)
    return [_join(name, many) for name, many in by_name.items()]


def _join(name: str, many: Sequence[Test]) -> Test:
    if len(many) == 1:
        return many[0]
    outcomes = [test.outcome for test in many]
    outcome = next((one for one in ("failed", *OUTCOMES) if one in outcomes), outcomes[0])
    figures = {
        f"{figure} {test.name.partition('[')[2].rstrip(']')}": value
        for test in many
        for figure, value in test.figures.items()
    }
    others = [one for one in dict.fromkeys(outcomes) if one != outcome]
    parts = [f"{outcomes.count(one)} of {len(many)} cases {one}" for one in others]
    reasons = dict.fromkeys(test.reason for test in many if test.reason)
    return Test(name, many[0].rows, outcome, figures, "; ".join([*parts, *reasons]), len(many))


def make_entries(
    tests: Sequence[Test],
    presets: Sequence[Preset],
    pages: Sequence[tuple[Result, Page, str]],
) -> list[Entry]:
    """One for each row; ``pages`` are results with their pages and links to them."""
    newest = sorted(pages, key=lambda one: one[0].date, reverse=True)
    entries = []
    for code, row in spec_rows().items():
        figures = (
            Figure(found, result.date[:10], result.name, link)
            for result, page, link in newest
            for found in page.measured
            if found.row == code
        )
        entries.append(
            Entry(
                row,
                [preset.name for preset in presets if code in preset.rows],
                join_cases([test for test in tests if code in test.rows]),
                next(figures, None),
            )
        )
    return entries


def summary(entries: Sequence[Entry]) -> str:
    """The number of rows, and of those with a test, a preset or a figure.

    >>> from fairseq_xling.studies.pages.rows import spec_rows
    >>> rows = spec_rows()
    >>> summary([Entry(rows["C7"], [], [], None), Entry(rows["S8"], [], [], None)])
    '2 rows: 0 with a test, 0 with a command. 0 of 1 measured; tests are the result of the other 1.'
    """
    tests, presets = (
        sum(bool(getattr(entry, name)) for entry in entries) for name in ("tests", "presets")
    )
    figures = [entry.figure is not None for entry in entries if entry.row.result == "figure"]
    return (
        f"{len(entries)} rows: {tests} with a test, {presets} with a command. "
        f"{sum(figures)} of {len(figures)} measured; tests are the result of "
        f"the other {len(entries) - len(figures)}."
    )


def write_index(
    path: Path,
    entries: Sequence[Entry],
    pages: Sequence[tuple[Result, Page, str]],
    tests_given: bool = True,
) -> None:
    """Write the page of all rows atomically."""
    lead = [summary(entries)]
    if not tests_given:
        lead.append("No file of tests was given (`--tests`), so none is listed.")
    write_template(
        path,
        "rows.html.jinja",
        title="Rows of the specification",
        lead=lead,
        groups=[
            (group, list(many))
            for group, many in itertools.groupby(entries, key=lambda entry: entry.row.group)
        ],
        pages=pages,
        tests_given=tests_given,
        no_test=NO_TEST,
        file=download("rows.csv", "text/csv", csv_text(*table(entries))),
    )


def table(entries: Sequence[Entry]) -> tuple[list[str], list[list[Any]]]:
    """The index as a table: a line for each row."""
    header = ["row", "title", "source", "paper", "presets", "tests", "outcomes", "result"]
    header += ["figure", "of", "run", "date"]
    rows = []
    for entry in entries:
        figure = entry.figure
        measured = [None] * 4
        if figure is not None:
            measured = [figure.found.value, figure.found.what, figure.run, figure.date]
        row = entry.row
        outcomes = "; ".join(test.outcome for test in entry.tests) or NO_TEST
        rows.append(
            [
                *(row.code, row.title, row.source, row.paper, "; ".join(entry.presets)),
                *("; ".join(test.name for test in entry.tests), outcomes, row.result, *measured),
            ]
        )
    return header, rows
