#!/usr/bin/env python
"""Where a training step on a GPU goes: ours beside a plain loop, stock fairseq and Hugging Face.

    python benchmarks/gpu.py --prepare                    (once, anywhere: the text, in --work)
    python benchmarks/gpu.py --output runs/gpu            (on the GPU: less than four minutes)
    python benchmarks/gpu.py --device cpu --scale tiny    (to try it out)

A masked language model of BERT-base's size in bf16, batches of at most 65,536 slots, on sentences
of two languages and on blocks of 256 tokens. Each row is one run; what does not begin within
`--limit` seconds is left out and said to be, and a row that fails does not end the others. Written
are a table, `gpu.json` and the time of each operation of ours.

Peers run with torch's own choice of attention; ours leaves cuDNN's out. A batch is timed from the
loader to the end of its step, for which is waited.
"""

import argparse
import gc
import itertools
import logging
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from common import check_device, heading, operations, table
from fairseq import utils
from gemm import encoder_products
from mlm_systems import (
    BETAS,
    CLIP,
    LEARNING_RATE,
    OURS,
    WEIGHT_DECAY,
    Setting,
    configuration,
    hugging_face,
    in_trainer,
    stock_configuration,
    tokens_of,
)
from mlm_text import generated_lines, prepare
from mlm_throughput import PEAKS, SHARED
from torch import Tensor, nn

from fairseq_xling.core.files import write_json
from fairseq_xling.models.layer import self_attention

HERE = Path(__file__).resolve().parent
KEPT = 16  # batches of the row without a loader
PROFILED = 4  # steps
OPERATIONS = 20  # lines of the profile


@dataclass(frozen=True)
class Scale:
    """Sizes of the model and its batches."""

    layers: int
    dim: int
    heads: int
    max_tokens: int
    longest: int
    vocab: int
    lines: int
    seconds: float
    first: int  # how many steps count as the first


SCALES = {
    "base": Scale(12, 768, 12, 65536, 256, 32000, 100_000, 5.0, 30),
    "tiny": Scale(2, 32, 4, 512, 64, 200, 300, 0.05, 3),
}


@dataclass
class Row:
    """What one system did.

    Attributes:
        tokens: real tokens of each step; seconds: of each step.
        flops: of all steps' products.
        shapes: of batches that were seen; peak: bytes on the device.
        first: how many steps count as the first.
        failed: why there are no figures.
    """

    name: str
    tokens: list[int]
    seconds: list[float]
    flops: list[float]
    shapes: set[Any]
    first: int
    peak: int = 0
    failed: str = ""

    def rate(self, first: bool) -> float:
        """Tokens a second of the first steps, or of the later half of those after them."""
        part = self._part(first)
        return sum(self.tokens[part]) / max(sum(self.seconds[part]), 1e-9)

    def mfu(self, peak: float) -> float:
        """Products of steady steps, as a part of what the device could do in their time."""
        part = self._part(False)
        return sum(self.flops[part]) / max(sum(self.seconds[part]), 1e-9) / peak

    def _part(self, first: bool) -> slice:
        count = len(self.seconds)
        return slice(0, self.first) if first else slice((count + self.first) // 2, count)


class Bench:
    """The rows of a run, in the order of their worth, until its time is over."""

    def __init__(self, args: argparse.Namespace, setting: Setting, scale: Scale):
        self.args, self.setting, self.scale = args, setting, scale
        self.gpu = setting.device == "cuda"
        self.half = "bf16" if self.gpu else None
        self.rows: list[Row] = []
        self.profiles: dict[str, list[list[str]]] = {}
        self.operations: dict[str, list[list[Any]]] = {}  # all of them, in seconds a step
        self.began = time.perf_counter()

    def wait(self) -> None:
        """For what the device was given."""
        if self.gpu:
            torch.cuda.synchronize()

    def measure(
        self, name: str, make: Callable[[], Callable[[], Any]], profiled: bool = False
    ) -> None:
        """Add a row: the steps of what ``make`` returns, each of which returns its `cost`."""
        if self.args.only and not any(part in name for part in self.args.only.split(",")):
            return
        row = Row(name, [], [], [], set(), self.scale.first)
        self.rows.append(row)
        if time.perf_counter() - self.began > self.args.limit:
            row.failed = "not begun: the time was over"
            return
        try:
            step = make()
            self._run(row, step)
            if profiled:
                self._profile(name, step)
        except Exception as error:
            traceback.print_exc()
            lines = str(error).strip().splitlines()
            row.failed = f"{type(error).__name__}: {lines[0] if lines else ''}"[:200]
        step = None  # and with it the model
        gc.collect()
        if self.gpu:
            torch.cuda.empty_cache()
        said = row.failed or f"{row.rate(False):12,.0f} tokens/s"
        print(f"{name:<52} {said}", file=sys.stderr, flush=True)
        self.write()  # should the rest not come

    def write(self) -> None:
        """The tables so far, to `--output`."""
        if self.args.output:
            self.args.output.mkdir(parents=True, exist_ok=True)
            text = f"{heading('gpu.py', self.args.device)}\n\n{report(self, peak_of(self.args))}\n"
            (self.args.output / "gpu.md").write_text(text)
            rows = {"rows": list(lines_of(self)), "operations": self.operations}
            write_json(self.args.output / "gpu.json", rows)

    def _run(self, row: Row, step: Callable[[], Any]) -> None:
        until = None
        while until is None or time.perf_counter() < until or len(row.seconds) == row.first:
            start = time.perf_counter()
            tokens, flops, shape = step()
            self.wait()
            row.seconds.append(time.perf_counter() - start)
            row.tokens.append(tokens)
            row.flops.append(flops)
            row.shapes.add(shape)
            if len(row.seconds) == row.first:
                until = time.perf_counter() + self.args.seconds
        if self.gpu:  # fairseq's trainer resets the count of what is in use in each step
            row.peak = torch.cuda.memory_reserved()

    def cost(self, sample: dict[str, Any], vocab: int) -> tuple[int, float, Any]:
        """Real tokens, floating-point operations of their products, and the shape of a batch."""
        inputs, tokens = sample["net_input"], tokens_of(sample)
        padding = inputs.get("src", {}).get("padding_mask")
        count = int(sample["ntokens"])
        lengths = torch.full(tokens.shape[:1], tokens.shape[1]).double()
        if padding is not None:
            lengths = (~padding).sum(1).double()
        predicted = int(0.15 * count)
        length = float(lengths.square().sum() / lengths.sum())
        unpadded = inputs.get("unpadded")
        shape = tuple(tokens.shape) if unpadded is None else len(unpadded["src"]["index"])
        return count, self.flops(count, length, predicted, vocab), shape

    def flops(self, tokens: int, length: float, predicted: int, vocab: int) -> float:
        """Of the products of a step over rows of ``length`` tokens."""
        scale = self.scale
        products = encoder_products(
            tokens,
            max(1, round(length)),
            predicted,
            layers=scale.layers,
            dim=scale.dim,
            ffn_dim=4 * scale.dim,
            heads=scale.heads,
            vocab=vocab,
        )
        return float(sum(product.flops for product in products))

    # ---- systems

    def trained(self, cfg: Any) -> Callable[[], Any]:
        """Steps of fairseq's trainer, the loader's work included."""
        trainer, source = in_trainer(cfg, self.half)
        vocab = len(trainer.task.source_dictionary)

        def step() -> Any:
            samples = next(source)
            trainer.train_step(samples)
            return self.cost(samples[0], vocab)

        return step

    def ours(self, *flags: str) -> Callable[[], Any]:
        """Ours through the trainer."""
        return self.trained(configuration(self.setting, self.setting.data, *OURS, *flags))

    def passes(self, *flags: str) -> Callable[[], Any]:
        """Forward and backward passes of ours over batches that lie on the device."""
        cfg = configuration(self.setting, self.setting.data, *OURS, *flags)
        trainer, source = in_trainer(cfg, self.half)
        vocab = len(trainer.task.source_dictionary)
        kept = [next(source)[0] for _ in range(KEPT)]
        there = [utils.move_to_cuda(sample) if self.gpu else sample for sample in kept]
        turns = itertools.cycle(zip(kept, there, strict=True))
        trainer.model.train()

        def step() -> Any:
            sample, moved = next(turns)
            with trainer.task.precision():
                loss, _, _ = trainer.criterion(trainer.model, moved)
            loss.backward()
            trainer.model.zero_grad(set_to_none=True)
            return self.cost(sample, vocab)

        return step

    def stock(self, *flags: str) -> Callable[[], Any]:
        """fairseq's own model and task, with torch's attention as it is."""
        return self.trained(stock_configuration(self.setting, *flags))

    def peer(self) -> Callable[[], Any]:
        """Hugging Face's model in a plain loop over batches of ours."""
        autocast = torch.bfloat16 if self.gpu else None
        system = hugging_face(self.setting, autocast)

        def step() -> Any:
            tokens, slots = system.step()
            length = self.scale.longest / 2
            flops = self.flops(tokens, length, int(0.15 * tokens), self.scale.vocab)
            return tokens, flops, slots

        return step

    def plain(self, compiled: bool) -> Callable[[], Any]:
        """A loop without a trainer over full blocks that lie on the device."""
        scale, device = self.scale, self.setting.device
        torch.manual_seed(self.setting.seed)
        model = Plain(scale, self.setting.dropout, self.setting.attention_dropout).to(device)
        run = torch.compile(model) if compiled else model
        optimizer = torch.optim.AdamW(
            model.parameters(), LEARNING_RATE, BETAS, weight_decay=WEIGHT_DECAY, fused=True
        )
        rows = scale.max_tokens // scale.longest
        tokens = torch.randint(5, scale.vocab, (rows, scale.longest), device=device)
        count = int(0.15 * tokens.numel())
        where = torch.randperm(tokens.numel(), device=device)[:count].sort().values
        target = tokens.flatten()[where]
        flops = self.flops(tokens.numel(), scale.longest, count, scale.vocab)

        def step() -> Any:
            with torch.autocast(device, torch.bfloat16, enabled=self.gpu):
                loss = run(tokens, where, target)
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), CLIP, foreach=True)
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
            return tokens.numel(), flops, tuple(tokens.shape)

        return step

    # ---- what a step consists of

    def _profile(self, name: str, step: Callable[[], Any]) -> None:
        from torch.profiler import ProfilerActivity, profile

        step()
        self.wait()
        kinds = [ProfilerActivity.CPU, *([ProfilerActivity.CUDA] if self.gpu else [])]
        with profile(activities=kinds) as found:
            start = time.perf_counter()
            for _ in range(PROFILED):
                step()
            self.wait()
            wall = time.perf_counter() - start
        kept = operations(found, self.args.device)
        busy = sum(spent for spent, _, _ in kept)
        self.operations[name] = [[key, spent / PROFILED, count] for spent, count, key in kept]
        self.profiles[name] = [
            ["all", f"{1000 * busy / PROFILED:.2f}", f"{busy / wall:.1%} of the time", ""],
            *(
                [key[:70], f"{1000 * spent / PROFILED:.2f}", f"{spent / busy:.1%}", f"{count}"]
                for spent, count, key in kept[:OPERATIONS]
            ),
        ]


class Plain(nn.Module):
    """A masked language model with nothing that a training needs besides, on blocks."""

    def __init__(self, scale: Scale, rate: float, attention_rate: float):
        super().__init__()
        self.tokens = nn.Embedding(scale.vocab, scale.dim)
        self.positions = nn.Embedding(scale.longest, scale.dim)
        self.norm = nn.LayerNorm(scale.dim)
        self.layers = nn.ModuleList(PlainLayer(scale) for _ in range(scale.layers))
        self.dense, self.last = nn.Linear(scale.dim, scale.dim), nn.LayerNorm(scale.dim)
        self.rates = rate, attention_rate
        for parameter in self.parameters():
            if parameter.dim() > 1:
                nn.init.normal_(parameter, std=0.02)

    def forward(self, tokens: Tensor, where: Tensor, target: Tensor) -> Tensor:
        """The mean loss of the positions ``where`` (n,) of the flattened ``tokens`` (B, T)."""
        x = F.dropout(self.norm(self.tokens(tokens) + self.positions.weight), self.rates[0])
        for layer in self.layers:
            x = layer(x, *self.rates)
        x = self.last(F.gelu(self.dense(x.flatten(0, 1)[where])))
        return F.cross_entropy(F.linear(x, self.tokens.weight).float(), target)


class PlainLayer(nn.Module):
    """A post-norm layer."""

    def __init__(self, scale: Scale):
        super().__init__()
        self.heads = scale.heads
        self.qkv = nn.Linear(scale.dim, 3 * scale.dim)
        self.out, self.norm = nn.Linear(scale.dim, scale.dim), nn.LayerNorm(scale.dim)
        self.fc1 = nn.Linear(scale.dim, 4 * scale.dim)
        self.fc2, self.last = nn.Linear(4 * scale.dim, scale.dim), nn.LayerNorm(scale.dim)

    def forward(self, x: Tensor, rate: float, attention_rate: float) -> Tensor:
        mixed = self_attention(self.qkv(x), self.heads, None, attention_rate)
        x = self.norm(x + F.dropout(self.out(mixed), rate))
        return self.last(x + F.dropout(self.fc2(F.gelu(self.fc1(x))), rate))


def measure_all(bench: Bench) -> None:
    """Every row, those that matter most first."""
    blocks = ("--sample-break-mode", "none")
    unpadded = () if bench.gpu else ("--unpadded", "on")  # on a GPU by itself
    compiled = ("--compile",) if bench.gpu or bench.args.compile else ()
    bench.measure("ours, sentences", lambda: bench.ours(*unpadded), profiled=True)
    if compiled:
        bench.measure(
            "ours, sentences, --compile", lambda: bench.ours(*unpadded, *compiled), profiled=True
        )
    name = "a plain compiled loop, blocks" if compiled else "a plain loop, blocks"
    bench.measure(name, lambda: bench.plain(bool(compiled)), profiled=True)
    bench.measure("Hugging Face (sdpa), sentences", bench.peer)
    bench.measure("stock fairseq, sentences", bench.stock)
    if compiled:
        bench.measure("ours, blocks, --compile", lambda: bench.ours(*blocks, *unpadded, *compiled))
    bench.measure("ours, sentences, forward and backward alone", lambda: bench.passes(*unpadded))
    bench.measure("ours, sentences, --unpadded off", lambda: bench.ours("--unpadded", "off"))
    bench.measure("ours, blocks", lambda: bench.ours(*blocks, *unpadded))
    bench.measure("stock fairseq, blocks", lambda: bench.stock("--sample-break-mode", "complete"))


def report(bench: Bench, peak: float | None) -> str:
    """The tables as Markdown."""
    header = [
        "system",
        f"first {bench.scale.first}",
        "steady",
        "ms",
        "MFU",
        "shapes",
        "steps",
        "peak GiB",
        "x plain",
    ]
    base = next((r for r in bench.rows if r.name.startswith("a plain") and not r.failed), None)
    rows = []
    for row in bench.rows:
        if row.failed:
            rows.append([f"{row.name}: {row.failed}", *[""] * (len(header) - 1)])
            continue
        steady = row.rate(False)
        milliseconds = 1000 * sum(row.seconds) / len(row.seconds)
        rows.append(
            [
                row.name,
                f"{row.rate(True):,.0f}",
                f"{steady:,.0f}",
                f"{milliseconds:.1f}",
                f"{row.mfu(peak):.1%}" if peak else "",
                str(len(row.shapes)),
                str(len(row.seconds)),
                f"{row.peak / 2**30:.1f}" if row.peak else "",
                f"{steady / base.rate(False):.2f}" if base else "",
            ]
        )
    parts = [table(header, rows)]
    for name, rows in bench.profiles.items():
        parts.append(table([f"operation of a step: {name}", "ms", "share", "calls"], rows))
    return "\n\n".join(parts)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", default="cuda", choices=["cpu", "cuda"])
    parser.add_argument("--scale", default="base", choices=list(SCALES))
    parser.add_argument("--prepare", action="store_true", help="only make the text's data folder")
    parser.add_argument("--limit", type=float, default=170.0, help="no row begins after so long")
    parser.add_argument("--only", default="", help="rows whose names hold one of these, by commas")
    parser.add_argument("--seconds", type=float, help="of each row after its first steps")
    parser.add_argument("--num-workers", type=int, default=4, help="loader processes")
    parser.add_argument("--compile", action="store_true", help="also on a CPU")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--peak-tflops", type=float, help="of the device, if it is not known here")
    parser.add_argument(
        "--text",
        nargs="+",
        metavar="LANG=FILE",
        default=[f"{lang}={SHARED / f'{lang}.txt.gz'}" for lang in ("en", "de")],
    )
    parser.add_argument("--work", type=Path, default=HERE.parent / "runs" / "benchmarks")
    parser.add_argument("--output", type=Path, help="folder for gpu.md and gpu.json")
    args = parser.parse_args()
    if not args.prepare:
        check_device(parser, args)
    return args


def folder_of(args: argparse.Namespace, scale: Scale) -> Path:
    """The data folder, made if it is not there; a tiny one has made-up text."""
    data = args.work / f"gpu-{args.scale}"
    if (data / "meta.json").is_file():
        return data
    args.work.mkdir(parents=True, exist_ok=True)
    texts = [(lang, Path(file)) for lang, _, file in (t.partition("=") for t in args.text)]
    if args.scale == "tiny":
        texts = [(lang, args.work / f"{lang}.txt") for lang in ("en", "de")]
        for seed, (_, file) in enumerate(texts):
            file.write_text("".join(f"{line}\n" for line in generated_lines(scale.lines, seed)))
    for _, file in texts:
        if not file.is_file():
            sys.exit(f"`--text` {file}: no such file")
    prepare(data, texts, scale.vocab, scale.longest, scale.lines)
    return data


def peak_of(args: argparse.Namespace) -> float | None:
    """FLOP/s of the device in bf16, where they are known."""
    if args.peak_tflops:
        return args.peak_tflops * 1e12
    if args.device == "cpu":
        return None
    name = torch.cuda.get_device_name()
    return next((1e12 * PEAKS[key] for key in PEAKS if key in name), None)


def lines_of(bench: Bench) -> Iterator[dict[str, Any]]:
    """The rows as plain values."""
    for row in bench.rows:
        yield {
            "system": row.name,
            "failed": row.failed,
            "first": 0 if row.failed else row.rate(True),
            "steady": 0 if row.failed else row.rate(False),
            "shapes": len(row.shapes),
            "steps": len(row.seconds),
            "peak_bytes": row.peak,
            "seconds_of_steps": row.seconds,
            "tokens_of_steps": row.tokens,
        }


def main() -> None:
    args = parse()
    logging.disable(logging.INFO)
    scale = SCALES[args.scale]
    args.seconds = scale.seconds if args.seconds is None else args.seconds
    data = folder_of(args, scale)
    if args.prepare:
        print(data)
        return
    setting = Setting(
        data=data,
        layers=scale.layers,
        dim=scale.dim,
        ffn_dim=4 * scale.dim,
        heads=scale.heads,
        longest=scale.longest,
        max_tokens=scale.max_tokens,
        dropout=0.1,
        attention_dropout=0.1,
        workers=args.num_workers,
        seed=args.seed,
        device=args.device,
    )
    bench = Bench(args, setting, scale)
    measure_all(bench)
    print(f"{heading('gpu.py', args.device)}\n\n{report(bench, peak_of(args))}")


if __name__ == "__main__":
    main()
