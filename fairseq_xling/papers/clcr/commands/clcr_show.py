"""Show one sentence pair: p(key-point) of each word, and what the order heads say of its pivots.

  fairseq-xling clcr show model.pt --labels labels --split valid --sentence 3 --figure sentence.svg

Words of both languages have p(key-point) by the plain and, where labels were reweighted, by the
confident classifier (the paper's Figure 2). For each trained order head there are two heat maps of
the key-points: the gold matrix, and the head's probabilities (Figure 3).
"""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairseq_xling.core.errors import UserError
from fairseq_xling.core.ranges import COUNT, Number
from fairseq_xling.papers.clcr.commands import add_labelled, finish_measure

if TYPE_CHECKING:
    from fairseq_xling.data.folder import DataFolder

GROUP = "CLCR"
SPEC_ROWS = ("C8", "C11", "C12")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    from fairseq_xling.verbs.parts.comparison import add_output

    add = parser.add_argument
    add_labelled(parser, ", with extraction")
    add(
        "--sentence",
        type=Number(int, COUNT),
        default=1,
        metavar="N",
        help="which sentence pair of the split, counted from 1",
    )
    add("--device", default="cpu", help="cpu, cuda or cuda:N")
    add_output(parser)


def run(args: argparse.Namespace) -> None:
    from fairseq_xling.papers.clcr.evaluation import order_maps, word_rows
    from fairseq_xling.papers.clcr.labels import META, Labels
    from fairseq_xling.papers.clcr.measures_result import draw_sentence, words_table
    from fairseq_xling.papers.clcr.trained import Clcr, labelled_pair
    from fairseq_xling.verbs.parts.comparison import check_output

    check_output(args)

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
    words, maps = word_rows(model, batch, names), order_maps(model, batch, names)
    notes = [
        "p: probability of a key-point; plain: learnt from all labels equally; confident: from "
        "reweighted labels",
        f"* marks the {labels.kind} of {labels.path}",
    ]
    if not maps:
        notes.append("no heat maps: no order head is trained, or the sentence has under 2 pivots")
    header, rows = words_table(words)
    record = {
        "clcr": "show",
        "title": f"Sentence {args.sentence} of {args.split}, {'-'.join(model.pair)}",
        "pair": "-".join(model.pair),
        "split": args.split,
        "sentence": args.sentence,
        "delta": model.parts["extract"].delta,
        "words": words,
        "maps": maps,
        "header": header,
        "rows": rows,
        "notes": notes,
    }
    files = {"checkpoint": Path(args.checkpoint), "labels": labels.path / META}
    finish_measure(args, record, files, draw_sentence)


def token_names(folder: "DataFolder", lang: str, ids: Any) -> list[str]:
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
