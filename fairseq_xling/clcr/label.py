"""Write pseudo-gold pivots of parallel text: streamed, resumable after a kill.

The folder that is written is described in `fairseq_xling.clcr.labels`.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np
from torch import Tensor

from fairseq_xling.analysis.growing import GrowingArrays
from fairseq_xling.clcr.granularity import blocks_of_pairs, finest_blocks
from fairseq_xling.clcr.labels import DISTANCES, META, ORDER, PHARAOH
from fairseq_xling.clcr.pivots import Tuned, mutual_best, pair_distances, tune_threshold
from fairseq_xling.data.folder import DataFolder
from fairseq_xling.data.mmap import TokenFile, write_index
from fairseq_xling.errors import UserError
from fairseq_xling.files import atomic_write, read_json, write_json
from fairseq_xling.folders import is_finished, new_folder
from fairseq_xling.progress import progress
from fairseq_xling.text.links import Links, format_pharaoh

BLOCK = 2048  # sentence pairs
_INT, _FLOAT = np.dtype("int32"), np.dtype("float32")


class Aligned(Protocol):
    """The interface of a model for labelling (`fairseq_xling.interop.clcr.Clcr`)."""

    pair: tuple[str, str]
    norm: str

    def pairs(
        self, first: Sequence[np.ndarray], second: Sequence[np.ndarray], max_tokens: int
    ) -> Iterator[tuple[np.ndarray, tuple[Tensor, Tensor], tuple[Tensor, Tensor]]]:
        """Batches of (indices (B,), states, content masks) of both sides."""

    def transform(self, side: int, states: Tensor) -> Tensor:
        """T12 or T21."""


class Found(NamedTuple):
    """Mutual best pairs, sorted by sentence pair and token of s1, (n,) each; tokens from 0."""

    row: np.ndarray
    source: np.ndarray
    target: np.ndarray
    distance: np.ndarray

    def below(self, threshold: float) -> "Found":
        """Those under ``threshold``."""
        kept = self.distance < threshold
        return Found(*(part[kept] for part in self))


def find_pivots(
    model: Aligned,
    first: Sequence[np.ndarray],
    second: Sequence[np.ndarray],
    max_tokens: int = 8192,
) -> Found:
    """All mutual best pairs of some sentence pairs, whatever their distance.

    Args:
        first: ids of each sentence, ``</s>`` last; second: those of its translation.
    """
    parts = []
    for indices, states, masks in model.pairs(first, second, max_tokens):
        moved = (model.transform(0, states[0]), model.transform(1, states[1]))
        found = mutual_best(pair_distances(*states, *moved, model.norm), *masks)
        row, source, target, distance = (part.cpu().numpy() for part in found)
        parts.append(Found(indices[row], source - 1, target - 1, distance))  # after <s>
    if not parts:
        none = np.zeros(0, dtype=np.int64)
        return Found(none, none, none, none.astype(np.float32))
    joined = Found(*(np.concatenate(part) for part in zip(*parts, strict=True)))
    order = np.lexsort((joined.source, joined.row))
    return Found(*(part[order] for part in joined))


def tune(model: Aligned, folder: DataFolder, split: str, max_tokens: int) -> Tuned:
    """The threshold that best matches the word alignment of ``split``.

    Raises:
        UserError: if the split has no alignment, or nothing can be found in it.
    """
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
    found = Found(*(np.concatenate(part) for part in zip(*parts, strict=True)))
    places = blocks_of_pairs(blocks, found.row, found.source, found.target)
    try:
        return tune_threshold(found.distance, places, len(blocks.row))
    except UserError as error:
        raise UserError(f"`--tune-on` {split} of {folder.path}: {error}") from None


def write_labels(
    model: Aligned,
    sides: tuple[TokenFile, TokenFile],
    output: Path,
    settings: Mapping[str, Any],
    max_tokens: int,
) -> dict[str, Any]:
    """Write the pivots under ``settings["threshold"]`` into the folder ``output``; its meta.

    Args:
        settings: what determines the result; a folder with other settings is rejected, and
            unfinished work of others discarded.

    Raises:
        UserError: if the folder contains anything else, or another command is writing it.
    """
    settings = dict(settings)
    if is_finished(output, settings):
        return read_json(output / META)
    with new_folder(output, settings, "clcr label") as folder:
        shapes = {
            ORDER: ((), _INT),
            "distances": ((), _FLOAT),
            "links": ((2,), _INT),
            "counts": ((), _INT),
        }
        made = folder / "made.json"
        if not made.is_file():
            arrays = GrowingArrays(folder, shapes)
            with progress(len(sides[0]), f"label {output.name}", "pairs") as bar:
                bar.update(arrays.done)
                for start, texts in blocks_of_text(sides, arrays.done):
                    found = find_pivots(model, *texts, max_tokens).below(settings["threshold"])
                    arrays.append(_arrays(found, texts), start + len(texts[0]))
                    bar.update(len(texts[0]))
            counts = {"sentences": len(sides[0]), "pivots": arrays.rows["links"]}
            arrays.finish()
            write_json(made, counts)
        counts = read_json(made)
        _finish(folder, sides[1])
        tokens = [int(file.sizes.sum()) - len(file) for file in sides]
        meta = {"settings": settings, **counts, "tokens": tokens}
        write_json(folder / META, meta)
        made.unlink()
    return meta


def _arrays(found: Found, texts: tuple[Sequence[np.ndarray], ...]) -> dict[str, np.ndarray]:
    """The contribution of a block of pairs to each array."""
    sizes = np.array([len(ids) for ids in texts[1]])
    order = np.zeros(int(sizes.sum()), dtype=np.int64)
    order[(np.cumsum(sizes) - sizes)[found.row] + found.target] = found.source + 1
    return {
        ORDER: order,
        "distances": found.distance,
        "links": np.stack([found.source, found.target], axis=1),
        "counts": np.bincount(found.row, minlength=len(sizes)),
    }


def _finish(folder: Path, target: TokenFile) -> None:
    """The mapped order and the text of links, from the arrays; can be repeated."""
    flat = folder / f"{ORDER}.npy"
    if flat.is_file():  # else all has been written
        values = np.load(flat, mmap_mode="r", allow_pickle=False)
        with atomic_write(folder / f"{ORDER}.bin") as file:
            for start in range(0, len(values), 1 << 20):
                file.write(values[start : start + (1 << 20)].astype("<i4").tobytes())
        write_index(folder / ORDER, target.sizes, np.dtype("<i4"))
        counts = np.load(folder / "counts.npy", mmap_mode="r", allow_pickle=False)
        links = np.load(folder / "links.npy", mmap_mode="r", allow_pickle=False)
        with atomic_write(folder / PHARAOH) as file:
            done = 0
            for start in range(0, len(counts), BLOCK):
                some = np.asarray(counts[start : start + BLOCK], dtype=np.int64)
                source, end = links[done : done + int(some.sum())].T, done + int(some.sum())
                row = np.repeat(np.arange(len(some)), some)
                file.write(format_pharaoh(Links(len(some), row, *source)))
                done = end
        flat.unlink()  # first: while it is there, the others are read
    for name in ("counts", "links"):
        (folder / f"{name}.npy").unlink(missing_ok=True)
    if not (folder / DISTANCES).is_file():
        raise ValueError(f"{folder}: the distances are gone")


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
    """Row, token of s1 and of s2 of all links, those of both directions, without ``</s>``.

    Raises:
        UserError: if neither direction of the split has been aligned.
    """
    found = []
    for source, target in (pair, pair[::-1]):
        if not folder.is_aligned(split, source, target):
            continue  # one direction is enough
        order = folder.order(split, source, target)
        values, sizes = order.block(0, len(order))
        row = np.repeat(np.arange(len(sizes)), sizes)
        ends = np.cumsum(sizes) - 1
        place = np.arange(len(values)) - (ends + 1 - sizes)[row]
        linked = values > 0
        linked[ends] = False
        links = [row[linked], values[linked] - 1, place[linked]]
        found.append(links if source == pair[0] else [links[0], links[2], links[1]])
    if not found:
        folder.order(split, *pair)  # raises: there is none
    together = np.unique(np.concatenate([np.stack(links) for links in found], axis=1), axis=1)
    return together[0], together[1], together[2]
