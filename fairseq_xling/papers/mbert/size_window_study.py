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
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairseq_xling.core.errors import UserError
from fairseq_xling.core.files import read_json
from fairseq_xling.papers.mbert.size_window_config import PRESETS, SizeWindowConfig
from fairseq_xling.results.page import Measured, seeds_in_words
from fairseq_xling.results.report import Section
from fairseq_xling.results.result import KINDS
from fairseq_xling.runs.corpus_steps import check_vocabulary
from fairseq_xling.runs.options import split_words
from fairseq_xling.runs.step import Step
from fairseq_xling.studies.ablations import STUDIES
from fairseq_xling.studies.encoder_training import EncoderPlan, check_every, check_text
from fairseq_xling.studies.gold_tasks import GoldTask, transfer_mean
from fairseq_xling.studies.study import ONE_FIGURE, Cell, Study, Table, tabled
from fairseq_xling.studies.task_options import check_tasks

if TYPE_CHECKING:
    import pandas

WORDS = ("word_mrr", "word_p1", "word_layer")  # measures of the dictionary's words
MRR = "MRR"


@KINDS.register("size-window")
@STUDIES.register("size-window")
class SizeWindow(Study):
    """GloVe, Word2Vec and a masked LM on texts of several sizes, cut into long or short pieces: the
    table, and dots of MRR, a row for each model, size and window."""

    name, paper, config, presets = "size-window", "mbert", SizeWindowConfig, PRESETS
    help = "size of the text and length of its segments, for GloVe, Word2Vec and a masked LM"
    title = "Size of the text and length of its segments"
    source = "Liu et al. (2020), 3.2"
    lead = "Vectors and encoders trained on more or less text, in segments of two lengths."
    spec_rows = ("E11",)
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

    def plan(self, run: Path, config: SizeWindowConfig) -> tuple[list[Step], list[Cell]]:
        """One vocabulary for all, slices for each size and window, models."""
        from fairseq_xling.papers.mbert.size_window_models import MODELS, Place, evaluate_encoder

        plan, languages = EncoderPlan(run, config), config.language_list
        full = plan.prepare("prepare", run / "data" / "full", languages, config.vocab)
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
        return plan.done()

    def read(self, cell: Cell) -> Iterator[Mapping[str, Any]]:
        target = cell.about["target"]
        if "task" in cell.about:
            learnt = cell.files.get("transfer")
            yield {"value": transfer_mean(learnt, target) if learnt else None}
            return
        (found,) = read_json(cell.files["words"])["results"]
        scores = found["measures"]["words"]["scores"][target]
        for name in WORDS:
            yield {"measure": name, "value": scores.get(name)}

    def sections(self, frame: "pandas.DataFrame", record: Mapping[str, Any]) -> Iterator[Section]:
        from fairseq_xling.results.charts import dots

        config = record["config"]
        yield tabled("Table", table(frame), *_notes(frame, config))
        facts = [f"Languages {config['languages']}.", seeds_in_words(config["seeds"], "dots")]
        figure = functools.partial(dots, _dotted(frame), MRR, title="")
        yield Section("Single seeds", figure=figure, notes=facts, name="plot")

    def csv(self, frame: "pandas.DataFrame", record: Mapping[str, Any]) -> Mapping[str, Table]:
        """The columns are in the order of their names."""
        from fairseq_xling.results.frame import spread

        keys = {"model": "row", "sentences": "sentences", "window": "window", "seed": "seed"}
        header, rows = spread(frame, {**keys, "language": "target"})
        places = sorted(range(len(header)), key=list(header).__getitem__)
        return {"table": ([header[n] for n in places], [[row[n] for n in places] for row in rows])}

    def measured(self, frame: "pandas.DataFrame", table: Section) -> Iterator[Measured]:
        for place, title in enumerate(table.header):
            for row in table.rows if title.startswith("drop") else ():
                if (lost := row[place]) is not None:
                    what = f"{title} with the shorter window, {_name(*row[:2])}"
                    yield Measured("E11", what, lost.mean)


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


def table(frame: "pandas.DataFrame") -> Table:
    """A row for each model and size, means over the target languages, and what is lost.

    A model that the study did not train stands under the longest window, without a drop.
    """
    from fairseq_xling.results.frame import figures, make_frame, pivot

    shown = _shown(frame)
    windows = sorted(set(shown["window"]), reverse=True)
    key = ["row", "sentences", "title"]
    found = figures(shown, *key, "window")
    drops = []
    for of in dict.fromkeys(shown[key].itertuples(index=False, name=None)):
        long, short = (found.get((*of, window)) for window in (windows[0], windows[-1]))
        lost = drop(statistics.fmean(long), statistics.fmean(short)) if long and short else math.nan
        value = None if math.isnan(lost) else 100 * lost
        named = {"row": of[0], "sentences": of[1], "column": _drop_title(of[2]), "value": value}
        drops.append(named)
    columns = [f"{t}, window {w}" for t, w in zip(shown["title"], shown["window"], strict=True)]
    both = [*shown.assign(column=columns).to_dict("records"), *drops]
    order, digits = [], {}
    for title in dict.fromkeys(shown["title"]):
        own, lost_title = [f"{title}, window {window}" for window in windows], _drop_title(title)
        order += [*own, lost_title]
        digits |= {**dict.fromkeys(own, 3 if title == MRR else 1), lost_title: 1}
    rows = {"model": "row", "sentences": "sentences"}
    signed = [name for name in order if name.startswith("drop")]
    return pivot(make_frame(both), rows, "column", order=order, digits=digits, signed=signed)


def _shown(frame: "pandas.DataFrame") -> "pandas.DataFrame":
    """What the table shows, with the ``title`` of each measure, by model and size."""
    frame = frame[(frame["measure"] == WORDS[0]) | frame["task"].notna()]
    longest = max(window for window in frame["window"] if window is not None)
    models = list(dict.fromkeys(frame["row"]))
    places = sorted(
        range(len(frame)),
        key=lambda n: (models.index(frame["row"].iat[n]), frame["sentences"].iat[n] or 0),
    )
    titles = [MRR if task is None else f"{task} (%)" for task in frame["task"]]
    windows = [longest if window is None else window for window in frame["window"]]
    return frame.assign(title=titles, window=windows).iloc[places]


def _dotted(frame: "pandas.DataFrame") -> "pandas.DataFrame":
    """The MRR of each seed; a name for each model, size and window, the longest first."""
    own = _shown(frame)
    own = own[own["title"] == MRR]
    trained = zip(own["row"], own["sentences"], own["window"], strict=True)
    names = [_name(m, s) if s is None else f"{_name(m, s)}, window {w}" for m, s, w in trained]
    return own.assign(row=names)


def drop(long: float, short: float) -> float:
    """The share that is lost with the shorter window; nan for 0/0.

    >>> drop(0.5, 0.4), drop(0.0, 0.1)
    (0.19999999999999996, nan)
    """
    return (long - short) / long if long else math.nan


def _drop_title(title: str) -> str:
    return "drop (%)" if title == MRR else f"drop of {title}"


def _name(model: str, sentences: int | None) -> str:
    return model if sentences is None else f"{model}, {sentences:,}"


def _notes(frame: "pandas.DataFrame", config: Mapping[str, Any]) -> list[str]:
    notes = [
        "MRR of the dictionary's translations (`fairseq-xling eval --measure words`), the mean "
        "over the target languages; for the masked LM at its best layer for each language. "
        "Vectors have one layer.",
        "Every window of a size has the same tokens in the same order. Words have their "
        "contexts in the same text for every model, in segments of the model's own window.",
        "Drop: (longest - shortest) / longest window, of the means.",
    ]
    if config.get("equal") == "passes":
        notes.append("Masked LMs of every size read their text equally often.")
    if frame["task"].notna().any():
        notes.append(
            "Tasks: models learn in the first language and are tested in the targets; the mean "
            "over these. Encoders are fine-tuned (`fairseq-xling eval transfer`); vectors stay as "
            "they are, and a small network reads them (`--static-classifier`)."
        )
    if frame["sentences"].isna().any():
        notes.append(
            "A model without a number of sentences was trained elsewhere: it is only evaluated, "
            "with its own vocabulary and with contexts in its own training text."
        )
    return notes
