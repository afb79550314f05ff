"""Ratios of actual errors to the standard deviations of the filter's covariance, simulated from public data.

The covariance of the passes is a linear approximation. Its error is estimated by running the same passes over simulated
rows, whose exact fit is known: features are drawn from the public rows, coefficients from the public prior, and
responses from the model (proofs/gradients.md, 16). This takes a second on wide tables, and a curve of predictions needs
it at twenty budgets. The ratios depend on the budget only through ``n mu``, and slowly. So a prediction interpolates
between decades of ``n mu``, each of which is computed once for a public table and a schedule. A release computes the
ratios at its own budget.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from functools import cached_property
from weakref import WeakKeyDictionary

import numpy as np

from pmtcore.base.distributions import poisson_counts
from pmtcore.base.private_rows import PrivateRows
from pmtcore.base.symmetric import eigenvector_root
from pmtcore.glm import solvers
from pmtcore.glm.families import GAUSSIAN, Family
from pmtcore.glm.solvers import Data
from pmtcore.methods.gradients.frame import Frame
from pmtcore.methods.registry import OfPublicData
from pmtcore.public.moments import PublicData

# Number of simulated tables.
DRAWS = 8
# Number of draws that the mean square over all coefficients counts as, beside the draws of one coefficient.
_COMMON_DRAWS = 8
# Winsorization of errors, in standard deviations: in a coefficient's own mean square, and in the mean over all.
_MOST_DEVIATIONS, _MOST_DEVIATIONS_IN_COMMON = 10.0, 4.0
# Number of simulated rows per public row, and its limit in all.
_ROWS_PER_PUBLIC_ROW, _ENOUGH_ROWS = 4, 4000
# Reference numbers of private rows per public row: the first where there are fewer than the limit, else the second.
_FEW_ROWS_FACTOR, _MANY_ROWS_FACTOR, _FEW_ROWS_LIMIT = 1, 100, 3
# Private rows per public row from which on the factor ``1 + m/n`` of the prior covariance is below 1.034.
MANY_PRIVATE_ROWS = 30
# Public figures only.
_SQUARES: WeakKeyDictionary[PublicData, dict[tuple[Hashable, int], np.ndarray]] = WeakKeyDictionary()
_SIMULATED: WeakKeyDictionary[PublicData, dict[int, SimulatedRows]] = WeakKeyDictionary()


@dataclass(frozen=True, eq=False)
class SimulatedRows:
    """Simulated rows and the fit to them.

    Attributes:
        indices: places (k,) of their features among the public rows.
        response: (k,).
        fit: coefficients (d,) in whitened coordinates, with the problem's own penalty.
    """

    indices: np.ndarray
    response: np.ndarray
    fit: np.ndarray

    def private(self, features: np.ndarray, names: tuple[str, ...], weights: np.ndarray | None) -> PrivateRows:
        """Return the simulated rows as private rows.

        Args:
            features: of the public rows (m, d), in the coordinates that the method expects.
            names: of the columns.
            weights: of the public rows (m,), where the problem has weights.
        """
        response = self.response if weights is None else np.column_stack([self.response, weights[self.indices]])
        return PrivateRows.from_arrays(features[self.indices], response, names)


def simulated_table(frame: Frame, draw: int) -> SimulatedRows:
    """Return one simulated table, computed once for public data.

    Coefficients are drawn with covariance ``C (1 - m/k)``, to which the sampling error of k rows adds ``C m/k``. So the
    fit to the k rows has the covariance C around the public fit, as the fit to a large private table has.

    Args:
        frame: the public side.
        draw: number of the table.
    """
    stored = _SIMULATED.setdefault(frame.public, {})
    if draw not in stored:
        rng, m = np.random.default_rng([0, draw]), frame.m
        many = max(m, min(_ROWS_PER_PUBLIC_ROW * m, _ENOUGH_ROWS))
        centre, covariance = frame.public_fit
        spread = math.sqrt(1 - m / many) * _root(covariance)
        coefficients = centre + spread @ rng.standard_normal(len(centre))
        places = rng.integers(0, m, many)
        features, weights = frame.rows[places], frame.weights[places]
        predictor = features @ coefficients
        if frame.public.family is GAUSSIAN:
            response = predictor + frame.residuals(centre[None])[0, places]
        else:
            response = drawn_response(frame.public.family, predictor, _exposure(frame)[places], rng)
        fit = solvers.fit(Data(frame.public.family, features, response, weights), frame.penalty, coefficients)
        stored[draw] = SimulatedRows(places, response, fit)
    return stored[draw]


@dataclass(frozen=True)
class RehearsedPlan(OfPublicData, ABC):
    """A plan whose errors are compared with their covariance on simulated rows."""

    @property
    @abstractmethod
    def frame(self) -> Frame:
        """Return the public side."""

    @abstractmethod
    def rehearse(self) -> tuple[np.ndarray, np.ndarray]:
        """Return errors (draws, d) over simulated rows and their covariances (draws, d, d), whitened."""

    def in_table_units(self, covariance: np.ndarray) -> np.ndarray:
        """Return a covariance (d, d) of whitened coefficients in the units of the table."""
        return self.frame.to_table(self.frame.to_table(covariance).T)

    @cached_property
    def squared_deviations(self) -> np.ndarray:
        """Return squares (draws, d) of errors in standard deviations of their covariance, over simulated rows."""
        errors, covariances = self.rehearse()
        variances = np.stack([np.diag(self.in_table_units(covariance)) for covariance in covariances])
        return np.asarray(self.frame.to_table(errors) ** 2 / np.maximum(variances, 1e-300))

    @cached_property
    def error_ratios(self) -> np.ndarray:
        """Return the ratios (d,) of actual errors to standard deviations, at least 1; they are public figures."""
        return error_ratios(self.squared_deviations)


def _root(covariance: np.ndarray) -> np.ndarray:
    """Return K (d, d) with ``K K' = C``, triangular because eigenvectors may change discontinuously with C."""
    try:
        return np.linalg.cholesky((covariance + covariance.T) / 2)
    except np.linalg.LinAlgError:  # rounding leaves an eigenvalue below zero
        return eigenvector_root(covariance)


def _exposure(frame: Frame) -> np.ndarray:
    """Return the exposure (m,) of each public response, such that its variance is ``b''`` over the exposure."""
    if np.any(frame.response != np.round(frame.response)):
        return frame.weights / frame.prior.dispersion
    single = np.ones(frame.m)
    return single if frame.public.family.binary else single / frame.prior.dispersion


def drawn_response(family: Family, predictor: np.ndarray, exposure: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return labels, rates or counts (k,) drawn from a family: binomial or Poisson, over their exposure.

    Args:
        family: of labels or counts.
        predictor: (k,).
        exposure: trials of a rate, rounded, or units of a count (k,).
        rng: generator of public randomness.
    """
    mean = family.mean(predictor)
    if family.binary:
        trials = np.maximum(np.round(exposure), 1.0)
        return np.asarray(rng.binomial(trials.astype(np.int64), mean) / trials)
    return np.asarray(poisson_counts(mean * exposure, rng) / exposure)


def error_ratios(squares: np.ndarray) -> np.ndarray:
    """Return the ratios (d,) of actual errors to standard deviations, at least 1.

    The mean square of a coefficient's eight draws is imprecise, and is shrunk to that of all coefficients.

    Args:
        squares: squared deviations (draws, d).
    """
    common = np.mean(np.minimum(squares, _MOST_DEVIATIONS_IN_COMMON**2))
    sums = np.sum(np.minimum(squares, _MOST_DEVIATIONS**2), axis=0)
    return np.sqrt(np.maximum((sums + _COMMON_DRAWS * common) / (len(squares) + _COMMON_DRAWS), 1.0))


def reference_rows(public: PublicData, n: int) -> int:
    """Return the number of private rows at which decades are computed for a prediction at n rows."""
    m = public.m or 1
    return m * (_FEW_ROWS_FACTOR if n < _FEW_ROWS_LIMIT * m else _MANY_ROWS_FACTOR)


def interpolated_squares(
    public: PublicData, key: Hashable, noise_scale: float, squares_at: Callable[[float], np.ndarray]
) -> np.ndarray:
    """Return squared deviations (draws, d) at a budget, linear in its logarithm between decades.

    Args:
        public: public data, with which the squares at decades are cached.
        key: whatever else the squares depend on.
        noise_scale: ``n mu``.
        squares_at: function that computes the squares at a value of ``n mu``.
    """
    stored = _SQUARES.setdefault(public, {})
    place = math.log10(noise_scale)
    below = math.floor(place)
    squares = np.zeros((DRAWS, public.d))
    for decade, weight in ((below, below + 1 - place), (below + 1, place - below)):
        if weight > 0:
            if (key, decade) not in stored:
                stored[key, decade] = squares_at(10.0**decade)
            squares += weight * stored[key, decade]
    return squares
