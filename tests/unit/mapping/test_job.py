import re

import numpy as np
import pytest
import torch

from fairseq_xling.cli import main
from fairseq_xling.core.files import read_json
from fairseq_xling.mapping import search
from fairseq_xling.mapping.job import apply_map
from fairseq_xling.mapping.methods.adversarial import Adversarial
from fairseq_xling.mapping.procrustes import orthogonality_error
from fairseq_xling.mapping.refine import random_rotation
from fairseq_xling.mapping.vectors_file import Vectors, read_vectors, write_vectors
from fairseq_xling.reports.record import read_record
from fairseq_xling.verbs.map import read_outcome
from tests.records import rows, value, values

GAME = "--epochs 2 --epoch-size 3200 --hidden 32 --chance 2".split()


@pytest.fixture
def files(planted, tmp_path):
    """Vectors ``u`` and the same rotated and noisy, ``v``, whose first ids never occur.

    Half of the words are spelt alike in both.
    """
    toy = planted(angle=0.9, noise=0.02, rows=600)
    rows = np.concatenate([np.full((6, 20), 7.0), toy.moving.numpy()]).astype(np.float32)
    counts = np.concatenate([np.zeros(6), np.arange(600, 0, -1)]).astype(np.int64)
    partner = toy.partner.tolist()
    names = [f"▁w{p}" if p % 2 else f"▁v{p}" for p in partner]
    u = Vectors(toy.fixed.numpy(), np.arange(1000, 400, -1), [f"▁w{i}" for i in range(600)])
    v = Vectors(rows, counts, [f"<{i}>" for i in range(6)] + names, {"de": "ab"}, {"dim": 20})
    write_vectors(tmp_path / "u", u)
    write_vectors(tmp_path / "v", v)
    return tmp_path, toy, u, v


def call(folder, method, *extra, output="out"):
    arguments = ["--source-vectors", folder / "u", "--vectors", folder / "v"]
    arguments += ["--output", folder / output, *extra]
    return main(["map", method, *map(str, arguments)])


def error(capsys):
    (line,) = [x for x in capsys.readouterr().err.splitlines() if x.startswith("fairseq-xling:")]
    return line.removeprefix("fairseq-xling: error: ")


@pytest.mark.parametrize("method", [["identical"], ["adversarial", *GAME, "--seeds", "1,2"]])
def test_the_mapped_file_is_v_times_the_map_and_all_else_of_v(files, method, capsys):
    folder, toy, _u, v = files
    before = (folder / "u").read_bytes(), (folder / "v").read_bytes()
    assert call(folder, *method) == 0
    mapped = read_vectors(folder / "out")
    w = torch.from_numpy(mapped.map)
    assert orthogonality_error(w) < 1e-5
    np.testing.assert_allclose(mapped.vectors, v.vectors @ mapped.map, atol=1e-5)
    assert toy.accuracy(w) > 0.95
    assert (mapped.symbols, mapped.dictionaries) == (v.symbols, v.dictionaries)
    assert np.array_equal(mapped.counts, v.counts)
    assert mapped.settings["mapped"]["method"] == method[0]
    assert ((folder / "u").read_bytes(), (folder / "v").read_bytes()) == before
    judges = 60 if method == ["identical"] else 300
    printed = capsys.readouterr().out
    assert re.search(rf"^mapped +{judges} +\d+  1.000  1.000$", printed, re.M)
    assert re.search(rf"^unmapped +{judges} +\d+  0.8", printed, re.M)


def test_the_report_tells_of_every_seed_and_how_the_map_came_about(files):
    folder, *_ = files
    assert call(folder, "adversarial", *GAME, "--seeds", "3,5", "--refine", "2") == 0
    record, path = read_record(folder / "out.json"), folder / "out.json"
    found = read_outcome(path)
    refined = values(path, measure="refined")
    assert [row["seed"] for row in rows(path, measure="refined")] == record.seeds == [3, 5]
    assert found["criterion"] == max(refined) > found["chance"] > 0
    for task in ("training", "refinement"):
        steps = rows(path, task=task, measure="criterion", seed=found["best_seed"])
        assert [row["step"] for row in steps] == [1, 2]
    assert (found["failed"], found["failed_seeds"], found["failure"]) == (False, [], None)
    assert record.facts["settings"]["beta"] == 0.001
    assert record.facts["settings"]["normalize"] == "centre,scale"
    mapped, unmapped = ({"row": row, "best": 1} for row in ("mapped", "unmapped"))
    assert [value(path, measure="words", **one) for one in (mapped, unmapped)] == [300, 300]
    assert value(path, measure="P@1", **mapped) > 0.9 > value(path, measure="P@1", **unmapped)
    assert found["criterion"] > found["criterion_unmapped"]
    assert set(record.provenance["inputs"]) == {"vectors", "source vectors"}


def test_a_killed_run_goes_on_with_the_next_seed_and_ends_the_same(files, monkeypatch):
    folder, *_ = files
    command = ["adversarial", *GAME, "--seeds", "1,2,3"]
    assert call(folder, *command, output="whole") == 0
    fitted, fit = [], Adversarial.fit

    def until_third(self, moving, fixed, args, around):
        fitted.append(around.seed)
        if fitted == [1, 2, 3]:
            raise KeyboardInterrupt
        return fit(self, moving, fixed, args, around)

    monkeypatch.setattr(Adversarial, "fit", until_third)
    assert call(folder, *command) == 130
    assert not (folder / "out").exists()
    assert call(folder, *command) == 0
    assert fitted == [1, 2, 3, 3]
    assert (folder / "out").read_bytes() == (folder / "whole").read_bytes()
    ours, theirs = read_json(folder / "out.json"), read_json(folder / "whole.json")
    for changing in ("provenance", "seconds"):
        ours.pop(changing), theirs.pop(changing)
    assert ours == theirs
    assert not (folder / "out.work").exists()


def test_other_options_do_not_take_over_what_was_kept(files, monkeypatch):
    folder, *_ = files
    fit = Adversarial.fit
    monkeypatch.setattr(Adversarial, "fit", _raise)
    assert call(folder, "adversarial", *GAME, "--seeds", "1") == 130
    monkeypatch.setattr(Adversarial, "fit", fit)
    assert call(folder, "adversarial", *GAME, "--seeds", "1", "--chance", "1") == 0
    assert call(folder, "adversarial", *GAME, "--seeds", "1", "--chance", "1", output="new") == 0
    assert (folder / "out").read_bytes() == (folder / "new").read_bytes()


def _raise(*_):
    raise KeyboardInterrupt


def test_failed_seeds_are_reported_and_nothing_is_written_unless_asked(files, capsys, monkeypatch):
    folder, *_ = files
    monkeypatch.setattr(search.Search, "chance", lambda self: 1.5)
    assert call(folder, "adversarial", *GAME, "--seeds", "1,2") == 1
    line = error(capsys)
    assert line.startswith(f"{folder}/out: not written, as every seed failed (its criterion, 0.")
    assert line.endswith(
        "is not above the 1.5000 that refined random rotations reach); see "
        f"{folder}/out.json, or write the best map anyway: --keep-failed"
    )
    assert not (folder / "out").exists()
    found = read_outcome(folder / "out.json")
    assert (found["failed"], found["failed_seeds"]) == (True, [1, 2])
    assert call(folder, "adversarial", *GAME, "--seeds", "1,2", "--keep-failed") == 0
    assert "every seed failed" in capsys.readouterr().out
    assert read_vectors(folder / "out").map is not None


def test_moments_give_the_mapped_words_the_place_and_size_of_the_source(files):
    *_, u, v = files
    w = random_rotation(20, 1)
    mapped = apply_map(v, u, w, "moments").astype(np.float64)
    known, theirs = mapped[6:], u.vectors.astype(np.float64)
    np.testing.assert_allclose(known.mean(0), theirs.mean(0), atol=1e-5)
    spread = [((x - x.mean(0)) ** 2).sum(1).mean() for x in (known, theirs)]
    assert spread[0] == pytest.approx(spread[1], rel=1e-5)
    # A similarity: angles between words, seen from their mean, are those of the plain product.
    plain = apply_map(v, u, w)[6:].astype(np.float64)
    first, second = (x - x.mean(0) for x in (known, plain))
    ratio = np.linalg.norm(first) / np.linalg.norm(second)
    np.testing.assert_allclose(first, ratio * second, atol=1e-4)


def test_the_identical_words_can_be_required_to_be_long(files, capsys):
    folder, *_, v = files
    assert call(folder, "identical", "--min-letters", "4", "--chance", "1") == 0
    shared = [symbol for symbol in v.symbols if symbol.startswith("▁w")]
    used = [s for i, s in enumerate(shared) if i % 5 != 4 and len(s) - 1 >= 4]  # w100 and above
    assert 0 < len(used) < 240
    assert values(folder / "out.json", task="training") == [len(used)]
    assert call(folder, "identical", "--min-letters", "9") == 1
    assert error(capsys) == "the two vocabularies share no words that occur in both texts"


@pytest.mark.parametrize(
    ("method", "options", "message"),
    [
        ("identical", ["--match", "moment"], "unknown value of `--match` 'moment'; did you mean"),
        ("identical", ["--device", "tpu9"], "`--device` must be cpu, cuda or cuda:N, got "),
        ("identical", ["--normalize", "unit,center"], "`--normalize`: unknown normalisation '"),
        ("identical", ["--seeds", "1,x"], "`--seeds` must be whole numbers, got '1,x'"),
    ],
)
def test_options_that_make_no_sense_are_refused(files, capsys, method, options, message):
    assert call(files[0], method, *options) == 1
    assert error(capsys).startswith(message)


def test_files_that_do_not_fit_are_refused(files, capsys):
    folder, _, u, v = files
    write_vectors(folder / "v", Vectors(v.vectors[:, :7].copy(), v.counts))
    assert call(folder, "identical") == 1
    assert error(capsys) == f"{folder}/v and {folder}/u: must have equal width, got 7 and 20"
    write_vectors(folder / "v", Vectors(v.vectors, v.counts))
    assert call(folder, "identical") == 1
    assert error(capsys) == "`--vectors` has no symbols, so no word is known to be shared"
    write_vectors(folder / "u", Vectors(u.vectors, 0 * u.counts, u.symbols))
    assert call(folder, "identical") == 1
    assert error(capsys) == (
        f"{folder}/u: has no counts (all are 0), so no word is known to be frequent"
    )
