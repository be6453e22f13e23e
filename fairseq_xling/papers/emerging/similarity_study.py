"""The similarity study as steps: encoders, their states, maps, measures, the table.

Conneau et al. 2020, "Emerging Cross-lingual Structure in Pretrained Language Models", section 5 and
Figure 7: encoders of two languages are compared layer by layer by sentence retrieval, linear CKA
and word translation. The first side, X, is mapped into the space of the second, Y; for an
orthogonal map with cosines the direction makes no difference.
"""

import argparse
import dataclasses
import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairseq_xling.files import read_json
from fairseq_xling.papers.emerging.similarity_config import (
    PRESETS,
    EncoderKind,
    Pair,
    SimilarityConfig,
    check_config,
)
from fairseq_xling.papers.emerging.similarity_lexicon import lexicon_step
from fairseq_xling.papers.emerging.similarity_models import EncoderSide, Models
from fairseq_xling.results.page import Measured, Page, Result, caption, seeds_in_words
from fairseq_xling.results.report import Section
from fairseq_xling.results.result import KINDS, Kind, write_results
from fairseq_xling.runs.launcher import run_steps
from fairseq_xling.runs.options import load_config
from fairseq_xling.runs.settled import settle_config
from fairseq_xling.runs.step import Step
from fairseq_xling.studies.encoder_training import counted

if TYPE_CHECKING:
    import pandas
    from matplotlib.figure import Figure

SOURCE = "Emerging Cross-lingual Structure (Conneau et al., 2020), section 5 and Figure 7"
# For each panel: the measure, the curve in its results, and the axis label.
PANELS = {
    "retrieval P@1": ("retrieval", "cosine mean", "sentence retrieval, P@1"),
    "CKA": ("cka", "CKA", "linear CKA"),
    "BLI P@1": ("bli", "P@1 cosine", "word translation, P@1"),
    "BLI MRR": ("bli", "MRR cosine", "word translation, MRR"),
}
STATIC = ("static P@1", "static", "P@1 cosine")  # raw embeddings have no other layer
PEARSON = "Pearson"
BY_LAYER = ("row", "pair", "measure", "seed", "layer", "value")
LAYER = "layer (0: embeddings)"


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
    """A row, a pair, a seed, and the files of results by measure."""

    row: str
    title: str
    pair: str
    seed: int
    results: Mapping[str, Path]


def files_of(pairs: Iterable[str]) -> list[str]:
    """The names of the files of `write_similarity`."""
    plots = [f"plot-{pair}.svg" for pair in pairs]
    return ["table.md", "table.csv", "results.json", "report.html", *plots]


def run_similarity(args: argparse.Namespace) -> None:
    """The verb ``ablate similarity``."""
    config, run = counted(load_config(SimilarityConfig, args, PRESETS)), Path(args.output)
    check_config(config)
    config, settled = settle_config(run, config)
    run_steps(run, similarity_steps(run, config), config.jobs, args, settled)


def similarity_steps(run: Path, config: SimilarityConfig) -> list[Step]:
    """All steps of the study; all files are in ``run``."""
    steps: dict[str, Step] = {}
    models = Models(run, config, steps)
    cells: list[Comparison] = []
    correlations: dict[tuple[str, str], Path] = {}
    for pair in config.pairs:
        for row in config.row_list:
            if not row.fits(pair):
                continue
            sides = {models.sides(row.family, pair, seed): seed for seed in config.seed_list}
            own = [
                _Comparison(models, row, pair, *both, seed).cell() for both, seed in sides.items()
            ]
            cells += own
            if {"cka", "retrieval"} <= set(config.measure_list):
                correlations[row.name, pair.name] = _correlate(steps, run, row, pair, own)
    record = dataclasses.asdict(config)
    steps["table"] = Step(
        "table",
        call=lambda: write_similarity(run, record, cells, correlations, list(steps.values())),
        settings={"config": record, "kind": "similarity"},
        inputs=[*(path for c in cells for path in c.results.values()), *correlations.values()],
        outputs=[run / name for name in files_of(dict.fromkeys(cell.pair for cell in cells))],
    )
    return list(steps.values())


@dataclasses.dataclass(frozen=True)
class _Comparison:
    """Two compared encoders; its methods add the steps that measure them."""

    models: Models
    row: EncoderKind
    pair: Pair
    x: EncoderSide
    y: EncoderSide
    seed: int

    @property
    def name(self) -> str:
        """A name of the two encoders, the same whether they are mapped or not."""
        names = dict.fromkeys([self.x.name, self.y.name])
        return "-".join(names)

    def cell(self) -> Comparison:
        """The input of the table; the steps are added."""
        made: dict[str, Callable[[], Path]] = {
            "retrieval": self._retrieval,
            "cka": self._cka,
            "bli": lambda: self._words("bli", "types"),
            "static": lambda: self._words("static", "static", layers="0"),
        }
        results = {name: made[name]() for name in self.models.config.measure_list}
        return Comparison(self.row.name, self.row.title, self.pair.name, self.seed, results)

    def _sentences(self, split: str) -> list[Path]:
        sides = ((self.x, False), (self.y, True))
        return [self.models.sentences(side, self.pair, split, second) for side, second in sides]

    def _cka(self) -> Path:
        return self._measure("cka", self.name, "cka", self._sentences("test"))

    def _retrieval(self) -> Path:
        learnt = self._sentences("valid") if self.row.mapped else []
        return self._measure(
            "retrieval",
            f"{self.row.name}-{self.name}",
            "tatoeba",
            self._sentences("test"),
            learnt,
            ["--pairs", "rows"],
        )

    def _words(self, what: str, unit: str, layers: str = "") -> Path:
        lexicon = lexicon_step(self.models.steps, self.models.run, self.models.config)
        states = [
            self.models.types(side, unit, lexicon / f"words.{side.lang}.txt", layers)
            for side in (self.x, self.y)
        ]
        own = lexicon / self.pair.name
        return self._measure(
            what,
            f"{self.row.name}-{self.name}",
            "bli",
            states,
            states if self.row.mapped else [],
            ["--pairs", "dictionary", str(own / "train.tsv")],
            ["--dictionary", str(own / "test.tsv")],
            [own],
        )

    def _measure(
        self,
        what: str,
        name: str,
        verb: str,
        folders: Sequence[Path],
        learnt: Sequence[Path] = (),
        pairs: Sequence[str] = (),
        options: Sequence[str] = (),
        inputs: Sequence[Path] = (),
    ) -> Path:
        """Add a step that measures ``folders``, after a map of ``learnt`` if there are any."""
        run, config = self.models.run, self.models.config
        result = run / "results" / f"{what}-{name}.json"
        commands, outputs = [], [result, result.with_suffix(".csv")]
        if learnt:
            fitted = run / "maps" / f"{what}-{name}.safetensors"
            commands.append(
                [
                    *("fairseq-xling", "map", config.method, *map(str, learnt), *pairs),
                    *("--normalize", config.normalize, "--output", str(fitted)),
                ]
            )
            outputs += [fitted, fitted.with_name(f"{fitted.name}.json")]
            options = [*options, "--map", str(fitted)]
        commands.append(
            [
                *("fairseq-xling", "eval", verb, *map(str, folders), *options),
                *("--output", str(result)),
            ]
        )
        self.models.steps.setdefault(
            f"{what}-{name}",
            Step(
                f"{what}-{name}",
                commands=commands,
                inputs=list(dict.fromkeys([*folders, *learnt, *inputs])),
                outputs=outputs,
            ),
        )
        return result


def _correlate(
    steps: dict[str, Step], run: Path, row: EncoderKind, pair: Pair, cells: Sequence[Comparison]
) -> Path:
    """Add the step that correlates CKA with retrieval over the layers, seed by seed; its file."""
    result = run / "results" / f"correlation-{row.name}-{pair.name}.json"
    twos = [cell.results[what] for cell in cells for what in ("cka", "retrieval")]
    command = ["fairseq-xling", "eval", "correlate", *map(str, twos), "--output", str(result)]
    name = result.stem
    outputs = [result, result.with_suffix(".csv")]
    steps[name] = Step(name, commands=[command], inputs=twos, outputs=outputs)
    return result


def measurements(
    cells: Sequence[Comparison], correlations: Mapping[tuple[str, str], Path]
) -> "pandas.DataFrame":
    """A row for each layer of each comparison and measure, then the correlations by seed."""
    from fairseq_xling.results.frame import make_frame

    curves = [(name, what, curve) for name, (what, curve, _) in PANELS.items()]
    by_line: dict[tuple[str, ...], list[dict[str, Any]]] = {}
    for cell in cells:
        about = {"row": cell.row, "title": cell.title, "pair": cell.pair, "seed": cell.seed}
        for name, what, curve in (*curves, STATIC):
            if what in cell.results:
                found = read_json(cell.results[what])
                # an MRR by chance is another than the P@1 that the results have
                own = {"measure": name, "chance": None if "MRR" in name else found.get("chance")}
                by_line.setdefault((cell.row, cell.pair, name), []).extend(
                    {**about, **own, "layer": layer, "value": value}
                    for layer, value in zip(found["layers"], found["curves"][curve], strict=True)
                )
    rows = [row for line in by_line.values() for row in line]
    for of, path in correlations.items():
        compared = [cell for cell in cells if (cell.row, cell.pair) == of]
        found = [one for one in read_json(path)["correlations"] if one["pair"] != "all"]
        rows += [
            {
                **{"row": cell.row, "title": cell.title, "pair": cell.pair, "seed": cell.seed},
                # None, if a measure is the same at all layers
                **{"measure": PEARSON, "value": one[PEARSON]},
            }
            for cell, one in zip(compared, found, strict=False)
        ]
    return make_frame(rows, paper="emerging", study="similarity")


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
    frame = measurements(cells, correlations)
    write_results(Similarity, run, {"config": dict(config)}, files, steps, frame)


@KINDS.register("similarity")
class Similarity(Kind):
    """Curves by layer, a figure for each pair, and the table of their means."""

    name = "similarity"

    def page(self, result: Result) -> Page:
        from fairseq_xling.results.frame import figures, listed

        frame, config = result.frame, result.record["config"]
        header, rows = table(frame)
        notes = [*_notes(config), f"{result.machine}."]
        seeds = seeds_in_words(config["seeds"], "bands")
        of_layers = frame[frame["measure"] != PEARSON]
        pearson = figures(frame[frame["measure"] == PEARSON], "row", "pair")
        return Page(
            title="Encoders trained jointly and independently, layer by layer",
            source=SOURCE,
            lead=["How similar encoders of two languages are, by retrieval and by linear CKA."],
            sections=[
                Section("Means over layers", header=header, rows=rows, notes=notes, name="table"),
                *(
                    Section(
                        f"By layer, {pair}",
                        figure=partial(draw, frame, pair),
                        notes=caption(result, SOURCE, seeds),
                        name=f"plot-{pair}",
                    )
                    for pair in dict.fromkeys(frame["pair"])
                ),
            ],
            tables={"table": listed(of_layers, BY_LAYER)},
            measured=[
                Measured("S9", f"Pearson of CKA and retrieval, {row}, {pair}", statistics.fmean(v))
                for (row, pair), v in pearson.items()
            ],
        )


def table(frame: "pandas.DataFrame") -> tuple[list[str], list[list[Any]]]:
    """A row for each kind of encoders and pair: means over layers, then the correlation."""
    from fairseq_xling.results.frame import pivot

    found = set(frame["measure"])
    order = [name for name in (*PANELS, STATIC[0], PEARSON) if name in found]
    return pivot(frame, {"encoders": "title", "pair": "pair"}, order=order)


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
