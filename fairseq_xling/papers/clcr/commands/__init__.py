"""The verbs of CLCR, one file each; and the options and results that several of them have."""

import argparse
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from fairseq_xling.core.named_files import CHECKPOINT, DATA, LABELS, NEW_RESULTS
from fairseq_xling.core.ranges import COUNT, Number


def add_trained(parser: argparse.ArgumentParser, having: str = "") -> None:
    """The checkpoint whose modules are used, ``having`` what it must have, and its data folder."""
    parser.add_argument(
        "checkpoint", metavar=CHECKPOINT, help=f"of fairseq-train --task clcr{having}"
    )
    parser.add_argument("--data", metavar=DATA, help="its data folder, if it has moved")


def add_labelled(parser: argparse.ArgumentParser, having: str) -> None:
    """Those of `add_trained`, and labelled sentence pairs that the modules are measured on."""
    add_trained(parser, having)
    add = parser.add_argument
    add("--labels", required=True, metavar=LABELS, help="folder of `fairseq-xling clcr label`")
    add("--split", default="valid", help="of the data folder's parallel text")


def add_batches(parser: argparse.ArgumentParser, of: str = "side and batch") -> None:
    """How large batches are, and where they are computed."""
    about = f"maximum padded tokens per {of}"
    parser.add_argument("--max-tokens", type=Number(int, COUNT), default=8192, help=about)
    parser.add_argument("--device", default="cpu", help="cpu, cuda or cuda:N")


def add_table(parser: argparse.ArgumentParser) -> None:
    """Where the results of a verb go that makes a table alone."""
    parser.add_argument(
        "--output",
        metavar=NEW_RESULTS,
        help="file for the results; the table is written next to it as .csv",
    )
    parser.set_defaults(figure=None)


def finish_measure(
    args: argparse.Namespace,
    record: dict[str, Any],
    files: dict[str, Path],
    draw: Callable[[dict[str, Any]], Any] | None = None,
) -> None:
    """Print and write what a verb has measured; ``draw`` makes its figure of the record."""
    from fairseq_xling.verbs.parts.comparison import finish

    figure = partial(draw, record) if draw and args.figure else None
    shown = (record[name] for name in ("title", "header", "rows", "notes"))
    finish(args, *shown, record, files, figure)


def warn(message: str) -> None:
    """One line about what is probably not meant."""
    print(f"fairseq-xling: warning: {message}", file=sys.stderr)
