"""The non-autoregressive generator behind `fairseq-generate --task cdlm` and fairseq-interactive.

TreLM (Li et al., 2021), Appendix A.7: the lower half encodes the sentence, an ordering determines
the translation's length and the source position of each of its positions, and the TRILayer and the
upper half predict all of it at once, from which the model's emission reads the words.

B sentences, K candidates for each, R = B K rows, T source length, U target length, D width.
"""

import dataclasses
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from fairseq_xling.data.batch import source_side
from fairseq_xling.data.folder import PAD, SEP, SPECIALS
from fairseq_xling.data.plan import Limits, cut
from fairseq_xling.data.shortlist import Shortlist
from fairseq_xling.generation.orderings import Candidates, Ordering, Sources
from fairseq_xling.models.emissions import Emission, Reading, Written

_NONE = -1e15  # below any score
Hypothesis = dict[str, Any]


class CandidateTokens:
    """The tokens that a sentence may be translated with, by a shortlist: those of its words, the
    frequent ones and the special ones.

    N tokens for each source token, C in all.
    """

    def __init__(self, shortlist: Shortlist):
        self.linked = torch.from_numpy(shortlist.linked)
        self.always = torch.cat([torch.arange(SPECIALS), torch.from_numpy(shortlist.frequent)])

    def __call__(self, src_tokens: Tensor) -> Tensor:
        """(B, T) source tokens to (B, C), as `Few.tokens`: the same for a sentence in any batch
        but for padding at the end."""
        device = src_tokens.device
        if self.linked.device != device:
            self.linked, self.always = self.linked.to(device), self.always.to(device)
        found = self.linked[src_tokens].flatten(1).sort(1).values
        found[:, 1:].masked_fill_(found[:, 1:] == found[:, :-1], PAD)
        found = found.sort(1, descending=True).values.long()
        width = int((found != PAD).sum(1).max())
        return torch.cat([self.always.expand(len(found), -1), found[:, :width]], 1)


class NonAutoregressiveGenerator:
    """Translates batches of fairseq's layout; K hypotheses for each sentence, best first.

    The score of a hypothesis is (log p(tokens) + ``length_weight`` x log p(order)) / tokens, of
    all tokens that were predicted, before repeats are collapsed and the rest is cut; after a search
    over slots it is not divided.

    Args:
        ordering: makes the candidates.
        emission: reads words from their final states.
        pair: source and target language.
        lang_ids: the number of each language.
        length_weight: see above; without effect if the ordering has no probabilities.
        reading: the emission's options.
        align: return for each hypothesis the source token that each of its tokens comes from.
        candidate_tokens: finds the tokens that a sentence may be translated with; ``None`` for all.
    """

    eos = SEP

    def __init__(
        self,
        ordering: Ordering,
        emission: Emission,
        pair: tuple[str, str],
        lang_ids: Mapping[str, int],
        *,
        length_weight: float = 1.0,
        reading: Reading | None = None,
        align: bool = False,
        candidate_tokens: CandidateTokens | None = None,
    ):
        self.ordering, self.emission = ordering, emission
        self.pair, self.lang_ids = pair, lang_ids
        self.length_weight, self.reading = length_weight, reading or Reading()
        self.align, self.candidate_tokens = align, candidate_tokens

    @torch.no_grad()
    def generate(
        self, models: Sequence[Any], sample: Mapping[str, Any], **kwargs: Any
    ) -> list[list[Hypothesis]]:
        """The hypotheses for a batch.

        Args:
            models: one or more; an ensemble averages log-probabilities.
            sample: ``net_input`` with ``src_tokens`` (B, T), framed by ``<s>`` and ``</s>``, and
                ``src_lengths`` (B,); for some orderings also ``order`` and ``tgt_lengths``.

        Returns:
            For each sentence its hypotheses: ``tokens`` (n,), with the ``</s>`` if one was
            written; ``positional_scores`` (n,) and ``score`` in nats; ``alignment``, pairs of
            source and target token counted from 0, or None; ``attention`` None.
        """
        net_input = sample["net_input"]
        lengths = net_input["src_lengths"]
        src = source_side(net_input["src_tokens"], lengths, self.lang_ids[self.pair[0]])
        sources = Sources(
            src=src,
            lengths=lengths,
            middles=[model.encoder.lower(src, self.pair)[-1] for model in models],
            target_lang=self.lang_ids[self.pair[1]],
            limit=min(model.max_positions() for model in models),
            given=net_input,
        )
        candidates = self.ordering(sources)
        return self._hypotheses(sources, *self._write(models, sources, candidates))

    def _write(
        self, models: Sequence[Any], sources: Sources, candidates: Candidates
    ) -> tuple[Written, Tensor]:
        """What the candidates' rows say, and their scores (R,).

        Rows of similar length go through the upper half together, as many at a time as the source
        had slots: candidates cost little padding and no extra memory.
        """
        lengths = candidates.lengths
        per_source = len(lengths) // len(sources.lengths)
        logits = [partial(model.encoder.logits, pair=self.pair) for model in models]
        langs = torch.full_like(lengths, sources.target_lang)
        listed = self.candidate_tokens and self.candidate_tokens(sources.src["tokens"])
        groups, found = [], []
        for group in cut(lengths.cpu().numpy(), Limits(sources.src["tokens"].numel(), None)):
            rows = torch.from_numpy(group).to(lengths.device)
            longest = int(lengths[rows].max())
            order = None if candidates.order is None else candidates.order[rows, :longest]
            placed = self.emission.place(lengths[rows], order, langs[rows])
            if candidates.further is not None:
                further = candidates.further[rows, :longest]
                placed = placed._replace(tgt={**placed.tgt, "further": further})
            own = rows // per_source
            src = {name: value[own] for name, value in sources.src.items()}
            states = [
                model.encoder.upper(
                    middle[own],
                    model.encoder.target_side(src, placed.tgt, placed.order),
                    placed.order,
                    self.pair,
                )[-1]
                for model, middle in zip(models, sources.middles, strict=True)
            ]
            reading = self.reading
            if listed is not None:
                reading = dataclasses.replace(reading, tokens=listed[own])
            written = self.emission.write(states, placed, logits, reading)
            links = placed.order
            if links is None:
                links = torch.arange(states[0].shape[1], device=rows.device).expand(len(rows), -1)
            times = len(written.tokens) // len(rows)  # a search finds several for each row
            links = links.repeat_interleave(times, 0)
            each = torch.arange(times, device=rows.device)
            groups.append((rows[:, None] * times + each).flatten())
            found.append(written._replace(slots=links.gather(1, written.slots)))
        back = torch.cat(groups).argsort()
        width = max(written.tokens.shape[1] for written in found)
        parts = zip(*found, strict=True)
        whole = Written(*(torch.cat([_widened(x, width) for x in part])[back] for part in parts))
        scores = whole.log_probs.sum(1)
        if candidates.log_scores is not None:
            times = len(scores) // len(lengths)
            scores += self.length_weight * candidates.log_scores.repeat_interleave(times)
        return Written(*(part.cpu() for part in whole)), scores.cpu() / whole.sizes.cpu()

    def _hypotheses(
        self, sources: Sources, written: Written, scores: Tensor
    ) -> list[list[Hypothesis]]:
        count = len(written.tokens) // len(sources.lengths)
        # A line with nothing between the frames has nothing to translate, whatever a model says.
        empty = (sources.lengths.cpu() <= 2).repeat_interleave(count)
        kept = written.kept & ~empty[:, None]
        sizes = kept.sum(1).tolist()
        rows = zip(
            written.tokens[kept].split(sizes),
            written.log_probs[kept].split(sizes),
            scores.tolist(),
            self._alignments(sources, written._replace(kept=kept)),
            strict=True,
        )
        hypotheses = [
            {
                "tokens": row_tokens,
                "score": score,
                "attention": None,
                "alignment": alignment,
                "positional_scores": row_scores.clone(),  # fairseq changes it in place
            }
            for row_tokens, row_scores, score, alignment in rows
        ]
        blocks = (hypotheses[start : start + count] for start in range(0, len(hypotheses), count))
        ranked = [sorted(block, key=lambda hypothesis: -hypothesis["score"]) for block in blocks]
        # A search finds fewer where there are fewer.
        return [[one for one in block if one["score"] > _NONE] or block[:1] for block in ranked]

    def _alignments(self, sources: Sources, written: Written) -> list[list[tuple[int, int]] | None]:
        """Links from source to target tokens, without the frames; repeats pass theirs on."""
        if not self.align:
            return [None] * len(written.tokens)
        count = len(written.tokens) // len(sources.lengths)
        last = sources.lengths.cpu().repeat_interleave(count) - 1
        links, word = written.slots, written.real & (written.tokens != SEP)
        word &= (links > 0) & (links < last[:, None])
        pairs = torch.stack([links - 1, written.kept.cumsum(1) - 1], -1)[word]
        return [sorted(set(map(tuple, row.tolist()))) for row in pairs.split(word.sum(1).tolist())]


def _widened(part: Tensor, width: int) -> Tensor:
    """(R, W) with zeros up to ``width``; (R,) as it is."""
    return part if part.dim() == 1 else F.pad(part, (0, width - part.shape[1]))


def words_of(hypothesis: Hypothesis) -> list[int]:
    """Its tokens, without the ``</s>``."""
    return [token for token in hypothesis["tokens"].tolist() if token != SEP]
