"""Results: values recorded once, and all that is made from them.

A run records its values in ``results.json``, with the name of their kind. The kind turns them into
a page: figures, tables and notes. What a run leaves at its end, what `fairseq-xling report` writes
and what the pages of `examples/` show is this one page.
"""

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairseq_xling.core.errors import MALFORMED, UserError
from fairseq_xling.core.files import read_json, write_json
from fairseq_xling.core.json_fields import check_type
from fairseq_xling.core.provenance import provenance
from fairseq_xling.core.registry import Registry
from fairseq_xling.results.figure_file import write_svg
from fairseq_xling.results.page import RESULTS, Page, Result, write_page
from fairseq_xling.results.statistics import OverSeeds
from fairseq_xling.results.tables import write_csv, write_markdown
from fairseq_xling.runs.step import Step, seconds_taken

if TYPE_CHECKING:
    import pandas

PAGE = "report.html"
_ABOUT_THE_RUN = {"provenance": dict, "config": dict, "commands": list, "seconds_of_steps": float}
_OLDER = {"machine": str, "versions": dict}  # outside of the provenance
_PROVENANCE = {"command": str, "date": str, "machine": str, "versions": dict, "inputs": dict}
_INPUT = {"path": str, "sha256": str}


class Kind:
    """A kind of result: a class in a module whose name ends in ``result``, or in
    ``_study`` where one has all of a study.

    One with ``join(results)`` makes further pages, of several results of its own kind or of the
    kinds in its ``joins``.
    """

    name: str

    def recognises(self, record: Mapping[str, Any]) -> bool:
        """Whether the JSON is of this kind."""
        return record.get("kind") == self.name

    def page(self, result: Result) -> Page:
        """Its page; a missing field may raise KeyError, a value of another type TypeError."""
        raise NotImplementedError(type(self).__name__)


KINDS: Registry[type[Kind]] = Registry(
    "kind of result",
    *("fairseq_xling.verbs", "fairseq_xling.studies", "fairseq_xling.papers"),
    named=("result", "_study"),
)


def write_results(
    kind: type[Kind],
    run: Path,
    record: Mapping[str, Any],
    inputs: Mapping[str, Path],
    steps: Sequence[Step] = (),
    frame: "pandas.DataFrame | None" = None,
) -> None:
    """Write ``results.json`` into ``run``, and what the page of its kind shows, atomically each.

    These are ``report.html``; for each section with a ``name`` its figure (``NAME.svg``) or its
    table with notes (``NAME.md``); for each of the page's ``tables`` a ``NAME.csv``.

    Args:
        record: JSON values; `OverSeeds` among the cells of its tables.
        inputs: files that it was made from, by role.
        steps: whose commands and time the page shows.
        frame: what was measured; it becomes the record's ``frame``.
    """
    commands = [shlex.join(command) for step in steps for command in step.commands]
    about = {"kind": kind.name, "commands": commands, "provenance": provenance(inputs)}
    seconds = seconds_taken(run, steps)
    if frame is not None:
        from fairseq_xling.results.frame import frame_to_json

        about["frame"] = frame_to_json(frame)
    took = {"seconds_of_steps": seconds} if seconds else {}
    write_json(run / RESULTS, plain({**record, **about, **took}))
    (result,) = find_results(run)
    page = make_page(result)
    for section in page.sections:
        if section.name and section.figure:
            write_svg(run / f"{section.name}.svg", section.svg)
        elif section.name:
            path = run / f"{section.name}.md"
            write_markdown(path, section.header, section.rows, section.notes)
    for name, (header, rows) in page.tables.items():
        write_csv(run / f"{name}.csv", header, rows)
    write_page(run / PAGE, result, page)


def plain(value: Any) -> Any:
    """``value`` with every `OverSeeds` in it as JSON."""
    if isinstance(value, OverSeeds):
        return value.record()
    if isinstance(value, Mapping):
        return {name: plain(one) for name, one in value.items()}
    return list(map(plain, value)) if isinstance(value, list | tuple) else value


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
            found.append(_checked(path, record))
    if not found:
        raise UserError(
            f"{run}: contains no results to make a page from; known kinds: {', '.join(KINDS)}"
        )
    return found


def _read(path: Path) -> Result:
    record = read_json(path)
    if not isinstance(record, dict) or kind_of(record) is None:
        older = isinstance(record, dict) and {"config", "provenance"} <= record.keys()
        what = (
            "results of an older version; run the same command again, which repeats its last step"
            if older
            else f"no results to make a page from; known kinds: {', '.join(KINDS)}"
        )
        raise UserError(f"{path}: {what}")
    return _checked(path, record)


def _checked(path: Path, record: Mapping[str, Any]) -> Result:
    check_recorded(path, record)
    return Result(path, record)


def kind_of(record: Mapping[str, Any]) -> str | None:
    """The name of the kind that recognises ``record``; None if there is none.

    Raises:
        RuntimeError: if several do; their fields must distinguish them.
    """
    if isinstance(record.get("kind"), str) and record["kind"] in KINDS:
        return record["kind"]
    names = [name for name in KINDS if KINDS[name]().recognises(record)]
    if len(names) > 1:
        raise RuntimeError(f"several kinds recognise one record: {', '.join(names)}")
    return names[0] if names else None


def make_joined(results: Sequence[Result], figures: bool = True) -> list[tuple[Result, Page]]:
    """The pages that are made of several of ``results``; ``figures`` as in `make_page`."""
    by_kind: dict[str, list[Result]] = {}
    for result in results:
        by_kind.setdefault(kind_of(result.record) or "", []).append(result)
    pages = []
    for name in KINDS:
        kind = KINDS[name]()
        found = [one for other in getattr(kind, "joins", (name,)) for one in by_kind.get(other, [])]
        if found and hasattr(kind, "join"):
            pages += kind.join(found)
    if figures:
        for _, page in pages:
            _drawn(page)
    return pages


def make_page(result: Result, figures: bool = True) -> Page:
    """The page of one file of results.

    Args:
        figures: whether its figures are drawn now, so that damage in them shows before anything is
            written; without it, each is drawn when it is asked for.

    Raises:
        UserError: if its fields are damaged.
    """
    name = kind_of(result.record) or ""
    try:
        page = KINDS[name]().page(result)
        return _drawn(page) if figures else page
    except UserError:
        raise
    except MALFORMED as error:
        what = f"{type(error).__name__}: {error}"
        raise UserError(f"{result.path}: damaged results of kind {name!r} ({what})") from None


def _drawn(page: Page) -> Page:
    """``page`` with its figures drawn, before anything is written: damage may show here."""
    for section in page.sections:
        section.svg  # noqa: B018
    return page


def check_recorded(path: Path, record: Mapping[str, Any]) -> None:
    """Check the fields that are not of one kind of result; they may be missing, or null."""
    origin = record.get("provenance") or {}
    _check_fields(path, "", record, {**_ABOUT_THE_RUN, **_OLDER})
    _check_fields(path, "provenance.", origin, _PROVENANCE)
    for name, found in (("versions", record), ("provenance.versions", origin)):
        versions = found.get("versions") or {}
        _check_fields(path, f"{name}.", versions, dict.fromkeys(versions, str))
    for number, command in enumerate(record.get("commands") or ()):
        check_type(path, command, f"`commands[{number}]`", str)
    inputs = origin.get("inputs") or {}
    for role, one in inputs.items():
        check_type(path, one, f"`provenance.inputs.{role}`", dict)
        for field, kind in _INPUT.items():
            check_type(path, one.get(field), f"`provenance.inputs.{role}.{field}`", kind)


def _check_fields(
    path: Path, where: str, values: Mapping[str, Any], kinds: Mapping[str, type]
) -> None:
    for name, kind in kinds.items():
        if values.get(name) is not None:
            check_type(path, values[name], f"`{where}{name}`", kind)
