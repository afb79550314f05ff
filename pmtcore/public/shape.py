"""Linearized public fit of a generalized linear model in whitened coordinates, and the clip chosen from it.

A private row enters a fit clipped to ``||x~|| <= reach R`` with its loss weighted by ``min(1, R/||x~||)``, so that its
score is at most R long. A row with ``R < ||x~|| <= reach R`` is only weighted, and its predictor stays unchanged. ``R``
and ``reach`` are chosen as in ``clipping``: the price of a candidate is the squared shift of the public fit by clipping
plus the variance from the noise (proofs/objective.md, 9.3).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from weakref import WeakKeyDictionary

import numpy as np
from scipy.linalg import solve_triangular

from pmtcore.glm.families import Family
from pmtcore.glm.rows import Rows
from pmtcore.mechanisms.truncation import length_weights, squared_norms, truncate_within
from pmtcore.public.clipping import candidate_bounds, moment_only_ball, squared_bias
from pmtcore.public.moments import PublicData, whiten

# Candidate reaches: at 1 rows are shortened to the bound on their scores, at 4 hardly any row is shortened.
REACHES = (1.0, 1.5, 2.0, 3.0, 4.0)
# Number of candidate radii on a log grid; neighbours differ by about a tenth.
_RADII_TRIED = 16
# Cap on the length of a whitened row: its square does not overflow, and every radius is far shorter.
_LENGTH_CAP = 1e100
# Most public rows that a price is computed from: more change the choice by less than its own uncertainty.
_MOST_PUBLIC_ROWS = 4000
# Above this number of columns 80 inverses of (d, d) are more than 25 MB and are not cached.
_MOST_CACHED_COLUMNS = 200
# Public figures only, by the reaches and by whether the covariance of the public score is included.
_SCANS: WeakKeyDictionary[PublicData, dict[tuple[tuple[float, ...], bool], Scan]] = WeakKeyDictionary()


# The linearization and all candidate clips of a public table.
Scan = tuple["Shape", tuple["Candidate", ...]]


@dataclass(frozen=True)
class Clip:
    """Clipping of rows to ``reach * radius``, with the loss weighted by ``min(1, radius/||x||)``.

    Attributes:
        radius: bound on the length of a score, in whitened units.
        reach: bound on the length of a row, in units of the radius.
    """

    radius: float
    reach: float = 1.0

    def factors(self, norms: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the factors (k,) that shorten rows of these lengths, and their weights (k,).

        Args:
            norms: lengths of the rows (k,).
        """
        outer = self.radius * self.reach
        factor = length_weights(norms, outer)
        return factor, length_weights(norms * factor, self.radius)

    def apply(self, features: np.ndarray, response: np.ndarray) -> Rows:
        """Clip and weight rows.

        A row without a finite length becomes a row of zeros, so that its weight is a number.

        Args:
            features: whitened features (k, d).
            response: responses (k,).
        """
        features = truncate_within(features, _LENGTH_CAP)
        factor, weights = self.factors(np.sqrt(squared_norms(features)))
        return Rows(features * factor[:, None], response, weights)


@dataclass(frozen=True, eq=False)
class LeftOutRows:
    """Public rows as if each had been left out of the whitening, clipped as private rows would be.

    A left-out row is longer than the row itself, and so is its score. The predictor at the public fit is computed from
    the row itself: whitening does not change it, and the mean of the longer row would be that of no actual row.

    Attributes:
        features: left-out whitened features before the clip (m, d).
        response: responses (m,).
        factors: factors (m,) by which the clip shortens the rows.
        weights: weights of their loss (m,).
        centre: public fit (d,).
        predictors_at_centre: predictors (m,) of the rows themselves, before the clip.
    """

    features: np.ndarray
    response: np.ndarray
    factors: np.ndarray
    weights: np.ndarray
    centre: np.ndarray
    predictors_at_centre: np.ndarray

    @classmethod
    def of(cls, rows: np.ndarray, left_out: np.ndarray, response: np.ndarray, centre: np.ndarray) -> LeftOutRows:
        """Return the rows without clipping.

        Args:
            rows: whitened features (m, d).
            left_out: whitened features as if each row had been left out (m, d).
            response: responses (m,).
            centre: public fit (d,).
        """
        ones = np.ones(len(response))
        return cls(left_out, response, ones, ones, centre, rows @ centre)

    def clipped(self, clip: Clip) -> LeftOutRows:
        """Return the rows clipped by their left-out lengths."""
        factors, weights = clip.factors(np.linalg.norm(self.features, axis=1))
        return replace(self, factors=factors, weights=weights)

    @cached_property
    def shortened(self) -> np.ndarray:
        """Return the clipped features (m, d)."""
        return np.asarray(self.features * self.factors[:, None])

    def predictors(self, points: np.ndarray) -> np.ndarray:
        """Return the predictors (t, m) of the clipped rows at points (t, d)."""
        return np.asarray((points - self.centre) @ self.shortened.T + self.factors * self.predictors_at_centre)

    def slopes(self, family: Family, points: np.ndarray) -> np.ndarray:
        """Return the weighted slopes (t, m) of the means of the clipped rows at points (t, d)."""
        return np.asarray(self.weights * family.slope(self.predictors(points)))

    def scores(self, family: Family) -> np.ndarray:
        """Return the scores (m, d) of the clipped rows at the public fit."""
        residual = self.response - family.mean(self.factors * self.predictors_at_centre)
        return np.asarray(self.shortened * (self.weights * residual)[:, None])


@dataclass(frozen=True)
class Shape:
    """Linearization of the public fit.

    Attributes:
        public: the public data.
        rows: whitened rows, features (m, d).
        norms: left-out lengths of the rows (m,).
        influence: ``H^{-1} x r`` (m, d), with residuals as if the row had been left out; the public fit's
            covariance is ``influence' influence / m^2``.
        inverse: inverse Hessian (d, d) of the public fit's mean loss and penalty.
    """

    public: PublicData
    rows: Rows
    norms: np.ndarray
    influence: np.ndarray
    inverse: np.ndarray

    @classmethod
    def of(cls, public: PublicData) -> Shape:
        """Linearize the fit to public rows.

        Without labels the residuals have the size that the family implies, with alternating signs.

        Raises:
            ValueError: there are no public rows.
        """
        if public.rows is None or public.m is None or public.whitened is None:
            raise ValueError("public rows are needed")
        features = whiten(public.feature_root, public.rows[:, :-1])
        weights = public.loss_weights
        rows = Rows(features, public.rows[:, -1], weights)
        hessian = rows.sums(public.family, public.centre[None])[1][0] / public.m + public.own_penalty
        inverse = np.linalg.pinv(hessian, hermitian=True)
        slope = weights * public.family.slope(features @ public.centre)
        leverage = np.minimum(np.einsum("ij,jk,ik->i", features, inverse, features) * slope / public.m, 0.9)
        residual = weights * (public.rows[:, -1] - public.family.mean(features @ public.centre)) / (1 - leverage)
        if not public.labelled:
            residual = np.sqrt(weights * slope) * np.where(np.arange(public.m) % 2, 1.0, -1.0)
        norms = np.linalg.norm(public.whitened[:, :-1], axis=1)
        return cls(public, rows, norms, features @ inverse * residual[:, None], inverse)

    @cached_property
    def covariance(self) -> np.ndarray:
        """Return the covariance (d, d) of the public fit; a private fit of n rows has about ``m/n`` times it."""
        if self.public.mode is not None:
            return self.public.mode.covariance
        return np.asarray(self.influence.T @ self.influence / len(self.influence) ** 2)

    @property
    def model_covariance(self) -> np.ndarray:
        """Return the model-based covariance (d, d) of the public fit, with the penalty as a prior."""
        return self.inverse / (self.public.m or len(self.influence))

    def prior(self, n: int) -> np.ndarray:
        """Return the covariance (d, d) of the fit to n private rows around the public fit, if of one population."""
        return np.asarray(self.covariance * (1 + len(self.influence) / n))

    @cached_property
    def left_out(self) -> LeftOutRows:
        """Return the rows as if each had been left out of the whitening."""
        features = self.rows.features
        in_sample_norms = np.linalg.norm(features, axis=1)
        longer = features * (self.norms / np.maximum(in_sample_norms, 1e-300))[:, None]
        return LeftOutRows.of(features, longer, self.rows.response, self.public.centre)

    def hessian(self, rows: LeftOutRows) -> np.ndarray:
        """Return the penalized Hessian (d, d) of the mean loss of clipped public rows at the public fit."""
        x, slope = rows.shortened, rows.slopes(self.public.family, self.public.centre[None])[0]
        return np.asarray((x * slope[:, None]).T @ x / len(x) + self.public.penalty + 1e-9 * np.eye(x.shape[1]))

    def fit_shifts(self, rows: LeftOutRows, inverse: np.ndarray) -> np.ndarray:
        """Return the shift (m, d) of the public fit by clipping each public row, to first order.

        Args:
            rows: clipped public rows.
            inverse: inverse Hessian (d, d) of the clipped fit.
        """
        if not self.public.labelled:
            return np.zeros_like(self.influence)
        family = self.public.family
        return np.asarray((rows.scores(family) - self.left_out.scores(family)) @ inverse)


@dataclass(frozen=True)
class Candidate:
    """Effect of one clip on the public fit, apart from the noise; computed once per public table.

    Attributes:
        clip: the clip.
        inverse: inverse (d, d) of the clipped Hessian.
        bias: squared shift of the fit by clipping.
        score_covariance: covariance (d, d) of the public score in the score equation; None where it is not included.
    """

    clip: Clip
    inverse: np.ndarray
    bias: float
    score_covariance: np.ndarray | None

    @classmethod
    def of(cls, shape: Shape, clip: Clip, from_public: bool) -> Candidate:
        """Compute the effect of one clip.

        Args:
            shape: linearization of the public fit.
            clip: the clip.
            from_public: include the covariance of the public score.
        """
        rows = shape.left_out.clipped(clip)
        inverse = np.linalg.inv(shape.hessian(rows))
        shifts = shape.fit_shifts(rows, inverse)
        bias = float(squared_bias(np.mean(shifts, axis=0), np.mean(np.abs(shifts), axis=0)))
        return cls(clip, inverse, bias, public_score_covariance(shape, rows) if from_public else None)

    def price(self, prior: np.ndarray, noise: float) -> float:
        """Return the predicted squared error of predictions: clipping bias plus posterior variance.

        Args:
            prior: covariance (d, d) of the private fit around the public one.
            noise: standard deviation of the noise on the mean score at radius 1.
        """
        spread = (noise * self.clip.radius) ** 2 * self.inverse @ self.inverse
        if self.score_covariance is not None:
            spread = spread + self.inverse @ self.score_covariance @ self.inverse
        try:
            half = solve_triangular(np.linalg.cholesky(prior + spread), prior, lower=True, check_finite=False)
            explained = np.sum(half**2)
        except np.linalg.LinAlgError:  # rounding leaves no Cholesky factor
            explained = np.trace(prior @ np.linalg.pinv(prior + spread, hermitian=True) @ prior)
        return float(self.bias + np.trace(prior) - explained)


def public_score_covariance(shape: Shape, rows: LeftOutRows) -> np.ndarray:
    """Return the covariance (d, d) of the public score in the score equation, a mean over m rows (D3)."""
    x = rows.shortened
    spread = np.sqrt(np.sum((x @ shape.covariance) * x, axis=1))
    parts = x * (rows.slopes(shape.public.family, shape.public.centre[None])[0] * spread)[:, None]
    return np.asarray(parts.T @ parts / len(parts) ** 2)


def choose_clip(
    public: PublicData, n: int, noise: float, reaches: tuple[float, ...] = REACHES, *, from_public: bool = False
) -> Clip:
    """Choose the clip with the smallest price, from public rows alone.

    Without public rows the radius is that of :func:`moment_only_ball`.

    Args:
        public: the public data.
        n: number of private rows.
        noise: standard deviation of the noise on the mean score at radius 1.
        reaches: candidate values of ``reach``.
        from_public: include the covariance of the public score.
    """
    if public.rows is None:
        return Clip(moment_only_ball(public.d).radius)
    shape, candidates = _scan(public, reaches, from_public)
    prior = shape.prior(n)
    return min(candidates, key=lambda candidate: candidate.price(prior, noise)).clip


def _scan(public: PublicData, reaches: tuple[float, ...], from_public: bool) -> Scan:
    """Return the linearization and all candidate clips of these public rows; cached where there are few columns."""
    scans = _SCANS.setdefault(public, {})
    if (reaches, from_public) not in scans:
        shape = _with_fewer_rows(Shape.of(public))
        radii = candidate_bounds(shape.norms, 0.5, 1.5, _RADII_TRIED)
        candidates = (
            Candidate.of(shape, Clip(float(radius), reach), from_public) for reach in reaches for radius in radii
        )
        if public.d > _MOST_CACHED_COLUMNS:
            return shape, tuple(candidates)
        scans[reaches, from_public] = shape, tuple(candidates)
    return scans[reaches, from_public]


def _with_fewer_rows(shape: Shape) -> Shape:
    """Return the linearization with every k-th row where there are more rows than a price needs."""
    step = math.ceil(len(shape.norms) / _MOST_PUBLIC_ROWS)
    if step == 1:
        return shape
    rows = Rows(shape.rows.features[::step], shape.rows.response[::step], shape.rows.weights[::step])
    influence = shape.influence[::step] / math.sqrt(step)  # same covariance from fewer rows
    return Shape(shape.public, rows, shape.norms[::step], influence, shape.inverse)
