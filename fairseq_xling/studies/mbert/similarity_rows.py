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
class Row:
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


def _by_name(rows: Iterable[Row]) -> dict[str, Row]:
    return {row.name: row for row in rows}


ROWS = _by_name(
    (
        Row("bilingual", "bilingual", "joint", mapped=False),
        Row("bilingual-mapped", "bilingual, mapped", "joint", mapped=True),
        Row("separate", "bilingual, Sep Emb", "separate", mapped=False),
        Row("sep-emb", "bilingual, Sep Emb", "separate", mapped=False, same=True, other=False),
        Row("mapped", "monolingual, mapped", "apart", mapped=True, same=True),
        Row("unmapped", "monolingual, unmapped", "apart", mapped=False, same=True),
        Row("random", "second side random, mapped", "random", mapped=True),
    )
)
