"""`fairseq-xling embed inspect`: a word among all others, by file (TreLM, appendix A.2)."""

from collections.abc import Mapping
from functools import partial
from typing import Any

from fairseq_xling.results.page import Measured, Page, Result, caption
from fairseq_xling.results.report import Section
from fairseq_xling.results.result import KINDS

SOURCE = "TreLM (Li et al., 2021), appendix A.2"


@KINDS.register("neighbourhood")
class NeighbourhoodPage:
    """The histogram and the plane of each file, and its nearest words side by side."""

    def recognises(self, record: Mapping[str, Any]) -> bool:
        return {"word", "files"} <= record.keys()

    def page(self, result: Result) -> Page:
        from fairseq_xling.verbs.parts.embed_inspect import from_record, tables
        from fairseq_xling.verbs.parts.embed_inspect_figure import draw_neighbourhoods

        found = [from_record(about) for about in result.record["files"]]
        word, most = result.record["word"], max(len(one.neighbours) for one in found)
        nearest = [[rank + 1, *(_named(one, rank) for one in found)] for rank in range(most)]
        notes = caption(
            result,
            SOURCE,
            "Left: cosines to all words of the file, on a logarithmic scale. Right: the nearest "
            "words on their first two principal components.",
        )
        return Page(
            title=f"{word} among its neighbours",
            source=SOURCE,
            lead=["Are the nearest words those with nearly the same meaning?"],
            sections=[
                Section(
                    "Cosines and nearest words",
                    figure=partial(draw_neighbourhoods, found),
                    notes=notes,
                ),
                Section("Nearest words", header=["rank", *(n.name for n in found)], rows=nearest),
            ],
            tables=tables(found),
            measured=[
                Measured("T16", f"cosine of {one.word!r} to its nearest word, {one.name}", value)
                for one in found
                for value in one.similarities[:1].tolist()
            ],
        )


def _named(one: Any, rank: int) -> str:
    if rank >= len(one.neighbours):
        return ""
    return f"{one.neighbours[rank]} ({one.similarities[rank]:.3f})"
