"""The table of a study: a row per variation, the paper's figure next to ours."""

import dataclasses
import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairseq_xling.files import write_json
from fairseq_xling.provenance import machine, provenance
from fairseq_xling.runs.figure_file import write_svg
from fairseq_xling.runs.figures import DotPanel, Line, Panel, draw, draw_dots, to_svg
from fairseq_xling.runs.report import Section, commands_section, write_report
from fairseq_xling.runs.statistics import mean_and_spread
from fairseq_xling.runs.step import Step
from fairseq_xling.runs.tables import write_csv, write_markdown
from fairseq_xling.studies.trelm.config import TrelmConfig
from fairseq_xling.studies.trelm.results import read_outcome
from fairseq_xling.studies.trelm.steps import Outcome

if TYPE_CHECKING:
    from fairseq_xling.studies.trelm.study import Row, TrelmStudy

FILES = ("table.md", "table.csv", "results.json", "plot.svg", "report.html")
Found = Sequence[tuple["Row", list[dict[str, Any]]]]


def write_study(
    study: "TrelmStudy",
    run: Path,
    config: TrelmConfig,
    outcomes: Sequence[tuple["Row", list[Outcome]]],
    steps: Sequence[Step],
) -> None:
    """Write `FILES` into ``run``."""
    found = [(row, [read_outcome(config, one) for one in many]) for row, many in outcomes]
    header, rows = study_table(found, config)
    notes = [*study.notes, *_notes(found, config)]
    svg = to_svg(_figure(study, found, config))
    write_svg(run / "plot.svg", svg)
    write_markdown(run / "table.md", header, rows, notes)
    write_csv(run / "table.csv", *_long_rows(found))
    record = {
        "study": study.title,
        "config": dataclasses.asdict(config),
        "header": header,
        "rows": rows,
        "notes": notes,
        "migrations": {row.code: many for row, many in found},
        "provenance": provenance({}),
    }
    if study.axis:
        sizes = {row.code: study.size(row) for row, _ in found}
        record["axis"] = {"title": study.axis, "sizes": sizes}
    write_json(run / "results.json", record)
    sections = [
        Section("Table", header=header, rows=rows, notes=notes),
        Section("Bits per word", svg=svg),
        Section(
            "Settings of the rows",
            text="Differences from the settings of the study.",
            header=["row", "what it is", "changes"],
            rows=[
                (row.code, row.name, ", ".join(f"{k} = {v}" for k, v in row.changes.items()))
                for row, _ in found
            ],
        ),
        Section(
            "Settings of the study",
            header=["option", "value"],
            rows=[(k, str(v)) for k, v in dataclasses.asdict(config).items() if v not in ("", ())],
        ),
        commands_section(steps),
    ]
    write_report(run / "report.html", study.title, [study.lead], sections)


def final_bpw(one: dict[str, Any]) -> float:
    """Bits per word of the target language at the end."""
    return one["phases"][-1]["bpw"][one["target"]]


def study_table(found: Found, config: TrelmConfig) -> tuple[list[str], list[list[Any]]]:
    """Header and rows; mean and deviation over seeds, differences to the first row."""
    translations = [one["translation"] for _, many in found for one in many]
    orderings = list(dict.fromkeys(name for scores in translations for name in scores))
    header = ["row", "", "parameters", "steps", "tokens"]
    for target in config.targets:
        header += [f"bits per word, {target}", "Δ"]
        header += [f"BLEU {name}, {target}" for name in orderings]
    header.append("paper: bits per word")
    rows = []
    for row, many in found:
        cells: list[Any] = [row.code, row.name, _parameters(many), *_budget(many)]
        for target in config.targets:
            ours = [final_bpw(one) for one in many if one["target"] == target]
            first = [final_bpw(one) for one in found[0][1] if one["target"] == target]
            cells.append(mean_and_spread(ours, 3))
            cells.append(f"{statistics.fmean(ours) - statistics.fmean(first):+.3f}")
            cells += [_bleu(many, target, name) for name in orderings]
        rows.append([*cells, None if row.paper is None else f"{row.paper:.3f}"])
    return header, rows


def _parameters(many: Sequence[dict[str, Any]]) -> int:
    """Parameters of the model, without heads that only some phases have."""
    return min(c["parameters"] for one in many for c in one["cost"]["trainings"])


def _budget(many: Sequence[dict[str, Any]]) -> list[int]:
    """Steps and tokens of a migration, the mean over seeds and targets."""
    return [
        round(statistics.fmean(one["cost"]["sums"][name] for one in many))
        for name in ("steps", "tokens")
    ]


def _bleu(many: Sequence[dict[str, Any]], target: str, ordering: str) -> str | None:
    scores = [
        one["translation"][ordering]["bleu"]
        for one in many
        if one["target"] == target and ordering in one["translation"]
    ]
    return mean_and_spread(scores, 2) if scores else None


def _long_rows(found: Found) -> tuple[list[str], list[list[Any]]]:
    header = ["row", "target", "seed", "phase", "steps", "bits per word", "paper"]
    return header, [
        [
            row.code,
            one["target"],
            one["seed"],
            phase["phase"],
            phase["steps"],
            phase["bpw"][one["target"]],
            row.paper,
        ]
        for row, many in found
        for one in many
        for phase in one["phases"]
    ]


def _figure(study: "TrelmStudy", found: Found, config: TrelmConfig):
    if study.axis:
        lines = []
        for style, target in enumerate(config.targets):
            points = []
            for row, many in found:
                size = study.size(row)
                values = [final_bpw(one) for one in many if one["target"] == target]
                if size is not None:
                    points.append((size, statistics.fmean(values)))
            x, y = zip(*sorted(points), strict=True) if points else ((), ())
            lines.append(Line(target, x, y, style))
        return draw([Panel(lines, xlabel=study.axis, ylabel="bits per word")])
    names = [f"{row.code}: {row.name}" for row, _ in found]
    return draw_dots(
        [
            DotPanel(
                names,
                [[final_bpw(one) for one in many if one["target"] == target] for _, many in found],
                xlabel="bits per word",
                title=target,
            )
            for target in config.targets
        ]
    )


def _notes(found: Found, config: TrelmConfig) -> list[str]:
    uniform = {one["target"]: one["uniform_bpw"][one["target"]] for one in found[0][1]}
    nothing = ", ".join(f"{value:.2f} ({lang})" for lang, value in uniform.items())
    seeds = f"seed {config.seeds}"
    if len(config.seed_list) > 1:
        seeds = f"mean ± standard deviation over seeds {config.seeds}"
    return [
        f"Bits per word of masked words of the {config.bpw_split} text, with the same masks for "
        f"every row; {seeds}; Δ is the difference to {found[0][0].code}. "
        f"Chance: {nothing}.",
        "The paper's figures are from models and texts thousands of times larger; they are shown "
        "only for the order of the rows.",
        f"{machine()}.",
    ]
