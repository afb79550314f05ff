"""Proximal steps of a lasso that is diagonal in other coordinates than those of the descent."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

# Bound on sweeps over the coordinates.
_MOST_SWEEPS = 200
# Change that ends the sweeps, relative to the largest coefficient: far below the noise of a step.
_SWEEP_TOLERANCE = 1e-9
# Share of the largest coefficient that going through W and back may leave of a zero.
_RELATIVE_ZERO = 1e-12


@dataclass(frozen=True)
class Proximal:
    """Proximal operator ``argmin_theta |theta - v|^2/2 + sum_j sharp_j |(W theta)_j|`` for a symmetric, invertible W.

    Attributes:
        root: W (d, d): coefficients of the table are ``W theta``.
        back: ``W^{-1}`` (d, d).
        metric: ``W^{-2}`` (d, d).
        sharp: weights (d,).
    """

    root: np.ndarray
    back: np.ndarray
    metric: np.ndarray
    sharp: np.ndarray

    @classmethod
    def of(cls, root: np.ndarray, sharp: np.ndarray) -> Proximal:
        """Return the operator with ``W^{-1}`` and the metric ``W^{-2}`` in which the table's coefficients move."""
        back = np.linalg.inv(root)
        return cls(root, back, back @ back, np.asarray(sharp, dtype=float))

    def step(self, v: np.ndarray) -> np.ndarray:
        """Return the minimizers (t, d) for v (t, d), by coordinate descent; v itself without weights."""
        if not np.any(self.sharp):
            return v
        goal = v @ self.root
        beta, diagonal = goal.copy(), np.diag(self.metric)
        for _ in range(_MOST_SWEEPS):
            before = beta.copy()
            for j in range(len(diagonal)):
                pull = (beta - goal) @ self.metric[:, j] - (beta[:, j] - goal[:, j]) * diagonal[j]
                unpenalized = goal[:, j] - pull / diagonal[j]
                beta[:, j] = np.sign(unpenalized) * np.maximum(np.abs(unpenalized) - self.sharp[j] / diagonal[j], 0.0)
            if np.max(np.abs(beta - before)) <= _SWEEP_TOLERANCE * max(float(np.max(np.abs(beta))), 1e-300):
                break
        return np.asarray(beta @ self.back)

    def table(self, theta: np.ndarray) -> np.ndarray:
        """Return ``W theta`` (t, d); coefficients with a weight that differ from 0 by rounding only are set to 0."""
        beta = theta @ self.root
        negligible = np.abs(beta) < _RELATIVE_ZERO * np.max(np.abs(beta), axis=1, keepdims=True)
        return np.where(negligible & (self.sharp > 0), 0.0, beta)
