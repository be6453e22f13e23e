"""The vocabulary of a Hugging Face folder, whichever of its files it is in."""

import re
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from fairseq_xling.core.errors import UserError, about, shown, well_formed
from fairseq_xling.core.files import read_json
from fairseq_xling.core.ranges import check_bound
from fairseq_xling.core.texts import read_lines
from fairseq_xling.data.folder import SPECIAL_SYMBOLS
from fairseq_xling.text.pieces import WORD_MARK, open_model

_PLACEHOLDER = re.compile(r"\[unused\d+\]|<special\d+>|<unused\d+>|madeupword\d+")


def is_placeholder(token: str) -> bool:
    """Whether ``token`` only fills a row of the embeddings.

    >>> is_placeholder("[unused7]"), is_placeholder("unused")
    (True, False)
    """
    return _PLACEHOLDER.fullmatch(token) is not None


def wordpiece(token: str) -> str:
    """BERT: a piece inside a word is marked instead.

    >>> wordpiece("play"), wordpiece("##ing")
    ('▁play', 'ing')
    """
    return token[2:] if token.startswith("##") and len(token) > 2 else WORD_MARK + token


def byte_level(token: str) -> str:
    """GPT-2 and RoBERTa: each letter stands for a byte of UTF-8, ``Ġ`` for the space before a word.

    A piece that ends within a character has its stray bytes in sentencepiece's form.

    >>> byte_level("Ġthe"), byte_level("Ã©"), byte_level("Ã")
    ('▁the', 'é', '<0xC3>')
    """
    table = _bytes_of_letters()
    if any(letter not in table for letter in token):
        return token
    raw = bytes(table[letter] for letter in token)
    text = raw.decode("utf-8", errors="surrogateescape")
    text = "".join(f"<0x{ord(c) - 0xDC00:02X}>" if 0xDC80 <= ord(c) <= 0xDCFF else c for c in text)
    return text.replace(" ", WORD_MARK)


def word_end(token: str) -> str:
    """XLM: ``</w>`` marks where a word ends, and nothing where it begins.

    A piece that ends a word is treated as the whole word, as most of them in running text are; a
    piece before another one is left unmarked.

    >>> word_end("dogs</w>"), word_end("catas")
    ('▁dogs', 'catas')
    """
    return WORD_MARK + token[:-4] if token.endswith("</w>") and len(token) > 4 else token


def as_is(token: str) -> str:
    """sentencepiece's own spelling is ours."""
    return token


def spell(
    tokens: Iterable[str], how: Callable[[str], str], special: Mapping[str, str]
) -> list[str]:
    """``tokens`` in our spelling, all different.

    Special tokens are named by ``special``, and no other has the name of one of ours; placeholders
    are kept. If two would have the same spelling, the later one keeps its own. What a line of a
    dictionary cannot hold has sentencepiece's form of its bytes.

    >>> spell(["[CLS]", "a", "##a", "##\\n"], wordpiece, {"[CLS]": "<s>"})
    ['<s>', '▁a', 'a', '<0x0A>']
    """
    symbols: list[str] = []
    taken = {*SPECIAL_SYMBOLS, *special.values()}
    for number, token in enumerate(tokens):
        if token in special:
            symbols.append(special[token])
            continue
        symbol = token if is_placeholder(token) else how(token)
        for candidate in map(_in_a_line, (symbol, token, f"{token}<{number}>")):
            if candidate and candidate not in taken:
                symbols.append(candidate)
                taken.add(candidate)
                break
    return symbols


def _in_a_line(symbol: str) -> str:
    """``symbol`` without ends of lines, half characters, and the mark by which a file may begin."""

    def spelt(found: re.Match[str]) -> str:
        return "".join(f"<0x{byte:02X}>" for byte in found[0].encode("utf-8", "surrogatepass"))

    return re.sub("[\r\n\ud800-\udfff]|^\ufeff+", spelt, symbol)


@cache
def _bytes_of_letters() -> dict[str, int]:
    """GPT-2's alphabet: printable Latin-1 stands for itself, the other bytes for U+0100 onwards."""
    printable = {*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
    others = [byte for byte in range(256) if byte not in printable]
    letters = {chr(byte): byte for byte in printable}
    return letters | {chr(0x100 + place): byte for place, byte in enumerate(others)}


# Our spelling of each special symbol that encoders have; the names are those of `special_ids`.
SPECIAL_NAMES = {"cls": "<s>", "pad": "<pad>", "sep": "</s>", "unk": "<unk>", "mask": "<mask>"}

# How families spell them, if a folder does not say.
BERT_SPECIALS = {"cls": "[CLS]", "pad": "[PAD]", "sep": "[SEP]", "unk": "[UNK]", "mask": "[MASK]"}
ROBERTA_SPECIALS = SPECIAL_NAMES
SPECIALS_OF_FAMILIES = (BERT_SPECIALS, ROBERTA_SPECIALS)
_NULL = "<null>"  # which only our own encoders have, and folders that were exported of them

# How many rows of embeddings may have no token, since sizes are rounded up: so many, or one of a
# hundred.
_PADDING, _SHARE = 128, 100

Ids = dict[str, int]
Spelling = Callable[[str], str]


def read_vocabulary(
    folder: Path, size: int, specials: Mapping[str, str]
) -> tuple[list[str], dict[str, int]]:
    """The symbols of ``folder`` by id, in our spelling, and the ids of its special ones.

    Args:
        size: rows of the token embeddings; ids without a token become placeholders.
        specials: the family's own spelling of ``cls``, ``pad``, ``sep``, ``unk`` and ``mask``,
            unless the folder says otherwise.

    Raises:
        UserError: if there is no vocabulary, it is damaged, it is too large or much too small for
            ``size``, or a special symbol is not in it.
    """
    check_bound("ids", size, folder)
    file, ids, how = _read_ids(folder)
    if ids and (min(ids.values()) < 0 or max(ids.values()) >= size):
        raise UserError(
            f"{file}: ids must lie below the config's `vocab_size`, {size}, got {max(ids.values())}"
        )
    most, tokens = max(_PADDING, size // _SHARE), len(set(ids.values()))
    if size - tokens > most:
        raise UserError(
            f"{file}: must have a token for each of the {size} rows of the embeddings, of which at "
            f"most {most} may be padding, got {tokens}; put the tokenizer that the model was "
            "trained with into the folder"
        )
    names = {**specials, **_declared(folder)}
    found = {}
    for kind in SPECIAL_NAMES:
        if names.get(kind) not in ids:
            raise UserError(f"{file}: has no {kind} token {names.get(kind, '')!r}")
        found[kind] = ids[names[kind]]
    spelt = [f"<unused{number}>" for number in range(size)]
    for token, number in ids.items():
        spelt[number] = token
    # The separator last: XLM begins a sentence with it, too.
    ours = {names[kind]: SPECIAL_NAMES[kind] for kind in ("cls", "pad", "unk", "mask", "sep")}
    if _NULL in ids:
        found["null"], ours[_NULL] = ids[_NULL], _NULL
    return spell(spelt, how, ours), found


def table_size(folder: Path, least: int) -> int:
    """How many rows the embeddings of a Hugging Face folder have: at least those of its tokens.

    Args:
        least: so many ids its tokenizer has.
    """
    config = _config(folder)
    found = [config.get(name) for name in ("vocab_size", "n_words")]
    return max([least, *(size for size in found if type(size) is int)])


def _config(folder: Path) -> dict[str, Any]:
    """What ``config.json`` says; nothing if there is none."""
    file = folder / "config.json"
    found = read_json(file) if file.is_file() else None
    return found if isinstance(found, dict) else {}


def _read_ids(folder: Path) -> tuple[Path, Ids, Spelling]:
    for name, read in _READERS.items():
        if (folder / name).is_file():
            with well_formed(f"{folder / name}: not a vocabulary in a known format"):
                ids, how = read(folder / name)
            extra = folder / "added_tokens.json"
            with well_formed(f"{extra}: must give a number to each token"):
                if extra.is_file() and isinstance(added := read_json(extra), dict):
                    ids |= {str(token): int(number) for token, number in added.items()}
            return folder / name, _as_used(folder, name, ids), how
    raise UserError(f"{folder}: no vocabulary (it has none of {', '.join(_READERS)})")


def _as_used(folder: Path, name: str, ids: Ids) -> Ids:
    """``ids`` of the file ``name``, with those of ``tokenizer.json``, which must not contradict."""
    used = folder / "tokenizer.json"
    if used.name == name or not used.is_file():
        return ids
    with well_formed(f"{used}: not a vocabulary in a known format"):
        theirs, _ = _tokenizer_json(used)
    tokens = {number: token for token, number in ids.items()}
    for token, number in theirs.items():
        if ids.get(token, number) != number or tokens.get(number, token) != token:
            raise UserError(
                f"{used}: must have the tokens of {name} next to it, got {shown(token)} as number "
                f"{number}, there {ids.get(token, shown(tokens.get(number)))}; remove the one that "
                "the model was not trained with"
            )
    return {**ids, **theirs}


def _numbered(tokens: Iterable[str]) -> Ids:
    return {token: number for number, token in enumerate(tokens)}


def _vocab_json(file: Path) -> tuple[Ids, Spelling]:
    ids = {str(token): int(number) for token, number in read_json(file).items()}
    ends = any(token.endswith("</w>") for token in ids)
    return ids, word_end if ends else byte_level


def _sentencepiece(file: Path) -> tuple[Ids, Spelling]:
    """fairseq's ids, with <mask> at the end.

    XLM-R has <s>, <pad> and </s> instead of the model's own first three symbols, and one id before
    all others. CamemBERT has four before all of the model's, whose unknown symbol is not its own.
    """
    with about(file):
        _, pieces = open_model(file.read_bytes())
    own = ["<s>", "<pad>", "</s>", "<unk>"]
    if _config(file.parent).get("model_type") == "camembert":
        own = ["<s>NOTUSED", "<pad>", "</s>NOTUSED", "<unk>"]
        pieces[0] = "<unk>NOTUSED"
    else:
        pieces = pieces[3:]
    return _numbered([*own, *pieces, "<mask>"]), as_is


def _tokenizer_json(file: Path) -> tuple[Ids, Spelling]:
    content = read_json(file)
    model = content["model"]
    vocab = model["vocab"]
    if isinstance(vocab, list):  # Unigram: [piece, score] by id
        ids, how = _numbered(str(piece) for piece, _ in vocab), as_is
    else:
        ids = {str(token): int(number) for token, number in vocab.items()}
        how = _spelling_of(content, model)
    ids |= {str(token["content"]): int(token["id"]) for token in content.get("added_tokens") or []}
    return ids, how


def _spelling_of(content: dict[str, Any], model: dict[str, Any]) -> Spelling:
    if model.get("type") == "WordPiece":
        return wordpiece
    if model.get("end_of_word_suffix") == "</w>":
        return word_end
    parts = [content.get("pre_tokenizer"), content.get("decoder")]
    return byte_level if any(_has_type(part, "ByteLevel") for part in parts) else as_is


def _has_type(value: Any, kind: str) -> bool:
    if isinstance(value, dict):
        return value.get("type") == kind or any(_has_type(v, kind) for v in value.values())
    return isinstance(value, list) and any(_has_type(v, kind) for v in value)


def _declared(folder: Path) -> dict[str, str]:
    """The special tokens that the folder's own files name."""
    names: dict[str, str] = {}
    for file in ("tokenizer_config.json", "special_tokens_map.json"):
        content = read_json(folder / file) if (folder / file).is_file() else {}
        for kind in SPECIAL_NAMES:
            value = content.get(f"{kind}_token") if isinstance(content, dict) else None
            value = value.get("content") if isinstance(value, dict) else value
            if isinstance(value, str):
                names[kind] = value
    return names


# The first that exists is used.
_READERS: dict[str, Callable[[Path], tuple[Ids, Spelling]]] = {
    "vocab.txt": lambda file: (_numbered(read_lines(file)), wordpiece),
    "vocab.json": _vocab_json,
    "tokenizer.json": _tokenizer_json,
    "sentencepiece.bpe.model": _sentencepiece,
}
