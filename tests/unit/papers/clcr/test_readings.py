"""The page of `ablate clcr-readings`: what each reading changes."""

from pathlib import Path

from fairseq_xling.papers.clcr.measures import keypoints, order
from fairseq_xling.papers.clcr.readings import ClcrReadings, ReadingsOptions, changes
from fairseq_xling.reports.record import read_record
from fairseq_xling.workflow.recipe import Cell

RECORD = Path(__file__).parents[3] / "golden" / "records" / "clcr-readings.json"


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
    options = ReadingsOptions(pair="en,de", orders="rel,abs", extract_steps=1, order_steps=1)
    orders = [("as in the source", "", 0.1), ("abs", "beam 10", 0.2)]
    orders += [("rel de-en", "beam 1", 0.3), ("rel de-en", "beam 10", 0.4)]
    orders += [("rel en-de", "beam 10", 0.5)]
    of = {"study": order.STUDY, "measure": "BLEU-2"}
    rows = [{**of, "order": name, "search": x, "value": value} for name, x, value in orders]
    for delta, value in ((0.2, 0.75), (0.5, 0.5)):
        of = {"study": keypoints.STUDY, "target": "de", "delta": delta}
        rows.append({**of, "measure": "accuracy", "value": value})
    further = ClcrReadings().further(rows, Cell({}, {}, options))
    found = {row["column"]: row["value"] for row in further}
    assert found == {"E, de (%)": 75.0, "order BLEU-2": 0.4}
