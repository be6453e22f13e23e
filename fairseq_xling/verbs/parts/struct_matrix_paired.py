"""Models of `struct matrix` compared seed by seed, within a run and with finished others."""

import statistics
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from fairseq_xling.errors import UserError
from fairseq_xling.files import read_json
from fairseq_xling.results.paired import LEVEL, paired_difference, shown_p

Record = Mapping[str, Any]
Model = tuple[str, str]  # network and variant
AWAY = "not trained on"  # in place of a test file: the mean over such languages
RESULTS = "results.json"  # of a finished run
_KEYS = {"structures", "sources", "languages", "provenance"}
HEADER = ["model", "compared with", "trained on", "test", "difference", f"{LEVEL:.0%} interval"]
HEADER += ["p", "seeds"]


def read_others(folders: Sequence[str]) -> dict[str, Record]:
    """The finished runs in ``folders``, by folder name.

    Raises:
        UserError: if one is no finished run of the verb, or two have the same name.
    """
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


def check_others(record: Record, others: Mapping[str, Record]) -> None:
    """Check that figures of ``others`` can be compared with those of ``record``, seed by seed.

    Raises:
        UserError: if a run has no training set or no seed of this one, or read other files.
    """
    for name, other in others.items():
        shared = other["sources"].keys() & record["sources"].keys()
        for what, common in (
            ("training set", shared),
            ("seed", _seeds(other) & _seeds(record)),
        ):
            if not common:
                raise UserError(f"`--compare` {name}: must have a {what} of this run")
        languages = {lang for row in shared for lang in record["sources"][row]}
        theirs = other["provenance"]["inputs"]
        for role, one in record["provenance"]["inputs"].items():
            kind, file = role.split(" ", 1)
            if kind == "compare" or (kind != "test" and file.rstrip("0123456789") not in languages):
                continue
            if role not in theirs or theirs[role]["sha256"] != one["sha256"]:
                raise UserError(
                    f"`--compare` {name}: must have read the same files as this run, not another "
                    f"{kind} file than {one['path']}"
                )


def compared(record: Record, others: Mapping[str, Record]) -> list[dict[str, Any]]:
    """The first model of ``record`` less each other one, and less each one of ``others``.

    One entry for each training set and test file, and one for the mean over languages not trained
    on, if there are any; figures in percent, paired by seed.
    """
    first = models_of(record["structures"])[0]
    sides = [(record, model, "") for model in models_of(record["structures"])[1:]]
    sides += [
        (other, model, name)
        for name, other in others.items()
        for model in models_of(other["structures"])
    ]
    return [
        {"model": list(first), "other": list(model), "run": name, "row": row, "file": file,
         "seeds": seeds, **paired_difference(own, theirs)}
        for other, model, name in sides
        for row, file, seeds, own, theirs in _pairs(record, first, other, model)
    ]  # fmt: skip


def _pairs(
    record: Record, first: Model, other: Record, model: Model
) -> Iterator[tuple[str, str, list[int], list[float], list[float]]]:
    """Figures of both models by row and file; row and file of the mean are empty and `AWAY`."""
    seeds = sorted(_seeds(record) & _seeds(other))
    away: list[tuple[list[float], list[float]]] = []
    for row, langs in record["sources"].items():
        if row not in other["sources"]:
            continue
        for file, lang in record["languages"].items():
            own, theirs = (
                [_figure(of, one, row, seed, file) for seed in seeds]
                for of, one in ((record, first), (other, model))
            )
            yield row, file, seeds, own, theirs
            if lang not in langs:
                away.append((own, theirs))
    if away:
        own, theirs = (
            [statistics.fmean(of_seed) for of_seed in zip(*side, strict=True)]
            for side in zip(*away, strict=True)
        )
        yield "", AWAY, seeds, own, theirs


def table(found: Sequence[Mapping[str, Any]], languages: Mapping[str, str]) -> list[list[Any]]:
    """Rows of `HEADER`."""
    return [
        [
            model_name(*one["model"]),
            model_name(*one["other"]) + (f" ({one['run']})" if one["run"] else ""),
            one["row"] or "each",
            languages.get(one["file"], one["file"]),
            f"{one['mean']:+.1f}",
            "" if one["low"] is None else f"{one['low']:+.1f} to {one['high']:+.1f}",
            "" if one["p"] is None else shown_p(one["p"]).removeprefix("= "),
            len(one["seeds"]),
        ]
        for one in found
    ]


def models_of(results: Sequence[Mapping[str, Any]]) -> list[Model]:
    """Networks with their variants, in the order of the run."""
    return list(dict.fromkeys((one["network"], one["variant"]) for one in results))


def model_name(network: str, variant: str) -> str:
    """As tables show it.

    >>> model_name("gcn", ""), model_name("gcn", "L = 0")
    ('gcn', 'gcn, L = 0')
    """
    return ", ".join(filter(None, (network, variant)))


def _seeds(record: Record) -> set[int]:
    return {one["seed"] for one in record["structures"]}


def _figure(record: Record, model: Model, row: str, seed: int, file: str) -> float:
    for one in record["structures"]:
        if ((one["network"], one["variant"]), one["row"], one["seed"]) == (model, row, seed):
            return 100 * one["scores"][file]["f1"]
    raise KeyError((model, row, seed))
