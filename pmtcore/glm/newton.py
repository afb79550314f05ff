"""Newton's method for stacks of penalized generalized linear fits, and sums over rows for all of them at once.

Steps are damped by a rule that needs no line search: with ``|b'''| <= b''`` and ``||x|| <= r``, the step
``log(1 + a)/a`` times Newton's, ``a = r ||step||``, decreases the objective from anywhere, so convergence
does not hang on the data (generalized self-concordance). A full step is kept where it at least halves the
gradient.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import final

import numpy as np

from pmtcore.glm.families import Family

Derivatives = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]  # (t, d) -> gradients (t, d), Hessians (t, d, d)
_CHUNK_NUMBERS = 4_000_000  # in memory at once: 32 MB
_FEW_FITS = 4  # one by one up to here: making all products of columns costs as much as ten Hessians
ROWS_AT_ONCE = 4096  # sums are made in blocks of at most so many rows: rounding grows with the block, not the table
Tolerance = float | Callable[[np.ndarray], np.ndarray]  # of coefficients (t, d), if not of all: (t,)
_MOST_STEPS = 5000  # far beyond what damped steps need; reached by rounding alone
_BARELY = 1e-12  # a step shorter than this is taken as it is: log(1 + a)/a is 1


@final
@dataclass(frozen=True)
class Rows:
    """Rows of one fit in memory: features (k, d), responses (k,), weights of the loss (k,)."""

    features: np.ndarray
    response: np.ndarray
    weights: np.ndarray

    def sums(self, family: Family, theta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """``sum w (b' - y) x`` (t, d) and ``sum w b'' x x'`` (t, d, d) at coefficients (t, d)."""
        t, d = theta.shape
        if t <= _FEW_FITS:
            return self._one_by_one(family, theta)
        upper = np.triu_indices(d)
        gradient, packed = np.zeros((t, d)), np.zeros((t, len(upper[0])))
        step = min(max(256, _CHUNK_NUMBERS // max(3 * t, len(upper[0]))), ROWS_AT_ONCE)
        for start in range(0, len(self.response), step):
            part = slice(start, start + step)
            x, w = self.features[part], self.weights[part][:, None]
            z = x @ theta.T  # (k, t)
            gradient += (w * (family.mean(z) - self.response[part][:, None])).T @ x
            packed += (w * family.slope(z)).T @ (x[:, upper[0]] * x[:, upper[1]])
        return gradient, unpacked(packed, d)

    def _one_by_one(self, family: Family, theta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The same without the products of columns, which only many fits share."""
        t, d = theta.shape
        gradient, hessian = np.zeros((t, d)), np.zeros((t, d, d))
        for start in range(0, len(self.response), ROWS_AT_ONCE):
            part = slice(start, start + ROWS_AT_ONCE)
            x, w = self.features[part], self.weights[part][:, None]
            z = x @ theta.T  # (k, t)
            gradient += (w * (family.mean(z) - self.response[part][:, None])).T @ x
            for total, weight in zip(hessian, (w * family.slope(z)).T, strict=True):
                total += (x * weight[:, None]).T @ x
        return gradient, hessian

    def gradients(self, family: Family, theta: np.ndarray) -> np.ndarray:
        """``sum w (b' - y) x`` (t, d)."""
        residual = family.mean(self.features @ theta.T) - self.response[:, None]
        return np.asarray((self.weights[:, None] * residual).T @ self.features)


def unpacked(packed: np.ndarray, d: int) -> np.ndarray:
    """Symmetric matrices (t, d, d) from their upper triangles (t, d (d + 1) / 2)."""
    rows, columns = np.triu_indices(d)
    found = np.empty((len(packed), d, d))
    found[:, rows, columns] = packed
    found[:, columns, rows] = packed
    return found


def tolerance_at(tolerance: Tolerance, theta: np.ndarray) -> np.ndarray:
    """The tolerance at each of the coefficients, (t,)."""
    return tolerance(theta) if callable(tolerance) else np.full(len(theta), tolerance)


def minimize(derivatives: Derivatives, start: np.ndarray, reach: float, tolerance: Tolerance) -> np.ndarray:
    """Minimizers (t, d) of a stack of strictly convex objectives, to ``||gradient|| <= tolerance``.

    The tolerance may depend on the coefficients: what floating point can tell does.

    Args:
        reach: a bound on the length of the rows behind the objectives.

    Raises:
        RuntimeError: no convergence within thousands of steps, which rounding alone can cause.
    """
    theta = start.copy()
    gradient, hessian = derivatives(theta)
    size = np.linalg.norm(gradient, axis=1)
    for _ in range(_MOST_STEPS):
        live = np.flatnonzero(~(size <= tolerance_at(tolerance, theta)))
        if not len(live):
            return theta
        step = np.zeros_like(theta)
        step[live] = np.linalg.solve(hessian[live], gradient[live][..., None])[..., 0]
        found, steeper = derivatives(theta - step)
        after = np.linalg.norm(found, axis=1)
        bad = live[~(after[live] <= size[live] / 2) & ~(after[live] <= tolerance_at(tolerance, theta[live]))]
        if len(bad):
            length = reach * np.linalg.norm(step[bad], axis=1)
            step[bad] *= (np.log1p(length) / np.maximum(length, _BARELY))[:, None]
            found, steeper = derivatives(theta - step)
            after = np.linalg.norm(found, axis=1)
        theta, gradient, hessian, size = theta - step, found, steeper, after
    raise RuntimeError("the fit did not converge to the wanted precision")


def fit(family: Family, rows: Rows, penalty: np.ndarray, start: np.ndarray | None = None) -> np.ndarray:
    """Coefficients (d,) minimizing ``mean loss + theta' penalty theta / 2``, to rounding.

    A direction without curvature (separable labels and no penalty) is held by a ridge of ``1e-8``.
    """
    n, d = rows.features.shape
    held = penalty + 1e-8 * np.eye(d)

    def derivatives(theta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        gradient, hessian = rows.sums(family, theta)
        return gradient / n + theta @ held, hessian / n + held

    reach = float(np.max(np.linalg.norm(rows.features, axis=1)))
    scale = float(np.mean(np.abs(rows.weights * rows.response)) + 1.0) * reach
    return minimize(derivatives, np.zeros((1, d)) if start is None else start[None], reach, 1e-10 * scale)[0]
