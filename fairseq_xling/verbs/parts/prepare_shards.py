"""`fairseq-xling prepare --shards`: the models and each shard as a step of a run."""

import argparse
import functools
from collections.abc import Iterator, Sequence
from pathlib import Path

from fairseq_xling.columns import on_disk
from fairseq_xling.errors import UserError
from fairseq_xling.registry import unknown_name
from fairseq_xling.runs.launcher import launcher_of, planning_command, run_steps
from fairseq_xling.runs.step import Step, last_line
from fairseq_xling.text import state
from fairseq_xling.text.inputs import surfaces
from fairseq_xling.text.options import PrepareOptions
from fairseq_xling.text.shards import (
    MODELS,
    check_shards,
    part_names,
    prepare_models,
    prepare_shard,
)
from fairseq_xling.text.sources import Sources

# What a step's command says in another place, or what does not change the folders.
_LEFT_OUT = {"--workers": True, "--jobs": True, "--overwrite": False, "--dry-run": False}
# Options that only steps have, with their defaults.
_ONLY_WITH_SHARDS = {
    "part": None,
    "dry_run": False,
    "only_step": None,
    "export": None,
    "launcher": "local",
    "launcher_args": "",
    "launcher_config": None,
    "jobs": 1,
    "align_sample": 64.0,
}


def refuse_without_shards(args: argparse.Namespace) -> None:
    """Refuse options that only steps have.

    Raises:
        UserError: for the first of them that is given.
    """
    for name, default in _ONLY_WITH_SHARDS.items():
        if getattr(args, name) != default:
            raise UserError(f"`--{name.replace('_', '-')}` needs `--shards`")


def prepare_shards(args: argparse.Namespace, sources: Sources, options: PrepareOptions) -> None:
    """Make all parts, as steps; or one of them, here (``args.part``).

    Raises:
        UserError: for bad input, or a folder that was begun with other settings or text.
    """
    out, names = Path(args.out), part_names(args.shards)
    state.check_folder(out)
    if args.part:
        if args.part not in names:
            raise UserError(f"`--part`: {unknown_name('part', args.part, names)}")
        _make_part(args, sources, options)
        return
    check_shards(sources, options, args.shards)
    settings = {**options.to_json(), "shards": args.shards, "align_sample": args.align_sample}
    inputs = surfaces(sources)
    if (out / "meta.json").is_file():
        raise UserError(f"{out}: is a data folder without shards; choose another folder")
    if not (args.overwrite or args.only_step):
        state.is_finished(out, settings, inputs)
    steps = _steps(args, sources)
    if not (args.dry_run or args.only_step):
        launcher_of(args)  # raises for wrong options, before anything is written
        state.start(out, settings, inputs, None)
    if run_steps(out, steps, args.jobs, args, shown=""):
        print(f"{out}: {args.shards} shards, shard0 to shard{args.shards - 1}")


def _make_part(args: argparse.Namespace, sources: Sources, options: PrepareOptions) -> None:
    models, out = Path(args.out) / MODELS, Path(args.out) / args.part
    how = {"workers": args.workers, "overwrite": args.overwrite}
    if args.part == MODELS:
        prepare_models(out, sources, options, args.shards, args.align_sample, **how)
    else:
        number = int(args.part.removeprefix("shard"))
        prepare_shard(out, models, sources, options, number, **how)
    print(f"{out}: done")


def _steps(args: argparse.Namespace, sources: Sources) -> list[Step]:
    command = list(without_options(planning_command(args.argv), _LEFT_OUT))
    texts = [on_disk(file) for files in sources.by_role().values() for file in files]
    make = functools.partial(
        Step,
        # The result does not depend on them, so nothing is made again with another number.
        late=lambda: ("--workers", str(args.workers)),
        unread=texts,
        resumable=True,
        progress=last_line,
    )
    models, steps = Path(args.out) / MODELS, []
    for name in part_names(args.shards):
        steps.append(
            make(
                name,
                commands=[[*command, "--part", name]],
                inputs=[] if name == MODELS else [models],
                outputs=[Path(args.out) / name],
            )
        )
    return steps


def without_options(words: Sequence[str], left_out: dict[str, bool]) -> Iterator[str]:
    """``words`` without the options of ``left_out``, which says whether each has a value.

    >>> words = ["prepare", "--jobs", "2", "--seed=1", "--workers=3", "--overwrite"]
    >>> list(without_options(words, {"--jobs": True, "--workers": True, "--overwrite": False}))
    ['prepare', '--seed=1']
    """
    given = iter(words)
    for word in given:
        name, equals, _ = word.partition("=")
        if name not in left_out:
            yield word
        elif left_out[name] and not equals:
            next(given)
