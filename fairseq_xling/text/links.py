"""Word alignment links as flat arrays: Pharaoh text in and out, and the order of target tokens.

Many sentence pairs are stored back to back. A link is (row, i, j): in sentence pair ``row``, source
item i belongs to target item j, both from 0 (in files perhaps from 1). The *order* of a target item
is the index + 1 of the source item it gets its state from, 0 for none (TreLM, Section 3.1: ALIGN(X,
Y)).
"""

import codecs
import logging
import re
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice

import numpy as np

from fairseq_xling.core.errors import UserError
from fairseq_xling.core.registry import Registry

# Whether a unit is whole words: links must then be spread over the pieces of each.
align_units: Registry[bool] = Registry("alignment unit")
align_units.register("subword")(False)
align_units.register("word")(True)

logger = logging.getLogger(__name__)

_TELLING = 10  # sentence pairs with links of which some link has a 0, if they count from 0
_POSSIBLE = re.compile(rb"\d+[?pP]\d+")
_LINK = rb"\d{1,9}-\d{1,9}"
_SCORED = _LINK + rb":(?:0(?:\.\d+)?|1(?:\.0+)?)"
_LINE, _SCORED_LINE = (
    re.compile(rb"(?:" + one + rb"(?:\s+" + one + rb")*)?") for one in (_LINK, _SCORED)
)


@dataclass(frozen=True)
class Links:
    """Links of ``rows`` sentence pairs; the arrays (n,) int64 are sorted by row.

    ``probability`` (n,) float64 lies in [0, 1]; None if it is unknown.
    """

    rows: int
    row: np.ndarray
    source: np.ndarray
    target: np.ndarray
    probability: np.ndarray | None = None

    def swapped(self) -> "Links":
        """The same links seen from the other side."""
        return Links(self.rows, self.row, self.target, self.source, self.probability)


def parse_pharaoh(data: bytes, path: str, first_line: int = 1, first: int = 0) -> Links:
    """Links of a block of lines ``i-j i-j ...``; an empty line has none.

    All or none of them have a probability: ``i-j:0.75``.

    Args:
        first: the number that the first word has in ``data``, 0 or 1.

    >>> links = parse_pharaoh(b"0-0 2-1\\n\\n1-0\\n", "a.pharaoh")
    >>> links.rows, links.row.tolist(), links.source.tolist(), links.target.tolist()
    (3, [0, 0, 2], [0, 2, 1], [0, 1, 0])
    """
    lines = data.removeprefix(codecs.BOM_UTF8).split(b"\n")
    if lines[-1] == b"":
        lines.pop()
    scored = b":" in (next((line for line in lines if line.strip()), b"").split() or [b""])[0]
    pattern, form = (_SCORED_LINE, "0-0:0.5") if scored else (_LINE, "0-0")
    for number, line in enumerate(lines, first_line):
        if not pattern.fullmatch(line.strip()):
            bad = next(x for x in line.split() if not pattern.fullmatch(x))
            text = bad.decode("utf-8", "replace")
            hint = "; leave out possible links, or write them as sure ones"
            hint = hint if _POSSIBLE.fullmatch(bad) else ""
            raise UserError(f"{path}:{number}: links must look like {form}, got {text!r}{hint}")
    counts = np.fromiter((line.count(b"-") for line in lines), dtype=np.int64, count=len(lines))
    numbers = b" ".join(lines).replace(b"-", b" ").replace(b":", b" ").split()
    row, step = np.repeat(np.arange(len(lines)), counts), 3 if scored else 2
    source, target = (np.array(numbers[k::step], dtype=np.int64) for k in (0, 1))
    probability = np.array(numbers[2::3], dtype=np.float64) if scored else None
    if len(below := np.flatnonzero((source < first) | (target < first))):
        k = below[0]
        raise UserError(
            f"{path}:{first_line + row[k]}: with `--links-from {first}` links must not have a 0, "
            f"got {source[k]}-{target[k]}"
        )
    return Links(len(lines), row, source - first, target - first, probability)


class FirstWord:
    """Warns of a file of links whose words seem to count from 1, though no link leads outside."""

    def __init__(self, path: str, first: int):
        self._path, self._rows, self._zero = path, 0, first > 0

    def see(self, links: Links) -> None:
        """The next links of the file."""
        self._rows += len(np.unique(links.row))
        self._zero |= bool((links.source == 0).any() or (links.target == 0).any())

    def end(self) -> None:
        """Nothing follows."""
        if not self._zero and self._rows >= _TELLING:
            logger.warning(
                "%s: no link of %d sentence pairs has a 0; if the words count from 1, give "
                "`--links-from 1`",
                self._path,
                self._rows,
            )


def format_pharaoh(links: Links) -> bytes:
    """One line per sentence pair.

    >>> format_pharaoh(parse_pharaoh(b"0-0 2-1\\n\\n1-0\\n", ""))
    b'0-0 2-1\\n\\n1-0\\n'
    """
    texts = (f"{i}-{j}" for i, j in zip(links.source.tolist(), links.target.tolist(), strict=True))
    return joined_lines(texts, np.bincount(links.row, minlength=links.rows))


def joined_lines(texts: Iterable[str], counts: np.ndarray) -> bytes:
    """Lines of ``counts`` (n,) texts each, with spaces between them."""
    texts = iter(texts)
    return "".join(" ".join(islice(texts, count)) + "\n" for count in counts.tolist()).encode()


def check_range(
    links: Links,
    source_sizes: np.ndarray,
    target_sizes: np.ndarray,
    path: str,
    first_line: int = 1,
    unit: str = "word",
    first: int = 0,
) -> None:
    """Every index must lie inside its sentence; ``*_sizes`` (rows,) count the units of each.

    Args:
        first: the number that the first word has in the file.
    """
    past_source = links.source >= source_sizes[links.row]
    outside = np.flatnonzero(past_source | (links.target >= target_sizes[links.row]))
    if len(outside):
        k = outside[0]
        row = links.row[k]
        side, sizes = ("source", source_sizes) if past_source[k] else ("target", target_sizes)
        link = f"{links.source[k] + first}-{links.target[k] + first}"
        hint = ""
        if first == 0 and count_from_one(links, source_sizes, target_sizes):
            hint = "; no link has a 0, so they may count from 1: give `--links-from 1`"
        raise UserError(
            f"{path}:{first_line + row}: link {link} points past the {sizes[row]} {unit}(s) of the "
            f"{side} sentence{hint}"
        )


def count_from_one(links: Links, source_sizes: np.ndarray, target_sizes: np.ndarray) -> bool:
    """Whether all ``links`` lie inside their sentences if the first word is 1, and none has a 0."""
    return bool(
        (links.source > 0).all()
        and (links.target > 0).all()
        and (links.source <= source_sizes[links.row]).all()
        and (links.target <= target_sizes[links.row]).all()
    )


def order_of(links: Links, target_sizes: np.ndarray) -> np.ndarray:
    """Order of all target items back to back (sum of ``target_sizes``,) int64.

    A target item with several links takes the one with the lowest source index.

    >>> order_of(parse_pharaoh(b"2-0 1-0 0-2\\n", ""), np.array([3])).tolist()
    [2, 0, 1]
    """
    starts = np.cumsum(target_sizes) - target_sizes
    order = np.full(int(target_sizes.sum()), np.iinfo(np.int64).max)
    np.minimum.at(order, starts[links.row] + links.target, links.source + 1)
    order[order == np.iinfo(np.int64).max] = 0
    return order


class Words:
    """How the tokens of many sentences, back to back and without ``</s>``, form words.

    Args:
        sizes: number of words of each sentence (n,).
        lengths: number of tokens of each word (W,); 0 for a word that normalisation deletes.
    """

    def __init__(self, sizes: np.ndarray, lengths: np.ndarray):
        self.sizes, self.lengths = sizes, lengths
        self.offsets = np.cumsum(sizes) - sizes  # words before each sentence (n,)
        self.row = np.repeat(np.arange(len(sizes)), sizes)  # sentence of each word (W,)
        before = np.append(0, np.cumsum(lengths))
        # Position of each word's first token within its sentence (W,).
        self.first = before[:-1] - before[self.offsets][self.row]

    @classmethod
    def from_starts(cls, starts: np.ndarray, sizes: np.ndarray) -> "Words":
        """From marks of word beginnings (N,) and numbers of tokens (n,).

        The first token of a sentence begins a word whatever its mark says.
        """
        starts = np.array(starts, dtype=bool)
        begins = np.cumsum(sizes) - sizes
        starts[begins[sizes > 0]] = True
        where = np.flatnonzero(starts)
        row = np.repeat(np.arange(len(sizes)), sizes)[where]
        lengths = np.diff(np.append(where, len(starts)))
        return cls(np.bincount(row, minlength=len(sizes)), lengths)


def expand_order(order: np.ndarray, source: Words, target: Words) -> np.ndarray:
    """From an order of words to an order of tokens, both back to back.

    The k-th token of a target word takes the min(k, n)-th of the n tokens of its source word.

    >>> source = Words.from_starts(np.array([1, 0, 1]), np.array([3]))  # two words: 2 + 1 tokens
    >>> target = Words.from_starts(np.array([1, 1, 0, 0]), np.array([4]))  # 1 + 3 tokens
    >>> expand_order(np.array([2, 1]), source, target).tolist()
    [3, 1, 2, 2]
    """
    word = np.repeat(np.arange(len(target.lengths)), target.lengths)
    nth = np.arange(len(word)) - (np.cumsum(target.lengths) - target.lengths)[word]
    partner = source.offsets[target.row[word]] + order[word] - 1
    linked = order[word] > 0
    linked[linked] = source.lengths[partner[linked]] > 0
    partner = partner[linked]
    result = np.zeros(len(word), dtype=np.int64)
    inside = np.minimum(nth[linked], source.lengths[partner] - 1)
    result[linked] = source.first[partner] + inside + 1
    return result


def with_end(order: np.ndarray, source_sizes: np.ndarray, target_sizes: np.ndarray) -> np.ndarray:
    """Append to each sentence the order of its ``</s>``: the ``</s>`` of the source.

    Sizes count tokens without ``</s>``.

    >>> with_end(np.array([1, 0, 2]), np.array([4, 2]), np.array([2, 1])).tolist()
    [1, 0, 5, 2, 3]
    """
    return np.insert(order, np.cumsum(target_sizes), source_sizes + 1)
