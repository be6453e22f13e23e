"""The demonstration's second half: its English model migrates to German and translates.

Li et al. 2021, "Cross-lingual Transferring of Pre-trained Contextualized Language Models" (TreLM).
The English parts of the model that shares nothing are an English encoder; with parallel text of the
embedded corpus `fairseq-xling trelm run` takes it to German. What the forward model translates
is compared with an ordinary translation model trained for the same time, where the scale asks for
one.
"""

import dataclasses
from pathlib import Path
from typing import Any

from fairseq_xling.results.report import Section
from fairseq_xling.runs.corpus_steps import synthesize_step
from fairseq_xling.runs.step import Step, last_line

SOURCE, TARGET = "en", "de"
FOLDER = "migration"
METHODS = {
    "identity": "identity: order and length of the source (the paper's)",
    "predicted": "predicted: order and length predicted by the model",
    "oracle": "oracle: order and length of the reference",
    "lattice": "slots: words and their order at once, learnt after the forward model (a lattice)",
}


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


def read_migration(run: Path) -> dict[str, Any]:
    """What the migration measured: bits per word by phase, scores by ordering, sentences."""
    from fairseq_xling.papers.trelm.results import PRECISIONS, SCORES, part
    from fairseq_xling.results.frame import split
    from fairseq_xling.results.result import find_results

    (result,) = find_results(run / FOLDER)
    frame = result.frame
    phases: dict[str, dict[str, Any]] = {}
    for one in part(frame, "bits").itertuples():
        of = phases.setdefault(one.phase, {"phase": one.phase, "steps": one.steps, "bpw": {}})
        of["bpw"][one.language] = one.value
    scores = split(part(frame, "translation"), "ordering")
    return {
        "phases": list(phases.values()),
        "translation": {
            ordering: {
                **{name: found[heading] for heading, name in SCORES.items()},
                "precisions": [found[name] for name in PRECISIONS],
                "sentences": found["sentences translated"],
            }
            for ordering, own in scores
            for found in [dict(zip(own["measure"], own["value"], strict=True))]
        },
        "samples": result.record["migrations"][0]["samples"],
    }


def translations(migration: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """The scores of each method of translation: ours in their order, then what they are compared
    with."""
    found = migration["translation"]
    names = [*METHODS, *found]
    return {name: found[name] for name in dict.fromkeys(names) if name in found}


def translation_rows(migration: dict[str, Any]) -> tuple[list[str], list[list[Any]]]:
    """BLEU of every method of translation, and the precisions of its n-grams."""
    header = ["translation", "BLEU", "1-grams", "2-grams", "3-grams", "4-grams", "length ratio"]
    rows = [
        [
            METHODS.get(name, name),
            *(f"{value:.1f}" for value in (found["bleu"], *found["precisions"])),
            found["length_ratio"],
        ]
        for name, found in translations(migration).items()
    ]
    return header, rows


def gap_closed(migration: dict[str, Any]) -> float | None:
    """The share of BLEU between the source's order and the reference's that prediction recovers.

    None where the reference's order is no better than the source's.

    >>> def migration(*found):
    ...     names = ("identity", "predicted", "oracle")
    ...     return {"translation": {n: {"bleu": b} for n, b in zip(names, found)}}
    >>> gap_closed(migration(10.0, 15.0, 20.0)), gap_closed(migration(0.0, 0.0, 0.0))
    (0.5, None)
    """
    bleu = {name: found["bleu"] for name, found in migration["translation"].items()}
    gap = bleu["oracle"] - bleu["identity"]
    return (bleu["predicted"] - bleu["identity"]) / gap if gap > 0 else None


def order_gain(migration: dict[str, Any]) -> str:
    """`gap_closed` in words."""
    closed = gap_closed(migration)
    if closed is None:
        return "the reference's order does not translate better than the source's yet"
    return f"predicting the order closes {closed:.0%} of the gap between identity and oracle"


def migration_sections(migration: dict[str, Any]) -> list[Section]:
    """The migration in the demonstration's report."""
    header, rows = translation_rows(migration)
    phases = [
        [entry["phase"], entry["steps"], *(entry["bpw"][lang] for lang in (SOURCE, TARGET))]
        for entry in migration["phases"]
    ]
    samples = migration["samples"]
    found = list(samples[0]) if samples else []
    names = ["source", "reference", *METHODS, *found]
    names = [name for name in dict.fromkeys(names) if name in found]
    return [
        Section(
            f"Migration from {SOURCE} to {TARGET}: bits per word after each phase",
            text="The English parts of the model that shares nothing, migrated to German by "
            "TreLM. All rows use the same masks; fewer bits are better.",
            header=["checkpoint", "steps", f"bits per word, {SOURCE}", f"bits per word, {TARGET}"],
            rows=phases,
        ),
        Section(
            f"Translation from {SOURCE} to {TARGET}",
            text="The forward model predicts all words of a sentence at once. Where an "
            "autoregressive model is listed, it has the same width and was trained on the same "
            "sentence pairs for the same wall time.",
            header=header,
            rows=rows,
            notes=[order_gain(migration)],
        ),
        Section(
            "Ten translations",
            header=names,
            rows=[[sample[name] for name in names] for sample in samples],
        ),
    ]
