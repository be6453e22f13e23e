"""The study of maps below a task head: heads by layer, maps, and tests in the target language.

Conneau et al. 2020, "Emerging Cross-lingual Structure", section 5.1.2: new layers and a head are
trained on the frozen states of layer i in the source language; the lower layers of its own encoder
read a text of the target language, and their states of layer i are mapped to the source encoder's
by a matrix fitted on aligned words. This is compared with one bilingual encoder, mapped or not
(Appendix A there).
"""

import dataclasses
import functools
import itertools
import shlex
import statistics
from collections.abc import Iterator, Sequence
from pathlib import Path

from fairseq_xling.analysis.layers import parse_layers
from fairseq_xling.core.errors import UserError
from fairseq_xling.core.files import atomic_write, read_lines
from fairseq_xling.core.options import like, option, part_of
from fairseq_xling.data.folder import DataFolder
from fairseq_xling.papers.emerging.similarity_config import (
    LAYERED,
    ROWS,
    EncoderKind,
    Encoders,
    Pair,
    SimilarityConfig,
    check_encoders,
)
from fairseq_xling.papers.emerging.similarity_models import EncoderSide, Models
from fairseq_xling.papers.emerging.similarity_study import FILES, LAYER, by_pair
from fairseq_xling.reports.pivot import Table
from fairseq_xling.reports.record import Chart, Record, Section, made, read_record, write_record
from fairseq_xling.reports.rows import Row, arranged, distinct, select
from fairseq_xling.studies.ablations import STUDIES
from fairseq_xling.studies.corpus_steps import segment_parts
from fairseq_xling.studies.encoder_training import (
    PAPER,
    EncoderTraining,
    PreparedText,
    StudyText,
    counted,
)
from fairseq_xling.studies.gold_tasks import tested_scores, transfer_mean
from fairseq_xling.studies.task_options import TaskOptions, check_tasks
from fairseq_xling.text.options import parse_segmentation
from fairseq_xling.workflow.options import jobs_option, seeds_option, split_words
from fairseq_xling.workflow.recipe import Cell, Study
from fairseq_xling.workflow.settled import device_option, precision_option
from fairseq_xling.workflow.step import Step

# The encoder below the heads, by family.
_UNDER = {"apart": "monolingual", "random": "monolingual", "joint": "bilingual"}
_UNDER |= {"separate": "bilingual, Sep Emb"}
_ENCODER = "encoder"  # `eval transfer`'s name of a single unnamed encoder
# How links of the two directions of alignment are combined.
LINKS = ("intersection", "gdfa", "union", "fwd", "rev")


@dataclasses.dataclass(frozen=True)
class _Mapped(StudyText, TaskOptions):
    """The tasks, text and maps."""

    tasks: str = like(
        TaskOptions, "tasks", "ner,parsing", "tasks, from data-text/gold: nli, ner, pos, parsing"
    )
    languages: str = option("en,de", "tasks are trained in the first, tested in each of the others")
    rows: str = option(
        "mapped,unmapped,bilingual,bilingual-mapped", f"encoders to compare: {', '.join(LAYERED)}"
    )
    read_layers: str = option("all", "layers below the head, such as 0,2-4; 0 is the embeddings")
    head_layers: int = option(4, "new Transformer layers between that layer and the head", least=0)
    head_train_args: str = option(
        "", "more options for the fairseq-train of every head, as one quoted text"
    )
    map_split: str = option("train", "split of the parallel text that maps are fitted on")
    map_sentences: int = option(10_000, "number of its first sentence pairs; 0 is all", least=0)
    normalize: str = option(
        "centre",
        "normalisation of states before a map, as in `fairseq-xling map`; iterative in the paper",
    )
    links: str = option(
        "intersection", "word pairs to use, as in `fairseq-xling align`", choices=LINKS
    )


@dataclasses.dataclass(frozen=True)
class MappedLayersConfig(EncoderTraining, PreparedText, Encoders, _Mapped):
    """One sentence of help per field; lists are comma-separated text."""

    seeds: str = seeds_option("1", "seeds of the encoders' training")
    layers: int = option(4, "depth of the encoders", least=1)
    train_args: str = option(
        "", "more options for the fairseq-train of every encoder, as one quoted text"
    )
    device: str = device_option()
    precision: str = precision_option()
    jobs: int = jobs_option()

    @property
    def encoders(self) -> SimilarityConfig:
        """How encoders are trained and written out, as in the similarity study."""
        return part_of(SimilarityConfig, self, compare_layers=self.read_layers, same=False)

    @property
    def layer_list(self) -> tuple[int, ...]:
        """The layers below a head, which every encoder of the study must have."""
        depths = [self.layers]
        if ready := self.encoders.ready.values():
            from fairseq_xling.models.transfer_encoder import encoder_depth  # imports fairseq

            seeds = self.encoders.seed_list
            checkpoints = {one.of_seed(seed)[1] for one in ready for seed in seeds}
            depths = [encoder_depth(checkpoint) for checkpoint in checkpoints]
        return parse_layers(self.read_layers, min(depths), "--read-layers")

    def parallel(self, target: str) -> tuple[Path, Path]:
        """The text that maps are fitted on: the first language's side, and ``target``'s."""
        source = self.encoders.language_list[0]
        name = f"parallel/{self.map_split}.{source}-{target}"
        return self.encoders.text(f"{name}.{source}"), self.encoders.text(f"{name}.{target}")


# Conneau et al. (2020), Section 5.1.2, with encoders as in Section 3.1.
PRESETS = {"paper": {**PAPER, "languages": "en,fr,ru,zh", "normalize": "iterative"}}


@STUDIES.register("mapped-layers")
class MappedLayers(Study):
    """Heads on each frozen layer, read from another language's encoder with and without a map:
    curves by layer, a panel for each task, a figure for each pair; then the table."""

    name, paper, options, presets = "mapped-layers", "emerging", MappedLayersConfig, PRESETS
    help = (
        "zero-shot transfer between encoders by a map of each layer: section 5.1.2 of "
        "Emerging Cross-lingual Structure"
    )
    title = "Zero-shot transfer through a map, layer by layer"
    source = "Emerging Cross-lingual Structure (Conneau et al., 2020), section 5.1.2 and Appendix A"
    lead = (
        "New layers and a head are trained on a frozen layer of one language's encoder; a text of "
        "another language gets there from its own encoder, mapped or not."
    )
    files = FILES

    def check(self, config: MappedLayersConfig) -> MappedLayersConfig:
        from fairseq_xling.mapping.steps import parse_elements

        config = counted(config)
        encoders = config.encoders
        check_encoders(encoders)
        languages = encoders.language_list
        if words := [row.name for row in encoders.row_list if row.words]:
            raise UserError(f"`--rows` must be among {', '.join(LAYERED)}, got {words[0]!r}")
        _ = config.layer_list
        parse_elements(config.normalize)
        if any(row.mapped for row in encoders.row_list):
            for target in languages[1:]:
                config.parallel(target)
        if not config.task_table:
            raise UserError("`--tasks` must name at least one task, or `--task-head` its head")
        check_tasks(config, Path(config.data_text), languages)
        split_words("--head-train-args", config.head_train_args)
        if "--train-args" in split_words("--task-args", config.task_args):
            raise UserError("`--task-args` must leave `--train-args` to `--head-train-args`")
        return config

    def planned(self, folder: Path, config: MappedLayersConfig) -> "_Heads":
        plan = _Heads(folder, config)
        source, *targets = plan.options.language_list
        pairs = [Pair(source, target) for target in targets]
        for pair, row in itertools.product(pairs, plan.options.row_list):
            if row.fits(pair):
                for seed in plan.options.seed_list:  # given encoders are the same for each
                    plan.compare(pair, row, *plan.sides(row.family, pair, seed), seed)
        return plan

    def read(self, cell: Cell) -> Iterator[Row]:
        source = cell.about["pair"].partition("-")[0]
        title = f"{source} itself, {_UNDER[ROWS[cell.about['row']].family]}"
        value = transfer_mean(cell.files["source"], source)
        yield {"row": title, "title": title, "value": value, "unit": "%"}
        found = read_record(cell.files["target"])
        scores = [one["value"] for one in select(found.rows, {"measure": found.facts["metric"]})]
        yield {"value": statistics.fmean(scores), "unit": "%"}

    def arrange(self, rows: list[Row]) -> list[Row]:
        """The source with every kind of encoder below the heads, each once, then the target."""
        own = {tuple(row.items()): row for row in rows if row["row"] == row["title"]}
        rows = [*own.values(), *(row for row in rows if row["row"] != row["title"])]
        rows.sort(key=lambda row: (row["seed"], row["layer"]))
        for column in ("title", "measure", "pair"):
            rows = arranged(rows, column)
        return rows

    def sections(self, rows: Sequence[Row], config: MappedLayersConfig) -> Iterator[Section]:
        kind, xlabel = ("curve", LAYER) if len(distinct(rows, "layer")) > 1 else ("dots", "")
        yield from by_pair(Chart(kind, xlabel=xlabel, ylabel="{measure} (%)"), rows)
        lines = {"task": "measure", "pair": "pair", "encoders": "title"}
        table = Table(lines, "layer {layer}", digits=1)
        yield Section("Table", table, notes=_notes(config), name="table")


class _Heads(Models):
    """The encoders of the similarity study, heads on their layers, and maps between them."""

    def __init__(self, run: Path, config: MappedLayersConfig):
        super().__init__(run, config.encoders)
        self.study, self.tasks = config, config.task_table
        self._encoders: dict[tuple[Path, Path], str] = {}  # names of heads on these files

    def compare(
        self, pair: Pair, row: EncoderKind, fixed: EncoderSide, moving: EncoderSide, seed: int
    ) -> None:
        """Add the steps that measure two encoders, and their cells."""
        fitted = self._fit(pair, fixed, moving) if row.mapped else None
        for task, layer in itertools.product(self.tasks, self.study.layer_list):
            tuned = self._tune(task, fixed, layer, seed)
            result = self._test(task, tuned, fixed, moving, fitted, layer, seed)
            about = {"row": row.name, "title": row.title, "pair": pair.name}
            about |= {"measure": self.tasks[task].title, "layer": layer, "seed": seed}
            self.cells.append(Cell(about, {"source": tuned, "target": result}))

    def _tune(self, task: str, fixed: EncoderSide, layer: int, seed: int) -> Path:
        """New layers and a head on the frozen ``layer``; the folder of `eval transfer`."""
        # One file can be the encoder of several pairs; heads do not depend on the target.
        encoder = self._encoders.setdefault((fixed.checkpoint, fixed.data), fixed.name)
        name = f"{task}-{encoder}-layer{layer}-head{seed}"
        reads = ["--read-layer", str(layer), "--head-layers", str(self.study.head_layers)]
        reads += split_words("--head-train-args", self.study.head_train_args)
        options = [*split_words("--task-args", self.study.task_args), "--freeze-encoder"]
        options += ["--train-args", shlex.join(reads)]
        encoders = {_ENCODER: (fixed.checkpoint, fixed.data)}
        return self.transfer(name, self.tasks[task], [fixed.lang], encoders, options, str(seed))

    def _fit(self, pair: Pair, fixed: EncoderSide, moving: EncoderSide) -> Path:
        """The map of all layers from ``moving`` to ``fixed``; its file."""
        texts, links = self._texts(pair), self._align(pair, fixed, moving)
        states = [
            self._extract(side, f"tokens-{pair.name}", text, "tokens")
            for side, text in zip((fixed, moving), texts, strict=True)
        ]
        name = f"map-{fixed.name}-{moving.name}-{pair.target}"
        output = self.folder / "maps" / f"{name.removeprefix('map-')}.safetensors"
        command = [
            *("fairseq-xling", "map", "contextual", str(states[1]), str(states[0])),
            *("--alignments", str(links), "--swap", "--normalize", self.study.normalize),
            *("--output", str(output)),
        ]
        outputs = [output, output.with_name(f"{output.name}.json")]
        inputs = [*states, links]
        return self.add(Step(name, [command], inputs=inputs, outputs=outputs, resumable=True))

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
        names = "-".join(dict.fromkeys([fixed.name, moving.name]))
        name = f"{how}-{task}-{names}.{moving.code}-layer{layer}-head{seed}"
        result = self.folder / "results" / f"{name}.json"
        file = self.tasks[task].file(Path(self.study.data_text), "test", moving.lang)
        given = (tuned, fixed.data, moving, fitted, layer, file, self.study.device)
        return self.add(
            Step(
                name,
                call=functools.partial(score_mapped, *given, result),
                device=self.study.device,
                settings={"layer": layer, "language": moving.code, "map": how},
                inputs=[tuned, moving.checkpoint, moving.data, *([fitted] if fitted else [])],
                unread=[file],  # not before the test (zero-shot)
                outputs=[result],
            )
        )

    def _texts(self, pair: Pair) -> list[Path]:
        """The sentence pairs that maps are fitted on, a file for each language."""
        both = list(self.study.parallel(pair.target))
        count = self.study.map_sentences
        if not count:
            return both
        langs = (pair.source, pair.target)
        outputs = [self.folder / "text" / f"{pair.name}.{lang}.txt" for lang in langs]
        self.add(
            Step(
                f"text-{pair.name}",
                call=functools.partial(_write_heads, both, outputs, count),
                settings={"sentences": count},
                inputs=both,
                outputs=outputs,
            )
        )
        return outputs

    def _align(self, pair: Pair, fixed: EncoderSide, moving: EncoderSide) -> Path:
        """The word alignment of these sentences, with words as both encoders count them."""
        texts, how = self._texts(pair), [self._segmentation(side) for side in (fixed, moving)]
        name = f"align-{pair.name}-{'-'.join(how)}"
        output = self.folder / "text" / f"{name.removeprefix('align-')}.pharaoh"
        command = [
            *("fairseq-xling", "align", self.study.links, *map(str, texts)),
            *("--segment-source", how[0], "--segment-target", how[1], "--output", str(output)),
        ]
        return self.add(Step(name, [command], inputs=texts, outputs=[output]))

    def _segmentation(self, side: EncoderSide) -> str:
        if side.name.startswith("ready-"):
            return DataFolder(side.data).meta["segment"][side.code]
        languages = self.options.language_list
        return parse_segmentation(segment_parts(self.study.segment, languages), languages)[
            side.lang
        ]


def score_mapped(
    tuned: Path,
    data: Path,
    reading: EncoderSide,
    fitted: Path | None,
    layer: int,
    file: Path,
    device: str,
    result: Path,
) -> None:
    """Write the scores of every chosen setting and seed to ``result``.

    Args:
        tuned: folder of an `eval transfer` with one encoder, whose chosen models are tested.
        data: that encoder's data folder.
        reading: the encoder that reads the text below ``layer``.
        fitted: the map from its states to the fine-tuned model's; None leaves them unchanged.
        layer: the last of its layers that is used; 0 is the embeddings.
        file: what to predict.
    """
    from fairseq_xling.interop.encoder import Encoder
    from fairseq_xling.mapping.fitted import read_map
    from fairseq_xling.papers.emerging.commands.predict_mapped import no_map
    from fairseq_xling.tasks.mapped import mapped_predictor
    from fairseq_xling.tasks.predict import Predictor

    found = read_record(tuned)
    how, metric = found.config["unknown_labels"], found.facts["metric"]
    reader = Encoder.load(reading.checkpoint, reading.data, device)
    given = None if fitted is None else read_map(fitted)
    rows: list[Row] = []
    of = ("encoder", "trained", "setting", "seed")
    models = ("-".join(str(one[part]) for part in of) for one in tested_scores(tuned))
    for name in dict.fromkeys(models):
        path = tuned / "models" / name / "checkpoint_best.pt"
        head = Predictor.load(path, data, device, unknown_labels=how)
        mapped = mapped_predictor(head, reader, given or no_map(head, reader, layer), layer)
        scores = mapped.predict(reading.code, file).scores
        about = {"row": name, "target": reading.code, "layer": layer}
        rows += [{**about, "measure": what, "value": value} for what, value in scores.items()]
    inputs = {"encoder": reading.checkpoint, "file": file}
    inputs |= {"map": fitted} if fitted else {}
    title = f"Figures in {reading.code}, layer {layer} of its own encoder"
    write_record(result, made(Record(title, rows, facts={"metric": metric}), inputs))


def _write_heads(texts: list[Path], outputs: list[Path], count: int) -> None:
    for text, output in zip(texts, outputs, strict=True):
        output.parent.mkdir(parents=True, exist_ok=True)
        with atomic_write(output, "w") as file:
            file.writelines(f"{line}\n" for line in itertools.islice(read_lines(text), count))


def _notes(config: MappedLayersConfig) -> list[str]:
    trained = (
        "Independently trained encoders of two languages start from different weights; a "
        "bilingual one is trained for as many steps as each of them."
    )
    pairs = f"the first {config.map_sentences:,}" if config.map_sentences else "all"
    return [
        f"In percent, of the test files; layer 0 is the embeddings. {config.head_layers} new "
        "layers and the head are trained on the frozen layer in the first language.",
        "Mapped: by the orthogonal matrix of that layer, fitted on the words of "
        f"{pairs} sentence pairs of the {config.map_split} text that are aligned "
        f"({config.links}).",
        *([] if config.encoder else [trained]),
    ]
