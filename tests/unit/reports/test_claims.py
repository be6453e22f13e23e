"""Claims as data: what a verdict follows from, and what is refused."""

import dataclasses
from contextlib import nullcontext

import numpy as np
import pytest
from scipy import stats

from fairseq_xling.core.errors import UserError
from fairseq_xling.reports import claims
from fairseq_xling.reports.claims import (
    EQUAL,
    KEPT,
    NOT_KEPT,
    NOT_RUN,
    UNDECIDED,
    WAITING,
    Claim,
    every_paper,
    judge,
    paired,
    read_claims,
    table,
)
from fairseq_xling.reports.paired import shown_p
from fairseq_xling.reports.record import Record, write_record

CLAIM = Claim(
    *("X-1", "Table 1", True, "Maps help.", "mapped", "unmapped", "LAS", "higher", "3 / 1"),
    *("any", "a.json", "row=map", "row=none", ("LAS",), None, 3, (), ""),
)


def changed(**values):
    return dataclasses.replace(CLAIM, **values)


def write(folder, figures, name="a.json", **columns):
    """A record of rows and measures, a figure of each seed."""
    rows = [
        {"row": row, "measure": measure, "seed": seed, "value": value, "unit": "%", **columns}
        for (row, measure), values in figures.items()
        for seed, value in enumerate(values, 1)
    ]
    write_record(folder / name, Record("Maps", rows))


MAP, NONE = ("map", "LAS"), ("none", "LAS")


@pytest.mark.parametrize(
    "claim, better, worse, state",
    [
        ({}, [3.0, 4.1, 5.0], [1.0, 2.0, 3.0], KEPT),
        ({}, [1.0, 2.0, 3.0], [3.0, 4.1, 5.0], NOT_KEPT),
        ({"direction": "lower"}, [1.0, 2.0, 3.0], [3.0, 4.1, 5.0], KEPT),
        ({}, [3.0, 4.1, 1.0], [1.0, 2.0, 3.0], UNDECIDED),
        ({"direction": "alike", "margin": 3.0}, [3.0, 4.1, 5.0], [1.0, 2.0, 3.0], EQUAL),
        ({"direction": "alike", "margin": 1.0}, [3.0, 4.1, 5.0], [1.0, 2.0, 3.0], NOT_KEPT),
        ({"direction": "alike", "margin": 2.1}, [3.0, 4.1, 5.0], [1.0, 2.0, 3.0], UNDECIDED),
        ({"direction": "little", "margin": 1.0}, [1.0, 2.0, 3.0], [3.0, 4.1, 5.0], EQUAL),  # a gain
        ({"direction": "little", "margin": 3.0}, [3.0, 4.1, 5.0], [1.0, 2.0, 3.0], EQUAL),
        ({"direction": "little", "margin": 1.0}, [3.0, 4.1, 5.0], [1.0, 2.0, 3.0], NOT_KEPT),
        ({"direction": "little", "margin": 2.0}, [3.0, 4.0, 5.0], [1.0, 2.0, 3.0], UNDECIDED),
        ({"ours": "row=none", "theirs": "row=map"}, [3.0, 4.1, 5.0], [1.0, 2.0, 3.0], NOT_KEPT),
        ({}, [2.0, 3.0, 4.0], [1.0, 2.0, 3.0], KEPT),  # the same difference in all seeds
        ({}, [1.0, 2.0, 3.0], [1.0, 2.0, 3.0], UNDECIDED),
        ({}, [0.3, 0.3, 0.3], [0.1 + 0.2] * 3, UNDECIDED),  # the same but for rounding
    ],
)
def test_a_verdict_follows_from_the_figures(claim, better, worse, state, tmp_path):
    write(tmp_path, {MAP: better, NONE: worse})
    assert judge([changed(**claim)], tmp_path)[0].state == state


def test_differences_are_those_of_scipys_paired_tests():
    better, worse = np.random.default_rng(1).normal(size=(2, 5))
    found, expected = paired(better, worse), stats.ttest_rel(better, worse)
    interval = expected.confidence_interval(0.95)
    assert found.p == pytest.approx(expected.pvalue)
    assert (found.low, found.high) == pytest.approx((interval.low, interval.high))
    within = [
        stats.ttest_rel(better, worse - 3, alternative="greater").pvalue,
        stats.ttest_rel(better, worse + 3, alternative="less").pvalue,
    ]
    assert abs(found.mean) < 3
    assert paired(better, worse, margin=3).p == pytest.approx(2 * max(within))
    outside = stats.ttest_rel(better + 4, worse + 0.5, alternative="greater")
    assert paired(better + 4, worse, margin=0.5).p == pytest.approx(2 * outside.pvalue)


@pytest.mark.parametrize(
    "other, claim, state, by",
    [
        ([2.0, 3.1, 4.2], {}, KEPT, "F1"),  # both; the less sure one decides
        ([1.0, 2.1, 2.9], {}, UNDECIDED, "F1"),  # by one alone, though the mean is above 0
        ([-9.0, -8.2, -7.0], {}, UNDECIDED, "LAS"),  # to different sides, each significant
        ([-9.0, -8.2, -7.0], {"measures": ("F1",), "also": ("LAS",)}, NOT_KEPT, "F1"),
        ([1.0, 2.1, 2.9], {"measures": ("LAS",), "also": ("F1",)}, KEPT, "LAS"),
        ([3.1, 4.1, 5.0], {"direction": "alike", "margin": 3.0}, EQUAL, "LAS"),
        ([1.1, 2.0, 3.0], {"direction": "alike", "margin": 1.0}, UNDECIDED, "LAS"),
    ],
)
def test_a_claim_about_several_measures_is_about_each(other, claim, state, by, tmp_path):
    figures = {MAP: [3.0, 4.1, 5.0], NONE: [1.0, 2.0, 3.0]}
    figures |= {("map", "F1"): other, ("none", "F1"): [1.1, 2.0, 3.0]}
    write(tmp_path, figures)
    (verdict,) = judge([changed(**{"measures": ("LAS", "F1"), **claim})], tmp_path)
    assert (verdict.state, verdict.decides.measure) == (state, by)
    assert {difference.measure for difference in verdict.shown} == {"LAS", "F1"}


def test_a_verdict_waits_for_its_seeds_and_reads_no_further(tmp_path):
    better, worse = [3.0, 4.1, 5.0, -90.0], [1.0, 2.0, 3.0, 5.0]
    write(tmp_path, {MAP: better, NONE: worse})
    few, right, all_four = judge([changed(code=f"X-{n}", seeds=n) for n in (5, 3, 4)], tmp_path)
    assert few.state == WAITING and few.p is None and len(few.decides.gaps) == 4
    assert right.state == KEPT and right.p == pytest.approx(3 * right.decides.p)
    assert all_four.state == UNDECIDED
    assert next(table([few]))[4] == "seeds missing: 4 of 5"
    assert next(table([all_four]))[4].endswith("a difference like this one needs 40 seeds")


def test_several_values_are_a_mean_and_each_must_be_there(tmp_path):
    write(tmp_path, {MAP: [3.0, 4.0, 5.0], ("all", "LAS"): [5.0, 4.0, 9.0], NONE: [1.0, 2.0, 3.0]})
    (verdict,) = judge([changed(ours="row=map|all")], tmp_path)
    assert verdict.decides.gaps == pytest.approx([3.0, 2.0, 4.0])
    with pytest.raises(UserError, match=r"rows 'row=map\|lost' are not in a\.json"):
        judge([changed(ours="row=map|lost")], tmp_path)


def test_a_measure_may_be_that_of_some_rows_or_of_one_record(tmp_path):
    write(tmp_path, {MAP: [3.0, 4.1, 5.0], NONE: [1.0, 2.0, 3.0]})
    write(tmp_path, {MAP: [9.0, 9.1, 9.0], NONE: [1.0, 2.2, 3.0]}, "b.json")
    both = ("LAS @ record=a", "LAS @ record=b")
    (verdict,) = judge([changed(frame="a.json + b.json", measures=both)], tmp_path)
    assert [one.measure for one in verdict.shown] == list(both) and verdict.shown[0].unit == "%"
    assert [one.mean for one in verdict.shown] == pytest.approx([6.1 / 3, 20.9 / 3])
    (verdict,) = judge([changed(measures=("LAS @ seed=1|2|3",))], tmp_path)
    assert verdict.decides.mean == pytest.approx(6.1 / 3)
    with pytest.raises(UserError, match=r"rows 'row=map;record=c' are not in a\.json"):
        judge([changed(measures=("LAS @ record=c",))], tmp_path)


def test_measures_share_their_seeds_whatever_their_order(tmp_path):
    figures = {1: 3.0, 2: 4.1, 3: 5.0, 4: 9.0}
    rows = [
        {"row": row, "measure": measure, "seed": seed, "value": shift + factor * figures[seed]}
        for row, shift in (("map", 1.0), ("none", 0.0))
        for measure, factor, seeds in (("LAS", 1, (1, 2, 3)), ("F1", 2, (4, 3, 2, 1)))
        for seed in seeds
    ]
    write_record(tmp_path / "a.json", Record("Maps", rows))
    (verdict,) = judge([changed(measures=("LAS", "F1"))], tmp_path)
    assert verdict.decides.gaps == pytest.approx([1.0, 1.0, 1.0])
    figures = (verdict.shown[0].better, verdict.shown[1].better)
    assert figures == pytest.approx((1 + 12.1 / 3, 1 + 2 * 12.1 / 3))


def test_rows_may_be_differences_and_means_over_other_columns(tmp_path):
    rows = [
        {"row": row, "target": target, "measure": "LAS", "seed": seed, "value": value + seed % 2}
        for row, target, value in [("a", "de", 9), ("a", "fr", 7), ("b", "de", 5), ("b", "fr", 1)]
        for seed in (1, 2, 3)
    ]
    write_record(tmp_path / "a.json", Record("Maps", rows))
    (verdict,) = judge([changed(ours="row=a", theirs="row=b")], tmp_path)
    assert verdict.decides.gaps == (5.0, 5.0, 5.0)
    gains = {"ours": "row=a;target=fr - row=b;target=fr", "theirs": "row=a;target=de - row=b"}
    (verdict,) = judge([changed(**gains)], tmp_path)
    assert verdict.decides.gaps == (0.0, 0.0, 0.0)


def test_central_claims_are_a_family_whether_or_not_they_are_run(tmp_path):
    write(tmp_path, {MAP: [3.0, 4.1, 5.3], NONE: [1.0, 2.0, 3.0]})
    (alone,) = judge([changed(central=True)], tmp_path)
    many = judge([changed(code=f"X-{n}", central=True) for n in range(30)], tmp_path)
    assert alone.state == KEPT and {verdict.state for verdict in many} == {UNDECIDED}
    empty = {"frame": "", "ours": "", "theirs": "", "measures": (), "note": "no run"}
    idle = [changed(code=f"Y-{n}", central=True, **empty) for n in range(30)]
    other = changed(code="Z", central=False)
    first, *_, exploratory = judge([changed(central=True), *idle, other], tmp_path)
    assert many[0].p == pytest.approx(30 * alone.decides.p)
    assert first.p == pytest.approx(31 * alone.decides.p) and first.state == UNDECIDED
    assert exploratory.p == alone.decides.p and exploratory.state == KEPT
    (row,) = table([exploratory])
    assert row[4] == f"kept, p {shown_p(exploratory.p)}, exploratory"


@pytest.mark.parametrize(
    "figures, claim, worse",
    [
        (
            {("a", "LAS, one"): [3.0, 4.1, 5.0], ("a", "LAS, other"): [1.0, 2.0, 3.0]},
            {"ours": "row=a;measure=LAS, one", "theirs": "row=a;measure=LAS, other"},
            2.0,
        ),
        ({MAP: [3.0, 4.1, 5.0]}, {"frame": "a.json + b.json"}, 2.0),
        ({MAP: [3.0, 4.1, 5.0]}, {"theirs": "row=map;chance"}, 1.5),
    ],
    ids=["measures", "records", "chance"],
)
def test_rows_may_be_of_two_measures_or_records_or_chance(figures, claim, worse, tmp_path):
    write(tmp_path, figures, chance=1.5)
    write(tmp_path, {NONE: [1.0, 2.0, 3.0]}, "b.json", task="x")
    (verdict,) = judge([changed(**claim)], tmp_path)
    assert verdict.state == KEPT and verdict.decides.measure == "LAS"
    assert verdict.decides.better == pytest.approx(12.1 / 3) and verdict.decides.worse == worse


@pytest.mark.parametrize(
    "columns, claim, message",
    [
        ({"shared": "train-en-1"}, {}, "seeds share train-en-1, and the note does not say"),
        ({"shared": "train-en-1"}, {"note": "The seeds share the English encoder."}, ""),
        ({"pair": "en-en_2"}, {"regime": "two languages, no pairs"}, "two languages, and pair is"),
        ({"pair": "en-en_2"}, {"regime": "one language"}, ""),
        ({"pair": "en-de"}, {"regime": "two languages, no pairs"}, ""),
    ],
)
def test_rows_must_be_of_the_regime(columns, claim, message, tmp_path):
    write(tmp_path, {MAP: [3.0, 4.1, 5.0], NONE: [1.0, 2.0, 3.0]}, **columns)
    with pytest.raises(UserError, match=message) if message else nullcontext():
        judge([changed(**claim)], tmp_path)


def write_budgets(folder, **updates):
    rows = [
        {"row": row, "measure": "LAS", "seed": seed, "value": seed, "updates": count}
        for row, count in updates.items()
        for seed in (1, 2, 3)
    ]
    write_record(folder / "budgets.json", Record("Budgets", rows))


@pytest.mark.parametrize("count, fits", [(206, True), (250, False), (100, False)])
def test_a_claim_may_give_rows_more_updates(count, fits, tmp_path):
    write_budgets(tmp_path, map=100, none=count)
    claim = changed(frame="budgets.json", theirs="row=none;times=2")
    with nullcontext() if fits else pytest.raises(UserError, match="must not differ"):
        judge([claim], tmp_path)


@pytest.mark.parametrize(
    "claim, message",
    [
        ({"frame": "b.json"}, r"^X-1: .*b\.json"),
        ({"frame": "old.json"}, r"^X-1: .*old\.json: is no record"),
        ({"ours": "row=other"}, "^X-1: rows 'row=other' are not in a.json"),
        ({"ours": "line=map"}, "^X-1: a.json has no column 'line'"),
        ({"measures": ("UAS",)}, "^X-1: measure 'UAS' is not in a.json; it has LAS"),
        ({"theirs": "row=short"}, "^X-1: LAS: a difference needs two seeds of both rows, got 1"),
        ({"frame": "budgets.json"}, "^X-1: updates of both rows must not differ by more than 5%"),
    ],
)
def test_a_claim_that_its_frame_cannot_test_is_one_line(claim, message, tmp_path):
    write(tmp_path, {MAP: [3.0, 4.1, 5.0], NONE: [1.0, 2.0, 3.0], ("short", "LAS"): [1.0]})
    (tmp_path / "old.json").write_text('{"frame": {"rows": 1, "columns": {"row": "a"}}}')
    write_budgets(tmp_path, map=100, none=110)
    with pytest.raises(UserError, match=message):
        judge([changed(**claim)], tmp_path)


# ---- the file

HEADER = [field.name for field in dataclasses.fields(Claim)]
LINE = ["X-1", "T1", "yes", "Maps help.", "a", "b", "LAS", "higher", "", "", "f", "r=a", "r=b",
        "LAS", "", "5", "", ""]  # fmt: skip


UNTESTED = {"frame": "", "ours": "", "theirs": "", "measures": ""}


def line(**values):
    return [values.get(name, cell) for name, cell in zip(HEADER, LINE, strict=True)]


@pytest.mark.parametrize(
    "lines, message",
    [
        ([["code"]], r":1: columns must be code, place"),
        ([HEADER, LINE[:-1]], r":2: must have 18 columns, got 17"),
        ([HEADER, LINE, LINE], r":3: X-1 is there twice"),
        ([HEADER, line(direction="up")], r":2: direction must be one of higher, .*, got 'up'"),
        ([HEADER, line(measures="")], r":2: a test needs a frame, both rows and measures"),
        ([HEADER, line(margin="2")], r":2: a claim that rows are alike or lose little, and no"),
        ([HEADER, line(central="Yes")], r":2: central must be yes or no, got 'Yes'"),
        ([HEADER, line(ours="measure=a")], r":2: both rows must name their measure, or neither"),
        ([HEADER, line(ours="a=1 - b=2 - c=3")], r":2: rows may be a difference of two"),
        ([HEADER, line(ours="r=a;times=more")], r":2: times must be a number"),
        ([HEADER, line(ours="r=a;times=0")], r":2: times must be finite and above 0, got \[0.0"),
        ([HEADER, line(margin="wide")], r":2: margin must be a number, got 'wide'"),
        ([HEADER, line(seeds="few")], r":2: seeds must be a number, got 'few'"),
        ([HEADER, line(seeds="4")], r":2: a test, and nothing else, needs at least 5 seeds, got 4"),
        (
            [HEADER, line(**UNTESTED)],
            r":2: a test, and nothing else, needs at least 5 seeds, got 5",
        ),
        ([HEADER, line(**UNTESTED, seeds="")], r":2: a claim without a test"),
    ],
)
def test_mistakes_in_a_file_of_claims_are_one_line(lines, message, tmp_path):
    path = tmp_path / "claims.tsv"
    path.write_text("".join("\t".join(cells) + "\n" for cells in lines))
    with pytest.raises(UserError, match=message):
        read_claims(path)


def test_a_code_belongs_to_one_paper(tmp_path, monkeypatch):
    monkeypatch.setattr(claims, "_PAPERS", tmp_path)
    for paper in ("one", "two"):
        (tmp_path / paper).mkdir()
        text = "".join("\t".join(cells) + "\n" for cells in (HEADER, LINE))
        (tmp_path / paper / "claims.tsv").write_text(text)
    with pytest.raises(UserError, match=r"two/claims.tsv: X-1 is in .*one/claims.tsv, too"):
        every_paper()


# ---- ours


def test_every_claim_of_the_five_papers_is_there():
    found = every_paper()
    counts = {paper: len(of_paper) for paper, of_paper in found.items()}
    assert counts == {"clcr": 31, "emerging": 38, "mbert": 19, "transfer": 21, "trelm": 46}
    central = sum(claim.central for of_paper in found.values() for claim in of_paper)
    assert central == 65
    every = [claim for of_paper in found.values() for claim in of_paper]
    assert all(claim.text and claim.better and claim.worse and claim.regime for claim in every)


def test_a_verdict_without_a_frame_is_not_run(tmp_path):
    none = changed(
        frame="", ours="", theirs="", measures=(), seeds=0, note="No run has these rows."
    )
    assert judge([none], tmp_path)[0].state == NOT_RUN
