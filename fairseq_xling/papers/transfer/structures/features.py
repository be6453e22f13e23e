"""What a node is made of: frozen vectors of words, and learnt features.

The transfer note, section 3: a node is the concatenation of a multilingual word vector, the part of
speech, the type of the mention that covers the word, and the relation to the head. A feature is a
name for each word, each name with a row of a table; to add one, register another function of a
sentence.

Word vectors are those of files of one space, or the states of an encoder of this project. Each
source answers with a table and the row of each word, so that training gathers rows and nothing is
computed twice. The tables are no parameters: training cannot move them.
"""

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from fairseq_xling.core.arguments import names_in
from fairseq_xling.core.errors import UserError
from fairseq_xling.core.files import check_files, sha256
from fairseq_xling.core.registry import Registry
from fairseq_xling.mapping.text_vectors import WORD_MARK, read_text_vectors
from fairseq_xling.papers.transfer.structures.sentence import Mention, Sentence

WORD = "word"  # the feature that is not learnt
OUTSIDE = "O"  # the type of a word that no mention covers
UNKNOWN = 0  # row of names that the training data lack


@dataclass(frozen=True)
class Feature:
    """One learnt feature: the name of each word of a sentence, (W,)."""

    names: Callable[[Sentence], Sequence[str]]
    of_tree: bool  # the sentence must have a tree


features: Registry[Feature] = Registry("feature")
for _name, _feature in {
    # As the file has it; UPOS where languages are to share it.
    "pos": Feature(lambda one: one.upos, of_tree=True),
    # Of the mention that covers the word.
    "entity": Feature(lambda one: covering(one.entities, len(one.words)), of_tree=False),
    # To the head, its universal part: ``nmod`` of ``nmod:poss``.
    "relation": Feature(lambda one: [x.partition(":")[0] for x in one.deprels], of_tree=True),
    # Of the event whose trigger covers the word.
    "trigger": Feature(lambda one: covering(one.triggers, len(one.words)), of_tree=False),
}.items():
    features.register(_name)(_feature)


def covering(mentions: Sequence[Mention], size: int) -> list[str]:
    """The type of the mention that covers each of ``size`` words; the shortest of several, and of
    equally short ones the first.

    >>> covering([Mention(0, 3, "ORG"), Mention(1, 2, "LOC")], 4)
    ['ORG', 'LOC', 'ORG', 'O']
    """
    found = [OUTSIDE] * size
    for one in sorted(reversed(mentions), key=lambda one: one.start - one.end):
        found[one.start : one.end] = [one.type] * (one.end - one.start)
    return found


def parse_features(text: str) -> tuple[str, ...]:
    """Different names of features separated by commas.

    >>> parse_features("word,pos")
    ('word', 'pos')
    """
    names = tuple(names_in(text))
    for name in names:
        if name != WORD:
            features.check(name)
    if not names or len(set(names)) < len(names):
        raise UserError(f"`--features` must be different names, at least one, got {text!r}")
    return names


class Tables:
    """The rows of the learnt features, by ``names`` from row 1; row 0 is of unknown names."""

    def __init__(self, names: dict[str, list[str]]):
        self.names = names
        self._rows = {
            feature: {name: row for row, name in enumerate(known, start=1)}
            for feature, known in names.items()
        }

    @classmethod
    def of(cls, sentences: Iterable[Sentence], chosen: Sequence[str]) -> "Tables":
        """The names that occur in training data, sorted; the feature ``word`` has no table."""
        found: dict[str, set[str]] = {name: set() for name in chosen if name != WORD}
        for sentence in sentences:
            for name, seen in found.items():
                seen.update(features[name].names(sentence))
        return cls({name: sorted(seen) for name, seen in found.items()})

    def rows(self, sentence: Sentence) -> np.ndarray:
        """(F, W) int64, the row of each of F features for each word."""
        found = np.zeros((len(self.names), len(sentence.words)), dtype=np.int64)
        for number, (name, rows) in enumerate(self._rows.items()):
            found[number] = [rows.get(one, UNKNOWN) for one in features[name].names(sentence)]
        return found


POOLS = ("first", "mean")


@dataclass(frozen=True)
class Words:
    """Vectors of the words of some sentences."""

    table: np.ndarray  # (V, D) float32; row 0 is zero
    rows: list[np.ndarray]  # of the words of each sentence, (W,) int64
    unknown: int = 0  # words without a vector

    @property
    def width(self) -> int:
        """D."""
        return self.table.shape[1]


class WordSource(Protocol):
    """Where vectors come from."""

    def vectors(self, sentences: Sequence[Sequence[str]], lang: str) -> Words:
        """The vectors of the words of ``sentences``."""

    def about(self) -> dict[str, Any]:
        """What a model file records: paths and digests, which `source_from` reads."""


class VectorFiles:
    """A ``.vec`` file for each language, all in one space.

    A word that a file spells in small letters alone, as mapped vectors often do, has that vector;
    one that it does not have at all is a zero vector.
    """

    def __init__(self, paths: Mapping[str, Path]):
        self.paths = {lang: Path(path) for lang, path in paths.items()}
        check_files(*self.paths.values(), of="`--vectors`")

    def vectors(self, sentences: Sequence[Sequence[str]], lang: str) -> Words:
        if lang not in self.paths:
            known = ", ".join(self.paths) or "none"
            raise UserError(f"`--vectors` must name a file of {lang}, got files of {known}")
        words = sorted({word for one in sentences for word in one})
        spelt = sorted({*words, *(word.lower() for word in words)})
        found, known = read_text_vectors(self.paths[lang], [f"{WORD_MARK}{x}" for x in spelt])
        table = np.concatenate([np.zeros((1, found.shape[1]), np.float32), found])
        places = {spelt[row]: row + 1 for row in np.flatnonzero(known)}
        rows = {word: places.get(word, places.get(word.lower(), 0)) for word in words}
        chosen = [np.array([rows[word] for word in one], dtype=np.int64) for one in sentences]
        return Words(table, chosen, sum(int((one == 0).sum()) for one in chosen))

    def about(self) -> dict[str, Any]:
        return {
            "vectors": {
                lang: {"path": str(path.resolve()), "sha256": sha256(path)}
                for lang, path in sorted(self.paths.items())
            }
        }


class EncoderStates:
    """The last layer of an encoder of this project, of each word's first subword or their mean.

    Words beyond the encoder's positions are zero vectors. All states of a file are in memory.
    """

    def __init__(
        self, checkpoint: str, data: str | None = None, pool: str = "first", device: str = "cpu"
    ):
        from fairseq_xling.interop.encoder import Encoder

        if pool not in POOLS:
            raise UserError(f"`--pool` must be {' or '.join(POOLS)}, got {pool!r}")
        self._encoder, self._pool = Encoder.load(checkpoint, data=data, device=device), pool
        self._about = {
            "checkpoint": str(Path(checkpoint).resolve()),
            "data": str(Path(data).resolve()) if data else None,
            "pool": pool,
            "sha256": sha256(checkpoint),
        }

    def vectors(self, sentences: Sequence[Sequence[str]], lang: str) -> Words:
        """See `WordSource`; raises a UserError for a language that the model does not have."""
        from fairseq_xling.data.folder import SEP
        from fairseq_xling.tasks.encode import Codec

        encoder = self._encoder
        codec = Codec(encoder.folder.path, lang, encoder.model.max_positions())
        pieces = [codec.words(one) for one in sentences]
        ids = [np.concatenate([*one, np.array([SEP])]) for one in pieces]
        starts = np.concatenate([[1], 1 + np.cumsum([len(one) for one in sentences])])
        table = np.zeros((int(starts[-1]), encoder.width), dtype=np.float32)
        for indices, layers, _ in encoder.states(ids, lang):
            states = layers[-1].cpu().numpy()
            for row, number in enumerate(indices.tolist()):
                self._fill(table[starts[number] : starts[number + 1]], states[row], pieces[number])
        rows = [np.arange(a, b) for a, b in itertools.pairwise(starts)]
        return Words(table, rows, int((~table[1:].any(1)).sum()))

    def _fill(self, into: np.ndarray, states: np.ndarray, pieces: Sequence[np.ndarray]) -> None:
        """``into`` (W, D) from ``states`` (T, D); state 0 is that of ``<s>``."""
        lengths = np.array([len(one) for one in pieces])
        firsts = 1 + np.concatenate([[0], np.cumsum(lengths)[:-1]])
        if self._pool == "first":
            lengths = np.ones_like(lengths)
        inside = firsts + lengths < len(states)  # the last state is that of </s>, or padding
        sums = np.concatenate([np.zeros((1, states.shape[1])), np.cumsum(states, 0, np.float64)])
        ends = (firsts + lengths)[inside]
        into[inside] = (sums[ends] - sums[firsts[inside]]) / lengths[inside, None]

    def about(self) -> dict[str, Any]:
        return {"encoder": self._about}


class NoWords:
    """Without the feature ``word``: vectors of width 0."""

    def vectors(self, sentences: Sequence[Sequence[str]], lang: str) -> Words:
        rows = [np.zeros(len(one), dtype=np.int64) for one in sentences]
        return Words(np.zeros((1, 0), dtype=np.float32), rows)

    def about(self) -> dict[str, Any]:
        return {}


def find_source(
    needed: bool,
    vectors: Mapping[str, str | Path],
    encoder: str = "",
    encoder_data: str = "",
    pool: str = "first",
    device: str = "cpu",
) -> WordSource:
    """The source of word vectors that options name; ``needed``: the feature ``word`` is chosen."""
    if bool(vectors) + bool(encoder) != int(needed):
        raise UserError(
            "`--vectors` or `--encoder` must be given, one of the two, if and only if `--features` "
            f"has word, got {'both' if vectors and encoder else 'one' if not needed else 'neither'}"
        )
    if vectors:
        return VectorFiles({lang: Path(path) for lang, path in vectors.items()})
    return EncoderStates(encoder, encoder_data or None, pool, device) if encoder else NoWords()
