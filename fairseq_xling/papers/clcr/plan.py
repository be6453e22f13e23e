"""The verbs ``clcr train`` and ``clcr run``: from two encoders to sequences of vectors.

transform -> lm1 -> lm2 (in turn) -> label -> extract -> order -> tables, encode

Both verbs work in the same folder: `run` continues from the steps of `train`.
"""

import argparse
import functools
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Any

from fairseq_xling import USER_DIR
from fairseq_xling.core.options import to_argv
from fairseq_xling.data.folder import DataFolder
from fairseq_xling.engine.precision import device_options
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
from fairseq_xling.papers.clcr.sequence_variants import rows
from fairseq_xling.runs.launcher import run_steps
from fairseq_xling.runs.optimiser import optimisation
from fairseq_xling.runs.options import load_config
from fairseq_xling.runs.settled import settle_config
from fairseq_xling.runs.step import Step
from fairseq_xling.runs.training_command import resumable_training

_ANNEALED = ("transform", "lm")


@dataclass
class Artifacts:
    """The files of the steps of one seed.

    Attributes:
        model: the last checkpoint.
        logs: of the trainings, by name, in their order.
        labels: folder of pivots; tables: output of `clcr keypoints` and `clcr order`, by verb;
            sequences: folders.
    """

    seed: int
    model: Path
    logs: dict[str, Path] = field(default_factory=dict)
    labels: Path | None = None
    tables: dict[str, Path] = field(default_factory=dict)
    sequences: list[Path] = field(default_factory=list)


def run_clcr(args: argparse.Namespace, everything: bool) -> None:
    """Plan and run all, or only the transforms and encoders, or print the plan (`--dry-run`)."""
    if everything:
        from fairseq_xling.papers.clcr.run_result import FILES, write_run

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
        made = (run, all_artifacts, pair, config.precision, list(steps))
        settings = {"pair": list(pair), "precision": config.precision, "kind": "clcr-run"}
        outputs, call = [run / name for name in FILES], functools.partial(write_run, *made)
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

    def _table(self, verb: str, *options: str) -> None:
        config, name = self.config, f"{verb}-table-{self.seed}"
        output = self.place / "results" / f"{name}.json"
        model, labels = self.artifacts.model, self.artifacts.labels
        command = [
            *("fairseq-xling", "clcr", verb, str(model), "--data", config.data),
            *("--labels", str(labels), *options, "--device", config.device),
            *("--output", str(output)),
        ]
        outputs = [output, output.with_suffix(".csv")]
        self._add(name, command, [Path(config.data), model, labels], outputs)
        self.artifacts.tables[verb] = output

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
        if any(rows[row].reads_translation for row in chosen):
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
    from fairseq_xling.papers.clcr.labels import Labels

    return ["--threshold", repr(Labels(labels).threshold)]
