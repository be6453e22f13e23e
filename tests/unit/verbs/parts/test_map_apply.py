import numpy as np
import pytest
import torch

from fairseq_xling.cli import main
from fairseq_xling.core.files import read_json
from fairseq_xling.mapping.fit import fit_rows
from fairseq_xling.mapping.fitted import FittedMap, LayerMap, Side, read_map, write_map
from fairseq_xling.verbs.parts import map_states as apply


@pytest.fixture
def rows():
    rows = np.random.default_rng(1).normal(size=(9, 4)).astype("float32")
    rows[3] = 0
    return rows


@pytest.fixture
def fitted(rows, tmp_path):
    """A map of layers 1 and 2 from German to English, in a file."""
    x = torch.from_numpy(rows).double()
    layers = {1: fit_rows(x, x.flip(1)), 2: fit_rows(x, -x, normalize="centre")}
    settings = {"moving": {"lang": "de"}, "fixed": {"lang": "en"}}
    path = tmp_path / "map"
    write_map(path, FittedMap(layers, "procrustes", settings))
    return path


def call(fitted, folder, output, *more):
    return main(["map", "apply", str(fitted), str(folder), "--output", str(output), *more])


@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_a_copy_has_mapped_layers_and_all_else(
    rows, fitted, write_states, tmp_path, monkeypatch, dtype, capsys
):
    monkeypatch.setattr(apply, "BLOCK", 2)
    folder = write_states(
        *("de", {0: rows, 2: rows}),
        **{"unit": "types", "vocabulary": [*map(str, range(9))], "dtype": dtype, "ids": range(9)},
    )
    assert call(fitted, folder, tmp_path / "out") == 0
    assert capsys.readouterr().out == f"{tmp_path / 'out'}: 9 rows, 4 wide, of layers 2\n"
    found = np.load(tmp_path / "out" / "layer02.npy")
    stored = torch.from_numpy(rows.astype(dtype))
    expected = read_map(fitted).apply(stored.double(), 2).numpy()
    np.testing.assert_array_equal(found, expected.astype(dtype))
    assert not found[3].any() and found.dtype == dtype
    names = {path.name for path in (tmp_path / "out").iterdir()}
    assert names == {"layer02.npy", "words.txt", "counts.npy", "ids.npy", "meta.json"}
    meta, before = (read_json(f / "meta.json") for f in (tmp_path / "out", folder))
    assert meta["settings"]["layers"] == [2] and meta["settings"]["mapped"]["side"] == "moving"
    assert (meta["rows"], meta["row"]) == (before["rows"], before["row"])
    assert set(meta["provenance"]["inputs"]) == {"map", "folder"}


def test_the_fixed_side_is_only_normalised_and_the_wrong_side_is_warned_of(
    rows, fitted, write_states, tmp_path, capsys
):
    folder = write_states("en", {1: rows})
    assert call(fitted, folder, tmp_path / "out", "--side", "fixed") == 0
    expected = read_map(fitted).fixed(torch.from_numpy(rows).double(), 1)
    np.testing.assert_allclose(np.load(tmp_path / "out" / "layer01.npy"), expected, rtol=1e-6)
    assert capsys.readouterr().err.count("warning") == 0
    assert call(fitted, folder, tmp_path / "other") == 0
    line = "is of 'en', the map's moving side of 'de' (`--side`)"
    assert line in capsys.readouterr().err


def test_a_killed_copy_goes_on_and_a_finished_one_is_kept(
    rows, fitted, write_states, tmp_path, monkeypatch
):
    folder = write_states("de", {1: rows, 2: rows})
    assert call(fitted, folder, tmp_path / "whole") == 0
    write, written = apply._write_layer, []

    def until_second(states, layer, *args):
        written.append(layer)
        if len(written) == 2:
            raise KeyboardInterrupt
        write(states, layer, *args)

    monkeypatch.setattr(apply, "_write_layer", until_second)
    assert call(fitted, folder, tmp_path / "cut") == 130
    assert not (tmp_path / "cut").exists()
    assert call(fitted, folder, tmp_path / "cut") == 0
    assert call(fitted, folder, tmp_path / "cut") == 0
    assert written == [1, 2, 2]
    for layer in ("layer01.npy", "layer02.npy"):
        ours, theirs = ((tmp_path / name / layer).read_bytes() for name in ("cut", "whole"))
        assert ours == theirs
    assert not list(tmp_path.glob(".*"))


def test_mistakes_are_one_line(rows, fitted, write_states, tmp_path, capsys):
    wide = write_states("wide", {1: np.ones((2, 5))})
    other = write_states("other", {7: rows})
    right = write_states("right", {1: rows})
    huge = tmp_path / "huge"
    write_map(huge, FittedMap({1: LayerMap(Side(4, (), torch.eye(4) * 1e9), Side(4))}))
    uneven = tmp_path / "uneven"
    wider = Side(4, (), torch.zeros(4, 5))
    layers = {0: LayerMap(Side(4), Side(4)), 1: LayerMap(wider, wider)}
    write_map(uneven, FittedMap(layers))
    both = write_states("both", {0: rows, 1: rows})
    shape = tmp_path / "shape"
    write_map(shape, FittedMap({1: LayerMap(Side(4, (), torch.zeros(5, 4)), Side(4))}))
    half = write_states("half", {1: rows}, dtype="float16")
    taken = tmp_path / "taken"
    taken.mkdir()
    (taken / "file").touch()
    out = tmp_path / "out"
    for arguments, message in (
        ((fitted, wide, out), "map: maps vectors 4 wide, got 5 in"),
        ((fitted, other, out), "have no layer in common"),
        ((fitted, right, taken), "must be new; it contains something else"),
        ((fitted, right, out, "--side", "left"), "unknown `--side` 'left'; "),
        ((uneven, both, out), "uneven: must map all layers to one width, got 4 and 5"),
        ((shape, right, out), "shape: its description is damaged; write the file again"),
        ((huge, half, out), "layer01.npy: mapped, its values are too large for float16"),
    ):
        assert call(*arguments) == 1
        lines = capsys.readouterr().err.strip().splitlines()
        assert message in lines[-1] and lines[-1].startswith("fairseq-xling: error:")
    assert not out.exists() and not list(tmp_path.glob(".*"))
