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

import argparse
import sys
from dataclasses import fields

from fairseq_xling.named_files import FILE, NEW_FOLDER, NEW_REPORTED, Input
from fairseq_xling.options import add_fields, values_of
from fairseq_xling.ranges import COUNT, NOT_NEGATIVE, Number

GROUP = "States and maps"
SPEC_ROWS = ("S1", "S2", "S3", "S6", "T11", "T12", "T13", "T23")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    from fairseq_xling.mapping.methods import METHODS
    from fairseq_xling.mapping.paired import PAIRED

    methods = parser.add_subparsers(dest="method", required=True, metavar="METHOD")

    def subparser(name: str, text: str, what: str, job) -> argparse.ArgumentParser:
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
        _add_common(sub, method.normalize)
        add_fields(sub.add_argument_group(f"method {name}"), method.options)
    for name in PAIRED:
        paired = PAIRED[name]()
        sub = subparser(name, paired.help, "Map hidden states", _fit_map)
        _add_paired(sub, paired)
    sub = subparser("apply", "a mapped copy of a folder of states", "Map hidden states", _apply)
    sub.add_argument("map", metavar=Input("MAP"), help="file of a map")
    sub.add_argument("folder", metavar=Input("FOLDER"), help="folder of `fairseq-xling extract`")
    sub.add_argument(
        "--output", required=True, metavar=NEW_FOLDER, help="folder to write; must be new"
    )
    sub.add_argument(
        "--side",
        default="moving",
        metavar="SIDE",
        help="moving, or fixed: normalised as that side, but mapped only by `meeting`",
    )


def _add_paired(parser: argparse.ArgumentParser, method) -> None:
    from fairseq_xling.mapping.normalize import NORMALIZATIONS
    from fairseq_xling.mapping.pairs import PAIRS

    add = parser.add_argument
    add(
        "moving",
        metavar=Input("MOVING"),
        help="folder of `fairseq-xling extract` whose states are mapped",
    )
    add("fixed", metavar=Input("FIXED"), help="folder with the states that they are mapped to")
    if method.any_pairs:
        kinds = ", ".join(f"{name}{' FILE' if PAIRS[name].reads else ''}" for name in PAIRS)
        add(
            "--pairs",
            nargs="+",
            required=True,
            metavar=("KIND", FILE),
            help=f"pairs to fit on: {kinds}",
        )
    else:
        add(
            "--alignments",
            dest="pairs",
            type=lambda file: ["alignments", file],
            required=True,
            metavar=FILE,
            help="links i-j of each line, as `fairseq-xling align` writes them",
        )
    add_fields(parser, method.options)
    add(
        "--layers",
        default="all",
        help="such as 0,2-4; all requires the same layers in both folders",
    )
    add(
        "--normalize",
        default=method.normalize,
        metavar="STEPS",
        help="normalisation of all rows of either side: "
        f"{', '.join(NORMALIZATIONS)}, comma-separated, or none",
    )
    add(
        "--output",
        required=True,
        metavar=NEW_REPORTED,
        help="map to write; FILE.json is its report",
    )
    for name in PAIRS:
        if fields(PAIRS[name].options):
            add_fields(parser.add_argument_group(f"pairs {name}"), PAIRS[name].options)


def _add_common(parser: argparse.ArgumentParser, normalize: str) -> None:
    from fairseq_xling.mapping.normalize import NORMALIZATIONS

    add = parser.add_argument
    add(
        "--source-vectors",
        required=True,
        metavar=Input("U"),
        help="vectors file that stays unchanged",
    )
    add("--vectors", required=True, metavar=Input("V"), help="vectors file to map")
    add("--output", required=True, metavar=NEW_REPORTED, help="vectors file to write")
    add(
        "--seeds",
        default="1,2,3,4,5",
        metavar="N,N",
        help="seeds to try in turn; the best map is kept",
    )
    add(
        "--normalize",
        metavar="STEPS",
        help=f"normalisation of both while W is learnt: {', '.join(NORMALIZATIONS)}, "
        f"comma-separated, "
        f"or none (default: {normalize})",
    )
    add(
        "--refine",
        type=Number(int, NOT_NEGATIVE),
        default=5,
        metavar="N",
        help="rounds of refinement by Procrustes",
    )
    add(
        "--max-rank",
        type=Number(int, COUNT),
        default=15_000,
        metavar="N",
        help="number of most frequent words of each side used for refinement",
    )
    add(
        "--criterion-rank",
        type=Number(int, COUNT),
        default=10_000,
        metavar="N",
        help="number of most frequent words of each side used for the criterion",
    )
    add(
        "--k",
        type=Number(int, COUNT),
        default=10,
        metavar="K",
        help="neighbours that CSLS averages over",
    )
    add(
        "--chance",
        type=Number(int, COUNT),
        default=3,
        metavar="N",
        help="random rotations, refined likewise, that a seed must beat to count as a success",
    )
    add(
        "--match",
        default="none",
        metavar="WHAT",
        help="none (write V W) or moments (shift and scale it to the source vectors' mean and "
        "spread, as an encoder expects of its embeddings)",
    )
    add("--keep-failed", action="store_true", help="write the best map even if every seed failed")
    add("--device", default="cpu", help="cpu, cuda or cuda:N")


def run(args: argparse.Namespace) -> None:
    args.job(args)


def _fit_map(args: argparse.Namespace) -> None:
    from fairseq_xling.verbs.parts.map_states import fit_map, summary

    report = fit_map(args.method, args)
    _warn(report["warnings"])
    print(summary(args.output, report))


def _apply(args: argparse.Namespace) -> None:
    from fairseq_xling.verbs.parts.map_apply import map_folder

    meta, warnings = map_folder(args)
    _warn(warnings)
    layers = ", ".join(map(str, meta["settings"]["layers"]))
    print(f"{args.output}: {meta['rows']:,} rows, {meta['width']} wide, of layers {layers}")


def _warn(lines: list[str]) -> None:
    for line in lines:
        print(f"fairseq-xling: warning: {line}", file=sys.stderr)


def _map_vectors(args: argparse.Namespace) -> None:
    from fairseq_xling.mapping.job import MapOptions, map_vectors, summary
    from fairseq_xling.mapping.methods import METHODS
    from fairseq_xling.mapping.search import SearchOptions
    from fairseq_xling.runs.options import parse_seeds

    options = MapOptions(
        source_vectors=args.source_vectors,
        vectors=args.vectors,
        output=args.output,
        seeds=parse_seeds("--seeds", args.seeds),
        normalize=args.normalize,
        match=args.match,
        keep_failed=args.keep_failed,
        search=SearchOptions(
            refine=args.refine,
            max_rank=args.max_rank,
            criterion_rank=args.criterion_rank,
            k=args.k,
            chance=args.chance,
        ),
        device=args.device,
    )
    report = map_vectors(args.method, options, values_of(METHODS[args.method].options, args))
    print(summary(args.output, report))
