"""What is read from the files of a migration."""

import dataclasses
import json
import random
import re
from itertools import combinations

import pytest

from fairseq_xling.analysis.sampled_bleu import Sample
from fairseq_xling.core.errors import UserError
from fairseq_xling.core.files import write_json
from fairseq_xling.papers.trelm.config import TrelmConfig
from fairseq_xling.papers.trelm.migration import Migration
from fairseq_xling.papers.trelm.results import costs_of, faults, measure, part, read_cost, totals
from fairseq_xling.reports.record import Record, write_record
from fairseq_xling.reports.rows import select

REFERENCES = ["the small dog sees a red tree", "two men talk", "a cat and a dog sleep here"]


def measured(hypotheses, references=REFERENCES):
    pairs = zip(hypotheses, references, strict=True)
    return faults([Sample(0, "", reference, text) for text, reference in pairs], "none")


@pytest.mark.parametrize(
    ("change", "words", "order", "repeated"),
    [
        (lambda line: line, 100, 100, 0),
        (lambda line: " ".join(line.split()[::-1]), 100, 0, 0),
        (lambda line: f"{line} instead", 200 * 17 / (17 + 20), 100, 0),
        (lambda line: re.sub(r"(\w+)", r"\1 \1", line), 200 * 17 / (17 + 34), None, 50),
        (lambda line: "", 0, None, 0),
    ],
    ids=["nothing", "order", "words", "repeated", "empty"],
)
def test_a_fault_changes_its_own_figure_alone(change, words, order, repeated):
    found = measured(map(change, REFERENCES))
    expected = {"words": words, "order": order, "repeated": repeated}
    assert found == pytest.approx(expected)


def test_the_order_is_that_of_each_pair_of_words_that_stand_once():
    generator = random.Random(5)
    words = [f"w{n}" for n in range(12)]
    hypotheses, references = (
        [" ".join(generator.choices(words, k=10)) for _ in range(40)] for _ in range(2)
    )
    same = count = 0
    for hypothesis, reference in zip(hypotheses, references, strict=True):
        ours, theirs = hypothesis.split(), reference.split()
        once = [w for w in ours if ours.count(w) == theirs.count(w) == 1]
        for a, b in combinations(once, 2):
            count += 1
            same += theirs.index(a) < theirs.index(b)
    assert measured(hypotheses, references)["order"] == pytest.approx(100 * same / count)


def test_words_are_those_of_the_tokenizer():
    found = faults([Sample(0, "", "A dog, here.", "A dog , here .")], "13a")
    assert found == {"words": 100, "order": 100, "repeated": 0}


def generated(path, pairs):
    rows = [f"S-{n}\tsource {n}\nT-{n}\t{t}\nD-{n}\t0\t{d}\n" for n, (t, d) in enumerate(pairs)]
    path.parent.mkdir(parents=True)
    path.write_text("".join(rows))
    return path


def migration(root, target, **changes):
    """Of a migration without trainings, all but its translations."""
    write_json(root / "meta.json", {"mono": {}, "parallel": {}})
    bits = {"row": "init", "task": "bpw", "measure": "bits per word", "value": 5.0, "chance": 13.0}
    write_record(root / "bpw.json", Record("x", [{**bits, "target": x} for x in ("en", target)]))
    config = TrelmConfig(languages=f"en,{target}", **changes)
    outcome = Migration(None, config, None, target, 1, root, bpw=root / "bpw.json")
    outcome.checkpoints["init"] = root / "init.pt"
    return outcome


def test_every_test_set_has_its_own_score_and_samples_are_of_the_first(tmp_path):
    right, wrong = ("a b c d e", "a b c d e"), ("a b c d e", "a b x y e")
    outcome = migration(tmp_path, "de", translate_split="test,test1")
    outcome.translations = {
        "oracle": generated(tmp_path / "a" / "generate-test.txt", [right]),
        "oracle, test1": generated(tmp_path / "b" / "generate-test1.txt", [right, wrong]),
    }
    rows, places = measure([(None, outcome)], "run")
    assert not any("updates" in row for row in rows)  # nothing is trained
    found = {row["ordering"]: row["value"] for row in select(rows, {"measure": "1-gram precision"})}
    assert found == {"oracle": 100.0, "oracle, test1": pytest.approx(80.0)}
    (sample,) = part(rows, "sample")
    assert [sample[name] for name in ("text", "reference", "ordering", "value")] == [
        *("source 0", "a b c d e", "oracle", "a b c d e")
    ]
    assert places["to de, seed 1"]["checkpoints"] == {"init": str(tmp_path / "init.pt")}
    target, source = part(rows, "bits")
    assert (target["side"], source["side"]) == ("target", "en")


def test_a_backward_translation_is_cut_as_its_own_language_and_has_its_own_samples(tmp_path):
    outcome = migration(tmp_path, "zh")
    chinese, english = ("我们来了吗", "我们来了呢"), ("a dog runs home", "a dog runs away")
    outcome.translations = {
        "identity": generated(tmp_path / "a" / "generate-test.txt", [chinese]),
        "identity, backward": generated(tmp_path / "b" / "generate-test.txt", [english]),
    }
    outcome.backward = ["identity, backward"]
    rows, _ = measure([(None, outcome)], "run")
    there, back = select(rows, {"measure": "1-gram precision"})
    assert "tok:zh" in there["signature"] and "tok:13a" in back["signature"]
    assert there["value"] == pytest.approx(80.0)  # of characters
    assert back["value"] == pytest.approx(75.0)  # of words
    # A tokenizer that is chosen is the target's.
    outcome.config = dataclasses.replace(outcome.config, bleu_tokenizer="char")
    chosen_rows, _ = measure([(None, outcome)], "run")
    there, back = (row["signature"] for row in select(chosen_rows, {"measure": "BLEU"}))
    assert "tok:char" in there and "tok:13a" in back
    samples = {row["direction"]: (row["reference"], row["value"]) for row in part(rows, "sample")}
    assert samples == {
        "forward": ("我们来了吗", "我们来了呢"),
        "backward": ("a dog runs home", "a dog runs away"),
    }


HEAD = (
    "2026 | INFO | fairseq_cli.train | num. shared model params: 12,345 (num. trained: 2,345)\n"
    "2026 | INFO | fairseq_cli.train | training on 2 devices (GPUs/TPUs)\n"
)


def epoch(updates, wall, words=100.0, rows=8.0):
    record = {"train_num_updates": updates, "train_wpb": words, "train_bsz": rows}
    record["train_wall"] = wall
    return f"2026 | INFO | train | {json.dumps({k: str(v) for k, v in record.items()})}\n"


def test_the_cost_of_a_training_is_summed_over_its_epochs(tmp_path):
    log = tmp_path / "train.log"
    # An epoch that is repeated after a kill counts once.
    log.write_text(HEAD + epoch(10, 5) + epoch(15, 7) + HEAD + epoch(15, 9, words=200.0, rows=4.0))
    assert read_cost(log) == {
        **{"parameters": 12_345, "trained": 2_345, "steps": 15, "devices": 2, "seconds": 9.0},
        **{"sentences": 10 * 8 + 5 * 4, "tokens": 10 * 100 + 5 * 200},
        "device_days": pytest.approx(2 * 9 / 86_400),
    }


def test_steps_and_seconds_of_all_phases_stand_beside_those_of_each(tmp_path):
    outcome = migration(tmp_path, "de")
    for phase, updates, wall in (("commonality", 10, 5.0), ("language", 20, 8.0)):
        outcome.logs[phase] = tmp_path / f"{phase}.log"
        outcome.logs[phase].write_text(HEAD + epoch(updates, wall))
    rows, _ = measure([(None, outcome)], "run")
    assert {row["updates"] for row in rows} == {30}
    assert [row["value"] for row in part(rows, "total")] == [13.0]
    assert totals(costs_of(rows))["seconds"] == 13.0  # each phase counts once


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (HEAD, "train.log: contains no finished training"),
        (epoch(1, 1), "train.log: this training log has no parameter count"),
    ],
)
def test_a_log_without_a_training_is_an_error(tmp_path, text, message):
    (tmp_path / "train.log").write_text(text)
    with pytest.raises(UserError, match=f"{message}$"):
        read_cost(tmp_path / "train.log")


def test_the_paper_counts_both_directions_of_transfer_as_one():
    phases = {"commonality": 20_000, "forward": 20_000, "backward": 20_000, "language": 80_000}
    cost = {"parameters": 10, "trained": 5, "sentences": 1, "seconds": 60.0, "devices": 1}
    cost["device_days"] = 60 / 86_400
    found = totals(
        {phase: {**cost, "steps": steps, "tokens": 2 * steps} for phase, steps in phases.items()}
    )
    assert found["steps"] == 140_000
    assert found["steps_as_the_paper_counts"] == 120_000
    assert found["tokens"] == 280_000
    assert found["device_days"] == pytest.approx(4 * 60 / 86_400)
