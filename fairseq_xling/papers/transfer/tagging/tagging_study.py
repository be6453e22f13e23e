"""The study of adversarial tagging: six rows of supervision, each target language, each seed.

A tagger is trained on one language and tested on others. Files of a target's annotation are inputs
of rows 5 and 6 and of the tests alone.
"""

import dataclasses
import functools
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairseq_xling import USER_DIR
from fairseq_xling.core.errors import UserError
from fairseq_xling.core.files import atomic_write, read_json
from fairseq_xling.engine.precision import device_options
from fairseq_xling.papers.transfer.tagging.config import (
    CLAIMS,
    ROWS,
    AdversarialTaggingConfig,
    TaggingRow,
    check_config,
)
from fairseq_xling.results.page import RESULTS, Measured
from fairseq_xling.results.paired import claim_verdicts
from fairseq_xling.results.report import Section
from fairseq_xling.results.result import KINDS
from fairseq_xling.runs.corpus_steps import check_vocabulary, prepare_step, segment_options
from fairseq_xling.runs.options import split_words
from fairseq_xling.runs.step import Step
from fairseq_xling.runs.training_command import resumable_training
from fairseq_xling.studies.ablations import STUDIES
from fairseq_xling.studies.study import Cell, Plan, Study, Table, tabled
from fairseq_xling.tasks.items import parse_columns, parse_files

if TYPE_CHECKING:
    import pandas

_WITH_CURVES = ("2", "4")  # rows
MEAN = "mean of targets"
_D, _FRESH = "D (%)", "fresh classifier (%)"
# a model of these languages, and its epochs, by what tells them apart
_MODEL = {name: name for name in ("row", "target", "seed", "epoch")}
_CURVES = {"source": "source", "target": "target figure", "discriminator": "discriminator"}


@KINDS.register("adversarial-tagging")
@STUDIES.register("adversarial-tagging")
class AdversarialTagging(Study):
    """Source only, mapped words, sentence adversary, both, a few target sentences, supervised: bars
    for the rows of each target, and lines by epoch."""

    name, paper, config = "adversarial-tagging", "transfer", AdversarialTaggingConfig
    help = "mapped words and a language adversary for tagging: six rows of supervision"
    title, source = "Adversarial cross-lingual tagging", "the transfer note, 2.1 and 2.2"
    lead = (
        "A tagger trained on one language's annotation, tested on others. Annotation of a target "
        "is opened by rows 5 and 6 and by the tests alone."
    )
    spec_rows, drawn = ("E12",), "whiskers"
    files = ("table.md", "table.csv", "curves.csv", RESULTS, "plot.svg", "report.html")

    def check(self, config: AdversarialTaggingConfig) -> AdversarialTaggingConfig:
        check_config(config)
        check_vocabulary("word", config.segment, config.language_list)
        return config

    def plan(self, run: Path, config: AdversarialTaggingConfig) -> tuple[list[Step], list[Cell]]:
        plan = _Models(run, config)
        for target in config.targets:
            for row in config.row_list:
                for seed in config.seed_list:
                    plan.model(row, target, seed)
        for target, path in plan.maps.items():
            plan.cells.append(Cell({"target": target}, {"map": _report(path)}))
        return plan.done()

    def read(self, cell: Cell) -> Iterator[Mapping[str, Any]]:
        """In percent, or accuracy, a share; what is by epoch has the task ``epochs``."""
        if "map" in cell.files:
            return
        model = read_json(cell.files["result"])
        about = {"study": "adversarial tagging", "name": ROWS[cell.about["row"]].title}
        about["epoch"] = model["epoch"]
        for lang, scores in model["scores"].items():
            name = "target" if lang == cell.about["target"] else "source"
            yield {**about, "measure": name, "value": scores[model["metric"]]}
        for name, value in (model["language"] or {}).items():
            yield {**about, "measure": name, "value": value}
        by_epoch = model.get("curve", {})
        for name, key in (("source",) * 2, ("target", "figures"), ("discriminator",) * 2):
            for epoch, value in enumerate(by_epoch.get(key, ()), start=1):
                yield {**about, "epoch": epoch, "task": "epochs", "measure": name, "value": value}

    def recorded(
        self, config: AdversarialTaggingConfig, cells: Sequence[Cell], frame: "pandas.DataFrame"
    ) -> Mapping[str, Any]:
        from fairseq_xling.mapping.job import read_outcome

        maps = {
            cell.about["target"]: read_outcome(cell.files["map"])
            for cell in cells
            if "map" in cell.files
        }
        return {"metric": read_json(cells[0].files["result"])["metric"], "maps": maps}

    def sections(self, frame: "pandas.DataFrame", record: Mapping[str, Any]) -> Iterator[Section]:
        from fairseq_xling.results.charts import bars
        from fairseq_xling.results.frame import pivot

        metric, (source, *targets) = record["metric"], record["config"]["languages"].split(",")
        by_epoch, found = frame[frame["task"] == "epochs"], by_column(frame, source, metric)
        drawn = [f"{metric}, {lang}" for lang in (*targets, source)]
        order = [*drawn[:-1], MEAN, drawn[-1], _D, _FRESH]
        cells = pivot(found, {"row": "row", "": "name"}, "column", order=order, digits=1)
        yield tabled(f"{metric} by target language", cells, *_notes(record, frame))
        labelled = found[found["column"].isin(drawn)]
        labelled = labelled.assign(row=labelled["row"] + ": " + labelled["name"])
        names = {name: f"{name} (%)" for name in drawn}
        figure = partial(bars, labelled, names, series="task", panel="column")
        yield Section("Figures by row", figure=figure, name="plot" if by_epoch.empty else "")
        if not by_epoch.empty:
            first = f"Seed {by_epoch['seed'].iat[0]}; the target's is of its test file."
            figure = partial(draw_epochs, by_epoch, source, metric)
            yield Section("By epoch", figure=figure, notes=[first], name="plot")

    def csv(self, frame: "pandas.DataFrame", record: Mapping[str, Any]) -> Mapping[str, Table]:
        metric = record["metric"]
        headings = {"target": metric, "source": f"{metric} of the source"}
        headings |= {"discriminator": "discriminator", "fresh": "fresh classifier"}
        by_epoch, scores = frame[frame["task"] == "epochs"], frame[frame["task"].isna()]
        return {"table": _spread(scores, headings), "curves": _spread(by_epoch, _CURVES)}

    def measured(self, frame: "pandas.DataFrame", table: Section) -> Iterator[Measured]:
        place = list(table.header).index(MEAN)
        for row in table.rows:
            if row[place]:
                yield Measured("E12", f"{MEAN} (%), row {row[0]}: {row[1]}", row[place].mean)


class _Models(Plan):
    """The steps of each model: its samples, vectors and map, its training and test."""

    def __init__(self, run: Path, config: AdversarialTaggingConfig):
        super().__init__(run, config)
        self.maps: dict[str, Path] = {}  # by target

    def sample(self, lang: str, split: str, count: int, name: str = "") -> Path:
        """Annotated sentences, drawn at random."""
        given, name = self.config.file(split, lang), name or split
        output = self.run / "data" / f"{name}.{lang}.conll"
        step = Step(
            f"{name}-{lang}",
            call=functools.partial(sample_items, given, output, count, self.config.columns),
            settings={"count": count, "columns": self.config.columns},
            inputs=[given],
            outputs=[output],
        )
        return self.add(step)

    def text(self, lang: str) -> tuple[Path, Path]:
        """The target's text to train on, and what is held out."""
        given = self.config.file("unlabelled", lang)
        outputs = [self.run / "data" / f"{name}.{lang}.txt" for name in ("text", "held-out")]
        step = Step(
            f"text-{lang}",
            call=functools.partial(split_text, given, *outputs, self.config.held_out),
            settings={"held_out": self.config.held_out},
            inputs=[given],
            outputs=outputs,
        )
        self.add(step)
        return outputs[0], outputs[1]

    def vectors(self, lang: str) -> Path:
        """The word vectors of a language, ready or trained."""
        config = self.config
        if config.vectors:
            return dict(parse_files("--vectors", ",".join(config.vectors)))[lang]
        given = {
            code: [Path(pattern.replace("{lang}", code)) for pattern in config.text_patterns]
            for code in config.language_list
        }
        data = self.run / "data" / "words"
        self.add(
            prepare_step(
                "prepare-words",
                data,
                config.language_list,
                source=[
                    word
                    for code, paths in given.items()
                    for word in ("--mono", f"train.{code}={','.join(map(str, paths))}")
                ],
                inputs=[path for paths in given.values() for path in paths],
                mode="separate",
                vocab_type="word",
                vocab_size=config.vocab_size,
                options=segment_options(config.segment, config.language_list),
            )
        )
        output = self.run / "vectors" / f"{lang}.safetensors"
        command = [
            *("fairseq-xling", "embed", "train", str(data), "--languages", lang),
            *("--output", str(output), "--dim", str(config.dim)),
            *("--epochs", str(config.vector_epochs), "--seed", str(config.vector_seed)),
        ]
        step = Step(
            f"embed-{lang}",
            commands=[command],
            inputs=[data],
            outputs=[output, _report(output)],
            resumable=True,
        )
        return self.add(step)

    def map(self, target: str) -> Path:
        """The file with W, of the source's words into the target's space."""
        config = self.config
        moving, fixed = self.vectors(config.source), self.vectors(target)
        output = self.run / "vectors" / f"{config.source}-{target}.safetensors"
        for path in (moving, fixed):
            if not path.name.endswith(".safetensors"):
                raise UserError(
                    f"`--vectors` {path}: must be of `fairseq-xling embed` to be mapped here; "
                    "`embed train --vec` reads .vec files"
                )
        command = [
            *("fairseq-xling", "map", config.map, "--source-vectors", str(fixed)),
            *("--vectors", str(moving), "--output", str(output), "--keep-failed"),
            *("--seeds", config.map_seeds, "--refine", str(config.refine)),
            *split_words("--map-args", config.map_args),
        ]
        step = Step(
            f"map-{config.source}-{target}",
            commands=[command],
            inputs=[moving, fixed],
            outputs=[output, _report(output)],
            resumable=True,
        )
        self.maps[target] = output
        return self.add(step)

    def model(self, row: TaggingRow, target: str, seed: int) -> None:
        """Training and test of one model."""
        from fairseq_xling.papers.transfer.tagging.test import measure

        config, run, source = self.config, self.run, self.config.source
        name = f"{row.code}-{target}-{seed}"
        keep = config.curves and seed == config.seed_list[0] and row.code in _WITH_CURVES
        command, inputs = self._training(row, target)
        folder, log = run / "models" / name, run / "logs" / f"train-{name}.log"
        epochs = config.epochs if keep else 0
        command += [
            *("--save-dir", str(folder), "--seed", str(seed)),
            *(() if keep else ("--no-epoch-checkpoints",)),
            *split_words("--train-args", config.train_args),
        ]
        updates = config.epochs * -(-config.sentences // config.batch_size)
        step = resumable_training(f"train-{name}", command, inputs, folder, log, updates)
        self.add(step)

        result, predictions = run / "results" / f"{name}.json", run / "predictions" / name
        read = [target] if row.target == "all" else [source, target]
        cell = Cell({"row": row.code, "target": target, "seed": seed}, {"result": result})
        # What is known of the language is measured on sentences that nothing was trained on.
        held_out = {}
        if len(read) > 1:
            source_dev = self.sample(config.source, "valid", config.valid_sentences)
            held_out = {config.source: source_dev, target: self.text(target)[1]}
        tests = {lang: config.file("test", lang) for lang in read}
        given = (cell, folder, log, tests, held_out, predictions, epochs, config.device)
        self.add(
            Step(
                f"test-{name}",
                call=functools.partial(measure, *given),
                device=config.device,
                settings={"row": row.code, "epochs": epochs},
                inputs=[folder, log, *held_out.values()],
                unread=list(tests.values()),
                outputs=[result, predictions],
            )
        )
        self.cells.append(cell)

    def _training(self, row: TaggingRow, target: str) -> tuple[list[str], list[Path]]:
        """The call of fairseq-train without what depends on the seed, and the files it reads."""
        config, source = self.config, self.config.source
        languages = [target] if row.target == "all" else [source, target]
        train = {languages[0]: self.sample(languages[0], "train", config.sentences)}
        valid = {languages[0]: self.sample(languages[0], "valid", config.valid_sentences)}
        if row.target == "some":
            train[target] = self.sample(target, "train", config.few, "few")
            valid[target] = self.sample(target, "valid", config.few, "few-valid")
        vectors = {lang: self.vectors(lang) for lang in languages}
        inputs = [*train.values(), *valid.values(), *vectors.values()]
        options = []
        if row.mapped:
            options += ["--map", str(self.map(target))]
            inputs.append(self.map(target))
        if row.target == "some":
            options.append("--low-resource")
        if row.adversary:
            text, held_out = self.text(target)
            options += [
                *("--adversary", config.adversary),
                *("--adversary-weight", str(config.adversary_weight)),
                *("--adversary-schedule", config.adversary_schedule),
                *("--text-file", f"{target}={text}"),
                *("--valid-text-file", f"{target}={held_out}"),
            ]
            inputs += [text, held_out]
        updates = -(-config.sentences // config.batch_size)
        command = [
            *("fairseq-train", "--user-dir", str(USER_DIR), "--task", "adversarial_tagging"),
            *("--arch", "adversarial_tagger", "--criterion", "adversarial_tagging"),
            *("--languages", ",".join(languages), "--vectors", _joined(vectors)),
            *("--train-file", _joined(train), "--valid-file", _joined(valid)),
            *("--head", config.head, "--normalize", config.normalize),
            *(("--columns", config.columns) if config.columns else ()),
            *("--epoch-sentences", str(config.sentences), *options),
            *("--optimizer", "sgd", "--momentum", str(config.momentum), "--lr", str(config.lr)),
            *("--lr-scheduler", "fixed", "--clip-norm", str(config.clip)),
            *("--batch-size", str(config.batch_size), "--max-epoch", str(config.epochs)),
            *("--best-checkpoint-metric", _metric(config), "--maximize-best-checkpoint-metric"),
            *("--num-workers", "0", "--log-format", "json", "--no-progress-bar"),
            *("--log-interval", str(max(1, updates // 2))),
            *device_options(config.precision, config.device),
        ]
        return command, inputs


def _metric(config: AdversarialTaggingConfig) -> str:
    from fairseq_xling.tasks.tagging import word_head

    return word_head(config.head).metric


def _report(vectors: Path) -> Path:
    """The report that `embed` and `map` write next to a file of vectors."""
    return vectors.with_name(f"{vectors.name}.json")


def _joined(files: dict[str, Path]) -> str:
    return ",".join(f"{lang}={path}" for lang, path in files.items())


def sample_items(given: Path, output: Path, count: int, columns: str) -> None:
    """Write ``count`` random sentences of an annotated file, in its order; all if it has fewer."""
    import numpy as np

    from fairseq_xling.tasks.formats.conll import Conll

    read = parse_columns(columns)
    items = list(Conll.read(given, read))
    for item in items:
        if item.tags is None:
            raise UserError(f"{given}: has no tags, only one column")
    chosen = np.sort(np.random.default_rng(0).permutation(len(items))[:count])
    picked = [dataclasses.replace(items[i], before=("",), after=()) for i in chosen]
    picked[0] = dataclasses.replace(picked[0], before=())
    Conll.write(output, picked, [item.tags or () for item in picked], read)


def split_text(given: Path, train: Path, held_out: Path, count: int) -> None:
    """Write the last ``count`` sentences of a text to ``held_out``, the others to ``train``."""
    from fairseq_xling.tasks.tagging import read_text

    total = sum(1 for _ in read_text(given))
    if total <= count:
        raise UserError(
            f"{given}: must have more than {count} sentences (`--held-out`), got {total}"
        )
    with atomic_write(train, "w") as rest, atomic_write(held_out, "w") as last:
        for number, words in enumerate(read_text(given)):
            (last if number >= total - count else rest).write(" ".join(words) + "\n")


def by_column(frame: "pandas.DataFrame", source: str, metric: str) -> "pandas.DataFrame":
    """The figures of trained models in percent, with their ``column`` of the table: the source's
    figure and accuracies are over targets, too."""
    import pandas

    scores = frame[frame["task"].isna()]
    of_target = scores["measure"] == "target"
    own, rest = scores[of_target], scores[~of_target]
    headings = {"source": f"{metric}, {source}", "discriminator": _D, "fresh": _FRESH}
    rest = rest.assign(
        column=rest["measure"].map(headings),
        seed=rest["seed"].astype(str) + rest["target"],
        value=rest["value"].where(rest["measure"] == "source", rest["value"] * 100),
    )
    each = own.assign(column=f"{metric}, " + own["target"])
    return pandas.concat([each, own.assign(column=MEAN), rest])


def _spread(frame: "pandas.DataFrame", headings: Mapping[str, str]) -> Table:
    """Every figure, unrounded, a line for each model or epoch."""
    from fairseq_xling.results.frame import spread

    named = frame.assign(measure=frame["measure"].map(headings))
    return spread(named, _MODEL, order=list(headings.values()))


def draw_epochs(frame: "pandas.DataFrame", source: str, metric: str) -> Any:
    """Source and target figures of rows 2 and 4 and the accuracy of D by epoch, for each target."""
    from fairseq_xling.results.charts import curves

    lines, labels, values = [], [], []
    columns = frame[["row", "measure", "value"]]
    for row, measure, value in columns.itertuples(index=False):
        of_d = measure == "discriminator"
        lines.append("D" if of_d else f"{row} {measure}")
        labels.append(f"row {row}, " + ("accuracy of D" if of_d else f"{metric} of the {measure}"))
        values.append(100 * value if of_d else value)
    frame = frame.assign(line=lines, label=labels, value=values, chance=50)
    return curves(
        frame,
        "percent",
        xlabel="epoch",
        x="epoch",
        line="line",
        label="label",
        panel="target",
        title={target: f"{source} to {target}" for target in frame["target"]},
        chance="chance of D",
        styles=("2 source", "2 target", "4 source", "4 target", "D"),
        common=True,
    )


def _notes(record: Mapping[str, Any], frame: "pandas.DataFrame") -> list[str]:
    from fairseq_xling.results.frame import figures

    config, metric = record["config"], record["metric"]
    few = f" (row 5: by {config['few']} of the target's)" if "5" in set(frame["row"]) else ""
    notes = [
        f"{metric} in percent, mean ± standard deviation over seeds {config['seeds']}; "
        f"{config['sentences']:,} annotated training sentences, {config['epochs']} epochs, of "
        f"which the best by {config['valid_sentences']:,} dev sentences of the language trained on"
        f"{few}.",
        "D is the accuracy of the model's own discriminator, fresh classifier that of a logistic "
        "regression on the mean of the shared states; both on held-out sentences, the "
        "mean over targets, chance 50.",
    ]
    own = frame[frame["task"].isna() & (frame["measure"] == "target")]
    means = {row: values for (row,), values in figures(own, "row").items()}
    notes += claim_verdicts(CLAIMS, means, f"points, {MEAN}", difference="row {} minus row {}")
    source = config["languages"].partition(",")[0]
    for target, report in record["maps"].items():
        notes.append(map_note(f"Map {source} to {target}, {config['map']}", report))
    return [*notes, f"{ROWS['5'].title.capitalize()}: {config['few']}."] if few else notes


def map_note(name: str, report: Mapping[str, Any]) -> str:
    """Whether the map that was used is one, by what `fairseq-xling map` reports of it."""
    state = f"failed: {report['failure']}" if report["failure"] else "better than chance"
    return f"{name}: criterion {report['criterion']:.3f}, chance {report['chance']:.3f}; {state}."
