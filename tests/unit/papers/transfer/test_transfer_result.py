from fairseq_xling.papers.transfer.transfer_result import Line, lines_of, table


def shown(lines, languages):
    header, rows = table(lines, languages)
    return header, [[cell and str(cell) for cell in row] for row in rows]


def test_mean_and_gap_compare_the_targets_with_the_source():
    lines = [
        Line("a", ["en"], {"en": [80.0, 90.0], "de": [60.0, 70.0], "fr": [50.0, 60.0]}),
        Line("b", ["de"], {"de": [50.0]}),
    ]
    header, rows = shown(lines, ["en", "de", "fr"])
    assert header == ["encoder", "en", "de", "fr", "mean of targets", "gap"]
    assert rows[0] == ["a", "85.0 ± 7.1", "65.0 ± 7.1", "55.0 ± 7.1", "60.0", "25.0"]
    assert rows[1] == ["b", None, "50.0", None, None, None]


def test_no_language_that_was_trained_on_is_a_target():
    (row,) = shown([Line("a", ["en", "de"], {"en": [90.0], "de": [80.0], "fr": [70.0]})], ["fr"])[1]
    assert row == ["a", "70.0", "70.0", "15.0"]


def test_each_test_set_has_a_line_with_a_mean_and_a_gap_of_its_own():
    scores = {"en": 90.0, "de": 60.0, "test12.de": 30.0, "test1.en": 80.0, "test1.de": 40.0}
    one = {"seed": 1, "scores": {label: {"f1": value} for label, value in scores.items()}}
    one["shifted"] = {"test1.de": {"scores": {"f1": 50.0}}}
    lines = lines_of("ours", ["en"], {"metric": "f1", "tests": [one]})
    assert [(line.name, line.test_set) for line in lines] == [
        *(("ours", "test"), ("ours, test1", "test1"), ("ours, test12", "test12")),
        ("ours, shifted, test1", "test1"),
    ]
    assert shown(lines, ["en", "de"])[1] == [
        ["ours", "90.0", "60.0", "60.0", "30.0"],
        ["ours, test1", "80.0", "40.0", "40.0", "40.0"],
        ["ours, test12", None, "30.0", "30.0", None],
        ["ours, shifted, test1", None, "50.0", "50.0", None],
    ]
