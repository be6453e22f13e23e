"""The study of maps below a task head as steps: heads by layer, maps, tests, the table.

Conneau et al. 2020, "Emerging Cross-lingual Structure", section 5.1.2: new layers and a head are
trained on the frozen states of layer i in the source language; the lower layers of its own encoder
read a text of the target language, and their states of layer i are mapped to the source encoder's
by a matrix fitted on aligned words. This is compared with one bilingual encoder, mapped or not
(Appendix A there).
"""

import argparse
import dataclasses
import functools
import itertools
import shlex
import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairseq_xling.data.folder import DataFolder
from fairseq_xling.files import atomic_write, read_json, read_lines, write_json
from fairseq_xling.papers.emerging.mapped_layers_config import (
    PRESETS,
    MappedLayersConfig,
    check_config,
)
from fairseq_xling.papers.emerging.similarity_config import EncoderKind, Pair
from fairseq_xling.papers.emerging.similarity_models import EncoderSide, Models
from fairseq_xling.papers.emerging.similarity_study import BY_LAYER, LAYER, files_of
from fairseq_xling.provenance import provenance
from fairseq_xling.results.page import RESULTS, Measured, Page, Result, caption, seeds_in_words
from fairseq_xling.results.report import Section
from fairseq_xling.results.result import KINDS, Kind, write_results
from fairseq_xling.runs.corpus_steps import segment_parts
from fairseq_xling.runs.launcher import run_steps
from fairseq_xling.runs.options import load_config, split_words
from fairseq_xling.runs.settled import settle_config
from fairseq_xling.runs.step import Step
from fairseq_xling.studies.encoder_training import counted
from fairseq_xling.studies.gold_tasks import transfer_mean, transfer_step
from fairseq_xling.text.options import parse_segmentation

if TYPE_CHECKING:
    import pandas
    from matplotlib.figure import Figure

SOURCE = "Emerging Cross-lingual Structure (Conneau et al., 2020), section 5.1.2 and Appendix A"
# The encoder below the heads, by family.
_UNDER = {"apart": "monolingual", "random": "monolingual", "joint": "bilingual"}
_UNDER |= {"separate": "bilingual, Sep Emb"}
_ENCODER = "encoder"  # `eval transfer`'s name of a single unnamed encoder


@dataclasses.dataclass(frozen=True)
class MappedTest:
    """The models and files of a test: a target text, read by another encoder.

    Attributes:
        tuned: folder of an `eval transfer` with one encoder, whose chosen models are tested.
        data: that encoder's data folder.
        checkpoint, checkpoint_data: the encoder that reads the text below ``layer``.
        lang: the language as it calls it.
        fitted: the map from its states to the fine-tuned model's; None leaves them unchanged.
        layer: the last of its layers that is used; 0 is the embeddings.
        file: what to predict.
    """

    tuned: Path
    data: Path
    checkpoint: Path
    checkpoint_data: Path
    lang: str
    fitted: Path | None
    layer: int
    file: Path
    device: str = "cpu"

    def run(self, result: Path) -> None:
        """Write the scores of every chosen setting and seed to ``result``."""
        from fairseq_xling.interop.encoder import Encoder
        from fairseq_xling.mapping.fitted import read_map
        from fairseq_xling.tasks.mapped import mapped_predictor
        from fairseq_xling.tasks.predict import Predictor
        from fairseq_xling.verbs.predict_mapped import no_map

        found = Result(self.tuned / RESULTS, read_json(self.tuned / RESULTS))
        how, frame = found.record["config"]["unknown_labels"], found.frame
        models = frame.loc[frame["part"] == "test", ["encoder", "trained", "setting", "seed"]]
        reader = Encoder.load(self.checkpoint, self.checkpoint_data, self.device)
        fitted = None if self.fitted is None else read_map(self.fitted)
        tests = []
        for encoder, trained, setting, seed in dict.fromkeys(models.itertuples(False, None)):
            name = f"{encoder}-{trained}-{setting}-{seed}"
            path = self.tuned / "models" / name / "checkpoint_best.pt"
            head = Predictor.load(path, self.data, self.device, unknown_labels=how)
            chosen = fitted or no_map(head, reader, self.layer)
            mapped = mapped_predictor(head, reader, chosen, self.layer)
            scores = mapped.predict(self.lang, self.file).scores
            tests.append({"setting": setting, "seed": seed, "scores": scores})
        inputs = {"encoder": self.checkpoint, "file": self.file}
        inputs |= {"map": self.fitted} if self.fitted else {}
        record = {
            "lang": self.lang,
            "layer": self.layer,
            "metric": found.record["metric"],
            "tests": tests,
        }
        write_json(result, {**record, "provenance": provenance(inputs)})


@dataclasses.dataclass(frozen=True)
class MappedHead:
    """One head, tested through one encoder.

    Attributes:
        row, title: the kind of encoders; pair: of languages, as in ``en-de``.
        task, layer: of the head; seed: of its training, and of the encoders', if they are trained.
        family: the family of encoders, as named in `similarity_config`.
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


def run_mapped_layers(args: argparse.Namespace) -> None:
    """The verb ``ablate mapped-layers``."""
    config, run = counted(load_config(MappedLayersConfig, args, PRESETS)), Path(args.output)
    check_config(config)
    config, settled = settle_config(run, config)
    run_steps(run, mapped_layers_steps(run, config), config.jobs, args, settled)


def mapped_layers_steps(run: Path, config: MappedLayersConfig) -> list[Step]:
    """All steps of the study; all files are in ``run``."""
    study = _Study(run, config)
    source, *targets = config.encoders.language_list
    rows = config.encoders.row_list
    for pair, row in itertools.product([Pair(source, target) for target in targets], rows):
        if row.fits(pair):
            for seed in study.seeds:  # given encoders are the same for each, heads are not
                study.compare(pair, row, *study.models.sides(row.family, pair, seed), seed)
    cells, steps, record = study.cells, study.steps, dataclasses.asdict(config)
    titles = {name: task.title for name, task in config.task_table.items()}
    steps["table"] = Step(
        "table",
        call=lambda: write_mapped_layers(run, record, titles, cells, list(steps.values())),
        settings={"config": record, "kind": "mapped-layers"},
        inputs=list(dict.fromkeys(path for cell in cells for path in (cell.tuned, cell.result))),
        outputs=[run / name for name in files_of(dict.fromkeys(cell.pair for cell in cells))],
    )
    return list(steps.values())


class _Study:
    """Adds steps, each once, to ``steps``."""

    def __init__(self, run: Path, config: MappedLayersConfig):
        self.run, self.config = run, config
        self.steps: dict[str, Step] = {}
        self.cells: list[MappedHead] = []
        self.models = TokenModels(run, config.encoders, self.steps)
        self.seeds = config.encoders.seed_list
        self._tasks = config.task_table
        self._encoders: dict[tuple[Path, Path], str] = {}  # names of heads on these files
        self._languages = config.encoders.language_list

    def compare(
        self, pair: Pair, row: EncoderKind, fixed: EncoderSide, moving: EncoderSide, seed: int
    ) -> None:
        """Add the steps that measure two encoders, and the cells that the table reads."""
        fitted = self._fit(pair, fixed, moving) if row.mapped else None
        for task, layer in itertools.product(self._tasks, self.config.layer_list):
            tuned = self._tune(task, fixed, layer, seed)
            result = self._test(task, tuned, fixed, moving, fitted, layer, seed)
            self.cells.append(
                MappedHead(
                    row.name, row.title, pair.name, task, layer, seed, row.family, tuned, result
                )
            )

    def _tune(self, task: str, fixed: EncoderSide, layer: int, seed: int) -> Path:
        """New layers and a head on the frozen ``layer``; the folder of `eval transfer`."""
        # One file can be the encoder of several pairs; heads do not depend on the target.
        encoder = self._encoders.setdefault((fixed.checkpoint, fixed.data), fixed.name)
        name = f"{task}-{encoder}-layer{layer}-head{seed}"
        output = self.run / "tasks" / name
        reads = ["--read-layer", str(layer), "--head-layers", str(self.config.head_layers)]
        reads += split_words("--head-train-args", self.config.head_train_args)
        options = ["--device", self.config.device, "--precision", self.config.precision]
        options += split_words("--task-args", self.config.task_args)
        if name not in self.steps:
            self.steps[name] = transfer_step(
                name,
                self._tasks[task],
                output,
                Path(self.config.data_text),
                [fixed.lang],
                {_ENCODER: (fixed.checkpoint, fixed.data)},
                str(seed),
                [*options, "--freeze-encoder", "--train-args", shlex.join(reads)],
            )
        return output

    def _fit(self, pair: Pair, fixed: EncoderSide, moving: EncoderSide) -> Path:
        """The map of all layers from ``moving`` to ``fixed``; its file."""
        texts, links = self._texts(pair), self._align(pair, fixed, moving)
        states = [
            self.models.tokens(side, f"tokens-{pair.name}", text)
            for side, text in zip((fixed, moving), texts, strict=True)
        ]
        name = f"map-{fixed.name}-{moving.name}-{pair.target}"
        output = self.run / "maps" / f"{name.removeprefix('map-')}.safetensors"
        command = [
            *("fairseq-xling", "map", "contextual", str(states[1]), str(states[0])),
            *("--alignments", str(links), "--swap", "--normalize", self.config.normalize),
            *("--output", str(output)),
        ]
        self.steps.setdefault(
            name,
            Step(
                name,
                commands=[command],
                inputs=[*states, links],
                outputs=[output, output.with_name(f"{output.name}.json")],
                resumable=True,
            ),
        )
        return output

    def _test(
        self,
        task: str,
        tuned: Path,
        fixed: EncoderSide,
        moving: EncoderSide,
        fitted: Path | None,
        layer: int,
        seed: int,
    ) -> Path:
        """The head on the target language's states; the file of results."""
        how = "unmapped" if fitted is None else "mapped"
        names = dict.fromkeys([fixed.name, moving.name])
        name = f"{how}-{task}-{'-'.join(names)}.{moving.code}-layer{layer}-head{seed}"
        result = self.run / "results" / f"{name}.json"
        file = self._tasks[task].file(Path(self.config.data_text), "test", moving.lang)
        test = MappedTest(
            tuned, fixed.data, moving.checkpoint, moving.data, moving.code, fitted, layer,
            file, self.config.device,
        )  # fmt: skip
        inputs = [tuned, moving.checkpoint, moving.data, *([fitted] if fitted else [])]
        self.steps.setdefault(
            name,
            Step(
                name,
                call=functools.partial(test.run, result),
                device=self.config.device,
                settings={"layer": layer, "language": moving.code, "map": how},
                inputs=inputs,
                unread=[file],  # not before the test (zero-shot)
                outputs=[result],
            ),
        )
        return result

    def _texts(self, pair: Pair) -> list[Path]:
        """The sentence pairs that maps are fitted on, a file for each language."""
        both = list(self.config.parallel(pair.target))
        count = self.config.map_sentences
        if not count:
            return both
        langs = (pair.source, pair.target)
        outputs = [self.run / "text" / f"{pair.name}.{lang}.txt" for lang in langs]
        self.steps.setdefault(
            f"text-{pair.name}",
            Step(
                f"text-{pair.name}",
                call=functools.partial(_write_heads, both, outputs, count),
                settings={"sentences": count},
                inputs=both,
                outputs=outputs,
            ),
        )
        return outputs

    def _align(self, pair: Pair, fixed: EncoderSide, moving: EncoderSide) -> Path:
        """The word alignment of these sentences, with words as both encoders count them."""
        texts, how = self._texts(pair), [self._segmentation(side) for side in (fixed, moving)]
        name = f"align-{pair.name}-{'-'.join(how)}"
        output = self.run / "text" / f"{name.removeprefix('align-')}.pharaoh"
        command = [
            *("fairseq-xling", "align", self.config.links, *map(str, texts)),
            *("--segment-source", how[0], "--segment-target", how[1], "--output", str(output)),
        ]
        self.steps.setdefault(name, Step(name, commands=[command], inputs=texts, outputs=[output]))
        return output

    def _segmentation(self, side: EncoderSide) -> str:
        if side.name.startswith("ready-"):
            return DataFolder(side.data).meta["segment"][side.code]
        parts = segment_parts(self.config.segment, self._languages)
        return parse_segmentation(parts, self._languages)[side.lang]


class TokenModels(Models):
    """The encoders of the similarity study, and their states of every subword."""

    def tokens(self, side: EncoderSide, what: str, text: Path) -> Path:
        """The states of ``text``; ``what`` names them."""
        return self._extract(side, what, text, "tokens")


def _write_heads(texts: list[Path], outputs: list[Path], count: int) -> None:
    for text, output in zip(texts, outputs, strict=True):
        output.parent.mkdir(parents=True, exist_ok=True)
        with atomic_write(output, "w") as file:
            file.writelines(f"{line}\n" for line in itertools.islice(read_lines(text), count))


def measurements(cells: Sequence[MappedHead], titles: Mapping[str, str]) -> "pandas.DataFrame":
    """In percent, a row for each seed and layer: for each task and pair the source language with
    every kind of encoder below the heads, then the target with each row.

    Args:
        titles: of the tasks, by name.
    """
    from fairseq_xling.results.frame import make_frame

    own: dict[tuple[str, ...], dict[tuple[int, int], float]] = {}
    others: dict[tuple[str, ...], dict[tuple[int, int], float]] = {}
    for cell in cells:
        source = cell.pair.partition("-")[0]
        title, place = f"{source} itself, {_UNDER[cell.family]}", (cell.seed, cell.layer)
        of = cell.pair, titles[cell.task]
        own.setdefault((title, title, *of), {})[place] = transfer_mean(cell.tuned, source)
        record = read_json(cell.result)
        scores = [test["scores"][record["metric"]] for test in record["tests"]]
        others.setdefault((cell.row, cell.title, *of), {})[place] = statistics.fmean(scores)
    rows = [
        dict(zip(("row", "title", "pair", "measure"), key, strict=True))
        | {"seed": seed, "layer": layer, "value": found[seed, layer]}
        for key, found in (*own.items(), *others.items())
        for seed, layer in sorted(found)
    ]
    return make_frame(rows, paper="emerging", study="mapped-layers", unit="%")


def table(frame: "pandas.DataFrame") -> tuple[list[str], list[list[Any]]]:
    """A row for each curve, a column for each layer."""
    from fairseq_xling.results.frame import arranged, pivot

    shown = arranged(frame, "measure", "pair")
    shown = shown.assign(column=[f"layer {layer}" for layer in shown["layer"]])
    rows = {"task": "measure", "pair": "pair", "encoders": "title"}
    return pivot(shown, rows, "column", digits=1)


def draw(frame: "pandas.DataFrame", pair: str) -> "Figure":
    """A panel for each task: curves by layer, or for one layer the individual seeds."""
    from fairseq_xling.results.charts import curves, dots

    own = frame[frame["pair"] == pair]
    labels = {measure: f"{measure} (%)" for measure in dict.fromkeys(own["measure"])}
    if len(set(own["layer"])) == 1:
        return dots(own, labels, row="title", title=pair)
    styles = list(dict.fromkeys(frame["row"]))
    return curves(own, labels, xlabel=LAYER, label="title", title=pair, styles=styles, common=True)


def write_mapped_layers(
    run: Path,
    config: Mapping[str, Any],
    titles: Mapping[str, str],
    cells: Sequence[MappedHead],
    steps: Sequence[Step],
) -> None:
    """Write `files_of` the pairs into ``run``."""
    files = {str(cell.result.relative_to(run)): cell.result for cell in cells}
    frame = measurements(cells, titles)
    write_results(MappedLayers, run, {"config": dict(config)}, files, steps, frame)


@KINDS.register("mapped-layers")
class MappedLayers(Kind):
    """Curves by layer, a panel for each task, a figure for each pair; then the table."""

    name = "mapped-layers"

    def page(self, result: Result) -> Page:
        from fairseq_xling.results.frame import figures, listed

        frame, config = result.frame, result.record["config"]
        header, rows = table(frame)
        notes = [*_notes(config), f"{result.machine}."]
        seeds = seeds_in_words(config["seeds"], "bands")
        of_target = frame[frame["row"] != frame["title"]]  # others are the source's own
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
                        figure=functools.partial(draw, frame, pair),
                        notes=caption(result, SOURCE, seeds),
                        name=f"plot-{pair}",
                    )
                    for pair in dict.fromkeys(frame["pair"])
                ),
                Section("Table", header=header, rows=rows, notes=notes, name="table"),
            ],
            tables={"table": listed(frame, BY_LAYER)},
            measured=[
                Measured("S6", f"{task} (%), mean over layers, {title}, {pair}", mean)
                for (task, title, pair), values in figures(
                    of_target, "measure", "title", "pair"
                ).items()
                for mean in [statistics.fmean(values)]
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
