"""The settings of `fairseq-xling prepare`, checked."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from fairseq_xling.core.errors import UserError, about
from fairseq_xling.core.ranges import (
    COUNT,
    FIRST_WORD,
    NOT_NEGATIVE,
    POSITIVE,
    SEEDS,
    SHARE,
    Range,
    check_fields,
    numbers,
)
from fairseq_xling.core.registry import unknown_name
from fairseq_xling.text.aligners import aligners
from fairseq_xling.text.link_rules import LOWEST, many_to_one, symmetrizations
from fairseq_xling.text.links import align_units
from fairseq_xling.text.segment import segmentations
from fairseq_xling.text.vocabularies import modes
from fairseq_xling.text.vocabulary_types import vocabulary_types


@dataclass(frozen=True)
class PrepareOptions:
    """Everything that determines the finished folder, except its input files."""

    languages: tuple[str, ...]
    vocab: str = "joint"
    vocab_size: int = numbers(8000, COUNT)
    vocab_type: str = "bpe"
    alphabet: int | None = numbers(None, Range(2))
    vocab_alpha: float = numbers(0.7, SHARE)
    vocab_sample: float = numbers(8.0, POSITIVE)
    segment: dict[str, str] = field(default_factory=dict)
    aligner: str = "fast_align"
    symmetrise: str = "none"
    many_to_one: str = LOWEST
    align_unit: str | None = None
    links_from: int = numbers(0, FIRST_WORD)
    held_out: int = numbers(0, NOT_NEGATIVE)
    seed: int = numbers(1, SEEDS)

    def __post_init__(self) -> None:
        check_fields(type(self), self)
        chosen = [
            ("vocab", self.vocab, modes),
            ("aligner", self.aligner, aligners),
            ("symmetrise", self.symmetrise, symmetrizations),
            ("many-to-one", self.many_to_one, many_to_one),
            *(("segment", name, segmentations) for name in self.segment.values()),
            ("vocab-type", self.vocab_type, vocabulary_types),
        ]
        if self.align_unit is not None:
            chosen.append(("align-unit", self.align_unit, align_units))
        for option, name, known in chosen:
            with about(f"`--{option}`"):
                known.check(name)
        vocabulary_types[self.vocab_type].check()
        for name in self.segment.values():
            segmentations[name].check()

    @property
    def aligner_unit(self) -> str:
        """What the aligner connects (default: subwords, as in TreLM, Appendix A.5)."""
        return self.align_unit or "subword"

    @property
    def file_unit(self) -> str:
        """What the links of existing Pharaoh files connect (default: words)."""
        return self.align_unit or "word"

    def to_json(self) -> dict[str, Any]:
        """All settings, for ``meta.json``.

        What older versions did not offer is left out where it is as it was, so that folders that
        they prepared are recognised.
        """
        found = {**asdict(self), "languages": list(self.languages)}
        if self.many_to_one == LOWEST:
            del found["many_to_one"]
        for name in ("links_from", "held_out"):
            if found[name] == 0:
                del found[name]
        return found


def parse_segmentation(texts: Sequence[str], languages: Sequence[str]) -> dict[str, str]:
    """The segmentation of every language from options like ``zh=char,en=space``.

    >>> parse_segmentation(["zh=char"], ["en", "zh"])
    {'en': 'pre', 'zh': 'char'}
    """
    chosen: dict[str, str] = {}
    for text in ",".join(texts).split(",") if texts else ():
        lang, equals, name = text.partition("=")
        if not equals:
            raise UserError(f"`--segment` must look like zh=char, got {text!r}")
        with about(f"`--segment` {text}"):
            if lang not in languages:
                raise unknown_name("language", lang, list(languages))
            if name not in segmentations:
                raise unknown_name("segmentation", name, list(segmentations))
        if lang in chosen:
            raise UserError(f"`--segment` names language {lang!r} twice")
        chosen[lang] = name
    return {lang: chosen.get(lang, "pre") for lang in languages}
