"""The similarity study: encoders, their states, maps and measures of each layer.

Conneau et al. 2020, "Emerging Cross-lingual Structure in Pretrained Language Models", section 5 and
Figure 7: encoders of two languages are compared layer by layer by sentence retrieval, linear CKA
and word translation. The first side, X, is mapped into the space of the second, Y; for an
orthogonal map with cosines the direction makes no difference.
"""

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

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
from fairseq_xling.reports.pivot import Table
from fairseq_xling.reports.record import RESULTS, Chart, Section, read_record
from fairseq_xling.reports.rows import GIVEN, Row, arranged, distinct, select
from fairseq_xling.studies.ablations import STUDIES
from fairseq_xling.studies.encoder_training import counted
from fairseq_xling.workflow.recipe import Cell, Study
from fairseq_xling.workflow.step import Step

# For each panel of a figure: the measure, and the curve in its results.
PANELS = {
    "retrieval P@1": ("retrieval", "cosine mean"),
    "CKA": ("cka", "CKA"),
    "BLI P@1": ("bli", "P@1 cosine"),
    "BLI MRR": ("bli", "MRR cosine"),
}
# Raw embeddings have no other layer. CSLS, the paper's criterion (Figure 4), stands next to the
# nearest neighbour by cosine.
_CURVES = {
    **PANELS,
    "static P@1": ("static", "P@1 cosine"),
    "BLI P@1 (CSLS)": ("bli", "P@1 csls"),
    "static P@1 (CSLS)": ("static", "P@1 csls"),
}
PEARSON = "Pearson"
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


@STUDIES.register("similarity")
class Similarity(Study):
    """Retrieval, CKA and word translation of bilingual, monolingual and random encoders: curves by
    layer, a figure for each pair, and the table of their means."""

    name, paper, options, presets = "similarity", "emerging", SimilarityConfig, PRESETS
    help = (
        "similarity of encoders of two languages, trained jointly or independently: section 5 and "
        "Figure 7 of Emerging Cross-lingual Structure"
    )
    title = "Encoders trained jointly and independently, layer by layer"
    source = "Emerging Cross-lingual Structure (Conneau et al., 2020), section 5 and Figure 7"
    lead = "How similar encoders of two languages are, by retrieval and by linear CKA."
    files = FILES

    def check(self, config: SimilarityConfig) -> SimilarityConfig:
        config = counted(config)
        check_config(config)
        return config

    def plan(self, plan: "_Compared", config: SimilarityConfig) -> None:
        correlations = []
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

    def read(self, cell: Cell) -> Iterator[Row]:
        if "correlation" in cell.files:
            found = read_record(cell.files["correlation"]).rows
            pairs = [pair for pair in distinct(found, "pair") if pair != "all"]
            for seed, pair in zip(cell.about["seed"], pairs, strict=False):
                # None, if a measure is the same at all layers
                for one in select(found, {"pair": pair, "measure": PEARSON}):
                    yield {"seed": seed, "measure": PEARSON, "value": one["value"]}
            return
        for name, (what, curve) in _CURVES.items():
            if what in cell.files:
                found = read_record(cell.files[what]).rows
                for one in select(found, {"measure": curve, "layer": GIVEN}):
                    # an MRR by chance is another than the P@1 that the results have
                    chance = None if "MRR" in name else one.get("chance")
                    own = {"measure": name, "chance": chance}
                    yield {**own, "layer": one["layer"], "value": one["value"]}

    def arrange(self, rows: list[Row]) -> list[Row]:
        return arranged(rows, "row", "pair", "measure")

    def sections(self, rows: Sequence[Row], config: SimilarityConfig) -> Iterator[Section]:
        found = distinct(rows, "measure")
        order = [name for name in (*_CURVES, PEARSON) if name in found]
        table = Table({"encoders": "title", "pair": "pair"}, order=order)
        yield Section("Means over layers", table, notes=_notes(config), name="table")
        chart = Chart("curve", {"measure": list(PANELS)}, xlabel=LAYER, chance="chance")
        yield from by_pair(chart, rows)


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
        measures = [name for name in self.options.measure_list if name in WORDS or not row.words]
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
        result = self.folder / "results" / f"{name}.json"
        commands, outputs = [], [result, result.with_suffix(".csv")]
        if learnt:
            fitted = self.folder / "maps" / f"{name}.safetensors"
            commands.append(
                [
                    *("fairseq-xling", "map", self.options.method, *map(str, learnt), *pairs),
                    *("--normalize", self.options.normalize, "--output", str(fitted)),
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
        result = self.folder / "results" / f"{name}.json"
        twos = [cell.files[what] for cell in cells for what in ("cka", "retrieval")]
        command = ["fairseq-xling", "eval", "correlate", *map(str, twos), "--output", str(result)]
        self.add(Step(name, [command], inputs=twos, outputs=[result, result.with_suffix(".csv")]))
        about = {**cells[0].about, "seed": [cell.about["seed"] for cell in cells]}
        return Cell(about, {"correlation": result})


def by_pair(chart: Chart, rows: Sequence[Row]) -> Iterator[Section]:
    """The figure by layer of each pair; a row looks alike in all of them."""
    given = {"row": "title", "title": "{pair}", "rows": distinct(rows, "title")}
    for pair in distinct(rows, "pair"):
        own = dataclasses.replace(chart, where={**chart.where, "pair": pair}, **given)
        chances = ", ".join(
            distinct(select(rows, {**own.where, "chance": GIVEN}), "{measure} {chance}")
        )
        notes = [f"Chance: {chances}"] if chances else []
        yield Section(f"By layer, {pair}", chart=own, notes=notes, name=f"plot-{pair}")


def _notes(config: SimilarityConfig) -> list[str]:
    return [
        "Means over the layers compared, with the standard deviation over seeds; every layer is in "
        "`table.csv` and the figures. Static: rows of the embedding matrices, one layer.",
        "Retrieval and CKA on the test part of the parallel text, maps for sentences fitted on its "
        f"valid part ({config.method}, rows normalised by {config.normalize}); maps for "
        "words fitted on the training entries of the dictionary, words scored on the others "
        "(BLI), among all target words of the dictionary.",
        "Pearson: of CKA with retrieval over the layers, for each seed.",
        f"{_EQUAL[config.equal]} Encoders of two languages start from different weights.",
        *([_SAME] if config.same else []),
        *([_PARAPHRASE] if config.paraphrase else []),
    ]


Similarity.run_type = _Compared
