"""Text to sequences of vectors: streamed, resumable after a kill.

B sentences of a batch, T tokens, K vectors of the longest sequence, E width.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from fairseq_xling.errors import UserError
from fairseq_xling.files import read_json
from fairseq_xling.papers.clcr.sequence_variants import RowMethod, View
from fairseq_xling.papers.clcr.sequences import META, is_written, write_sequences
from fairseq_xling.progress import progress
from fairseq_xling.sentences import read_sentences
from fairseq_xling.text.blocks import BLOCK_SENTENCES
from fairseq_xling.text.encoder import TextEncoder


def encode(
    model: Any,
    row: RowMethod,
    text: Path,
    lang: str,
    output: Path,
    settings: Mapping[str, Any],
    about: Any,
    translation: Path | None = None,
    max_tokens: int = 8192,
) -> dict[str, Any]:
    """Write a sequence for each line of ``text`` into ``output``; returns its ``meta.json``.

    Args:
        model: a `fairseq_xling.papers.clcr.trained.Clcr`.
        settings: what determines the result, with ``lang`` and ``dtype``.
        about: returns the further contents of ``meta.json``.
        translation: line n translates line n of ``text``, for a row that reads it.

    Raises:
        UserError: for texts without lines or of different lengths, or an output folder that
            contains anything else.
    """
    if is_written(output, settings):
        return read_json(output / META)
    side = model.side(lang)
    files = [text] if translation is None else [text, translation]
    counts = [sum(1 for _ in read_sentences(file)) for file in files]
    if not counts[0]:
        raise UserError(f"{text}: contains no lines")
    if len(set(counts)) > 1:
        raise UserError(
            f"{text} and {translation}: must have equally many lines, got {counts[0]} and "
            f"{counts[1]}"
        )
    encoders = [TextEncoder.load(model.folder.path, lang)]
    if translation is not None:
        encoders.append(TextEncoder.load(model.folder.path, model.pair[1 - side]))
    with write_sequences(output, settings, row.width) as writer:
        with progress(counts[0], f"encode {lang}", "sentences") as bar:
            bar.update(writer.done)
            for lines in _blocks(files, writer.done):
                texts = [e.encode(part) for e, part in zip(encoders, lines, strict=True)]
                writer.append(*encode_block(model, row, side, texts, max_tokens))
                bar.update(len(lines[0]))
        writer.finish(about())
    return read_json(output / META)


@torch.no_grad()
def encode_block(
    model: Any, row: RowMethod, side: int, texts: Sequence[Sequence[np.ndarray]], max_tokens: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Vectors, counts, spans and lengths of a block of sentences."""
    lengths = np.array([len(ids) - 1 for ids in texts[0]])
    counts = np.zeros(len(lengths), dtype=np.int64)
    vectors, places, owners = [], [], []
    for indices, view in _views(model, side, texts, max_tokens):
        chosen = row(view)
        inside = ~chosen.padding
        vectors.append(chosen.of(row.vectors(view))[inside].cpu().numpy())
        places.append(chosen.places[inside].cpu().numpy() - 1)  # after <s>
        counts[indices] = inside.sum(1).cpu().numpy()
        owners.append(np.repeat(indices, counts[indices]))
    order = np.argsort(np.concatenate(owners), kind="stable")
    place = np.concatenate(places)[order]
    spans = np.stack([place, place + 1], axis=1)
    return np.concatenate(vectors)[order], counts, spans, lengths


def _views(
    model: Any, side: int, texts: Sequence[Sequence[np.ndarray]], max_tokens: int
) -> Iterator[tuple[np.ndarray, View]]:
    def moved(states: Tensor) -> Tensor:
        return model.transform(0, states) if side == 0 else states

    def source(indices: np.ndarray) -> dict[str, Tensor]:
        return model.source([texts[0][i] for i in indices])

    if len(texts) == 1:
        for indices, states, content in model.states(texts[0], side, max_tokens):
            yield indices, View(moved(states), content, states, source(indices))
        return
    sides = texts if side == 0 else texts[::-1]
    for indices, states, masks in model.pairs(*sides, max_tokens):
        mine, theirs = side, 1 - side
        own = moved(states[mine]), masks[mine], states[mine], source(indices)
        yield indices, View(*own, states[theirs], masks[theirs])


def _blocks(files: Sequence[Path], done: int) -> Iterator[list[list[str]]]:
    """Lines of all ``files`` after the first ``done``, up to `BLOCK_SENTENCES` at a time."""
    texts = [islice(read_sentences(file), done, None) for file in files]
    while (block := [list(islice(text, BLOCK_SENTENCES)) for text in texts])[0]:
        yield block
