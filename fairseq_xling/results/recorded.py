"""Checks of what every file of results says of its run: provenance, commands, settings."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fairseq_xling.json_fields import check_type

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
        check_type(path, command, f"`commands[{number}]`", str)
    inputs = origin.get("inputs") or {}
    for role, one in inputs.items():
        check_type(path, one, f"`provenance.inputs.{role}`", dict)
        for field, kind in _INPUT.items():
            check_type(path, one.get(field), f"`provenance.inputs.{role}.{field}`", kind)


def _check_fields(
    path: Path, where: str, values: Mapping[str, Any], kinds: Mapping[str, type]
) -> None:
    for name, kind in kinds.items():
        if values.get(name) is not None:
            check_type(path, values[name], f"`{where}{name}`", kind)
