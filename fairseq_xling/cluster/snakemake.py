"""A run as a Snakefile: one rule for each step.

What a rule leaves is a file ``.steps/STEP.done``. Snakemake removes what a rule declares before it
starts it again; the step's own outputs are parameters, so that a training that was killed resumes.
The step's digest is a parameter too: what changes it makes Snakemake carry out the rule again.
"""

import os
import shlex
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from fairseq_xling.core.files import atomic_write
from fairseq_xling.runs.command_check import find_program
from fairseq_xling.runs.launchers import EXPORTS
from fairseq_xling.runs.step import Step, from_outside, gpus_of, predecessors


@EXPORTS.register("snakemake")
def write_snakefile(
    run: Path,
    steps: Sequence[Step],
    digests: Mapping[str, str],
    command: Callable[[str], list[str]],
    threads: int,
) -> str:
    """Write ``<run>/Snakefile``; returns the command that carries it out."""
    path, earlier = run / "Snakefile", predecessors(steps)
    follow = f"snakemake --snakefile {shlex.quote(str(path))} --cores {os.cpu_count()}"
    with atomic_write(path, "w") as file:
        file.write("# The steps of a run, to be carried out by Snakemake 9:\n")
        file.write(f"#     {follow}\n\nworkdir: {os.getcwd()!r}\n\nlocalrules: all\n\n")
        file.write("rule all:\n")
        file.write(f"    input: {_pattern([_mark(run, step) for step in steps])}\n")
        for step in steps:
            before = earlier[step.name]
            outside = from_outside([*step.inputs, *step.unread], before)
            program, *words = command(step.name)
            line = shlex.join([*find_program(program), *words])
            gpus = abs(gpus_of(step))
            cores = 1 if step.call and not gpus else threads
            inputs = [*(_mark(run, other) for other in before), *outside]
            file.write(f"\nrule:\n    name: {step.name!r}\n")
            file.write(f"    input: {_pattern(inputs)}\n")
            file.write(f"    output: touch({_pattern(_mark(run, step))})\n")
            file.write(f"    params: digest={digests[step.name]!r},\n")
            file.write(f"        outputs={[str(output) for output in step.outputs]!r}\n")
            file.write(f"    threads: {cores}\n    resources: gpu={gpus}\n")
            file.write(f"    shell: {_pattern(line)}\n")
    return f"carry it out by `{follow}`"


def _mark(run: Path, step: Step) -> Path:
    return run / ".steps" / f"{step.name}.done"


def _pattern(given: Any) -> str:
    """Texts as Snakemake reads them, in which braces stand for what varies."""
    if isinstance(given, list):
        return f"[{', '.join(map(_pattern, given))}]"
    return repr(str(given).replace("{", "{{").replace("}", "}}"))
