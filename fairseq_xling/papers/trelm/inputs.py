"""The settings of a migration checked, and what its plan needs to know before any step has run."""

import argparse
import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

from fairseq_xling.checkpoints.files import checkpoint_in
from fairseq_xling.core.errors import UserError, about
from fairseq_xling.core.files import check_files
from fairseq_xling.core.ranges import option_name
from fairseq_xling.core.registry import did_you_mean
from fairseq_xling.core.texts import read_lines
from fairseq_xling.data.folder import DataFolder
from fairseq_xling.data.meta import in_order
from fairseq_xling.models.encoder import EncoderShape
from fairseq_xling.models.trilayer import check_slot_layers
from fairseq_xling.objectives import objectives
from fairseq_xling.papers.trelm.config import (
    AS_TRANSFER,
    AUTOREGRESSIVE,
    FIT,
    NO_MAP,
    PRESETS,
    STAGES,
    RunConfig,
    TrelmConfig,
    named_languages,
    names_in,
)
from fairseq_xling.papers.trelm.embedding_init import embedding_inits
from fairseq_xling.studies.optimiser import check_optimiser
from fairseq_xling.studies.task_options import check_tasks
from fairseq_xling.text.options import PrepareOptions, parse_segmentation
from fairseq_xling.text.sources import parse_sources
from fairseq_xling.text.vocabularies import modes
from fairseq_xling.workflow.options import load_config, parse_seeds

Config = TypeVar("Config", bound=TrelmConfig)
_UNLINKED = (
    "there is no parallel training text, by which words could be linked; a map without it wants "
    "some 100,000 sentences"
)
_MOST_HELD = 500  # sentences of each text, for each of valid and test
_PASSES = 20  # of a phase, unless its text is so large that fewer make the steps of the paper
_WORDS = 30  # of a sentence, where batches have a number of tokens
_MOST_STEPS = {  # that follow from the text
    phase: TrelmConfig.__dataclass_fields__[f"{phase}_steps"].default for phase in STAGES
}


def read_config(
    args: argparse.Namespace, translates: bool = False, kind: type[TrelmConfig] = TrelmConfig
) -> TrelmConfig:
    """The settings of ``args`` and of the file that they name.

    Args:
        translates: train a translator, as long as a direction of the transfer phase, unless the
            settings say how long. On captions one with a lattice has 37 BLEU, the forward model 23.
    """
    return _complete(_loaded(args, kind), translates)


def _loaded(args: argparse.Namespace, kind: type[Config]) -> Config:
    config = load_config(kind, args, PRESETS)
    if config.source and not Path(config.source, "config.json").is_file():
        source, data = checkpoint_in(config.source, config.source_data or None)
        config = dataclasses.replace(config, source=str(source), source_data=str(data or ""))
    return config


def _complete(config: TrelmConfig, translates: bool) -> TrelmConfig:
    if config.translator_steps == AS_TRANSFER:
        steps = config.transfer_steps if translates and config.predicts_translations else 0
        config = dataclasses.replace(config, translator_steps=steps)
    check_config(config)
    return config


def read_run(args: argparse.Namespace) -> tuple[TrelmConfig, str]:
    """The settings of `trelm run`, as `read_config`; and a line that says which of them follow from
    the text, and why."""
    config = _loaded(args, RunConfig)
    _check_source(config)
    chosen: dict[str, tuple[Any, str]] = {}  # values by name, and why
    pairs, held, sentences = _text_of(config)
    if config.held_out == FIT:
        chosen["held_out"] = held, "a twentieth of the smallest text, at most 500"
    for phase in STAGES:
        name = f"{phase}_steps"
        if getattr(config, name) == FIT:
            chosen[name] = _steps(config, sentences.get(phase), _MOST_STEPS[phase])
    embeddings, why = config.embeddings, ""
    if not embeddings:
        embeddings = "skip-gram"
        if not (config.keep_vocabulary or config.vectors or config.mapping):
            embeddings = "linked" if pairs else "skip-gram"
            why = "there is parallel text" if pairs else _UNLINKED
        chosen["embeddings"] = embeddings, why
    if not config.mapping:
        mapped = embeddings in embedding_inits and not embedding_inits[embeddings].at_source
        mapping = "adversarial" if mapped and embeddings != "random" else NO_MAP
        chosen["mapping"] = mapping, f"of {embeddings} embeddings"
    values = {name: value for name, (value, _) in chosen.items()}
    said = [
        f"--{option_name(name)} {value} ({why})"
        for name, (value, why) in chosen.items()
        if value and why
    ]
    line = f"chosen by the text: {', '.join(said)}" if said else ""
    return _complete(dataclasses.replace(config, **values), translates=True), line


def _steps(config: TrelmConfig, sentences: int | None, most: int) -> tuple[int, str]:
    """How long to train on a number of sentences, and why if it is not ``most``."""
    if sentences is None:
        return most, ""
    steps, least = _PASSES * sentences // _sentences_of(config), 2 * config.warmup
    if steps >= most or least >= most:
        return most, ""
    return (least, "twice --warmup") if steps < least else (steps, f"{_PASSES} passes over text")


def _sentences_of(config: TrelmConfig) -> int:
    """How many sentences, about, a step reads."""
    return (config.batch_size or config.max_tokens // _WORDS or 1) * config.update_freq


def _text_of(config: TrelmConfig) -> tuple[bool, int, dict[str, int]]:
    """Whether each target has parallel training text, how much is to be held out, and by phase the
    sentences of the smallest text that it trains on, as far as they are known."""
    source = config.source_lang
    if config.data:
        splits = DataFolder(config.data).meta.get("parallel", {}).get("train", {})
        pairs = [set(name.split("-")) for name in splits]
        return all({source, target} in pairs for target in config.targets), 0, {}
    if config.text and not Path(config.text).is_dir():
        raise UserError(
            f"`--text` must be a folder of text, got {config.text}; name files by `--mono "
            "LANG=FILE` and `--parallel A-B=FILE,FILE`"
        )
    if not (config.text or config.mono or config.parallel):
        return False, 0, {}
    languages = [source, *config.targets]
    given = (config.mono, config.parallel, config.alignment)
    sources = parse_sources(languages, *given, folder=config.text or None)
    pairs = [set(pair) for split, pair in sources.parallel if split == "train"]
    linked = all({source, target} in pairs for target in config.targets)
    mono = [f for (split, _), files in sources.mono.items() if split == "train" for f in files]
    parallel = [sides[0] for (split, _), sides in sources.parallel.items() if split == "train"]
    # No more sentences change what is held out, or the steps.
    enough = max(20 * _MOST_HELD, -(-max(_MOST_STEPS.values()) * _sentences_of(config) // _PASSES))
    counts = {file: sum(1 for _ in islice(read_lines(file), enough)) for file in [*mono, *parallel]}
    by_phase = dict.fromkeys(STAGES, mono or parallel) | {"transfer": parallel}
    sentences = {phase: min(map(counts.get, files)) for phase, files in by_phase.items() if files}
    if any(split == "valid" for split, _ in [*sources.mono, *sources.parallel]):
        return linked, 0, sentences
    return linked, min(_MOST_HELD, min(counts.values(), default=0) // 20), sentences


def _check_source(config: TrelmConfig) -> None:
    if not config.source:
        raise UserError("`--source` must name a source encoder (a folder or a checkpoint)")
    if not Path(config.source).exists():
        raise UserError(f"`--source` {config.source}: no such source encoder")


def check_config(config: TrelmConfig) -> None:
    """Raise a UserError for incompatible settings, or missing files."""
    _check_source(config)
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
    if embedding_inits[config.embeddings].at_source and config.mapping != NO_MAP:
        raise UserError(
            f"`--mapping` must be {NO_MAP} with `--embeddings {config.embeddings}`, whose vectors "
            f"are already in the source's embedding space, got {config.mapping!r}"
        )
    check_optimiser(config)
    _check_text(config)
    _check_training(config)
    if config.tasks and not config.text:
        raise UserError(
            f"`--tasks` {config.tasks} needs `--text`, whose gold/ has the files; with other text "
            "use `--task-head`"
        )
    for target in config.targets:
        check_tasks(config, Path(config.text), [target])


def _check_text(config: TrelmConfig) -> None:
    if config.keep_vocabulary and config.vectors:
        raise UserError(
            "`--vectors` are those of a new vocabulary, and `--keep-vocabulary` has none, got "
            f"{config.vectors!r}"
        )
    if config.keep_vocabulary and config.vocab != "joint":
        raise UserError(f"`--vocab` must be joint with `--keep-vocabulary`, got {config.vocab!r}")
    if config.keep_vocabulary and not (config.source_vocabulary or config.data):
        raise UserError(
            "`--keep-vocabulary` needs `--source-data`, the data folder of the source checkpoint "
            f"{config.source}"
        )
    text = config.text or config.mono or config.parallel
    if config.data and text:
        raise UserError("`--data` is a ready folder; it cannot be used with `--text` or other text")
    if not (config.data or text):
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
    from fairseq_xling.generation.orderings import orderings  # imports torch

    if not (config.batch_size or config.max_tokens):
        raise UserError("`--batch-size` or `--max-tokens` must be above 0")
    stages = {name: config.stage(name) for name in STAGES}
    if not any(stage.steps for stage in stages.values()):
        raise UserError("nothing to train: `--commonality-steps` and the others are all 0")
    lengths = {name: stage.steps for name, stage in stages.items()}
    for name, steps in {**lengths, "translator": config.translator_steps}.items():
        if 0 < steps <= config.warmup:
            raise UserError(
                f"`--warmup` must be less than `--{name}-steps` {steps}, got {config.warmup}"
            )
    for name in names_in(config.transfer_objectives):
        if name in objectives and objectives[name].reorders and not config.trilayer:
            raise UserError(
                f"`--transfer-objectives` {name} needs a TRILayer; without one use tlm,mlm, got "
                f"{config.transfer_objectives!r}"
            )
    for name in config.ordering_list if config.predicts_translations else ():
        head = getattr(orderings[name], "head", "")
        if head and head not in names_in(config.auxiliary):  # which predicts this order
            raise UserError(
                f"`--orderings` {name} needs `--auxiliary {head}`, got {config.auxiliary!r}"
            )
    if config.translator_steps:
        _check_translator(config)
    elif config.teacher:
        raise UserError("`--teacher` teaches a translator: give `--translator-steps`")
    elif config.slot_beam > 1 or config.slot_layers:
        option = "slot-beam" if config.slot_beam > 1 else "slot-layers"
        raise UserError(f"`--{option}` is a translator's: give `--translator-steps`")
    if config.teacher_original and not config.teacher:
        raise UserError("`--teacher-original` needs a `--teacher`")
    for name, stage in stages.items():
        with about(f"`--{name}-objectives`"):
            for one in names_in(stage.objectives):
                objectives.check(one)


def _check_translator(config: TrelmConfig) -> None:
    """Refuse a translator that has no model to start from, or an emission that needs an order."""
    from fairseq_xling.models.emissions import emissions  # imports torch

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


@dataclass(frozen=True)
class InputSummary:
    """What is known of the source encoder, and about the text of one language pair.

    Attributes:
        shape: the source encoder's sizes.
        mono: (split, language) of all monolingual text.
        parallel: splits with parallel text, and the files of both languages; none with an existing
            data folder.
        dictionaries: the languages of each dictionary; one group if all share one.
    """

    shape: EncoderShape
    mono: frozenset[tuple[str, str]]
    parallel: Mapping[str, Sequence[Path]]
    dictionaries: tuple[tuple[str, ...], ...]

    def validates(self, languages: Iterable[str], mono_text: bool, pairs: bool) -> bool:
        """Whether there is validation text for objectives that read these."""
        mono = all(("valid", lang) in self.mono for lang in languages)
        return (mono or not mono_text) and ("valid" in self.parallel or not pairs)


def read_shape(config: TrelmConfig) -> EncoderShape:
    """The sizes of the source encoder."""
    from fairseq_xling.interop.sources import read_source

    source = read_source(config.source, config.source_data or None, config.source_language or None)
    if source.shape.layers % 2:
        raise UserError(
            f"`--source` {config.source}: must have an even number of layers, since a migration "
            f"trains halves, got {source.shape.layers}"
        )
    if config.max_positions > source.shape.max_positions:
        raise UserError(
            f"`--max-positions` must be at most the source's {source.shape.max_positions}, got "
            f"{config.max_positions}"
        )
    return source.shape


def summarize_inputs(config: TrelmConfig, target: str, shape: EncoderShape) -> InputSummary:
    """What there is for the pair of the source language and ``target``."""
    pair = (config.source_lang, target)
    inputs = (_of_folder if config.data else _of_files)(config, pair, shape)
    _check_inputs(config, pair, inputs)
    return inputs


def _of_folder(config: TrelmConfig, pair: tuple[str, str], shape: EncoderShape) -> InputSummary:
    folder = DataFolder(config.data)
    mono = {(split, lang) for split, found in folder.meta.get("mono", {}).items() for lang in found}
    splits: dict[str, Sequence[Path]] = {
        split: ()
        for split in folder.meta.get("parallel", {})
        if set(pair) in map(set, folder.pairs(split))
    }
    paths = {lang: folder.dictionary_path(lang) for lang in pair}  # raises for an unknown language
    return InputSummary(shape, frozenset(mono), splits, _groups(pair, paths))


def _of_files(config: TrelmConfig, pair: tuple[str, str], shape: EncoderShape) -> InputSummary:
    given = (config.mono, config.parallel, config.alignment)
    of_pair = [[text for text in texts if named_languages(text) <= set(pair)] for texts in given]
    sources = parse_sources(pair, *of_pair, folder=config.text or None)
    parallel = {
        split: [dict(zip(langs, files, strict=True))[lang] for lang in pair]
        for (split, langs), files in sources.parallel.items()
        if set(langs) == set(pair)
    }
    mono = set(sources.mono)
    # As `prepare` cuts them; text of pairs is each side's where it has no other.
    if config.held_out:
        train = {lang for split, lang in mono if split == "train"}
        train |= {lang for split, langs in sources.parallel if split == "train" for lang in langs}
        mono |= {(split, lang) for split in ("train", "valid", "test") for lang in train}
        if "train" in parallel:
            parallel = {"valid": (), "test": (), **parallel}
    names = {lang: modes[config.vocab]().dictionary_name(lang) for lang in pair}
    check_files(*(file for files in sources.by_role().values() for file in files))
    return InputSummary(shape, frozenset(mono), parallel, _groups(pair, names))


def _groups(pair: tuple[str, str], owners: Mapping[str, Any]) -> tuple[tuple[str, ...], ...]:
    return (pair,) if len(set(owners.values())) == 1 else tuple((lang,) for lang in pair)


def _check_inputs(config: TrelmConfig, pair: tuple[str, str], inputs: InputSummary) -> None:
    check_slot_layers(config.slot_layers, inputs.shape.layers, "the source's layers")
    name = "-".join(pair)
    for lang in pair:
        if ("train", lang) not in inputs.mono:
            raise UserError(
                f"no monolingual training text of {lang!r}: give `--mono train.{lang}=FILE`"
            )
        if (config.bpw_split, lang) not in inputs.mono:
            raise UserError(
                f"`--bpw-split` {config.bpw_split}: there is no monolingual text of {lang!r} in it"
            )
    # What is asked for by name must be there; the first test set is translated where there is one.
    missing = [split for split in config.translate_list if split not in inputs.parallel]
    if missing and config.translate_list != ["test"]:
        there = ", ".join(in_order(inputs.parallel)) or "none"
        near = did_you_mean(missing[0], sorted(inputs.parallel))
        raise UserError(
            f"`--translate-split` {missing[0]}: there is no parallel text of {name} in it; splits "
            f"that have some: {there}{near}"
        )
    if config.transfer_steps and "train" not in inputs.parallel:
        raise UserError(
            f"the transfer phases need parallel training text of {name}; give `--parallel "
            f"train.{name}=FILE,FILE`, or `--transfer-steps 0`"
        )
    if embedding_inits[config.embeddings].at_source and "train" not in inputs.parallel:
        raise UserError(
            f"`--embeddings {config.embeddings}` needs parallel training text of {name}; give "
            f"`--parallel train.{name}=FILE,FILE`"
        )
    if config.checkpoint == "best" and not inputs.validates(
        pair, True, bool(config.transfer_steps)
    ):
        raise UserError(
            "`--checkpoint best` needs validation text of both languages, parallel and monolingual"
        )
    if config.autoregressive_patience and "valid" not in inputs.parallel:
        raise UserError(
            f"`--autoregressive-patience` needs parallel validation text of {name}; give "
            f"`--parallel valid.{name}=FILE,FILE`"
        )
    if len(inputs.dictionaries) > 1:
        from fairseq_xling.models.sharing import SharingPlan  # imports torch

        private = SharingPlan.parse(config.separate, inputs.shape.layers).parts
        if not {"tokens", "softmax"} <= set(private):
            raise UserError(
                "a vocabulary for each language needs `--separate` with tokens,softmax, got "
                f"{config.separate!r}"
            )
