"""Stage 1: the words of both languages in one space, from files to frozen tables.

The first language's vectors move and the second's stay: e'_s = e_s W, e'_t = e_t.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from fairseq_xling.errors import UserError
from fairseq_xling.mapping.normalize import parse_steps
from fairseq_xling.mapping.vectors_file import write_vectors
from fairseq_xling.tasks.word_vectors import (
    WordVectors,
    check_widths,
    make_table,
    read_matrix,
    read_word_vectors,
)


@dataclass(frozen=True)
class JointSpace:
    """``words`` by language, their ``tables`` (V + 1, D) in that order, W (D, D) and D."""

    words: Mapping[str, Sequence[str]]
    tables: Sequence[Tensor]
    w: Tensor
    width: int


def joint_space(
    files: Mapping[str, Path], map: str, steps: str, most: int, work: Path, seed: int
) -> JointSpace:
    """The frozen words of one or two languages.

    Args:
        files: of vectors by language; the first language moves.
        map: none, adversarial, or a file that contains W.
        steps: normalisation of both before the map.
        most: frequent words of each language.
        work: folder for what an adversarial map leaves; one that is finished is not made again.
        seed: the first of the three that an adversarial map tries.

    Raises:
        UserError: for damaged files, vectors of two widths, or a map that does not fit.
    """
    parse_steps(steps)
    read = {lang: read_word_vectors(path, most) for lang, path in files.items()}
    width = check_widths(read, files)
    matrix = None
    if map == "adversarial":
        matrix = _learn(read, work, seed)
    elif map != "none":
        matrix = read_matrix(map, width)
    tables = [
        torch.from_numpy(make_table(vectors, None if number else matrix, steps))
        for number, vectors in enumerate(read.values())
    ]
    w = torch.eye(width) if matrix is None else torch.from_numpy(matrix)
    return JointSpace({lang: v.words for lang, v in read.items()}, tables, w, width)


def _learn(read: Mapping[str, WordVectors], work: Path, seed: int) -> np.ndarray:
    """W by `fairseq-xling map adversarial` with its defaults; what it makes stays in ``work``."""
    from fairseq_xling.mapping.job import MapOptions, map_vectors
    from fairseq_xling.mapping.methods import METHODS

    output = work / "mapped.safetensors"
    if not output.is_file():
        work.mkdir(parents=True, exist_ok=True)
        moving, fixed = (work / f"{side}.safetensors" for side in ("moving", "fixed"))
        for path, vectors in zip((moving, fixed), read.values(), strict=True):
            write_vectors(path, vectors.as_file())
        options = MapOptions(str(fixed), str(moving), str(output), (seed, seed + 1, seed + 2))
        map_vectors("adversarial", options, METHODS["adversarial"].options())
    width = next(iter(read.values())).width
    try:
        return read_matrix(output, width)
    except UserError as error:
        raise UserError(f"{error}; delete {work} if it is of other vectors") from None
