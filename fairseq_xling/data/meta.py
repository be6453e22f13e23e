"""``meta.json`` of a data folder: what is in the folder, checked before anything relies on it.

*Splits* are one text to train on, and any number of texts to validate and to test on. As in
fairseq, further sets are numbered: ``valid``, ``valid1``, ... and ``test``, ``test1``, ...

*Digests*: each file has its size and the SHA-256 of all its bytes. Text may be far larger than
memory, so a file of text also has the digest of a sample, which is what is compared whenever it is
opened; the rest is compared by `fairseq-xling check`. Other files are small and are always compared
in full.
"""

import hashlib
import math
import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Any

from fairseq_xling.core.errors import MALFORMED, UserError
from fairseq_xling.core.files import read_json, sha256
from fairseq_xling.core.languages import parse_languages, parse_pair
from fairseq_xling.core.registry import did_you_mean

KINDS = ("train", "valid", "test")
_NAME = re.compile("train|(valid|test)([0-9]{0,9})", re.ASCII)
_RULE = "train, valid or test, the last two also with a number, as in test1"
_TESTS = "test, also with a number, as in test1"


def is_split(name: str) -> bool:
    """Whether ``name`` can be that of a split.

    >>> [is_split(name) for name in ("train", "valid", "test12", "train1", "dev", "test1x")]
    [True, True, True, False, False, False]
    """
    return _NAME.fullmatch(name) is not None


def check_split(argument: str, name: str) -> str:
    """``name`` if it can be that of a split; ``argument`` begins the message."""
    return _checked_split(argument, name, KINDS, _RULE)


def check_test_set(argument: str, name: str) -> str:
    """``name`` if it can be that of a set to test on."""
    return _checked_split(argument, name, ("test",), _TESTS)


def _checked_split(argument: str, name: str, kinds: Sequence[str], rule: str) -> str:
    if is_split(name) and name.startswith(tuple(kinds)):
        return name
    known = [*kinds, *(f"{kind}1" for kind in kinds if kind != "train")]
    raise UserError(f"{argument}: split must be {rule}, got {name!r}{did_you_mean(name, known)}")


def in_order(names: Iterable[str]) -> list[str]:
    """Splits in their usual order: train, then valid and test, each by number.

    >>> in_order(["test10", "test2", "test", "valid1", "train", "valid"])
    ['train', 'valid', 'valid1', 'test', 'test2', 'test10']
    """
    return sorted(names, key=split_order)


def split_order(name: str) -> tuple[int, int, str]:
    """A key to sort splits by; other names, of a folder made elsewhere, come last."""
    match = _NAME.fullmatch(name)
    if match is None:
        return len(KINDS), 0, name
    return KINDS.index(match[1] or "train"), int(match[2] or -1), name


_BLOCK = 1 << 12  # bytes
_BLOCKS = 16  # of a sample, evenly spaced from the first to the last
_SAMPLED = (".bin", ".idx")


def sample_digest(path: str | Path) -> str:
    """Hex digest of a file's size and of blocks spread over it; of all of it if it is small."""
    size = os.path.getsize(path)
    digest = hashlib.sha256(str(size).encode())
    with open(path, "rb") as file:
        if size <= _BLOCK * _BLOCKS:
            digest.update(file.read())
        else:
            for k in range(_BLOCKS):
                file.seek((size - _BLOCK) * k // (_BLOCKS - 1))
                digest.update(file.read(_BLOCK))
    return digest.hexdigest()


def describe_files(folder: Path, names: Iterable[str]) -> dict[str, dict[str, Any]]:
    """``{"bytes", "sha256"}`` of files by their names in ``folder``, of text also ``"sample"``."""
    found = {}
    for name in sorted(names):
        path = folder / name
        found[name] = {"bytes": path.stat().st_size, "sha256": sha256(path)}
        if name.endswith(_SAMPLED):
            found[name]["sample"] = sample_digest(path)
    return found


def check_file(path: Path, recorded: Mapping[str, Any], fully: bool = False) -> None:
    """Compare a file with what was ``recorded`` of it; ``fully`` reads all of it in any case."""
    if not path.is_file():
        raise UserError(f"{path}: no such file, though meta.json lists it")
    same = path.stat().st_size == recorded.get("bytes")
    if same and "sample" in recorded:
        same = sample_digest(path) == recorded["sample"]
    if same and (fully or "sample" not in recorded):
        same = sha256(path) == recorded.get("sha256")
    if not same:
        raise UserError(f"{path}: changed since the folder was prepared; prepare it again")


FORMAT = 1
_LONGEST = 100  # characters of a split's name


def read_meta(path: str | Path) -> dict[str, Any]:
    """The description of a data folder.

    ``languages`` are unique codes, ``dictionaries`` has one name for all of them or one for each,
    ``mono`` and ``parallel`` have only these languages, and ``files``, if any, lie in the folder.
    """
    meta = read_json(path)
    found = meta.get("format") if isinstance(meta, dict) else None
    if found != FORMAT or isinstance(found, bool):
        raise UserError(f"{path}: format must be {FORMAT}, got {found!r}")
    for name, check in _PARTS.items():
        if name in meta or name in _REQUIRED:
            try:
                if not check(meta.get(name), meta):
                    raise ValueError
            except (UserError, *MALFORMED) as error:
                reason = f" ({error})" if isinstance(error, UserError) else ""
                what = f"has no valid {name}{reason}" if name in meta else f"has no {name}"
                raise UserError(f"{path}: {what}; prepare the folder again") from None
    return meta


def _languages(codes: Any, meta: Any) -> bool:
    right = isinstance(codes, list) and all(isinstance(code, str) for code in codes)
    return right and parse_languages(",".join(codes), "languages") == codes


def _dictionaries(digests: Any, meta: Any) -> bool:
    of_each = {f"dict.{lang}.txt" for lang in meta["languages"]}
    right = set(digests) in ({"dict.txt"}, of_each)
    return right and all(isinstance(digest, str) for digest in digests.values())


def _texts(splits: Any, meta: Any, languages_of: Callable[[str], Iterable[str]]) -> bool:
    """Names are of the folder's languages, and no count is negative, NaN or infinite."""
    right = True
    for split, texts in splits.items():
        right &= "/" not in split and not split.startswith(".") and len(split) <= _LONGEST
        for name, counts in texts.items():
            own = set(languages_of(name))
            right &= own <= set(meta["languages"])
            right &= all(set(parse_pair(pair)) == own for pair in counts.get("orders", []))
            numbers = [one for one in counts.values() if isinstance(one, int | float)]
            right &= all(0 <= number < math.inf for number in numbers)
    return right


def _files(files: Any, meta: Any) -> bool:
    return all(
        not PurePosixPath(name).is_absolute()
        and ".." not in PurePosixPath(name).parts
        and isinstance(recorded["bytes"], int)
        and isinstance(recorded["sha256"], str)
        for name, recorded in files.items()
    )


_REQUIRED = ("languages", "dictionaries")
_PARTS: dict[str, Callable[[Any, Any], bool]] = {
    "languages": _languages,
    "dictionaries": _dictionaries,
    "mono": partial(_texts, languages_of=lambda name: [name]),
    "parallel": partial(_texts, languages_of=parse_pair),
    "vocab": lambda vocab, meta: isinstance(vocab["mode"], str),
    "files": _files,
}
