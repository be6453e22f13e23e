"""Every other file and folder that a call reads, damaged: text, gold files, JSON, vectors, maps.

The places come from the calls themselves; the kinds from the name of the file.
"""

import functools
import gzip
import io
import json
import os
import re
import struct
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from tests.hostile.calls import CHECKPOINTS, calls
from tests.hostile.checkpoints import CODE, Runs
from tests.hostile.machine import Case, files_read
from tests.tiny_world import World

Bytes = Callable[[bytes], bytes]
_EMPTY = "nothing is said, and nothing is there to be done"
_ODD = "letters as any others"

# ---- any file

_ANY: dict[str, Bytes] = {
    "empty": lambda data: b"",
    "zeros": lambda data: bytes(len(data)),
    "not UTF-8": lambda data: data[: len(data) // 2] + b"\xff\xfe\xff" + data[len(data) // 2 :],
}
_BINARY: dict[str, Bytes] = {
    "half": lambda data: data[: len(data) // 2],
    "an HTML page": lambda data: b"<!DOCTYPE html><html>404</html>\n",
    "a pickle": lambda data: __import__("pickle").dumps(Runs()),
}
# ---- text

_TEXT: dict[str, Bytes] = {
    **_ANY,
    "a line of 40 MB": lambda data: data + b"word " * (8 << 20) + b"\n",
    "a word of 4 MB": lambda data: data + b"x" * (4 << 20) + b"\n",
    "NUL bytes": lambda data: data.replace(b"e", b"\0"),
    "UTF-16": lambda data: data.decode().encode("utf-16"),
    "a lone surrogate": lambda data: data + b"\xed\xa0\x80\n",
    "separators of lines and paragraphs": lambda data: data.replace(
        b"e", "\u2028\u2029\x0b\x1c".encode()
    ),
    "an HTML page": lambda data: b"<!DOCTYPE html><html>404</html>\n",
}
_TEXT_NO_HARM = {
    "empty": _EMPTY,
    "zeros": _ODD,
    "NUL bytes": _ODD,
    "a word of 4 MB": _ODD,
    "separators of lines and paragraphs": _ODD,
    "an HTML page": "text as any other",
}
# ---- JSON


def _leaf(value: Any) -> Bytes:
    """The first leaf of the value, of each line, in the place of which stands ``value``."""

    def replaced(node: Any) -> Any:
        if isinstance(node, dict) and node:
            return node | {(key := next(iter(node))): replaced(node[key])}
        if isinstance(node, list) and node:
            return [replaced(node[0]), *node[1:]]
        return value

    def change(data: bytes) -> bytes:
        try:
            return json.dumps(replaced(json.loads(data))).encode()
        except json.JSONDecodeError:
            lines = data.decode().splitlines()
            return "".join(json.dumps(replaced(json.loads(x))) + "\n" for x in lines).encode()

    return change


_JSON: dict[str, Bytes] = {
    **_ANY,
    "no JSON": lambda data: data[:-3],
    "null": lambda data: b"null",
    "a number": lambda data: b"7",
    "a list": lambda data: b"[]",
    "a list of lists": lambda data: b"[[[]]]",
    "text": lambda data: b'"text"',
    "an empty object": lambda data: b"{}",
    "nested 100,000 deep": lambda data: b"[" * 100_000 + b"]" * 100_000,
    "objects 50,000 deep": lambda data: b'{"a":' * 50_000 + b"1" + b"}" * 50_000,
    "a number of 5,000 digits": lambda data: b"1" + b"0" * 5000,
    "NaN": lambda data: b"NaN",
    "a leaf that is null": _leaf(None),
    "a leaf that is an object": _leaf({"a": [1]}),
    "a leaf that is a number": _leaf(-1e308),
    "a leaf that is code": _leaf(CODE),
}
# ---- NumPy


def _npy(array: np.ndarray, **options: Any) -> bytes:
    out = io.BytesIO()
    np.save(out, array, **options)
    return out.getvalue()


def _shaped(shape: str) -> Bytes:
    """A header that says another shape."""

    def change(data: bytes) -> bytes:
        text = f"{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}, }}"
        text += " " * (-(len(text) + 11) % 64) + "\n"
        return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text.encode() + data[128:]

    return change


def _array(change: Callable[[np.ndarray], np.ndarray]) -> Bytes:
    return lambda data: _npy(change(np.load(io.BytesIO(data))))


_NPY: dict[str, Bytes] = {
    **_ANY,
    **_BINARY,
    "objects with code": lambda data: _npy(np.array([Runs(eval, CODE)], object), allow_pickle=True),
    "a shape of 2^60": _shaped("(1152921504606846976,)"),
    "a negative shape": _shaped("(-1, 16)"),
    "a shape that is code": _shaped(CODE),
    "a row more than there is": _shaped("(100000, 16)"),
    "one dimension more": _array(lambda x: x[None]),
    "other dimensions": _array(lambda x: x.reshape(-1) if x.ndim > 1 else x[:, None]),
    "no rows": _array(lambda x: x[:0]),
    "a row less": _array(lambda x: x[:-1]),
    "text": _array(lambda x: np.full(x.shape, "text")),
    "complex": _array(lambda x: x.astype(np.complex64)),
    "NaN": _array(lambda x: np.full(x.shape, np.nan, np.float32)),
    "infinity": _array(lambda x: np.full(x.shape, np.inf, np.float32)),
    "negative": _array(lambda x: -np.abs(x) - 1),
}
# ---- safetensors


def _header(change: Callable[[dict[str, Any]], Any]) -> Bytes:
    def apply(data: bytes) -> bytes:
        (length,) = struct.unpack("<Q", data[:8])
        header = json.loads(data[8 : 8 + length])
        made = change(header)
        text = made if isinstance(made, bytes) else json.dumps(header).encode()
        return struct.pack("<Q", len(text)) + text + data[8 + length :]

    return apply


def _tensor(header: Mapping[str, Any]) -> Any:
    return next(value for name, value in header.items() if name != "__metadata__")


_SAFETENSORS: dict[str, Bytes] = {
    **_ANY,
    **_BINARY,
    "a header of 2^62 bytes": lambda data: struct.pack("<Q", 1 << 62) + data[8:],
    "a header that is no JSON": _header(lambda header: b"{"),
    "a header 100,000 deep": _header(lambda header: b"[" * 100_000),
    "no tensors": _header(lambda header: b"{}"),
    "no metadata": _header(lambda header: header.pop("__metadata__", None) and None),
    "metadata of another program": _header(
        lambda header: header.update(__metadata__={"format": "pt"})
    ),
    "a shape of 2^60": _header(lambda header: _tensor(header).update(shape=[1 << 60])),
    "a negative offset": _header(lambda header: _tensor(header).update(data_offsets=[-8, 8])),
    "integers": _header(lambda header: _tensor(header).update(dtype="I32")),
    "an unknown type": _header(lambda header: _tensor(header).update(dtype="ZZ")),
    "a tensor renamed": _header(
        lambda header: header.update({"zzz": header.pop(next(n for n in header if n[0] != "_"))})
    ),
    "NaN": _header(lambda header: None),
}


def _nan_tensors(data: bytes) -> bytes:
    (length,) = struct.unpack("<Q", data[:8])
    return data[: 8 + length] + b"\xff" * (len(data) - 8 - length)


_SAFETENSORS["NaN"] = _nan_tensors

_OTHER_BINARY: dict[str, Bytes] = {**_ANY, **_BINARY}

_BY_SUFFIX: dict[str, dict[str, Bytes]] = {
    ".npy": _NPY,
    ".safetensors": _SAFETENSORS,
    ".json": _JSON,
    ".jsonl": _JSON,
}


def kinds_of(path: Path) -> dict[str, Bytes]:
    """Ways to damage a file."""
    if path.suffix in _BY_SUFFIX:
        return _BY_SUFFIX[path.suffix]
    try:
        path.read_bytes().decode()
    except UnicodeDecodeError:
        return _OTHER_BINARY
    return _TEXT


# ---- places

_SKIPPED = re.compile(rf"\{{w\}}/(data\b|({'|'.join(CHECKPOINTS)})\.pt)")
# Of each of these is one enough: they read the same files by the same code.
ALIKE = re.compile(r"ablate trelm-(?!init)|clcr-train|eval-matrix|map (meeting|uncon)")


def every_place() -> Iterator[tuple[str, int, str]]:
    """(call, number of the word, file or folder below the world) that a call reads."""
    for call, text in calls().items():
        if ALIKE.match(call):
            continue
        for number, word in enumerate(text.split()):
            found = re.search(r"\{w\}/([\w./{}-]+)", word)
            if found and not _SKIPPED.search(word):
                yield call, number, re.sub(r"/\{.*", "", found[1])


def _moved(text: str, number: int, name: str, ending: str = "") -> str:
    words = text.split()
    words[number] = words[number].replace(f"{{w}}/{name}", f"{{h}}/{name}{ending}")
    return " ".join(words)


def _write(name: str, change: Bytes, ending: str, world: World, here: Path) -> None:
    source, target = world.root / name, here / f"{name}{ending}"
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(change(source.read_bytes()))


def _within(folder: str, name: str, change: Bytes, world: World, here: Path) -> None:
    world.copy(folder, here)
    path = here / folder / name
    path.write_bytes(change(path.read_bytes()))


def _without(folder: str, name: str, world: World, here: Path) -> None:
    (world.copy(folder, here) / name).unlink()


@functools.cache
def _bomb() -> bytes:
    """A gzip of one line of 300 MB."""
    out = io.BytesIO()
    with gzip.GzipFile(fileobj=out, mode="w", compresslevel=1) as file:
        for _ in range(75):
            file.write(b"word " * (1 << 20))
    return out.getvalue()


_GZIP: dict[str, Bytes] = {
    "no gzip": lambda data: data,
    "half a gzip": lambda data: (x := gzip.compress(data))[: len(x) // 2],
    "a damaged gzip": lambda data: (x := gzip.compress(data))[:20] + bytes(20) + x[40:],
    "a line of 375 MB in a gzip": lambda data: _bomb(),
}


def _loop(name: str, world: World, here: Path) -> None:
    target = here / name
    target.parent.mkdir(parents=True, exist_ok=True)
    target.symlink_to(target.name)


def _pipe(name: str, world: World, here: Path) -> None:
    target = here / name
    target.parent.mkdir(parents=True, exist_ok=True)
    os.mkfifo(target)


def _folder(name: str, world: World, here: Path) -> None:
    (here / name).mkdir(parents=True)
    (here / name / "file").touch()


def _missing(name: str, world: World, here: Path) -> None:
    (here / name).parent.mkdir(parents=True, exist_ok=True)


def _inner_files(folder: Path, read: set[Path]) -> Iterator[str]:
    """Of the files in ``folder`` that are ``read``, one of each name, numbers and digests aside, in
    whatever folder it is."""
    seen = set()
    for path in sorted(folder.rglob("*"), reverse=True):
        name = re.sub(r"[0-9a-f]{6,}|\d+", "", path.name)
        inner = path.relative_to(folder)
        if path.is_file() and name not in seen and inner in read:
            seen.add(name)
            yield str(inner)


# Calls of which a part may be finished before the damage is met.
_KEEPS = {
    "map": "finished layers are kept for the next start",
    "clcr-classify": "the settings and what is learnt are kept for the next start",
    "clcr-probe": "the settings and what is learnt are kept for the next start",
}
_PLAN = "a plan reads no text"


# Reads the lines of a log that are figures, and passes over all others.
_LOGS = "clcr-measure curves"


def _no_harm(kinds: dict[str, Bytes], kind: str, file: str = "") -> str:
    if kinds is _TEXT:
        return _TEXT_NO_HARM.get(kind, "")
    if kinds is _SAFETENSORS and "metadata" in kind and file.startswith("model."):
        return "others' weights need none, and have their own"
    if kinds is _SAFETENSORS and kind == "integers" and file.startswith("shortlist."):
        return "a list of words has whole numbers"
    if kinds is _NPY and kind == "negative" and re.search(r"layer\d+|vectors|lines", file):
        return "states have either sign, and numbers of sentences only tell equal ones"
    return "it need not be a leaf that is read" if kind.startswith("a leaf") else ""


_NOT_NEEDED = {
    "vocab.txt": "tokenizer.json has the words, too",
    "lines.npy": "it only tells equal sentences, and others than folders of sentences have none",
}


def _folder_cases(call: str, words: str, name: str, world: World) -> Iterator[Case]:
    stem, names = f"folder: {call}: {name}", (Path(name).name,)
    read = {path.relative_to(name) for path in _read(call, world) if path.is_relative_to(name)}
    for file in _inner_files(world.root / name, read):
        yield Case(
            f"{stem}: {file} missing",
            words,
            functools.partial(_without, name, file),
            names,
            either=_NOT_NEEDED.get(file, ""),
        )
        kinds = kinds_of(world.root / name / file)
        for kind, change in kinds.items():
            yield Case(
                f"{stem}: {file} {kind}",
                words,
                functools.partial(_within, name, file, change),
                names,
                either=_no_harm(kinds, kind, file),
                keeps=_KEEPS.get(call.split()[0], ""),
            )


@functools.cache
def _read(call: str, world: World) -> set[Path]:
    return files_read(calls()[call], world)


def _file_cases(call: str, number: int, name: str, world: World) -> Iterator[Case]:
    if "--dry-run" not in calls()[call] and Path(name) not in _read(call, world):
        return
    stem, text = f"file: {call}: {name}", calls()[call]
    # Text that is another than a checkpoint's.
    names = (Path(name).name, "names.pt does not fit", "lstm.pt does not fit")
    words, kinds = _moved(text, number, name), kinds_of(world.root / name)
    for kind, make in (("a folder", _folder), ("a pipe", _pipe)):
        yield Case(f"{stem}: {kind}", words, functools.partial(make, name), names)
    for kind, change in kinds.items():
        make = functools.partial(_write, name, change, "")
        no_harm = _PLAN if "--dry-run" in words else _no_harm(kinds, kind, name)
        if call == _LOGS and kind != "empty":
            no_harm = "what is no figure is passed over"
        yield Case(f"{stem}: {kind}", words, make, names, either=no_harm)
    if kinds is _TEXT:
        words = _moved(text, number, name, ".gz")
        for kind, change in _GZIP.items():
            make = functools.partial(_write, name, change, ".gz")
            yield Case(
                f"{stem}: {kind}",
                words,
                make,
                names,
                either=_PLAN if "--dry-run" in words or call == _LOGS else "",
            )


def cases(world: World) -> list[Case]:
    """Of each place every kind, each once; of two folders of one call that are alike, one."""
    found: dict[str, Case] = {}
    folders = set()
    for call, number, name in every_place():
        words, path = _moved(calls()[call], number, name), world.root / name
        made: list[Case] = []
        read = "--dry-run" in words or path.is_dir() or Path(name) in _read(call, world)
        for kind, make in (("missing", _missing), ("a loop of links", _loop)) if read else ():
            stem = f"input: {call}: {name}: {kind}"
            made.append(Case(stem, words, functools.partial(make, name), (Path(name).name,)))
        if path.is_file():
            made += _file_cases(call, number, name, world)
        elif path.is_dir() and name != "text" and (call, name[:5]) not in folders:
            folders.add((call, name[:5]))
            made += _folder_cases(call, words, name, world)
        for case in made:
            found.setdefault(case.name, case)
    return list(found.values())
