# PYTHON_ARGCOMPLETE_OK
"""The `fairseq-xling` command: runs one of the verbs."""

import difflib
import io
import os
import signal
import sys
from collections.abc import Sequence

from fairseq_xling.command_line import build_parser, join_words, typed_as, verbs
from fairseq_xling.core.errors import UserError, about_file, one_line
from fairseq_xling.core.extras import needed_by
from fairseq_xling.core.files import kept
from fairseq_xling.core.named_files import arguments_of, check_outputs
from fairseq_xling.core.registry import did_you_mean, question
from fairseq_xling.engine import extensions

_EXPLAIN = {"-h", "--help", "--version"}


def _joined(given: list[str]) -> list[str]:
    """The words, the verb as one; what installed packages add is imported where it may matter."""
    argv = join_words(given, verbs())
    if _unknown(argv) or _EXPLAIN.isdisjoint(argv):
        extensions.load_packages()
        argv = join_words(given, verbs())
    return argv


def _unknown(argv: Sequence[str]) -> bool:
    return bool(argv) and not argv[0].startswith("-") and argv[0] not in verbs()


_OF_FAIRSEQ = ("train", "generate", "interactive", "validate")  # programs, not verbs


def _check_verb(argv: Sequence[str]) -> None:
    """An unknown verb is bad usage, with a line that names those spelt like it; argparse's own
    error lists every verb there is."""
    if not _unknown(argv):
        return
    if near := difflib.get_close_matches(argv[0], _OF_FAIRSEQ, 1):
        program = f"fairseq-{near[0]} ... --user-dir $(fairseq-xling user-dir)"
        print(
            f"unknown verb {argv[0]!r}; fairseq's own program does it: `{program}`", file=sys.stderr
        )
        sys.exit(2)
    begun = [typed_as(name) for name in verbs() if name.startswith(f"{argv[0]}-")]
    hint = question(begun) or did_you_mean(argv[0], map(typed_as, verbs())) or ";"
    print(f"unknown verb {argv[0]!r}{hint} `fairseq-xling --help` lists all", file=sys.stderr)
    sys.exit(2)


def _complete() -> None:
    """Answer a shell that completes a line, and end, if argcomplete is installed."""
    try:
        import argcomplete
    except ImportError:
        return
    argcomplete.autocomplete(build_parser(os.environ["COMP_LINE"].split()[1:]))


def main(argv: list[str] | None = None) -> int:
    """Entry point; returns the exit status (0, or 1 for a user's mistake, 2 for bad usage)."""
    if argv is None:  # a scheduler's end of time is the same as Ctrl-C: children end, too
        # Not SIGINT's own handler: scripts start background commands with it ignored.
        signal.signal(signal.SIGTERM, signal.default_int_handler)
        for stream in (sys.stdout, sys.stderr):  # of letters and names that its encoding lacks
            if isinstance(stream, io.TextIOWrapper):
                stream.reconfigure(errors="backslashreplace")
        if "_ARGCOMPLETE" in os.environ:
            _complete()
    try:
        folders, given = extensions.take_folders(sys.argv[1:] if argv is None else argv)
        extensions.load_folders(folders, f"`{extensions.OPTION}`")
        argv = _joined(given)
        _check_verb(argv)
        parser = build_parser(argv)
        args = parser.parse_args(argv)
        # For a run whose steps are commands of their own, perhaps on another machine.
        args.argv = [*extensions.folder_options(), *given]
        read = check_outputs(arguments_of(parser, args))
        # Only now: it takes NumPy, which help does without.
        from fairseq_xling.engine.compat import bound_shape_caches, quiet_engine
        from fairseq_xling.engine.lean import lean_engine

        bound_shape_caches()
        lean_engine()
        needing = needed_by(f"`fairseq-xling {typed_as(args.verb)}`")
        with quiet_engine(), kept(read), about_file(args), needing:
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
