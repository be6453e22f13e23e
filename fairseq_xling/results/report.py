"""A self-contained HTML page of figures, tables and commands."""

import dataclasses
import functools
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from fairseq_xling.core.files import atomic_write
from fairseq_xling.results.figure_file import Drawing
from fairseq_xling.results.paired import SHOWN_LEVEL, RowClaim, claims_table
from fairseq_xling.results.tables import cell


@dataclasses.dataclass(frozen=True)
class Download:
    """A file inside a page, as a ``data:`` link."""

    name: str
    link: str


@dataclasses.dataclass(frozen=True)
class Section:
    """A heading with any of: a paragraph, a figure (what draws it), a table, a block of code,
    files, notes. Where it has a ``name``, a run writes its figure or table as a file of that
    name, too."""

    title: str
    text: str = ""
    figure: Drawing | None = None
    header: Sequence[str] = ()
    rows: Sequence[Sequence[Any]] = ()
    code: str = ""
    notes: Sequence[str] = ()
    downloads: Sequence[Download] = ()
    name: str = ""

    @functools.cached_property
    def svg(self) -> str:
        """The figure as an ``<svg>`` element, empty if there is none."""
        from fairseq_xling.results.figures import to_svg

        return to_svg(self.figure()) if self.figure else ""

    @property
    def words(self) -> list[bool]:
        """Which columns are text, and so left-aligned."""
        columns = range(len(self.header))
        return [any(isinstance(row[i], str) for row in self.rows) for i in columns]

    @property
    def cells(self) -> list[list[str]]:
        """The rows as displayed; a narrow column breaks before a deviation, not within it."""
        return [
            [cell(value).replace("± ", "±\N{NO-BREAK SPACE}") for value in row] for row in self.rows
        ]


def write_report(
    path: str | Path, title: str, lead: Sequence[str], sections: Sequence[Section]
) -> None:
    """Write the page atomically; it is self-contained, without network access."""
    write_template(path, "report.html.jinja", title=title, lead=lead, sections=sections)


def write_template(path: str | Path, name: str, **values: Any) -> None:
    """Write the template ``name`` of this folder, filled in, atomically."""
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
    )
    with atomic_write(path, "w") as file:
        file.write(environment.get_template(name).render(values))


def claims_section(
    claims: Iterable[RowClaim],
    measures: Mapping[str, Mapping[str, Sequence[float]]],
    digits: Mapping[str, int],
    seeds: str,
    lower_is_better: Collection[str] = (),
) -> Section | None:
    """A table of claims, as `claims_table` makes it; None if no claim is of rows with figures.

    Args:
        seeds: those of the figures, in their order, separated by commas.
    """
    header, rows = claims_table(claims, measures, digits, lower_is_better)
    if not rows:
        return None
    if "," in seeds:
        notes = [
            f"Difference of the two rows, its {SHOWN_LEVEL} interval, and p of a paired t-test "
            f"over seeds {seeds}, not corrected for the number of tests. A claim is kept if all of "
            "the interval is on its side of zero, and not kept if all of it is on the other side "
            "(on either, if the rows are said to be alike)."
        ]
    else:
        notes = [f"Difference of the two rows with seed {seeds}; one seed decides nothing."]
    if lower_is_better:
        notes.append(f"Lower is better: {'; '.join(lower_is_better)}.")
    return Section("What the paper says", header=header, rows=rows, notes=notes)
