"""The tables and figures of a migration, and of a study."""

import itertools

import numpy as np
import pytest

from fairseq_xling.cli import main
from fairseq_xling.mapping.vectors_file import Vectors, write_vectors
from fairseq_xling.papers.trelm.record import run_record, study_record, too_many
from fairseq_xling.papers.trelm.results import BITS, PRECISIONS, _costs_for_people, _maps
from fairseq_xling.reports.figures import to_svg
from fairseq_xling.reports.page import parts
from fairseq_xling.verbs.map import read_outcome

SHARED = ("identity", "predicted", "oracle")


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
        of = {"kind": kind, "phase": "language"}
        rows += [{**of, "measure": name, "value": value} for name, value in values.items()]
    return [{"target": target, "seed": seed, **row} for row in rows]


def translator(seed, own, target="de"):
    """A translator's, after a migration that all rows share; ``own`` are its BLEU by name."""
    return migration(seed, {**dict.fromkeys(SHARED, 20.0 + seed), **own}, target)


def study(rows, seeds="1,2", paper=None):
    """The record of a study, from the migrations of its rows by code."""
    every = [(code, one) for code, many in rows.items() for one in itertools.chain(*many)]
    found = [{"row": code, "source": "en", **one} for code, one in every]
    papers = paper or {}
    variations = [
        {"code": code, "name": code.upper(), "changes": {}, "paper": papers.get(code)}
        for code in rows
    ]
    config = {"seeds": seeds, "bpw_split": "valid"}
    return study_record("translators", "TreLM", "Some.", [], "", variations, found, config, {})


def section(record, title):
    """Header and lines of a section's table, cells as text."""
    (part,) = (part for part in parts(record) if part.section.title == title)
    header, lines = part.shown
    return header, [["" if cell is None else str(cell) for cell in line] for line in lines]


def figure(record, title):
    """The figure of a section."""
    (part,) = (part for part in parts(record) if part.section.title == title)
    return part.figure()


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
    header, lines = section(study(rows), "Translations")
    places = [header.index(name) for name in ("row", "translation", "BLEU")]
    shown = [[line[place] for place in places] for line in lines]
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
    record = study(rows)
    header, lines = section(record, "Translations")
    french = [line for line in lines if line[header.index("target")] == "fr"]
    assert [line[header.index("row")] for line in french] == ["all"] * 4
    first, second = figure(record, "Translations").axes[:2]
    assert (first.get_title(), second.get_title()) == ("de", "fr")


def test_the_studys_own_table_has_no_column_for_them(rows):
    record = study(rows)
    assert too_many(record.rows)
    assert not any("BLEU" in name for name in section(record, "Table")[0])
    assert [one.title for one in record.sections] == [
        *("Table", "Translations", "Bits per word", "Settings of the rows")
    ]
    assert record.sections[1].notes[-1] == "sacrebleu of BLEU; of chrF"
    header, _ = section(study({"ctc": [translator(1, {})]}), "Table")  # unless they are few
    assert [name for name in header if "BLEU" in name] == [f"BLEU {name}, de" for name in SHARED]


def measured(bits, target="de", **more):
    """Migrations that have measured these bits per word, a seed each, and what ``more`` gives."""
    return [
        migration(seed, (), target, value, **{kind: own[seed - 1] for kind, own in more.items()})
        for seed, value in enumerate(bits, 1)
    ]


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
            [
                {"parameters": 1000, "steps": 160, "tokens": tokens, "seconds": 1, "device_days": 0}
                for tokens in (5000, 5200)
            ],
            (1.0, 2.0),
        ),
        "as-is": row([{}, {}], (4.0, 4.0)),  # which trains nothing
    }
    header, rows = section(study(found, paper={"migrated": 1.5}), "Table")
    assert header == [
        *("row", "", "parameters", "steps", "tokens", "bits per word, de", "Δ bits per word, de"),
        *("UAS, de", "LAS, de", "aligned, de", "at random, de", "paper: bits per word"),
    ]
    assert [row[2:5] for row in rows] == [["1000", "160", "5100"], ["", "0", "0"]]
    # Whichever row is first.
    assert section(study(dict(reversed(found.items()))), "Table")[0] == header[:-1]
    assert [row[7:] for row in rows] == [
        ["70.50 ± 0.71", "60.50 ± 0.71", "1.500 ± 0.707", "8.000 ± 0.000", "1.500"],
        ["70.50 ± 0.71", "60.50 ± 0.71", "4.000 ± 0.000", "8.000 ± 0.000", ""],
    ]


def test_rows_that_measured_nothing_have_no_line_in_a_figure():
    def row(bleu, *targets):
        return [
            migration(1, {"ctc": bleu} if target in targets else (), target)
            for target in ("de", "id")
        ]

    record = study({"a": row(1.0, "de"), "b": row(2.0), "c": row(3.0, "de", "id")}, "1")
    first, second = figure(record, "BLEU ctc").axes[:2]
    assert [label.get_text() for label in first.get_yticklabels()] == ["a: A", "c: C"]
    assert (first.get_title(), second.get_title()) == ("de", "id")


def run(*rows):
    """The record of a run to German."""
    about = {"source": "en", "target": "de", "seed": 1}
    bits = {"kind": "bits", "phase": "init", "steps": 0, "measure": BITS, "chance": 13.0}
    sides = [{**bits, "language": "de", "side": "target", "value": 5.0}]
    sides += [{**bits, "language": "en", "side": "en", "value": 4.0}]
    rows = [{**about, **row} for row in (*sides, *rows)]
    return run_record(rows, {"source": "minilm", "bpw_split": "valid"}, {})


def test_the_curves_of_the_report_have_names_in_words():
    loss = {"kind": "loss", "phase": "language", "steps": 4, "value": 2}
    curves = (
        ("mlm_de_loss", "MLM de, training"),
        ("mlm_de_loss", "all together, training"),
        ("best_loss", "best, training"),
    )
    record = run(*({**loss, "measure": name, "curve": words} for name, words in curves))
    svg = to_svg(figure(record, "Loss, to de, seed 1"))
    assert "MLM de, training" in svg and "best" not in svg and "_loss" not in svg


def test_a_report_has_both_directions_each_with_its_sentences():
    back = {"kind": "translation", "ordering": "identity, backward", "signature": "s"}
    score = {"measure": PRECISIONS[0], "value": 60.0}
    sample = {"kind": "sample", "number": 1, "measure": "translation"}
    record = run(
        {**back, **score, "ordering": "identity"},
        {**back, **score, "value": 50.0},
        {**sample, "direction": "forward", "text": "a", "reference": "b", "ordering": "identity"}
        | {"value": "a"},
        {**sample, "direction": "backward", "text": "b", "reference": "a", "value": "c"}
        | {"ordering": "identity, backward"},
    )
    _, lines = section(record, "Translation with the forward and backward model")
    assert [line[2:4] for line in lines] == [["identity", "60.0"], ["identity, backward", "50.0"]]
    assert section(record, "Translations to de, seed 1")[1] == [["1", "a", "b", "a"]]
    header, lines = section(record, "Translations from de, seed 1")
    assert header == ["", "source", "reference", "identity, backward"]
    assert lines == [["1", "b", "a", "c"]]


def test_bits_and_tasks_have_a_column_for_each_figure_over_seeds():
    tasks = [
        {"kind": "task", "seed": seed, "measure": name, "value": value}
        for seed, own in enumerate(({"UAS": 70.0, "LAS": 60.0}, {"UAS": 72.0, "LAS": 61.0}), 1)
        for name, value in own.items()
    ]
    record = run(*tasks)
    assert section(record, "Tasks") == (
        ["target", "seeds", "UAS", "LAS"],
        [["de", "1,2", "71.00 ± 1.41", "60.50 ± 0.71"]],
    )
    header, lines = section(record, "Bits per word after each phase")
    assert header[2:] == ["after", "steps", f"{BITS}, en", f"{BITS}, target"]
    assert lines == [["de", "1", "init", "0", "4.000", "5.000"]]
    assert record.sections[0].notes == [
        "Chance is 13.00 (de) and 13.00 (en) bits per word with the words of de."
    ]


def test_the_table_of_costs_ends_with_the_sums():
    cost = {"parameters": 10, "trained": 5, "sentences": 8, "seconds": 60.0, "devices": 1}
    cost |= {"steps": 4, "tokens": 90, "device_days": 0.0007}
    costs = [*_costs_for_people({"forward": cost, "backward": cost})]
    header, lines = section(run(*costs), "Cost of de, seed 1")
    assert header[3:5] == ["steps", "sentences a step"]
    assert [line[3] for line in lines] == ["4", "4", "8", "4"]
    assert lines[-1][0] == "as the paper counts"


def test_every_cell_about_a_map_comes_from_the_report_of_the_mapping_job(tmp_path):
    rng = np.random.default_rng(1)
    fixed = rng.standard_normal((200, 8)).astype(np.float32)
    turn = np.linalg.qr(rng.standard_normal((8, 8)))[0].astype(np.float32)
    words, counts = [f"w{n}" for n in range(200)], np.arange(200, 0, -1)
    write_vectors(tmp_path / "u", Vectors(fixed, counts, words))
    write_vectors(tmp_path / "v", Vectors(fixed @ turn, counts, words))
    files = ["--source-vectors", tmp_path / "u", "--vectors", tmp_path / "v"]
    assert main(["map", "identical", *map(str, files), "--output", str(tmp_path / "out")]) == 0
    written = read_outcome(tmp_path / "out.json")
    header, (row,) = section(run(*_maps([tmp_path / "out"])), "Map of the embeddings")
    cells = dict(zip(header, row, strict=True))
    assert written["criterion"] == pytest.approx(1.0, abs=1e-3)
    assert cells["mean cosine"] == f"{written['criterion']:.3f}"
    assert float(cells["unmapped"]) == pytest.approx(written["criterion_unmapped"], abs=1e-3)
    assert [cells[name] for name in ("target", "failed", "failed seeds")] == ["de", "no", "none"]
    assert cells["best seed"] == str(written["best_seed"])
