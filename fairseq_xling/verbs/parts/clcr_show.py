"""The verb ``clcr show``: one sentence pair as the modules see it (CLCR, Figures 2 and 3).

Key-points of the heat maps are the pivots of the labels, in the order of their own sentence, so a
map is that of the order head alone.

K key-points.
"""

import argparse
from functools import partial
from pathlib import Path
from typing import Any

import torch

from fairseq_xling.clcr.labelled import labelled_pair
from fairseq_xling.clcr.labels import META, Labels
from fairseq_xling.data.folder import SPECIAL_SYMBOLS, SPECIALS, DataFolder, read_dictionary
from fairseq_xling.errors import UserError
from fairseq_xling.models.clcr.modules import PairStates
from fairseq_xling.models.clcr.modules.extract import pivot_masks
from fairseq_xling.models.clcr.modules.order import OrderModule, key_points_of
from fairseq_xling.text.pieces import WORD_MARK
from fairseq_xling.text.vocabularies import mode_of
from fairseq_xling.verbs.parts.clcr_show_figure import KINDS, draw_all
from fairseq_xling.verbs.parts.comparison import check_output, finish

HEADER = ["language", "place", "word", *(f"p {kind}" for kind in KINDS), "pivot"]


def run_show(args: argparse.Namespace) -> None:
    """See `fairseq_xling.verbs.clcr_show`.

    Raises:
        UserError: for missing files, a sentence that does not exist, or a model without extraction.
    """
    check_output(args)
    from fairseq_xling.interop.clcr import Clcr

    model = Clcr.load(args.checkpoint, args.data, args.device)
    model.model.require("extract", model.checkpoint)
    labels = Labels(Path(args.labels, args.split))
    sides = model.folder.parallel(args.split, *model.pair)
    order = labels.order(sides, model.pair)
    if args.sentence > len(order):
        raise UserError(
            f"`--sentence` must be at most {len(order)}, the pairs of {labels.path}, got "
            f"{args.sentence}"
        )
    number = args.sentence - 1
    batch = labelled_pair(model, sides, order, number)
    names = [
        token_names(model.folder, lang, side[number])[: int(mask.sum())]
        for lang, side, mask in zip(model.pair, sides, batch.masks, strict=True)
    ]
    title = f"Sentence {args.sentence} of {args.split}, {'-'.join(model.pair)}"
    words, maps = word_rows(model, batch, names), order_maps(model, batch, names)
    notes = [
        "p: probability of a key-point; plain: learnt from all labels equally; confident: from "
        "reweighted labels",
        f"* marks the {labels.kind} of {labels.path}",
    ]
    if not maps:
        notes.append("no heat maps: no order head is trained, or the sentence has under 2 pivots")
    delta = model.parts["extract"].delta
    record = {
        "clcr": "show",
        "title": title,
        "pair": "-".join(model.pair),
        "split": args.split,
        "sentence": args.sentence,
        "delta": delta,
        "words": words,
        "maps": maps,
        "header": HEADER,
        "rows": table(words),
        "notes": notes,
    }
    files = {"checkpoint": Path(args.checkpoint), "labels": labels.path / META}
    figure = partial(draw_all, record) if args.figure else None
    finish(args, title, HEADER, record["rows"], notes, record, files, figure)


def token_names(folder: DataFolder, lang: str, ids: Any) -> list[str]:
    """The text of each id; one that continues a word begins with ##."""
    piece = mode_of(folder).piece
    symbols = read_dictionary(folder.dictionary_path(lang))
    found = []
    for number in ids:
        text = piece(symbols[number]) if number >= SPECIALS else SPECIAL_SYMBOLS[number]
        begins = number < SPECIALS or text.startswith(WORD_MARK)
        found.append((text.removeprefix(WORD_MARK) or WORD_MARK) if begins else f"##{text}")
    return found


@torch.no_grad()
def word_rows(model: Any, batch: PairStates, names: list[list[str]]) -> list[dict[str, Any]]:
    """For each language its words, their p by kind of classifier, and which are pivots."""
    module, gold = model.parts["extract"], pivot_masks(batch)
    read = module.read_pair(batch)
    return [
        {
            "lang": lang,
            "words": names[side],
            "p": {
                kind: values.tolist()
                for kind, values in module.sides[side]
                .probabilities(read[side][batch.masks[side]])
                .items()
            },
            "pivots": gold[side][batch.masks[side]].tolist(),
        }
        for side, lang in enumerate(model.pair)
    ]


@torch.no_grad()
def order_maps(model: Any, batch: PairStates, names: list[list[str]]) -> list[dict[str, Any]]:
    """For each trained head the gold matrix (K, K) and its own; none for under 2 pivots."""
    found: list[dict[str, Any]] = []
    parts = [part for part in model.parts.values() if isinstance(part, OrderModule)]
    for part in sorted(parts, key=lambda part: part.side):
        states, positions, padding = key_points_of(batch, part.side)
        if states.shape[1] < 2:
            return []
        lang, other = model.pair[part.side], model.pair[1 - part.side]
        pivots = pivot_masks(batch)[part.side][batch.masks[part.side]].tolist()
        words = [name for name, pivot in zip(names[part.side], pivots, strict=True) if pivot]
        maps = part.head.maps(part.head(states, padding), positions)
        for one in maps:
            found.append(
                {
                    "direction": f"{lang} in the order of {other}",
                    "head": part.name,
                    "title": one.title,
                    "words": words,
                    "pairs": one.pairs,
                    "matrix": one.matrix[0].tolist(),
                    "scale": list(one.scale),
                    "what": one.what,
                }
            )
    return found


def table(words: list[dict[str, Any]]) -> list[list[Any]]:
    """The rows under `HEADER`."""
    return [
        [
            *(one["lang"], place, word),
            *(one["p"][kind][place - 1] if kind in one["p"] else None for kind in KINDS),
            "*" if one["pivots"][place - 1] else "",
        ]
        for one in words
        for place, word in enumerate(one["words"], start=1)
    ]
