"""How families of tokenizers spell where words begin, and how we do: with ``▁``."""

import re
from collections.abc import Callable, Iterable, Mapping
from functools import cache

from fairseq_xling.data.dictionary import SPECIAL_SYMBOLS
from fairseq_xling.text.pieces import WORD_MARK

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
