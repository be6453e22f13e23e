"""Split text by an existing ``tokenizer.json``, with the interface of `text.pieces.Pieces`.

A data folder stores it as one file: the tokenizer without sentence-level settings (special
tokens, padding, truncation), and the symbols by its own ids in our spelling.
"""

import contextlib
import json
import os
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

import numpy as np

from fairseq_xling.core.errors import UserError, shown, well_formed
from fairseq_xling.core.extras import needed_by
from fairseq_xling.core.files import read_json
from fairseq_xling.data.folder import DataFolder
from fairseq_xling.text.pieces import Pieces
from fairseq_xling.text.tokenizers.vocabulary import (
    SPECIALS_OF_FAMILIES,
    read_vocabulary,
    table_size,
)
from fairseq_xling.text.vocabularies import mode_of

META = "meta.json"  # what makes a folder a data folder
_PROBE = "a é ü ß 中 ﬁ ｱ ½ \u0301 \u200b 😀"  # of what normalisers change
_GROWTH = 1000  # of text by a normaliser, whose parts replace a character by several
_OF_SENTENCES = ("truncation", "padding", "post_processor")


def ready_name(model_name: str) -> str:
    """The file that replaces a sentencepiece model.

    >>> ready_name("sentencepiece.en.model"), ready_name("sentencepiece.model")
    ('tokenizer.en.json', 'tokenizer.json')
    """
    return model_name.replace("sentencepiece", "tokenizer").removesuffix("model") + "json"


def pieces_file(folder: Path, model_name: str) -> Path:
    """The file of a data folder that cuts text: an imported tokenizer, if there is one."""
    ready = folder / ready_name(model_name)
    return ready if ready.is_file() else folder / model_name


def tokenizer_file(folder: Path, lang: str) -> Path:
    """The file, perhaps missing, by which ``folder`` cuts text of ``lang``: a data folder's own, or
    a Hugging Face folder's ``tokenizer.json``."""
    if (folder / META).is_file():
        return pieces_file(folder, mode_of(DataFolder(folder)).model_name(lang))
    return folder / "tokenizer.json"


def ready_pieces(file: Path, model_name: str, vocab_type: str) -> tuple[str, bytes]:
    """The name and the content that a `tokenizer_file` has in a new data folder."""
    if not (file.parent / META).is_file():
        return ready_name(model_name), ready_tokenizer(file)
    folder = DataFolder(file.parent)
    theirs = folder.meta["settings"]["vocab_type"]
    if theirs != vocab_type:
        raise UserError(f"`--vocab-type` must be {theirs}, as in {folder.path}, got {vocab_type}")
    name = ready_name(model_name) if file.suffix == ".json" else model_name
    return name, folder.file(file.name).read_bytes()


def load_pieces(file: Path, whole_words: bool) -> "Pieces | TokenizerPieces":
    """The tokenizer in a `pieces_file`."""
    return TokenizerPieces.load(file) if file.suffix == ".json" else Pieces.load(file, whole_words)


def ready_tokenizer(file: str | Path) -> bytes:
    """The ``tokenizer.json`` in a Hugging Face folder as a data folder keeps it."""
    file = Path(file)
    if not file.is_file():
        raise UserError(
            f"{file}: no such file; save the tokenizer in its fast form, "
            "`AutoTokenizer.from_pretrained(NAME).save_pretrained(FOLDER)`"
        )
    content = _of_words(read_json(file), file)
    tokenizer = load_tokenizer(content, file)
    ids = tokenizer.get_vocab()
    specials = next((s for s in SPECIALS_OF_FAMILIES if set(s.values()) <= set(ids)), None)
    # A row that no token has is kept, too: it takes part in the probabilities of all others.
    size = table_size(file.parent, max(ids.values()) + 1)
    symbols, _ = read_vocabulary(file.parent, size, specials or {})
    return json.dumps({"symbols": symbols, "tokenizer": content}, ensure_ascii=False).encode()


class TokenizerPieces:
    """An imported tokenizer for whole blocks of lines; its unknown piece is piece 0.

    Args:
        content: as returned by `ready_tokenizer`.
        origin: its file, for messages.
    """

    whole_words = False

    def __init__(self, content: dict[str, Any], origin: str | Path):
        symbols = content["symbols"]
        self._origin = origin
        self._tokenizer = load_tokenizer(_of_words(content["tokenizer"], origin), origin)
        unknown = symbols.index("<unk>")
        rest = [number for number in range(len(symbols)) if number != unknown]
        self.symbols = ["<unk>", *(symbols[number] for number in rest)]
        self._numbers = np.zeros(len(symbols), dtype=np.int32)
        self._numbers[rest] = np.arange(1, len(symbols))
        # WordPiece drops a whole unknown word, other kinds single characters.
        self.unknown_starts_word = content["tokenizer"]["model"].get("type") == "WordPiece"

    @classmethod
    def load(cls, path: str | Path) -> "TokenizerPieces":
        """Read a file written from `ready_tokenizer`."""
        content = read_json(Path(path))
        with well_formed(f"{path}: damaged; prepare the folder again"):
            return cls(content, path)

    def __len__(self) -> int:
        return len(self.symbols)

    def encode(self, lines: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
        """Piece ids of all ``lines`` back to back (N,) int32, and each line's number (n,) int64."""
        with _usable(self._origin):
            found = self._tokenizer.encode_batch_fast(list(lines), add_special_tokens=False)
        sizes = np.fromiter(map(len, found), dtype=np.int64, count=len(found))
        ids = [number for line in found for number in line.ids]
        return self._numbers[np.array(ids, dtype=np.int64)], sizes

    def remembering(self) -> AbstractContextManager[None]:
        """As for `Pieces`; the library remembers words itself, where it can."""
        return nullcontext()

    def surfaces(self, lines: Sequence[str]) -> list[list[str]]:
        """The text of each piece of a line, without white space at its ends."""
        with _usable(self._origin):
            found = self._tokenizer.encode_batch(list(lines), add_special_tokens=False)
        return [
            [line[begin:end].strip() for begin, end in pieces.offsets]
            for line, pieces in zip(lines, found, strict=True)
        ]


def _of_words(content: Any, origin: str | Path) -> Any:
    """A ``tokenizer.json`` without what it does to whole sentences, and without chance."""
    if not isinstance(content, dict):
        return content  # which the library refuses
    growth, waiting = 1, [content.get("normalizer")]
    while waiting:
        part = waiting.pop()
        waiting += part.values() if isinstance(part, dict) else part if type(part) is list else ()
        added = (part.get("content"), part.get("prepend")) if isinstance(part, dict) else ()
        for text in added:  # for each character that is replaced, or before the text
            growth *= max(1, len(text)) if isinstance(text, str) else 1
    if growth > _GROWTH:
        raise UserError(
            f"{origin}: `normalizer` must make text at most {_GROWTH} times as long, got "
            f"{shown(growth)}"
        )
    kept = {name: None if name in _OF_SENTENCES else part for name, part in content.items()}
    if isinstance(kept.get("model"), dict) and "dropout" in kept["model"]:
        kept["model"] = {**kept["model"], "dropout": None}
    return kept


def load_tokenizer(content: Any, origin: str | Path) -> Any:
    """The library's tokenizer of a ``tokenizer.json``; UserError if either cannot be had."""
    # Work is already distributed among threads; the library's own would be forked with them.
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    with needed_by(f"{origin}:"):
        from tokenizers import Tokenizer
    with _usable(origin), _without_stderr():
        tokenizer = Tokenizer.from_str(json.dumps(content))
        tokenizer.encode(_PROBE)
    return tokenizer


@contextlib.contextmanager
def _usable(origin: str | Path) -> Iterator[None]:
    """What the library raises of a damaged tokenizer becomes one line. Where it does not expect the
    damage, that is a ``PanicException``, which is no ``Exception`` and cannot be imported."""
    try:
        yield
    except BaseException as error:
        if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
            raise
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise UserError(f"{origin}: not a tokenizer in a known format ({reason})") from None


@contextlib.contextmanager
def _without_stderr() -> Iterator[None]:
    """Nothing is written to standard error: the library also prints where it raised a panic."""
    kept = os.dup(2)
    try:
        with open(os.devnull, "wb") as nowhere:
            os.dup2(nowhere.fileno(), 2)
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
