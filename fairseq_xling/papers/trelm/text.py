"""The first steps of a migration: data folder, vectors, their map, initial weights."""

import dataclasses
import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any

from fairseq_xling.mapping.methods import METHODS
from fairseq_xling.papers.trelm.book import Book
from fairseq_xling.papers.trelm.config import NO_MAP, TARGET, TrelmConfig, named_languages
from fairseq_xling.papers.trelm.data import keep_pairs, keep_sentences, pairs_into_mono
from fairseq_xling.papers.trelm.facts import Facts
from fairseq_xling.papers.trelm.training import segments, trilayer_options
from fairseq_xling.papers.trelm.vector_ways import (
    VectorRequest,
    trained_way,
    vector_ways,
    vectors_path,
)
from fairseq_xling.runs.corpus_steps import prepare_step
from fairseq_xling.runs.step import Step
from fairseq_xling.text.vocabularies import modes

_SUBSET_SEED = 1  # one order of the pairs for all sizes, so that subsets are nested


def data_folder(book: Book, config: TrelmConfig, facts: Facts, target: str, label: str) -> Path:
    """The data folder of the source language and ``target``, given or made by a step."""
    if config.data:
        return Path(config.data)
    build = functools.partial(_prepare, book.run, config, facts, target)
    return book.run / "data" / book.add(f"prepare-{target}", label, build, plain=True)


def commonality_folder(
    book: Book, config: TrelmConfig, data: Path, target: str, label: str
) -> Path:
    """``data``, or a folder with fewer sentences of both languages (`--commonality-limit`)."""
    pair = [config.source_lang, target]
    return _limited(book, config, "commonality", label, data, target, pair)


def transfer_folder(book: Book, config: TrelmConfig, data: Path, target: str, label: str) -> Path:
    """``data``, or a folder with fewer of its sentence pairs (`--parallel-limit`)."""
    if not config.parallel_limit:
        return data
    settings = {"count": config.parallel_limit, "seed": _SUBSET_SEED}
    settings["pair"] = [config.source_lang, target]
    return _derived(book, f"subset-{target}", label, data, keep_pairs, settings)


def language_folder(book: Book, config: TrelmConfig, data: Path, target: str, label: str) -> Path:
    """``data``, or a folder with fewer sentences of the target (`--language-limit`), or with the
    pairs' (`--extra-mono`)."""
    data = _limited(book, config, "language", label, data, target, [target])
    if not config.extra_mono:
        return data
    settings = {"pair": [config.source_lang, target], "lang": target}
    return _derived(book, f"extra-{target}", label, data, pairs_into_mono, settings)


def _limited(
    book: Book,
    config: TrelmConfig,
    stage: str,
    label: str,
    data: Path,
    target: str,
    languages: list[str],
) -> Path:
    count = getattr(config, f"{stage}_limit")
    if not count:
        return data
    settings = {"languages": languages, "count": count, "seed": _SUBSET_SEED}
    settings["option"] = f"--{stage}-limit"
    return _derived(book, f"{stage}-text-{target}", label, data, keep_sentences, settings)


def _prepare(run: Path, config: TrelmConfig, facts: Facts, target: str, name: str) -> Step:
    pair = [config.source_lang, target]
    given = [
        ("--mono", config.mono),
        ("--parallel", config.parallel),
        ("--alignment", config.alignment),
    ]
    source = ["--from", config.text] if config.text else []
    source += [
        part
        for option, texts in given
        for text in texts
        if named_languages(text) <= set(pair)
        for part in (option, text)
    ]
    folder = config.source_vocabulary
    if folder:
        source += [x for lang in pair for x in ("--tokenizer", f"{lang}={folder}")]
    segment = [part for how in config.segment_of(target) for part in ("--segment", how)]
    return prepare_step(
        name,
        run / "data" / name,
        pair,
        source=source,
        inputs=[*facts.files, *([Path(folder)] if folder else [])],
        mode=config.vocab,
        vocab_type=config.vocab_type,
        vocab_size=config.vocab_size // len(modes[config.vocab]().groups(pair)),
        aligner=config.aligner,
        options=[*segment, *config.words("prepare_args")],
    )


def _derived(
    book: Book,
    kind: str,
    label: str,
    data: Path,
    make: Callable[..., None],
    settings: dict[str, Any],
) -> Path:
    """The folder that ``make`` derives from ``data``."""

    def build(name: str) -> Step:
        output = book.run / "data" / name
        return Step(
            name,
            call=functools.partial(make, data, output, **settings),
            settings=settings,
            inputs=[data],
            outputs=[output],
        )

    return book.run / "data" / book.add(kind, label, build, plain=True)


def first_weights(
    book: Book,
    config: TrelmConfig,
    facts: Facts,
    data: Path,
    target: str,
    seed: int,
    label: str,
) -> tuple[Path, list[Path]]:
    """The checkpoint that training starts from, and the files of vectors that it is made from."""
    files = [
        _vectors(book, config, facts, data, target, languages, label)
        for languages in (() if config.keep_vocabulary else facts.dictionaries)
    ]
    vectors = [file for file in files if file is not None]

    def build(name: str) -> Step:
        output = book.run / "models" / f"{name}.pt"
        command = [
            *("fairseq-xling", "init", config.source, *source_options(config)),
            *("--data", str(data), "--output", str(output), "--arch", config.arch),
            *("--languages", f"{config.source_lang},{target}"),
            *trilayer_options(config),
            *(["--separate", config.separate] if config.separate else []),
            *("--max-positions", str(config.max_positions or facts.shape.max_positions)),
            *("--num-segments", str(segments(config, facts.shape))),
            *(part for file in vectors for part in ("--vectors", str(file))),
            *_words(config),
            *("--seed", str(seed), *config.words("init_args")),
        ]
        inputs = [Path(config.source), data, *vectors]
        return Step(name, commands=[command], inputs=inputs, outputs=[output])

    name = book.add(f"init-{target}-{seed}", label, build)
    return book.run / "models" / f"{name}.pt", vectors


def _words(config: TrelmConfig) -> tuple[str, ...]:
    """The options of `init` for words that no file of vectors has."""
    if config.keep_vocabulary:
        return ("--embeddings", "source")
    return ("--copy-shared",) if config.copy_shared else ()


def source_options(config: TrelmConfig) -> list[str]:
    """The options by which `init` finds the files of the source checkpoint."""
    data, lang = config.source_data, config.source_language
    return [
        *(("--source-data", data) if data else ()),
        *(("--source-language", lang) if lang else ()),
    ]


def _vectors(
    book: Book,
    config: TrelmConfig,
    facts: Facts,
    data: Path,
    target: str,
    languages: tuple[str, ...],
    label: str,
) -> Path | None:
    """Vectors of one dictionary's subwords, mapped if requested; ``None`` if they are drawn by
    `init`."""
    way, mapped = vector_ways[config.embeddings], config.mapping != NO_MAP
    if way.drawn and not mapped:
        return None
    which = f"-{languages[0]}" if len(facts.dictionaries) > 1 else ""
    if len(languages) > 1 and config.embed_languages == TARGET:
        languages = (target,)
    fixed = None
    if way.at_source or mapped:
        build = functools.partial(_source_vectors, book.run, config)
        fixed = vectors_path(book.run, book.add("source-vectors", label, build, plain=True))
    pair = (config.source_lang, target)
    request = VectorRequest(book.run, config, facts.shape.dim, data, pair, languages, fixed)
    build = functools.partial(way.step, request)
    made = vectors_path(book.run, book.add(f"embed-{target}{which}", label, build, plain=True))
    if not mapped:
        return made
    kind = f"map-{target}{which}"
    build = functools.partial(_map, book.run, config, made, fixed)
    return vectors_path(book.run, book.add(kind, label, build, plain=True))


def word_vectors(
    book: Book, config: TrelmConfig, facts: Facts, target: str, label: str
) -> dict[str, Path]:
    """Vectors of whole words of both languages in one space, by language: the target's are mapped
    to the source's (RositaWORD, TreLM, Table 9)."""
    config = dataclasses.replace(
        config, vocab="separate", vocab_type="word", aligner="none", prepare_args="", vectors="",
        keep_vocabulary=False,
        mapping=TrelmConfig.mapping if config.mapping == NO_MAP else config.mapping,
    )  # fmt: skip
    pair, way = (config.source_lang, target), vector_ways[trained_way(config.embeddings)]
    prepare = functools.partial(_prepare, book.run, config, facts, target)
    data = book.run / "data" / book.add(f"prepare-words-{target}", label, prepare, plain=True)
    made = {}
    for lang in pair:
        request = VectorRequest(book.run, config, facts.shape.dim, data, pair, (lang,))
        build = functools.partial(way.step, request)
        name = book.add(f"embed-words-{target}-{lang}", label, build, plain=True)
        made[lang] = vectors_path(book.run, name)
    build = functools.partial(_map, book.run, config, made[target], made[config.source_lang])
    name = book.add(f"map-words-{target}", label, build, plain=True)
    return {**made, target: vectors_path(book.run, name)}


def _source_vectors(run: Path, config: TrelmConfig, name: str) -> Step:
    output = vectors_path(run, name)
    command = ["fairseq-xling", "init", config.source, *source_options(config)]
    command += ["--source-vectors", str(output)]
    return Step(name, commands=[command], inputs=[Path(config.source)], outputs=[output])


def _map(run: Path, config: TrelmConfig, moving: Path, fixed: Path, name: str) -> Step:
    output = vectors_path(run, name)
    command = [
        *("fairseq-xling", "map", config.mapping, "--source-vectors", str(fixed)),
        *("--vectors", str(moving), "--output", str(output)),
        *(("--seeds", config.map_seeds) if METHODS[config.mapping]().seeded else ()),
        *("--refine", str(config.map_refine)),
        *(("--keep-failed",) if config.map_keep_failed else ()),
        *("--device", config.device, *config.words("map_args")),
    ]
    outputs = [output, Path(f"{output}.json")]
    return Step(name, commands=[command], inputs=[moving, fixed], outputs=outputs, resumable=True)
