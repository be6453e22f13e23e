"""The kinds of results that pages are made from: one file each, found by name.

A kind is a class with ``recognises(record)``, which checks fields of the JSON and never a file's
name, and ``page(result)``. To make pages of a verb's JSON, add a file here. A kind with
``join(results)`` makes further pages, of several results of its own kind or of the kinds in its
``joins``.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from fairseq_xling.errors import MALFORMED, UserError
from fairseq_xling.files import read_json
from fairseq_xling.registry import Registry
from fairseq_xling.runs.page import RESULTS, Page, Result


class Kind(Protocol):
    """One file in this folder, registered in ``KINDS``."""

    def recognises(self, record: Mapping[str, Any]) -> bool:
        """Whether the JSON is of this kind."""

    def page(self, result: Result) -> Page:
        """Its page; a missing field may raise KeyError, a value of another type TypeError."""


KINDS: Registry[type[Kind]] = Registry("kind of result", "fairseq_xling.studies.pages.kinds")


def find_results(run: Path) -> list[Result]:
    """The results of ``run``: a JSON file, or a folder with ``results.json`` or with such files.

    Raises:
        UserError: if there are none that a page can be made of.
    """
    if not run.is_dir():
        return [_read(run)]
    if (run / RESULTS).is_file():
        return [_read(run / RESULTS)]
    found = []
    for path in sorted(run.glob("*.json")):
        record = read_json(path)
        if isinstance(record, dict) and kind_of(record) is not None:
            found.append(Result(path, record))
    if not found:
        raise UserError(
            f"{run}: contains no results to make a page from; known kinds: {', '.join(KINDS)}"
        )
    return found


def _read(path: Path) -> Result:
    record = read_json(path)
    if not isinstance(record, dict) or kind_of(record) is None:
        raise UserError(f"{path}: no results to make a page from; known kinds: {', '.join(KINDS)}")
    return Result(path, record)


def kind_of(record: Mapping[str, Any]) -> str | None:
    """The name of the kind that recognises ``record``; None if there is none.

    Raises:
        RuntimeError: if several do; their fields must distinguish them.
    """
    names = [name for name in KINDS if KINDS[name]().recognises(record)]
    if len(names) > 1:
        raise RuntimeError(f"several kinds recognise one record: {', '.join(names)}")
    return names[0] if names else None


def make_joined(results: Sequence[Result]) -> list[tuple[Result, Page]]:
    """The pages that are made of several of ``results``."""
    by_kind: dict[str, list[Result]] = {}
    for result in results:
        by_kind.setdefault(kind_of(result.record) or "", []).append(result)
    pages = []
    for name in KINDS:
        kind = KINDS[name]()
        found = [one for other in getattr(kind, "joins", (name,)) for one in by_kind.get(other, [])]
        if found and hasattr(kind, "join"):
            pages += kind.join(found)
    return pages


def make_page(result: Result) -> Page:
    """The page of one file of results.

    Raises:
        UserError: if its fields are damaged.
    """
    name = kind_of(result.record)
    try:
        return KINDS[name]().page(result)
    except MALFORMED as error:
        what = f"{type(error).__name__}: {error}"
        raise UserError(f"{result.path}: damaged results of kind {name!r} ({what})") from None
