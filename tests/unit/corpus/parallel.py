"""The sentences of the corpus in several languages at once."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from fairseq_xling.corpus import LANGUAGES
from fairseq_xling.corpus.corpus import draw
from fairseq_xling.corpus.realiser import Sentence, align


@dataclass
class Parallel:
    """Sentence ``index`` in each language; ``key`` is what it says."""

    index: int
    topic: str
    key: tuple[str, ...]
    sentences: dict[str, Sentence]

    def alignment(self, source: str, target: str) -> set[tuple[int, int]]:
        return align(self.sentences[source].tokens, self.sentences[target].tokens)


def generate(
    languages: Sequence[str], count: int, seed: int, start: int = 0, domain: str = "default"
) -> Iterator[Parallel]:
    """Sentences ``start`` to ``start + count``."""
    for index in range(start, start + count):
        topic, meaning, english = draw(seed, index, domain)
        sentences = {code: LANGUAGES[code].sentence(meaning) for code in languages}
        assert sentences.get("en", english) == english
        yield Parallel(index, topic, meaning.key(), sentences)
