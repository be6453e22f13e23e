"""What the benchmarks share: alternating rounds, medians with spread, tables, the machine."""

import argparse
import ctypes
import datetime
import json
import os
import platform
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil
import torch

from fairseq_xling.engine.compat import cpu_capabilities
from fairseq_xling.engine.precision import cpu_has_bf16, processor


@dataclass
class Measured:
    """What one system did in its turns: a rate per turn, and totals over all of them."""

    rates: list[float] = field(default_factory=list)
    work: int = 0
    slots: int = 0
    steps: int = 0
    seconds: float = 0.0

    @property
    def median(self) -> float:
        return statistics.median(self.rates)

    @property
    def spread(self) -> float:
        """(highest - lowest) / median of the turns' rates."""
        return (max(self.rates) - min(self.rates)) / self.median


# One step of a system: how much useful work it did, and how many slots it paid for.
Step = Callable[[], tuple[int, int]]


def alternate(
    systems: Mapping[str, Step],
    rounds: int,
    seconds: float,
    *,
    clock: Callable[[], float] = time.perf_counter,
    wait: Callable[[], None] = lambda: None,
    progress: Callable[[str], None] = lambda line: None,
) -> dict[str, Measured]:
    """Let the systems take turns, so that a noisy machine is noisy for all of them.

    Args:
        systems: by name, what does one step.
        rounds: turns of each; every other round goes through them backwards.
        seconds: least length of a turn. A step before it is not timed.
        clock: seconds as the turns count them.
        wait: returns when a device has finished what it was given.
        progress: called with a line about each turn.
    """
    results = {name: Measured() for name in systems}
    for number in range(rounds):
        names = list(systems) if number % 2 == 0 else list(systems)[::-1]
        for name in names:
            step, result = systems[name], results[name]
            step()
            wait()
            work, start = 0, clock()
            while (passed := clock() - start) < seconds or not work:
                done, slots = step()
                wait()
                work += done
                result.slots += slots
                result.steps += 1
            result.rates.append(work / passed)
            result.work += work
            result.seconds += passed
            progress(f"round {number + 1}/{rounds}  {name:<28} {work / passed:10,.0f} /s")
    return results


def turn_arguments(parser: argparse.ArgumentParser) -> None:
    """What `take_turns` reads, the number of threads and the seed."""
    parser.add_argument("--seconds", type=float, default=3.0, help="length of a turn")
    parser.add_argument("--rounds", type=int, default=5, help="turns of each system")
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument("--clock", default="wall", choices=["wall", "cpu"])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--device", default="cpu", choices=["cpu", "cuda"])


def take_turns(args: argparse.Namespace, systems: Mapping[str, Step]) -> dict[str, Measured]:
    """`alternate` by a benchmark's own --rounds, --seconds, --clock and --device, with progress."""
    return alternate(
        systems,
        args.rounds,
        args.seconds,
        clock=time.process_time if args.clock == "cpu" else time.perf_counter,
        wait=torch.cuda.synchronize if args.device == "cuda" else lambda: None,
        progress=lambda line: print(line, file=sys.stderr, flush=True),
    )


def in_own_process(script: str, args: argparse.Namespace, system: str) -> dict[str, Any]:
    """What `report_child` says in a process of its own: ``script`` with the same options and
    ``--child SYSTEM``, so that memory is that of one system alone."""
    command = [sys.executable, "-W", "ignore", script, "--child", system]
    for name, value in vars(args).items():
        if name != "child" and value is not None:
            command += [f"--{name.replace('_', '-')}", str(value)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{system}: {done.stderr.strip()[-2000:]}")
    found = json.loads(done.stdout.splitlines()[-1])
    print(f"{system:<24} {found['seconds']:8.1f} s", file=sys.stderr, flush=True)
    return found


def report_child(**measured: Any) -> None:
    """Tell `in_own_process` what a system took; ``seconds`` among it."""
    print(json.dumps(measured))


def own_peak() -> float:
    """The most memory that this process has held, in MiB."""
    status = Path("/proc/self/status")  # getrusage counts what the starting process held, too
    for line in status.read_text().splitlines() if status.is_file() else ():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def peak_memory(step: Step, device: str) -> int:
    """Peak bytes of a step, above what is resident before it."""
    if device != "cpu":
        torch.cuda.reset_peak_memory_stats()
        before = torch.cuda.memory_allocated()
        step()
        return torch.cuda.max_memory_allocated() - before
    status, reset = Path("/proc/self/status"), Path("/proc/self/clear_refs")
    if not reset.exists():  # not Linux
        return 0
    ctypes.CDLL(None).malloc_trim(0)
    reset.write_text("5")  # the highest resident size counts from here
    before = psutil.Process().memory_info().rss
    step()
    fields = dict(line.split(":", 1) for line in status.read_text().splitlines())
    return int(fields["VmHWM"].split()[0]) * 1024 - before


def check_device(parser: argparse.ArgumentParser, args: argparse.Namespace) -> None:
    """Ends the program with one line if `--device` is an accelerator that is not here."""
    if args.device == "cuda" and not torch.cuda.is_available():
        parser.error("`--device` cuda: torch finds no accelerator on this machine")


def operations(profile: Any, device: str) -> list[tuple[float, int, str]]:
    """What ``device`` did in a finished profile, the longest first: seconds, calls, name."""
    found = []
    for event in profile.key_averages():
        on_device = str(event.device_type).endswith("CUDA")
        if on_device == (device == "cuda") and not getattr(event, "is_user_annotation", False):
            spent = event.self_device_time_total if on_device else event.self_cpu_time_total
            found.append((spent / 1e6, event.count, event.key))
    return sorted(found, reverse=True)


def heading(script: str, device: str) -> str:
    """When, with which command and on what machine figures were measured."""
    load = ", ".join(f"{value:.1f}" for value in os.getloadavg())
    command = " ".join([script, *sys.argv[1:]])
    return "\n".join(
        [f"{datetime.date.today()}  {command}", *machine(device), f"load average {load}"]
    )


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table; all columns but the first are aligned right."""
    widths = [max(len(row[i]) for row in [header, *rows]) for i in range(len(header))]

    def line(cells: Sequence[str]) -> str:
        padded = [
            cell.ljust(width) if i == 0 else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(cells, widths, strict=True))
        ]
        return "| " + " | ".join(padded) + " |"

    rule = ["-" * w if i == 0 else "-" * (w - 1) + ":" for i, w in enumerate(widths)]
    return "\n".join([line(header), line(rule), *map(line, rows)])


def machine(device: str) -> Iterator[str]:
    """Lines that say where a figure was measured."""
    has = cpu_capabilities()
    flags = " ".join(flag for flag in ("avx512_f", "avx512_bf16", "amx_bf16") if has.get(flag))
    bf16 = "native bf16" if cpu_has_bf16() else "no native bf16"
    yield f"CPU: {processor()} [{flags}], {bf16}, {torch.get_num_threads()} threads"
    if device != "cpu":
        yield f"device: {torch.cuda.get_device_name()}"
    yield f"Python {platform.python_version()}, torch {torch.__version__}"
