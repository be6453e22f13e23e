from types import SimpleNamespace

import pytest
import torch

from fairseq_xling.errors import UserError
from fairseq_xling.models.encoder import EncoderShape, SeparableEncoder
from fairseq_xling.models.sharing import SharingPlan
from fairseq_xling.transfer.study.shifted import ALPHAS, shifting


@pytest.fixture(params=["", "1"])
def model(request):
    """An encoder whose first layer is shared, or each language's own."""
    torch.manual_seed(1)
    shape = EncoderShape(2, 16, 32, 4, 12, dropout=0.0, attention_dropout=0.0, init_std=0.3)
    plan = SharingPlan.parse(request.param, 2)
    return SimpleNamespace(encoder=SeparableEncoder(shape, {"en": 30, "de": 30}, plan).eval())


def states(model, lang):
    tokens = torch.tensor([[3, 7, 9, 4]])
    src = {"tokens": tokens, "positions": torch.arange(4)[None], "langs": torch.zeros_like(tokens)}
    return model.encoder.states(src, (lang, lang))


@pytest.mark.parametrize("lang", ["en", "de"])
def test_no_shift_changes_no_bit_and_a_shift_moves_its_layer_by_the_vector(model, lang):
    before, vector = states(model, lang), torch.linspace(-1, 1, 16)
    with shifting(model, 1, 0.0 * vector):
        assert torch.equal(states(model, lang)[-1], before[-1])
    with shifting(model, 1, 0.5 * vector):
        moved = states(model, lang)
    torch.testing.assert_close(moved[1] - before[1], (0.5 * vector).expand(1, 4, 16))
    assert torch.equal(moved[0], before[0]) and not torch.allclose(moved[-1], before[-1])
    assert torch.equal(states(model, lang)[-1], before[-1])  # it ends with the block


def test_a_planted_offset_is_taken_back(model):
    before, offset = states(model, "de")[-1], torch.linspace(3, -2, 16)
    with shifting(model, 1, offset), shifting(model, 1, -1.0 * offset):
        torch.testing.assert_close(states(model, "de")[-1], before)


@pytest.mark.parametrize("layer", [0, 3])
def test_a_layer_that_is_not_there_is_refused(model, layer):
    message = rf"`--shift-layer` must lie in \[1, 2\], got {layer}"
    with pytest.raises(UserError, match=message), shifting(model, layer, torch.zeros(16)):
        pass


def test_the_papers_range_of_alpha_is_tried():
    assert ALPHAS == (0.2, 0.4, 0.6, 0.8, 1.0, 1.2, 1.4, 1.6, 1.8, 2.0)
