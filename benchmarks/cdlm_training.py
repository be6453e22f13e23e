#!/usr/bin/env python
"""Training with CdLM: our batches compared with the same model fed examples padded to 512.

    python benchmarks/cdlm_training.py
    python benchmarks/cdlm_training.py --embedded --layers 2 --dim 64 --pairs 16 --count 5000

TreLM's released code pads both sides of every sentence pair to 512 tokens and keeps all examples in
memory as Python lists. Here one model, one trainer and one set of pairs alternate between both
methods: ours reads pairs of similar length together and makes batches on demand. An update has the
same number of pairs in both; the padded method makes it in batches of 8, as the released code.
"""

import argparse
import logging
import subprocess
import sys
from pathlib import Path

import torch
from cdlm_memory import LONGEST, probe, repeat
from cdlm_systems import Setting, System, bucketed, padded
from common import Measured, check_device, heading, table, take_turns

OURS, PADDED = "ours", "padded to 512"
HERE = Path(__file__).resolve().parent
SHARED = HERE.parent.parent / "shared" / "data" / "multi30k"
PROGRAM = str(Path(sys.executable).parent / "fairseq-xling")


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--text",
        nargs=2,
        type=Path,
        default=[SHARED / "train.en.gz", SHARED / "train.de.gz"],
        metavar=("EN", "DE"),
        help="line-aligned files",
    )
    parser.add_argument("--embedded", action="store_true", help="the embedded corpus instead")
    parser.add_argument("--layers", type=int, default=6)
    parser.add_argument("--dim", type=int, default=256)
    parser.add_argument("--heads", type=int, default=4)
    parser.add_argument("--vocab", type=int, default=8000)
    parser.add_argument("--dropout", type=float, default=0.1)
    parser.add_argument("--pairs", type=int, default=32, help="sentence pairs of an update")
    parser.add_argument("--micro", type=int, default=8, help="pairs of a padded batch")
    parser.add_argument("--num-workers", type=int, default=1, help="loader processes")
    parser.add_argument("--seconds", type=float, default=8.0, help="least length of a turn")
    parser.add_argument("--rounds", type=int, default=3, help="turns of each way")
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument(
        "--clock",
        choices=["wall", "cpu"],
        default="wall",
        help="cpu: this process's own processor time, for --threads 1 on a machine that is in use",
    )
    parser.add_argument(
        "--count",
        type=int,
        default=100_000,
        help="pairs of the smaller corpus for memory (the text over and over); 0 leaves it out",
    )
    parser.add_argument("--batches", type=int, default=300, help="made while memory is watched")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--device", default="cpu", choices=["cpu", "cuda"])
    parser.add_argument("--work", type=Path, default=HERE.parent / "runs" / "benchmarks")
    args = parser.parse_args()
    if args.clock == "cpu" and (args.threads != 1 or args.device != "cpu"):
        parser.error("--clock cpu needs --threads 1 (waiting threads count too) and --device cpu")
    check_device(parser, args)
    for file in [] if args.embedded else args.text:
        if not file.is_file():
            parser.error(f"`--text` {file}: no such file; --embedded needs none")
    return args


def prepare(args: argparse.Namespace) -> Path:
    """The data folder; made once."""
    name = "embedded" if args.embedded else args.text[0].parent.name
    data = args.work / f"cdlm-{name}-{args.vocab}"
    if (data / "meta.json").is_file():
        return data
    source = ["--parallel", f"train.en-de={args.text[0]},{args.text[1]}"]
    if args.embedded:
        corpus = args.work / "cdlm-text"
        if not (corpus / "provenance.json").is_file():
            subprocess.run([PROGRAM, "synthesize", str(corpus)], check=True)
        source = ["--from", str(corpus)]
    command = [PROGRAM, "prepare", str(data), "--languages", "en,de", *source]
    subprocess.run([*command, "--vocab-size", str(args.vocab)], check=True)
    return data


def speed(results: dict[str, Measured], systems: dict[str, System]) -> str:
    """The table of both ways; "times" compares with the padded way of the same precision."""
    header = ["fed", "target tokens/s", "spread", "times", "padding", "bytes/pair"]
    rows = [
        [
            name,
            f"{result.median:,.0f}",
            f"{result.spread:.0%}",
            f"{result.median / results[name.replace(OURS, PADDED)].median:.1f}",
            f"{1 - result.work / result.slots:.1%}",
            f"{systems[name].fed.bytes / systems[name].fed.pairs:,.0f}",
        ]
        for name, result in results.items()
    ]
    return table(header, rows)


def memory(args: argparse.Namespace, data: Path) -> str:
    """The table of what reading takes, for some pairs and ten times as many."""
    rows = []
    for count in (args.count, 10 * args.count):
        larger = args.work / f"{data.name}-{count}"
        repeat(data, larger, count)
        found = probe(larger, "iterator", args.batches)
        rows.append(
            ["our iterator", f"{count:,}", f"{found['own']:,.1f}", f"{found['mapped']:,.1f}"]
        )
    some = min(args.count, 2000)
    lists = probe(data, "lists", some)["own"]
    rows.append(["lists padded to 512", f"{some:,}", f"{lists:,.1f}", ""])
    rows.append(
        [
            "the same, extrapolated",
            f"{10 * args.count:,}",
            f"{lists / some * 10 * args.count:,.0f}",
            "",
        ]
    )
    return table(["read", "pairs", "own MB", "page cache MB"], rows)


def main() -> None:
    args = parse()
    logging.disable(logging.INFO)
    torch.set_num_threads(args.threads)
    args.work.mkdir(parents=True, exist_ok=True)
    data = prepare(args)
    setting = Setting(
        data=data,
        layers=args.layers,
        dim=args.dim,
        heads=args.heads,
        pairs=args.pairs,
        dropout=args.dropout,
        workers=args.num_workers,
        seed=args.seed,
        longest=LONGEST,
        device=args.device,
    )
    ready = {f"{OURS} fp32": bucketed(setting), f"{PADDED} fp32": padded(setting, args.micro)}
    if args.device == "cpu":
        ready[f"{OURS} --cpu-bf16"] = bucketed(setting, "--cpu-bf16")
        ready[f"{PADDED} --cpu-bf16"] = padded(setting, args.micro, "--cpu-bf16")
    results = take_turns(args, {name: system.step for name, system in ready.items()})
    print(heading("cdlm_training.py", args.device))
    size = ready[f"{OURS} fp32"].parameters / 1e6
    print(
        f"{args.layers} layers and a TRILayer, {args.dim} wide, {args.heads} heads, dropout "
        f"{args.dropout}, {size:.1f} M parameters; {args.pairs} pairs an update, padded ones in "
        f"batches of {args.micro}; seed {args.seed}; {args.rounds} turns of {args.seconds:g} s by "
        f"the {args.clock} clock"
    )
    print("", speed(results, ready), sep="\n")
    if args.count:
        print("", memory(args, data), sep="\n")
        print(
            f"\nMemory above that of the imports, at its peak over {args.batches} batches of 128. "
            "The page cache\nis pages of mapped files, which the system drops when it needs room."
        )


if __name__ == "__main__":
    main()
