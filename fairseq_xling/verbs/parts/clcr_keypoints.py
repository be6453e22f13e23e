"""The verb ``clcr keypoints``: how well key-points are classified (CLCR, table 2).

All words of both languages are counted, against pseudo-gold or gold pivots. Confident labels are to
make words less ambiguous: entropy and the share of middling p say whether they do.
"""

import argparse
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from fairseq_xling.clcr.labelled import labelled_batches
from fairseq_xling.clcr.labels import META, Labels
from fairseq_xling.data.mmap import TokenFile
from fairseq_xling.errors import UserError
from fairseq_xling.models.clcr.keypoints import COUNTS, DOUBTS, HEADER, confusion, doubts, table_row
from fairseq_xling.models.clcr.modules import PairStates
from fairseq_xling.models.clcr.modules.extract import pivot_masks
from fairseq_xling.progress import progress
from fairseq_xling.verbs.parts.comparison import check_output, finish

Counts = dict[tuple[str, float], dict[str, int]]  # by language and delta
Doubts = dict[str, dict[str, float]]  # sums by language


def run_keypoints(args: argparse.Namespace) -> None:
    """See `fairseq_xling.verbs.clcr_keypoints`.

    Raises:
        UserError: for missing files, invalid thresholds, or a model without the module.
    """
    check_output(args)
    deltas = parse_deltas(args.delta)
    from fairseq_xling.interop.clcr import Clcr

    model = Clcr.load(args.checkpoint, args.data, args.device)
    model.model.require("extract", model.checkpoint)
    labels = Labels(Path(args.labels, args.split))
    sides = model.folder.parallel(args.split, *model.pair)
    counts, doubt = count_keypoints(model, sides, labels, deltas, args.max_tokens)
    rows = [list(table_row(*key, found, doubt[key[0]])) for key, found in counts.items()]
    notes = [
        f"words of {args.split}, against the {labels.kind} of {labels.path}",
        "entropy: mean of p(key-point), in bits, 1 is chance; ambiguous: share of words with "
        ".2 < p < .8",
    ]
    title = f"Key-points, {'-'.join(model.pair)}"
    record = {
        "clcr": "keypoints",
        "title": title,
        "pair": "-".join(model.pair),
        "split": args.split,
        "header": list(HEADER),
        "rows": rows,
        "notes": notes,
    }
    files = {"checkpoint": Path(args.checkpoint), "labels": labels.path / META}
    finish(args, title, list(HEADER), rows, notes, record, files, None)


@torch.no_grad()
def count_keypoints(
    model: Any,
    sides: tuple[TokenFile, TokenFile],
    labels: Labels,
    deltas: Sequence[float],
    max_tokens: int,
) -> tuple[Counts, Doubts]:
    """The confusion matrices of all words of a split, and how ambiguous they are."""
    order = labels.order(sides, model.pair)
    counts: Counts = {
        (lang, delta): dict.fromkeys(COUNTS, 0) for lang in model.pair for delta in deltas
    }
    doubt: Doubts = {lang: dict.fromkeys(DOUBTS, 0.0) for lang in model.pair}
    with progress(len(sides[0]), "key-points", "pairs", checks=True) as bar:
        for batch in labelled_batches(model, sides, order, max_tokens):
            for lang, found, gold in _judged(model, batch):
                for name, value in doubts(found).items():
                    doubt[lang][name] += float(value)
                for delta in deltas:
                    _add(counts[lang, delta], confusion(found > delta, gold))
            bar.update(len(batch.masks[0]))
    return counts, doubt


def _judged(model: Any, batch: PairStates) -> Iterator[tuple[str, Tensor, Tensor]]:
    """For each language p(key-point) and labels of its words (n,)."""
    module, gold = model.parts["extract"], pivot_masks(batch)
    read = module.read_pair(batch)
    for side, lang in enumerate(model.pair):
        mask = batch.masks[side]
        yield lang, module.sides[side].probability(read[side][mask]), gold[side][mask]


def _add(total: dict[str, int], more: Mapping[str, Tensor]) -> None:
    for name, count in more.items():
        total[name] += int(count)


def parse_deltas(text: str) -> list[float]:
    """Thresholds separated by commas.

    >>> parse_deltas("0.2, 0.5")
    [0.2, 0.5]

    Raises:
        UserError: for anything but different numbers in [0, 1].
    """
    found = []
    for piece in filter(None, (piece.strip() for piece in text.split(","))):
        try:
            found.append(float(piece))
        except ValueError:
            found.append(-1.0)
    if not found or not all(0 <= delta <= 1 for delta in found):
        raise UserError(f"`--delta` must be numbers in [0, 1], got {text!r}")
    if len({*found}) < len(found):
        raise UserError(f"`--delta` must be different numbers, got {text!r}")
    return found
