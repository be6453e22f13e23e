"""Names of splits: one text to train on, and any number of texts to validate and to test on.

As in fairseq, further sets are numbered: ``valid``, ``valid1``, ... and ``test``, ``test1``, ...
"""

import re
from collections.abc import Iterable, Sequence

from fairseq_xling.errors import UserError
from fairseq_xling.registry import did_you_mean

KINDS = ("train", "valid", "test")
_NAME = re.compile("train|(valid|test)([0-9]{0,9})", re.ASCII)
_RULE = "train, valid or test, the last two also with a number, as in test1"
_TESTS = "test, also with a number, as in test1"


def is_split(name: str) -> bool:
    """Whether ``name`` can be that of a split.

    >>> [is_split(name) for name in ("train", "valid", "test12", "train1", "dev", "test1x")]
    [True, True, True, False, False, False]
    """
    return _NAME.fullmatch(name) is not None


def check_split(argument: str, name: str) -> str:
    """``name`` if it can be that of a split; ``argument`` begins the message.

    Raises:
        UserError: otherwise.
    """
    return _check(argument, name, KINDS, _RULE)


def check_test_set(argument: str, name: str) -> str:
    """``name`` if it can be that of a set to test on.

    Raises:
        UserError: otherwise.
    """
    return _check(argument, name, ("test",), _TESTS)


def _check(argument: str, name: str, kinds: Sequence[str], rule: str) -> str:
    if is_split(name) and name.startswith(tuple(kinds)):
        return name
    known = [*kinds, *(f"{kind}1" for kind in kinds if kind != "train")]
    raise UserError(f"{argument}: split must be {rule}, got {name!r}{did_you_mean(name, known)}")


def in_order(names: Iterable[str]) -> list[str]:
    """Splits in their usual order: train, then valid and test, each by number.

    >>> in_order(["test10", "test2", "test", "valid1", "train", "valid"])
    ['train', 'valid', 'valid1', 'test', 'test2', 'test10']
    """
    return sorted(names, key=split_order)


def split_order(name: str) -> tuple[int, int, str]:
    """A key to sort splits by; other names, of a folder made elsewhere, come last."""
    match = _NAME.fullmatch(name)
    if match is None:
        return len(KINDS), 0, name
    return KINDS.index(match[1] or "train"), int(match[2] or -1), name
