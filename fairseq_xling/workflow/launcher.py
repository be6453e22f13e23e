"""A run from its steps to its final output, or only its plan; the options of where it is done."""

import argparse
import dataclasses
import functools
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from fairseq_xling.core.errors import UserError, about
from fairseq_xling.core.named_files import NEW_FOLDER, YAML, Input
from fairseq_xling.core.registry import unknown_name
from fairseq_xling.workflow.launchers import LAUNCHERS, Launcher
from fairseq_xling.workflow.options import add_options, load_config
from fairseq_xling.workflow.runner import Runner
from fairseq_xling.workflow.settled import Settled
from fairseq_xling.workflow.step import Step

ONE = "--only-step"


@dataclasses.dataclass(frozen=True)
class Launch:
    """How the steps of a run are carried out: by which launcher, or one alone, or none."""

    launcher: Callable[..., Launcher]
    only_step: str | None = None
    dry_run: bool = False


def add_run_arguments(parser: argparse.ArgumentParser) -> None:
    """``--output`` and how steps are carried out, which every study has."""
    parser.add_argument("--output", required=True, metavar=NEW_FOLDER, help="folder of the run")
    add_launch_options(parser)


def add_configured_run(parser: argparse.ArgumentParser, config: type, name: str) -> None:
    """The options ``config`` of a run, whose folder is by default in ``runs/``: ``name``, and in it
    the name of its configuration file."""
    parser.add_argument("config", nargs="?", metavar=Input("CONFIG"), help="YAML file of options")
    parser.add_argument(
        "--output",
        metavar=NEW_FOLDER,
        help=f"folder of the run (default: runs/{name}/ and the name of the configuration file)",
    )
    add_launch_options(parser)
    add_options(parser, config, file_option=False)


def configured_output(args: argparse.Namespace, name: str) -> str:
    """The folder of a run with the options of `add_configured_run`."""
    if not (args.output or args.config):
        raise UserError("`--output` must name a folder where there is no configuration file")
    return args.output or str(Path("runs", name, Path(args.config).stem))


def add_launch_options(parser: argparse.ArgumentParser) -> None:
    """``--dry-run`` and the choice of a launcher, which every command that has steps has."""
    add = parser.add_argument
    add("--dry-run", action="store_true", help="print the plan and stop")
    text = "where steps run: local (child processes) or slurm (a cluster) (default: %(default)s)"
    add("--launcher", default="local", metavar="NAME", help=text)
    text = "options of the launcher, such as partition=gpu,gpus_per_node=4,timeout_min=600"
    add("--launcher-args", default="", metavar="NAME=VALUE,...", help=text)
    text = "file with values for the same options; --launcher-args takes precedence"
    add("--launcher-config", metavar=YAML, help=text)
    text = "carry out this step alone, here, as a job of a cluster does; those before it are done"
    add(ONE, metavar="STEP", help=text)


def run_steps(
    run: Path,
    steps: Sequence[Step],
    jobs: int,
    launch: Launch,
    settled: Settled | None = None,
    shown: str = "table.md",
    before: str = "",
) -> bool:
    """Run every step, print the results and return True; or do only what ``launch`` asks for, such
    as print the plan, and return False.

    Args:
        settled: the number format that the steps were planned with, if they train anything.
        shown: the file in the folder of the run that is printed; empty for none.
        before: printed before anything runs.
    """
    begin = {"begin": functools.partial(settled.keep, run)} if settled else {}
    runner = Runner(run, steps, jobs, launcher=launch.launcher, **begin)
    if settled and settled.line:
        print(settled.line)
    if launch.only_step:
        runner.run_one(launch.only_step)
        return False
    if launch.dry_run:
        runner.print_plan()
        return False
    if before:
        print(before)
    runner.run()
    if shown:
        print("\n" + (run / shown).read_text(encoding="utf-8"))
        print(f"report: {run / 'report.html'}")
        print(f"exact commands: {run / 'commands.sh'}")
    return True


def launch_of(args: argparse.Namespace) -> Launch:
    """What ``args``, with the options of `add_launch_options`, ask for."""
    if args.only_step:
        return Launch(LAUNCHERS["local"], args.only_step)
    with about("`--launcher`"):
        kind = LAUNCHERS[args.launcher]
    given: dict[str, Any] = {}
    for part in filter(None, args.launcher_args.split(",")):
        name, equals, given[name] = part.partition("=")
        if not equals:
            raise UserError(f"`--launcher-args` must be NAME=VALUE,..., got {part!r}")
        if name not in kind.options.__dataclass_fields__:
            known = list(kind.options.__dataclass_fields__)
            raise UserError(f"`--launcher-args`: {unknown_name('option', name, known)}")
    named = {"`--launcher-config`": args.launcher_config, "`--launcher-args`": given}
    with about(" and ".join(name for name, value in named.items() if value)):
        values = load_config(kind.options, argparse.Namespace(config=args.launcher_config, **given))
    launcher = functools.partial(kind, values=values, command=command_of(args.argv))
    return Launch(launcher, dry_run=args.dry_run)


def command_of(argv: Sequence[str]) -> Callable[[str], list[str]]:
    """What makes the command that carries out one step of ``argv``'s, here, of the step's name.

    >>> command_of(["demo", "--seed=1", "--", "x"])("table")
    ['fairseq-xling', 'demo', '--seed=1', '--only-step', 'table', '--', 'x']
    """
    at = [*argv, "--"].index("--")
    return lambda name: ["fairseq-xling", *argv[:at], ONE, name, *argv[at:]]
