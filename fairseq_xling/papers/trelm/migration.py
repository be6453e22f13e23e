"""A whole migration to one language with one seed, as steps (TreLM, Algorithm 1).

prepare -> embed -> map -> init -> commonality -> forward  -> combine -> language
                                               -> backward ->

The forward model translates the source language into the target, the backward model the target into
the source, with the words in the order of the sentence that is translated (Table 6). The forward
model knows which words a source word becomes, but has to be told their order; with an emission such
as a lattice the same weights learn to write whole sentences in one pass: a translator.
"""

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from fairseq_xling import USER_DIR
from fairseq_xling.models.emissions import emissions
from fairseq_xling.objectives import objectives
from fairseq_xling.papers.trelm.config import SCRATCH, Stage, TrelmConfig, names_in
from fairseq_xling.papers.trelm.plan import BuildStep, MigrationPlan, add_bpw, model_options
from fairseq_xling.papers.trelm.preparation import (
    add_first_weights,
    commonality_folder,
    language_folder,
    transfer_folder,
)
from fairseq_xling.workflow.step import Step

# fairseq-generate's own default is a single sentence if no limit is given.
_GENERATE_TOKENS = 8192
TRANSLATOR = "translator"


def add_migration(plan: MigrationPlan) -> None:
    """Add the phases one after another, their evaluation, and translations with the two halves."""
    add_first_weights(plan)
    _add_commonality(plan)
    _add_transfer(plan)
    _add_language(plan)
    add_bpw(plan)
    if not _translates(plan):
        return
    config = plan.config
    # Nothing but CdLM teaches another order than the sentence's own.
    orderings = config.ordering_list if config.predicts_translations else ["identity"]
    for direction in directions(plan):
        for split in config.translate_list:
            for ordering in orderings:
                build = functools.partial(
                    translate_step,
                    plan,
                    plan.artifacts.checkpoints[direction.phase],
                    direction.pair,
                    split,
                    ordering,
                )
                add_translation(plan, direction, ordering, split, build)


def _translates(plan: MigrationPlan) -> bool:
    """Whether there is a model and a text to translate with."""
    config, there = plan.config, plan.inputs.parallel.issuperset(plan.config.translate_list)
    asked = config.predicts_translations or (config.translate_both and config.trilayer)
    return there and "forward" in plan.artifacts.checkpoints and asked


def _add_commonality(plan: MigrationPlan) -> None:
    if plan.config.commonality_steps:
        _train(plan, "commonality", "commonality", commonality_folder(plan), plan.pair)


def _add_transfer(plan: MigrationPlan) -> None:
    if not plan.config.transfer_steps:
        return
    data, start = transfer_folder(plan), plan.last
    for phase, pair in (("forward", plan.pair), ("backward", plan.pair[::-1])):
        options = ["--directions", "-".join(pair), "--mono-text", "parallel"]
        heads = plan.config.auxiliary if plan.config.predicts_translations else ""
        _train(plan, phase, "transfer", data, plan.pair[1:], options, heads, start=start)
    checkpoints = plan.artifacts.checkpoints
    halves = [checkpoints[phase] for phase in ("forward", "backward")]
    checkpoints["combined"] = plan.make(
        f"combine-{plan.code}",
        "models/{}.pt",
        command=lambda output: ["fairseq-xling", "combine", *halves, "--output", output],
        inputs=halves,
    )


def _add_language(plan: MigrationPlan) -> None:
    if plan.config.language_steps:
        heads, instead = "", {}
        if plan.config.nsp:  # it is also MLM, over two segments
            heads, instead = "nsp", {"mlm": "nsp"}
        data = language_folder(plan)
        _train(plan, "language", "language", data, plan.pair[1:], (), heads, instead)


def _train(
    plan: MigrationPlan,
    phase: str,
    stage_name: str,
    data: Path,
    mono_languages: Sequence[str],
    options: Sequence[str] = (),
    heads: str = "",
    instead: Mapping[str, str] | None = None,
    start: Path | None = None,
) -> None:
    """Train on ``data`` from ``start`` or the last checkpoint; ``instead`` replaces objectives."""
    stage = plan.config.stage(stage_name)
    chosen = [(instead or {}).get(name, name) for name in names_in(stage.objectives)]
    reads = {objectives[name].reads for name in chosen}
    own_text = "--mono-text" not in options and reads != {"parallel"}
    options = [
        *model_options(plan.config, plan.inputs.shape),
        *("--trelm-phase", phase, "--objectives", ",".join(chosen)),
        *("--mono-languages", ",".join(mono_languages), *options),
        *(("--auxiliary", heads) if heads else ()),
        *(("--alternate",) if plan.config.separate else ("--mix-in-batch",)),
    ]
    pairs = not own_text or "parallel" in reads
    validate = plan.inputs.validates(mono_languages, own_text, pairs)
    start = start or plan.last
    plan.train_phase(phase, stage, options, data=data, start=start, validate=validate)


@dataclass(frozen=True)
class Direction:
    """One way to translate.

    Attributes:
        phase: whose model translates: ``forward`` or ``backward``.
        pair: the language that is read, and the one that is written.
        prefix: of the names of its steps.
        suffix: of its names in tables.
    """

    phase: str
    pair: tuple[str, str]
    prefix: str = ""
    suffix: str = ""


def forward(plan: MigrationPlan) -> Direction:
    """From the source language to the target."""
    return Direction("forward", plan.pair)


def directions(plan: MigrationPlan) -> list[Direction]:
    """Forward, and with `--translate-both` also backward."""
    back = Direction("backward", plan.pair[::-1], prefix="back-", suffix=", backward")
    return [forward(plan), back] if plan.config.translate_both else [forward(plan)]


def translation_name(config: TrelmConfig, what: str, split: str) -> str:
    """``what`` translates ``split``, in tables: the first split to translate goes unsaid.

    >>> config = TrelmConfig(translate_split="test,test1")
    >>> [translation_name(config, "oracle", split) for split in config.translate_list]
    ['oracle', 'oracle, test1']
    """
    return what if split == config.translate_list[0] else f"{what}, {split}"


def add_translation(
    plan: MigrationPlan,
    direction: Direction,
    what: str,
    split: str,
    build: BuildStep,
    title: str = "",
) -> None:
    """Add a step that translates ``split``, and what it writes to the translations.

    Args:
        what: translates, in the step's name; title: the same in tables, if it is another.
        build: the step of a name, which writes into the folder ``translations/name`` of the run.
    """
    config, artifacts = plan.config, plan.artifacts
    which = "" if split == config.translate_list[0] else f"{split}-"
    name = plan.add(f"translate-{direction.prefix}{which}{what}-{plan.code}", build)
    title = translation_name(config, f"{title or what}{direction.suffix}", split)
    artifacts.translations[title] = plan.run / "translations" / name / f"generate-{split}.txt"
    if direction.pair[1] != plan.target:
        artifacts.backward.append(title)


def translate_step(
    plan: MigrationPlan,
    model: Path,
    pair: tuple[str, str],
    split: str,
    ordering: str,
    name: str,
    options: Sequence[str] = (),
) -> Step:
    """fairseq-generate with one of our models, into the folder ``translations/name`` of the run."""
    config, data, folder = plan.config, plan.artifacts.data, plan.run / "translations" / name
    command = [
        *("fairseq-generate", str(data), "--user-dir", str(USER_DIR), "--task", "cdlm"),
        *("--path", str(model), "--gen-subset", split),
        *("-s", pair[0], "-t", pair[1], "--ordering", ordering),
        *("--max-tokens", str(_GENERATE_TOKENS), "--results-path", str(folder)),
        *(("--cpu",) if config.device == "cpu" else ()),
        *options,
        *config.words("generate_args"),
    ]
    return Step(name, commands=[command], inputs=[data, model], outputs=[folder])


def add_translator(plan: MigrationPlan, teach: Callable[[MigrationPlan], Path]) -> None:
    """Train a translator, all of its weights; what it writes is one of the translations, and with
    `--slot-beam` what it finds by a search over its slots another.

    Args:
        teach: adds what makes the folder that it trains on.
    """
    config, emission = plan.config, plan.config.emission
    stage = Stage(
        *(TRANSLATOR, config.translator_steps, config.translator_lr, "translation"),
        config.words("translator_args"),
    )
    upsample = config.upsample or emissions[emission].upsample
    options = [
        *model_options(config, plan.inputs.shape),
        *("--emission", emission, "--upsample", str(upsample)),
        *(("--slot-layers", str(config.slot_layers)) if config.slot_layers else ()),
        *(("--glancing", str(config.glancing)) if config.glancing else ()),
        *("--objectives", stage.objectives, "--directions", "-".join(plan.pair)),
    ]
    forward_model = plan.artifacts.checkpoints["forward"]
    # Not the best by loss, which rises again while translations become better (on captions 2.5 %
    # more loss, 1.1 BLEU better).
    model = plan.train(
        TRANSLATOR,
        stage,
        options,
        data=teach(plan),
        start=None if config.translator_start == SCRATCH else forward_model,
        validate=plan.inputs.validates((), False, True),
        checkpoint="last",
    )
    _add_slot_translations(plan, model, emission, emission)
    if config.slot_beam > 1:
        beam = str(config.slot_beam)
        title = f"{emission}, beam {beam}"
        _add_slot_translations(plan, model, f"{emission}-beam", title, ("--slot-beam", beam))


def _add_slot_translations(
    plan: MigrationPlan, model: Path, what: str, title: str, options: Sequence[str] = ()
) -> None:
    """What ``model`` writes for every split to translate."""
    direction = forward(plan)
    for split in plan.config.translate_list:
        build = functools.partial(
            translate_step, plan, model, direction.pair, split, "identity", options=options
        )
        add_translation(plan, direction, what, split, build, title)
