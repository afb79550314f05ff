"""Public side of gradients in several passes: coordinates, left-out rows, clipping bias and its variance.

Proof: proofs/gradients.md, 16.

Features are whitened by the public moment with the whitening ridge. Public rows enter as if each had been left out of
whitening and fit: rescaled by their leverage, with the residual of a fit without them.
"""

import math
from dataclasses import dataclass, replace
from functools import cached_property
from weakref import WeakKeyDictionary

import numpy as np
from scipy.linalg import block_diag

from pmtcore.base.symmetric import from_upper_triangle
from pmtcore.glm.families import GAUSSIAN
from pmtcore.mechanisms.truncation import length_weights
from pmtcore.public.bands import ErrorPart, robust_part
from pmtcore.public.clipping import ExponentialTail, candidate_bounds, mean_excess
from pmtcore.public.moments import PosteriorMode, PublicData, back_transform, left_out_norm, whiten
from pmtcore.public.ridge import RidgePrior, prior_precision, ridge_prior, weakly_informed_fit

_MOST_ROWS = 4000  # most public rows that a choice is computed from; more change it by less than its own error
_NUMBERS_AT_ONCE = 4_000_000  # most numbers in memory at once: 32 MB
# Number of Hessians up to which each is computed by itself. Computing all products of columns first costs as much as
# five Hessians with ten columns, and as forty with a hundred.
_MOST_POINTS_ONE_BY_ONE = 16
_LEAST_SHARE = 0.2  # left-out squared lengths are at most five times those in sample
_LEAST_SLACK = 0.1  # left-out residuals are at most ten times those in sample
# Candidate bounds on a log grid: least in units of the median length, largest in units of the longest, their number.
_LEAST_BOUND, LARGEST_BOUND, _BOUNDS_TRIED = 0.3, 100.0, 40
# Public rows per column from which on the public Hessian is precise enough.
_ENOUGH_ROWS_PER_COLUMN = 4
# Share of the squared mean excess that is added to the clipping variance, for a clipped part with a common direction.
_COMMON_SHARE = 0.02


@dataclass(frozen=True)
class ClippedPart:
    """Part of public gradients that clipping removes.

    Attributes:
        bounds: clipping bounds (t,).
        mean: mean of the removed part (t, d), by which a clipped mean is corrected.
        covariance: (t, d, d) of the difference between this mean and that of the private rows.
    """

    bounds: np.ndarray
    mean: np.ndarray
    covariance: np.ndarray


# Public figures only; the same for every budget and number of private rows.
_PUBLIC_FITS: WeakKeyDictionary[PublicData, tuple[np.ndarray, np.ndarray]] = WeakKeyDictionary()


@dataclass(frozen=True, eq=False)
class Frame:
    """Public rows in the coordinates in which the passes work, for n private rows."""

    public: PublicData
    n: int

    @cached_property
    def prior(self) -> RidgePrior:
        """Return the ridge prior of the coefficients from public rows."""
        return ridge_prior(self.public)

    @cached_property
    def root(self) -> np.ndarray:
        """Return ``L_x`` (d, d) of the public moment of the features, with the whitening ridge for labels."""
        return self.prior.whitening_root(self._features) if self.public.labelled else self.public.feature_root

    @property
    def _features(self) -> np.ndarray:
        if self.public.rows is None:
            raise ValueError("public rows are needed")
        return self.public.rows[:, :-1]

    @property
    def m(self) -> int:
        """Return the number of public rows that are used."""
        return len(self.response)

    @property
    def prior_dof(self) -> float:
        """Return degrees of freedom behind the scale of the prior: public rows less columns."""
        return float(max(len(self._features) - self.public.d, 1))

    @cached_property
    def _step(self) -> int:
        return math.ceil(len(self._features) / _MOST_ROWS)

    @cached_property
    def response(self) -> np.ndarray:
        """Return public responses (m,), every k-th where there are very many."""
        return np.asarray(self.public.rows[:: self._step, -1]) if self.public.rows is not None else np.empty(0)

    @property
    def clusters(self) -> np.ndarray | None:
        """Return groups (m,) of the public rows, where errors are clustered."""
        return None if self.public.clusters is None else self.public.clusters[:: self._step]

    @cached_property
    def weights(self) -> np.ndarray:
        """Return weights (m,) of the loss of each public row."""
        return self.public.loss_weights[:: self._step]

    @property
    def features(self) -> np.ndarray:
        """Return the public features (m, d) in the coordinates of the table."""
        return self._features[:: self._step]

    @cached_property
    def rows(self) -> np.ndarray:
        """Return whitened public features (m, d), as they are."""
        return whiten(self.root, self.features)

    @cached_property
    def left_out(self) -> np.ndarray:
        """Return the whitened public features (m, d), each as long as if its row had been left out of the whitening."""
        squares, m = np.sum(self.rows**2, axis=1), len(self._features)
        left_out_squares = left_out_norm(squares, m, self.public.category_norm[:: self._step])
        left_out_squares = np.minimum(left_out_squares, squares / _LEAST_SHARE)
        return np.asarray(self.rows * np.sqrt(left_out_squares / np.maximum(squares, 1e-300))[:, None])

    @cached_property
    def norms(self) -> np.ndarray:
        """Return lengths (m,) of :attr:`left_out`."""
        return np.linalg.norm(self.left_out, axis=1)

    @cached_property
    def public_fit(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the public fit (d,), and its covariance (d, d) around the population fit.

        For least squares it is that of the ridge prior. For labels and counts a weakly informative prior is added,
        which is used alone without the response.
        """
        public = self.public
        if not public.labelled:
            return np.zeros(public.d), np.linalg.inv(prior_precision(self.rows))
        if public.family is GAUSSIAN:
            return self.prior.whitened(self.root)
        if public not in _PUBLIC_FITS:
            _PUBLIC_FITS[public] = weakly_informed_fit(
                public.family,
                self.rows,
                self.response,
                self.penalty,
                ridge=(self.prior.penalty, self._ridge_shape),
                dispersion=self.prior.dispersion,
                rows=len(self._features),
                weights=self.weights,
            )
        return _PUBLIC_FITS[public]

    @cached_property
    def start(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the public fit (d,), and the covariance (d, d) of the private fit around it, if of one population."""
        centre, covariance = self.public_fit
        return centre, covariance * (1 + len(self._features) / self.n)

    @cached_property
    def _ridge_shape(self) -> np.ndarray:
        """Return the matrix (d, d) that the penalty of the ridge prior multiplies, in whitened coordinates."""
        inverse = np.linalg.inv(self.root)
        return np.asarray(inverse @ np.diag(self.prior.shape) @ inverse.T)

    @cached_property
    def penalty(self) -> np.ndarray:
        """Return the problem's own ridge (d, d) in these coordinates."""
        inverse = np.linalg.solve(self.root, np.diag(np.sqrt(self.public.penalties)))
        return np.asarray(inverse @ inverse.T)

    @cached_property
    def inflation(self) -> np.ndarray:
        """Return the ratios (m,) of left-out residuals to residuals in sample, ``1/(1 - leverage)``."""
        slope = self.weights * self.public.family.slope(self.rows @ self.start[0])
        penalty = self.penalty + self.prior.penalty * self._ridge_shape
        if self.public.family is not GAUSSIAN:
            penalty = penalty + self.prior.dispersion / len(self._features) * prior_precision(self.rows)
        hessian = (self.rows * slope[:, None]).T @ self.rows / self.m + penalty
        leverage = np.einsum("ij,jk,ik->i", self.rows, np.linalg.inv(hessian), self.rows, optimize=True)
        weighted_leverage = leverage * slope / len(self._features)
        return np.asarray(1 / np.maximum(1 - weighted_leverage, _LEAST_SLACK))

    def slopes(self, points: np.ndarray) -> np.ndarray:
        """Return ``w b''`` (m, t) of public rows at points (t, d).

        Predictors are computed from the rows themselves, since the longer left-out rows are not actual rows.
        """
        return np.asarray(self.weights[:, None] * self.public.family.slope(self.rows @ points.T))

    def hessians(self, slopes: np.ndarray) -> np.ndarray:
        """Return public Hessians (t, d, d) of the mean loss from slopes (m, t), without the penalty."""
        x, d = self.left_out, self.public.d
        if slopes.shape[1] <= _MOST_POINTS_ONE_BY_ONE:
            return np.stack([(x * slope[:, None]).T @ x for slope in slopes.T]) / self.m
        above = np.triu_indices(d)
        packed = np.zeros((slopes.shape[1], len(above[0])))
        rows = max(_NUMBERS_AT_ONCE // len(above[0]), 1)
        for start in range(0, self.m, rows):
            part = x[start : start + rows]
            packed += slopes[start : start + rows].T @ (part[:, above[0]] * part[:, above[1]])
        return from_upper_triangle(packed / self.m, d)

    def hessian_entry_variance(self, slopes: np.ndarray, hessians: np.ndarray) -> np.ndarray:
        """Return the mean variance (t,) of an entry of the public Hessian around that of n private rows.

        Args:
            slopes: (m, t).
            hessians: public Hessians (t, d, d) with these slopes.
        """
        squares = self.left_out**2
        first = np.sum(slopes**2 * np.sum(squares, axis=1)[:, None] ** 2, axis=0) / self.m
        squared_mean = np.sum(hessians**2, axis=(1, 2))
        return np.asarray(np.maximum(first - squared_mean, 1e-12) / squares.shape[1] ** 2 * (1 / self.m + 1 / self.n))

    def residuals(self, points: np.ndarray) -> np.ndarray:
        """Return left-out public residuals (t, m) at points (t, d), times the weights of their rows.

        Without the response they are standard deviations of the family, with alternating signs.
        """
        if not self.public.labelled:
            return np.sqrt(self.slopes(points).T) * np.where(np.arange(self.m) % 2, 1.0, -1.0)
        residual = self.response - self.public.family.mean(points @ self.rows.T)
        return np.asarray(residual * self.weights * self.inflation)

    def expected_residual_ratio(self, residuals: np.ndarray, points: np.ndarray, covariance: np.ndarray) -> np.ndarray:
        """Return the expected ratios (t,) of private to public residuals of labels, at least 1.

        Few public labels may be separated. Then residuals are negligible, left out or not, although the fit has a large
        variance. With a predictor ``z + N(0, v)``, v the variance of the fit at a row, a private label is 1 with
        probability ``p = b'(z/sqrt(1 + pi v/8))`` (MacKay's approximation, 1992) and has the expected squared residual
        ``p (1 - p) + (p - b'(z))^2``. The ratio is the root of the ratio of mean squared gradients.

        Args:
            residuals: left-out public residuals (t, m) at the points.
            points: (t, d).
            covariance: (t, d, d) of the private fit around the points.
        """
        family = self.public.family
        if not (family.binary and self.public.labelled):
            return np.ones(len(points))
        predictor = points @ self.rows.T
        chance = family.mean(predictor / np.sqrt(1 + math.pi / 8 * self._squared_forms(covariance)))
        expected = (chance * (1 - chance) + (chance - family.mean(predictor)) ** 2) @ (self.weights * self.norms) ** 2
        return np.asarray(np.sqrt(np.maximum(expected / np.maximum(residuals**2 @ self.norms**2, 1e-300), 1.0)))

    def _squared_forms(self, matrices: np.ndarray) -> np.ndarray:
        """Return ``z'V z`` (t, m) of the left-out rows z for matrices V (t, d, d)."""
        forms = np.empty((len(matrices), self.m))
        rows = max(_NUMBERS_AT_ONCE // matrices[..., 0].size, 1)
        for start in range(0, self.m, rows):
            part = self.left_out[start : start + rows]
            forms[:, start : start + rows] = np.sum((part @ matrices) * part, axis=2)
        return forms

    def clipped_part(self, residuals: np.ndarray, bounds: np.ndarray, ratio: np.ndarray) -> ClippedPart:
        """Return the mean of what clipping removes from public gradients, and its covariance for private ones.

        Args:
            residuals: left-out public residuals (t, m).
            bounds: clipping bounds (t,).
            ratio: expected ratios (t,) of private to public residuals; they enter the covariance but not the mean.
        """
        mean = self._excess(residuals, bounds) @ self.left_out / self.m
        expected = residuals * ratio[:, None]
        covariance = self.hessians((self._excess(expected, bounds) ** 2).T) / self.m * (1 + self.m / self.n)
        empirical = np.trace(covariance, axis1=1, axis2=2)
        with_tail = self.clipping_variance(self.norms * np.abs(expected), bounds[:, None])[:, 0]
        excess = np.maximum(with_tail - empirical, 0.0) / self.public.d
        covariance = covariance + excess[:, None, None] * np.eye(self.public.d)
        return ClippedPart(bounds, mean, covariance)

    def _excess(self, residuals: np.ndarray, bounds: np.ndarray) -> np.ndarray:
        return np.asarray(residuals * (1 - length_weights(self.norms * np.abs(residuals), bounds[:, None])))

    def sampling(self, fit: np.ndarray) -> ErrorPart:
        """Return the sampling part of a fit (d,) to n private rows from public influence values, in the table's units.

        For labels and counts variances are at least the model-based ones (proofs/bands.md, 7). The Hessian is that of
        public rows at the fit: the inverse of a released one is biased upwards where its noise is not small
        (decision 131).

        Args:
            fit: coefficients (d,) in whitened coordinates.
        """
        hessian = self.hessians(self.slopes(fit[None]))[0] + self.penalty
        inverse = np.linalg.inv(hessian)
        influence = self.left_out * self.residuals(fit[None])[0][:, None] @ inverse
        robust = robust_part(self.to_table(influence - influence.mean(axis=0)), 1.0, self.n, self.clusters)
        if self.public.family is GAUSSIAN:
            return robust
        return robust.at_least(self.to_table(self.to_table(inverse).T) / self.n)

    def candidates(self, residuals: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return candidate bounds (t, K), and the clipping variance at each, summed over coordinates."""
        lengths = self.norms * np.abs(residuals)
        bounds = candidate_bounds(lengths, _LEAST_BOUND, LARGEST_BOUND, _BOUNDS_TRIED)
        return bounds, self.clipping_variance(lengths, bounds)

    def negligible_noise_bounds(self, hessians: np.ndarray, noise: float, share: float) -> np.ndarray:
        """Return the bounds (t,) whose noise is this share of the sampling error of a mean gradient.

        They cost little accuracy, and clip fewer of the private rows that are longer than all public ones.

        Args:
            hessians: penalized (t, d, d).
            noise: standard deviation on a coordinate at bound 1.
            share: of the sampling error.
        """
        size = np.trace(hessians, axis1=1, axis2=2) / self.public.d
        dispersion = self.prior.dispersion if self.public.labelled else 1.0
        return np.asarray(share * np.sqrt(dispersion * size / self.n) / noise)

    def clipping_variance(self, lengths: np.ndarray, bounds: np.ndarray) -> np.ndarray:
        """Return the expected squared error (t, K) of the correction for clipping at bounds (t, K).

        It is the sampling variance of the mean excess over m public and n private rows, plus a fiftieth of the squared
        mean excess.
        """
        square, excess = mean_excess(lengths, bounds, ExponentialTail)
        return np.asarray(square / self.m * (1 + self.m / self.n) + _COMMON_SHARE * excess**2)

    def to_table(self, points: np.ndarray) -> np.ndarray:
        """Return coefficients (..., d) in the units of the table."""
        return back_transform(self.root, points)


_WHITENED: WeakKeyDictionary[PublicData, PublicData] = WeakKeyDictionary()  # public figures only


def in_frame_coordinates(public: PublicData) -> PublicData:
    """Return public data of labels or counts with the weakly informed fit, in the coordinates of a frame.

    Rows without the response, and data with only a moment, are returned unchanged.
    """
    if public.rows is None or not public.labelled:
        return public
    if public not in _WHITENED:
        frame = Frame(public, 1)
        mode = PosteriorMode(*frame.public_fit)
        _WHITENED[public] = replace(public, factor=block_diag(frame.root, 1.0), mode=mode)
    return _WHITENED[public]


def has_few_rows(public: PublicData) -> bool:
    """Return whether there are fewer than four public rows a column, which leave their Hessian imprecise."""
    return (public.m or 0) < _ENOUGH_ROWS_PER_COLUMN * public.d
