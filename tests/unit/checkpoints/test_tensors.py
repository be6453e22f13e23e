from types import SimpleNamespace

import pytest
import torch

from fairseq_xling.checkpoints import (
    check_kinds,
    check_optimizer,
    check_restored,
    check_tensors,
)
from fairseq_xling.checkpoints.tensors import is_finite
from fairseq_xling.core.errors import UserError


def refused(name, tensor):
    with pytest.raises(UserError) as error:
        check_tensors({"good.weight": torch.ones(2), name: tensor}, "x.pt")
    (line,) = str(error.value).splitlines()
    assert line.startswith(f"x.pt: `model.{name}` must ")
    return line.partition(" must ")[2]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.float16, torch.bfloat16])
@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf")])
def test_a_weight_that_is_not_finite_is_named(dtype, value):
    tensor = torch.ones(7, 9, dtype=dtype)
    check_tensors({"a": tensor}, "x.pt")
    tensor[3, 4] = value
    assert refused("a", tensor) == "be finite, got NaN or infinity"


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.float16, torch.bfloat16])
def test_large_finite_values_of_either_sign_are_finite(dtype):
    most = torch.finfo(dtype).max
    for values in ([most, most, most], [-most, -most], [most, -most], [0.0], []):
        assert is_finite(torch.tensor(values, dtype=dtype))
    assert not is_finite(torch.tensor([most, most, float("inf"), -float("inf")], dtype=dtype))


def test_finding_what_is_not_finite_agrees_with_asking_each_value():
    generator = torch.Generator().manual_seed(1)
    for seed in range(50):
        tensor = torch.randn(40, generator=generator) * 10.0 ** (seed % 39)
        if seed % 3:
            tensor[seed % 40] = [float("nan"), float("inf")][seed % 2]
        assert is_finite(tensor) == bool(tensor.isfinite().all())


@pytest.mark.parametrize("dtype", [torch.int64, torch.int8, torch.uint8, torch.bool])
def test_weights_and_biases_of_integers_are_refused_and_counters_are_not(dtype):
    kind = str(dtype).removeprefix("torch.")
    for name in ("layers.0.fc1.weight", "qkv.bias", "in_proj_weight"):
        tensor = torch.ones(2, 2).to(dtype)
        assert refused(name, tensor) == f"be of floating-point numbers, got {kind}"
    check_tensors({"transform.updates": torch.ones((), dtype=dtype)}, "x.pt")


@pytest.mark.parametrize(
    ("tensor", "rule"),
    [
        (torch.ones(2, device="meta"), "be an ordinary tensor, got a Tensor of float32"),
        (torch.eye(3).to_sparse(), "be an ordinary tensor, got a Tensor of float32"),
        (torch.quantize_per_tensor(torch.ones(2), 1.0, 0, torch.qint8), "be an ordinary tensor"),
        (torch.ones(2, dtype=torch.complex64), "be of float32, float64, float16 or bfloat16"),
        (torch.ones(2).to(torch.float8_e5m2), "be of float32, float64, float16 or bfloat16"),
        (torch.ones(1).expand(10**9, 512), "hold all its values, 2048000000000 bytes, got 4"),
    ],
)
def test_what_is_no_ordinary_tensor_is_refused_without_being_read(tensor, rule):
    assert refused("a", tensor).startswith(rule)


def test_a_name_longer_than_any_module_has_is_refused():
    check_tensors({"x" * 1000: torch.ones(1)}, "x.pt")
    message = r"x+\.\.\.` must be a name of at most 1000 characters, got 1,001"
    with pytest.raises(UserError, match=message):
        check_tensors({"x" * 1001: torch.ones(1)}, "x.pt")


def test_one_tensor_under_many_names_is_not_a_large_model():
    tensor = torch.ones(100)
    check_tensors({name: tensor for name in "abc"}, "x.pt")
    with pytest.raises(UserError, match="`model` must hold the values of its tensors, 4000 bytes"):
        check_tensors({str(number): tensor for number in range(10)}, "x.pt")


def test_integers_are_not_turned_into_the_numbers_of_a_model():
    class Both(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.habit = torch.nn.Parameter(torch.zeros(2))
            self.register_buffer("updates", torch.zeros((), dtype=torch.int64))

    good = {"habit": torch.ones(2, dtype=torch.float16), "updates": torch.tensor(3)}
    check_kinds(Both(), good)
    with pytest.raises(UserError, match=r"`model\.habit` must be of floating-.* got int64"):
        check_kinds(Both(), {**good, "habit": torch.ones(2).long()})
    with pytest.raises(UserError, match=r"`model\.updates` must be of integers, got float32"):
        check_kinds(Both(), {**good, "updates": torch.tensor(3.0)})


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
