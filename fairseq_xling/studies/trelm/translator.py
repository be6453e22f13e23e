"""A translator whose slots write a word or nothing, trained from a migration's forward model.

The forward model knows which words a source word becomes, but has to be told their order; with an
emission such as CTC the same weights learn to write whole sentences in one pass.
"""

import functools
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from fairseq_xling.files import read_json
from fairseq_xling.models.emissions import emissions
from fairseq_xling.runs.step import Step
from fairseq_xling.studies.trelm.book import Book
from fairseq_xling.studies.trelm.config import Stage, TrelmConfig
from fairseq_xling.studies.trelm.facts import Facts
from fairseq_xling.studies.trelm.steps import Outcome
from fairseq_xling.studies.trelm.teacher import taught_folder
from fairseq_xling.studies.trelm.training import model_options, training_step
from fairseq_xling.studies.trelm.translations import add_translation, forward, translate_step

NAME = "translator"


class Trained(NamedTuple):
    """A translator: its ``model``, and the ``record`` of `fairseq-xling tune`, if it was tuned."""

    model: Path
    record: Path | None


def add_translator(book: Book, config: TrelmConfig, facts: Facts, outcome: Outcome) -> Trained:
    """Train it, all of its weights; what it writes is one of the translations of ``outcome``."""
    pair = (config.source_lang, outcome.target)
    stage = Stage(
        *(NAME, config.translator_steps, config.translator_lr, "translation"),
        config.words("translator_args"),
    )
    options = [
        *model_options(config, facts.shape),
        *("--emission", config.emission, "--upsample", str(config.upsample)),
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
        start=outcome.checkpoints["forward"],
        validate=facts.validates((), False, True),
    )
    name = book.add(f"{NAME}-{outcome.target}-{outcome.seed}", outcome.label, build)
    outcome.logs[NAME] = book.run / "logs" / f"{name}.log"
    # Not the best by loss, which rises again while translations become better (on captions 2.5 %
    # more loss, 1.1 BLEU better).
    model, record = book.run / "models" / name / "checkpoint_last.pt", None
    if emissions[config.emission].tuned and "valid" in facts.parallel:
        tune = functools.partial(_tune, book.run, config, outcome, model)
        kind = f"tune-{outcome.target}-{outcome.seed}"
        model, record = _tuned(book.run, book.add(kind, outcome.label, tune))
    add_translations(book, config, outcome, model, config.emission)
    return Trained(model, record)


def add_searches(
    book: Book,
    config: TrelmConfig,
    outcome: Outcome,
    translator: Trained,
    autoregressive: Path | None,
) -> None:
    """Translations by a search over the slots of ``translator``, with the n-gram model as well, and
    those that an autoregressive model finds the best among what each search has found."""
    model, record = translator
    emission, beam = config.emission, ("--slot-beam", str(config.slot_beam))
    called = f"{emission}, beam {config.slot_beam}"
    searches = [("beam", "rescored", called, beam, [], None)]
    if config.ngram:
        led = (*beam, "--ngram", config.ngram)
        named = ("ngram", "ngram-rescored", f"{called}, n-gram model")
        read, late = [Path(config.ngram)], None
        if record and _tunes_ngram(config):
            read, late = [*read, record], functools.partial(_ngram_options, record)
        searches.append((*named, led, read, late))
    add = functools.partial(add_translations, book, config, outcome, model)
    for alone, rescored, called, options, inputs, late in searches:
        add(f"{emission}-{alone}", called, options, inputs, late)
        if autoregressive:
            chosen, read = (*options, "--rescore", str(autoregressive)), [*inputs, autoregressive]
            add(f"{emission}-{rescored}", f"{called}, rescored", chosen, read, late)


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


def _tunes_ngram(config: TrelmConfig) -> bool:
    """Whether there is a search with an n-gram model whose values nobody has given."""
    given = any(word.startswith("--ngram-") for word in config.words("generate_args"))
    return bool(config.ngram) and config.slot_beam > 1 and not given


def _ngram_options(record: Path) -> list[str]:
    """The weight and the bonus of the n-gram model that `fairseq-xling tune` has chosen."""
    chosen = read_json(record)["ngram"]["chosen"]
    return ["--ngram-weight", str(chosen["weight"]), "--ngram-bonus", str(chosen["bonus"])]


def _tune(run: Path, config: TrelmConfig, outcome: Outcome, model: Path, name: str) -> Step:
    """`fairseq-xling tune` on the validation text."""
    output, record = _tuned(run, name)
    ngram = [config.ngram] if _tunes_ngram(config) else []
    command = [
        *("fairseq-xling", "tune", str(model), "--output", str(output), "--json", str(record)),
        *("--data", str(outcome.data), "--split", "valid", "--device", config.device),
        *("--from", config.source_lang, "--to", outcome.target),
        *(("--tokenizer", config.bleu_tokenizer) if config.bleu_tokenizer else ()),
        *(("--ngram", *ngram, "--slot-beam", str(config.slot_beam)) if ngram else ()),
    ]
    inputs = [outcome.data, model, *map(Path, ngram)]
    return Step(name, commands=[command], inputs=inputs, outputs=[output, record])
