"""What a run of TreLM is planned with: a graph of steps, and what each migration leaves.

Two rows of a study that differ late share the early steps: a data folder, vectors, a first phase. A
step equals an earlier one of its kind if it has the same commands, settings and inputs.
"""

import dataclasses
import functools
import json
import shlex
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from fairseq_xling import USER_DIR
from fairseq_xling.engine.precision import device_options
from fairseq_xling.models.encoder import EncoderShape
from fairseq_xling.papers.trelm.config import Stage, TrelmConfig
from fairseq_xling.papers.trelm.initialise import size_options
from fairseq_xling.papers.trelm.inputs import InputSummary
from fairseq_xling.studies.corpus_steps import eval_command
from fairseq_xling.studies.gold_tasks import transfer_mean, transfer_step
from fairseq_xling.studies.optimiser import optimisation
from fairseq_xling.studies.training_command import resumable_training
from fairseq_xling.workflow.step import Plan, Step

_NOBODY = "@"
BuildStep = Callable[[str], Step]  # the step of a name


class StepGraph:
    """Collects steps in an order in which they could run.

    Args:
        run: the folder of the run.
    """

    def __init__(self, run: Path):
        self.run = run
        self.steps: dict[str, Step] = {}
        self._known: dict[tuple[str, str], str] = {}

    def add(self, kind: str, label: str, build: Callable[[str], Step], plain: bool = False) -> str:
        """Add a step, unless an equal one exists; returns its name.

        Args:
            kind: what it does, such as ``forward-de-1``; its name if ``label`` is empty.
            label: the row that needs it; becomes the end of the name.
            build: makes the step of a given name. All outputs must contain that name, and nothing
                else may depend on it.
            plain: whether the first step of its kind has no label in its name.
        """
        signature = _signature(build(_NOBODY))
        if (kind, signature) not in self._known:
            first = plain and not any(known == kind for known, _ in self._known)
            name = kind if first or not label else f"{kind}-{label}"
            if name in self.steps:
                raise ValueError(f"two steps are called {name!r}")
            self.steps[name] = build(name)
            self._known[kind, signature] = name
        return self._known[kind, signature]

    def __getitem__(self, name: str) -> Step:
        return self.steps[name]

    def needed(self, paths: list[Path]) -> list[Step]:
        """The steps that make ``paths``, and all steps that those depend on, in their order."""
        wanted = Step("wanted", call=lambda: None, inputs=paths)
        graph = Plan([*self.steps.values(), wanted])
        needed = graph.needed("wanted")
        return [step for step in self.steps.values() if step.name in needed]


def _signature(step: Step) -> str:
    facts = [
        [list(map(str, command)) for command in step.commands],
        dict(step.settings),
        [str(path) for path in step.inputs],
    ]
    return json.dumps(facts, sort_keys=True, default=str)


@dataclasses.dataclass
class Artifacts:
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
    distances: Path | None = None

    @property
    def results(self) -> list[Path]:
        """All files that a report reads."""
        found = [self.bpw, *self.translations.values(), *self.tasks.values(), *self.logs.values()]
        return found if self.distances is None else [*found, self.distances]


@dataclasses.dataclass(frozen=True)
class MigrationPlan:
    """One migration that is planned: where its steps go, and what they leave.

    Attributes:
        graph: of the whole run.
        config: the settings of its row.
        inputs: about the source encoder and the text of its languages.
        artifacts: what it leaves; grows as steps are added.
    """

    graph: StepGraph
    config: TrelmConfig
    inputs: InputSummary
    artifacts: Artifacts

    @property
    def run(self) -> Path:
        """The folder of the run."""
        return self.graph.run

    @property
    def target(self) -> str:
        return self.artifacts.target

    @property
    def pair(self) -> tuple[str, str]:
        """The source language and the target."""
        return self.config.source_lang, self.target

    @property
    def code(self) -> str:
        """Target and seed, at the end of its steps' names."""
        return f"{self.target}-{self.artifacts.seed}"

    @property
    def last(self) -> Path:
        """The last checkpoint so far."""
        *_, last = self.artifacts.checkpoints.values()
        return last

    def add(self, kind: str, build: BuildStep, plain: bool = False) -> str:
        """`StepGraph.add` for the row that this migration is of."""
        return self.graph.add(kind, self.artifacts.label, build, plain)

    def make(
        self,
        kind: str,
        where: str,
        *,
        command: Callable[[Path], Sequence[Any]] | None = None,
        call: Callable[[Path], None] | None = None,
        also: Sequence[str] = (),
        plain: bool = False,
        **how: Any,
    ) -> Path:
        """Add a step that makes a file or a folder; returns its path.

        Args:
            where: its path in the folder of the run, ``{}`` for the step's name; ``also`` are those
                of further outputs.
            command: the words of the command, or call: the function, that makes it at a path.
            how: attributes of the `Step`.
        """

        def build(name: str) -> Step:
            output, *further = (self.run / one.format(name) for one in (where, *also))
            commands = [list(map(str, command(output)))] if command else []
            done = functools.partial(call, output) if call else None
            return Step(name, commands, call=done, outputs=[output, *further], **how)

        return self.run / where.format(self.add(kind, build, plain))

    def train(
        self,
        phase: str,
        stage: Stage,
        options: Sequence[str],
        *,
        validate: bool,
        data: Path | None = None,
        start: Path | None = None,
        checkpoint: str = "",
        title: str = "",
        task: str = "cdlm",
        criterion: str = "unified_lm",
    ) -> Path:
        """Add a training, which resumes where it was stopped; returns its checkpoint.

        Args:
            phase: of the step's name; title: the same in tables, if it is another.
            options: of the model, its objectives and their text.
            validate: whether the data folder has validation text for the objectives.
            data: folder to train on, if not the migration's.
            start: checkpoint to start from, if not from scratch.
            checkpoint: ``last`` or ``best`` (default: by the settings).
        """
        run, config, artifacts = self.run, self.config, self.artifacts
        data = data or artifacts.data

        def build(name: str) -> Step:
            folder, log = run / "models" / name, run / "logs" / f"{name}.log"
            every = min(config.every, stage.steps)
            command = [
                "fairseq-train",
                str(data),
                *("--user-dir", str(USER_DIR), "--task", task, "--criterion", criterion),
                *("--languages", ",".join(self.pair), *options),
                *(("--finetune-from-model", str(start)) if start else ()),
                *optimisation(config, stage.steps, stage.lr, config.warmup),
                *(("--batch-size", str(config.batch_size)) if config.batch_size else ()),
                *(("--max-tokens", str(config.max_tokens)) if config.max_tokens else ()),
                *("--update-freq", str(config.update_freq)),
                *("--max-update", str(stage.steps), "--epoch-updates", str(every)),
                *("--save-dir", str(folder), "--no-epoch-checkpoints"),
                *(() if validate else ("--disable-validation",)),
                *("--seed", str(artifacts.seed), "--num-workers", "0", "--log-format", "json"),
                *("--log-interval", str(max(1, every // 4))),
                *device_options(config.precision, config.device),
                *config.words("train_args"),
                *stage.args,
            ]
            inputs = [data, *([start] if start else [])]
            return resumable_training(name, command, inputs, folder, log, stage.steps)

        name = self.add(f"{phase}-{self.code}", build)
        artifacts.logs[title or phase] = run / "logs" / f"{name}.log"
        kept = checkpoint or config.checkpoint
        return run / "models" / name / f"checkpoint_{kept}.pt"

    def train_phase(
        self, phase: str, stage: Stage, options: Sequence[str], title: str = "", **how: Any
    ) -> None:
        """`train`, whose checkpoint is one of the migration's."""
        path = self.train(phase, stage, options, title=title, **how)
        self.artifacts.checkpoints[title or phase] = path
        self.artifacts.updates[title or phase] = stage.steps


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


def add_bpw(plan: MigrationPlan) -> None:
    """Add the evaluation of all checkpoints, with the same masks for each."""
    config, artifacts = plan.config, plan.artifacts
    saved = list(artifacts.checkpoints.values())
    artifacts.bpw = plan.make(
        f"bpw-{plan.code}",
        "results/{}.json",
        command=lambda result: eval_command(
            saved,
            artifacts.data,
            config.source_lang,
            [artifacts.target],
            *("--measure", "bpw", "--bpw-split", config.bpw_split),
            *("--device", config.device, "--output", result),
        ),
        inputs=[artifacts.data, *saved],
    )


def add_tasks(plan: MigrationPlan) -> None:
    """Add a step for each task in the target language, which reads the last checkpoint.

    There is no zero-shot transfer in TreLM (Tables 1 to 3, 9 and 10).
    """
    config, artifacts = plan.config, plan.artifacts
    given = config.words("task_args")
    if artifacts.head_options:
        given = train_args(given, artifacts.head_options)
    for task_name, task in config.task_table.items():

        def build(name: str, task=task) -> Step:
            step = transfer_step(
                name,
                task,
                plan.run / "tasks" / name,
                Path(config.text),
                [plan.target],
                {"model": (plan.last, artifacts.data)},
                str(artifacts.seed),
                ["--device", config.device, "--precision", config.precision, *given],
            )
            return dataclasses.replace(step, inputs=[*step.inputs, *artifacts.head_inputs])

        name = plan.add(f"task-{task_name}-{plan.code}", build)
        artifacts.tasks[task_name] = plan.run / "tasks" / name


def train_args(words: tuple[str, ...], more: list[str]) -> list[str]:
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


def task_figures(config: TrelmConfig, artifacts: Artifacts) -> dict[str, float]:
    """The figures of finished tasks in the target, in percent, by title."""
    return {
        title: transfer_mean(artifacts.tasks[name], artifacts.target, figure=figure)
        for name, task in config.task_table.items()
        for title, figure in task.figures.items()
    }
