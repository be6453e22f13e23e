"""Show one sentence pair: p(key-point) of each word, and what the order heads say of its pivots.

  fairseq-xling clcr measure show model.pt --labels labels --sentence 3 --figure sentence.svg

Words of both languages have p(key-point) by the plain and, where labels were reweighted, by the
confident classifier (the paper's Figure 2). For each trained order head there are two heat maps of
the key-points: the gold matrix, and the head's probabilities (Figure 3).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairseq_xling.core import options as shared
from fairseq_xling.core.errors import UserError
from fairseq_xling.core.options import option
from fairseq_xling.core.ranges import COUNT
from fairseq_xling.papers.clcr.measures import Labelled, LabelledOptions
from fairseq_xling.reports.pivot import Table
from fairseq_xling.reports.record import Chart, Record, Section
from fairseq_xling.verbs.parts.output import OutputOptions

if TYPE_CHECKING:
    from fairseq_xling.data.folder import DataFolder
    from fairseq_xling.papers.clcr.modules import PairStates

CLASSIFIERS = ("plain", "confident")  # of key-points, from top to bottom
WORDS, ORDER = "words", "order"


@dataclasses.dataclass(frozen=True)
class _Sentence(LabelledOptions):
    sentence: int = option(1, "which sentence pair of the split, counted from 1", range=COUNT)
    device: str = shared.device()


@dataclasses.dataclass(frozen=True)
class Options(OutputOptions, _Sentence):
    """The model and its labels, a sentence, and the files of the results."""


def measure(options: Options) -> tuple[Record, dict[str, Path]]:
    import torch

    from fairseq_xling.papers.clcr.trained import labelled_pair

    of, number = Labelled(options, "extract"), options.sentence
    if number > len(of.order):
        raise UserError(
            f"`--sentence` must be at most {len(of.order)}, the pairs of {of.labels.path}, got "
            f"{number}"
        )
    batch = labelled_pair(of.model, of.sides, of.order, number - 1)
    names = [
        token_names(of.model.folder, lang, side[number - 1])[: int(mask.sum())]
        for lang, side, mask in zip(of.model.pair, of.sides, batch.masks, strict=True)
    ]
    with torch.no_grad():
        rows = [*word_rows(of.model, batch, names), *order_rows(of.model, batch, names)]
    if not rows:
        raise UserError(f"`--sentence` {number}: has no words in either language")
    notes = [
        "p: probability of a key-point; plain: learnt from all labels equally; confident: from "
        "reweighted labels",
        f"* marks the {of.labels.kind} of {of.labels.path}",
    ]
    if not any(row["task"] == ORDER for row in rows):
        notes.append("no heat maps: no order head is trained, or the sentence has under 2 pivots")
    words = {"language": "target", "place": "place", "word": "word"}
    table = Table(words, where={"task": WORDS}, after={"pivot": "pivot"})
    heat = Chart("heat", row="down", x="across", panel="panel", title="{panel}", xlabel="{axis}")
    heat = dataclasses.replace(heat, ylabel="", unit="{unit}", scale=("low", "high"))
    record = Record(
        f"Sentence {number} of {of.split}, {of.pair}",
        [{"paper": "clcr", "study": "clcr-show", **row} for row in rows],
        (Section("Key-points and their order", table, heat, notes, name="table"),),
        source="CLCR, Figures 2 and 3",
        lead=["One sentence pair, its key-points, and the scores of its order."],
    )
    return record, of.files


def word_rows(
    model: Any, batch: PairStates, names: Sequence[Sequence[str]]
) -> Iterator[dict[str, Any]]:
    """p of each word of either language by each classifier, None by one that was not trained."""
    from fairseq_xling.papers.clcr.modules.extract import pivot_masks

    module, gold = model.parts["extract"], pivot_masks(batch)
    read = module.read_pair(batch)
    for side, (lang, mask) in enumerate(zip(model.pair, batch.masks, strict=True)):
        p = module.sides[side].probabilities(read[side][mask])
        panel = f"key-points of {lang} (kept above {module.delta:g}; * pivot)"
        about = {"task": WORDS, "target": lang, "panel": panel, "unit": "p(key-point)"}
        words = zip(names[side], gold[side][mask].tolist(), strict=True)
        for place, (word, pivot) in enumerate(words, start=1):
            of = {"place": place, "word": word, "pivot": "*" if pivot else ""}
            across = f"{place} {word} {of['pivot']}".strip()
            for kind in CLASSIFIERS:
                row = {**about, **of, "down": kind, "across": across, "low": 0.0, "high": 1.0}
                value = float(p[kind][place - 1]) if kind in p else None
                yield {**row, "measure": f"p {kind}", "value": value}


def order_rows(
    model: Any, batch: PairStates, names: Sequence[Sequence[str]]
) -> Iterator[dict[str, Any]]:
    """The gold matrix of each trained head, and its own; none for under 2 pivots."""
    from fairseq_xling.papers.clcr.modules.extract import pivot_masks
    from fairseq_xling.papers.clcr.modules.order import OrderModule, key_points_of

    parts = [part for part in model.parts.values() if isinstance(part, OrderModule)]
    for part in sorted(parts, key=lambda part: part.side):
        states, positions, padding = key_points_of(batch, part.side)
        if states.shape[1] < 2:
            return
        lang, other = model.pair[part.side], model.pair[1 - part.side]
        pivots = pivot_masks(batch)[part.side][batch.masks[part.side]].tolist()
        words = [name for name, pivot in zip(names[part.side], pivots, strict=True) if pivot]
        named = [f"{place} {word}" for place, word in enumerate(words, start=1)]
        positions_named = list(map(str, range(1, len(words) + 1)))
        for one in part.head.maps(part.head(states, padding), positions):
            about = {"task": ORDER, "source": lang, "target": other, "head": part.name}
            about |= {"unit": one.what, "measure": one.title}
            about |= {"low": one.scale[0], "high": one.scale[1]}
            about["panel"] = f"{part.name}: {one.title}\n{lang} in the order of {other}"
            about["axis"] = "key-point" if one.pairs else "position"
            columns = named if one.pairs else positions_named
            cells = zip(product(named, columns), one.matrix[0].flatten().tolist(), strict=True)
            yield from ({**about, "down": d, "across": a, "value": x} for (d, a), x in cells)


def token_names(folder: DataFolder, lang: str, ids: Any) -> list[str]:
    """The text of each id; one that continues a word begins with ##."""
    from fairseq_xling.data.folder import SPECIAL_SYMBOLS, SPECIALS, read_dictionary
    from fairseq_xling.text.pieces import WORD_MARK
    from fairseq_xling.text.vocabularies import mode_of

    piece = mode_of(folder).piece
    symbols = read_dictionary(folder.dictionary_path(lang))
    found = []
    for number in ids:
        text = piece(symbols[number]) if number >= SPECIALS else SPECIAL_SYMBOLS[number]
        begins = number < SPECIALS or text.startswith(WORD_MARK)
        found.append((text.removeprefix(WORD_MARK) or WORD_MARK) if begins else f"##{text}")
    return found
