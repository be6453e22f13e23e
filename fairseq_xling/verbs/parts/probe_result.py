"""The result of `fairseq-xling probe`: what the states of spans in a frozen encoder tell."""

import statistics
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pandas

from fairseq_xling.results.charts import bars, curves
from fairseq_xling.results.frame import figures, listed, make_frame, pivot, split
from fairseq_xling.results.page import Measured, Page, Result, Table, caption, seeds_in_words
from fairseq_xling.results.report import Section
from fairseq_xling.results.result import KINDS, Kind, find_results, write_results
from fairseq_xling.results.tables import text_table

SOURCE = "CLCR, Tables 5 and 6"
_FIGURES = {"precision": "P", "recall": "R", "f1": "F1"}
# heading of every score's table: column of the frame
_LONG = {"probe": "row", "seed": "seed", "file": "task", "language": "target"}
_LONG |= {name: name for name in (*_FIGURES, "right", "predicted", "gold")}

Scores = Sequence[Mapping[str, Any]]  # one for each probe and seed


def write_table(
    output: Path,
    tested: Mapping[str, str],
    baseline: Mapping[str, Mapping[str, Any]],
    probes: Scores,
    inputs: Mapping[str, Path],
    missing: str = "are beyond the model's positions or contain no letter",
    row: str = "E8",
) -> None:
    """Record the probes in ``output`` with the page, tables and figure of them; print the table.

    Args:
        tested: the language of each test file, by its name.
        baseline: F1 of the most frequent label, by file.
        inputs: files that they were made from, by role.
        missing: why examples have no vectors.
        row: of the specification, for the index.
    """
    seeds = sorted({one["options"]["seed"] for one in probes})
    notes = [f"micro precision, recall and F1 in percent; seeds {', '.join(map(str, seeds))}"]
    notes += _notes(probes, missing)
    record = {"notes": notes, "row": row, "always": baseline["valid"]["label"]}
    frame = measurements(probes, tested, baseline)
    write_results(Probing, output, record, inputs, frame=frame)
    (result,) = find_results(output)
    print(text_table(*_table(record["always"], scores_of(result.frame))))
    print("\n".join(f"({note})" for note in notes))
    print(f"written to {output}: results.json, report.html, table.csv, plot.svg, predictions/")


def measurements(
    probes: Scores, tested: Mapping[str, str], baseline: Mapping[str, Mapping[str, Any]]
) -> pandas.DataFrame:
    """A row for each probe, seed and file, for the F1 on dev of each epoch, and for the share of
    each layer in a mixture; ``value`` in percent, ``missing`` are examples without vectors.

    The dev file is the first.
    """
    rows = []
    for one in probes:
        layers, about = one["layers"], {"row": one["variant"], "seed": one["options"]["seed"]}
        layer = layers[0] if len(layers) == 1 else None
        for file in ("valid", *tested):
            if file not in one["scores"]:
                continue
            rows.append({**about, "layer": layer, "measure": "F1", "task": file})
            rows[-1] |= {name: one["scores"][file][name] for name in list(_LONG)[4:]}
            rows[-1] |= {"value": 100 * one["scores"][file]["f1"], "target": tested.get(file, "")}
            rows[-1] |= {"chance": 100 * baseline[file]["f1"], "epoch": one.get("epoch")}
            rows[-1] |= {"missing": one.get("without_vectors", {}).get(file)}
        for epoch, f1 in enumerate(one.get("dev_f1", ()), 1):
            rows.append({**about, "layer": layer, "measure": "dev F1", "value": 100 * f1})
            rows[-1]["epoch"] = epoch
        for layer, share in zip(layers, one.get("mix") or (), strict=False):
            rows.append({**about, "layer": layer, "measure": "share", "value": 100 * share})
    return make_frame(rows, study="probing", unit="%")


def scores_of(frame: pandas.DataFrame) -> pandas.DataFrame:
    """The rows of files; ``name`` is what figures and tables call them."""
    own = frame[frame["measure"] == "F1"]
    tested = dict(zip(own["task"], own["target"], strict=True))
    names = {file: "dev" if file == "valid" else shown(tested, file) for file in tested}
    return own.assign(name=own["task"].map(names).astype(object))


def _table(label: str, own: pandas.DataFrame) -> Table:
    """Means over seeds: F1 of the dev file, all figures of the others; the most frequent label
    first."""
    parts = [
        own.assign(column=own["name"] + f" {title}", value=100 * own[figure])
        for figure, title in _FIGURES.items()
    ]
    names = [name for name in dict.fromkeys(own["name"]) if name != "dev"]
    order = ["dev F1", *(f"{name} {title}" for name in names for title in _FIGURES.values())]
    f1 = parts[-1][parts[-1]["row"] == own["row"].iat[0]]
    always = f1.assign(row=f"always {label}", value=f1["chance"]).drop_duplicates("column")
    return pivot(pandas.concat([always, *parts]), {"probe": "row"}, "column", order=order, digits=1)


@KINDS.register("probing")
class Probing(Kind):
    """F1 by layer; bars for a single layer, or a mixture."""

    name = "probing"

    def page(self, result: Result) -> Page:
        record, own = result.record, scores_of(result.frame)
        header, rows = _table(record["always"], own)
        by_layer = own[own["layer"].notna()].sort_values("layer", kind="stable")
        seeds = sorted({*own["seed"]})
        if several := by_layer["layer"].nunique() > 1:
            prior = own.loc[own["name"] == "dev", "chance"].iat[0]
            figure = partial(
                curves,
                by_layer.assign(seed=None, chance=prior),  # means, without bands
                "micro F1 (%)",
                xlabel="layer (0 = embedding output)",
                line="name",
                chance=lambda rows: f"always {record['always']} (dev)",
                common=True,  # with some languages, a legend would lie on their curves
            )
        else:
            labelled = own.assign(label=own["name"] + " F1 (%)")
            words = {name: name for name in labelled["label"]}
            figure = partial(bars, labelled, words, series="label", panel="label")
        facts = ("Micro F1 in percent.", seeds_in_words(seeds, "" if several else "whiskers"))
        notes = caption(result, SOURCE, *facts)
        return Page(
            title="Probing spans of a frozen encoder",
            source=SOURCE,
            lead=["A small network reads the states of spans; the encoder does not change."],
            sections=[
                Section("Micro F1", figure=figure, notes=notes, name="plot"),
                Section("Table", header=header, rows=rows, notes=record["notes"], name="table"),
            ],
            tables={"table": listed(own, _LONG)},
            measured=list(_measured(own, record["row"])),
        )


def shown(tested: Mapping[str, str], name: str) -> str:
    """The name of a file: its language, if it is the only one of it.

    >>> tested = {"en.a": "en", "de.a": "de", "de.b": "de"}
    >>> shown(tested, "en.a"), shown(tested, "de.b"), shown(tested, "valid")
    ('en', 'de.b', 'valid')
    """
    lang = tested.get(name, name)
    return lang if list(tested.values()).count(lang) == 1 else name


def _measured(own: pandas.DataFrame, row: str) -> Iterator[Measured]:
    """Of each test file, or of the dev file if it is alone, the best probe."""
    alone = own["task"].nunique() == 1
    for file, rows in split(own, "task"):
        means = {name: statistics.fmean(values) for (name,), values in figures(rows, "row").items()}
        best = max(means, key=means.__getitem__)
        if file != "valid" or alone:
            yield Measured(row, f"micro F1 (%) of {file}, best probe {best}", means[best])


def _notes(probes: Scores, missing: str) -> list[str]:
    found = []
    counts = {(one["variant"], *x): None for one in probes for x in one["without_vectors"].items()}
    for name in probes[0]["without_vectors"]:
        numbers = {variant: count for variant, file, count in counts if file == name}
        alike = len(set(numbers.values())) == 1
        for variant, count in list(numbers.items())[: 1 if alike else None]:
            if count:
                where = name if alike else f"{variant}, {name}"
                found.append(f"{where}: {count:,} examples {missing}; their labels count as missed")
    for one in probes:
        if one["mix"]:
            pairs = zip(one["layers"], one["mix"], strict=True)
            shares = ", ".join(f"{layer}: {share:.2f}" for layer, share in pairs)
            found.append(f"seed {one['options']['seed']} mixes layers {shares}")
    return found
