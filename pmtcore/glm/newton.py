"""Newton's method for stacks of penalized generalized linear fits, and sums over rows for all of them at once.

Steps are damped by a rule that needs no line search: with ``|b'''| <= b''`` and ``||x|| <= r``, the step
``log(1 + a)/a`` times Newton's, ``a = r ||step||``, decreases the objective from anywhere, so convergence
does not depend on the data (generalized self-concordance). A full step is taken where it at least halves the
gradient.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol, final

import numpy as np

from pmtcore.glm.families import Family

Curve = Callable[[np.ndarray, np.ndarray], np.ndarray]
Derivatives = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]  # (t, d) -> gradients (t, d), Hessians (t, d, d)
# Numbers in memory at once: 32 MB.
_NUMBERS_AT_ONCE = 4_000_000
# Up to so many fits go one by one: making all products of columns costs as much as ten Hessians.
_MOST_FITS_ONE_BY_ONE = 4
# So many columns have more products than a block of rows and its fits fill: fits of them go one by one too, which at 97
# columns takes a quarter of the time for 14 fits and as long for 60.
_WIDE = 64
# Sums are made in blocks of at most so many rows: rounding grows with the block, not the table.
ROWS_AT_ONCE = 4096
Tolerance = float | Callable[[np.ndarray], np.ndarray]  # of coefficients (t, d), if not of all: (t,)
# Far beyond what damped steps need; reached by rounding alone.
_MOST_STEPS = 5000
# A step shorter than this is taken as it is: log(1 + a)/a is 1.
_LEAST_DAMPED_LENGTH = 1e-12


class Differentiable(Protocol):
    """Loss of one row, a family's or one with bounds: ``l'`` and ``l''`` as functions of (z, y)."""

    @property
    def first(self) -> Curve:
        """Return ``l'``, broadcast over z and y."""

    @property
    def second(self) -> Curve:
        """Return ``l''``, broadcast over z and y."""


@final
@dataclass(frozen=True)
class Rows:
    """Rows of one fit in memory.

    Attributes:
        features: (k, d).
        response: (k,).
        weights: weights of the loss (k,).
    """

    features: np.ndarray
    response: np.ndarray
    weights: np.ndarray

    def sums(self, loss: Differentiable, theta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return ``sum w l' x`` (t, d) and ``sum w l'' x x'`` (t, d, d) at coefficients (t, d)."""
        t, d = theta.shape
        one_by_one = t <= _MOST_FITS_ONE_BY_ONE or d > _WIDE
        upper = np.triu_indices(d)
        gradient, packed, hessian = np.zeros((t, d)), np.zeros((t, len(upper[0]))), np.zeros((t, d, d))
        for part in self.parts(max(t, d) if one_by_one else max(t, len(upper[0]))):
            x, y, w = self.features[part], self.response[part, None], self.weights[part, None]
            z = x @ theta.T  # (k, t)
            gradient += (w * loss.first(z, y)).T @ x
            curvature = w * loss.second(z, y)
            if one_by_one:
                # Products of columns pay only for many fits.
                for total, weight in zip(hessian, curvature.T, strict=True):
                    total += (x * weight[:, None]).T @ x
            else:
                packed += curvature.T @ self._products_of(part)
        return gradient, hessian if one_by_one else unpacked(packed, d)

    def parts(self, width: int) -> list[slice]:
        """Return blocks of rows of which so many numbers each fit in memory at once."""
        step = min(max(256, _NUMBERS_AT_ONCE // max(width, 1)), ROWS_AT_ONCE)
        return [slice(start, start + step) for start in range(0, len(self.response), step)]

    def _products_of(self, part: slice) -> np.ndarray:
        """Return the products of columns (k, d (d + 1) / 2) of a block; of few rows all are kept."""
        n, d = self.features.shape
        if n * d * (d + 1) // 2 <= _NUMBERS_AT_ONCE:
            return np.asarray(self._products[part])
        rows, columns = np.triu_indices(d)
        return np.asarray(self.features[part][:, rows] * self.features[part][:, columns])

    @cached_property
    def _products(self) -> np.ndarray:
        rows, columns = np.triu_indices(self.features.shape[1])
        return np.asarray(self.features[:, rows] * self.features[:, columns])


def unpacked(packed: np.ndarray, d: int) -> np.ndarray:
    """Return symmetric matrices (t, d, d) from their upper triangles (t, d (d + 1) / 2)."""
    rows, columns = np.triu_indices(d)
    matrices = np.empty((len(packed), d, d))
    matrices[:, rows, columns] = packed
    matrices[:, columns, rows] = packed
    return matrices


def tolerance_at(tolerance: Tolerance, theta: np.ndarray) -> np.ndarray:
    """Return the tolerance at each of the coefficients, shape (t,)."""
    return tolerance(theta) if callable(tolerance) else np.full(len(theta), tolerance)


def minimize(derivatives: Derivatives, start: np.ndarray, reach: float, tolerance: Tolerance) -> np.ndarray:
    """Minimize a stack of strictly convex objectives, to ``||gradient|| <= tolerance``.

    Args:
        derivatives: from coefficients (t, d) to gradients (t, d) and Hessians (t, d, d).
        start: first coefficients (t, d).
        reach: bound on the length of the rows behind the objectives.
        tolerance: one number, or a function of the coefficients, as the resolution of floating point is.

    Returns:
        Minimizers (t, d).

    Raises:
        RuntimeError: no convergence within thousands of steps, which rounding alone can cause.
    """
    theta = start.copy()
    gradient, hessian = derivatives(theta)
    size = np.linalg.norm(gradient, axis=1)
    for _ in range(_MOST_STEPS):
        active = np.flatnonzero(~(size <= tolerance_at(tolerance, theta)))
        if not len(active):
            return theta
        step = np.zeros_like(theta)
        step[active] = np.linalg.solve(hessian[active], gradient[active][..., None])[..., 0]
        next_gradient, next_hessian = derivatives(theta - step)
        next_size = np.linalg.norm(next_gradient, axis=1)
        damped = active[
            ~(next_size[active] <= size[active] / 2) & ~(next_size[active] <= tolerance_at(tolerance, theta[active]))
        ]
        if len(damped):
            length = reach * np.linalg.norm(step[damped], axis=1)
            step[damped] *= (np.log1p(length) / np.maximum(length, _LEAST_DAMPED_LENGTH))[:, None]
            next_gradient, next_hessian = derivatives(theta - step)
            next_size = np.linalg.norm(next_gradient, axis=1)
        theta, gradient, hessian, size = theta - step, next_gradient, next_hessian, next_size
    raise RuntimeError("the fit did not converge to the wanted precision")


def fit(family: Family, rows: Rows, penalty: np.ndarray, start: np.ndarray | None = None) -> np.ndarray:
    """Return the coefficients (d,) that minimize ``mean loss + theta' penalty theta / 2``, to rounding.

    A ridge of ``1e-8`` is added, so that a direction without curvature (separable labels and no penalty) has a minimum.

    Args:
        family: family of the responses.
        rows: the rows.
        penalty: (d, d).
        start: first coefficients (d,); 0 if None.
    """
    n, d = rows.features.shape
    penalty_matrix = penalty + 1e-8 * np.eye(d)

    def derivatives(theta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        gradient, hessian = rows.sums(family, theta)
        return gradient / n + theta @ penalty_matrix, hessian / n + penalty_matrix

    reach = float(np.max(np.linalg.norm(rows.features, axis=1)))
    scale = float(np.mean(np.abs(rows.weights * rows.response)) + 1.0) * reach
    return minimize(derivatives, np.zeros((1, d)) if start is None else start[None], reach, 1e-10 * scale)[0]
