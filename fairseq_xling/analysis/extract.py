"""Hidden states of a text on disk: streamed, batched by length, resumable after a kill.

The text is read in blocks; what a unit (`fairseq_xling.analysis.units`) keeps of a block is on disk
before the next one begins. The folder gets its name when it is complete.
"""

import argparse
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from fairseq_xling.analysis.measures import Encoder
from fairseq_xling.analysis.new_folder import META, is_finished, new_folder
from fairseq_xling.analysis.units import Work, units
from fairseq_xling.data.folder import DataFolder
from fairseq_xling.errors import UserError
from fairseq_xling.files import read_json, read_lines, write_json
from fairseq_xling.text.encoder import TextEncoder
from fairseq_xling.text.progress import progress

BLOCK = 2048  # sentences
DTYPES = ("float32", "float16")


def extract(
    encoder: Encoder,
    data: DataFolder,
    text: Path,
    lang: str,
    output: Path,
    args: argparse.Namespace,
    origin: Mapping[str, Any],
) -> dict[str, Any]:
    """Write the vectors of ``text`` into the folder ``output``; returns its ``meta.json``.

    Args:
        args: ``unit``, ``layers``, ``dtype``, ``max_tokens``, and the options of the unit.
        origin: what else determines the result, such as checksums; a folder with another origin
            is rejected.

    Raises:
        UserError: for a layer or language that the encoder does not have, a text without lines, or
            an output folder that contains anything else.
    """
    last = getattr(units[args.unit], "last_layer", encoder.num_layers)
    layers = parse_layers(args.layers, last)
    settings = {"unit": args.unit, "layers": list(layers), "dtype": args.dtype, "lang": lang}
    settings |= {"max_tokens": args.max_tokens, **origin}
    if is_finished(output, settings):
        return read_json(output / META)
    total = sum(1 for _ in read_lines(text))
    if not total:
        raise UserError(f"{text}: contains no lines")
    with new_folder(output, settings, "extract") as folder:
        encode = TextEncoder.load(data.path, lang)
        work = Work(
            folder,
            text,
            lang,
            data,
            encode,
            layers,
            encoder.width,
            np.dtype(args.dtype),
            lambda: encoder.embeddings(lang),
        )
        unit = units[args.unit](work, args)
        with progress(total, f"extract {args.unit}", "sentences") as bar:
            bar.update(unit.done)
            for lines in blocks(text, unit.done):
                sentences = encode.encode(lines)
                block = unit.block(sentences)
                for indices, states, words in encoder.states(sentences, lang, args.max_tokens):
                    block.add(indices, states[list(layers)], words)
                block.close()
                bar.update(len(lines))
        meta = {"settings": settings, "width": encoder.width, **unit.finish()}
        write_json(folder / META, meta)
    return meta


def parse_layers(text: str, last: int, option: str = "--layers") -> tuple[int, ...]:
    """Layers separated by commas, ranges with a dash, or ``all``; 0 is the embeddings.

    >>> parse_layers("0,2-4", 6), parse_layers("all", 2)
    ((0, 2, 3, 4), (0, 1, 2))

    Raises:
        UserError: for anything else, or layers that do not exist.
    """
    if text == "all":
        return tuple(range(last + 1))
    found: set[int] = set()
    for piece in text.split(","):
        ends = [end.strip() for end in piece.split("-")]
        if len(ends) > 2 or not all(end.isdecimal() for end in ends):
            raise UserError(f"`{option}` must look like 0,2-4 or all, got {text!r}")
        first, end = int(ends[0]), int(ends[-1])
        if end > last:
            raise UserError(f"`{option}` must lie in [0, {last}], got {text!r}")
        if first > end:
            raise UserError(f"`{option}` must have increasing ranges, got {piece.strip()!r}")
        found.update(range(first, end + 1))
    return tuple(sorted(found))


def blocks(text: Path, done: int) -> Iterator[Sequence[str]]:
    """The lines of ``text`` after the first ``done``, up to `BLOCK` at a time."""
    lines = islice(read_lines(text), done, None)
    while block := list(islice(lines, BLOCK)):
        yield block
