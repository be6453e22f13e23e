#!/usr/bin/env python
"""The memory of a training on a CPU over many batch shapes, and ways to keep it from growing.

    python benchmarks/cpu_memory.py
    python benchmarks/cpu_memory.py --precision bf16 --ways "as it is,caches of 8"

Each way is a process of its own that makes the same updates. What is shown is the memory that the
process holds after each part of them, and updates per second of processor time.
"""

import argparse
import ctypes
import logging
import os
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
from common import heading, in_own_process, report_child, table
from mlm_systems import Setting, ours
from mlm_text import generated_lines, prepare

from fairseq_xling.engine.compat import SHAPE_CACHES

HERE = Path(__file__).resolve().parent
_MIB = 2**20
_M_MMAP_THRESHOLD = -3  # of malloc.h


def _nothing(update: int) -> None:
    pass


def _fixed_threshold(size: int) -> Callable[[int], None]:
    ctypes.CDLL(None).mallopt(_M_MMAP_THRESHOLD, size)
    return _nothing


def _cache_of(size: int) -> Callable[[int], None]:
    for name in SHAPE_CACHES:
        os.environ[name] = str(size)  # read at the first product
    return _nothing


def _one_cache(number: int) -> Callable[[int], None]:
    """The other as large as torch has it."""
    for place, name in enumerate(SHAPE_CACHES):
        os.environ[name] = "1" if place == number else "1024"
    return _nothing


def _without_onednn() -> Callable[[int], None]:
    torch.backends.mkldnn.set_flags(False)
    return _nothing


def _trimmed(every: int) -> Callable[[int], None]:
    libc = ctypes.CDLL(None)
    return lambda update: None if update % every else libc.malloc_trim(0)


# Each sets itself up before the model is built, and returns what is done after an update.
WAYS: dict[str, Callable[[], Callable[[int], None]]] = {
    "as it is": lambda: _nothing,
    "caches of 1024": lambda: _cache_of(1024),
    "oneDNN off": _without_onednn,
    "caches of 1": lambda: _cache_of(1),
    "caches of 8": lambda: _cache_of(8),
    "caches of 16": lambda: _cache_of(16),
    "caches of 32": lambda: _cache_of(32),
    "caches of 64": lambda: _cache_of(64),
    "oneDNN's cache of 1": lambda: _one_cache(0),
    "torch's cache of 1": lambda: _one_cache(1),
    "mmap threshold 128 KiB": lambda: _fixed_threshold(128 << 10),
    "mmap threshold 1 MiB": lambda: _fixed_threshold(1 << 20),
    "mmap threshold 4 MiB": lambda: _fixed_threshold(4 << 20),
    "trimmed every 20 updates": lambda: _trimmed(20),
}


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--layers", type=int, default=4)
    parser.add_argument("--dim", type=int, default=256)
    parser.add_argument("--heads", type=int, default=4)
    parser.add_argument("--vocab", type=int, default=8000)
    parser.add_argument("--max-positions", type=int, default=256)
    parser.add_argument("--max-tokens", type=int, default=4096, help="slots of a batch")
    parser.add_argument("--lines", type=int, default=20_000, help="of made-up text a language")
    parser.add_argument("--precision", default="fp32", choices=["fp32", "bf16"])
    parser.add_argument("--updates", type=int, default=400)
    parser.add_argument("--points", type=int, default=8, help="of the curve")
    parser.add_argument("--ways", default=",".join(WAYS), help="separated by commas")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--figure", type=Path, help="image of the curves to write, too")
    parser.add_argument("--work", type=Path, default=HERE.parent / "runs" / "benchmarks")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    args = parser.parse_args()
    for way in args.ways.split(","):
        if way not in WAYS:
            parser.error(f"--ways: {way!r} is none of {', '.join(WAYS)}")
    return args


def held() -> float:
    """The memory that this process holds now, in MiB."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / _MIB


def child(args: argparse.Namespace, data: Path) -> None:
    torch.set_num_threads(1)
    torch.manual_seed(args.seed)
    after = WAYS[args.child]()
    setting = Setting(
        data=data,
        layers=args.layers,
        dim=args.dim,
        ffn_dim=4 * args.dim,
        heads=args.heads,
        longest=args.max_positions,
        max_tokens=args.max_tokens,
        dropout=0.1,
        attention_dropout=0.0,
        workers=0,
        seed=args.seed,
        device="cpu",
    )
    system = ours(setting, *(("--cpu-bf16",) if args.precision == "bf16" else ()))
    curve, start = [], time.process_time()
    ends = np.linspace(0, args.updates, args.points + 1).round().astype(int)
    for update in range(1, args.updates + 1):
        system.step()
        after(update)
        if update == 1 or update in ends:
            curve.append((update, held()))
    report_child(curve=curve, seconds=time.process_time() - start)


def draw(path: Path, found: dict[str, dict], title: str) -> None:
    """Memory by update, a line for each way."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 4.5))
    axes = figure.add_subplot(xlabel="update", ylabel="resident memory, MiB", title=title)
    for way, one in found.items():
        axes.plot(*zip(*one["curve"], strict=True), marker=".", label=way)
    axes.set_ylim(0)
    axes.legend()
    figure.savefig(path, dpi=130)


def main() -> None:
    args = parse()
    logging.disable(logging.INFO)
    args.work.mkdir(parents=True, exist_ok=True)
    data = args.work / f"memory-{args.vocab}-{args.lines}"
    if args.child:
        return child(args, data)
    texts = []
    for seed, lang in enumerate(("en", "de")):
        texts.append((lang, args.work / f"memory.{lang}.txt"))
        texts[-1][1].write_text("\n".join(generated_lines(args.lines, seed)) + "\n")
    prepare(data, texts, args.vocab, args.max_positions, args.lines)
    found = {way: in_own_process(__file__, args, way) for way in args.ways.split(",")}
    torch.set_num_threads(1)
    print(heading("cpu_memory.py", "cpu"))
    title = f"{args.layers} layers, {args.dim} wide, {args.max_tokens} slots, {args.precision}"
    print(f"{title}; seed {args.seed}; MiB held after so many updates\n")
    points = [f"{update:,}" for update, _ in next(iter(found.values()))["curve"]]
    rows = [
        [way, *(f"{size:,.0f}" for _, size in one["curve"]), f"{args.updates / one['seconds']:.2f}"]
        for way, one in found.items()
    ]
    print(table(["way", *points, "updates/s"], rows))
    if args.figure:
        draw(args.figure, found, title)


if __name__ == "__main__":
    main()
