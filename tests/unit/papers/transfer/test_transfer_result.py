from fairseq_xling.papers.transfer.transfer_result import scored_lines, table
from fairseq_xling.results.frame import frame_from_json
from tests.transfer_record import transfer_record


def result(name, sources, *values, shifted=None):
    """By language the figures of a seed."""
    tests = [{"scores": {x: {"f1": y} for x, y in one.items()}} for one in values]
    for one in tests if shifted else ():
        one["shifted"] = {x: {"alpha": 1, "scores": {"f1": y}} for x, y in shifted.items()}
    return {"encoder": name, "sources": sources, "tests": tests}


def lines_of(*results):
    return scored_lines(frame_from_json(transfer_record(*results, metric="f1")["frame"]), "f1")


def shown(languages, *results):
    header, rows = table(lines_of(*results), languages)
    return header, [[cell and str(cell) for cell in row] for row in rows]


def test_mean_and_gap_compare_the_targets_with_the_source():
    seeds = {"en": 80.0, "de": 60.0, "fr": 50.0}, {"en": 90.0, "de": 70.0, "fr": 60.0}
    results = result("a", ["en"], *seeds), result("b", ["de"], {"de": 50.0})
    header, rows = shown(["en", "de", "fr"], *results)
    assert header == ["encoder", "en", "de", "fr", "mean of targets", "gap"]
    assert rows[0] == ["a", "85.0 ± 7.1", "65.0 ± 7.1", "55.0 ± 7.1", "60.0", "25.0"]
    assert rows[1] == ["b", None, "50.0", None, None, None]


def test_no_language_that_was_trained_on_is_a_target():
    (row,) = shown(["fr"], result("a", ["en", "de"], {"en": 90.0, "de": 80.0, "fr": 70.0}))[1]
    assert row == ["a", "70.0", "70.0", "15.0"]


def test_rows_of_one_name_are_apart_by_what_was_trained_on():
    results = [result("a", [lang], {lang: 90.0}) for lang in ("en", "de")]
    assert shown(["en", "de"], *results)[1] == [["a", "90.0", None], ["a", None, "90.0"]]


def test_each_test_set_has_a_line_with_a_mean_and_a_gap_of_its_own():
    scores = {"en": 90.0, "de": 60.0, "test12.de": 30.0, "test1.en": 80.0, "test1.de": 40.0}
    one = result("ours", ["en"], scores, shifted={"test1.de": 50.0})
    assert list(dict.fromkeys(lines_of(one)[["line", "set"]].itertuples(False, None))) == [
        *(("ours", "test"), ("ours, test1", "test1"), ("ours, test12", "test12")),
        ("ours, shifted, test1", "test1"),
    ]
    assert shown(["en", "de"], one)[1] == [
        ["ours", "90.0", "60.0", "60.0", "30.0"],
        ["ours, test1", "80.0", "40.0", "40.0", "40.0"],
        ["ours, test12", None, "30.0", "30.0", None],
        ["ours, shifted, test1", None, "50.0", "50.0", None],
    ]
