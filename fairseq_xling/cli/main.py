"""The `fairseq-xling` command: finds the verbs in this folder and runs one.

A verb is a module here with a docstring (its help), a ``GROUP`` (one of `GROUPS`, where the list of
verbs shows it), ``add_arguments(parser)`` and ``run(args)``; ``SPEC_ROWS``, where it has them, are
the rows of the specification that it is of. Heavy imports belong inside ``run``, so that ``--help``
answers at once.
"""

import argparse
import copy
import importlib
import pkgutil
import signal
import sys
import textwrap
from collections.abc import Container, Sequence
from types import ModuleType
from typing import Any, NoReturn

import fairseq_xling
from fairseq_xling import cli
from fairseq_xling.errors import UserError, broken_rule, one_line, usage_line
from fairseq_xling.ranges import Number
from fairseq_xling.registry import did_you_mean, question

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


class _Parser(argparse.ArgumentParser):
    """Says what is wrong with its arguments in one line, in the words of our own errors."""

    def _get_values(self, action: argparse.Action, arg_strings: list[str]) -> Any:
        # Python drops a value of "--" and continues with none: https://bugs.python.org/issue14364
        if action.option_strings and action.nargs is None and arg_strings == ["--"]:
            raise argparse.ArgumentError(action, "expected one argument, got '--'")
        return super()._get_values(action, arg_strings)

    def error(self, message: str) -> NoReturn:
        if rule := broken_rule(message):
            raise UserError(rule)  # a value that is wrong, as if the verb had found it
        self.exit(2, usage_line(self.prog, message) + "\n")


def verbs() -> dict[str, ModuleType]:
    """Every verb by the name a user types (``user_dir.py`` is ``user-dir``, ``import_.py`` is
    ``import``)."""
    names = [module.name for module in pkgutil.iter_modules(cli.__path__) if module.name != "main"]
    return {
        name.rstrip("_").replace("_", "-"): importlib.import_module(f"{cli.__name__}.{name}")
        for name in names
    }


def summary(module: ModuleType) -> str:
    """What a verb does, in one line: the first of its docstring."""
    return (module.__doc__ or "").strip().splitlines()[0].rstrip(".")


def grouped_verbs() -> dict[str, dict[str, ModuleType]]:
    """The verbs of each group, in the order of `GROUPS`."""
    groups: dict[str, dict[str, ModuleType]] = {group: {} for group in GROUPS}
    for name, module in verbs().items():
        groups[module.GROUP][name] = module
    return groups


def _list_of_verbs() -> str:
    width = 2 + max(map(len, verbs()))
    blocks = []
    for group, members in grouped_verbs().items():
        lines = [f"{group}:"]
        for name, module in members.items():
            first = f"  {name:<{width}}"
            lines += textwrap.wrap(
                summary(module), 100, initial_indent=first, subsequent_indent=" " * len(first)
            )
        blocks.append("\n".join(lines))
    return "\n\n".join([*blocks, "fairseq-xling VERB --help explains one verb."])


def build_parser(argv: Sequence[str], typed: str = "") -> argparse.ArgumentParser:
    """The parser of the whole command; only the verb that ``argv`` begins with declares options,
    which for some verbs takes a second of imports. Its usage shows the verb as it was ``typed``."""
    parser = _Parser(
        prog="fairseq-xling",
        usage="%(prog)s [-h] [--version] VERB ...",
        description="Train, migrate, align, analyse and evaluate cross-lingual encoders. Training, "
        "validation and\ngeneration are fairseq's own programs: "
        "fairseq-train --user-dir $(fairseq-xling user-dir).",
        epilog=_list_of_verbs(),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=fairseq_xling.__version__)
    # Not argparse's own list, which is flat: the epilog has the verbs in groups.
    commands = parser.add_subparsers(
        dest="verb", required=True, metavar="VERB", help=argparse.SUPPRESS
    )
    for name, module in verbs().items():
        chosen = bool(argv) and argv[0] == name
        sub = commands.add_parser(
            name,
            prog=f"{parser.prog} {typed if chosen and typed else name}",
            description=(module.__doc__ or "").strip(),
            formatter_class=_HelpFormatter,
        )
        if chosen:
            module.add_arguments(sub)
        sub.set_defaults(run=module.run)
    return parser


def join_words(argv: list[str], known: Container[str]) -> list[str]:
    """A verb may be typed as two words.

    >>> join_words(["eval", "transfer", "--help"], ["eval", "eval-transfer"])
    ['eval-transfer', '--help']
    """
    joined = "-".join(argv[:2])
    return [joined, *argv[2:]] if len(argv) > 1 and joined in known else argv


def _check_verb(argv: Sequence[str]) -> None:
    """An unknown verb is bad usage, with a line that names those spelt like it; argparse's own
    error lists every verb there is."""
    if not argv or argv[0].startswith("-") or argv[0] in verbs():
        return
    begun = [name for name in verbs() if name.startswith(f"{argv[0]}-")]
    hint = question(begun) or did_you_mean(argv[0], verbs()) or ";"
    print(f"unknown verb {argv[0]!r}{hint} `fairseq-xling --help` lists all", file=sys.stderr)
    sys.exit(2)


def main(argv: list[str] | None = None) -> int:
    """Entry point; returns the exit status (0, or 1 for a user's mistake, 2 for bad usage)."""
    if argv is None:  # a scheduler's end of time is the same as Ctrl-C: children end, too
        # Not SIGINT's own handler: scripts start background commands with it ignored.
        signal.signal(signal.SIGTERM, signal.default_int_handler)
    given = sys.argv[1:] if argv is None else argv
    argv = join_words(given, verbs())
    _check_verb(argv)
    typed = given[: 1 + len(given) - len(argv)]
    try:
        args = build_parser(argv, " ".join(typed)).parse_args(argv)
        # Only now: it takes NumPy, which help does without.
        from fairseq_xling.compat import bound_shape_caches, lean_engine, quiet_engine

        bound_shape_caches()
        lean_engine()
        with quiet_engine():
            args.run(args)
    except (UserError, OSError, MemoryError) as error:
        print(one_line(error), file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("fairseq-xling: stopped; run the same command again to resume", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
