"""The options of the number format that a task trains in."""

from dataclasses import dataclass, field
from typing import Any

from fairseq.dataclass import FairseqDataclass
from omegaconf import II

from fairseq_xling.checkpoints import current
from fairseq_xling.core.errors import UserError
from fairseq_xling.engine.precision import ON_CPU


@dataclass
class PrecisionConfig(FairseqDataclass):
    cpu_precision: str = field(
        default="fp32",
        metadata={
            "help": "training on a CPU: fp32, bf16 (autocast), or auto, which is bf16 where the "
            "processor computes in it (AVX512-BF16, AMX)"
        },
    )
    cpu_bf16: bool = field(default=False, metadata={"help": "the same as --cpu-precision bf16"})
    cpu: bool = II("common.cpu")
    bf16: bool = II("common.bf16")
    fp16: bool = II("common.fp16")
    amp: bool = II("common.amp")
    memory_efficient_fp16: bool = II("common.memory_efficient_fp16")
    memory_efficient_bf16: bool = II("common.memory_efficient_bf16")


def check_precision(cfg: Any) -> None:
    """Refuse numbers of half the size where a CPU cannot train with them."""
    if cfg.cpu_precision not in ON_CPU:
        raise UserError(
            f"`--cpu-precision` must be {' or '.join(ON_CPU)}, got {cfg.cpu_precision!r}"
        )
    if cfg.cpu and cfg.bf16:
        raise UserError("`--bf16` needs an accelerator; with `--cpu` take --cpu-bf16")
    half = cfg.fp16 or cfg.memory_efficient_fp16  # of which 0.3.0 could train on a CPU
    if cfg.cpu and half and current() is None:
        raise UserError("`--fp16` needs an accelerator; with `--cpu` take --cpu-bf16")


def in_half(cfg: Any) -> bool:
    """Whether a GPU computes in numbers of half the size."""
    names = ("bf16", "fp16", "amp", "memory_efficient_fp16", "memory_efficient_bf16")
    return not cfg.cpu and any(getattr(cfg, name) for name in names)
