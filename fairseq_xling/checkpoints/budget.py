"""A model that is built from a file's settings has no more parameters than the file has weights.

Where they are wrong, it ends in one line that names the file.
"""

import contextlib
import contextvars
import re
from collections.abc import Iterator, Mapping
from typing import Any

from fairseq_xling.core.errors import UserError, shown

# A model may have a little that its file lacks: buffers that are computed, the language model's
# output where only the encoder is kept, tables that a head adds.
_TIMES = 2
_BESIDE = 1 << 22  # values

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

_current: contextvars.ContextVar["Budget | None"] = contextvars.ContextVar("budget", default=None)


class Budget:
    """What may be built. Before it knows the weights of a file, it allows everything."""

    def __init__(self, path: Any = None) -> None:
        self.path, self._counts = path, False
        self._tensors = self._values = self._built = 0
        self._seen: set[int] = set()

    @classmethod
    def of(cls, weights: Mapping[str, Any], path: Any) -> "Budget":
        """One that knows the weights of the file ``path``."""
        budget = cls(path)
        budget.allow(weights, path)
        return budget

    def allow(self, weights: Mapping[str, Any], path: Any) -> None:
        """Allow a model of ``weights``, those of the file ``path``, and start to count."""
        import torch

        tensors = [t for t in weights.values() if torch.is_tensor(t)]
        self.path, self._counts, self._tensors = path, True, len(tensors)
        self._values = sum(t.numel() for t in tensors)
        self._built, self._seen = 0, set()

    def count(self, tensor: Any) -> None:
        """Count a parameter or a buffer that was made and not yet filled."""
        if not self._counts or tensor is None or id(tensor) in self._seen:
            return
        self._seen.add(id(tensor))
        self._built += tensor.numel()
        if self._built > _TIMES * self._values + _BESIDE:
            raise UserError(
                f"{self.path}: its settings must describe the model of its {self._values} weights, "
                f"got a larger one ({self._built} and more)"
            )

    def check_layers(self, settings: Mapping[str, Any]) -> None:
        """Reject settings of more layers than there are tensors, since each layer has some."""
        if not self._counts:
            return
        for name, value in settings.items():
            if isinstance(value, Mapping):
                self.check_layers(value)
            elif name.endswith("layers") and isinstance(value, int) and value > self._tensors:
                raise UserError(
                    f"{self.path}: `{name}` must be at most {self._tensors}, the number of its "
                    f"tensors, got {shown(value)}"
                )


def current() -> Budget | None:
    """The budget of what is being built, if it comes from a file."""
    return _current.get()


@contextlib.contextmanager
def reading(path: Any) -> Iterator[None]:
    """Inside, ``path`` is the `origin` of what is restored; nothing is built from it."""
    token = _current.set(Budget(path))
    try:
        yield
    finally:
        _current.reset(token)


def origin() -> str:
    """The file that a model is being built from, or a training restored from, for messages."""
    budget = current()
    return "the checkpoint" if budget is None or budget.path is None else str(budget.path)


@contextlib.contextmanager
def settings_of_file() -> Iterator[None]:
    """Has errors inside name the file that a model is being built from, if it is from one."""
    try:
        yield
    except UserError as error:
        if current() is None or origin() in str(error):
            raise
        raise UserError(f"{origin()}: {error}") from error


def check_complete(place: str, value: Any) -> None:
    """Reject a file without what a training has put there; what one names is not read instead."""
    if current() is not None and not value:
        raise UserError(f"{origin()}: must have settings at `{place}`, got none")


def check_layers(settings: Mapping[str, Any]) -> None:
    """`Budget.check_layers` of the current budget, if there is one."""
    if (budget := current()) is not None:
        budget.check_layers(settings)


@contextlib.contextmanager
def no_larger_than(weights: Mapping[str, Any] | None = None, path: Any = None) -> Iterator[Budget]:
    """Inside, no model larger than ``weights`` is built.

    Parameters are counted when a module gets them, which is before they are filled with values:
    memory that was never written takes no room.

    Args:
        weights: those of the file ``path``; None if `Budget.allow` follows.
    """
    from torch.nn.modules import module

    budget = Budget() if weights is None else Budget.of(weights, path)
    token = _current.set(budget)

    def hook(owner: Any, name: str, tensor: Any) -> None:
        budget.count(tensor)

    hooks = [
        module.register_module_parameter_registration_hook(hook),
        module.register_module_buffer_registration_hook(hook),
    ]
    try:
        yield budget
    except RuntimeError as error:
        if "can't allocate memory" not in str(error) or budget.path is None:
            raise
        size = re.search(r"\d+ bytes", str(error))
        raise UserError(
            f"{budget.path}: its settings describe a model larger than memory"
            f"{(size and f' ({size[0]} for one of its tensors)') or ''}"
        ) from None
    finally:
        _current.reset(token)
        for one in hooks:
            one.remove()


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
