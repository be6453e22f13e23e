"""What a training of `--task clcr` starts from: two encoders of any format, or a checkpoint."""

import dataclasses
import logging
import math
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from fairseq_xling.core.arguments import names_in
from fairseq_xling.core.errors import UserError
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
from fairseq_xling.interop.sources import SourceModel, read_source
from fairseq_xling.interop.sources.model import HEAD
from fairseq_xling.models.identity import read_identity
from fairseq_xling.papers.clcr.encoder import read_config
from fairseq_xling.papers.clcr.modules import modules
from fairseq_xling.text.vocabularies import mode_of
from fairseq_xling.trained import load_trained

logger = logging.getLogger(__name__)


def gather(
    cfg: Any, folder: DataFolder, pair: tuple[str, str], name: str
) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """The model's configuration, and the weights that it starts from.

    Args:
        cfg: the options of `fairseq_xling.papers.clcr.model`.
        name: of the module that is trained, in `modules`.
    """
    if bool(cfg.clcr_start) == bool(cfg.encoder):
        raise UserError(
            "`--encoder` must name the encoders of a first training, or `--clcr-start` the "
            f"checkpoint of an earlier one, got {'both' if cfg.encoder else 'neither'}"
        )
    kind = modules[name]
    for option in ("clcr_layer", "encoder_data"):
        if cfg.clcr_start and getattr(cfg, option):
            raise UserError(
                f"`--{option.replace('_', '-')}` belongs to `--encoder`; the encoders of "
                f"`--clcr-start` are as they were trained, got {getattr(cfg, option)!r}"
            )
    if cfg.clcr_start:
        config, weights = _read_start(cfg.clcr_start, folder, pair)
    else:
        paths = by_language("--encoder", cfg.encoder, pair)
        for lang in pair:
            if lang not in paths:
                raise UserError(f"`--encoder` must also name one for {lang!r}, got {cfg.encoder!r}")
        data = by_language("--encoder-data", cfg.encoder_data, pair)
        layers = parse_layers("--clcr-layer", cfg.clcr_layer, pair)
        config, weights = {"pair": list(pair), "encoders": {}, "modules": {}}, {}
        for number, lang in enumerate(pair):
            side, found = read_side(paths[lang], folder, lang, layers.get(lang), data.get(lang))
            config["encoders"][lang] = side
            weights |= {f"encoders.{number}.{name}": tensor for name, tensor in found.items()}
    for needed in kind.after:
        if needed not in config["modules"]:
            raise UserError(
                f"`--clcr-module {name}` comes after {needed!r}: `--clcr-start` must name a "
                "checkpoint that has it"
            )
    for later in [x for x, one in config["modules"].items() if name in modules[one["kind"]].after]:
        del config["modules"][later]
        line = "%s is left out: it was trained on what %s is trained to change"
        logger.warning(line, later, name)
    key = kind.key(name, cfg)
    settings = kind.settings(cfg)
    known = config["modules"].setdefault(key, {"kind": name, "settings": settings})
    if known["settings"] != settings:
        logger.warning("%s keeps its original settings: %s", key, known["settings"])
    return config, weights


def _read_start(
    path: str, folder: DataFolder, pair: tuple[str, str]
) -> tuple[dict[str, Any], dict[str, Tensor]]:
    state = load_trained(path)
    try:
        text = dict(state["cfg"]["model"])["clcr_config"]
        identity = read_identity(state["model"])
    except (KeyError, TypeError, ValueError):
        raise UserError(f"`--clcr-start` {path}: contains no model of `--task clcr`") from None
    config = read_config(text, f"`--clcr-start` {path}")
    if identity.get("pair") != list(pair):
        theirs = ",".join(map(str, identity.get("pair", ())))
        raise UserError(
            f"`--clcr-start` {path}: is of the pair {theirs}, got `--clcr-pair` {','.join(pair)}"
        )
    if identity.get("dictionaries") != {lang: folder.dictionary_digest(lang) for lang in pair}:
        raise UserError(
            f"`--clcr-start` {path}: was trained with other dictionaries than those of "
            f"{folder.path}"
        )
    return config, state["model"]


def by_language(option: str, text: str, languages: tuple[str, ...]) -> dict[str, str]:
    """``en=one,de=two`` by language.

    >>> by_language("--encoder", "en=a.pt,de=b", ("en", "de"))
    {'en': 'a.pt', 'de': 'b'}
    """
    found: dict[str, str] = {}
    for item in names_in(text):
        lang, equals, value = item.partition("=")
        if not equals or not value:
            raise UserError(f"`{option}` must be like {languages[0]}=..., got {item!r}")
        if lang not in languages:
            raise UserError(f"`{option}` must be of {' or '.join(languages)}, got {lang!r}")
        if lang in found:
            raise UserError(f"`{option}` names {lang!r} twice")
        found[lang] = value
    return found


def parse_layers(option: str, text: str, pair: tuple[str, str]) -> dict[str, int]:
    """``9`` or ``en=9,de=4`` by language; languages that are not named are left out.

    >>> parse_layers("--clcr-layer", "9", ("en", "de"))
    {'en': 9, 'de': 9}
    """
    if text.isdecimal():
        return dict.fromkeys(pair, int(text))
    if "=" not in text and text.strip():
        raise UserError(f"`{option}` must be a layer, or like {pair[0]}=9, got {text!r}")
    found = by_language(option, text, pair)
    for lang, number in found.items():
        if not number.isdecimal():
            raise UserError(f"`{option}` of {lang} must be a whole number, got {number!r}")
    return {lang: int(number) for lang, number in found.items()}


_OURS = {"cls": CLS, "pad": PAD, "sep": SEP, "unk": UNK, "mask": MASK, "null": NULL}
_SAMPLE = 4096  # sentences whose known words are counted


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
    # The id in the encoder of each entry of the dictionary, or that of the unknown word.
    piece, unknown = mode_of(folder).piece, source.special_ids["unk"]
    theirs = {symbol: number for number, symbol in enumerate(source.symbols)}
    symbols = read_dictionary(folder.dictionary_path(lang))
    ids = [theirs.get(piece(symbol), unknown) for symbol in symbols]
    for kind, row in _OURS.items():
        ids[row] = source.special_ids.get(kind, unknown)
    table = torch.tensor(ids)
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
    weights = {"ids": table}
    for name, tensor in source.state.items():
        part, number = f"{name}.".split(".")[:2]
        if not name.startswith(HEAD) and (part != "layers" or int(number) < layer):
            weights[f"encoder.{name}"] = tensor
    return config, weights


def default_layer(depth: int) -> int:
    """Three quarters up, as the paper's 9 of 12 (Appendix C), rounded up at halves.

    >>> [default_layer(depth) for depth in (2, 4, 6, 12, 24)]
    [2, 3, 5, 9, 18]
    """
    return math.floor(0.75 * depth + 0.5)


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
    if share > 0.5:
        raise UserError(
            f"`--encoder` {lang}={source.origin}: has no embedding for {100 * share:.1f} % of the "
            f"{lang} text of {folder.path}; prepare the text with the encoder's own vocabulary"
        )
    if share:
        logger.warning(
            "%s: %.2f %% of the %s text are words unknown to it", source.origin, 100 * share, lang
        )
