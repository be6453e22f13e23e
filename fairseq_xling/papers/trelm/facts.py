"""Facts that the plan of a migration needs before any of its steps has run."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from fairseq_xling.data.folder import DataFolder
from fairseq_xling.data.splits import in_order
from fairseq_xling.errors import UserError
from fairseq_xling.files import check_files
from fairseq_xling.models.encoder import EncoderShape
from fairseq_xling.models.trilayer import check_slot_layers
from fairseq_xling.papers.trelm.config import TrelmConfig, named_languages
from fairseq_xling.papers.trelm.vector_ways import vector_ways
from fairseq_xling.registry import did_you_mean
from fairseq_xling.text.sources import Sources, parse_sources
from fairseq_xling.text.vocabularies import modes


@dataclass(frozen=True)
class Facts:
    """Facts about the source encoder, and about the text of one language pair.

    Attributes:
        shape: the source encoder's sizes.
        mono: (split, language) of all monolingual text.
        parallel: splits with parallel text.
        dictionaries: the languages of each dictionary; one group if all share one.
        files: all text files; none with an existing data folder.
    """

    shape: EncoderShape
    mono: frozenset[tuple[str, str]]
    parallel: frozenset[str]
    dictionaries: tuple[tuple[str, ...], ...]
    files: tuple[Path, ...] = ()

    def validates(self, languages: Iterable[str], mono_text: bool, pairs: bool) -> bool:
        """Whether there is validation text for objectives that read these."""
        mono = all(("valid", lang) in self.mono for lang in languages)
        return (mono or not mono_text) and ("valid" in self.parallel or not pairs)


def read_shape(config: TrelmConfig) -> EncoderShape:
    """The sizes of the source encoder.

    Raises:
        UserError: if it cannot be read, or has an odd number of layers and a TRILayer is wanted.
    """
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


def survey(config: TrelmConfig, target: str, shape: EncoderShape) -> Facts:
    """The facts about the pair of the source language and ``target``.

    Raises:
        UserError: if text that the settings need is missing.
    """
    pair = (config.source_lang, target)
    facts = _of_folder(config, pair, shape) if config.data else _of_files(config, target, shape)
    _check(config, pair, facts)
    return facts


def _of_folder(config: TrelmConfig, pair: tuple[str, str], shape: EncoderShape) -> Facts:
    folder = DataFolder(config.data)
    for lang in pair:
        folder.dictionary_path(lang)  # raises for an unknown language
    mono = {(split, lang) for split, found in folder.meta.get("mono", {}).items() for lang in found}
    splits = {
        split
        for split in folder.meta.get("parallel", {})
        if set(pair) in map(set, folder.pairs(split))
    }
    paths = [folder.dictionary_path(lang) for lang in pair]
    return Facts(shape, frozenset(mono), frozenset(splits), _groups(pair, paths))


def _of_files(config: TrelmConfig, target: str, shape: EncoderShape) -> Facts:
    pair = (config.source_lang, target)
    sources = sources_of(config, pair)
    parallel = {split for split, key in sources.parallel if set(key) == set(pair)}
    mode = modes[config.vocab]()
    names = [mode.dictionary_name(lang) for lang in pair]
    files = [file for files in sources.by_role().values() for file in files]
    check_files(*files)
    groups = _groups(pair, names)
    return Facts(shape, frozenset(sources.mono), frozenset(parallel), groups, tuple(files))


def sources_of(config: TrelmConfig, pair: tuple[str, str]) -> Sources:
    """The text files of a language pair; errors as `parse_sources`."""
    given = (config.mono, config.parallel, config.alignment)
    of_pair = [[text for text in texts if named_languages(text) <= set(pair)] for texts in given]
    return parse_sources(pair, *of_pair, folder=config.text or None)


def _groups(pair: tuple[str, str], owners: list) -> tuple[tuple[str, ...], ...]:
    return (pair,) if owners[0] == owners[1] else tuple((lang,) for lang in pair)


def _check(config: TrelmConfig, pair: tuple[str, str], facts: Facts) -> None:
    check_slot_layers(config.slot_layers, facts.shape.layers, "the source's layers")
    name = "-".join(pair)
    for lang in pair:
        if ("train", lang) not in facts.mono:
            raise UserError(
                f"no monolingual training text of {lang!r}: give `--mono train.{lang}=FILE`"
            )
        if (config.bpw_split, lang) not in facts.mono:
            raise UserError(
                f"`--bpw-split` {config.bpw_split}: there is no monolingual text of {lang!r} in it"
            )
    # What is asked for by name must be there; the first test set is translated where there is one.
    missing = [split for split in config.translate_list if split not in facts.parallel]
    if missing and config.translate_list != ["test"]:
        there = ", ".join(in_order(facts.parallel)) or "none"
        near = did_you_mean(missing[0], sorted(facts.parallel))
        raise UserError(
            f"`--translate-split` {missing[0]}: there is no parallel text of {name} in it; splits "
            f"that have some: {there}{near}"
        )
    if config.transfer_steps and "train" not in facts.parallel:
        raise UserError(
            f"the transfer phases need parallel training text of {name}; give `--parallel "
            f"train.{name}=FILE,FILE`, or `--transfer-steps 0`"
        )
    if vector_ways[config.embeddings].at_source and "train" not in facts.parallel:
        raise UserError(
            f"`--embeddings {config.embeddings}` needs parallel training text of {name}; give "
            f"`--parallel train.{name}=FILE,FILE`"
        )
    if config.checkpoint == "best" and not facts.validates(pair, True, bool(config.transfer_steps)):
        raise UserError(
            "`--checkpoint best` needs validation text of both languages, parallel and monolingual"
        )
    if config.autoregressive_patience and "valid" not in facts.parallel:
        raise UserError(
            f"`--autoregressive-patience` needs parallel validation text of {name}; give "
            f"`--parallel valid.{name}=FILE,FILE`"
        )
    if len(facts.dictionaries) > 1 and not {"tokens", "softmax"} <= _separate(config, facts):
        raise UserError(
            "a vocabulary for each language needs `--separate` with tokens,softmax, got "
            f"{config.separate!r}"
        )


def _separate(config: TrelmConfig, facts: Facts) -> set[str]:
    from fairseq_xling.models.sharing import SharingPlan

    return set(SharingPlan.parse(config.separate, facts.shape.layers).parts)
