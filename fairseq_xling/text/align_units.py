"""The units that alignment links connect: subwords of the vocabulary, or words."""

from dataclasses import dataclass

from fairseq_xling.registry import Registry


@dataclass(frozen=True)
class AlignUnit:
    """A unit; with ``whole_words``, links must be spread over the pieces of each word."""

    name: str
    whole_words: bool


align_units: Registry[AlignUnit] = Registry("alignment unit")
for _unit in (AlignUnit("subword", whole_words=False), AlignUnit("word", whole_words=True)):
    align_units.register(_unit.name)(_unit)
