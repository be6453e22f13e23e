"""The demonstration's second half: its English model migrates to German and translates.

Li et al. 2021, "Cross-lingual Transferring of Pre-trained Contextualized Language Models" (TreLM).
The English parts of the model that shares nothing are an English encoder; with parallel text of the
embedded corpus `fairseq-xling trelm run` takes it to German. What the forward model translates
is compared with an ordinary translation model trained for the same time, where the scale asks for
one.
"""

import dataclasses
from pathlib import Path

from fairseq_xling.studies.corpus_steps import synthesize_step
from fairseq_xling.workflow.step import Step, last_line

SOURCE, TARGET = "en", "de"
FOLDER = "migration"


@dataclasses.dataclass(frozen=True)
class MigrationScale:
    """How large the migration is; every phase in optimiser steps.

    ``train_args``: further options of every training; ``compared``: whether an autoregressive model
    is trained for the same time, to compare with. ``translator``: the slots' steps.
    """

    pairs: int
    commonality: int
    transfer: int
    language: int
    translator: int
    every: int
    max_tokens: int
    warmup: int
    betas: str = "0.9,0.999"
    train_args: str = "--attention-dropout 0"
    compared: bool = False


def migration_steps(
    run: Path,
    scale: MigrationScale,
    sentences: int,
    held_out: int,
    seed: int,
    source: Path,
    precision: str,
) -> list[Step]:
    """Parallel text and the migration, both in ``run``.

    Args:
        source: checkpoint whose English parts are migrated.
    """
    text, folder = run / "text-parallel", run / FOLDER
    languages = [SOURCE, TARGET]
    made = synthesize_step(
        "synthesize-parallel", text, languages, sentences, held_out, seed, pairs=scale.pairs
    )
    command = [
        *("fairseq-xling", "trelm", "run", "--output", str(folder), "--text", str(text)),
        *("--source", str(source), "--source-language", SOURCE),
        *("--languages", ",".join(languages), "--seeds", str(seed), "--jobs", "2"),
        *("--arch", "tri_bert_tiny", "--vocab-type", "word", "--vocab-size", "4000"),
        # So little text gives vectors no shape that a map could be found by; the words that the
        # English encoder knows keep its embeddings instead.
        *("--mapping", "none"),
        *("--commonality-steps", str(scale.commonality)),
        *("--transfer-steps", str(scale.transfer), "--language-steps", str(scale.language)),
        *("--translator-steps", str(scale.translator), "--emission", "lattice"),
        *("--commonality-lr", "3e-3", "--transfer-lr", "3e-3", "--language-lr", "1e-3"),
        *("--translator-lr", "3e-3"),
        *("--warmup", str(scale.warmup), "--every", str(scale.every)),
        *("--adam-betas", scale.betas, f"--train-args={scale.train_args}"),
        *("--batch-size", "0", "--max-tokens", str(scale.max_tokens)),
        *("--precision", precision),
        *(("--autoregressive",) if scale.compared else ()),
    ]
    migrate = Step(
        "migrate",
        commands=[command],
        inputs=[text, source.parent],
        outputs=[folder],
        resumable=True,
        progress=last_line,
    )
    return [made, migrate]
