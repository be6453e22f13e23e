"""Align the words of two plain text files that translate each other line by line.

    fairseq-xling align gdfa corpus.en corpus.de --output corpus.pharaoh
    fairseq-xling align intersection news.en news.de --encoder encoder --languages en,de \\
        --output news.pharaoh

Writes a line of links i-j for each pair of lines: source word i belongs to target word j, both
counted from 0. `fairseq-xling prepare --alignment` reads such files. Without `--encoder` an aligner
learns from the files themselves, which takes some ten thousand pairs; with it words are linked by
the similarity of their vectors in context, a pair at a time, as SimAlign does (Jalili Sabet et al.,
2020): intersection is its "argmax".
"""

import dataclasses
from typing import Any

from fairseq_xling.core import options as shared
from fairseq_xling.core.errors import UserError
from fairseq_xling.core.named_files import CHECKPOINT, FILE, NEW_FILE, Input
from fairseq_xling.core.options import argument, option
from fairseq_xling.core.ranges import NOT_NEGATIVE, Range

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
        "target word), or both combined: intersection, union, gdfa (grow-diag-final-and); with "
        "`--encoder` also itermax (intersection, and again for words that have no link yet)",
        "LINKS",
    )
    source: str = argument("text, a sentence per line (also .gz)", Input("SOURCE"))
    target: str = argument("its translation, line by line", Input("TARGET"))
    output: str = shared.output("file of links to write", NEW_FILE)
    aligner: str = option(
        "fast_align",
        "fast_align (built in), fast_align_binary or eflomal (programs on PATH)",
        metavar="NAME",
    )
    segment_source: str = _segment("source")
    segment_target: str = _segment("target")
    encoder: str | None = option(
        None, "model whose vectors link the words, instead of an aligner", metavar=CHECKPOINT
    )
    data: str | None = shared.data_of_model("encoder")
    languages: str | None = option(
        None, "of source and target, as the encoder names them", metavar="A,B"
    )
    layer: int | None = option(
        None,
        "layer of the vectors, 0 the embeddings' output (default: the last)",
        range=NOT_NEGATIVE,
        metavar="LAYER",
    )
    map: str | None = option(
        None, "map of the source's vectors to the target's (`fairseq-xling map`)", metavar=FILE
    )
    device: str = option("cpu", "where the encoder runs, cpu or cuda", metavar="NAME")
    workers: int = option(2, "directions aligned at once", range=Range(1, 2))


def run(options: Options) -> None:
    from pathlib import Path

    if options.encoder is not None:
        from fairseq_xling.verbs.parts.encoder_links import link_files

        if options.aligner != "fast_align":
            raise UserError(f"`--aligner` has no effect with `--encoder`, got {options.aligner}")
        counts = link_files(
            (Path(options.source), Path(options.target)),
            Path(options.output),
            options.links,
            (options.segment_source, options.segment_target),
            options.encoder,
            options.data,
            options.languages,
            options.layer,
            options.map,
            options.device,
        )
        print(f"{options.output}: {counts['links']:,} links of {counts['lines']:,} sentence pairs")
        return
    for name in ("data", "languages", "map"):
        if getattr(options, name) is not None:
            raise UserError(f"`--{name}` has no effect without `--encoder`")

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
