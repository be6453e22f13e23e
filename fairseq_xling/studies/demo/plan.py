"""The demonstration: two bilingual encoders on the embedded corpus, one of which shares nothing.

Conneau et al. 2020, "Emerging Cross-lingual Structure in Pretrained Language Models": a masked
language model of two languages aligns them without parallel text when it shares parameters. The
control has a private copy of every parameter, so nothing can align it. Both are fine-tuned on
annotated English and tested on German (`demo_transfer`). Then the English half of the control is
migrated to German and translates (`demo_migration`).
"""

import dataclasses
from collections.abc import Mapping
from pathlib import Path

from fairseq_xling.precision import AUTO
from fairseq_xling.registry import unknown_name
from fairseq_xling.runs.carry_out import carry_out
from fairseq_xling.runs.corpus_steps import eval_command, prepare_step, synthesize_step
from fairseq_xling.runs.settled import settle
from fairseq_xling.runs.step import Step
from fairseq_xling.runs.training_command import Training, checkpoints, training_step
from fairseq_xling.studies.demo.migration import MigrationScale, migration_steps
from fairseq_xling.studies.demo.report import write_demo_report
from fairseq_xling.studies.demo.transfer import SHOWN, transfer_steps

SOURCE, TARGET = "en", "de"


@dataclasses.dataclass(frozen=True)
class Scale:
    """How large a demonstration is.

    ``efforts`` are the seconds that its steps took on two common cores, to estimate the time left.
    """

    sentences: int
    held_out: int
    vocab_size: int
    annotated: int
    training: Training
    migration: MigrationScale
    efforts: Mapping[str, float] = dataclasses.field(default_factory=dict)


def _efforts(train: float, evaluate: float, transfer: float, migrate: float) -> dict[str, float]:
    """By step; the others take a few seconds at every scale."""
    return {
        **dict.fromkeys(("train-default", "train-separate"), train),
        **dict.fromkeys(("eval-default", "eval-separate"), evaluate),
        **dict.fromkeys([f"transfer-{name}" for name in SHOWN], transfer),
        **dict.fromkeys(("synthesize", "synthesize-parallel"), 3),
        "migrate": migrate,
    }


SCALES = {
    "tiny": Scale(
        sentences=1000,
        held_out=100,
        vocab_size=2000,
        annotated=100,
        training=Training(
            "separable_transformer_tiny", updates=40, every=20, max_tokens=1024, lr=3e-3, warmup=10
        ),
        migration=MigrationScale(
            pairs=500,
            commonality=10,
            transfer=30,
            language=10,
            every=15,
            max_tokens=512,
            warmup=2,
        ),
        efforts=_efforts(train=9, evaluate=2, transfer=4, migrate=13),
    ),
    "mini": Scale(
        sentences=8000,
        held_out=500,
        vocab_size=2000,
        annotated=500,
        training=Training(
            "separable_transformer_tiny",
            updates=500,
            every=100,
            max_tokens=2048,
            lr=3e-3,
            warmup=60,
        ),
        # Many small steps without dropout: what learns word order wants steps more than text.
        migration=MigrationScale(
            pairs=10000,
            commonality=400,
            transfer=2000,
            language=400,
            every=400,
            max_tokens=512,
            warmup=200,
            betas="0.9,0.98",
            train_args="--attention-dropout 0 --dropout 0",
        ),
        efforts=_efforts(train=60, evaluate=6, transfer=8, migrate=190),
    ),
    "small": Scale(
        sentences=20000,
        held_out=1000,
        vocab_size=2000,
        annotated=2000,
        training=Training(
            "separable_transformer_tiny",
            updates=1600,
            every=200,
            max_tokens=2048,
            lr=3e-3,
            warmup=100,
        ),
        migration=MigrationScale(
            pairs=20000,
            commonality=200,
            transfer=1000,
            language=200,
            every=200,
            max_tokens=2048,
            warmup=50,
            compared=True,
        ),
    ),
}

_REPORT = ("report.html", "results.json", "summary.txt", "curves.csv", "neighbours.csv")
LAYERS = 4  # of separable_transformer_tiny

# name: (vocabulary mode, options of fairseq-train, what it is)
MODELS = {
    "default": (
        "union",
        (),
        "all parameters shared; identically spelt words share an id (default anchors)",
    ),
    "separate": (
        "separate",
        ("--separate", f"emb,1-{LAYERS}", "--random-within-language"),
        "a private copy of every parameter per language, so that nothing can align them",
    ),
}


def demo_steps(run: Path, scale: Scale, seed: int, precision: str) -> list[Step]:
    """All steps of the demonstration; everything lies in ``run``, and all is trained in
    ``precision``."""
    languages, text = [SOURCE, TARGET], run / "text"
    steps = [
        synthesize_step(
            "synthesize",
            text,
            languages,
            scale.sentences,
            scale.held_out,
            seed,
            annotated=scale.annotated,
        )
    ]
    trained = {}
    for name, (mode, options, _) in MODELS.items():
        data, folder = run / f"data-{mode}", run / f"model-{name}"
        trained[name] = (folder / "checkpoint_best.pt", data)
        log = run / "logs" / f"train-{name}.log"
        steps += [
            prepare_step(
                f"prepare-{mode}",
                data,
                languages,
                source=["--from", str(text)],
                inputs=[text],
                mode=mode,
                vocab_type="word",
                vocab_size=scale.vocab_size,
            ),
            training_step(
                f"train-{name}",
                scale.training,
                data,
                folder,
                log,
                seed,
                SOURCE,
                options,
                precision=precision,
            ),
            _evaluation(run, name, data, folder, scale.training),
        ]
    steps += transfer_steps(run, trained, seed, precision)
    source, _ = trained["separate"]
    steps += migration_steps(
        run, scale.migration, scale.sentences, scale.held_out, seed, source, precision
    )
    steps.append(
        Step(
            "report",
            call=lambda: write_demo_report(run, scale, seed, precision, steps),
            settings={"scale": repr(scale), "seed": seed, "precision": precision},
            inputs=[path for step in steps for path in step.outputs],
            outputs=[run / name for name in _REPORT],
        )
    )
    return [dataclasses.replace(s, effort=scale.efforts.get(s.name, 0.0)) for s in steps]


def _evaluation(run: Path, name: str, data: Path, folder: Path, training: Training) -> Step:
    """Every checkpoint's retrieval, and everything about the chosen one."""
    every, best = (run / "results" / f"{name}.{what}.json" for what in ("training", "chosen"))
    saved, chosen = checkpoints(folder, training), [folder / "checkpoint_best.pt"]
    dictionary = run / "text" / "dictionary"
    retrieval = ["--measure", "retrieval", "--output", every]
    all_measures = ["--measure", "retrieval,words,bpw", "--dictionary", dictionary]
    return Step(
        f"eval-{name}",
        commands=[
            eval_command(saved, data, SOURCE, [TARGET], *retrieval),
            eval_command(chosen, data, SOURCE, [TARGET], *all_measures, "--output", best),
        ],
        inputs=[data, folder, run / "text"],
        outputs=[every, best],
    )


def run_demo(
    scale: str, output: str, seed: int, jobs: int, dry_run: bool, precision: str = AUTO
) -> None:
    """The verb ``demo``.

    Raises:
        UserError: if a step fails, or a value is not allowed.
    """
    run = Path(output)
    if scale not in SCALES:
        raise unknown_name("`--scale`", scale, SCALES)
    # bf16 saves nothing at 64 units, whatever the processor: the conversions take longer than the
    # products gain. And so the figures of all machines agree.
    settled = settle(run, "fp32" if precision == AUTO else precision, "cpu")
    steps = demo_steps(run, SCALES[scale], seed, settled.precision)
    carry_out(run, steps, jobs, dry_run, settled, shown="summary.txt")
