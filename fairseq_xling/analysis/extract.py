"""Hidden states of a text on disk: streamed, batched by length, going on after a kill.

The text is read in blocks; what a unit (`fairseq_xling.analysis.units`) keeps of a block is on disk
before the next one begins. The folder appears under its name when all is there.
"""

import argparse
import contextlib
import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from fairseq_xling.analysis.measures import Encoder
from fairseq_xling.analysis.units import Work, units
from fairseq_xling.data.folder import DataFolder
from fairseq_xling.errors import UserError
from fairseq_xling.files import exclusive, read_json, read_lines, write_json
from fairseq_xling.text.encoder import TextEncoder
from fairseq_xling.text.progress import progress

META = "meta.json"
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
    """Write the vectors of ``text`` into the folder ``output``; what its ``meta.json`` says.

    Args:
        args: ``unit``, ``layers``, ``dtype``, ``max_tokens``, and the options of the unit.
        origin: what decides the result beside ``args``, such as checksums; a folder with another
            origin is refused.

    Raises:
        UserError: for a layer or language that the encoder has not, a text without lines, or an
            output folder that holds anything else.
    """
    last = getattr(units[args.unit], "last_layer", encoder.num_layers)
    layers = parse_layers(args.layers, last)
    settings = {"unit": args.unit, "layers": list(layers), "dtype": args.dtype, "lang": lang}
    settings |= {"max_tokens": args.max_tokens, **origin}
    if _is_there(output, settings):
        return read_json(output / META)
    folder = output.parent / f".{output.name}.partial"
    folder.mkdir(parents=True, exist_ok=True)
    with exclusive(folder, f"`--output` {output}: another `extract` is writing it"):
        begun = folder / "settings.json"
        if not begun.is_file() or read_json(begun) != settings:
            for path in folder.iterdir():
                path.unlink()
            write_json(begun, settings)
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
        total = sum(1 for _ in read_lines(text))
        if not total:
            raise UserError(f"{text}: holds no lines")
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
        begun.unlink()
        with contextlib.suppress(FileNotFoundError):
            shutil.rmtree(output)  # empty, or `_is_there` would have refused it
        os.replace(folder, output)
    return meta


def parse_layers(text: str, last: int) -> tuple[int, ...]:
    """Layers separated by commas, ranges with a dash, or ``all``; 0 is the embeddings.

    >>> parse_layers("0,2-4", 6), parse_layers("all", 2)
    ((0, 2, 3, 4), (0, 1, 2))

    Raises:
        UserError: for anything else, or layers that are not there.
    """
    if text == "all":
        return tuple(range(last + 1))
    found: list[int] = []
    for piece in text.split(","):
        first, _, end = piece.partition("-")
        if not first.strip().isdigit() or (end and not end.strip().isdigit()):
            raise UserError(f"`--layers` must look like 0,2-4 or all, got {text!r}")
        found += range(int(first), int(end or first) + 1)
    if not found or max(found) > last:
        raise UserError(f"`--layers` must lie in [0, {last}], got {text!r}")
    return tuple(sorted(set(found)))


def blocks(text: Path, done: int) -> Iterator[Sequence[str]]:
    """The lines of ``text`` behind the first ``done``, up to `BLOCK` at a time."""
    lines = islice(read_lines(text), done, None)
    while block := list(islice(lines, BLOCK)):
        yield block


def _is_there(output: Path, settings: Mapping[str, Any]) -> bool:
    if not output.exists() or (output.is_dir() and not any(output.iterdir())):
        return False
    if (output / META).is_file() and read_json(output / META).get("settings") == settings:
        return True
    raise UserError(f"`--output` {output}: must be new; it holds something else")
