"""The ranges of fairseq's own options, which it does not check: it fails later, or trains nothing.

`compat` applies them wherever fairseq reads options: on the command line of its programs, and where
a configuration of hydra sets up one of our tasks.
"""

import argparse
import importlib.util
from collections.abc import Callable, Mapping
from typing import Any

from fairseq_xling.core.errors import UserError, shown
from fairseq_xling.core.literals import literal
from fairseq_xling.core.ranges import (
    ANY,
    BELOW_ONE,
    COUNT,
    NOT_NEGATIVE,
    POSITIVE,
    SHARE,
    Range,
    option_name,
)
from fairseq_xling.core.seeds import SEEDS

_OR_OFF = Range(-1)  # of fairseq's numbers of which -1 is none

# By field. Every item of a list is held to its range.
RANGES: dict[str, Range] = {
    # of all programs
    "seed": SEEDS,
    "log_interval": COUNT,
    "fp16_init_scale": COUNT,
    "fp16_scale_window": COUNT,
    "fp16_scale_tolerance": SHARE,
    "min_loss_scale": POSITIVE,
    "threshold_loss_scale": POSITIVE,
    "amp_batch_retries": NOT_NEGATIVE,
    "amp_init_scale": COUNT,
    "amp_scale_window": COUNT,
    "empty_cache_freq": NOT_NEGATIVE,
    "all_gather_list_size": COUNT,
    "model_parallel_size": COUNT,
    "distributed_world_size": COUNT,
    "device_id": NOT_NEGATIVE,
    "bucket_cap_mb": COUNT,
    "heartbeat_timeout": _OR_OFF,
    "nprocs_per_node": COUNT,
    # data
    "num_workers": NOT_NEGATIVE,
    "max_tokens": COUNT,
    "batch_size": COUNT,
    "max_tokens_valid": COUNT,
    "batch_size_valid": COUNT,
    "required_batch_size_multiple": COUNT,
    "required_seq_len_multiple": COUNT,
    "data_buffer_size": NOT_NEGATIVE,
    "validate_interval": COUNT,
    "validate_interval_updates": NOT_NEGATIVE,
    "validate_after_updates": NOT_NEGATIVE,
    "fixed_validation_seed": SEEDS,
    "max_valid_steps": COUNT,
    "curriculum": NOT_NEGATIVE,
    "num_shards": COUNT,
    "shard_id": NOT_NEGATIVE,
    # training
    "max_epoch": NOT_NEGATIVE,
    "max_update": NOT_NEGATIVE,
    "stop_time_hours": NOT_NEGATIVE,
    "clip_norm": NOT_NEGATIVE,
    "update_freq": COUNT,
    "lr": NOT_NEGATIVE,
    "stop_min_lr": ANY,
    "save_interval": COUNT,
    "save_interval_updates": NOT_NEGATIVE,
    "keep_interval_updates": _OR_OFF,
    "keep_interval_updates_pattern": _OR_OFF,
    "keep_last_epochs": _OR_OFF,
    "keep_best_checkpoints": _OR_OFF,
    "patience": _OR_OFF,
    "checkpoint_shard_count": COUNT,
    # optimisers
    "adam_betas": BELOW_ONE,
    "adam_eps": POSITIVE,
    "adamax_betas": BELOW_ONE,
    "adamax_eps": POSITIVE,
    "lamb_betas": BELOW_ONE,
    "lamb_eps": POSITIVE,
    "adafactor_eps": POSITIVE,
    "adadelta_eps": POSITIVE,
    "adadelta_rho": SHARE,
    "momentum": BELOW_ONE,
    "weight_decay": NOT_NEGATIVE,
    # learning rate schedulers
    "warmup_updates": NOT_NEGATIVE,
    "warmup_init_lr": _OR_OFF,
    "warmup_steps": NOT_NEGATIVE,
    "hold_steps": NOT_NEGATIVE,
    "decay_steps": NOT_NEGATIVE,
    "phase_ratio": SHARE,
    "init_lr_scale": NOT_NEGATIVE,
    "final_lr_scale": NOT_NEGATIVE,
    "force_anneal": COUNT,
    "end_learning_rate": NOT_NEGATIVE,
    "power": NOT_NEGATIVE,
    "total_num_update": NOT_NEGATIVE,
    "min_lr": NOT_NEGATIVE,
    "max_lr": POSITIVE,
    "t_mult": POSITIVE,
    "lr_period_updates": _OR_OFF,
    "lr_shrink": POSITIVE,
    "lr_threshold": NOT_NEGATIVE,
    "lr_patience": NOT_NEGATIVE,
    "lr_deacy_period": COUNT,  # fairseq's spelling
    "lr_decay": POSITIVE,
    # generation
    "beam": COUNT,
    "nbest": COUNT,
    "max_len_a": NOT_NEGATIVE,
    "max_len_b": NOT_NEGATIVE,
    "min_len": NOT_NEGATIVE,
    "lenpen": ANY,
    "unkpen": ANY,
    "temperature": POSITIVE,
    "prefix_size": NOT_NEGATIVE,
    "no_repeat_ngram_size": NOT_NEGATIVE,
    "lm_weight": ANY,
    "iter_decode_max_iter": NOT_NEGATIVE,
    "iter_decode_with_beam": COUNT,
    "buffer_size": NOT_NEGATIVE,
}
# Fields whose text fairseq evaluates, and how many numbers they hold.
_TUPLES = {"adam_betas": 2, "adamax_betas": 2, "lamb_betas": 2, "adafactor_eps": 2}
_LISTS = ("lr", "update_freq")
# Those that keep each parameter whole and apart, with the gradient of its own; sharded ones run
# together lose which of them a step's languages have, and those of other languages drift.
_DDP_BACKENDS = ("pytorch_ddp", "c10d", "legacy_ddp", "no_c10d")
_DICTIONARIES = ("model_overrides", "optimizer_overrides")


def check_engine_options(values: Mapping[str, Any], trained: bool = False) -> None:
    """Hold fairseq's options, by field, to their ranges; those that are left out pass.

    Args:
        trained: they are a checkpoint's, whose training is over, perhaps on another machine.

    Raises:
        UserError: for the first option that is out of its range, or that fairseq has and that does
            not work.
    """
    for field, allowed in RANGES.items():
        value = values.get(field)
        if isinstance(value, str) and value.startswith("${"):  # another option's
            continue
        name = f"--{option_name(field)}"
        for number in _numbers(name, field, value):
            allowed.check(name, number)
    for field in _DICTIONARIES:
        if values.get(field) is not None:
            _check_dictionary(f"--{option_name(field)}", values[field])
    if (backend := values.get("ddp_backend", _DDP_BACKENDS[0])) not in _DDP_BACKENDS:
        raise UserError(
            f"`--ddp-backend` must be pytorch_ddp or legacy_ddp, which update the parameters of a "
            f"step's languages alone, got {backend}"
        )
    _check_shards(values)
    _check_warmup(values)
    _check_accelerator(values)
    if not trained:
        _check_training(values)


def _numbers(name: str, field: str, value: Any) -> list[float]:
    if value is None:
        return []
    count = _TUPLES.get(field)
    found = _literal(value) if isinstance(value, str) else value
    several = list(found) if isinstance(found, list | tuple) else [found]
    if not all(isinstance(item, int | float) for item in several):
        words = f"{count} numbers such as (0.9, 0.98)" if count else "a number"
        raise UserError(f"`{name}` must be {words}, got {shown(value, 60)}")
    if count and len(several) != count:
        raise UserError(f"`{name}` must be {count} numbers, got {shown(value, 60)}")
    if field in _LISTS and not several:
        raise UserError(f"`{name}` must be one number or more, got none")
    return several


def _literal(text: str) -> Any:
    """Its value, or the text as it is where it is none."""
    try:
        return literal(text)
    except UserError:
        return text


def _check_dictionary(name: str, value: Any) -> None:
    if not isinstance(_literal(value) if isinstance(value, str) else value, Mapping):
        example = "\"{'dropout': 0}\""
        raise UserError(
            f"`{name}` must be a dictionary of options such as {example}, got {shown(value, 60)}"
        )


def _check_shards(values: Mapping[str, Any]) -> None:
    shards, shard = values.get("num_shards") or 1, values.get("shard_id") or 0
    # The options of each program tell which it is: fairseq-interactive alone has a buffer.
    generates = "nbest" in values and "buffer_size" not in values
    if shards > 1 and not generates and "context_window" not in values:
        raise UserError(
            "`--num-shards` has no effect but in fairseq-generate, since only a data folder's text "
            f"is split, got {shards}"
        )
    if shard >= shards:
        raise UserError(
            f"`--shard-id` must lie in [0, {shards - 1}], the `--num-shards` {shards} counted from "
            f"0, got {shard}"
        )


def _check_warmup(values: Mapping[str, Any]) -> None:
    """fairseq divides by it."""
    if values.get("lr_scheduler") == "inverse_sqrt" and values.get("warmup_updates") == 0:
        raise UserError(
            "`--warmup-updates` must be at least 1 with `--lr-scheduler inverse_sqrt`, got 0"
        )


def _check_accelerator(values: Mapping[str, Any]) -> None:
    """fairseq ignores the one, and fails on the other's import."""
    if values.get("cpu") and values.get("amp"):
        raise UserError("`--amp` needs an accelerator; with `--cpu` take --cpu-bf16")
    if values.get("tpu") and importlib.util.find_spec("torch_xla") is None:
        raise UserError("`--tpu` needs the package torch_xla, which is not installed")


def _check_training(values: Mapping[str, Any]) -> None:
    """fairseq looks for splits that it has not loaded, and ends well without having trained."""
    if values.get("combine_valid_subsets"):
        raise UserError(
            "`--combine-valid-subsets` does not work: fairseq combines the files of one split and "
            "then asks for each of `--valid-subset`; leave it out, and name the splits there, as "
            "in valid,test"
        )
    unable = importlib.util.find_spec("iopath") is None
    if values.get("write_checkpoints_asynchronously") and unable:
        raise UserError(
            "`--write-checkpoints-asynchronously` needs the package iopath, which is not "
            "installed; leave it out, or run: pip install iopath"
        )


def literal_list(x: Any, x_type: Callable[[Any], Any] = float) -> Any:
    """fairseq's `eval_str_list`, whose own cannot stand every text: numbers separated by commas.

    Raises:
        argparse.ArgumentTypeError: for another text; argparse adds the option's name.
    """
    if x is None or x == "":
        return None if x is None else []
    found = _literal(x) if isinstance(x, str) else x
    try:
        items = found if isinstance(found, list | tuple) else [found]
        if x_type is int and any(item != int(item) for item in items):
            raise ValueError
        return [x_type(item) for item in items]
    except (TypeError, ValueError):
        words = "values" if x_type is str else "numbers"
        raise argparse.ArgumentTypeError(
            f"must be {words} separated by commas, got {shown(x, 60)}"
        ) from None
