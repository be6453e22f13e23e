import json
from pathlib import Path

import numpy as np
import pytest

from fairseq_xling.analysis.correlation import correlation
from fairseq_xling.core.errors import UserError
from fairseq_xling.papers.transfer.properties import (
    FinishedFigure,
    Point,
    Property,
    read_runs,
    write_scatter,
)
from fairseq_xling.papers.transfer.zero_shot import Options
from fairseq_xling.reports.page import parts
from fairseq_xling.reports.record import read_record
from tests.records import measured, table
from tests.transfer_record import transfer_record


def result(encoder, scores, sources=("en",), how="", shifted=None):
    """A row as `eval transfer` stores it; ``scores[lang]`` by (setting, seed)."""
    points = list(dict.fromkeys(point for found in scores.values() for point in found))
    tests = [
        {
            "setting": point[0],
            "seed": point[1],
            "scores": {
                lang: {"f1": found[point], "recall": 1.0} if point in found else {}
                for lang, found in scores.items()
            },
        }
        for point in points
    ]
    for test in tests if shifted else ():
        test["shifted"] = {
            lang: {"alpha": 1, "dev": {}, "scores": {"f1": value}}
            for lang, value in shifted.items()
        }
    name = ", ".join(filter(None, (encoder, *(sources if how or sources != ("en",) else ()), how)))
    return {"name": name, "encoder": encoder, "sources": sources, "how": how, "tests": tests}


def write(path, results, **config):
    settings = {"head": "ner", "train": ["en=a"], "test": ["it=b", "en=c", "de=d"], **config}
    path.mkdir(parents=True)
    languages = dict.fromkeys(one.partition("=")[0].split(".")[-1] for one in settings["test"])
    langs = [*languages, "fr", "it", "en", "de"]
    record = {"config": settings, **transfer_record(*results, metric="f1", languages=langs)}
    (path / "results.json").write_text(json.dumps(record, sort_keys=True))
    return path


def plain(value):
    return {("a", 1): value}


def test_a_seeds_figure_is_the_mean_over_settings_and_languages_stand_as_in_the_command(tmp_path):
    grid = {("a", 1): 10.0, ("b", 1): 20.0, ("a", 2): 30.0, ("b", 2): 50.0}
    run = write(
        tmp_path / "run",
        [result("ours", {"de": grid, "en": grid, "it": plain(5.0), "fr": {}})],
        test=["it=b", "en=c", "fr=e", "de=d"],  # French without annotation, so without figures
    )
    cells = read_runs([str(run)])
    assert [cell.lang for cell in cells] == ["it", "en", "de"]
    assert cells[2].values == (15.0, 40.0) and cells[2].mean == 27.5
    assert [cell.zero_shot for cell in cells] == [True, False, True]
    assert cells[0].config.head == "ner"


def test_each_test_set_is_a_row_with_its_own_files(tmp_path):
    run = write(
        tmp_path / "run",
        [result("ours", {"de": plain(1.0), "test1.de": plain(2.0), "en": plain(3.0)})],
        test=["de=d", "test1.de=e", "en=f"],
    )
    assert [(cell.row, cell.lang, cell.mean, cell.tested) for cell in read_runs([run])] == [
        ("ours", "de", 1.0, Path("d")),
        ("ours", "en", 3.0, Path("f")),
        ("ours, test1", "de", 2.0, Path("e")),
    ]


def test_each_row_has_its_own_training_languages(tmp_path):
    scores = {lang: plain(9.0) for lang in ("en", "de", "it")}
    cells = read_runs([write(tmp_path / "both", [result("ours", scores, ["en", "de"])])])
    assert {cell.sources for cell in cells} == {("en", "de")}
    assert [cell.lang for cell in cells if cell.zero_shot] == ["it"]
    scores = {lang: plain(9.0) for lang in ("en", "de")}
    run = write(
        tmp_path / "run",
        [result("ours", scores, [lang]) for lang in ("en", "de")],
        train=["en=a", "de=b"],
    )
    found = [(cell.sources, cell.lang, cell.zero_shot, cell.row) for cell in read_runs([run])]
    assert found == [
        (("en",), "en", False, "ours"),
        (("en",), "de", True, "ours"),
        (("de",), "en", True, "ours"),
        (("de",), "de", False, "ours"),
    ]


def test_translations_are_left_out_and_shifted_states_are_a_row(tmp_path):
    scores = {"en": plain(9.0), "de": plain(8.0)}
    run = write(
        tmp_path / "run",
        [
            result("ours", scores, shifted={"de": 8.5}),
            result("ours", {"de": plain(1.0)}, how="translate-test"),
            result("ours", {"de": plain(1.0)}, ["de"], "translate-train"),
        ],
    )
    assert [(cell.row, cell.encoder, cell.lang, cell.mean) for cell in read_runs([run])] == [
        ("ours", "ours", "en", 9.0),
        ("ours", "ours", "de", 8.0),
        ("ours, shifted", "ours", "de", 8.5),
    ]


def test_a_name_in_several_runs_is_followed_by_the_runs(tmp_path):
    one = write(tmp_path / "x" / "one", [result("a", {"de": plain(1.0)})])
    two = [result("a", {"de": plain(1.0)}), result("b", {"de": plain(1.0)})]
    two = write(tmp_path / "two", two)
    other = write(tmp_path / "y" / "one", [result("a", {"de": plain(1.0)})])
    rows = [cell.row for cell in read_runs([one, two])]
    assert rows == ["a (one)", "a (two)", "b"]
    rows = [cell.row for cell in read_runs([one, other, two])]
    assert rows == [f"a ({one})", f"a ({other})", "a (two)", "b"]


def test_one_run_under_two_names_is_refused(tmp_path):
    run = write(tmp_path / "run", [result("a", {"de": plain(1.0)})])
    (tmp_path / "link").symlink_to(run)
    with pytest.raises(UserError, match=r"the run .*run is named twice"):
        read_runs([run, tmp_path / "link"])


def test_runs_that_show_other_figures_are_not_compared(tmp_path):
    runs = [
        write(tmp_path / name, [result("a", {"de": plain(1.0)})], metric=metric)
        for name, metric in (("one", ""), ("two", "recall"))
    ]
    with pytest.raises(
        UserError, match=r"two: metric must be 'f1' like that of .*one, got 'recall'"
    ):
        read_runs(runs)
    assert len(read_runs([runs[0], write(tmp_path / "x", [result("a", {"de": plain(1.0)})])])) == 2


@pytest.mark.parametrize(
    "record",
    [
        [],
        {},
        {"config": {"scale": "tiny"}, **transfer_record(metric="f1")},
        {"config": {"head": "ner"}, **transfer_record(metric="f1"), "facts": {}, "rows": {}},
    ],
)
def test_other_files_of_results_are_refused(tmp_path, record):
    Path(tmp_path, "results.json").write_text(json.dumps(record))
    with pytest.raises(UserError, match=rf"^{tmp_path / 'results.json'}: "):
        read_runs([tmp_path])


PROPERTY = Property("things", "Title", "Lead.", "A paper", "shared things", ("a note",))


@pytest.fixture
def point(tmp_path):
    """``point("de", 0.5, 70.0)``: of an encoder trained on English."""
    run = tmp_path / "run"
    run.mkdir()
    (run / "results.json").write_text("{}")

    def make(lang, x, *values, row="ours", sources=("en",)):
        cell = FinishedFigure(run, Options(head="pos"), row, row, sources, lang, values)
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
    out = tmp_path / "out"
    found = measured(out, x=None, target=None)
    assert found["points"] == 3
    assert found["Pearson"] == pytest.approx(np.corrcoef([0.8, 0.5, 0.4], [72, 60, 61])[0, 1])
    header, rows = table(read_record(out), "plot")
    assert header == ["encoder", "languages", "things", "accuracy (%)"]
    assert rows == [
        ["ours", "en→en", "1.000", "99.000"],
        ["ours", "en→de", "0.800", "72.000"],
        ["ours", "en→fr", "0.500", "60.000"],
        ["ours", "en→es", "0.400", "61.000"],
        ["ours", "en→ja", "", "10.000"],
    ]
    assert f"ours          3    {found['Pearson']:.3f}     {found['Spearman']:.3f}" in printed
    assert "A note." in (tmp_path / "out" / "report.html").read_text(encoding="utf-8")


def test_points_of_several_training_languages_are_named_by_both(point, tmp_path):
    points = [
        point("de", 0.8, 70.0),
        point("en", 0.8, 60.0, sources=("de",)),
        point("de", 0.8, 99.0, sources=("de",)),
        point("fr", 0.2, 50.0, row="other"),
    ]
    write_scatter(tmp_path / "out", PROPERTY, points, {})
    (axis,) = parts(read_record(tmp_path / "out"))[0].figure().axes
    assert [line.get_label() for line in axis.lines] == ["ours", "other"]
    assert {text.get_text() for text in axis.texts} == {"en→de", "de→en", "en→fr"}


def test_without_a_figure_to_compare_nothing_is_written(point, tmp_path):
    with pytest.raises(
        UserError, match=r"^shared things: unknown for all languages that were not train"
    ):
        write_scatter(
            tmp_path / "out", PROPERTY, [point("en", 1.0, 9.0), point("de", None, 9.0)], {}
        )
    assert not Path(tmp_path / "out").exists()
