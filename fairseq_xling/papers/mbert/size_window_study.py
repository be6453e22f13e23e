"""The data-size and window study: models x sizes of text x windows.

Liu et al. 2020, "A Study of Cross-Lingual Ability and Language-specific Information in Multilingual
BERT", section 3.2. Figures are the MRR of translations and, for fine-tuned models, those of
zero-shot transfer; with the shorter window some of it is lost:

    drop = (figure_long - figure_short) / figure_long
"""

import functools
import itertools
import math
import statistics
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from fairseq_xling.core.errors import UserError
from fairseq_xling.papers.mbert.size_window_config import PRESETS, SizeWindowConfig
from fairseq_xling.reports.pivot import Table
from fairseq_xling.reports.record import Chart, Section, read_record
from fairseq_xling.reports.rows import GIVEN, Row, distinct, figures, select
from fairseq_xling.studies.ablations import STUDIES
from fairseq_xling.studies.corpus_steps import check_vocabulary
from fairseq_xling.studies.encoder_training import EncoderRun, check_every, check_text
from fairseq_xling.studies.gold_tasks import GoldTask, transfer_mean
from fairseq_xling.studies.task_options import check_tasks
from fairseq_xling.workflow.options import split_words
from fairseq_xling.workflow.recipe import ONE_FIGURE, Cell, Study
from fairseq_xling.workflow.step import Step

# Measures of the dictionary's words, at the best layer: that of the results, and its column.
WORDS = {
    "word_mrr": ("MRR", "value"),
    "word_p1": ("P@1", "value"),
    "word_layer": ("MRR", "layer"),
}
MRR = "MRR"
_KEY = ("row", "sentences", "task")  # of a line's figures


@STUDIES.register("size-window")
class SizeWindow(Study):
    """GloVe, Word2Vec and a masked LM on texts of several sizes, cut into long or short pieces: the
    table, and dots of MRR, a row for each model, size and window."""

    name, paper, options, presets = "size-window", "mbert", SizeWindowConfig, PRESETS
    run_type = EncoderRun
    help = "size of the text and length of its segments, for GloVe, Word2Vec and a masked LM"
    title = "Size of the text and length of its segments"
    source = "Liu et al. (2020), 3.2"
    lead = "Vectors and encoders trained on more or less text, in segments of two lengths."
    files = ONE_FIGURE

    def check(self, config: SizeWindowConfig) -> SizeWindowConfig:
        from fairseq_xling.analysis.dictionary import dictionary_path, read_dictionary
        from fairseq_xling.data.folder import DataFolder
        from fairseq_xling.papers.mbert.size_window_models import MODELS

        check_text(config, "mono")
        for name in config.model_list:
            MODELS.check(name)
        if config.vocab not in ("joint", "union"):
            raise UserError(f"`--vocab` must be joint or union, got {config.vocab!r}")
        if not Path(config.dictionary_path).exists():
            raise UserError(f"{config.dictionary_path}: no such dictionary (`--dictionary`)")
        source, *targets = config.language_list
        for target in targets:
            read_dictionary(dictionary_path(config.dictionary_path, source, target))
        check_vocabulary(config.vocab_type, config.segment, config.language_list)
        split_words("--train-args", config.train_args)
        check_tasks(config, Path(config.data_text), config.language_list)
        models = [MODELS[name] for name in config.model_list]
        for name, task in config.task_table.items():
            if not config.ready and not any(model.learns(task) for model in models):
                able = " or ".join(other for other in MODELS if MODELS[other].learns(task))
                raise UserError(
                    f"`--tasks` {name} needs the model {able}, got `--models` {config.models}"
                )
        if len(config.window_list) < 2:
            raise UserError(f"`--windows` must name at least two, got {config.windows!r}")
        if config.max_tokens < (longest := max(config.window_list)) + 2:
            raise UserError(
                "`--max-tokens` must fit a segment and two symbols, got "
                f"{config.max_tokens} with a window of {longest}"
            )
        check_every(config)
        for ready in config.ready_list:
            for seed in config.seed_list:
                _, checkpoint, data = ready.of_seed(seed)
                if not checkpoint.is_file():
                    raise UserError(f"`--ready` {ready.name}: {checkpoint}: no such file")
                known = DataFolder(data).languages
                for lang in config.language_list:
                    if lang not in known:
                        raise UserError(
                            f"`--ready` {ready.name}: {data} has no language {lang!r}; it has "
                            f"{', '.join(known)}"
                        )
        _ = config.seed_list, config.size_list  # an error ends here
        return config

    def plan(self, plan: EncoderRun, config: SizeWindowConfig) -> None:
        """One vocabulary for all, slices for each size and window, models."""
        from fairseq_xling.papers.mbert.size_window_models import MODELS, Place, evaluate_encoder

        run, languages = plan.folder, config.language_list
        full = plan.prepare("prepare", "data/full", languages, config.vocab)
        seen = config.contexts or min(config.size_list)
        cut = {
            (size, window): plan.add(_slice_step(run, full, size, window))
            for size in dict.fromkeys([seen, *config.size_list])
            for window in config.window_list
        }

        def leave(place: Place, learnt: Callable[[GoldTask], bool], **about: Any) -> None:
            for target in languages[1:]:
                own = {"source": languages[0], **about, "seed": place.seed, "target": target}
                plan.cells.append(Cell(own, {"words": place.result}))
                for name, task in config.task_table.items():
                    files = {"transfer": place.task(name)} if learnt(task) else {}
                    what = {"measure": name, "task": task.title, "unit": "%"}
                    plan.cells.append(Cell({**own, **what}, files))

        for size, window, name, seed in itertools.product(
            config.size_list, config.window_list, config.model_list, config.seed_list
        ):
            data, model = (cut[size, window], cut[seen, window]), MODELS[name]
            place = Place(
                f"{name}-{size}-{window}-{seed}", run, *data, seed, config.updates_of(size)
            )
            model().add(plan, place)
            leave(place, model.learns, row=model.title, sentences=size, window=window)
        for ready, seed in itertools.product(config.ready_list, config.seed_list):
            # One file for all seeds is evaluated once.
            name, checkpoint, data = ready.of_seed(seed)
            place = Place(name, run, data, data, seed)
            evaluate_encoder(plan, place, checkpoint, checkpoint)
            leave(place, lambda _: True, row=ready.name, sentences=None, window=None)

    def read(self, cell: Cell) -> Iterator[Row]:
        target = cell.about["target"]
        if "task" in cell.about:
            if learnt := cell.files.get("transfer"):
                yield {"value": transfer_mean(learnt, target)}
            return
        best = {"task": "words", "target": target, "best": 1}
        found = {row["measure"]: row for row in select(read_record(cell.files["words"]).rows, best)}
        for name, (measure, column) in WORDS.items():
            yield {"measure": name, "value": found[measure][column]}

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
        values = figures(select(found, {"heading": GIVEN, "window": GIVEN}), *_KEY, "window")
        for *key, task in dict.fromkeys(key[:-1] for key in values):
            long, short = (values.get((*key, task, window)) for window in (windows[0], windows[-1]))
            lost = drop(statistics.fmean(long), statistics.fmean(short)) if long and short else None
            if lost is not None and not math.isnan(lost):
                about = {name: rows[0].get(name) for name in ("paper", "study", "source")}
                about |= {"row": key[0], "sentences": key[1], "task": task, "unit": "%"}
                title = _drop_title(_title(task))
                found.append({**about, "measure": title, "heading": title, "value": 100 * lost})
        return [{name: x for name, x in row.items() if x is not None} for row in found]

    def sections(self, rows: Sequence[Row], config: SizeWindowConfig) -> Iterator[Section]:
        titles = list(dict.fromkeys(_title(row.get("task")) for row in rows))
        drops = {title: _drop_title(title) for title in titles}
        of = {title: [f"{title}, window {window}" for window in _windows(rows)] for title in titles}
        table = Table(
            {"model": "row", "sentences": "sentences"},
            "heading",
            {"heading": GIVEN},
            order=[heading for title in titles for heading in (*of[title], drops[title])],
            digits={**dict.fromkeys(of[MRR], 3), "*": 1},
            signed=list(drops.values()),
        )
        yield Section("Table", table, notes=_notes(rows, config), name="table")
        chart = Chart("dots", {"measure": "word_mrr"}, row="model", ylabel=MRR)
        facts = [f"Languages {config.languages}."]
        yield Section("Single seeds", chart=chart, notes=facts, name="plot")


def _slice_step(run: Path, full: Path, size: int, window: int) -> Step:
    """The first sentences of the data folder ``full``, cut into segments."""
    slices = run / "data" / f"size{size}-window{window}"
    return Step(
        f"slice-{size}-{window}",
        call=functools.partial(_slice, full, slices, size, window),
        settings={"size": size, "window": window},
        inputs=[full],
        outputs=[slices],
    )


def _slice(full: Path, slices: Path, size: int, window: int) -> None:
    from fairseq_xling.analysis.slices import write_slices
    from fairseq_xling.data.folder import DataFolder

    write_slices(DataFolder(full), slices, size, window)


def _windows(rows: Sequence[Row]) -> list[int]:
    """Longest first."""
    return sorted(distinct(select(rows, {"window": GIVEN}), "window"), reverse=True)


def drop(long: float, short: float) -> float:
    """The share that is lost with the shorter window; nan for 0/0.

    >>> drop(0.5, 0.4), drop(0.0, 0.1)
    (0.19999999999999996, nan)
    """
    return (long - short) / long if long else math.nan


def _title(task: str | None) -> str:
    return MRR if task is None else f"{task} (%)"


def _drop_title(title: str) -> str:
    return "drop (%)" if title == MRR else f"drop of {title}"


def _notes(rows: Sequence[Row], config: SizeWindowConfig) -> list[str]:
    notes = [
        "MRR of the dictionary's translations (`fairseq-xling eval --measure words`), the mean "
        "over the target languages; for the masked LM at its best layer for each language. "
        "Vectors have one layer.",
        "Every window of a size has the same tokens in the same order. Words have their "
        "contexts in the same text for every model, in segments of the model's own window.",
        "Drop: (longest - shortest) / longest window, of the means.",
    ]
    if config.equal == "passes":
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
