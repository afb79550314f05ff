"""Proximal steps of a lasso that is diagonal in other coordinates than those of the descent."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np

_SWEEPS = 200  # over the coordinates, at most
_STILL = 1e-9  # relative to the largest coefficient: far below the noise of a step
_ROUNDING = 1e-12  # of the largest coefficient: what going through W and back leaves of a zero


@final
@dataclass(frozen=True)
class Proximal:
    """``argmin_theta |theta - v|^2/2 + sum_j sharp_j |(W theta)_j|`` for a symmetric, invertible W.

    Attributes:
        root: W (d, d): coefficients of the table are ``W theta``.
        sharp: weights (d,).
    """

    root: np.ndarray
    back: np.ndarray
    metric: np.ndarray
    sharp: np.ndarray

    @classmethod
    def of(cls, root: np.ndarray, sharp: np.ndarray) -> Proximal:
        """With ``W^{-1}`` and the metric ``W^{-2}`` in which the table's coefficients move."""
        back = np.linalg.inv(root)
        return cls(root, back, back @ back, np.asarray(sharp, dtype=float))

    def step(self, v: np.ndarray) -> np.ndarray:
        """The minimizers (t, d) for v (t, d), by coordinate descent; v itself without weights."""
        if not np.any(self.sharp):
            return v
        goal = v @ self.root
        beta, diagonal = goal.copy(), np.diag(self.metric)
        for _ in range(_SWEEPS):
            before = beta.copy()
            for j in range(len(diagonal)):
                pull = (beta - goal) @ self.metric[:, j] - (beta[:, j] - goal[:, j]) * diagonal[j]
                free = goal[:, j] - pull / diagonal[j]
                beta[:, j] = np.sign(free) * np.maximum(np.abs(free) - self.sharp[j] / diagonal[j], 0.0)
            if np.max(np.abs(beta - before)) <= _STILL * max(float(np.max(np.abs(beta))), 1e-300):
                break
        return np.asarray(beta @ self.back)

    def table(self, theta: np.ndarray) -> np.ndarray:
        """``W theta`` (t, d), coefficients with a weight that are 0 but for rounding set to 0."""
        beta = theta @ self.root
        tiny = np.abs(beta) < _ROUNDING * np.max(np.abs(beta), axis=1, keepdims=True)
        return np.where(tiny & (self.sharp > 0), 0.0, beta)
