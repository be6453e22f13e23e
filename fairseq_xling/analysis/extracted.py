"""A folder written by `fairseq-xling extract`, read memory-mapped and in blocks.

Symbols: ``L`` layers that were kept, ``N`` rows, ``D`` width, ``B`` rows of a block.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from fairseq_xling.core.arguments import check_count
from fairseq_xling.core.array_file import mapped
from fairseq_xling.core.errors import MALFORMED, UserError
from fairseq_xling.core.files import plain_lines, read_json

if TYPE_CHECKING:
    from torch import Tensor

_BLOCK = 4096  # rows
_REMEDY = "extract the folder again"


class Extracted:
    """Vectors by layer, each layer an array (N, D) on disk.

    Attributes:
        path: the folder.
        unit: the unit of a row, as in `fairseq_xling.verbs.units`.
        lang: the language of the text.
        text: its digest; empty where another program than `extract` wrote the folder.
        layers: their numbers (L,), increasing.
        rows: N; width: D.
        arrays: the vectors of each layer (N, D), mapped into memory.

    Raises:
        UserError: if the folder was not written by `extract`, is unfinished, or is damaged.
    """

    def __init__(self, path: str | Path):
        self.path = Path(path)
        if not self.path.is_dir():
            raise UserError(f"{path}: no such folder; `fairseq-xling extract` writes one")
        file = self.path / "meta.json"
        meta: Any = read_json(file) if file.is_file() else None
        try:
            settings = meta["settings"]
            self.unit, self.lang = str(settings["unit"]), str(settings["lang"])
            self.text = str(settings.get("text", ""))
            self.layers = tuple(check_count(file, n, "layers") for n in settings["layers"])
            self.rows, self.width = (check_count(file, meta[n], n) for n in ("rows", "width"))
        except UserError:
            raise
        except MALFORMED:
            raise UserError(f"{path}: not a folder that `fairseq-xling extract` wrote") from None
        if list(self.layers) != sorted(set(self.layers)):
            raise UserError(f"{file}: `layers` must increase, got {_list(self.layers)}")
        if not (self.rows and self.layers):
            raise UserError(f"{path}: contains no vectors")
        shape = self.rows, self.width
        self.arrays = {n: mapped(self.file(n), "f", shape, _REMEDY) for n in self.layers}

    def blocks(self, layer: int) -> Iterator[Tensor]:
        """Rows of a layer in their order, float32, (B, D) at a time.

        Raises:
            UserError: if a value is NaN or infinite (file and row).
        """
        import torch

        for start in range(0, self.rows, _BLOCK):
            with np.errstate(over="ignore"):  # infinity is found below
                rows = self.arrays[layer][start : start + _BLOCK].astype("float32")
            block = torch.from_numpy(rows)
            finite = torch.isfinite(block).all(1)
            if not finite.all():
                row = start + int((~finite).nonzero()[0])
                raise UserError(
                    f"{self.file(layer)}: must be finite, got NaN or infinity in row {row}"
                )
            yield block

    def whole(self, layer: int) -> Tensor:
        """All rows of a layer, (N, D) float32; errors as `blocks`."""
        import torch

        result = torch.empty(self.rows, self.width)
        for start, block in zip(range(0, self.rows, _BLOCK), self.blocks(layer), strict=True):
            result[start : start + len(block)] = block
        return result

    @cached_property
    def words(self) -> list[str]:
        """The word of each row.

        Raises:
            UserError: if rows are not of words, or there is not one word for each.
        """
        file = self.path / "words.txt"
        if not file.is_file():
            raise UserError(
                f"{self.path}: has no words, its rows are {self.unit}; "
                "extract with `--unit types` or `--unit static`"
            )
        words = list(plain_lines(file))
        if len(words) != self.rows:
            count = len(words)
            raise UserError(f"{file}: must have {self.rows} lines, one for each row, got {count}")
        return words

    def check_sentences(self) -> None:
        """Reject a folder of anything but sentences, or with a sentence that has no words."""
        if self.unit != "sentences":
            raise UserError(
                f"{self.path}: must contain sentences, got {self.unit}; "
                "extract with `--unit sentences`"
            )
        done = 0
        for block in self.blocks(self.layers[-1]):
            blank = (block == 0).all(1)
            if blank.any():
                line = done + int(blank.nonzero()[0]) + 1
                raise UserError(
                    f"{self.path}: line {line} of its text is blank, or has no word that the "
                    "vocabulary contains; remove it"
                )
            done += len(block)

    def file(self, layer: int) -> Path:
        """The file of a layer's vectors."""
        return self.path / f"layer{layer:02d}.npy"

    @cached_property
    def lines(self) -> np.ndarray | None:
        """A number for each sentence that equal ones share, if it was noted."""
        file = self.path / "lines.npy"
        return mapped(file, "i", (self.rows,), _REMEDY) if file.is_file() else None

    @cached_property
    def sizes(self) -> np.ndarray | None:
        """How many rows each line of the text has, None where rows are not of parts of lines.

        Raises:
            UserError: if these are not the folder's rows.
        """
        file = self.path / "sentences.npy"
        if not file.is_file():
            return None
        sizes = mapped(file, "i", (None,), _REMEDY)
        if (sizes < 0).any() or int(sizes.sum()) != self.rows:
            raise UserError(f"{file}: must share the {self.rows} rows of the folder among lines")
        return sizes


def check_same_rows(x: Extracted, y: Extracted) -> None:
    """Reject two folders whose rows do not pair up, row n with row n."""
    names = f"{x.path} and {y.path}"
    if x.unit != y.unit:
        raise UserError(f"{names}: rows must be of the same unit, got {x.unit} and {y.unit}")
    if x.rows != y.rows:
        raise UserError(f"{names}: must have equally many rows, got {x.rows} and {y.rows}")
    if (x.path / "words.txt").is_file() and x.words != y.words:
        row = next(n for n, (a, b) in enumerate(zip(x.words, y.words, strict=True)) if a != b)
        raise UserError(
            f"{names}: rows must be of the same words, got {x.words[row]!r} and {y.words[row]!r} "
            f"in row {row}; extract both with one `--words` file"
        )
    if x.sizes is not None and y.sizes is not None and not np.array_equal(x.sizes, y.sizes):
        raise UserError(f"{names}: their texts were split into different subwords")


def common_layers(x: Extracted, y: Extracted, wanted: str | None) -> Sequence[int]:
    """The layers to compare: all, or those that ``wanted`` names, such as ``0,2-4``.

    Raises:
        UserError: if the folders' layers differ and none are named, or a named one is missing.
    """
    from fairseq_xling.analysis.layers import parse_layers

    if wanted is None or wanted == "all":
        if x.layers != y.layers:
            raise UserError(
                f"{x.path} and {y.path}: layers differ, {_list(x.layers)} and {_list(y.layers)}; "
                "name those to compare with `--layers`"
            )
        return x.layers
    layers = parse_layers(wanted, max(*x.layers, *y.layers))
    for folder in (x, y):
        missing = [layer for layer in layers if layer not in folder.layers]
        if missing:
            raise UserError(
                f"`--layers` {wanted}: {folder.path} has layers {_list(folder.layers)}, "
                f"not {_list(missing)}"
            )
    return layers


def _list(layers: Sequence[int]) -> str:
    return ",".join(map(str, layers))
