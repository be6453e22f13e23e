"""A whole migration to one language with one seed, as steps (TreLM, Algorithm 1).

prepare -> embed -> map -> init -> commonality -> forward  -> combine -> language
                                               -> backward ->

The forward model translates the source language into the target, the backward model the target into
the source, with the words in the order of the sentence that is translated (Table 6). The forward
model knows which words a source word becomes, but has to be told their order; with an emission such
as a lattice the same weights learn to write whole sentences in one pass: a translator.
"""

import dataclasses
import functools
import itertools
import math
import shlex
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from fairseq_xling import USER_DIR
from fairseq_xling.engine import training_log
from fairseq_xling.engine.precision import device_options
from fairseq_xling.mapping.methods import METHODS
from fairseq_xling.models.encoder import EncoderShape
from fairseq_xling.objectives import objectives
from fairseq_xling.papers.trelm.config import (
    NO_MAP,
    TARGET,
    Stage,
    TrelmConfig,
    named_languages,
    names_in,
)
from fairseq_xling.papers.trelm.data import keep_pairs, keep_sentences, pairs_into_mono
from fairseq_xling.papers.trelm.embedding_init import VECTORS, embedding_inits, trained_init
from fairseq_xling.papers.trelm.initialise import size_options
from fairseq_xling.papers.trelm.inputs import InputSummary
from fairseq_xling.studies.corpus_steps import eval_command
from fairseq_xling.studies.gold_tasks import transfer_mean, transfer_step
from fairseq_xling.studies.optimiser import optimisation
from fairseq_xling.text.vocabularies import modes
from fairseq_xling.workflow.recipe import Run

_SUBSET_SEED = 1  # one order of the pairs for all sizes, so that subsets are nested
# fairseq-generate's own default is a single sentence if no limit is given.
_GENERATE_TOKENS = 8192


@dataclasses.dataclass
class Migration:
    """One migration: its steps, and the files that they leave. Methods add steps.

    Attributes:
        run: of the row that it is of.
        config: the settings of that row; inputs: about its source encoder and its text.
        target, seed: which one it is.
        data: its data folder.
        vectors: the files of vectors that its embeddings are initialised from.
        checkpoints: by phase, in their order; the last is the migrated model.
        logs: of the phases that are trainings; updates: their numbers of steps.
        bpw: bits per word of all checkpoints, as `fairseq-xling eval` writes them.
        translations: the text that fairseq-generate writes, by ordering, with the split's name for
            all splits but the first; backward: the names of those that write the source language.
        tasks: the folders of its tasks by name.
        head_options: of the training of a head on it, and head_inputs: the files that these name.
        map_sentences: how many training pairs maps of its states are fitted on, if any are.
        distances: of its aligned words, as `fairseq-xling eval aligned` writes them, if measured.
    """

    run: Run
    config: TrelmConfig
    inputs: InputSummary
    target: str
    seed: int
    data: Path = Path()
    vectors: list[Path] = dataclasses.field(default_factory=list)
    checkpoints: dict[str, Path] = dataclasses.field(default_factory=dict)
    logs: dict[str, Path] = dataclasses.field(default_factory=dict)
    updates: dict[str, int] = dataclasses.field(default_factory=dict)
    bpw: Path = Path()
    translations: dict[str, Path] = dataclasses.field(default_factory=dict)
    backward: list[str] = dataclasses.field(default_factory=list)
    tasks: dict[str, Path] = dataclasses.field(default_factory=dict)
    head_options: list[str] = dataclasses.field(default_factory=list)
    head_inputs: list[Path] = dataclasses.field(default_factory=list)
    map_sentences: int = 0
    distances: Path | None = None

    @property
    def code(self) -> str:
        """Target and seed, at the end of its steps' names."""
        return f"{self.target}-{self.seed}"

    @property
    def last(self) -> Path:
        """The last checkpoint so far."""
        return list(self.checkpoints.values())[-1]

    @property
    def results(self) -> list[Path]:
        """All files that a report reads."""
        found = [self.bpw, *self.translations.values(), *self.tasks.values(), *self.logs.values()]
        return found if self.distances is None else [*found, self.distances]

    def pair(self, back: bool = False) -> tuple[str, str]:
        """The language that the forward, or the backward, model reads, and the one it writes."""
        pair = self.config.source_lang, self.target
        return pair[::-1] if back else pair

    # ---- data folders

    def prepare(self, kind: str) -> Path:
        """A data folder of the settings' text."""
        config, pair = self.config, self.pair()
        texts = {
            f"--{name}": [one for one in getattr(config, name) if named_languages(one) <= {*pair}]
            for name in ("mono", "parallel", "alignment")
        }
        kept = config.source_vocabulary
        return self.run(
            kind,
            ["fairseq-xling", "prepare", "{out}", "--languages", ",".join(pair)],
            {"--from": config.text, **texts},
            {"--tokenizer": [f"{lang}={kept}" for lang in pair] if kept else []},
            ["--vocab", config.vocab, "--vocab-type", config.vocab_type],
            ["--vocab-size", config.vocab_size // len(modes[config.vocab]().groups(pair))],
            ["--aligner", config.aligner],
            {"--segment": config.segment_of(self.target)},
            {"--held-out": config.held_out or ""},
            config.words("prepare_args"),
            to="data/{name}",
            resumable=True,
            first_unlabelled=True,
        )

    def derived(self, kind: str, data: Path, make: Callable[..., None], **values: Any) -> Path:
        """The folder that the function ``make`` derives from ``data``."""
        return self.run.function(
            f"{kind}-{self.target}",
            make,
            values={"data": data, "output": "{out}", **values},
            to="data/{name}",
            inputs=[data],
            first_unlabelled=True,
        )

    def limited(self, kind: str, stage: str, languages: Sequence[str], data: Path) -> Path:
        """``data``, or with as many sentences of ``languages`` as a phase reads."""
        count = getattr(self.config, f"{stage}_limit")
        if not count:
            return data
        how = {"count": count, "seed": _SUBSET_SEED, "option": f"--{stage}-limit"}
        return self.derived(kind, data, keep_sentences, languages=languages, **how)

    def transfer_folder(self) -> Path:
        """The data, or a folder with fewer of its sentence pairs (`--parallel-limit`)."""
        count = self.config.parallel_limit
        if not count:
            return self.data
        how = {"count": count, "seed": _SUBSET_SEED}
        return self.derived("subset", self.data, keep_pairs, pair=self.pair(), **how)

    def all_text_folder(self) -> Path:
        """The data, or a folder with what the phases read in all: what a model from scratch reads
        instead. The target's sentences are those of the phase that has more of them."""
        source, target = self.pair()
        data = self.limited("source-text", "commonality", [source], self.transfer_folder())

        def size(stage: str) -> float:
            return getattr(self.config, f"{stage}_limit") or math.inf

        longer = max(("commonality", "language"), key=size)
        return self.limited("target-text", longer, [target], data)

    # ---- vectors and first weights

    def initialise(self) -> None:
        """The checkpoint that training starts from, and the vectors that it is made from."""
        config = self.config
        for languages in () if config.keep_vocabulary else self.inputs.dictionaries:
            file = self._vectors(languages)
            self.vectors += [file] if file else []
        words = {"--vectors": self.vectors, "--copy-shared": config.copy_shared}
        if config.keep_vocabulary:
            words = {"--embeddings": "source"}
        self.checkpoints["init"] = self.init(f"init-{self.code}", words, ["--seed", self.seed])

    def init(self, kind: str, *words: Any) -> Path:
        """The source encoder as a checkpoint for the data folder; ``words`` are options of the
        embeddings of its words."""
        config, shape = self.config, self.inputs.shape
        return self.run(
            kind,
            *self._init_source(),
            ["--data", self.data, "--output", "{out}", "--arch", config.arch],
            ["--languages", ",".join(self.pair())],
            trilayer_options(config),
            {"--separate": config.separate},
            ["--max-positions", config.max_positions or shape.max_positions],
            ["--num-segments", num_segments(config, shape)],
            *words,
            config.words("init_args"),
            to="models/{name}.pt",
        )

    def _init_source(self) -> tuple[Any, ...]:
        config = self.config
        where = {"--source-data": config.source_data, "--source-language": config.source_language}
        return ["fairseq-xling", "init", config.source], where

    def _vectors(self, languages: Sequence[str]) -> Path | None:
        """Vectors of one dictionary's subwords, mapped if requested; ``None`` if they are drawn by
        `init`."""
        config, target = self.config, self.target
        method, mapped = embedding_inits[config.embeddings], config.mapping != NO_MAP
        if method.drawn and not mapped:
            return None
        which = f"{target}-{languages[0]}" if len(self.inputs.dictionaries) > 1 else target
        if len(languages) > 1 and config.embed_languages == TARGET:
            languages = (target,)
        fixed = None
        if method.at_source or mapped:
            fixed = self.run(
                *("source-vectors", *self._init_source(), "--source-vectors {out}"),
                to=VECTORS,
                first_unlabelled=True,
            )
        made = self._embed(f"embed-{which}", languages, fixed)
        return self._map(f"map-{which}", made, fixed) if mapped else made

    def word_vectors(self) -> dict[str, Path]:
        """Vectors of whole words of both languages in one space, by language: the target's are
        mapped to the source's (RositaWORD, TreLM, Table 9)."""
        target, mapping = self.target, self.config.mapping
        config = dataclasses.replace(
            self.config, vocab="separate", vocab_type="word", aligner="none", prepare_args="",
            vectors="", keep_vocabulary=False, embeddings=trained_init(self.config.embeddings),
            mapping=TrelmConfig.mapping if mapping == NO_MAP else mapping,
        )  # fmt: skip
        own = dataclasses.replace(self, config=config)
        own.data = own.prepare(f"prepare-words-{target}")
        made = {lang: own._embed(f"embed-words-{target}-{lang}", [lang]) for lang in self.pair()}
        fixed = made[config.source_lang]
        return {**made, target: own._map(f"map-words-{target}", made[target], fixed)}

    def _embed(self, kind: str, languages: Sequence[str], fixed: Path | None = None) -> Path:
        """Vectors by the method of the settings; ``fixed`` are those of the source."""
        method = embedding_inits[self.config.embeddings]
        width = self.inputs.shape.dim
        return self.run(
            kind,
            method.command(self.config, self.data, self.pair(), languages, width, fixed),
            to=VECTORS,
            also=[f"{VECTORS}.json"] if method.resumable else [],
            resumable=method.resumable,
            first_unlabelled=True,
        )

    def _map(self, kind: str, moving: Path, fixed: Path | None) -> Path:
        config = self.config
        return self.run(
            kind,
            ["fairseq-xling", "map", config.mapping, "--source-vectors", fixed],
            ["--vectors", moving, "--output", "{out}"],
            {"--seeds": config.map_seeds if METHODS[config.mapping]().seeded else ""},
            ["--refine", config.map_refine],
            {"--keep-failed": config.map_keep_failed},
            ["--device", config.device, *config.words("map_args")],
            to=VECTORS,
            also=[f"{VECTORS}.json"],
            resumable=True,
            first_unlabelled=True,
        )

    # ---- trainings

    def train(
        self,
        phase: str,
        stage: Stage,
        *options: Any,
        validate: bool,
        data: Path | None = None,
        start: Path | None = None,
        checkpoint: str = "",
        title: str = "",
        task: str = "cdlm",
        criterion: str = "unified_lm",
    ) -> Path:
        """A training, which resumes where it was stopped; returns its checkpoint.

        Args:
            phase: of the step's name; title: the same in tables, if it is another.
            options: of the model, its objectives and their text.
            validate: whether the data folder has validation text for the objectives.
            data: folder to train on, if not the migration's.
            start: checkpoint to start from, if not from scratch.
            checkpoint: ``last`` or ``best`` (default: by the settings).
        """
        config, every = self.config, min(self.config.every, stage.steps)
        folder = self.run(
            f"{phase}-{self.code}",
            ["fairseq-train", data or self.data, "--user-dir", USER_DIR],
            ["--task", task, "--criterion", criterion, "--languages", ",".join(self.pair())],
            *options,
            {"--finetune-from-model": start},
            optimisation(config, stage.steps, stage.lr, config.warmup),
            {"--batch-size": config.batch_size, "--max-tokens": config.max_tokens},
            ["--update-freq", config.update_freq],
            ["--max-update", stage.steps, "--epoch-updates", every],
            "--save-dir {out} --no-epoch-checkpoints",
            {"--disable-validation": not validate},
            ["--seed", self.seed, "--num-workers", 0, "--log-format", "json"],
            ["--log-interval", max(1, every // 4)],
            device_options(config.precision, config.device),
            config.words("train_args"),
            stage.args,
            to="models/{name}",
            also=["logs/{name}.log"],
            resumable=True,
            progress=functools.partial(training_log.progress, updates=stage.steps),
        )
        self.logs[title or phase] = self.run.log(folder)
        return folder / f"checkpoint_{checkpoint or config.checkpoint}.pt"

    def train_phase(
        self, phase: str, stage: Stage, *options: Any, title: str = "", **how: Any
    ) -> None:
        """`train`, whose checkpoint is one of the migration's."""
        self.checkpoints[title or phase] = self.train(phase, stage, *options, title=title, **how)
        self.updates[title or phase] = stage.steps

    def _phase(
        self,
        phase: str,
        stage: Stage,
        data: Path,
        mono: Sequence[str],
        start: Path,
        *options: Any,
        heads: str = "",
    ) -> None:
        """A phase of the paper on ``data``, with monolingual text of the languages ``mono``."""
        reads = {objectives[name].reads for name in names_in(stage.objectives)}
        own_text = not options and reads != {"parallel"}
        self.train_phase(
            phase,
            stage,
            model_options(self.config, self.inputs.shape),
            ["--trelm-phase", phase, "--objectives", stage.objectives],
            ["--mono-languages", ",".join(mono), *options],
            {"--auxiliary": heads},
            ["--alternate" if self.config.separate else "--mix-in-batch"],
            data=data,
            start=start,
            validate=self.inputs.validates(mono, own_text, bool(options) or "parallel" in reads),
        )

    def migrate(self) -> None:
        """The phases one after another, their evaluation, and translations with the two halves."""
        config, data, target = self.config, self.data, [self.target]
        self.initialise()
        stage = config.stage("commonality")
        if stage.steps:
            text = self.limited("commonality-text", "commonality", self.pair(), data)
            self._phase("commonality", stage, text, self.pair(), self.last)
        stage, start = config.stage("transfer"), self.last
        if stage.steps:
            text = self.transfer_folder()
            heads = config.auxiliary if config.predicts_translations else ""
            for phase, back in (("forward", False), ("backward", True)):
                options = ["--directions", "-".join(self.pair(back)), "--mono-text", "parallel"]
                self._phase(phase, stage, text, target, start, *options, heads=heads)
            halves = [self.checkpoints[phase] for phase in ("forward", "backward")]
            self.checkpoints["combined"] = self.run(
                *(f"combine-{self.code}", "fairseq-xling combine", *halves, "--output {out}"),
                to="models/{name}.pt",
            )
        stage = config.stage("language")
        if stage.steps:
            text = self.limited("language-text", "language", target, data)
            if config.extra_mono:
                text = self.derived(
                    "extra", text, pairs_into_mono, pair=self.pair(), lang=self.target
                )
            chosen = names_in(stage.objectives)
            if config.nsp:  # it is also MLM, over two segments
                chosen = ["nsp" if name == "mlm" else name for name in chosen]
            stage = dataclasses.replace(stage, objectives=",".join(chosen))
            heads = "nsp" if config.nsp else ""
            self._phase("language", stage, text, target, self.last, heads=heads)
        self.measure_bits()
        self._translate_in_orderings()

    def measure_bits(self) -> None:
        """The evaluation of all checkpoints, with the same masks for each."""
        config = self.config
        self.bpw = self.run(
            f"bpw-{self.code}",
            eval_command(
                list(self.checkpoints.values()),
                *(self.data, config.source_lang, [self.target], "--measure", "bpw"),
                *("--bpw-split", config.bpw_split, "--device", config.device, "--output", "{out}"),
            ),
            to="results/{name}.json",
        )

    # ---- translations and tasks

    def _translate_in_orderings(self) -> None:
        config = self.config
        there = self.inputs.parallel.keys() >= set(config.translate_list)
        asked = config.predicts_translations or (config.translate_both and config.trilayer)
        if not (there and "forward" in self.checkpoints and asked):
            return
        # Nothing but CdLM teaches another order than the sentence's own.
        orderings = config.ordering_list if config.predicts_translations else ["identity"]
        every = itertools.product(self.directions, config.translate_list, orderings)
        for back, split, ordering in every:
            model = self.checkpoints["backward" if back else "forward"]
            self.translate(back, ordering, split, self.generate(model, back, split, ordering))

    @property
    def directions(self) -> list[bool]:
        """Those to translate: not backward, and with `--translate-both` also backward."""
        return [False, True] if self.config.translate_both else [False]

    def translate(
        self, back: bool, what: str, split: str, command: list[Any], title: str = "", **how: Any
    ) -> None:
        """Translate ``split`` by ``command``; what it writes is one of the translations.

        Args:
            what: translates, in the step's name; title: the same in tables, if it is another.
            how: attributes of the step.
        """
        further = "" if split == self.config.translate_list[0] else split
        middle = "back-" * back + f"{further}-" * bool(further)
        kind = f"translate-{middle}{what}-{self.code}"
        folder = self.run(kind, command, to="translations/{name}", **how)
        title = (title or what) + ", backward" * back + f", {further}" * bool(further)
        self.translations[title] = folder / f"generate-{split}.txt"
        if back:
            self.backward.append(title)

    def generate(
        self, model: Path, back: bool, split: str, ordering: str, *options: str
    ) -> list[Any]:
        """fairseq-generate with one of our models."""
        config, (source, target) = self.config, self.pair(back)
        return [
            *("fairseq-generate", self.data, "--user-dir", USER_DIR, "--task", "cdlm"),
            *("--path", model, "--gen-subset", split, "-s", source, "-t", target),
            *("--ordering", ordering, "--max-tokens", _GENERATE_TOKENS, "--results-path", "{out}"),
            *(("--cpu",) if config.device == "cpu" else ()),
            *options,
            *config.words("generate_args"),
        ]

    def add_tasks(self) -> None:
        """A step for each task in the target language, which reads the last checkpoint.

        There is no zero-shot transfer in TreLM (Tables 1 to 3, 9 and 10).
        """
        config = self.config
        given = config.words("task_args")
        if self.head_options:
            given = train_args(given, self.head_options)
        options = ["--device", config.device, "--precision", config.precision, *given]
        where = Path("{out}"), Path(config.text), [self.target]
        encoders = {"model": (self.last, self.data)}
        for name, task in config.task_table.items():
            step = transfer_step("", task, *where, encoders, str(self.seed), options)
            self.tasks[name] = self.run(
                f"task-{name}-{self.code}",
                step.commands[0],
                to="tasks/{name}",
                inputs=self.head_inputs,
                resumable=True,
                progress=step.progress,
            )

    def task_figures(self) -> dict[str, float]:
        """The figures of finished tasks in the target, in percent, by title."""
        return {
            title: transfer_mean(self.tasks[name], self.target, figure=figure)
            for name, task in self.config.task_table.items()
            for title, figure in task.figures.items()
        }


def model_options(config: TrelmConfig, shape: EncoderShape) -> list[str]:
    """The options of a model that `fairseq-xling init` makes from a source of ``shape``."""
    positions = config.max_positions or shape.max_positions
    return [
        *("--arch", config.arch, *size_options(shape, positions, num_segments(config, shape))),
        *(("--separate", config.separate) if config.separate else ()),
        *trilayer_options(config),
    ]


def trilayer_options(config: TrelmConfig) -> list[str]:
    """The options of the TRILayer, or of leaving it out."""
    if not config.trilayer:
        return ["--no-trilayer"]
    return ["--copy-embeddings"] if config.copy_embeddings else []


def num_segments(config: TrelmConfig, shape: EncoderShape) -> int:
    """Rows of the segment table: the source's, and at least two for next sentence prediction."""
    return max(shape.num_segments, 2 if config.nsp else 0)


def train_args(words: Sequence[str], more: list[str]) -> list[str]:
    """Options of `eval transfer` with ``more`` in their `--train-args`.

    >>> train_args(("--epochs", "1", "--train-args=--lr 1"), ["--map", "a b"])
    ['--epochs', '1', '--train-args', "--lr 1 --map 'a b'"]
    """
    found, own, rest = [], shlex.join(more), iter(words)
    for word in rest:
        name, equals, value = word.partition("=")
        if name == "--train-args":
            own = f"{value if equals else next(rest, '')} {own}"
        else:
            found.append(word)
    return [*found, "--train-args", own]
