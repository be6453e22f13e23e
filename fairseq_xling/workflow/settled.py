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
_FILE = "precision.json"  # in the run's folder


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
        write_json(run / _FILE, {"device": self.device, "precision": self.precision})


def settle(run: Path, precision: str, device: str) -> Settled:
    """What ``precision`` stands for in this run; nothing is written yet.

    A format that is named wins. For ``auto`` it is the one that the run in this folder has, on the
    same kind of device, or else the one that suits this machine.
    """
    own, path = resolve(precision, device), run / _FILE
    if precision != AUTO:
        return Settled(own, device)
    record = read_json(path) if path.is_file() else {"precision": own, "device": device}
    kept, begun_on = map((record if isinstance(record, dict) else {}).get, ("precision", "device"))
    formats = [name for name in CHOICES if name != AUTO]
    if kept not in formats or not begun_on:
        names = ", ".join(formats)
        raise UserError(f"{path}: must name a device and one of {names}, got {record!r}")
    line = f"precision: {own}, chosen for this machine"
    if begun_on == device and kept != own:
        line = f"precision: {kept}, which this run began with; on this machine auto would choose"
        return Settled(kept, device, f"{line} {own}")
    return Settled(own, device, line)


def settle_config(run: Path, config: Config) -> tuple[Config, Settled]:
    """The settings of a run with what their ``precision`` stands for on their ``device``."""
    given: Any = config
    settled = settle(run, given.precision, given.device)
    return dataclasses.replace(given, precision=settled.precision), settled
