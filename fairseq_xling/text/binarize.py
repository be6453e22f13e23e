"""Text files to token files, block by block in a few threads."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from fairseq_xling.data.folder import UNK
from fairseq_xling.data.mmap import best_dtype
from fairseq_xling.text.align_units import align_units
from fairseq_xling.text.blocks import Block, lines_of, mono_blocks, parallel_blocks
from fairseq_xling.text.encoder import TextEncoder
from fairseq_xling.text.links import (
    Links,
    Words,
    check_range,
    expand_order,
    order_of,
    parse_pharaoh,
    with_end,
)
from fairseq_xling.text.parallelism import ordered_map
from fairseq_xling.text.sources import Pair
from fairseq_xling.text.writer import ResumableFiles

ORDER_DTYPE = np.dtype("<i4")  # whatever the length of a sentence
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
) -> dict[str, int]:
    """Write ``stem.<lang>`` of both sides, pairs with an empty side left out, and with a ready
    ``alignment`` (Pharaoh links between items of ``unit``) also ``stem``'s orders.

    Raises:
        UserError: names file and line of a link that is malformed or out of range.
    """
    dtypes = [best_dtype(encoders[lang].vocab_size) for lang in pair]
    outputs = {Path(f"{stem}.{lang}"): dtype for lang, dtype in zip(pair, dtypes, strict=True)}
    paths = list(files)
    if alignment is not None:
        paths.append(alignment)
        outputs |= {path: ORDER_DTYPE for path in order_paths(stem, pair)}
    writer = ResumableFiles(outputs, work, name)
    sides = (encoders[pair[0]], encoders[pair[1]])
    job = partial(_encode_parallel, sides, pair, unit, alignment, dtypes)
    return _run(writer, job, lambda start: parallel_blocks(paths, start), workers, advance)


def order_paths(stem: Path, pair: Pair) -> tuple[Path, Path]:
    """Order files of both directions for the text at ``stem`` (``.../<split>.<a>-<b>``)."""
    split = stem.name.partition(".")[0]
    a, b = pair
    return (stem.with_name(f"{split}.{a}-{b}.order"), stem.with_name(f"{split}.{b}-{a}.order"))


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
    alignment: Path | None,
    dtypes: Sequence[np.dtype],
    block: Block,
) -> tuple[_Blocks, Block, dict[str, int]]:
    texts = [e.segment(lines_of(data)) for e, data in zip(encoders, block.sides, strict=False)]
    sides = [e.encode_segmented(text) for e, text in zip(encoders, texts, strict=True)]
    kept = (sides[0][1] > 1) & (sides[1][1] > 1)
    results: _Blocks = []
    counts = {"pairs": int(kept.sum()), "dropped": int((~kept).sum())}
    for lang, dtype, (ids, sizes) in zip(pair, dtypes, sides, strict=True):
        results.append((ids[np.repeat(kept, sizes)].astype(dtype), sizes[kept]))
        counts[f"tokens {lang}"] = len(results[-1][0])
        counts[f"unknown {lang}"] = int((results[-1][0] == UNK).sum())
    if alignment is not None:
        links = parse_pharaoh(block.sides[2], str(alignment), block.first_line)
        words = None
        if align_units[unit].whole_words:
            words = [
                _words(e, text, *side) for e, text, side in zip(encoders, texts, sides, strict=True)
            ]
        orders = _orders(links, [side[1] - 1 for side in sides], words, alignment, block.first_line)
        for order, (_, sizes) in zip(orders, reversed(sides), strict=True):
            results.append((order[np.repeat(kept, sizes)].astype(ORDER_DTYPE), sizes[kept]))
    return results, _without_text(block), counts


def _orders(
    links: Links,
    sizes: Sequence[np.ndarray],
    words: Sequence[Words] | None,
    alignment: Path,
    first_line: int,
) -> tuple[np.ndarray, np.ndarray]:
    units, name = (sizes, "subword") if words is None else ([side.sizes for side in words], "word")
    check_range(links, units[0], units[1], str(alignment), first_line, name)
    return (
        token_orders(links, sizes[0], sizes[1], words),
        token_orders(links.swapped(), sizes[1], sizes[0], words and words[::-1]),
    )


def token_orders(
    links: Links,
    source_sizes: np.ndarray,
    target_sizes: np.ndarray,
    words: Sequence[Words] | None = None,
) -> np.ndarray:
    """Order of every stored target token, ``</s>`` included, from links in range.

    ``*_sizes`` (n,) count tokens without ``</s>``; ``words`` are those of (source, target) where
    the links connect words.
    """
    if words is None:
        order = order_of(links, target_sizes)
    else:
        source, target = words
        order = expand_order(order_of(links, target.sizes), source, target)
    return with_end(order, source_sizes, target_sizes)


def _words(encoder: TextEncoder, texts: Sequence[str], ids: np.ndarray, sizes: np.ndarray) -> Words:
    """Words of segmented ``texts`` in terms of their tokens, ``</s>`` left out.

    Normalisation may cut a word of the text in two (a letter that unfolds to a space and a mark)
    or delete it; words of such lines are encoded one by one to see which tokens are whose.
    """
    inside = np.ones(len(ids), dtype=bool)
    inside[np.cumsum(sizes) - 1] = False
    words = Words.from_starts(encoder.starts_word(ids)[inside], sizes - 1)
    expected = np.fromiter((t.count(" ") + 1 if t else 0 for t in texts), np.int64, len(texts))
    odd = np.flatnonzero(words.sizes != expected)
    if not len(odd):
        return words
    lengths = np.split(words.lengths, words.offsets[1:])
    for row in odd:
        tokens = np.array([len(x) - 1 for x in encoder.encode(texts[row].split())], dtype=np.int64)
        # Together they should be the sentence's tokens; where context matters, the last differs.
        ends = np.minimum(np.cumsum(tokens), sizes[row] - 1)
        ends[-1:] = sizes[row] - 1
        lengths[row] = np.diff(ends, prepend=0)
    return Words(expected, np.concatenate(lengths))


def _without_text(block: Block) -> Block:
    return Block((), block.first_line, block.position, block.bytes)
