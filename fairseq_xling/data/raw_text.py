"""Sentences as they were before they were cut into pieces: what translations are compared with.

Stored as a token file whose values are the bytes of their UTF-8, next to that of their ids.
"""

from collections.abc import Iterable
from pathlib import Path

import numpy as np

from fairseq_xling.data.mmap import TokenFile
from fairseq_xling.errors import UserError

RAW_DTYPE = np.dtype("<u1")


def raw_text_path(stem: str | Path, lang: str) -> Path:
    """Where the text of the side ``lang`` of ``stem`` (``.../<split>.<a>-<b>``) is."""
    return Path(f"{stem}.{lang}.text")


def raw_text_block(lines: Iterable[str]) -> tuple[np.ndarray, np.ndarray]:
    """Values of ``lines`` back to back, and their sizes.

    A run of white space is one space, also of tabs and of what some programs take for a line end:
    fairseq-generate prints text as columns of a line.
    """
    texts = [" ".join(line.split()).encode() for line in lines]
    sizes = np.array([len(text) for text in texts], dtype=np.int64)
    return np.frombuffer(b"".join(texts), dtype=RAW_DTYPE), sizes


class RawText:
    """The sentences of a token file as text: ``text[i]`` is that of item i.

    Raises:
        UserError: as `TokenFile`; for a sentence that is not UTF-8.
    """

    def __init__(self, prefix: str | Path):
        self._file = TokenFile(prefix)

    def __len__(self) -> int:
        return len(self._file)

    def __getitem__(self, i: int) -> str:
        try:
            return self._file[i].astype(RAW_DTYPE).tobytes().decode()
        except UnicodeDecodeError:
            raise UserError(
                f"{self._file.prefix}.bin: sentence {i + 1} is not UTF-8; prepare the folder again"
            ) from None
