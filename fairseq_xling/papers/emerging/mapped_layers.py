"""The study of maps below a task head: heads by layer, maps, and tests in the target language.

Conneau et al. 2020, "Emerging Cross-lingual Structure", section 5.1.2: new layers and a head are
trained on the frozen states of layer i in the source language; the lower layers of its own encoder
read a text of the target language, and their states of layer i are mapped to the source encoder's
by a matrix fitted on aligned words. This is compared with one bilingual encoder, mapped or not
(Appendix A there).
"""

import dataclasses
import itertools
import shlex
import statistics
from collections.abc import Iterator, Sequence
from pathlib import Path

from fairseq_xling.analysis.layers import parse_layers
from fairseq_xling.core.errors import UserError
from fairseq_xling.core.options import like, option
from fairseq_xling.data.folder import DataFolder
from fairseq_xling.papers.emerging.encoders import (
    LAYERED,
    ROWS,
    EncoderOptions,
    Models,
    Pair,
    Side,
    check_encoders,
    chosen_names,
)
from fairseq_xling.papers.emerging.similarity import FILES, LAYER, by_pair, write_heads
from fairseq_xling.reports.pivot import Table
from fairseq_xling.reports.record import Chart, Record, Section, made, read_record, write_record
from fairseq_xling.reports.rows import Row, arranged, distinct, select
from fairseq_xling.studies.ablations import STUDIES
from fairseq_xling.studies.corpus_steps import segment_parts
from fairseq_xling.studies.encoder_training import PAPER, StudyText, counted
from fairseq_xling.studies.gold_tasks import tested_scores, transfer_mean
from fairseq_xling.studies.task_options import TaskOptions, check_tasks
from fairseq_xling.text.options import parse_segmentation
from fairseq_xling.workflow.options import jobs_option, seeds_option, split_words
from fairseq_xling.workflow.recipe import Cell, Study
from fairseq_xling.workflow.settled import device_option, precision_option

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
class Options(EncoderOptions, _Mapped):
    """One sentence of help per field; lists are comma-separated text."""

    seeds: str = seeds_option("1", "seeds of the encoders' training")
    layers: int = option(4, "depth of the encoders", least=1)
    train_args: str = option(
        "", "more options for the fairseq-train of every encoder, as one quoted text"
    )
    device: str = device_option()
    precision: str = precision_option()
    jobs: int = jobs_option()


# Conneau et al. (2020), Section 5.1.2, with encoders as in Section 3.1.
PRESETS = {"paper": {**PAPER, "languages": "en,fr,ru,zh", "normalize": "iterative"}}


@STUDIES.register("mapped-layers")
class MappedLayers(Study):
    """Heads on each frozen layer, read from another language's encoder with and without a map:
    curves by layer, a panel for each task, a figure for each pair; then the table."""

    name, paper, options, presets = "mapped-layers", "emerging", Options, PRESETS
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
    files, run_type = FILES, Models

    def check(self, o: Options) -> Options:
        from fairseq_xling.mapping.steps import parse_elements

        o = counted(o)
        check_encoders(o)
        chosen_names("rows", o.rows, LAYERED)
        parse_elements(o.normalize)
        if not o.task_table:
            raise UserError("`--tasks` must name at least one task, or `--task-head` its head")
        check_tasks(o, Path(o.data_text), o.language_list)
        if "--train-args" in split_words("--task-args", o.task_args):
            raise UserError("`--task-args` must leave `--train-args` to `--head-train-args`")
        return o

    def plan(self, run: Models, o: Options) -> None:
        source, *targets = o.language_list
        depths, text = [o.layers], Path(o.data_text)
        if ready := o.ready.values():
            from fairseq_xling.models.transfer_encoder import encoder_depth  # imports fairseq

            files = {one.of_seed(seed)[1] for one in ready for seed in o.seed_list}
            depths = [encoder_depth(file) for file in files]
        layers = parse_layers(o.read_layers, min(depths), "--read-layers")
        encoders: dict[tuple[Path, Path], str] = {}  # names of heads on these files
        for target, name in itertools.product(targets, chosen_names("rows", o.rows, LAYERED)):
            pair, row = Pair(source, target), ROWS[name]
            for seed in o.seed_list if row.fits(pair) else ():
                fixed, moving = row.sides(run, pair, seed)  # heads on given ones have each seed
                fitted = {"fitted": _map(run, o, pair, fixed, moving)} if row.mapped else {}
                # One file can be the encoder of several pairs; heads do not depend on the target.
                encoder = encoders.setdefault((fixed.checkpoint, fixed.data), fixed.name)
                ends = "-".join(dict.fromkeys([fixed.name, moving.name]))
                for (what, task), layer in itertools.product(o.task_table.items(), layers):
                    own = f"layer{layer}-head{seed}"
                    reads = ["--read-layer", str(layer), "--head-layers", str(o.head_layers)]
                    reads += split_words("--head-train-args", o.head_train_args)
                    options = [*split_words("--task-args", o.task_args), "--freeze-encoder"]
                    options += ["--train-args", shlex.join(reads)]
                    tuned = run.transfer(
                        *(f"{what}-{encoder}-{own}", task, [source]),
                        {"encoder": (fixed.checkpoint, fixed.data)},
                        *(options, str(seed)),
                    )
                    file = task.file(text, "test", target)
                    reader = {"reader": moving.checkpoint, "reader_data": moving.data}
                    score = run.function(
                        f"{'mapped' if fitted else 'unmapped'}-{what}-{ends}.{moving.code}-{own}",
                        score_mapped,
                        values={
                            **{"tuned": tuned, "data": fixed.data, **reader, **fitted},
                            **{"lang": moving.code, "layer": layer, "file": file},
                            **{"device": o.device, "result": "{out}"},
                        },
                        to="results/{name}.json",
                        unread=[file],  # not before the test (zero-shot)
                        device=o.device,
                    )
                    about = {"row": name, "title": row.title, "pair": pair.name}
                    of = {"measure": task.title, "layer": layer, "seed": seed}
                    run.measured({"source": tuned, "target": score}, **about, **of)

    def read(self, cell: Cell) -> Iterator[Row]:
        source = cell.about["pair"].partition("-")[0]
        title = f"{source} itself, {ROWS[cell.about['row']].under}"
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

    def sections(self, rows: Sequence[Row], o: Options) -> Iterator[Section]:
        kind, xlabel = ("curve", LAYER) if len(distinct(rows, "layer")) > 1 else ("dots", "")
        yield from by_pair(Chart(kind, xlabel=xlabel, ylabel="{measure} (%)"), rows)
        pairs = f"the first {o.map_sentences:,}" if o.map_sentences else "all"
        notes = [
            f"In percent, of the test files; layer 0 is the embeddings. {o.head_layers} new "
            "layers and the head are trained on the frozen layer in the first language.",
            "Mapped: by the orthogonal matrix of that layer, fitted on the words of "
            f"{pairs} sentence pairs of the {o.map_split} text that are aligned ({o.links}).",
        ]
        if not o.encoder:
            notes.append(
                "Independently trained encoders of two languages start from different weights; a "
                "bilingual one is trained for as many steps as each of them."
            )
        lines = {"task": "measure", "pair": "pair", "encoders": "title"}
        table = Table(lines, "layer {layer}", digits=1)
        yield Section("Table", table, notes=notes, name="table")


def _map(run: Models, o: Options, pair: Pair, fixed: Side, moving: Side) -> Path:
    """The map of all layers from ``moving`` to ``fixed``, fitted on the aligned words of sentence
    pairs, with words as both encoders count them."""
    langs = (pair.source, pair.target)
    texts = [o.text(f"parallel/{o.map_split}.{pair.name}.{lang}") for lang in langs]
    if o.map_sentences:
        files = [f"text/{pair.name}.{lang}.txt" for lang in langs]
        values = {"texts": texts, "outputs": ["{out}", "{out1}"], "count": o.map_sentences}
        name = f"text-{pair.name}"
        run.function(name, write_heads, values=values, to=files[0], also=files[1:])
        texts = [run.folder / file for file in files]
    segment = parse_segmentation(segment_parts(o.segment, o.language_list), o.language_list)
    how = [
        DataFolder(side.data).meta["segment"][side.code]
        if side.name.startswith("ready-")
        else segment[side.lang]
        for side in (fixed, moving)
    ]
    links = run(
        f"align-{pair.name}-{'-'.join(how)}",
        *("fairseq-xling align", [o.links], *texts, "--segment-source", [how[0]]),
        *("--segment-target", [how[1]], "--output {out}"),
        to=f"text/{pair.name}-{'-'.join(how)}.pharaoh",
    )
    x, y = (
        run.states(side, f"tokens-{pair.name}", text, "tokens", o.read_layers)
        for side, text in zip((fixed, moving), texts, strict=True)
    )
    name = f"{fixed.name}-{moving.name}-{pair.target}"
    return run(
        f"map-{name}",
        *("fairseq-xling map contextual", y, x, "--alignments", links, "--swap --normalize"),
        *([o.normalize], "--output {out}"),
        to=f"maps/{name}.safetensors",
        also=[f"maps/{name}.safetensors.json"],
        resumable=True,
    )


def score_mapped(
    tuned: str,
    data: str,
    reader: str,
    reader_data: str,
    lang: str,
    layer: int,
    file: str,
    device: str,
    result: str,
    fitted: str | None = None,
) -> None:
    """Write the scores of every chosen setting and seed to ``result``.

    Args:
        tuned: folder of an `eval transfer` with one encoder, whose data folder is ``data``.
        reader, reader_data: the encoder that reads ``file`` as ``lang``, up to ``layer``.
        fitted: the map from its states to the fine-tuned model's; None leaves them unchanged.
    """
    from fairseq_xling.interop.encoder import Encoder
    from fairseq_xling.mapping.fitted import read_map
    from fairseq_xling.papers.emerging.commands.predict_mapped import no_map
    from fairseq_xling.tasks.mapped import mapped_predictor
    from fairseq_xling.tasks.predict import Predictor

    found = read_record(Path(tuned))
    how, metric = found.config["unknown_labels"], found.facts["metric"]
    lower = Encoder.load(reader, reader_data, device)
    given = None if fitted is None else read_map(fitted)
    rows: list[Row] = []
    of = ("encoder", "trained", "setting", "seed")
    models = ("-".join(str(one[part]) for part in of) for one in tested_scores(Path(tuned)))
    for name in dict.fromkeys(models):
        path = Path(tuned) / "models" / name / "checkpoint_best.pt"
        head = Predictor.load(path, data, device, unknown_labels=how)
        mapped = mapped_predictor(head, lower, given or no_map(head, lower, layer), layer)
        about = {"row": name, "target": lang, "layer": layer}
        scores = mapped.predict(lang, Path(file)).scores
        rows += [{**about, "measure": what, "value": value} for what, value in scores.items()]
    inputs = {"encoder": Path(reader), "file": Path(file)}
    inputs |= {"map": Path(fitted)} if fitted else {}
    title = f"Figures in {lang}, layer {layer} of its own encoder"
    write_record(Path(result), made(Record(title, rows, facts={"metric": metric}), inputs))
