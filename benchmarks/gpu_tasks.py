#!/usr/bin/env python
"""What else runs on a GPU, each beside what its products alone would take.

    python benchmarks/gpu_tasks.py --prepare              (once, anywhere: the data, in --work)
    python benchmarks/gpu_tasks.py --output runs/gpu      (on the GPU: about three minutes)
    python benchmarks/gpu_tasks.py --device cpu --scale tiny

Trainings of every objective and of heads at BERT-base's size in bf16, steps of batches that lie
ready; reading of states; nearest neighbours by CSLS. "of products" is the time that the row's
matrix products would take at the rate of one large product, measured first, as a part of the time
that it takes; "busy" is the part of the time in which the device computes anything. Weights are
random: speed does not depend on them.
"""

import argparse
import gc
import gzip
import itertools
import logging
import shutil
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import fairseq.options as options
import torch
from common import check_device, heading, operations, table
from fairseq import checkpoint_utils
from fairseq.dataclass.utils import convert_namespace_to_omegaconf
from mlm_systems import in_trainer
from mlm_throughput import SHARED
from torch.utils.flop_counter import FlopCounterMode

import fairseq_xling.plugin  # noqa: F401  registers our tasks, models and criterions
from fairseq_xling.cli import main as xling
from fairseq_xling.core.files import write_json
from fairseq_xling.core.texts import read_lines
from fairseq_xling.interop.encoder import Encoder
from fairseq_xling.mapping.csls import csls_neighbours
from fairseq_xling.text.encoder import TextEncoder

DATA = SHARED.parent
KEPT, WARM, SENTENCES = 6, 6, 4096

_TRAINER = "--optimizer adam --lr 1e-4 --clip-norm 1 --weight-decay 0.01 --seed 1 --num-workers 4"
_LM = (
    "{work}/data --task bilingual_mlm --arch separable_transformer --criterion unified_lm "
    "--lm-head bert --sample-break-mode sentence {size}"
)
_CDLM = (
    "{work}/data --task cdlm --arch tri_bert_base --criterion unified_lm --directions en-de,de-en "
    "--mix-in-batch --lm-head bert --sample-break-mode sentence {size}"
)
_HEAD = (
    "{work}/data --task cross_lingual_transfer --arch cross_lingual_transfer --criterion "
    "cross_lingual_transfer --encoder {work}/lm.pt --batch-size 32 --head"
)
TRAININGS = {
    "mlm": _LM,
    "mlm, private embeddings and 2 layers": f"{_LM} --separate emb,1-2",
    "tlm": f"{_LM} --objectives tlm",
    "brlm-attn": f"{_LM} --objectives brlm-attn",
    "mlm and cdlm": _CDLM,
    "cdlm, order head": f"{_CDLM} --objectives cdlm --auxiliary order",
    "cdlm, ctc": f"{_CDLM} --objectives cdlm --emission ctc --upsample 2",
    "cdlm, lattice": f"{_CDLM} --objectives cdlm --emission lattice --upsample 4",
    "clcr": "{work}/data --task clcr --arch clcr --criterion clcr --max-tokens {slots} "
    "--encoder en={work}/lm.pt,de={work}/lm.pt",
    "head pos": f"{_HEAD} pos --columns token=1,tag=3 --train-file en={{work}}/pos.tsv",
    "head parsing": f"{_HEAD} parsing --train-file en={{work}}/train.conllu",
    "head ner": f"{_HEAD} ner --columns token=1,tag=2 --train-file en={{work}}/ner.conll",
    "head classification": f"{_HEAD} classification --train-file en={{work}}/nli.tsv",
    "head span_qa": f"{_HEAD} span_qa --train-file en={{work}}/squad.json",
}
_SIZES = {
    "base": (12, 768, 12, 256, 32768, 32000, 100_000),
    "tiny": (2, 32, 4, 64, 512, 400, 300),
}


@dataclass
class Row:
    """What one row took: a step's seconds, its products' operations, and what is counted."""

    name: str
    seconds: float = 0.0
    steps: int = 0
    flops: float = 0.0
    units: float = 0.0
    busy: float = 0.0
    peak: int = 0
    top: list[tuple[str, float]] = field(default_factory=list)
    failed: str = ""


class Bench:
    """The rows of a run."""

    def __init__(self, args: argparse.Namespace):
        self.args, self.gpu = args, args.device == "cuda"
        layers, dim, heads, positions, slots, _, _ = _SIZES[args.scale]
        size = {
            "--encoder-layers": layers,
            "--encoder-embed-dim": dim,
            "--encoder-ffn-embed-dim": 4 * dim,
            "--encoder-attention-heads": heads,
            "--max-positions": positions,
            "--tokens-per-sample": positions,
            "--max-tokens": slots,
        }
        words = " ".join(f"{name} {value}" for name, value in size.items())
        self.names = {"work": str(args.work / args.scale), "size": words, "slots": slots}
        self.rows: list[Row] = []

    def wait(self) -> None:
        if self.gpu:
            torch.cuda.synchronize()

    def measure(self, name: str, make: Callable[[], Callable[[], float]]) -> None:
        """Add a row: of the step that ``make`` returns, which returns how much it did."""
        if self.args.only and not any(part in name for part in self.args.only.split(",")):
            return
        row = Row(name)
        self.rows.append(row)
        try:
            if self.gpu:
                torch.cuda.reset_peak_memory_stats()
            self._time(row, make())
            row.peak = torch.cuda.max_memory_allocated() if self.gpu else 0
        except (Exception, SystemExit) as error:
            logging.getLogger("gpu_tasks").warning("%s", name, exc_info=True)
            row.failed = f"{type(error).__name__}: {error}".splitlines()[0][:200]
        gc.collect()
        if self.gpu:
            torch.cuda.empty_cache()
        said = row.failed or f"{row.units / row.seconds:12,.0f} /s"
        print(f"{name:<40} {said}", file=sys.stderr, flush=True)
        if self.args.output:  # what there is, should the rest not come
            path = self.args.output / "gpu_tasks.json"
            write_json(path, {"rows": [asdict(row) for row in self.rows]})

    def _time(self, row: Row, step: Callable[[], float]) -> None:
        for _ in range(WARM):
            step()
        # Timed over whole rounds of the batches, all of which the operations are counted of.
        self.wait()
        start, rounds = time.perf_counter(), 0
        while not rounds or time.perf_counter() - start < self.args.seconds:
            row.units += sum(step() for _ in range(KEPT))
            rounds += 1
            self.wait()
        row.seconds, row.steps = time.perf_counter() - start, rounds * KEPT
        with FlopCounterMode(display=False) as counter:
            for _ in range(KEPT):
                step()
        row.flops = float(counter.get_total_flops()) * rounds
        if self.gpu:
            self._profile(row, step)

    def _profile(self, row: Row, step: Callable[[], float]) -> None:
        from torch.profiler import ProfilerActivity, profile

        self.wait()
        start = time.perf_counter()
        for _ in range(KEPT):
            step()
        self.wait()
        wall = time.perf_counter() - start
        with profile(activities=[ProfilerActivity.CUDA]) as found:
            for _ in range(KEPT):
                step()
            self.wait()
        kept = operations(found, self.args.device)
        total = max(sum(spent for spent, _, _ in kept), 1e-12)
        row.busy = total / wall
        row.top = [(name[:60], round(spent / total, 3)) for spent, _, name in kept[:6]]

    def training(self, options_of_row: str) -> Callable[[], Callable[[], float]]:
        """Steps of fairseq's trainer over batches that lie ready."""

        def make() -> Callable[[], float]:
            trainer, source = in_trainer(self.configuration(options_of_row), self.half)
            kept = itertools.cycle([next(source) for _ in range(KEPT)])

            def step() -> float:
                samples = next(kept)
                trainer.train_step(samples)
                return float(samples[0]["ntokens"])

            return step

        return make

    @property
    def half(self) -> str | None:
        return "bf16" if self.gpu else None

    def configuration(self, options_of_row: str) -> Any:
        words = f"{options_of_row} {_TRAINER}".format(**self.names).split()
        parser = options.get_training_parser()
        cpu = [] if self.gpu else ["--cpu"]
        arguments = options.parse_args_and_arch(parser, [*words, *cpu])
        return convert_namespace_to_omegaconf(arguments)

    def save_encoder(self) -> None:
        """A model with random weights, for the rows that start from one."""
        path = Path(self.names["work"]) / "lm.pt"
        if not path.is_file():
            cfg = self.configuration(_LM)
            trainer, _ = in_trainer(cfg, None)
            trainer.consolidate_optimizer()
            state = trainer.state_dict()
            state["extra_state"]["train_iterator"] = {"epoch": 1, "iterations_in_epoch": 0}
            checkpoint_utils.torch_persistent_save(state, str(path))

    def states(self) -> Callable[[], float]:
        """`extract`: the states of every layer of real sentences, in fp32 as it reads them."""
        work = Path(self.names["work"])
        model = Encoder.load(work / "lm.pt", data=work / "data", device=self.args.device)
        lines = list(itertools.islice(read_lines(work / "en.txt"), SENTENCES))
        coded = TextEncoder.load(work / "data", "en").encode(lines)
        parts = itertools.cycle(
            [coded[k :: 2 * KEPT] for k in range(2 * KEPT)][:KEPT]
        )  # like parts, each of all lengths

        def step() -> float:
            part = next(parts)
            for _ in model.states(part, "en"):
                pass
            return float(sum(map(len, part)))

        return step

    def neighbours(self) -> Callable[[], float]:
        """CSLS over random vectors."""
        count = 40_000 if self.args.scale == "base" else 500
        x, y = torch.randn(2, count, 300, device=self.args.device)

        def step() -> float:
            csls_neighbours(x, y)
            return count

        return step

    def product(self) -> float:
        """Operations a second of one large product, in the precision of the rows."""
        size = 8192 if self.gpu else 512
        kind = torch.bfloat16 if self.gpu else torch.float32
        one, other = torch.randn(2, size, size, device=self.args.device, dtype=kind)
        for _ in range(3):
            one @ other
        self.wait()
        start = time.perf_counter()
        for _ in range(10):
            one @ other
        self.wait()
        return 20 * size**3 / (time.perf_counter() - start)


def report(bench: Bench, limit: float) -> str:
    """The table as Markdown."""
    header = [
        "row",
        "tokens/s",
        "ms",
        "of products",
        "busy",
        "peak GiB",
        "most of the device's time",
    ]
    rows = []
    for row in bench.rows:
        if row.failed:
            rows.append([f"{row.name}: {row.failed}", *[""] * (len(header) - 1)])
            continue
        rows.append(
            [
                row.name,
                f"{row.units / row.seconds:,.0f}",
                f"{1000 * row.seconds / row.steps:,.1f}",
                f"{row.flops / limit / row.seconds:.1%}",
                f"{row.busy:.0%}" if row.busy else "",
                f"{row.peak / 2**30:.1f}" if row.peak else "",
                "; ".join(f"{name} {share:.0%}" for name, share in row.top[:3]),
            ]
        )
    return table(header, rows)


def prepare(args: argparse.Namespace) -> None:
    """The data folder, and annotated text as the field has it."""
    work = args.work / args.scale
    work.mkdir(parents=True, exist_ok=True)
    *_, vocab, lines = _SIZES[args.scale]
    options_of_text = ["--languages", "en,de", "--vocab-size", str(vocab), "--workers", "1"]
    for lang in ("en", "de"):
        captions = itertools.islice(read_lines(DATA / f"multi30k/train.{lang}.gz"), lines)
        novels = itertools.islice(read_lines(DATA / f"mono_eltec/{lang}.txt.gz"), lines)
        (work / f"{lang}.txt").write_text("".join(f"{line}\n" for line in captions))
        (work / f"mono.{lang}.txt").write_text("".join(f"{line}\n" for line in novels))
        options_of_text += ["--mono", f"train.{lang}={work / f'mono.{lang}.txt'}"]
    options_of_text += ["--parallel", f"train.en-de={work / 'en.txt'},{work / 'de.txt'}"]
    if xling(["prepare", str(work / "data"), *options_of_text]):
        sys.exit(1)
    for name, source in {
        "train.conllu": "ud_en_ewt/en_ewt-ud-train.conllu.gz",
        "ner.conll": "ner_wikiann/en/train.conll.gz",
        "squad.json": "xquad/xquad.en.json.gz",
    }.items():
        with gzip.open(DATA / source) as packed, open(work / name, "wb") as file:
            shutil.copyfileobj(packed, file)
    numbered = ((line, line.partition("\t")[0]) for line in read_lines(work / "train.conllu"))
    words = (line for line, number in numbered if not line or number.isdigit())
    (work / "pos.tsv").write_text("".join(f"{line}\n" for line in words))
    rows = (
        line.split("\t")
        for line in itertools.islice(read_lines(DATA / "jsick/jsick.tsv.gz"), 1, None)
    )
    (work / "nli.tsv").write_text("".join("\t".join(row[2:5]) + "\n" for row in rows))


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", default="cuda", choices=["cpu", "cuda"])
    parser.add_argument("--scale", default="base", choices=list(_SIZES))
    parser.add_argument("--prepare", action="store_true", help="only make the data")
    parser.add_argument("--seconds", type=float, default=1.0, help="of each row")
    parser.add_argument("--only", default="", help="rows whose names hold one of these, by commas")
    parser.add_argument("--work", type=Path, default=Path("runs/benchmarks/gpu-tasks"))
    parser.add_argument("--output", type=Path, help="folder for gpu_tasks.md and gpu_tasks.json")
    args = parser.parse_args()
    if not args.prepare:
        check_device(parser, args)
    return args


def main() -> None:
    args = parse()
    if args.prepare:
        prepare(args)
        return
    logging.disable(logging.INFO)
    if args.output:
        args.output.mkdir(parents=True, exist_ok=True)
    bench = Bench(args)
    limit = bench.product()
    bench.save_encoder()
    for name, options_of_row in TRAININGS.items():
        bench.measure(name, bench.training(options_of_row))
    bench.measure("extract (fp32)", bench.states)
    bench.measure("CSLS, 40,000 x 40,000, 300 wide (fp32)", bench.neighbours)
    text = f"{heading('gpu_tasks.py', args.device)}\n"
    text += f"one large product: {limit / 1e12:,.1f} TFLOP/s\n\n{report(bench, limit)}"
    print(text)
    if args.output:
        (args.output / "gpu_tasks.md").write_text(f"{text}\n")


if __name__ == "__main__":
    main()
