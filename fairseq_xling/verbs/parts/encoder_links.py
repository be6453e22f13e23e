"""Links of words by an encoder's vectors: `fairseq-xling align --encoder`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from fairseq_xling.analysis.word_links import WORD_LINKS, forward, similarities
from fairseq_xling.api.encoder import Encoder, compared
from fairseq_xling.core.errors import UserError, about
from fairseq_xling.core.files import atomic_write
from fairseq_xling.core.languages import parse_languages
from fairseq_xling.core.progress import progress
from fairseq_xling.core.registry import unknown_name
from fairseq_xling.core.texts import read_sentences
from fairseq_xling.mapping.fitted import LayerMap, read_map
from fairseq_xling.text.alignment import link_choices
from fairseq_xling.text.blocks import sentence_blocks
from fairseq_xling.text.inputs import check_lines
from fairseq_xling.text.links import Links, format_pharaoh
from fairseq_xling.text.segment import segmentations, words_of


class _Mapped:
    """A layer of a fitted map, as `Encoder.align` takes one."""

    def __init__(self, layer: LayerMap):
        self._layer = layer

    def transform(self, rows: np.ndarray) -> np.ndarray:
        return self._layer.moving(torch.from_numpy(rows)).numpy()

    def transform_fixed(self, rows: np.ndarray) -> np.ndarray:
        return self._layer.fixed(torch.from_numpy(rows)).numpy()


def link_files(
    files: tuple[Path, Path],
    output: Path,
    choice: str,
    segmentation: tuple[str, str],
    checkpoint: str,
    data: str | None,
    languages: str | None,
    layer: int | None,
    map: str | None,
    device: str,
) -> dict[str, int]:
    """Write the links of every line; returns counts of lines and links.

    Args:
        files, output, segmentation: as of `text.alignment.align_files`.
        choice: of its links, or a name in `WORD_LINKS`.
        checkpoint, data, device: as of `Encoder.load`.
        languages: of source and target, with a comma between.
        layer: of the vectors; None is the last.
        map: a file of `fairseq-xling map`, if any.

    Raises:
        UserError: for an unknown name, files of different length, or what `Encoder.load` and the
            map do not take.
    """
    known = [*link_choices(), *(name for name in WORD_LINKS if name != "argmax")]
    if choice not in known:
        raise unknown_name("`LINKS`", choice, known)
    if languages is None:
        raise UserError("`--encoder` needs `--languages A,B`, those of source and target")
    pair = parse_languages(languages)
    if len(pair) != 2:
        raise UserError(f"`--languages` must name two, got {languages}")
    with about("`--segment-source`, `--segment-target`"):
        cut = [segmentations[name] for name in segmentation]
    lines = [sum(1 for _ in read_sentences(file)) for file in files]
    check_lines(files, lines)
    encoder = Encoder.load(checkpoint, data, device)
    with about("`--languages`"):
        for lang in pair:
            encoder.check_language(lang)
    layer = encoder.num_layers if layer is None else layer
    if layer > encoder.num_layers:
        raise UserError(f"`--layer` must lie in [0, {encoder.num_layers}], got {layer}")
    mapped = None
    if map is not None:
        with about(map):
            mapped = _Mapped(read_map(map)[layer])
    total = 0
    output.parent.mkdir(parents=True, exist_ok=True)
    sides = [sentence_blocks(file, 0) for file in files]
    with progress(lines[0], "align", "pairs") as bar, atomic_write(output) as file:
        for blocks in zip(*sides, strict=True):
            links = _block(encoder, blocks, pair, cut, choice, layer, mapped)
            file.write(format_pharaoh(links))
            total += len(links.row)
            bar.update(len(blocks[0]))
    return {"lines": lines[0], "links": total}


def _block(
    encoder: Encoder,
    blocks: Sequence[Sequence[str]],
    pair: list[str],
    cut: list[Any],
    choice: str,
    layer: int,
    mapped: _Mapped | None,
) -> Links:
    vectors = [
        [one.vectors for one in encoder.word_vectors(words, lang, layer=layer)]
        for words, lang in (
            ([words_of(line) for line in segment(block)], lang)
            for segment, block, lang in zip(cut, blocks, pair, strict=True)
        )
    ]
    similar = [similarities(*compared(x, y, mapped)) for x, y in zip(*vectors, strict=True)]
    if choice in WORD_LINKS:
        return _links([WORD_LINKS[choice](one) for one in similar])
    to_target = _links([forward(one.T).T for one in similar])
    return link_choices()[choice](to_target, _links([forward(one) for one in similar]))


def _links(chosen: list[torch.Tensor]) -> Links:
    """Of (I, J) for each pair of sentences."""
    places = [one.nonzero().numpy() for one in chosen]
    row = np.repeat(np.arange(len(places)), [len(one) for one in places])
    both = np.concatenate([*places, np.zeros((0, 2), dtype=np.int64)])
    return Links(len(chosen), row, both[:, 0], both[:, 1])
