"""Report how close the sequences of translations are: D, random pairs, correlation with scores.

  fairseq-xling clcr measure report seq/test.en seq/test.de --output conditions.json \\
      --figure conditions.svg
  fairseq-xling clcr measure report seq/test.en seq/test.de --scored seq/sts.text seq/sts.pair \\
      --scores sts.tsv --score-column -1

X and Y are folders of sequences (`fairseq-xling clcr encode`) of sentences that translate each
other, line by line. Compares the distance of translations with that of random pairs, and, where
pairs with similarity scores are given, correlates distance and score.

With --checkpoint and --text, it also reports how far the vector of a word moves if the word is
replaced, if its context is, and if neither is: a vector is of its token in its context.

matched: D of the paper's equation 2, the mean of both directions, regardless of order; positions:
position by position, as a model reads them, up to the shorter length.
"""

import dataclasses
import functools
import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from fairseq_xling.core import options as shared
from fairseq_xling.core.errors import UserError, about
from fairseq_xling.core.files import check_files
from fairseq_xling.core.named_files import DATA, FILE, LANG_FILE, MODEL, Input
from fairseq_xling.core.options import argument, option
from fairseq_xling.core.ranges import COUNT, Range
from fairseq_xling.core.registry import unknown_name
from fairseq_xling.core.texts import read_lines
from fairseq_xling.reports.pivot import Table
from fairseq_xling.reports.record import Chart, Record, Section
from fairseq_xling.verbs.parts.output import OutputOptions

HISTOGRAM, BY_SCORE = "histogram", "by score"
PAIRS = {"translations": "translations", "random": "random pairs"}


@dataclasses.dataclass(frozen=True)
class _Sequences:
    x: str = argument("folder of sequences", Input("X"))
    y: str = argument("folder of sequences of their translations", Input("Y"))
    distance: str = option("matched,positions", "distances to compute", metavar="NAMES")
    norm: str = option("l2", "of the difference of two vectors: l1 or l2", metavar=())
    tau: float = option(
        0.0, "temperature of matched's attention; 0 selects the best partner, 1 mixes", least=0
    )
    random: int = option(1, "random partners per sentence", range=Range(1, 1000))
    seed: int = shared.seed(1, "of the random partners")
    scored: tuple[str, ...] | None = option(
        None, "folders of the scored pairs", words=2, metavar=(Input("X"), Input("Y"))
    )
    scores: str | None = option(
        None, "their scores, one line each, tab-separated columns", metavar=FILE
    )
    score_column: str = option(
        "-1",
        "column of the score: a number from 0, or from the end, or a heading",
        metavar="COLUMN",
    )
    checkpoint: str | None = option(
        None, "model whose vectors in context are measured", metavar=MODEL
    )
    text: tuple[str, ...] = option((), "text to measure them on; repeatable", metavar=LANG_FILE)
    data: str | None = option(None, "the model's data folder, if it has moved", metavar=DATA)
    sentences: int = option(
        1000, "lines of each such text to read, a word of each is replaced", range=COUNT
    )
    device: str = option("cpu", "of the model: cpu, cuda or cuda:N", metavar=())
    batch_size: int = option(256, "pairs compared at a time", range=COUNT)


@dataclasses.dataclass(frozen=True)
class Options(OutputOptions, _Sequences):
    """The sequences, how they are compared, and the files of the results."""


def measure(options: Options) -> tuple[Record, dict[str, Path]]:
    import numpy as np

    from fairseq_xling.analysis.correlation import LEAST
    from fairseq_xling.core.progress import progress
    from fairseq_xling.papers.clcr.conditions import (
        compare,
        correlate,
        distances,
        random_partners,
        sequence_distances,
    )
    from fairseq_xling.papers.clcr.modules.transform import norms
    from fairseq_xling.papers.clcr.sequences import META, Sequences, check_same_sentences

    def opened(first: str, second: str) -> tuple[Sequences, Sequences]:
        x, y = Sequences(first), Sequences(second)
        check_same_sentences(x, y)
        return x, y

    if bool(options.scored) != bool(options.scores):
        raise UserError("`--scored` and `--scores` must be given together")
    if bool(options.checkpoint) != bool(options.text):
        raise UserError("`--checkpoint` and `--text` must be given together")
    if options.checkpoint:
        check_files(options.checkpoint)
    if options.norm not in norms:
        raise unknown_name("`--norm`", options.norm, [*norms])
    names = [name.strip() for name in options.distance.split(",")]
    makers = {name: distances[name] for name in names}
    if len(makers) < len(names):
        raise UserError(f"`--distance` must name different ones, got {options.distance!r}")
    x, y = opened(options.x, options.y)
    if x.sentences < 2:
        raise UserError(f"{x.path}: random pairs need at least 2 sentences, got {x.sentences}")
    there = (x.counts > 0) & (y.counts > 0)
    if not there.any():
        raise UserError(f"{x.path} and {y.path}: no pair of sentences has key-points on both sides")
    files = {"X": x.path / META, "Y": y.path / META}
    scored, scores = None, np.zeros(0)
    if options.scored and options.scores:
        scored = opened(*options.scored)
        scores = read_scores(options.scores, options.score_column, scored[0].sentences)
        files |= {"scored X": scored[0].path / META, "scored Y": scored[1].path / META}
        files["scores"] = Path(options.scores)
    contexts, read = _measure_contexts(options) if options.checkpoint else ({}, {})
    files |= read
    pairs = random_partners(x.sentences, options.random, np.random.default_rng(options.seed))
    own = np.stack([np.arange(x.sentences)] * 2, axis=1)
    measured = {}
    with progress(len(names), "distances", "ways", checks=True) as bar:
        for name in names:
            distance = functools.partial(makers[name], norm=options.norm, tau=options.tau)
            near, far = (
                sequence_distances(x, y, p, distance, options.batch_size) for p in (own, pairs)
            )
            measured[name] = compare(near, far)
            if scored:
                each = np.stack([np.arange(len(scores))] * 2, axis=1)
                found = sequence_distances(*scored, each, distance, options.batch_size)
                measured[name] |= correlate(found, scores)
            bar.update()
    notes = [
        f"mean distance of {x.sentences:,} translations, and of each sentence with "
        f"{options.random} of another; norm {options.norm}, temperature {options.tau}, seed "
        f"{options.seed}",
        "ratio: random by translations; AUC: probability that a random pair is farther apart, "
        "chance 0.5",
    ]
    if "positions" in measured:
        notes.append(
            f"{int((x.counts == y.counts)[there].sum()):,} pairs of translations have equally many "
            "vectors; positions compares those that both have"
        )
    if count := int((~there).sum()):
        notes.append(f"{count:,} pairs have a sentence without key-points and no distance")
    for name, one in measured.items() if scored else ():
        if one["pearson"] is None:
            notes.append(f"{name}: no correlation of fewer than {LEAST} pairs, or if all are equal")
        else:
            notes.append(
                f"{name}: correlations with the score of {one['scored']:,} pairs; "
                "-1 is best if a high score means similar"
            )
    folders = (str(x.path), str(y.path))
    return record((x.lang, y.lang), folders, measured, contexts, notes), files


def record(
    pair: Sequence[str],
    folders: Sequence[str],
    measured: Mapping[str, Mapping[str, Any]],
    contexts: Mapping[str, Mapping[str, float]],
    notes: Sequence[str],
) -> Record:
    """The distances of two folders.

    Args:
        measured: by name what `conditions.compare` and `conditions.correlate` found.
        contexts: by language the mean of each of `conditions.context_shifts`.
    """
    from fairseq_xling.papers.clcr.conditions import BETWEEN, CHANGES

    source, target = pair
    rows = [
        {"source": source, "target": target, "distance": name, **row}
        for name, one in measured.items()
        for row in _rows(one)
    ]
    drawn = {"task": [HISTOGRAM, BY_SCORE]}
    chart = Chart("curve", drawn, "pairs", "x", panel="{distance}: {measure}", title="{distance}")
    chart = dataclasses.replace(chart, xlabel="{axis}")
    table = Table({"distance": "distance"}, where={"task": "distances"})
    sections = [Section("Distances", table, chart, notes, name="table")]
    said = []
    for lang, one in contexts.items():
        figures = {name: one[name] for name in ("sentences", *CHANGES, BETWEEN)}
        for name in CHANGES:  # alone, and by the distance of two words
            figures[f"{name} / {BETWEEN}"] = one[name] / one[BETWEEN] if one[BETWEEN] else None
        about = {"task": "contexts", "target": lang}
        rows += [{**about, "measure": name, "value": value} for name, value in figures.items()]
        said.append(
            f"{lang}: the vector of a word of row T moves by {one['token']:.3f} in the mean if the "
            f"word is replaced, by {one['context']:.3f} if all others are, and by "
            f"{one['neither']:.2g} if neither is; those of {BETWEEN} are {one[BETWEEN]:.3f} apart"
        )
    if said:
        table = Table({"language": "target"}, where={"task": "contexts"})
        text = "Mean distance that the vector of a word moves."
        sections.append(Section("A token in its context", table, notes=said, text=text))
    return Record(
        f"Distance of sequences, {source}-{target}",
        [{"paper": "clcr", "study": "clcr-report", **row} for row in rows],
        tuple(sections),
        source="CLCR, 2.1",
        lead=[f"Compared: {' and '.join(folders)}."],
    )


def _rows(one: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Of one way to compare the figures, the histograms, and the means by score."""
    near, far = one["translations"], one["random"]
    ratio = far["mean"] / near["mean"] if near["mean"] else None
    figures = {"translations": near["mean"], "sd": near.get("sd"), "random": far["mean"]}
    figures |= {"sd of random": far.get("sd"), "ratio": ratio, "AUC": one["auc"]}
    figures |= {"Pearson": one.get("pearson"), "Spearman": one.get("spearman")}
    for name, value in figures.items():
        yield {"task": "distances", "measure": name, "value": value}
    middles = [sum(ends) / 2 for ends in itertools.pairwise(one["edges"])]
    about = {"axis": "distance", "measure": "share of pairs"}
    for kind, called in PAIRS.items():
        own = {"task": HISTOGRAM, "pairs": called, **about}
        for middle, count in zip(middles, one[kind]["histogram"], strict=True):
            yield {**own, "x": middle, "value": count / one[kind]["pairs"]}
    about = {"task": BY_SCORE, "pairs": "scored pairs", "measure": "mean distance"}
    for score, distance in one.get("by_score", ()):
        yield {**about, "axis": "score, mean of each fifth", "x": score, "value": distance}


def _measure_contexts(options: Any) -> tuple[dict[str, Any], dict[str, Path]]:
    """Mean distances by language and change, and the files that were read."""
    import numpy as np

    from fairseq_xling.core.texts import read_sentences
    from fairseq_xling.papers.clcr.conditions import BETWEEN, context_shifts
    from fairseq_xling.papers.clcr.start import by_language
    from fairseq_xling.papers.clcr.trained import Clcr
    from fairseq_xling.text.encoder import TextEncoder

    model = Clcr.load(options.checkpoint, options.data, options.device)
    texts = by_language("--text", ",".join(options.text), model.pair)
    check_files(*texts.values())
    found: dict[str, Any] = {}
    for lang, path in texts.items():
        lines = list(itertools.islice(read_sentences(path), options.sentences))
        ids = TextEncoder.load(model.folder.path, lang).encode(lines)
        with about(path):
            rng = np.random.default_rng(options.seed)
            shifts = context_shifts(model, model.side(lang), ids, rng, options.norm)
        found[lang] = {
            "sentences": len(shifts[BETWEEN]),
            **{name: float(values.mean()) for name, values in shifts.items()},
        }
    files = {f"text of {lang}": Path(path) for lang, path in texts.items()}
    return found, {"checkpoint": Path(options.checkpoint), **files}


def read_scores(path: str | Path, column: str, count: int) -> Any:
    """The scores of a file of lines with tabs, (N,): one for each of ``count`` pairs.

    Args:
        column: a number from 0, negative from the end, or a heading: the first line then contains
            headings.
    """
    import numpy as np

    from fairseq_xling.tasks.items import heading_number, is_number

    lines, found = enumerate(read_lines(path), start=1), []
    if is_number(column):
        place = int(column)
    else:
        _, first = next(lines, (1, ""))
        headings = {name: number for number, name in enumerate(first.split("\t"))}
        place = heading_number(f"`--score-column` {column}", column, headings)
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
        if not math.isfinite(found[-1]):
            raise UserError(f"{path}:{line}: the score must be finite, got {row[place]!r}")
    if len(found) != count:
        raise UserError(
            f"{path}: must have a score for each of {count} pairs of sentences, got {len(found)}"
        )
    return np.array(found)
