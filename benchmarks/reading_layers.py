#!/usr/bin/env python
"""Encoder layers that only read, on a CPU: torch's products, oneDNN's, and those in 8 bits.

    python benchmarks/reading_layers.py --clock cpu

Layers with random weights read the same random states. "error" is the root mean square of the
difference to torch's fp32, over that of the states.
"""

import argparse
import copy
from collections.abc import Callable

import torch
from common import Step, heading, table, take_turns, turn_arguments
from torch import Tensor, nn

from fairseq_xling.engine.compat import keep_freed_memory, keep_shapes_of_sentences
from fairseq_xling.models.int8 import quantise
from fairseq_xling.models.layer import EncoderLayer
from fairseq_xling.models.packed import pack

Read = Callable[[], Tensor]


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--layers", type=int, default=6, help="(default: 6)")
    parser.add_argument("--dim", type=int, default=512, help="width (default: 512)")
    parser.add_argument("--heads", type=int, default=8, help="(default: 8)")
    parser.add_argument("--sentences", type=int, default=64, help="(default: 64)")
    parser.add_argument("--length", type=int, default=16, help="of a sentence (default: 16)")
    turn_arguments(parser)
    parser.set_defaults(threads=1)
    return parser.parse_args()


def systems(args: argparse.Namespace) -> dict[str, Read]:
    """By name; the first is what the others are compared with."""
    torch.manual_seed(args.seed)
    made = [EncoderLayer(args.dim, 4 * args.dim, args.heads) for _ in range(args.layers)]
    layers, x = nn.Sequential(*made).eval(), torch.randn(args.sentences, args.length, args.dim)
    kinds = {name: copy.deepcopy(layers) for name in ("fp32", "bf16", "rows", "ranges")}
    half = kinds["bf16"].bfloat16()
    found = {"torch fp32": layers, "oneDNN fp32": kinds["fp32"]}
    found |= {"torch bf16": copy.deepcopy(half), "oneDNN bf16": half}
    pack(kinds["fp32"])
    pack(half)
    quantise(kinds["rows"])
    quantise(kinds["ranges"], lambda: kinds["ranges"](x))
    found |= {"8 bits, scales by row": kinds["rows"], "8 bits, known ranges": kinds["ranges"]}
    given = {torch.float32: x, torch.bfloat16: x.bfloat16()}

    def read(name: str) -> Read:
        return lambda: found[name](given[torch.bfloat16 if "bf16" in name else torch.float32])

    return {name: read(name) for name in found}


def turns(read: Read, states: int) -> Step:
    """A step that reads everything once."""

    def step() -> tuple[int, int]:
        read()
        return states, states

    return step


@torch.no_grad()
def main() -> None:
    args = parse()
    torch.set_num_threads(args.threads)
    keep_freed_memory()
    keep_shapes_of_sentences()
    made, states = systems(args), args.sentences * args.length
    expected = made["torch fp32"]()
    size = expected.square().mean().sqrt()
    results = take_turns(args, {name: turns(read, states) for name, read in made.items()})
    print(heading("reading_layers.py", args.device))
    rows = []
    for name, result in results.items():
        error = float((made[name]().float() - expected).square().mean().sqrt() / size)
        times = result.median / results["torch fp32"].median
        row = [name, f"{1e3 * states / result.median:.1f}", f"{result.spread:.0%}"]
        rows.append([*row, f"{times:.2f}", f"{error:.1e}"])
    print("\n" + table(["products", "ms", "spread", "x torch fp32", "error"], rows))


if __name__ == "__main__":
    main()
