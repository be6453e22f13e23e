"""What a model's settings in a file end in where they are wrong: one line that names the file."""

import contextlib
from collections.abc import Iterator, Mapping
from typing import Any

from fairseq_xling.checkpoints.budget import Budget, no_larger_than
from fairseq_xling.core.errors import UserError

# Not a RuntimeError, which torch raises for much that is not the file's fault.
_WRONG_VALUES = (
    AssertionError,
    AttributeError,
    LookupError,
    TypeError,
    ValueError,
    ArithmeticError,
    RecursionError,
)


@contextlib.contextmanager
def building(names: Any, weights: Mapping[str, Any] | None = None) -> Iterator[Budget]:
    """Inside, a model is built from what the file ``names`` says, and `no_larger_than` it.

    Args:
        weights: those of the file, as for `no_larger_than`.
    """
    from omegaconf.errors import OmegaConfBaseException

    try:
        with no_larger_than(weights, names) as budget:
            yield budget
    except (*_WRONG_VALUES, OmegaConfBaseException) as error:
        raise UserError(f"{names}: its model cannot be built ({reason(error)})") from error
    except Exception as error:
        if type(error) is Exception:  # as fairseq raises it for settings that lack something
            raise UserError(f"{names}: its model cannot be built ({reason(error)})") from error
        if not isinstance(error, RuntimeError):
            raise
        if "negative dimension" in str(error):
            raise UserError(f"{names}: its model cannot be built ({reason(error)})") from error
        if not str(error).startswith("Error(s) in loading state_dict"):
            raise
        first = str(error).splitlines()[1].strip()
        raise UserError(f"{names}: does not fit its model ({first})") from None


def reason(error: BaseException) -> str:
    """The kind of an error and its first line.

    >>> reason(ValueError("no\\nway")), reason(KeyError())
    ('ValueError: no', 'KeyError')
    """
    first = str(error).splitlines()[:1] or [""]
    return f"{type(error).__name__}: {first[0][:200]}".rstrip(": ")
