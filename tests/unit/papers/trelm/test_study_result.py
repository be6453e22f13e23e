"""The tables, claims and figures of a study."""

from pathlib import Path

import pytest

from fairseq_xling.papers.trelm.study_result import (
    decodings_section,
    decodings_table,
    draw_measure,
    measurements,
    study_claims,
    study_table,
    too_many,
)
from fairseq_xling.results.page import RESULTS, Result
from fairseq_xling.results.result import make_page

SHARED = ("identity", "predicted", "oracle")


def scores(bleu):
    return {
        **{"precisions": [60.0, 40.0, 20.0, 10.0], "bleu": bleu, "brevity_penalty": 1.0},
        **{"length_ratio": 1.0, "chrf": 2 * bleu, "words": 50.0, "order": 90.0, "repeated": 0.5},
        **{"signature": "of BLEU", "chrf_signature": "of chrF"},
    }


def migration(seed, own, target="de"):
    """A translator's, after a migration that all rows share; ``own`` are its BLEU by name."""
    found = {name: scores(20.0 + seed) for name in SHARED} | {k: scores(v) for k, v in own.items()}
    return {
        **{"target": target, "seed": seed, "label": "", "orderings": list(found)},
        **{"translation": found, "phases": [{"phase": "init", "steps": 0, "bpw": {target: 5.0}}]},
        **{"uniform_bpw": {"en": 13.0, target: 13.0}, "tasks": [], "samples": []},
        "cost": {"trainings": [], "sums": {"steps": 10, "tokens": 100, "seconds": 60.0}},
    }


def study(rows, seeds="1,2", **more):
    """The record of a study, from the migrations of its rows by code."""
    return {
        **{"kind": "trelm-study", "study": "translators", "source": "TreLM", "lead": "Some."},
        **{"notes": [], "spec_rows": [], "config": {"seeds": seeds, "bpw_split": "valid"}},
        "provenance": {"command": "ablate", "date": "2026-11-26", "machine": "one", "versions": {}},
        "variations": [
            {"row": code, "name": code.upper(), "changes": {}, "paper": None} for code in rows
        ],
        **{"migrations": rows, **more},
    }


@pytest.fixture
def record():
    own = {
        "ctc": [{"ctc": 30.0, "ctc, beam 20": 31.0}, {"ctc": 32.0, "ctc, beam 20": 35.0}],
        "lattice": [{"lattice": 33.0}, {"lattice": 35.0}],
    }
    return study(
        {
            code: [migration(seed, bleu) for seed, bleu in enumerate(many, 1)]
            for code, many in own.items()
        }
    )


def test_what_all_rows_share_is_one_line_and_the_rest_are_lines_of_their_rows(record):
    header, rows = decodings_table(record)
    shown = [
        [str(row[header.index(name)]) for name in ("row", "translation", "BLEU")] for row in rows
    ]
    assert shown == [
        *(["all", name, "21.50 ± 0.71"] for name in SHARED),
        ["ctc", "ctc", "31.00 ± 1.41"],
        ["ctc", "ctc, beam 20", "33.00 ± 2.83"],
        ["lattice", "lattice", "34.00 ± 1.41"],
    ]
    assert {row[header.index("seeds")] for row in rows} == {"1,2"}


def test_of_several_targets_each_has_its_lines_and_its_dots(record):
    for many in record["migrations"].values():
        many += [migration(1, {"ctc": 40.0}, "fr")]
    header, rows = decodings_table(record)
    french = [row for row in rows if row[header.index("target")] == "fr"]
    assert [row[header.index("row")] for row in french] == ["all"] * 4
    first, second = decodings_section(record, []).figure().axes[:2]
    assert (first.get_title(), second.get_title()) == ("de", "fr")
    names = [label.get_text() for label in first.get_yticklabels()]
    assert names[3:6] == ["ctc: ctc", "ctc: ctc, beam 20", "all: ctc"]
    german, french = (
        {y for line in axis.get_lines() for y in line.get_ydata()} for axis in (first, second)
    )
    assert german == {0, 1, 2, 3, 4, 6}
    assert french == {0, 1, 2, 5}  # "all: ctc" is of both rows, whose other lines are German


def test_the_studys_own_table_has_no_column_for_them(record):
    assert too_many(record)
    assert not any("BLEU" in name for name in study_table(record)[0])
    sections = make_page(Result(Path(RESULTS), record)).sections
    assert [section.title for section in sections] == [
        *("Table", "Translations", "Bits per word", "Settings of the rows"),
    ]
    (notes,) = (section.notes for section in sections if section.title == "Translations")
    assert notes[-1] == "sacrebleu of BLEU; of chrF"


def test_three_orderings_are_columns_of_the_studys_table(record):
    for many in record["migrations"].values():
        for one in many:
            one["orderings"] = list(SHARED)
    assert not too_many(record)
    header, _ = study_table(record)
    assert [name for name in header if "BLEU" in name] == [f"BLEU {name}, de" for name in SHARED]


def measured(bits, target="de", **more):
    """Migrations that have measured these bits per word, a seed each, and nothing else."""
    found = []
    for seed, value in enumerate(bits, 1):
        phases = [{"phase": "init", "steps": 0, "bpw": {target: value}}]
        own = {name: values[seed - 1] for name, values in more.items()}
        found.append({**migration(seed, {}, target), "orderings": [], "phases": phases, **own})
    return found


def test_what_the_paper_says_is_decided_over_seeds():
    rows = {"good": (1.0, 1.1, 1.2), "bad": (2.0, 2.1, 2.3), "alike": (1.3, 1.0, 1.1)}
    claims = [
        {"text": "A.", "better": "good", "worse": "bad"},
        {"text": "B.", "better": "bad", "worse": "good"},
        {"text": "C.", "better": "good", "worse": "alike"},
        {"text": "Of a row that was not run.", "better": "good", "worse": "other"},
    ]
    found = {code: measured(bits) for code, bits in rows.items()}
    section = study_claims(study(found, "1,2,3", claims=claims))
    assert section.header == ["claim", "rows", "bits per word, de"]
    kept, turned, undecided = section.rows
    assert kept[:2] == ["A.", "good - bad"]
    assert kept[2].startswith("-1.033 [-1.177, -0.890], p ") and kept[2].endswith(": kept")
    assert turned[2].startswith("+1.033 [+0.890, +1.177]") and turned[2].endswith(": not kept")
    assert undecided[0] == "C." and undecided[2].endswith(": not enough to tell")


CLAIM = {"text": "A.", "better": "good", "worse": "bad"}


def test_each_target_language_has_a_verdict_of_its_own():
    good = [*measured((1.0, 1.1)), *measured((4.0, 4.3), "fr")]
    bad = [*measured((2.0, 2.101)), *measured((3.0, 3.301), "fr")]
    section = study_claims(study({"good": good, "bad": bad}, claims=[CLAIM]))
    assert section.header == ["claim", "rows", "bits per word, de", "bits per word, fr"]
    (row,) = section.rows
    assert row[2].endswith(": kept") and row[3].endswith(": not kept")
    assert section.notes[-1] == "Lower is better: bits per word, de; bits per word, fr."


def test_what_the_paper_says_is_decided_by_tasks_as_well():
    rows = {"good": (81.0, 82.0, 83.5), "bad": (80.0, 80.5, 82.0)}
    found = {
        code: measured([1.0] * 3, tasks=[[["LAS", x]] for x in las]) for code, las in rows.items()
    }
    section = study_claims(study(found, "1,2,3", claims=[CLAIM]))
    assert section.header == ["claim", "rows", "bits per word, de", "LAS, de"]
    (row,) = section.rows
    assert row[2] == "+0.000: not enough to tell"
    assert row[3].startswith("+1.3 [+0.6, ") and row[3].endswith("p = 0.015: kept")
    assert study_claims(study(found, "1,2,3", claims=[])) is None


@pytest.mark.row("P11", "T23")
def test_the_table_has_what_was_read_and_every_figure():
    """SPEC P11: MLM, and MLM + TLM, from scratch on the migration's budget, which is reported."""

    def row(tokens, near, trainings):
        sums = [{"steps": 160, "tokens": number} for number in tokens]
        return measured(
            (4.0, 5.0),
            cost=[{"trainings": trainings, "sums": one} for one in sums],
            tasks=[[["UAS", x + 10.0], ["LAS", x]] for x in (60.0, 61.0)],
            distances=[{"aligned": x, "at random": 8.0} for x in near],
        )

    found = {
        "migrated": row((5000, 5200), (1.0, 2.0), [{"parameters": 1000}]),
        "as-is": row((0, 0), (4.0, 4.0), []),  # which trains nothing
    }
    header, rows = study_table(study(found))
    assert header == [
        *("row", "", "parameters", "steps", "tokens", "bits per word, de", "Δ"),
        *("UAS, de", "LAS, de", "aligned, de", "at random, de"),
    ]
    assert [row[2:5] for row in rows] == [[1000, 160, 5100], [None, 160, 0]]
    assert [list(map(str, row[7:])) for row in rows] == [
        ["70.50 ± 0.71", "60.50 ± 0.71", "1.500 ± 0.707", "8.000 ± 0.000"],
        ["70.50 ± 0.71", "60.50 ± 0.71", "4.000 ± 0.000", "8.000 ± 0.000"],
    ]


def test_rows_that_measured_nothing_have_no_line_in_a_figure():
    def row(bleu, *targets):
        found = [migration(1, {}, target) for target in ("de", "id")]
        for one in found:
            one["orderings"] = ["ctc"] if one["target"] in targets else []
            one["translation"] = {"ctc": scores(bleu)} if one["target"] in targets else {}
        return found

    frame = measurements(study({"a": row(1.0, "de"), "b": row(2.0), "c": row(3.0, "de", "id")}))
    figure = draw_measure(frame[frame["measure"] == "BLEU ctc"])
    first, second = figure.axes[:2]
    assert [label.get_text() for label in first.get_yticklabels()] == ["a: A", "c: C"]
    assert (first.get_title(), second.get_title()) == ("de", "id")
