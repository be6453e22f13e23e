"""torch's DistributedDataParallel for fairseq's `--ddp-backend pytorch_ddp`, on a CPU as well."""

from typing import Any

from torch import nn
from torch.nn.parallel import DistributedDataParallel


def install() -> None:
    """Have fairseq wrap models with `wrapped`. Called when fairseq is prepared."""
    from fairseq.models import distributed_fairseq_model

    distributed_fairseq_model.DistributedDataParallel = wrapped


def wrapped(
    module: nn.Module, *, find_unused_parameters: bool, **options: Any
) -> DistributedDataParallel:
    """``module``, whose gradients are exchanged during the backward pass.

    fairseq names a device, which torch refuses for a model on a CPU. Without looking for parameters
    that have no gradient, torch waits for them: the second step of a model with private parts, or
    of any other that ``may_lack_gradients``, fails.
    """
    if next(module.parameters()).device.type == "cpu":
        options |= {"device_ids": None, "output_device": None}
    looks = find_unused_parameters or getattr(module, "may_lack_gradients", False)
    return DistributedDataParallel(module, find_unused_parameters=looks, **options)
