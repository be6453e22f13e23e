"""Align the words of two plain text files that translate each other line by line.

    fairseq-xling align gdfa corpus.en corpus.de --output corpus.pharaoh

Writes a line of links i-j for each pair of lines: source word i belongs to target word j, both
counted from 0. `fairseq-xling prepare --alignment` reads such files.
"""

import dataclasses
from typing import Any

from fairseq_xling.core.named_files import NEW_FILE, Input
from fairseq_xling.core.options import REQUIRED, argument, option
from fairseq_xling.core.ranges import Range

GROUP = "Data"


def _segment(side: str) -> Any:
    return option(
        "pre",
        f"words of the {side}: pre (as in the file), space (punctuation set off) or char "
        "(as space, and each Chinese or Japanese character on its own)",
        metavar="HOW",
    )


@dataclasses.dataclass(frozen=True)
class Options:
    links: str = argument(
        "fwd (each target word at most one source word), rev (each source word at most one "
        "target word), or both combined: intersection, union, gdfa (grow-diag-final-and)",
        "LINKS",
    )
    source: str = argument("text, a sentence per line (also .gz)", Input("SOURCE"))
    target: str = argument("its translation, line by line", Input("TARGET"))
    output: str = option(REQUIRED, "file of links to write", metavar=NEW_FILE)
    aligner: str = option(
        "fast_align",
        "fast_align (built in), fast_align_binary or eflomal (programs on PATH)",
        metavar="NAME",
    )
    segment_source: str = _segment("source")
    segment_target: str = _segment("target")
    workers: int = option(2, "directions aligned at once", range=Range(1, 2))


def run(options: Options) -> None:
    from pathlib import Path

    from fairseq_xling.text.alignment import align_files

    counts = align_files(
        (Path(options.source), Path(options.target)),
        Path(options.output),
        options.links,
        options.aligner,
        (options.segment_source, options.segment_target),
        options.workers,
    )
    print(f"{options.output}: {counts['links']:,} links of {counts['lines']:,} sentence pairs")
