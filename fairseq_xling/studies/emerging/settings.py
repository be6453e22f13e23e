"""The settings of "Emerging Cross-lingual Structure" (Conneau et al. 2020), Table 1.

One entry per row; a setting is a vocabulary, a text, and options of `fairseq-train`.
"""

import dataclasses
import math

from fairseq_xling.results.paired import Claim
from fairseq_xling.text.vocabularies import modes


@dataclasses.dataclass(frozen=True)
class Setting:
    """One row of the table.

    Attributes:
        code: its row in the specification; ``C`` and ``T`` are our controls, ``A5-union`` is A5
            with the vocabulary of A3, so that only anchors differ.
        name: its name in the paper; ``{third}`` and ``{sixth}`` stand for the last layer of the
            paper's L1-3 and L1-6 at the given depth, ``{fourth}`` for the one after ``{third}``,
            ``{depth}`` for the depth.
        vocab: vocabulary mode of `fairseq-xling prepare`.
        separate: the sharing plan, with the same fields.
        other_text: whether the non-English training text is of another domain.
        options: further options of `fairseq-train`.
        paper_xnli: mean XNLI accuracy (%) over fr, ru and zh in the paper, if reported.
    """

    code: str
    name: str
    vocab: str
    separate: str = ""
    other_text: bool = False
    options: tuple[str, ...] = ()
    paper_xnli: float | None = None

    def at_depth(self, layers: int) -> "Setting":
        """The setting with its fields filled in for a model of ``layers`` layers.

        >>> Setting("A7", "L1-{third}", "separate", "emb,1-{third}").at_depth(8).separate
        'emb,1-3'
        """
        third = scaled(3, layers)
        fields = {"third": third, "sixth": scaled(6, layers), "depth": layers}
        fields["fourth"] = min(third + 1, layers)
        return dataclasses.replace(
            self, name=self.name.format(**fields), separate=self.separate.format(**fields)
        )

    @property
    def train_options(self) -> list[str]:
        """What this setting adds to `fairseq-train`. Random tokens come from the same language in
        every run with a private part."""
        private = ("--separate", self.separate, "--random-within-language") if self.separate else ()
        return [*private, *self.options]

    def bpe(self, size: int) -> str:
        """Table 1's column "BPE merges" with a joint vocabulary of ``size`` pieces.

        >>> Setting("A1", "", "joint").bpe(80_000), Setting("A3", "", "union").bpe(80_000)
        ('80,000', '40,000/40,000')
        """
        share = len(modes[self.vocab]().groups(["a", "b"]))
        return "/".join([f"{size // share:,}"] * share)

    @property
    def needs_dictionary(self) -> bool:
        return "--extra-anchors" in self.options


def scaled(layer: int, layers: int) -> int:
    """``layer`` of the paper's 8 as the same share of ``layers``, at least 1; halves round up.

    >>> [scaled(3, n) for n in (1, 4, 8, 12)], [scaled(6, n) for n in (1, 4, 8, 12)]
    ([1, 2, 3, 5], [1, 3, 6, 9])
    """
    return max(1, math.floor(layer * layers / 8 + 0.5))


SETTINGS = (
    Setting("A1", "Default", "joint", paper_xnli=70.2),
    Setting("A2", "Other domain", "joint", other_text=True),
    Setting("A3", "Default anchors", "union"),
    Setting("A4", "No anchors", "prefixed", paper_xnli=69.1),
    Setting("A5", "Extra anchors", "joint", options=("--extra-anchors",)),
    Setting("A6", "Sep Emb", "separate", "emb"),
    Setting("A7", "Sep Emb + L1-{third}", "separate", "emb,1-{third}"),
    Setting("A8", "Sep Emb + L1-{sixth}", "separate", "emb,1-{sixth}", paper_xnli=40.6),
    Setting("A9", "Sep L1-{third}", "union", "1-{third}"),
    Setting("A10", "Sep L1-{sixth}", "union", "1-{sixth}"),
    Setting("A5-union", "Extra anchors, union", "union", options=("--extra-anchors",)),
    Setting("C", "Control: nothing shared", "separate", "emb,1-{depth}"),
    Setting("T", "Control: Sep L{fourth}-{depth}", "union", "{fourth}-{depth}"),
)

# Of transfer, by the codes of the settings.
CLAIMS = (
    Claim("Alignment needs shared parameters (abstract).", "A1", "C"),
    Claim("Languages align even if their texts are of different domains (abstract).", "A2", "C"),
    Claim("Languages align even without shared words (abstract).", "A4", "C"),
    Claim("Anchors hardly matter (4.2; XNLI 70.2, without them 69.1).", "A4", "A1", alike=True),
    Claim("Extra anchors help (4.2).", "A5", "A1"),
    Claim("Shared layers align languages that share no embeddings (4.3).", "A6", "C"),
    Claim("The fewer layers are shared, the worse; embeddings shared (4.3).", "A3", "A10"),
    Claim("The fewer layers are shared, the worse; embeddings separate (4.3).", "A6", "A8"),
    Claim(
        "Separate embeddings and layers cost more than missing anchors (Table 1; XNLI 40.6 and "
        "69.1).",
        *("A4", "A8"),
    ),
)
