"""The tables, claims and figures of a study."""

from pathlib import Path

import pytest

from fairseq_xling.papers.trelm.results import BITS, PRECISIONS
from fairseq_xling.papers.trelm.study_result import (
    decodings_section,
    decodings_table,
    draw_measure,
    shown_figures,
    study_claims,
    study_table,
    too_many,
)
from fairseq_xling.results.frame import frame_to_json, make_frame
from fairseq_xling.results.page import RESULTS, Result
from fairseq_xling.results.result import make_page

SHARED = ("identity", "predicted", "oracle")


COLUMNS = ("phase", "steps", "language", "ordering", "signature")


def scores(bleu):
    return {
        **dict(zip(PRECISIONS, (60.0, 40.0, 20.0, 10.0), strict=True)),
        **{"BLEU": bleu, "brevity penalty": 1.0, "length ratio": 1.0, "chrF": 2 * bleu},
        **{"words": 50.0, "order": 90.0, "repeated": 0.5},
    }


def migration(seed, bleu=(), target="de", bits=5.0, **figures):
    """What a migration measured; BLEU is by ordering, other ``figures`` by kind."""
    phase = {"phase": "init", "steps": 0, "language": target, "chance": 13.0}
    rows = [{"kind": "bits", "measure": BITS, "value": bits, **phase}]
    for ordering, value in dict(bleu).items():
        for name, score in scores(value).items():
            signature = "of chrF" if name == "chrF" else "of BLEU"
            of = {"kind": "translation", "ordering": ordering, "signature": signature}
            rows.append({**of, "measure": name, "value": score})
    for kind, values in figures.items():
        rows += [{"kind": kind, "measure": name, "value": v} for name, v in values.items()]
    return [{"target": target, "seed": seed, **row} for row in rows]


def translator(seed, own, target="de"):
    """A translator's, after a migration that all rows share; ``own`` are its BLEU by name."""
    return migration(seed, {**dict.fromkeys(SHARED, 20.0 + seed), **own}, target)


def study(rows, seeds="1,2", **more):
    """The record of a study and its frame, from the migrations of its rows by code."""
    found = [{"row": code, **one} for code, many in rows.items() for own in many for one in own]
    frame = make_frame(found, source="en", **dict.fromkeys(COLUMNS))
    return {
        **{"kind": "trelm-study", "study": "translators", "source": "TreLM", "lead": "Some."},
        **{"notes": [], "spec_rows": [], "config": {"seeds": seeds, "bpw_split": "valid"}},
        "provenance": {"command": "ablate", "date": "2026-11-26", "machine": "one", "versions": {}},
        "variations": [
            {"row": code, "name": code.upper(), "changes": {}, "paper": None} for code in rows
        ],
        **{"migrations": [], **more},
    }, frame


@pytest.fixture
def rows():
    own = {
        "ctc": [{"ctc": 30.0, "ctc, beam 20": 31.0}, {"ctc": 32.0, "ctc, beam 20": 35.0}],
        "lattice": [{"lattice": 33.0}, {"lattice": 35.0}],
    }
    return {
        code: [translator(seed, bleu) for seed, bleu in enumerate(many, 1)]
        for code, many in own.items()
    }


def test_what_all_rows_share_is_one_line_and_the_rest_are_lines_of_their_rows(rows):
    header, lines = decodings_table(study(rows)[1])
    shown = [
        [str(line[header.index(name)]) for name in ("row", "translation", "BLEU")] for line in lines
    ]
    assert shown == [
        *(["all", name, "21.50 ± 0.71"] for name in SHARED),
        ["ctc", "ctc", "31.00 ± 1.41"],
        ["ctc", "ctc, beam 20", "33.00 ± 2.83"],
        ["lattice", "lattice", "34.00 ± 1.41"],
    ]
    assert {line[header.index("seeds")] for line in lines} == {"1,2"}


def test_of_several_targets_each_has_its_lines_and_its_dots(rows):
    for many in rows.values():
        many += [translator(1, {"ctc": 40.0}, "fr")]
    _, frame = study(rows)
    header, lines = decodings_table(frame)
    french = [line for line in lines if line[header.index("target")] == "fr"]
    assert [line[header.index("row")] for line in french] == ["all"] * 4
    first, second = decodings_section(frame, []).figure().axes[:2]
    assert (first.get_title(), second.get_title()) == ("de", "fr")
    names = [label.get_text() for label in first.get_yticklabels()]
    assert names[3:6] == ["ctc: ctc", "ctc: ctc, beam 20", "all: ctc"]
    german, french = (
        {y for line in axis.get_lines() for y in line.get_ydata()} for axis in (first, second)
    )
    assert german == {0, 1, 2, 3, 4, 6}
    assert french == {0, 1, 2, 5}  # "all: ctc" is of both rows, whose other lines are German


def test_the_studys_own_table_has_no_column_for_them(rows):
    record, frame = study(rows)
    assert too_many(frame)
    assert not any("BLEU" in name for name in study_table(record, frame)[0])
    record["frame"] = frame_to_json(frame)
    sections = make_page(Result(Path(RESULTS), record)).sections
    assert [section.title for section in sections] == [
        *("Table", "Translations", "Bits per word", "Settings of the rows"),
    ]
    (notes,) = (section.notes for section in sections if section.title == "Translations")
    assert notes[-1] == "sacrebleu of BLEU; of chrF"


def test_three_orderings_are_columns_of_the_studys_table():
    record, frame = study({"ctc": [translator(1, {})]})
    assert not too_many(frame)
    header, _ = study_table(record, frame)
    assert [name for name in header if "BLEU" in name] == [f"BLEU {name}, de" for name in SHARED]


def measured(bits, target="de", **more):
    """Migrations that have measured these bits per word, a seed each, and what ``more`` gives."""
    return [
        migration(seed, (), target, value, **{kind: own[seed - 1] for kind, own in more.items()})
        for seed, value in enumerate(bits, 1)
    ]


def test_what_the_paper_says_is_decided_over_seeds():
    rows = {"good": (1.0, 1.1, 1.2), "bad": (2.0, 2.1, 2.3), "alike": (1.3, 1.0, 1.1)}
    claims = [
        {"text": "A.", "better": "good", "worse": "bad"},
        {"text": "B.", "better": "bad", "worse": "good"},
        {"text": "C.", "better": "good", "worse": "alike"},
        {"text": "Of a row that was not run.", "better": "good", "worse": "other"},
    ]
    found = {code: measured(bits) for code, bits in rows.items()}
    section = study_claims(*study(found, "1,2,3", claims=claims))
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
    section = study_claims(*study({"good": good, "bad": bad}, claims=[CLAIM]))
    assert section.header == ["claim", "rows", "bits per word, de", "bits per word, fr"]
    (row,) = section.rows
    assert row[2].endswith(": kept") and row[3].endswith(": not kept")
    assert section.notes[-1] == "Lower is better: bits per word, de; bits per word, fr."


def test_what_the_paper_says_is_decided_by_tasks_as_well():
    rows = {"good": (81.0, 82.0, 83.5), "bad": (80.0, 80.5, 82.0)}
    found = {
        code: measured([1.0] * 3, task=[{"LAS": x} for x in las]) for code, las in rows.items()
    }
    section = study_claims(*study(found, "1,2,3", claims=[CLAIM]))
    assert section.header == ["claim", "rows", "bits per word, de", "LAS, de"]
    (row,) = section.rows
    assert row[2] == "+0.000: not enough to tell"
    assert row[3].startswith("+1.3 [+0.6, ") and row[3].endswith("p = 0.015: kept")
    assert study_claims(*study(found, "1,2,3", claims=[])) is None


@pytest.mark.row("P11", "T23")
def test_the_table_has_what_was_read_and_every_figure():
    """SPEC P11: MLM, and MLM + TLM, from scratch on the migration's budget, which is reported."""

    def row(cost, near):
        return measured(
            (4.0, 5.0),
            cost=cost,
            task=[{"UAS": x + 10.0, "LAS": x} for x in (60.0, 61.0)],
            distance=[{"aligned": x, "at random": 8.0} for x in near],
        )

    found = {
        "migrated": row(
            [{"parameters": 1000, "steps": 160, "tokens": tokens} for tokens in (5000, 5200)],
            (1.0, 2.0),
        ),
        "as-is": row([{}, {}], (4.0, 4.0)),  # which trains nothing
    }
    header, rows = study_table(*study(found))
    assert header == [
        *("row", "", "parameters", "steps", "tokens", "bits per word, de", "Δ"),
        *("UAS, de", "LAS, de", "aligned, de", "at random, de"),
    ]
    assert [row[2:5] for row in rows] == [[1000, 160, 5100], [None, 0, 0]]
    assert [list(map(str, row[7:])) for row in rows] == [
        ["70.50 ± 0.71", "60.50 ± 0.71", "1.500 ± 0.707", "8.000 ± 0.000"],
        ["70.50 ± 0.71", "60.50 ± 0.71", "4.000 ± 0.000", "8.000 ± 0.000"],
    ]


def test_rows_that_measured_nothing_have_no_line_in_a_figure():
    def row(bleu, *targets):
        return [
            migration(1, {"ctc": bleu} if target in targets else (), target)
            for target in ("de", "id")
        ]

    shown = shown_figures(*study({"a": row(1.0, "de"), "b": row(2.0), "c": row(3.0, "de", "id")}))
    figure = draw_measure(shown[shown["measure"] == "BLEU ctc"])
    first, second = figure.axes[:2]
    assert [label.get_text() for label in first.get_yticklabels()] == ["a: A", "c: C"]
    assert (first.get_title(), second.get_title()) == ("de", "id")
