"""The results of the study of maps below a task head: figures by layer, tests by row.

Conneau et al. 2020, "Emerging Cross-lingual Structure", section 5.1.2 and Appendix A, prints curves
by layer. Symbols: ``K`` seeds, ``L`` layers.
"""

import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from fairseq_xling.files import read_json
from fairseq_xling.results.figures import DotPanel, draw_dots
from fairseq_xling.results.page import Measured, Page, Result, caption, seeds_in_words
from fairseq_xling.results.report import Section
from fairseq_xling.results.result import KINDS, Kind, write_results
from fairseq_xling.results.statistics import OverSeeds
from fairseq_xling.runs.step import Step
from fairseq_xling.studies.gold_tasks import transfer_mean
from fairseq_xling.studies.mbert.similarity_figure import draw_curves
from fairseq_xling.studies.mbert.similarity_result import by_layer

SOURCE = "Emerging Cross-lingual Structure (Conneau et al., 2020), section 5.1.2 and Appendix A"


@dataclass(frozen=True)
class MappedHead:
    """One head, tested through one encoder.

    Attributes:
        row, title: the kind of encoders; pair: of languages, as in ``en-de``.
        task, layer: of the head; seed: of its training, and of the encoders', if they are trained.
        family: the family of encoders, as named in `similarity_rows`.
        tuned: the folder of `eval transfer`, with the test in the source language.
        result: the test in the target language.
    """

    row: str
    title: str
    pair: str
    task: str
    layer: int
    seed: int
    family: str
    tuned: Path
    result: Path


# The encoder below the heads, by family.
_UNDER = {"apart": "monolingual", "random": "monolingual", "joint": "bilingual"}
_UNDER |= {"separate": "bilingual, Sep Emb"}


def read_lines_of(cells: Sequence[MappedHead], titles: Mapping[str, str]) -> list[dict[str, Any]]:
    """The curves: for each task and pair, the source language's with every kind of encoder below
    the heads, then the target's of each row.

    Args:
        titles: of the tasks, by name.

    Returns:
        Lines with ``values`` (K, L), in percent, as `draw_curves` and `by_layer` read them.
    """
    own, others = {}, {}
    for cell in cells:
        source = cell.pair.partition("-")[0]
        under = _UNDER[cell.family]
        place = cell.pair, cell.task
        line = own.setdefault((*place, under), _new(cell, titles, f"{source} itself, {under}"))
        line["found"][cell.seed, cell.layer] = transfer_mean(cell.tuned, source)
        line = others.setdefault((*place, cell.row), _new(cell, titles, cell.title, cell.row))
        record = read_json(cell.result)
        line["found"][cell.seed, cell.layer] = statistics.fmean(
            test["scores"][record["metric"]] for test in record["tests"]
        )
    return [_by_seed(line) for line in (*own.values(), *others.values())]


def _new(cell: MappedHead, titles: Mapping[str, str], title: str, row: str = "") -> dict[str, Any]:
    about = {"row": row or title, "title": title, "pair": cell.pair}
    return {**about, "measure": titles[cell.task], "found": {}}


def _by_seed(line: dict[str, Any]) -> dict[str, Any]:
    found = line.pop("found")
    seeds, layers = (sorted({key[place] for key in found}) for place in (0, 1))
    values = [[found[seed, layer] for layer in layers] for seed in seeds]
    return {**line, "layers": layers, "seeds": seeds, "values": values}


def table(lines: Sequence[Mapping[str, Any]]) -> tuple[list[str], list[list[Any]]]:
    """A row for each curve, a column for each layer."""
    layers = lines[0]["layers"]
    header = ["task", "pair", "encoders", *(f"layer {layer}" for layer in layers)]
    rows = []
    for measure, pair in dict.fromkeys((line["measure"], line["pair"]) for line in lines):
        for line in lines:
            if (line["measure"], line["pair"]) == (measure, pair):
                figures = [OverSeeds.of(found, 1) for found in zip(*line["values"], strict=True)]
                rows.append([measure, pair, line["title"], *figures])
    return header, rows


def axes_of(lines: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    """The axis label of each task's panel."""
    return {line["measure"]: f"{line['measure']} (%)" for line in lines}


def draw(lines: Sequence[Mapping[str, Any]], pair: str) -> Figure:
    """A panel for each task: curves by layer, or for one layer the individual seeds."""
    own = [line for line in lines if line["pair"] == pair]
    if len(own[0]["layers"]) > 1:
        return draw_curves(lines, pair, axes_of(lines))
    names = list(dict.fromkeys(line["title"] for line in own))
    panels = []
    for measure, label in axes_of(own).items():
        values = {line["title"]: line["values"] for line in own if line["measure"] == measure}
        seeds = [[found for (found,) in values[name]] for name in names]
        panels.append(DotPanel(names, seeds, xlabel=label, title=pair))
    return draw_dots(panels)


def write_mapped_layers(
    run: Path,
    config: Mapping[str, Any],
    titles: Mapping[str, str],
    cells: Sequence[MappedHead],
    steps: Sequence[Step],
) -> None:
    """Write `files_of` the pairs into ``run``."""
    files = {str(cell.result.relative_to(run)): cell.result for cell in cells}
    record = {"config": dict(config), "lines": read_lines_of(cells, titles)}
    write_results(MappedLayers, run, record, files, steps)


@KINDS.register("mapped-layers")
class MappedLayers(Kind):
    """Curves by layer, a panel for each task, a figure for each pair; then the table."""

    name = "mapped-layers"

    def page(self, result: Result) -> Page:
        config, lines = result.record["config"], result.record["lines"]
        header, rows = table(lines)
        notes = [*_notes(config), f"{result.machine}."]
        seeds = seeds_in_words(config["seeds"], "bands")
        return Page(
            title="Zero-shot transfer through a map, layer by layer",
            source=SOURCE,
            lead=[
                "New layers and a head are trained on a frozen layer of one language's encoder; a "
                "text of another language gets there from its own encoder, mapped or not."
            ],
            sections=[
                *(
                    Section(
                        f"By layer, {pair}",
                        figure=partial(draw, lines, pair),
                        notes=caption(result, SOURCE, seeds),
                        name=f"plot-{pair}",
                    )
                    for pair in dict.fromkeys(line["pair"] for line in lines)
                ),
                Section("Table", header=header, rows=rows, notes=notes, name="table"),
            ],
            tables={"table": by_layer(lines)},
            measured=[
                Measured(
                    "S6",
                    f"{line['measure']} (%), mean over layers, {line['title']}, {line['pair']}",
                    sum(map(sum, line["values"])) / sum(map(len, line["values"])),
                )
                for line in lines
                if line["row"] != line["title"]  # of the target; others are the source's own
            ],
        )


def _notes(config: Mapping[str, Any]) -> list[str]:
    trained = (
        "Independently trained encoders of two languages start from different weights; a "
        "bilingual one is trained for as many steps as each of them."
    )
    pairs = f"the first {config['map_sentences']:,}" if config["map_sentences"] else "all"
    return [
        f"In percent, of the test files; layer 0 is the embeddings. {config['head_layers']} new "
        "layers and the head are trained on the frozen layer in the first language.",
        "Mapped: by the orthogonal matrix of that layer, fitted on the words of "
        f"{pairs} sentence pairs of the {config['map_split']} text that are aligned "
        f"({config['links']}).",
        *([] if config["encoder"] else [trained]),
    ]
