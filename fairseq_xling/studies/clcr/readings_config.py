"""The settings of `fairseq-xling ablate clcr-readings`: of `clcr run`, a task, and readings."""

import dataclasses
from collections.abc import Mapping
from typing import Any

from fairseq_xling.errors import UserError
from fairseq_xling.options import option
from fairseq_xling.registry import unknown_name
from fairseq_xling.studies.clcr.task_config import ClcrTaskConfig

# The stages of a training in their order; a reading shares those before the first that it changes.
STAGES = ("transform", "extract", "order")


@dataclasses.dataclass(frozen=True)
class Reading:
    """Another reading of one point.

    Attributes:
        name: of the row, and of its files.
        title: what is read.
        since: the first stage that it changes, one of `STAGES`.
        changes: settings of `clcr run`.
    """

    name: str
    title: str
    since: str = STAGES[0]
    changes: Mapping[str, Any] = dataclasses.field(default_factory=dict)


DEFAULTS = Reading("defaults", "settings of the configuration")
READINGS = (
    DEFAULTS,
    Reading(
        "transformed",
        "attention by dot products of transformed states",
        changes={"attention_score": "transformed"},
    ),
    Reading(
        "lm-phases",
        "attention annealed in the phases of the encoders alone (Figure 1)",
        changes={"anneal_phases": "lm1,lm2"},
    ),
    Reading(
        "finetune",
        "key-points by fine-tuned copies of the encoders (Table 2)",
        "extract",
        {"extract_encoder": "finetune"},
    ),
    Reading(
        "second",
        "the second language is put into the order of the first",
        "order",
        {"order_sides": "second"},
    ),
)


@dataclasses.dataclass(frozen=True)
class ClcrReadingsConfig(ClcrTaskConfig):
    """One sentence of help per field."""

    readings: str = option(
        "",
        "readings to compare with the defaults, of "
        f"{', '.join(one.name for one in READINGS if one is not DEFAULTS)} (default: all)",
    )

    @property
    def reading_list(self) -> list[Reading]:
        """The chosen ones, after the defaults; without a choice, those that change something.

        Raises:
            UserError: for a name that there is none of, or twice, and for a reading that changes
                nothing, or only what is not trained.
        """
        named = {one.name: one for one in READINGS if one is not DEFAULTS}
        if not self.readings:
            return [DEFAULTS, *(one for one in named.values() if self._changes(one))]
        names = [name.strip() for name in self.readings.split(",")]
        for name in names:
            if name not in named:
                raise unknown_name("reading", name, [*named])
            if names.count(name) > 1:
                raise UserError(f"`--readings` must name {name!r} once")
        for name in names:
            if not self._changes(named[name]):
                raise UserError(f"`--readings` {name!r} changes nothing that is trained here")
        return [DEFAULTS, *(named[name] for name in names)]

    def _changes(self, reading: Reading) -> bool:
        """Whether a reading changes anything that is trained here."""
        trained = {"extract": self.extract_steps, "order": self.order_list}
        if not trained.get(reading.since, True):
            return False
        if "anneal_phases" in reading.changes and not self.anneal_beta:  # nothing is annealed
            return False
        return any(getattr(self, field) != value for field, value in reading.changes.items())
