"""``meta.json`` of a data folder: what is in the folder, checked before anything relies on it."""

import math
from collections.abc import Callable
from pathlib import Path, PurePosixPath
from typing import Any

from fairseq_xling.errors import MALFORMED, UserError
from fairseq_xling.files import read_json
from fairseq_xling.languages import parse_languages, parse_pair

FORMAT = 1
_LONGEST = 100  # characters of a split's name


def read_meta(path: str | Path) -> dict[str, Any]:
    """The description of a data folder.

    ``languages`` are unique codes, ``dictionaries`` has one name for all of them or one for each,
    ``mono`` and ``parallel`` have only these languages, and ``files``, if any, lie in the folder.

    Raises:
        UserError: if it is missing, of another format, or a part is missing or of another form.
    """
    meta = read_json(path)
    found = meta.get("format") if isinstance(meta, dict) else None
    if found != FORMAT or isinstance(found, bool):
        raise UserError(f"{path}: format must be {FORMAT}, got {found!r}")
    for name, check in _PARTS.items():
        if name in meta or name in _REQUIRED:
            try:
                check(meta.get(name), meta)
            except (UserError, *MALFORMED) as error:
                reason = f" ({error})" if isinstance(error, UserError) else ""
                what = f"has no valid {name}{reason}" if name in meta else f"has no {name}"
                raise UserError(f"{path}: {what}; prepare the folder again") from None
    return meta


def _check(right: bool) -> None:
    if not right:
        raise ValueError


def _languages(codes: Any, meta: Any) -> None:
    _check(isinstance(codes, list) and all(isinstance(code, str) for code in codes))
    _check(parse_languages(",".join(codes), "languages") == codes)


def _dictionaries(digests: Any, meta: Any) -> None:
    of_each = {f"dict.{lang}.txt" for lang in meta["languages"]}
    _check(set(digests) in ({"dict.txt"}, of_each))
    _check(all(isinstance(digest, str) for digest in digests.values()))


def _mono(splits: Any, meta: Any) -> None:
    for split, languages in splits.items():
        _check_name(split)
        _check(set(languages) <= set(meta["languages"]))
        for counts in languages.values():
            _check_counts(counts)


def _parallel(splits: Any, meta: Any) -> None:
    for split, pairs in splits.items():
        _check_name(split)
        for pair, counts in pairs.items():
            _check(set(parse_pair(pair)) <= set(meta["languages"]))
            _check_counts(counts)
            for one in counts.get("orders", []):
                _check(set(parse_pair(one)) == set(parse_pair(pair)))


def _check_counts(counts: Any) -> None:
    """Refuse a count that is negative, NaN or infinite."""
    numbers = [one for one in counts.values() if isinstance(one, int | float)]
    _check(all(0 <= number < math.inf for number in numbers))


def _files(files: Any, meta: Any) -> None:
    for name, recorded in files.items():
        _check(not PurePosixPath(name).is_absolute() and ".." not in PurePosixPath(name).parts)
        _check(isinstance(recorded["bytes"], int) and isinstance(recorded["sha256"], str))


def _vocab(vocab: Any, meta: Any) -> None:
    _check(isinstance(vocab["mode"], str))


def _check_name(split: str) -> None:
    _check("/" not in split and not split.startswith(".") and len(split) <= _LONGEST)


_REQUIRED = ("languages", "dictionaries")
_PARTS: dict[str, Callable[[Any, Any], None]] = {
    "languages": _languages,
    "dictionaries": _dictionaries,
    "mono": _mono,
    "parallel": _parallel,
    "vocab": _vocab,
    "files": _files,
}
