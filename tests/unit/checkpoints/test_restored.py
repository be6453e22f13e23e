import pytest
import torch

from fairseq_xling.checkpoints import check_optimizer, check_restored
from fairseq_xling.core.errors import UserError


def state(**values):
    return {"last_optimizer_state": {"state": {0: {"step": 1, **values}}, "param_groups": []}}


def test_moments_that_are_not_numbers_are_named():
    check_optimizer(state(exp_avg=torch.ones(2)), "x.pt")
    check_optimizer({"last_optimizer_state": None}, "x.pt")
    place = r"x\.pt: `last_optimizer_state\.state\.0"
    with pytest.raises(UserError, match=rf"{place}\.exp_avg` must be finite"):
        check_optimizer(state(exp_avg=torch.tensor([1.0, float("nan")])), "x.pt")
    with pytest.raises(UserError, match=rf"{place}\.step` must be a number, got 'x'"):
        check_optimizer(state(step="x"), "x.pt")
    with pytest.raises(UserError, match=rf"{place}` must be a mapping, got 5"):
        check_optimizer({"last_optimizer_state": {"state": {0: 5}}}, "x.pt")


@pytest.mark.parametrize("name", ["Adam", "SGD", "Adagrad"])
def test_moments_of_another_shape_than_their_weight_are_refused(name):
    from types import SimpleNamespace

    weight = torch.nn.Parameter(torch.ones(3, 2))
    options = {"momentum": 0.9} if name == "SGD" else {}
    optimizer = getattr(torch.optim, name)([weight], lr=0.1, **options)
    weight.sum().backward()
    optimizer.step()
    ours = SimpleNamespace(optimizer=optimizer)
    check_restored(ours, "x.pt")
    kept = optimizer.state[weight]
    moment = next(key for key, value in kept.items() if torch.is_tensor(value) and value.dim())
    kept[moment] = torch.ones(2, 3)
    for wrapped in (ours, SimpleNamespace(fp32_optimizer=ours)):
        with pytest.raises(UserError, match=rf"`{moment}` must have the shape \(3, 2\) of its"):
            check_restored(wrapped, "x.pt")
