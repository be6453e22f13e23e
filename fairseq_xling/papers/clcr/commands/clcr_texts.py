"""Write premises and hypotheses of labelled pairs as plain text, one line each, to be encoded.

  fairseq-xling clcr texts nli/train.en.tsv --output text/train.en
  fairseq-xling clcr encode model.pt --lang en --text text/train.en.premise --row T+E \\
      --output seq/TE/train.en.premise

Writes text/train.en.premise and text/train.en.hypothesis. `fairseq-xling clcr classify` finds the
sequences of both as --vectors "T+E=seq/TE/{file}.{side}".
"""

import argparse

from fairseq_xling.core.named_files import FILE, OutputFile

GROUP = "CLCR"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("source", metavar=FILE, help="labelled pairs, as `fairseq-xling clcr classify` reads them")
    add("--format", default="", help="tsv or json_lines (default: tsv)")
    add("--columns", default="", help="which column holds what, e.g. text=0,pair=1,label=2")
    add(
        "--output",
        required=True,
        metavar=OutputFile("STEM", "{}.premise", "{}.hypothesis"),
        help="files to write are STEM.premise, ...",
    )


def run(args: argparse.Namespace) -> None:
    from pathlib import Path

    from fairseq_xling.papers.clcr.labelled import write_texts

    count = write_texts(Path(args.source), args.output, args.format, args.columns)
    print(f"{args.output}.premise, {args.output}.hypothesis: {count:,} sentences each")
