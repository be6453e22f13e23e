"""Early stopping: the weights of the best pass, and when to stop waiting for a better one."""

import copy

from torch import nn


class BestPass:
    """Keeps the weights of the best pass of a training.

    Higher figures of a pass are better; the first decides which pass is best, and in case of a tie
    the next.

    Args:
        network: what is trained.
        patience: training ends after so many passes in a row without a new maximum of a figure.
        watched: how many of the figures, from the first, count for that.

    Attributes:
        epoch: the best pass, from 1.

    >>> best = BestPass(nn.Linear(1, 1), patience=2, watched=1)
    >>> [best.ends(figure) for figure in (0.5, 0.7, 0.7, 0.6)], best.epoch
    ([False, False, False, True], 2)
    """

    def __init__(self, network: nn.Module, patience: int, watched: int):
        self.epoch = 0
        self._network, self._patience, self._watched = network, patience, watched
        self._kept = network.state_dict()
        self._figures: tuple[float, ...] = ()
        self._highest = [-float("inf")] * watched
        self._passes = self._waited = 0

    def ends(self, *figures: float) -> bool:
        """Whether training is to end, after one more pass that reached ``figures``."""
        self._passes += 1
        if figures > self._figures:
            self._figures, self.epoch = figures, self._passes
            self._kept = copy.deepcopy(self._network.state_dict())
        seen = list(zip(figures[: self._watched], self._highest, strict=True))
        self._waited = 0 if any(figure > before for figure, before in seen) else self._waited + 1
        self._highest = [max(before, figure) for figure, before in seen]
        return self._waited >= self._patience

    def restore(self) -> None:
        """Restore the weights of the best pass."""
        self._network.load_state_dict(self._kept)
