"""What a training of `--task clcr` starts from: two encoders, or an earlier checkpoint."""

import logging
from typing import Any

from torch import Tensor

from fairseq_xling.checkpoints.files import load_trained
from fairseq_xling.clcr.side import read_side
from fairseq_xling.data.folder import DataFolder
from fairseq_xling.errors import UserError
from fairseq_xling.models.clcr.config import read_config
from fairseq_xling.models.clcr.modules import modules
from fairseq_xling.models.identity import read_identity

logger = logging.getLogger(__name__)


def gather(
    cfg: Any, folder: DataFolder, pair: tuple[str, str], name: str
) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """The model's configuration, and the weights that it starts from.

    Args:
        cfg: the options of `fairseq_xling.models.clcr.model`.
        name: of the module that is trained, in `modules`.

    Raises:
        UserError: if an encoder is missing or does not fit, or a module that must come first, and
            if options of both kinds of start are mixed.
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
        config, weights = _read_encoders(cfg, folder, pair)
    for needed in kind.after:
        if needed not in config["modules"]:
            raise UserError(
                f"`--clcr-module {name}` comes after {needed!r}: `--clcr-start` must name a "
                "checkpoint that has it"
            )
    for later in [x for x, one in config["modules"].items() if name in modules[one["kind"]].after]:
        del config["modules"][later]
        logger.warning(
            "%s is left out: it was trained on what %s is trained to change", later, name
        )
    key = kind.key(name, cfg)
    settings = kind.settings(cfg)
    known = config["modules"].setdefault(key, {"kind": name, "settings": settings})
    if known["settings"] != settings:
        logger.warning("%s keeps its original settings: %s", key, known["settings"])
    return config, weights


def _read_encoders(
    cfg: Any, folder: DataFolder, pair: tuple[str, str]
) -> tuple[dict[str, Any], dict[str, Tensor]]:
    paths = by_language("--encoder", cfg.encoder, pair)
    for lang in pair:
        if lang not in paths:
            raise UserError(f"`--encoder` must also name one for {lang!r}, got {cfg.encoder!r}")
    data = by_language("--encoder-data", cfg.encoder_data, pair)
    layers = parse_layers("--clcr-layer", cfg.clcr_layer, pair)
    config: dict[str, Any] = {"pair": list(pair), "encoders": {}, "modules": {}}
    weights = {}
    for number, lang in enumerate(pair):
        side, found = read_side(paths[lang], folder, lang, layers.get(lang), data.get(lang))
        config["encoders"][lang] = side
        weights |= {f"encoders.{number}.{name}": tensor for name, tensor in found.items()}
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

    Raises:
        UserError: for another form, another language, or one named twice.
    """
    found: dict[str, str] = {}
    for item in filter(None, (piece.strip() for piece in text.split(","))):
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

    Raises:
        UserError: for anything but whole numbers, or another language.
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
