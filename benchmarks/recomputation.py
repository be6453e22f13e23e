#!/usr/bin/env python
"""What `--checkpoint-activations` saves: memory and time of a training step of an encoder.

    python benchmarks/recomputation.py --device cuda     # of XLM-R large's size
    python benchmarks/recomputation.py --rows 2 --length 128 --layers 12

Each way has a process of its own. A step is a forward and a backward pass over random tokens, with
logits at 15 % of them; memory is the most that a step holds above weights and gradients.
"""

import argparse
import time

import torch
import torch.nn.functional as F
from common import check_device, heading, in_own_process, peak_memory, report_child, table

from fairseq_xling.models.encoder import EncoderShape, SeparableEncoder
from fairseq_xling.models.layer import recompute_layers
from fairseq_xling.models.sharing import SharingPlan

WAYS = ("kept", "computed again")


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__.splitlines()[0], formatter_class=argparse.ArgumentDefaultsHelpFormatter
    )
    parser.add_argument("--layers", type=int, default=24)
    parser.add_argument("--dim", type=int, default=1024, help="width of the states")
    parser.add_argument("--heads", type=int, default=16)
    parser.add_argument("--vocab", type=int, default=250_002)
    parser.add_argument("--rows", type=int, default=8, help="of a batch")
    parser.add_argument("--length", type=int, default=256, help="of a row, in tokens")
    parser.add_argument("--steps", type=int, default=3, help="that are timed")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--device", default="cpu", choices=["cpu", "cuda"])
    parser.add_argument("--child", choices=WAYS, help=argparse.SUPPRESS)
    args = parser.parse_args()
    check_device(parser, args)
    return args


def measure(args: argparse.Namespace) -> None:
    """Report memory and time of one way."""
    torch.manual_seed(args.seed)
    shape = EncoderShape(args.layers, args.dim, 4 * args.dim, args.heads, args.length)
    encoder = SeparableEncoder(shape, {"en": args.vocab}, SharingPlan()).to(args.device).train()
    if args.child == WAYS[1]:
        recompute_layers(encoder)
    size = args.rows, args.length
    tokens = torch.randint(10, args.vocab, size, device=args.device)
    src = {"tokens": tokens, "positions": torch.arange(args.length, device=args.device)}
    predicted = torch.rand(size, device=args.device) < 0.15
    precision = torch.bfloat16 if args.device == "cuda" else None
    finish = torch.cuda.synchronize if args.device == "cuda" else lambda: None

    def step() -> tuple[int, int]:
        with torch.autocast(args.device, precision, enabled=precision is not None):
            logits = encoder.logits(encoder.states(src)[-1][predicted])
            F.cross_entropy(logits.float(), tokens[predicted]).backward()
        finish()
        return tokens.numel(), tokens.numel()

    step()  # makes the gradients
    memory, start = peak_memory(step, args.device), time.perf_counter()
    for _ in range(args.steps):
        step()
    report_child(seconds=(time.perf_counter() - start) / args.steps, memory=memory / 2**20)


def main() -> None:
    args = parse()
    if args.child:
        measure(args)
        return
    found = {way: in_own_process(__file__, args, way) for way in WAYS}
    kept = found[WAYS[0]]
    rows = [
        [
            *(way, f"{one['memory']:,.0f}", f"{one['memory'] / kept['memory']:.2f}"),
            *(f"{one['seconds']:.2f}", f"{one['seconds'] / kept['seconds']:.2f}"),
        ]
        for way, one in found.items()
    ]
    print(heading("benchmarks/recomputation.py", args.device))
    print(table(["activations", "MiB", "x kept", "s a step", "x kept"], rows))


if __name__ == "__main__":
    main()
