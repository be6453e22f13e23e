"""The demonstration: two bilingual encoders on the embedded corpus, one of which shares nothing.

Conneau et al. 2020, "Emerging Cross-lingual Structure in Pretrained Language Models": a masked
language model of two languages aligns them without parallel text when it shares parameters. The
control has a private copy of every parameter, so nothing can align it. Both are fine-tuned on
annotated English and tested on German: a head that saw only English works in another language to
the extent that the states of both languages are alike (Wu et al. 2020).

Then the English half of the control is migrated to German with parallel text and translates (Li et
al. 2021, "Cross-lingual Transferring of Pre-trained Contextualized Language Models", TreLM). Where
the scale asks for it, an ordinary translation model is trained for the same time, to compare with,
and a translator with slots.
"""

import dataclasses
from collections.abc import Mapping
from pathlib import Path

from fairseq_xling.studies.gold_tasks import TASKS, transfer_step
from fairseq_xling.studies.training_command import Training, checkpoints, training_step
from fairseq_xling.workflow.recipe import THEN, Run
from fairseq_xling.workflow.step import Step, last_line

SOURCE, TARGET = "en", "de"
SHOWN = ("pos", "ner", "parsing")  # the tasks of zero-shot transfer
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
MIGRATION = "migration"  # folder of the run


@dataclasses.dataclass(frozen=True)
class MigrationScale:
    """How large the migration is; every phase in optimiser steps.

    ``train_args``: further options of every training; ``compared``: whether an autoregressive model
    is trained for the same time, to compare with. ``translator``: the steps of one with slots.
    """

    pairs: int
    commonality: int
    transfer: int
    language: int
    every: int
    max_tokens: int
    warmup: int
    betas: str = "0.9,0.999"
    train_args: str = "--attention-dropout 0"
    compared: bool = False
    translator: int = 0


@dataclasses.dataclass(frozen=True)
class Scale:
    """How large a demonstration is.

    ``efforts`` are the seconds that its steps took on two common cores, by the beginning of their
    names, to estimate the time left.
    """

    sentences: int
    held_out: int
    annotated: int
    training: Training
    migration: MigrationScale
    efforts: Mapping[str, float] = dataclasses.field(default_factory=dict)
    vocab_size: int = 2000


def _training(updates: int, every: int, max_tokens: int, warmup: int) -> Training:
    return Training("separable_transformer_tiny", updates, every, max_tokens, 3e-3, warmup)


SCALES = {
    "tiny": Scale(
        1000, 100, 100, _training(40, 20, 1024, 10),
        MigrationScale(500, 10, 16, 10, every=8, max_tokens=512, warmup=2),
        {"train-": 9, "eval-": 2, "map-": 4, "transfer-": 4, "synthesize": 3, "migrate": 10},
    ),
    "mini": Scale(
        8000, 500, 500, _training(500, 100, 2048, 60),
        # Many small steps without dropout: what learns word order wants steps more than text.
        MigrationScale(
            10000, 400, 2000, 400, every=400, max_tokens=512, warmup=200, betas="0.9,0.98",
            train_args="--attention-dropout 0 --dropout 0",
        ),
        {"train-": 60, "eval-": 6, "map-": 6, "transfer-": 8, "synthesize": 3, "migrate": 250},
    ),
    "small": Scale(
        20000, 1000, 2000, _training(1600, 200, 2048, 100),
        MigrationScale(
            20000, 200, 1000, 200, every=200, max_tokens=2048, warmup=50, compared=True,
            translator=500,
        ),
    ),
}  # fmt: skip


def plan(folder: Path, scale: Scale, seed: int, precision: str) -> list[Step]:
    """The steps of the demonstration but for its report; everything lies in ``folder``, and all is
    trained in ``precision``."""
    run, languages = Run(folder, scale), [SOURCE, TARGET]
    text = _synthesize(run, "synthesize", "text", seed, {"--annotated": scale.annotated})
    trained = {}
    for name, (mode, options, _) in MODELS.items():
        data = run(
            f"prepare-{mode}",
            "fairseq-xling prepare {out} --languages en,de --from",
            text,
            ["--vocab", mode, "--vocab-type", "word", "--vocab-size", scale.vocab_size],
            "--aligner none",
            to=f"data-{mode}",
            resumable=True,
        )
        model, log = folder / f"model-{name}", folder / "logs" / f"train-{name}.log"
        given = (scale.training, data, model, log, seed, SOURCE, options)
        run.add(training_step(f"train-{name}", *given, precision=precision))
        best = model / "checkpoint_best.pt"
        trained[name] = (best, data)
        common = ["--data", data, "--source", SOURCE, "--targets", TARGET, "--measure"]
        run(  # every checkpoint's retrieval, and everything about the chosen one
            f"eval-{name}",
            *("fairseq-xling eval", checkpoints(model, scale.training), common),
            *("retrieval --output {out}", THEN, "fairseq-xling eval", best, common),
            *("retrieval,words,bpw --dictionary", text / "dictionary", "--output {out1}"),
            to=f"results/{name}.training.json",
            also=[f"results/{name}.chosen.json"],
        )
        _map(run, name, best, data, text)
    for name in SHOWN:
        place, how = folder / "transfer" / name, ["--precision", precision]
        given = (TASKS[name], place, text, languages, trained, str(seed), how)
        run.add(transfer_step(f"transfer-{name}", *given))
    _migrate(run, scale.migration, seed, trained["separate"][0], precision)

    def effort(step: Step) -> float:
        return next((s for name, s in scale.efforts.items() if step.name.startswith(name)), 0.0)

    return [dataclasses.replace(step, effort=effort(step)) for step in run.steps.values()]


def _map(run: Run, name: str, model: Path, data: Path, text: Path) -> None:
    """A rotation of one language into the other, learnt from validation sentences and their
    translations, and retrieval of test sentences with it."""
    sides = [(split, lang) for split in ("valid", "test") for lang in (SOURCE, TARGET)]
    command: list[object] = []
    for number, (split, lang) in enumerate(sides):
        lines = text / "parallel" / f"{split}.{SOURCE}-{TARGET}.{lang}.txt"
        command += ["fairseq-xling extract", model, "--data", data, "--lang", lang, "--text", lines]
        command += ["--unit sentences --output {out%s}" % (number or ""), THEN]
    run(
        f"map-{name}",
        *command,
        *("fairseq-xling map procrustes {out} {out1} --pairs rows --output {out4}", THEN),
        "fairseq-xling eval tatoeba {out2} {out3} --map {out4} --output {out5}",
        to=f"states-{name}/valid-{SOURCE}",
        also=[
            *(f"states-{name}/{split}-{lang}" for split, lang in sides[1:]),
            *(f"states-{name}/map.safetensors", f"results/{name}.mapped.json"),
        ],
    )


def _synthesize(run: Run, name: str, to: str, seed: int, more: Mapping[str, int]) -> Path:
    scale = run.options
    sizes = ["--sentences", scale.sentences, "--held-out", scale.held_out, "--seed", seed]
    return run(name, "fairseq-xling synthesize {out} --languages en,de", sizes, more, to=to)


def _migrate(run: Run, scale: MigrationScale, seed: int, source: Path, precision: str) -> None:
    """Parallel text, and the migration of the English parts of ``source``."""
    pairs = {"--parallel-sentences": scale.pairs}
    text = _synthesize(run, "synthesize-parallel", "text-parallel", seed, pairs)
    run(
        "migrate",
        "fairseq-xling trelm run --output {out} --text",
        [text, "--source", source, "--source-language", SOURCE],
        ["--languages", f"{SOURCE},{TARGET}", "--seeds", seed, "--jobs", 2],
        # So little text gives vectors no shape that a map could be found by; the words that the
        # English encoder knows keep its embeddings instead.
        "--arch tri_bert_tiny --vocab-type word --vocab-size 4000 --mapping none",
        ["--commonality-steps", scale.commonality, "--transfer-steps", scale.transfer],
        ["--language-steps", scale.language, "--translator-steps", scale.translator],
        "--emission lattice --commonality-lr 3e-3 --transfer-lr 3e-3 --language-lr 1e-3",
        ["--translator-lr", "3e-3", "--warmup", scale.warmup, "--every", scale.every],
        ["--adam-betas", scale.betas, f"--train-args={scale.train_args}"],
        ["--batch-size", 0, "--max-tokens", scale.max_tokens, "--precision", precision],
        {"--autoregressive": scale.compared},
        to=MIGRATION,
        resumable=True,
        progress=last_line,
    )
