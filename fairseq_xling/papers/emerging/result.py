"""The results of the sharing ablations, as in the paper: a row a setting, columns a language.

Columns come from ``MEASURES`` and from the zero-shot tasks of the study; a further measure is one
more entry.
"""

from __future__ import annotations

import dataclasses
import statistics
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from fairseq_xling.files import read_json
from fairseq_xling.papers.emerging.config import CLAIMS, AblationConfig, Setting
from fairseq_xling.results.page import Measured, Page, Result, caption, seeds_in_words
from fairseq_xling.results.report import Section, claims_section
from fairseq_xling.results.result import KINDS, Kind, write_results
from fairseq_xling.runs.step import Step
from fairseq_xling.runs.training_log import parameter_count
from fairseq_xling.studies.encoder_training import describe_steps
from fairseq_xling.studies.gold_tasks import TASKS, transfer_mean

if TYPE_CHECKING:
    import pandas
    from matplotlib.figure import Figure


SOURCE = "Emerging Cross-lingual Structure (Conneau et al., 2020), Table 1"


@dataclasses.dataclass(frozen=True)
class SharingModel:
    """One trained model: the paths of its evaluation, training log and task folders, and of its
    evaluations by further test set."""

    setting: Setting
    target: str
    seed: int
    result: Path
    log: Path
    tasks: Mapping[str, Path] = dataclasses.field(default_factory=dict)
    more: Mapping[str, Path] = dataclasses.field(default_factory=dict)

    @property
    def files(self) -> list[Path]:
        """All that the table is made from."""
        return [self.result, self.log, *self.tasks.values(), *self.more.values()]


class Score(NamedTuple):
    """A measured figure, with its chance level if known."""

    value: float
    chance: float | None = None


@dataclasses.dataclass(frozen=True)
class Column:
    """One figure of a model; ``read`` returns None if it was not measured.

    ``compares`` is False if rows of different vocabularies are not comparable.
    """

    title: str
    read: Callable[[SharingModel], Score | None]
    digits: int = 3
    unit: str = ", best layer"
    compares: bool = True


def _measured(measure: str, score: str, test: str = "") -> Callable[[SharingModel], Score | None]:
    """A figure of `fairseq-xling eval` under ``scores[language][score]``; ``test`` is a further
    test set."""

    def read(cell: SharingModel) -> Score | None:
        file = cell.more[test] if test else cell.result
        found = read_json(file)["results"][0]["measures"].get(measure)
        if found is None:
            return None
        chance = found["chance"].get(cell.target, {}).get(score)
        return Score(found["scores"][cell.target][score], chance)

    return read


def task_column(name: str, test: str = "test", first: bool = True) -> Column:
    """A figure of `fairseq-xling eval transfer` for the target language, in percent."""

    def read(cell: SharingModel) -> Score | None:
        if name not in cell.tasks:
            return None
        return Score(transfer_mean(cell.tasks[name], cell.target, test))

    title = TASKS[name].title if first else f"{TASKS[name].title} {test}"
    return Column(title, read, digits=1, unit=" (%)")


def columns_of(cell: SharingModel, tests: Sequence[str]) -> list[Column]:
    """The columns of a study; the name of the first test set goes unsaid."""
    first, *further = tests
    columns = list(MEASURES)
    for test in further:
        columns.append(Column(f"sentence P@1 {test}", _measured("retrieval", "retrieval", test)))
    for name in cell.tasks:
        columns += [task_column(name, test, test == first) for test in tests]
    return columns


MEASURES = (
    Column("sentence P@1", _measured("retrieval", "retrieval")),
    Column("word MRR", _measured("words", "word_mrr")),
    Column("bits per word", _measured("bpw", "bpw"), digits=2, compares=False),
)


def measurements(
    cells: Sequence[SharingModel], tests: Sequence[str] = ("test",), vocab_size: int = 0
) -> pandas.DataFrame:
    """A row for each seed of each setting, target language and column, on the sets ``tests``.

    Args:
        vocab_size: of a joint vocabulary.
    """
    from fairseq_xling.results.frame import arranged, make_frame

    known = columns_of(cells[0], tests)
    chance: dict[tuple[str, str], float] = {}
    parameters: dict[tuple[str, str], int] = {}
    rows: list[dict[str, Any]] = []
    for cell in cells:
        setting, target = cell.setting, cell.target
        parameters[setting.code, target] = parameter_count(cell.log)
        about = {"row": setting.code, "name": setting.name, "target": target, "seed": cell.seed}
        about |= {"vocabulary": setting.bpe(vocab_size), "reported": setting.paper_xnli}
        for column in known:
            found = column.read(cell)
            if found is None:
                continue
            rows.append({**about, "measure": column.title, "value": found.value})
            rows[-1]["unit"] = column.unit
            if found.chance is not None:
                chance[target, column.title] = found.chance
    for row in rows:
        row["chance"] = chance.get((row["target"], row["measure"]))
        row["parameters"] = parameters[row["row"], row["target"]]
    frame = make_frame(rows, paper="emerging", study="sharing")
    return arranged(frame, "row", "target", "measure")


def table(frame: pandas.DataFrame, digits: Mapping[str, int]) -> tuple[list[str], list[list[Any]]]:
    """Header and rows; the delta columns are means over the target languages, against the first
    row.

    Args:
        digits: of the columns, by title, in their order.
    """
    from fairseq_xling.results.frame import figures, make_frame, pivot

    found = figures(frame, "row", "measure", "target")
    targets, codes = (list(dict.fromkeys(frame[name])) for name in ("target", "row"))
    about = {
        code: {"row": code, "name": name, "vocabulary": vocabulary}
        for code, name, vocabulary in frame[["row", "name", "vocabulary"]].itertuples(index=False)
    }
    paper = "paper: XNLI"
    further = [
        {**about[code], "column": paper, "value": value}
        for code, value in dict.fromkeys(zip(frame["row"], frame["reported"], strict=True))
    ]
    for title in digits:
        for code in codes:
            deltas = [
                statistics.fmean(found[code, title, target])
                - statistics.fmean(found[codes[0], title, target])
                for target in targets
            ]
            value = statistics.fmean(deltas)
            further.append({**about[code], "column": f"Δ {title}", "value": value})
    own = zip(frame["measure"], frame["target"], strict=True)
    shown = frame.assign(column=[f"{title}, {target}" for title, target in own])
    order = {
        name: number
        for title, number in digits.items()
        for name in (*(f"{title}, {target}" for target in targets), f"Δ {title}")
    }
    header, rows = pivot(
        make_frame([*shown.to_dict("records"), *further]),
        {"setting": "row", "": "name", "BPE": "vocabulary"},
        "column",
        order=[*order, paper],
        digits={**order, paper: 1},
        signed=[f"Δ {title}" for title in digits],
    )
    sizes = {code: set() for code in codes}
    for code, target, count in zip(frame["row"], frame["target"], frame["parameters"], strict=True):
        sizes[code].add((target, count))
    counts = [round(statistics.fmean(n for _, n in sizes[row[0]])) for row in rows]
    return (
        [*header[:3], "parameters", *header[3:]],
        [[*row[:3], count, *row[3:]] for row, count in zip(rows, counts, strict=True)],
    )


def write_ablation(
    run: Path, config: AblationConfig, cells: Sequence[SharingModel], steps: Sequence[Step]
) -> None:
    """Write ``table.md``, ``table.csv``, ``plot.svg``, ``report.html`` and ``results.json``."""
    frame = measurements(cells, config.test_list, config.vocab_size)
    found = set(frame["measure"])
    columns = [
        {"title": one.title, "unit": one.unit, "compares": one.compares, "digits": one.digits}
        for one in columns_of(cells[0], config.test_list)
        if one.title in found
    ]
    record = {
        "config": dataclasses.asdict(config),
        "columns": columns,
        "tasks": [task.title for task in config.task_table.values()],
    }
    write_results(Ablation, run, record, {}, steps, frame)


@KINDS.register("ablation")
class Ablation(Kind):
    """The table, and dots of every seed for each figure that settings can be compared by."""

    name = "ablation"

    def page(self, result: Result) -> Page:
        from fairseq_xling.results.frame import listed

        record, frame, config = result.record, result.frame, result.record["config"]
        header, rows = table(frame, {one["title"]: one["digits"] for one in record["columns"]})
        facts = (
            f"{config['arch']}, {config['layers']} layers, {describe_steps(config)}.",
            seeds_in_words(config["seeds"], "dots"),
        )
        first = header.index("parameters") + 1
        columns = ("target", "measure", "seed", "value", "chance", "parameters")
        return Page(
            title="Emerging cross-lingual structure",
            source=SOURCE,
            lead=["What a masked language model of two languages needs in order to align them."],
            sections=[
                Section(
                    "Table",
                    header=header,
                    rows=rows,
                    notes=[*_notes(record, frame), f"{result.machine}."],
                    name="table",
                ),
                *filter(None, [sharing_claims(record)]),
                Section(
                    "Single seeds",
                    figure=partial(draw, record, frame),
                    notes=caption(result, SOURCE, *facts),
                    name="plot",
                ),
            ],
            tables={"table": listed(frame, {"setting": "row", **{one: one for one in columns}})},
            measured=[
                Measured(row[0], header[first], row[first].mean)
                for row in rows
                if row[0][1:].isdigit() and row[first]  # A1 to A10 are rows; C and others of ours
            ],
        )


def compared(record: Mapping[str, Any], frame: pandas.DataFrame) -> pandas.DataFrame:
    """What settings can be compared by, in the order of the columns."""
    titles = [one["title"] for one in record["columns"] if one["compares"]]
    own = frame[frame["measure"].isin(titles)]
    return own.iloc[sorted(range(len(own)), key=lambda n: titles.index(own["measure"].iat[n]))]


def draw(record: Mapping[str, Any], frame: pandas.DataFrame) -> Figure:
    """Dots of every seed, a panel for each measure and target language."""
    from fairseq_xling.results.charts import dots

    own = compared(record, frame)
    panels = own["target"] + ": " + own["measure"]
    named = own["row"] + " " + own["name"]
    return dots(
        own.assign(panel=panels, row=named),
        lambda rows: rows["measure"].iat[0] + rows["unit"].iat[0],
        panel="panel",
        title=lambda rows: rows["panel"].iat[0],
        chance="chance ({:.4f})",
    )


def _notes(record: Mapping[str, Any], frame: pandas.DataFrame) -> list[str]:
    config, first = record["config"], frame["row"].iat[0]
    own = compared(record, frame)
    own = own[(own["row"] == first) & own["chance"].notna()]
    chances = ", ".join(
        f"{measure} {chance:.4f} ({target})"
        for measure, chance, target in dict.fromkeys(
            own[["measure", "chance", "target"]].itertuples(index=False, name=None)
        )
    )
    source = config["languages"].partition(",")[0]
    zero_shot = [
        f"{', '.join(record['tasks'])}: fine-tuned and selected on {source} alone, with private "
        "parts frozen; tested on the target language (%)."
    ]
    alike = "Private parts other than the embeddings of words begin with equal weights."
    return [
        f"Mean ± standard deviation over seeds {config['seeds']}; Δ is the mean difference "
        f"to {first} over the target languages; parameters are also means.",
        "Sentence P@1 and word MRR are those of the best layer, without a map, at the "
        f"checkpoint with the lowest {source} validation perplexity. Chance: {chances}.",
        f"The paper's layers 1-3 and 1-6 of 8 are the same shares of {config['layers']} layers.",
        "Bits per word are comparable only between rows with the same vocabulary (A1, A5; A3, A9, "
        "A10, A5-union, T; A4; A6 to A8 and C).",
        "The paper's figures (mean XNLI accuracy over fr, ru and zh, %) are another measure, of "
        "models a thousand times larger; they are shown only for orientation.",
        *(zero_shot if record["tasks"] else ()),
        *([alike] if config.get("separate_start") else ()),
    ]


def sharing_claims(record: Mapping[str, Any]) -> Section | None:
    """What the paper says of transfer, by every figure that settings can be compared by, the mean
    over target languages."""
    from fairseq_xling.results.frame import figures, frame_from_json, split

    own = compared(record, frame_from_json(record["frame"]))
    measures = {
        title: {code: values for (code,), values in figures(rows, "row").items()}
        for title, rows in split(own, "measure")
    }
    digits = {one["title"]: one["digits"] for one in record["columns"]}
    return claims_section(CLAIMS, measures, digits, record["config"]["seeds"])
