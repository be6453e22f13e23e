"""Text files to token files, block by block in a few threads."""

import itertools
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from fairseq_xling.data.folder import UNK
from fairseq_xling.data.mmap import RAW_DTYPE, best_dtype, raw_text_block, raw_text_path
from fairseq_xling.text.blocks import Block, lines_of, mono_blocks, parallel_blocks
from fairseq_xling.text.encoder import TextEncoder
from fairseq_xling.text.link_rules import ManyToOne
from fairseq_xling.text.links import (
    Links,
    Words,
    align_units,
    check_range,
    expand_order,
    parse_pharaoh,
    with_end,
)
from fairseq_xling.text.sources import Pair
from fairseq_xling.text.state import WORK
from fairseq_xling.text.writer import ResumableFiles

A = TypeVar("A")
B = TypeVar("B")


def ordered_map(function: Callable[[A], B], items: Iterable[A], workers: int) -> Iterator[B]:
    """``map(function, items)`` in ``workers`` threads; at most ``2 * workers`` items are in flight.

    Threads are enough: sentencepiece and the segmentation patterns run outside Python's lock.

    >>> list(ordered_map(abs, [-1, 2, -3], workers=2))
    [1, 2, 3]
    """
    if workers == 1:
        yield from map(function, items)
        return
    with ThreadPoolExecutor(workers) as pool:
        waiting: deque = deque()
        try:
            for item in items:
                waiting.append(pool.submit(function, item))
                if len(waiting) >= 2 * workers:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()


ORDER_DTYPE = np.dtype("<i4")  # whatever the length of a sentence
_MEMO_WORKERS = 2
_Blocks = list[tuple[np.ndarray, np.ndarray]]
_Encoded = tuple[_Blocks, Block, dict[str, int]]  # for each file, of which block, and counts


def binarize_mono(
    files: Sequence[Path],
    encoder: TextEncoder,
    out: Path,
    name: str,
    workers: int,
    advance: Callable[[int], Any],
) -> dict[str, int]:
    """Write ``out/name.{bin,idx}``; blank lines are left out. Returns counts for ``meta.json``."""
    dtype = best_dtype(encoder.vocab_size)

    def encode(block: Block) -> _Encoded:
        ids, sizes = encoder.encode_block(lines_of(block.sides[0]))
        kept = sizes > 1
        ids, sizes = ids[np.repeat(kept, sizes)], sizes[kept]
        counts = {"sentences": len(sizes), "tokens": len(ids), "unknown": int((ids == UNK).sum())}
        return [(ids.astype(dtype), sizes)], _without_text(block), counts

    writer = ResumableFiles({out / name: dtype}, out / WORK, name)
    return _run(writer, encode, partial(mono_blocks, files), [encoder], workers, advance)


@dataclass(frozen=True)
class PairEncoder:
    """Encodes blocks of parallel text.

    Attributes:
        alignment: ready links between items of ``unit`` (Pharaoh), read by ``rule``; the number of
            the first item is ``links_from``.
        keep_text: whether to keep the lines themselves, too (see `raw_text_block`).
    """

    pair: Pair
    encoders: tuple[TextEncoder, TextEncoder]
    alignment: Path | None
    unit: str
    rule: ManyToOne
    links_from: int
    keep_text: bool

    def outputs(self, stem: Path) -> dict[Path, np.dtype]:
        """The files that blocks go to, and the type of each."""
        dtypes = [best_dtype(encoder.vocab_size) for encoder in self.encoders]
        sides = [Path(f"{stem}.{lang}") for lang in self.pair]
        files = dict(zip(sides, dtypes, strict=True))
        if self.alignment is not None:
            files |= dict.fromkeys(order_paths(stem, self.pair, self.rule), ORDER_DTYPE)
        if self.keep_text:  # after all that earlier versions wrote
            files |= {raw_text_path(stem, lang): RAW_DTYPE for lang in self.pair}
        return files

    def __call__(self, block: Block) -> _Encoded:
        encoders = self.encoders
        lines = [lines_of(data) for data in block.sides[:2]]
        texts = [e.segment(side) for e, side in zip(encoders, lines, strict=True)]
        sides = [e.encode_segmented(text) for e, text in zip(encoders, texts, strict=True)]
        kept = (sides[0][1] > 1) & (sides[1][1] > 1)
        results: _Blocks = []
        counts = {"pairs": int(kept.sum()), "dropped": int((~kept).sum())}
        for lang, encoder, (ids, sizes) in zip(self.pair, encoders, sides, strict=True):
            ids = ids[np.repeat(kept, sizes)]
            results.append((ids.astype(best_dtype(encoder.vocab_size)), sizes[kept]))
            counts[f"tokens {lang}"] = len(ids)
            counts[f"unknown {lang}"] = int((ids == UNK).sum())
        if self.alignment is not None:
            where = str(self.alignment), block.first_line
            links = parse_pharaoh(block.sides[2], *where, self.links_from)
            sizes, words = [side[1] - 1 for side in sides], None
            units, name = sizes, "subword"
            if align_units[self.unit]:
                words = [
                    e.words(text, *side)
                    for e, text, side in zip(encoders, texts, sides, strict=True)
                ]
                units, name = [side.sizes for side in words], "word"
            check_range(links, *units, *where, name, self.links_from)
            results += both_orders(self.rule, links, links, *sizes, words, kept)
        if self.keep_text:
            results += [raw_text_block(itertools.compress(side, kept)) for side in lines]
        return results, _without_text(block), counts


def binarize_parallel(
    files: Sequence[Path],
    encoder: PairEncoder,
    out: Path,
    name: str,
    workers: int,
    advance: Callable[[int], Any],
) -> dict[str, int]:
    """Write ``out/name.<lang>`` of both sides, pairs with an empty side left out, and what else
    ``encoder`` makes of them. Returns counts for ``meta.json``."""
    paths = [*files, *([encoder.alignment] if encoder.alignment else [])]
    writer = ResumableFiles(encoder.outputs(out / name), out / WORK, name)
    blocks = partial(parallel_blocks, paths)
    return _run(writer, encoder, blocks, encoder.encoders, workers, advance)


def order_paths(stem: Path, pair: Pair, rule: ManyToOne) -> list[Path]:
    """Order files of both directions for the text at ``stem`` (``.../<split>.<a>-<b>``), each
    followed by one of further links if ``rule`` has them."""
    split = stem.name.partition(".")[0]
    names = ("order", "further") if rule.several else ("order",)
    ways = ("-".join(pair), "-".join(pair[::-1]))
    return [stem.with_name(f"{split}.{way}.{name}") for way in ways for name in names]


def _run(
    writer: ResumableFiles,
    encode: Callable[[Block], _Encoded],
    blocks_from: Callable[[Any], Iterator[Block]],
    encoders: Iterable[TextEncoder],
    workers: int,
    advance: Callable[[int], Any],
) -> dict[str, int]:
    with ExitStack() as stack:
        stack.callback(writer.close)
        # Encoders remember words, unless so many threads would wait for Python's lock.
        for encoder in encoders if workers <= _MEMO_WORKERS else ():
            stack.enter_context(encoder.remembering())
        advance(writer.read)
        if not writer.complete:
            blocks = blocks_from(writer.position)
            for results, block, counts in ordered_map(encode, blocks, workers):
                writer.append(results, block.position, counts, block.bytes)
                advance(block.bytes)
        return writer.finish()


def _without_text(block: Block) -> Block:
    return Block((), block.first_line, block.position, block.bytes)


def both_orders(
    rule: ManyToOne,
    to_b: Links,
    to_a: Links,
    a_sizes: np.ndarray,
    b_sizes: np.ndarray,
    words: Sequence[Words] | None = None,
    kept: np.ndarray | None = None,
) -> _Blocks:
    """A block of each of `order_paths`, from links in range between sentences a and b.

    Args:
        to_b: the links that targets in b are read by; to_a: the same for a; i in a, j in b.
        a_sizes, b_sizes: (n,) numbers of tokens without ``</s>``.
        words: of a and b, if the links connect words.
        kept: (n,) which pairs to write (default: all).
    """
    a, b = (a_sizes, words and words[0]), (b_sizes, words and words[1])
    blocks: _Blocks = []
    for links, source, target in ((to_b, a, b), (to_a.swapped(), b, a)):
        layers, sizes = _token_layers(rule, links, *source, *target), target[0] + 1
        if kept is not None:
            layers, sizes = layers[:, np.repeat(kept, sizes)], sizes[kept]
        blocks.append((layers[0].astype(ORDER_DTYPE), sizes))
        if rule.several:
            blocks.append(_further(layers[1:], sizes))
    return blocks


def _token_layers(
    rule: ManyToOne,
    links: Links,
    source_sizes: np.ndarray,
    source: Words | None,
    target_sizes: np.ndarray,
    target: Words | None,
) -> np.ndarray:
    """`ManyToOne.layers` of every stored target token, ``</s>`` included."""
    if source is None or target is None:
        layers = rule.layers(links, target_sizes)
    else:
        words = rule.layers(links, target.sizes)
        layers = np.stack([expand_order(layer, source, target) for layer in words])
    ends = [source_sizes, *(np.full_like(source_sizes, -1) for _ in layers[1:])]  # -1: no link
    return np.stack([with_end(x, e, target_sizes) for x, e in zip(layers, ends, strict=True)])


def _further(layers: np.ndarray, sizes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Layers (K, N) of sentences of ``sizes`` (n,) as stored: for each token of a sentence as many
    numbers as the sentence has layers with links."""
    row = np.repeat(np.arange(len(sizes)), sizes)
    depth = np.zeros(len(sizes), dtype=np.int64)
    for number, layer in enumerate(layers, 1):
        depth[row[layer > 0]] = number
    stored = np.arange(len(layers)) < depth[row][:, None]
    return layers.T[stored].astype(ORDER_DTYPE), sizes * depth
