"""Map vectors into the space of others: word vectors, or the hidden states of another encoder.

    fairseq-xling map procrustes states-de states-en --pairs dictionary en-de.tsv \\
        --output de-en.safetensors
    fairseq-xling map apply de-en.safetensors states-de --output states-de-mapped

`procrustes`, `unconstrained`, `meeting` and `contextual` learn a matrix for each layer from pairs
of rows of two folders of `fairseq-xling extract`. The map that they write includes both sides'
normalisation; `map apply` and the measures of `fairseq-xling eval` apply it to other states.

    fairseq-xling map adversarial --source-vectors source.safetensors \\
        --vectors target.safetensors --output mapped.safetensors --seeds 1,2,3

`adversarial` and `identical` need no pairs. They write V W, the mapped vectors of every id of V,
and OUTPUT.json: the criterion of each seed (mean cosine to the nearest source word by CSLS), which
seeds failed, the refinement, and the retrieval accuracy of identically spelt words. The source
vectors, the raw embeddings of a pretrained encoder, are never changed.

If interrupted, the same command resumes with the next layer or seed.
"""

from __future__ import annotations

import argparse
import dataclasses
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairseq_xling.core import options as shared
from fairseq_xling.core.named_files import FILE, NEW_FOLDER, NEW_REPORTED, Input
from fairseq_xling.core.options import (
    REQUIRED,
    SEED_LIST,
    add_fields,
    argument,
    items_of,
    option,
    part_of,
    values_of,
)
from fairseq_xling.core.ranges import COUNT, NOT_NEGATIVE
from fairseq_xling.reports.page import sentence
from fairseq_xling.reports.pivot import Table
from fairseq_xling.reports.record import Chart, Record, Section, made, read_record, write_record
from fairseq_xling.reports.rows import select
from fairseq_xling.verbs.parts.output import as_text

if TYPE_CHECKING:
    from fairseq_xling.mapping.job import Tried

GROUP = "States and maps"
_CRITERION = "mean cosine to the nearest source word by CSLS"
# of words that are spelt alike: measure, and field of the evidence
_WORDS = {"words": "words", "candidates": "candidates", "P@1": "p_at_1", "P@10": "p_at_10"}


@dataclasses.dataclass(frozen=True)
class ApplyOptions:
    map: str = argument("file of a map", Input("MAP"))
    folder: str = argument("folder of `fairseq-xling extract`", Input("FOLDER"))
    output: str = shared.output("folder to write; must be new", NEW_FOLDER)
    side: str = option(
        "moving",
        "moving, or fixed: normalised as that side, but mapped only by `meeting`",
        metavar="SIDE",
    )


@dataclasses.dataclass(frozen=True)
class VectorOptions:
    """Of the methods that map word vectors; the help of ``normalize`` ends in the method's own."""

    source_vectors: str = option(REQUIRED, "vectors file that stays unchanged", metavar=Input("U"))
    vectors: str = option(REQUIRED, "vectors file to map", metavar=Input("V"))
    output: str = shared.output("vectors file to write", NEW_REPORTED)
    seeds: str = option(
        "1,2,3,4,5",
        "seeds to try in turn; the best map is kept",
        metavar="N,N",
        items=SEED_LIST,
    )
    normalize: str | None = option(
        None, "normalisation of both while W is learnt: ", metavar="STEPS"
    )
    refine: int = option(5, "rounds of refinement by Procrustes", range=NOT_NEGATIVE)
    max_rank: int = option(
        15_000, "number of most frequent words of each side used for refinement", range=COUNT
    )
    criterion_rank: int = option(
        10_000, "number of most frequent words of each side used for the criterion", range=COUNT
    )
    k: int = shared.neighbours()
    chance: int = option(
        3,
        "random rotations, refined likewise, that a seed must beat to count as a success",
        range=COUNT,
    )
    match: str = option(
        "none",
        "none (write V W) or moments (shift and scale it to the source vectors' mean and spread, "
        "as an encoder expects of its embeddings)",
        metavar="WHAT",
    )
    keep_failed: bool = option(False, "write the best map even if every seed failed")
    device: str = shared.device()


def add_arguments(parser: argparse.ArgumentParser) -> None:
    from fairseq_xling.mapping.methods import METHODS
    from fairseq_xling.mapping.normalize import NORMALIZATIONS
    from fairseq_xling.mapping.paired import PAIRED
    from fairseq_xling.mapping.pairs import PAIRS

    methods = parser.add_subparsers(dest="method", required=True, metavar="METHOD")

    def subparser(
        name: str, text: str, what: str, job: Callable[[argparse.Namespace], None]
    ) -> argparse.ArgumentParser:
        sub = methods.add_parser(
            name,
            help=text,
            description=f"{what}: {text}.",
            formatter_class=parser.formatter_class,
        )
        sub.set_defaults(job=job)
        return sub

    for name in METHODS:
        method = METHODS[name]()
        sub = subparser(name, method.help, "Map word vectors", _map_vectors)
        add_fields(sub, VectorOptions)
        [normalize] = (action for action in sub._actions if action.dest == "normalize")
        normalize.help += (
            f"{', '.join(NORMALIZATIONS)}, comma-separated, or none (default: {method.normalize})"
        )
        add_fields(sub.add_argument_group(f"method {name}"), method.options)
    for name in PAIRED:
        paired = PAIRED[name]()
        sub = subparser(name, paired.help, "Map hidden states", _fit_map)
        add_fields(sub, _paired_options(paired))
        for kind in PAIRS:
            if dataclasses.fields(PAIRS[kind].options):
                add_fields(sub.add_argument_group(f"pairs {kind}"), PAIRS[kind].options)
    sub = subparser("apply", "a mapped copy of a folder of states", "Map hidden states", _apply)
    add_fields(sub, ApplyOptions)


def _paired_options(method: Any) -> Any:
    """The options of a method that maps hidden states."""
    from fairseq_xling.mapping.normalize import NORMALIZATIONS
    from fairseq_xling.mapping.pairs import PAIRS

    kinds = ", ".join(f"{name}{' FILE' if PAIRS[name].reads else ''}" for name in PAIRS)
    kind = option(REQUIRED, f"pairs to fit on: {kinds}", metavar=("KIND", FILE), words="+")
    links = "links i-j of each line, as `fairseq-xling align` writes them"
    aligned = option(REQUIRED, links, metavar=FILE, words=1, flag="alignments")

    @dataclasses.dataclass(frozen=True)
    class Options:
        moving: str = argument(
            "folder of `fairseq-xling extract` whose states are mapped", Input("MOVING")
        )
        fixed: str = argument("folder with the states that they are mapped to", Input("FIXED"))
        pairs: tuple[str, ...] = kind if method.any_pairs else aligned
        layers: str = option(
            "all", "such as 0,2-4; all requires the same layers in both folders", metavar="LAYERS"
        )
        normalize: str = option(
            method.normalize,
            f"normalisation of all rows of either side: {', '.join(NORMALIZATIONS)}, "
            "comma-separated, or none",
            metavar="STEPS",
        )
        output: str = shared.output("map to write; FILE.json is its report", NEW_REPORTED)

    return Options


def run(args: argparse.Namespace) -> None:
    args.job(args)


def _fit_map(args: argparse.Namespace) -> None:
    from fairseq_xling.mapping.paired import PAIRED
    from fairseq_xling.mapping.pairs import PAIRS
    from fairseq_xling.verbs.parts.map_states import fit_map

    method = PAIRED[args.method]()
    options = values_of(_paired_options(method), args)
    kind, *files = options.pairs if method.any_pairs else ("alignments", *options.pairs)
    record = fit_map(args.method, options, kind, files, values_of(PAIRS[kind].options, args))
    _warn(record.lead)
    _say(options.output, record)


def _apply(args: argparse.Namespace) -> None:
    from fairseq_xling.verbs.parts.map_states import map_folder

    options = values_of(ApplyOptions, args)
    meta, warnings = map_folder(options)
    _warn(warnings)
    layers = ", ".join(map(str, meta["settings"]["layers"]))
    print(f"{options.output}: {meta['rows']:,} rows, {meta['width']} wide, of layers {layers}")


def _warn(lines: Sequence[str]) -> None:
    for line in lines:
        print(f"fairseq-xling: warning: {line}", file=sys.stderr)


def _map_vectors(args: argparse.Namespace) -> None:
    from fairseq_xling.mapping.job import MapOptions, map_vectors
    from fairseq_xling.mapping.methods import METHODS
    from fairseq_xling.mapping.search import SearchOptions

    given = values_of(VectorOptions, args)
    search = part_of(SearchOptions, given)
    options = part_of(MapOptions, given, seeds=items_of(given, "seeds"), search=search)

    def report(found: Tried) -> None:
        write_record(f"{given.output}.json", made(record_of(found), found.files))

    own = values_of(METHODS[args.method].options, args)
    _say(given.output, record_of(map_vectors(args.method, options, own, report)))


def _say(output: str, record: Record) -> None:
    print(f"{as_text(record)}\nwritten to {output}, {output}.json")


def record_of(found: Tried) -> Record:
    """The record of a map of word vectors: a row for each figure.

    Rows of a seed are those of ``row`` mapped; those of the seed that was kept have ``best``. The
    criterion, found and refined, has the ``state`` of the seed and the reason of its ``failure``.
    """
    rows: list[dict[str, Any]] = [
        {"row": "unmapped", "measure": "criterion", "value": found.criterion}
    ]
    for seed, one in found.attempts.items():
        about = {"seed": seed, **({"best": 1} if seed == found.best else {})}
        mapped = {"row": "mapped", **about}
        state = {"state": "accepted"}
        if one["failure"] is not None:
            state = {"state": "failed", "failure": one["failure"]}
        rows += [
            {**mapped, "measure": name, "value": value, "chance": found.chance, **state}
            for name, value in (("found", one["unrefined"]), ("refined", one["criterion"]))
        ]
        unmapped = {"row": "unmapped", **about}, found.evidence
        for of, evidence in ((mapped, one["evidence"]), unmapped):
            rows += [
                {**of, "measure": name, "value": evidence[key]}
                for name, key in _WORDS.items()
                if evidence[key] is not None
            ]
        for task, steps in (("training", one["history"]), ("refinement", one["rounds"])):
            for step, measured in enumerate(steps, 1):
                rows += [
                    {**mapped, "task": task, "step": step, "measure": name, "value": value}
                    for name, value in _flat(measured)
                ]
    seeds = {"measure": ["found", "refined"]}
    chart = Chart(
        *("bars", seeds, "seed {seed}, {state}"),
        **{"series": "measure", "panel": "task", "ylabel": _CRITERION},
        chance="chance ({chance})",
    )
    failed = found.attempts[found.best]["failure"] is not None
    kept = "every seed failed" if failed else f"best seed: {found.best}"
    method = found.settings["method"]
    return Record(
        f"Map of word vectors, {method}",
        [{"study": "map vectors", **row} for row in rows],
        (
            Section(
                "Every seed",
                Table({"seed": "seed"}, where=seeds, after={"failure": "failure"}),
                chart,
                [f"{_CRITERION}; that of refined random rotations is {found.chance:.3f}", kept],
            ),
            Section(
                "Identically spelt words",
                Table({"vectors": "row"}, where={"measure": [*_WORDS], "best": 1}),
                notes=["none of them was used for the map"],
            ),
        ),
        source="TreLM (Li et al., 2021), A.1",
        lead=[sentence(kept)],
        facts={"settings": found.settings, "words": found.words},
        seconds=found.seconds,
    )


def read_outcome(path: str | Path) -> dict[str, Any]:
    """What the record of a map says of the seed that was kept: ``best_seed``, its ``criterion``,
    whether it ``failed`` and the reason of its ``failure``, or None; of all the ``failed_seeds``,
    the ``chance`` that they had to beat, and ``criterion_unmapped``."""
    rows = read_record(path).rows
    refined = select(rows, {"measure": "refined"})
    (best,) = select(refined, {"best": 1})
    (before,) = select(rows, {"row": "unmapped", "measure": "criterion"})
    return {
        **{"best_seed": best["seed"], "criterion": best["value"], "chance": best["chance"]},
        **{"criterion_unmapped": before["value"], "failure": best.get("failure")},
        "failed": best["state"] == "failed",
        "failed_seeds": [row["seed"] for row in select(refined, {"state": "failed"})],
    }


def _flat(measured: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Figures by name, those of a list numbered."""
    for name, value in measured.items():
        if isinstance(value, list | tuple):
            yield from ((f"{name} {n}", one) for n, one in enumerate(value, 1))
        elif value is not None:
            yield name, value
