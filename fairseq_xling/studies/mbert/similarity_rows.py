"""The rows of the similarity study: which encoders are compared, mapped or not.

A row is one entry; the families of encoders are in `fairseq_xling.studies.mbert.similarity_models`.
"""

import dataclasses
from collections.abc import Iterable


@dataclasses.dataclass(frozen=True)
class Pair:
    """Two languages, or one language twice."""

    source: str
    target: str

    @property
    def same(self) -> bool:
        """Whether both sides are the same text."""
        return self.source == self.target

    @property
    def name(self) -> str:
        """Its name in files and tables.

        >>> Pair("en", "de").name, Pair("en", "en").name
        ('en-de', 'en-en_2')
        """
        return f"{self.source}-{self.second}"

    @property
    def second(self) -> str:
        """The code of the second side, which a model of one language twice has to distinguish."""
        return f"{self.source}_2" if self.same else self.target


@dataclasses.dataclass(frozen=True)
class EncoderKind:
    """One kind of encoders.

    Attributes:
        name: what users type; title: what tables say.
        family: the family of the two encoders, by name.
        mapped: whether the first side is mapped into the space of the second.
        same, other: whether it is for one language twice, and for two languages.
    """

    name: str
    title: str
    family: str
    mapped: bool
    same: bool = False
    other: bool = True

    def fits(self, pair: Pair) -> bool:
        """Whether the row has this pair."""
        return self.same if pair.same else self.other


def _by_name(rows: Iterable[EncoderKind]) -> dict[str, EncoderKind]:
    return {row.name: row for row in rows}


ROWS = _by_name(
    (
        EncoderKind("bilingual", "bilingual", "joint", mapped=False),
        EncoderKind("bilingual-mapped", "bilingual, mapped", "joint", mapped=True),
        EncoderKind("separate", "bilingual, Sep Emb", "separate", mapped=False),
        EncoderKind(
            "sep-emb", "bilingual, Sep Emb", "separate", mapped=False, same=True, other=False
        ),
        EncoderKind("mapped", "monolingual, mapped", "apart", mapped=True, same=True),
        EncoderKind("unmapped", "monolingual, unmapped", "apart", mapped=False, same=True),
        EncoderKind("random", "second side random, mapped", "random", mapped=True),
    )
)
