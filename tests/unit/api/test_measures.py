"""Measures on numpy arrays: against slow versions of themselves, and on bad arguments."""

import numpy as np
import pytest
import torch
from sklearn.neighbors import NearestNeighbors

import fairseq_xling as xling
from fairseq_xling.core.errors import UserError

RANDOM = np.random.default_rng(3)
X = RANDOM.normal(size=(30, 5))
Y = X @ RANDOM.normal(size=(5, 5)) + 0.8 * RANDOM.normal(size=(30, 5))


def cosines(x, y):
    return (x / np.linalg.norm(x, axis=1)[:, None]) @ (y / np.linalg.norm(y, axis=1)[:, None]).T


def csls(x, y, k):
    found = cosines(x, y)
    r_t = np.sort(found, axis=1)[:, -k:].mean(1)
    r_s = np.sort(found, axis=0)[-k:].mean(0)
    return 2 * found - r_t[:, None] - r_s


def test_cka_is_that_of_the_centred_products():
    x, y = X - X.mean(0), Y - Y.mean(0)
    norm = np.linalg.norm
    expected = norm(y.T @ x) ** 2 / (norm(x.T @ x) * norm(y.T @ y))
    assert xling.measures.cka(X, Y) == pytest.approx(expected)


@pytest.mark.parametrize("way", ["cosine", "csls"])
def test_neighbours_are_the_best_of_all_scores(way):
    scores = cosines(X, Y[:20]) if way == "cosine" else csls(X, Y[:20], 4)
    found = xling.measures.neighbours(X, Y[:20], top=3, way=way, k=4)
    assert np.array_equal(found.index, np.argsort(-scores, axis=1)[:, :3])
    if way == "cosine":
        assert np.allclose(found.score, -np.sort(-scores, axis=1)[:, :3])


@pytest.mark.parametrize("way", ["cosine", "csls"])
def test_sentence_and_word_retrieval_count_the_ranks_of_all_scores(way):
    scores = cosines(X, Y) if way == "cosine" else csls(X, Y, 10)
    ranks = (scores >= scores.diagonal()[:, None]).sum(1)
    assert len(set(ranks.tolist())) > 1
    found = xling.measures.tatoeba(X, Y, way=way)
    assert found.forward == (ranks == 1).mean()
    assert found.backward == (scores.argmax(0) == np.arange(30)).mean()
    assert found.mean == (found.forward + found.backward) / 2
    words = xling.measures.bli(X, Y, way=way)
    assert words["P@5"] == pytest.approx((ranks <= 5).mean())
    assert words["MRR"] == pytest.approx((1 / ranks).mean())
    assert xling.measures.mrr(X, Y, way=way) == words["MRR"]


def test_translations_found_are_those_of_scikit_learns_neighbours():
    noisy = X + np.random.default_rng(5).normal(size=X.shape)
    nearest = NearestNeighbors(n_neighbors=10, metric="cosine").fit(noisy).kneighbors(X)[1]
    found = xling.measures.bli(X, noisy, way="cosine")
    for most in (1, 5, 10):
        hits = [row in nearest[row, :most] for row in range(30)]
        assert found[f"P@{most}"] == pytest.approx(np.mean(hits))
    assert 0 < found["P@1"] < found["P@10"] <= 1


def test_a_word_with_several_translations_counts_once_by_its_best():
    pairs = [[7, 1], [2, 2], [7, 7]]
    scores = cosines(X, Y)
    ranks = [
        min((scores[row] > scores[row, j]).sum() + 1 for j in right)
        for row, right in ((2, [2]), (7, [1, 7]))
    ]
    found = xling.measures.mrr(X, Y, pairs)
    assert found == pytest.approx(np.mean([1 / rank for rank in ranks]))


def test_csls_and_the_mean_difference_are_their_formulas():
    assert np.allclose(xling.measures.csls(X, Y[:20], k=3), csls(X, Y[:20], 3))
    assert np.allclose(X.mean(0) + xling.measures.mds(X, Y[:4]), Y[:4].mean(0))


def test_the_mean_shift_finds_sentences_that_a_constant_separates():
    before, after = xling.measures.mean_shift(X, X + 50, held_out=0.5, seed=1)
    assert (before, after) == (pytest.approx(1 / 15, abs=1 / 14), 1.0)


NAN = X.copy()
NAN[4, 2] = np.nan


@pytest.mark.parametrize(
    ("measure", "x", "y", "message"),
    [
        ("cka", X, Y[:9], "`x` and `y` must have equally many rows, got 30 and 9"),
        ("cka", X[0], Y, "`x` must have 2 dimensions"),
        ("cka", X, np.array([["a"]]), "`y` must be an array of numbers"),
        ("tatoeba", X, Y[:, :3], "`x` and `y` must be equally wide, got 5 and 3"),
        ("neighbours", NAN, Y, "`x` must be finite, got NaN or infinity in row 4"),
        ("bli", X, NAN, "`y` must be finite"),
        ("mrr", X.astype(complex), Y, "`x` must be an array of numbers, got dtype complex128"),
        ("mean_shift", X[:1], Y[:1], "`x` must have at least 2 rows"),
        ("csls", X, Y[:, :3], "`x` and `y` must be equally wide, got 5 and 3"),
        ("mds", NAN, Y, "`x` must be finite, got NaN or infinity in row 4"),
        (
            "tatoeba",
            [[1, 2], [3]],
            Y,
            "`x` must be an array of numbers, got \\[\\[1, 2\\], \\[3\\]\\]",
        ),
        ("cka", np.ma.masked_less(X, 0), Y, "`x` must have no masked values, got [1-9]"),
        ("cka", list(np.ma.masked_less(X, 0)), Y, "`x` must have no masked values, got [1-9]"),
        ("cka", X * 1e300, Y, "`x` must have values whose squares are finite in float64"),
        ("csls", X, Y * 1e300, "`y` must have values whose squares are finite in float64, got"),
    ],
)
def test_an_array_of_another_form_is_named(measure, x, y, message):
    with pytest.raises(ValueError, match=message) as found:
        getattr(xling.measures, measure)(x, y)
    assert isinstance(found.value, UserError)


@pytest.mark.parametrize(
    ("measure", "options", "message"),
    [
        ("bli", {"way": "csl"}, "unknown `way` 'csl'; did you mean 'csls'"),
        ("bli", {"way": None}, "unknown `way` None; known: cosine, csls"),
        ("bli", {"way": []}, "unknown `way` \\[\\]; known: cosine, csls"),
        ("bli", {"pairs": [[1, 2], [3]]}, "`pairs` must be an array of numbers"),
        ("bli", {"k": 0}, "`k` must be a whole number of at least 1, got 0"),
        ("bli", {"pairs": [[0, 30]]}, "`pairs` must be rows of `x` .* and `y` \\(below 30\\)"),
        ("bli", {"pairs": [[0.0, 1.0]]}, "`pairs` must be whole numbers of shape"),
        ("neighbours", {"way": 3}, "unknown `way` 3; known"),
        ("tatoeba", {"way": "x"}, "unknown `way` 'x'; known"),
        ("mean_shift", {"held_out": "a"}, "`held_out` must be a number, got 'a'"),
        ("mean_shift", {"held_out": None}, "`held_out` must be a number, got None"),
        ("mean_shift", {"seed": "a"}, "`seed` must be a whole number, got 'a'"),
        ("mean_shift", {"seed": None}, "`seed` must be a whole number, got None"),
        ("mean_shift", {"seed": 1.5}, "`seed` must be a whole number, got 1.5"),
        ("mean_shift", {"seed": 2**64}, "`seed` must lie in \\[0, 4294967295\\], got"),
    ],
)
def test_a_setting_of_another_form_is_named(measure, options, message):
    with pytest.raises(ValueError, match=f"^{message}"):
        getattr(xling.measures, measure)(X, Y, **options)


@pytest.mark.parametrize("measure", ["mds", "bli", "mrr", "csls", "neighbours", "tatoeba"])
@pytest.mark.parametrize(("kind", "factor"), [("f4", 1e38), ("f8", 1e300)])
def test_values_whose_lengths_would_be_infinite_are_refused(measure, kind, factor):
    large = (X / abs(X).max() * factor).astype(kind)
    with pytest.raises(UserError, match=r"^`x` must have values whose squares are finite"):
        getattr(xling.measures, measure)(large, Y.astype(kind))


@pytest.mark.parametrize(("kind", "factor"), [("f4", 1e17), ("f8", 1e151)])
def test_values_below_that_are_measured_as_any_others(kind, factor):
    x, y = ((side / abs(side).max()).astype(kind) for side in (X, Y))
    for measure in ("cka", "bli", "csls", "mean_shift"):
        small, large = (getattr(xling.measures, measure)(x * f, y * f) for f in (1, factor))
        assert small == pytest.approx(large, abs=1e-5)


def test_what_is_computed_in_double_precision_takes_all_of_single_precision():
    x, y = ((side / abs(side).max()).astype("f4") for side in (X, Y))
    for measure in ("cka", "mean_shift"):
        small, large = (getattr(xling.measures, measure)(x * f, y * f) for f in (1, 3e38))
        assert small == pytest.approx(large, abs=1e-5)


def test_tensors_are_taken_whatever_was_recorded_and_in_any_precision():
    tensor = torch.tensor(X, requires_grad=True)
    assert xling.measures.cka(tensor, Y) == xling.measures.cka(X, Y)
    half = tensor.bfloat16()
    assert xling.measures.cka(half, Y) == xling.measures.cka(half.detach().float().numpy(), Y)
    assert xling.measures.mds(half, half).dtype == np.float32


def test_an_array_in_which_nothing_is_masked_is_an_array():
    assert xling.measures.cka(np.ma.array(X), Y) == xling.measures.cka(X, Y)
