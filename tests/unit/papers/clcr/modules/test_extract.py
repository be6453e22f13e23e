"""Key-point classifiers: noise, thresholds, and the table of how well they do."""

import math
import sys
import tempfile

import pytest
import torch

from fairseq_xling.core.errors import UserError
from fairseq_xling.papers.clcr.modules.extract import (
    MOST,
    Extractor,
    confident_weights,
    confusion,
    doubts,
    estimated_rates,
    measured,
    parse_rates,
    shares,
)
from tests.end_to_end.engine import start

DIM = 10


def planted(count, seed=0):
    """States of tokens, and whether a plane parts them as pivots."""
    generator = torch.Generator().manual_seed(seed)
    states = torch.randn(count, DIM, generator=generator)
    return states, states[:, 0] + 0.5 * states[:, 1] > 0.3


def flipped(labels, rate, seed=1):
    generator = torch.Generator().manual_seed(seed)
    return labels ^ (torch.rand(len(labels), generator=generator) < rate)


def fitted(states, labels, steps=300, **options):
    torch.manual_seed(0)
    extractor = Extractor(DIM, **options)
    optimizer = torch.optim.Adam(extractor.parameters(), lr=0.02)
    for _ in range(steps):
        optimizer.zero_grad()
        (extractor.loss(states, labels) / len(states)).backward()
        optimizer.step()
        extractor.end_update()
    return extractor.eval()


def accuracy(extractor, delta):
    states, labels = planted(2000, seed=5)
    with torch.no_grad():
        return float(((extractor.probability(states) > delta) == labels).float().mean())


def test_planted_pivots_are_recovered():
    assert accuracy(fitted(*planted(600)), 0.5) > 0.97


@pytest.mark.parametrize("rates", [None, (0.2, 0.2)])
def test_confident_labels_do_better_than_plain_ones_where_a_fifth_is_flipped(
    rates, record_property
):
    states, labels = planted(600)
    noisy = flipped(labels, 0.2)
    plain = fitted(states, noisy)
    confident = fitted(states, noisy, confident=True, rates=rates)
    for delta in (0.2, 0.5):
        record_property(f"plain {delta}", accuracy(plain, delta))
        record_property(f"confident {delta}", accuracy(confident, delta))
    assert accuracy(confident, 0.2) > accuracy(plain, 0.2) + 0.1
    assert accuracy(confident, 0.5) > accuracy(plain, 0.5) - 0.01


def test_weights_undo_known_noise_in_expectation():
    """Sum over noisy labels of P(y|x) w(x, y) loss(y) is the loss under the clean labels."""
    clean, rates = torch.linspace(0.0, 1.0, 21), torch.tensor([0.3, 0.1])
    noisy = clean * (1 - rates[0]) + (1 - clean) * rates[1]
    yes = confident_weights(torch.ones(21, dtype=torch.bool), noisy, rates)
    no = confident_weights(torch.zeros(21, dtype=torch.bool), noisy, rates)
    torch.testing.assert_close(noisy * yes, clean)
    torch.testing.assert_close((1 - noisy) * no, 1 - clean)


def test_rates_are_read_off_the_least_probabilities_or_the_command_line():
    noisy = torch.cat([torch.full((50,), 0.8), torch.full((50,), 0.1)])
    torch.testing.assert_close(estimated_rates(noisy), torch.tensor([0.2, 0.1]))
    assert float(estimated_rates(torch.full((9,), 0.5)).max()) == pytest.approx(MOST)
    assert parse_rates("") is None
    for text in ("0.2", "a,b", "0.2,0.6"):
        with pytest.raises(UserError, match="`--flip-rates` must be two numbers"):
            parse_rates(text)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_rates_are_found_in_half_precision_too(dtype):
    states = torch.zeros(400, DIM, dtype=dtype)  # of which nothing can be told
    labels = torch.arange(400) < 100
    extractor = Extractor(DIM, confident=True).to(dtype)
    with torch.no_grad():
        extractor.plain.layers[0].bias.fill_(-1.0986)  # a quarter are pivots
        for _ in range(600):
            extractor.loss(states, labels)
            extractor.end_update()
    assert extractor.rates.dtype == torch.float32
    torch.testing.assert_close(extractor.rates, torch.tensor([MOST, 0.25]), atol=2e-3, rtol=0)


BATCHES = ((2.0, -1.0, None), (1.0, None, None))  # of two workers; the log-odds of their tokens


# A process of its own: one forked from a test, which has threads, may wait for ever.
ONE_WORKER = f"""
import sys
import torch
from fairseq_xling.papers.clcr.modules.extract import Extractor

rank, folder = int(sys.argv[1]), sys.argv[2]
torch.distributed.init_process_group(
    "gloo", init_method=f"file://{{folder}}/store", rank=rank, world_size=2
)
extractor = Extractor(1, confident=True)
with torch.no_grad():
    extractor.plain.layers[0].weight.fill_(1.0)
    extractor.plain.layers[0].bias.zero_()
    for odds in {BATCHES}[rank]:
        states = torch.zeros(0, 1) if odds is None else torch.full((4, 1), odds)
        extractor.loss(states, torch.ones(len(states), dtype=torch.bool))
        extractor.end_update()
torch.save(extractor.rates, f"{{folder}}/{{rank}}.pt")
torch.distributed.destroy_process_group()
"""


def test_workers_find_the_same_rates_from_all_their_batches(tmp_path):
    script = tmp_path / "worker.py"
    script.write_text(ONE_WORKER)
    with tempfile.TemporaryFile() as output:
        workers = [
            start([sys.executable, script, rank, tmp_path], output, output) for rank in (0, 1)
        ]
        assert [worker.wait(timeout=120) for worker in workers] == [0, 0]
    expected = torch.tensor([MOST, MOST])
    for odds in ((2.0, 1.0), (-1.0,)):  # of each update
        found = [estimated_rates(torch.full((4,), one).sigmoid()) for one in odds]
        expected = expected + 0.01 * (sum(found) / len(found) - expected)
    for rank in (0, 1):
        torch.testing.assert_close(torch.load(tmp_path / f"{rank}.pt"), expected)


def test_the_table_is_that_of_a_confusion_matrix_counted_by_hand():
    kept = torch.tensor([1, 1, 1, 0, 0, 0, 0, 1, 1, 0], dtype=torch.bool)
    gold = torch.tensor([1, 1, 0, 1, 0, 0, 0, 1, 1, 0], dtype=torch.bool)
    counts = {name: int(count) for name, count in confusion(kept, gold).items()}
    assert counts == {"hit": 4, "false": 1, "missed": 1, "right": 4}
    assert shares(counts) == {"accuracy": 0.8, "precision": 0.8, "recall": 0.8, "majority": 0.5}
    found = measured(counts, {"entropy": 4.0, "ambiguous": 3})
    assert list(found.values()) == [0.8, 0.8, 0.8, 0.5, 5, 10, 0.4, 0.3]


def test_ambiguity_is_the_entropy_and_the_middling_words_counted_by_hand():
    p = [0.5, 0.25, 0.2, 0.8, 0.81, 1.0, 0.0]
    found = doubts(torch.tensor(p, dtype=torch.float64))
    bits = [-x * math.log2(x) - (1 - x) * math.log2(1 - x) if 0 < x < 1 else 0.0 for x in p]
    assert bits[:2] == [1.0, pytest.approx(0.811278)]
    assert float(found["entropy"]) == pytest.approx(sum(bits))
    assert int(found["ambiguous"]) == 2  # the ends do not belong to it
