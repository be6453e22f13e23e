"""A whole migration to one language with one seed, as steps (TreLM, Algorithm 1).

prepare -> embed -> map -> init -> commonality -> forward  -> combine -> language
                                               -> backward ->
"""

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from fairseq_xling.objectives import objectives
from fairseq_xling.papers.trelm.book import Book
from fairseq_xling.papers.trelm.config import TrelmConfig, names_in
from fairseq_xling.papers.trelm.facts import Facts
from fairseq_xling.papers.trelm.text import (
    commonality_folder,
    data_folder,
    first_weights,
    language_folder,
    transfer_folder,
)
from fairseq_xling.papers.trelm.training import checkpoint, model_options, training_step
from fairseq_xling.papers.trelm.translations import (
    Direction,
    add_translation,
    directions,
    translate_step,
)
from fairseq_xling.runs.corpus_steps import eval_command
from fairseq_xling.runs.step import Step


@dataclass
class Outcome:
    """The files of a migration.

    Attributes:
        target, seed, label: which one it is.
        data: its data folder.
        vectors: the files of vectors that its embeddings were initialised from.
        checkpoints: by phase, in their order; the last is the migrated model.
        logs: of the phases that are trainings.
        updates: their numbers of steps.
        bpw: bits per word of all checkpoints, as `fairseq-xling eval` writes them.
        translations: the text that fairseq-generate writes, by ordering, with the split's name for
            all splits but the first (see `translation_name`).
        backward: the names of those that write the source language.
        tasks: the folders of its tasks by name.
        head_options: of the training of a head on it, and head_inputs: the files that these name.
        distances: of its aligned words, as `fairseq-xling eval aligned` writes them, if measured.
    """

    target: str
    seed: int
    label: str
    data: Path
    vectors: list[Path] = field(default_factory=list)
    checkpoints: dict[str, Path] = field(default_factory=dict)
    logs: dict[str, Path] = field(default_factory=dict)
    updates: dict[str, int] = field(default_factory=dict)
    bpw: Path = Path()
    translations: dict[str, Path] = field(default_factory=dict)
    backward: list[str] = field(default_factory=list)
    tasks: dict[str, Path] = field(default_factory=dict)
    head_options: list[str] = field(default_factory=list)
    head_inputs: list[Path] = field(default_factory=list)
    distances: Path | None = None

    @property
    def results(self) -> list[Path]:
        """All files that a report reads."""
        found = [self.bpw, *self.translations.values(), *self.tasks.values(), *self.logs.values()]
        return found if self.distances is None else [*found, self.distances]


def add_migration(
    book: Book, config: TrelmConfig, facts: Facts, target: str, seed: int, label: str = ""
) -> Outcome:
    """Add the steps of a migration to ``book``; ``label`` distinguishes the rows of a study."""
    data = data_folder(book, config, facts, target, label)
    outcome = Outcome(target, seed, label, data)
    first, outcome.vectors = first_weights(book, config, facts, data, target, seed, label)
    outcome.checkpoints["init"] = first
    maker = _Phases(book, config, facts, outcome)
    maker.commonality()
    maker.transfer()
    maker.language()
    outcome.bpw = add_bpw(book, config, outcome)
    for direction in directions(config, target) if maker.translates else []:
        for split in config.translate_list:
            for ordering in maker.orderings:
                maker.translation(direction, ordering, split)
    return outcome


class _Phases:
    """Adds the phases one after another; each starts from the previous one's checkpoint."""

    def __init__(self, book: Book, config: TrelmConfig, facts: Facts, outcome: Outcome):
        self.book, self.config, self.facts, self.outcome = book, config, facts, outcome
        self.pair = (config.source_lang, outcome.target)
        self.last = outcome.checkpoints["init"]

    @property
    def translates(self) -> bool:
        """Whether there is a model and a text to translate with."""
        config, there = self.config, self.facts.parallel.issuperset(self.config.translate_list)
        asked = config.predicts_translations or (config.translate_both and config.trilayer)
        return there and "forward" in self.outcome.checkpoints and asked

    @property
    def orderings(self) -> list[str]:
        """Those of translation; nothing but CdLM teaches another than the sentence's own."""
        return self.config.ordering_list if self.config.predicts_translations else ["identity"]

    def commonality(self) -> None:
        if self.config.commonality_steps:
            data = commonality_folder(*self._where())
            self._train("commonality", "commonality", data, self.pair)
            self.last = self.outcome.checkpoints["commonality"]

    def transfer(self) -> None:
        if not self.config.transfer_steps:
            return
        data = transfer_folder(*self._where())
        for phase, pair in (("forward", self.pair), ("backward", self.pair[::-1])):
            options = ["--directions", "-".join(pair), "--mono-text", "parallel"]
            heads = self.config.auxiliary if self.config.predicts_translations else ""
            self._train(phase, "transfer", data, self.pair[1:], options, heads)
        name = self._add("combine", self._combine)
        self.last = self.book.run / "models" / f"{name}.pt"
        self.outcome.checkpoints["combined"] = self.last

    def language(self) -> None:
        if self.config.language_steps:
            data = language_folder(*self._where())
            heads, instead = "", {}
            if self.config.nsp:  # it is also MLM, over two segments
                heads, instead = "nsp", {"mlm": "nsp"}
            self._train("language", "language", data, self.pair[1:], heads=heads, instead=instead)

    def _where(self) -> tuple[Book, TrelmConfig, Path, str, str]:
        outcome = self.outcome
        return self.book, self.config, outcome.data, outcome.target, outcome.label

    def _train(
        self,
        phase: str,
        stage_name: str,
        data: Path,
        mono_languages: Sequence[str],
        options: Sequence[str] = (),
        heads: str = "",
        instead: Mapping[str, str] | None = None,
    ) -> None:
        """Train on ``data`` from the last checkpoint; ``instead`` replaces objectives."""
        config, facts = self.config, self.facts
        stage = config.stage(stage_name)
        chosen = [(instead or {}).get(name, name) for name in names_in(stage.objectives)]
        reads = {objectives[name].reads for name in chosen}
        own_text = "--mono-text" not in options and reads != {"parallel"}
        options = [
            *model_options(config, facts.shape),
            *("--trelm-phase", phase, "--objectives", ",".join(chosen)),
            *("--mono-languages", ",".join(mono_languages), *options),
            *(("--auxiliary", heads) if heads else ()),
            *(("--alternate",) if config.separate else ("--mix-in-batch",)),
        ]
        build = functools.partial(
            training_step,
            run=self.book.run,
            config=config,
            stage=stage,
            data=data,
            languages=self.pair,
            options=options,
            seed=self.outcome.seed,
            start=self.last,
            validate=facts.validates(mono_languages, own_text, not own_text or "parallel" in reads),
        )
        name = self._add(phase, build)
        self.outcome.checkpoints[phase] = checkpoint(self.book.run, name, config)
        self.outcome.logs[phase] = self.book.run / "logs" / f"{name}.log"
        self.outcome.updates[phase] = stage.steps

    def _combine(self, name: str) -> Step:
        halves = [self.outcome.checkpoints[phase] for phase in ("forward", "backward")]
        output = self.book.run / "models" / f"{name}.pt"
        command = ["fairseq-xling", "combine", *map(str, halves), "--output", str(output)]
        return Step(name, commands=[command], inputs=halves, outputs=[output])

    def translation(self, direction: Direction, ordering: str, split: str) -> None:
        """Have the model of ``direction`` translate, by fairseq-generate."""
        build = functools.partial(
            translate_step,
            run=self.book.run,
            config=self.config,
            data=self.outcome.data,
            model=self.outcome.checkpoints[direction.phase],
            pair=direction.pair,
            split=split,
            ordering=ordering,
        )
        add_translation(self.book, self.config, self.outcome, direction, ordering, split, build)

    def _add(self, phase: str, build) -> str:
        kind = f"{phase}-{self.outcome.target}-{self.outcome.seed}"
        return self.book.add(kind, self.outcome.label, build)


def add_bpw(book: Book, config: TrelmConfig, outcome: Outcome) -> Path:
    """Add the evaluation of all checkpoints of ``outcome``, with the same masks for each."""
    saved = list(outcome.checkpoints.values())

    def build(name: str) -> Step:
        result = book.run / "results" / f"{name}.json"
        command = eval_command(
            saved,
            outcome.data,
            config.source_lang,
            [outcome.target],
            *("--measure", "bpw", "--bpw-split", config.bpw_split),
            *("--device", config.device, "--output", result),
        )
        return Step(name, commands=[command], inputs=[outcome.data, *saved], outputs=[result])

    kind = f"bpw-{outcome.target}-{outcome.seed}"
    return book.run / "results" / f"{book.add(kind, outcome.label, build)}.json"
