"""The verbs of CLCR, one file each; and the options that several of them have."""

import argparse
import sys

from fairseq_xling.core.named_files import CHECKPOINT, DATA
from fairseq_xling.core.ranges import COUNT, Number


def add_trained(parser: argparse.ArgumentParser, having: str = "") -> None:
    """The checkpoint whose modules are used, ``having`` what it must have, and its data folder."""
    parser.add_argument(
        "checkpoint", metavar=CHECKPOINT, help=f"of fairseq-train --task clcr{having}"
    )
    parser.add_argument("--data", metavar=DATA, help="its data folder, if it has moved")


def add_batches(parser: argparse.ArgumentParser, of: str = "side and batch") -> None:
    """How large batches are, and where they are computed."""
    about = f"maximum padded tokens per {of}"
    parser.add_argument("--max-tokens", type=Number(int, COUNT), default=8192, help=about)
    parser.add_argument("--device", default="cpu", help="cpu, cuda or cuda:N")


def warn(message: str) -> None:
    """One line about what is probably not meant."""
    print(f"fairseq-xling: warning: {message}", file=sys.stderr)
