"""Report how close the sequences of translations are: D, random pairs, correlation with scores.

  fairseq-xling clcr report seq/test.en seq/test.de --output conditions.json --figure conditions.svg
  fairseq-xling clcr report seq/test.en seq/test.de --scored seq/sts.text seq/sts.pair \\
      --scores sts.tsv --score-column -1

X and Y are folders of sequences (`fairseq-xling clcr encode`) of sentences that translate each
other, line by line. Compares the distance of translations with that of random pairs, and, where
pairs with similarity scores are given, correlates distance and score.

With --checkpoint and --text, it also reports how far the vector of a word moves if the word is
replaced, if its context is, and if neither is: a vector is of its token in its context.

matched: D of the paper's equation 2, the mean of both directions, regardless of order; positions:
position by position, as a model reads them, up to the shorter length.
"""

import argparse
import dataclasses
import math
from collections.abc import Mapping
from itertools import islice
from pathlib import Path
from typing import Any

from fairseq_xling.core import options as shared
from fairseq_xling.core.errors import UserError, about
from fairseq_xling.core.files import check_files, read_lines
from fairseq_xling.core.named_files import DATA, FILE, LANG_FILE, MODEL, Input
from fairseq_xling.core.options import add_fields, argument, option
from fairseq_xling.core.ranges import COUNT, Range
from fairseq_xling.core.registry import unknown_name
from fairseq_xling.papers.clcr.commands import finish_measure

GROUP = "CLCR"
SPEC_ROWS = ("C1",)
HEADER = ["distance", "translations", "sd", "random", "sd ", "ratio", "AUC", "Pearson", "Spearman"]


@dataclasses.dataclass(frozen=True)
class Options:
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


def add_arguments(parser: argparse.ArgumentParser) -> None:
    from fairseq_xling.verbs.parts.comparison import add_output

    add_fields(parser, Options)
    add_output(parser)


def run(args: argparse.Namespace) -> None:
    import numpy as np

    from fairseq_xling.core.progress import progress
    from fairseq_xling.papers.clcr.conditions import (
        compare,
        correlate,
        distances,
        random_partners,
        sequence_distances,
    )
    from fairseq_xling.papers.clcr.measures_result import draw_report
    from fairseq_xling.papers.clcr.modules.transform import norms
    from fairseq_xling.papers.clcr.sequences import META, Sequences, check_same_sentences
    from fairseq_xling.verbs.parts.comparison import check_output

    def opened(first: str, second: str) -> tuple[Sequences, Sequences]:
        x, y = Sequences(first), Sequences(second)
        check_same_sentences(x, y)
        return x, y

    check_output(args)
    if bool(args.scored) != bool(args.scores):
        raise UserError("`--scored` and `--scores` must be given together")
    if bool(args.checkpoint) != bool(args.text):
        raise UserError("`--checkpoint` and `--text` must be given together")
    if args.checkpoint:
        check_files(args.checkpoint)
    if args.norm not in norms:
        raise unknown_name("`--norm`", args.norm, [*norms])
    names = [name.strip() for name in args.distance.split(",")]
    makers = {name: distances[name] for name in names}
    if len(makers) < len(names):
        raise UserError(f"`--distance` must name different ones, got {args.distance!r}")
    x, y = opened(args.x, args.y)
    if x.sentences < 2:
        raise UserError(f"{x.path}: random pairs need at least 2 sentences, got {x.sentences}")
    there = (x.counts > 0) & (y.counts > 0)
    if not there.any():
        raise UserError(f"{x.path} and {y.path}: no pair of sentences has key-points on both sides")
    files = {"X": x.path / META, "Y": y.path / META}
    scored, scores = None, np.zeros(0)
    if args.scored:
        scored = opened(*args.scored)
        scores = read_scores(args.scores, args.score_column, scored[0].sentences)
        files |= {"scored X": scored[0].path / META, "scored Y": scored[1].path / META}
        files["scores"] = Path(args.scores)
    contexts, read = _measure_contexts(args) if args.checkpoint else ({}, {})
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
                each = np.stack([np.arange(len(scores))] * 2, axis=1)
                found = sequence_distances(*scored, each, distance, args.batch_size)
                measured[name] |= correlate(found, scores)
            bar.update()
    record = {
        "clcr": "conditions",
        "title": f"Distance of sequences, {x.lang}-{y.lang}",
        "folders": [str(x.path), str(y.path)],
        "pair": f"{x.lang}-{y.lang}",
        "sentences": x.sentences,
        "without_key_points": int((~there).sum()),
        "same_length": int((x.counts == y.counts)[there].sum()),
        "settings": {"norm": args.norm, "tau": args.tau, "random": args.random, "seed": args.seed},
        "distances": measured,
        "contexts": contexts,
    }
    notes = _notes(record) + _context_notes(contexts)
    record |= {"header": HEADER, "rows": _table(record), "notes": notes}
    finish_measure(args, record, files, draw_report)


def _table(record: dict[str, Any]) -> list[list[Any]]:
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


def _notes(record: dict[str, Any]) -> list[str]:
    """Notes that a reader needs to interpret the figures."""
    from fairseq_xling.analysis.correlation import LEAST

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


def _context_notes(found: Mapping[str, Any]) -> list[str]:
    """The table in words."""
    from fairseq_xling.papers.clcr.conditions import BETWEEN

    return [
        f"{lang}: the vector of a word of row T moves by {one['token']:.3f} in the mean if the "
        f"word is replaced, by {one['context']:.3f} if all others are, and by {one['neither']:.2g} "
        f"if neither is; those of {BETWEEN} are {one[BETWEEN]:.3f} apart"
        for lang, one in found.items()
    ]


def _measure_contexts(args: argparse.Namespace) -> tuple[dict[str, Any], dict[str, Path]]:
    """Mean distances by language and change, and the files that were read."""
    import numpy as np

    from fairseq_xling.core.sentences import read_sentences
    from fairseq_xling.papers.clcr.conditions import BETWEEN, context_shifts
    from fairseq_xling.papers.clcr.start import by_language
    from fairseq_xling.papers.clcr.trained import Clcr
    from fairseq_xling.text.encoder import TextEncoder

    model = Clcr.load(args.checkpoint, args.data, args.device)
    texts = by_language("--text", ",".join(args.text), model.pair)
    check_files(*texts.values())
    found: dict[str, Any] = {}
    for lang, path in texts.items():
        lines = list(islice(read_sentences(path), args.sentences))
        ids = TextEncoder.load(model.folder.path, lang).encode(lines)
        with about(path):
            shifts = context_shifts(
                model, model.side(lang), ids, np.random.default_rng(args.seed), args.norm
            )
        found[lang] = {
            "sentences": len(shifts[BETWEEN]),
            **{name: float(values.mean()) for name, values in shifts.items()},
        }
    files = {f"text of {lang}": Path(path) for lang, path in texts.items()}
    return found, {"checkpoint": Path(args.checkpoint), **files}


def read_scores(path: str | Path, column: str, count: int) -> Any:
    """The scores of a file of lines with tabs, (N,): one for each of ``count`` pairs.

    Args:
        column: a number from 0, negative from the end, or a heading: the first line then contains
            headings.
    """
    import numpy as np

    from fairseq_xling.tasks.items import heading_number, is_number

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
        if not math.isfinite(found[-1]):
            raise UserError(f"{path}:{line}: the score must be finite, got {row[place]!r}")
    if len(found) != count:
        raise UserError(
            f"{path}: must have a score for each of {count} pairs of sentences, got {len(found)}"
        )
    return np.array(found)
