"""A translator that writes from slots, trained from a migration's forward model.

The forward model knows which words a source word becomes, but has to be told their order; with an
emission such as a lattice the same weights learn to write whole sentences in one pass.
"""

import functools
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from fairseq_xling.files import read_json
from fairseq_xling.models.emissions import emissions
from fairseq_xling.papers.trelm.book import Book
from fairseq_xling.papers.trelm.config import SCRATCH, Stage, TrelmConfig
from fairseq_xling.papers.trelm.facts import Facts
from fairseq_xling.papers.trelm.steps import Outcome
from fairseq_xling.papers.trelm.teacher import taught_folder
from fairseq_xling.papers.trelm.training import model_options, training_step
from fairseq_xling.papers.trelm.translations import add_translation, forward, translate_step
from fairseq_xling.runs.step import Step

NAME = "translator"
NGRAM, RESCORE = "ngram", "rescore"  # options that name other models


class Trained(NamedTuple):
    """A translator: its ``model``, and the ``record`` of `fairseq-xling tune`, if it was tuned."""

    model: Path
    record: Path | None = None


def add_translator(
    book: Book, config: TrelmConfig, facts: Facts, outcome: Outcome, autoregressive: Path | None
) -> Trained:
    """Train it, all of its weights; what it writes is one of the translations of ``outcome``.

    Args:
        autoregressive: a model that is to rescore hypotheses.
    """
    pair = (config.source_lang, outcome.target)
    stage = Stage(
        *(NAME, config.translator_steps, config.translator_lr, "translation"),
        config.words("translator_args"),
    )
    upsample = config.upsample or emissions[config.emission].upsample
    options = [
        *model_options(config, facts.shape),
        *("--emission", config.emission, "--upsample", str(upsample)),
        *(("--slot-layers", str(config.slot_layers)) if config.slot_layers else ()),
        *(("--glancing", str(config.glancing)) if config.glancing else ()),
        *("--objectives", stage.objectives, "--directions", "-".join(pair)),
    ]
    build = functools.partial(
        training_step,
        run=book.run,
        config=config,
        stage=stage,
        data=taught_folder(book, config, facts, outcome),
        languages=pair,
        options=options,
        seed=outcome.seed,
        start=None if config.translator_start == SCRATCH else outcome.checkpoints["forward"],
        validate=facts.validates((), False, True),
    )
    name = book.add(f"{NAME}-{outcome.target}-{outcome.seed}", outcome.label, build)
    outcome.logs[NAME] = book.run / "logs" / f"{name}.log"
    # Not the best by loss, which rises again while translations become better (on captions 2.5 %
    # more loss, 1.1 BLEU better).
    trained = Trained(book.run / "models" / name / "checkpoint_last.pt")
    if emissions[config.emission].tuned and "valid" in facts.parallel:
        others = _others(config, autoregressive)
        tune = functools.partial(_tune, book.run, config, outcome, trained.model, others)
        kind = f"tune-{outcome.target}-{outcome.seed}"
        trained = _tuned(book.run, book.add(kind, outcome.label, tune))
    add_translations(book, config, outcome, trained.model, config.emission)
    return trained


def add_searches(
    book: Book,
    config: TrelmConfig,
    outcome: Outcome,
    translator: Trained,
    autoregressive: Path | None,
) -> None:
    """Translations by a search over the slots of ``translator``, with the n-gram model as well, and
    those that an autoregressive model finds the best among what each search has found.

    What `fairseq-xling tune` has found counts for the search that it was found with, which has the
    n-gram model if there is one; without it, the rescoring model has its default weight and bonus.
    """
    emission, called = config.emission, f"{config.emission}, beam {config.slot_beam}"
    others = _others(config, autoregressive)
    led = {name: path for name, path in others.items() if name != RESCORE}
    searches = [("beam", "rescored", called, {})]
    if led:
        searches.append(("ngram", "ngram-rescored", f"{called}, n-gram model", led))
    for alone, rescored, name, used in searches:
        rows = [(alone, name, used)]
        if RESCORE in others:
            rows.append((rescored, f"{name}, rescored", used | {RESCORE: others[RESCORE]}))
        for what, title, models in rows:
            options = ["--slot-beam", str(config.slot_beam), *_named(models)]
            inputs, late = [*models.values()], None
            if models and used == led and translator.record:
                inputs.append(translator.record)
                late = functools.partial(_chosen, translator.record, tuple(models))
            add_translations(
                *(book, config, outcome, translator.model, f"{emission}-{what}", title),
                *(options, inputs, late),
            )


def add_translations(
    book: Book,
    config: TrelmConfig,
    outcome: Outcome,
    model: Path,
    what: str,
    called: str = "",
    options: Sequence[str] = (),
    inputs: Sequence[Path] = (),
    late: Callable[[], Sequence[str]] | None = None,
) -> None:
    """What ``model`` writes for every split to translate; see `translate_step`."""
    direction = forward(config, outcome.target)
    for split in config.translate_list:
        write = functools.partial(
            translate_step,
            run=book.run,
            config=config,
            data=outcome.data,
            model=model,
            pair=direction.pair,
            split=split,
            ordering="identity",
            options=options,
            inputs=inputs,
            late=late,
        )
        add_translation(book, config, outcome, direction, what, split, write, called)


def _tuned(run: Path, name: str) -> Trained:
    return Trained(run / "models" / f"{name}.pt", run / "results" / f"{name}.json")


def _others(config: TrelmConfig, autoregressive: Path | None) -> dict[str, Path]:
    """By the option that names it, each other model that has a say in a search."""
    if config.slot_beam == 1:
        return {}
    found = {NGRAM: Path(config.ngram)} if config.ngram else {}
    return found | ({RESCORE: autoregressive} if autoregressive else {})


def _named(models: Mapping[str, Path]) -> list[str]:
    return [word for option, path in models.items() for word in (f"--{option}", str(path))]


def _chosen(record: Path, options: Sequence[str]) -> list[str]:
    """The weights and bonuses that `fairseq-xling tune` has chosen."""
    found = read_json(record)
    return [
        word
        for option in options
        for name in ("weight", "bonus")
        for word in (f"--{option}-{name}", str(found[option]["chosen"][name]))
    ]


def _tune(
    run: Path,
    config: TrelmConfig,
    outcome: Outcome,
    model: Path,
    others: Mapping[str, Path],
    name: str,
) -> Step:
    """`fairseq-xling tune` on the validation text."""
    output, record = _tuned(run, name)
    command = [
        *("fairseq-xling", "tune", str(model), "--output", str(output), "--json", str(record)),
        *("--data", str(outcome.data), "--split", "valid", "--device", config.device),
        *("--from", config.source_lang, "--to", outcome.target),
        *(("--tokenizer", config.bleu_tokenizer) if config.bleu_tokenizer else ()),
        *((*_named(others), "--slot-beam", str(config.slot_beam)) if others else ()),
    ]
    inputs = [outcome.data, model, *others.values()]
    return Step(name, commands=[command], inputs=inputs, outputs=[output, record])
