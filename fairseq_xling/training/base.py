"""What every task of ours has in common: options in their ranges, number format, resuming."""

from typing import Any

import torch
from fairseq.tasks import FairseqTask

from fairseq_xling.core.errors import UserError
from fairseq_xling.core.ranges import check_fields, option_name
from fairseq_xling.engine.commands import check_hydra_options
from fairseq_xling.engine.compat import task_config
from fairseq_xling.training.precision import InPrecision
from fairseq_xling.training.private import leaving_alone, zero_untouched


class Task(InPrecision, FairseqTask):
    """A task of fairseq whose configuration is a `PrecisionConfig`.

    The parameters in ``_private`` are left alone by a step whose batches have nothing of theirs.
    """

    def __init__(self, cfg: Any, **kwargs: Any):
        """Raises UserError for the first option that is out of its range, fairseq's own included,
        before any data is opened."""
        super().__init__(cfg, **kwargs)
        check_fields(task_config(type(self)), cfg)
        check_hydra_options(cfg)
        self._private: list[torch.nn.Parameter] = []
        self._untouched: list[torch.nn.Parameter] = []

    def train_step(self, sample, model, criterion, optimizer, update_num, ignore_grad=False):
        first = all(parameter.grad is None for parameter in self._private)
        with self.precision():
            result = super().train_step(
                sample, model, criterion, optimizer, update_num, ignore_grad
            )
        if first:  # all batches of a step are of the same kind
            self._untouched = zero_untouched(self._private)
        return result

    def valid_step(self, sample, model, criterion):
        with self.precision():
            return super().valid_step(sample, model, criterion)

    def optimizer_step(self, optimizer, model, update_num):
        with leaving_alone(optimizer, self._untouched):
            optimizer.step()

    @property
    def source_dictionary(self) -> Any:
        """None: nothing here needs fairseq's."""
        return None

    @property
    def target_dictionary(self) -> Any:
        """None, likewise."""
        return None

    def get_checkpoint_dict(self) -> dict[str, Any]:
        """fairseq's hook: what `--patience` has counted. fairseq keeps it on a function, and
        forgets it where a training resumes."""
        from fairseq_cli.train import should_stop_early

        return {type(self).__name__: {"early_stopping": dict(vars(should_stop_early))}}

    def set_checkpoint_dict(self, state: dict[str, Any]) -> None:
        """fairseq's hook: what `get_checkpoint_dict` has put under the name of the class."""
        from fairseq_cli.train import should_stop_early

        vars(should_stop_early).update(state.get("early_stopping", {}))


def check_choices(cfg: Any, **allowed: tuple[str, ...]) -> None:
    """Reject the first option that is none of those allowed; options by name."""
    for name, choices in allowed.items():
        if getattr(cfg, name) not in choices:
            raise UserError(
                f"`--{option_name(name)}` must be {' or '.join(choices)}, got "
                f"{getattr(cfg, name)!r}"
            )
