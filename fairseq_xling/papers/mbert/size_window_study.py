"""The data-size and window study: models x sizes of text x windows.

Liu et al. 2020, "A Study of Cross-Lingual Ability and Language-specific Information in Multilingual
BERT", section 3.2. Figures are the MRR of translations and, for fine-tuned models, those of
zero-shot transfer; with the shorter window some of it is lost:

    drop = (figure_long - figure_short) / figure_long
"""

import argparse
import dataclasses
import functools
import math
import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairseq_xling.errors import UserError
from fairseq_xling.files import read_json
from fairseq_xling.papers.mbert.size_window_config import PRESETS, SizeWindowConfig
from fairseq_xling.results.page import Measured, Page, Result, Table, caption, seeds_in_words
from fairseq_xling.results.report import Section
from fairseq_xling.results.result import KINDS, Kind, write_results
from fairseq_xling.runs.corpus_steps import (
    check_vocabulary,
    prepare_step,
    segment_options,
    text_files,
)
from fairseq_xling.runs.launcher import run_steps
from fairseq_xling.runs.options import load_config, split_words
from fairseq_xling.runs.settled import settle_config
from fairseq_xling.runs.step import Step
from fairseq_xling.studies.encoder_training import check_text
from fairseq_xling.studies.gold_tasks import transfer_mean
from fairseq_xling.studies.task_options import check_tasks

if TYPE_CHECKING:
    import pandas

FILES = ("table.md", "table.csv", "results.json", "plot.svg", "report.html")
SOURCE = "Liu et al. (2020), 3.2"
WORDS = ("word_mrr", "word_p1", "word_layer")  # measures of the dictionary's words
MRR = "MRR"


def run_size_window(args: argparse.Namespace) -> None:
    """The verb ``ablate size-window``."""
    config, run = load_config(SizeWindowConfig, args, PRESETS), Path(args.output)
    check_config(config)
    config, settled = settle_config(run, config)
    run_steps(run, size_window_steps(run, config), config.jobs, args, settled)


def check_config(config: SizeWindowConfig) -> None:
    """Reject settings that cannot work, before anything runs."""
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
    if config.max_tokens < max(config.window_list) + 2:
        raise UserError(
            f"`--max-tokens` must fit a segment and two symbols, got {config.max_tokens} with a "
            f"window of {max(config.window_list)}"
        )
    if config.updates % config.every:
        raise UserError(
            f"`--updates` must be a multiple of `--every`, got {config.updates} and {config.every}"
        )
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


def size_window_steps(run: Path, config: SizeWindowConfig) -> list[Step]:
    """One vocabulary for all, slices for each size and window, models, the table."""
    from fairseq_xling.papers.mbert.size_window_models import MODELS, Place, ready_steps
    from fairseq_xling.text.vocabularies import modes

    text, full = Path(config.data_text), run / "data" / "full"
    share = len(modes[config.vocab]().groups(config.language_list))
    steps = [
        prepare_step(
            "prepare",
            full,
            config.language_list,
            source=["--from", str(text)],
            inputs=text_files(text, config.language_list),
            mode=config.vocab,
            vocab_type=config.vocab_type,
            vocab_size=max(1, config.vocab_size // share),
            options=segment_options(config.segment, config.language_list),
        )
    ]
    cells = []
    seen = config.contexts or min(config.size_list)
    cut: dict[tuple[int, int], Step] = {}
    for size in dict.fromkeys([seen, *config.size_list]):
        for window in config.window_list:
            slices = run / "data" / f"size{size}-window{window}"
            cut[size, window] = Step(
                f"slice-{size}-{window}",
                call=functools.partial(_slice, full, slices, size, window),
                settings={"size": size, "window": window},
                inputs=[full],
                outputs=[slices],
            )
    steps += cut.values()
    for size in config.size_list:
        for window in config.window_list:
            (slices,), (contexts,) = cut[size, window].outputs, cut[seen, window].outputs
            for model in config.model_list:
                for seed in config.seed_list:
                    name = f"{model}-{size}-{window}-{seed}"
                    place = Place(name, run, slices, contexts, seed, config.updates_of(size))
                    steps += MODELS[model]().steps(config, place)
                    learnt = MODELS[model].learns
                    found = {n: place.task(n) for n, t in config.task_table.items() if learnt(t)}
                    title = MODELS[model].title
                    cells.append(WindowModel(model, title, size, window, seed, place.result, found))
    evaluated: set[str] = set()
    for ready in config.ready_list:
        for seed in config.seed_list:
            name, _, data = ready.of_seed(seed)
            place = Place(name, run, data, data, seed)
            if name not in evaluated:  # one file for all seeds is evaluated once
                steps += ready_steps(config, place, ready)
            evaluated.add(name)
            found = {task: place.task(task) for task in config.task_table}
            cells.append(WindowModel(ready.name, ready.name, None, None, seed, place.result, found))
    record = dataclasses.asdict(config)
    steps.append(
        Step(
            "table",
            call=lambda: write_size_window(run, config, cells, steps),
            settings={"config": record, "kind": "size-window"},
            inputs=[path for cell in cells for path in (cell.result, *cell.tasks.values())],
            outputs=[run / name for name in FILES],
        )
    )
    return steps


def _slice(full: Path, slices: Path, size: int, window: int) -> None:
    from fairseq_xling.analysis.slices import write_slices
    from fairseq_xling.data.folder import DataFolder

    write_slices(DataFolder(full), slices, size, window)


@dataclasses.dataclass(frozen=True)
class WindowModel:
    """One model, the path of its evaluation, and the folders of its tasks by name.

    ``size`` and ``window`` are None of a model that the study did not train.
    """

    model: str
    title: str
    size: int | None
    window: int | None
    seed: int
    result: Path
    tasks: Mapping[str, Path] = dataclasses.field(default_factory=dict)


def write_size_window(
    run: Path, config: SizeWindowConfig, cells: Sequence[WindowModel], steps: Sequence[Step]
) -> None:
    """Write `FILES` into ``run``."""
    source, *targets = config.language_list
    titles = {name: task.title for name, task in config.task_table.items()}
    frame = measurements(cells, source, targets, titles)
    inputs = {cell.result.stem: cell.result for cell in cells}
    inputs |= {path.name: path / "results.json" for c in cells for path in c.tasks.values()}
    write_results(SizeWindow, run, {"config": dataclasses.asdict(config)}, inputs, steps, frame)


def measurements(
    cells: Sequence[WindowModel], source: str, targets: Sequence[str], tasks: Mapping[str, str]
) -> "pandas.DataFrame":
    """A row for each model, target language and measure; ``tasks`` are titles by name."""
    from fairseq_xling.results.frame import make_frame

    rows: list[dict[str, Any]] = []
    for cell in cells:
        about = {"row": cell.title, "sentences": cell.size, "window": cell.window}
        for target in targets:
            own = {**about, "seed": cell.seed, "target": target}
            (found,) = read_json(cell.result)["results"]
            scores = found["measures"]["words"]["scores"][target]
            rows += [{**own, "measure": name, "value": scores.get(name)} for name in WORDS]
            for name, title in tasks.items():
                value = transfer_mean(cell.tasks[name], target) if name in cell.tasks else None
                rows.append({**own, "measure": name, "task": title, "value": value, "unit": "%"})
    return make_frame(rows, paper="mbert", study="size-window", source=source)


@KINDS.register("size-window")
class SizeWindow(Kind):
    """The table, and dots of MRR, a row for each model, size and window."""

    name = "size-window"

    def page(self, result: Result) -> Page:
        from fairseq_xling.results.charts import dots
        from fairseq_xling.results.frame import spread

        frame, config = result.frame, result.record["config"]
        header, rows = table(frame)
        keys = {"model": "row", "sentences": "sentences", "window": "window", "seed": "seed"}
        facts = (f"Languages {config['languages']}.", seeds_in_words(config["seeds"], "dots"))
        return Page(
            title="Size of the text and length of its segments",
            source=SOURCE,
            lead=["Vectors and encoders trained on more or less text, in segments of two lengths."],
            sections=[
                Section(
                    "Table",
                    header=header,
                    rows=rows,
                    notes=[*_notes(frame, config), f"{result.machine}."],
                    name="table",
                ),
                Section(
                    "Single seeds",
                    figure=functools.partial(dots, _dotted(frame), MRR, title=""),
                    notes=caption(result, SOURCE, *facts),
                    name="plot",
                ),
            ],
            tables={"table": _by_name(spread(frame, {**keys, "language": "target"}))},
            measured=[
                Measured("E11", f"{title} with the shorter window, {_name(*row[:2])}", cell.mean)
                for place, title in enumerate(header)
                if title.startswith("drop")
                for row in rows
                if (cell := row[place]) is not None
            ],
        )


def _by_name(table: Table) -> Table:
    """The table with its columns in the order of their names."""
    header, rows = table
    places = sorted(range(len(header)), key=list(header).__getitem__)
    return [header[n] for n in places], [[row[n] for n in places] for row in rows]


def table(frame: "pandas.DataFrame") -> tuple[list[str], list[list[Any]]]:
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
