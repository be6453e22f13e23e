"""The settings of a transfer evaluation, and those of the papers, `PRESETS`.

The sizes of a shift that are tried on dev data are given as one text (see `steps.test_shifted`).
Liu et al. (2020), Section 4.3, choose 1.5, .9, .7, .3 and .5 for five languages: steps of .1.
"""

import dataclasses
import math
import shlex
from collections.abc import Mapping
from typing import Any

from fairseq_xling.core.errors import UserError
from fairseq_xling.core.named_files import HeldOut
from fairseq_xling.core.options import option, reads
from fairseq_xling.core.ranges import NOT_NEGATIVE
from fairseq_xling.core.registry import unknown_name
from fairseq_xling.tasks.encode import TOO_LONG, TOO_LONG_HELP
from fairseq_xling.tasks.formats import find_format
from fairseq_xling.tasks.items import SKIP_BAD_HELP, parse_columns
from fairseq_xling.tasks.options import parse_options
from fairseq_xling.workflow.options import WithSeeds, jobs_option, parse_numbers, seeds_option
from fairseq_xling.workflow.settled import device_option, precision_option

PAPER = "0.1:2.0:0.1"
_MOST = 1000  # each is a pass over the dev file
_DIGITS = 9


def parse_alphas(text: str) -> tuple[float, ...]:
    """Numbers separated by commas, or ``FIRST:LAST:STEP``, both ends included; ascending.

    >>> parse_alphas("0.5,0.3,1"), parse_alphas("0.1:0.5:0.2")
    ((0.3, 0.5, 1.0), (0.1, 0.3, 0.5))
    >>> len(parse_alphas(PAPER)), 0.7 in parse_alphas(PAPER)
    (20, True)
    """
    found: list[float] = []
    try:
        if ":" in text:
            first, last, step = map(float, text.split(":"))
            steps = (last - first) / step
            if 0 < step < math.inf and 0 <= steps < _MOST:
                # Multiples of a step such as 0.1 would otherwise end in 0.30000000000000004.
                count = math.floor(steps + 1e-6) + 1
                found = [round(first + k * step, _DIGITS) for k in range(count)]
        elif text.count(",") < _MOST:
            found = [float(piece) for piece in text.split(",")]
    except (ValueError, ZeroDivisionError):
        pass
    if not found or not all(map(math.isfinite, found)) or len(set(found)) < len(found):
        raise UserError(
            "`--shift-alphas` must be different numbers, or FIRST:LAST:STEP with at most "
            f"{_MOST} steps, got {text!r}"
        )
    return tuple(sorted(found))


_TAGS: Mapping[str, Any] = {
    "lrs": "2e-5,3e-5,5e-5",
    "batch_sizes": "16,32",
    "epochs": 10,
    "warmup": 0.1,
    "schedule": "linear",
    "best": 2,
}


def _clue(lr: str, batch: int, epochs: int, warmup: float, **given: Any) -> dict[str, Any]:
    grid = {"lrs": lr, "batch_sizes": str(batch), "epochs": epochs, "warmup": warmup}
    return {**grid, "schedule": "linear", "best": 1, **given}


def _text(*grid: Any, **columns: str) -> dict[str, Any]:
    """One or two texts in JSON lines, under these keys."""
    keys = ",".join(f"{field}={key}" for field, key in {**columns, "label": "label"}.items())
    return _clue(*grid, 0.1, head="classification", format="json_lines", columns=keys)


PRESETS: Mapping[str, Mapping[str, Any]] = {
    "xnli": {
        "head": "classification",
        "lrs": "1.25e-6,2.5e-6,5e-6",
        "head_lrs": "5e-6,2.5e-5,1.25e-4",
        "batch_sizes": "4,8",
        "epochs": 200,
        "schedule": "constant",
        "warmup": 0.0,
        "best": 2,
    },
    "ner": {"head": "ner", **_TAGS},
    "parsing": {"head": "parsing", **_TAGS},
    "clue-afqmc": _text("3e-5", 16, 2, text="sentence1", pair="sentence2"),
    "clue-cmnli": _text("2e-5", 32, 3, text="sentence1", pair="sentence2"),
    "clue-csl": _text("1e-5", 4, 3, text="keyword", pair="abst"),
    "clue-tnews": _text("3e-5", 16, 2, text="sentence"),
    "clue-iflytek": _text("2e-5", 32, 3, text="sentence"),
    "clue-wsc": _clue("2e-5", 8, 50, 0.1, head="classification", format="clue_wsc"),
    "clue-cmrc2018": _clue(
        *("3e-5", 32, 2, 0.1), head="span_qa", metric="em", head_options="segmentation=mixed"
    ),
    "clue-chid": _clue("2e-5", 24, 3, 0.06, head="multiple_choice", format="chid"),
    "clue-c3": _clue("2e-5", 16, 8, 0.05, head="multiple_choice", format="c3"),
}


SCHEDULES = ("constant", "linear")


@dataclasses.dataclass(frozen=True)
class TransferConfig(WithSeeds):
    """One sentence of help per field."""

    preset: str = option("", f"values of a published evaluation: {', '.join(PRESETS)}")
    encoder: tuple[str, ...] = reads((), "[NAME=]CHECKPOINT of a trained encoder; repeatable")
    scratch: tuple[str, ...] = reads(
        (), "[NAME=]CHECKPOINT to reset to random weights of its sizes (a baseline); repeatable"
    )
    data: tuple[str, ...] = reads((), "[NAME=]DATA folder of all encoders, or of one; repeatable")
    head: str = option("classification", "what is predicted")
    head_options: str = option("", "settings of the head, e.g. dropout=0.2")
    metric: str = option("", "figure to select by on dev and to report (default: the head's first)")
    format: str = option("", "format of the files, e.g. json_lines (default: the head's own)")
    columns: str = option("", "which column of the files holds what, e.g. text=0,label=1")
    skip_bad: int = option(0, SKIP_BAD_HELP, range=NOT_NEGATIVE)
    unknown_labels: str = option(
        "wrong",
        "labels not seen in training: refuse, or wrong (count as mistakes)",
        choices=("wrong", "refuse"),
    )
    too_long: str = option("truncate", TOO_LONG_HELP, choices=TOO_LONG)
    train: tuple[str, ...] = reads((), "LANG=FILE to train on; repeatable")
    valid: tuple[str, ...] = reads((), "LANG=FILE to select epoch and setting by; repeatable")
    test: tuple[str, ...] = reads(
        (), "LANG=FILE to test on, or test1.LANG=FILE for a further test set; repeatable", HeldOut
    )
    translate_train: tuple[str, ...] = reads(
        (),
        "LANG=FILE, the training file translated to a target language, for its own model; "
        "repeatable",
    )
    translate_test: tuple[str, ...] = reads(
        (),
        "LANG=FILE, a target's test file translated to the source language (or test1.LANG=FILE); "
        "repeatable",
        HeldOut,
    )
    lrs: str = option("5e-5", "learning rates to try, comma-separated")
    head_lrs: str = option("", "learning rates of the head to try (default: those of the encoder)")
    batch_sizes: str = option("16", "batch sizes to try, in items, comma-separated")
    best: int = option(1, "number of best settings on dev whose mean is reported", least=1)
    epochs: int = option(10, "passes over the training file", least=1)
    schedule: str = option("linear", "learning rate after its warm-up", choices=SCHEDULES)
    warmup: float = option(0.1, "share of the steps in which the learning rate rises", least=0)
    clip: float = option(1.0, "maximum gradient norm; 0 is no limit", least=0)
    weight_decay: float = option(0.0, "weight decay", least=0)
    freeze_layers: int = option(0, "freeze embeddings and this many lower layers", least=0)
    freeze_encoder: bool = option(False, "train the head alone")
    shift_layer: int = option(
        0, "also test with the states of this layer shifted by the languages' mean difference",
        least=0,
    )  # fmt: skip
    shift_alpha: str = option(
        "auto",
        "size of the shift, in mean differences; auto selects the best of --shift-alphas on "
        "--shift-dev",
    )
    shift_alphas: str = option(
        PAPER, "sizes that auto tries: numbers separated by commas, or FIRST:LAST:STEP"
    )
    shift_dev: tuple[str, ...] = reads((), "LANG=FILE of a target to select alpha by; repeatable")
    shift_sentences: int = option(
        1000, "sentences of the data folder's validation text for the means", least=1
    )
    seeds: str = seeds_option("1")
    device: str = device_option()
    precision: str = precision_option()
    train_args: str = option("", "more options of every fairseq-train, as one text")
    jobs: int = jobs_option()

    @property
    def figure(self) -> str:
        """The head's figure for selection and reporting."""
        from fairseq_xling.tasks.heads import heads

        return self.metric or heads[self.head].metric


@dataclasses.dataclass(frozen=True)
class Setting:
    """One point of the grid; ``head_lr`` None is the encoder's."""

    lr: float
    head_lr: float | None
    batch_size: int

    @property
    def code(self) -> str:
        """Its name in files and tables.

        >>> Setting(5e-5, None, 16).code
        'lr5e-05-b16'
        """
        head = "" if self.head_lr is None else f"-h{self.head_lr}"
        return f"lr{self.lr}{head}-b{self.batch_size}"


def grid(config: TransferConfig) -> list[Setting]:
    """All settings to try."""
    head_lrs = parse_numbers("--head-lrs", config.head_lrs) if config.head_lrs else [None]
    return [
        Setting(lr, head_lr, size)
        for lr in parse_numbers("--lrs", config.lrs)
        for head_lr in head_lrs
        for size in parse_numbers("--batch-sizes", config.batch_sizes, int)
    ]


def check_config(config: TransferConfig) -> None:
    """Raise a UserError for incompatible settings."""
    from fairseq_xling.tasks.heads import heads  # imports torch

    for name in ("encoder", "data", "train", "valid", "test"):
        if not (getattr(config, name) or (name == "encoder" and config.scratch)):
            raise UserError(f"`--{name}` must be given")
    meant = PRESETS.get(config.preset, {}).get("head", config.head)
    if config.head != meant:
        raise UserError(
            f"`--head` must be {meant} with `--preset {config.preset}`, got {config.head}"
        )
    head = heads[config.head]
    parse_options("--head-options", config.head_options, head.Options)
    known = list(head.scores(dict.fromkeys(head.count_names, 0.0)))
    if config.figure not in known:
        raise unknown_name("`--metric`", config.metric, known)
    find_format(head.format, config.format)
    parse_columns(config.columns)
    size = len(grid(config))
    if config.best > size:
        raise UserError(f"`--best` must be at most the {size} settings to try, got {config.best}")
    if config.warmup >= 1:
        raise UserError(f"`--warmup` must be a share below 1, got {config.warmup}")
    if config.shift_layer and config.shift_alpha == "auto" and not config.shift_dev:
        raise UserError("`--shift-alpha auto` needs `--shift-dev` of the target languages")
    parse_alphas(config.shift_alphas)
    if config.shift_alpha != "auto":
        try:
            number = math.isfinite(float(config.shift_alpha))
        except ValueError:
            number = False
        if not number:
            raise UserError(f"`--shift-alpha` must be auto or a number, got {config.shift_alpha!r}")
    try:
        shlex.split(config.train_args)
    except ValueError as error:
        raise UserError(f"`--train-args` {config.train_args!r}: {error}") from None
    _ = config.seed_list
