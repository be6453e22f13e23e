import random

import numpy as np
import torch

from fairseq_xling.data.plan import BatchSpec, Limits, in_order


def spec(feed, indices, counters=None):
    feeds = np.broadcast_to(np.array(feed), (len(indices),))
    return BatchSpec(feeds, np.array(indices), np.array(counters or indices))


def tokens(batch, side="src"):
    return batch["net_input"][side]["tokens"].tolist()


def test_a_batch_holds_the_rows_of_its_specification(make_dataset):
    dataset = make_dataset("mlm")
    batch = dataset[spec(1, [3, 0, 7])]
    source = dataset.feeds[1].source
    expected = [source[i].source.tokens.tolist() for i in (3, 0, 7)]
    width = max(map(len, expected))
    assert tokens(batch, "tgt") == [row + [1] * (width - len(row)) for row in expected]
    assert batch["id"].tolist() == [3, 0, 7]
    assert batch["net_input"]["pair"] == ("de", "de")
    assert set(batch["net_input"]["tgt"]["langs"][:, 0].tolist()) == {1}


def test_a_row_looks_the_same_in_any_batch(make_dataset):
    dataset = make_dataset("mlm")
    together = tokens(dataset[spec(0, [5, 6, 7, 8])])
    for place, i in enumerate((5, 6, 7, 8)):
        alone = tokens(dataset[spec(0, [i])])[0]
        assert together[place][: len(alone)] == alone


def test_another_counter_or_seed_hides_other_words_of_the_same_row(make_dataset):
    dataset, other = make_dataset("mlm", seed=1), make_dataset("mlm", seed=2)
    rows = list(range(60))
    first = tokens(dataset[spec(0, rows)])
    later = tokens(dataset[spec(0, rows, [n + 1000 for n in rows])])
    reseeded = tokens(other[spec(0, rows)])
    for changed in (later, reseeded):
        differing = sum(a != b for a, b in zip(first, changed, strict=True))
        assert differing > 15  # most sentences are too short to have two different masks
    assert tokens(dataset[spec(0, rows)]) == first


def test_the_global_generators_neither_matter_nor_move(make_dataset):
    dataset = make_dataset("mlm")
    results = []
    for seed in (0, 1):
        random.seed(seed)
        np.random.seed(seed)
        torch.manual_seed(seed)
        before = random.getstate(), np.random.get_state()[1].tolist(), torch.get_rng_state()
        results.append(tokens(dataset[spec(0, list(range(30)))]))
        assert random.getstate() == before[0]
        assert np.random.get_state()[1].tolist() == before[1]
        assert torch.equal(torch.get_rng_state(), before[2])
    assert results[0] == results[1]


def test_rows_of_several_languages_or_objectives_make_one_batch_without_a_pair(make_dataset):
    dataset = make_dataset("mlm", "tlm")
    languages = dataset[spec([0, 1], [2, 2])]
    assert "pair" not in languages["net_input"] and languages["objective"].tolist() == [0, 0]
    mixed = dataset[spec([0, 2], [2, 2])]
    assert "pair" not in mixed["net_input"] and mixed["objective"].tolist() == [0, 1]
    assert "pair" not in dataset[spec(2, [0, 1])]["net_input"]  # TLM: two languages in each row


def test_transforms_see_the_rows_first_and_in_order(make_dataset):
    seen = []

    def bump(rows, rng):
        seen.append(rng.random())
        return [row.with_source(np.where(row.source.tokens > 5, 6, 2)) for row in rows]

    def append(rows, rng):
        seen.append(rng.random())
        assert all(set(row.source.tokens.tolist()) <= {2, 6} for row in rows)
        return [row.with_source(np.append(row.source.tokens, 7)) for row in rows]

    dataset = make_dataset("mlm", transforms=[bump, append])
    targets = tokens(dataset[spec(0, [4, 5])], "tgt")
    assert all(7 in row for row in targets)
    assert seen[0] != seen[1]  # each has randomness of its own
    dataset[spec(0, [4, 5])]
    assert seen[2:] == seen[:2]  # and the same batch always the same
    dataset[spec(0, [4, 5], [94, 95])]
    assert seen[4] != seen[0]


def test_a_place_without_a_batch_stays_empty(make_dataset):
    assert make_dataset("mlm")[None] is None


def test_the_real_padding_of_planned_batches_is_what_the_lengths_promised(make_dataset):
    dataset = make_dataset("mlm")
    assert len(dataset) == 120
    for one in in_order(dataset.feeds, Limits(100, None)):
        batch = dataset[one]
        width = batch["net_input"]["src"]["tokens"].shape[1]
        source = dataset.feeds[one.feeds[0]].source
        assert width == source.lengths(one.indices).max()
        assert batch["ntokens"] == source.lengths(one.indices).sum()


def test_examples_are_never_longer_than_their_objective_says(make_dataset):
    dataset = make_dataset("mlm", "tlm", max_positions=8)
    for feed in dataset.feeds:
        index = np.arange(len(feed.source))
        bounds = feed.objective.max_length(feed.source.lengths(index))
        for i, bound in zip(index, bounds, strict=True):
            example = feed.objective(feed.source[i], np.random.default_rng(0))
            assert len(example.src["tokens"]) <= bound
