#!/usr/bin/env python
"""Training speed of a masked language model: ours, stock fairseq and Hugging Face.

    python benchmarks/mlm_throughput.py
    python benchmarks/mlm_throughput.py --device cuda --bf16 --max-tokens 65536

All systems train models of the same size on the same sentences in one process and take turns, so
that a noisy machine is noisy for all. What is counted is real tokens (no padding) per second. The
matrix products of our step alone, at the speed of `torch.matmul`, are the limit for everyone; our
batches, which nobody trains on, are that of one process that makes them.
"""

import argparse
import logging
import sys
from pathlib import Path

import numpy as np
import torch
from common import Measured, check_device, heading, table, take_turns
from gemm import encoder_products, product_steps
from mlm_systems import Setting, System, hugging_face, loader, ours, stock
from mlm_text import generated_lines, prepare

from fairseq_xling.data.folder import DataFolder
from fairseq_xling.data.mmap import TokenFile
from fairseq_xling.data.plan import Limits, cut

HERE = Path(__file__).resolve().parent
SHARED = HERE.parent.parent / "shared" / "data" / "mono_eltec"
# Dense peak of the tensor cores in TFLOP/s for half precision, by a part of the device's name.
PEAKS = {"H200": 989, "H100": 989, "A100": 312, "L40S": 362, "A10": 125, "V100": 125, "T4": 65}

DTYPES = {"fp32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--layers", type=int, default=6)
    parser.add_argument("--dim", type=int, default=512)
    parser.add_argument("--heads", type=int, default=8)
    parser.add_argument("--vocab", type=int, default=16000)
    parser.add_argument(
        "--max-positions", type=int, default=256, help="longest sentence, in tokens"
    )
    parser.add_argument("--max-tokens", type=int, default=4096, help="slots of a batch")
    parser.add_argument("--dropout", type=float, default=0.1)
    parser.add_argument("--attention-dropout", type=float, default=0.1)
    parser.add_argument("--num-workers", type=int, default=1, help="loader processes")
    parser.add_argument("--seconds", type=float, default=8.0, help="length of a turn")
    parser.add_argument("--rounds", type=int, default=5, help="turns of each system")
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument(
        "--clock",
        choices=["wall", "cpu"],
        default="wall",
        help="cpu: this process's own processor time, for --threads 1 on a machine that is in use",
    )
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--device", default="cpu", choices=["cpu", "cuda"])
    half = parser.add_mutually_exclusive_group()
    half.add_argument("--fp16", action="store_const", const="fp16", dest="half")
    half.add_argument("--bf16", action="store_const", const="bf16", dest="half")
    parser.add_argument("--peak-tflops", type=float, help="of the device, if it is not known here")
    parser.add_argument("--systems", default="", help="only those whose names contain one of these")
    parser.add_argument(
        "--text",
        nargs="+",
        metavar="LANG=FILE",
        default=[f"{lang}={SHARED / f'{lang}.txt.gz'}" for lang in ("en", "de")],
    )
    parser.add_argument("--generated", action="store_true", help="made-up text, to try it out")
    parser.add_argument("--lines", type=int, default=100_000, help="most lines of a text")
    parser.add_argument("--work", type=Path, default=HERE.parent / "runs" / "benchmarks")
    args = parser.parse_args()
    check_device(parser, args)
    if args.clock == "cpu" and (args.threads != 1 or args.device != "cpu"):
        parser.error("--clock cpu needs --threads 1 (waiting threads count too) and --device cpu")
    if args.half and args.device == "cpu":
        parser.error("--fp16 and --bf16 are for --device cuda; on a CPU --cpu-bf16 always runs")
    return args


def texts(args: argparse.Namespace, folder: Path) -> list[tuple[str, Path]]:
    """(language, file) of what is to be read."""
    if not args.generated:
        named = [(lang, Path(file)) for lang, _, file in (t.partition("=") for t in args.text)]
        for _, file in named:
            if not file.is_file():
                sys.exit(f"`--text` {file}: no such file; --generated needs none")
        return named
    for seed, lang in enumerate(("en", "de")):
        lines = "\n".join(generated_lines(args.lines, seed))
        (folder / f"{lang}.txt").write_text(lines + "\n")
    return [(lang, folder / f"{lang}.txt") for lang in ("en", "de")]


def systems(args: argparse.Namespace, setting: Setting) -> dict[str, System]:
    """Those to compare, in the order of the table."""
    makers = {
        "ours fp32": lambda: ours(setting),
        "stock fairseq fp32": lambda: stock(setting),
        "Hugging Face fp32": lambda: hugging_face(setting),
    }
    if args.device == "cpu":
        makers["ours --cpu-bf16"] = lambda: ours(setting, "--cpu-bf16")
        makers["Hugging Face bf16 autocast"] = lambda: hugging_face(setting, torch.bfloat16)
    elif args.half:
        dtype = torch.float16 if args.half == "fp16" else torch.bfloat16
        makers[f"ours {args.half}"] = lambda: ours(setting, half=args.half)
        makers[f"stock fairseq {args.half}"] = lambda: stock(setting, args.half)
        makers[f"Hugging Face {args.half} autocast"] = lambda: hugging_face(setting, dtype)
    makers["our batches alone"] = lambda: loader(setting)
    wanted = [part for part in args.systems.split(",") if part]
    chosen = [name for name in makers if not wanted or any(part in name for part in wanted)]
    return {name: makers[name]() for name in chosen}


def step_shape(setting: Setting, languages: list[str]) -> dict[str, int]:
    """The average batch: real tokens, slots, predicted tokens, and length weighted by slots."""
    batches = []
    for lang in languages:
        lengths = TokenFile(setting.data / "mono" / f"train.{lang}").sizes + 1
        batches += [lengths[rows] for rows in cut(lengths, Limits(setting.max_tokens, None))]
    slots = np.array([len(rows) * int(rows.max()) for rows in batches])
    longest = np.array([int(rows.max()) for rows in batches])
    real = np.mean([int(rows.sum()) for rows in batches])
    special = 2 * np.mean([len(rows) for rows in batches])
    return {
        "real": round(real),
        "tokens": round(slots.mean()),
        "length": round((slots * longest).sum() / slots.sum()),
        "predicted": round(0.15 * (real - special)),
    }


def limits(args: argparse.Namespace, setting: Setting, vocab: int, shape: dict[str, int]):
    """The products of the average step as systems of their own, and their FLOPs per real token."""
    products = encoder_products(
        shape["tokens"],
        shape["length"],
        shape["predicted"],
        layers=setting.layers,
        dim=setting.dim,
        ffn_dim=setting.ffn_dim,
        heads=setting.heads,
        vocab=vocab,
    )
    steps = {}
    for name in ("fp32", args.half or ("bf16" if args.device == "cpu" else "")):
        if name:
            run = product_steps(products, DTYPES[name], args.device)
            steps[f"GEMM limit {name}"] = lambda run=run: (run(), (shape["real"], shape["tokens"]))[
                1
            ]
    return steps, sum(p.flops for p in products) / shape["real"]


def report(
    args: argparse.Namespace,
    results: dict[str, Measured],
    parameters: dict[str, int],
    flops: float,
) -> str:
    """The table, one row per system; ``flops`` are those of a real token."""
    header = ["system", "tokens/s", "spread", "x stock", "x HF", "padding", "of limit", "params"]
    peak = None
    if args.device == "cuda":
        device = torch.cuda.get_device_name()
        peak = args.peak_tflops or next((PEAKS[key] for key in PEAKS if key in device), None)
        header.append("MFU")
    bases = [results.get("stock fairseq fp32"), results.get("Hugging Face fp32")]
    rows = []
    for name, result in results.items():
        precision = next((key for key in DTYPES if key in name), "")  # batches have none
        limit = results.get(f"GEMM limit {precision}")
        row = [name, f"{result.median:,.0f}", f"{result.spread:.0%}"]
        row += [f"{result.median / base.median:.2f}" if base else "" for base in bases]
        row += [
            f"{1 - result.work / result.slots:.1%}",
            f"{result.median / limit.median:.2f}" if limit else "",
            f"{parameters[name] / 1e6:.1f} M" if parameters.get(name) else "",
        ]
        if args.device == "cuda":
            known = peak and precision not in ("", "fp32")
            row.append(f"{result.median * flops / (peak * 1e12):.1%}" if known else "")
        rows.append(row)
    return table(header, rows)


def main() -> None:
    args = parse()
    logging.disable(logging.INFO)
    torch.set_num_threads(args.threads)
    torch.manual_seed(args.seed)
    args.work.mkdir(parents=True, exist_ok=True)
    sources = texts(args, args.work)
    data = args.work / f"mlm-{'-'.join(lang for lang, _ in sources)}-{args.vocab}"
    prepare(data, sources, args.vocab, args.max_positions, args.lines)
    setting = Setting(
        data=data,
        layers=args.layers,
        dim=args.dim,
        ffn_dim=4 * args.dim,
        heads=args.heads,
        longest=args.max_positions,
        max_tokens=args.max_tokens,
        dropout=args.dropout,
        attention_dropout=args.attention_dropout,
        workers=args.num_workers,
        seed=args.seed,
        device=args.device,
    )
    folder = DataFolder(data)
    shape = step_shape(setting, folder.languages)
    ready = systems(args, setting)
    products, flops = limits(args, setting, folder.vocab_sizes[folder.languages[0]], shape)
    trained = any(system.parameters for system in ready.values())
    results = take_turns(
        args,
        {**{name: system.step for name, system in ready.items()}, **(products if trained else {})},
    )
    print(heading("mlm_throughput.py", args.device))
    print(
        f"{setting.layers} layers, {setting.dim} wide, {setting.ffn_dim} in the middle, "
        f"{setting.heads} heads; dropout {setting.dropout}, of attention "
        f"{setting.attention_dropout}; at most {setting.max_tokens} slots a batch; seed {args.seed}"
    )
    print(
        f"average batch: {shape['real']} real tokens in {shape['tokens']} slots, length "
        f"{shape['length']}, {shape['predicted']} predicted; "
        f"{flops / 1e6:.0f} MFLOP per real token; {args.rounds} turns of {args.seconds:g} s by the "
        f"{args.clock} clock"
    )
    print()
    print(report(args, results, {name: s.parameters for name, s in ready.items()}, flops))


if __name__ == "__main__":
    main()
