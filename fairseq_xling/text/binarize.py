"""Text files to token files, block by block in a few threads."""

import itertools
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from fairseq_xling.data.folder import UNK
from fairseq_xling.data.mmap import RAW_DTYPE, best_dtype, raw_text_block, raw_text_path
from fairseq_xling.text.blocks import Block, lines_of, mono_blocks, parallel_blocks
from fairseq_xling.text.encoder import TextEncoder
from fairseq_xling.text.link_rules import LOWEST, ManyToOne, many_to_one
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


def binarize_mono(
    files: Sequence[Path],
    encoder: TextEncoder,
    output: Path,
    work: Path,
    name: str,
    workers: int,
    advance: Callable[[int], Any],
) -> dict[str, int]:
    """Write ``output.{bin,idx}``; blank lines are left out. Returns counts for ``meta.json``."""
    dtype = best_dtype(encoder.vocab_size)
    writer = ResumableFiles({output: dtype}, work, name)
    job = partial(_encode_mono, encoder, dtype)
    with _remembering([encoder], workers):
        return _run(writer, job, lambda start: mono_blocks(files, start), workers, advance)


def binarize_parallel(
    files: tuple[Path, Path],
    pair: Pair,
    encoders: Mapping[str, TextEncoder],
    stem: Path,
    work: Path,
    name: str,
    workers: int,
    advance: Callable[[int], Any],
    alignment: Path | None = None,
    unit: str = "word",
    rule: ManyToOne = many_to_one[LOWEST],
    keep_text: bool = False,
    links_from: int = 0,
) -> dict[str, int]:
    """Write ``stem.<lang>`` of both sides, pairs with an empty side left out, and with a ready
    ``alignment`` (Pharaoh links between items of ``unit``) also ``stem``'s orders, by ``rule``;
    with ``keep_text`` also the lines themselves (see `raw_text_block`).
    """
    dtypes = [best_dtype(encoders[lang].vocab_size) for lang in pair]
    outputs = {Path(f"{stem}.{lang}"): dtype for lang, dtype in zip(pair, dtypes, strict=True)}
    paths = list(files)
    if alignment is not None:
        paths.append(alignment)
        outputs |= {path: ORDER_DTYPE for path in order_paths(stem, pair, rule)}
    if keep_text:  # after all that earlier versions wrote
        outputs |= {raw_text_path(stem, lang): RAW_DTYPE for lang in pair}
    writer = ResumableFiles(outputs, work, name)
    sides = (encoders[pair[0]], encoders[pair[1]])
    job = partial(
        _encode_parallel, sides, pair, unit, rule, alignment, links_from, dtypes, keep_text
    )
    with _remembering(sides, workers):
        return _run(writer, job, lambda start: parallel_blocks(paths, start), workers, advance)


def order_paths(stem: Path, pair: Pair, rule: ManyToOne) -> list[Path]:
    """Order files of both directions for the text at ``stem`` (``.../<split>.<a>-<b>``), each
    followed by one of further links if ``rule`` has them."""
    split = stem.name.partition(".")[0]
    names = ("order", "further") if rule.several else ("order",)
    ways = ("-".join(pair), "-".join(pair[::-1]))
    return [stem.with_name(f"{split}.{way}.{name}") for way in ways for name in names]


@contextmanager
def _remembering(encoders: Iterable[TextEncoder], workers: int) -> Iterator[None]:
    """The encoders remember words, unless so many threads would wait for Python's lock."""
    with ExitStack() as stack:
        for encoder in encoders if workers <= _MEMO_WORKERS else ():
            stack.enter_context(encoder.remembering())
        yield


def _run(writer: ResumableFiles, job, blocks, workers: int, advance) -> dict[str, int]:
    try:
        advance(writer.read)
        if not writer.complete:
            for results, block, counts in ordered_map(job, blocks(writer.position), workers):
                writer.append(results, block.position, counts, block.bytes)
                advance(block.bytes)
        return writer.finish()
    finally:
        writer.close()


def _encode_mono(
    encoder: TextEncoder, dtype: np.dtype, block: Block
) -> tuple[_Blocks, Block, dict[str, int]]:
    ids, sizes = encoder.encode_block(lines_of(block.sides[0]))
    kept = sizes > 1
    ids = ids[np.repeat(kept, sizes)]
    sizes = sizes[kept]
    counts = {"sentences": len(sizes), "tokens": len(ids), "unknown": int((ids == UNK).sum())}
    return [(ids.astype(dtype), sizes)], _without_text(block), counts


def _encode_parallel(
    encoders: tuple[TextEncoder, TextEncoder],
    pair: Pair,
    unit: str,
    rule: ManyToOne,
    alignment: Path | None,
    links_from: int,
    dtypes: Sequence[np.dtype],
    keep_text: bool,
    block: Block,
) -> tuple[_Blocks, Block, dict[str, int]]:
    lines = [lines_of(data) for _, data in zip(encoders, block.sides, strict=False)]
    texts = [e.segment(side) for e, side in zip(encoders, lines, strict=True)]
    sides = [e.encode_segmented(text) for e, text in zip(encoders, texts, strict=True)]
    kept = (sides[0][1] > 1) & (sides[1][1] > 1)
    results: _Blocks = []
    counts = {"pairs": int(kept.sum()), "dropped": int((~kept).sum())}
    for lang, dtype, (ids, sizes) in zip(pair, dtypes, sides, strict=True):
        results.append((ids[np.repeat(kept, sizes)].astype(dtype), sizes[kept]))
        counts[f"tokens {lang}"] = len(results[-1][0])
        counts[f"unknown {lang}"] = int((results[-1][0] == UNK).sum())
    if alignment is not None:
        links = parse_pharaoh(block.sides[2], str(alignment), block.first_line, links_from)
        words = None
        if align_units[unit].whole_words:
            words = [
                e.words(text, *side) for e, text, side in zip(encoders, texts, sides, strict=True)
            ]
        sizes = [side[1] - 1 for side in sides]
        units, name = (sizes, "subword") if words is None else ([w.sizes for w in words], "word")
        check_range(links, *units, str(alignment), block.first_line, name, links_from)
        results += both_orders(rule, links, links, sizes[0], sizes[1], words, kept)
    if keep_text:
        results += [raw_text_block(itertools.compress(side, kept)) for side in lines]
    return results, _without_text(block), counts


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


def _without_text(block: Block) -> Block:
    return Block((), block.first_line, block.position, block.bytes)
