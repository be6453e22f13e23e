"""Word alignment of the parallel token files of a data folder, and of two plain text files.

The splits of a pair are aligned together, as is usual: the model is unsupervised. Everything is
streamed; only the aligner's own table is in memory.
"""

import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from fairseq_xling.core.errors import UserError, about
from fairseq_xling.core.files import atomic_write
from fairseq_xling.core.progress import progress
from fairseq_xling.core.registry import unknown_name
from fairseq_xling.core.texts import open_binary
from fairseq_xling.data.mmap import TokenFile
from fairseq_xling.text.aligners import Aligner, aligners
from fairseq_xling.text.binarize import ORDER_DTYPE, both_orders, order_paths
from fairseq_xling.text.blocks import lines_of, parallel_blocks
from fairseq_xling.text.encoder import TextEncoder
from fairseq_xling.text.inputs import check_lines, scan_text
from fairseq_xling.text.link_rules import LOWEST, ManyToOne, Rule, many_to_one, symmetrizations
from fairseq_xling.text.links import (
    Links,
    Words,
    align_units,
    check_range,
    format_pharaoh,
    joined_lines,
    parse_pharaoh,
)
from fairseq_xling.text.segment import segmentations, words_of
from fairseq_xling.text.sources import Pair
from fairseq_xling.text.thot_worker import ITERATIONS
from fairseq_xling.text.writer import ResumableFiles

_ROWS = 4096
# A word's ids as one number: sum of id * _BASE^k mod 2^64; odd, so no power of it vanishes.
_BASE = np.uint64(0x9E3779B97F4A7C15)


@dataclass(frozen=True)
class SideText:
    """Sentences of one language, back to back: ids (N,) without ``</s>`` and sizes (n,)."""

    ids: np.ndarray
    sizes: np.ndarray
    words: Words | None

    @property
    def units(self) -> np.ndarray:
        """Number of items that the aligner sees in each sentence (n,)."""
        return self.sizes if self.words is None else self.words.sizes


class PairAligner:
    """Aligns one pair of languages in some splits and writes both orders of each.

    Args:
        stems: ``.../parallel/<split>.<a>-<b>`` of the splits to read, all of them for training.
        work: folder for this pair's intermediate files, kept until the data folder is finished.
        unit: ``subword`` or ``word``.
        many_to_one: which of several links of a token counts.
    """

    def __init__(
        self,
        pair: Pair,
        stems: Sequence[Path],
        encoders: tuple[TextEncoder, TextEncoder],
        work: Path,
        unit: str,
        many_to_one: ManyToOne = many_to_one[LOWEST],
    ):
        self.pair, self._many_to_one = pair, many_to_one
        self._stems, self._encoders, self._work = list(stems), encoders, work
        self._whole_words = align_units[unit]

    def links(
        self,
        aligner: Aligner,
        workers: int,
        report: Callable[[str], None],
        parameters: Path | None = None,
    ) -> tuple[Path, Path]:
        """Run the aligner where it has not finished before; forward and reverse Pharaoh files.

        Args:
            parameters: what `train` filled, of the model to align with.
        """
        forward, reverse = self._work / "forward.pharaoh", self._work / "reverse.pharaoh"
        if not (forward.is_file() and reverse.is_file()):
            tokens = self._tokens()
            if tokens[0].stat().st_size:
                more: dict[str, Any] = {"parameters": parameters} if parameters else {}
                if self._many_to_one.needs_probability:
                    more["probabilities"] = True
                aligner.align(*tokens, forward, reverse, workers, report, **more)
            else:
                forward.touch()
                reverse.touch()
        return forward, reverse

    def train(
        self, aligner: Aligner, parameters: Path, workers: int, report: Callable[[str], None]
    ) -> None:
        """Fill the folder ``parameters`` with those that ``aligner``, which keeps them, learns."""
        tokens = self._tokens()
        if not tokens[0].stat().st_size:
            raise UserError(f"no pair of {'-'.join(self.pair)} has text on both sides")
        parameters.mkdir(parents=True, exist_ok=True)
        aligner.train(*tokens, parameters, workers, report)  # type: ignore[attr-defined]

    def _tokens(self) -> tuple[Path, Path]:
        """The text as the aligner reads it."""
        paths = (self._work / f"tokens.{self.pair[0]}", self._work / f"tokens.{self.pair[1]}")
        for k, path in enumerate(paths):
            with atomic_write(path) as file:
                for stem in self._stems:
                    for sides in self._blocks(stem):
                        file.write(_token_lines(sides[k]))
        return paths

    def write_orders(
        self,
        links: tuple[Path, Path],
        rule: Rule,
        skip: Sequence[Path],
        advance: Callable[[int], Any],
    ) -> None:
        """Turn the Pharaoh files into order files, for every split except ``skip``."""
        with open_binary(links[0]) as forward, open_binary(links[1]) as reverse:
            files = (forward, reverse)
            for stem in self._stems:
                outputs = order_paths(stem, self.pair, self._many_to_one)
                name = f"{stem.name}.orders"
                writer = ResumableFiles(dict.fromkeys(outputs, ORDER_DTYPE), self._work, name)
                done = writer.complete or stem in skip
                row = 0
                for sides in self._blocks(stem):
                    count = len(sides[0].sizes)
                    found = [_read_links(file, count, sides, first=row + 1) for file in files]
                    row += count
                    # Blocks are fixed ranges of rows, so what a killed run left behind is a prefix.
                    if not done and row > (writer.position or 0):
                        a, b = sides
                        words = None if a.words is None or b.words is None else (a.words, b.words)
                        blocks = both_orders(
                            self._many_to_one, *rule(*found), a.sizes, b.sizes, words
                        )
                        writer.append(blocks, row, {}, 0)
                    advance(count)
                if stem not in skip:
                    writer.finish()
                writer.close()

    def _blocks(self, stem: Path) -> Iterator[tuple[SideText, SideText]]:
        files = [TokenFile(f"{stem}.{lang}") for lang in self.pair]
        for start in range(0, len(files[0]), _ROWS):
            sides = []
            for file, encoder in zip(files, self._encoders, strict=True):
                ids, sizes = file.block(start, start + _ROWS)
                ids, sizes = np.delete(ids, np.cumsum(sizes) - 1), sizes - 1
                starts = encoder.starts_word(ids) if self._whole_words else None
                words = None if starts is None else Words.from_starts(starts, sizes)
                sides.append(SideText(ids, sizes, words))
            yield sides[0], sides[1]


def _read_links(file, count: int, sides: tuple[SideText, SideText], first: int) -> Links:
    data = b"".join(islice(file, count))
    links = parse_pharaoh(data, file.name, first)
    if links.rows != count:
        raise UserError(f"{file.name}: the aligner wrote too few lines")
    check_range(links, sides[0].units, sides[1].units, file.name, first)
    return links


def _token_lines(side: SideText) -> bytes:
    """One line per sentence: a number for each item."""
    numbers = side.ids.astype(np.uint64)
    if side.words is not None:
        lengths = side.words.lengths
        begins = np.cumsum(lengths) - lengths
        nth = np.arange(len(numbers)) - np.repeat(begins, lengths)
        powers = np.cumprod(np.full(int(lengths.max(initial=1)), _BASE), dtype=np.uint64)
        if len(nth):
            numbers = np.add.reduceat((numbers + np.uint64(1)) * powers[nth], begins)
    return joined_lines(map(str, numbers.tolist()), side.units)


def link_choices() -> dict[str, Callable[[Links, Links], Links]]:
    """What can be written, from (forward, reverse) links: one direction, or a combination."""
    combined = {
        name: lambda forward, reverse, rule=symmetrizations[name]: rule(forward, reverse)[0]
        for name in symmetrizations
        if name != "none"
    }
    return {"fwd": lambda forward, _: forward, "rev": lambda _, reverse: reverse, **combined}


def align_files(
    files: tuple[Path, Path],
    output: Path,
    links: str = "gdfa",
    aligner: str = "fast_align",
    segmentation: tuple[str, str] = ("pre", "pre"),
    workers: int = 2,
) -> dict[str, int]:
    """Write ``i-j`` links (i source, j target word, from 0) of every line of ``files``.

    A pair with an empty side gets an empty line.

    Args:
        links: ``fwd`` (each target word at most one source word), ``rev`` (each source word at
            most one target word), ``intersection``, ``union`` or ``gdfa``.

    Returns:
        Counts of lines and links.

    Raises:
        UserError: for text that is missing, empty, not UTF-8 or of different length, an unknown
            name, an aligner that is missing or fails.
    """
    choices = link_choices()
    if links not in choices:
        raise unknown_name("`--links`", links, sorted(choices))
    with about("`--aligner`"):
        program = aligners[aligner]()
    if not program.aligns:
        raise UserError(f"`--aligner` must be one that aligns, got {aligner!r}")
    program.check()
    if output.is_dir():
        raise UserError(f"`--output` must be a file, got the folder {output}")
    with about("`--segment-source`, `--segment-target`"):
        segmenters = [segmentations[name] for name in segmentation]
    lines = [scan_text(file).lines for file in files]
    check_lines(files, lines)
    output.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=output.parent, prefix=".align.") as folder:
        work = Path(folder)
        tokens = (work / "tokens.source", work / "tokens.target")
        sizes = _write_tokens(files, segmenters, tokens)
        paths = (work / "forward", work / "reverse")
        with progress(2 * ITERATIONS, "aligning", unit="iteration") as bar:
            program.align(*tokens, *paths, workers, lambda text: bar.update(1))
        return _write_links(paths, sizes, output, choices[links])


def _write_tokens(files, segmenters, tokens) -> tuple[np.ndarray, np.ndarray]:
    """Words as numbers (no word can clash with an aligner's own), without pairs with an empty
    side; returns the numbers of words of all pairs, 0 on both sides for those."""
    numbers: tuple[dict[str, int], ...] = ({}, {})
    sizes: tuple[list[int], list[int]] = ([], [])
    with atomic_write(tokens[0], "w") as a, atomic_write(tokens[1], "w") as b:
        for block in parallel_blocks(files, None):
            sides = [
                [words_of(line) for line in segment(lines_of(data))]
                for segment, data in zip(segmenters, block.sides, strict=True)
            ]
            for pair in zip(*sides, strict=True):
                whole = bool(pair[0] and pair[1])
                for words, known, size, file in zip(pair, numbers, sizes, (a, b), strict=True):
                    size.append(len(words) * whole)
                    if whole:
                        file.write(
                            " ".join(str(known.setdefault(w, len(known))) for w in words) + "\n"
                        )
    if not any(sizes[0]):
        raise UserError(f"{files[0]} and {files[1]}: no line has text on both sides")
    return np.array(sizes[0]), np.array(sizes[1])


def _write_links(
    paths: tuple[Path, Path],
    sizes: tuple[np.ndarray, np.ndarray],
    output: Path,
    choose: Callable[[Links, Links], Links],
) -> dict[str, int]:
    total = 0
    with (
        open_binary(paths[0]) as forward,
        open_binary(paths[1]) as reverse,
        atomic_write(output) as file,
    ):
        for start in range(0, len(sizes[0]), _ROWS):
            here = [side[start : start + _ROWS] for side in sizes]
            found = [
                parse_pharaoh(b"".join(_lines(source, here[0] > 0)), source.name, start + 1)
                for source in (forward, reverse)
            ]
            for links in found:
                if links.rows != len(here[0]):
                    raise UserError("the aligner wrote too few lines")
                check_range(links, *here, "the aligner's output", start + 1)
            chosen = choose(*found)
            total += len(chosen.row)
            file.write(format_pharaoh(chosen))
    return {"lines": len(sizes[0]), "links": total}


def _lines(file, present: np.ndarray) -> Iterator[bytes]:
    found = islice(file, int(present.sum()))
    for here in present.tolist():
        yield next(found, b"") if here else b"\n"
