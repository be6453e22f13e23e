"""The `fairseq-train` calls of a migration."""

from collections.abc import Sequence
from pathlib import Path

from fairseq_xling import USER_DIR
from fairseq_xling.models.encoder import EncoderShape
from fairseq_xling.papers.trelm.config import Stage, TrelmConfig
from fairseq_xling.precision import device_options
from fairseq_xling.runs.step import Step
from fairseq_xling.runs.training_command import resumable_training

# Further options of each scheduler, besides the warm-up.
_LENGTH_OPTION = {"polynomial_decay": "--total-num-update"}


def model_options(config: TrelmConfig, shape: EncoderShape) -> list[str]:
    """The options of a model that `fairseq-xling init` makes from a source of ``shape``."""
    sizes = {
        "encoder-layers": shape.layers,
        "encoder-embed-dim": shape.dim,
        "encoder-ffn-embed-dim": shape.ffn_dim,
        "encoder-attention-heads": shape.heads,
        "max-positions": config.max_positions or shape.max_positions,
        "num-segments": segments(config, shape),
        "lm-head": shape.lm_head,
        "init-std": shape.init_std,
        "norm-eps": shape.norm_eps,
        "activation-fn": shape.activation,
    }
    options = ["--arch", config.arch]
    options += [part for name, value in sizes.items() for part in (f"--{name}", str(value))]
    options += ["--separate", config.separate] if config.separate else []
    return options + trilayer_options(config)


def trilayer_options(config: TrelmConfig) -> list[str]:
    """The options of the TRILayer, or of leaving it out."""
    if not config.trilayer:
        return ["--no-trilayer"]
    return ["--copy-embeddings"] if config.copy_embeddings else []


def segments(config: TrelmConfig, shape: EncoderShape) -> int:
    """Rows of the segment table: the source's, and at least two for next sentence prediction."""
    return max(shape.num_segments, 2 if config.nsp else 0)


def training_step(
    name: str,
    run: Path,
    config: TrelmConfig,
    stage: Stage,
    data: Path,
    languages: Sequence[str],
    options: Sequence[str],
    seed: int,
    start: Path | None = None,
    validate: bool = True,
    task: str = "cdlm",
    criterion: str = "unified_lm",
) -> Step:
    """One call of fairseq-train, which resumes where it was stopped.

    Args:
        options: of the model, its objectives and their text.
        start: checkpoint to start from, if not from scratch.
        validate: whether the data folder has validation text for the objectives.
    """
    folder, log = run / "models" / name, run / "logs" / f"{name}.log"
    command = [
        "fairseq-train",
        str(data),
        *("--user-dir", str(USER_DIR), "--task", task, "--criterion", criterion),
        *("--languages", ",".join(languages), *options),
        *(("--finetune-from-model", str(start)) if start else ()),
        *optimisation(config, stage),
        *(("--batch-size", str(config.batch_size)) if config.batch_size else ()),
        *(("--max-tokens", str(config.max_tokens)) if config.max_tokens else ()),
        *("--update-freq", str(config.update_freq)),
        *("--max-update", str(stage.steps), "--epoch-updates", str(min(config.every, stage.steps))),
        *("--save-dir", str(folder), "--no-epoch-checkpoints"),
        *(() if validate else ("--disable-validation",)),
        *("--seed", str(seed), "--num-workers", "0", "--log-format", "json"),
        *("--log-interval", str(max(1, min(config.every, stage.steps) // 4))),
        *device_options(config.precision, config.device),
        *config.words("train_args"),
        *stage.args,
    ]
    inputs = [data, *([start] if start else [])]
    return resumable_training(name, command, inputs, folder, log, stage.steps)


def optimisation(config: TrelmConfig, stage: Stage) -> list[str]:
    """Adam, its schedule and clipping, as options."""
    length = _LENGTH_OPTION.get(config.schedule)
    return [
        *("--optimizer", "adam", "--adam-betas", f"({config.adam_betas})"),
        *("--adam-eps", str(config.adam_eps), "--weight-decay", str(config.weight_decay)),
        *("--clip-norm", str(config.clip), "--lr", str(stage.lr)),
        *("--lr-scheduler", config.schedule, "--warmup-updates", str(config.warmup)),
        *((length, str(stage.steps)) if length else ()),
    ]


def checkpoint(run: Path, name: str, config: TrelmConfig) -> Path:
    """The checkpoint that the training step ``name`` passes on."""
    return run / "models" / name / f"checkpoint_{config.checkpoint}.pt"
