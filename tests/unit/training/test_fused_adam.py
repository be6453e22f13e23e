"""All parameters in one kernel, against fairseq's Adam tensor by tensor."""

import copy

import pytest
import torch
from fairseq import utils
from fairseq.optim import OPTIMIZER_REGISTRY, fp16_optimizer
from fairseq.optim.adam import Adam, FairseqAdam, FairseqAdamConfig
from torch import nn

import fairseq_xling.plugin  # noqa: F401  it registers ours
from fairseq_xling.core.errors import UserError
from fairseq_xling.training.fused_adam import _OURS, _THEIRS, FusedAdam, total_norm

# An epsilon that matters next to the gradients of `_gradient`.
SETTINGS = {"lr": 0.01, "betas": (0.9, 0.98), "eps": 1e-3, "weight_decay": 0.1}
SIZES = ((3, 4), (5,), (1,))


def _parameters(dtype=torch.float32):
    generator = torch.Generator().manual_seed(1)
    return [nn.Parameter(torch.randn(n, generator=generator).to(dtype)) for n in SIZES]


def _train(optimizer, parameters, steps):
    for step in steps:
        generator = torch.Generator().manual_seed(step)
        for number, parameter in enumerate(parameters):
            gradient = torch.randn(parameter.shape, generator=generator) * 10.0 ** -(step % 4)
            # The last one, of a language that is absent, has none in every third step.
            absent = number == 2 and step % 3 == 0
            parameter.grad = None if absent else gradient.to(parameter.dtype)
        optimizer.step()


def _assert_equal(ours, theirs, rtol=1e-5):
    for one, other in zip(ours, theirs, strict=True):
        torch.testing.assert_close(one.detach(), other.detach(), rtol=rtol, atol=1e-6)


@pytest.mark.parametrize(
    "dtype, rtol", [(torch.float32, 1e-5), (torch.bfloat16, 8e-3), (torch.float16, 1e-3)]
)
def test_fused_updates_are_those_of_fairseqs_adam(dtype, rtol):
    ours, theirs = _parameters(dtype), _parameters(dtype)
    fused, adam = FusedAdam(ours, **SETTINGS), Adam(theirs, **SETTINGS)
    _train(fused, ours, range(1, 30))
    _train(adam, theirs, range(1, 30))
    _assert_equal(ours, theirs, rtol)
    for one, other in zip(ours, theirs, strict=True):
        kept, expected = fused.state[one], adam.state[other]
        assert list(kept) == list(expected)
        assert kept["step"] == expected["step"]
        for name in ("exp_avg", "exp_avg_sq"):
            assert kept[name].dtype == torch.float32
            torch.testing.assert_close(kept[name], expected[name], rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("classes", [(Adam, FusedAdam), (FusedAdam, Adam)])
def test_training_resumes_from_the_other_optimizers_state(classes):
    first, second = classes
    straight = _parameters()
    _train(Adam(straight, **SETTINGS), straight, range(1, 11))

    parameters = _parameters()
    before = first(parameters, **SETTINGS)
    _train(before, parameters, range(1, 6))
    after = second(parameters, **SETTINGS)
    state = copy.deepcopy(before.state_dict())
    after.load_state_dict(state)
    assert after.state_dict()["param_groups"] == state["param_groups"]
    _train(after, parameters, range(6, 11))
    _assert_equal(parameters, straight)


def test_parameters_without_a_gradient_stay_where_they_are():
    parameters = _parameters()
    optimizer = FusedAdam(parameters, **SETTINGS)
    _train(optimizer, parameters, [1])
    before, state = parameters[2].clone(), copy.deepcopy(optimizer.state[parameters[2]])
    _train(optimizer, parameters, [3])
    assert torch.equal(parameters[2], before)
    kept = optimizer.state[parameters[2]]
    assert kept["step"] == state["step"] == 1
    assert torch.equal(kept["exp_avg"], state["exp_avg"])


def test_half_precision_is_updated_a_few_tensors_at_once(monkeypatch):
    monkeypatch.setattr("fairseq_xling.training.fused_adam._NUMBERS_AT_ONCE", 4)
    ours, theirs = _parameters(torch.bfloat16), _parameters(torch.bfloat16)
    _train(FusedAdam(ours, **SETTINGS), ours, range(1, 5))
    _train(Adam(theirs, **SETTINGS), theirs, range(1, 5))
    _assert_equal(ours, theirs, 8e-3)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_the_norm_of_all_gradients_is_that_of_each(dtype):
    gradients = [p.detach() for p in _parameters(dtype)]
    parameters = _parameters(dtype)
    for parameter, gradient in zip(parameters, gradients, strict=True):
        parameter.grad = gradient
    expected = utils.clip_grad_norm_(parameters, 0)
    torch.testing.assert_close(total_norm(gradients), expected)
    assert total_norm(gradients).dtype == torch.float32


def test_the_registered_optimizer_resumes_checkpoints_of_fairseqs():
    # A checkpoint names the class of its optimizer, and fairseq compares the names.
    assert OPTIMIZER_REGISTRY["fused_adam"].__name__ == FairseqAdam.__name__
    cfg = FairseqAdamConfig(lr=[0.5], adam_betas="(0.9, 0.98)", weight_decay=0.01)
    made = OPTIMIZER_REGISTRY["fused_adam"](cfg, _parameters())
    assert isinstance(made.optimizer, FusedAdam)
    (group,) = made.optimizer.param_groups
    assert (group["lr"], group["betas"], group["weight_decay"]) == (0.5, (0.9, 0.98), 0.01)
    assert made.supports_flat_params and made.supports_memory_efficient_fp16


def test_statistics_in_half_precision_are_refused():
    with pytest.raises(UserError, match="`--fp16-adam-stats` needs NVIDIA's apex"):
        FusedAdam(_parameters(), use_fp16_stats=True)


# ---- mixed precision


class _Mixed(fp16_optimizer._FP16OptimizerMixin):
    """fairseq's methods and nothing else, of weights in half precision."""

    has_flat_params = False

    def __init__(self):
        self.fp16_params = _parameters(torch.bfloat16)
        self.fp16_params[1].requires_grad = False
        self.fp32_params = [nn.Parameter(p.detach().float()) for p in self.fp16_params]
        self.scaler, self._needs_sync = None, False


def _numbers(optimizer):
    every = [*optimizer.fp16_params, *optimizer.fp32_params]
    return [*every, *(torch.tensor([]) if p.grad is None else p.grad for p in every)]


def test_copies_between_precisions_are_those_of_fairseq():
    ours, theirs = _Mixed(), _Mixed()
    steps = {ours: list(_OURS.values()), theirs: list(_THEIRS.values())}
    for update in range(3):
        for optimizer, (gradients, _, _) in steps.items():
            generator = torch.Generator().manual_seed(update)
            for number, half in enumerate(optimizer.fp16_params):
                drawn = torch.randn(half.shape, generator=generator).bfloat16()
                if number != 1 and (number, update) != (2, 1):  # one is absent from a step
                    half.grad = drawn
            optimizer._needs_sync = True
            gradients(optimizer)
        assert not ours._needs_sync
        _same(ours, theirs)
        for optimizer, (_, weights, forget) in steps.items():
            for weight in optimizer.fp32_params:
                if weight.grad is not None:
                    weight.data -= 0.1 * weight.grad
            weights(optimizer)
            forget(optimizer)
        _same(ours, theirs)
    assert ours.fp32_params[0].grad.count_nonzero() == 0 and ours.fp16_params[0].grad is None


def _same(ours, theirs):
    for one, other in zip(_numbers(ours), _numbers(theirs), strict=True):
        assert torch.equal(one, other)
