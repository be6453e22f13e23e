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

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np
import torch
from torch import Tensor

from fairseq_xling.core.errors import UserError
from fairseq_xling.core.files import read_json
from fairseq_xling.core.folders import META, is_finished
from fairseq_xling.core.progress import progress
from fairseq_xling.core.provenance import provenance
from fairseq_xling.core.registry import Registry, unknown_name
from fairseq_xling.core.sentences import read_sentences
from fairseq_xling.models.ordering import head_key, order_heads, reordered_side
from fairseq_xling.models.ordering.beam import MOST_WIDTH
from fairseq_xling.papers.clcr.modules.order import Chosen, in_text_order
from fairseq_xling.papers.clcr.pivots import mutual_best, pair_distances
from fairseq_xling.papers.clcr.rows import RowOptions
from fairseq_xling.papers.clcr.sequences import write_sequences
from fairseq_xling.text.blocks import BLOCK_SENTENCES
from fairseq_xling.text.encoder import TextEncoder


class View(NamedTuple):
    """A batch of one language.

    Attributes:
        vectors: (B, T, E), in the second language's space.
        content: (B, T), True at words.
        states: (B, T, D or E), of this language's encoder, untransformed.
        source: the batch as encoders read it.
        other_states, other_content: of the translations, for a row that reads them.
    """

    vectors: Tensor
    content: Tensor
    states: Tensor
    source: Mapping[str, Tensor]
    other_states: Tensor | None = None
    other_content: Tensor | None = None


class RowMethod:
    """Base class: ``MyRow(model, side, options)``.

    Args:
        model: a `fairseq_xling.papers.clcr.trained.Clcr`.
        side: 0 for the first language, 1 for the second.

    Attributes:
        reads_translation: whether it reads the other side of parallel text.
        needs: the trainings that it builds on, besides that of the transforms.
        reads: the fields of `RowOptions` that its sequences depend on.
    """

    reads_translation: ClassVar[bool] = False
    needs: ClassVar[tuple[str, ...]] = ()
    reads: ClassVar[tuple[str, ...]] = ()

    def __init__(self, model: Any, side: int, options: RowOptions):
        self.model, self.side, self.options = model, side, options

    def __call__(self, view: View) -> Chosen:
        """Which vectors make each sequence."""
        raise NotImplementedError(type(self).__name__)

    @property
    def width(self) -> int:
        """The width of its vectors."""
        return self.model.widths[1]

    def vectors(self, view: View) -> Tensor:
        """The candidate vectors, (B, T, `width`)."""
        return view.vectors


def reordered(chosen: Chosen, ranks: Tensor) -> Chosen:
    """``chosen`` with token k at position ``ranks[:, k]``; padding ranks last."""
    order = ranks.masked_fill(chosen.padding, torch.iinfo(torch.int64).max).argsort(
        dim=1, stable=True
    )
    return Chosen(chosen.places.gather(1, order), chosen.padding)


rows: Registry[type[RowMethod]] = Registry("`--row`")


@rows.register("T")
class TransformedRow(RowMethod):
    """All words, in text order."""

    def __call__(self, view: View) -> Chosen:
        return in_text_order(view.content)


@rows.register("states")
class StatesRow(TransformedRow):
    """All words in the states of their own encoder, before T."""

    @property
    def width(self) -> int:
        return self.model.widths[self.side]

    def vectors(self, view: View) -> Tensor:
        return view.states


@rows.register("T+E")
class ExtractedRow(RowMethod):
    """Key-points in text order: tokens with p(key-point) > delta; each represents its block."""

    needs = ("extract",)
    reads = ("delta",)

    def __init__(self, model: Any, side: int, options: RowOptions):
        super().__init__(model, side, options)
        module = model.model.require("extract", model.checkpoint)
        self.module, self.extractor = module, module.sides[side]
        self.delta = module.delta if options.delta is None else options.delta
        if not 0 <= self.delta <= 1:
            raise UserError(f"`--delta` must lie in [0, 1], got {self.delta}")

    def __call__(self, view: View) -> Chosen:
        read = self.module.read(self.side, view.vectors, view.source)
        kept = self.extractor.probability(read) > self.delta
        return in_text_order(kept & view.content)


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
        if not 1 <= options.beam <= MOST_WIDTH:
            raise UserError(f"`--beam` must lie in [1, {MOST_WIDTH}], got {options.beam}")

    def __call__(self, view: View) -> Chosen:
        chosen = super().__call__(view)
        several = (~chosen.padding).sum(1) > 1
        if self.head is None or not bool(several.any()):
            return chosen
        states, padding = chosen.of(view.vectors), chosen.padding[several]
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
        if options.threshold is None or not options.threshold > 0:
            raise UserError(
                "`--threshold` of the pivots must be above 0 for row T+pGA (`clcr label` prints "
                f"one), got {options.threshold}"
            )

    def __call__(self, view: View) -> Chosen:
        states, masks = (view.states, view.other_states), (view.content, view.other_content)
        if self.side:
            states, masks = states[::-1], masks[::-1]
        moved = self.model.transform(0, states[0]), self.model.transform(1, states[1])
        found = mutual_best(pair_distances(*states, *moved, self.model.norm), *masks)
        kept = found.distance < self.options.threshold
        mine, theirs = (found.target, found.source) if self.side else (found.source, found.target)
        partner = torch.full_like(view.content, -1, dtype=torch.int64)
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

    def __call__(self, view: View) -> Chosen:
        return super().__call__(view) if self.moves else in_text_order(view.content)


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
    """Vectors, counts, spans and lengths of a block of sentences."""
    lengths = np.array([len(ids) - 1 for ids in texts[0]])
    counts = np.zeros(len(lengths), dtype=np.int64)
    vectors, places, owners = [], [], []
    for indices, view in _views(model, side, texts, max_tokens):
        chosen = row(view)
        inside = ~chosen.padding
        vectors.append(chosen.of(row.vectors(view))[inside].cpu().numpy())
        places.append(chosen.places[inside].cpu().numpy() - 1)  # after <s>
        counts[indices] = inside.sum(1).cpu().numpy()
        owners.append(np.repeat(indices, counts[indices]))
    order = np.argsort(np.concatenate(owners), kind="stable")
    place = np.concatenate(places)[order]
    spans = np.stack([place, place + 1], axis=1)
    return np.concatenate(vectors)[order], counts, spans, lengths


def _views(
    model: Any, side: int, texts: Sequence[Sequence[np.ndarray]], max_tokens: int
) -> Iterator[tuple[np.ndarray, View]]:
    """Batches of sentences, of which ``texts`` are the own ones, and translations if a row reads
    them."""
    if len(texts) == 1:
        batches = ((n, (s,), (m,)) for n, s, m in model.states(texts[0], side, max_tokens))
    else:
        batches = model.pairs(*(texts[::-1] if side else texts), max_tokens)
    for indices, states, masks in batches:
        if side and len(texts) > 1:
            states, masks = states[::-1], masks[::-1]
        vectors = states[0] if side else model.transform(0, states[0])
        source = model.source([texts[0][i] for i in indices])
        others = [part[1] for part in (states, masks) if len(texts) > 1]
        yield indices, View(vectors, masks[0], states[0], source, *others)
