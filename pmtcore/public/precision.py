"""A private and a public estimate of the same coefficients, combined by precision, each with its whole covariance.

With an estimate ``a`` of covariance A from private rows and 0 of covariance B from public ones, ``W = B (A + B)^{-1}``:
the best combination is ``W a``, of covariance ``W A W' + (I - W) B (I - W)'``, below both. The public one is trusted no
further than alike samples allow: where ``a'(A + B)^{-1} a/d`` is more than three standard deviations above 1, B is
widened by that ratio.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import final

import numpy as np

_FAR = 3.0  # standard deviations of a chi-square over its mean, beyond which samples count as apart


@final
@dataclass(frozen=True, eq=False)
class Combined:
    """Weights (d, d) of the private estimate, and by how much the public covariance was widened."""

    weight: np.ndarray
    widened: float

    def of_private(self, covariance: np.ndarray) -> np.ndarray:
        """What a part (d, d) of the private covariance leaves."""
        return np.asarray(self.weight @ covariance @ self.weight.T)

    def of_public(self, covariance: np.ndarray) -> np.ndarray:
        """What the public covariance (d, d) leaves."""
        rest = np.eye(len(self.weight)) - self.weight
        return np.asarray(self.widened * rest @ covariance @ rest.T)


def combine(away: np.ndarray, private: np.ndarray, public: np.ndarray) -> Combined:
    """Weights for a private estimate (d,) around the public one, from their covariances (d, d)."""
    d = len(away)
    size = float(away @ np.linalg.solve(private + public, away)) / d
    widened = size if size > 1 + _FAR * math.sqrt(2 / d) else 1.0
    held = widened * public
    return Combined(np.linalg.solve(private + held, held).T, widened)
