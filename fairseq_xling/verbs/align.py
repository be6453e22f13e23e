"""Align the words of two plain text files that translate each other line by line.

    fairseq-xling align gdfa corpus.en corpus.de --output corpus.pharaoh

Writes a line of links i-j for each pair of lines: source word i belongs to target word j, both
counted from 0. `fairseq-xling prepare --alignment` reads such files.
"""

import argparse

from fairseq_xling.named_files import NEW_FILE, Input
from fairseq_xling.ranges import Number, Range

GROUP = "Data"
SPEC_ROWS = ("D5", "D7")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "links",
        metavar="LINKS",
        help="fwd (each target word at most one source word), rev (each source word at most one "
        "target word), or both combined: intersection, union, gdfa (grow-diag-final-and)",
    )
    parser.add_argument(
        "source", metavar=Input("SOURCE"), help="text, a sentence per line (also .gz)"
    )
    parser.add_argument("target", metavar=Input("TARGET"), help="its translation, line by line")
    parser.add_argument("--output", required=True, metavar=NEW_FILE, help="file of links to write")
    parser.add_argument(
        "--aligner",
        default="fast_align",
        metavar="NAME",
        help="fast_align (built in), fast_align_binary or eflomal (programs on PATH)",
    )
    for side in ("source", "target"):
        parser.add_argument(
            f"--segment-{side}",
            default="pre",
            metavar="HOW",
            help=f"words of the {side}: pre (as in the file), space (punctuation set off) or char "
            "(as space, and each Chinese or Japanese character on its own)",
        )
    parser.add_argument(
        "--workers",
        type=Number(int, Range(1, 2)),
        default=2,
        metavar="N",
        help="directions aligned at once",
    )


def run(args: argparse.Namespace) -> None:
    from pathlib import Path

    from fairseq_xling.text.alignment import align_files

    counts = align_files(
        (Path(args.source), Path(args.target)),
        Path(args.output),
        args.links,
        args.aligner,
        (args.segment_source, args.segment_target),
        args.workers,
    )
    print(f"{args.output}: {counts['links']:,} links of {counts['lines']:,} sentence pairs")
