"""Learn pieces with sentencepiece, and encode many lines at once.

The model does not contain our special tokens: it is trained with its own begin, end and padding
symbols switched off, and its id 0 (unknown) becomes our ``<unk>``.
"""

import io
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import chain, islice, repeat
from pathlib import Path
from typing import Any

import numpy as np
import sentencepiece

from fairseq_xling.core.errors import UserError, about
from fairseq_xling.text.segment import words_of


def model_part(model: bytes, *path: int) -> Any:
    """The first value at a path of field numbers: a whole number, or bytes; empty bytes if none.

    Protocol buffers: a field is a key, ``number << 3 | kind``, and a value; kind 0 is a whole
    number, 2 a size and so many bytes, 1 and 5 are 8 and 4 bytes.
    """
    for number in path:
        model = next((value for key, value in _fields(model) if key == number), b"")
    return model


def _fields(message: bytes):
    place = 0
    while place < len(message):
        key, place = _number(message, place)
        if key & 7 == 0:
            value, place = _number(message, place)
        else:
            size = {1: 8, 5: 4}.get(key & 7)
            if size is None:
                size, place = _number(message, place)
            value, place = message[place : place + size], place + size
        yield key >> 3, value


def _number(message: bytes, place: int) -> tuple[int, int]:
    """A whole number in groups of 7 bits, the lowest first; a set top bit says that more follow."""
    value = shift = 0
    while True:
        byte = message[place]
        value |= (byte & 127) << shift
        place, shift = place + 1, shift + 7
        if byte < 128:
            return value, place


_BUDGET = 3 << 18  # of characters, and as many as a short word has for each word: some 8 MB
_OVERHEAD = 8
_LINES = 512  # whose words are in memory at a time


class WordMemo:
    """Words and their pieces, up to a bound; several threads may use one.

    Args:
        encode: from words to the ids of the pieces of each.
    """

    def __init__(self, encode: Callable[[list[str]], list[list[int]]]):
        self._encode = encode
        self._lock = threading.Lock()
        self._numbers: dict[str, int] = {}
        # Ids of all words back to back, and how many each word has.
        self._table = np.empty(0, dtype=np.int32), np.empty(0, dtype=np.int64)
        self._left = _BUDGET

    def encode(self, lines: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
        """Ids of all ``lines``, whose words are separated by spaces, back to back (N,) int32, and
        the number of each line's (n,) int64."""
        parts = [self._some(lines[k : k + _LINES]) for k in range(0, len(lines), _LINES)]
        ids, sizes = zip(*parts, strict=True)
        return np.concatenate(ids), np.concatenate(sizes)

    def _some(self, lines: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
        words = " ".join(lines).split(" ")
        per_line = np.fromiter((line.count(" ") + 1 for line in lines), np.int64, len(lines))
        # The table after the numbers: another thread adds to it first.
        numbers = np.fromiter(map(self._numbers.get, words, repeat(-1)), np.int64, len(words))
        known = ids, sizes = self._table
        unknown = np.flatnonzero(numbers < 0)
        if len(unknown):
            missing = [words[k] for k in unknown.tolist()]
            added = {word: k for k, word in enumerate(dict.fromkeys(missing), len(sizes))}
            numbers[unknown] = np.fromiter(map(added.get, missing), np.int64, len(missing))
            found = self._encode(list(added))
            more = np.fromiter(map(len, found), np.int64, len(found))
            new = np.fromiter(chain.from_iterable(found), np.int32, int(more.sum()))
            ids, sizes = np.concatenate([ids, new]), np.concatenate([sizes, more])
            self._keep(added, known, (ids, sizes))
        starts, lengths = (np.cumsum(sizes) - sizes)[numbers], sizes[numbers]
        ends = np.cumsum(lengths)
        places = np.arange(len(lengths) and ends[-1]) + np.repeat(starts - ends + lengths, lengths)
        return ids[places], np.add.reduceat(lengths, np.cumsum(per_line) - per_line)

    def _keep(
        self,
        added: dict[str, int],
        known: tuple[np.ndarray, np.ndarray],
        table: tuple[np.ndarray, np.ndarray],
    ) -> None:
        cost = sum(map(len, added)) + _OVERHEAD * len(added)
        with self._lock:
            # If another thread has added words meanwhile, these have other numbers: next time.
            if self._table is known and cost <= self._left:
                self._table = table
                self._numbers.update(added)
                self._left -= cost


# Without `--alphabet`, characters may fill half of the vocabulary, and more only as far as needed
# to leave no more than this share of the text unknown.
_RARE_SHARE = 0.0005


def choose_alphabet(
    counts: Counter[str], limit: int | None, size: int, name: str, marks: int = 0
) -> tuple[list[str], list[str]]:
    """The characters that are kept and those that are not, each most frequent first.

    Args:
        counts: of the text's characters.
        limit: maximum number; None is half of ``size``, or more where fewer would leave over 0.05 %
            of the text unknown.
        size: pieces of the vocabulary.
        name: of the vocabulary, for the message.
        marks: how many of the ``limit`` are other signs, such as a word mark.
    """
    ranked = sorted(counts, key=lambda c: (-counts[c], c))
    if limit is None:
        covered = np.cumsum([counts[c] for c in ranked])
        needed = int(np.searchsorted(covered, (1 - _RARE_SHARE) * covered[-1:].sum())) + 1 + marks
        limit = max(size // 2, min(needed, size * 9 // 10), 2)
    kept, rare = ranked[: limit - marks], ranked[limit - marks :]
    check_room(len(kept) + marks, size, name)
    return kept, rare


def check_room(characters: int, size: int, name: str) -> None:
    """Raise a UserError if ``size`` pieces cannot spell that many characters."""
    if characters > size:
        raise UserError(
            f"`--vocab-size` must be at least the alphabet of {name} ({characters} "
            f"characters), got {size}; raise it, or lower `--alphabet`"
        )


WORD_MARK = "▁"  # sentencepiece's sign for "a word starts here"
_TRAINER_SPEC, _MODEL_TYPE, _BPE = 2, 3, 2  # fields of a model, and a value


# Fixed, independently of `--workers`: the unigram trainer sums in an order that depends on it, and
# every model stores it.
_TRAINER_THREADS = 2


def learn_pieces(
    lines: Sequence[str],
    size: int,
    alphabet: int | None,
    name: str,
    kind: str,
    whole_words: bool = False,
) -> bytes:
    """A sentencepiece model of type ``kind``, of at most ``size`` pieces (its unknown piece not
    counted).

    ``alphabet`` bounds the number of different characters, the word mark included: the rarest
    ones are replaced by spaces before learning, so no piece contains them and they encode to
    ``<unk>``; None is as in `choose_alphabet`. It does not apply to whole words, where pieces are
    the most frequent ones.
    """
    if not whole_words:
        lines = _restrict_alphabet(lines, alphabet, size, name)
    if not any(lines):
        raise UserError(f"{name}: no text to learn a vocabulary from")
    model = io.BytesIO()
    try:
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(lines),
            model_writer=model,
            model_type=kind,
            vocab_size=size + 1,
            hard_vocab_limit=False,
            character_coverage=1.0,
            normalization_rule_name="identity" if whole_words else "nmt_nfkc",
            max_sentence_length=1 << 30,
            bos_id=-1,
            eos_id=-1,
            pad_id=-1,
            unk_id=0,
            byte_fallback=False,
            num_threads=_TRAINER_THREADS,
            minloglevel=2,
        )
    except (RuntimeError, ValueError) as error:
        raise UserError(f"sentencepiece learnt no vocabulary for {name}: {error}") from None
    return model.getvalue()


def _restrict_alphabet(lines: Sequence[str], limit: int | None, size: int, name: str) -> list[str]:
    """``lines`` normalised like the model's, all but the most frequent characters blanked."""
    normaliser = sentencepiece.SentencePieceNormalizer(rule_name="nmt_nfkc")
    lines = normaliser.normalize([line for line in lines if line])
    counts: Counter[str] = Counter()
    for line in lines:
        counts.update(line)
    for mark in (" ", WORD_MARK):
        counts.pop(mark, None)
    _, rare = choose_alphabet(counts, limit, size, name, marks=1)
    if rare:
        blank = str.maketrans(dict.fromkeys(rare, " "))
        lines = [line.translate(blank) for line in lines]
    return [line for line in lines if line.strip()]


class Pieces:
    """A sentencepiece model for whole blocks of lines.

    Args:
        model: the serialised model.
        whole_words: look words up instead of splitting them (``--vocab-type word``; sentencepiece
            itself would merge neighbouring unknown words into one).
    """

    def __init__(self, model: bytes, whole_words: bool = False):
        self._processor, self.symbols = open_model(model)
        self.whole_words = whole_words
        # An unknown word is one item among whole words; elsewhere its word mark precedes it.
        self.unknown_starts_word = whole_words
        self._ids = {piece[1:]: i for i, piece in enumerate(self.symbols)} if whole_words else {}
        self._independent = not whole_words and _words_are_independent(model, self.symbols)
        self._memo: WordMemo | None = None

    @classmethod
    def load(cls, path: str | Path, whole_words: bool = False) -> "Pieces":
        """Read a model file."""
        try:
            content = Path(path).read_bytes()
        except FileNotFoundError:
            raise UserError(f"{path}: no such file") from None
        with about(path):
            pieces = cls(content, whole_words)
        if len(pieces) < 2:  # an unknown piece alone, or nothing
            raise UserError(f"{path}: not a sentencepiece model, or one without pieces")
        return pieces

    def __len__(self) -> int:
        return len(self.symbols)

    def encode(self, lines: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
        """Piece ids of all ``lines`` back to back (N,) int32, and each line's number (n,) int64."""
        if not lines:
            return np.empty(0, dtype=np.int32), np.empty(0, dtype=np.int64)
        if self.whole_words:
            words = [words_of(line) for line in lines]
            sizes = np.fromiter(map(len, words), dtype=np.int64, count=len(words))
            ids = map(self._ids.get, chain.from_iterable(words), repeat(0))
            return np.fromiter(ids, dtype=np.int32, count=int(sizes.sum())), sizes
        if self._memo is not None:
            return self._memo.encode(lines)
        items = self._processor.encode(list(lines), return_type="numpy", num_threads=1)
        sizes = np.fromiter(map(len, items), dtype=np.int64, count=len(items))
        return np.concatenate(items), sizes

    @contextmanager
    def remembering(self) -> Iterator[None]:
        """Meanwhile each different word is cut once, where its pieces do not depend on others; that
        takes half of the processor time, but most of it with Python's lock."""
        if self._independent:
            self._memo = WordMemo(partial(self._processor.encode, out_type=int, num_threads=1))
        try:
            yield
        finally:
            self._memo = None

    def surfaces(self, lines: Sequence[str]) -> list[list[str]]:
        """The text of each piece of a line; white space may be lost.

        Empty for a mark that begins a word, and for all but the last of the pieces that
        normalisation makes of one character.
        """
        if self.whole_words:
            return [words_of(line) for line in lines]
        if not lines:
            return []
        found = self._processor.encode(list(lines), return_type="offset_mapping", num_threads=1)
        return [
            [line[begin:end] for begin, end in pieces["offsets"]]
            for line, pieces in zip(lines, found, strict=True)
        ]


def open_model(model: bytes) -> tuple[Any, list[str]]:
    """A sentencepiece model and its pieces.

    Raises:
        UserError: if it is none, or has a piece that is no text.
    """
    try:
        processor = sentencepiece.SentencePieceProcessor(model_proto=model)
    except RuntimeError:
        raise UserError("damaged or not a sentencepiece model") from None
    pieces: list[str] = []
    try:
        pieces += (processor.id_to_piece(number) for number in range(len(processor)))
    except UnicodeDecodeError as error:
        raise UserError(f"its piece {len(pieces)} must be UTF-8, got {error.object!r}") from None
    return processor, pieces


def _words_are_independent(model: bytes, symbols: Sequence[str]) -> bool:
    """Whether a line's pieces are those of its words, whatever the words around them."""
    # Merges (BPE) must never cross a word's beginning, which must be a piece: unknown ones in a row
    # become one. In a unigram model the rounding of a line's score decides between near equals.
    return (
        model_part(model, _TRAINER_SPEC, _MODEL_TYPE) == _BPE
        and WORD_MARK in symbols
        and not any(WORD_MARK in symbol[1:] for symbol in symbols)
    )


def count_pieces(pieces: Any, lines: Iterable[str]) -> np.ndarray:
    """How often each of ``pieces`` occurs in ``lines`` (len(pieces),) int64, block by block."""
    total = np.zeros(len(pieces), dtype=np.int64)
    lines = iter(lines)
    while block := list(islice(lines, 4096)):
        total += np.bincount(pieces.encode(block)[0], minlength=len(pieces))
    return total
