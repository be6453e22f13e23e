"""torch's DistributedDataParallel for fairseq's `--ddp-backend pytorch_ddp`, on a CPU as well."""

from collections.abc import Callable
from typing import Any

from torch import nn

from fairseq_xling.engine.patches import replace


def install() -> None:
    """Have fairseq wrap models of any device. Called when fairseq is prepared."""
    replace("fairseq.models.distributed_fairseq_model:DistributedDataParallel", _of_any_device)


def _of_any_device(wrap: Callable[..., nn.Module]) -> Callable[..., nn.Module]:
    """Without looking for parameters that have no gradient, torch waits for them: the second step
    of a model with private parts, or of any other that ``may_lack_gradients``, fails."""

    def wrapped(module: nn.Module, *, find_unused_parameters: bool, **options: Any) -> nn.Module:
        if next(module.parameters()).device.type == "cpu":
            options |= {"device_ids": None, "output_device": None}
        looks = find_unused_parameters or getattr(module, "may_lack_gradients", False)
        return wrap(module, find_unused_parameters=looks, **options)

    return wrapped
