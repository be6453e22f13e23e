"""The processes of a training: joined where a launcher such as torchrun started them.

fairseq joins them only with five options that have to fit each other and the launcher. With fewer
it trains a model in each process, or in none and ends well. Its `--ddp-backend pytorch_ddp` does
not work on a CPU.
"""

import functools
import logging
import os
import re
from collections.abc import Callable, Mapping
from typing import Any

from fairseq_xling.core.errors import UserError, exits_on_user_error, shown
from fairseq_xling.engine.patches import replace

logger = logging.getLogger(__name__)

# What torchrun and torch.distributed.launch tell each process.
_LAUNCHED = ("MASTER_ADDR", "MASTER_PORT", "WORLD_SIZE", "RANK")
_ENVIRONMENT = "env://"
# Launchers that tell each process less: how many there are, which it is, and which on its machine.
_OTHERS = {
    "srun": ("SLURM_STEP_NUM_TASKS", "SLURM_PROCID", "SLURM_LOCALID"),
    "submitit": ("SUBMITIT_LOCAL_NTASKS", "SUBMITIT_LOCAL_GLOBALID", "SUBMITIT_LOCAL_LOCALID"),
    "mpirun": ("OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_LOCAL_RANK"),
}
_CALLBACK = "fairseq_xling.engine.hydra.Guards"
_TRAINS = ("fairseq_cli.train", "fairseq_cli.hydra_train")
# Those that keep each parameter whole and apart, with the gradient of its own; sharded ones run
# together lose which of them a step's languages have, and those of other languages drift.
_DDP_BACKENDS = ("pytorch_ddp", "c10d", "legacy_ddp", "no_c10d")


def install() -> None:
    """Replace the function that starts what fairseq's programs do, and what wraps their models."""
    replace("fairseq.distributed.utils:call_main", _joined)
    replace("fairseq.models.distributed_fairseq_model:DistributedDataParallel", _of_any_device)


def _joined(call_main: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(call_main)
    @exits_on_user_error
    def wrapper(cfg: Any, main: Callable[..., Any], **kwargs: Any) -> Any:
        join_launched(cfg, os.environ, training=main.__module__ in _TRAINS)
        try:
            return call_main(cfg, main, **kwargs)
        except RuntimeError as error:
            raise lost(error) or error from None

    return wrapper


def _of_any_device(wrap: Callable[..., Any]) -> Callable[..., Any]:
    """Without looking for parameters that have no gradient, torch waits for them: the second step
    of a model with private parts, or of any other that ``may_lack_gradients``, fails."""

    def wrapped(module: Any, *, find_unused_parameters: bool, **options: Any) -> Any:
        if next(module.parameters()).device.type == "cpu":
            options |= {"device_ids": None, "output_device": None}
        looks = find_unused_parameters or getattr(module, "may_lack_gradients", False)
        return wrap(module, find_unused_parameters=looks, **options)

    return wrapped


def lost(error: RuntimeError) -> UserError | None:
    """What to say about ``error`` if it is torch's that another process of a training is missing.

    Gloo's error when a connection ends has no type of its own.
    """
    from torch.distributed import DistError

    text, ended = str(error), r"gloo.*(Connection|Timed out|Broken pipe)"
    if not (isinstance(error, DistError) or re.search(ended, text, re.DOTALL)):
        return None
    reason = re.sub(r"^\[[^]]*\]\s*", "", text).partition(". ")[0].partition("\n")[0][:200]
    return UserError(
        f"another process of this training did not come, has ended or does not answer ({reason}); "
        "its own output says why. The training resumes from its last checkpoint when all are "
        "started again"
    )


def join_launched(cfg: Any, environment: Mapping[str, str], *, training: bool = True) -> None:
    """Set the options of ``cfg`` that make a launched process one of its training's.

    Args:
        cfg: fairseq's configuration, with ``common``, ``distributed_training``.
        environment: the process's variables.
        training: whether it trains; several translations at a time need not be joined.

    Raises:
        UserError: if options contradict the launcher, or what is set is too little to meet the
            other processes, and if fairseq would start no process.
    """
    found = cfg.distributed_training
    on_cpu = cfg.common.cpu or not _gpus()
    if training:
        _check_backend(found)
    launched, rank, local_rank = _launched(environment, found, training)
    if launched > 1 and found.distributed_init_method in (None, _ENVIRONMENT):
        shared = environment.get("TORCHELASTIC_USE_AGENT_STORE") == "True"
        if shared and _number(environment, "TORCHELASTIC_MAX_RESTARTS", 0) > 0:
            # torchrun keeps its store for them, and in it the addresses of those that have ended.
            raise UserError(
                "`TORCH_DISABLE_SHARE_RDZV_TCP_STORE` must be 1 where `torchrun --max-restarts` is "
                "started, or its processes cannot meet again"
            )
        given = found.distributed_world_size  # left out, it is 1 or the GPUs seen
        if given not in (1, launched, *(() if on_cpu else (_gpus(),))):
            raise UserError(
                f"`--distributed-world-size` must be {launched}, the processes that were launched, "
                f"got {given}"
            )
        found.distributed_world_size = launched
        found.distributed_init_method = _ENVIRONMENT
        found.distributed_no_spawn = True
        found.distributed_rank = rank
        # A launcher may show to each process its own GPU alone.
        found.device_id = 0 if on_cpu else local_rank % _gpus()
        logger.info("process %d of %d", rank + 1, launched)
    if found.distributed_world_size > 1:
        _check_started(found, environment, on_cpu)
        if on_cpu and found.distributed_backend == "nccl":  # the default is for GPUs
            found.distributed_backend = "gloo"


def check_joined(found: Any, environment: Mapping[str, str]) -> None:
    """Refuse processes of one launcher each of which would train a model of its own.

    With hydra the guards are installed too late to join them, unless a callback is named. A backend
    that does not keep parameters apart is refused, too.

    Args:
        found: fairseq's ``distributed_training``.
        environment: the process's variables.
    """
    _check_backend(found)
    launched, _, _ = _launched(environment, found, True)
    if launched > 1 and found.distributed_world_size == 1:
        raise UserError(
            f"`+hydra.callbacks.xling._target_={_CALLBACK}` must be set to train one model in the "
            f"{launched} processes that were launched"
        )


def _launched(environment: Mapping[str, str], found: Any, training: bool) -> tuple[int, int, int]:
    """How many processes a launcher has started, which this is, and which on its machine."""
    size = _number(environment, "WORLD_SIZE", 1)
    rank = _number(environment, "RANK", 0)
    missing = [f"`{name}`" for name in _LAUNCHED if not environment.get(name)]
    if not missing:
        if rank >= size:
            raise UserError(f"`RANK` must lie in [0, {size - 1}], got {rank}")
        return size, rank, _number(environment, "LOCAL_RANK", 0)
    if size > 1 or rank > 0:
        set_ones = [f"`{name}` {environment[name]}" for name in _LAUNCHED if environment.get(name)]
        raise UserError(
            f"{' and '.join(missing)} must be set with {' and '.join(set_ones)}, or this process "
            "cannot meet the others; torchrun sets all of them, and a training of one process "
            "needs none"
        )
    for launcher, names in _OTHERS.items():
        size, rank, local_rank = (_number(environment, name, 0) for name in names)
        if not training or size < 2 or found.distributed_init_method not in (None, _ENVIRONMENT):
            continue
        if environment.get("MASTER_ADDR") and environment.get("MASTER_PORT"):
            return size, rank, local_rank
        if not (launcher == "srun" and _by_slurm(found)):
            raise UserError(
                f"`MASTER_ADDR` and `MASTER_PORT` must be set, to the first machine's name and a "
                f"free port, to train one model in the {size} processes that {launcher} started; "
                f"to train one in each, unset `{names[0]}`"
            )
    return 1, 0, 0


def _number(environment: Mapping[str, str], name: str, default: int) -> int:
    text = environment.get(name) or str(default)
    if not (text.isascii() and text.isdigit()):
        raise UserError(f"`{name}` must be a whole number, got {shown(text)}")
    return int(text)


def _by_slurm(found: Any) -> bool:
    """Whether fairseq asks Slurm itself who the other processes are."""
    return found.distributed_world_size > 1 and found.distributed_port > 0


def _check_backend(found: Any) -> None:
    if found.ddp_backend not in _DDP_BACKENDS:
        raise UserError(
            f"`--ddp-backend` must be pytorch_ddp or legacy_ddp, which update the parameters of a "
            f"step's languages alone, got {found.ddp_backend}"
        )


def _check_started(found: Any, environment: Mapping[str, str], on_cpu: bool) -> None:
    """Refuse processes that nobody would start, and those that could not meet."""
    size, one_machine = found.distributed_world_size, "1 without GPUs"
    if not on_cpu:
        one_machine = f"at most {_gpus()}, the GPUs of this machine"
    if found.distributed_no_spawn or not on_cpu:
        if found.distributed_init_method is not None:
            return
        if "SLURM_JOB_NODELIST" in environment and _by_slurm(found):
            return
        if not found.distributed_no_spawn and size <= _gpus():
            return
        raise UserError(
            f"`--distributed-world-size` must be {one_machine}, unless `--distributed-init-method` "
            "tcp://HOST:PORT and `--distributed-rank` say where and as which the processes meet; "
            f"or start them with torchrun, which says both, got {size}"
        )
    raise UserError(
        f"`--distributed-world-size` must be {one_machine}, unless a launcher starts the "
        f"processes, as in `torchrun --nproc_per_node {size}`, got {size}"
    )


def _gpus() -> int:
    import torch

    return torch.cuda.device_count()
