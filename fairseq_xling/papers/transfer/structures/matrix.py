"""The record of `fairseq-xling struct matrix`: relations or roles, by training set and language.

Models are compared seed by seed, within a run and with finished others.
"""

import dataclasses
import statistics
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairseq_xling.core.errors import UserError
from fairseq_xling.papers.transfer.structures.fit import notes_of_scores
from fairseq_xling.reports.paired import LEVEL, paired_difference, shown_p
from fairseq_xling.reports.pivot import Table
from fairseq_xling.reports.record import RESULTS, Chart, Record, Section, read_record
from fairseq_xling.reports.rows import Row, by_seed, distinct, select

if TYPE_CHECKING:
    from fairseq_xling.papers.transfer.structures.data import MatrixConfig

STUDY, F1, ALWAYS, DIFFERENCE = "structures", "F1", "always", "difference"
BETTER_SOURCE = "F1 of the better source"
AWAY = "not trained on"  # in place of a test file: the mean over such languages
OWN = {"measure": F1, "run": None}  # the scores of this run, not of those it is compared with
_TRAINING = ("row", "network", "variant", "seed", "epoch", "inputs")
_SCORES = ("precision", "recall", "f1", "right", "predicted", "gold")
_COUNTS = ("accuracy", "candidates", "sentences", "words", "unknown_words")


def measurements(
    trainings: Sequence[Mapping[str, Any]],
    sources: Mapping[str, Sequence[str]],
    languages: Mapping[str, str],
    always: Mapping[str, Mapping[str, Any]],
) -> list[dict[str, Any]]:
    """A row for each training and test file, and for each epoch's F1 on dev files, in percent.

    Where several languages and each of them alone were trained on, the several have a row more for
    each file of another language: the F1 there of the one that does best.

    Args:
        sources: languages of each training set; languages: of each test file.
        always: by training set its most frequent ``label``, and the ``f1`` of it for every pair, by
            file; may be empty.
    """
    common = {"paper": "transfer", "study": STUDY, "unit": "%"}
    alone = {of[0]: row for row, of in sources.items() if len(of) == 1}
    names = list(languages.values())
    shown = {f: x if names.count(x) == 1 else f for f, x in languages.items()}
    tested = {f: {"file": f, "target": x, "column": shown[f]} for f, x in languages.items()}
    found = {
        (one["network"], one["variant"], one["seed"], one["row"], file): 100 * scores["f1"]
        for one in trainings
        for file, scores in one["scores"].items()
    }
    rows: list[dict[str, Any]] = []
    for one in trainings:
        row, model = one["row"], (one["network"], one["variant"])
        parts = [alone.get(lang) for lang in sources[row]] if len(sources[row]) > 1 else []
        about = {name: one.get(name) for name in _TRAINING}
        about["model"] = ", ".join(filter(None, model))
        for file, lang in languages.items():  # in the order of the command
            scores, trained = one["scores"][file], lang in sources[row]
            of = {**about, **tested[file], "supervised": trained}
            of |= {name: scores.get(name) for name in (*_SCORES, *_COUNTS)}
            of |= {"chance": 100 * always[row]["f1"][file]} if always else {}
            rows.append({**of, "measure": F1, "value": 100 * scores["f1"]})
            keys = [(*model, one["seed"], part, file) for part in parts]
            if keys and found.keys() >= {*keys} and not trained:
                rows.append({**of, "measure": BETTER_SOURCE, "value": max(found[k] for k in keys)})
        for epoch, f1 in enumerate(one.get("dev_f1", ()), 1):
            rows.append({**about, "measure": "dev F1", "epoch": epoch, "value": 100 * f1})
    for row, most in always.items():
        about = {"row": row, "model": f"always {most['label']}", "measure": ALWAYS}
        rows += [{**about, **of, "value": 100 * most["f1"][file]} for file, of in tested.items()]
    return [{**common, **{k: v for k, v in row.items() if v is not None}} for row in rows]


def read_others(folders: Sequence[str]) -> dict[str, Record]:
    """The records of the finished runs in ``folders``, by folder name."""
    found: dict[str, Record] = {}
    for folder in folders:
        path = Path(folder).resolve() / RESULTS
        if not path.is_file():
            raise UserError(f"`--compare` {folder}: must be a finished run of `struct matrix`")
        other = read_record(path)
        if not select(other.rows, {"study": STUDY, **OWN}):
            raise UserError(f"{path}: must be the results of `struct matrix`")
        name = path.parent.name
        if name in found:
            raise UserError(f"`--compare` must name folders of different names, got {name} twice")
        found[name] = other
    return found


def compared_with(
    rows: Sequence[Row], inputs: Mapping[str, Any], others: Mapping[str, Record]
) -> list[Row]:
    """``rows`` with the scores of ``others``, whose figures can be compared with theirs, seed by
    seed; ``inputs`` are those of the rows."""
    found = list(rows)
    own = select(rows, OWN)
    for name, other in others.items():
        theirs = select(other.rows, OWN)
        common = {x: {*distinct(theirs, x)} & {*distinct(own, x)} for x in ("row", "seed")}
        for column, what in (("row", "training set"), ("seed", "seed")):
            if not common[column]:
                raise UserError(f"`--compare` {name}: must have a {what} of this run")
        languages = {lang for row in common["row"] for lang in row.split("+")}
        read = other.provenance["inputs"]
        for role, one in inputs.items():
            kind, file = role.split(" ", 1)
            if kind == "compare" or (kind != "test" and file.rstrip("0123456789") not in languages):
                continue
            if role not in read or read[role]["sha256"] != one["sha256"]:
                raise UserError(
                    f"`--compare` {name}: must have read the same files as this run, not another "
                    f"{kind} file than {one['path']}"
                )
        found += [{**row, "run": name} for row in theirs]
    return found


def compared(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """The first model less each other one, of its own run and of those it was compared with.

    One entry for each training set and test file, and one for the mean over languages not trained
    on, if there are any; figures in percent, paired by seed.
    """
    own = select(rows, OWN)
    first = own[0]["model"]
    away = by_seed(select(own, {"supervised": False}), "row", "file")
    figures = by_seed(select(own, {"model": first}), "row", "file")
    found = []
    for run in distinct(select(rows, {"measure": F1}), "run"):
        of_run = select(rows, {"measure": F1, "run": run})
        seeds = sorted({*distinct(own, "seed")} & {*distinct(of_run, "seed")})
        for model in distinct(of_run, "model"):
            if run is None and model == first:
                continue
            theirs = by_seed(select(of_run, {"model": model}), "row", "file")
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
            about = {"model": first, "other": model, "run": run, "seeds": seeds}
            for (row, file), both in cells.items():
                found.append({**about, "row": row, "file": file, **paired_difference(*both)})
    return found


def _differences(rows: Sequence[Row]) -> Iterator[dict[str, Any]]:
    """`compared` as rows."""
    columns = {row["file"]: row["column"] for row in select(rows, OWN)}
    for one in compared(rows):
        found = {"paper": "transfer", "study": STUDY, "measure": DIFFERENCE, "value": one["mean"]}
        found |= {"model": one["model"], "row": one["row"] or "each", "unit": "points"}
        found["other"] = one["other"] + (f" ({one['run']})" if one["run"] else "")
        found |= {"column": columns.get(one["file"], one["file"]), "seeds": len(one["seeds"])}
        if one["p"] is not None:
            found["interval"] = f"{one['low']:+.1f} to {one['high']:+.1f}"
            found["p"] = shown_p(one["p"]).removeprefix("= ")
        yield found


def matrix_record(rows: Sequence[Row], config: "MatrixConfig", notes: Sequence[str]) -> Record:
    """The record of `measurements` and of those of other runs: models and training sets down, test
    files across."""
    rows = [*rows, *_differences(rows)]
    lines = {"model": "model", "trained on": "row"}
    heat = Chart(
        "heat",
        {**OWN, "model": distinct(select(rows, OWN), "network")},
        x="column",
        panel="model",
        xlabel="test",
        ylabel="trained on",
        unit="micro F1 (%)",
        scale=(0.0, 100.0),
    )
    where = {"measure": [F1, ALWAYS], "run": None}
    sections = [
        Section("Table", Table(lines, "column", where, digits=1), notes=notes, name="table"),
        Section("Heat map", chart=heat, name="heat-map"),
    ]
    if select(rows, {"measure": DIFFERENCE}):
        differences = Table(
            {"model": "model", "compared with": "other", "trained on": "row", "test": "column"},
            where={"measure": DIFFERENCE},
            digits=1,
            signed=(DIFFERENCE,),
            after={f"{LEVEL:.0%} interval": "interval", "p": "p", "seeds": "seeds"},
        )
        note = "Points of micro F1, model less what it is compared with; paired t-test over seeds."
        sections.append(Section("Differences", differences, notes=[note], name="paired"))
    return Record(
        f"Structure transfer: {config.task}",
        rows,
        tuple(sections),
        source="transfer note, 3",
        lead=[
            "Pairs of mentions were classified on the dependency tree of their sentence. Rows are "
            "what was trained on, columns what was tested on; the diagonal is supervised."
        ],
        config=dataclasses.asdict(config),
    )


def matrix_notes(config: "MatrixConfig", results: Sequence[Mapping[str, Any]]) -> list[str]:
    """What a reader of the table must know."""
    spread = f"seed {config.seeds}"
    if "," in config.seeds:
        spread = f"mean ± standard deviation over seeds {config.seeds}"
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
    return found
