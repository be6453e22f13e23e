"""The configuration of a CLCR model as it is saved in a checkpoint: JSON, checked when read."""

import dataclasses
import json
from typing import Any

from fairseq_xling.checkpoints import fits
from fairseq_xling.errors import UserError
from fairseq_xling.models.encoder import EncoderShape

# Of language embeddings; each is a name, so that a number in a file cannot ask for more of them
# than there are languages.
_MOST_LANGUAGES = 10_000
_COUNTS = ("size", "entries", "languages", "language")


def read_config(text: Any, origin: Any) -> dict[str, Any]:
    """``pair``, ``encoders`` by language and ``modules`` by key, as `ClcrModel` takes them.

    Raises:
        UserError: names ``origin`` and what is wrong.
    """
    try:
        config = json.loads(text)
    except (TypeError, ValueError, RecursionError):
        raise UserError(f"{origin}: `clcr_config` must be JSON") from None
    if wrong := _wrong(config):
        raise UserError(f"{origin}: `clcr_config` must have {wrong}")
    return config


def _wrong(config: Any) -> str:
    """The rule that is broken, or nothing."""
    if not isinstance(config, dict):
        return "names"
    pair, encoders, modules = (config.get(name) for name in ("pair", "encoders", "modules"))
    if not (isinstance(pair, list) and len(pair) == 2 and all(isinstance(x, str) for x in pair)):
        return "a `pair` of languages"
    if not (isinstance(encoders, dict) and set(encoders) == set(pair)):
        return "`encoders` of the two languages"
    for lang, side in encoders.items():
        if not (isinstance(side, dict) and isinstance(side.get("shape"), dict)):
            return f"a `shape` of the encoder of {lang}"
        for name in _COUNTS:
            if not fits(side.get(name), int) or side[name] < 0:
                return f"a whole number `{name}` of {lang}"
        if side["languages"] > _MOST_LANGUAGES:
            return f"at most {_MOST_LANGUAGES} `languages` of {lang}"
        known = {option.name: option for option in dataclasses.fields(EncoderShape)}
        for name, value in side["shape"].items():
            if name not in known or not fits(value, known[name].type):
                return f"a `shape` of {lang} as encoders have, got {name[:80]!r}"
    if not isinstance(modules, dict):
        return "`modules`"
    for key, part in modules.items():
        if not (isinstance(part, dict) and isinstance(part.get("kind"), str)):
            return f"the kind of the module {key[:80]!r}"
        if not isinstance(part.get("settings"), dict):
            return f"the settings of the module {key[:80]!r}"
    return ""
