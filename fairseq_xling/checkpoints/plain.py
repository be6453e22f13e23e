"""Plain values: the only ones that a checkpoint's settings may have."""

from argparse import Namespace
from typing import Any

from fairseq_xling.core.errors import UserError, shown

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
