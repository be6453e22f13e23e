"""A model of CLCR whose modules are perfect by construction, and text that it understands.

Word k of either language is concept k; the states of an English word are those of the German one
with the coordinates in another order. Concepts below `PIVOTS` are key-points, the others are
fillers that the other language does not have. A German sentence has its key-points in the order of
their numbers, an English one in any order.
"""

import dataclasses
from types import SimpleNamespace

import numpy as np
import torch

from fairseq_xling.data.folder import SEP, SPECIALS
from fairseq_xling.models.encoder import EncoderShape
from fairseq_xling.models.ordering.relative import RelativeOrder
from fairseq_xling.papers.clcr.model import ClcrModel
from fairseq_xling.papers.clcr.trained import Clcr

PAIR, DIM, PIVOTS, FILLERS, POSITIONS = ("en", "de"), 16, 12, 8, 40
WORDS = PIVOTS + 2 * FILLERS  # fillers of English, then of German


class PerfectOrder(RelativeOrder):
    """Knows which concept each vector is of, and so what comes first."""

    def __init__(self, table):
        super().__init__(DIM)
        self.table = table

    def forward(self, states, padding_mask=None):
        number = torch.cdist(states, self.table.expand(len(states), -1, -1)).argmin(2)
        scores = 5.0 * (number[:, None] - number[:, :, None]).sign().float()
        if padding_mask is None:
            return scores
        return scores.masked_fill(padding_mask[:, :, None] | padding_mask[:, None], 0.0)


def toy(seed: int = 0) -> Clcr:
    """The model, as `Clcr.load` would give it."""
    generator = torch.Generator().manual_seed(seed)
    shape = EncoderShape(0, DIM, 4 * DIM, 1, POSITIONS, dropout=0.0, attention_dropout=0.0)
    side = {
        "shape": dataclasses.asdict(shape),
        "size": SPECIALS + WORDS,
        "entries": SPECIALS + WORDS,
        "languages": 1,
        "language": 0,
    }
    settings = {
        "transform": {
            **{"transform": "residual", "hidden": 4, "score": "transformed"},
            "norm": "l2",
        },
        "extract": {"delta": 0.2, "hidden": 0, "confident": False, "rates": None},
        "order_rel": {"head": "rel", "positions": 0, "table": False},
    }
    kinds = {"transform": "transform", "extract": "extract", "order_rel": "order"}
    parts = {k: {"kind": kinds[k], "settings": s} for k, s in settings.items()}
    model = ClcrModel({"pair": PAIR, "encoders": {x: side for x in PAIR}, "modules": parts}, {})
    rows = torch.randn(SPECIALS + WORDS, DIM, generator=generator)
    rows[:, 0] = -8.0  # what tells key-points from all else
    rows[SPECIALS : SPECIALS + PIVOTS, 0] = 8.0
    mixed = torch.randperm(DIM, generator=generator)
    with torch.no_grad():
        for number, table in enumerate((rows[:, mixed], rows)):
            encoder = model.encoders[number]
            encoder.ids.copy_(torch.arange(len(rows)))
            encoder.encoder.tokens.shared.weight.copy_(table)
            encoder.encoder.positions.shared.weight.zero_()
        back = mixed.argsort()
        transform = model.parts["transform"]
        transform.forth.transform.A.weight.copy_(torch.eye(DIM)[back])
        transform.back.transform.A.weight.copy_(torch.eye(DIM)[mixed])
        for extractor in model.parts["extract"].sides:
            layer = extractor.scorer.layers[0]
            layer.weight.zero_()
            layer.weight[0, 0], layer.bias[0] = 10.0, 0.0
        model.encoders[1].eval()
        words = torch.arange(SPECIALS, SPECIALS + PIVOTS)[None]
        table = model.encoders[1](
            {
                "tokens": words,
                "langs": torch.zeros_like(words),
                "positions": torch.zeros_like(words),
            }
        )[0]
    model.parts["order_rel"].head = PerfectOrder(table)
    return Clcr(model, SimpleNamespace(path="toy"), "toy.pt", torch.device("cpu"))


def toy_pairs(count: int, seed: int = 0, empty: bool = True):
    """English and German sentences as ids with ``</s>``, and the gold links of each pair.

    With ``empty`` the first pair has no key-point at all.
    """
    rng = np.random.default_rng(seed)
    first, second, links = [], [], []
    for row in range(count):
        size = 0 if empty and row == 0 else int(rng.integers(1, 8))
        concepts = rng.choice(PIVOTS, size, replace=False)
        german, english = _with_fillers(rng, np.sort(concepts), 1), _with_fillers(rng, concepts, 0)
        first.append(np.append(english + SPECIALS, SEP))
        second.append(np.append(german + SPECIALS, SEP))
        places = {int(c): j for j, c in enumerate(german)}
        pairs = [(i, places[int(c)]) for i, c in enumerate(english) if c < PIVOTS]
        links.append(sorted(pairs))
    return first, second, links


def _with_fillers(rng, concepts, side):
    fillers = PIVOTS + side * FILLERS + rng.choice(FILLERS, int(rng.integers(1, 5)), replace=False)
    where = np.sort(rng.integers(0, len(concepts) + 1, len(fillers)))
    return np.insert(concepts, where, fillers)
