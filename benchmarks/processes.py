#!/usr/bin/env python
"""Training in two processes beside one: tokens per second, for both of fairseq's backends.

    python benchmarks/processes.py
    python benchmarks/processes.py --rounds 1 --updates 20 --layers 2 --dim 64   # half a minute

Each process has one thread, and the processes of a training share this machine (gloo). Text is of
the embedded corpus. ``pytorch_ddp`` looks for parameters without a gradient at each step; the row
"without the search" says what that costs where every parameter has one.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from common import Measured, heading, table

from fairseq_xling import USER_DIR
from fairseq_xling.engine.extensions import VARIABLE

BIN = Path(sys.executable).parent
TASKS = {
    "MLM": "--task bilingual_mlm --arch separable_transformer_tiny --sample-break-mode sentence",
    "MLM, emb,1 private": "--task bilingual_mlm --arch separable_transformer_tiny "
    "--sample-break-mode sentence --separate emb,1",
    "CdLM, MLM": "--task cdlm --arch tri_bert_tiny --directions en-de,de-en",
}
SYSTEMS = {
    "one process": (1, "pytorch_ddp", False),
    "two, pytorch_ddp": (2, "pytorch_ddp", False),
    "two, pytorch_ddp without the search": (2, "pytorch_ddp", True),
    "two, legacy_ddp": (2, "legacy_ddp", False),
}
# What a training imports so that torch does not look for parameters without a gradient.
ALL_REACHED = """
from fairseq_xling.models.trainable import TrainableModel

TrainableModel.may_lack_gradients = False
"""


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__.splitlines()[0], formatter_class=argparse.ArgumentDefaultsHelpFormatter
    )
    parser.add_argument("--layers", type=int, default=6, help="layers of the encoder")
    parser.add_argument("--dim", type=int, default=256, help="width of the encoder")
    parser.add_argument("--max-tokens", type=int, default=2048, help="slots of a batch")
    parser.add_argument("--updates", type=int, default=40, help="of each training; half are timed")
    parser.add_argument("--rounds", type=int, default=3, help="trainings of each kind, in turn")
    parser.add_argument("--tasks", default="", help="such as MLM;CdLM, MLM (default: all)")
    parser.add_argument("--seed", type=int, default=1, help="of text and training")
    return parser.parse_args()


def prepare(folder: Path, seed: int) -> Path:
    """A data folder of English and German sentences and pairs."""
    xling, text, data = str(BIN / "fairseq-xling"), folder / "text", folder / "data"
    sizes = f"--sentences 20000 --parallel-sentences 20000 --seed {seed}".split()
    for command in (
        [xling, "synthesize", str(text), *sizes],
        [xling, "prepare", str(data), "--from", str(text), "--languages", "en,de"],
    ):
        subprocess.run(command, check=True, capture_output=True)
    return data


def rate(args: argparse.Namespace, data: Path, plugin: Path, task: str, system: str) -> float:
    """Tokens per second of the second half of a training."""
    processes, backend, all_reached = SYSTEMS[system]
    started = [str(BIN / "torchrun"), "--standalone", f"--nproc_per_node={processes}"]
    command = [
        *(started if processes > 1 else []),
        *(str(BIN / "fairseq-train"), str(data), "--user-dir", str(USER_DIR), "--cpu"),
        *f"{TASKS[task]} --criterion unified_lm --optimizer adam --lr 1e-4".split(),
        *f"--encoder-layers {args.layers} --encoder-embed-dim {args.dim}".split(),
        *f"--encoder-ffn-embed-dim {4 * args.dim} --max-tokens {args.max_tokens}".split(),
        *f"--max-update {args.updates} --seed {args.seed} --ddp-backend {backend}".split(),
        *f"--log-interval {args.updates // 2} --num-workers 0 --no-save".split(),
        *"--disable-validation --log-format json --no-progress-bar".split(),
    ]
    own = {VARIABLE: str(plugin)} if all_reached else {}
    done = subprocess.run(
        command, env={**os.environ, "OMP_NUM_THREADS": "1", **own}, capture_output=True, text=True
    )
    rows = re.findall(r"\| train_inner \| (\{.*\})", done.stderr + done.stdout)
    if done.returncode or len(rows) < 2:
        sys.exit(f"{task}, {system}: {(done.stderr or done.stdout)[-2000:]}")
    return float(json.loads(rows[-1])["wps"])


def main() -> None:
    args = parse()
    chosen = args.tasks.split(";") if args.tasks else list(TASKS)
    if args.updates < 4:
        sys.exit("`--updates` must be at least 4")
    with tempfile.TemporaryDirectory() as folder:
        data, plugin = prepare(Path(folder), args.seed), Path(folder) / "all_reached"
        plugin.mkdir()
        (plugin / "__init__.py").write_text(ALL_REACHED)
        rows = []
        for task in chosen:
            private = "--separate" in TASKS[task]
            found = {s: Measured() for s in SYSTEMS if not (private and SYSTEMS[s][2])}
            for number in range(args.rounds):
                for system in list(found)[:: 1 if number % 2 == 0 else -1]:
                    found[system].rates.append(rate(args, data, plugin, task, system))
                    print(f"{task}, {system}: {found[system].rates[-1]:,.0f} /s", file=sys.stderr)
            one = found["one process"].median
            rows += [
                [task, system, f"{m.median:,.0f}", f"{m.spread:.0%}", f"{m.median / one:.2f}"]
                for system, m in found.items()
            ]
    print(heading("benchmarks/processes.py", "cpu"))
    print(table(["task", "processes", "tokens/s", "spread", "x one"], rows))


if __name__ == "__main__":
    main()
