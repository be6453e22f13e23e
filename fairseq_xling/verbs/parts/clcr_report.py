"""The verb ``clcr report``: whether sequences meet the conditions of the definition.

CLCR, section 2.1: the sequences of a sentence and its translation are close, closer than those of
two random sentences; and the distance of two sentences reflects their meaning, as measured by human
similarity scores. The third condition, that a vector is of its token in its context, needs a model:
`fairseq_xling.verbs.parts.clcr_report_context`.
"""

import argparse
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from scipy import stats

from fairseq_xling.analysis.correlation import LEAST, correlation
from fairseq_xling.clcr.distances import (
    Distance,
    distances,
    random_partners,
    sequence_distances,
)
from fairseq_xling.clcr.sequences import META, Sequences, check_same_sentences
from fairseq_xling.errors import UserError
from fairseq_xling.files import read_lines
from fairseq_xling.models.clcr.matching import norms
from fairseq_xling.progress import progress
from fairseq_xling.registry import unknown_name
from fairseq_xling.tasks.items import heading_number, is_number
from fairseq_xling.verbs.parts.clcr_report_context import (
    check_contexts,
    context_notes,
    measure_contexts,
)
from fairseq_xling.verbs.parts.clcr_report_figure import draw_report
from fairseq_xling.verbs.parts.comparison import check_output, finish

HEADER = ["distance", "translations", "sd", "random", "sd ", "ratio", "AUC", "Pearson", "Spearman"]
_BINS, _GROUPS = 40, 5


def run_clcr_report(args: argparse.Namespace) -> None:
    """See `fairseq_xling.verbs.clcr_report`.

    Raises:
        UserError: for invalid options, and missing, damaged or inconsistent folders or files.
    """
    check_output(args)
    if bool(args.scored) != bool(args.scores):
        raise UserError("`--scored` and `--scores` must be given together")
    check_contexts(args)
    if args.norm not in norms:
        raise unknown_name("`--norm`", args.norm, [*norms])
    names = [name.strip() for name in args.distance.split(",")]
    makers = {name: distances[name] for name in names}
    if len(makers) < len(names):
        raise UserError(f"`--distance` must name different ones, got {args.distance!r}")
    x, y = _open(args.x, args.y)
    if x.sentences < 2:
        raise UserError(f"{x.path}: random pairs need at least 2 sentences, got {x.sentences}")
    there = (x.counts > 0) & (y.counts > 0)
    if not there.any():
        raise UserError(f"{x.path} and {y.path}: no pair of sentences has key-points on both sides")
    files = {"X": x.path / META, "Y": y.path / META}
    scored, scores = None, np.zeros(0)
    if args.scored:
        scored = _open(*args.scored)
        scores = read_scores(args.scores, args.score_column, scored[0].sentences)
        files |= {"scored X": scored[0].path / META, "scored Y": scored[1].path / META}
        files["scores"] = Path(args.scores)
    contexts, read = measure_contexts(args)
    files |= read
    pairs = random_partners(x.sentences, args.random, np.random.default_rng(args.seed))
    own = np.stack([np.arange(x.sentences)] * 2, axis=1)
    measured = {}
    with progress(len(names), "distances", "ways", checks=True) as bar:
        for name in names:
            distance = makers[name](args.norm, args.tau)
            near, far = (
                sequence_distances(x, y, p, distance, args.batch_size) for p in (own, pairs)
            )
            measured[name] = compare(near, far)
            if scored:
                found = _scored(scored, scores, distance, args.batch_size)
                measured[name] |= correlate(found, scores)
            bar.update()
    title = f"Distance of sequences, {x.lang}-{y.lang}"
    record = {
        "clcr": "conditions",
        "title": title,
        "folders": [str(x.path), str(y.path)],
        "pair": f"{x.lang}-{y.lang}",
        "sentences": x.sentences,
        "without_key_points": int((~there).sum()),
        "same_length": int((x.counts == y.counts)[there].sum()),
        "settings": {"norm": args.norm, "tau": args.tau, "random": args.random, "seed": args.seed},
        "distances": measured,
        "contexts": contexts,
    }
    notes = report_notes(record) + context_notes(contexts)
    record |= {"header": HEADER, "rows": table(record), "notes": notes}
    figure = partial(draw_report, record) if args.figure else None
    finish(args, title, HEADER, record["rows"], notes, record, files, figure)


def compare(near: np.ndarray, far: np.ndarray) -> dict[str, Any]:
    """Distances of translations and of random pairs, NaN if there is none.

    ``auc`` is the probability that a random pair is farther apart than a pair of translations, a
    tie counting as half (the area under the ROC curve); chance is 0.5.

    >>> found = compare(np.array([1.0, 2.0, np.nan]), np.array([2.0, 4.0]))
    >>> found["translations"]["mean"], found["random"]["mean"], found["auc"]
    (1.5, 3.0, 0.875)

    Raises:
        UserError: if either has none.
    """
    near, far = near[np.isfinite(near)], far[np.isfinite(far)]
    if not (len(near) and len(far)):
        raise UserError("no pair of sentences has key-points on both sides")
    edges = np.histogram_bin_edges(np.concatenate([near, far]), _BINS)
    larger = stats.mannwhitneyu(far, near).statistic
    return {
        "translations": _summary(near, edges),
        "random": _summary(far, edges),
        "edges": edges.tolist(),
        "auc": float(larger / (len(near) * len(far))),
    }


def correlate(found: np.ndarray, scores: np.ndarray) -> dict[str, Any]:
    """Pearson's and Spearman's correlation of distances with scores, and means by quintile.

    >>> found = correlate(np.array([3.0, 2.0, 1.0, np.nan]), np.array([1.0, 2.0, 3.0, 9.0]))
    >>> round(found["pearson"], 6), round(found["spearman"], 6), found["scored"]
    (-1.0, -1.0, 3)
    """
    there = np.isfinite(found)
    found, scores = found[there], scores[there]
    values = correlation(scores.tolist(), found.tolist())
    groups = [
        part for part in np.array_split(np.argsort(scores, kind="stable"), _GROUPS) if len(part)
    ]
    return {
        "scored": int(there.sum()),
        "pearson": values and values[0],
        "spearman": values and values[1],
        "by_score": [[float(scores[g].mean()), float(found[g].mean())] for g in groups],
    }


def table(record: dict[str, Any]) -> list[list[Any]]:
    """The rows under `HEADER`."""
    rows = []
    for name, one in record["distances"].items():
        near, far = one["translations"], one["random"]
        ratio = far["mean"] / near["mean"] if near["mean"] else None
        rows.append(
            [
                *(name, near["mean"], near["sd"], far["mean"], far["sd"]),
                *(ratio, one["auc"], one.get("pearson"), one.get("spearman")),
            ]
        )
    return rows


def report_notes(record: dict[str, Any]) -> list[str]:
    """Notes that a reader needs to interpret the figures."""
    settings = record["settings"]
    found = [
        f"mean distance of {record['sentences']:,} translations, and of each sentence with "
        f"{settings['random']} of another; norm {settings['norm']}, temperature {settings['tau']}, "
        f"seed {settings['seed']}",
        "ratio: random by translations; AUC: probability that a random pair is farther apart, "
        "chance 0.5",
    ]
    if "positions" in record["distances"]:
        found.append(
            f"{record['same_length']:,} pairs of translations have equally many vectors; positions "
            "compares those that both have"
        )
    if count := record["without_key_points"]:
        found.append(f"{count:,} pairs have a sentence without key-points and no distance")
    for name, one in record["distances"].items():
        if "scored" not in one:
            continue
        if one["pearson"] is None:
            found.append(f"{name}: no correlation of fewer than {LEAST} pairs, or if all are equal")
        else:
            found.append(
                f"{name}: correlations with the score of {one['scored']:,} pairs; "
                "-1 is best if a high score means similar"
            )
    return found


def read_scores(path: str | Path, column: str, count: int) -> np.ndarray:
    """The scores of a file of lines with tabs, (N,): one for each of ``count`` pairs.

    Args:
        column: a number from 0, negative from the end, or a heading: the first line then contains
            headings.

    Raises:
        UserError: for a line without that column, a value that is not a number, or another count.
    """
    place, found = None, []
    lines = enumerate(read_lines(path), start=1)
    if not is_number(column):
        _, first = next(lines, (1, ""))
        headings = {name: number for number, name in enumerate(first.split("\t"))}
        place = heading_number(f"`--score-column` {column}", column, headings)
    else:
        place = int(column)
    for line, text in lines:
        row = text.split("\t")
        try:
            found.append(float(row[place]))
        except IndexError:
            raise UserError(
                f"{path}:{line}: has no column {place}, only {len(row)} columns"
            ) from None
        except ValueError:
            raise UserError(
                f"{path}:{line}: the score must be a number, got {row[place]!r}"
            ) from None
        if not np.isfinite(found[-1]):
            raise UserError(f"{path}:{line}: the score must be finite, got {row[place]!r}")
    if len(found) != count:
        raise UserError(
            f"{path}: must have a score for each of {count} pairs of sentences, got {len(found)}"
        )
    return np.array(found)


def _open(first: str, second: str) -> tuple[Sequences, Sequences]:
    x, y = Sequences(first), Sequences(second)
    check_same_sentences(x, y)
    return x, y


def _scored(
    sides: Sequence[Sequences], scores: np.ndarray, distance: Distance, batch_size: int
) -> np.ndarray:
    pairs = np.stack([np.arange(len(scores))] * 2, axis=1)
    return sequence_distances(*sides, pairs, distance, batch_size)


def _summary(values: np.ndarray, edges: np.ndarray) -> dict[str, Any]:
    return {
        "pairs": len(values),
        "mean": float(values.mean()),
        "sd": float(values.std(ddof=1)) if len(values) > 1 else 0.0,
        "median": float(np.median(values)),
        "histogram": np.histogram(values, edges)[0].tolist(),
    }
