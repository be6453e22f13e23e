"""Registries for our own axes: objectives, aligners, heads, orderings, reports.

A registry maps a name to a class or function. Its modules are imported from one package
folder, so that a variant is added by adding a file.
"""

import difflib
import importlib
import pkgutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Generic, TypeVar

from fairseq_xling.core.errors import OWN, UserError, shown

T = TypeVar("T")


def question(near: Sequence[str]) -> str:
    """The end of a message about an unknown name: the names that may be meant; empty for none.

    >>> question(["test1", "test"])
    "; did you mean 'test1' or 'test'?"
    """
    return f"; did you mean {' or '.join(map(repr, near))}?" if near else ""


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """The `question` with the names among ``known`` that are spelt most like ``name``.

    >>> did_you_mean("NER", ["ner", "pos"])
    "; did you mean 'ner'?"
    """
    by_case: dict[str, list[str]] = {}
    for one in known:
        by_case.setdefault(one.lower(), []).append(one)
    near = difflib.get_close_matches(name.lower(), list(by_case))
    return question([one for found in near for one in by_case[found]][:3])


def unknown_name(kind: str, name: Any, known: list[str]) -> UserError:
    """The error for a name that is not among ``known``: near matches first, then all.

    From Python, ``name`` may be no string at all.

    >>> str(unknown_name("objective", "mlmm", ["mlm", "tlm"]))
    "unknown objective 'mlmm'; did you mean 'mlm'? known: mlm, tlm"
    """
    text = isinstance(name, str)
    hint = did_you_mean(name, known) if text else ""
    said = repr(name) if text else shown(name)
    return UserError(f"unknown {kind} {said}{hint or ';'} known: {', '.join(known) or 'none'}")


def check_parts(what: str, entry: Any, needs: Iterable[str]) -> None:
    """Nothing, if ``entry`` has all of ``needs``, and each method that its base leaves to it."""
    lacking = [one for one in needs if not hasattr(entry, one)]
    if isinstance(entry, type):  # whether or not `ABC` would notice
        methods = ((one, getattr(entry, one, None)) for one in dir(entry))
        lacking += [one for one, it in methods if getattr(it, "__isabstractmethod__", False)]
    if lacking:
        hint = did_you_mean(lacking[0], vars(entry))
        raise UserError(f"{what} must have {', '.join(f'`{one}`' for one in lacking)}{hint}")


class Registry(Generic[T]):
    """Names for the variants of one axis.

    >>> shapes = Registry("shape")
    >>> @shapes.register("round")
    ... class Round: pass
    >>> shapes["round"].__name__
    'Round'
    """

    def __init__(
        self,
        kind: str,
        *packages: str,
        named: str | tuple[str, ...] = "",
        needs: Sequence[str] = (),
    ):
        """
        Args:
            kind: what an entry is, for messages.
            packages: folders whose modules, or modules that, are imported at the first question.
            named: imports, instead, every module below these folders whose name ends so,
                or in one of these ways.
            needs: attributes that an entry must have.
        """
        self.kind = kind
        self._packages = packages
        self._named = named
        self._needs = needs
        self._entries: dict[str, T] = {}

    def register(self, name: str) -> Callable[[T], T]:
        def add(entry: T) -> T:
            other = self._entries.get(name, entry)
            if other is not entry:
                first, second = (getattr(one, "__module__", shown(one)) for one in (other, entry))
                raise UserError(
                    f"{self.kind} {name!r} is already registered, by {first} and by {second}; "
                    "rename your own"
                )
            check_parts(f"{self.kind} {name!r}", entry, self._needs)
            self._entries[name] = entry
            return entry

        return add

    def _load(self) -> None:
        for name in self._packages:
            package = importlib.import_module(name)
            walk = pkgutil.walk_packages if self._named else pkgutil.iter_modules
            # A module by itself has no folder: importing it has registered all of its variants.
            for module in walk(getattr(package, "__path__", ()), f"{package.__name__}."):
                if module.name.endswith(self._named):
                    importlib.import_module(module.name)
        self._packages = ()  # only now: after a failed import the next question must fail too

    def __getitem__(self, name: str) -> T:
        if name not in self:
            raise UserError(f"{unknown_name(self.kind, name, sorted(self._entries))}{OWN}")
        return self._entries[name]

    def check(self, name: str) -> None:
        """Nothing, if there is an entry ``name``."""
        _ = self[name]

    def __iter__(self) -> Iterator[str]:
        self._load()
        return iter(sorted(self._entries))

    def __contains__(self, name: object) -> bool:
        self._load()
        return isinstance(name, str) and name in self._entries
