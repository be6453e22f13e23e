"""The results of the similarity study: curves by layer, their means, correlations.

Conneau et al. 2020, Figure 7, shows curves by layer and their mean.
"""

import dataclasses
import statistics
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from fairseq_xling.files import read_json
from fairseq_xling.results.page import Measured, Page, Result, caption, seeds_in_words
from fairseq_xling.results.report import Section
from fairseq_xling.results.result import KINDS, Kind, write_results
from fairseq_xling.results.statistics import OverSeeds
from fairseq_xling.runs.step import Step
from fairseq_xling.studies.mbert.similarity_figure import PANELS, draw_curves

SOURCE = "Emerging Cross-lingual Structure (Conneau et al., 2020), section 5 and Figure 7"
STATIC = ("static P@1", "static", "P@1 cosine")  # raw embeddings have no other layer

_EQUAL = {
    "steps": "Every encoder trained here has the same number of steps; a bilingual one divides "
    "them between its languages.",
    "text": "A language has the same number of steps in every encoder trained here: a bilingual "
    "one has twice as many.",
}
_SAME = (
    "A pair LANG-LANG_2 is one language twice: independently trained, the encoder of a seed and "
    "that "
    "of the next; jointly trained, one model without the information that the words are the same."
)
_PARAPHRASE = "The second side of LANG-LANG_2 reads paraphrases of the first side's sentences."


@dataclasses.dataclass(frozen=True)
class Comparison:
    """One comparison: a row, a pair, a seed, and the results by measure."""

    row: str
    title: str
    pair: str
    seed: int
    results: Mapping[str, Path]


def files_of(pairs: Iterable[str]) -> list[str]:
    """The names of the files of `write_similarity`."""
    plots = [f"plot-{pair}.svg" for pair in pairs]
    return ["table.md", "table.csv", "results.json", "report.html", *plots]


def read_lines_of(cells: Sequence[Comparison]) -> list[dict[str, Any]]:
    """The curves of each row and pair: ``values`` are one list by layer for each seed."""
    lines: dict[tuple[str, str, str], dict[str, Any]] = {}
    curves = [(name, what, curve) for name, (what, curve, _) in PANELS.items()]
    for cell in cells:
        records = {what: read_json(path) for what, path in cell.results.items()}
        for name, what, curve in (*curves, STATIC):
            if what in records:
                found = records[what]
                line = lines.setdefault(
                    (cell.row, cell.pair, name),
                    {
                        **{"row": cell.row, "title": cell.title, "pair": cell.pair},
                        **{"measure": name, "layers": found["layers"], "seeds": [], "values": []},
                        # an MRR by chance is another than the P@1 that the results have
                        "chance": None if "MRR" in name else found.get("chance"),
                    },
                )
                line["seeds"].append(cell.seed)
                line["values"].append(found["curves"][curve])
    return list(lines.values())


def table(
    lines: Sequence[Mapping[str, Any]], correlations: Mapping[tuple[str, str], Sequence[float]]
) -> tuple[list[str], list[list[Any]]]:
    """A row for each kind of encoders and pair.

    Args:
        correlations: by row and pair, Pearson's coefficient of each seed that has one.
    """
    names = [n for n in (*PANELS, STATIC[0]) if any(line["measure"] == n for line in lines)]
    header = ["encoders", "pair", *names, *(["Pearson"] if correlations else [])]
    by_key = {(line["row"], line["pair"], line["measure"]): line for line in lines}
    rows = []
    for row, title, pair in dict.fromkeys((x["row"], x["title"], x["pair"]) for x in lines):
        figures = [
            OverSeeds.of([statistics.fmean(v) for v in by_key[row, pair, name]["values"]], 3)
            for name in names
        ]
        if correlations:
            figures.append(OverSeeds.of(correlations.get((row, pair), []), 3))
        rows.append([title, pair, *figures])
    return header, rows


def write_similarity(
    run: Path,
    config: Mapping[str, Any],
    cells: Sequence[Comparison],
    correlations: Mapping[tuple[str, str], Path],
    steps: Sequence[Step],
) -> None:
    """Write `files_of` the pairs into ``run``."""
    files = {
        f"{what}: {cell.row}, {cell.pair}, {cell.seed}": path
        for cell in cells
        for what, path in cell.results.items()
    }
    files |= {f"correlation: {', '.join(key)}": path for key, path in correlations.items()}
    record = {
        "config": dict(config),
        "lines": read_lines_of(cells),
        "pearson": [
            {"row": row, "pair": pair, "values": _pearson(path)}
            for (row, pair), path in correlations.items()
        ],
    }
    write_results(Similarity, run, record, files, steps)


@KINDS.register("similarity")
class Similarity(Kind):
    """Curves by layer, a figure for each pair, and the table of their means."""

    name = "similarity"

    def page(self, result: Result) -> Page:
        record, config = result.record, result.record["config"]
        lines = record["lines"]
        correlations = {(one["row"], one["pair"]): one["values"] for one in record["pearson"]}
        header, rows = table(lines, correlations)
        notes = [*_notes(config), f"{result.machine}."]
        seeds = seeds_in_words(config["seeds"], "bands")
        return Page(
            title="Encoders trained jointly and independently, layer by layer",
            source=SOURCE,
            lead=["How similar encoders of two languages are, by retrieval and by linear CKA."],
            sections=[
                Section("Means over layers", header=header, rows=rows, notes=notes, name="table"),
                *(
                    Section(
                        f"By layer, {pair}",
                        figure=partial(draw_curves, lines, pair),
                        notes=caption(result, SOURCE, seeds),
                        name=f"plot-{pair}",
                    )
                    for pair in dict.fromkeys(line["pair"] for line in lines)
                ),
            ],
            tables={"table": by_layer(lines)},
            measured=[
                Measured(
                    "S9",
                    f"Pearson of CKA and retrieval, {row}, {pair}",
                    statistics.fmean(values),
                )
                for (row, pair), values in correlations.items()
                if values
            ],
        )


def by_layer(lines: Sequence[Mapping[str, Any]]) -> tuple[list[str], list[list[Any]]]:
    """Every number, unrounded: a row for each seed and layer."""
    header = ["row", "pair", "measure", "seed", "layer", "value"]
    return header, [
        [line["row"], line["pair"], line["measure"], seed, layer, value]
        for line in lines
        for seed, values in zip(line["seeds"], line["values"], strict=True)
        for layer, value in zip(line["layers"], values, strict=True)
    ]


def _pearson(path: Path) -> list[float]:
    """For each seed, if neither measure is the same at all layers."""
    found = (one for one in read_json(path)["correlations"] if one["pair"] != "all")
    return [one["Pearson"] for one in found if one["Pearson"] is not None]


def _notes(config: Mapping[str, Any]) -> list[str]:
    return [
        "Means over the layers compared, with the standard deviation over seeds; every layer is in "
        "`table.csv` and the figures. Static: rows of the embedding matrices, one layer.",
        "Retrieval and CKA on the test part of the parallel text, maps for sentences fitted on its "
        f"valid part ({config['method']}, rows normalised by {config['normalize']}); maps for "
        "words fitted on the training entries of the dictionary, words scored on the others, "
        "among all target words of the dictionary.",
        "Pearson: of CKA with retrieval over the layers, for each seed.",
        f"{_EQUAL[config['equal']]} Encoders of two languages start from different weights.",
        *([_SAME] if config["same"] else []),
        *([_PARAPHRASE] if config.get("paraphrase") else []),
    ]
