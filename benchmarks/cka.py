#!/usr/bin/env python
"""Linear CKA of many rows: ours in chunks, numpy with all rows at once, and the GEMM limit.

    python benchmarks/cka.py
    python benchmarks/cka.py --rows 20000,200000 --width 64 --threads 1

Each system runs in a process of its own and reads the same two files; its time has the reading in
it, its memory is the peak of the whole process less what it held before. The GEMM limit is the
three products of every chunk in double precision, of numbers that are there already.
"""

import argparse
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import torch
from common import heading, in_own_process, own_peak, report_child, table

from fairseq_xling.analysis.cka import CKA

HERE = Path(__file__).resolve().parent
_MIB = 2**20


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", default="100000,1000000", help="sizes, with commas")
    parser.add_argument("--width", type=int, default=300)
    parser.add_argument("--chunk", type=int, default=4096, help="rows at a time")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--clock", choices=["wall", "cpu"], default="wall")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--work", type=Path, default=HERE.parent / "runs" / "benchmarks")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.clock == "cpu" and args.threads != 1:
        parser.error("--clock cpu needs --threads 1 (waiting threads count too)")
    return args


def make(args: argparse.Namespace, folder: Path, rows: int) -> None:
    """Rows of X with a large common offset, and Y, which is X turned, with as much noise."""
    rng = np.random.default_rng(args.seed)
    turn = np.linalg.qr(rng.normal(size=(args.width, args.width)))[0].astype("f4")
    with open(folder / "x", "wb") as x_file, open(folder / "y", "wb") as y_file:
        for start in range(0, rows, args.chunk):
            shape = (min(args.chunk, rows - start), args.width)
            x = rng.standard_normal(shape, dtype="f4")
            (x + 10).tofile(x_file)
            (x @ turn + rng.standard_normal(shape, dtype="f4")).tofile(y_file)


def chunks(args: argparse.Namespace, folder: Path) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """The rows of X and Y, some at a time; read, since mapped pages would count as memory."""
    with open(folder / "x", "rb") as x_file, open(folder / "y", "rb") as y_file:
        count = args.chunk * args.width
        while len(x := np.fromfile(x_file, "f4", count)):
            y = np.fromfile(y_file, "f4", count)
            yield x.reshape(-1, args.width), y.reshape(-1, args.width)


def ours(args: argparse.Namespace, folder: Path) -> float:
    sums = CKA()
    for x, y in chunks(args, folder):
        sums.update(torch.from_numpy(x), torch.from_numpy(y))
    return sums.value()


def whole(args: argparse.Namespace, folder: Path) -> float:
    """The definition, in numpy and double precision."""
    x, y = (np.fromfile(folder / name, "f4").reshape(-1, args.width).astype("f8") for name in "xy")
    x -= x.mean(0)
    y -= y.mean(0)
    own = np.linalg.norm(x.T @ x) * np.linalg.norm(y.T @ y)
    return float(np.linalg.norm(y.T @ x) ** 2 / own)


def gemm(args: argparse.Namespace, folder: Path) -> float:
    x = torch.rand(args.chunk, args.width, dtype=torch.float64)
    y, into = torch.rand_like(x), x.new_empty(args.width, args.width)
    rows = (folder / "x").stat().st_size // (4 * args.width)
    for _ in range(-(-rows // args.chunk)):
        for a, b in ((x, x), (y, y), (x, y)):
            torch.mm(a.T, b, out=into)
    return float("nan")


SYSTEMS: dict[str, Callable[[argparse.Namespace, Path], float]] = {
    "ours, in chunks": ours,
    "numpy, all rows at once": whole,
    "GEMM limit": gemm,
}


def child(args: argparse.Namespace, folder: Path) -> None:
    torch.set_num_threads(args.threads)
    torch.mm(torch.rand(512, 512), torch.rand(512, 512))  # threads and code are there before
    clock = time.process_time if args.clock == "cpu" else time.perf_counter
    before, start = own_peak(), clock()
    value = SYSTEMS[args.child](args, folder)
    report_child(seconds=clock() - start, value=value, held=own_peak() - before)


def main() -> None:
    args = parse()
    folder = args.work / "cka"
    folder.mkdir(parents=True, exist_ok=True)
    if args.child:
        return child(args, folder)
    lines = []
    for rows in map(int, args.rows.split(",")):
        make(args, folder, rows)
        found = {name: in_own_process(__file__, args, name) for name in SYSTEMS}
        limit = found.pop("GEMM limit")["seconds"]
        for name, one in found.items():
            times = f"{one['seconds'] / limit:.2f}"
            size = f"{one['held']:,.0f}"
            lines.append([name, f"{rows:,}", f"{one['seconds']:.2f}", times, size])
            lines[-1].append(f"{one['value']:.12f}")
    torch.set_num_threads(args.threads)
    print(heading("cka.py", "cpu"))
    files = 2 * 4 * args.width / _MIB * int(args.rows.split(",")[-1])
    print(
        f"{args.width} wide, chunks of {args.chunk}; {args.threads} threads by the {args.clock} "
        f"clock; seed {args.seed}; the largest files have {files:,.0f} MiB\n"
    )
    print(table(["system", "rows", "seconds", "x GEMM limit", "memory, MiB", "CKA"], lines))
    for name in "xy":
        (folder / name).unlink()


if __name__ == "__main__":
    main()
