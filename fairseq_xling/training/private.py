"""Parameters that no batch of an update reaches must not move, such as those of another language.

In one process their gradient is ``None`` and the optimiser skips them. But data-parallel wrappers
and mixed-precision optimisers turn a missing gradient into zeros, and then Adam's momentum and
weight decay would still move them. `leaving_alone` keeps them, and their optimiser state,
unchanged for one step, in every such setting.
"""

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any

import torch
from torch import nn

from fairseq_xling.engine.devices import several_processes


def unreached_anywhere(
    model: nn.Module, unreached: Sequence[nn.Parameter]
) -> Sequence[nn.Parameter]:
    """Those of ``unreached``, without a gradient in this process, that have none in any other.

    All processes must call it, with the same trained parameters of ``model`` in the same order.
    """
    if not several_processes():
        return unreached
    from fairseq.distributed import utils as distributed  # only now: it would set up logs

    own = {id(parameter) for parameter in unreached}
    trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
    reached = torch.tensor([float(id(one) not in own) for one in trained])
    reached = reached.to(trained[0].device)
    distributed.all_reduce(reached, group=distributed.get_data_parallel_group(), op="max")
    return [one for one, found in zip(trained, reached.tolist(), strict=True) if not found]


@contextlib.contextmanager
def leaving_alone(optimizer: Any, parameters: Sequence[nn.Parameter]) -> Iterator[None]:
    """Within this block ``optimizer.step()`` leaves ``parameters`` unchanged.

    Args:
        optimizer: any of fairseq's, with or without a mixed-precision wrapper.
        parameters: parameters of the model (the half-precision ones, where there are two copies).
    """
    absent = {id(parameter) for parameter in parameters}
    for parameter in parameters:
        parameter.grad = None
    masters = getattr(optimizer, "fp32_params", None)
    if masters is None or not absent:
        yield
        return
    optimizer._sync_fp16_grads_to_fp32()  # would otherwise happen in step() and write zeros
    if not optimizer.has_flat_params:
        for half, master in zip(optimizer.fp16_params, masters, strict=True):
            if id(half) in absent:
                master.grad = None
        yield
        return
    with _restoring(optimizer, absent):
        yield


@contextlib.contextmanager
def _restoring(optimizer: Any, absent: set[int]) -> Iterator[None]:
    """For flat masters, where one tensor holds all parameters: put the absent slices back."""
    flats = optimizer.fp32_params
    flats = {flat.device: flat for flat in (flats.values() if isinstance(flats, dict) else [flats])}
    offsets = dict.fromkeys(flats, 0)
    states = optimizer.fp32_optimizer.optimizer.state
    kept = []
    for half in optimizer.fp16_params:
        flat, start = flats[half.device], offsets[half.device]
        offsets[half.device] = start + half.numel()
        if id(half) not in absent:
            continue
        piece, state = slice(start, start + half.numel()), states.get(flat, {})
        before = {
            name: value[piece].clone()
            for name, value in state.items()
            if torch.is_tensor(value) and value.shape == flat.shape
        }
        kept.append((flat, piece, half, flat.data[piece].clone(), half.data.clone(), before))
    yield
    for flat, piece, half, master, model, before in kept:
        flat.data[piece] = master
        half.data.copy_(model)
        for name, value in states.get(flat, {}).items():
            if torch.is_tensor(value) and value.shape == flat.shape:
                value[piece] = before.get(name, 0)  # no state yet: it would start at zero
