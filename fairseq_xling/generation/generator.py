"""The non-autoregressive generator behind `fairseq-generate --task cdlm` and fairseq-interactive.

TreLM (Li et al., 2021), Section 5.3: the lower half encodes the sentence, an ordering determines
the translation's length and the source position of each of its positions, and the TRILayer and the
upper half predict all of it at once. Each position outputs its most probable token; then
consecutive repeats are collapsed and everything after the first ``</s>`` is cut.

B sentences, K candidates for each, R = B K rows, T source length, U target length, D width.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import torch
from torch import Tensor

from fairseq_xling.data.batch import source_side, target_side
from fairseq_xling.data.folder import PAD, SEP
from fairseq_xling.data.plan import Limits, cut
from fairseq_xling.generation.orderings import Candidates, Ordering, Sources
from fairseq_xling.generation.tokens import best_tokens, ended, kept

Hypothesis = dict[str, Any]


class NonAutoregressiveGenerator:
    """Translates batches of fairseq's layout; K hypotheses for each sentence, best first.

    The score of a hypothesis is (log p(tokens) + ``length_weight`` x log p(order)) / tokens, of
    all tokens that were predicted, before repeats are collapsed and the rest is cut.

    Args:
        ordering: makes the candidates.
        pair: source and target language.
        lang_ids: the number of each language.
        length_weight: see above; without effect if the ordering has no probabilities.
        keep_repeats: do not collapse consecutive repeats.
        unk_penalty: as fairseq's `--unkpen`.
        align: return for each hypothesis the source token that each of its tokens comes from.
    """

    eos = SEP

    def __init__(
        self,
        ordering: Ordering,
        pair: tuple[str, str],
        lang_ids: Mapping[str, int],
        *,
        length_weight: float = 1.0,
        keep_repeats: bool = False,
        unk_penalty: float = 0.0,
        align: bool = False,
    ):
        self.ordering, self.pair, self.lang_ids = ordering, pair, lang_ids
        self.length_weight, self.keep_repeats = length_weight, keep_repeats
        self.unk_penalty, self.align = unk_penalty, align

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
        tokens, log_probs = self._write(models, sources, candidates)
        return self._hypotheses(sources, candidates, tokens, log_probs)

    def _write(
        self, models: Sequence[Any], sources: Sources, candidates: Candidates
    ) -> tuple[Tensor, Tensor]:
        """The best token at each position but the first, and its log-probability: (R, U - 1) each.

        Rows of similar length go through the upper half together, as many at a time as the source
        had slots: candidates cost little padding and no extra memory.
        """
        lengths = candidates.lengths
        on_cpu = lengths.cpu()
        width = int(on_cpu.max())
        per_source = len(lengths) // len(sources.lengths)
        tokens = lengths.new_full((len(lengths), width - 1), PAD)
        log_probs = torch.zeros(tokens.shape, device=lengths.device)
        heads = [partial(model.encoder.logits, pair=self.pair) for model in models]
        groups = cut(on_cpu.numpy(), Limits(sources.src["tokens"].numel(), None))
        for group in groups:
            rows = torch.from_numpy(group).to(lengths.device)
            tgt = target_side(lengths[rows], sources.target_lang)
            longest = tgt["positions"].shape[1]
            order = candidates.order
            if order is not None:
                order = order[rows, :longest]
            written = torch.arange(1, longest, device=rows.device) < lengths[rows, None]
            own = rows // per_source
            src = {name: value[own] for name, value in sources.src.items()}
            states = [
                model.encoder.upper(
                    middle[own], model.encoder.target_side(src, tgt, order), order, self.pair
                )[-1]
                for model, middle in zip(models, sources.middles, strict=True)
            ]
            found = best_tokens(
                [state[:, 1:][written] for state in states], heads, self.unk_penalty
            )
            where, place = written.nonzero(as_tuple=True)
            tokens[rows[where], place] = found[0]
            log_probs[rows[where], place] = found[1]
        return tokens, log_probs

    def _hypotheses(
        self, sources: Sources, candidates: Candidates, tokens: Tensor, log_probs: Tensor
    ) -> list[list[Hypothesis]]:
        lengths = candidates.lengths
        scores = log_probs.sum(1)
        if candidates.log_scores is not None:
            scores = scores + self.length_weight * candidates.log_scores
        scores = scores / (lengths - 1)
        tokens, log_probs = tokens.cpu(), log_probs.cpu()
        real = torch.arange(tokens.shape[1]) < (lengths.cpu() - 1)[:, None]
        keep = kept(tokens, real, self.keep_repeats)
        sizes = keep.sum(1).tolist()
        rows = zip(
            tokens[keep].split(sizes),
            log_probs[keep].split(sizes),
            scores.tolist(),
            self._alignments(sources, candidates, tokens, real, keep),
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
        count = len(hypotheses) // len(sources.lengths)
        return [
            sorted(hypotheses[start : start + count], key=lambda hypothesis: -hypothesis["score"])
            for start in range(0, len(hypotheses), count)
        ]

    def _alignments(
        self,
        sources: Sources,
        candidates: Candidates,
        tokens: Tensor,
        real: Tensor,
        keep: Tensor,
    ) -> list[list[tuple[int, int]] | None]:
        """Links from source to target tokens, without the frames; repeats pass theirs on."""
        if not self.align:
            return [None] * len(tokens)
        order = candidates.order
        if order is None:
            order = torch.arange(tokens.shape[1] + 1).expand(len(tokens), -1)
        order = order.cpu()[:, 1 : tokens.shape[1] + 1]
        last = sources.lengths.cpu().repeat_interleave(len(tokens) // len(sources.lengths)) - 1
        word = real & ~ended(tokens) & (tokens != SEP) & (order > 0) & (order < last[:, None])
        pairs = torch.stack([order - 1, keep.cumsum(1) - 1], -1)[word]
        return [sorted(set(map(tuple, row.tolist()))) for row in pairs.split(word.sum(1).tolist())]
