"""Without word pairs, by adversarial training against a discriminator (TreLM, appendix A.1).

The defaults are MUSE's, for 200,000 words. A vocabulary of a few thousand needs less noise and a
stronger pull: on synthetic German, batches of 128 with beta 0.01 succeed for some seeds, the
defaults for none.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from fairseq_xling.mapping.adversarial_options import AdversarialOptions
from fairseq_xling.mapping.methods import METHODS, Fit, Surroundings

if TYPE_CHECKING:
    from fairseq_xling.mapping.space import Space

_LOST = 0.05  # below this smallest singular value, different vectors collapse


@METHODS.register("adversarial")
class Adversarial:
    """The map of `train_adversarial`, made exactly orthogonal."""

    help = "no pairs: adversarial training against a discriminator"
    normalize = (
        "centre,scale"  # keeps lengths: frequent words have long vectors, which helps matching
    )
    seeded = True
    from_shared_words = False

    options = AdversarialOptions

    def steps(self, options: AdversarialOptions) -> int:
        return options.epochs * -(-options.epoch_size // options.batch)

    def fit(
        self, moving: Space, fixed: Space, options: AdversarialOptions, around: Surroundings
    ) -> Fit:
        from fairseq_xling.mapping.adversarial import train_adversarial

        w, epochs = train_adversarial(
            moving.vectors,
            fixed.vectors,
            options,
            around.seed,
            around.criterion,
            around.show,
        )
        flaw = None
        if len(epochs) < options.epochs:
            flaw = f"the map became NaN or infinite in epoch {len(epochs) + 1}"
        elif all(epoch.singular_values[0] < _LOST for epoch in epochs):
            least = epochs[-1].singular_values[0]
            flaw = f"the map lost a direction: its smallest singular value is {least:.2g}"
        return Fit(w, [dataclasses.asdict(epoch) for epoch in epochs], flaw)
