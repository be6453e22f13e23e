"""Checks of what every file of results says of its run: provenance, commands, settings."""

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fairseq_xling.errors import UserError, shown

_NAMES = {str: "a text", dict: "an object", list: "a list", float: "a number"}
_ABOUT_THE_RUN = {"provenance": dict, "config": dict, "commands": list, "seconds_of_steps": float}
_OLDER = {"machine": str, "versions": dict}  # outside of the provenance
_PROVENANCE = {"command": str, "date": str, "machine": str, "versions": dict, "inputs": dict}
_INPUT = {"path": str, "sha256": str}


def check_recorded(path: Path, record: Mapping[str, Any]) -> None:
    """Check the fields that are not of one kind of result; they may be missing, or null.

    Raises:
        UserError: for a value of another type; names file, field and value.
    """
    origin = record.get("provenance") or {}
    _check_fields(path, "", record, {**_ABOUT_THE_RUN, **_OLDER})
    _check_fields(path, "provenance.", origin, _PROVENANCE)
    for name, found in (("versions", record), ("provenance.versions", origin)):
        versions = found.get("versions") or {}
        _check_fields(path, f"{name}.", versions, dict.fromkeys(versions, str))
    for number, command in enumerate(record.get("commands") or ()):
        _check(path, f"commands[{number}]", command, str)
    inputs = origin.get("inputs") or {}
    for role, one in inputs.items():
        _check(path, f"provenance.inputs.{role}", one, dict)
        for field, kind in _INPUT.items():
            _check(path, f"provenance.inputs.{role}.{field}", one.get(field), kind)


def _check_fields(
    path: Path, where: str, values: Mapping[str, Any], kinds: Mapping[str, type]
) -> None:
    for name, kind in kinds.items():
        if values.get(name) is not None:
            _check(path, where + name, values[name], kind)


def _check(path: Path, name: str, value: Any, kind: type) -> None:
    if kind is float:
        number = isinstance(value, int | float) and not isinstance(value, bool)
        fits = number and math.isfinite(value)
    else:
        fits = isinstance(value, kind)
    if not fits:
        raise UserError(f"{path}: `{name}` must be {_NAMES[kind]}, got {shown(value)}")
