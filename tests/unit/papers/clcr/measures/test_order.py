"""`fairseq-xling clcr measure order` on a model whose relative head is perfect by construction."""

import numpy as np
import pytest

from fairseq_xling.cli import main
from fairseq_xling.papers.clcr.evaluation import ORDERS
from fairseq_xling.papers.clcr.labels import write_labels
from fairseq_xling.reports.record import read_record
from tests.toy_clcr import PAIR
from tests.unit.papers.clcr.measures.conftest import order_module
from tests.unit.papers.clcr.test_evaluation import order_bleu


def measured(study, *flags):
    """Figures by order and search, and the notes."""
    output = study.path / "order.json"
    command = ["clcr", "measure", "order", *study.given, "--output", str(output)]
    assert main([*command, *flags]) == 0
    record = read_record(output)
    lines: dict[tuple[str, str], list[float | None]] = {}
    for row in record.rows:
        lines.setdefault((row["order"], row["search"]), []).append(row.get("value"))
    return lines, list(record.sections[0].notes)


def test_a_perfect_head_has_1_and_the_source_s_order_what_can_be_counted(study, capsys):
    rows, notes = measured(study, "--max-tokens", "64")
    several = [line for line in study.links if len(line) > 1]
    points = sum(map(len, several))
    assert notes[0].startswith(f"{len(several)} sentences of valid with {points} key-points, of ")
    for search in ("beam 1", "beam 10", "local"):
        assert rows["rel", search][:-1] == [1.0] * 7
    # By hand: links come in the order of s1, so the gold order sorts them by their place in s2.
    gold = [np.argsort([j for _, j in line]).tolist() for line in several]
    precisions, cumulative = order_bleu([range(len(line)) for line in several], gold)
    source = rows["as in the source", ""]
    assert source[1:4] == pytest.approx([precisions[n] for n in ORDERS])
    assert source[4:7] == pytest.approx([cumulative[n] for n in ORDERS])
    assert 0 < source[1] < 0.9
    assert "BLEU-2" in capsys.readouterr().out


def test_every_head_has_the_searches_that_it_can_have(study):
    rows, _ = measured(study, "--searches", "beam:3,hungarian,local,beam")
    assert set(rows) == {
        ("as in the source", ""),
        *(("abs", search) for search in ("beam 3", "hungarian", "beam")),
        *(("rel", search) for search in ("beam 3", "local", "beam")),
    }
    untrained = rows["abs", "hungarian"]
    assert untrained[0] < 0.6
    assert untrained[1] < rows["rel", "beam"][1]


def test_heads_can_pay_for_wrong_pairs_and_positions_as_the_paper_does(study):
    rows, notes = measured(study, "--searches", "beam:10:sign,beam:10,beam:10:probability")
    assert [search for order, search in rows if order == "rel"] == [
        *("beam 10 sign", "beam 10", "beam 10 probability")
    ]
    absolute = [search for order, search in rows if order == "abs"]
    assert absolute == ["beam 10", "beam 10 probability"]  # it has no pairs to disagree with
    assert rows["rel", "beam 10 sign"][:-1] == [1.0] * 7  # a perfect head needs no more
    assert f"key-points are the pseudo-gold pivots of {study.path}/labels/valid" in notes


def test_both_directions_are_measured_where_both_have_a_head(study):
    one_way, _ = measured(study)
    study.model.parts["order_rel_second"] = order_module("rel", side="second")
    rows, notes = measured(study)
    assert {key for key in rows if "de-en" in key[0]} == {
        ("as in the source de-en", ""),
        *(("rel de-en", search) for search in ("beam 1", "beam 10", "local")),
    }
    assert {k: v[:-1] for k, v in rows.items() if "de-en" not in k[0]} == {
        k: v[:-1] for k, v in one_way.items()
    }
    # By hand: key-points in the order of s2; the gold order sorts them by their place in s1.
    several = [sorted(line, key=lambda link: link[1]) for line in study.links if len(line) > 1]
    gold = [np.argsort([i for i, _ in line]).tolist() for line in several]
    precisions, _ = order_bleu([range(len(line)) for line in several], gold)
    source = rows["as in the source de-en", ""]
    assert source[1:4] == pytest.approx([precisions[n] for n in ORDERS])
    assert "de-en: key-points of de put into the order of en" in notes


def test_mistakes_are_named(study, capsys):
    def refusal(*flags):
        assert main(["clcr", "measure", "order", *study.given, *flags]) == 1
        return capsys.readouterr().err.strip().removeprefix("fairseq-xling: error: ")

    assert "`--searches` must have a width of at least 1" in refusal("--searches", "beam:0")
    assert "unknown search in `--searches` 'hungary'" in refusal("--searches", "hungary")
    assert "unknown weight in `--searches` 'sing'; did" in refusal("--searches", "beam:5:sing")
    labels, settings = study.path / "labels", {"pair": PAIR, "threshold": 0.0}
    write_labels(study.model, study.model.folder.parallel("valid"), labels / "none", settings, 64)
    assert f"{labels}/none: no sentence has two pivots to" in refusal("--split", "none")
    del study.model.parts["order_abs"], study.model.parts["order_rel"]
    assert refusal().startswith("toy.pt: has no trained order head")
