"""From the parts of an error to standard errors and 95 % limits (maths.md, 7)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np
from scipy.stats import t as student

from pmtcore.base.records import Bands

Z95 = 1.959964  # half of a 95 % band in standard deviations of a normal law


@final
@dataclass(frozen=True)
class Part:
    """One part of an error: variances (d,) and the degrees of freedom (d,) behind them, infinite if known."""

    variance: np.ndarray
    freedom: np.ndarray | float = np.inf

    def plus(self, other: Part) -> Part:
        """Both together, if independent; degrees of freedom by Satterthwaite's rule."""
        total = self.variance + other.variance
        doubt = self.variance**2 / self.freedom + other.variance**2 / other.freedom
        return Part(total, total**2 / np.maximum(doubt, 1e-300 + total**2 * 1e-12))

    @property
    def sd(self) -> np.ndarray:
        """Standard errors (d,)."""
        return np.sqrt(self.variance)


def limits(
    estimate: np.ndarray, centre: np.ndarray, privacy: Part, sampling: Part, truncation: Part | None = None
) -> Bands:
    """Standard errors of each part, and 95 % limits of their sum around ``centre``.

    A part that was itself estimated from few rows makes the limits wider: the quantile is Student's, with
    degrees of freedom combined by Satterthwaite's rule.

    Args:
        estimate: the published coefficients (d,); the limits are widened to contain them.
        centre: the coefficients (d,) the parts belong to.
    """
    parts = [privacy, sampling] + ([] if truncation is None else [truncation])
    total = np.sum([part.variance for part in parts], axis=0)
    doubt = np.sum([part.variance**2 / part.freedom for part in parts], axis=0)
    freedom = np.maximum(total**2 / np.maximum(doubt, 1e-300 + total**2 * 1e-12), 1.0)
    half = student.ppf(0.975, freedom) * np.sqrt(total)
    return Bands(
        privacy=privacy.sd,
        sampling=sampling.sd,
        low=np.minimum(centre - half, estimate),
        high=np.maximum(centre + half, estimate),
        truncation=None if truncation is None else truncation.sd,
    )


def robust_part(influence: np.ndarray, scale: float | np.ndarray, rows: int) -> Part:
    """A sampling part from public influence values (m, d): ``Var = scale * mean(influence^2) / rows``.

    Its degrees of freedom are ``2/cv^2``, ``cv`` the coefficient of variation of the mean of squares, but at
    most a quarter of the rows: what Gaussian rows with Gaussian errors have (``E[r^4 x^4] = 9``).
    """
    squares = influence**2
    mean = np.mean(squares, axis=0)
    m = len(influence)
    variation = np.var(squares, axis=0) / np.maximum(mean**2, 1e-300) / m
    return Part(scale * mean / rows, 2 / np.maximum(variation, 8 / m))
