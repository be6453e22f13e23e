"""A device that is not there: steps that would run on a GPU, on a machine without one.

Its tensors say that they are on ``DEVICE`` and have their values in memory, so whatever depends on
values works, and code that asks for the device takes the way of an accelerator. Two things are
counted, by the line of our code that causes them:

    waits  what a GPU would be waited for: a number that is asked for (``scalar``), and operations
           whose result's shape depends on values (``shape``)
    host   tensors that come into being in memory, or are copied from there to the device

An operation on tensors of both places raises a `MixedDevices`, as on a GPU.
"""

import collections
import contextlib
import copy
import sys
from pathlib import Path
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_map

import fairseq_xling

OURS = f"{Path(fairseq_xling.__file__).parent}/"
DEVICE = torch.device("meta")  # autograd needs a device that it knows, and no hardware

SCALARS = ("aten::_local_scalar_dense", "aten::equal", "aten::is_nonzero")
SHAPES = ("aten::nonzero", "aten::masked_select", "aten::_unique2", "aten::unique_dim")


class MixedDevices(RuntimeError):
    """An operation read tensors in memory and tensors on the device."""


class There(torch.Tensor):
    """A tensor on the device; ``values`` are in memory."""

    @staticmethod
    def __new__(cls, values: torch.Tensor) -> "There":
        return torch.Tensor._make_wrapper_subclass(
            cls,
            values.size(),
            strides=values.stride(),
            storage_offset=values.storage_offset(),
            dtype=values.dtype,
            device=DEVICE,
            requires_grad=False,
        )

    def __init__(self, values: torch.Tensor):
        self.values_there = values

    def __repr__(self, **kwargs: Any) -> str:
        return f"There({self.values_there!r})"

    def tolist(self) -> Any:
        return self.to("cpu").tolist()  # torch's own refuses kinds of tensors

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        raise RuntimeError(f"{func} on the device, outside of `PretendDevice`")


class PretendDevice(TorchDispatchMode):
    """Within it the device exists; see the module's docstring.

    Attributes:
        waits: by kind and place; host: by place.
    """

    def __init__(self) -> None:
        super().__init__()
        self.waits: collections.Counter = collections.Counter()
        self.host: collections.Counter = collections.Counter()

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = dict(kwargs or {})
        if func.namespace == "profiler":  # fairseq's notes of what it does
            return func(*args, **kwargs)
        flat = list(_tensors((args, kwargs)))
        there = [tensor for tensor in flat if isinstance(tensor, There)]
        here = [tensor for tensor in flat if not isinstance(tensor, There)]
        device = kwargs.get("device")
        name, named = func._schema.name, device is not None
        goes = device.type == DEVICE.type if named else bool(there)
        if named and goes:
            kwargs["device"] = torch.device("cpu")
            if here:
                self.host[place()] += 1
        elif named and there:  # from the device
            self.waits["scalar", place()] += 1
        elif there and any(tensor.dim() for tensor in here):
            raise MixedDevices(f"{name} at {place()}")
        if there:
            self._count(name, args, kwargs)
        found = func(*tree_map(_values, args), **tree_map(_values, kwargs))
        if not (there or goes or next(_tensors(found), None) is None):
            self.host[place()] += 1
        if not goes:
            return found
        changed = [
            arg for arg, given in zip(args, func._schema.arguments, strict=False) if _written(given)
        ]
        if changed and isinstance(found, torch.Tensor):
            return changed[0]
        return tree_map(lambda x: There(x) if isinstance(x, torch.Tensor) else x, found)

    def _count(self, name: str, args: Any, kwargs: Any) -> None:
        if name in SCALARS:
            self.waits["scalar", place()] += 1
        masks = name.startswith("aten::index") and _by_mask(args)
        repeats = name == "aten::repeat_interleave" and kwargs.get("output_size") is None
        if name in SHAPES or masks or repeats:
            self.waits["shape", place()] += 1


def _written(argument: Any) -> bool:
    return argument.alias_info is not None and argument.alias_info.is_write


def _tensors(nested: Any):
    if isinstance(nested, torch.Tensor):
        yield nested
    elif isinstance(nested, dict):
        for value in nested.values():
            yield from _tensors(value)
    elif isinstance(nested, list | tuple):
        for value in nested:
            yield from _tensors(value)


def _values(x: Any) -> Any:
    return x.values_there if isinstance(x, There) else x


def _by_mask(args: Any) -> bool:
    indices = args[1] if len(args) > 1 and isinstance(args[1], list | tuple) else ()
    return any(isinstance(one, torch.Tensor) and one.dtype is torch.bool for one in indices)


def place() -> str:
    """File and line of the innermost frame of our code; ``backward`` if there is none."""
    frame = sys._getframe(1)
    while frame is not None and not frame.f_code.co_filename.startswith(OURS):
        frame = frame.f_back
    if frame is None:
        return "backward"
    return f"{frame.f_code.co_filename.removeprefix(OURS)}:{frame.f_lineno}"


@contextlib.contextmanager
def _without_autocast():
    """`torch.autocast` knows real devices only; on this one it does nothing."""
    original = torch.autocast

    def autocast(device_type: str, *args: Any, **kwargs: Any):
        known = device_type != DEVICE.type
        return original(device_type, *args, **kwargs) if known else contextlib.nullcontext()

    torch.autocast = autocast
    try:
        yield
    finally:
        torch.autocast = original


def rehearse(step, task, sample, model, criterion, *args: Any) -> PretendDevice:
    """What a training step does on the device, from its second time on.

    Args:
        step: ``Task.train_step``; the others are its arguments. Nothing of them is changed.
    """
    from fairseq.utils import apply_to_sample

    copies = {id(task): task}
    model, criterion = copy.deepcopy((model, criterion), copies)
    with torch.random.fork_rng(), _without_autocast(), PretendDevice():
        model, criterion = model.to(DEVICE), criterion.to(DEVICE)
        sample = apply_to_sample(lambda tensor: tensor.to(DEVICE), sample)
        step(task, sample, model, criterion, *args)
    with torch.random.fork_rng(), _without_autocast(), PretendDevice() as device:
        step(task, sample, model, criterion, *args)
    return device
