"""Gradient reversal: one backward pass for all (Ganin and Lempitsky, 2015)."""

import functools

from fairseq_xling.models.tagging.adversaries import Losses, Settings, adversaries
from fairseq_xling.models.tagging.discriminator import language_loss
from fairseq_xling.models.tagging.reversal import reverse


@adversaries.register("reversal")
class Reversal:
    """L_tag + L_D(D(R_lambda(h))): D learns to tell the languages apart, what it reads not to."""

    discriminates = True

    def __init__(self, settings: Settings):
        self.smoothing = settings.smoothing

    def __call__(self, model, parts, update, weight, tag) -> Losses:
        outputs = model(parts, through=functools.partial(reverse, weight=weight))
        tagging = tag(outputs)
        language = language_loss(outputs["language"], outputs["target"], self.smoothing)
        return Losses(tagging + language, tagging, language, outputs["language"], outputs["target"])
