"""`fairseq-xling eval transfer` and `eval matrix`: trained on one language, tested on others.

Conneau et al. 2020, section 3.2; Pires et al. 2019, Tables 1 and 2; with shifted states Liu et al.
2020, section 4.3. Each head names its own row. The table has encoders down and languages across,
mean and gap at the end.
"""

import dataclasses
import statistics
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pandas

from fairseq_xling.core.files import read_json
from fairseq_xling.data.meta import in_order
from fairseq_xling.papers.transfer.config import TransferConfig
from fairseq_xling.papers.transfer.steps import TestedModel
from fairseq_xling.results.charts import dots, heat_map
from fairseq_xling.results.frame import figures, listed, make_frame, pivot
from fairseq_xling.results.page import Measured, Page, Result, caption, seeds_in_words
from fairseq_xling.results.report import Section
from fairseq_xling.results.result import KINDS, PAGE, Kind, write_results
from fairseq_xling.results.statistics import OverSeeds
from fairseq_xling.runs.step import Step

FILES = ("table.md", "table.csv", "results.json", "plot.svg", PAGE)
SOURCE = "Emerging Cross-lingual Structure (Conneau et al., 2020), 3.2"
ONE_LANGUAGE = "TreLM (Li et al., 2021), A.6"
MATRIX = "Pires et al. (2019), Tables 1 and 2"
# trained on one language, tested on others: the row of each head's figure
ROWS = {
    "classification": "E2",
    "ner": "E3",
    "parsing": "E4",
    "srl": "E5",
    "span_qa": "E6",
    "multiple_choice": "E6",
}
# trained and tested on Chinese alone, as the tasks of CLUE are
CHINESE = "zh"
UNDERSTANDING = {"classification": "E6", "span_qa": "E6", "multiple_choice": "E6"}


# heading of every score's table: column of the frame
_LONG = {"encoder": "encoder", "trained on": "source", "how": "how", "setting": "setting"}
_LONG |= {"seed": "seed", "language": "task", "figure": "measure", "value": "value"}


def measurements(results: Sequence[Mapping[str, Any]]) -> pandas.DataFrame:
    """A row for each figure of each test, in percent, and for each figure on dev files.

    ``row`` is the name of a result, ``task`` the label of a test, ``set`` and ``target`` are its
    test set and language; ``part`` is ``test`` or ``dev``. Where states were ``shifted``, ``alpha``
    says by how much.

    Args:
        results: what `test_models` writes, each with its ``name``.
    """
    rows = []
    for one in results:
        about = {"row": one["name"], "source": "+".join(one["sources"]), "how": one["how"]}
        about |= {name: one[name] for name in ("encoder", "trained")}
        for model in one["dev"]:
            rows.append({**about, **model, "part": "dev", "measure": one["metric"]})
            rows[-1]["shifted"] = False
        for test in one["tests"]:
            about |= {"setting": test["setting"], "seed": test["seed"]}
            for label, scores in test["scores"].items():
                rows += _scored(label, scores, shifted=False, **about)
            for label, moved in test.get("shifted", {}).items():
                for alpha, value in moved.get("dev", {}).items():
                    shift = {"shifted": True, "alpha": float(alpha), "part": "dev"}
                    rows += _scored(label, {one["metric"]: value}, **about, **shift)
                shift = {"shifted": True, "alpha": moved["alpha"]}
                rows += _scored(label, moved["scores"], **about, **shift)
    return make_frame(rows, paper="transfer", study="zero-shot")


def _scored(label: str, scores: Mapping[str, float], **about: Any) -> Iterator[dict[str, Any]]:
    test_set, _, lang = label.rpartition(".")
    of = {"task": label, "set": test_set or "test", "target": lang}
    for name, value in scores.items():
        yield {"part": "test", **about, **of, "measure": name, "value": value}


def scored_lines(frame: pandas.DataFrame, metric: str, name: str = "row") -> pandas.DataFrame:
    """The figures of tests by ``metric``, in the order of the table: ``line`` is the column
    ``name``, with what else tells lines apart: shifted states, and the set that was tested on."""
    own = frame[(frame["part"] == "test") & (frame["measure"] == metric)]
    sets = {test_set: place for place, test_set in enumerate(in_order(dict.fromkeys(own["set"])))}
    rows = {row: place for place, row in enumerate(dict.fromkeys(own["row"]))}
    keys, lines = [], []
    for row, title, shifted, test_set in own[["row", name, "shifted", "set"]].itertuples(
        index=False, name=None
    ):
        keys.append((rows[row], shifted, sets[test_set]))
        further = "shifted" * shifted, test_set if test_set != "test" else ""
        lines.append(", ".join(filter(None, (title, *further))))
    return own.assign(line=lines).iloc[sorted(range(len(own)), key=keys.__getitem__)]


def means_and_gaps(
    lines: pandas.DataFrame,
) -> dict[tuple[str, str], tuple[float | None, float | None]]:
    """By line and source the mean over the languages that were not trained on, and how much better
    those are that were; None without such."""
    found = {}
    for key, own in lines.groupby(["line", "source"], sort=False):
        sides: tuple[list[float], list[float]] = [], []
        for (source, lang), values in figures(own, "source", "target").items():
            sides[lang in source.split("+")].append(statistics.fmean(values))
        mean, trained = (statistics.fmean(side) if side else None for side in sides)
        found[key] = mean, None if mean is None or trained is None else trained - mean
    return found


def table(
    lines: pandas.DataFrame, languages: Sequence[str]
) -> tuple[list[str], list[list[OverSeeds | str | None]]]:
    """Means over seeds, with deviations; where there are target languages, the mean over them, and
    its gap to that of the languages trained on."""
    told = {"encoder": "line", "trained on": "source"}  # by what was trained on, but not shown
    header, rows = pivot(lines, told, "target", order=languages, digits=1)
    further = means_and_gaps(lines)
    targets = any(mean is not None for mean, _ in further.values())
    return [header[0], *header[2:], *(["mean of targets", "gap"] if targets else [])], [
        [
            line,
            *cells,
            *(None if x is None else OverSeeds((x,), 1) for x in further[line, source] if targets),
        ]
        for line, source, *cells in rows
    ]


def write_transfer(
    run: Path,
    config: TransferConfig,
    title: str,
    rows: Sequence[TestedModel],
    steps: Sequence[Step],
) -> None:
    """Write `FILES` into ``run``."""
    results = [
        {
            **read_json(row.result),
            "name": ", ".join(filter(None, (row.encoder.name, row.trained.row))),
        }
        for row in rows
    ]
    # The order is that of the command; the results' files sort their keys.
    languages = list(dict.fromkeys(test.lang for row in rows for test in row.trained.tests))
    record = {"config": dataclasses.asdict(config), "title": title, "metric": config.figure}
    record["languages"] = languages
    write_results(Transfer, run, record, {}, steps, measurements(results))


@KINDS.register("transfer")
class Transfer(Kind):
    """The table, every seed, a heat map of a matrix, and what was chosen on dev files."""

    name = "transfer"

    def page(self, result: Result) -> Page:
        record, frame, config = result.record, result.frame, result.record["config"]
        metric, languages = record["metric"], record["languages"]
        lines = scored_lines(frame, metric)
        matrix = lines.loc[lines["how"] == "", "source"].nunique() > 1
        targets = any(mean is not None for mean, _ in means_and_gaps(lines).values())
        source = MATRIX if matrix else SOURCE if targets else ONE_LANGUAGE
        about = f"Head {config['head']}, {metric}"
        seeds = seeds_in_words(config["seeds"], "dots")
        header, cells = table(lines, languages)
        names = list(dict.fromkeys(lines["line"]))
        place = {lang: number for number, lang in enumerate(languages)}
        panels = lines.sort_values("target", key=lambda one: one.map(place), kind="stable")
        titles = {lang: lang for lang in languages}
        words = {"row": "line", "panel": "target", "title": titles, "rows": names}
        sections = [
            Section(
                f"{metric} by language",
                header=header,
                rows=cells,
                notes=_notes(config, metric, frame, result.machine, targets),
                name="table",
            ),
            Section(
                "Every seed",
                figure=partial(dots, panels, f"{metric} (%)", **words),
                notes=caption(result, source, f"{about} in percent.", seeds),
                name="plot",
            ),
        ]
        if matrix:
            words = {"row": "line", "column": "target", "rows": names, "columns": languages}
            words |= {"xlabel": "tested on", "ylabel": "trained on", "what": f"{metric} (share)"}
            figure = partial(heat_map, lines.assign(value=lines["value"] / 100), **words)
            averaged = seeds_in_words(config["seeds"], "")
            notes = caption(result, source, f"{about} as a share.", averaged)
            sections.insert(
                1, Section("Every language with every language", figure=figure, notes=notes)
            )
        columns = {"encoder": "encoder", "seed": "seed", "language": "task", "alpha": "alpha"}
        shifted = lines[lines["shifted"].astype(bool)]
        if len(shifted):
            header, alphas = listed(shifted, columns)
            sections.append(Section("Chosen shifts", header=header, rows=alphas))
        dev = frame[(frame["part"] == "dev") & ~frame["shifted"].astype(bool)]
        chosen = []
        for (row, _), own in dev.groupby(["row", "source"], sort=False):
            means = [
                [x, statistics.fmean(values)] for (x,), values in figures(own, "setting").items()
            ]
            best = sorted(means, key=lambda one: -one[1])[: config["best"]]
            chosen += [[row, setting, round(mean, 2)] for setting, mean in best]
        header = ["row", "setting", f"{metric} on dev"]
        sections.append(Section("Chosen settings", header=header, rows=chosen))
        scores = frame[frame["part"] == "test"]
        tables = {"table": listed(scores[~scores["shifted"].astype(bool)], _LONG)}
        if len(shifted):
            tables["shifted"] = listed(scores[scores["shifted"].astype(bool)], _LONG)
        return Page(
            title=record["title"]
            if targets
            else f"Head {config['head']}, trained and tested on one language",
            source=source,
            lead=[
                "Epochs and settings were selected on the source language's dev file alone; the "
                "test files were read only afterwards, for the test."
            ],
            sections=sections,
            tables=tables,
            measured=list(_measured(record, lines, matrix)),
        )


def _notes(
    config: Mapping[str, Any], metric: str, frame: pandas.DataFrame, where: str, targets: bool
) -> list[str]:
    seeds = f"seed {config['seeds']}"
    if len(str(config["seeds"]).split(",")) > 1:
        seeds = f"mean ± standard deviation over seeds {config['seeds']}"
    tried = frame.loc[frame["row"] == frame["row"].iat[0], "setting"].nunique()
    chosen = "the only setting" if tried == 1 else (
        f"the mean of the best {config['best']} of {tried} settings by dev"
    )  # fmt: skip
    epochs = f"{config['epochs']} epoch{'s' * (config['epochs'] > 1)}"
    notes = [
        f"{metric} in percent; {seeds}; {chosen}; {epochs}, the best one by dev.",
    ]
    if targets:
        notes.append("gap: the figure of the language trained on minus the mean of the targets'.")
    if config["shift_layer"]:
        notes.append(
            f"shifted: states of layer {config['shift_layer']} shifted by the languages' mean "
            "difference at test time, alpha "
            + (
                f"the best of {config['shift_alphas']} on each target's dev file."
                if config["shift_alpha"] == "auto"
                else "given."
            )
        )
    return [*notes, f"{where}."]


def _measured(
    record: Mapping[str, Any], lines: pandas.DataFrame, matrix: bool
) -> Iterator[Measured]:
    metric, head = record["metric"], record["config"]["head"]
    row = "E7" if matrix else ROWS.get(head)
    means = means_and_gaps(lines)
    for (line, source), own in lines.groupby(["line", "source"], sort=False):
        by_language = {lang: x for (lang,), x in figures(own, "target").items()}
        mean, _ = means[line, source]
        if own["how"].iat[0]:
            for lang, values in by_language.items():
                what = f"{metric} (%) of {lang}, {line}"
                yield Measured("E14", what, statistics.fmean(values))
        elif row and mean is not None:
            what = f"zero-shot {metric} (%), mean of the target languages, {line}"
            yield Measured(row, what, mean)
        elif head in UNDERSTANDING and not matrix and set(by_language) == {CHINESE}:
            what = f"{metric} (%) of {CHINESE}, trained on it, head {head}, {line}"
            yield Measured(UNDERSTANDING[head], what, statistics.fmean(by_language[CHINESE]))
    for _, own in lines.groupby(["row", "source"], sort=False):
        moved = own["shifted"].astype(bool)
        if moved.any():
            both = own[moved].merge(own[~moved], on=["setting", "seed", "task"])
            what = f"gain in {metric} (points) by shifted states, {own['encoder'].iat[0]}"
            yield Measured("S14", what, statistics.fmean(both["value_x"] - both["value_y"]))
