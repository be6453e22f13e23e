"""The verbs ``clcr train`` and ``clcr run``: from two encoders to sequences of vectors.

transform -> lm1 -> lm2 (in turn) -> label -> extract -> order -> tables, encode

Both verbs work in the same folder: `run` continues from the steps of `train`.
"""

import argparse
import dataclasses
import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Any

from fairseq_xling import USER_DIR
from fairseq_xling.core.files import atomic_write, read_json
from fairseq_xling.core.options import to_argv
from fairseq_xling.data.folder import DataFolder
from fairseq_xling.engine.precision import device_options
from fairseq_xling.engine.training_log import read_curves
from fairseq_xling.models.ordering import SIDES, head_key
from fairseq_xling.papers.clcr.config import (
    PRESETS,
    ClcrRunConfig,
    Text,
    check_config,
    check_sequences,
    rows_of,
    texts,
    validates,
)
from fairseq_xling.papers.clcr.labels import Labels
from fairseq_xling.papers.clcr.sequence_variants import rows as variants
from fairseq_xling.papers.clcr.sequences import META
from fairseq_xling.reports.page import write_run
from fairseq_xling.reports.pivot import Table
from fairseq_xling.reports.record import RESULTS, Chart, Record, Section, made, read_record
from fairseq_xling.reports.rows import Row, distinct, select
from fairseq_xling.studies.optimiser import optimisation
from fairseq_xling.studies.training_command import resumable_training
from fairseq_xling.verbs.parts.output import as_text
from fairseq_xling.workflow.launcher import run_steps
from fairseq_xling.workflow.options import load_config
from fairseq_xling.workflow.recipe import with_steps
from fairseq_xling.workflow.settled import settle_config
from fairseq_xling.workflow.step import Step

FILES = ("summary.txt", "table.csv", RESULTS, "report.html")
STUDY, DISTANCES, PIVOTS, SEQUENCES = "clcr-run", "distances", "pivots", "sequences"
_ANNEALED = ("transform", "lm")


@dataclass
class Artifacts:
    """The files of the steps of one seed.

    Attributes:
        model: the last checkpoint.
        logs: of the trainings, by name, in their order.
        labels: folder of pivots; tables: output of `clcr measure`, by kind; sequences: folders.
    """

    seed: int
    model: Path
    logs: dict[str, Path] = field(default_factory=dict)
    labels: Path | None = None
    tables: dict[str, Path] = field(default_factory=dict)
    sequences: list[Path] = field(default_factory=list)


def run_clcr(args: argparse.Namespace, everything: bool) -> None:
    """Plan and run all, or only the transforms and encoders, or print the plan (`--dry-run`)."""
    config, run = load_config(ClcrRunConfig, args, PRESETS), Path(args.output)
    folder, pair = check_config(config)
    config, settled = settle_config(run, config)
    plans = [Plan(run, config, folder, pair, seed) for seed in config.seed_list]
    encoded = texts(config, pair)
    for plan in plans:
        plan.train()
        if everything:
            check_sequences(config, folder, pair, encoded)
            plan.modules()
            plan.tables()
            plan.encode(encoded)
    steps = [step for plan in plans for step in plan.steps]
    all_artifacts = [plan.artifacts for plan in plans]
    if everything:
        inputs = [path for artifacts in all_artifacts for path in artifacts.logs.values()]
        inputs += [path for artifacts in all_artifacts for path in artifacts.tables.values()]
        inputs += [path for artifacts in all_artifacts for path in artifacts.sequences]
        inputs += [artifacts.labels for artifacts in all_artifacts if artifacts.labels]
        made = (run, config, all_artifacts, pair, list(steps))
        settings = {"pair": list(pair), "precision": config.precision, "kind": "clcr-run"}
        outputs, call = [run / name for name in FILES], functools.partial(write_results, *made)
        more = {"settings": settings, "inputs": inputs, "outputs": outputs}
        steps.append(Step("summary", call=call, **more))
    if not run_steps(run, steps, config.jobs, args, settled, shown=""):
        return
    if everything:
        print("\n" + (run / "summary.txt").read_text(encoding="utf-8"))
        print(f"report: {run / 'report.html'}")
    for artifacts in all_artifacts:
        print(f"model: {artifacts.model}")
    print(f"exact commands: {run / 'commands.sh'}")


class Plan:
    """The steps of one seed.

    Args:
        folder: what ``config.data`` is, or is made from by a step.
        part: what names begin with and files are below, where a run has several of one seed.
    """

    def __init__(
        self,
        run: Path,
        config: ClcrRunConfig,
        folder: DataFolder,
        pair: tuple[str, str],
        seed: int,
        part: str = "",
    ):
        self.run, self.config, self.pair, self.seed = run, config, pair, seed
        self.place, self.begins = run / part, f"{part}-" if part else ""
        self.steps: list[Step] = []
        self.artifacts = Artifacts(seed, Path())
        self.validates = validates(folder, pair)
        self.splits = ["train", *(["valid"] if self.validates else [])]

    def train(self) -> None:
        """The transforms alone, then the encoders in turn."""
        config = self.config
        start = ["--encoder", ",".join(config.encoder)]
        start += ["--encoder-data", ",".join(config.encoder_data)] if config.encoder_data else []
        start += ["--clcr-layer", config.layer] if config.layer else []
        given = [*config.encoder, *config.encoder_data]
        outside = [Path(item.partition("=")[2]) for item in given]
        self._training("transform", "transform", [*start, "--clcr-phase", "transform"], outside)
        for number in range(1, config.rounds + 1):
            for phase in ("lm1", "lm2"):
                start = ["--clcr-start", str(self.artifacts.model)]
                self._training(f"{phase}-{number}", "lm", [*start, "--clcr-phase", phase])

    def modules(self) -> None:
        """Pivots, key-points and orders."""
        self.label()
        self.extract()
        self.order()

    def label(self) -> None:
        """Pseudo-gold pivots."""
        config, labels = self.config, self.place / "labels" / str(self.seed)
        command = [
            *("fairseq-xling", "clcr", "label", str(self.artifacts.model), "--data", config.data),
            *("--splits", ",".join(self.splits), "--output", str(labels)),
            *to_argv(config, "max_tokens", "device"),
            *to_argv(config, "threshold" if config.threshold else "tune_on"),
        ]
        inputs = [Path(config.data), self.artifacts.model]
        self._add(f"label-{self.seed}", command, inputs, [labels], resumable=True)
        self.artifacts.labels = labels

    def extract(self) -> None:
        """Classifiers of key-points."""
        config = self.config
        if config.extract_steps:
            names = ["delta", "extract_hidden", "extract_encoder"]
            names += [name for name in ("confident", "flip_rates") if getattr(config, name)]
            options = ["--clcr-module", "extract", *to_argv(config, *names)]
            self._training("extract", "extract", [*self._from_labels(), *options])

    def order(self) -> None:
        """Heads for the order of key-points."""
        config = self.config
        for side, head in product(config.side_list, config.order_list):
            options = ["--clcr-module", "order", "--order", head]
            options += ["--order-side", side] if side != SIDES[0] else []
            name = head_key(head, side).replace("_", "-")
            self._training(name, "order", [*self._from_labels(), *options])

    def tables(self) -> None:
        """Tables of key-points and orders, with text to validate on."""
        config = self.config
        if config.extract_steps and "valid" in self.splits:
            deltas = ",".join(map(str, sorted({config.delta, 0.2, 0.5})))
            self._table("keypoints", "--delta", deltas)
        if config.order_list and "valid" in self.splits:
            beams = [f"beam:{width}" for width in sorted({1, config.beam})]
            beams += [f"{beam}:{config.weigh}" for beam in beams if config.weigh]
            self._table("order", "--searches", ",".join(beams))

    def encode(self, encoded: Sequence[Text]) -> None:
        """The sequences of texts."""
        for text in encoded:
            self._encode(text)

    def _from_labels(self) -> list[str]:
        start = ["--clcr-start", str(self.artifacts.model)]
        return [*start, "--clcr-labels", str(self.artifacts.labels)]

    def _training(
        self, name: str, stage: str, options: Sequence[str], outside: Sequence[Path] = ()
    ) -> None:
        config = self.config
        steps, lr = getattr(config, f"{stage}_steps"), getattr(config, f"{stage}_lr")
        full = f"{self.begins}{name}-{self.seed}"
        saves, log = self.run / "models" / full, self.run / "logs" / f"{full}.log"
        best = config.checkpoint == "best"
        command = [
            *("fairseq-train", config.data, "--user-dir", str(USER_DIR)),
            *("--task", "clcr", "--arch", "clcr", "--criterion", "clcr"),
            *("--clcr-pair", ",".join(self.pair), *options),
            *to_argv(config, "transform", "attention_score", "distance_norm"),
            *to_argv(config, "anneal_beta", "anneal_phases"),
            *optimisation(config, steps, lr, min(config.warmup, steps)),
            *(to_argv(config, "batch_size") if config.batch_size else ()),
            *to_argv(config, "max_tokens", "update_freq"),
            *("--max-update", str(steps), "--epoch-updates", str(min(config.every, steps))),
            *("--save-dir", str(saves), "--no-epoch-checkpoints"),
            *(() if self.validates else ("--disable-validation",)),
            # Not by the loss if its temperature falls from step to step.
            *(("--best-checkpoint-metric", "hard") if best and stage in _ANNEALED else ()),
            *("--seed", str(self.seed), "--num-workers", "0", "--log-format", "json"),
            *("--log-interval", str(max(1, min(config.every, steps) // 4))),
            *device_options(config.precision, config.device),
            *config.words("train_args"),
            *config.words(f"{stage}_args"),
        ]
        inputs = [Path(config.data), *outside]
        if not outside:
            inputs.append(self.artifacts.model)
        if stage in ("extract", "order"):
            inputs.append(self.artifacts.labels)
        self.steps.append(resumable_training(full, command, inputs, saves, log, steps))
        self.artifacts.model = saves / f"checkpoint_{config.checkpoint}.pt"
        self.artifacts.logs[name] = log

    def _table(self, kind: str, *options: str) -> None:
        config, name = self.config, f"{kind}-table-{self.seed}"
        output = self.place / "results" / f"{name}.json"
        model, labels = self.artifacts.model, self.artifacts.labels
        command = [
            *("fairseq-xling", "clcr", "measure", kind, str(model), "--data", config.data),
            *("--labels", str(labels), *options, "--device", config.device),
            *("--output", str(output)),
        ]
        outputs = [output, output.with_suffix(".csv")]
        self._add(name, command, [Path(config.data), model, labels], outputs)
        self.artifacts.tables[kind] = output

    def _encode(self, text: Text) -> None:
        config, model, chosen = self.config, self.artifacts.model, rows_of(self.config, text)
        name = f"{text.name}.{text.lang}"
        folder = self.place / "sequences" / str(self.seed)
        outputs = [folder / row / name for row in chosen]
        command = [
            *("fairseq-xling", "clcr", "encode", str(model), "--data", config.data),
            *("--lang", text.lang, "--text", text.file, "--row", ",".join(chosen)),
            *("--order", (config.order_list or ["rel"])[0], "--beam", str(config.beam)),
            *to_argv(config, "max_tokens", "device"),
            *("--dtype", config.dtype, "--output", str(folder / "{row}" / name)),
        ]
        if config.side_list and config.side_list[0] != SIDES[0]:
            command += ["--reorder", config.side_list[0]]
        if config.weigh:
            command += ["--weigh", config.weigh]
        inputs = [Path(config.data), model, Path(text.file)]
        late = None
        if any(variants[row].reads_translation for row in chosen):
            command += ["--translation", text.translation]
            inputs += [Path(text.translation), self.artifacts.labels]
            late = functools.partial(_threshold, self.artifacts.labels / "train")
        self._add(f"encode-{name}-{self.seed}", command, inputs, outputs, resumable=True, late=late)
        self.artifacts.sequences += outputs

    def _add(
        self,
        name: str,
        command: Sequence[str],
        inputs: Sequence[Path],
        outputs: Sequence[Path],
        **more: Any,
    ) -> None:
        given = {"commands": [command], "inputs": inputs, "outputs": outputs, **more}
        self.steps.append(Step(f"{self.begins}{name}", **given))


def _threshold(labels: Path) -> list[str]:
    """The option with the threshold of the pivots."""
    return ["--threshold", repr(Labels(labels).threshold)]


def write_results(
    run: Path,
    config: ClcrRunConfig,
    all_artifacts: Sequence[Artifacts],
    pair: tuple[str, str],
    steps: Sequence[Step],
) -> None:
    """Write `FILES` into ``run``."""
    rows = [row for artifacts in all_artifacts for row in read_artifacts(artifacts, pair)]
    measured = [read_record(path) for path in all_artifacts[0].tables.values()]
    tables = [section for one in measured for section in one.sections]
    files = {f"model, seed {artifacts.seed}": artifacts.model for artifacts in all_artifacts}
    record = run_record(rows, tables, pair, dataclasses.asdict(config))
    record = with_steps(made(record, files), run, steps)
    write_run(run, record)
    with atomic_write(run / "summary.txt", "w") as file:
        file.write(as_text(record) + "\n")


def read_artifacts(artifacts: Artifacts, pair: Sequence[str]) -> list[Row]:
    """What the trainings, labels, tables and sequences of a seed are, as rows; ``task`` is one of
    `DISTANCES`, `PIVOTS` and `SEQUENCES`, or a row is that of a table."""
    rows: list[dict[str, Any]] = []

    def add(task: str, figures: Mapping[str, Any], **about: Any) -> None:
        of = {"study": STUDY, "task": task, **about}
        rows.extend({**of, "measure": name, "value": value} for name, value in figures.items())

    for name, log in artifacts.logs.items():
        if name.startswith(_ANNEALED):
            curves = read_curves(log, "valid") or read_curves(log, "train")
            ways = ("_".join(pair), "_".join(pair[::-1]))
            kinds = ("distance", "relative", "hard", "entropy")
            columns = [f"{kind}_{way}" for way in ways for kind in kinds]
            columns += [f"spread_{lang}" for lang in pair]
            last = {x: curves[x][-1][1] if x in curves else None for x in columns}
            # NaN is a share of nothing.
            known = {x.replace("_", " "): None if y != y else y for x, y in last.items()}
            add(DISTANCES, known, row=name)
    if artifacts.labels:
        meta = Labels(artifacts.labels / "train").meta
        tuned = meta["settings"].get("tuned") or {}
        figures = {"pairs": meta["sentences"], "pivots": meta["pivots"]}
        figures |= {"threshold": meta["settings"]["threshold"]}
        figures |= {f"F1 on {tuned['split']}": tuned["f1"]} if tuned else {}
        add(PIVOTS, figures, row="train")
    for path in artifacts.tables.values():
        rows += read_record(path).rows
    for folder in artifacts.sequences:
        meta = read_json(folder / META)
        figures = {"sentences": meta["sentences"]}
        figures["vectors each"] = meta["rows"] / max(meta["sentences"], 1)
        add(SEQUENCES, figures, row=meta["settings"]["row"], text=folder.name)
    return [
        {"paper": "clcr", "seed": artifacts.seed, **{k: v for k, v in row.items() if v is not None}}
        for row in rows
    ]


def run_record(
    rows: Sequence[Row],
    tables: Sequence[Section],
    pair: Sequence[str],
    config: Mapping[str, Any],
) -> Record:
    """The record of `read_artifacts`; ``tables`` are the sections of its tables."""
    source, target = pair
    measured = distinct(select(rows, {"task": DISTANCES}), "measure")
    drawn = [name for name in measured if name.startswith(("distance", "relative"))]
    own = {"study": STUDY}
    sections = [
        Section(
            "Distance of translations",
            Table({"phase": "row"}, where={**own, "task": DISTANCES}),
            Chart("bars", {**own, "task": DISTANCES, "measure": drawn}) if drawn else None,
            ["relative: divided by the spread of the target's states, 1 is chance"],
            source="CLCR, Table 1",
        ),
        Section(
            "Pseudo-gold pivots",
            Table(
                {"split": "row"},
                where={**own, "task": PIVOTS},
                digits={"pairs": None, "pivots": None, "threshold": 4},
            ),
        ),
        *(dataclasses.replace(table, name="") for table in tables),
        Section(
            "Sequences",
            Table(
                {"row": "row", "text": "text"},
                where={**own, "task": SEQUENCES},
                digits={"sentences": None},
            ),
            notes=["in sequences/SEED/ROW/TEXT of the run's folder"],
        ),
    ]
    return Record(
        f"CLCR, {source} and {target}",
        rows,
        tuple(one for one in sections if one.table and select(rows, one.table.where)),
        source="CLCR, Tables 1 to 3",
        lead=[f"States of {source} are mapped to those of {target}. Shares are in [0, 1]."],
        config=config,
    )
