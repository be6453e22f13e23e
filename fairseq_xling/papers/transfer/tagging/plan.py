"""The study of adversarial tagging: six rows of supervision, each target language, each seed.

A tagger is trained on one language and tested on others. Files of a target's annotation are inputs
of rows 5 and 6 and of the tests alone.
"""

import argparse
import dataclasses
import functools
from pathlib import Path

import numpy as np

from fairseq_xling import USER_DIR
from fairseq_xling.errors import UserError
from fairseq_xling.files import atomic_write
from fairseq_xling.papers.transfer.tagging.config import (
    AdversarialTaggingConfig,
    TaggingRow,
    check_config,
)
from fairseq_xling.papers.transfer.tagging.result import FILES, write_tagging
from fairseq_xling.papers.transfer.tagging.test import TaggingModel, measure
from fairseq_xling.precision import device_options
from fairseq_xling.runs.corpus_steps import check_vocabulary, prepare_step, segment_options
from fairseq_xling.runs.launcher import run_steps
from fairseq_xling.runs.options import load_config, split_words
from fairseq_xling.runs.settled import settle_config
from fairseq_xling.runs.step import Step
from fairseq_xling.runs.training_command import resumable_training
from fairseq_xling.tasks.formats.conll import Conll
from fairseq_xling.tasks.items import parse_columns, parse_files
from fairseq_xling.tasks.tagging import read_text

_CURVES = ("2", "4")


def run_adversarial_tagging(args: argparse.Namespace) -> None:
    """The verb ``ablate adversarial-tagging``."""
    config, run = load_config(AdversarialTaggingConfig, args), Path(args.output)
    check_config(config)
    check_vocabulary("word", config.segment, config.language_list)
    config, settled = settle_config(run, config)
    run_steps(run, study_steps(run, config), config.jobs, args, settled)


def study_steps(run: Path, config: AdversarialTaggingConfig) -> list[Step]:
    """All steps of the study; all files are in ``run``."""
    book = _Book(run, config)
    for target in config.targets:
        for row in config.row_list:
            for seed in config.seed_list:
                book.model(row, target, seed)
    write = functools.partial(write_tagging, run, config, book.cells, book.maps)
    book.add(
        Step(
            "table",
            call=lambda: write(list(book.steps.values())),
            settings={"config": dataclasses.asdict(config), "kind": "adversarial-tagging"},
            inputs=[*(cell.result for cell in book.cells), *map(_report, book.maps.values())],
            outputs=[run / name for name in FILES],
        )
    )
    return list(book.steps.values())


class _Book:
    """The steps so far, by name; each is added once."""

    def __init__(self, run: Path, config: AdversarialTaggingConfig):
        self.run, self.config = run, config
        self.steps: dict[str, Step] = {}
        self.cells: list[TaggingModel] = []
        self.maps: dict[str, Path] = {}  # by target

    def add(self, step: Step) -> list[Path]:
        """The outputs of a step, which is added unless one of its name is there."""
        return list(self.steps.setdefault(step.name, step).outputs)

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
        return self.add(step)[0]

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
        train, held_out = self.add(step)
        return train, held_out

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
        return self.add(step)[0]

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
        return self.add(step)[0]

    def model(self, row: TaggingRow, target: str, seed: int) -> None:
        """Training and test of one model."""
        config, run, source = self.config, self.run, self.config.source
        name = f"{row.code}-{target}-{seed}"
        keep = config.curves and seed == config.seed_list[0] and row.code in _CURVES
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
        cell = TaggingModel(row.code, target, seed, folder, log, result)
        # What is known of the language is measured on sentences that nothing was trained on.
        held_out = {}
        if len(read) > 1:
            source_dev = self.sample(config.source, "valid", config.valid_sentences)
            held_out = {config.source: source_dev, target: self.text(target)[1]}
        tests = {lang: config.file("test", lang) for lang in read}
        self.add(
            Step(
                f"test-{name}",
                call=functools.partial(
                    measure, cell, tests, held_out, predictions, epochs, config.device
                ),
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
    total = sum(1 for _ in read_text(given))
    if total <= count:
        raise UserError(
            f"{given}: must have more than {count} sentences (`--held-out`), got {total}"
        )
    with atomic_write(train, "w") as rest, atomic_write(held_out, "w") as last:
        for number, words in enumerate(read_text(given)):
            (last if number >= total - count else rest).write(" ".join(words) + "\n")
