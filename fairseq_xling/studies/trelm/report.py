"""The report of ``trelm run``: a page, and its figures as JSON, CSV and text."""

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from fairseq_xling.analysis.sampled_bleu import ORDERS
from fairseq_xling.files import atomic_write, write_json
from fairseq_xling.provenance import provenance
from fairseq_xling.ranges import option_name
from fairseq_xling.runs import report
from fairseq_xling.runs.figures import Line, Panel, draw, to_svg
from fairseq_xling.runs.report import Section
from fairseq_xling.runs.step import Step
from fairseq_xling.runs.tables import text_table, write_csv
from fairseq_xling.runs.training_log import UNDRAWN, curve_words
from fairseq_xling.studies.trelm.config import TrelmConfig
from fairseq_xling.studies.trelm.cost import Cost, cost_table
from fairseq_xling.studies.trelm.results import read_outcome
from fairseq_xling.studies.trelm.steps import Outcome

Table = tuple[list[str], list[list[Any]]]


def write_report(
    run: Path, config: TrelmConfig, outcomes: Sequence[Outcome], steps: Sequence[Step]
) -> None:
    """Write ``report.html``, ``results.json``, ``curves.csv`` and ``summary.txt`` into ``run``."""
    found = [read_outcome(config, outcome) for outcome in outcomes]
    words, bleu = phase_table(found, config), bleu_table(found)
    record = {"config": dataclasses.asdict(config), "migrations": found}
    write_json(run / "results.json", {**record, "provenance": provenance({})})
    write_csv(run / "curves.csv", *_curve_rows(found))
    with atomic_write(run / "summary.txt", "w") as file:
        for title, table in (("Bits per word", words), ("Translation, forward model", bleu)):
            if table[1]:
                file.write(f"{title}\n{text_table(*table)}\n\n")
    targets = ", ".join(dict.fromkeys(one["target"] for one in found))
    lead = [
        f"The encoder {config.source} was migrated from {config.source_lang} to {targets}: new "
        "words, then commonality training, transfer in both directions, combination, and training "
        "on the target language alone (Li et al., 2021, Algorithm 1).",
    ]
    sections = [
        Section(
            "Bits per word after each phase",
            text=f"With the same masks of the {config.bpw_split} text for all checkpoints.",
            header=words[0],
            rows=words[1],
            notes=[_uniform(one) for one in found],
        ),
        *_translation(found, bleu),
        *_maps(found),
        Section("Loss", svg=_figure(found[0])),
        *(_cost(one) for one in found),
        Section(
            "Settings",
            header=["option", "value"],
            rows=[
                (option_name(name), shown)
                for name, value in dataclasses.asdict(config).items()
                if (shown := " ".join(map(str, value)) if isinstance(value, tuple) else str(value))
            ],
        ),
        report.versions_section(),
        report.commands_section(steps),
    ]
    report.write_report(run / "report.html", f"Migration to {targets}", lead, sections)


def phase_table(found: Sequence[dict[str, Any]], config: TrelmConfig) -> Table:
    """Bits per word of both languages after each phase."""
    header = ["target", "seed", "after", "steps"]
    header += [f"bits per word, {config.source_lang}", "bits per word, target"]
    rows = [
        [
            one["target"],
            one["seed"],
            phase["phase"],
            phase["steps"],
            round(phase["bpw"][config.source_lang], 3),
            round(phase["bpw"][one["target"]], 3),
        ]
        for one in found
        for phase in one["phases"]
    ]
    return header, rows


def bleu_table(found: Sequence[dict[str, Any]]) -> Table:
    """n-gram precisions and the cumulative score of every ordering."""
    header = ["target", "seed", "ordering"]
    header += [f"{order}-gram precision" for order in range(1, ORDERS + 1)]
    header += ["BLEU", "brevity penalty", "length ratio"]
    rows = [
        [
            one["target"],
            one["seed"],
            ordering,
            *(f"{value:.1f}" for value in scores["precisions"]),
            f"{scores['bleu']:.2f}",
            f"{scores['brevity_penalty']:.3f}",
            f"{scores['length_ratio']:.3f}",
        ]
        for one in found
        for ordering, scores in one["translation"].items()
    ]
    return header, rows


def _uniform(one: dict[str, Any]) -> str:
    values = ", ".join(f"{value:.2f} ({lang})" for lang, value in one["uniform_bpw"].items())
    return f"Chance is {values} bits per word with the words of {one['target']}."


def _translation(found: Sequence[dict[str, Any]], table: Table) -> list[Section]:
    if not table[1]:
        return []
    signatures = {s["signature"] for one in found for s in one["translation"].values()}
    sections = [
        Section(
            "Translation with the forward model",
            text="All words are predicted at once; the orderings differ in the source position "
            "of each "
            "target word.",
            header=table[0],
            rows=table[1],
            notes=[
                "Precisions as printed by sacrebleu, without smoothing; BLEU is their geometric "
                "mean times the brevity penalty. References are the data folder's subwords joined "
                "again.",
                f"sacrebleu {'; '.join(sorted(signatures))}",
            ],
        )
    ]
    for one in found:
        header = list(one["samples"][0])
        rows = [[sample[name] for name in header] for sample in one["samples"]]
        title = f"Translations to {one['target']}, seed {one['seed']}"
        sections.append(Section(title, header=header, rows=rows))
    return sections


def _maps(found: Sequence[dict[str, Any]]) -> list[Section]:
    rows = [
        [
            one["target"],
            entry["best_seed"],
            entry["criterion"],
            entry["criterion_unmapped"],
            "yes" if entry["failed"] else "no",
            ", ".join(map(str, entry["failed_seeds"])) or "none",
        ]
        for one in {one["target"]: one for one in found}.values()
        for entry in one["maps"]
    ]
    header = ["target", "best seed", "mean cosine", "unmapped", "failed", "failed seeds"]
    text = "Mean cosine of the vectors to their nearest source embeddings after the map."
    return [Section("Map of the embeddings", text=text, header=header, rows=rows)] if rows else []


def _figure(one: dict[str, Any]) -> str:
    panels = []
    for phase, curves in one["curves"].items():
        lines = []
        keys = sorted({key for split in curves.values() for key in split} - UNDRAWN)
        for style, key in enumerate(keys):
            for split, points in ((name, found.get(key)) for name, found in curves.items()):
                if points:
                    x, y = zip(*points, strict=True)
                    lines.append(Line(curve_words(key, split), x, y, style, split == "valid"))
        panels.append(
            Panel(lines, xlabel="optimiser steps", ylabel="bits per predicted subword", title=phase)
        )
    return to_svg(draw(panels))


def _cost(one: dict[str, Any]) -> Section:
    costs = [
        Cost(**{name: value for name, value in entry.items() if name != "device_days"})
        for entry in one["cost"]["trainings"]
    ]
    header, rows = cost_table(costs)
    sentences = ", ".join(f"{n:,} of {lang}" for lang, n in one["data"]["sentences"].items())
    pairs = ", ".join(f"{n:,} of {pair}" for pair, n in one["data"]["pairs"].items()) or "none"
    return Section(
        f"Cost of {one['target']}, seed {one['seed']}",
        text=f"Training sentences: {sentences}; sentence pairs: {pairs}. Both directions of "
        "transfer are trained; the paper counts them as one.",
        header=header,
        rows=rows,
        notes=["Minutes are fairseq-train's running time, without interruptions."],
    )


def _curve_rows(found: Sequence[dict[str, Any]]) -> Table:
    header = ["target", "seed", "phase", "split", "curve", "update", "value"]
    rows = [
        [one["target"], one["seed"], phase, split, key, update, value]
        for one in found
        for phase, curves in one["curves"].items()
        for split, keys in curves.items()
        for key, points in keys.items()
        for update, value in points
    ]
    return header, rows
