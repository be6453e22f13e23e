"""Weights that can be used: finite numbers that are all in the file."""

from collections.abc import Mapping
from typing import Any

from fairseq_xling.checkpoints.budget import origin
from fairseq_xling.core.errors import UserError, shown

_WRAPPER = "module."
# Tied weights are listed under up to three names. More claims on one piece of memory are not ties.
_COPIES = 4
_LONGEST = 1000  # characters of a weight's name
# What layers multiply and add. Others, such as the counters of a module, may be integers.
_NUMBERS = ("weight", "bias")


def unwrapped(tensors: Mapping[str, Any]) -> Mapping[str, Any]:
    """``tensors`` by the names of the model itself, if they were saved of torch's wrapper for
    several GPUs, which puts ``module.`` before each.

    >>> unwrapped({"module.a": 1, "module.b": 2}), unwrapped({"module.a": 1, "b": 2})
    ({'a': 1, 'b': 2}, {'module.a': 1, 'b': 2})
    """
    if not tensors or not all(name.startswith(_WRAPPER) for name in tensors):
        return tensors
    return {name.removeprefix(_WRAPPER): tensor for name, tensor in tensors.items()}


def check_tensors(tensors: Mapping[str, Any], path: Any, place: str = "model") -> None:
    """Reject tensors that cannot be the weights of a model.

    Each is read once, at the speed of memory.
    """
    import torch

    claimed, stored = 0, {}
    for name, tensor in tensors.items():
        if not torch.is_tensor(tensor):
            raise UserError(f"{path}: `{place}.{name[:120]}` must be a tensor, got {shown(tensor)}")
        if len(name) > _LONGEST:
            raise UserError(
                f"{path}: `{place}.{name[:120]}...` must be a name of at most {_LONGEST} "
                f"characters, got {len(name):,}"
            )
        if wrong := _wrong(name, tensor):
            raise UserError(f"{path}: `{place}.{name[:120]}` must {wrong}")
        storage = tensor.untyped_storage()
        stored[storage.data_ptr()] = storage.nbytes()
        claimed += tensor.numel() * tensor.element_size()
    if claimed > _COPIES * sum(stored.values()):
        raise UserError(
            f"{path}: `{place}` must hold the values of its tensors, {claimed} bytes, got "
            f"{sum(stored.values())}"
        )


def _wrong(name: str, tensor: Any) -> str:
    """The rule that ``tensor`` breaks and what it has instead; empty for a good one."""
    import torch

    kind = str(tensor.dtype).removeprefix("torch.")
    if (
        tensor.layout is not torch.strided
        or tensor.device.type != "cpu"
        or tensor.is_quantized
        or tensor.is_nested
        or type(tensor) not in (torch.Tensor, torch.nn.Parameter)
    ):
        return f"be an ordinary tensor, got a {type(tensor).__name__} of {kind}"
    size = tensor.numel() * tensor.element_size()
    if size > tensor.untyped_storage().nbytes():
        return f"hold all its values, {size} bytes, got {tensor.untyped_storage().nbytes()}"
    if tensor.dtype in (torch.float32, torch.float64, torch.float16, torch.bfloat16):
        return "" if is_finite(tensor) else "be finite, got NaN or infinity"
    if tensor.is_floating_point() or tensor.is_complex():
        return f"be of float32, float64, float16 or bfloat16, got {kind}"
    if name.rpartition(".")[2].endswith(_NUMBERS):
        return f"be of floating-point numbers, got {kind}"
    return ""


def is_finite(tensor: Any) -> bool:
    """Whether no value of ``tensor`` is NaN or infinite.

    A sum takes a fraction of the time of a test of each value, and is finite only if they are; it
    may overflow where they are large, and only then each is asked.
    """
    import torch

    tensor = tensor.detach()
    wide = torch.float32 if tensor.element_size() < 4 else tensor.dtype
    total = tensor.sum(dtype=wide)
    return bool(total.isfinite()) or bool(tensor.isfinite().all())


def check_kinds(model: Any, tensors: Mapping[str, Any]) -> None:
    """Reject integers for ``model``'s floating-point numbers, and the reverse."""
    import torch

    for name, own in model.state_dict().items():
        theirs = tensors.get(name)
        if not (torch.is_tensor(own) and torch.is_tensor(theirs)):
            continue
        if own.is_floating_point() != theirs.is_floating_point():
            wanted = "floating-point numbers" if own.is_floating_point() else "integers"
            kind = str(theirs.dtype).removeprefix("torch.")
            raise UserError(f"{origin()}: `model.{name}` must be of {wanted}, got {kind}")
