"""All measurements of a migration, read from its files, as JSON values.

The cost is TreLM's Table 4, from the logs of the trainings. The paper counts 120K steps (20K, 20K
and 80K); but the transfer phase trains two models, so 140K are run. Both sums are reported.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from fairseq_xling.analysis.sampled_bleu import read_samples, score, tokenizer_for
from fairseq_xling.analysis.translation_faults import faults
from fairseq_xling.errors import UserError
from fairseq_xling.files import read_json
from fairseq_xling.papers.trelm.config import TrelmConfig
from fairseq_xling.papers.trelm.plan import Artifacts, task_figures
from fairseq_xling.runs.training_log import read_curves, read_records

PAPER = "TreLM (Li et al., 2021)"
SHOWN = 10
Migration = Mapping[str, Any]  # as of `read_artifacts`
_PARAMETERS = re.compile(r"num\. shared model params: ([\d,]+) \(num\. trained: ([\d,]+)\)")
_DEVICES = re.compile(r"training on (\d+) devices")
_SECONDS_PER_DAY = 86_400
# The paper counts the two halves of the transfer phase as one, and has no translator.
_NOT_COUNTED = ("backward", "translator")


def read_artifacts(config: TrelmConfig, artifacts: Artifacts) -> dict[str, Any]:
    """The measurements of one migration.

    ``phases``: of each checkpoint in turn, its phase, its training steps and the bits per word of
    both languages; ``orderings``: the names of the translations; ``translation``: by these, as
    `sampled_bleu.score`; ``samples``: some sentences of the first translated split, with every
    forward ordering's output, and ``samples_backward`` with the backward ones, if there are any;
    ``tasks``: titles and figures; ``distances``: of words, by title, if measured; ``cost``;
    ``maps``: the quality of the map; ``curves``: by phase, split and name, points of update and
    value.
    """
    measured = [entry["measures"]["bpw"] for entry in read_json(artifacts.bpw)["results"]]
    phases = [
        {
            "phase": phase,
            "checkpoint": str(path),
            "steps": artifacts.updates.get(phase, 0),
            "bpw": {lang: found["bpw"] for lang, found in entry["scores"].items()},
        }
        for (phase, path), entry in zip(artifacts.checkpoints.items(), measured, strict=True)
    ]
    there = [name for name in artifacts.translations if name not in artifacts.backward]
    tokenizer = tokenizer_for(artifacts.target, config.bleu_tokenizer)
    scores, samples = _read_translations(config, artifacts, there, tokenizer)
    tokenizer = tokenizer_for(config.source_lang)
    back, samples_back = _read_translations(config, artifacts, artifacts.backward, tokenizer)
    return {
        "target": artifacts.target,
        "seed": artifacts.seed,
        "label": artifacts.label,
        "data": {**_text_sizes(artifacts.data), "path": str(artifacts.data)},
        "phases": phases,
        "orderings": list(artifacts.translations),
        "uniform_bpw": {lang: found["bpw"] for lang, found in measured[0]["chance"].items()},
        "translation": scores | back,
        "samples": samples,
        **({"samples_backward": samples_back} if back else {}),
        "tasks": list(task_figures(config, artifacts).items()),
        **({"distances": _read_distances(artifacts.distances)} if artifacts.distances else {}),
        "cost": cost_record([read_cost(phase, log) for phase, log in artifacts.logs.items()]),
        "maps": [found for path in artifacts.vectors if (found := _read_map(path))],
        "curves": {phase: _read_curves(log) for phase, log in artifacts.logs.items()},
    }


def _read_distances(path: Path) -> dict[str, float]:
    """The mean squared distances of words after the last layer, aligned and at random."""
    curves = read_json(path)["curves"]
    titles = {"aligned": "distance of aligned words", "random": "distance of words at random"}
    return {title: curves[name][-1] for name, title in titles.items()}


def _read_translations(
    config: TrelmConfig, artifacts: Artifacts, names: Sequence[str], tokenizer: str
) -> tuple[dict[str, Any], list[dict[str, str]]]:
    """The scores of some of the translations by name, and what they write for some sentences."""
    texts = {name: read_samples(artifacts.translations[name]) for name in names}
    scores = {
        name: score(samples, tokenizer) | faults(samples, tokenizer)
        for name, samples in texts.items()
    }
    file = f"generate-{config.translate_list[0]}.txt"
    first = {name: texts[name] for name in names if artifacts.translations[name].name == file}
    return scores, _shown(first)


def _text_sizes(data: Path) -> dict[str, Any]:
    meta = read_json(data / "meta.json")
    return {
        "sentences": {
            lang: found.get("sentences") for lang, found in meta["mono"].get("train", {}).items()
        },
        "pairs": {
            pair: found.get("pairs") for pair, found in meta["parallel"].get("train", {}).items()
        },
    }


def _shown(texts: dict[str, Sequence[Any]]) -> list[dict[str, str]]:
    """`SHOWN` sentences, evenly spread over the text."""
    if not texts:
        return []
    first = next(iter(texts.values()))
    by_number = {name: {s.number: s.hypothesis for s in samples} for name, samples in texts.items()}
    places = sorted({round(k * (len(first) - 1) / max(SHOWN - 1, 1)) for k in range(SHOWN)})
    return [
        {
            "source": first[place].source,
            "reference": first[place].reference,
            **{name: found.get(first[place].number, "") for name, found in by_number.items()},
        }
        for place in places
    ]


def _read_map(path: Path) -> dict[str, Any] | None:
    """The report of the map of these vectors; ``None`` if they are not mapped."""
    report = Path(f"{path}.json")
    found = read_json(report) if report.is_file() else {}
    if "criterion" not in found:
        return None
    kept = ("best_seed", "failed", "failed_seeds", "criterion", "criterion_unmapped", "chance")
    # `mapping.job` writes all of them: one that is missing must not become an empty cell.
    return {"vectors": str(path), **{name: found[name] for name in kept}}


def _read_curves(log: Path) -> dict[str, Any]:
    curves = {}
    for split, tag in (("train", "train_inner"), ("valid", "valid")):
        found = read_curves(log, tag)
        curves[split] = {key: points for key, points in found.items() if key.endswith("loss")}
    return curves


def which(one: Migration) -> str:
    return f"to {one['target']}, seed {one['seed']}"


def seeds_of(found: Sequence[Migration]) -> str:
    return f"Seed {', '.join(dict.fromkeys(str(one['seed']) for one in found))}."


@dataclass(frozen=True)
class Cost:
    """One training.

    Attributes:
        phase: its name.
        parameters, trained: of the model, and those trained in this phase.
        steps: number of optimiser steps.
        sentences, tokens: seen in total, with repetitions.
        seconds: wall time, without interruptions.
        devices: number of devices.
    """

    phase: str
    parameters: int
    trained: int
    steps: int
    sentences: int
    tokens: int
    seconds: float
    devices: int

    @property
    def device_days(self) -> float:
        return self.seconds * self.devices / _SECONDS_PER_DAY


def read_cost(phase: str, log: str | Path) -> Cost:
    """The cost of the training with this log, including all parts of a resumed one."""
    sizes, devices = _read_head(log)
    epochs: dict[int, dict[str, float]] = {}
    for tag, record in read_records(log):
        if tag == "train":  # if an epoch was repeated after a kill, its last record counts
            epochs[int(record["train_num_updates"])] = record
    if not epochs:
        raise UserError(f"{log}: contains no finished training")
    steps = sentences = tokens = 0
    for done in sorted(epochs):
        record, new = epochs[done], done - steps
        sentences += round(new * record["train_bsz"])
        tokens += round(new * record["train_wpb"])
        steps = done
    seconds = epochs[steps].get("train_wall", 0.0)
    return Cost(phase, *sizes, steps, sentences, tokens, seconds, devices)


def _read_head(log: str | Path) -> tuple[tuple[int, int], int]:
    sizes, devices = None, 1
    with open(log, encoding="utf-8", errors="replace") as file:
        for line in file:
            if match := _PARAMETERS.search(line):
                sizes = tuple(int(text.replace(",", "")) for text in match.groups())
            elif match := _DEVICES.search(line):
                devices = int(match[1])
                break
    if sizes is None:
        raise UserError(f"{log}: this training log has no parameter count")
    return sizes, devices


def cost_table(record: Mapping[str, Any]) -> tuple[list[str], list[list[Any]]]:
    """Header and rows of a `cost_record`, the sums last."""
    header = ["phase", "parameters", "of them trained", "steps", "sentences a step", "tokens"]
    header += ["ms a step", "minutes", "devices", "device-days"]
    rows: list[list[Any]] = [
        [
            *(cost["phase"], cost["parameters"], cost["trained"], cost["steps"]),
            round(cost["sentences"] / max(cost["steps"], 1), 1),
            cost["tokens"],
            round(1000 * cost["seconds"] / max(cost["steps"], 1), 1),
            round(cost["seconds"] / 60, 1),
            cost["devices"],
            f"{cost['device_days']:.4f}",
        ]
        for cost in record["trainings"]
    ]
    found = record["sums"]
    minutes, days = round(found["seconds"] / 60, 1), f"{found['device_days']:.4f}"
    counted, tokens = found["steps_as_the_paper_counts"], found["tokens"]
    rows += [
        ["all, as run", None, None, found["steps"], None, tokens, None, minutes, None, days],
        ["as the paper counts", None, None, counted, *[None] * 6],
    ]
    return header, rows


def cost_record(costs: list[Cost]) -> dict[str, Any]:
    """All trainings as JSON values, and their sums; the paper's count of steps leaves one direction
    and the translator out."""
    sums = {"steps_as_the_paper_counts": sum(c.steps for c in costs if c.phase not in _NOT_COUNTED)}
    for name in ("steps", "tokens", "seconds", "device_days"):
        sums[name] = sum(getattr(cost, name) for cost in costs)
    trainings = [{**asdict(cost), "device_days": cost.device_days} for cost in costs]
    return {"trainings": trainings, "sums": sums}
