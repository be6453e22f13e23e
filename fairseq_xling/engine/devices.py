"""Where a model computes."""

import os

import torch

from fairseq_xling.core.errors import UserError

KINDS = ("cpu", "cuda")


def usable_device(device: str | torch.device) -> torch.device:
    """``device``, if it can be used.

    >>> usable_device("cpu")
    device(type='cpu')

    Raises:
        UserError: names it, and what it must be or why it cannot be used here.
    """
    try:
        chosen = torch.device(device)
    except (RuntimeError, TypeError, ValueError):
        chosen = None
    # torch knows more kinds, such as meta, and counts processors of which it has one.
    if chosen is None or chosen.type not in KINDS or (chosen.type == "cpu" and chosen.index):
        raise UserError(f"`--device` must be cpu, cuda or cuda:N, got {str(device)!r}")
    try:
        torch.empty(0, device=chosen)
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        reason = str(error).splitlines()[0]
        raise UserError(f"`--device` {device}: cannot be used here ({reason})") from None
    return chosen


def processors() -> int:
    """How many this process may use."""
    return len(os.sched_getaffinity(0))


def several_processes() -> bool:
    """Whether this process is one of several of a training."""
    return torch.distributed.is_available() and torch.distributed.is_initialized()


def loader_processes_by_default(on_gpu: bool) -> int:
    """How many processes make a training's batches where nothing is said.

    A GPU waits for less than four; a CPU has enough of one, which makes 400,000 tokens a second of
    sentences of 12, and more of longer ones (`benchmarks/feed.py`). None on one processor.
    Processes of one training share the machine.
    """
    share = processors() // max(1, int(os.environ.get("LOCAL_WORLD_SIZE", "1")))
    return max(0, min(4 if on_gpu else 1, share - 1))
