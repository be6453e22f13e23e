"""What a corpus is to have."""

import json
from dataclasses import asdict, dataclass
from typing import Any

from fairseq_xling.corpus.corpus import resolve
from fairseq_xling.corpus.tables import DOMAINS
from fairseq_xling.ranges import NOT_NEGATIVE, check_fields, numbers
from fairseq_xling.registry import unknown_name
from fairseq_xling.seeds import SEEDS


@dataclass(frozen=True)
class Settings:
    """What to write.

    Attributes:
        languages: codes; the first is paired with each other one.
        sentences: monolingual training sentences per language.
        parallel_sentences: parallel training sentences.
        held_out: sentences of valid, and of test.
        nli: training entailment pairs; valid and test have ``held_out`` each (none if 0).
        structures: training sentences with relations and events in each language; valid and test
            have ``held_out`` each (none if 0).
        annotated: training sentences with gold trees and entities, the first of each language.
        seed: random seed; each gives a different corpus.
        domain: a key of ``DOMAINS``.
        spaced: also write spaces between the words of languages without spaces.
    """

    languages: tuple[str, ...]
    sentences: int = numbers(10_000, NOT_NEGATIVE)
    parallel_sentences: int = numbers(0, NOT_NEGATIVE)
    held_out: int = numbers(1000, NOT_NEGATIVE)
    nli: int = numbers(0, NOT_NEGATIVE)
    structures: int = numbers(0, NOT_NEGATIVE)
    annotated: int = numbers(1000, NOT_NEGATIVE)
    seed: int = numbers(1, SEEDS)
    domain: str = "default"
    spaced: bool = False

    def check(self) -> None:
        """Raise ``UserError`` unless all settings are valid."""
        resolve(self.languages)
        check_fields(type(self), self)
        if self.domain not in DOMAINS:
            raise unknown_name("`--domain`", self.domain, sorted(DOMAINS))

    def to_json(self) -> dict[str, Any]:
        """All settings, for provenance; what older versions lack is left out if unused."""
        found = asdict(self)
        if not self.structures:
            del found["structures"]
        return json.loads(json.dumps(found))
