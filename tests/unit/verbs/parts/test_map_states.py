"""`fairseq-xling map procrustes` and its like as a user types them."""

import subprocess
import sys

import numpy as np
import pytest
import torch

from fairseq_xling.cli import main
from fairseq_xling.core.files import read_json
from fairseq_xling.mapping.fit import fit_rows
from fairseq_xling.mapping.fitted import read_map
from fairseq_xling.reports.record import read_record
from fairseq_xling.verbs.parts import map_states as paired_job
from tests.records import value


def rotation(width, seed=3):
    return np.linalg.qr(np.random.default_rng(seed).normal(size=(width, width)))[0]


@pytest.fixture
def turned():
    """``turned(rows)``: states, and the same rotated, moved by an offset, with a little noise."""

    def make(count=80, width=6, offset=2.0):
        rng = np.random.default_rng(1)
        y = rng.normal(size=(count, width)) * np.arange(1, width + 1) + 1
        x = y @ rotation(width).T - offset
        return x + 0.01 * rng.normal(size=x.shape), y

    return make


@pytest.fixture
def folders(write_states, turned):
    x, y = turned()
    return write_states("de", {0: x, 2: x[:, ::-1]}), write_states("en", {0: y, 2: y})


def call(method, moving, fixed, output, *more, pairs=("--pairs", "rows")):
    return main(["map", method, str(moving), str(fixed), *pairs, "--output", str(output), *more])


def fails(capsys, *arguments, **keywords):
    assert call(*arguments, **keywords) == 1
    lines = capsys.readouterr().err.strip().splitlines()
    assert lines[-1].startswith("fairseq-xling: error: ")
    return lines[-1]


@pytest.mark.parametrize("method", ["procrustes", "unconstrained", "meeting"])
@pytest.mark.parametrize("normalize", ["iterative", "centre-first", "none"])
def test_each_layer_gets_the_map_of_its_rows(folders, tmp_path, capsys, method, normalize):
    output = tmp_path / "map.safetensors"
    assert call(method, *folders, output, "--normalize", normalize) == 0
    found = read_map(output)
    assert list(found.layers) == [0, 2] and found.method == method
    for layer in (0, 2):
        x, y = (torch.from_numpy(np.load(f / f"layer{layer:02d}.npy")).double() for f in folders)
        expected = fit_rows(x, y, method, normalize)
        torch.testing.assert_close(found.apply(x, layer), expected.moving(x))
        torch.testing.assert_close(found.fixed(y, layer), expected.fixed(y))
        assert found.layers[layer].fit == pytest.approx(expected.fit)
    printed = capsys.readouterr().out
    assert f"Map by {method}, de (sentences) to en (sentences)" in printed
    assert "layer  pairs  blank  cosine unmapped  cosine" in printed
    assert f"both sides by {normalize}, without and with" in printed
    record = read_record(f"{output}.json")
    assert set(record.provenance["inputs"]) == {"moving", "fixed"}
    assert record.facts["settings"]["layers"] == [0, 2] and record.lead == []
    for layer in (0, 2):
        fit = found.layers[layer].fit["cosine_unmapped"]
        assert value(f"{output}.json", layer=layer, measure="cosine unmapped") == fit
    assert not (tmp_path / "map.safetensors.work").exists()


@pytest.mark.parametrize(("normalize", "offset"), [("centre", 3.0), ("iterative", 0.0)])
def test_tokens_are_mapped_by_alignments_so_that_plain_states_come_out(
    turned, write_states, tmp_path, normalize, offset
):
    x, y = turned(offset=offset)
    arrays = {"places": [*range(40)] * 2, "words": [*range(40)] * 2}
    arrays |= {"sentences": [40, 40], "lengths": [(40, 40)] * 2}
    de = write_states("de", {3: x}, unit="tokens", **arrays)
    back = np.concatenate([y[:40][::-1], y[40:][::-1]])
    en = write_states("en", {3: back}, unit="tokens", **arrays)
    links = " ".join(f"{i}-{39 - i}" for i in range(40))
    (tmp_path / "links").write_text(f"{links}\n{links}\n")
    pairs = ("--alignments", str(tmp_path / "links"))
    options = ("--layer", "3", "--normalize", normalize)
    assert call("contextual", de, en, tmp_path / "map", *options, pairs=pairs) == 0
    found = read_map(tmp_path / "map")
    carried = found.carry(torch.from_numpy(x), 3)
    np.testing.assert_allclose(carried, y, atol=0.1)
    np.testing.assert_allclose(found.layers[3].moving.matrix, rotation(6), atol=0.01)


def test_a_killed_run_goes_on_with_the_next_layer_and_ends_the_same(folders, tmp_path, monkeypatch):
    assert call("procrustes", *folders, tmp_path / "whole") == 0
    fitted, fit = [], paired_job.fit_layer

    def until_second(*args):
        fitted.append(1)
        if len(fitted) == 2:
            raise KeyboardInterrupt
        return fit(*args)

    monkeypatch.setattr(paired_job, "fit_layer", until_second)
    assert call("procrustes", *folders, tmp_path / "cut") == 130
    assert not (tmp_path / "cut").exists()
    assert call("procrustes", *folders, tmp_path / "cut") == 0
    assert len(fitted) == 3
    assert (tmp_path / "cut").read_bytes() == (tmp_path / "whole").read_bytes()
    ours, theirs = (read_json(tmp_path / f"{name}.json") for name in ("cut", "whole"))
    for changing in ("provenance", "seconds"):
        ours.pop(changing), theirs.pop(changing)
    assert ours == theirs


def test_what_was_kept_is_not_taken_for_another_map(folders, tmp_path, monkeypatch):
    fit, states = paired_job.fit_layer, folders[0] / "layer00.npy"

    def only_first(*args):
        monkeypatch.setattr(paired_job, "fit_layer", _stop)
        return fit(*args)

    def turn_states_round():
        np.save(states, np.load(states)[::-1])
        return []

    for change in (lambda: ["--normalize", "none"], turn_states_round):
        monkeypatch.setattr(paired_job, "fit_layer", only_first)
        assert call("procrustes", *folders, tmp_path / "map") == 130
        more = change()
        monkeypatch.setattr(paired_job, "fit_layer", fit)
        for name in ("map", "new"):
            assert call("procrustes", *folders, tmp_path / name, *more) == 0
        assert (tmp_path / "map").read_bytes() == (tmp_path / "new").read_bytes()


def _stop(*_):
    raise KeyboardInterrupt


def test_fewer_pairs_than_dimensions_are_warned_of(turned, write_states, tmp_path, capsys):
    x, y = turned(count=5)
    folders = (write_states(n, {0: z}) for n, z in (("a", x), ("b", y)))
    assert call("procrustes", *folders, tmp_path / "m") == 0
    err = capsys.readouterr().err
    assert "fairseq-xling: warning: 5 pairs for 6 dimensions: the map fits the directions" in err
    assert read_record(tmp_path / "m.json").lead


def test_mistakes_are_one_line_and_nothing_is_written(
    folders, write_states, turned, tmp_path, capsys
):
    x, y = turned()
    de, en = folders
    narrow = write_states("narrow", {0: y[:, :4]})
    bad = y.copy()
    bad[7, 1] = np.inf
    holes = write_states("holes", {0: bad, 2: x})
    high = write_states("high", {7: y})
    before = {path.name for path in tmp_path.iterdir()}
    out = tmp_path / "out"
    for arguments, message in (
        ((de, narrow, out), "needs states of one width, got 6 in"),
        ((de, narrow, out), "(`map unconstrained` does not)"),
        ((de, high, out), "layers differ, 0,2 and 7; name those to compare"),
        ((de, en, out, "--layers", "0,1"), "has layers 0,2, not 1"),
        ((de, en, out, "--normalize", "unti"), "unknown normalisation 'unti'; did you mean"),
        ((de, en, tmp_path), "is a folder, not a file"),
    ):
        assert message in fails(capsys, "procrustes", *arguments)
    for pairs, message in (
        (("--pairs", "row"), "unknown kind of `--pairs` 'row'; did you mean 'rows'"),
        (("--pairs", "rows", "x"), "`--pairs rows` expects no file, got x"),
        (("--pairs", "dictionary"), "`--pairs dictionary` expects a file, got none"),
    ):
        assert message in fails(capsys, "procrustes", de, en, out, pairs=pairs)
    assert {path.name for path in tmp_path.iterdir()} == before
    line = fails(capsys, "procrustes", holes, en, out, "--layers", "0")
    assert "layer 0: " in line and "layer00.npy: must be finite, got NaN or infi" in line
    assert {path.name for path in tmp_path.iterdir()} == before
    assert call("procrustes", holes, en, out, "--layers", "2") == 0
    assert call("unconstrained", de, narrow, out, "--layers", "0") == 0
    assert read_map(out).apply(torch.from_numpy(x), 0).shape == (80, 4)


def test_maps_never_import_the_engine():
    code = "import sys, fairseq_xling.verbs.parts.map_states; sys.exit('fairseq' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0
