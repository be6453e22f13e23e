"""A checkpoint's identity, as a tensor among its weights.

A tensor, so that loading stays safe; of floats, so that averages over checkpoints or over time
(--store-ema), which treat it as a parameter, preserve it up to rounding.
"""

import json
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from fairseq_xling.checkpoints import check_kinds, origin
from fairseq_xling.core.errors import UserError, exits_on_user_error

KEY = "_extra_state"  # where torch puts it in a state dict


def encode_identity(identity: Mapping[str, Any]) -> Tensor:
    """``identity`` (JSON values) as a float tensor.

    >>> decode_identity(encode_identity({"languages": ["en", "de"]}))
    {'languages': ['en', 'de']}
    """
    text = json.dumps(identity, sort_keys=True).encode()
    return torch.tensor(list(text), dtype=torch.float32)


def decode_identity(state: Tensor) -> dict[str, Any]:
    """The identity that `encode_identity` encoded in ``state``.

    Raises:
        ValueError: if it contains none, or is damaged.
    """
    try:
        found = dict(json.loads(bytes(map(round, state.tolist()))))
    except (AttributeError, TypeError, OverflowError, RecursionError) as error:
        raise ValueError(str(error)) from None
    for name in ("languages", "pair"):
        value = found.get(name, [])
        if not (isinstance(value, list) and all(isinstance(item, str) for item in value)):
            raise ValueError(f"{name} must be a list of languages")
    digests = found.get("dictionaries", {})
    if not (isinstance(digests, dict) and all(isinstance(d, str) for d in digests.values())):
        raise ValueError("dictionaries must be digests by language")
    return found


def read_identity(state: Mapping[str, Any]) -> dict[str, Any]:
    """The identity in a state dict; empty if it has none that can be read."""
    try:
        return decode_identity(state[KEY])
    except (KeyError, ValueError):
        return {}


def check_identity(mine: Mapping[str, Any], theirs: Mapping[str, Any]) -> None:
    """Reject a checkpoint with identity ``theirs`` for a model with identity ``mine``."""
    for name, value in mine.items():
        if theirs.get(name) != value:
            raise UserError(
                f"{origin()} does not fit: it was trained with {name} "
                f"{_show(theirs.get(name))}, this model has {_show(value)}"
            )


def first_difference(error: RuntimeError) -> str:
    """The first of the tensors that torch lists where weights do not fit a module."""
    lines = str(error).splitlines()
    return (lines[1:2] or lines or [""])[0].strip()


class Identified:
    """Mixed into a model, before fairseq's class: stores its ``identity`` with its weights, and
    takes none of another.

    Attributes:
        fits: what weights have to fit, for the message.
        older: whether checkpoints are taken that a version without identities wrote.
    """

    identity: dict[str, Any]
    fits: str = ""
    older: bool = False

    def get_extra_state(self) -> Tensor:
        return encode_identity(self.identity)

    def set_extra_state(self, state: Tensor) -> None:
        """Compared in `load_state_dict`, before any weight is loaded."""

    @exits_on_user_error
    def load_state_dict(self, state_dict, strict=True, model_cfg=None, args=None):
        """As fairseq's, but with a one-line error."""
        if self.older and KEY not in state_dict:
            state_dict = {**state_dict, KEY: self.get_extra_state()}
        check_identity(self.identity, read_identity(state_dict))
        check_kinds(self, state_dict)
        try:
            return super().load_state_dict(state_dict, strict, model_cfg, args)
        except RuntimeError as error:
            what = f"does not fit {self.fits}".strip()
            raise UserError(f"{origin()} {what} ({first_difference(error)})") from None


def _show(value: Any) -> str:
    if isinstance(value, dict):  # dictionaries' digests: eight characters distinguish them
        return ", ".join(f"{lang}:{str(digest)[:8]}" for lang, digest in sorted(value.items()))
    return repr(value)
