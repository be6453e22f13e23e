"""The CTC emission against torch's loss and all alignments, one at a time."""

import itertools

import pytest
import torch
import torch.nn.functional as F

from fairseq_xling.data.folder import NULL, SPECIALS
from fairseq_xling.models.emissions import Placed, emissions
from fairseq_xling.models.emissions.ctc import collapsed
from fairseq_xling.models.emissions.repeated import label_log_probs
from fairseq_xling.models.encoder import EncoderShape

A, B, C = SPECIALS, SPECIALS + 1, SPECIALS + 2
VOCAB = SPECIALS + 3


def ctc(upsample=2):
    shape = EncoderShape(2, VOCAB, 8, 1, 16, emission="ctc", upsample=upsample)
    return emissions["ctc"](shape)


def losses(states, words, lengths):
    """With the states as logits, as the emission has it."""
    sizes = torch.tensor([len(row) for row in words])
    padded = torch.zeros(len(words), max(1, int(sizes.max())), dtype=torch.long)
    for row, own in zip(padded, words, strict=True):
        row[: len(own)] = torch.tensor(own, dtype=torch.long)
    placed = Placed({}, None, torch.tensor(lengths))
    return ctc().loss(states, placed, padded, sizes, lambda x: x), padded, sizes


WORDS = [[A, B], [A, A], [A], [], [C, C, C], [A, B, C]]


def test_loss_and_gradient_are_torchs():
    generator = torch.Generator().manual_seed(2)
    states = torch.randn(6, 9, VOCAB, generator=generator)
    lengths = torch.tensor([9, 7, 3, 9, 8, 6])
    own, theirs = states.clone().requires_grad_(), states.clone().requires_grad_()
    nll, words, sizes = losses(own, WORDS, lengths.tolist())
    expected = F.ctc_loss(
        theirs.log_softmax(-1).transpose(0, 1), words, lengths, sizes, NULL, reduction="none"
    )
    assert torch.allclose(nll, expected, atol=1e-5)
    weights = torch.arange(1.0, 7.0)
    (nll * weights).sum().backward()
    (expected * weights).sum().backward()
    assert torch.allclose(own.grad, theirs.grad, atol=1e-5)


def test_what_does_not_fit_costs_nothing_and_moves_nothing():
    states = torch.randn(2, 4, VOCAB, requires_grad=True)
    nll, words, sizes = losses(states, [[A, A, A], [A, B, A]], [4, 4])
    placed = Placed({}, None, torch.tensor([4, 4]))
    assert ctc().fits(placed, words, sizes).tolist() == [False, True]
    assert nll[0].item() == 0 and nll[1].item() > 0
    nll.sum().backward()
    assert torch.isfinite(states.grad).all() and states.grad[0].abs().max() == 0
    best = ctc().best(states.detach(), placed, words, sizes, lambda x: x)
    assert best.path[0].tolist() == [-1] * 4 and best.nll[0].item() == 0


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_log_probabilities_of_labels_are_those_of_the_softmax(dtype):
    logits = (torch.randn(300, 5000) * 3).to(dtype)
    labels = torch.randint(5000, (300, 4))
    labels[:, 1] = labels[:, 0]
    own, theirs = logits.clone().requires_grad_(), logits.float().requires_grad_()
    found = label_log_probs(own, labels)
    expected = theirs.log_softmax(-1).gather(1, labels)
    assert torch.allclose(found, expected, atol=1e-4)
    weights = torch.randn(300, 4)
    (found * weights).sum().backward()
    (expected * weights).sum().backward()
    assert own.grad.dtype == dtype
    error = 1e-5 if dtype == torch.float32 else 2e-2
    assert torch.allclose(own.grad.float(), theirs.grad, atol=error)


def test_a_path_is_read_as_a_slow_reader_reads_it():
    for path in itertools.product([NULL, A, B], repeat=5):
        tokens = torch.tensor([path])
        expected = [token for token, _ in itertools.groupby(path) if token != NULL]
        assert tokens[collapsed(tokens)].tolist() == expected


def test_the_best_alignment_is_the_likeliest_of_all():
    generator = torch.Generator().manual_seed(3)
    states = torch.randn(len(WORDS), 5, VOCAB, generator=generator)
    lengths = [5, 4, 1, 3, 5, 3]
    nll, words, sizes = losses(states, WORDS, lengths)
    placed = Placed({}, None, torch.tensor(lengths))
    best = ctc().best(states, placed, words, sizes, lambda x: x)
    assert torch.allclose(best.nll, nll)
    assert torch.equal(best.guess, states.argmax(-1))
    rows = zip(states.log_softmax(-1), WORDS, lengths, best.path.tolist(), strict=True)
    for log_probs, said, slots, path in rows:
        assert path[slots:] == [-1] * (5 - slots)
        every = [
            (sum(log_probs[slot, token].item() for slot, token in enumerate(way)), list(way))
            for way in itertools.product([NULL, A, B, C], repeat=slots)
            if [token for token, _ in itertools.groupby(way) if token != NULL] == said
        ]
        assert path[:slots] == max(every)[1]
