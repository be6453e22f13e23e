"""The models of the data-size and window study: one class each, found by name.

A model is trained on a folder of slices and writes a file like that of `fairseq-xling eval`, with
the measure ``words``. To add one, add a class.
"""

import argparse
import dataclasses
import functools
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from fairseq_xling.analysis.glove import GloveOptions, cooccurrences, train_glove
from fairseq_xling.analysis.static_encoder import StaticEncoder
from fairseq_xling.analysis.subject import Subject
from fairseq_xling.core.progress import progress
from fairseq_xling.core.registry import Registry
from fairseq_xling.data.folder import DataFolder, read_dictionary
from fairseq_xling.mapping.vectors_file import (
    Vectors,
    count_ids,
    fill_missing,
    read_vectors,
    write_vectors,
)
from fairseq_xling.papers.mbert.static_classifier import classifies, classify
from fairseq_xling.reports.record import Record, made, write_record
from fairseq_xling.studies.corpus_steps import eval_command
from fairseq_xling.studies.encoder_training import EncoderRun
from fairseq_xling.studies.gold_tasks import GoldTask
from fairseq_xling.studies.training_command import Training
from fairseq_xling.text.encoder import TextEncoder
from fairseq_xling.verbs.measures import MEASURES
from fairseq_xling.workflow.options import split_words
from fairseq_xling.workflow.step import Step

if TYPE_CHECKING:
    from fairseq_xling.papers.mbert.size_window_config import SizeWindowConfig


@dataclasses.dataclass(frozen=True)
class Place:
    """The paths of one trained model.

    Attributes:
        name: of its steps and files; run: the study's folder.
        slices: the data folder that it is trained on.
        contexts: the one whose training text has the contexts of the dictionary's words, in
            segments of the same window.
        seed: of its training; updates: optimiser steps, where it is an encoder.
    """

    name: str
    run: Path
    slices: Path
    contexts: Path
    seed: int
    updates: int = 0

    @property
    def result(self) -> Path:
        """The file in the format of `fairseq-xling eval`."""
        return self.run / "results" / f"{self.name}.json"

    def task(self, name: str) -> Path:
        """The folder of its `fairseq-xling eval transfer` on a task."""
        return self.run / "tasks" / f"{name}-{self.name}"


class Model:
    """One kind of row.

    Attributes:
        title: its name in tables.
    """

    title: str

    @staticmethod
    def learns(task: GoldTask) -> bool:
        """Whether it is trained on such a task."""
        return True

    def add(self, plan: EncoderRun, place: Place) -> None:
        """Add training and evaluation, also on the tasks that it learns."""
        raise NotImplementedError(type(self).__name__)


MODELS: Registry[type[Model]] = Registry("`--models`")


class _Static(Model):
    """Vectors of one table for all languages, trained on the text of all languages together."""

    learns = staticmethod(classifies)

    def add(self, plan: EncoderRun, place: Place) -> None:
        config, vectors = plan.options, place.run / "models" / f"{place.name}.safetensors"
        text, languages = Path(config.data_text), config.language_list
        plan.add(self.training(config, place, vectors))
        given = (place.contexts, vectors, languages, config.dictionary_path, place.result)
        plan.add(
            Step(
                f"eval-{place.name}",
                call=functools.partial(evaluate_vectors, *given),
                settings={"languages": languages},
                inputs=[place.contexts, vectors, Path(config.dictionary_path)],
                outputs=[place.result],
            )
        )
        for name, task in config.task_table.items():
            if not self.learns(task):
                continue
            given = (vectors, place.slices, task, text, languages, place.task(name))
            files = [task.file(text, split, languages[0]) for split in ("train", "valid")]
            plan.add(
                Step(
                    f"{name}-{place.name}",
                    call=functools.partial(classify, *given, config.static_classifier, place.seed),
                    settings={
                        "network": config.static_classifier,
                        "languages": languages,
                        "task": [task.head, task.columns],  # its files are inputs
                    },
                    inputs=[vectors, place.slices, *files],
                    unread=[task.file(text, "test", lang) for lang in languages],
                    outputs=[place.task(name)],
                )
            )

    def training(self, config: "SizeWindowConfig", place: Place, vectors: Path) -> Step:
        """Writes the file of vectors."""
        raise NotImplementedError(type(self).__name__)


@MODELS.register("word2vec")
class Word2Vec(_Static):
    """Skip-gram."""

    title = "Word2Vec"

    def training(self, config: "SizeWindowConfig", place: Place, vectors: Path) -> Step:
        command = [
            *("fairseq-xling", "embed", "train", str(place.slices), "--output", str(vectors)),
            *("--dim", str(config.dim), "--epochs", str(config.vector_epochs)),
            *("--window", str(config.word2vec_window), "--seed", str(place.seed)),
        ]
        return Step(
            f"train-{place.name}",
            commands=[command],
            inputs=[place.slices],
            outputs=[vectors, vectors.with_name(f"{vectors.name}.json")],
        )


@MODELS.register("glove")
class Glove(_Static):
    """GloVe (Pennington et al., 2014)."""

    title = "GloVe"

    def training(self, config: "SizeWindowConfig", place: Place, vectors: Path) -> Step:
        options = GloveOptions(
            config.dim, config.glove_window, config.vector_epochs, seed=place.seed
        )
        return Step(
            f"train-{place.name}",
            call=functools.partial(_train_glove, place.slices, vectors, options),
            settings=dataclasses.asdict(options),
            inputs=[place.slices],
            outputs=[vectors],
        )


@MODELS.register("encoder")
class Encoder(Model):
    """A masked language model of all languages; it reads a segment at a time."""

    title = "masked LM"

    def add(self, plan: EncoderRun, place: Place) -> None:
        config = plan.options
        # One table of positions for all windows: the models have the same parameters.
        extra = ("--encoder-layers", str(config.layers), "--encoder-embed-dim", str(config.dim))
        extra += ("--encoder-ffn-embed-dim", str(4 * config.dim), "--no-epoch-checkpoints")
        extra += ("--max-positions", str(max(config.window_list) + 2))
        training = Training(
            config.arch,
            place.updates,
            config.every,
            config.max_tokens,
            config.lr,
            config.warmup,
            (*extra, *split_words("--train-args", config.train_args)),
        )
        own = (place.slices, place.seed, config.language_list[0])
        folder = plan.train(place.name, *own, training=training)
        evaluate_encoder(plan, place, folder / "checkpoint_best.pt", folder)


def evaluate_encoder(plan: EncoderRun, place: Place, checkpoint: Path, made: Path) -> None:
    """Add the measure ``words`` of an encoder, in the words' contexts; and each task, trained in
    the first language and tested in all. ``made`` is what a step made, or the user gave."""
    config, (source, *targets) = plan.options, plan.options.language_list
    command = eval_command(
        [checkpoint],
        place.contexts,
        source,
        targets,
        *("--measure", "words", "--dictionary", config.dictionary_path),
        *("--words-limit", "0", "--device", config.device, "--output", place.result),
    )
    inputs = [place.contexts, made, Path(config.dictionary_path)]
    plan.add(Step(f"eval-{place.name}", [command], inputs=inputs, outputs=[place.result]))
    options = split_words("--task-args", config.task_args)
    encoders = {"model": (checkpoint, place.slices)}
    for name, task in config.task_table.items():
        plan.transfer(f"{name}-{place.name}", task, config.language_list, encoders, options)


def _train_glove(slices: Path, output: Path, options: GloveOptions) -> None:
    folder = DataFolder(slices)
    files = [folder.mono("train", lang) for lang in folder.languages]
    lang = folder.languages[0]
    size = folder.vocab_sizes[lang]
    counts = cooccurrences(files, size, options.window)
    with progress(options.epochs, "GloVe", "epochs") as bar:

        def passed(loss: float) -> None:
            bar.set_postfix_str(f"loss {loss:.4f}", refresh=False)
            bar.update()

        vectors = train_glove(counts, options, passed)
    seen = np.asarray(counts.sum(1)).ravel() > 0
    table = fill_missing(vectors, seen, options.seed)
    digests = {lang: folder.dictionary_digest(lang) for lang in folder.languages}
    symbols = read_dictionary(folder.dictionary_path(lang))
    settings = {"method": "GloVe", **dataclasses.asdict(options)}
    write_vectors(output, Vectors(table, count_ids(files, size), symbols, digests, settings))


def evaluate_vectors(
    data: Path,
    vectors: Path,
    languages: Sequence[str],
    dictionary: str,
    output: Path,
) -> None:
    """The measure ``words`` of a vectors file: the same words and pairs as for an encoder."""
    folder, table = DataFolder(data), read_vectors(vectors).vectors
    source, *targets = languages
    encoder = StaticEncoder(table, folder.languages)
    subject = Subject(
        encoder, folder, source, targets, lambda lang: TextEncoder.load(folder.path, lang)
    )
    args = argparse.Namespace(
        dictionary=dictionary, words_split="train", words_limit=0, neighbours=0
    )
    found = MEASURES["words"]().run(subject, args)
    about = {"study": "eval", "task": "words", "row": vectors.name}
    record = Record(
        found.title, [{**about, **row} for row in found.rows], (found.section("words"),)
    )
    write_record(output, made(record, {"data": folder.path / "meta.json", "vectors": vectors}))
