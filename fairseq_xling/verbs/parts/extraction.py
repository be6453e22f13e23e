"""Hidden states of a text on disk: streamed, batched by length, resumable after a kill.

The text is read in blocks; what a unit (`fairseq_xling.verbs.units`) keeps of a block is on disk
before the next one begins. The folder gets its name when it is complete.
"""

import argparse
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from fairseq_xling.analysis.layers import parse_layers
from fairseq_xling.analysis.subject import Encoder
from fairseq_xling.data.folder import DataFolder
from fairseq_xling.errors import UserError
from fairseq_xling.files import read_json, write_json
from fairseq_xling.folders import META, is_finished, new_folder
from fairseq_xling.progress import progress
from fairseq_xling.sentences import read_sentences
from fairseq_xling.text.blocks import sentence_blocks
from fairseq_xling.text.encoder import TextEncoder
from fairseq_xling.verbs.units import Work, units

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
    total = sum(1 for _ in read_sentences(text))
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
        unknown = getattr(unit, "unknown", False)
        with progress(total, f"extract {args.unit}", "sentences") as bar:
            bar.update(unit.done)
            for lines in sentence_blocks(text, unit.done):
                sentences = encode.encode(lines)
                block = unit.block(sentences)
                found = _states(encoder, sentences, lang, args.max_tokens, unknown)
                for indices, states, words in found:
                    block.add(indices, states[list(layers)], words)
                block.close()
                bar.update(len(lines))
        meta = {"settings": settings, "width": encoder.width, **unit.finish()}
        write_json(folder / META, meta)
    return meta


def _states(
    encoder: Encoder, sentences: Sequence[np.ndarray], lang: str, max_tokens: int, unknown: bool
) -> Iterator[tuple[np.ndarray, Any, Any]]:
    """As `Encoder.states`, of lines with a subword: no unit takes anything from a blank one."""
    written = np.flatnonzero([len(ids) > 1 for ids in sentences])
    some = [sentences[number] for number in written]
    for indices, states, words in encoder.states(some, lang, max_tokens, unknown) if some else ():
        yield written[indices], states, words
