"""The number format that a run began with, which it keeps wherever it is resumed.

``auto`` depends on the machine, and the format is part of what decides whether a step is done: a
run moved to another machine would begin anew. So it is kept in the run's folder.
"""

import dataclasses
from pathlib import Path
from typing import Any, TypeVar

from fairseq_xling.core.errors import UserError
from fairseq_xling.core.files import read_json, write_json
from fairseq_xling.core.options import option
from fairseq_xling.engine.precision import AUTO, CHOICES, HELP, resolve

Config = TypeVar("Config")


def device_option() -> Any:
    """The field ``device`` of a run's settings."""
    return option("cpu", "cpu or cuda", choices=("cpu", "cuda"))


def precision_option() -> Any:
    """The field ``precision`` of a run's settings."""
    return option(AUTO, HELP, choices=CHOICES)


@dataclasses.dataclass(frozen=True)
class Settled:
    """What a run trains in, and a line about it where the machine chose."""

    precision: str
    device: str
    line: str = ""

    def keep(self, run: Path) -> None:
        """Note it in the run's folder, which has to be there."""
        record = {"device": self.device, "precision": self.precision}
        write_json(_path(run), record)


def settle(run: Path, precision: str, device: str) -> Settled:
    """What ``precision`` stands for in this run; nothing is written yet.

    A format that is named wins. For ``auto`` it is the one that the run in this folder has, on the
    same kind of device, or else the one that suits this machine.
    """
    own = resolve(precision, device)
    if precision != AUTO:
        return Settled(own, device)
    kept, begun_on = _read(_path(run)) if _path(run).is_file() else (own, device)
    if begun_on != device or kept == own:
        return Settled(own, device, f"precision: {own}, chosen for this machine")
    return Settled(
        kept,
        device,
        f"precision: {kept}, which this run began with; on this machine auto would choose {own}",
    )


def settle_config(run: Path, config: Config) -> tuple[Config, Settled]:
    """The settings of a run with what their ``precision`` stands for on their ``device``."""
    given: Any = config
    settled = settle(run, given.precision, given.device)
    return dataclasses.replace(given, precision=settled.precision), settled


def _read(path: Path) -> tuple[str, str]:
    record = read_json(path)
    found = record if isinstance(record, dict) else {}
    kept, device = found.get("precision"), found.get("device")
    if kept not in CHOICES or kept == AUTO or not device:
        names = ", ".join(name for name in CHOICES if name != AUTO)
        raise UserError(f"{path}: must name a device and one of {names}, got {record!r}")
    return kept, device


def _path(run: Path) -> Path:
    return run / "precision.json"
