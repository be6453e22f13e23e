"""The pages of `ablate clcr-pairs` and `clcr-readings`: what more sentence pairs give, and what
each reading changes."""

from pathlib import Path
from types import SimpleNamespace

from fairseq_xling.papers.clcr.ablations_study import (
    ClcrReadings,
    ClcrReadingsConfig,
    changes,
    gains,
)
from fairseq_xling.papers.clcr.measures import keypoints, order
from fairseq_xling.papers.clcr.study import SHOWN, accuracies
from fairseq_xling.reports.record import read_record
from fairseq_xling.reports.rows import select
from tests.records import table

ACCURACY = {10: (50.0, 60.0, 55.0), 40: (60.0, 72.0, 66.0)}
SAME = dict.fromkeys(ACCURACY, (50.0, 50.0, 50.0))
RECORD = Path(__file__).parents[3] / "golden" / "records" / "clcr-readings.json"


def gained(sizes=(10, 40), f1=SAME, models=(("T", 0.0), ("T+E", 9.0))):
    """The notes on figures of three seeds by the number of pairs."""
    rows = []
    for row in sizes:
        for seed in range(3):
            for measure, value in (("relative", 1 / row), ("f1", f1[row][seed])):
                if value is not None:
                    about = {"row": row, "seed": seed, "measure": measure}
                    rows.append({**about, **SHOWN[measure], "value": value})
        for model, more in models:
            for seed, value in enumerate(ACCURACY[row]):
                about = {"row": row, "seed": seed, "column": f"{model}, de (%)"}
                rows.append({**about, "value": value + more})
    return list(gains(rows))


def test_every_figure_of_the_most_pairs_is_compared_with_the_fewest_by_seed():
    (found,) = gained()
    distance = "relative D (lower is better) -0.075 of the spread"
    assert found.startswith(f"From 10 to 40 pairs: {distance}; pivot F1 +0.0 points; T, de")
    assert "; T, de +11.0 points (95 % interval +8.5 to +13.5)" in found
    assert "; T+E, de +11.0 points" in found and "over 3 seeds: p = 0.003" in found


def test_only_what_both_sizes_have_is_compared():
    (found,) = gained(f1={10: (None, 50.0, 60.0), 40: (90.0, 55.0, None)})
    assert "; pivot F1 +5.0 points; T, de" in found  # of one seed
    (found,) = gained(f1=dict.fromkeys(ACCURACY, (None, None, None)))
    assert "pivot F1" not in found
    assert gained(sizes=[40]) == []


def test_each_reading_is_compared_with_the_defaults_by_seed():
    rows = read_record(RECORD).rows
    (line,) = changes(rows)
    assert line.startswith("finetune against the defaults: relative D (lower is better) +0.100")
    assert "hard D" not in line
    assert "; E, zh +1.0 points" in line
    assert "pivot F1" not in line and "T, zh" not in line  # the same in both
    (line,) = changes([row for row in rows if row["row"] == "defaults" or row["seed"] == 2])
    assert "; E, zh +1.0 points" in line and "paired t-test" not in line


def test_key_points_are_of_the_chosen_threshold_and_the_order_of_the_widest_search():
    config = ClcrReadingsConfig(orders="rel,abs", extract_steps=1, order_steps=1)
    orders = [("as in the source", "", 0.1), ("abs", "beam 10", 0.2)]
    orders += [("rel de-en", "beam 1", 0.3), ("rel de-en", "beam 10", 0.4)]
    orders += [("rel en-de", "beam 10", 0.5)]
    of = {"study": order.STUDY, "measure": "BLEU-2"}
    rows = [{**of, "order": name, "search": x, "value": value} for name, x, value in orders]
    for delta, value in ((0.2, 0.75), (0.5, 0.5)):
        of = {"study": keypoints.STUDY, "target": "de", "delta": delta}
        rows.append({**of, "measure": "accuracy", "value": value})
    cell = SimpleNamespace(config=config, pair=("en", "de"))
    found = {row["column"]: row["value"] for row in ClcrReadings().further(rows, cell)}
    assert found == {"E, de (%)": 75.0, "order BLEU-2": 0.4}


def test_accuracies_in_the_language_trained_on_are_recorded_and_not_shown():
    of = {"measure": "accuracy", "source": "en", "unit": "%", "chance": 40.0}
    files = {"valid": ("en", "dev"), "de.test": ("de", "de")}
    rows = [
        {**of, "row": row, "task": task, "target": lang, "column": column, "value": 50.0} | seed
        for row, seed in (("always no", {}), ("T", {"seed": 1}))
        for task, (lang, column) in files.items()
    ]
    own, other = accuracies(rows)
    assert own["measure"] == "accuracy, T, valid" and "column" not in own
    assert other["column"] == "T, de (%)" and other["chance is"] == "always no"


def test_the_page_says_what_each_reading_is():
    record = read_record(RECORD)
    header, lines = table(record)
    assert header[:2] == ["reading", "hard D"]
    assert [line[0] for line in lines] == ["defaults", "finetune"]
    notes = record.sections[0].notes
    assert "finetune: key-points by fine-tuned copies of the encoders (Table 2)." in notes
    assert any("always no: 41.0" in note for note in notes)
    assert select(record.rows, {"column": "E, zh (%)"})
