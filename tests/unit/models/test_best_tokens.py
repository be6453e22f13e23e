"""The best token of each position, and what a translation keeps of what was written."""

import pytest
import torch

from fairseq_xling.data.folder import CLS, MASK, NULL, PAD, SEP, SPECIALS, UNK
from fairseq_xling.models import best_tokens as module
from fairseq_xling.models.best_tokens import Few, best_tokens
from fairseq_xling.models.emissions.aligned import kept
from fairseq_xling.models.heads import LinearHead

A, B, C = 7, 8, 9
BANNED = [CLS, PAD, MASK, NULL]
WRITTEN = {SEP: 0.0, UNK: 0.0}


def slow_best(logits: torch.Tensor, unk_penalty: float = 0.0) -> tuple[list[int], list[float]]:
    """One position and one symbol at a time."""
    tokens, scores = [], []
    for row in logits.double():
        row = row.clone()
        row[UNK] -= unk_penalty
        allowed = [i for i in range(len(row)) if i not in BANNED]
        total = torch.logsumexp(row[allowed], 0)
        best = max(allowed, key=lambda i: row[i].item())
        tokens.append(best)
        scores.append((row[best] - total).item())
    return tokens, scores


def identity(states: torch.Tensor) -> torch.Tensor:
    return states.clone()  # the head's own tensor, which may be written to


@pytest.mark.parametrize("size", [10, 63, 64, 65, 128, 200])
@pytest.mark.parametrize("count", [1, 3, 256, 257, 600])
def test_the_best_token_and_its_log_probability_are_those_of_a_slow_search(size, count):
    logits = torch.randn(count, size, generator=torch.Generator().manual_seed(size + count)) * 4
    tokens, scores = best_tokens([logits], [identity], WRITTEN)
    expected_tokens, expected_scores = slow_best(logits)
    assert tokens.tolist() == expected_tokens
    assert scores.tolist() == pytest.approx(expected_scores, abs=1e-5)


def test_without_scores_the_tokens_are_the_same():
    logits = torch.randn(300, 70, generator=torch.Generator().manual_seed(1)).bfloat16()
    tokens, _ = best_tokens([logits], [identity], WRITTEN)
    found, scores = best_tokens([logits], [identity], WRITTEN, scored=False)
    assert torch.equal(found, tokens)
    assert scores.dtype == torch.float32 and bool(scores.isnan().all())


def test_the_penalty_on_the_unknown_word_is_taken_from_its_logit():
    logits = torch.zeros(1, 20)
    logits[0, UNK], logits[0, A] = 5.0, 4.0
    for penalty, best in ((0.5, UNK), (1.5, A)):
        tokens, scores = best_tokens([logits], [identity], {SEP: 0.0, UNK: penalty})
        assert (tokens.tolist(), scores.tolist()) == (
            [best],
            pytest.approx(slow_best(logits, penalty)[1], abs=1e-6),
        )


def test_an_ensemble_averages_log_probabilities():
    generator = torch.Generator().manual_seed(0)
    both = [torch.randn(300, 90, generator=generator) * 3 for _ in range(2)]
    tokens, scores = best_tokens(both, [identity, identity], WRITTEN)
    logs = []
    for logits in both:
        logits = logits.clone()
        logits[:, BANNED] = -torch.inf
        logs.append(logits.log_softmax(-1))
    mean = ((logs[0] + logs[1]) / 2)[:, SEP:]
    assert tokens.tolist() == (mean.argmax(-1) + SEP).tolist()
    assert torch.allclose(scores, mean.log_softmax(-1).max(-1).values, atol=1e-5)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_scores_in_half_precision_are_full_precision_numbers(dtype):
    logits = (torch.randn(40, 130, generator=torch.Generator().manual_seed(3)) * 4).to(dtype)
    tokens, scores = best_tokens([logits], [identity], WRITTEN)
    expected_tokens, expected_scores = slow_best(logits)
    values = logits[torch.arange(40), tokens]  # two equal logits are both the best
    assert values.tolist() == logits[torch.arange(40), torch.tensor(expected_tokens)].tolist()
    assert scores.dtype == torch.float32
    assert scores.tolist() == pytest.approx(expected_scores, rel=0.01, abs=0.01)


@pytest.mark.parametrize("cached", [1, 2000, 1 << 21])  # rows one by one, a few, all
def test_of_a_shortlist_the_best_token_is_that_of_a_slow_search(monkeypatch, cached):
    monkeypatch.setattr(module, "_CACHED", cached)
    generator = torch.Generator().manual_seed(4)
    vocabulary, rows = 40, 9
    head, table = LinearHead(16, vocabulary), torch.randn(vocabulary, 16, generator=generator)
    head.bias.data.normal_(generator=generator)
    lists = [torch.randperm(vocabulary - SPECIALS, generator=generator)[:12] for _ in range(rows)]
    tokens = torch.stack(lists) + SPECIALS
    for row in range(rows):
        tokens[row, 12 - row :] = PAD  # their lengths differ
    tokens = torch.cat([torch.arange(SPECIALS).expand(rows, -1), tokens], 1)
    lengths = torch.randint(1, 8, (rows,), generator=generator)
    inside = torch.arange(7) < lengths[:, None]
    states = torch.randn(int(inside.sum()), 16, generator=generator)

    def project(x, **given):
        return head(x, table, **given)

    found = best_tokens([states], [project], WRITTEN, Few(tokens, inside))
    logits = project(states)
    for place, row in enumerate(inside.nonzero()[:, 0].tolist()):
        others = [i for i in range(vocabulary) if i not in tokens[row]]
        logits[place, others] = -torch.inf
    expected_tokens, expected_scores = slow_best(logits)
    assert found[0].tolist() == expected_tokens
    assert found[1].tolist() == pytest.approx(expected_scores, abs=1e-5)


def test_no_positions_give_no_tokens():
    tokens, scores = best_tokens([torch.zeros(0, 20)], [identity], WRITTEN)
    assert (tokens.shape, scores.shape, tokens.dtype) == ((0,), (0,), torch.long)


def test_padding_is_kept_out():
    tokens = torch.tensor([[A, B, PAD, PAD], [A, B, C, SEP]])
    real = tokens != PAD
    assert kept(tokens, real).sum(1).tolist() == [2, 4]


@pytest.mark.parametrize("keep_repeats", [False, True])
def test_what_is_kept_is_what_a_slow_reader_keeps(keep_repeats):
    generator = torch.Generator().manual_seed(1)
    tokens = torch.randint(SEP, SEP + 4, (200, 9), generator=generator)
    keep = kept(tokens, torch.ones_like(tokens, dtype=torch.bool), keep_repeats)
    for row, mask in zip(tokens, keep, strict=True):
        expected = []
        for token in row.tolist():
            if keep_repeats or not expected or token != expected[-1]:
                expected.append(token)
            if token == SEP:
                break
        assert row[mask].tolist() == expected
