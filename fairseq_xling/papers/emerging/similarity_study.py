"""The similarity study: encoders, their states, maps and measures of each layer.

Conneau et al. 2020, "Emerging Cross-lingual Structure in Pretrained Language Models", section 5 and
Figure 7: encoders of two languages are compared layer by layer by sentence retrieval, linear CKA
and word translation. The first side, X, is mapped into the space of the second, Y; for an
orthogonal map with cosines the direction makes no difference.
"""

import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairseq_xling.core.files import read_json
from fairseq_xling.papers.emerging.similarity_config import (
    PRESETS,
    WORDS,
    EncoderKind,
    Pair,
    SimilarityConfig,
    check_config,
)
from fairseq_xling.papers.emerging.similarity_lexicon import lexicon_step
from fairseq_xling.papers.emerging.similarity_models import EncoderSide, Models
from fairseq_xling.results.page import RESULTS, Measured
from fairseq_xling.results.report import Section
from fairseq_xling.results.result import KINDS
from fairseq_xling.runs.step import Step
from fairseq_xling.studies.ablations import STUDIES
from fairseq_xling.studies.encoder_training import counted
from fairseq_xling.studies.study import Cell, Study, Table, tabled

if TYPE_CHECKING:
    import pandas
    from matplotlib.figure import Figure

# For each panel: the measure, the curve in its results, and the axis label.
PANELS = {
    "retrieval P@1": ("retrieval", "cosine mean", "sentence retrieval, P@1"),
    "CKA": ("cka", "CKA", "linear CKA"),
    "BLI P@1": ("bli", "P@1 cosine", "word translation, P@1"),
    "BLI MRR": ("bli", "MRR cosine", "word translation, MRR"),
}
STATIC = ("static P@1", "static", "P@1 cosine")  # raw embeddings have no other layer
# The paper's criterion (Figure 4) next to the nearest neighbour by cosine.
CSLS = (
    ("BLI P@1 (CSLS)", "bli", "P@1 csls"),
    ("static P@1 (CSLS)", "static", "P@1 csls"),
)
PEARSON = "Pearson"
BY_LAYER = ("row", "pair", "measure", "seed", "layer", "value")
LAYER = "layer (0: embeddings)"
# What the table's step leaves, of studies with a figure for each pair.
FILES = ("table.md", "table.csv", RESULTS, "report.html", "plot-{pair}.svg")
_EQUAL = {
    "steps": "Every encoder trained here has the same number of steps; a bilingual one divides "
    "them between its languages.",
    "text": "A language has the same number of steps in every encoder trained here: a bilingual "
    "one has twice as many.",
}
_SAME = (
    "A pair LANG-LANG_2 is one language twice: independently trained, the encoder of a seed and "
    "that of the next; jointly trained, one model without the information that the words are the "
    "same."
)
_PARAPHRASE = "The second side of LANG-LANG_2 reads paraphrases of the first side's sentences."


@KINDS.register("similarity")
@STUDIES.register("similarity")
class Similarity(Study):
    """Retrieval, CKA and word translation of bilingual, monolingual and random encoders: curves by
    layer, a figure for each pair, and the table of their means."""

    name, paper, config, presets = "similarity", "emerging", SimilarityConfig, PRESETS
    help = (
        "similarity of encoders of two languages, trained jointly or independently: section 5 and "
        "Figure 7 of Emerging Cross-lingual Structure"
    )
    title = "Encoders trained jointly and independently, layer by layer"
    source = "Emerging Cross-lingual Structure (Conneau et al., 2020), section 5 and Figure 7"
    lead = "How similar encoders of two languages are, by retrieval and by linear CKA."
    spec_rows = ("S9",)
    files = FILES

    def check(self, config: SimilarityConfig) -> SimilarityConfig:
        config = counted(config)
        check_config(config)
        return config

    def plan(self, run: Path, config: SimilarityConfig) -> tuple[list[Step], list[Cell]]:
        plan, correlations = _Compared(run, config), []
        for pair in config.pairs:
            for row in config.row_list:
                if not row.fits(pair):
                    continue
                sides = {plan.sides(row.family, pair, seed): seed for seed in config.seed_list}
                own = [plan.compare(row, pair, *both, seed) for both, seed in sides.items()]
                plan.cells += own
                if {"cka", "retrieval"} <= set(config.measure_list) and not row.words:
                    correlations.append(plan.correlate(row, pair, own))
        plan.cells += correlations
        return plan.done()

    def read(self, cell: Cell) -> Iterator[Mapping[str, Any]]:
        if "correlation" in cell.files:
            found = read_json(cell.files["correlation"])["correlations"]
            each = [one[PEARSON] for one in found if one["pair"] != "all"]
            for seed, value in zip(cell.about["seed"], each, strict=False):
                # None, if a measure is the same at all layers
                yield {"seed": seed, "measure": PEARSON, "value": value}
            return
        curves = [(name, what, curve) for name, (what, curve, _) in PANELS.items()]
        for name, what, curve in (*curves, STATIC, *CSLS):
            if what in cell.files:
                found = read_json(cell.files[what])
                # an MRR by chance is another than the P@1 that the results have
                own = {"measure": name, "chance": None if "MRR" in name else found.get("chance")}
                for layer, value in zip(found["layers"], found["curves"][curve], strict=True):
                    yield {**own, "layer": layer, "value": value}

    def arrange(self, frame: "pandas.DataFrame") -> "pandas.DataFrame":
        from fairseq_xling.results.frame import arranged

        return arranged(frame, "row", "pair", "measure")

    def sections(self, frame: "pandas.DataFrame", record: Mapping[str, Any]) -> Iterator[Section]:
        from fairseq_xling.results.frame import pivot

        found = set(frame["measure"])
        names = (*PANELS, STATIC[0], *(name for name, _, _ in CSLS), PEARSON)
        order = [name for name in names if name in found]
        means = pivot(frame, {"encoders": "title", "pair": "pair"}, order=order)
        yield tabled("Means over layers", means, *_notes(record["config"]))
        yield from by_pair(draw, frame)

    def csv(self, frame: "pandas.DataFrame", record: Mapping[str, Any]) -> Mapping[str, Table]:
        from fairseq_xling.results.frame import listed

        return {"table": listed(frame[frame["measure"] != PEARSON], BY_LAYER)}

    def measured(self, frame: "pandas.DataFrame", table: Section) -> Iterator[Measured]:
        from fairseq_xling.results.frame import figures

        pearson = figures(frame[frame["measure"] == PEARSON], "row", "pair")
        for (row, pair), values in pearson.items():
            mean = statistics.fmean(values)
            yield Measured("S9", f"Pearson of CKA and retrieval, {row}, {pair}", mean)


class _Compared(Models):
    """The steps that measure two encoders."""

    def compare(
        self, row: EncoderKind, pair: Pair, x: EncoderSide, y: EncoderSide, seed: int
    ) -> Cell:
        """Every measure of two encoders."""
        ends = "-".join(dict.fromkeys([x.name, y.name]))  # the same, mapped or not
        own = f"{row.name}-{ends}"

        def of_sentences(split: str) -> list[Path]:
            sides = ((x, False), (y, True))
            return [self.sentences(side, pair, split, second) for side, second in sides]

        def cka() -> Path:
            return self._measure(f"cka-{ends}", "cka", of_sentences("test"))

        def retrieval() -> Path:
            learnt = of_sentences("valid") if row.mapped else []
            tested = of_sentences("test")
            return self._measure(f"retrieval-{own}", "tatoeba", tested, learnt, ["--pairs", "rows"])

        def of_words(what: str, unit: str) -> Path:
            lexicon = lexicon_step(self)
            states = [self.types(side, unit, lexicon / f"words.{side.lang}.txt") for side in (x, y)]
            entries = lexicon / pair.name
            return self._measure(
                f"{what}-{own}",
                "bli",
                states,
                states if row.mapped else [],
                ["--pairs", "dictionary", str(entries / "train.tsv")],
                ["--dictionary", str(entries / "test.tsv")],
                [entries],
            )

        made: dict[str, Callable[[], Path]] = {
            "retrieval": retrieval,
            "cka": cka,
            "bli": lambda: of_words("bli", "types"),
            "static": lambda: of_words("static", "static"),
        }
        about = {"row": row.name, "title": row.title, "pair": pair.name, "seed": seed}
        measures = [name for name in self.config.measure_list if name in WORDS or not row.words]
        return Cell(about, {name: made[name]() for name in measures})

    def _measure(
        self,
        name: str,
        verb: str,
        folders: Sequence[Path],
        learnt: Sequence[Path] = (),
        pairs: Sequence[str] = (),
        options: Sequence[str] = (),
        inputs: Sequence[Path] = (),
    ) -> Path:
        """Measure ``folders``, after a map of ``learnt`` if there are any; the file of results."""
        result = self.run / "results" / f"{name}.json"
        commands, outputs = [], [result, result.with_suffix(".csv")]
        if learnt:
            fitted = self.run / "maps" / f"{name}.safetensors"
            commands.append(
                [
                    *("fairseq-xling", "map", self.config.method, *map(str, learnt), *pairs),
                    *("--normalize", self.config.normalize, "--output", str(fitted)),
                ]
            )
            outputs += [fitted, fitted.with_name(f"{fitted.name}.json")]
            options = [*options, "--map", str(fitted)]
        command = ["fairseq-xling", "eval", verb, *map(str, folders), *options]
        commands.append([*command, "--output", str(result)])
        read = list(dict.fromkeys([*folders, *learnt, *inputs]))
        return self.add(Step(name, commands, inputs=read, outputs=outputs))

    def correlate(self, row: EncoderKind, pair: Pair, cells: Sequence[Cell]) -> Cell:
        """Correlate CKA with retrieval over the layers, seed by seed."""
        name = f"correlation-{row.name}-{pair.name}"
        result = self.run / "results" / f"{name}.json"
        twos = [cell.files[what] for cell in cells for what in ("cka", "retrieval")]
        command = ["fairseq-xling", "eval", "correlate", *map(str, twos), "--output", str(result)]
        self.add(Step(name, [command], inputs=twos, outputs=[result, result.with_suffix(".csv")]))
        about = {**cells[0].about, "seed": [cell.about["seed"] for cell in cells]}
        return Cell(about, {"correlation": result})


def by_pair(
    draw: Callable[["pandas.DataFrame", str], "Figure"], frame: "pandas.DataFrame"
) -> Iterator[Section]:
    """A figure by layer of each pair."""
    for pair in dict.fromkeys(frame["pair"]):
        figure = partial(draw, frame, pair)
        yield Section(f"By layer, {pair}", figure=figure, name=f"plot-{pair}")


def draw(frame: "pandas.DataFrame", pair: str) -> "Figure":
    """A panel for each measure by layer, a line for each row that looks alike in each pair."""
    from fairseq_xling.results.charts import curves

    def title(rows: "pandas.DataFrame") -> str:
        chance = rows["chance"].iat[0]
        return pair if chance is None else f"{pair}, chance {chance:.3g}"

    return curves(
        frame[(frame["pair"] == pair) & frame["measure"].isin(list(PANELS))],
        {name: label for name, (_, _, label) in PANELS.items()},
        xlabel=LAYER,
        label="title",
        title=title,
        chance="chance",
        styles=list(dict.fromkeys(frame["row"])),
        common=True,
    )


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
