"""A pretrained encoder as a side of CLCR: its configuration and weights, from any format."""

import dataclasses
import logging
import math
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from fairseq_xling.data.folder import (
    CLS,
    MASK,
    NULL,
    PAD,
    SEP,
    SPECIALS,
    UNK,
    DataFolder,
    read_dictionary,
)
from fairseq_xling.errors import UserError
from fairseq_xling.interop.sources import SourceModel, read_source
from fairseq_xling.interop.sources.model import HEAD
from fairseq_xling.text.vocabularies import mode_of

logger = logging.getLogger(__name__)

_OURS = {"cls": CLS, "pad": PAD, "sep": SEP, "unk": UNK, "mask": MASK, "null": NULL}
_SAMPLE = 4096  # sentences whose known words are counted
_LEAST_KNOWN = 0.5


def read_side(
    path: str | Path,
    folder: DataFolder,
    lang: str,
    layer: int | None,
    data: str | Path | None = None,
) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """The configuration of a `LayerEncoder` for ``lang`` and its weights.

    Args:
        path: Hugging Face folder, or a checkpoint, as `read_source` takes it.
        folder: the folder whose ids it reads; its words are found in the encoder's vocabulary by
            spelling.
        layer: the last one that is kept, 0 for the embeddings; None is `default_layer`.
        data: where a checkpoint's own data folder or ``dict.txt`` is.

    Raises:
        UserError: for what `read_source` refuses, a layer that does not exist, or an encoder that
            knows less than half of the text.
    """
    source = read_source(path, data, lang)
    depth = source.shape.layers
    layer = default_layer(depth) if layer is None else layer
    if not 0 <= layer <= depth:
        raise UserError(f"`--clcr-layer` of {lang} must lie in [0, {depth}] ({path}), got {layer}")
    table = id_table(folder, lang, source)
    _check_known(folder, lang, table, source)
    languages = list(source.languages)
    config = {
        "shape": dataclasses.asdict(dataclasses.replace(source.shape, layers=layer)),
        "size": len(source.symbols),
        "entries": len(table),
        "languages": len(languages),
        "language": languages.index(lang) if lang in languages else 0,
        "depth": depth,
        "origin": str(path),
    }
    weights = {f"encoder.{n}": t for n, t in source.state.items() if _kept(n, layer)}
    return config, {**weights, "ids": table}


def default_layer(depth: int) -> int:
    """Three quarters up, as the paper's 9 of 12 (Appendix C), rounded up at halves.

    >>> [default_layer(depth) for depth in (2, 4, 6, 12, 24)]
    [2, 3, 5, 9, 18]
    """
    return math.floor(0.75 * depth + 0.5)


def id_table(folder: DataFolder, lang: str, source: SourceModel) -> Tensor:
    """(V,) the encoder's id of each entry of the dictionary of ``lang``; that of the unknown
    word if it has none."""
    mode = mode_of(folder)
    theirs = {symbol: number for number, symbol in enumerate(source.symbols)}
    unknown = source.special_ids["unk"]
    symbols = read_dictionary(folder.dictionary_path(lang))
    table = [theirs.get(mode.piece(symbol), unknown) for symbol in symbols]
    for kind, row in _OURS.items():
        table[row] = source.special_ids.get(kind, unknown)
    return torch.tensor(table)


def _check_known(folder: DataFolder, lang: str, table: Tensor, source: SourceModel) -> None:
    """Log how much of the training text is unknown to the encoder, and reject too much of it."""
    pair = next((pair for pair in folder.pairs("train") if lang in pair), None)
    if pair is None:
        raise UserError(f"{folder.path}: has no parallel 'train' text of language {lang!r}")
    file = folder.parallel("train", *pair)[pair.index(lang)]
    ids, _ = file.block(0, _SAMPLE)
    ids = ids[ids >= SPECIALS]
    unknown = table.numpy() == source.special_ids["unk"]
    share = float(unknown[ids].mean()) if len(ids) else 0.0
    if share > 1 - _LEAST_KNOWN:
        raise UserError(
            f"`--encoder` {lang}={source.origin}: has no embedding for {100 * share:.1f} % of the "
            f"{lang} text of {folder.path}; prepare the text with the encoder's own vocabulary"
        )
    if share:
        logger.warning(
            "%s: %.2f %% of the %s text are words unknown to it", source.origin, 100 * share, lang
        )


def _kept(name: str, layer: int) -> bool:
    pieces = name.split(".")
    return not name.startswith(HEAD) and (pieces[0] != "layers" or int(pieces[1]) < layer)
