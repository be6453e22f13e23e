"""Checks of a migration's settings, before anything is read or run."""

import argparse
import dataclasses
from pathlib import Path

from fairseq_xling.errors import UserError, about
from fairseq_xling.objectives import objectives
from fairseq_xling.papers.trelm.config import (
    AS_TRANSFER,
    AUTOREGRESSIVE,
    NO_MAP,
    PRESETS,
    STAGES,
    TrelmConfig,
    names_in,
)
from fairseq_xling.papers.trelm.tasks import check_target_tasks
from fairseq_xling.papers.trelm.vector_ways import vector_ways
from fairseq_xling.runs.options import load_config, parse_seeds
from fairseq_xling.text.options import PrepareOptions, parse_segmentation


def read_config(args: argparse.Namespace, translates: bool = False) -> TrelmConfig:
    """The settings of ``args`` and of the file that they name.

    Args:
        translates: train a translator, as long as a direction of the transfer phase, unless the
            settings say how long. On captions one with a lattice has 37 BLEU, the forward model 23.

    Raises:
        UserError: for an unknown key, a value that breaks a rule, or missing text.
    """
    config = load_config(TrelmConfig, args, PRESETS)
    if config.translator_steps == AS_TRANSFER:
        steps = config.transfer_steps if translates and config.predicts_translations else 0
        config = dataclasses.replace(config, translator_steps=steps)
    check_config(config)
    return config


def check_config(config: TrelmConfig) -> None:
    """Raise a UserError for incompatible settings, or missing files."""
    if not config.source:
        raise UserError("`--source` must name a source encoder (a folder or a checkpoint)")
    if not Path(config.source).exists():
        raise UserError(f"`--source` {config.source}: no such source encoder")
    if not config.targets:
        raise UserError(
            "`--languages` must name the source's language and at least one more, got "
            f"{config.languages!r}"
        )
    _ = config.seed_list, parse_seeds("--map-seeds", config.map_seeds), config.translate_list
    _ = config.lenpen_list
    for field in dataclasses.fields(config):
        if field.name.endswith("_args"):
            config.words(field.name)
    if vector_ways[config.embeddings].at_source and config.mapping != NO_MAP:
        raise UserError(
            f"`--mapping` must be {NO_MAP} with `--embeddings {config.embeddings}`, whose vectors "
            f"are already in the source's embedding space, got {config.mapping!r}"
        )
    _check_vocabulary(config)
    _check_text(config)
    _check_training(config)
    check_target_tasks(config)


def _check_vocabulary(config: TrelmConfig) -> None:
    """Refuse to keep a source's vocabulary where there is none, or or next to a new one."""
    if not config.keep_vocabulary:
        return
    if config.vectors:
        raise UserError(
            "`--vectors` are those of a new vocabulary, and `--keep-vocabulary` has none, got "
            f"{config.vectors!r}"
        )
    if config.vocab != "joint":
        raise UserError(f"`--vocab` must be joint with `--keep-vocabulary`, got {config.vocab!r}")
    if not (config.source_vocabulary or config.data):
        raise UserError(
            "`--keep-vocabulary` needs `--source-data`, the data folder of the source checkpoint "
            f"{config.source}"
        )


def _check_text(config: TrelmConfig) -> None:
    if config.data and (config.text or config.mono or config.parallel):
        raise UserError("`--data` is a ready folder; it cannot be used with `--text` or other text")
    if not (config.data or config.text or config.mono or config.parallel):
        raise UserError("`--text` must name a folder of text (or give `--mono` and `--parallel`)")
    for target in config.targets:
        PrepareOptions(
            languages=(config.source_lang, target),
            vocab=config.vocab,
            vocab_size=config.vocab_size,
            vocab_type=config.vocab_type,
            segment=parse_segmentation(config.segment_of(target), [config.source_lang, target]),
            aligner=config.aligner,
        )


def _check_training(config: TrelmConfig) -> None:
    if not (config.batch_size or config.max_tokens):
        raise UserError("`--batch-size` or `--max-tokens` must be above 0")
    stages = [config.stage(name) for name in STAGES]
    if not any(stage.steps for stage in stages):
        raise UserError("nothing to train: `--commonality-steps` and the others are all 0")
    for stage in stages:
        if 0 < stage.steps <= config.warmup:
            raise UserError(
                f"`--warmup` must be less than `--{stage.name}-steps` {stage.steps}, "
                f"got {config.warmup}"
            )
    for name in names_in(config.transfer_objectives):
        if name in objectives and objectives[name].reorders and not config.trilayer:
            raise UserError(
                f"`--transfer-objectives` {name} needs a TRILayer; without one use tlm,mlm, got "
                f"{config.transfer_objectives!r}"
            )
    _check_orderings(config)
    if config.translator_steps:
        _check_translator(config)
    elif config.teacher:
        raise UserError("`--teacher` teaches a translator: give `--translator-steps`")
    elif config.slot_beam > 1:
        raise UserError("`--slot-beam` is a translator's: give `--translator-steps`")
    elif config.slot_layers:
        raise UserError("`--slot-layers` is a translator's: give `--translator-steps`")
    if config.ngram and config.slot_beam == 1:
        raise UserError(f"`--ngram` needs a `--slot-beam` above 1, got {config.ngram}")
    if config.ngram and not Path(config.ngram).is_file():
        raise UserError(f"`--ngram` {config.ngram}: no such file")
    if config.teacher_original and not config.teacher:
        raise UserError("`--teacher-original` needs a `--teacher`")
    for stage in stages:
        with about(f"`--{stage.name}-objectives`"):
            for name in names_in(stage.objectives):
                objectives.check(name)


def _check_translator(config: TrelmConfig) -> None:
    """Refuse a translator that has no model to start from, or an emission that needs an order."""
    from fairseq_xling.models.emissions import emissions  # imports torch

    if config.translator_steps <= config.warmup:
        raise UserError(
            f"`--warmup` must be less than `--translator-steps` {config.translator_steps}, got "
            f"{config.warmup}"
        )
    if not config.predicts_translations:
        raise UserError(
            "`--translator-steps` needs a forward model that predicts translations: "
            "`--transfer-steps` above 0, and cdlm among `--transfer-objectives`"
        )
    emissions.check(config.emission)
    if emissions[config.emission].in_order:
        raise UserError(
            f"`--emission` of a translator must not be {config.emission}, which the forward model "
            "has already"
        )
    if config.slot_beam > 1 and not emissions[config.emission].searches:
        raise UserError(
            f"`--slot-beam` must be 1 with `--emission {config.emission}`, which has no search, "
            f"got {config.slot_beam}"
        )
    if config.teacher in ("", AUTOREGRESSIVE):
        return
    if not Path(config.teacher).is_file():
        raise UserError(
            f"`--teacher` must be {AUTOREGRESSIVE}, or name a checkpoint or a file of "
            f"translations, got {config.teacher!r}"
        )
    if len(config.targets) > 1:
        raise UserError(
            f"`--teacher` {config.teacher} is of one target language, and `--languages` names "
            f"several: {','.join(config.targets)}"
        )


def _check_orderings(config: TrelmConfig) -> None:
    """Refuse to translate in an order that no head of the transfer phases predicts."""
    from fairseq_xling.generation.orderings import orderings  # imports torch

    if not config.predicts_translations:
        return
    for name in config.ordering_list:
        head = getattr(orderings[name], "head", "")
        if head and head not in names_in(config.auxiliary):
            raise UserError(
                f"`--orderings` {name} needs `--auxiliary {head}`, got {config.auxiliary!r}"
            )
