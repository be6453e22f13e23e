"""Without word pairs, by adversarial training against a discriminator (TreLM, appendix A.1).

The defaults are MUSE's, for 200,000 words. A vocabulary of a few thousand needs less noise and a
stronger pull: on synthetic German, batches of 128 with beta 0.01 succeed for some seeds, the
defaults for none.
"""

from __future__ import annotations

import argparse
import dataclasses
from typing import TYPE_CHECKING, Any

from fairseq_xling.mapping.methods import METHODS, Fit, Surroundings
from fairseq_xling.ranges import BELOW_ONE, COUNT, NOT_NEGATIVE, Number, Range

if TYPE_CHECKING:
    from fairseq_xling.mapping.adversarial import AdversarialOptions
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

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        add = parser.add_argument
        add(
            "--epochs",
            type=Number(int, COUNT),
            default=5,
            metavar="N",
            help="epochs of adversarial training",
        )
        add(
            "--epoch-size",
            type=Number(int, COUNT),
            default=1_000_000,
            metavar="N",
            help="words per epoch",
        )
        add(
            "--batch",
            type=Number(int, COUNT),
            default=32,
            metavar="N",
            help="words of each side per batch; 128 for small vocabularies",
        )
        add(
            "--hidden",
            type=Number(int, COUNT),
            default=2048,
            metavar="N",
            help="hidden units of each of the discriminator's two layers; 512 is eight times as "
            "fast",
        )
        add(
            "--dropout",
            type=Number(float, BELOW_ONE),
            default=0.1,
            metavar="P",
            help="dropout on the discriminator's input",
        )
        add(
            "--smoothing",
            type=Number(float, Range(0, 0.5, below=True)),
            default=0.1,
            metavar="P",
            help="smoothing of the labels 0 and 1",
        )
        add(
            "--discriminator-steps",
            type=Number(int, COUNT),
            default=5,
            metavar="N",
            help="updates of the discriminator per update of the map",
        )
        add(
            "--lr",
            type=Number(float, Range(0, 1, above=True)),
            default=0.1,
            metavar="X",
            help="learning rate of both",
        )
        add(
            "--lr-decay",
            type=Number(float, Range(0, 1, above=True)),
            default=0.98,
            metavar="X",
            help="decay of the map's, per epoch",
        )
        add(
            "--lr-shrink",
            type=Number(float, Range(0, 1, above=True)),
            default=0.5,
            metavar="X",
            help="factor of the map's learning rate when the criterion falls, from the second "
            "time on",
        )
        add(
            "--beta",
            type=Number(float, Range(0, 0.5, below=True)),
            default=0.001,
            metavar="X",
            help="pull towards orthogonal maps; 0.01 for small vocabularies",
        )
        add(
            "--most-frequent",
            type=Number(int, NOT_NEGATIVE),
            default=75_000,
            metavar="N",
            help="most frequent words of each language that the discriminator sees; 0 = all",
        )

    def settings(self, args: argparse.Namespace) -> dict[str, Any]:
        return dataclasses.asdict(_options(args))

    def steps(self, args: argparse.Namespace) -> int:
        return args.epochs * -(-args.epoch_size // args.batch)

    def fit(
        self, moving: Space, fixed: Space, args: argparse.Namespace, around: Surroundings
    ) -> Fit:
        from fairseq_xling.mapping.adversarial import train_adversarial

        w, epochs = train_adversarial(
            moving.vectors,
            fixed.vectors,
            _options(args),
            around.seed,
            around.criterion,
            around.show,
        )
        flaw = None
        if len(epochs) < args.epochs:
            flaw = f"the map became NaN or infinite in epoch {len(epochs) + 1}"
        elif all(epoch.singular_values[0] < _LOST for epoch in epochs):
            least = epochs[-1].singular_values[0]
            flaw = f"the map lost a direction: its smallest singular value is {least:.2g}"
        return Fit(w, [dataclasses.asdict(epoch) for epoch in epochs], flaw)


def _options(args: argparse.Namespace) -> AdversarialOptions:
    from fairseq_xling.mapping.adversarial import AdversarialOptions

    fields = dataclasses.fields(AdversarialOptions)
    return AdversarialOptions(**{field.name: getattr(args, field.name) for field in fields})
