"""One page of all results of CLCR: figure and tables of the paper in its order."""

import dataclasses
from collections.abc import Sequence

from fairseq_xling.results.page import Page, Result, join_results
from fairseq_xling.results.result import make_page

# The kinds, in the order of the paper; the report on its definition comes first.
JOINS = (
    "clcr-report", "clcr-curves", "clcr-run", "clcr-keypoints", "clcr-order", "clcr-show",
    "clcr-classify", "clcr-pairs", "clcr-readings", "probing",
)  # fmt: skip


def join_clcr(results: Sequence[Result]) -> list[tuple[Result, Page]]:
    """The page of several results in their order; none for fewer than two.

    Probes of an encoder are not CLCR's.
    """
    ours = [one for one in results if "probes" not in one.record or one.record.get("row") == "C16"]
    if len(ours) < 2:
        return []
    sections, tables, sources = [], {}, []
    for result in ours:
        page = make_page(result, figures=False)
        sources.append(page.source)
        for section in page.sections:
            title = f"{section.title}: {result.name}"
            sections.append(dataclasses.replace(section, title=title))
        for name, table in page.tables.items():
            tables[f"{result.name}-{name}"] = table
    joined = Page(
        title="CLCR: all results together",
        source="; ".join(dict.fromkeys(sources)),
        lead=["Each of these has its own page, with its numbers and provenance."],
        sections=sections,
        tables=tables,
    )
    return [(join_results("clcr", ours), joined)]
