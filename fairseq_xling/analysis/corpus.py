"""A language's text as blocks of sentences in ids: a file of text, or a split of a data folder.

A corpus has ``total`` sentences of the source ``name``. ``blocks(done)`` yields those after the
first ``done``, each its ids and a final ``</s>``; only one block is in memory at a time.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from fairseq_xling.analysis.convert import vocabulary
from fairseq_xling.analysis.subject import TextEncoder
from fairseq_xling.core.errors import UserError
from fairseq_xling.core.texts import read_sentences
from fairseq_xling.data.folder import SPECIALS
from fairseq_xling.data.mmap import TokenFile
from fairseq_xling.text.blocks import sentence_blocks

BLOCK = 2048  # sentences of a split
_PIECE = 1 << 22  # tokens processed together


class TextCorpus:
    """The lines of a UTF-8 file, gzip if its name ends in ``.gz``.

    Raises:
        UserError: if it is missing or has no lines.
    """

    def __init__(self, path: Path, encode: TextEncoder):
        self._path, self._encode = path, encode
        self.name = str(path)
        self.total = sum(1 for _ in read_sentences(path))
        if not self.total:
            raise UserError(f"{path}: contains no lines")

    def blocks(self, done: int = 0) -> Iterator[Sequence[np.ndarray]]:
        for lines in sentence_blocks(self._path, done):
            yield self._encode.encode(lines)


class SplitCorpus:
    """The sentences of a data folder's token file."""

    def __init__(self, file: TokenFile):
        self._file = file
        self.name = file.prefix
        self.total = len(file)

    def blocks(self, done: int = 0) -> Iterator[Sequence[np.ndarray]]:
        for start in range(done, self.total, BLOCK):
            yield [self._file[i] for i in range(start, min(start + BLOCK, self.total))]


Corpus = TextCorpus | SplitCorpus


def token_set(file: TokenFile, size: int) -> Tensor:
    """Which of ``size`` ids occur in ``file``: (V,) bool, special symbols left out."""
    pieces = (
        torch.from_numpy(file.tokens[start : start + _PIECE].astype(np.int64))
        for start in range(0, len(file.tokens), _PIECE)
    )
    found = vocabulary(pieces, size)
    found[:SPECIALS] = False
    return found
