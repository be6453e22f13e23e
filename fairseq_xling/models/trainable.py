"""What fairseq's trainer needs of a model so that it trains alike in one process and in several."""

from collections.abc import Callable
from typing import Any, ClassVar

import torch
from fairseq.models import BaseFairseqModel


class TrainableModel(BaseFairseqModel):
    """The base of all models here.

    ``model(step=f)`` is ``f(model)``. torch's DistributedDataParallel exchanges the gradients of
    what is computed inside a call of the model that it wraps; a loss that reads other parts of the
    model than its output, or that sets something on it, is therefore computed as such an ``f``,
    which receives the model itself and not its wrapper.

    Attributes:
        may_lack_gradients: whether a batch may leave parameters without a gradient, such as those
            of another language, so that data parallelism has to look for them at each step.
    """

    may_lack_gradients: ClassVar[bool] = True

    def __call__(
        self, *args: Any, step: Callable[["TrainableModel"], Any] | None = None, **kwargs: Any
    ) -> Any:
        return super().__call__(*args, **kwargs) if step is None else step(self)

    def all_reduce_grads(self) -> None:
        """fairseq's hook after the backward passes of an update: missing gradients become zeros.

        `legacy_ddp`, which wraps this model, does so itself. The norm is then a sum over the same
        terms, and so the same number, in one process and in several.
        """
        for parameter in self.parameters():
            if parameter.requires_grad and parameter.grad is None:
                parameter.grad = torch.zeros_like(parameter)

    def end_update(self) -> None:
        """Called after each update of the weights, in every process."""
