"""All measurements of a migration, read from its files as rows of a frame.

The cost is TreLM's Table 4, from the logs of the trainings. The paper counts 120K steps (20K, 20K
and 80K); but the transfer phase trains two models, so 140K are run. Both sums are reported.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas

from fairseq_xling.analysis.sampled_bleu import ORDERS, read_samples, score, tokenizer_for
from fairseq_xling.analysis.translation_faults import faults
from fairseq_xling.core.errors import UserError
from fairseq_xling.core.files import read_json
from fairseq_xling.papers.trelm.config import TrelmConfig
from fairseq_xling.papers.trelm.plan import Artifacts, task_figures
from fairseq_xling.reports.record import is_record
from fairseq_xling.results.frame import make_frame, split
from fairseq_xling.runs.training_log import read_curves, read_records

PAPER = "TreLM (Li et al., 2021)"
BITS = "bits per word"
SHOWN = 10
PRECISIONS = tuple(f"{order}-gram precision" for order in range(1, ORDERS + 1))
# Headings of the other scores of a translation.
SCORES = {
    **{"BLEU": "bleu", "brevity penalty": "brevity_penalty", "length ratio": "length_ratio"},
    **{"chrF": "chrf", "words": "words", "order": "order", "repeated": "repeated"},
}
_COLUMNS = ("phase", "steps", "language", "ordering", "signature", "split")
_NO_PERCENT = ("brevity penalty", "length ratio", "sentences translated")
_PARAMETERS = re.compile(r"num\. shared model params: ([\d,]+) \(num\. trained: ([\d,]+)\)")
_DEVICES = re.compile(r"training on (\d+) devices")
_SECONDS_PER_DAY = 86_400
SECONDS = "seconds of training"  # of all phases
# The paper counts the two halves of the transfer phase as one, and has no translator.
_NOT_COUNTED = ("backward", "translator")


def measure(
    config: TrelmConfig, artifacts: Iterable[tuple[str | None, Artifacts]], study: str
) -> tuple[pandas.DataFrame, list[dict[str, Any]]]:
    """What migrations measured, each by the row that it is of, and what of them is no figure.

    Beside the columns of every frame there are: ``kind`` (`bits` per word after each phase;
    `translation`, `task`, `distance` of words, `cost` of a training, `total` of all, `loss`,
    `text`), ``phase`` and ``steps`` of it, ``language``, ``ordering`` and sacrebleu's
    ``signature``, ``split``, and ``updates`` of all trainings together, None where nothing is
    trained.
    """
    found = [read_artifacts(config, one, row) for row, one in artifacts]
    rows = [row for own, _ in found for row in own]
    about = {"paper": "trelm", "study": study, "source": config.source_lang}
    return make_frame(rows, **about, **dict.fromkeys(_COLUMNS)), [facts for _, facts in found]


def read_artifacts(
    config: TrelmConfig, artifacts: Artifacts, row: str | None = None
) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """The measurements of one migration as rows of a frame, and its facts: data folder,
    checkpoints by phase, ``maps`` as their reports have them, and ``samples``: some sentences of
    the first translated split with every forward ordering's output, and ``samples_backward``."""
    there = [name for name in artifacts.translations if name not in artifacts.backward]
    tokenizer = tokenizer_for(artifacts.target, config.bleu_tokenizer)
    scores, samples = _read_translations(config, artifacts, there, tokenizer)
    tokenizer = tokenizer_for(config.source_lang)
    back, samples_back = _read_translations(config, artifacts, artifacts.backward, tokenizer)
    costs = {phase: read_cost(log) for phase, log in artifacts.logs.items()}
    last = {"phase": list(artifacts.checkpoints)[-1], "language": artifacts.target}
    rows = [
        *_bits(artifacts),
        *_scored({name: (scores | back)[name] for name in artifacts.translations}),
        *(
            {**last, "kind": "task", "measure": title, "value": value, "unit": "%"}
            for title, value in task_figures(config, artifacts).items()
        ),
        *(_distances(artifacts.distances) if artifacts.distances else ()),
        *_costs(costs),
        *_text_sizes(artifacts.data),
        *(point for phase in sorted(artifacts.logs) for point in _losses(phase, artifacts)),
    ]
    of = {"row": row, "target": artifacts.target, "seed": artifacts.seed}
    updates = sum(cost["steps"] for cost in costs.values()) or None
    return [{**of, **one, "updates": updates} for one in rows], {
        **of,
        "data": str(artifacts.data),
        "checkpoints": {phase: str(path) for phase, path in artifacts.checkpoints.items()},
        "maps": [found for path in artifacts.vectors if (found := _read_map(path))],
        "samples": samples,
        **({"samples_backward": samples_back} if back else {}),
    }


def _bits(artifacts: Artifacts) -> Iterator[dict[str, Any]]:
    results = read_json(artifacts.bpw)["results"]
    for phase, entry in zip(artifacts.checkpoints, results, strict=True):
        found = entry["measures"]["bpw"]
        for lang in sorted(found["scores"]):
            yield {
                **{"kind": "bits", "phase": phase, "steps": artifacts.updates.get(phase, 0)},
                **{"language": lang, "measure": BITS, "value": found["scores"][lang]["bpw"]},
                "chance": results[0]["measures"]["bpw"]["chance"][lang]["bpw"],
            }


def _scored(scores: Mapping[str, Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    """The figures of each ordering."""
    for ordering, found in scores.items():
        of = {"kind": "translation", "ordering": ordering}
        figures = dict(zip(PRECISIONS, found["precisions"], strict=True))
        figures |= {heading: found[name] for heading, name in SCORES.items()}
        cumulative = found["cumulative"][:-1]  # the last is BLEU
        figures |= {f"BLEU-{n}, cumulative": value for n, value in enumerate(cumulative, 1)}
        figures["sentences translated"] = found["sentences"]
        for name, value in figures.items():
            signature = found["chrf_signature" if name == "chrF" else "signature"]
            unit = None if name in _NO_PERCENT else "%"
            yield {**of, "measure": name, "value": value, "unit": unit, "signature": signature}


def _distances(path: Path) -> Iterator[dict[str, Any]]:
    """The mean squared distances of words after the last layer, aligned and at random."""
    curves = read_json(path)["curves"]
    titles = {"aligned": "distance of aligned words", "random": "distance of words at random"}
    for name, title in titles.items():
        yield {"kind": "distance", "measure": title, "value": curves[name][-1]}


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


def _text_sizes(data: Path) -> Iterator[dict[str, Any]]:
    meta = read_json(data / "meta.json")
    for part, count, name in (
        ("mono", "sentences", "training sentences"),
        ("parallel", "pairs", "training pairs"),
    ):
        for lang, found in sorted(meta[part].get("train", {}).items()):
            yield {"kind": "text", "language": lang, "measure": name, "value": found.get(count)}


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
    """What became of the map of these vectors; ``None`` if they are not mapped."""
    from fairseq_xling.mapping.job import read_outcome

    report = Path(f"{path}.json")
    if not report.is_file() or not is_record(read_json(report)):
        return None
    return {"vectors": str(path), **read_outcome(report)}


def _losses(phase: str, artifacts: Artifacts) -> Iterator[dict[str, Any]]:
    for text, tag in (("train", "train_inner"), ("valid", "valid")):
        for name, points in sorted(read_curves(artifacts.logs[phase], tag).items()):
            of = {"kind": "loss", "phase": phase, "split": text, "measure": name}
            for steps, value in points if name.endswith("loss") else ():
                yield {**of, "steps": steps, "value": value}


def _costs(costs: Mapping[str, Mapping[str, float]]) -> Iterator[dict[str, Any]]:
    """Those of each phase, and the seconds of all together."""
    for phase, cost in costs.items():
        for name, value in cost.items():
            yield {"kind": "cost", "phase": phase, "measure": name, "value": value}
    if costs:
        seconds = sum(cost["seconds"] for cost in costs.values())
        yield {"kind": "total", "measure": SECONDS, "value": seconds}


def part(frame: pandas.DataFrame, kind: str) -> pandas.DataFrame:
    """The rows of a ``kind``, see `measure`."""
    return frame[frame["kind"] == kind]


def each(frame: pandas.DataFrame) -> Iterator[tuple[str, pandas.DataFrame]]:
    """The rows of each migration, and what it is called."""
    for (target, seed), own in frame.groupby(["target", "seed"], sort=False):
        yield which(target, seed), own


def which(target: str, seed: int) -> str:
    return f"to {target}, seed {seed}"


def last_bits(frame: pandas.DataFrame) -> pandas.DataFrame:
    """Bits per word of the target after the last phase, a row for each migration."""
    own = target_bits(frame)
    return own.drop_duplicates(["row", "target", "seed"], keep="last")


def target_bits(frame: pandas.DataFrame) -> pandas.DataFrame:
    bits = part(frame, "bits")
    return bits[bits["language"] == bits["target"]]


def read_cost(log: str | Path) -> dict[str, float]:
    """The cost of the training with this log, including all parts of a resumed one: parameters, and
    those trained; optimiser steps; sentences and tokens with repetitions; seconds of wall time
    without interruptions; devices, and device-days."""
    (parameters, trained), devices = _read_head(log)
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
    return {
        **{"parameters": parameters, "trained": trained, "steps": steps, "sentences": sentences},
        **{"tokens": tokens, "seconds": seconds, "devices": devices},
        "device_days": seconds * devices / _SECONDS_PER_DAY,
    }


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


def totals(frame: pandas.DataFrame) -> dict[str, Any]:
    """Sums over the trainings of one migration; the paper's count of steps leaves one direction and
    the translator out."""
    costs = part(frame, "cost")
    counted = costs[~costs["phase"].isin(_NOT_COUNTED)]
    sums = {
        name: sum(costs.loc[costs["measure"] == name, "value"])
        for name in ("steps", "tokens", "seconds", "device_days")
    }
    steps = sum(counted.loc[counted["measure"] == "steps", "value"])
    return {**sums, "steps_as_the_paper_counts": steps}


def cost_table(frame: pandas.DataFrame) -> tuple[list[str], list[list[Any]]]:
    """Header and rows of the trainings of one migration, the sums last."""
    header = ["phase", "parameters", "of them trained", "steps", "sentences a step", "tokens"]
    header += ["ms a step", "minutes", "devices", "device-days"]
    rows: list[list[Any]] = []
    for phase, own in split(part(frame, "cost"), "phase"):
        cost = dict(zip(own["measure"], own["value"], strict=True))
        steps = max(cost["steps"], 1)
        rows.append(
            [
                *(phase, cost["parameters"], cost["trained"], cost["steps"]),
                round(cost["sentences"] / steps, 1),
                cost["tokens"],
                round(1000 * cost["seconds"] / steps, 1),
                round(cost["seconds"] / 60, 1),
                cost["devices"],
                f"{cost['device_days']:.4f}",
            ]
        )
    sums = totals(frame)
    minutes, days = round(sums["seconds"] / 60, 1), f"{sums['device_days']:.4f}"
    counted, tokens = sums["steps_as_the_paper_counts"], sums["tokens"]
    rows += [
        ["all, as run", None, None, sums["steps"], None, tokens, None, minutes, None, days],
        ["as the paper counts", None, None, counted, *[None] * 6],
    ]
    return header, rows
