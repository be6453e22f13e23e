"""The demonstration: two bilingual encoders on the embedded corpus, one of which shares nothing.

Conneau et al. 2020, "Emerging Cross-lingual Structure in Pretrained Language Models": a masked
language model of two languages aligns them without parallel text when it shares parameters. The
control has a private copy of every parameter, so nothing can align it. Both are fine-tuned on
annotated English and tested on German: a head that saw only English works in another language to
the extent that the states of both languages are alike (Wu et al. 2020). Then the English half of
the control is migrated to German and translates (`migration`).
"""

import argparse
import dataclasses
from pathlib import Path

from fairseq_xling.core.registry import unknown_name
from fairseq_xling.engine.precision import AUTO
from fairseq_xling.studies.corpus_steps import eval_command, prepare_step, synthesize_step
from fairseq_xling.studies.demo.migration import migration_steps
from fairseq_xling.studies.demo.record import FILES, write_demo
from fairseq_xling.studies.demo.scale import MODELS, SCALES, SHOWN, SOURCE, TARGET, Scale
from fairseq_xling.studies.gold_tasks import TASKS, transfer_step
from fairseq_xling.studies.training_command import Training, checkpoints, training_step
from fairseq_xling.workflow.launcher import run_steps
from fairseq_xling.workflow.settled import settle
from fairseq_xling.workflow.step import Step


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
    steps += [
        transfer_step(
            f"transfer-{name}",
            TASKS[name],
            run / "transfer" / name,
            text,
            languages,
            trained,
            str(seed),
            ["--precision", precision],
        )
        for name in SHOWN
    ]
    source, _ = trained["separate"]
    steps += migration_steps(
        run, scale.migration, scale.sentences, scale.held_out, seed, source, precision
    )
    steps.append(
        Step(
            "report",
            call=lambda: write_demo(run, scale, seed, precision, steps),
            settings={"scale": repr(scale), "seed": seed, "precision": precision, "kind": "demo"},
            inputs=[path for step in steps for path in step.outputs],
            outputs=[run / name for name in FILES],
        )
    )
    return [dataclasses.replace(s, effort=scale.efforts.get(s.name, 0.0)) for s in steps]


def _evaluation(run: Path, name: str, data: Path, folder: Path, training: Training) -> Step:
    """Every checkpoint's retrieval, and everything about the chosen one."""
    every, best = (run / "results" / f"{name}.{what}.json" for what in ("training", "chosen"))
    saved, chosen = checkpoints(folder, training), [folder / "checkpoint_best.pt"]
    dictionary = run / "text" / "dictionary"
    retrieval: list[str | Path] = ["--measure", "retrieval", "--output", every]
    all_measures: list[str | Path] = [
        "--measure",
        "retrieval,words,bpw",
        "--dictionary",
        dictionary,
    ]
    return Step(
        f"eval-{name}",
        commands=[
            eval_command(saved, data, SOURCE, [TARGET], *retrieval),
            eval_command(chosen, data, SOURCE, [TARGET], *all_measures, "--output", best),
        ],
        inputs=[data, folder, run / "text"],
        outputs=[every, best],
    )


def run_demo(args: argparse.Namespace) -> None:
    """The verb ``demo``."""
    run = Path(args.output)
    if args.scale not in SCALES:
        raise unknown_name("`--scale`", args.scale, list(SCALES))
    # bf16 saves nothing at 64 units, whatever the processor: the conversions take longer than the
    # products gain. And so the figures of all machines agree.
    settled = settle(run, "fp32" if args.precision == AUTO else args.precision, "cpu")
    steps = demo_steps(run, SCALES[args.scale], args.seed, settled.precision)
    run_steps(run, steps, args.jobs, args, settled, shown="summary.txt")
