"""The number format of a training (fp32, bf16 or fp16), and which one suits a machine."""

import functools
import logging
import os
import platform
import time
from pathlib import Path
from typing import Any

from fairseq_xling.core.errors import UserError
from fairseq_xling.engine.compat import cpu_capabilities, native_bf16

logger = logging.getLogger(__name__)

AUTO = "auto"
ON_CPU = (AUTO, "fp32", "bf16")
CHOICES = (*ON_CPU, "fp16")
HELP = (
    "fp32, bf16, fp16 (cuda only), or auto: on a CPU bf16 where the processor computes in it "
    "(AVX512-BF16, AMX), else fp32; on a GPU bf16 where supported, else fp16"
)
_OPTIONS: dict[tuple[str, str], tuple[str, ...]] = {
    ("cpu", "fp32"): (),
    ("cpu", "bf16"): ("--cpu-bf16",),
    ("cuda", "fp32"): (),
    ("cuda", "bf16"): ("--bf16",),
    ("cuda", "fp16"): ("--fp16",),
}
_VARIABLE = "FAIRSEQ_XLING_NATIVE_BF16"
_SIZE, _TIMES = 512, 5  # of the product that is timed: some milliseconds in fp32


def resolve(precision: str, device: str) -> str:
    """``precision``, or what ``auto`` stands for on this machine.

    Args:
        device: ``cpu`` or ``cuda``; of a GPU that is not here, bf16 is expected.

    Raises:
        UserError: for a format that the device cannot train in.
    """
    if precision != AUTO:
        if (device, precision) not in _OPTIONS:
            raise UserError(
                f"`--precision {precision}` needs `--device cuda`; on a CPU take bf16 or auto"
            )
        return precision
    if device == "cpu":
        return "bf16" if cpu_has_bf16() else "fp32"
    return "bf16" if _gpu_has_bf16() else "fp16"


def device_options(precision: str, device: str) -> tuple[str, ...]:
    """The options of `fairseq-train` for a format and a device.

    >>> device_options("bf16", "cpu")
    ('--cpu-bf16', '--cpu')
    """
    return (*_OPTIONS[device, resolve(precision, device)], *(("--cpu",) if device == "cpu" else ()))


@functools.cache
def cpu_has_bf16() -> bool:
    """Whether bf16 pays on this processor: it has instructions for it, or, where torch cannot tell,
    a product in bf16 is faster than in fp32.

    The variable FAIRSEQ_XLING_NATIVE_BF16, 0 or 1, overrides it: for nodes of several kinds whose
    results must agree.
    """
    told = os.environ.get(_VARIABLE, "")
    if told in ("0", "1"):
        return told == "1"
    known = native_bf16()
    return bf16_cost() < 1 if known is None else known


def _gpu_has_bf16() -> bool:
    import torch

    if not torch.cuda.is_available():
        return True
    return torch.cuda.is_bf16_supported(including_emulation=False)


def bf16_cost() -> float:
    """How many times as long as in fp32 a matrix product takes in bf16 on this processor.

    The best of a few repetitions, which take turns; no random numbers are drawn.
    """
    import torch

    best = {}
    with torch.no_grad():
        pairs = {
            dtype: torch.full((_SIZE, _SIZE), 0.5, dtype=dtype)
            for dtype in (torch.float32, torch.bfloat16)
        }
        for matrix in pairs.values():  # the first product of a kind is slower
            matrix @ matrix
        for _ in range(_TIMES):
            for dtype, matrix in pairs.items():
                start = time.perf_counter()
                matrix @ matrix
                passed = time.perf_counter() - start
                best[dtype] = min(passed, best.get(dtype, passed))
    return best[torch.bfloat16] / best[torch.float32]


def computes_in_bf16(cfg: Any) -> bool:
    """Whether a task's passes through its model are in bf16, by ``cpu_precision``, ``cpu_bf16`` and
    ``cpu`` of its configuration.

    Logs what ``auto`` has chosen, or how slow the processor is at what it was asked for; so it is
    for a task that begins to compute, not for one that is only built.
    """
    import torch

    wanted = "bf16" if cfg.cpu_bf16 else cfg.cpu_precision
    if not cfg.cpu and torch.cuda.is_available():
        return wanted == "bf16"
    chosen = resolve(wanted, "cpu")
    if torch.distributed.is_initialized() and torch.distributed.get_rank():
        return chosen == "bf16"  # one process speaks for all
    if wanted == AUTO:
        logger.info("--cpu-precision auto is %s on this processor (%s)", chosen, processor())
    elif chosen == "bf16" and not cpu_has_bf16():
        logger.warning(
            "this processor (%s) has no native bf16: a matrix product takes %.1f times as long as "
            "in fp32; leave out --%s",
            processor(),
            bf16_cost(),
            "cpu-bf16" if cfg.cpu_bf16 else "cpu-precision bf16",
        )
    return chosen == "bf16"


def processor() -> str:
    """The processor's name, as far as the system tells it."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.is_file() else []
    named = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    known = cpu_capabilities().get("cpu_name")
    return next(named, "") or known or platform.processor() or platform.machine()
