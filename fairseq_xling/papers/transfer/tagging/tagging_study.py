"""The study of adversarial tagging: six rows of supervision, each target language, each seed.

A tagger is trained on one language and tested on others. Files of a target's annotation are inputs
of rows 5 and 6 and of the tests alone.
"""

import dataclasses
import functools
from collections.abc import Iterator, Sequence
from pathlib import Path

from fairseq_xling import USER_DIR
from fairseq_xling.core.errors import UserError
from fairseq_xling.core.files import atomic_write, read_json
from fairseq_xling.engine.precision import device_options
from fairseq_xling.papers.transfer.tagging.config import (
    ROWS,
    AdversarialTaggingConfig,
    TaggingRow,
    check_config,
)
from fairseq_xling.reports.paired import in_words, paired_difference
from fairseq_xling.reports.pivot import Table
from fairseq_xling.reports.record import Chart, Section
from fairseq_xling.reports.rows import Row, by_seed, distinct, figures, select
from fairseq_xling.studies.ablations import STUDIES
from fairseq_xling.studies.corpus_steps import check_vocabulary, prepare_step, segment_options
from fairseq_xling.studies.training_command import resumable_training
from fairseq_xling.tasks.items import parse_columns, parse_files
from fairseq_xling.workflow.options import split_words
from fairseq_xling.workflow.recipe import ONE_FIGURE, Cell, Run, Study
from fairseq_xling.workflow.step import Step

_WITH_CURVES = ("2", "4")  # rows
MEAN = "mean of targets"
# pairs of rows whose difference is noted, the one that should be better first
_COMPARED = (("2", "1"), ("3", "1"), ("4", "2"), ("4", "1"))
_D, _FRESH = "D (%)", "fresh classifier (%)"
_KNOWN = {"discriminator": _D, "fresh": _FRESH}  # of the language


@STUDIES.register("adversarial-tagging")
class AdversarialTagging(Study):
    """Source only, mapped words, sentence adversary, both, a few target sentences, supervised: bars
    for the rows of each target, and lines by epoch."""

    name, paper, options = "adversarial-tagging", "transfer", AdversarialTaggingConfig
    help = "mapped words and a language adversary for tagging: six rows of supervision"
    title, source = "Adversarial cross-lingual tagging", "the transfer note, 2.1 and 2.2"
    lead = (
        "A tagger trained on one language's annotation, tested on others. Annotation of a target "
        "is opened by rows 5 and 6 and by the tests alone."
    )
    files = ONE_FIGURE

    def check(self, config: AdversarialTaggingConfig) -> AdversarialTaggingConfig:
        check_config(config)
        check_vocabulary("word", config.segment, config.language_list)
        return config

    def plan(self, plan: "_Models", config: AdversarialTaggingConfig) -> None:
        for target in config.targets:
            for row in config.row_list:
                for seed in config.seed_list:
                    plan.model(row, target, seed)
        for target, path in plan.maps.items():
            plan.cells.append(Cell({"target": target}, {"map": _report(path)}))

    def read(self, cell: Cell) -> Iterator[Row]:
        """In percent; what is by epoch has the task ``epochs``, and what a map reaches ``map``."""
        from fairseq_xling.verbs.map import read_outcome

        if "map" in cell.files:
            found = read_outcome(cell.files["map"])
            about = {"task": "map", "measure": "criterion", "value": found["criterion"]}
            yield {**about, "chance": found["chance"], "failure": found["failure"]}
            return
        model = read_json(cell.files["result"])
        metric, target = model["metric"], cell.about["target"]
        about = {"study": "adversarial tagging", "name": ROWS[cell.about["row"]].title}
        about |= {"epoch": model["epoch"], "unit": "%"}
        for lang, scores in model["scores"].items():
            of = {"measure": "target" if lang == target else "source"}
            yield {**about, **of, "heading": f"{metric}, {lang}", "value": scores[metric]}
        for name, share in (model["language"] or {}).items():
            yield {**about, "measure": name, "heading": _KNOWN[name], "value": 100 * share}
        by_epoch = model.get("curve", {})
        for name, key in (("source",) * 2, ("target", "figures"), ("discriminator",) * 2):
            curve = {**about, "task": "epochs", "measure": name, "said": f"{metric} of the {name}"}
            times = 1
            if name == "discriminator":
                times, curve = 100, {**curve, "said": "accuracy of D", "chance": 50}
            for epoch, value in enumerate(by_epoch.get(key, ()), start=1):
                yield {**curve, "epoch": epoch, "value": times * value}

    def arrange(self, rows: list[Row]) -> list[Row]:
        """What was read, the source's figures last, and the mean of each row over targets."""
        rows.sort(key=lambda row: row["measure"] == "source")
        own = select(rows, {"task": None, "measure": "target"})
        same = ("paper", "study", "row", "name", "unit")
        for row in distinct(own, "row"):
            of_row = select(own, {"row": row})
            about = {name: of_row[0][name] for name in same} | {"measure": MEAN, "heading": MEAN}
            seeds = by_seed(of_row)[()]
            rows += [{**about, "seed": seed, "value": value} for seed, value in seeds.items()]
        return rows

    def sections(self, rows: Sequence[Row], config: AdversarialTaggingConfig) -> Iterator[Section]:
        tested = distinct(select(rows, {"task": None, "measure": "target"}), "heading")
        metric, source = tested[0].partition(", ")[0], config.source
        drawn, curves = [*tested, f"{metric}, {source}"], select(rows, {"task": "epochs"})
        order = [*tested, MEAN, drawn[-1], _D, _FRESH]
        lines = {"row": "row", "": "name"}
        table = Table(lines, "heading", {"task": None}, order, digits=1)
        notes = _notes(rows, config, metric)
        yield Section(f"{metric} by target language", table, notes=notes, name="table")
        bars = Chart("bars", {"task": None, "heading": drawn}, "{row}: {name}", panel="heading")
        bars = dataclasses.replace(bars, xlabel="{heading} (%)", title="{heading} (%)")
        yield Section("Figures by row", chart=bars, name="" if curves else "plot")
        if curves:
            chart = Chart(
                "curve",
                {"task": "epochs"},
                row="row {row}, {said}",
                x="epoch",
                panel="target",
                title=f"{source} to {{target}}",
                xlabel="epoch",
                ylabel="percent",
                chance="chance of D",
            )
            note = f"Seed {curves[0]['seed']}; the target's is of its test file."
            yield Section("By epoch", chart=chart, notes=[note], name="plot")


class _Models(Run):
    """The steps of each model: its samples, vectors and map, its training and test."""

    def __init__(self, run: Path, config: AdversarialTaggingConfig):
        super().__init__(run, config)
        self.maps: dict[str, Path] = {}  # by target

    def sample(self, lang: str, split: str, count: int, name: str = "") -> Path:
        """Annotated sentences, drawn at random."""
        given, name = self.options.file(split, lang), name or split
        output = self.folder / "data" / f"{name}.{lang}.conll"
        step = Step(
            f"{name}-{lang}",
            call=functools.partial(sample_items, given, output, count, self.options.columns),
            settings={"count": count, "columns": self.options.columns},
            inputs=[given],
            outputs=[output],
        )
        return self.add(step)

    def text(self, lang: str) -> tuple[Path, Path]:
        """The target's text to train on, and what is held out."""
        given = self.options.file("unlabelled", lang)
        outputs = [self.folder / "data" / f"{name}.{lang}.txt" for name in ("text", "held-out")]
        step = Step(
            f"text-{lang}",
            call=functools.partial(split_text, given, *outputs, self.options.held_out),
            settings={"held_out": self.options.held_out},
            inputs=[given],
            outputs=outputs,
        )
        self.add(step)
        return outputs[0], outputs[1]

    def vectors(self, lang: str) -> Path:
        """The word vectors of a language, ready or trained."""
        config = self.options
        if config.vectors:
            return dict(parse_files("--vectors", ",".join(config.vectors)))[lang]
        given = {
            code: [Path(pattern.replace("{lang}", code)) for pattern in config.text_patterns]
            for code in config.language_list
        }
        data = self.folder / "data" / "words"
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
        output = self.folder / "vectors" / f"{lang}.safetensors"
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
        config = self.options
        moving, fixed = self.vectors(config.source), self.vectors(target)
        output = self.folder / "vectors" / f"{config.source}-{target}.safetensors"
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

        config, run, source = self.options, self.folder, self.options.source
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
        config, source = self.options, self.options.source
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


def _notes(rows: Sequence[Row], config: AdversarialTaggingConfig, metric: str) -> list[str]:
    few = bool(select(rows, {"row": "5"}))
    by_few = f" (row 5: by {config.few} of the target's)" if few else ""
    notes = [
        f"{metric} in percent, mean ± standard deviation over seeds {config.seeds}; "
        f"{config.sentences:,} annotated training sentences, {config.epochs} epochs, of which the "
        f"best by {config.valid_sentences:,} dev sentences of the language trained on{by_few}.",
        "D is the accuracy of the model's own discriminator, fresh classifier that of a logistic "
        "regression on the mean of the shared states; both on held-out sentences, the mean over "
        "targets, chance 50.",
    ]
    means = figures(select(rows, {"measure": MEAN}), "row")
    for better, worse in _COMPARED:
        if {(better,), (worse,)} <= means.keys():
            said = in_words(paired_difference(means[better,], means[worse,]))
            notes.append(f"Row {better} less row {worse}, {MEAN}: {said}.")
    for row in select(rows, {"task": "map"}):
        state = f"failed: {row['failure']}" if "failure" in row else "better than chance"
        notes.append(
            f"Map {config.source} to {row['target']}, {config.map}: criterion {row['value']:.3f}, "
            f"chance {row['chance']:.3f}; {state}."
        )
    return [*notes, f"{ROWS['5'].title.capitalize()}: {config.few}."] if few else notes


AdversarialTagging.run_type = _Models
