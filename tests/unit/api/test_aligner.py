"""The estimator follows scikit-learn's conventions, and is `fit_rows` underneath."""

import pickle

import numpy as np
import pytest
import torch
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

import fairseq_xling as xling
from fairseq_xling.mapping.fit import fit_rows

RANDOM = np.random.default_rng(0)
X = RANDOM.normal(size=(60, 6))
TURN = np.linalg.qr(RANDOM.normal(size=(6, 6)))[0]
Y = X @ TURN + 0.1 * RANDOM.normal(size=(60, 6))


@pytest.mark.parametrize(
    ("method", "normalize"), [("procrustes", "centre"), ("unconstrained", None), ("meeting", None)]
)
def test_it_maps_rows_as_fit_rows_does(method, normalize):
    found = xling.Aligner(method, normalize).fit(X, Y)
    tensors = torch.from_numpy(X), torch.from_numpy(Y)
    expected = fit_rows(*tensors, method, normalize or "iterative")
    assert np.array_equal(found.transform(X), expected.moving(tensors[0]).numpy())
    assert np.array_equal(found.apply(X), found.transform(X))
    assert np.array_equal(found.transform_fixed(Y), expected.fixed(tensors[1]).numpy())
    assert found.n_features_in_ == 6


def test_a_planted_rotation_is_found_and_scored_on_rows_that_were_not_learnt():
    aligner = xling.Aligner(normalize="none").fit(X[:40], Y[:40])
    assert np.allclose(aligner.map_.moving.matrix.numpy(), TURN, atol=0.1)
    assert aligner.score(X[40:], Y[40:]) == 1.0
    assert aligner.score(X[40:], Y[40:][::-1]) < 0.2


def test_settings_are_kept_as_given_and_clones_are_not_fitted():
    method, normalize = "unconstrained", "unit,centre"
    aligner = xling.Aligner(method=method, normalize=normalize)
    assert aligner.get_params() == {"method": method, "normalize": normalize}
    assert aligner.fit(X, Y) is aligner
    again = clone(aligner)
    assert again.get_params() == aligner.get_params() and not hasattr(again, "map_")
    assert again.set_params(method="procrustes").method == "procrustes"
    with pytest.raises(NotFittedError):
        again.transform(X)
    xling.Aligner("no such method")  # nothing is checked before `fit`


def test_a_fitted_one_survives_pickling():
    aligner = xling.Aligner().fit(X, Y)
    assert np.array_equal(pickle.loads(pickle.dumps(aligner)).transform(X), aligner.transform(X))


def test_it_works_in_a_pipeline_and_a_grid_search():
    pipeline = Pipeline([("scale", StandardScaler()), ("align", xling.Aligner())])
    grid = {"align__method": ["procrustes", "unconstrained"], "align__normalize": ["unit", None]}
    search = GridSearchCV(pipeline, grid, cv=3).fit(X, Y)
    assert len(search.cv_results_["params"]) == 4
    assert search.best_score_ == max(search.cv_results_["mean_test_score"]) > 0.9
    assert search.best_estimator_.transform(X).shape == X.shape
    assert search.best_estimator_["align"].get_feature_names_out()[5] == "aligner5"


def test_sides_of_other_widths_need_a_method_for_it():
    wide = np.concatenate([Y, Y], axis=1)
    assert xling.Aligner("unconstrained").fit(X, wide).transform(X).shape == (60, 12)
    with pytest.raises(ValueError, match="both sides equally wide, got 6 and 12"):
        xling.Aligner().fit(X, wide)


def test_half_precision_is_computed_as_float32():
    aligner = xling.Aligner().fit(X.astype(np.float16), Y.astype(np.float16))
    assert aligner.transform(X.astype(np.float16)).dtype == np.float32


@pytest.mark.parametrize(
    ("arguments", "x", "y", "message"),
    [
        ((), X, Y[:9], "`X` and `y` must have equally many rows, got 60 and 9"),
        ((), X[0], Y, "`X` must have 2 dimensions"),
        ((), X, np.where(Y > 2, np.inf, Y), "`y` must be finite"),
        ((), X.astype(str), Y, "`X` must be an array of numbers"),
        (("procruste",), X, Y, "^unknown `method` 'procruste'; did you mean 'procrustes'"),
        ((None,), X, Y, "^unknown `method` None; known: "),
        ((3,), X, Y, "^unknown `method` 3; known: "),
        (([],), X, Y, "^unknown `method` \\[\\]; known: "),
        (("procrustes", "middle"), X, Y, "^`normalize`: unknown normalisation 'middle'"),
        (("procrustes", "unit,"), X, Y, "^`normalize` must be names separated by commas, got"),
        (("procrustes", 3), X, Y, "^`normalize` must be names separated by commas, got 3"),
        (("procrustes", []), X, Y, "^`normalize` must be names separated by commas, got \\[\\]"),
        ((), [[1, 2], [3]], Y, "^`X` must be an array of numbers, got"),
        ((), np.ma.masked_less(X, 0), Y, "^`X` must have no masked values, got"),
        (("contextual",), (X * 1e37).astype("f4"), Y, "^`X` must have values whose squares are"),
        (("meeting",), X, (Y * 1e37).astype("f4"), "^`y` must have values whose squares are"),
        ((), X * 1e300, Y, "^`X` must have values whose squares are finite in float64"),
    ],
)
def test_bad_input_is_named(arguments, x, y, message):
    with pytest.raises(ValueError, match=message):
        xling.Aligner(*arguments).fit(x, y)


def test_rows_of_another_width_than_learnt_are_refused():
    with pytest.raises(ValueError, match="`X` must be 6 wide, got 5"):
        xling.Aligner().fit(X, Y).transform(X[:, :5])


def test_a_score_needs_two_rows_and_names_its_own_arguments():
    with pytest.raises(ValueError, match=r"^`X` must have at least 2 rows"):
        xling.Aligner().fit(X, Y).score(X[:1], Y[:1])


def test_tensors_with_gradients_are_mapped_as_their_values():
    tensor = torch.tensor(X, requires_grad=True)
    aligner = xling.Aligner().fit(tensor, Y)
    assert np.array_equal(aligner.transform(tensor), xling.Aligner().fit(X, Y).transform(X))
