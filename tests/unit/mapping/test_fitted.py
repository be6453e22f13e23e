import json

import pytest
import torch
from safetensors.torch import save_file

from fairseq_xling.core.errors import UserError
from fairseq_xling.mapping.fitted import FittedMap, LayerMap, Side, read_map, write_map
from fairseq_xling.mapping.normalize import normalize
from fairseq_xling.mapping.steps import Step, fit_steps
from tests.random_tensors import doubles as normal


def side(rows, steps, matrix=None):
    return Side(rows.shape[1], fit_steps(lambda: [rows], steps), matrix)


@pytest.fixture
def fitted():
    """Layer 3 has steps of all kinds, and layer 0 goes from 4 dimensions to 5."""
    x, y = 2 + normal(20, 4), normal(20, 4, seed=2) - 1
    return FittedMap(
        {
            0: LayerMap(Side(4, (), normal(4, 5)), Side(5)),
            3: LayerMap(side(x, "iterative,scale", normal(4, 4)), side(y, "centre"), {"pairs": 20}),
        },
        method="procrustes",
        settings={"pairs": "rows", "words": ["ä"]},
    )


def test_what_was_written_is_read_again_bit_for_bit(fitted, tmp_path):
    write_map(tmp_path / "map", fitted)
    found = read_map(tmp_path / "map")
    assert (found.method, found.settings) == (fitted.method, fitted.settings)
    assert list(found.layers) == [0, 3] and found.layers[3].fit == {"pairs": 20}
    x = normal(7, 4, seed=3)
    for layer in (0, 3):
        assert torch.equal(found.apply(x, layer), fitted.apply(x, layer))
    assert torch.equal(found.fixed(x, 3), fitted.fixed(x, 3))
    assert torch.equal(found.carry(x, 3), fitted.carry(x, 3))
    write_map(tmp_path / "again", found)
    assert (tmp_path / "again").read_bytes() == (tmp_path / "map").read_bytes()


def test_carried_rows_are_states_of_the_fixed_encoder():
    y, w = 5 + normal(20, 4), torch.linalg.qr(normal(4, 4, seed=3)).Q
    x = (y - 5) @ w.T - 7  # the encoder turned, and moved elsewhere
    one = FittedMap({1: LayerMap(side(x, "centre", w), side(y, "centre"))})
    torch.testing.assert_close(one.carry(x, 1), y)
    both = FittedMap({1: LayerMap(side(x, "none", w), side(y, "none", w))}, method="meeting")
    with pytest.raises(UserError, match="a map by 'meeting' moves both sides"):
        both.carry(x, 1)


def test_carried_rows_get_their_own_lengths_back_where_normalisation_made_them_equal():
    y, w = normal(20, 4) * torch.arange(1, 21)[:, None], torch.linalg.qr(normal(4, 4, seed=3)).Q
    x = y @ w.T
    one = FittedMap({1: LayerMap(side(x, "iterative", w), side(y, "iterative"))})
    torch.testing.assert_close(one.apply(x, 1), normalize(y, "iterative"))  # Section 5.1, on rows
    torch.testing.assert_close(one.carry(x, 1), y)
    torch.testing.assert_close(one.carry(x.float(), 1), y.float(), atol=1e-4, rtol=1e-4)
    torch.testing.assert_close(one.carry(x[4:5], 1), y[4:5])  # its company does not matter


def test_sides_that_are_normalised_differently_lead_nowhere_back():
    x = normal(20, 4)
    one = FittedMap({1: LayerMap(side(x, "centre"), side(x, "iterative"))})
    with pytest.raises(
        UserError, match=r"must be normalised by the same steps .* got \['centre'\] and"
    ):
        one.carry(x, 1)


def test_blank_rows_stay_zero_and_half_precision_is_computed_in_full(fitted):
    x = torch.cat([normal(2, 4), torch.zeros(1, 4)])
    assert not fitted.apply(x, 3)[2].any() and fitted.apply(x, 3)[:2].all()
    half = fitted.apply(x.half(), 3)
    assert half.dtype == torch.float32
    torch.testing.assert_close(half, fitted.apply(x.half().float(), 3))
    assert fitted.apply(x, 3).dtype == torch.float64


def test_layers_and_widths_that_the_map_has_not_are_refused(fitted):
    with pytest.raises(UserError, match=r"must be one that the map has \(0, 3\), got 2"):
        fitted.apply(normal(2, 4), 2)
    with pytest.raises(UserError, match=r"must be rows 4 wide, got \(2, 5\)"):
        fitted.apply(normal(2, 5), 0)
    with pytest.raises(UserError, match=r"must be rows 5 wide, got \(5,\)"):
        fitted.fixed(normal(5), 0)


def test_files_that_are_no_maps_are_told_in_one_line(fitted, tmp_path):
    path = tmp_path / "map"
    save_file({"x": torch.zeros(1)}, path)
    with pytest.raises(UserError, match="map: not a map"):
        read_map(path)
    square, centre = torch.eye(4), Step("centre", torch.zeros(3))
    for moving in (
        Side(5, (), square),  # a matrix for other vectors than the description says
        Side(4, (), torch.zeros(4)),
        Side(4, (centre,), square),
        Side(4, (Step("scale", torch.ones(4)),), square),
        Side(4, (), torch.zeros(4, 3)),  # into another space than the fixed side's
    ):
        write_map(path, FittedMap({0: LayerMap(moving, Side(4))}))
        with pytest.raises(UserError, match="map: its description is damaged"):
            read_map(path)
    for about in ({"layers": []}, {"settings": {"moving": 1}}, {"settings": 1}):
        about = {"format": 1, "layers": {}, "method": "", "settings": {}, **about}
        save_file({"x": torch.zeros(1)}, path, {"fairseq_xling.map": json.dumps(about)})
        with pytest.raises(UserError, match="map: its description is damaged"):
            read_map(path)
    damaged = FittedMap({0: LayerMap(Side(1, (), torch.tensor([[float("nan")]])), Side(1))})
    write_map(path, damaged)
    with pytest.raises(UserError, match=r"contains a value that is not finite \(layer00.moving"):
        read_map(path)
