"""Spans over kept vectors against loops, and what a probe loses where key-points are dropped."""

import itertools

import numpy as np
import pytest

from fairseq_xling.core.errors import UserError
from fairseq_xling.papers.clcr.probing import sequence_spans
from fairseq_xling.tasks.probing.fit import ProbeOptions, fit_probe, micro_scores
from fairseq_xling.tasks.probing.states import Placed
from tests.sequence_folder import write_folder

SMALL = ProbeOptions("linear", projection=16, dropout=0.0, lr=0.02, epochs=60, patience=60)
WIDTH, KINDS = 8, 4


def placed(lengths, owner, places):
    texts = [np.arange(length + 1) for length in lengths]  # with </s>
    return Placed(texts, np.array(owner), np.array(places))


def test_a_span_is_the_kept_rows_whose_subwords_lie_within_it(tmp_path):
    generator = np.random.default_rng(0)
    lengths = [6, 1, 9, 4, 7]
    spans, vectors = [], []
    for length in lengths:
        cuts = np.unique(generator.integers(0, length + 1, 5))
        blocks = [b for b in itertools.pairwise(cuts) if generator.random() < 0.7]
        moved = generator.permutation(np.array(blocks).reshape(-1, 2))  # reordered
        spans.append(moved)
        vectors.append(generator.normal(size=(len(moved), 3)).astype("float32"))
    folder = write_folder(tmp_path / "x", vectors, spans=spans, lengths=lengths)
    examples = [
        (owner, (first, end))
        for owner, length in enumerate(lengths)
        for first in range(length)
        for end in range(first, length + 1)
    ]
    owner, places = zip(*examples, strict=True)
    found = sequence_spans(folder, placed(lengths, owner, [[place] for place in places]), None)
    several = 0
    for n, (text, (first, end)) in enumerate(examples):
        expected = {
            tuple(vector.tolist())
            for vector, (a, b) in zip(vectors[text], spans[text], strict=True)
            if first <= a and b <= end
        }
        begin, stop = found.places[n, 0]
        rows = found.layers[0][np.arange(begin, stop)]
        assert {tuple(row.tolist()) for row in rows} == expected
        assert bool(found.usable[n]) == bool(expected)
        several += len(expected) > 1
    assert several and not found.usable.all()


def test_an_example_of_two_spans_needs_vectors_of_both(tmp_path):
    folder = write_folder(
        tmp_path / "x", [np.ones((1, 3))], spans=[np.array([[0, 1]])], lengths=[3]
    )
    found = sequence_spans(folder, placed([3], [0, 0], [[[0, 1], [0, 2]], [[0, 1], [2, 3]]]), None)
    assert found.usable.tolist() == [True, False]


def texts_with_kinds(count, seed):
    """Texts of four tokens whose vectors are of one kind each, and their kinds."""
    generator = np.random.default_rng(seed)
    kinds = generator.integers(0, KINDS, (count, 4))
    means = np.eye(KINDS, WIDTH)[kinds] * 3
    return means + 0.3 * generator.normal(size=means.shape), kinds


@pytest.mark.parametrize("dropped", [0.0, 0.3])
def test_recall_falls_by_the_share_of_spans_that_are_dropped(tmp_path, dropped):
    generator = np.random.default_rng(1)
    sets = []
    for name, count in (("train", 80), ("test", 100)):
        vectors, kinds = texts_with_kinds(count, seed=len(name))
        kept = np.ones(kinds.shape, dtype=bool)
        if name == "test":
            chosen = generator.permutation(kinds.size)[: round(dropped * kinds.size)]
            kept.flat[chosen] = False
        places = np.stack([np.arange(4), np.arange(4) + 1], axis=1)
        folder = write_folder(
            tmp_path / name,
            [vector[keep] for vector, keep in zip(vectors, kept, strict=True)],
            spans=[places[keep] for keep in kept],
            lengths=[4] * count,
        )
        owner = np.repeat(np.arange(count), 4)
        where = placed([4] * count, owner, np.tile(places, (count, 1))[:, None])
        sets.append(sequence_spans(folder, where, [[f"k{kind}"] for kind in kinds.ravel()]))
    train, test = sets
    predicted = fit_probe(train, train, SMALL).predict(test)
    scores = micro_scores(predicted, test.labels)
    assert scores.precision == 1.0
    assert scores.recall == pytest.approx(1 - dropped)


@pytest.mark.parametrize(
    ("lengths", "spans", "message"),
    [
        ([2], [[0, 1], [1, 2]], "must have a sentence for each of 1 texts, got 2"),
        ([2, 3], [[0, 1], [1, 2]], "sentence 2 must have 3 subwords, got 1; it is another"),
        ([2, 1], [[0, 2], [1, 2]], r"spans.npy: rows of a sentence must not overlap"),
    ],
)
def test_folders_of_other_texts_and_rows_that_overlap_are_refused(
    tmp_path, lengths, spans, message
):
    vectors, spans = [np.ones((2, 3)), np.ones((1, 3))], [np.array(spans), np.array([[0, 1]])]
    folder = write_folder(tmp_path / "x", vectors, spans=spans, lengths=[2, 1])
    with pytest.raises(UserError, match=message):
        sequence_spans(folder, placed(lengths, [0], [[[0, 1]]]), None)


def test_a_rare_text_that_is_cut_otherwise_has_no_vectors(tmp_path):
    folder = write_folder(tmp_path / "x", [np.ones((1, 3))] * 60)
    lengths = [1] * 59 + [2]
    found = sequence_spans(folder, placed(lengths, [0, 59], [[[0, 1]], [[0, 1]]]), None)
    assert found.usable.tolist() == [True, False]
