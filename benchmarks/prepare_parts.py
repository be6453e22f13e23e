"""Where the processor time of `fairseq-xling prepare` goes, part by part.

    python benchmarks/prepare_parts.py OUT [OPTION ...]

Takes the options of `prepare` and makes the folder in this process, with timers around its parts,
each without the parts inside it; aligners are processes of their own. One worker, since a timer
counts all threads.
"""

import resource
import sys
import time
from collections.abc import Callable
from functools import wraps
from typing import Any

from sentencepiece import SentencePieceTrainer

from fairseq_xling.cli import main
from fairseq_xling.text import binarize, pieces, prepare, segment, vocabulary, writer

PARTS = (
    (prepare, "fingerprint", "hashing the input"),
    (prepare, "check_inputs", "checking the text"),
    (vocabulary, "_sample", "drawing the sample"),
    (pieces, "_restrict_alphabet", "choosing the alphabet"),
    (SentencePieceTrainer, "train", "sentencepiece's trainer"),
    (prepare, "learn_vocabulary", "rest of the vocabulary"),
    (prepare, "TextEncoder", "loading encoders"),
    (binarize, "lines_of", "decoding, lines"),
    (segment.Segmentation, "__call__", "segmentation"),
    (pieces.Pieces, "encode", "encoding to pieces"),
    (binarize.PairEncoder, "__call__", "ids, counts"),
    (writer.ResumableFiles, "append", "writing"),
    (writer.ResumableFiles, "finish", "writing"),
    (prepare.FolderMaker, "_align", "alignment, ours"),
    (prepare, "describe_files", "digests of the folder"),
)


def timed(name: str, function: Callable, spent: dict[str, float], inner: list[float]) -> Callable:
    """``function``, whose own processor seconds are added to ``spent[name]``."""

    @wraps(function, updated=())
    def call(*args: Any, **options: Any) -> Any:
        start = time.process_time()
        inner.append(0.0)
        try:
            return function(*args, **options)
        finally:
            seconds = time.process_time() - start
            spent[name] += seconds - inner.pop()
            if inner:
                inner[-1] += seconds

    return call


def run() -> int:
    spent, inner = {name: 0.0 for _, _, name in PARTS}, []
    for owner, attribute, name in PARTS:
        setattr(owner, attribute, timed(name, getattr(owner, attribute), spent, inner))
    status = main(["prepare", *sys.argv[1:], "--workers", "1"])
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    total = time.process_time()
    spent["start, imports, the rest"] = total - sum(spent.values())
    spent["aligner's processes"] = used.ru_utime + used.ru_stime
    spent["all"] = total + spent["aligner's processes"]
    for name, value in spent.items():
        print(f"{name:26}{value:8.2f} CPU s")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
    print(f"peak memory: {peak:.0f} MB")
    return status


if __name__ == "__main__":
    sys.exit(run())
