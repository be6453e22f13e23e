"""Which rows of the specification the tests check, and with what outcome.

    @pytest.mark.row("S8", "G13")       on a test, or as ``pytestmark`` of a file
    python -m pytest --rows FILE tests  writes rows and outcome of each such test as JSON

A test marks a row only if it carries out that row's check. A figure that it measures it may keep
with pytest's own ``record_property(name, value)``. `fairseq-xling report --index` reads FILE.
"""

import datetime
from typing import Any

import pytest

from fairseq_xling.core.errors import UserError
from fairseq_xling.core.files import write_json
from fairseq_xling.studies.pages.rows import TESTS_FORMAT, TESTS_KIND, check_codes

_ROWS = "rows"  # the property that carries a test's rows to the process that writes the file
_LEFT_OUT = "rows_left_out"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--rows", metavar="FILE", help="write the outcome of the tests that check a row, as JSON"
    )


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(Recorder(config), "rows-recorder")


@pytest.hookimpl(tryfirst=True)  # before tests are left out
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        try:
            codes = check_codes(code for mark in item.iter_markers("row") for code in mark.args)
        except UserError as error:
            raise pytest.UsageError(f"{item.nodeid}: {error}") from None
        if codes:
            item.user_properties.append((_ROWS, list(dict.fromkeys(codes))))


class Recorder:
    """Collects what became of each test that names a row; with xdist, in the main process."""

    def __init__(self, config: pytest.Config):
        self._config = config
        self._left_out: list[tuple[str, list[str]]] = []
        self._tests: dict[str, dict[str, Any]] = {}

    def pytest_deselected(self, items: list[pytest.Item]) -> None:
        for item in items:
            if rows := dict(item.user_properties).get(_ROWS):
                self._left_out.append((item.nodeid, rows))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        figures = dict(report.user_properties)
        rows = figures.pop(_ROWS, None)
        if rows is None:
            return
        test = self._tests.setdefault(report.nodeid, _test(report.nodeid, rows, "passed"))
        test["figures"] = figures
        test["seconds"] = round(test["seconds"] + report.duration, 2)
        if not report.passed and test["outcome"] != "failed":
            test["outcome"] = report.outcome
            test["reason"] = _reason(report)

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        self._left_out += map(tuple, getattr(node, "workeroutput", {}).get(_LEFT_OUT, []))

    def pytest_sessionfinish(self, exitstatus: int) -> None:
        if hasattr(self._config, "workeroutput"):
            self._config.workeroutput[_LEFT_OUT] = self._left_out
            return
        path = self._config.getoption("--rows")
        if not path or exitstatus == pytest.ExitCode.USAGE_ERROR:
            return
        for name, rows in self._left_out:
            self._tests.setdefault(name, _test(name, rows, "left out"))
        record = {
            "kind": TESTS_KIND,
            "format": TESTS_FORMAT,
            "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
            "tests": sorted(self._tests.values(), key=lambda test: test["id"]),
        }
        write_json(path, record)


def _test(name: str, rows: list[str], outcome: str) -> dict[str, Any]:
    about = {"id": name, "rows": rows, "outcome": outcome}
    return {**about, "seconds": 0.0, "figures": {}, "reason": ""}


def _reason(report: pytest.TestReport) -> str:
    """Why a test was skipped, in its own words."""
    if not report.skipped:
        return ""
    if isinstance(report.longrepr, tuple):
        return report.longrepr[2].removeprefix("Skipped: ")
    return f"expected to fail: {getattr(report, 'wasxfail', '')}"
