"""A pretrained encoder up to one layer, reading the ids of a data folder: a side of CLCR.

Its configuration is saved in a checkpoint as JSON, and checked when read.

B batch, T length, D width, V entries of the data folder's dictionary of the language.
"""

import dataclasses
import json
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn

from fairseq_xling.checkpoints import fits
from fairseq_xling.core.errors import UserError
from fairseq_xling.models.encoder import EncoderShape, SeparableEncoder
from fairseq_xling.models.sharing import SharingPlan


class LayerEncoder(nn.Module):
    """The states after one layer; the layers above are dropped.

    Args:
        config: JSON values: ``shape`` (its ``layers`` are those that are kept), ``size`` of the
            encoder's own vocabulary, ``entries`` V, and ``languages`` and ``language``, the
            number of rows of language embeddings and which one is read.
    """

    def __init__(self, config: Mapping[str, Any]):
        super().__init__()
        shape = EncoderShape(**config["shape"])
        sizes = {str(number): config["size"] for number in range(config["languages"])}
        self.encoder = SeparableEncoder(shape, sizes, SharingPlan())
        del self.encoder.softmax  # no words are predicted
        self.language = config["language"]
        self.register_buffer("ids", torch.zeros(config["entries"], dtype=torch.int64))

    @property
    def width(self) -> int:
        """D."""
        return self.encoder.shape.dim

    def forward(self, src: Mapping[str, Tensor]) -> Tensor:
        """(B, T, D) of a batch's side, whose ``tokens`` are the data folder's."""
        src = {**src, "tokens": self.ids[src["tokens"]]}
        src["langs"] = torch.full_like(src["langs"], self.language)
        return self.encoder.states(src)[-1]


# Of language embeddings; each is a name, so that a number in a file cannot ask for more of them
# than there are languages.
_MOST_LANGUAGES = 10_000
_COUNTS = ("size", "entries", "languages", "language")


def read_config(text: Any, origin: Any) -> dict[str, Any]:
    """``pair``, ``encoders`` by language and ``modules`` by key, as `ClcrModel` takes them."""
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
