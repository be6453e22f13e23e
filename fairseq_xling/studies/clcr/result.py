"""The results of a run of CLCR, as text and as JSON."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from fairseq_xling.clcr.labels import Labels
from fairseq_xling.clcr.sequences import META
from fairseq_xling.files import atomic_write, read_json, write_json
from fairseq_xling.provenance import provenance
from fairseq_xling.runs import training_log
from fairseq_xling.runs.tables import text_table

_DISTANCES = ("distance", "relative", "hard", "entropy")


def write_summary(
    run: Path, outcomes: Sequence[Any], pair: tuple[str, str], precision: str
) -> None:
    """Write ``summary.txt`` and ``results.json`` into ``run``, of trainings in ``precision``."""
    results = [_results(outcome, pair) for outcome in outcomes]
    files = {f"model, seed {outcome.seed}": outcome.model for outcome in outcomes}
    record = {
        "pair": list(pair),
        "precision": precision,
        "seeds": results,
        "provenance": provenance(files),
    }
    write_json(run / "results.json", record)
    with atomic_write(run / "summary.txt", "w") as file:
        for found in results:
            file.write(_text(found, pair) + "\n\n")


def _results(outcome: Any, pair: tuple[str, str]) -> dict[str, Any]:
    found: dict[str, Any] = {"seed": outcome.seed, "distances": [], "sequences": []}
    a, b = pair
    for name, log in outcome.logs.items():
        if not name.startswith(("transform", "lm")):
            continue
        curves = training_log.read_curves(log, "valid") or training_log.read_curves(log, "train")
        row: dict[str, Any] = {"phase": name}
        for way in (f"{a}_{b}", f"{b}_{a}"):
            for kind in _DISTANCES:
                row[f"{kind}_{way}"] = _last(curves, f"{kind}_{way}")
        for lang in pair:
            row[f"spread_{lang}"] = _last(curves, f"spread_{lang}")
        found["distances"].append(row)
    if outcome.labels:
        meta = Labels(outcome.labels / "train").meta
        found["threshold"] = meta["settings"]["threshold"]
        found["tuned"] = meta["settings"].get("tuned")
        found["pivots"] = {"pairs": meta["sentences"], "pivots": meta["pivots"]}
    for verb, path in outcome.tables.items():
        table = read_json(path)
        found[verb] = {name: table[name] for name in ("title", "split", "header", "rows", "notes")}
    for folder in outcome.sequences:
        meta = read_json(folder / META)
        found["sequences"].append(
            {
                "folder": str(folder),
                "row": meta["settings"]["row"],
                "lang": meta["settings"]["lang"],
                "sentences": meta["sentences"],
                "vectors": meta["rows"],
            }
        )
    return found


def _last(curves: dict[str, list[tuple[int, float]]], name: str) -> float | None:
    return curves[name][-1][1] if name in curves else None


def _text(found: dict[str, Any], pair: tuple[str, str]) -> str:
    parts = [f"seed {found['seed']}"]
    if found["distances"]:
        header = list(found["distances"][0])
        rows = [list(row.values()) for row in found["distances"]]
        parts.append("Distances (relative: 1 is chance)")
        parts.append(text_table([name.replace("_", " ") for name in header], rows))
    if "threshold" in found:
        line = f"pivots: {found['pivots']['pivots']:,} of {found['pivots']['pairs']:,} pairs, "
        line += f"threshold {found['threshold']:.4f}"
        if found.get("tuned"):
            line += f" (F1 {found['tuned']['f1']:.3f} on {found['tuned']['split']})"
        parts.append(line)
    for verb in ("keypoints", "order"):
        if verb in found:
            table = found[verb]
            parts.append(table["title"])
            notes = [f"({note})" for note in table["notes"]]
            parts.append("\n".join([text_table(table["header"], table["rows"]), *notes]))
    if found["sequences"]:
        rows = [
            [
                s["row"],
                s["lang"],
                s["sentences"],
                s["vectors"] / max(s["sentences"], 1),
                s["folder"],
            ]
            for s in found["sequences"]
        ]
        parts.append("Sequences")
        parts.append(text_table(["row", "language", "sentences", "vectors each", "folder"], rows))
    return "\n\n".join(parts)
