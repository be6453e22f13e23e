"""What every task of ours has in common: options in their ranges, number format, resuming."""

import contextlib
import functools
from typing import Any

import torch
from fairseq.tasks import FairseqTask
from torch import Tensor

from fairseq_xling.core.errors import UserError
from fairseq_xling.core.ranges import check_fields, option_name
from fairseq_xling.engine.commands import check_hydra_processes
from fairseq_xling.engine.compat import task_config
from fairseq_xling.engine.devices import several_processes
from fairseq_xling.engine.precision import computes_in_bf16
from fairseq_xling.training.private import leaving_alone, unreached_anywhere


class Task(FairseqTask):
    """A task of fairseq whose configuration is a `PrecisionConfig` and whose model is a
    `TrainableModel`.

    Parameters that no batch of an update reaches stand still in it, in one process and in several.
    A criterion computes inside a call of the model, which it receives without fairseq's wrapper.
    """

    def __init__(self, cfg: Any, **kwargs: Any):
        """Raises UserError for the first option of ours that is out of its range, before any data
        is opened."""
        super().__init__(cfg, **kwargs)
        check_fields(task_config(type(self)), cfg)
        check_hydra_processes(cfg)
        self._unreached: list[torch.nn.Parameter] = []

    @functools.cached_property
    def _bf16(self) -> bool:
        return computes_in_bf16(self.cfg)

    def precision(self) -> contextlib.AbstractContextManager:
        """In it, a model on a CPU computes in the format asked for."""
        if self._bf16:
            return torch.autocast("cpu", torch.bfloat16)
        return contextlib.nullcontext()

    def train_step(self, sample, model, criterion, optimizer, update_num, ignore_grad=False):
        inside = functools.partial(_inside, criterion, ignored=ignore_grad)
        with self.precision():
            result = super().train_step(sample, model, inside, optimizer, update_num)
        # Of the last batch of an update, those of all its batches: gradients add up.
        self._unreached = [p for p in model.parameters() if p.requires_grad and p.grad is None]
        return result

    def valid_step(self, sample, model, criterion):
        with self.precision():
            return super().valid_step(sample, model, functools.partial(_inside, criterion))

    def optimizer_step(self, optimizer, model, update_num):
        with leaving_alone(optimizer, unreached_anywhere(model, self._unreached)):
            optimizer.step()
        model.end_update()

    def get_checkpoint_dict(self) -> dict[str, Any]:
        """fairseq's hook: what `--patience` has counted. fairseq keeps it on a function, and
        forgets it where a training resumes."""
        from fairseq_cli.train import should_stop_early

        return {type(self).__name__: {"early_stopping": dict(vars(should_stop_early))}}

    def set_checkpoint_dict(self, state: dict[str, Any]) -> None:
        """fairseq's hook: what `get_checkpoint_dict` has put under the name of the class."""
        from fairseq_cli.train import should_stop_early

        vars(should_stop_early).update(state.get("early_stopping", {}))


def _inside(
    criterion: Any, model: Any, sample: dict[str, Any], ignored: bool = False
) -> tuple[Tensor, Any, dict[str, Tensor]]:
    """What ``criterion`` computes of ``sample``, with tensors to log: numbers and tensors are
    exchanged apart by fairseq, and processes must exchange equally many of each.

    A batch that is ``ignored`` is one of a process that has none left in an update.
    """
    loss, size, logs = model(step=lambda own: criterion(own, sample))
    logs = {name: _as_tensor(value, loss) for name, value in logs.items()}
    if several_processes():
        size = _as_tensor(size, loss)  # one process divides by it, and need not wait for a GPU
    if ignored:
        loss, size, logs = loss * 0, size * 0, {name: log * 0 for name, log in logs.items()}
    return loss, size, logs


def _as_tensor(value: Any, like: Tensor) -> Tensor:
    if torch.is_tensor(value):
        return value
    kind = torch.float64 if isinstance(value, float) else torch.int64
    return like.new_full((), value, dtype=kind)


def check_choices(cfg: Any, **allowed: tuple[str, ...]) -> None:
    """Reject the first option that is none of those allowed; options by name."""
    for name, choices in allowed.items():
        if getattr(cfg, name) not in choices:
            raise UserError(
                f"`--{option_name(name)}` must be {' or '.join(choices)}, got "
                f"{getattr(cfg, name)!r}"
            )
