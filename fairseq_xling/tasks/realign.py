"""Entities of characters, realigned to the words of a segmenter.

Conneau et al. (2020), "Emerging Cross-lingual Structure", Section 3.2: Chinese entities are
annotated on characters, while the text that encoders read is segmented. A word belongs to the
entity that covers at least half of its characters, of two such entities to the first one.

N characters of a sentence, W words.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from fairseq_xling.errors import UserError, shown
from fairseq_xling.files import atomic_write, blank_separated, read_lines
from fairseq_xling.tasks.formats.conll import Conll, TaggedItem
from fairseq_xling.tasks.spans import check_bio, spans


class Realigned(NamedTuple):
    """Tags (W,), and how many entities kept both boundaries, moved one, or have no word."""

    tags: list[str]
    kept: int
    moved: int
    lost: int


@dataclass(frozen=True)
class Summary:
    """What `realign_file` did: numbers of sentences, and of entities as in `Realigned`."""

    sentences: int
    kept: int
    moved: int
    lost: int


def realign(entities: Sequence[tuple[str, int, int]], lengths: Sequence[int]) -> Realigned:
    """The tags of words from entities of characters.

    Args:
        entities: type and characters [first, end) of each, in order, without overlap.
        lengths: of the words, in characters; their sum is N.

    >>> realign([("LOC", 0, 3), ("PER", 3, 4)], [2, 2, 1])  # half of the second word is each's
    Realigned(tags=['B-LOC', 'I-LOC', 'O'], kept=0, moved=1, lost=1)
    """
    tags: list[str] = []
    found: dict[int, tuple[int, int]] = {}
    start, nearest = 0, 0
    for length in lengths:
        end = start + length
        while nearest < len(entities) and entities[nearest][2] <= start:
            nearest += 1
        owner = None
        for number in range(nearest, len(entities)):
            _, first, last = entities[number]
            if first >= end:
                break
            if 2 * (min(end, last) - max(start, first)) >= length:
                owner = number
                break
        if owner is None:
            tags.append("O")
        else:
            tags.append(f"{'I' if owner in found else 'B'}-{entities[owner][0]}")
            found[owner] = (found[owner][0] if owner in found else start, end)
        start = end
    kept = sum(found.get(number) == (a, b) for number, (_, a, b) in enumerate(entities))
    return Realigned(tags, kept, len(found) - kept, len(entities) - len(found))


def realign_file(source: Path, words: Path, output: Path, columns: Mapping[str, str]) -> Summary:
    """Write ``word<TAB>tag`` lines for the sentences of ``source``, a blank line after each.

    Lines with ``-DOCSTART-`` are kept.

    Args:
        source: a character, or several, and its BIO tag on each line, as in `tasks.formats.conll`.
        words: the segmenter's output, a sentence a line, spaces between words; without the
            language that WikiANN's tokens begin with, which is written again.

    Raises:
        UserError: for a malformed file, or words that do not spell the same text; names file and
            line.
    """
    sentences = kept = moved = lost = 0
    with atomic_write(output, "w") as file:
        for item, row in _pairs(source, words, columns):
            one = realign(_entities(item), [len(_letters(word)) for word in row])
            rows = zip(row, one.tags, strict=True)
            lines = (f"{item.language}{word}\t{tag}\n" for word, tag in rows)
            file.writelines([*(f"{line}\n\n" for line in item.documents), *lines, "\n"])
            sentences, kept = sentences + 1, kept + one.kept
            moved, lost = moved + one.moved, lost + one.lost
    return Summary(sentences, kept, moved, lost)


def _pairs(
    source: Path, words: Path, columns: Mapping[str, str]
) -> Iterator[tuple[TaggedItem, list[str]]]:
    """The sentences with their words."""
    lines, number = enumerate(read_lines(words), start=1), 0
    for item in Conll.read(source, columns):
        if item.tags is None:
            raise UserError(f"{item.place}: must have a tag for each character, got no tags")
        check_bio(item)
        number, line = next(lines, (number + 1, None))
        if line is None:
            raise UserError(f"{words}:{number}: has no line for the sentence of {item.place}")
        row, text = blank_separated(line), _letters("".join(item.words))
        if _letters(line) != text:
            raise UserError(
                f"{words}:{number}: must spell the text of {item.place}, {shown(text)}, got "
                f"{shown(line)}"
            )
        yield item, row
    extra = next(lines, None)
    if extra is not None:
        raise UserError(f"{words}:{extra[0]}: must end with the last sentence of {source}")


def _letters(text: str) -> str:
    """The characters that count: segmenters may change white space inside of words."""
    return "".join(text.split())


def _entities(item: TaggedItem) -> list[tuple[str, int, int]]:
    """Entities in characters: type, first, end."""
    ends = [0]
    for word in item.words:
        ends.append(ends[-1] + len(_letters(word)))
    found = sorted(spans(item.tags or ()), key=lambda span: span[1])
    return [(kind, ends[first], ends[last + 1]) for kind, first, last in found]
