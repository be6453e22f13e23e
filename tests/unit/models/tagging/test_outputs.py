"""The CRF against the enumeration of all K^n tag sequences."""

import itertools

import pytest
import torch

from fairseq_xling.models.tagging.outputs import (
    Transitions,
    best_path,
    log_partition,
    outputs,
    path_score,
)


def drawn(seed, batch=3, words=5, tags=4):
    generator = torch.Generator().manual_seed(seed)

    def normal(*shape):
        return torch.randn(*shape, generator=generator, dtype=torch.float64)

    lengths = torch.randint(1, words + 1, (batch,), generator=generator)
    lengths[0] = words
    parts = Transitions(normal(tags), normal(tags, tags), normal(tags))
    return normal(batch, words, tags), lengths, parts


def score(row, tags, parts):
    """score(x, y) of one sentence, term by term."""
    total = parts.start[tags[0]] + parts.stop[tags[-1]]
    total += sum(row[i, tag] for i, tag in enumerate(tags))
    return total + sum(parts.moves[a, b] for a, b in itertools.pairwise(tags))


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("tags", [2, 4])
def test_partition_score_and_best_path_equal_enumeration(seed, tags):
    emissions, lengths, parts = drawn(seed, tags=tags)
    total, best = log_partition(emissions, lengths, parts), best_path(emissions, lengths, parts)
    for row, length, z, path in zip(emissions, lengths.tolist(), total, best, strict=True):
        scores = {y: score(row, y, parts) for y in itertools.product(range(tags), repeat=length)}
        assert torch.isclose(z, torch.logsumexp(torch.stack(list(scores.values())), 0))
        assert tuple(path[:length].tolist()) == max(scores, key=scores.__getitem__)
        assert path[length:].eq(0).all()
        y = list(scores)[seed % len(scores)]
        padded = torch.zeros(1, len(row), dtype=torch.long)
        padded[0, :length] = torch.tensor(y)
        found = path_score(row[None], torch.tensor([length]), padded, parts)
        assert torch.isclose(found[0], scores[y])


@pytest.mark.parametrize("name", ["crf", "softmax"])
def test_a_sentence_alone_equals_its_padded_row(name):
    emissions, lengths, _ = drawn(3, batch=5, words=7)
    output = outputs[name](4)
    for parameter in output.parameters():
        torch.nn.init.normal_(parameter)
    tags = torch.randint(4, emissions.shape[:2])
    junk = emissions.masked_fill((torch.arange(7) >= lengths[:, None])[..., None], 1e4)
    losses, paths = output.loss(junk, lengths, tags), output.decode(junk, lengths)
    for row, length in enumerate(lengths.tolist()):
        one = emissions[row : row + 1, :length], lengths[row : row + 1]
        assert torch.allclose(output.loss(*one, tags[row : row + 1, :length])[0], losses[row])
        assert torch.equal(output.decode(*one)[0], paths[row, :length])


def test_without_transitions_the_crf_is_a_softmax_for_each_word():
    emissions, lengths, _ = drawn(1)
    tags = torch.randint(4, emissions.shape[:2])
    losses = [outputs[name](4).loss(emissions, lengths, tags) for name in ("crf", "softmax")]
    assert torch.allclose(*losses)


def test_the_loss_is_at_least_zero_and_its_gradient_is_finite():
    emissions, lengths, _ = drawn(2)
    emissions = (50 * emissions).requires_grad_()
    losses = outputs["crf"](4).loss(emissions, lengths, torch.randint(4, emissions.shape[:2]))
    losses.sum().backward()
    assert (losses >= 0).all() and emissions.grad.isfinite().all()
