"""Absent languages' parameters, under every kind of optimiser that fairseq wraps ours in."""

from types import SimpleNamespace

import pytest
import torch
from torch import nn

from fairseq_xling.engine.prepare import prepare_engine
from fairseq_xling.training.private import leaving_alone


class Flat:
    """fairseq's mixed-precision optimiser with one flat master tensor, in the least code.

    (The real one needs a GPU for flat masters; what it does with gradients is this.)
    """

    has_flat_params = True

    def __init__(self, halves):
        self.fp16_params = halves
        flat = nn.Parameter(torch.cat([p.detach().float().flatten() for p in halves]))
        flat.grad = torch.zeros_like(flat)
        self.fp32_params = {flat.device: flat}
        adam = torch.optim.AdamW([flat], lr=0.1, weight_decay=0.1)
        self.fp32_optimizer = SimpleNamespace(optimizer=adam)

    def _sync_fp16_grads_to_fp32(self):
        grads = [torch.zeros_like(p) if p.grad is None else p.grad for p in self.fp16_params]
        flat = next(iter(self.fp32_params.values()))
        flat.grad = torch.cat([grad.float().flatten() for grad in grads])

    def step(self):
        self._sync_fp16_grads_to_fp32()
        self.fp32_optimizer.optimizer.step()
        start = 0
        flat = next(iter(self.fp32_params.values())).data
        for half in self.fp16_params:
            half.data.copy_(flat[start : start + half.numel()].view_as(half))
            start += half.numel()

    def moments(self):
        flat = next(iter(self.fp32_params.values()))
        state = self.fp32_optimizer.optimizer.state[flat]
        return [flat.detach().clone(), state["exp_avg"].clone(), state["exp_avg_sq"].clone()]


def _parameters(dtype):
    generator = torch.Generator().manual_seed(1)
    return [nn.Parameter(torch.randn(n, generator=generator).to(dtype)) for n in (3, 4, 5)]


def _step(optimizer, parameters, reached):
    """One step in which only the parameters numbered in ``reached`` get a gradient."""
    for number, parameter in enumerate(parameters):
        parameter.grad = torch.ones_like(parameter) if number in reached else None
    unreached = [parameter for parameter in parameters if parameter.grad is None]
    for parameter in unreached:  # as `TrainableModel.all_reduce_grads` and data parallelism do
        parameter.grad = torch.zeros_like(parameter)
    with leaving_alone(optimizer, unreached):
        optimizer.step()


@pytest.mark.parametrize("first", [{0, 1, 2}, {0, 2}])
def test_flat_masters_keep_the_absent_slice_and_its_moments(first):
    """Also where the absent parameter was never stepped, so that its moments start at zero."""
    parameters = _parameters(torch.float16)
    optimizer = Flat(parameters)
    start = [t.detach().clone() for t in parameters]
    _step(optimizer, parameters, first)
    before = optimizer.moments()
    model = parameters[1].detach().clone()
    _step(optimizer, parameters, {0, 2})
    absent = slice(3, 7)
    for then, now in zip(before, optimizer.moments(), strict=True):
        assert torch.equal(then[absent], now[absent])
        assert not torch.equal(then[:3], now[:3])
    assert torch.equal(parameters[1], model)
    if first == {0, 2}:
        assert torch.equal(parameters[1], start[1])
        assert not optimizer.moments()[1][absent].any()


def test_separate_masters_keep_the_absent_parameter_and_its_moments():
    prepare_engine()
    from fairseq.dataclass.configs import FairseqConfig
    from fairseq.optim import FP16Optimizer
    from omegaconf import OmegaConf

    cfg = OmegaConf.structured(FairseqConfig())
    cfg.common.fp16_no_flatten_grads = True
    adam = {"_name": "adam", "lr": [0.1], "adam_betas": "(0.9, 0.999)", "adam_eps": 1e-8}
    more = {"weight_decay": 0.1, "use_old_adam": True, "fp16_adam_stats": False, "tpu": False}
    cfg.optimizer = {**adam, **more}
    cfg.optimization.lr = [0.1]
    cfg.distributed_training.distributed_world_size = 1
    parameters = _parameters(torch.float16)
    optimizer = FP16Optimizer.build_optimizer(cfg, parameters)
    optimizer.zero_grad()
    _step(optimizer, parameters, {0, 1, 2})
    master = optimizer.fp32_params[1]
    state = optimizer.fp32_optimizer.optimizer.state[master]
    before = [master.detach().clone(), state["exp_avg"].clone(), state["exp_avg_sq"].clone()]
    moved = optimizer.fp32_params[0].detach().clone()
    optimizer.zero_grad()
    _step(optimizer, parameters, {0, 2})
    now = [master.detach(), state["exp_avg"], state["exp_avg_sq"]]
    assert all(torch.equal(a, b) for a, b in zip(before, now, strict=True))
    assert not torch.equal(moved, optimizer.fp32_params[0])
