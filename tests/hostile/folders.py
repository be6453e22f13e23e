"""Hostile data folders, through calls that read them."""

import functools
import hashlib
import json
import struct
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from tests.hostile.calls import calls
from tests.hostile.machine import Case
from tests.tiny_world import World

_HEADER = struct.Struct("<9sQBQ")
Change = Callable[[Path], object]

# By name: what is done to the copy of a data folder, and whether only the calls that read its text
# can notice.
KINDS: dict[str, tuple[Change, bool]] = {}


def _seal(folder: Path, old: dict[str, str]) -> None:
    """Write the digests of changed files into meta.json, as an attacker would."""
    meta = folder / "meta.json"
    text = meta.read_text()
    for name, digest in old.items():
        file = folder / name
        if file.is_file() and name != "meta.json":
            text = text.replace(digest, hashlib.sha256(file.read_bytes()).hexdigest())
    meta.write_text(text)


def _digests(folder: Path) -> dict[str, str]:
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in folder.rglob("*")
        if path.is_file()
    }


def _add(name: str, change: Change, text: bool = False, sealed: bool = False) -> None:
    """With ``sealed`` also a kind whose digests are right."""
    KINDS[name] = change, text

    def seal(folder: Path) -> None:
        old = _digests(folder)
        change(folder)
        _seal(folder, old)

    if sealed:
        KINDS[f"{name}, with its digest"] = seal, text


# ---- meta.json


def _meta(name: str, change: Callable[[dict[str, Any]], Any]) -> None:
    def apply(folder: Path) -> None:
        path = folder / "meta.json"
        meta = json.loads(path.read_text())
        made = change(meta)
        path.write_text(json.dumps(meta if made is None else made))

    _add(f"meta.json: {name}", apply)


def _meta_text(name: str, text: str | bytes) -> None:
    data = text if isinstance(text, bytes) else text.encode()
    _add(f"meta.json: {name}", lambda folder: (folder / "meta.json").write_bytes(data))


_meta_text("empty", "")
_meta_text("no JSON", "{")
_meta_text("not UTF-8", b'{"format": "\xff"}')
_meta_text("a list", "[]")
_meta_text("null", "null")
_meta_text("nested 100,000 deep", "[" * 100_000 + "]" * 100_000)
_meta_text("a number of 5,000 digits", '{"format": 1' + "0" * 5000 + "}")
_meta_text("NaN", '{"format": NaN}')
_add("meta.json: missing", lambda folder: (folder / "meta.json").unlink())
_add(
    "meta.json: a folder",
    lambda folder: ((folder / "meta.json").unlink(), (folder / "meta.json").mkdir()),
)
for _value in (0, 99, "1", None, 10**30, "x" * 100_000):
    _meta(f"format {repr(_value)[:20]}", lambda meta, v=_value: meta.update(format=v))
for _value in (
    *(None, [], "en", {"en": 1}, [["en"]], [None], [1, 2], ["en", "en"], ["../en", "de"], ["en"]),
    *(["e" * 100_000, "de"], ["en", "de", "fr"], ["en\n", "de"]),
):
    _meta(f"languages {repr(_value)[:30]}", lambda meta, v=_value: meta.update(languages=v))
for _value in (
    *(None, [], {}, {"dict.txt": 7}, {"dict.txt": "0" * 64}, {"../dict.txt": "0" * 64}),
    *({"/etc/passwd": "0" * 64}, {"dict.txt": None}, {"nothing.txt": "0" * 64}),
):
    _meta(f"dictionaries {repr(_value)[:30]}", lambda meta, v=_value: meta.update(dictionaries=v))
for _value in (
    None,
    [],
    "x",
    {"valid": None},
    {"valid": []},
    {"valid": {"en": None}},
    {"x" * 9999: {}},
):
    _meta(f"mono {repr(_value)[:30]}", lambda meta, v=_value: meta.update(mono=v))
for _value in ([], "x", {"test": None}, {"test": {"en": {}}}, {"test": {"en-de-fr": {}}}):
    _meta(f"parallel {repr(_value)[:30]}", lambda meta, v=_value: meta.update(parallel=v))
for _value in (None, [], "joint", {"mode": "zz"}, {"mode": 7}, {}):
    _meta(f"vocab {repr(_value)[:30]}", lambda meta, v=_value: meta.update(vocab=v))

# ---- dictionaries


def _dictionary(name: str, change: Callable[[bytes], bytes]) -> None:
    def apply(folder: Path) -> None:
        path = folder / "dict.txt"
        path.write_bytes(change(path.read_bytes()))

    _add(f"dict.txt: {name}", apply, sealed=True)


_dictionary("empty", lambda data: b"")
_dictionary("without counts", lambda data: data.replace(b" 1\n", b"\n"))
_dictionary("a count that is text", lambda data: data[:-2] + b"x\n")
_dictionary("a negative count", lambda data: data[:-2] + b"-1\n")
_dictionary("not UTF-8", lambda data: data[:-2] + b"\xff 1\n")
_dictionary("a symbol twice", lambda data: data + data.splitlines(True)[9])
_dictionary("without its last line", lambda data: b"".join(data.splitlines(True)[:-1]))
_dictionary("a line more", lambda data: data + "▁zzz 1\n".encode())
_dictionary("two lines exchanged", lambda data: _exchanged(data, 0, 1))
_dictionary("mask in another place", lambda data: _exchanged(data, 0, 8))
_dictionary("a symbol of a megabyte", lambda data: data + b"x" * (1 << 20) + b" 1\n")
_dictionary("zeros", lambda data: bytes(len(data)))
_dictionary("an HTML page", lambda data: b"<html>404</html>\n")


def _exchanged(data: bytes, one: int, other: int) -> bytes:
    lines = data.splitlines(True)
    lines[one], lines[other] = lines[other], lines[one]
    return b"".join(lines)


# ---- the model of the pieces

for _name, _data in (
    *(("empty", b""), ("text", b"nothing"), ("zeros", bytes(4096)), ("one byte", b"\x08")),
):
    _add(
        f"sentencepiece.model: {_name}",
        lambda folder, data=_data: (folder / "sentencepiece.model").write_bytes(data),
        sealed=True,
    )
_add(
    "sentencepiece.model: half",
    lambda folder: (folder / "sentencepiece.model").write_bytes(
        (folder / "sentencepiece.model").read_bytes()[:2000]
    ),
    sealed=True,
)
_add("sentencepiece.model: missing", lambda folder: (folder / "sentencepiece.model").unlink())

# ---- token files


def _text_files(folder: Path, ending: str) -> list[Path]:
    """Of every split, so that each call that reads text reads a damaged one."""
    return [
        path
        for room in ("mono", "parallel")
        for path in sorted((folder / room).glob(f"*{ending}"))
        if ".order." not in path.name
    ]


def _bytes(name: str, ending: str, change: Callable[[bytes], bytes]) -> None:
    def apply(folder: Path) -> None:
        for path in _text_files(folder, ending):
            path.write_bytes(change(path.read_bytes()))

    _add(f"{ending}: {name}", apply, text=True, sealed=True)


def _index(name: str, change: Callable[[np.ndarray, np.ndarray], Any]) -> None:
    """Sizes and offsets of an index changed in place."""

    def rewritten(data: bytes) -> bytes:
        count = _HEADER.unpack(data[: _HEADER.size])[3]
        middle = _HEADER.size + 4 * count
        sizes = np.frombuffer(data[_HEADER.size : middle], "<i4").copy()
        offsets = np.frombuffer(data[middle:], "<i8").copy()
        change(sizes, offsets)
        return data[: _HEADER.size] + sizes.tobytes() + offsets.tobytes()

    _bytes(name, ".idx", rewritten)


def _header(name: str, place: int, value: Any) -> None:
    def rewritten(data: bytes) -> bytes:
        fields = list(_HEADER.unpack(data[: _HEADER.size]))
        fields[place] = value
        return _HEADER.pack(*fields) + data[_HEADER.size :]

    _bytes(name, ".idx", rewritten)


for _value in (-5, 0, 2**31 - 1, -(2**31), 1, 1000):
    _index(f"a size of {_value}", lambda sizes, offsets, v=_value: sizes.__setitem__(2, v))
for _value in (-8, 0, 2**62, -(2**62), 3, 10**6):
    _index(f"an offset of {_value}", lambda sizes, offsets, v=_value: offsets.__setitem__(2, v))
_index("offsets of 0", lambda sizes, offsets: offsets.__setitem__(slice(0, -1), 0))
_index("offsets backwards", lambda sizes, offsets: offsets[:-1].sort() or offsets.__setitem__(
    slice(0, -1), offsets[:-1][::-1].copy()
))  # fmt: skip
_index("sizes exchanged", lambda s, o: s.__setitem__(slice(0, 2), [s[0] + 1, s[1] - 1]))
_header("another magic", 0, b"XXIDIDX\x00\x00")
_header("version 2", 1, 2)
_header("version 2^63", 1, 1 << 63)
_header("an unknown type", 2, 77)
_header("a float type", 2, 6)
_header("another type", 2, 4)
_header("no items", 3, 0)
_header("2^62 items", 3, 1 << 62)
_bytes("empty", ".idx", lambda data: b"")
_bytes("half", ".idx", lambda data: data[: len(data) // 2])
_bytes("zeros", ".idx", lambda data: bytes(len(data)))
_bytes("more at its end", ".idx", lambda data: data + bytes(12))
_bytes("empty", ".bin", lambda data: b"")
_bytes("half", ".bin", lambda data: data[: len(data) // 4 * 2])
_bytes("one value more", ".bin", lambda data: data + b"\x02\x00")
_bytes("values beyond the dictionary", ".bin", lambda data: b"\xff" * len(data))
_bytes("zeros", ".bin", lambda data: bytes(len(data)))
_bytes("without ends of sentences", ".bin", lambda data: data.replace(b"\x02\x00", b"\x09\x00"))
_bytes("padding inside", ".bin", lambda data: data[:2] + b"\x01\x00" + data[4:])


def _removed(ending: str) -> None:
    def apply(folder: Path) -> None:
        for path in _text_files(folder, ending):
            path.unlink()

    _add(f"{ending}: missing", apply, text=True)


_removed(".idx")
_removed(".bin")


def _sides(folder: Path) -> None:
    """The sides of parallel text have different numbers of lines."""
    for ending in (".bin", ".idx"):
        (folder / f"mono/train.en{ending}").replace(folder / f"parallel/test.en-de.en{ending}")


_add("parallel text of unequal sides", _sides, text=True)


def _orders(name: str, change: Callable[[bytes], bytes]) -> None:
    def apply(folder: Path) -> None:
        for path in (folder / "parallel").glob("*.order.bin"):
            path.write_bytes(change(path.read_bytes()))

    _add(f"order.bin: {name}", apply, sealed=True)


_orders("links out of their sentence", lambda data: b"\xf0" * len(data))
_orders("half", lambda data: data[: len(data) // 4 * 2])

# ---- anchors


def _anchors(name: str, text: str) -> None:
    def apply(folder: Path) -> None:
        for path in folder.glob("anchors.*.json"):
            path.write_text(text)

    _add(f"anchors: {name}", apply, sealed=True)


_anchors("no JSON", "{")
_anchors("a list", "[]")
_anchors("ids out of range", '{"entries": [[[99999], [[[7], 1.0, "de"]]]]}')
_anchors("an unknown language", '{"entries": [[[7], [[[7], 1.0, "xx"]]]]}')
_anchors("a weight of NaN", '{"entries": [[[7], [[[7], NaN, "de"]]]]}')
_anchors("no ids", '{"entries": [[[], []]]}')
_anchors("nested 100,000 deep", "[" * 100_000)

# ---- cases

# Calls that read text of the folder, and calls that read only what all do. `fairseq-train` reads
# training text, `eval` that of validation and test, generation parallel text.
_READERS = ("fairseq-train", "eval", "fairseq-validate", "fairseq-generate")
_OTHERS = ("extract", "init", "predict", "clcr-encode", "embed words", "translate-mds", "probe")
_TRANSLATES = "fairseq-train cdlm"
_ANCHORS = "--extra-anchors"


_OTHER = "with its own digest it is another valid folder"
_NO_HARM = {
    **{
        f"dict.txt: {name}, with its digest": _OTHER
        for name in (
            *("two lines exchanged", "a line more", "without its last line"),
            "a symbol of a megabyte",
        )
    },
    **{
        f".bin: padding inside{ending}": "a symbol as any other"
        for ending in ("", ", with its digest")
    },
}


# A folder that is valid by itself is another than the one of the checkpoint, which is named.
_CHECKPOINT_DIFFERS = (".pt does not fit: it was trained with", ".pt: was trained with")
# Calls that neither cut text into pieces nor ask which symbols are of a language.
_CUT_NOTHING = ("fairseq-train", "fairseq-validate", "eval", "fairseq-generate", "embed words")


def _no_harm(name: str, call: str) -> str:
    if name == "meta.json: vocab {'mode': 'zz'}" and call in _CUT_NOTHING:
        return "no text is cut into pieces"
    if name.startswith("meta.json: languages ['en', 'de', 'fr']"):
        return "a folder whose third language has no text"
    return _NO_HARM.get(name, "")


def _damage(change: Change, world: World, here: Path) -> None:
    change(world.copy("data", here))


def _calls_for(name: str, text: bool) -> Iterator[tuple[str, str]]:
    known = calls()
    if name.startswith("order.bin"):
        yield _TRANSLATES, known[_TRANSLATES]
    elif name.startswith("anchors"):
        yield f"fairseq-train {_ANCHORS}", f"{known['fairseq-train']} {_ANCHORS}"
    elif name.startswith("sentencepiece"):
        yield "extract", known["extract"]
        yield "fairseq-interactive", known["fairseq-interactive"]
    elif name.startswith("parallel"):
        yield "eval", known["eval"]
    else:
        for call in _READERS if text else (*_READERS, *_OTHERS):
            yield call, known[call]


def cases() -> Iterator[Case]:
    """Every kind through the calls that can notice it."""
    for name, (change, text) in KINDS.items():
        for call, words in _calls_for(name, text):
            yield Case(
                f"data folder: {name}: {call}",
                words.replace("{w}/data", "{h}/data"),
                functools.partial(_damage, change),
                names=_CHECKPOINT_DIFFERS,
                either=_no_harm(name, call),
                keeps="its settings, for the next start" if call == "probe" else "",
            )
