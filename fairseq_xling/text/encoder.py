"""Text to ids and back, exactly as in the data folder."""

from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path

import numpy as np

from fairseq_xling.core.errors import UserError, well_formed
from fairseq_xling.core.registry import unknown_name
from fairseq_xling.data.folder import (
    SEP,
    SPECIAL_SYMBOLS,
    SPECIALS,
    UNK,
    DataFolder,
    read_dictionary,
)
from fairseq_xling.text.links import Words
from fairseq_xling.text.pieces import WORD_MARK
from fairseq_xling.text.segment import segmentations, with_other_space, words_of
from fairseq_xling.text.tokenizers.pieces import load_pieces, pieces_file
from fairseq_xling.text.vocabularies import id_table, mode_of, modes
from fairseq_xling.text.vocabulary_types import vocabulary_types


class TextEncoder:
    """Segments, cuts into pieces and numbers the text of one language.

    >>> encoder = TextEncoder.load("data-bin", "en")        # doctest: +SKIP
    >>> ids = encoder.encode(["A dog runs."])[0]            # doctest: +SKIP
    >>> encoder.decode(ids)                                 # doctest: +SKIP
    'A dog runs.'
    """

    def __init__(
        self, folder: str | Path, lang: str, mode: str, segmentation: str, whole_words: bool = False
    ):
        folder = Path(folder)
        self.lang = lang
        self._segmentation = segmentations[segmentation]
        vocabulary = modes[mode]()
        model = pieces_file(folder, vocabulary.model_name(lang))
        self._pieces = load_pieces(model, whole_words)
        dictionary = folder / vocabulary.dictionary_name(lang)
        symbols = read_dictionary(dictionary)
        self.vocab_size = len(symbols)
        self._table = id_table(vocabulary, lang, self._pieces.symbols, symbols)
        known = {*SPECIAL_SYMBOLS, *symbols}
        for piece in self._pieces.symbols[1:]:
            if vocabulary.symbol(lang, piece) not in known:
                raise UserError(
                    f"{model}: its piece {piece!r} is not in {dictionary}; it is of another "
                    "language or folder, prepare the folder again"
                )
        self._texts = [*SPECIAL_SYMBOLS, *map(vocabulary.piece, symbols[SPECIALS:])]
        self._starts = np.array([text.startswith(WORD_MARK) for text in self._texts])
        if self._pieces.unknown_starts_word:
            self._starts[UNK], self._texts[UNK] = True, WORD_MARK + self._texts[UNK]

    @classmethod
    def load(cls, data_dir: str | Path, lang: str) -> "TextEncoder":
        """The encoder of ``lang`` in a finished data folder.

        Raises:
            UserError: if the folder is not a finished data folder or has no such language, or if
                the model that cuts its text is damaged or of another language.
        """
        folder = DataFolder(data_dir)
        meta = folder.meta
        if lang not in meta["languages"]:
            raise unknown_name(f"language of {data_dir}", lang, meta["languages"])
        with well_formed(
            f"{folder.path / 'meta.json'}: does not say how the text of {lang!r} is cut into "
            "pieces; prepare the folder again"
        ):
            mode, segmentation = str(meta["vocab"]["mode"]), str(meta["segment"][lang])
            whole_words = vocabulary_types[str(meta["settings"]["vocab_type"])].whole_words
        folder.file(pieces_file(folder.path, mode_of(folder).model_name(lang)).name)
        return cls(data_dir, lang, mode, segmentation, whole_words)

    def segment(self, lines: Sequence[str]) -> list[str]:
        """``lines`` before they are cut into pieces: words separated by one space."""
        return self._segmentation(lines)

    def encode(self, lines: Sequence[str]) -> list[np.ndarray]:
        """Ids of each line, int64, ending in ``</s>``; a blank line is ``[2]``."""
        ids, sizes = self.encode_block(lines)
        return np.split(ids, np.cumsum(sizes)[:-1]) if len(sizes) else []

    def encode_block(self, lines: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
        """The same back to back: ids (N,) int64, and the number of each line's ids (n,) int64."""
        return self.encode_segmented(self.segment(lines))

    def encode_segmented(self, lines: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
        """``encode_block`` of lines that are already segmented."""
        pieces, sizes = self._pieces.encode(lines)
        return np.insert(self._table[pieces], np.cumsum(sizes), SEP), sizes + 1

    def words(self, texts: Sequence[str], ids: np.ndarray, sizes: np.ndarray) -> Words:
        """The words of segmented ``texts`` in terms of their ids, as `encode_segmented` gives them.

        Normalisation may cut a word of the text in two (a letter that unfolds to a space and a
        mark) or delete it; words of such lines are encoded one by one to see which ids are whose.
        """
        starts = self.starts_word(np.delete(ids, np.cumsum(sizes) - 1))
        words = Words.from_starts(starts, sizes - 1)
        expected = np.fromiter((t.count(" ") + 1 if t else 0 for t in texts), np.int64, len(texts))
        odd = {*np.flatnonzero(words.sizes != expected).tolist(), *with_other_space(texts)}
        if not odd:
            return words
        lengths = np.split(words.lengths, words.offsets[1:])
        for row in odd:
            alone = self.encode(words_of(texts[row]))
            # Together they should be the sentence's; where context matters, the last differs.
            ends = np.minimum(np.cumsum([len(x) - 1 for x in alone]), sizes[row] - 1)
            ends[-1:] = sizes[row] - 1
            lengths[row] = np.diff(ends, prepend=0)
        return Words(expected, np.concatenate(lengths))

    def remembering(self) -> AbstractContextManager[None]:
        """As `Pieces.remembering`, for one file: all languages together would take too much."""
        return self._pieces.remembering()

    def surfaces(self, lines: Sequence[str]) -> list[list[str]]:
        """What each id of a line stands for in its segmented text, without its ``</s>``."""
        return self._pieces.surfaces(self.segment(lines))

    def starts_word(self, ids: np.ndarray) -> np.ndarray:
        """True where an id (any shape) begins a word; False at ``</s>`` and other specials."""
        return self._starts[ids]

    def pieces(self, ids: Iterable[int]) -> list[str]:
        """The text of each of ``ids``, the mark of a word's beginning included."""
        return [self._texts[int(i)] for i in ids]

    def decode(self, ids: Iterable[int]) -> str:
        """The text of ``ids``, special tokens left out and unknown ones shown as ``<unk>``.

        Returns the segmented, normalised text; Chinese and Japanese characters that
        ``--segment char`` separated are joined again.
        """
        numbers = [int(i) for i in ids]
        text = "".join(self._texts[i] for i in numbers if i >= SPECIALS or i == UNK)
        return self._segmentation.join(text.replace(WORD_MARK, " ").strip())
