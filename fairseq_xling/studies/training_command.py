"""The `fairseq-train` call of a study as a step, with live progress."""

import dataclasses
import functools
from collections.abc import Sequence
from pathlib import Path

from fairseq_xling import USER_DIR
from fairseq_xling.engine import training_log
from fairseq_xling.engine.precision import device_options
from fairseq_xling.workflow.step import Step


@dataclasses.dataclass(frozen=True)
class Training:
    """Options that all models of a study share.

    An epoch is ``every`` optimiser steps; at its end the model is validated and saved as
    ``checkpoint<epoch>.pt``. A study that reads these needs ``updates`` that are a multiple of
    ``every``.
    """

    arch: str
    updates: int
    every: int
    max_tokens: int  # of a batch; 0 is no limit
    lr: float
    warmup: int
    extra: Sequence[str] = ()
    batch_size: int = 0  # 0 is no limit
    block: int = 0  # tokens per block of continuous text; 0 trains on single sentences
    update_freq: int = 1  # batches per step and process
    processes: int = 0  # GPUs; 0 is all that there are

    @property
    def rows(self) -> list[str]:
        """The options of what a row, a batch and a step are."""
        mode = ["--sample-break-mode", "sentence"]
        if self.block:
            mode = ["--sample-break-mode", "none", "--tokens-per-sample", str(self.block)]
        limits = {
            "--max-tokens": self.max_tokens,
            "--batch-size": self.batch_size,
            "--update-freq": self.update_freq if self.update_freq > 1 else 0,
            "--distributed-world-size": self.processes,
        }
        return mode + [part for name, n in limits.items() if n for part in (name, str(n))]


def training_step(
    name: str,
    training: Training,
    data: Path,
    folder: Path,
    log: Path,
    seed: int,
    choose_by: str,
    options: Sequence[str] = (),
    device: str = "cpu",
    precision: str = "fp32",
) -> Step:
    """A step that trains a bilingual masked language model, and resumes where it was stopped.

    Args:
        folder: where checkpoints go; log: where the runner writes the output of this step.
        choose_by: the language whose validation perplexity selects ``checkpoint_best.pt``.
    """
    command = [
        "fairseq-train",
        str(data),
        *("--user-dir", str(USER_DIR), "--task", "bilingual_mlm", "--criterion", "unified_lm"),
        *("--arch", training.arch, *options),
        *training.rows,
        *("--optimizer", "adam", "--adam-betas", "(0.9, 0.98)", "--clip-norm", "1.0"),
        *("--lr", str(training.lr), "--lr-scheduler", "inverse_sqrt"),
        *("--warmup-updates", str(training.warmup)),
        *("--max-update", str(training.updates), "--epoch-updates", str(training.every)),
        *("--save-dir", str(folder), "--best-checkpoint-metric", f"mlm_{choose_by}_ppl"),
        *("--seed", str(seed), "--num-workers", "0"),
        *("--log-format", "json", "--log-interval", str(max(1, training.every // 4))),
        *training.extra,
        *device_options(precision, device),
    ]
    return Step(
        name,
        commands=[command],
        inputs=[data],
        outputs=[folder, log],
        resumable=True,  # by fairseq itself
        progress=functools.partial(training_log.progress, updates=training.updates),
    )


def checkpoints(folder: Path, training: Training) -> list[Path]:
    """The checkpoints of all epochs, in order."""
    return [
        folder / f"checkpoint{epoch}.pt"
        for epoch in range(1, training.updates // training.every + 1)
    ]


def chosen_update(log: Path, choose_by: str) -> int:
    """The update of ``checkpoint_best.pt``: the last one with the lowest validation perplexity."""
    curve = training_log.read_curves(log, "valid")[f"mlm_{choose_by}_ppl"]
    return min(reversed(curve), key=lambda point: point[1])[0]
