#!/usr/bin/env python
"""Translation speed: ours in one pass, stock fairseq and CTranslate2 word by word.

    python benchmarks/generation.py
    python benchmarks/generation.py --data DATA-BIN --source-lang en --target-lang de

All systems translate the same batches of sentences in one process and take turns. Weights are
random: speed does not depend on them, but for the length of what an autoregressive model writes,
which is set to the references'. A bare encoder that reads the sentence and takes the best token at
each position, with nothing in its middle, is the limit for ours.
"""

import argparse
import logging
from functools import partial
from pathlib import Path

import torch
from common import Measured, heading, peak_memory, table, take_turns
from generation_systems import Ours, Setting, System, ctranslate2_system, stock

from fairseq_xling.cli import main as xling


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, help="data folder (default: the embedded corpus)")
    parser.add_argument("--subset", default="test", help="split to translate (default: test)")
    parser.add_argument(
        "--held-out", type=int, default=1000, help="sentences of the embedded test (default: 1000)"
    )
    parser.add_argument("--source-lang", default="en", help="(default: en)")
    parser.add_argument("--target-lang", default="de", help="(default: de)")
    parser.add_argument("--sentences", type=int, default=256, help="(default: 256)")
    parser.add_argument("--batch-size", type=int, default=64, help="sentences (default: 64)")
    parser.add_argument("--layers", type=int, default=12, help="of ours (default: 12)")
    parser.add_argument(
        "--full-stock",
        action="store_true",
        help="give encoder and decoder of the stock models all --layers each, instead of half",
    )
    parser.add_argument("--dim", type=int, default=512, help="width (default: 512)")
    parser.add_argument("--heads", type=int, default=8, help="(default: 8)")
    parser.add_argument("--vocab", type=int, default=16000, help="size (default: 16000)")
    parser.add_argument("--threads", type=int, default=2, help="(default: 2)")
    parser.add_argument("--rounds", type=int, default=3, help="turns of each (default: 3)")
    parser.add_argument("--seconds", type=float, default=0.0, help="least length of a turn")
    parser.add_argument(
        "--clock", default="wall", help="wall, or cpu: this process's, on a machine in use"
    )
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--device", default="cpu", help="cpu or cuda (default: cpu)")
    parser.add_argument(
        "--shortlist", help="file of `fairseq-xling shortlist`: ours with it as well"
    )
    parser.add_argument(
        "--systems", default="", help="only those whose names contain one of these, by commas"
    )
    parser.add_argument(
        "--work", type=Path, default=Path("runs/benchmarks"), help="folder for the text made here"
    )
    return parser.parse_args()


def embedded(work: Path, vocab: int, held_out: int) -> Path:
    """A data folder with the embedded corpus, made once."""
    text, data = work / f"generation-text-{held_out}", work / f"generation-{held_out}-{vocab}"
    if not (text / "provenance.json").is_file():
        _run("synthesize", text, "--sentences", 20 * held_out, "--held-out", held_out)
    common = ("--languages", "en,de", "--from", text, "--aligner", "none")
    _run("prepare", data, *common, "--vocab-size", vocab)
    return data


def _run(*arguments: object) -> None:
    if status := xling([str(argument) for argument in arguments]):
        raise SystemExit(status)


def systems(args: argparse.Namespace, ours: Ours) -> dict[str, System]:
    """Those to compare, in the order of the table."""
    half = "bf16" if args.device == "cpu" else "fp16"
    kinds = {"fp32": ((), False), half: ((), True)}
    if args.device == "cpu":
        kinds["int8"] = ("--int8",), False
    ways = {"identity": ((), {})}
    for count in ("1", "2", "3"):
        flags = ("--ordering", "predicted", "--length-candidates", count)
        ways[f"predicted x{count}"] = flags, {}
    slots = {"emission": "ctc", "upsample": 2}
    ways |= {"ctc x2": ((), slots), "ctc x2 top": ((), {**slots, "slot_layers": 1})}
    if args.shortlist:
        for name in ("identity", "ctc x2", "ctc x2 top"):
            ways[f"{name} shortlist"] = ("--shortlist", args.shortlist), ways[name][1]
    makers = {"bare encoder fp32": ours.bare, f"bare encoder {half}": lambda: ours.bare(True)}
    for kind, (quantised, is_half) in kinds.items():
        for name, (flags, more) in ways.items():
            makers[f"ours {name} {kind}"] = partial(
                ours.system, *flags, *quantised, half=is_half, **more
            )
    makers |= {
        "stock greedy fp32": lambda: stock(ours, 1),
        "stock beam 5 fp32": lambda: stock(ours, 5),
    }
    for kind, compute_type in (("fp32", "float32"), ("int8", "int8")):
        makers |= {
            f"CTranslate2 greedy {kind}": lambda c=compute_type: ctranslate2_system(ours, 1, c),
            f"CTranslate2 beam 5 {kind}": lambda c=compute_type: ctranslate2_system(ours, 5, c),
        }
    wanted = [part for part in args.systems.split(",") if part]
    chosen = [name for name in makers if not wanted or any(part in name for part in wanted)]
    return {name: makers[name]() for name in chosen}


def report(results: dict[str, Measured], ready: dict[str, System], memory: dict[str, int]) -> str:
    """The table, one row per system."""
    header = ["system", "sentences/s", "spread", "x bare", "x beam 5", "memory", "params"]
    beam = results.get("stock beam 5 fp32")
    rows = []
    for name, result in results.items():
        kind = name.split()[-1]
        bare = results.get(f"bare encoder {'fp32' if kind == 'int8' else kind}")
        row = [name, f"{result.median:,.1f}", f"{result.spread:.0%}"]
        row += [f"{result.median / base.median:.2f}" if base else "" for base in (bare, beam)]
        row += [f"{memory[name] / 2**20:,.0f} MiB", f"{ready[name].parameters / 1e6:.1f} M"]
        rows.append(row)
    return table(header, rows)


def main() -> None:
    args = parse()
    logging.disable(logging.INFO)
    torch.set_num_threads(args.threads)
    args.work.mkdir(parents=True, exist_ok=True)
    setting = Setting(
        data=args.data or embedded(args.work, args.vocab, args.held_out),
        subset=args.subset,
        pair=(args.source_lang, args.target_lang),
        sentences=args.sentences,
        batch=args.batch_size,
        layers=args.layers,
        full_stock=args.full_stock,
        dim=args.dim,
        heads=args.heads,
        vocab=args.vocab,
        threads=args.threads,
        seed=args.seed,
        device=args.device,
    )
    ours = Ours(setting)
    ready = systems(args, ours)
    memory = {name: peak_memory(system.step, args.device) for name, system in ready.items()}
    results = take_turns(args, {name: system.step for name, system in ready.items()})
    print(heading("generation.py", args.device))
    print(
        f"{setting.dim} wide, {4 * setting.dim} in the middle, {setting.heads} heads; ours and the "
        f"bare encoder {setting.layers} layers, stock {setting.stock_layers} + "
        f"{setting.stock_layers}; vocabulary {setting.vocab}; seed {setting.seed}"
    )
    count = sum(batch["nsentences"] for batch in ours.batches)
    print(
        f"{count} sentences in batches of {setting.batch}, {ours.sources:.1f} source tokens and "
        f"{ours.references:.1f} target tokens each; {args.rounds} turns by the {args.clock} clock"
    )
    print()
    print(report(results, ready, memory))


if __name__ == "__main__":
    main()
