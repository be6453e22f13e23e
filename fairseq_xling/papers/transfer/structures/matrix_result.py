"""The result of `fairseq-xling struct matrix`: relations or roles, by training set and language.

Models and training sets down, test files across; models are compared seed by seed, within a run and
with finished others.
"""

import dataclasses
import statistics
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas

from fairseq_xling.core.errors import MALFORMED, UserError
from fairseq_xling.core.files import read_json, write_json
from fairseq_xling.core.provenance import machine
from fairseq_xling.papers.transfer.structures.fit import notes_of_scores
from fairseq_xling.results.charts import heat_map
from fairseq_xling.results.figure_file import write_figure
from fairseq_xling.results.frame import (
    by_seed,
    frame_from_json,
    frame_to_json,
    listed,
    make_frame,
    pivot,
)
from fairseq_xling.results.page import RESULTS, Measured, Page, Result, caption, seeds_in_words
from fairseq_xling.results.paired import LEVEL, paired_difference, shown_p
from fairseq_xling.results.report import Section
from fairseq_xling.results.result import KINDS, Kind
from fairseq_xling.results.tables import text_table, write_csv, write_markdown

if TYPE_CHECKING:
    from fairseq_xling.papers.transfer.structures.data import MatrixConfig

Record = Mapping[str, Any]
BETTER_SOURCE = "F1 of the better source"
AWAY = "not trained on"  # in place of a test file: the mean over such languages
SOURCE = "transfer note, 3"
TITLES = {"relations": "Structure transfer: relations", "roles": "Structure transfer: roles"}
HEADER = ["model", "compared with", "trained on", "test", "difference", f"{LEVEL:.0%} interval"]
HEADER += ["p", "seeds"]
_KEYS = {"frame", "sources", "languages", "provenance"}
_TRAINING = ("row", "network", "variant", "seed", "epoch", "inputs")
_SCORES = ("precision", "recall", "f1", "right", "predicted", "gold")
_COUNTS = ("accuracy", "candidates", "sentences", "words", "unknown_words")
# heading of every score's table: column of the frame
_LONG = {"trained on": "row", "network": "network", "variant": "variant", "seed": "seed"}
_LONG |= {"epoch": "epoch", "file": "file", "language": "target"}
_LONG |= {{"f1": "F1"}.get(name, name): name for name in _SCORES}
_PAIRED = "Points of micro F1, model less what it is compared with; paired t-test over seeds."


def measurements(
    trainings: Sequence[Mapping[str, Any]],
    sources: Mapping[str, Sequence[str]],
    languages: Mapping[str, str],
    always: Mapping[str, Mapping[str, Any]],
) -> pandas.DataFrame:
    """A row for each training and test file, and for each epoch's F1 on dev files, in percent.

    Where several languages and each of them alone were trained on, the several have a row more for
    each file of another language: the F1 there of the one that does best.

    Args:
        trainings: what they are, with their ``scores`` by file.
        sources: languages of each training set; languages: of each test file.
        always: by training set the ``f1`` of its most frequent label, by file; may be empty.
    """
    rows = []
    alone = {of[0]: row for row, of in sources.items() if len(of) == 1}
    found = {
        (one["network"], one["variant"], one["seed"], one["row"], file): 100 * scores["f1"]
        for one in trainings
        for file, scores in one["scores"].items()
    }
    for one in trainings:
        row = one["row"]
        parts = [alone.get(lang) for lang in sources[row]] if len(sources[row]) > 1 else []
        about = {name: one.get(name) for name in _TRAINING}
        for file, lang in languages.items():  # in the order of the command
            scores = one["scores"][file]
            rows.append({**about, "measure": "F1", "value": 100 * scores["f1"], "file": file})
            rows[-1] |= {"target": lang, "supervised": lang in sources[row]}
            rows[-1] |= {name: scores.get(name) for name in (*_SCORES, *_COUNTS)}
            if always:
                rows[-1]["chance"] = 100 * always[row]["f1"][file]
            model = one["network"], one["variant"], one["seed"]
            singles = [found.get((*model, part, file)) for part in parts]
            if singles and None not in singles and lang not in sources[row]:
                rows.append({**rows[-1], "measure": BETTER_SOURCE, "value": max(singles)})
        for epoch, f1 in enumerate(one.get("dev_f1", ()), 1):
            rows.append({**about, "measure": "dev F1", "epoch": epoch, "value": 100 * f1})
    return make_frame(rows, paper="transfer", study="structures", unit="%", run="")


def scores_of(frame: pandas.DataFrame, run: str = "") -> pandas.DataFrame:
    """The rows of test files; of a run that this one was compared with, by its name."""
    own = frame[(frame["measure"] == "F1") & (frame["run"] == run)]
    names = zip(own["network"], own["variant"], strict=True)
    files = dict.fromkeys(zip(own["file"], own["target"], strict=True))
    langs = [lang for _, lang in files]
    columns = {file: lang if langs.count(lang) == 1 else file for file, lang in files}
    return own.assign(
        model=[", ".join(filter(None, one)) for one in names],
        column=own["file"].map(columns).astype(object),
    )


def read_others(folders: Sequence[str]) -> dict[str, Record]:
    """The finished runs in ``folders``, by folder name."""
    found: dict[str, Record] = {}
    for folder in folders:
        path = Path(folder).resolve() / RESULTS
        if not path.is_file():
            raise UserError(f"`--compare` {folder}: must be a finished run of `struct matrix`")
        other = read_json(path)
        if not isinstance(other, dict) or not other.keys() >= _KEYS:
            raise UserError(f"{path}: must be the results of `struct matrix`")
        name = path.parent.name
        if name in found:
            raise UserError(f"`--compare` must name folders of different names, got {name} twice")
        found[name] = other
    return found


def compared_with(
    record: Record, frame: pandas.DataFrame, others: Mapping[str, Record]
) -> pandas.DataFrame:
    """``frame`` of ``record`` with the scores of ``others``, whose figures can be compared with
    its own, seed by seed."""
    frames = [frame]
    for name, other in others.items():
        theirs = scores_of(frame_from_json(other["frame"]))
        shared = other["sources"].keys() & record["sources"].keys()
        for what, common in (
            ("training set", shared),
            ("seed", {*theirs["seed"]} & {*frame["seed"]}),
        ):
            if not common:
                raise UserError(f"`--compare` {name}: must have a {what} of this run")
        languages = {lang for row in shared for lang in record["sources"][row]}
        inputs = other["provenance"]["inputs"]
        for role, one in record["provenance"]["inputs"].items():
            kind, file = role.split(" ", 1)
            if kind == "compare" or (kind != "test" and file.rstrip("0123456789") not in languages):
                continue
            if role not in inputs or inputs[role]["sha256"] != one["sha256"]:
                raise UserError(
                    f"`--compare` {name}: must have read the same files as this run, not another "
                    f"{kind} file than {one['path']}"
                )
        frames.append(theirs.assign(run=name)[frame.columns])
    return pandas.concat(frames, ignore_index=True)


def compared(frame: pandas.DataFrame) -> list[dict[str, Any]]:
    """The first model less each other one, of its own run and of those it was compared with.

    One entry for each training set and test file, and one for the mean over languages not trained
    on, if there are any; figures in percent, paired by seed.
    """
    runs = [scores_of(frame, run) for run in dict.fromkeys(frame["run"])]
    own = runs[0]
    first = own["model"].iat[0]
    away = by_seed(own[~own["supervised"].astype(bool)], "row", "file")
    figures = by_seed(own[own["model"] == first], "row", "file")
    found = []
    for rows in runs:
        seeds = sorted({*own["seed"]} & {*rows["seed"]})
        for model in dict.fromkeys(rows["model"]):
            if rows is own and model == first:
                continue
            theirs = by_seed(rows[rows["model"] == model], "row", "file")
            cells = {
                key: [[side[key][seed] for seed in seeds] for side in (figures, theirs)]
                for key in figures
                if key in theirs
            }
            if others := [both for key, both in cells.items() if key in away]:
                cells["", AWAY] = [
                    [statistics.fmean(of_seed) for of_seed in zip(*side, strict=True)]
                    for side in zip(*others, strict=True)
                ]
            about = {"model": first, "other": model, "run": rows["run"].iat[0], "seeds": seeds}
            for (row, file), both in cells.items():
                found.append({**about, "row": row, "file": file, **paired_difference(*both)})
    return found


def table(found: Sequence[Mapping[str, Any]], columns: Mapping[str, str]) -> list[list[Any]]:
    """Rows of `HEADER`; ``columns`` are test files as they are shown."""
    return [
        [
            one["model"],
            one["other"] + (f" ({one['run']})" if one["run"] else ""),
            one["row"] or "each",
            columns.get(one["file"], one["file"]),
            f"{one['mean']:+.1f}",
            "" if one["low"] is None else f"{one['low']:+.1f} to {one['high']:+.1f}",
            "" if one["p"] is None else shown_p(one["p"]).removeprefix("= "),
            len(one["seeds"]),
        ]
        for one in found
    ]


def heat(own: pandas.DataFrame, model: str) -> Any:
    """The heat map of one model: training sets down from the top, test files across."""
    drawn = own[own["model"] == model]
    words = {"xlabel": "test", "ylabel": "trained on", "what": "micro F1", "title": model}
    rows = list(dict.fromkeys(own["row"]))[::-1]
    return heat_map(drawn.assign(value=drawn["f1"]), row="row", column="column", rows=rows, **words)


def write_matrix(
    output: Path,
    config: "MatrixConfig",
    rows: Mapping[str, Sequence[str]],
    languages: Mapping[str, str],
    results: Sequence[Mapping[str, Any]],
    always: Mapping[str, Mapping[str, Any]],
    origin: Mapping[str, Any],
    others: Mapping[str, Mapping[str, Any]],
) -> None:
    """Write ``results.json``, ``table.md``, ``table.csv``, a heat map of each network and, if there
    are several models, ``paired.csv``; print the tables.

    Args:
        rows: languages of each training set; languages: of each test file.
        always: `majority` of each training set.
        others: records of other runs to compare with, by name.
    """
    record: dict[str, Any] = {
        "kind": Structures.name,
        "title": TITLES[config.task],
        "config": dataclasses.asdict(config),
        "sources": {row: list(langs) for row, langs in rows.items()},
        "languages": dict(languages),
        "always": {row: one["label"] for row, one in always.items()},
        "notes": _notes(config, results),
        "provenance": origin,
    }
    frame = measurements(results, rows, languages, always)
    try:
        frame = compared_with(record, frame, others)
        record["frame"] = frame_to_json(frame)
        page = Structures().page(Result(output / RESULTS, record))
    except UserError:
        raise
    except MALFORMED:
        names = ", ".join(others)
        raise UserError(f"`--compare` {names}: must be `struct matrix` runs, undamaged") from None
    maps = [section for section in page.sections if section.figure]
    main = page.sections[len(maps)]
    write_markdown(output / "table.md", main.header, main.rows, main.notes)
    if pairs := page.tables.get("paired"):
        write_csv(output / "paired.csv", *pairs)
    write_csv(output / "table.csv", *page.tables["scores"])
    names = [f"heat-map.{section.title}.svg" for section in maps]
    for name, section in zip(names, maps, strict=True):
        write_figure(output / name, section.figure)
    write_json(output / RESULTS, record)
    print(text_table(main.header, main.rows))
    print("\n".join(f"({note})" for note in main.notes))
    if pairs:
        print("\n" + text_table(*pairs))
        print("(points of micro F1, model less what it is compared with, paired t-test over seeds)")
    more = ", paired.csv" if pairs else ""
    print(
        f"written to {output}: results.json, table.md, table.csv, {', '.join(names)}{more}, "
        "predictions/"
    )


def _table(record: Record, own: pandas.DataFrame) -> tuple[list[str], list[list[Any]]]:
    header, rows = pivot(own, {"model": "model", "trained on": "row"}, "column", digits=1)
    chance = {
        (row, column): value
        for row, column, value in own[["row", "column", "chance"]].itertuples(index=False)
    }
    always = [
        [f"always {label}", row, *(f"{chance[row, column]:.1f}" for column in header[2:])]
        for row in dict.fromkeys(own["row"])
        if (label := record["always"].get(row))
    ]
    return header, [*(list(map(str, row)) for row in rows), *always]


def _notes(config: "MatrixConfig", results: Sequence[Mapping[str, Any]]) -> list[str]:
    several = "," in config.seeds
    spread = f"mean ± standard deviation over seeds {config.seeds}" if several else (
        f"seed {config.seeds}"
    )  # fmt: skip
    found = [
        f"micro F1 in percent, pairs without a label not counted, {spread}; rows are what was "
        "trained on, the epoch selected on dev files of the same languages",
        "always: the most frequent label of the training set for every pair",
    ]
    seen: dict[str, dict[str, None]] = {}  # rows by note, in order
    for one in results:
        for note in notes_of_scores(one["scores"]):
            seen.setdefault(note, {})[one["row"]] = None
    rows = {one["row"] for one in results}
    for note, where in seen.items():
        found.append(note if len(where) == len(rows) else f"trained on {', '.join(where)}, {note}")
    return [*found, machine()]


@KINDS.register("structures")
class Structures(Kind):
    """A heat map for each network, and the table."""

    name = "structures"

    def page(self, result: Result) -> Page:
        record, frame = result.record, result.frame
        own = scores_of(frame)
        header, rows = _table(record, own)
        columns = dict(zip(own["file"], own["column"], strict=True))
        pairs = table(compared(frame), columns)
        facts = ("Micro F1 without NONE.", seeds_in_words(sorted({*own["seed"]}), ""))
        notes = caption(result, SOURCE, *facts)
        sections = [Section("Table", header=header, rows=rows, notes=record["notes"], name="table")]
        tables = {"table": (header, rows), "scores": listed(own, _LONG)}
        if pairs:
            sections.append(Section("Differences", header=HEADER, rows=pairs, notes=[_PAIRED]))
            tables["paired"] = (HEADER, pairs)
        first = own["model"].iat[0]
        means = by_seed(own[own["model"] == first], "row", "file", "target")
        return Page(
            title=record["title"],
            source=SOURCE,
            lead=[
                "Pairs of mentions were classified on the dependency tree of their sentence. Rows "
                "are what was trained on, columns what was tested on; the diagonal is supervised.",
            ],
            sections=[
                *(
                    Section(network, figure=partial(heat, own, network), notes=notes)
                    for network in dict.fromkeys(own.loc[own["variant"] == "", "network"])
                ),
                *sections,
            ],
            tables=tables,
            measured=[
                Measured(
                    "E13",
                    f"F1 (%) in {lang}, trained on {row}, {first}",
                    statistics.fmean(values.values()),
                )
                for (row, _, lang), values in means.items()
            ],
        )
