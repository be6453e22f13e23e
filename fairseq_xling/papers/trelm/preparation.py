"""The first steps of a migration: data folders, vectors, their map, initial weights."""

import dataclasses
import functools
import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from fairseq_xling.mapping.methods import METHODS
from fairseq_xling.papers.trelm.config import NO_MAP, TARGET, TrelmConfig, named_languages
from fairseq_xling.papers.trelm.data import keep_pairs, keep_sentences, pairs_into_mono
from fairseq_xling.papers.trelm.embedding_init import (
    VECTORS,
    VectorRequest,
    embedding_inits,
    trained_init,
)
from fairseq_xling.papers.trelm.inputs import InputSummary
from fairseq_xling.papers.trelm.plan import (
    Artifacts,
    MigrationPlan,
    StepGraph,
    num_segments,
    trilayer_options,
)
from fairseq_xling.studies.corpus_steps import prepare_step
from fairseq_xling.text.vocabularies import modes
from fairseq_xling.workflow.step import Step

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
    return _limited(plan, "commonality-text", "commonality", list(plan.pair), plan.artifacts.data)


def transfer_folder(plan: MigrationPlan) -> Path:
    """The data, or a folder with fewer of its sentence pairs (`--parallel-limit`)."""
    if not plan.config.parallel_limit:
        return plan.artifacts.data
    settings = {"count": plan.config.parallel_limit, "seed": _SUBSET_SEED, "pair": list(plan.pair)}
    return _derived(plan, "subset", plan.artifacts.data, keep_pairs, settings)


def language_folder(plan: MigrationPlan) -> Path:
    """The data, or a folder with fewer sentences of the target (`--language-limit`), or with the
    pairs' (`--extra-mono`)."""
    data = _limited(plan, "language-text", "language", [plan.target], plan.artifacts.data)
    if not plan.config.extra_mono:
        return data
    settings = {"pair": list(plan.pair), "lang": plan.target}
    return _derived(plan, "extra", data, pairs_into_mono, settings)


def all_text_folder(plan: MigrationPlan) -> Path:
    """The data, or a folder with what the phases of a migration read in all: what a model from
    scratch reads instead. The target's sentences are those of the phase that has more of them."""
    source, target = plan.pair
    data = _limited(plan, "source-text", "commonality", [source], transfer_folder(plan))
    more = max("commonality", "language", key=lambda stage: _count(plan, stage) or math.inf)
    return _limited(plan, "target-text", more, [target], data)


def _count(plan: MigrationPlan, stage: str) -> int:
    """How many sentences of a language a phase reads; 0 is all."""
    count: int = getattr(plan.config, f"{stage}_limit")
    return count


def _limited(plan: MigrationPlan, kind: str, stage: str, languages: list[str], data: Path) -> Path:
    """``data`` with as many sentences of ``languages`` as a phase reads; ``kind`` of its step."""
    count = _count(plan, stage)
    if not count:
        return data
    settings = {"languages": languages, "count": count, "seed": _SUBSET_SEED}
    settings["option"] = f"--{stage}-limit"
    return _derived(plan, kind, data, keep_sentences, settings)


def _derived(
    plan: MigrationPlan, kind: str, data: Path, make: Callable[..., None], settings: dict[str, Any]
) -> Path:
    """The folder that ``make`` derives from ``data``."""
    return plan.make(
        f"{kind}-{plan.target}",
        "data/{}",
        call=functools.partial(make, data, **settings),
        settings=settings,
        inputs=[data],
        plain=True,
    )


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
    artifacts.checkpoints["init"] = add_init(
        plan,
        f"init-{plan.code}",
        [*trilayer_options(config), *(["--separate", config.separate] if config.separate else [])],
        [
            *(part for file in artifacts.vectors for part in ("--vectors", file)),
            *(*words, "--seed", artifacts.seed),
        ],
    )


def add_init(plan: MigrationPlan, kind: str, model: list[str], words: list[Any]) -> Path:
    """The source encoder as a checkpoint for the data folder, by `fairseq-xling init`.

    Args:
        model: options of the model; words: of the embeddings of its words.
    """
    config, shape, data = plan.config, plan.inputs.shape, plan.artifacts.data
    return plan.make(
        kind,
        "models/{}.pt",
        command=lambda output: [
            *("fairseq-xling", "init", config.source, *_source_options(config)),
            *("--data", data, "--output", output, "--arch", config.arch),
            *("--languages", ",".join(plan.pair), *model),
            *("--max-positions", config.max_positions or shape.max_positions),
            *("--num-segments", num_segments(config, shape), *words),
            *config.words("init_args"),
        ],
        inputs=[Path(config.source), data, *plan.artifacts.vectors],
    )


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
    config = plan.config
    method, mapped = embedding_inits[config.embeddings], config.mapping != NO_MAP
    if method.drawn and not mapped:
        return None
    which = f"{plan.target}-{languages[0]}" if len(plan.inputs.dictionaries) > 1 else plan.target
    if len(languages) > 1 and config.embed_languages == TARGET:
        languages = (plan.target,)
    fixed = None
    if method.at_source or mapped:
        fixed = plan.make(
            "source-vectors",
            VECTORS,
            command=lambda output: [
                *("fairseq-xling", "init", config.source, *_source_options(config)),
                *("--source-vectors", output),
            ],
            inputs=[Path(config.source)],
            plain=True,
        )
    made = _embed(plan, f"embed-{which}", languages, fixed)
    return _map(plan, f"map-{which}", made, fixed) if mapped else made


def word_vectors(plan: MigrationPlan) -> dict[str, Path]:
    """Vectors of whole words of both languages in one space, by language: the target's are mapped
    to the source's (RositaWORD, TreLM, Table 9)."""
    target = plan.target
    config = dataclasses.replace(
        plan.config, vocab="separate", vocab_type="word", aligner="none", prepare_args="",
        vectors="", keep_vocabulary=False, embeddings=trained_init(plan.config.embeddings),
        mapping=TrelmConfig.mapping if plan.config.mapping == NO_MAP else plan.config.mapping,
    )  # fmt: skip
    prepare = functools.partial(_prepare, plan.run, config, plan.inputs, target)
    data = plan.run / "data" / plan.add(f"prepare-words-{target}", prepare, plain=True)
    artifacts = dataclasses.replace(plan.artifacts, data=data)
    plan = dataclasses.replace(plan, config=config, artifacts=artifacts)
    made = {lang: _embed(plan, f"embed-words-{target}-{lang}", (lang,)) for lang in plan.pair}
    fixed = made[config.source_lang]
    return {**made, target: _map(plan, f"map-words-{target}", made[target], fixed)}


def _embed(
    plan: MigrationPlan, kind: str, languages: Sequence[str], fixed: Path | None = None
) -> Path:
    """Vectors by the method of the settings; ``fixed`` are those of the source."""
    config, data = plan.config, plan.artifacts.data
    request = VectorRequest(
        plan.run, config, plan.inputs.shape.dim, data, plan.pair, languages, fixed
    )
    build = functools.partial(embedding_inits[config.embeddings].step, request)
    return plan.run / VECTORS.format(plan.add(kind, build, plain=True))


def _map(plan: MigrationPlan, kind: str, moving: Path, fixed: Path | None) -> Path:
    config = plan.config
    return plan.make(
        kind,
        VECTORS,
        command=lambda output: [
            *("fairseq-xling", "map", config.mapping, "--source-vectors", fixed),
            *("--vectors", moving, "--output", output),
            *(("--seeds", config.map_seeds) if METHODS[config.mapping]().seeded else ()),
            *("--refine", config.map_refine),
            *(("--keep-failed",) if config.map_keep_failed else ()),
            *("--device", config.device, *config.words("map_args")),
        ],
        also=[f"{VECTORS}.json"],
        inputs=[moving, fixed],
        resumable=True,
        plain=True,
    )
