"""No adversary: the tagger alone."""

from fairseq_xling.models.tagging.adversaries import Losses, Settings, adversaries


@adversaries.register("none")
class NoAdversary:
    """L_tag."""

    discriminates = False

    def __init__(self, settings: Settings):
        pass

    def __call__(self, model, parts, update, weight, tag) -> Losses:
        tagging = tag(model(parts))
        return Losses(tagging, tagging)
