"""Rows: which vectors of a sentence make its sequence, and in which order, found by name.

CLCR, section 4.2 and Appendices A and B. The first language's states are mapped into the second's
space, the second's are unchanged:

    row     first language                   second language
    states  all words of r1                  all words of r2
    T       all words of T12(r1)             all words of r2
    T+E     its key-points                   its key-points
    T+E+R   its key-points, reordered        its key-points
    T+pGA   pivots, in their partners' order pivots
    T+pGA-target  the same               all words of r2

T+pGA reads the translation of each sentence, so it is not a method for new text but an upper bound
with perfect extraction and order. With T+pGA-target, a model that was trained on row T of the
second language reads the first. `--reorder second` exchanges the languages where one is reordered.
`states` is the input of T, for probes. To add a row, register a `RowMethod` under
``@rows.register("name")``.

Text becomes sequences in a stream, resumable after a kill (`encode`).

B sentences, T tokens with ``<s>`` and ``</s>``, K vectors of the longest sequence, E width.
"""

from collections.abc import Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor

from fairseq_xling.core.errors import UserError
from fairseq_xling.core.files import read_json
from fairseq_xling.core.folders import META, is_finished
from fairseq_xling.core.progress import progress
from fairseq_xling.core.provenance import provenance
from fairseq_xling.core.ranges import SHARE
from fairseq_xling.core.registry import Registry, unknown_name
from fairseq_xling.core.texts import read_sentences
from fairseq_xling.models.ordering import head_key, order_heads, reordered_side
from fairseq_xling.papers.clcr.modules.order import Chosen, in_text_order
from fairseq_xling.papers.clcr.rows import RowOptions
from fairseq_xling.papers.clcr.sequences import write_sequences
from fairseq_xling.papers.clcr.trained import Batch
from fairseq_xling.text.blocks import BLOCK_SENTENCES
from fairseq_xling.text.encoder import TextEncoder


class RowMethod:
    """Base class: ``MyRow(model, side, options)``.

    Args:
        model: a `fairseq_xling.papers.clcr.trained.Clcr`.
        side: 0 for the first language, 1 for the second.

    Attributes:
        reads_translation: whether it reads the other side of parallel text.
        transformed: whether its vectors are in the second language's space.
        needs: the trainings that it builds on, besides that of the transforms.
        reads: the fields of `RowOptions` that its sequences depend on.
        width: of its vectors.
    """

    reads_translation: ClassVar[bool] = False
    transformed: ClassVar[bool] = True
    needs: ClassVar[tuple[str, ...]] = ()
    reads: ClassVar[tuple[str, ...]] = ()

    def __init__(self, model: Any, side: int, options: RowOptions):
        self.model, self.side, self.options = model, side, options
        self.width: int = model.widths[1 if self.transformed else side]

    def __call__(self, batch: Batch, space: Tensor) -> Chosen:
        """Which vectors make each sequence.

        Args:
            batch: of this language, and of the translations for a row that reads them.
            space: (B, T, E), the states of this language in the second one's space.
        """
        raise NotImplementedError(type(self).__name__)


def reordered(chosen: Chosen, ranks: Tensor) -> Chosen:
    """``chosen`` with token k at position ``ranks[:, k]``; padding ranks last."""
    ranks = ranks.masked_fill(chosen.padding, torch.iinfo(torch.int64).max)
    return Chosen(chosen.places.gather(1, ranks.argsort(dim=1, stable=True)), chosen.padding)


rows: Registry[type[RowMethod]] = Registry("`--row`")


@rows.register("T")
class TransformedRow(RowMethod):
    """All words, in text order."""

    def __call__(self, batch: Batch, space: Tensor) -> Chosen:
        return in_text_order(batch.masks[0])


@rows.register("states")
class StatesRow(TransformedRow):
    """All words in the states of their own encoder, before T."""

    transformed = False


@rows.register("T+E")
class ExtractedRow(RowMethod):
    """Key-points in text order: tokens with p(key-point) > delta; each represents its block."""

    needs = ("extract",)
    reads = ("delta",)

    def __init__(self, model: Any, side: int, options: RowOptions):
        super().__init__(model, side, options)
        module = model.model.require("extract", model.checkpoint)
        self.module, self.extractor = module, module.sides[side]
        self.delta = SHARE.check(
            "--delta", module.delta if options.delta is None else options.delta
        )

    def __call__(self, batch: Batch, space: Tensor) -> Chosen:
        read = self.module.read(self.side, space, batch.sources[0])
        kept = self.extractor.probability(read) > self.delta
        return in_text_order(kept & batch.masks[0])


@rows.register("T+E+R")
class OrderedRow(ExtractedRow):
    """Key-points of the language `--reorder` in the order of the other, which is not changed."""

    needs = ("extract", "order")
    reads = ("delta", "order", "search", "beam", "weigh", "reorder")

    def __init__(self, model: Any, side: int, options: RowOptions):
        super().__init__(model, side, options)
        self.head = None
        order_heads.check(options.order)
        if side == reordered_side(options.reorder):
            key = head_key(options.order, options.reorder)
            self.head = model.model.require(key, model.checkpoint).head
            if options.search not in self.head.searches:
                raise unknown_name("`--search`", options.search, [*self.head.searches])
            if options.weigh and options.weigh not in self.head.weights:
                raise unknown_name("`--weigh`", options.weigh, self.head.weights)

    def __call__(self, batch: Batch, space: Tensor) -> Chosen:
        chosen = super().__call__(batch, space)
        several = (~chosen.padding).sum(1) > 1
        if self.head is None or not bool(several.any()):
            return chosen
        states, padding = chosen.of(space), chosen.padding[several]
        scores = self.head(states[several], padding)
        how = self.options
        found = self.head.find(scores, padding, search=how.search, width=how.beam, weigh=how.weigh)
        ranks = torch.arange(chosen.places.shape[1], device=scores.device).repeat(len(states), 1)
        ranks[several] = found.ranks.to(ranks)
        return reordered(chosen, ranks)


@rows.register("T+pGA")
class PseudoGoldRow(RowMethod):
    """Pseudo-gold pivots in pseudo-gold order: equally many of both languages."""

    reads_translation = True
    reads = ("threshold", "reorder")

    def __init__(self, model: Any, side: int, options: RowOptions):
        super().__init__(model, side, options)
        self.moves = side == reordered_side(options.reorder)
        if options.threshold is None:
            raise UserError(
                "`--threshold` of the pivots must be above 0 for row T+pGA (`clcr label` prints "
                f"one), got {options.threshold}"
            )

    def __call__(self, batch: Batch, space: Tensor) -> Chosen:
        way = -1 if self.side else 1
        found = self.model.pivots(batch.states[::way], batch.masks[::way])
        kept = found.distance < self.options.threshold
        mine, theirs = (found.target, found.source) if self.side else (found.source, found.target)
        partner = torch.full_like(batch.masks[0], -1, dtype=torch.int64)
        partner[found.row[kept], mine[kept]] = theirs[kept]
        chosen = in_text_order(partner >= 0)
        if not self.moves:
            return chosen  # both languages use this order
        return reordered(chosen, chosen.ranks(partner))


@rows.register("T+pGA-target")
class PseudoGoldTargetRow(PseudoGoldRow):
    """Pseudo-gold pivots of the reordered language alone, and all words of the other, as row T has.

    The paper's figures suggest that its row T+pGA was read so (CLCR, Table 4): its score in the
    language trained on is that of T. A model is trained on row T; of the sentences of the other
    language, at test, the pivots are kept, in the order of their partners, the rest is dropped.
    """

    def __call__(self, batch: Batch, space: Tensor) -> Chosen:
        return super().__call__(batch, space) if self.moves else in_text_order(batch.masks[0])


def encode(
    model: Any,
    row: RowMethod,
    lang: str,
    read: Mapping[str, Path],
    output: Path,
    settings: Mapping[str, Any],
    max_tokens: int = 8192,
) -> dict[str, Any]:
    """Write a sequence for each line of a text into ``output``; returns its ``meta.json``.

    Args:
        model: a `fairseq_xling.papers.clcr.trained.Clcr`.
        read: the files: ``checkpoint``, ``text`` in ``lang`` and, for a row that reads it, its
            ``translation``, line by line.
        settings: what determines the result, with ``lang`` and ``dtype``.
    """
    if is_finished(output, settings):
        return read_json(output / META)
    side = model.side(lang)
    files = [read[name] for name in ("text", "translation") if name in read]
    counts = [sum(1 for _ in read_sentences(file)) for file in files]
    if not counts[0]:
        raise UserError(f"{files[0]}: contains no lines")
    if len(set(counts)) > 1:
        raise UserError(
            f"{files[0]} and {files[1]}: must have equally many lines, got {counts[0]} and "
            f"{counts[1]}"
        )
    langs = [lang, model.pair[1 - side]][: len(files)]
    encoders = [TextEncoder.load(model.folder.path, one) for one in langs]
    origin = {"provenance": provenance({**read, "data": model.folder.path / META})}
    with (
        write_sequences(output, settings, row.width, origin) as writer,
        progress(counts[0], f"encode {lang}", "sentences") as bar,
    ):
        bar.update(writer.done)
        lines = [islice(read_sentences(file), writer.done, None) for file in files]
        while (block := [list(islice(one, BLOCK_SENTENCES)) for one in lines])[0]:
            texts = [e.encode(part) for e, part in zip(encoders, block, strict=True)]
            writer.append(*encode_block(model, row, side, texts, max_tokens))
            bar.update(len(block[0]))
    return read_json(output / META)


@torch.no_grad()
def encode_block(
    model: Any, row: RowMethod, side: int, texts: Sequence[Sequence[np.ndarray]], max_tokens: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Vectors, counts, spans and lengths of a block of sentences, ``texts[0]``; a row that reads
    translations has them in ``texts[1]``."""
    lengths = np.array([len(ids) - 1 for ids in texts[0]])
    counts = np.zeros(len(lengths), dtype=np.int64)
    vectors, places, owners = [], [], []
    sides = dict(zip((side, 1 - side), texts, strict=False))
    for batch in model.batches(sides, max_tokens):
        own, indices = batch.states[0], batch.indices
        space = own if side else model.transform(0, own)
        chosen = row(batch, space)
        inside = ~chosen.padding
        vectors.append(chosen.of(space if row.transformed else own)[inside].cpu().numpy())
        places.append(chosen.places[inside].cpu().numpy() - 1)  # after <s>
        counts[indices] = inside.sum(1).cpu().numpy()
        owners.append(np.repeat(indices, counts[indices]))
    order = np.argsort(np.concatenate(owners), kind="stable")
    place = np.concatenate(places)[order]
    spans = np.stack([place, place + 1], axis=1)
    return np.concatenate(vectors)[order], counts, spans, lengths
