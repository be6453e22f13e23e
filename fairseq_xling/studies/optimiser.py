"""Adam and its schedule: options of every fairseq-train of a run, their check and its arguments."""

import dataclasses
from typing import Any

from fairseq_xling.core.errors import UserError
from fairseq_xling.core.options import option, to_argv
from fairseq_xling.core.registry import unknown_name

# Further options of each scheduler, besides the warm-up.
_LENGTH_OPTION = {"polynomial_decay": "--total-num-update"}


@dataclasses.dataclass(frozen=True)
class Optimiser:
    """A run takes each by `like`, where its place in the help is, with a default of its own."""

    update_freq: int = option(1, "batches per step", least=1)
    warmup: int = option(100, "steps of warm-up", least=0)
    schedule: str = option("inverse_sqrt", "learning rate scheduler of fairseq-train")
    adam_betas: str = option("0.9,0.999", "Adam's betas")
    adam_eps: float = option(1e-8, "Adam's epsilon", least=0)
    weight_decay: float = option(0.0, "weight decay", least=0)
    clip: float = option(1.0, "maximum gradient norm", least=0)
    every: int = option(250, "steps between two validations and checkpoints", least=1)


def check_optimiser(config: Any) -> None:
    """Check what `fairseq-train` would reject only at its step."""
    from fairseq.optim.lr_scheduler import LR_SCHEDULER_DATACLASS_REGISTRY, LR_SCHEDULER_REGISTRY

    if config.schedule not in LR_SCHEDULER_REGISTRY:
        message = unknown_name("scheduler", config.schedule, LR_SCHEDULER_REGISTRY)
        raise UserError(f"`--schedule`: {message}")
    warm = sorted(
        name
        for name, kind in LR_SCHEDULER_DATACLASS_REGISTRY.items()
        if "warmup_updates" in kind.__dataclass_fields__
    )
    if config.schedule not in warm:
        raise UserError(
            f"`--schedule` must be one with `--warmup-updates` ({', '.join(warm)}), "
            f"got {config.schedule}"
        )
    try:
        betas = [float(beta) for beta in config.adam_betas.split(",")]
    except ValueError:
        betas = []
    if len(betas) != 2 or not all(0 <= beta < 1 for beta in betas):
        raise UserError(
            f"`--adam-betas` must be two numbers in [0, 1), e.g. 0.9,0.999, got "
            f"{config.adam_betas!r}"
        )


def optimisation(config: Any, steps: int, lr: float, warmup: int) -> list[str]:
    """Arguments of a fairseq-train of so many steps."""
    length = _LENGTH_OPTION.get(config.schedule)
    return [
        *("--optimizer", "adam", "--adam-betas", f"({config.adam_betas})"),
        *to_argv(config, "adam_eps", "weight_decay"),
        *("--clip-norm", str(config.clip), "--lr", str(lr)),
        *("--lr-scheduler", config.schedule, "--warmup-updates", str(warmup)),
        *((length, str(steps)) if length else ()),
    ]
