"""The `fairseq-xling` command: runs one of the verbs."""

import signal
import sys
from collections.abc import Sequence

from fairseq_xling.errors import UserError, about_file, one_line
from fairseq_xling.files import kept
from fairseq_xling.named_files import arguments_of, check_outputs
from fairseq_xling.registry import did_you_mean, question
from fairseq_xling.runs.command_line import build_parser, join_words, verbs


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
        parser = build_parser(argv, " ".join(typed))
        args = parser.parse_args(argv)
        args.argv = given  # for a run whose steps are commands of their own
        read = check_outputs(arguments_of(parser, args))
        # Only now: it takes NumPy, which help does without.
        from fairseq_xling.compat import bound_shape_caches, lean_engine, quiet_engine

        bound_shape_caches()
        lean_engine()
        with quiet_engine(), kept(read), about_file(args):
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
