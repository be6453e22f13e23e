"""The entries of a fairseq checkpoint and their kinds, all in one table; plain settings."""

import math
from argparse import Namespace
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from fairseq_xling.core.errors import UserError, shown


class Kind(NamedTuple):
    """What an entry or an option must be, in words, and the test of a value."""

    words: str
    holds: Callable[[Any], bool]


def _integer(value: Any, least: int = 0) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and least <= value < 1 << 62


def _number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _measured(value: Any) -> bool:
    """A number; several processes that add theirs leave a tensor of it."""
    return _number(value) or (hasattr(value, "numel") and value.numel() == 1)


def _setting(value: Any) -> bool:
    """One of an optimiser's: betas, eps, a flag."""
    if isinstance(value, list | tuple):
        return all(map(_setting, value))
    return value is None or isinstance(value, bool) or (_number(value) and math.isfinite(value))


def _group(value: Any) -> bool:
    if not isinstance(value, dict) or not isinstance(value.get("params"), list):
        return False
    return all(_setting(v) for k, v in value.items() if k != "params")


def _cursor(value: Any) -> bool:
    return (
        isinstance(value, dict)
        and value.keys() == {"drawn", "batch", "window"}
        and isinstance(value["drawn"], list)
        and all(map(_integer, [*value["drawn"], value["batch"], value["window"]]))
    )


def _meters(value: Any) -> bool:
    """(priority, name, class, state) each; the class is looked up among fairseq's names."""
    from fairseq.logging import meters

    def is_meter(name: Any) -> bool:
        found = getattr(meters, name, None) if isinstance(name, str) else None
        return isinstance(found, type) and issubclass(found, meters.Meter)

    return isinstance(value, list) and all(
        isinstance(one, tuple | list)
        and len(one) == 4
        and _integer(one[0], -(1 << 62))
        and isinstance(one[1], str)
        and is_meter(one[2])
        and isinstance(one[3], dict)
        for one in value
    )


MAPPING = Kind(
    "a mapping of names", lambda v: isinstance(v, dict) and all(isinstance(k, str) for k in v)
)
MAPPING_OR_NONE = Kind("a mapping of names or None", lambda v: v is None or MAPPING.holds(v))
NAMESPACE_OR_NONE = Kind("a Namespace or None", lambda v: v is None or isinstance(v, Namespace))
ANY_MAPPING_OR_NONE = Kind("a mapping or None", lambda v: v is None or isinstance(v, dict))
HISTORY = Kind(
    "a list of mappings",
    lambda v: isinstance(v, list) and all(isinstance(one, dict) for one in v),
)
GROUPS = Kind(
    "a list of an optimiser's settings", lambda v: isinstance(v, list) and all(map(_group, v))
)
CURSORS = Kind("a list of cursors", lambda v: isinstance(v, list) and all(map(_cursor, v)))
METERS = Kind("a list of meters", _meters)
NAME = Kind("a name", lambda v: isinstance(v, str))
COUNT = Kind("a whole number of at least 0", _integer)
POSITIVE = Kind("a whole number of at least 1", lambda v: _integer(v, 1))
NUMBER = Kind("a number", _measured)
NUMBER_OR_NONE = Kind("a number or None", lambda v: v is None or _measured(v))
LABELS = Kind(
    "lists of names by name",
    lambda v: (
        MAPPING.holds(v)
        and all(isinstance(x, list) and all(isinstance(i, str) for i in x) for x in v.values())
    ),
)

_LAST = "optimizer_history.-1"
_ITERATOR = "extra_state.train_iterator"
# By place: `-1` is the last of a list, `*` each entry of a mapping. An entry may be missing, unless
# it is asked for.
KINDS = {
    "model": MAPPING,
    "cfg": MAPPING_OR_NONE,
    "args": NAMESPACE_OR_NONE,
    "optimizer_history": HISTORY,
    f"{_LAST}.criterion_name": NAME,
    f"{_LAST}.optimizer_name": NAME,
    f"{_LAST}.lr_scheduler_state": MAPPING_OR_NONE,
    f"{_LAST}.lr_scheduler_state.lr": NUMBER,
    f"{_LAST}.num_updates": COUNT,
    "task_state": MAPPING_OR_NONE,
    "task_state.labels": LABELS,
    "task_state.head_form": POSITIVE,
    "task_state.words": LABELS,
    "task_state.letters": LABELS,
    "extra_state": MAPPING,
    "extra_state.best": NUMBER_OR_NONE,
    "extra_state.val_loss": NUMBER_OR_NONE,
    "extra_state.previous_training_time": NUMBER,
    "extra_state.metrics": MAPPING,
    "extra_state.metrics.*": METERS,
    "extra_state.*.early_stopping": MAPPING,
    "extra_state.*.early_stopping.best": NUMBER_OR_NONE,
    "extra_state.*.early_stopping.num_runs": COUNT,
    _ITERATOR: MAPPING,
    f"{_ITERATOR}.version": COUNT,
    f"{_ITERATOR}.epoch": COUNT,
    f"{_ITERATOR}.iterations_in_epoch": COUNT,
    f"{_ITERATOR}.update_freq": POSITIVE,
    f"{_ITERATOR}.num_shards": POSITIVE,
    f"{_ITERATOR}.groups": POSITIVE,
    f"{_ITERATOR}.groups_done": COUNT,
    f"{_ITERATOR}.cursors": CURSORS,
    f"{_ITERATOR}.shards": POSITIVE,
    f"{_ITERATOR}.shard_cursors": MAPPING,
    f"{_ITERATOR}.shard_cursors.*": CURSORS,
    "last_optimizer_state": ANY_MAPPING_OR_NONE,
    "last_optimizer_state.state": ANY_MAPPING_OR_NONE,
    "last_optimizer_state.param_groups": GROUPS,
}
# What a checkpoint of fairseq has since 2018. Other files, such as published weights, have less.
TRAINED = (
    "model",
    "cfg.model",
    "cfg.task",
    f"{_LAST}.criterion_name",
    f"{_LAST}.optimizer_name",
    f"{_LAST}.lr_scheduler_state",
    f"{_LAST}.num_updates",
    f"{_ITERATOR}.epoch",
    f"{_ITERATOR}.iterations_in_epoch",
)


def check_layout(state: Any, path: Any, needed: tuple[str, ...] = ()) -> None:
    """Reject the contents of a file that are not those of a checkpoint.

    Args:
        state: what was loaded.
        needed: places that must be there, of `KINDS`.
    """
    if not isinstance(state, dict):
        raise UserError(f"{path}: not a fairseq checkpoint (it contains no model)")
    for place, kind in KINDS.items():
        for found, value in _at(state, place.split(".")):
            if not kind.holds(value):
                raise UserError(f"{path}: `{found}` must be {kind.words}, got {shown(value)}")
    for name in ("cfg", "args"):
        check_plain(state.get(name), name, path)
    for place in needed:
        if all(value is None for _, value in _at(state, place.split("."))):
            raise UserError(f"{path}: not a fairseq checkpoint (it contains no {place})")


def _at(value: Any, steps: list[str], place: str = "") -> Iterator[tuple[str, Any]]:
    """The values at a place of `KINDS`, each with its name."""
    if not steps:
        yield place[1:], value
    elif steps[0] == "*":
        if isinstance(value, Mapping):
            for name, item in value.items():
                name = name[:80] if isinstance(name, str) else shown(name)
                yield from _at(item, steps[1:], f"{place}.{name}")
    elif steps[0] == "-1":
        if isinstance(value, list) and value:
            yield from _at(value[-1], steps[1:], f"{place}.-1")
    elif isinstance(value, Mapping) and steps[0] in value:
        yield from _at(value[steps[0]], steps[1:], f"{place}.{steps[0]}")


# Real settings are some 400 values, 4 deep. Lists that hold themselves many times over take a few
# bytes in a file and more memory than there is when they are written out.
MOST_VALUES = 100_000
DEEPEST = 20
_WIDEST = 64  # bits of an integer


def check_plain(value: Any, place: str, path: Any) -> None:
    """Reject settings that are not plain, too many, or refer to others.

    Args:
        value: mappings, namespaces, lists, strings, numbers and None, nested.
        place: where it is in the file, for the message.
    """
    waiting, seen = [(value, place, 0)], 0
    while waiting:
        value, place, depth = waiting.pop()
        seen += 1
        if seen > MOST_VALUES or depth > DEEPEST:
            raise UserError(
                f"{path}: `{place.split('.')[0]}` must have at most {MOST_VALUES} values, "
                f"{DEEPEST} deep, got more"
            )
        if isinstance(value, Namespace):
            value = vars(value)
        if isinstance(value, dict):
            for key, item in value.items():
                if not isinstance(key, str):
                    raise UserError(f"{path}: `{place}` must have names as keys, got {shown(key)}")
                waiting.append((item, f"{place}.{key[:80]}", depth + 1))
        elif isinstance(value, list | tuple):
            waiting += [(item, place, depth + 1) for item in value]
        elif isinstance(value, str):
            if "${" in value:  # OmegaConf would put another value there after all checks
                raise UserError(
                    f"{path}: `{place}` must not refer to another value, got {shown(value)}"
                )
        elif isinstance(value, int):
            if value.bit_length() > _WIDEST:
                raise UserError(f"{path}: `{place}` must fit {_WIDEST} bits, got {shown(value)}")
        elif not (value is None or isinstance(value, float)):
            raise UserError(f"{path}: `{place}` must be a plain value, got {shown(value)}")


def settings_of(section: Any) -> dict[str, Any]:
    """The options in a part of a configuration, by name, as a mapping or a namespace stores them;
    empty for anything else."""
    if isinstance(section, Namespace):
        return vars(section)
    return section if isinstance(section, dict) else {}
