"""Map word vectors into the space of others by an orthogonal matrix W.

    fairseq-xling map adversarial --source-vectors source.safetensors \\
        --vectors target.safetensors --output mapped.safetensors --seeds 1,2,3

Writes V W, every id of the vectors V mapped, and OUTPUT.json: the criterion of each seed (mean
cosine to the nearest source word by CSLS), which seeds failed, the refinement, and how well words
that are spelt alike find each other. Stopped in between, the same command goes on with the next
seed. The source vectors, the raw embeddings of a pretrained encoder, are never changed.
"""

import argparse


def add_arguments(parser: argparse.ArgumentParser) -> None:
    from fairseq_xling.mapping.methods import METHODS

    methods = parser.add_subparsers(dest="method", required=True, metavar="METHOD")
    for name in METHODS:
        method = METHODS[name]()
        sub = methods.add_parser(
            name,
            help=method.help,
            description=f"Map word vectors: {method.help}.",
            formatter_class=parser.formatter_class,
        )
        _add_common(sub, method.normalize)
        method.add_arguments(sub.add_argument_group(f"method {name}"))


def _add_common(parser: argparse.ArgumentParser, normalize: str) -> None:
    from fairseq_xling.mapping.normalize import NORMALIZATIONS

    add = parser.add_argument
    add("--source-vectors", required=True, metavar="U", help="vectors file that stays as it is")
    add("--vectors", required=True, metavar="V", help="vectors file to map")
    add("--output", required=True, metavar="FILE", help="vectors file to write")
    add("--seeds", default="1,2,3,4,5", metavar="N,N", help="tried in turn, the best is kept")
    add(
        "--normalize",
        metavar="STEPS",
        help=f"done to both while W is sought: {', '.join(NORMALIZATIONS)}, separated by commas, "
        f"or none (default: {normalize})",
    )
    add("--refine", type=int, default=5, metavar="N", help="rounds of refinement by Procrustes")
    add(
        "--max-rank",
        type=int,
        default=15_000,
        metavar="N",
        help="most frequent words of each side that refinement pairs",
    )
    add(
        "--criterion-rank",
        type=int,
        default=10_000,
        metavar="N",
        help="most frequent words of each side that the criterion is computed from",
    )
    add("--k", type=int, default=10, metavar="K", help="neighbours that CSLS averages over")
    add(
        "--chance",
        type=int,
        default=3,
        metavar="N",
        help="random rotations, refined likewise, that a seed must beat; else it has failed",
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
    from fairseq_xling.mapping.job import MapOptions, map_vectors, summary
    from fairseq_xling.mapping.search import SearchOptions
    from fairseq_xling.runs.config_file import parse_seeds

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
    report = map_vectors(args.method, options, args)
    print(summary(args.output, report))
