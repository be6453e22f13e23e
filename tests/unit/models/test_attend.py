"""Each way that attention may take on a CPU against the formula, written out."""

from types import SimpleNamespace

import pytest
import torch

from fairseq_xling.models import layer
from fairseq_xling.models.layer import attend


def attention_by_formula(query, key, value, mask):
    scores = torch.einsum("bhqd,bhkd->bhqk", query, key) / query.shape[-1] ** 0.5
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    return torch.einsum("bhqk,bhkd->bhqd", scores.softmax(-1), value)


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("length", [5, 300])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_attention_and_its_gradients_follow_the_formula(dtype, length, masked):
    torch.manual_seed(0)
    inputs = torch.randn(3, 2, 4, length, 8).to(dtype)
    mask = None
    if masked:
        mask = torch.ones(2, 1, 1, length, dtype=torch.bool)
        mask[0, ..., -2:] = False
    ours, formula = inputs.clone().requires_grad_(), inputs.float().requires_grad_()
    found = attend(*ours, mask, 0.0)
    expected = attention_by_formula(*formula, mask)
    found.float().square().sum().backward()
    expected.square().sum().backward()
    near = {"atol": 1e-4, "rtol": 1e-3} if dtype == torch.float32 else {"atol": 0.1, "rtol": 0.05}
    torch.testing.assert_close(found.float(), expected, **near)
    torch.testing.assert_close(ours.grad.float(), formula.grad, **near)


def test_with_dropout_the_weights_stay_right_on_average():
    torch.manual_seed(0)
    query, key = torch.randn(2, 1, 2, 6, 8)
    value = torch.eye(6).expand(1, 2, 6, 6)  # so that the result is the weights themselves
    weights = attention_by_formula(query, key, value, None)
    draws = torch.stack([attend(query, key, value, None, 0.2) for _ in range(4000)])
    assert (draws == 0).double().mean().item() == pytest.approx(0.2, abs=0.01)
    torch.testing.assert_close(draws.mean(0), weights, atol=0.02, rtol=0)


def test_a_masked_key_has_no_weight_with_dropout_either():
    mask = torch.tensor([True, True, False, True]).view(1, 1, 1, 4)
    value = torch.eye(4).expand(1, 1, 4, 4)
    weights = attend(torch.randn(1, 1, 4, 4), torch.randn(1, 1, 4, 4), value, mask, 0.1)
    assert weights[..., 2].eq(0).all()
    assert weights.isfinite().all()


def test_on_a_gpu_attention_is_not_cudnns_and_elsewhere_nothing_is_chosen(monkeypatch):
    asked = torch.backends.cuda.cudnn_sdp_enabled
    before, seen = asked(), []
    kernel = lambda *args, **kwargs: seen.append(asked())  # noqa: E731
    monkeypatch.setattr(torch.nn.functional, "scaled_dot_product_attention", kernel)
    attend(SimpleNamespace(device=torch.device("cuda")), None, None, None, 0.0)
    assert seen == [False] and asked() == before
    monkeypatch.setattr(layer, "sdpa_kernel", lambda *_: pytest.fail("takes time on a CPU"))
    attend(torch.ones(1, 1, 2, 8), None, None, None, 0.0)
    assert seen == [False, before]
