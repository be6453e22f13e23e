"""What this package replaces in fairseq: each symbol once, here, with its reason.

A symbol that is missing, as in another version of fairseq, is one line at import. Otherwise a check
of a file would not be made, and nothing would be seen.
"""

import builtins
import functools
import pkgutil
import sys
from collections.abc import Callable
from typing import Any

from fairseq_xling.core.errors import UserError
from fairseq_xling.engine.install import ENGINE, ENGINE_STEP

EVAL = "fairseq:eval"
# By place: a module, a colon and the name in it; an item of a dictionary is in brackets.
REASONS = {
    "fairseq.options:parse_args_and_arch": "it does not hold our options to their ranges, its "
    "errors come after 200 lines of usage, and its help before the options of a task",
    EVAL: "options are evaluated as Python, some of which a checkpoint names",
    "fairseq.distributed.utils:call_main": "it takes each process that a launcher has started for "
    "a training of its own, and a user's error is a traceback",
    "fairseq_cli.generate:main": "a user's error is a traceback: it does not go through call_main",
    "fairseq_cli.interactive:buffered_read": "it opens `--input` without a look, after all else",
    "fairseq.checkpoint_utils:torch": "it loads checkpoints of which nothing was checked",
    "fairseq.checkpoint_utils:load_model_ensemble_and_task": "it builds models of any size, and "
    "what does not fit is a traceback",
    "fairseq.checkpoint_utils:load_checkpoint": "it begins anew where the file is missing, hides "
    "why one cannot be resumed, and locks no folder",
    "fairseq.checkpoint_utils:PathManager": "it copies in place and writes through links, and a "
    "full disk is a traceback",
    "fairseq.trainer:Trainer.train_step": "a training that diverges is a traceback, and leaves a "
    "checkpoint from which nothing can be resumed; a process takes all of its batches of an update "
    "for empty if the last one is",
    "fairseq.models.distributed_fairseq_model:DistributedDataParallel": "it names a device, which "
    "torch refuses on a CPU, and waits for gradients that some parameters do not have",
    "fairseq.optim:OPTIMIZER_REGISTRY[adam]": "without Apex it updates tensor by tensor on a GPU",
    "fairseq.optim:FP16Optimizer": "it copies between precisions tensor by tensor on a GPU",
    "sys:meta_path": "a third of fairseq's import is for metrics of others (`engine.lean`)",
}
_before: dict[str, Any] = {}


def replace(place: str, make: Callable[[Any], Any]) -> None:
    """Put ``make(what is there)`` at ``place``, once; ``place`` is one of `REASONS`.

    Raises:
        UserError: if nothing is there.
    """
    if place in _before:
        return
    reason = REASONS[place]
    try:
        put, there = _found(place)
    except (ImportError, AttributeError, KeyError):
        import fairseq

        raise UserError(
            f"fairseq {fairseq.__version__} has no {place.replace(':', '.')}, which fairseq_xling "
            f"replaces ({reason}); it needs {ENGINE}: {ENGINE_STEP}"
        ) from None
    _before[place] = there
    put(make(there))


def replace_eval(function: Callable[..., Any]) -> None:
    """Have ``eval`` be ``function`` in each module of fairseq that is imported: a name in a module
    takes precedence over Python's own."""
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] in ("fairseq", "fairseq_cli") and module is not None:
            vars(module).setdefault("eval", function)
    _before[EVAL] = builtins.eval


def replaced() -> dict[str, Any]:
    """What was there before, by place."""
    return dict(_before)


def _found(place: str) -> tuple[Callable[[Any], None], Any]:
    """What puts something at a place, and what is there."""
    home, _, name = place.partition(":")
    if name.endswith("]"):
        name, _, key = name[:-1].partition("[")
        items = pkgutil.resolve_name(f"{home}:{name}")
        return functools.partial(items.__setitem__, key), items[key]
    owner, _, name = name.rpartition(".")
    holder = pkgutil.resolve_name(f"{home}:{owner}" if owner else home)
    return functools.partial(setattr, holder, name), getattr(holder, name)
