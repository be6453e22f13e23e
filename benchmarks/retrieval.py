#!/usr/bin/env python
"""Nearest neighbours by CSLS among two large sets of vectors: ours, faiss, and the GEMM limit.

    python benchmarks/retrieval.py
    python benchmarks/retrieval.py --size 20000 --threads 1

Finds for every source the best target by CSLS, without and with hubs corrected for on all vectors.
Each system runs in a process of its own, which loads the same vectors; its time is that of the
search, its memory the peak of the whole process. A pass is the product of all sources with all
targets, in blocks: the definition needs two (the densities r_T and r_S, then the search), faiss
makes three, ours one and what of the second it cannot rule out. It is compared with plain GEMM: a
pass in blocks of the same size by `torch.mm` into the same memory, measured before and after each
round.
"""

import argparse
import importlib.util
import statistics
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
from common import heading, in_own_process, own_peak, report_child, table

from fairseq_xling.mapping import csls
from fairseq_xling.mapping.largest import Block
from fairseq_xling.mapping.normalize import unit

HERE = Path(__file__).resolve().parent
_PIECE = 10_000  # vectors made at a time

Found = tuple[torch.Tensor, float]  # index (N,) of the best target, and passes


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--size", type=int, default=200_000, help="sources, and targets")
    parser.add_argument("--width", type=int, default=300)
    parser.add_argument("--k", type=int, default=10, help="neighbours that CSLS averages over")
    parser.add_argument("--chunk", type=int, default=3072, help="rows and columns of a block")
    parser.add_argument("--clusters", type=int, default=5000, help="groups of like words")
    parser.add_argument("--noise", type=float, default=3.5, help="between a word and its own")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=1, help="turns of each system")
    parser.add_argument("--clock", choices=["wall", "cpu"], default="wall")
    parser.add_argument("--sample", type=int, default=50, help="rows checked by brute force")
    parser.add_argument("--systems", default=",".join(SYSTEMS), help="among these")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--work", type=Path, default=HERE.parent / "runs" / "benchmarks")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.clock == "cpu" and args.threads != 1:
        parser.error("--clock cpu needs --threads 1 (waiting threads count too)")
    unknown = set(args.systems.split(",")) - set(SYSTEMS)
    if unknown:
        parser.error(f"--systems: choose from {', '.join(SYSTEMS)}, got {', '.join(unknown)}")
    return args


def make(args: argparse.Namespace, folder: Path) -> None:
    """Sources in groups around a common mean, as words are; each target is a source, rotated, with
    noise. Targets are in another order, which is written with them."""
    rng = np.random.default_rng(args.seed)
    n, d = args.size, args.width
    spread = (1 + np.arange(d)) ** -0.25  # some directions matter more
    spread = (spread / np.linalg.norm(spread)).astype("f4")
    centres = rng.normal(size=(min(args.clusters, n), d)).astype("f4") * spread
    mean = 0.5 * rng.normal(size=d).astype("f4") * spread
    turn = np.linalg.qr(rng.normal(size=(d, d)))[0].astype("f4")
    shape = {"mode": "w+", "dtype": "float32", "shape": (n, d)}
    order = rng.permutation(n)
    x = np.lib.format.open_memmap(folder / "x.npy", **shape)
    y = np.lib.format.open_memmap(folder / "y.npy", **shape)
    for start in range(0, n, _PIECE):
        size = min(_PIECE, n - start)
        rows = mean + centres[rng.integers(len(centres), size=size)]
        rows += rng.normal(size=(size, d)).astype("f4") * spread
        x[start : start + size] = rows
        noise = args.noise * rng.normal(size=(size, d)).astype("f4") * spread
        y[order[start : start + size]] = (rows + noise) @ turn
        x[start : start + size] = rows @ turn
    np.save(folder / "order.npy", order)


def ours(x: torch.Tensor, y: torch.Tensor, args: argparse.Namespace) -> Found:
    done = 0
    product = Block.product

    def counted(self: Block, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        nonlocal done
        done += len(a) * len(b)
        return product(self, a, b)

    Block.product = counted
    index = csls.csls_neighbours(x, y, 1, args.k, args.chunk)[1][:, 0]
    return index, done / (len(x) * len(y))


def sorting(x: torch.Tensor, y: torch.Tensor, args: argparse.Namespace) -> Found:
    """The definition, step by step: three passes, `topk` in every block."""
    x, y = unit(x), unit(y)

    def top(a: torch.Tensor, b: torch.Tensor, k: int, penalty: torch.Tensor | None = None):
        values, index = [], []
        for rows in a.split(args.chunk):
            best = rows.new_empty(len(rows), 0), torch.empty(len(rows), 0, dtype=torch.int64)
            for start in range(0, len(b), args.chunk):
                scores = rows @ b[start : start + args.chunk].T
                if penalty is not None:
                    scores = 2 * scores - penalty[start : start + args.chunk]
                found, place = scores.topk(min(k, scores.shape[1]))
                scores = torch.cat([best[0], found], 1)
                places = torch.cat([best[1], place + start], 1)
                scores, keep = scores.topk(min(k, scores.shape[1]))
                best = scores, places.gather(1, keep)
            values.append(best[0])
            index.append(best[1])
        return torch.cat(values), torch.cat(index)

    top(x, y, args.k)  # r_T, which the order of targets does not depend on
    r_s = top(y, x, args.k)[0].mean(1)
    return top(x, y, 1, r_s)[1][:, 0], 3.0


def faiss(x: torch.Tensor, y: torch.Tensor, args: argparse.Namespace) -> Found:
    """Three exact searches by inner product; one coordinate more takes r_S off."""
    import faiss

    faiss.omp_set_num_threads(args.threads)
    x, y = (np.ascontiguousarray(unit(side).numpy()) for side in (x, y))

    def search(vectors: np.ndarray, queries: np.ndarray, k: int):
        index = faiss.IndexFlatIP(vectors.shape[1])
        index.add(vectors)
        return index.search(queries, k)

    search(y, x, args.k)  # r_T, as above
    r_s = search(x, y, args.k)[0].mean(1)
    doubled = np.hstack([2 * x, np.ones((len(x), 1), dtype="f4")])
    penalized = np.hstack([y, -r_s[:, None]])
    return torch.from_numpy(search(penalized, doubled, 1)[1][:, 0]), 3.0


def gemm(x: torch.Tensor, y: torch.Tensor, args: argparse.Namespace) -> Found:
    """The products of a single pass, and nothing else."""
    block = Block(args.chunk, x)
    for rows in x.split(args.chunk):
        for columns in y.split(args.chunk):
            block.product(rows, columns)
    return torch.empty(0, dtype=torch.int64), 1.0


SYSTEMS: dict[str, Callable[..., Found]] = {"ours": ours, "faiss": faiss, "sorting": sorting}
NAMES = {"ours": "ours", "faiss": "faiss IndexFlatIP", "sorting": "torch, topk of each block"}


def child(args: argparse.Namespace, folder: Path) -> None:
    """Run one system on the vectors in ``folder``, and report what it took."""
    torch.set_num_threads(args.threads)
    x, y = (torch.from_numpy(np.load(folder / f"{name}.npy")) for name in "xy")
    torch.mm(x[:512], y[:512].T)  # threads and code are there before time counts
    clock = time.process_time if args.clock == "cpu" else time.perf_counter
    start = clock()
    with torch.no_grad():
        index, passes = {**SYSTEMS, "gemm": gemm}[args.child](x, y, args)
    seconds = clock() - start
    if len(index):
        np.save(folder / f"{args.child}.npy", index.numpy())
    report_child(seconds=seconds, passes=passes, peak=own_peak())


def check(folder: Path, system: str, args: argparse.Namespace) -> str:
    """Brute force in double precision for some rows: is what a system found the best by CSLS?

    r_S is needed of all targets that might be better, which a few sources tell: the mean of the K
    largest of some cosines is never above that of all.
    """
    x, y = (torch.from_numpy(np.load(folder / f"{name}.npy")) for name in "xy")
    rng = np.random.default_rng(args.seed + 1)
    rows = torch.from_numpy(rng.choice(len(x), min(args.sample, len(x)), replace=False))
    some = torch.from_numpy(rng.choice(len(x), min(5000, len(x)), replace=False))
    found = torch.from_numpy(np.load(folder / f"{system}.npy"))[rows]
    x, y = unit(x.double()), unit(y.double())
    cosines = x[rows] @ y.T
    near = x[some].float()
    least = torch.cat(
        [(p.float() @ near.T).topk(min(args.k, len(some)))[0].mean(1) for p in y.split(2048)]
    )
    r_s = torch.full((len(y),), torch.nan, dtype=torch.float64)

    def density(places: torch.Tensor) -> None:
        for part in places[r_s[places].isnan()].unique().split(256):
            r_s[part] = (y[part] @ x.T).topk(min(args.k, len(x)))[0].mean(1)

    density(found)
    score = 2 * cosines.gather(1, found[:, None])[:, 0] - r_s[found]
    possible = 2 * cosines - least.double() + 1e-5 > score[:, None]
    density(possible.any(0).nonzero()[:, 0])
    best = (2 * cosines - r_s).masked_fill(~possible, -torch.inf).max(1)
    same = int(((best.values - score) <= 1e-6).sum())
    return f"{same} of {len(rows)}"


def main() -> None:
    args = parse()
    folder = args.work / "retrieval"
    folder.mkdir(parents=True, exist_ok=True)
    if args.child:
        return child(args, folder)
    make(args, folder)
    systems = [name for name in args.systems.split(",") if name != "faiss" or _has_faiss()]
    limit: list[float] = []
    results: dict[str, list[dict[str, float]]] = {name: [] for name in systems}
    for _ in range(args.rounds):
        limit.append(in_own_process(__file__, args, "gemm")["seconds"])
        for name in systems:
            results[name].append(in_own_process(__file__, args, name))
        limit.append(in_own_process(__file__, args, "gemm")["seconds"])
    torch.set_num_threads(args.threads)
    print(heading("retrieval.py", "cpu"))
    print(
        f"{args.size:,} sources and targets, {args.width} wide, {args.clusters:,} groups, noise "
        f"{args.noise:g}; K = {args.k}; blocks of {args.chunk}; {args.threads} threads, "
        f"{args.rounds} rounds by the {args.clock} clock; seed {args.seed}"
    )
    one = statistics.median(limit)
    spread = (max(limit) - min(limit)) / one
    print(f"GEMM limit: {one:.1f} s a pass ({spread:.0%} spread), {2 * one:.1f} s for two\n")
    order = np.load(folder / "order.npy")
    ours_index = np.load(folder / "ours.npy") if "ours" in systems else None
    rows = []
    for name, runs in results.items():
        seconds = statistics.median(run["seconds"] for run in runs)
        passes, index = runs[0]["passes"], np.load(folder / f"{name}.npy")
        agreed = "" if ours_index is None else f"{(index == ours_index).mean():.3%}"
        rows.append(
            [
                NAMES[name],
                f"{seconds:,.1f}",
                f"{passes:.2f}",
                f"{seconds / (passes * one):.2f}",
                f"{seconds / (2 * one):.2f}",
                f"{max(run['peak'] for run in runs):,.0f}",
                f"{(index == order).mean():.3f}",
                check(folder, name, args),
                agreed,
            ]
        )
    header = ["system", "seconds", "passes", "x GEMM of them", "x GEMM of two", "peak MiB"]
    print(table([*header, "P@1", "exact", "as ours"], rows))
    if "faiss" in args.systems.split(",") and "faiss" not in systems:
        print("\nfaiss is not installed (`pip install faiss-cpu`)")


def _has_faiss() -> bool:
    return importlib.util.find_spec("faiss") is not None


if __name__ == "__main__":
    main()
