"""The verbs of the `fairseq-xling` command, found by name, and its parser.

A verb is a module of one of the folders in `FOLDERS`, or of a user's own (`extensions`), with a
docstring (its help), a ``GROUP`` (one of `GROUPS`, where the list of verbs shows it),
a dataclass ``Options`` (`fairseq_xling.core.options`) and ``run(options)``; or, if it declares its
arguments itself, ``add_arguments(parser)`` and ``run(args)``. Only the verb that was asked for is
imported. Heavy imports belong inside functions, so that ``--help`` answers at once.
"""

import argparse
import ast
import contextlib
import copy
import difflib
import functools
import importlib
import itertools
import pkgutil
import re
import textwrap
from collections.abc import Container, Sequence
from dataclasses import dataclass
from importlib.machinery import FileFinder
from pathlib import Path
from types import ModuleType
from typing import Any, NoReturn

import fairseq_xling
from fairseq_xling.core.errors import UserError, broken_rule, usage_line
from fairseq_xling.core.named_files import Input
from fairseq_xling.core.options import add_fields, values_of
from fairseq_xling.core.ranges import Number
from fairseq_xling.core.registry import check_parts, question
from fairseq_xling.engine import extensions

FOLDERS = (
    "fairseq_xling.verbs",
    "fairseq_xling.studies.verbs",
    "fairseq_xling.papers.clcr.commands",
    "fairseq_xling.papers.emerging.commands",
    "fairseq_xling.papers.transfer.commands",
    "fairseq_xling.papers.trelm.commands",
)
# In the order of the list of verbs, which is that of the work.
GROUPS = (
    "Start",
    "Data",
    "Migrate",
    "States and maps",
    "Analyse",
    "Transfer",
    "CLCR",
    "Studies and reports",
)
OWN_GROUP = "Your own"  # of a user's verb that names none of these


class _HelpFormatter(argparse.ArgumentDefaultsHelpFormatter, argparse.RawDescriptionHelpFormatter):
    """Shows defaults that say something and ranges that do not go without saying, and keeps the
    line breaks of a verb's description."""

    def _get_help_string(self, action: argparse.Action) -> str | None:
        default = action.default
        if action.help and isinstance(action.type, Number) and action.type.range.note:
            action = copy.copy(action)
            action.help += f" ({action.type.range.note})"
        if default is None or default is False or default in ([], ""):
            return action.help
        return super()._get_help_string(action)


_HELP = {"-h", "--help"}
# What fairseq's programs name some of our fields.
_OF_FAIRSEQ = {
    **dict.fromkeys(("-s", "--source-lang"), "source"),
    **dict.fromkeys(("-t", "--target-lang"), "target"),
}


class _Parser(argparse.ArgumentParser):
    """Says what is wrong with its arguments in one line, in the words of our own errors."""

    def _get_values(self, action: argparse.Action, arg_strings: list[str]) -> Any:
        # Python drops a value of "--" and continues with none: https://bugs.python.org/issue14364
        if action.option_strings and action.nargs is None and arg_strings == ["--"]:
            raise argparse.ArgumentError(action, "expected one argument, got '--'")
        return super()._get_values(action, arg_strings)

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        # Unknown options first, since one that is required may be among them, in other words.
        words = list(itertools.takewhile(lambda word: word != "--", args or ()))
        unknown = [word for word in words if self._is_unknown(word)]
        if unknown and self._subparsers is None and _HELP.isdisjoint(words):
            near = dict.fromkeys(one for word in unknown for one in self._near(word))
            self.error(f"unrecognized arguments: {' '.join(unknown)}{question(list(near))}")
        found, rest = super().parse_known_args(args, namespace)
        if rest and self._subparsers is None:  # with the help of the verb, not of all
            self.error(f"unrecognized arguments: {' '.join(rest)}")
        return found, rest

    def _is_unknown(self, word: str) -> bool:
        """Whether ``word`` looks like an option and is none, nor one's beginning."""
        if not re.match(r"--?[A-Za-z]", word) or " " in word:
            return False
        name, short = word.partition("=")[0], not word.startswith("--")
        return not any(
            name[:2] == known if short else known.startswith(name)
            for action in self._actions
            for known in action.option_strings
        )

    def _near(self, word: str) -> list[str]:
        """The option that may be meant: one spelt like it, or that fairseq names so."""
        name = word.partition("=")[0]
        names = {known: known for one in self._actions for known in one.option_strings}
        fields = {one.dest: one.option_strings[0] for one in self._actions if one.option_strings}
        names |= {theirs: fields[own] for theirs, own in _OF_FAIRSEQ.items() if own in fields}
        return [names[one] for one in difflib.get_close_matches(name, names, n=1)]

    def error(self, message: str) -> NoReturn:
        if rule := broken_rule(message):
            raise UserError(rule)  # a value that is wrong, as if the verb had found it
        self.exit(2, usage_line(self.prog, message) + "\n")


@dataclass(frozen=True)
class Verb:
    """What the list of verbs shows of one, read without importing it.

    Attributes:
        module: its module, such as ``fairseq_xling.verbs.prepare``.
        file: where that is.
    """

    module: str
    file: Path

    def load(self) -> ModuleType:
        """Its module."""
        with self._importing():
            module = importlib.import_module(self.module)
        if not hasattr(module, "Options"):
            check_parts(f"{self.file}: a verb", module, ("add_arguments", "run"))
        return module

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Its arguments, and what runs it as ``run`` of the parsed ones."""
        module = self.load()
        if hasattr(module, "add_arguments"):
            module.add_arguments(parser)
            parser.set_defaults(run=module.run)
        else:
            add_fields(parser, module.Options)
            parser.set_defaults(run=lambda args: module.run(values_of(module.Options, args)))

    @functools.cached_property
    def _tree(self) -> ast.Module:
        with self._importing():
            return ast.parse(self.file.read_text(encoding="utf-8"), str(self.file))

    def _importing(self) -> contextlib.AbstractContextManager[None]:
        """What ends a mistake in a user's own verb in one line."""
        if self.module.startswith(FOLDERS):
            return contextlib.nullcontext()
        return extensions.importing(str(self.file), self.file.parent)

    @property
    def help(self) -> str:
        """Its docstring."""
        return (ast.get_docstring(self._tree, clean=False) or "").strip()

    @property
    def summary(self) -> str:
        """What it does, in one line: the first of its help."""
        return self.help.splitlines()[0].rstrip(".")

    @property
    def group(self) -> str:
        """One of `GROUPS`, or `OWN_GROUP`."""
        for node in self._tree.body:
            if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "GROUP":
                named = ast.literal_eval(node.value)
                return named if named in GROUPS else OWN_GROUP
        return OWN_GROUP


def verbs() -> dict[str, Verb]:
    """Every verb by the name a user types (``user_dir.py`` is ``user-dir``, ``import_.py`` is
    ``import``), in the alphabet's order.

    Raises:
        UserError: if a user's own has the name of another.
    """
    return _verbs_of((*FOLDERS, *extensions.verb_packages()))


@functools.cache
def _verbs_of(folders: Sequence[str]) -> dict[str, Verb]:
    found: dict[str, Verb] = {}
    for folder in folders:
        for module in pkgutil.iter_modules(importlib.import_module(folder).__path__):
            if not module.ispkg and isinstance(module.module_finder, FileFinder):
                name = module.name.rstrip("_").replace("_", "-")
                place = Path(module.module_finder.path, f"{module.name}.py")
                if name in found:
                    raise UserError(f"{place}: verb {name!r} is also {found[name].file}; rename it")
                found[name] = Verb(f"{folder}.{module.name}", place)
    return dict(sorted(found.items()))


def grouped_verbs() -> dict[str, dict[str, Verb]]:
    """The verbs of each group, in the order of `GROUPS`."""
    groups: dict[str, dict[str, Verb]] = {group: {} for group in (*GROUPS, OWN_GROUP)}
    for name, verb in verbs().items():
        groups[verb.group][name] = verb
    return {group: members for group, members in groups.items() if members}


def typed_as(verb: str) -> str:
    """A verb as it is written: in two words, where the first is a verb, too.

    >>> typed_as("eval-bli"), typed_as("clcr-run"), typed_as("user-dir")
    ('eval bli', 'clcr run', 'user-dir')
    """
    first, _, rest = verb.partition("-")
    return f"{first} {rest}" if rest and first in verbs() else verb


def _list_of_verbs() -> str:
    width = 2 + max(map(len, verbs()))
    blocks = []
    for group, members in grouped_verbs().items():
        lines = [f"{group}:"]
        for name, verb in members.items():
            first = f"  {typed_as(name):<{width}}"
            lines += textwrap.wrap(
                verb.summary, 100, initial_indent=first, subsequent_indent=" " * len(first)
            )
        blocks.append("\n".join(lines))
    return "\n\n".join([*blocks, "fairseq-xling VERB --help explains one verb."])


def build_parser(argv: Sequence[str]) -> argparse.ArgumentParser:
    """The parser of the whole command; only the verb that ``argv`` begins with is imported and
    declares its options."""
    parser = _Parser(
        prog="fairseq-xling",
        usage="%(prog)s [-h] [--version] [--user-dir DIR] VERB ...",
        allow_abbrev=False,  # of the option that is only for its help
        description="Train, migrate, align, analyse and evaluate cross-lingual encoders. Training, "
        "validation and\ngeneration are fairseq's own programs: "
        "fairseq-train --user-dir $(fairseq-xling user-dir).",
        epilog=_list_of_verbs() if not argv or argv[0] not in verbs() else None,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=fairseq_xling.__version__)
    # Only for its help: it is taken out before, since a verb may come from there.
    parser.add_argument(
        extensions.OPTION,
        metavar=Input("DIR"),
        help="folder of components of your own, before or after the verb; repeatable",
    )
    # Not argparse's own list, which is flat: the epilog has the verbs in groups.
    commands = parser.add_subparsers(
        dest="verb", required=True, metavar="VERB", help=argparse.SUPPRESS
    )
    for name, verb in verbs().items():
        if not argv or argv[0] != name:
            commands.add_parser(name)
            continue
        sub = commands.add_parser(
            name,
            prog=f"{parser.prog} {typed_as(name)}",
            description=verb.help,
            formatter_class=_HelpFormatter,
        )
        verb.add_arguments(sub)
    return parser


def join_words(argv: list[str], known: Container[str]) -> list[str]:
    """A verb may be typed as two words.

    >>> join_words(["eval", "transfer", "--help"], ["eval", "eval-transfer"])
    ['eval-transfer', '--help']
    """
    joined = "-".join(argv[:2])
    return [joined, *argv[2:]] if len(argv) > 1 and joined in known else argv
