"""All measurements of a migration, read from its files as rows of a record.

The cost is TreLM's Table 4, from the logs of the trainings. The paper counts 120K steps (20K, 20K
and 80K); but the transfer phase trains two models, so 140K are run. Both sums are reported.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import sacrebleu

from fairseq_xling.analysis.sampled_bleu import ORDERS, Sample, read_samples, score, tokenizer_for
from fairseq_xling.core.errors import UserError
from fairseq_xling.core.files import read_json
from fairseq_xling.engine.training_log import curve_words, read_curves, read_records
from fairseq_xling.papers.trelm.migration import Migration
from fairseq_xling.reports.record import is_record, read_record
from fairseq_xling.reports.rows import Row, distinct, select


def faults(samples: Iterable[Sample], tokenizer: str) -> dict[str, float | None]:
    """Figures over a whole text, in percent, of words as sacrebleu's ``tokenizer`` has them.

    Length is the `length_ratio` of `sampled_bleu.score`.

    Returns:
        ``words``: F1 of the words, whatever their order. ``order``: of the pairs of words that both
        sides have exactly once, those in the order of the reference (chance: 50), None if there is
        no pair; the agreement of RIBES (Isozaki et al., 2010), over all pairs of the text.
        ``repeated``: words that repeat the one before them.

    >>> found = faults([Sample(0, "", "a b c d", "b a c c")], "none")
    >>> [round(value, 1) for value in found.values()]
    [75.0, 0.0, 25.0]
    """
    cut = sacrebleu.BLEU(tokenize=tokenizer).tokenizer
    matched = sizes = agreeing = pairs = repeated = written = 0
    for sample in samples:
        hypothesis, reference = cut(sample.hypothesis).split(), cut(sample.reference).split()
        there, wanted = Counter(hypothesis), Counter(reference)
        matched += (there & wanted).total()
        sizes += len(hypothesis) + len(reference)
        repeated += sum(a == b for a, b in pairwise(hypothesis))
        written += len(hypothesis)
        place = {word: n for n, word in enumerate(reference) if wanted[word] == 1}
        found = np.array([place[w] for w in hypothesis if there[w] == 1 and w in place], dtype=int)
        agreeing += int(np.triu(found[None, :] > found[:, None], 1).sum())
        pairs += len(found) * (len(found) - 1) // 2
    return {
        "words": 200 * matched / max(sizes, 1),
        "order": 100 * agreeing / pairs if pairs else None,
        "repeated": 100 * repeated / max(written, 1),
    }


PAPER = "TreLM (Li et al., 2021)"
BITS = "bits per word"
SHOWN = 10
PRECISIONS = tuple(f"{order}-gram precision" for order in range(1, ORDERS + 1))
# Headings of the other scores of a translation.
SCORES = {
    **{"BLEU": "bleu", "brevity penalty": "brevity_penalty", "length ratio": "length_ratio"},
    **{"chrF": "chrf", "words": "words", "order": "order", "repeated": "repeated"},
}
_NO_PERCENT = ("brevity penalty", "length ratio", "sentences translated")
_PARAMETERS = re.compile(r"num\. shared model params: ([\d,]+) \(num\. trained: ([\d,]+)\)")
_DEVICES = re.compile(r"training on (\d+) devices")
_SECONDS_PER_DAY = 86_400
SECONDS = "seconds of training"  # of all phases
# The paper counts the two halves of the transfer phase as one, and has no translator.
_NOT_COUNTED = ("backward", "translator")


def measure(
    migrations: Iterable[tuple[str | None, Migration]], study: str
) -> tuple[list[Row], dict[str, Any]]:
    """What migrations measured, each by the row that it is of, and where each has its data folder
    and its checkpoints.

    Beside the columns of every record there are: ``kind`` (`bits` per word after each phase;
    `translation`, `task`, `distance` of words, `cost` of a training, `costs` for people, `total` of
    all, `loss`, `text`, `map` of word vectors, `sample` of a translation), ``phase`` and ``steps``
    of it, ``language``, ``ordering`` and sacrebleu's ``signature``, ``split``, and ``updates`` of
    all trainings together, where something is trained.
    """
    rows: list[Row] = []
    places, maps = {}, {}
    about = {"paper": "trelm", "study": study}
    for code, one in migrations:
        about["source"] = one.config.source_lang
        of = {"row": code, "target": one.target, "seed": one.seed}
        own = list(_read(one))
        updates = sum(row["value"] for row in part(own, "cost") if row["measure"] == "steps")
        known = {name: value for name, value in of.items() if value is not None}
        known |= {"updates": updates} if updates else {}
        rows += [
            {k: v for k, v in {**about, **known, **row}.items() if v is not None} for row in own
        ]
        maps[code, one.target] = [*_maps(one.vectors)]
        places[f"{code or ''} {which(one.target, one.seed)}".strip()] = {
            "data": str(one.data),
            "checkpoints": {phase: str(path) for phase, path in one.checkpoints.items()},
        }
    rows += [
        {**about, **({"row": code} if code else {}), "target": target, **row}
        for (code, target), own in maps.items()
        for row in own
    ]
    return rows, places


def _read(one: Migration) -> Iterator[dict[str, Any]]:
    """The measurements of one migration as rows of a record."""
    config = one.config
    tokenizers = {
        "forward": tokenizer_for(one.target, config.bleu_tokenizer),
        "backward": tokenizer_for(config.source_lang),
    }
    first = f"generate-{config.translate_list[0]}.txt"
    scores: dict[str, dict[str, Any]] = {}
    samples: dict[str, dict[str, list[Sample]]] = {direction: {} for direction in tokenizers}
    for name, path in one.translations.items():
        direction = "backward" if name in one.backward else "forward"
        text, tokenizer = read_samples(path), tokenizers[direction]
        scores[name] = score(text, tokenizer) | faults(text, tokenizer)
        if path.name == first:
            samples[direction][name] = text
    costs = {phase: read_cost(log) for phase, log in one.logs.items()}
    last = {"phase": list(one.checkpoints)[-1], "language": one.target}
    yield from _bits(one)
    yield from _scored(scores)
    for title, value in one.task_figures().items():
        yield {**last, "kind": "task", "measure": title, "value": value, "unit": "%"}
    yield from _distances(one.distances) if one.distances else ()
    for phase, cost in costs.items():
        for name, value in cost.items():
            yield {"kind": "cost", "phase": phase, "measure": name, "value": value}
    if costs:
        seconds = sum(cost["seconds"] for cost in costs.values())
        yield {"kind": "total", "measure": SECONDS, "value": seconds}
    yield from _costs_for_people(costs)
    yield from _text_sizes(one.data)
    for phase, log in sorted(one.logs.items()):
        yield from _losses(phase, log)
    for direction, texts in samples.items():
        yield from _samples(texts, direction)


def _bits(one: Migration) -> Iterator[dict[str, Any]]:
    """Of each language after each phase, the target first; ``side`` is the source, or target."""
    rows = read_record(one.bpw).rows
    checkpoints = distinct(rows, "row")
    for phase, called in zip(one.checkpoints, checkpoints, strict=True):
        for lang in (one.target, one.config.source_lang):
            for row in select(rows, {"row": called, "target": lang}):
                (first,) = select(rows, {"row": checkpoints[0], "target": lang})
                yield {
                    **{"kind": "bits", "phase": phase, "steps": one.updates.get(phase, 0)},
                    **{"language": lang, "measure": BITS, "value": row["value"]},
                    "side": "target" if lang == one.target else lang,
                    "chance": first["chance"],
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
    rows = read_record(path).rows
    titles = {"aligned": "distance of aligned words", "random": "distance of words at random"}
    for name, title in titles.items():
        value = select(rows, {"measure": name})[-1]["value"]
        yield {"kind": "distance", "measure": title, "value": value}


def _text_sizes(data: Path) -> Iterator[dict[str, Any]]:
    meta = read_json(data / "meta.json")
    for part, count, name in (
        ("mono", "sentences", "training sentences"),
        ("parallel", "pairs", "training pairs"),
    ):
        for lang, found in sorted(meta[part].get("train", {}).items()):
            yield {"kind": "text", "language": lang, "measure": name, "value": found.get(count)}


def _samples(texts: Mapping[str, Sequence[Sample]], direction: str) -> Iterator[dict[str, Any]]:
    """`SHOWN` sentences, evenly spread over the text, each by every ordering."""
    first = next(iter(texts.values()), ())
    by_number = {name: {s.number: s.hypothesis for s in samples} for name, samples in texts.items()}
    places = sorted({round(k * (len(first) - 1) / (SHOWN - 1)) for k in range(SHOWN)})
    for number, place in enumerate(places if first else (), 1):
        one = first[place]
        for ordering, found in by_number.items():
            yield {
                **{"kind": "sample", "direction": direction, "number": number},
                **{"text": one.source, "reference": one.reference, "ordering": ordering},
                **{"measure": "translation", "value": found.get(one.number, "")},
            }


def _maps(vectors: Iterable[Path]) -> Iterator[dict[str, Any]]:
    """What became of the maps of vectors; nothing of those that are not mapped."""
    from fairseq_xling.verbs.map import read_outcome

    for path in vectors:
        report = Path(f"{path}.json")
        if not (report.is_file() and is_record(read_json(report))):
            continue
        found = read_outcome(report)
        shown = {
            **{"best seed": found["best_seed"], "mean cosine": found["criterion"]},
            "unmapped": found["criterion_unmapped"],
            "failed": "yes" if found["failed"] else "no",
            "failed seeds": ", ".join(map(str, found["failed_seeds"])) or "none",
        }
        for name, value in shown.items():
            yield {"kind": "map", "measure": name, "value": value, "chance": found["chance"]}


def _losses(phase: str, log: Path) -> Iterator[dict[str, Any]]:
    for text, tag in (("train", "train_inner"), ("valid", "valid")):
        for name, points in sorted(read_curves(log, tag).items()):
            of = {"kind": "loss", "phase": phase, "split": text, "measure": name}
            for steps, value in points if name.endswith("loss") else ():
                yield {**of, "curve": curve_words(name, text), "steps": steps, "value": value}


def part(rows: Sequence[Row], kind: str) -> list[Row]:
    """The rows of a ``kind``, see `measure`."""
    return select(rows, {"kind": kind})


def which(target: str, seed: int) -> str:
    """What a migration is called."""
    return f"to {target}, seed {seed}"


def read_cost(log: str | Path) -> dict[str, float]:
    """The cost of the training with this log, including all parts of a resumed one: parameters, and
    those trained; optimiser steps; sentences and tokens with repetitions; seconds of wall time
    without interruptions; devices, and device-days."""
    sizes, devices = None, 1
    with open(log, encoding="utf-8", errors="replace") as file:
        for line in file:
            if match := _PARAMETERS.search(line):
                sizes = [int(text.replace(",", "")) for text in match.groups()]
            elif match := _DEVICES.search(line):
                devices = int(match[1])
                break
    if sizes is None:
        raise UserError(f"{log}: this training log has no parameter count")
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
        **dict(zip(("parameters", "trained"), sizes, strict=True)),
        **{"steps": steps, "sentences": sentences, "tokens": tokens},
        **{"seconds": seconds, "devices": devices},
        "device_days": seconds * devices / _SECONDS_PER_DAY,
    }


def totals(costs: Mapping[str, Mapping[str, float]]) -> dict[str, float]:
    """Sums over the trainings of one migration, by phase; the paper's count of steps leaves one
    direction and the translator out."""
    names = ("steps", "tokens", "seconds", "device_days")
    sums = {name: sum(cost[name] for cost in costs.values()) for name in names}
    counted = sum(cost["steps"] for phase, cost in costs.items() if phase not in _NOT_COUNTED)
    return {**sums, "steps_as_the_paper_counts": counted}


def costs_of(rows: Sequence[Row]) -> dict[str, dict[str, float]]:
    """The costs of one migration's trainings, by phase."""
    costs: dict[str, dict[str, float]] = {}
    for row in part(rows, "cost"):
        costs.setdefault(row["phase"], {})[row["measure"]] = row["value"]
    return costs


def _costs_for_people(costs: Mapping[str, Mapping[str, float]]) -> Iterator[dict[str, Any]]:
    """The table of costs, the sums last."""
    lines: dict[str, dict[str, float]] = {}
    for phase, cost in costs.items():
        steps = max(cost["steps"], 1)
        lines[phase] = {
            **{"parameters": cost["parameters"], "of them trained": cost["trained"]},
            **{"steps": cost["steps"], "sentences a step": round(cost["sentences"] / steps, 1)},
            **{"tokens": cost["tokens"], "ms a step": round(1000 * cost["seconds"] / steps, 1)},
            **{"minutes": round(cost["seconds"] / 60, 1), "devices": cost["devices"]},
            "device-days": cost["device_days"],
        }
    sums = totals(costs)
    if costs:
        lines["all, as run"] = {
            **{name: sums[name] for name in ("steps", "tokens")},
            **{"minutes": round(sums["seconds"] / 60, 1), "device-days": sums["device_days"]},
        }
        lines["as the paper counts"] = {"steps": sums["steps_as_the_paper_counts"]}
    for phase, line in lines.items():
        for name, value in line.items():
            yield {"kind": "costs", "phase": phase, "measure": name, "value": value}
