"""Vectors of sentences: the encoder in torch, and its graph in ONNX Runtime, also in 8 bits.

    python benchmarks/onnx_encoder.py --clock cpu

An encoder with random weights reads random sentences, in batches of like length; all systems give
the same means, which is checked first, those in 8 bits by their angle. One thread each.
"""

import argparse
import tempfile
from collections.abc import Callable
from pathlib import Path

import torch
from common import Step, heading, table, take_turns, turn_arguments
from torch import Tensor

from fairseq_xling.interop.onnx_graphs import (
    encoder_graph,
    quantise,
    sample_tokens,
    session,
    write_graph,
)
from fairseq_xling.models.encoder import EncoderShape, SeparableEncoder
from fairseq_xling.models.sharing import SharingPlan

Means = Callable[[Tensor], Tensor]  # from ids (B, T) to vectors (B, D)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--layers", type=int, default=6)
    parser.add_argument("--width", type=int, default=512)
    parser.add_argument("--vocabulary", type=int, default=16_000)
    parser.add_argument("--sentences", type=int, default=64)
    parser.add_argument("--batch-size", type=int, default=16)
    turn_arguments(parser)
    parser.set_defaults(threads=1)
    return parser.parse_args()


def batches(args: argparse.Namespace) -> list[Tensor]:
    """Ids of sentences of 4 to 60 pieces, in order of their lengths."""
    generator = torch.Generator().manual_seed(args.seed)
    drawn = torch.randint(4, 61, (args.sentences,), generator=generator)
    lengths = drawn.sort().values.tolist()
    starts = range(0, len(lengths), args.batch_size)
    parts = [lengths[start : start + args.batch_size] for start in starts]
    return [sample_tokens(args.vocabulary, sizes, args.seed + sum(sizes)) for sizes in parts]


def systems(args: argparse.Namespace, folder: Path) -> dict[str, Means]:
    """By name; files are written into ``folder``."""
    torch.manual_seed(args.seed)
    heads = max(args.width // 64, 1)
    shape = EncoderShape(args.layers, args.width, 4 * args.width, heads, 128)
    encoder = SeparableEncoder(
        shape, {"en": args.vocabulary}, SharingPlan.parse("", args.layers)
    ).eval()
    graph = encoder_graph(encoder, "en", args.layers)
    paths = folder / "whole.onnx", folder / "int8.onnx"
    for path in paths:
        write_graph(path, graph, [(sample_tokens(args.vocabulary, (9, 5), 1),)])
    quantise(paths[1])
    whole, small = map(session, paths)
    return {
        "torch": lambda tokens: graph.module(tokens)[1],
        "ONNX Runtime": lambda tokens: run(whole, tokens),
        "ONNX Runtime, int8": lambda tokens: run(small, tokens),
    }


def run(graph: object, tokens: Tensor) -> Tensor:
    return torch.from_numpy(graph.run(["mean"], {"tokens": tokens.numpy()})[0])


def compare(made: list[Tensor], means: dict[str, Means]) -> tuple[float, float]:
    """The largest difference of the graph's means, and the smallest cosine of those in 8 bits."""
    worst, cosine = 0.0, 1.0
    for tokens in made:
        expected, whole, small = (system(tokens) for system in means.values())
        worst = max(worst, float((whole - expected).abs().max()))
        cosine = min(cosine, float(torch.cosine_similarity(small, expected).min()))
    if worst > 1e-4:
        raise SystemExit(f"the means differ by {worst:.1g}")
    return worst, cosine


def turns(made: list[Tensor], system: Means) -> Step:
    """A step that encodes everything once."""

    def step() -> tuple[int, int]:
        done = sum(len(system(tokens)) for tokens in made)
        return done, done

    return step


@torch.no_grad()
def main() -> None:
    args = parse()
    torch.set_num_threads(args.threads)
    made = batches(args)
    with tempfile.TemporaryDirectory() as folder:
        means = systems(args, Path(folder))
        sizes = [0.0, *(path.stat().st_size / 1e6 for path in sorted(Path(folder).iterdir())[::-1])]
        worst, cosine = compare(made, means)
        results = take_turns(args, {name: turns(made, one) for name, one in means.items()})
    print(heading("onnx_encoder.py", args.device))
    print(f"{args.sentences} sentences of 4 to 60 pieces in batches of {args.batch_size}")
    print(f"means differ by {worst:.1g} at most; in 8 bits their cosine is {cosine:.4f} at least")
    rows = []
    for (name, result), size in zip(results.items(), sizes, strict=True):
        times = result.median / results["torch"].median
        file = f"{size:.1f}" if size else ""
        rows.append([name, f"{result.median:,.1f}", f"{result.spread:.0%}", f"{times:.2f}", file])
    print("\n" + table(["system", "sentences/s", "spread", "x torch", "MB"], rows))


if __name__ == "__main__":
    main()
