"""Map vectors into the space of others: word vectors, or the hidden states of another encoder.

    fairseq-xling map procrustes states-de states-en --pairs dictionary en-de.tsv \\
        --output de-en.safetensors
    fairseq-xling map apply de-en.safetensors states-de --output states-de-mapped

`procrustes`, `unconstrained`, `meeting`, `anchored` and `contextual` learn a matrix for each layer
from pairs of rows of two folders of `fairseq-xling extract`. The map that they write includes both
sides' normalisation; `map apply` and the measures of `fairseq-xling eval` apply it to other states.

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
from collections.abc import Callable, Sequence
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

if TYPE_CHECKING:
    from fairseq_xling.reports.record import Record

GROUP = "States and maps"
SPEC_ROWS = ("S1", "S2", "S3", "S6", "T11", "T12", "T13", "T23")


@dataclasses.dataclass(frozen=True)
class ApplyOptions:
    map: str = argument("file of a map", Input("MAP"))
    folder: str = argument("folder of `fairseq-xling extract`", Input("FOLDER"))
    output: str = option(REQUIRED, "folder to write; must be new", metavar=NEW_FOLDER)
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
    output: str = option(REQUIRED, "vectors file to write", metavar=NEW_REPORTED)
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
        _add_paired(sub, paired)
    sub = subparser("apply", "a mapped copy of a folder of states", "Map hidden states", _apply)
    add_fields(sub, ApplyOptions)


def _add_paired(parser: argparse.ArgumentParser, method: Any) -> None:
    from fairseq_xling.mapping.normalize import NORMALIZATIONS
    from fairseq_xling.mapping.pairs import PAIRS

    kinds = ", ".join(f"{name}{' FILE' if PAIRS[name].reads else ''}" for name in PAIRS)

    @dataclasses.dataclass(frozen=True)
    class Folders:
        moving: str = argument(
            "folder of `fairseq-xling extract` whose states are mapped", Input("MOVING")
        )
        fixed: str = argument("folder with the states that they are mapped to", Input("FIXED"))

    @dataclasses.dataclass(frozen=True)
    class AnyPairs(Folders):
        pairs: tuple[str, ...] = option(
            REQUIRED, f"pairs to fit on: {kinds}", metavar=("KIND", FILE), words="+"
        )

    @dataclasses.dataclass(frozen=True)
    class Rest:
        layers: str = option(
            "all", "such as 0,2-4; all requires the same layers in both folders", metavar="LAYERS"
        )
        normalize: str = option(
            method.normalize,
            f"normalisation of all rows of either side: {', '.join(NORMALIZATIONS)}, "
            "comma-separated, or none",
            metavar="STEPS",
        )
        output: str = option(
            REQUIRED, "map to write; FILE.json is its report", metavar=NEW_REPORTED
        )

    add_fields(parser, AnyPairs if method.any_pairs else Folders)
    if not method.any_pairs:
        parser.add_argument(
            "--alignments",
            dest="pairs",
            type=lambda file: ["alignments", file],
            required=True,
            metavar=FILE,
            help="links i-j of each line, as `fairseq-xling align` writes them",
        )
    add_fields(parser, method.options)
    add_fields(parser, Rest)
    for name in PAIRS:
        if dataclasses.fields(PAIRS[name].options):
            add_fields(parser.add_argument_group(f"pairs {name}"), PAIRS[name].options)


def run(args: argparse.Namespace) -> None:
    args.job(args)


def _fit_map(args: argparse.Namespace) -> None:
    from fairseq_xling.verbs.parts.map_states import fit_map

    record = fit_map(args.method, args)
    _warn(record.lead)
    _say(args.output, record)


def _apply(args: argparse.Namespace) -> None:
    from fairseq_xling.verbs.parts.map_states import map_folder

    meta, warnings = map_folder(values_of(ApplyOptions, args))
    _warn(warnings)
    layers = ", ".join(map(str, meta["settings"]["layers"]))
    print(f"{args.output}: {meta['rows']:,} rows, {meta['width']} wide, of layers {layers}")


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
    _say(
        args.output,
        map_vectors(args.method, options, values_of(METHODS[args.method].options, args)),
    )


def _say(output: str, record: Record) -> None:
    from fairseq_xling.verbs.parts.output import as_text

    print(f"{as_text(record)}\nwritten to {output}, {output}.json")
