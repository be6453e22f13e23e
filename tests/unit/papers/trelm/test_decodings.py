"""Studies whose rows translate in many ways have a line for each of them."""

from pathlib import Path

import pytest

from fairseq_xling.papers.trelm.decodings import decodings_section, decodings_table, too_many
from fairseq_xling.papers.trelm.study_result import study_table
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
