"""Differences between models by seed, on records with figures at random."""

import numpy as np
from scipy.stats import t, ttest_rel

from fairseq_xling.papers.transfer.structures.data import MatrixConfig
from fairseq_xling.papers.transfer.structures.matrix import (
    BETTER_SOURCE,
    compared,
    matrix_record,
    measurements,
)
from fairseq_xling.reports.rows import figures, select
from tests.records import table

LANGUAGES = {"en.jsonl": "en", "de.jsonl": "de"}
ROWS = ("en", "de", "en+de")


def measured(seed, models=(("gcn", ""), ("lstm", "")), seeds=(1, 2, 3), rows=ROWS, **more):
    rng = np.random.default_rng(seed)
    trainings = [
        {"network": network, "variant": variant, "row": row, "seed": seed,
         "scores": {file: {"f1": float(rng.random())} for file in LANGUAGES}}
        for network, variant in models for row in rows for seed in seeds
    ]  # fmt: skip
    sources = {row: row.split("+") for row in rows}
    return [{**row, **more} for row in measurements(trainings, sources, LANGUAGES, {})]


def f1_of(rows, network, row, file, seeds):
    where = {"network": network, "row": row, "file": file, "measure": "F1"}
    found = figures(select(rows, where), "seed")
    return np.array([found[seed,][0] for seed in seeds])


def differences(rows):
    """The lines of the table."""
    return table(matrix_record(rows, MatrixConfig(), []), "paired")[1]


def by_cell(found, run=None):
    return {(one["row"], one["file"]): one for one in found if one["run"] == run}


def check(one, first, other):
    gaps = first - other
    np.testing.assert_allclose(one["gaps"], gaps)
    np.testing.assert_allclose(one["p"], ttest_rel(first, other).pvalue)
    half = t.ppf(0.975, len(gaps) - 1) * gaps.std(ddof=1) / len(gaps) ** 0.5
    np.testing.assert_allclose([one["low"], one["high"]], [gaps.mean() - half, gaps.mean() + half])


def test_models_of_a_run_are_compared_in_each_cell_and_over_languages_not_trained_on():
    run, seeds = measured(1), (1, 2, 3)
    found = by_cell(compared(run))
    assert len(found) == 3 * 2 + 1
    away = {"gcn": [], "lstm": []}
    for row in ROWS:
        for file, lang in LANGUAGES.items():
            own = {net: f1_of(run, net, row, file, seeds) for net in away}
            check(found[row, file], own["gcn"], own["lstm"])
            if lang not in row.split("+"):
                for net, values in own.items():
                    away[net].append(values)
    assert len(away["gcn"]) == 2
    check(found["", "not trained on"], *(np.mean(away[net], 0) for net in ("gcn", "lstm")))


def test_several_sources_stand_beside_the_better_of_them_alone():
    f1 = {"en": 0.2, "de": 0.5, "en+de": 0.4, "en+id": 0.3}
    trainings = [
        {"network": "gcn", "variant": "", "row": row, "seed": 1}
        | {"scores": {"de.jsonl": {"f1": f1[row]}, "zh.jsonl": {"f1": f1[row]}}}
        for row in f1
    ]
    sources = {row: row.split("+") for row in f1}
    files = {"de.jsonl": "de", "zh.jsonl": "zh"}
    found = measurements(trainings, sources, files, {})
    # German is a source of en+de, and Indonesian alone was not trained on.
    (better,) = select(found, {"measure": BETTER_SOURCE})
    assert (better["row"], better["file"], better["value"]) == ("en+de", "zh.jsonl", 50.0)


def test_the_most_frequent_label_is_a_line_of_each_training_set():
    one = {"network": "gcn", "variant": "", "row": "en", "seed": 1}
    one["scores"] = {file: {"f1": 0.5} for file in LANGUAGES}
    always = {"en": {"label": "Agent", "f1": {"en.jsonl": 0.25, "de.jsonl": 0.125}}}
    rows = measurements([one], {"en": ["en"]}, LANGUAGES, always)
    header, lines = table(matrix_record(rows, MatrixConfig(), []))
    assert header == ["model", "trained on", "en", "de"]
    assert lines == [["gcn", "en", "50.0", "50.0"], ["always Agent", "en", "25.0", "12.5"]]
    assert [row["chance"] for row in select(rows, {"measure": "F1"})] == [25.0, 12.5]


def test_a_separate_run_is_compared_by_the_seeds_and_training_sets_that_it_shares():
    run = measured(1, models=(("gcn", ""),))
    other = measured(2, models=(("lstm", ""),), seeds=(3, 2, 7), rows=("de",), run="order")
    found = compared([*run, *other])
    assert {(one["run"], one["other"]) for one in found} == {("order", "lstm")}
    cells = by_cell(found, "order")
    assert set(cells) == {("de", "en.jsonl"), ("de", "de.jsonl"), ("", "not trained on")}
    sides = [
        f1_of(of, net, "de", "en.jsonl", (2, 3)) for of, net in ((run, "gcn"), (other, "lstm"))
    ]
    check(cells["de", "en.jsonl"], *sides)
    check(cells["", "not trained on"], *sides)  # of one cell alone
    (line,) = [row for row in differences([*run, *other]) if row[3] == "en"]
    assert line[:3] == ["gcn", "lstm (order)", "de"] and line[-1] == "2"


def test_one_seed_has_a_difference_without_a_test():
    rows = measured(1, seeds=(4,))
    (one, *_) = compared(rows)
    assert len(one["gaps"]) == 1 and one["p"] is one["low"] is one["high"] is None
    assert differences(rows)[0][5:] == ["", "", "1"]
