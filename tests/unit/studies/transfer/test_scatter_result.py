import csv
import json
from pathlib import Path

import numpy as np
import pytest

from fairseq_xling.analysis.correlation import correlation
from fairseq_xling.errors import UserError
from fairseq_xling.studies.transfer.config import TransferConfig
from fairseq_xling.studies.transfer.finished import FinishedFigure
from fairseq_xling.studies.transfer.scatter_result import Point, Property, groups, write_scatter

PROPERTY = Property("Title", "Lead.", "x", "shared things", "E9", "Figure 2", notes=("a note",))


@pytest.fixture
def point(tmp_path):
    """``point("de", 0.5, 70.0)``: of an encoder trained on English."""
    run = tmp_path / "run"
    run.mkdir()
    (run / "results.json").write_text("{}")

    def make(lang, x, *values, row="ours", sources=("en",)):
        cell = FinishedFigure(run, TransferConfig(head="pos"), row, row, sources, lang, values)
        return Point(cell, x, {"things": x})

    return make


def ranks(values):
    """From 1; of equal values their mean rank."""
    return [1 + sum(b < a for b in values) + (sum(b == a for b in values) - 1) / 2 for a in values]


def test_correlations_are_those_of_the_values_and_of_their_ranks():
    rng = np.random.default_rng(1)
    for n in (3, 4, 16):
        x, y = rng.integers(0, 6, n).tolist(), rng.normal(size=n).tolist()
        x[:2] = 0, 5
        pearson, spearman = correlation(x, y)
        assert pearson == pytest.approx(np.corrcoef(x, y)[0, 1])
        assert spearman == pytest.approx(np.corrcoef(ranks(x), ranks(y))[0, 1])


def test_too_few_or_equal_points_have_no_correlation():
    assert correlation([], []) is None
    assert correlation([1, 2], [3, 4]) is None
    assert correlation([1, 1, 1], [3, 4, 5]) is None
    assert correlation([1, 2, 3], [4, 4, 4]) is None


def test_supervised_and_unknown_figures_are_written_but_not_correlated(point, tmp_path):
    points = [
        point("en", 1.0, 99.0),
        point("de", 0.8, 70.0, 74.0),
        point("fr", 0.5, 60.0),
        point("es", 0.4, 61.0),
        point("ja", None, 10.0),
    ]
    printed = write_scatter(tmp_path / "out", PROPERTY, points, {})
    (found,) = json.loads((tmp_path / "out" / "results.json").read_text())["correlations"]
    assert found["points"] == 3
    assert found["Pearson"] == pytest.approx(np.corrcoef([0.8, 0.5, 0.4], [72, 60, 61])[0, 1])
    with open(tmp_path / "out" / "x.csv", newline="") as file:
        rows = list(csv.reader(file))
    assert rows == [
        ["encoder", "trained on", "language", "zero-shot", "things", "accuracy (%)", "seeds"],
        ["ours", "en", "en", "no", "1.0", "99.0", "1"],
        ["ours", "en", "de", "yes", "0.8", "72.0", "2"],
        ["ours", "en", "fr", "yes", "0.5", "60.0", "1"],
        ["ours", "en", "es", "yes", "0.4", "61.0", "1"],
        ["ours", "en", "ja", "yes", "", "10.0", "1"],
    ]
    assert f"ours          3    {found['Pearson']:.3f}     {found['Spearman']:.3f}" in printed
    assert "a note" in (tmp_path / "out" / "report.html").read_text(encoding="utf-8")


def test_points_of_several_training_languages_are_named_by_both(point, tmp_path):
    points = [
        point("de", 0.8, 70.0),
        point("en", 0.8, 60.0, sources=("de",)),
        point("de", 0.8, 99.0, sources=("de",)),
        point("fr", 0.2, 50.0, row="other"),
    ]
    write_scatter(tmp_path / "out", PROPERTY, points, {})
    drawn = groups(json.loads((tmp_path / "out" / "results.json").read_text())["points"])
    assert [(group.label, group.names, group.style) for group in drawn] == [
        ("ours", ["en→de", "de→en"], 0),
        ("other", ["en→fr"], 1),
    ]


def test_without_a_figure_to_compare_nothing_is_written(point, tmp_path):
    with pytest.raises(
        UserError, match=r"^shared things: unknown for all languages that were not train"
    ):
        write_scatter(
            tmp_path / "out", PROPERTY, [point("en", 1.0, 9.0), point("de", None, 9.0)], {}
        )
    assert not Path(tmp_path / "out").exists()
