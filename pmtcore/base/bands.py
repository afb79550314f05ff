"""Standard errors and confidence limits of coefficients."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np


@dataclass(frozen=True)
class Bands:
    """Standard errors of the coefficients in their parts, and the 95 % limits; arrays of shape (d,).

    ``truncation`` is the error due to clipping rows to the radius, predicted from public rows; ``None`` where a method
    has no such prediction.

    Attributes:
        centre: (d,), centres of the limits: the coefficients before any shrinkage to the public fit.
        freedom: (d,), degrees of freedom of Student's law behind the limits.
        covariance: (d, d) of each part by its name; ``None`` where a method knows the variances alone.
    """

    privacy: np.ndarray
    sampling: np.ndarray
    low: np.ndarray
    high: np.ndarray
    truncation: np.ndarray | None = None
    centre: np.ndarray | None = None
    freedom: np.ndarray | None = None
    covariance: Mapping[str, np.ndarray] | None = None

    @property
    def parts(self) -> dict[str, np.ndarray]:
        """Return the standard errors by part; a part that is not known is left out."""
        parts = {"privacy": self.privacy, "sampling": self.sampling, "truncation": self.truncation}
        return {part: errors for part, errors in parts.items() if errors is not None}

    def rows(self) -> list[dict[str, float]]:
        """Return the parts and limits of each coefficient."""
        columns = {**self.parts, "low": self.low, "high": self.high}
        return [{part: float(values[j]) for part, values in columns.items()} for j in range(len(self.low))]

    def widened(self, factor: float, around: np.ndarray) -> Bands:
        """Return the bands with every standard error, and the limits' distance from their centre, times a factor.

        Args:
            factor: at least 1.
            around: centre of the limits (d,) where the bands name none.
        """
        centre = around if self.centre is None else self.centre
        return replace(
            self,
            privacy=factor * self.privacy,
            sampling=factor * self.sampling,
            truncation=None if self.truncation is None else factor * self.truncation,
            low=centre + factor * (self.low - centre),
            high=centre + factor * (self.high - centre),
            covariance=None
            if self.covariance is None
            else {part: factor**2 * matrix for part, matrix in self.covariance.items()},
        )
