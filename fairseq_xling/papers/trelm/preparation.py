"""The first steps of a migration: data folders, vectors, their map, initial weights."""

import dataclasses
import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any

from fairseq_xling.mapping.methods import METHODS
from fairseq_xling.papers.trelm.config import NO_MAP, TARGET, TrelmConfig, named_languages
from fairseq_xling.papers.trelm.data import keep_pairs, keep_sentences, pairs_into_mono
from fairseq_xling.papers.trelm.embedding_init import (
    VectorRequest,
    embedding_inits,
    trained_init,
    vectors_path,
)
from fairseq_xling.papers.trelm.inputs import InputSummary
from fairseq_xling.papers.trelm.plan import (
    Artifacts,
    MigrationPlan,
    StepGraph,
    num_segments,
    trilayer_options,
)
from fairseq_xling.runs.corpus_steps import prepare_step
from fairseq_xling.runs.step import Step
from fairseq_xling.text.vocabularies import modes

_SUBSET_SEED = 1  # one order of the pairs for all sizes, so that subsets are nested


def plan_migration(
    graph: StepGraph,
    config: TrelmConfig,
    inputs: InputSummary,
    target: str,
    seed: int,
    label: str = "",
) -> MigrationPlan:
    """A plan with its data folder, given or made by a step.

    Args:
        label: distinguishes the rows of a study.
    """
    data = Path(config.data)
    if not config.data:
        build = functools.partial(_prepare, graph.run, config, inputs, target)
        data = graph.run / "data" / graph.add(f"prepare-{target}", label, build, plain=True)
    return MigrationPlan(graph, config, inputs, Artifacts(target, seed, label, data))


def commonality_folder(plan: MigrationPlan) -> Path:
    """The data, or a folder with fewer sentences of both languages (`--commonality-limit`)."""
    return _limited(plan, "commonality", list(plan.pair))


def transfer_folder(plan: MigrationPlan) -> Path:
    """The data, or a folder with fewer of its sentence pairs (`--parallel-limit`)."""
    if not plan.config.parallel_limit:
        return plan.artifacts.data
    settings = {"count": plan.config.parallel_limit, "seed": _SUBSET_SEED, "pair": list(plan.pair)}
    return _derived(plan, "subset", plan.artifacts.data, keep_pairs, settings)


def language_folder(plan: MigrationPlan) -> Path:
    """The data, or a folder with fewer sentences of the target (`--language-limit`), or with the
    pairs' (`--extra-mono`)."""
    data = _limited(plan, "language", [plan.target])
    if not plan.config.extra_mono:
        return data
    settings = {"pair": list(plan.pair), "lang": plan.target}
    return _derived(plan, "extra", data, pairs_into_mono, settings)


def _limited(plan: MigrationPlan, stage: str, languages: list[str]) -> Path:
    count = getattr(plan.config, f"{stage}_limit")
    if not count:
        return plan.artifacts.data
    settings = {"languages": languages, "count": count, "seed": _SUBSET_SEED}
    settings["option"] = f"--{stage}-limit"
    return _derived(plan, f"{stage}-text", plan.artifacts.data, keep_sentences, settings)


def _derived(
    plan: MigrationPlan, kind: str, data: Path, make: Callable[..., None], settings: dict[str, Any]
) -> Path:
    """The folder that ``make`` derives from ``data``."""

    def build(name: str) -> Step:
        output = plan.run / "data" / name
        return Step(
            name,
            call=functools.partial(make, data, output, **settings),
            settings=settings,
            inputs=[data],
            outputs=[output],
        )

    return plan.run / "data" / plan.add(f"{kind}-{plan.target}", build, plain=True)


def _prepare(run: Path, config: TrelmConfig, inputs: InputSummary, target: str, name: str) -> Step:
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
        inputs=[*inputs.files, *([Path(folder)] if folder else [])],
        mode=config.vocab,
        vocab_type=config.vocab_type,
        vocab_size=config.vocab_size // len(modes[config.vocab]().groups(pair)),
        aligner=config.aligner,
        options=[*segment, *config.words("prepare_args")],
    )


def add_first_weights(plan: MigrationPlan) -> None:
    """The checkpoint that training starts from, and the vectors that it is made from."""
    config, artifacts = plan.config, plan.artifacts
    for languages in () if config.keep_vocabulary else plan.inputs.dictionaries:
        file = _vectors(plan, languages)
        artifacts.vectors += [file] if file else []
    words = ["--copy-shared"] if config.copy_shared else []
    if config.keep_vocabulary:
        words = ["--embeddings", "source"]

    def build(name: str) -> Step:
        return init_step(
            plan,
            name,
            [
                *("--arch", config.arch, "--languages", ",".join(plan.pair)),
                *trilayer_options(config),
                *(["--separate", config.separate] if config.separate else []),
            ],
            [
                *(part for file in artifacts.vectors for part in ("--vectors", str(file))),
                *(*words, "--seed", str(artifacts.seed)),
            ],
        )

    name = plan.add(f"init-{plan.code}", build)
    artifacts.checkpoints["init"] = plan.run / "models" / f"{name}.pt"


def init_step(plan: MigrationPlan, name: str, model: list[str], words: list[str]) -> Step:
    """The source encoder as a checkpoint for the data folder, by `fairseq-xling init`.

    Args:
        model: options of the model; words: of the embeddings of its words.
    """
    config, shape, output = plan.config, plan.inputs.shape, plan.run / "models" / f"{name}.pt"
    command = [
        *("fairseq-xling", "init", config.source, *_source_options(config)),
        *("--data", str(plan.artifacts.data), "--output", str(output), *model),
        *("--max-positions", str(config.max_positions or shape.max_positions)),
        *("--num-segments", str(num_segments(config, shape)), *words),
        *config.words("init_args"),
    ]
    inputs = [Path(config.source), plan.artifacts.data, *plan.artifacts.vectors]
    return Step(name, commands=[command], inputs=inputs, outputs=[output])


def _source_options(config: TrelmConfig) -> list[str]:
    """The options by which `init` finds the files of the source checkpoint."""
    data, lang = config.source_data, config.source_language
    return [
        *(("--source-data", data) if data else ()),
        *(("--source-language", lang) if lang else ()),
    ]


def _vectors(plan: MigrationPlan, languages: tuple[str, ...]) -> Path | None:
    """Vectors of one dictionary's subwords, mapped if requested; ``None`` if they are drawn by
    `init`."""
    config, run = plan.config, plan.run
    method, mapped = embedding_inits[config.embeddings], config.mapping != NO_MAP
    if method.drawn and not mapped:
        return None
    which = f"{plan.target}-{languages[0]}" if len(plan.inputs.dictionaries) > 1 else plan.target
    if len(languages) > 1 and config.embed_languages == TARGET:
        languages = (plan.target,)
    fixed = None
    if method.at_source or mapped:
        build = functools.partial(_source_vectors, run, config)
        fixed = vectors_path(run, plan.add("source-vectors", build, plain=True))
    width, data = plan.inputs.shape.dim, plan.artifacts.data
    request = VectorRequest(run, config, width, data, plan.pair, languages, fixed)
    build = functools.partial(method.step, request)
    made = vectors_path(run, plan.add(f"embed-{which}", build, plain=True))
    if not mapped:
        return made
    build = functools.partial(_map, run, config, made, fixed)
    return vectors_path(run, plan.add(f"map-{which}", build, plain=True))


def word_vectors(plan: MigrationPlan) -> dict[str, Path]:
    """Vectors of whole words of both languages in one space, by language: the target's are mapped
    to the source's (RositaWORD, TreLM, Table 9)."""
    run, target = plan.run, plan.target
    config = dataclasses.replace(
        plan.config, vocab="separate", vocab_type="word", aligner="none", prepare_args="",
        vectors="", keep_vocabulary=False,
        mapping=TrelmConfig.mapping if plan.config.mapping == NO_MAP else plan.config.mapping,
    )  # fmt: skip
    method = embedding_inits[trained_init(config.embeddings)]
    prepare = functools.partial(_prepare, run, config, plan.inputs, target)
    data = run / "data" / plan.add(f"prepare-words-{target}", prepare, plain=True)
    made = {}
    for lang in plan.pair:
        width = plan.inputs.shape.dim
        request = VectorRequest(run, config, width, data, plan.pair, (lang,))
        build = functools.partial(method.step, request)
        name = plan.add(f"embed-words-{target}-{lang}", build, plain=True)
        made[lang] = vectors_path(run, name)
    build = functools.partial(_map, run, config, made[target], made[config.source_lang])
    name = plan.add(f"map-words-{target}", build, plain=True)
    return {**made, target: vectors_path(run, name)}


def _source_vectors(run: Path, config: TrelmConfig, name: str) -> Step:
    output = vectors_path(run, name)
    command = ["fairseq-xling", "init", config.source, *_source_options(config)]
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
