import pytest

from fairseq_xling.analysis.shift_grid import (
    NO_SHIFT,
    Shift,
    best_shift,
    parse_alphas,
    parse_shift,
)
from fairseq_xling.core.errors import UserError


@pytest.mark.parametrize("text", ["", "1,x", "1,1", "0,1", "nan", "1,inf", "1,,2"])
def test_alphas_are_different_finite_and_not_zero(text):
    with pytest.raises(UserError, match="`--alphas` must be"):
        parse_alphas(text)


@pytest.mark.parametrize("text", ["11", "0,1", "13,1", "x,1", "11,0", "11,x", "", "1,1,2", "²,1"])
def test_a_fixed_cell_is_a_layer_and_an_alpha(text):
    with pytest.raises(UserError, match="`--fixed` must be LAYER,ALPHA"):
        parse_shift(text, 12)


def scores(**values):
    return {"precision": 0.0, "convert_rate": None, **values}


def test_the_best_cell_is_chosen_by_precision_then_by_the_smallest_change():
    found = {NO_SHIFT: scores(precision=50.0), Shift(2, 3.0): scores(precision=20.0)}
    assert best_shift(found) == Shift(2, 3.0)
    found |= {Shift(3, -1.0): scores(precision=20.0), Shift(1, 1.0): scores(precision=20.0)}
    assert best_shift(found) == Shift(1, 1.0)
    found[Shift(4, 2.0)] = scores(precision=21.0)
    assert best_shift(found) == Shift(4, 2.0)
