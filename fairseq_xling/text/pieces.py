"""Learn pieces with sentencepiece, and encode many lines at once.

The model does not contain our special tokens: it is trained with its own begin, end and padding
symbols switched off, and its id 0 (unknown) becomes our ``<unk>``.
"""

import io
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import chain, islice, repeat
from pathlib import Path
from typing import Any

import numpy as np
import sentencepiece

from fairseq_xling.errors import UserError
from fairseq_xling.text.alphabet import choose_alphabet
from fairseq_xling.text.sentencepiece_model import model_part
from fairseq_xling.text.word_memo import WordMemo

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

    Raises:
        UserError: if the text is empty, or ``size`` is smaller than the alphabet.
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
        self._processor = sentencepiece.SentencePieceProcessor(model_proto=model)
        self.whole_words = whole_words
        self.symbols = [self._processor.id_to_piece(i) for i in range(len(self._processor))]
        # An unknown word is one item among whole words; elsewhere its word mark precedes it.
        self.unknown_starts_word = whole_words
        self._ids = {piece[1:]: i for i, piece in enumerate(self.symbols)} if whole_words else {}
        self._independent = not whole_words and _words_are_independent(model, self.symbols)
        self._memo: WordMemo | None = None

    @classmethod
    def load(cls, path: str | Path, whole_words: bool = False) -> "Pieces":
        """Read a model file.

        Raises:
            UserError: if the file is missing or is not a sentencepiece model.
        """
        try:
            pieces = cls(Path(path).read_bytes(), whole_words)
        except FileNotFoundError:
            raise UserError(f"{path}: no such file") from None
        except RuntimeError:
            raise UserError(f"{path}: not a sentencepiece model") from None
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
            words = [line.split() for line in lines]
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
            return [line.split() for line in lines]
        if not lines:
            return []
        found = self._processor.encode(list(lines), return_type="offset_mapping", num_threads=1)
        return [
            [line[begin:end] for begin, end in pieces["offsets"]]
            for line, pieces in zip(lines, found, strict=True)
        ]

    def count(self, lines: Iterable[str]) -> np.ndarray:
        """How often each piece occurs in ``lines`` (len(self),) int64."""
        return count_pieces(self, lines)


def _words_are_independent(model: bytes, symbols: Sequence[str]) -> bool:
    """Whether a line's pieces are those of its words, whatever the words around them.

    They are where merges (BPE) never cross a word's beginning, which must be a piece: unknown
    pieces in a row become one. In a unigram model the rounding of the whole line's score may
    decide between pieces that are all but equal.
    """
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
