#!/usr/bin/env python
"""Trained translators side by side: quality, sentences a second, and how long one sentence takes.

    python benchmarks/translators.py --ours runs/translators/models/translator-de-1/… \
        --autoregressive runs/translators/models/autoregressive-de-1/checkpoint_best.pt \
        --data runs/translators/data/prepare-de --text test.en,test.de

From text to text. All systems take turns with the same sentences, in batches of like length, and
then one sentence at a time.
"""

import argparse
import logging
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import numpy as np
import sacrebleu
import torch
from common import heading, peak_memory, table, take_turns
from translator_systems import Autoregressive, Translate, ours

from fairseq_xling.core.texts import read_lines


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--ours",
        nargs="+",
        required=True,
        metavar="[NAME=]MODEL",
        help="checkpoint or exported folder; several have names",
    )
    parser.add_argument(
        "--autoregressive", type=Path, required=True, help="checkpoint of `--task translation`"
    )
    parser.add_argument(
        "--data", type=Path, required=True, help="data folder of the autoregressive model"
    )
    parser.add_argument(
        "--text", required=True, metavar="SOURCE,TARGET", help="text to translate, and references"
    )
    parser.add_argument(
        "--autoregressive-source", type=Path, help="the source for that model, if its case differs"
    )
    parser.add_argument("--source-lang", default="en", help="(default: en)")
    parser.add_argument("--target-lang", default="de", help="(default: de)")
    parser.add_argument("--batch-size", type=int, default=64, help="sentences (default: 64)")
    parser.add_argument("--slot-beam", type=int, default=5, help="of our search (default: 5)")
    parser.add_argument("--shortlist", help="file of `fairseq-xling shortlist`: ours with it too")
    parser.add_argument("--timed", type=int, default=512, help="sentences of a turn (default: 512)")
    parser.add_argument(
        "--singly", type=int, default=200, help="sentences translated one by one (default: 200)"
    )
    parser.add_argument("--threads", type=int, default=2, help="(default: 2)")
    parser.add_argument("--rounds", type=int, default=3, help="turns of each (default: 3)")
    parser.add_argument("--seconds", type=float, default=0.0, help="least length of a turn")
    parser.add_argument(
        "--clock", default="wall", help="wall, or cpu: this process's, on a machine in use"
    )
    parser.add_argument(
        "--systems", default="", help="only those whose names contain one of these, by commas"
    )
    parser.set_defaults(device="cpu")
    return parser.parse_args()


def batches(lines: Sequence[str], size: int) -> list[np.ndarray]:
    """Rows of ``lines`` in batches of like length."""
    order = np.argsort([len(line.split()) for line in lines], kind="stable")
    return [order[start : start + size] for start in range(0, len(order), size)]


def translated(translate: Translate, lines: Sequence[str], size: int) -> list[str]:
    """The translation of each line, in their order."""
    found = [""] * len(lines)
    for rows in batches(lines, size):
        written = translate([lines[row] for row in rows])
        for row, text in zip(rows.tolist(), written, strict=True):
            found[row] = text
    return found


def a_turn(translate: Translate, lines: Sequence[str], size: int) -> Callable[[], tuple[int, int]]:
    """A step: whole batches from all lengths."""
    parts = [[lines[row] for row in rows] for rows in batches(lines, size)]

    def step() -> tuple[int, int]:
        for part in parts:
            translate(part)
        return len(lines), len(lines)

    return step


def singly(translate: Translate, lines: Sequence[str], clock: Callable[[], float]) -> np.ndarray:
    """Milliseconds of each of ``lines``, alone."""
    translate(lines[:1])
    times = []
    for line in lines:
        start = clock()
        translate([line])
        times.append(1000 * (clock() - start))
    return np.array(times)


def own_systems(
    args: argparse.Namespace, name: str, model: Path
) -> dict[str, Callable[[], tuple[Translate, int]]]:
    """What makes each system of one of our models."""
    makers = {}
    for precision in ("fp32", "bf16", "int8"):
        makers[f"{name} {precision}"] = partial(ours, model, precision)
    if args.shortlist:
        for precision in ("fp32", "int8"):
            makers[f"{name}, short list {precision}"] = partial(
                ours, model, precision, shortlist=args.shortlist
            )
    for precision in ("fp32", "int8"):
        makers[f"{name}, beam {args.slot_beam} {precision}"] = partial(
            ours, model, precision, slot_beam=args.slot_beam
        )
    return makers


def systems(args: argparse.Namespace) -> dict[str, tuple[Callable[[], Translate], int, bool]]:
    """What makes each, its parameters, and whether it reads our source text."""
    peer = Autoregressive(args.autoregressive, args.data, (args.source_lang, args.target_lang))
    makers = {}
    for given in args.ours:
        name, _, model = given.rpartition("=")
        makers |= own_systems(args, f"ours {name}".strip(), Path(model))
    for name, width in (("greedy", 1), ("beam 5", 5)):
        makers[f"fairseq {name} fp32"] = lambda w=width: (peer.stock(w), peer.size)
    for kind, compute_type in (("fp32", "float32"), ("int8", "int8")):
        for name, width in (("greedy", 1), ("beam 5", 5)):
            makers[f"CTranslate2 {name} {kind}"] = lambda w=width, c=compute_type: (
                peer.ctranslate2(w, c, args.threads),
                peer.size,
            )
    wanted = [part for part in args.systems.split(",") if part]
    return {
        name: (*make(), name.startswith("ours"))
        for name, make in makers.items()
        if not wanted or any(part in name for part in wanted)
    }


def main() -> None:
    args = parse()
    logging.disable(logging.WARNING)
    torch.set_num_threads(args.threads)
    source, target = (list(read_lines(Path(name))) for name in args.text.split(","))
    theirs = list(read_lines(args.autoregressive_source)) if args.autoregressive_source else source
    ready = systems(args)
    texts = {name: source if own else theirs for name, (_, _, own) in ready.items()}
    quality, memory, latency = {}, {}, {}
    clock = time.process_time if args.clock == "cpu" else time.perf_counter
    for name, (translate, _, _) in ready.items():
        found = translated(translate, texts[name], args.batch_size)
        quality[name] = [
            metric.corpus_score(found, [target]).score
            for metric in (sacrebleu.BLEU(), sacrebleu.CHRF())
        ]
        step = a_turn(translate, texts[name][: args.batch_size], args.batch_size)
        memory[name] = peak_memory(step, args.device)
        latency[name] = singly(translate, texts[name][: args.singly], clock)
    timed = {
        name: a_turn(translate, texts[name][: args.timed], args.batch_size)
        for name, (translate, _, _) in ready.items()
    }
    results = take_turns(args, timed)
    print(heading("translators.py", args.device))
    print(
        f"{len(source):,} sentences translated; {min(args.timed, len(source)):,} timed in batches "
        f"of {args.batch_size}, {args.rounds} turns by the {args.clock} clock; "
        f"{min(args.singly, len(source)):,} one by one"
    )
    print()
    header = ["system", "BLEU", "chrF", "sentences/s", "spread", "x beam 5"]
    header += ["median ms", "99 % ms", "memory", "params"]
    base = results.get("fairseq beam 5 fp32")
    rows = []
    for name, result in results.items():
        row = [name, *(f"{score:.2f}" for score in quality[name])]
        row += [f"{result.median:,.1f}", f"{result.spread:.0%}"]
        row += [f"{result.median / base.median:.2f}" if base else ""]
        row += [f"{np.median(latency[name]):.1f}", f"{np.percentile(latency[name], 99):.1f}"]
        row += [f"{memory[name] / 2**20:,.0f} MiB", f"{ready[name][1] / 1e6:.1f} M"]
        rows.append(row)
    print(table(header, rows))


if __name__ == "__main__":
    main()
