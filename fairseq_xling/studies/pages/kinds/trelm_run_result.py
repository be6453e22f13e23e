"""`fairseq-xling trelm run`: TreLM, Algorithm 1, Tables 4 and 6."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from fairseq_xling.runs.figures import Line, Panel, draw, to_svg
from fairseq_xling.runs.page import Measured, Page, Result, Table, caption
from fairseq_xling.runs.plots import BarPanel, Bars, draw_bars
from fairseq_xling.runs.report import Section
from fairseq_xling.runs.result import KINDS
from fairseq_xling.runs.training_log import UNDRAWN, curve_words

PAPER = "TreLM (Li et al., 2021)"
BITS = "bits per masked subword"


@KINDS.register("trelm-run")
class TrelmRun:
    """Bits per word after each phase, translations by ordering, losses, and the cost."""

    def recognises(self, record: Mapping[str, Any]) -> bool:
        return "study" not in record and isinstance(record.get("migrations"), list)

    def page(self, result: Result) -> Page:
        found = result.record["migrations"]
        seeds = f"Seed {', '.join(dict.fromkeys(str(one['seed']) for one in found))}."
        sections = [
            Section(
                "Bits per word after each phase",
                text="With the same masks for every checkpoint; lower is better.",
                svg=to_svg(draw_bars([_phases(one) for one in found])),
                notes=caption(result, f"{PAPER}, Algorithm 1 and A.7", seeds, f"Unit: {BITS}."),
            )
        ]
        if translated := [one for one in found if one["translation"]]:
            sections.append(
                Section(
                    "Translation with the forward model",
                    svg=to_svg(draw_bars([_bleu(one) for one in translated])),
                    notes=caption(
                        result,
                        f"{PAPER}, Table 6",
                        seeds,
                        "n-gram precisions and BLEU as printed by sacrebleu, in percent;",
                        "by ordering, the source position of each target word.",
                    ),
                )
            )
        sections += [
            Section(
                f"Loss, to {one['target']}, seed {one['seed']}",
                svg=to_svg(draw(_losses(one))),
                notes=caption(result, PAPER, "Unit: bits per predicted subword."),
            )
            for one in found
        ]
        cost = _costs(found)
        about = caption(result, f"{PAPER}, Table 4", "Seconds and devices as fairseq counted them.")
        sections.append(Section("Cost", header=cost[0], rows=cost[1], notes=about))
        targets = ", ".join(dict.fromkeys(one["target"] for one in found))
        return Page(
            title=f"Migration to {targets}",
            source=f"{PAPER}, Algorithm 1",
            lead=["An encoder of one language is migrated to another, in phases."],
            sections=sections,
            tables={
                "phases": _phase_rows(found),
                "translation": _bleu_rows(found),
                "losses": _loss_rows(found),
                "cost": cost,
            },
            measured=list(_measured(found)),
        )


def _phases(one: Mapping[str, Any]) -> BarPanel:
    names = [phase["phase"] for phase in one["phases"]]
    languages = list(one["phases"][0]["bpw"])
    series = [
        Bars(
            f"{lang}{' (target)' if lang == one['target'] else ''}",
            [phase["bpw"][lang] for phase in one["phases"]],
        )
        for lang in languages
    ]
    uniform = one["uniform_bpw"][one["target"]]
    title = f"to {one['target']}, seed {one['seed']}"
    return BarPanel(names, series, BITS, title, (uniform, f"chance ({uniform:.1f})"))


def _bleu(one: Mapping[str, Any]) -> BarPanel:
    names = [*(f"{n}-gram precision" for n in (1, 2, 3, 4)), "BLEU"]
    series = [
        Bars(name, [*scores["precisions"], scores["bleu"]])
        for name, scores in one["translation"].items()
    ]
    return BarPanel(names, series, "percent", f"to {one['target']}, seed {one['seed']}")


def _losses(one: Mapping[str, Any]) -> list[Panel]:
    panels = []
    curves = one["curves"]
    for phase in (found["phase"] for found in one["phases"] if found["phase"] in curves):
        splits = curves[phase]
        keys = sorted({key for found in splits.values() for key in found} - UNDRAWN)
        lines = []
        for style, key in enumerate(keys):
            for split, found in splits.items():
                if points := found.get(key):
                    x, y = zip(*points, strict=True)
                    lines.append(Line(curve_words(key, split), x, y, style, split == "valid"))
        panels.append(
            Panel(lines, xlabel="optimiser steps", ylabel="bits per predicted subword", title=phase)
        )
    return panels


def _phase_rows(found: Sequence[Mapping[str, Any]]) -> Table:
    return ["target", "seed", "phase", "steps", "language", "bits per word"], [
        [one["target"], one["seed"], phase["phase"], phase["steps"], lang, value]
        for one in found
        for phase in one["phases"]
        for lang, value in phase["bpw"].items()
    ]


def _bleu_rows(found: Sequence[Mapping[str, Any]]) -> Table:
    header = ["target", "seed", "ordering", *(f"{n}-gram precision" for n in (1, 2, 3, 4))]
    return [*header, "BLEU", "brevity penalty", "signature"], [
        [
            one["target"],
            one["seed"],
            name,
            *scores["precisions"],
            scores["bleu"],
            scores["brevity_penalty"],
            scores["signature"],
        ]
        for one in found
        for name, scores in one["translation"].items()
    ]


def _loss_rows(found: Sequence[Mapping[str, Any]]) -> Table:
    return ["target", "seed", "phase", "split", "curve", "step", "bits"], [
        [one["target"], one["seed"], phase, split, key, step, value]
        for one in found
        for phase, splits in one["curves"].items()
        for split, keys in splits.items()
        for key, points in keys.items()
        for step, value in points
    ]


def _costs(found: Sequence[Mapping[str, Any]]) -> Table:
    names = ["parameters", "trained", "steps", "sentences", "tokens", "seconds", "devices"]
    header = ["target", "seed", "phase", *names, "device-days"]
    return header, [
        [one["target"], one["seed"], cost["phase"], *map(cost.get, names), cost["device_days"]]
        for one in found
        for cost in one["cost"]["trainings"]
    ]


def _measured(found: Sequence[Mapping[str, Any]]) -> Iterator[Measured]:
    for one in found:
        target = one["target"]
        last = one["phases"][-1]
        yield Measured("T9", f"bits per word of {target} at the end", last["bpw"][target])
        yield Measured(
            "T25", f"device-days of a migration to {target}", one["cost"]["sums"]["device_days"]
        )
        if scores := one["translation"].get("identity"):
            what = f"1-gram precision to {target} in the source's order, percent"
            yield Measured("T18", what, scores["precisions"][0])
