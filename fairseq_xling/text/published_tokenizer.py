"""The text encoder of a data folder as one ``tokenizer.json`` of the library tokenizers.

It cuts text as `fairseq_xling.text.encoder.TextEncoder` does and gives the same ids: segmentation
becomes a normaliser that inserts spaces, the sentencepiece model or the imported tokenizer a model
whose vocabulary has the order of the dictionary.
"""

import base64
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from fairseq_xling.core.errors import UserError
from fairseq_xling.core.files import read_json
from fairseq_xling.data.folder import (
    CLS,
    MASK,
    PAD,
    SEP,
    SPECIAL_SYMBOLS,
    SPECIALS,
    UNK,
    DataFolder,
    read_dictionary,
)
from fairseq_xling.text.encoder import TextEncoder
from fairseq_xling.text.pieces import WORD_MARK, model_part
from fairseq_xling.text.segment import CJK, EACH_MARK, HAN
from fairseq_xling.text.tokenizers.pieces import load_tokenizer, pieces_file
from fairseq_xling.text.vocabularies import mode_of

_MARK = r"[\p{P}\p{S}]"
_INSIDE = r"[\p{L}\p{M}\p{N}]"
# A mark that belongs to its word (don't, 3.14), seen from the place before it and after it.
_KEPT_AFTER = rf"(?<={_INSIDE})['’\-](?=[\p{{L}}\p{{N}}])|(?<=\p{{N}})[.,:](?=\p{{N}})"
_KEPT_BEFORE = rf"(?<={_INSIDE}['’\-])(?=[\p{{L}}\p{{N}}])|(?<=\p{{N}}[.,:])(?=\p{{N}})"
# Not between two that are equal: a run of a mark is one word.
_MARKS = rf"(?<=(.))(?!\1)(?:(?={_MARK})(?!{_KEPT_AFTER})|(?<={_MARK})(?!{_KEPT_BEFORE}))"
_CHARACTERS = rf"(?={CJK})|(?<={CJK})(?!\p{{M}})|(?<={CJK}\p{{M}})(?!\p{{M}})"
_EACH = f"{HAN}|{EACH_MARK}"
# By segmentation, the places between characters where it puts a space.
_PLACES: Mapping[str, tuple[str, ...]] = {
    "pre": (),
    "space": (_MARKS,),
    "char": (_CHARACTERS, _MARKS),
    "basic": (rf"(?={_EACH})|(?<={_EACH})",),
}
_STRIP = {"type": "Strip", "strip_left": True, "strip_right": True}
_ENDS = r"\A +| +\z"
_METASPACE = {"type": "Metaspace", "replacement": WORD_MARK}
_METASPACE |= {"prepend_scheme": "always", "split": True}
_BPE, _WORD = 2, 3  # model types of sentencepiece; 1 is unigram
_CHECKED = 200  # lines


def tokenizer_json(folder: DataFolder, lang: str, rows: int, segments: int) -> dict[str, Any]:
    """The tokenizer of ``lang``, with special symbols around sentences and pairs.

    Args:
        rows: ids of the model; those that the dictionary does not have are placeholders.
        segments: of the model; with 2 or more, a second text is in segment 1.

    Raises:
        UserError: if the segmentation or the vocabulary cannot be expressed, that is, if the result
            gives other ids than ours.
    """
    ours = TextEncoder.load(folder.path, lang)
    segment = str(folder.meta["segment"][lang])
    if segment not in _PLACES:
        raise UserError(
            f"{folder.path}: the segmentation {segment!r} of {lang!r} cannot be expressed as a "
            f"tokenizer of other programs, only {', '.join(_PLACES)}"
        )
    mode = mode_of(folder)
    symbols = read_dictionary(folder.path / mode.dictionary_name(lang))
    pieces = [mode.piece(symbol) for symbol in symbols[SPECIALS:]]
    symbols += [f"<unused{number}>" for number in range(len(symbols), rows)]
    ids = {symbol: number for number, symbol in enumerate(symbols) if number >= SPECIALS}
    file = pieces_file(folder.path, mode.model_name(lang))

    def id_of(piece: str) -> int:
        return ids.get(mode.symbol(lang, piece), UNK)

    if file.suffix == ".json":
        content = _imported(read_json(file), id_of, symbols)
    else:
        content = _sentencepiece(file.read_bytes(), id_of, symbols)
    # A match at either end inserts nothing, and the library fails on it.
    before = [_replace(f"(?<=.)(?=.)(?:{place})", " ") for place in _PLACES[segment]]
    before += [_replace(r"[ \t\r\n]+", " "), _replace(_ENDS, "")]
    content["normalizer"] = {"type": "Sequence", "normalizers": [*before, *content["normalizer"]]}
    content |= {"version": "1.0", "truncation": None, "padding": None}
    content["post_processor"] = _frame(content["added_tokens"], segments)
    own = [piece for piece in pieces if id_of(piece) != UNK]
    _check(content, ours, own, file)
    return content


def special_tokens(content: Mapping[str, Any]) -> dict[str, str]:
    """How a `tokenizer_json` spells its special symbols, by their names in configurations."""
    names = {token["id"]: token["content"] for token in content["added_tokens"]}
    kinds = {"cls": CLS, "pad": PAD, "sep": SEP, "unk": UNK, "mask": MASK}
    return {f"{kind}_token": names[number] for kind, number in kinds.items()}


def differences(content: Mapping[str, Any]) -> list[str]:
    """What a user has to know of a `tokenizer_json`: where its library departs from sentencepiece.

    It looks up whole grapheme clusters in sentencepiece's table of replacements, of which it drops
    what follows a match, and long ones character by character.
    """
    parts = content["normalizer"]["normalizers"]
    if not any(part["type"] == "Precompiled" for part in parts):
        return []
    return [
        "combining marks and joiners after an emoji or a symbol such as ① may be cut in another "
        "way than by sentencepiece"
    ]


def _sentencepiece(
    model: bytes, id_of: Callable[[str], int], symbols: Sequence[str]
) -> dict[str, Any]:
    """A sentencepiece model as models of the library."""
    import sentencepiece

    processor = sentencepiece.SentencePieceProcessor(model_proto=model)
    scores = {
        processor.id_to_piece(number): processor.get_score(number)
        for number in range(1, len(processor))
    }
    numbers = {piece: id_of(piece) for piece in scores}
    kind = model_part(model, 2, 3)
    unknown = SPECIAL_SYMBOLS[UNK]
    if kind in (_WORD, _BPE):
        vocab = _vocabulary(numbers, symbols, unknown)
        known = {"type": "WordLevel", "vocab": vocab, "unk_token": unknown}
        if kind == _BPE:
            known = {"type": "BPE", "vocab": vocab, "merges": _merges(scores)}
            known |= {"unk_token": unknown, "fuse_unk": True}
    else:
        # A filler is never found: it contains a space.
        listed = [[_filler(symbol), 0.0] for symbol in symbols]
        for number, symbol in enumerate(SPECIAL_SYMBOLS):
            listed[number] = [symbol, 0.0]
        for piece, number in numbers.items():
            if number != UNK:
                listed[number] = [piece, scores[piece]]
        known = {"type": "Unigram", "unk_id": UNK, "vocab": listed, "byte_fallback": False}
    normalizer = []
    if charsmap := model_part(model, 3, 2):
        table = base64.b64encode(charsmap).decode("ascii")
        table = {"type": "Precompiled", "precompiled_charsmap": table}
        normalizer = [table, _replace(" {2,}", " "), _STRIP]
    return {
        "added_tokens": [_added(name, number) for number, name in enumerate(SPECIAL_SYMBOLS)],
        "normalizer": normalizer,
        "pre_tokenizer": _METASPACE,
        "decoder": _METASPACE,
        "model": known,
    }


def _merges(scores: Mapping[str, float]) -> list[list[str]]:
    """All pairs of pieces that make a piece, in the order of its score, as sentencepiece joins."""
    found = []
    for piece, score in scores.items():
        for cut in range(1, len(piece)):
            if piece[:cut] in scores and piece[cut:] in scores:
                found.append((-score, piece[:cut], piece[cut:]))
    return [[left, right] for _, left, right in sorted(found, key=lambda pair: pair[0])]


def _imported(
    file: Mapping[str, Any], id_of: Callable[[str], int], symbols: Sequence[str]
) -> dict[str, Any]:
    """An imported tokenizer with our ids."""
    content = dict(file["tokenizer"])
    spelt, model = file["symbols"], dict(content["model"])
    specials = {symbol: number for number, symbol in enumerate(SPECIAL_SYMBOLS)}

    def number_of(theirs: int) -> int:
        symbol = spelt[theirs]
        return specials[symbol] if symbol in specials else id_of(symbol)

    if isinstance(model["vocab"], list):
        listed = [[_filler(symbol), 0.0] for symbol in symbols]
        for number, (piece, score) in enumerate(model["vocab"]):
            ours = number_of(number)
            if ours != UNK or number == model.get("unk_id"):
                listed[ours] = [piece, score]
        model |= {"vocab": listed, "unk_id": UNK}
    else:
        numbers = {token: number_of(number) for token, number in model["vocab"].items()}
        model["vocab"] = _vocabulary(numbers, symbols, model.get("unk_token"))
    vocabulary = file["tokenizer"]["model"]["vocab"]
    if isinstance(vocabulary, list):
        names = {number: piece for number, (piece, _) in enumerate(vocabulary)}
    else:
        names = {number: token for token, number in vocabulary.items()}
    added = {}
    for token in content.get("added_tokens") or []:
        names[int(token["id"])], ours = token["content"], number_of(int(token["id"]))
        added[ours] = {**token, "id": ours}
    for number, token in names.items():
        if spelt[number] in specials:
            added.setdefault(number_of(number), _added(token, number_of(number)))
    for number, symbol in enumerate(SPECIAL_SYMBOLS):
        added.setdefault(number, _added(symbol, number))
    normalizer = content.get("normalizer")
    return {
        **content,
        "model": model,
        "added_tokens": [added[number] for number in sorted(added)],
        "normalizer": [normalizer] if normalizer else [],
    }


def _vocabulary(
    numbers: Mapping[str, int], symbols: Sequence[str], unknown: str | None
) -> dict[str, int]:
    """``numbers`` with the special symbols, and a filler for each id that nothing has."""
    taken = set(numbers.values())
    fillers = {
        symbol if number < SPECIALS else _filler(symbol): number
        for number, symbol in enumerate(symbols)
        if number not in taken or (number == UNK and unknown not in numbers)
    }
    return {**fillers, **numbers}


def _filler(symbol: str) -> str:
    """A token that no text gives, since words have no spaces: of another language, or unused."""
    return f"{symbol} "


def _added(token: str, number: int) -> dict[str, Any]:
    flags = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized"), False)
    return {"id": number, "content": token, **flags, "special": True}


def _replace(pattern: str, content: str) -> dict[str, Any]:
    return {"type": "Replace", "pattern": {"Regex": pattern}, "content": content}


def _frame(added: Sequence[Mapping[str, Any]], segments: int) -> dict[str, Any]:
    """``<s> a </s>`` and ``<s> a </s> b </s>``."""
    names = {token["id"]: token["content"] for token in added}
    second = int(segments > 1)

    def special(number: int, segment: int = 0) -> dict[str, Any]:
        return {"SpecialToken": {"id": names[number], "type_id": segment}}

    single = [special(CLS), {"Sequence": {"id": "A", "type_id": 0}}, special(SEP)]
    other = [{"Sequence": {"id": "B", "type_id": second}}, special(SEP, second)]
    return {
        "type": "TemplateProcessing",
        "single": single,
        "pair": [*single, *other],
        "special_tokens": {
            names[number]: {"id": names[number], "ids": [number], "tokens": [names[number]]}
            for number in (CLS, SEP)
        },
    }


def _check(
    content: Mapping[str, Any], ours: TextEncoder, pieces: Sequence[str], file: Path
) -> None:
    """Compare ids on lines of random pieces with marks between them."""
    tokenizer = load_tokenizer(content, file)
    random = np.random.default_rng(0)
    texts = [*(piece.replace(WORD_MARK, " ") for piece in pieces), ".", ", ", "'", "!!", " ☃", "é "]
    lines = ["".join(random.choice(texts, size=12)) for _ in range(_CHECKED)]
    found = [theirs.ids[1:] for theirs in tokenizer.encode_batch(lines)]
    wrong = [
        line
        for line, ids, theirs in zip(lines, ours.encode(lines), found, strict=True)
        if ids.tolist() != theirs and not _equally_probable(content, ids.tolist(), theirs)
    ]
    if wrong:
        raise UserError(
            f"{file}: cannot be expressed as a tokenizer.json: {len(wrong)} of {_CHECKED} lines "
            f"get other ids, such as {wrong[0]!r}"
        )


def _equally_probable(content: Mapping[str, Any], one: list[int], other: list[int]) -> bool:
    """Whether a unigram model gives both cuts of a line the same score, up to rounding:
    sentencepiece adds scores in float32, the library in float64."""
    vocabulary = content["model"]["vocab"]
    if not isinstance(vocabulary, list):
        return False
    scores = [sum(vocabulary[number][1] for number in ids) for ids in (one, other)]
    return one.count(UNK) == other.count(UNK) and abs(scores[0] - scores[1]) < 1e-4
