"""Maps between two spaces as an estimator of scikit-learn, over `fairseq_xling.mapping`."""

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from fairseq_xling.api import checked, measures
from fairseq_xling.mapping.fit import fit_rows
from fairseq_xling.mapping.fitted import LayerMap, Side
from fairseq_xling.mapping.normalize import parse_steps
from fairseq_xling.mapping.paired import PAIRED


class Aligner(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """A map of one space into another, learnt from rows that pair up.

    Args:
        method: a method of `fairseq-xling map` that learns from pairs, such as procrustes,
            unconstrained or meeting.
        normalize: steps for both sides, such as "unit,centre", iterative or none (default: those of
            the method).

    Attributes:
        map_: the `fairseq_xling.mapping.LayerMap`: matrices, normalisation, figures of the fit.
        n_features_in_: D, the width of the rows that it maps.

    >>> x = np.random.default_rng(0).normal(size=(50, 4))
    >>> turned = x @ np.linalg.qr(np.random.default_rng(1).normal(size=(4, 4)))[0]
    >>> Aligner("procrustes").fit(x, turned).score(x, turned)
    1.0
    """

    map_: LayerMap
    n_features_in_: int

    def __init__(self, method: str = "procrustes", normalize: str | None = None):
        self.method = method
        self.normalize = normalize

    def fit(self, X: Any, y: Any) -> "Aligner":
        """Learn the map of ``X`` (N, D) to ``y`` (N, E); row n of both belongs together.

        Raises:
            UserError: for arrays of another shape or dtype, values that are not finite, an unknown
                method or step, and as `fairseq_xling.mapping.fit_rows`.
        """
        moving, fixed = checked.matrices(X, y, paired=True, names=("X", "y"))
        checked.choice("method", self.method, PAIRED)
        steps = PAIRED[self.method].normalize if self.normalize is None else self.normalize
        parse_steps(steps, "normalize")
        self.map_ = fit_rows(moving, fixed, self.method, steps)
        self.n_features_in_ = moving.shape[1]
        return self

    def transform(self, X: Any) -> np.ndarray:
        """Rows ``X`` (N, D) in the common space (N, F), normalised as when the map was fitted.

        Raises:
            UserError: for rows of another width; sklearn's NotFittedError before `fit`.
        """
        return self._mapped("X", X, "moving")

    def apply(self, X: Any) -> np.ndarray:
        """The same as `transform`."""
        return self.transform(X)

    def transform_fixed(self, y: Any) -> np.ndarray:
        """Rows ``y`` (N, E) of the other side in the common space, to compare with `transform`.

        Raises:
            UserError: as `transform`.
        """
        return self._mapped("y", y, "fixed")

    def score(self, X: Any, y: Any) -> float:
        """P@1 by cosine of `transform` of ``X`` among `transform_fixed` of ``y``, in [0, 1].

        Row n of both belongs together; a tie is wrong. Cosines themselves would not do: each
        normalisation changes them.

        Raises:
            UserError: as `fit`, and for fewer than 2 rows.
        """
        checked.matrices(X, y, paired=True, least=2, names=("X", "y"))
        return measures.tatoeba(self.transform(X), self.transform_fixed(y)).forward

    def _mapped(self, name: str, value: Any, side: str) -> np.ndarray:
        check_is_fitted(self, "map_")
        mapper: Side = getattr(self.map_, side)
        rows = checked.matrix(name, value, width=mapper.width)
        return mapper(rows).numpy()

    @property
    def _n_features_out(self) -> int:
        return self.map_.moving.output_width

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.target_tags.multi_output = True
        return tags
