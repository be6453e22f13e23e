"""Word vectors and encoders on texts of several sizes, cut into long or short segments.

Liu et al. 2020, "A Study of Cross-Lingual Ability and Language-specific Information in Multilingual
BERT", section 3.2. Figures are the MRR of translations and, for fine-tuned models, those of
zero-shot transfer; with the shorter window some of it is lost:

    drop = (figure_long - figure_short) / figure_long
"""

import dataclasses
import itertools
import re
import statistics
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from fairseq_xling.analysis.dictionary import dictionary_path, read_dictionary
from fairseq_xling.core.errors import UserError
from fairseq_xling.core.options import like, option, reads
from fairseq_xling.core.registry import unknown_name
from fairseq_xling.data.folder import DataFolder
from fairseq_xling.reports.pivot import Table
from fairseq_xling.reports.record import Chart, Section, read_record
from fairseq_xling.reports.rows import GIVEN, Row, distinct, figures, select
from fairseq_xling.studies.ablations import STUDIES
from fairseq_xling.studies.corpus_steps import check_vocabulary
from fairseq_xling.studies.encoder_training import (
    EncoderRun,
    EncoderTraining,
    PreparedText,
    StudyText,
    check_every,
    check_text,
)
from fairseq_xling.studies.gold_tasks import GoldTask, transfer_mean
from fairseq_xling.studies.ready_encoders import Ready
from fairseq_xling.studies.task_options import TaskOptions, check_tasks
from fairseq_xling.studies.training_command import Training
from fairseq_xling.workflow.options import (
    WithLanguages,
    WithSeeds,
    jobs_option,
    parse_numbers,
    seeds_option,
    split_words,
)
from fairseq_xling.workflow.recipe import ONE_FIGURE, Cell, Study, words
from fairseq_xling.workflow.settled import device_option, precision_option

# The paper's reported settings: languages, subwords (mBERT's are 119,547), texts, widths.
PRESETS = {
    "paper": {
        "languages": "en,ar,bg,de,el,es,fr,hi,ru,sw,th,tr,ur,vi,zh",
        "sizes": "200000,1000000",
        "windows": "512,20",
        "tasks": "nli",
        "vocab": "joint",
        "vocab_type": "wordpiece",
        "vocab_size": 119_547,
        "dim": 768,
        "arch": "separable_transformer_base",
        "layers": 12,
        "max_tokens": 8192,
        "lr": 1e-4,
        "device": "cuda",
    }
}


@dataclasses.dataclass(frozen=True)
class Options(StudyText, TaskOptions, WithSeeds, WithLanguages):
    """One sentence of help per field; lists are comma-separated text."""

    languages: str = option("en,de", "the first is compared with each of the others")
    dictionary: str = reads("", "TSV or folder of them (default: that of data-text)")
    models: str = option("glove,word2vec,encoder", "rows: glove, word2vec, encoder")
    sizes: str = option("1000,5000", "numbers of first training sentences of each language")
    windows: str = option("64,8", "lengths of the segments that text is cut into, in tokens")
    seeds: str = seeds_option("1")
    vocab: str = option("union", "joint or union", choices=("joint", "union"))
    vocab_type: str = like(PreparedText, "vocab_type")
    vocab_size: int = like(
        PreparedText,
        "vocab_size",
        help="pieces of the joint vocabulary, or of all languages together",
    )
    segment: str = like(PreparedText, "segment")
    dim: int = option(64, "width of vectors and states", least=1)
    vector_epochs: int = option(10, "passes of Word2Vec and GloVe", least=1)
    word2vec_window: int = option(5, "distance of the farthest neighbour in Word2Vec", least=1)
    glove_window: int = option(10, "distance of the farthest neighbour in GloVe", least=1)
    static_classifier: str = option(
        "means",
        "what reads vectors in a task of pairs of texts: means, of each text's vectors, or esim",
        choices=("means", "esim"),
    )
    arch: str = like(EncoderTraining, "arch")
    layers: int = like(EncoderTraining, "layers", help="depth of the masked LM")
    updates: int = like(
        EncoderTraining, "updates", help="optimiser steps; with --equal passes of the smallest size"
    )
    equal: str = option(
        "updates",
        "what encoders of every size have as many of: updates, or passes over their text",
        choices=("updates", "passes"),
    )
    every: int = like(EncoderTraining, "every")
    max_tokens: int = option(2048, "tokens per step", least=1)
    lr: float = like(EncoderTraining, "lr")
    warmup: int = like(EncoderTraining, "warmup")
    train_args: str = like(EncoderTraining, "train_args")
    contexts: int = option(
        0,
        "sentences of each language used as contexts of the dictionary's words, the same for "
        "every model; 0 is the smallest size",
        least=0,
    )
    ready: tuple = reads(
        (),
        "NAME=CHECKPOINT:DATA, an existing encoder to evaluate, with its data folder; repeatable",
    )
    device: str = device_option()
    precision: str = precision_option()
    jobs: int = jobs_option()

    @property
    def model_list(self) -> list[str]:
        return list(dict.fromkeys(name.strip() for name in self.models.split(",")))

    @property
    def size_list(self) -> list[int]:
        return sorted(parse_numbers("--sizes", self.sizes, int))

    @property
    def window_list(self) -> list[int]:
        """Longest first."""
        return sorted(parse_numbers("--windows", self.windows, int), reverse=True)

    @property
    def ready_list(self) -> list[Ready]:
        """Existing encoders, of names that no model of the study has."""
        found: dict[str, Ready] = {}
        for text in self.ready:
            parts = re.fullmatch(r"([\w.-]+)=([^:]+):(.+)", str(text))
            if not parts or parts[1] in (*found, *self.model_list):
                raise UserError(
                    "`--ready` must be NAME=CHECKPOINT:DATA, each with another name, of letters, "
                    f"digits, '.', '_' and '-', got {text!r}"
                )
            found[parts[1]] = Ready(parts[1], Path(parts[2]), Path(parts[3]))
        return list(found.values())

    @property
    def dictionary_path(self) -> Path:
        """The given dictionary, or the folder of the text."""
        return Path(self.dictionary or Path(self.data_text) / "dictionary")


# Measures of the dictionary's words, at the best layer: that of the results, and its column.
SCORES = {"word_mrr": ("MRR", "value"), "word_p1": ("P@1", "value"), "word_layer": ("MRR", "layer")}
MRR = "MRR"
LAST = "word_mrr of the last layer"  # that no score has chosen
ENCODER = "encoder"
TITLES = {"glove": "GloVe", "word2vec": "Word2Vec", ENCODER: "masked LM"}


@STUDIES.register("size-window")
class SizeWindow(Study):
    """GloVe, Word2Vec and a masked LM on texts of several sizes, cut into long or short pieces: the
    table, and dots of MRR, a row for each model, size and window."""

    name, paper, options, presets = "size-window", "mbert", Options, PRESETS
    run_type = EncoderRun
    help = "size of the text and length of its segments, for GloVe, Word2Vec and a masked LM"
    title = "Size of the text and length of its segments"
    source = "Liu et al. (2020), 3.2"
    lead = "Vectors and encoders trained on more or less text, in segments of two lengths."
    files = ONE_FIGURE

    def check(self, o: Options) -> Options:
        check_text(o, "mono")
        check_vocabulary(o.vocab_type, o.segment, o.language_list)
        check_tasks(o, Path(o.data_text), o.language_list)
        check_every(o)
        for name in set(o.model_list).difference(TITLES):
            raise unknown_name("`--models`", name, list(TITLES))
        source, *targets = o.language_list
        for target in targets:
            read_dictionary(dictionary_path(o.dictionary_path, source, target))
        for name, task in o.task_table.items():
            if not (_on_vectors(task) or ENCODER in o.model_list or o.ready):
                raise UserError(
                    f"`--tasks` {name} needs the model {ENCODER}, got `--models` {o.models}"
                )
        if len(o.window_list) < 2:
            raise UserError(f"`--windows` must name at least two, got {o.windows!r}")
        if o.max_tokens < o.window_list[0] + 2:
            raise UserError(
                "`--max-tokens` must fit a segment and two symbols, got "
                f"{o.max_tokens} with a window of {o.window_list[0]}"
            )
        for ready, seed in itertools.product(o.ready_list, o.seed_list):
            _, checkpoint, data = ready.of_seed(seed)
            if not checkpoint.is_file():
                raise UserError(f"`--ready` {ready.name}: {checkpoint}: no such file")
            if missing := set(o.language_list).difference(known := DataFolder(data).languages):
                raise UserError(
                    f"`--ready` {ready.name}: {data} has no language {min(missing)!r}; it has "
                    f"{', '.join(known)}"
                )
        return o

    def plan(self, run: EncoderRun, o: Options) -> None:
        """One vocabulary for all, slices for each size and window, models."""
        from fairseq_xling.papers.mbert.static_vectors import cut_segments

        full = run.prepare("prepare", "data/full", o.language_list, o.vocab)
        seen = o.contexts or min(o.size_list)  # sentences with contexts of the dictionary's words
        cut = {
            (size, window): run.function(
                f"slice-{size}-{window}",
                cut_segments,
                values={"data": full, "output": "{out}", "size": size, "window": window},
                to=f"data/size{size}-window{window}",
            )
            for size in dict.fromkeys([seen, *o.size_list])
            for window in o.window_list
        }
        source, *targets = o.language_list

        def measure(words: Path, learnt: dict[str, Path], **about: Any) -> None:
            for target in targets:
                own = {"source": source, **about, "target": target}
                run.measured({"words": words}, **own)
                for name, output in learnt.items():
                    what = {"measure": name, "task": o.task_table[name].title, "unit": "%"}
                    run.measured({"transfer": output}, **own, **what)

        for size, window, model, seed in itertools.product(
            o.size_list, o.window_list, o.model_list, o.seed_list
        ):
            name, data = f"{model}-{size}-{window}-{seed}", cut[size, window]
            contexts = cut[seen, window]
            if model == ENCODER:
                best = _train(run, name, data, size, seed) / "checkpoint_best.pt"
                found = _evaluate(run, name, best, data, contexts)
            else:
                vectors = _vectors(run, model, name, data, seed)
                found = _look_up(run, name, vectors, data, contexts, seed)
            measure(*found, row=TITLES[model], sentences=size, window=window, seed=seed)
        for ready, seed in itertools.product(o.ready_list, o.seed_list):
            # One file for all seeds is evaluated once.
            name, best, data = ready.of_seed(seed)
            found = _evaluate(run, name, best, data, data)
            measure(*found, row=ready.name, sentences=None, window=None, seed=seed)

    def read(self, cell: Cell) -> Iterator[Row]:
        target = cell.about["target"]
        if "task" in cell.about:
            yield {"value": transfer_mean(cell.files["transfer"], target)}
            return
        words = select(read_record(cell.files["words"]).rows, {"task": "words", "target": target})
        found = {row["measure"]: row for row in select(words, {"best": 1})}
        for name, (measure, column) in SCORES.items():
            yield {"measure": name, "value": found[measure][column]}
        last = max(select(words, {"measure": MRR}), key=lambda row: row["layer"])
        yield {"measure": LAST, "value": last["value"]}

    def arrange(self, rows: list[Row]) -> list[Row]:
        """By model and size; what is shown has its ``heading`` in the table, and the ``model`` in
        words. Then what is lost with the shorter window, where both are known.

        A model that was not trained here stands under the longest window, without a loss.
        """
        models, windows = distinct(rows, "row"), _windows(rows)
        found = []
        for row in sorted(rows, key=lambda r: (models.index(r["row"]), r.get("sentences", 0))):
            if "task" in row or row["measure"] == "word_mrr":
                window = f"window {row.get('window', windows[0])}"
                words = f"{row['row']}, {row['sentences']:,}, {window}" if "window" in row else ""
                heading = f"{_title(row.get('task'))}, {window}"
                row = {**row, "heading": heading, "model": words or row["row"]}
            found.append(row)
        of = ("row", "sentences", "task")  # of a line's figures
        values = figures(select(found, {"heading": GIVEN, "window": GIVEN}), *of, "window")
        for key in dict.fromkeys(key[:-1] for key in values):
            both = [values.get((*key, window)) for window in (windows[0], windows[-1])]
            if all(both):
                long, short = (statistics.fmean(scores or ()) for scores in both)
                title = _drop(_title(key[-1]))
                about = {name: rows[0].get(name) for name in ("paper", "study", "source")}
                about |= {**dict(zip(of, key, strict=True)), "unit": "%"}
                if long:
                    lost = 100 * ((long - short) / long)
                    found.append({**about, "measure": title, "heading": title, "value": lost})
        return [{name: x for name, x in row.items() if x is not None} for row in found]

    def sections(self, rows: Sequence[Row], o: Options) -> Iterator[Section]:
        titles = list(dict.fromkeys(_title(row.get("task")) for row in rows))
        drops = {title: _drop(title) for title in titles}
        of = {title: [f"{title}, window {window}" for window in _windows(rows)] for title in titles}
        table = Table(
            {"model": "row", "sentences": "sentences"},
            "heading",
            {"heading": GIVEN},
            order=[heading for title in titles for heading in (*of[title], drops[title])],
            digits={**dict.fromkeys(of[MRR], 3), "*": 1},
            signed=list(drops.values()),
        )
        yield Section("Table", table, notes=_notes(rows, o), name="table")
        chart = Chart("dots", {"measure": "word_mrr"}, row="model", ylabel=MRR)
        facts = [f"Languages {o.languages}."]
        yield Section("Single seeds", chart=chart, notes=facts, name="plot")


def _windows(rows: Sequence[Row]) -> list[int]:
    """Longest first."""
    return sorted(distinct(select(rows, {"window": GIVEN}), "window"), reverse=True)


def _title(task: str | None) -> str:
    return MRR if task is None else f"{task} (%)"


def _drop(title: str) -> str:
    return "drop (%)" if title == MRR else f"drop of {title}"


def _notes(rows: Sequence[Row], o: Options) -> list[str]:
    notes = [
        "MRR of the dictionary's translations (`fairseq-xling eval --measure words`), the mean "
        "over the target languages; for the masked LM at its best layer for each language. "
        "Vectors have one layer.",
        "Every window of a size has the same tokens in the same order. Words have their "
        "contexts in the same text for every model, in segments of the model's own window.",
        "Drop: (longest - shortest) / longest window, of the means.",
    ]
    if o.equal == "passes":
        notes.append("Masked LMs of every size read their text equally often.")
    if select(rows, {"task": GIVEN}):
        notes.append(
            "Tasks: models learn in the first language and are tested in the targets; the mean "
            "over these. Encoders are fine-tuned (`fairseq-xling eval transfer`); vectors stay as "
            "they are, and a small network reads them (`--static-classifier`)."
        )
    if select(rows, {"sentences": None}):
        notes.append(
            "A model without a number of sentences was trained elsewhere: it is only evaluated, "
            "with its own vocabulary and with contexts in its own training text."
        )
    return notes


def _train(run: EncoderRun, name: str, data: Path, size: int, seed: int) -> Path:
    """A masked language model of all languages, which reads a segment at a time; its folder."""
    o = run.options
    # One table of positions for all windows: the models have the same parameters.
    extra = words(
        {"--encoder-layers": o.layers, "--encoder-embed-dim": o.dim},
        {"--encoder-ffn-embed-dim": 4 * o.dim, "--no-epoch-checkpoints": True},
        {"--max-positions": o.window_list[0] + 2},
        split_words("--train-args", o.train_args),
    )
    more = size / min(o.size_list) if o.equal == "passes" else 1
    updates = round(more * o.updates / o.every) * o.every
    training = Training(o.arch, updates, o.every, o.max_tokens, o.lr, o.warmup, extra)
    return run.train(name, data, seed, o.language_list[0], training=training)


def _evaluate(
    run: EncoderRun, name: str, best: Path, data: Path, contexts: Path
) -> tuple[Path, dict[str, Path]]:
    """Translations of words by an encoder, and the tasks that it is fine-tuned on, by name."""
    o, (source, *targets) = run.options, run.options.language_list
    found = run(
        f"eval-{name}",
        *("fairseq-xling eval", best, "--data", contexts, "--source", [source]),
        *("--targets", [",".join(targets)], "--measure words --dictionary", o.dictionary_path),
        *("--words-limit 0 --device", [o.device], "--output {out}"),
        to=f"results/{name}.json",
    )
    options, encoder = split_words("--task-args", o.task_args), {"model": (best, data)}
    return found, {
        what: run.transfer(f"{what}-{name}", task, o.language_list, encoder, options)
        for what, task in o.task_table.items()
    }


def _vectors(run: EncoderRun, model: str, name: str, data: Path, seed: int) -> Path:
    """Vectors of one table for all languages, trained on the text of all together."""
    from fairseq_xling.papers.mbert.static_vectors import train_vectors

    o, to = run.options, f"models/{name}.safetensors"
    if model == "glove":
        values = {"data": data, "output": "{out}", "dim": o.dim, "window": o.glove_window}
        values |= {"epochs": o.vector_epochs, "seed": seed}
        return run.function(f"train-{name}", train_vectors, values=values, to=to)
    return run(
        f"train-{name}",
        *("fairseq-xling embed train", data, "--output {out} --dim", o.dim),
        *("--epochs", o.vector_epochs, "--window", o.word2vec_window, "--seed", seed),
        to=to,
        also=[f"{to}.json"],
    )


def _look_up(
    run: EncoderRun, name: str, vectors: Path, data: Path, contexts: Path, seed: int
) -> tuple[Path, dict[str, Path]]:
    """Translations of words by vectors, and the tasks that can be learnt on them, by name."""
    from fairseq_xling.papers.mbert.static_vectors import classify, evaluate_vectors

    o, text, learnt = run.options, Path(run.options.data_text), {}
    values: dict[str, Any] = {"data": contexts, "vectors": vectors, "languages": o.language_list}
    values |= {"dictionary": o.dictionary_path, "output": "{out}"}
    to = f"results/{name}.json"
    found = run.function(f"eval-{name}", evaluate_vectors, values=values, to=to)
    for what, task in o.task_table.items():
        if _on_vectors(task):
            tests = {lang: task.file(text, "test", lang) for lang in o.language_list}
            values = {"vectors": vectors, "data": data, "title": task.title}
            values |= {x: task.file(text, x, o.language_list[0]) for x in ("train", "valid")}
            values |= {"tests": tests, "columns": task.columns, "output": "{out}"}
            values |= {"network": o.static_classifier, "seed": seed}
            given: dict[str, Any] = {"values": values, "unread": [*tests.values()]}
            learnt[what] = run.function(
                f"{what}-{name}", classify, **given, to=f"tasks/{what}-{name}"
            )
    return found, learnt


def _on_vectors(task: GoldTask) -> bool:
    """Whether vectors can be trained on such a task: labels of pairs of texts."""
    return task.head == "classification"
