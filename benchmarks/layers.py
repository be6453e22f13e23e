#!/usr/bin/env python
"""Encoder layers in bfloat16 on a CPU: how far from their matrix products, and what would help.

    python benchmarks/layers.py --rounds 5 --compile

Everything takes turns, on one thread, and the least processor time of its turns counts: a machine
in use then changes it least. Rates are floating-point operations of matrix products, in 10^9 a
second; a layer's other work counts as time alone.
"""

import argparse
import time
from collections.abc import Callable

import torch
import torch.nn.functional as F
from common import heading, table
from gemm import Product
from torch import Tensor, nn

import fairseq_xling.plugin  # noqa: F401  as in trainings, what oneDNN compiles is kept
from fairseq_xling.models.layer import EncoderLayer

BF16 = torch.bfloat16
SQUARE = 2048  # large enough for the processor's best


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--layers", type=int, default=2)
    parser.add_argument("--dim", type=int, default=512)
    parser.add_argument("--heads", type=int, default=8)
    parser.add_argument("--vocab", type=int, default=16000)
    parser.add_argument("--tokens", type=int, default=4096, help="of a batch")
    parser.add_argument("--lengths", default="64,61,67,80", help="of sentences, in tokens")
    parser.add_argument("--dropout", type=float, default=0.1)
    parser.add_argument("--square", type=int, default=SQUARE, help="side of the best product")
    parser.add_argument("--rounds", type=int, default=5, help="turns of each")
    parser.add_argument("--compile", action="store_true", help="also by torch.compile")
    return parser.parse_args()


def least(runs: dict[str, Callable[[], object]], rounds: int) -> dict[str, float]:
    """By name the least processor time of a run, in seconds, after one that is not counted."""
    best = dict.fromkeys(runs, float("inf"))
    for number in range(rounds + 1):
        for name, run in runs.items():
            start = time.process_time()
            run()
            if number:
                best[name] = min(best[name], time.process_time() - start)
    return best


def product_runs(name: str, p: Product) -> dict[str, tuple[Callable[[], object], int]]:
    """A product forward and for both gradients, as a linear layer has them: run, and FLOPs."""
    x, w, g = (torch.randn(*size).to(BF16) for size in ((p.m, p.k), (p.n, p.k), (p.m, p.n)))
    return {
        f"{name}: forward": (lambda: F.linear(x, w), p.flops // 3),
        f"{name}: gradient of the input": (lambda: g @ w, p.flops // 3),
        f"{name}: gradient of the weight": (lambda: g.t() @ x, p.flops // 3),
    }


def layer_run(args: argparse.Namespace, length: int, compiled: bool) -> tuple[Callable, int]:
    """Layers forward and backward on sentences of one length, and their FLOPs."""
    dim, rows = args.dim, args.tokens // length
    layers = nn.ModuleList(
        EncoderLayer(dim, 4 * dim, args.heads, args.dropout, args.dropout)
        for _ in range(args.layers)
    )
    calls = [torch.compile(layer) if compiled else layer for layer in layers]
    first = torch.randn(rows, length, dim, requires_grad=True)

    def run() -> None:
        layers.zero_grad()
        x: Tensor = first
        with torch.autocast("cpu", BF16):
            for call in calls:
                x = call(x)
        x.float().sum().backward()

    tokens, each = rows * length, dim // args.heads
    products = [Product(tokens, dim, 12 * dim)]  # 3 + 1 + 4 + 4 widths
    products += [Product(length, each, length, rows * args.heads, 2)]
    return run, args.layers * sum(p.flops for p in products)


def main() -> None:
    args = parse()
    torch.set_num_threads(1)
    torch.manual_seed(1)
    dim, tokens = args.dim, args.tokens
    square = torch.randn(args.square, args.square).to(BF16)
    runs = {"best product": (lambda: square @ square, 2 * args.square**3)}
    for name, p in {
        "q, k, v": Product(tokens, dim, 3 * dim),
        "one of q, k, v": Product(tokens, dim, dim),
        "feed-forward, first": Product(tokens, dim, 4 * dim),
        "feed-forward, second": Product(tokens, 4 * dim, dim),
        "vocabulary": Product(max(1, round(0.15 * tokens)), dim, args.vocab),
    }.items():
        runs |= product_runs(name, p)
    for length in map(int, args.lengths.split(",")):
        runs[f"layers, length {length}"] = layer_run(args, length, False)
    if args.compile:
        length = int(args.lengths.partition(",")[0])
        runs[f"layers, length {length}, compiled"] = layer_run(args, length, True)
    seconds = least({name: run for name, (run, _) in runs.items()}, args.rounds)
    rates = {name: flops / seconds[name] / 1e9 for name, (_, flops) in runs.items()}
    print(heading("layers.py", "cpu"))
    print(f"{args.layers} layers, {dim} wide, {tokens} tokens; {args.rounds} turns\n")
    rows = [
        [name, f"{rate:.0f}", f"{rate / rates['best product']:.2f}"] for name, rate in rates.items()
    ]
    print(table(["what", "GFLOP/s", "of the best"], rows))


if __name__ == "__main__":
    main()
