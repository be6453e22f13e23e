"""Flipped labels: D and the rest take turns."""

import contextlib
from collections.abc import Iterator

from torch import Tensor, nn

from fairseq_xling.models.tagging.adversaries import Losses, Settings, adversaries
from fairseq_xling.models.tagging.discriminator import language_loss


@adversaries.register("flip")
class Flip:
    """An update of D on L_D, then k of the rest on L_tag + lambda L_D with the labels swapped.

    Which of them an update is depends on its number alone, so a training resumes where it was.
    """

    discriminates = True

    def __init__(self, settings: Settings):
        self.steps, self.smoothing = settings.steps, settings.smoothing

    def __call__(self, model, parts, update, weight, tag) -> Losses:
        if update % (1 + self.steps) == 0:
            outputs = model(parts, through=Tensor.detach, only_language=True)
            logits, target = outputs["language"], outputs["target"]
            language = language_loss(logits, target, self.smoothing)
            return Losses(language, None, language, logits, target)
        with frozen(model.discriminator):
            outputs = model(parts, through=lambda states: states)
        logits, target = outputs["language"], outputs["target"]
        tagging = tag(outputs)
        total = tagging + weight * language_loss(logits, ~target)
        language = language_loss(logits.detach(), target, self.smoothing)
        return Losses(total, tagging, language, logits, target)


@contextlib.contextmanager
def frozen(module: nn.Module) -> Iterator[None]:
    """Inside, what ``module`` computes has no gradient in its parameters."""
    parameters = list(module.parameters())
    for parameter in parameters:
        parameter.requires_grad_(False)
    try:
        yield
    finally:
        for parameter in parameters:
            parameter.requires_grad_(True)
