"""Programs that a launcher such as torchrun starts several times are processes of one training.

fairseq joins them only with five options that have to fit each other and the launcher. With fewer
it trains a model in each process, or in none and ends well.
"""

import functools
import logging
import os
from collections.abc import Callable, Mapping
from typing import Any

from fairseq_xling.errors import UserError, exits_on_user_error

logger = logging.getLogger(__name__)

# What torchrun and torch.distributed.launch tell each process.
_LAUNCHED = ("MASTER_ADDR", "MASTER_PORT", "WORLD_SIZE", "RANK")
_ENVIRONMENT = "env://"


def install() -> None:
    """Wrap the function that starts what fairseq's programs do."""
    from fairseq.distributed import utils

    utils.call_main = _joined(utils.call_main)


def _joined(call_main: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(call_main)
    @exits_on_user_error
    def wrapper(cfg: Any, main: Callable[..., Any], **kwargs: Any) -> Any:
        join_launched(cfg, os.environ)
        return call_main(cfg, main, **kwargs)

    return wrapper


def join_launched(cfg: Any, environment: Mapping[str, str]) -> None:
    """Set the options of ``cfg`` that make a launched process one of its training's.

    Args:
        cfg: fairseq's configuration, with ``common``, ``distributed_training``.
        environment: the process's variables.

    Raises:
        UserError: if options contradict the launcher, and if fairseq would start no process.
    """
    found = cfg.distributed_training
    launched = int(environment.get("WORLD_SIZE", 1)) if _is_launched(environment) else 1
    on_cpu = cfg.common.cpu or not _gpus()
    if launched > 1 and found.distributed_init_method in (None, _ENVIRONMENT):
        _check_size(found, launched, on_cpu)
        found.distributed_world_size = launched
        found.distributed_init_method = _ENVIRONMENT
        found.distributed_no_spawn = True
        found.distributed_rank = int(environment["RANK"])
        found.device_id = 0 if on_cpu else int(environment.get("LOCAL_RANK", 0))
        logger.info("process %d of %d", found.distributed_rank + 1, launched)
    if found.distributed_world_size > 1 and on_cpu:
        if not found.distributed_no_spawn:
            raise UserError(
                "`--distributed-world-size` must be 1 without GPUs, unless a launcher starts the "
                "processes, as in `torchrun --nproc_per_node "
                f"{found.distributed_world_size}`, got {found.distributed_world_size}"
            )
        # The defaults of both are for GPUs.
        if found.distributed_backend == "nccl":
            found.distributed_backend = "gloo"
        if found.ddp_backend == "pytorch_ddp":
            found.ddp_backend = "legacy_ddp"


def _is_launched(environment: Mapping[str, str]) -> bool:
    return all(environment.get(name, "") for name in _LAUNCHED)


def _check_size(found: Any, launched: int, on_cpu: bool) -> None:
    """Refuse another number of processes than there are; left out, it is 1 or the GPUs seen."""
    given = found.distributed_world_size
    if given not in (1, launched, *(() if on_cpu else (_gpus(),))):
        raise UserError(
            f"`--distributed-world-size` must be {launched}, the processes that were launched, "
            f"got {given}"
        )


def _gpus() -> int:
    import torch

    return torch.cuda.device_count()
