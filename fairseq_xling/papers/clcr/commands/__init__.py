"""The verbs of CLCR, one file each."""

import sys


def warn(message: str) -> None:
    """One line about what is probably not meant."""
    print(f"fairseq-xling: warning: {message}", file=sys.stderr)
