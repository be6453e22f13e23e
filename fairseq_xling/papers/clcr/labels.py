"""A folder of pseudo-gold pivots, as written by `fairseq-xling clcr label` for one split.

pivots.pharaoh   a line of links ``i-j`` for each sentence pair: token i of the first language
                 and j of the second, counted from 0 over the data folder's tokens, no </s>
distances.npy    (n,) float32, d_ij of the links in their order
order.{bin,idx}  for each token of the second language, </s> included, the index + 1 of its
                 pivot in the first, or 0: read by training, mapped
meta.json        settings, counts, provenance

It is written in a stream, resumable after a kill.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from fairseq_xling.analysis.growing import GrowingArrays
from fairseq_xling.core.errors import MALFORMED, UserError
from fairseq_xling.core.files import atomic_write, read_json, write_json
from fairseq_xling.core.folders import is_finished, new_folder
from fairseq_xling.core.progress import progress
from fairseq_xling.data.folder import DataFolder
from fairseq_xling.data.mmap import TokenFile, first_outside, same_sizes, write_index
from fairseq_xling.papers.clcr.pivots import (
    Pivots,
    Tuned,
    blocks_of_pairs,
    finest_blocks,
    tune_threshold,
)
from fairseq_xling.text.links import Links, format_pharaoh

META, PHARAOH, ORDER = "meta.json", "pivots.pharaoh", "order"


class Labels:
    """A finished folder of pivots."""

    def __init__(self, path: str | Path):
        self.path = Path(path)
        if not (self.path / META).is_file():
            raise UserError(f"{path}: no pivots; `fairseq-xling clcr label` writes them")
        self.meta: dict[str, Any] = read_json(self.path / META)
        try:
            self.pair = tuple(self.meta["settings"]["pair"])
            self.threshold = float(self.meta["settings"]["threshold"])
            self.pivots = int(self.meta["pivots"])
        except MALFORMED:
            raise UserError(f"{path}: not a folder of `fairseq-xling clcr label`") from None

    @property
    def kind(self) -> str:
        """The kind of its pivots: gold ones, of a word alignment, or pseudo-gold ones."""
        return "gold pivots" if self.meta["settings"].get("gold") else "pseudo-gold pivots"

    def order(self, sides: tuple[TokenFile, TokenFile], pair: tuple[str, str]) -> TokenFile:
        """The pivots by tokens of the second side."""
        if self.pair != tuple(pair):
            raise UserError(
                f"{self.path}: its pairs are of {'-'.join(self.pair)}, not of {'-'.join(pair)}"
            )
        order = TokenFile(self.path / ORDER)
        if not same_sizes(order, sides[1]):
            raise UserError(
                f"{self.path}: was made from other text than that of {sides[1].prefix}; label again"
            )
        if len(sides[0]) < len(order):
            raise UserError(f"{self.path}: has more sentences than {sides[0].prefix}; label again")
        if (found := first_outside(order, sides[0])) is not None:
            sentence, pivot, length = found
            raise UserError(
                f"{order.prefix}.bin: sentence {sentence} has a pivot at token {pivot} of the "
                f"{length} in {sides[0].prefix}; label again"
            )
        return order


BLOCK = 2048  # sentence pairs
_INT = np.dtype("int32")
_SHAPES = {
    **{ORDER: ((), _INT), "distances": ((), np.dtype("float32"))},
    **{"links": ((2,), _INT), "counts": ((), _INT)},
}


def find_pivots(
    model: Any,
    first: Sequence[np.ndarray],
    second: Sequence[np.ndarray],
    max_tokens: int = 8192,
) -> Pivots:
    """All mutual best pairs of some sentence pairs, whatever their distance; tokens from 0.

    Args:
        model: a `fairseq_xling.papers.clcr.trained.Clcr`.
        first: ids of each sentence, ``</s>`` last; second: those of its translation.
    """
    parts = []
    for indices, states, masks, _ in model.batches({0: first, 1: second}, max_tokens):
        found = model.pivots(states, masks)
        row, source, target, distance = (part.cpu().numpy() for part in found)
        parts.append(Pivots(indices[row], source - 1, target - 1, distance))  # after <s>
    joined = Pivots(*map(np.concatenate, zip(*parts, strict=True)))
    order = np.lexsort((joined.source, joined.row))
    return Pivots(*(part[order] for part in joined))


def tune(model: Any, folder: DataFolder, split: str, max_tokens: int) -> Tuned:
    """The threshold that best matches the word alignment of ``split``."""
    sides = folder.parallel(split, *model.pair)
    try:
        gold = gold_links(folder, split, model.pair)
    except UserError as error:
        raise UserError(f"{error}; or give `--threshold` instead of tuning it") from None
    blocks = finest_blocks(*gold)
    parts = []
    with progress(len(sides[0]), "pairs to tune on", "pairs", checks=True) as bar:
        for start, texts in blocks_of_text(sides, 0):
            found = find_pivots(model, *texts, max_tokens)
            parts.append(found._replace(row=found.row + start))
            bar.update(len(texts[0]))
    found = Pivots(*map(np.concatenate, zip(*parts, strict=True)))
    places = blocks_of_pairs(blocks, found.row, found.source, found.target)
    try:
        return tune_threshold(found.distance, places, len(blocks.row))
    except UserError as error:
        raise UserError(f"`--tune-on` {split} of {folder.path}: {error}") from None


def write_labels(
    model: Any,
    sides: tuple[TokenFile, TokenFile],
    output: Path,
    settings: dict[str, Any],
    max_tokens: int,
) -> dict[str, Any]:
    """Write the pivots under ``settings["threshold"]`` into the folder ``output``; its meta.

    A folder with other settings is rejected, and unfinished work of others discarded.
    """
    if is_finished(output, settings):
        return read_json(output / META)
    with new_folder(output, settings, "clcr label") as folder:
        made = folder / "made.json"
        if not made.is_file():
            arrays = GrowingArrays(folder, _SHAPES)
            with progress(len(sides[0]), f"label {output.name}", "pairs") as bar:
                bar.update(arrays.done)
                for start, texts in blocks_of_text(sides, arrays.done):
                    found = find_pivots(model, *texts, max_tokens).below(settings["threshold"])
                    sizes = np.array([len(ids) for ids in texts[1]])
                    order = np.zeros(int(sizes.sum()), dtype=np.int64)
                    order[(np.cumsum(sizes) - sizes)[found.row] + found.target] = found.source + 1
                    block = {
                        ORDER: order,
                        "distances": found.distance,
                        "links": np.stack([found.source, found.target], axis=1),
                        "counts": np.bincount(found.row, minlength=len(sizes)),
                    }
                    arrays.append(block, start + len(sizes))
                    bar.update(len(sizes))
            counts = {"sentences": len(sides[0]), "pivots": arrays.rows["links"]}
            arrays.finish()
            write_json(made, counts)
        _finish_labels(folder, sides[1])
        tokens = [int(file.sizes.sum()) - len(file) for file in sides]
        meta = {"settings": settings, **read_json(made), "tokens": tokens}
        write_json(folder / META, meta)
        made.unlink()
    return meta


def _finish_labels(folder: Path, target: TokenFile) -> None:
    """The mapped order and the text of links, from the arrays; can be repeated."""
    flat = folder / f"{ORDER}.npy"
    if flat.is_file():  # else all has been written
        values, counts, links = (
            np.load(folder / f"{name}.npy", mmap_mode="r", allow_pickle=False)
            for name in (ORDER, "counts", "links")
        )
        with atomic_write(folder / f"{ORDER}.bin") as file:
            for start in range(0, len(values), 1 << 20):
                file.write(values[start : start + (1 << 20)].astype("<i4").tobytes())
        write_index(folder / ORDER, target.sizes, np.dtype("<i4"))
        with atomic_write(folder / PHARAOH) as file:
            done = 0
            for start in range(0, len(counts), BLOCK):
                some = np.asarray(counts[start : start + BLOCK], dtype=np.int64)
                row = np.repeat(np.arange(len(some)), some)
                file.write(format_pharaoh(Links(len(some), row, *links[done : done + len(row)].T)))
                done += len(row)
        flat.unlink()  # first: while it is there, the others are read
    for name in ("counts", "links"):
        (folder / f"{name}.npy").unlink(missing_ok=True)


def blocks_of_text(
    sides: tuple[TokenFile, TokenFile], done: int
) -> Iterator[tuple[int, tuple[list[np.ndarray], list[np.ndarray]]]]:
    """Sentence pairs after the first ``done``, up to `BLOCK` at a time, with the number of the
    first."""
    for start in range(done, len(sides[0]), BLOCK):
        texts = []
        for file in sides:
            ids, sizes = file.block(start, start + BLOCK)
            texts.append(np.split(ids, np.cumsum(sizes)[:-1]))
        yield start, tuple(texts)


def gold_links(
    folder: DataFolder, split: str, pair: tuple[str, str]
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Row, token of s1 and of s2 of all links, those of both directions, without ``</s>``."""
    found = []
    for way in (pair, pair[::-1]):
        if folder.is_aligned(split, *way):  # one direction is enough
            order = folder.order(split, *way)
            row, linked, place = linked_tokens(order)
            links = np.stack([row, linked, place])[:, place < order.sizes[row] - 1]
            found.append(links if way == pair else links[[0, 2, 1]])
    if not found:
        folder.order(split, *pair)  # raises: there is none
    row, source, target = np.unique(np.concatenate(found, axis=1), axis=1)
    return row, source, target


TokenPairs = tuple[np.ndarray, np.ndarray, np.ndarray]  # row, token of s1, token of s2, (n,) each


def linked_tokens(order: TokenFile) -> TokenPairs:
    """Of each linked token: its sentence, the token that it is linked to, and its own place."""
    values, sizes = order.block(0, len(order))
    row = np.repeat(np.arange(len(sizes)), sizes)
    place = np.arange(len(values)) - (np.cumsum(sizes) - sizes)[row]
    linked = values > 0
    return row[linked], values[linked].astype(np.int64) - 1, place[linked]
