"""All parameters in one kernel, against fairseq's Adam tensor by tensor."""

import copy

import pytest
import torch
from fairseq import optim, utils
from fairseq.optim import OPTIMIZER_REGISTRY, fp16_optimizer
from fairseq.optim.adam import Adam, FairseqAdam, FairseqAdamConfig
from torch import nn

import fairseq_xling.plugin  # noqa: F401  it registers ours
from fairseq_xling.core.errors import UserError
from fairseq_xling.engine import fused_adam, patches
from fairseq_xling.engine.fused_adam import FP16Optimizer, FusedAdam, clip, total_norm

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


def test_half_precision_is_updated_a_few_tensors_at_once(monkeypatch):
    monkeypatch.setattr("fairseq_xling.engine.fused_adam._NUMBERS_AT_ONCE", 4)
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


@pytest.mark.parametrize("max_norm", [0, 0.5, 100])
def test_gradients_are_clipped_as_by_fairseq(max_norm):
    ours, theirs = ([p.detach() for p in _parameters()] for _ in range(2))
    parameters = _parameters()
    for parameter, gradient in zip(parameters, theirs, strict=True):
        parameter.grad = gradient
    doubled = lambda norm: 2 * norm  # noqa: E731
    expected = utils.clip_grad_norm_(parameters, max_norm, doubled)
    torch.testing.assert_close(clip(ours, max_norm, doubled), expected)
    _assert_equal(ours, theirs)


# ---- on a GPU


@pytest.fixture
def on_a_gpu(monkeypatch):
    """As where fairseq is imported on a machine with a GPU, and Apex's Adam where it is given."""

    def begin(apex=None):
        monkeypatch.setitem(OPTIMIZER_REGISTRY, "adam", FairseqAdam)
        monkeypatch.setattr(optim, "FP16Optimizer", fp16_optimizer.FP16Optimizer)
        monkeypatch.setattr(patches, "_before", {})
        monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
        monkeypatch.setattr("fairseq.optim.adam.get_fused_adam_class", lambda: apex)
        fused_adam.use_on_a_gpu()
        return OPTIMIZER_REGISTRY["adam"]

    return begin


def _config(**changes):
    return FairseqAdamConfig(lr=[0.5], adam_betas="(0.9, 0.98)", tpu=False, **changes)


def test_on_a_gpu_adam_is_the_fused_one_and_keeps_its_name(on_a_gpu):
    kind = on_a_gpu()
    assert kind.__name__ == "FairseqAdam" and optim.FP16Optimizer is FP16Optimizer
    assert FP16Optimizer.__name__ == "FP16Optimizer"
    assert isinstance(kind(_config(), _parameters()).optimizer, FusedAdam)
    assert isinstance(kind(_config(use_old_adam=True), _parameters()).optimizer, Adam)


def test_apexs_kernels_are_taken_where_they_are(on_a_gpu):
    class Apex(FusedAdam):
        pass

    assert isinstance(on_a_gpu(Apex)(_config(), _parameters()).optimizer, Apex)


def test_on_a_cpu_norms_are_fairseqs_to_the_last_bit(on_a_gpu, monkeypatch):
    monkeypatch.setattr(fused_adam, "clip", lambda *_: pytest.fail("another norm"))
    made, expected = on_a_gpu()(_config(), parameters := _parameters()), _parameters()
    for parameter in (*parameters, *expected):
        parameter.grad = parameter.detach().clone()
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert torch.equal(made.clip_grad_norm(1), utils.clip_grad_norm_(expected, 1))


def test_without_a_gpu_nothing_is_replaced(on_a_gpu, monkeypatch):
    on_a_gpu()
    monkeypatch.setattr(patches, "_before", {})
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    fused_adam.use_on_a_gpu()
    assert not patches.replaced()


# ---- mixed precision


def _mixed(kind):
    """An optimizer with weights in half precision, but without the update itself."""
    made = object.__new__(kind)
    made.fp16_params = _parameters(torch.bfloat16)
    made.fp16_params[1].requires_grad = False
    made.fp32_params = [nn.Parameter(p.detach().float()) for p in made.fp16_params]
    made.scaler, made._needs_sync = None, False
    return made


def _numbers(optimizer):
    every = [*optimizer.fp16_params, *optimizer.fp32_params]
    return [*every, *(torch.tensor([]) if p.grad is None else p.grad for p in every)]


def test_copies_between_precisions_are_those_of_fairseq():
    both = ours, theirs = _mixed(FP16Optimizer), _mixed(fp16_optimizer.FP16Optimizer)
    for update in range(3):
        for optimizer in both:
            generator = torch.Generator().manual_seed(update)
            for number, half in enumerate(optimizer.fp16_params):
                drawn = torch.randn(half.shape, generator=generator).bfloat16()
                if number != 1 and (number, update) != (2, 1):  # one is absent from a step
                    half.grad = drawn
            optimizer._needs_sync = True
            optimizer._sync_fp16_grads_to_fp32()
        assert not ours._needs_sync
        _same(ours, theirs)
        for optimizer in both:
            for weight in optimizer.fp32_params:
                if weight.grad is not None:
                    weight.data -= 0.1 * weight.grad
            optimizer._sync_fp32_params_to_fp16()
            optimizer.zero_grad()
        _same(ours, theirs)
    assert ours.fp32_params[0].grad.count_nonzero() == 0 and ours.fp16_params[0].grad is None


def _same(ours, theirs):
    for one, other in zip(_numbers(ours), _numbers(theirs), strict=True):
        assert torch.equal(one, other)
