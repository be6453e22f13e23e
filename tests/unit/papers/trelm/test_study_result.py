"""The tables, claims and figures of a study."""

from pathlib import Path

import pytest

from fairseq_xling.papers.trelm import study_result
from fairseq_xling.papers.trelm.study_result import (
    decodings_section,
    decodings_table,
    study_claims,
    study_table,
    too_many,
)
from fairseq_xling.results.page import RESULTS, Result
from fairseq_xling.results.result import make_page
from fairseq_xling.results.statistics import OverSeeds

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


@pytest.fixture
def record():
    own = {
        "ctc": [{"ctc": 30.0, "ctc, beam 20": 31.0}, {"ctc": 32.0, "ctc, beam 20": 35.0}],
        "lattice": [{"lattice": 33.0}, {"lattice": 35.0}],
    }
    return {
        **{"kind": "trelm-study", "study": "translators", "source": "TreLM", "lead": "Some."},
        **{"notes": [], "spec_rows": [], "config": {"seeds": "1,2", "bpw_split": "valid"}},
        "provenance": {"command": "ablate", "date": "2026-11-26", "machine": "one", "versions": {}},
        "variations": [
            {"row": code, "name": code.upper(), "changes": {}, "paper": None} for code in own
        ],
        "migrations": {
            code: [migration(seed, bleu) for seed, bleu in enumerate(many, 1)]
            for code, many in own.items()
        },
    }


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


def test_what_the_paper_says_is_decided_over_seeds():
    def bits(*values):
        return [
            {"target": "de", "orderings": [], "translation": {}, "phases": [{"bpw": {"de": value}}]}
            for value in values
        ]

    record = {
        "variations": [{"row": code} for code in ("good", "bad", "alike")],
        "migrations": {
            "good": bits(1.0, 1.1, 1.2),
            "bad": bits(2.0, 2.1, 2.3),
            "alike": bits(1.3, 1.0, 1.1),
        },
        "config": {"seeds": "1,2,3"},
        "claims": [
            {"text": "A.", "better": "good", "worse": "bad"},
            {"text": "B.", "better": "bad", "worse": "good"},
            {"text": "C.", "better": "good", "worse": "alike"},
            {"text": "Of a row that was not run.", "better": "good", "worse": "other"},
        ],
    }
    section = study_claims(record)
    assert section.header == ["claim", "rows", "bits per word, de"]
    kept, turned, undecided = section.rows
    assert kept[:2] == ["A.", "good - bad"]
    assert kept[2].startswith("-1.033 [-1.177, -0.890], p ") and kept[2].endswith(": kept")
    assert turned[2].startswith("+1.033 [+0.890, +1.177]") and turned[2].endswith(": not kept")
    assert undecided[0] == "C." and undecided[2].endswith(": not enough to tell")


def test_each_target_language_has_a_verdict_of_its_own():
    def bits(**values):
        return [
            {"target": lang, "orderings": [], "translation": {}, "phases": [{"bpw": {lang: value}}]}
            for lang, found in values.items()
            for value in found
        ]

    record = {
        "variations": [{"row": code} for code in ("good", "bad")],
        "migrations": {
            "good": bits(de=(1.0, 1.1), fr=(4.0, 4.3)),
            "bad": bits(de=(2.0, 2.101), fr=(3.0, 3.301)),
        },
        "config": {"seeds": "1,2"},
        "claims": [{"text": "A.", "better": "good", "worse": "bad"}],
    }
    section = study_claims(record)
    assert section.header == ["claim", "rows", "bits per word, de", "bits per word, fr"]
    (row,) = section.rows
    assert row[2].endswith(": kept") and row[3].endswith(": not kept")
    assert section.notes[-1] == "Lower is better: bits per word, de; bits per word, fr."


def test_rows_that_are_compared_are_compared_in_tasks_as_well():
    def of(*scores):
        return [
            {
                **{"target": "de", "orderings": [], "translation": {}},
                **{"phases": [{"bpw": {"de": 1.0}}], "tasks": [["LAS", x]] if x else []},
            }
            for x in scores
        ]

    record = {
        "variations": [{"row": code} for code in ("good", "bad")],
        "migrations": {"good": of(81.0, 82.0, 83.5), "bad": of(80.0, 80.5, 82.0)},
        "config": {"seeds": "1,2,3"},
        "claims": [
            {"text": "A.", "better": "good", "worse": "bad"},
            {"text": "Of a row that was not run.", "better": "good", "worse": "other"},
        ],
    }
    section = study_claims(record)
    assert section.header == ["claim", "rows", "bits per word, de", "LAS, de"]
    (row,) = section.rows
    assert row[2] == "+0.000: not enough to tell"
    assert row[3].startswith("+1.3 [+0.6, ") and row[3].endswith("p = 0.015: kept")
    without = {**record, "migrations": {"good": of(0, 0, 0), "bad": of(0, 0, 0)}}
    assert study_claims(without).header == ["claim", "rows", "bits per word, de"]
    assert study_claims({**record, "claims": []}) is None


def test_rows_that_measured_nothing_have_no_line_in_a_figure():
    record = {"variations": [{"row": code, "name": code.upper()} for code in "abc"]}
    cells = [OverSeeds((1.0, 2.0), 1), None, OverSeeds((3.0, 4.0), 1)]
    others = [None, None, OverSeeds((5.0, 6.0), 1)]
    figure = study_result._draw(record, "BLEU", {"de": cells, "id": others})()
    first, second = figure.axes[:2]
    assert [label.get_text() for label in first.get_yticklabels()] == ["a: A", "c: C"]
    assert (first.get_title(), second.get_title()) == ("de", "id")
