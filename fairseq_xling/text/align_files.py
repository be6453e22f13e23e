"""Word alignment of two plain text files, Pharaoh links out."""

import tempfile
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path

import numpy as np

from fairseq_xling.errors import UserError, about
from fairseq_xling.files import atomic_write, open_binary
from fairseq_xling.progress import progress
from fairseq_xling.registry import unknown_name
from fairseq_xling.text.aligners import aligners
from fairseq_xling.text.blocks import lines_of, parallel_blocks
from fairseq_xling.text.links import Links, check_range, format_pharaoh, parse_pharaoh
from fairseq_xling.text.scan import scan_text
from fairseq_xling.text.segment import segmentations
from fairseq_xling.text.symmetrize import symmetrizations
from fairseq_xling.text.thot_worker import ITERATIONS

_ROWS = 4096


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
    if lines[0] != lines[1]:
        raise UserError(
            f"parallel files must have equally many lines, got {lines[0]} in {files[0]} and "
            f"{lines[1]} in {files[1]}"
        )
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
                [line.split() for line in segment(lines_of(data))]
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
