"""Standard errors and 95 % confidence limits from the parts of an error (proofs/bands.md, 7)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pmtcore.base.bands import Bands
from pmtcore.base.distributions import student
from pmtcore.base.messages import InputError, PublicMessage

_FEWEST_CLUSTERS = 10  # fewer groups leave fewer than 9 degrees of freedom for the variance between groups
_KNOWN_DOF = 1e12  # degrees of freedom of a variance that counts as known
_TINY = np.finfo(float).tiny
Z95 = 1.959964  # half of a 95 % band in standard deviations of a normal law


@dataclass(frozen=True)
class ErrorPart:
    """One part of an error: variances (d,) and the degrees of freedom (d,) behind them, infinite if known.

    Attributes:
        covariance: (d, d) with these variances on its diagonal; ``None`` where a method knows the variances alone.
    """

    variance: np.ndarray
    freedom: np.ndarray | float = np.inf
    covariance: np.ndarray | None = None

    @classmethod
    def of(cls, covariance: np.ndarray, freedom: np.ndarray | float = np.inf) -> ErrorPart:
        """Return the part with this covariance (d, d).

        A covariance that is a difference of two may have a variance below zero by rounding; it is set to zero.
        """
        return cls(np.maximum(np.diag(covariance), 0.0), freedom, np.asarray(covariance))

    def plus(self, other: ErrorPart) -> ErrorPart:
        """Return the sum of this part and an independent one."""
        total = self.variance + other.variance
        known = self.covariance is not None and other.covariance is not None
        both = np.asarray(self.covariance + other.covariance) if known else None  # type: ignore[operator]
        return ErrorPart(total, satterthwaite(self, other), both)

    def with_variance(self, variance: np.ndarray) -> ErrorPart:
        """Return the part with other variances (d,) and the same correlations."""
        if self.covariance is None:
            return ErrorPart(variance, self.freedom)
        stretch = np.divide(np.sqrt(variance), self.sd, out=np.zeros_like(variance), where=self.variance > 0)
        covariance = self.covariance * np.outer(stretch, stretch)
        np.fill_diagonal(covariance, variance)
        return ErrorPart(variance, self.freedom, covariance)

    def at_least(self, covariance: np.ndarray) -> ErrorPart:
        """Return the part with variances floored at the diagonal of a covariance (d, d), and the same correlations."""
        return self.with_variance(np.maximum(self.variance, np.diag(covariance)))

    @property
    def sd(self) -> np.ndarray:
        """Return standard errors (d,)."""
        return np.sqrt(self.variance)


def satterthwaite(*parts: ErrorPart) -> np.ndarray:
    """Return the degrees of freedom (d,) of a sum of independent parts (Satterthwaite).

    They are at most ``1e12``, which is also the value where all variances are zero.
    """
    total = np.sum([part.variance for part in parts], axis=0)
    positive = (total > 0) & np.isfinite(total)
    shares = [np.divide(part.variance, total, out=np.zeros_like(total), where=positive) for part in parts]
    return np.asarray(1 / np.maximum(sum(s**2 / p.freedom for s, p in zip(shares, parts, strict=True)), 1 / _KNOWN_DOF))


def limits(
    estimate: np.ndarray,
    privacy: ErrorPart,
    sampling: ErrorPart,
    truncation: ErrorPart | None = None,
    *,
    centre: np.ndarray | None = None,
) -> Bands:
    """Return standard errors of each part, and 95 % limits of their sum around ``centre``.

    The quantile is Student's, so that parts whose variance was estimated from few rows widen the limits.

    Args:
        estimate: the published coefficients (d,); the limits are widened to contain them.
        privacy: part from the noise of the mechanism.
        sampling: part from sampling the rows.
        truncation: part from truncated or clipped rows; ``None``: not stated separately.
        centre: coefficients (d,) around which the errors are; ``None``: the published ones.
    """
    centre = estimate if centre is None else centre
    parts = [privacy, sampling] + ([] if truncation is None else [truncation])
    total = np.sum([part.variance for part in parts], axis=0)
    freedom = np.maximum(satterthwaite(*parts), 1.0)
    half = student.ppf(0.975, freedom) * np.sqrt(total)
    named = {"privacy": privacy, "sampling": sampling} | ({} if truncation is None else {"truncation": truncation})
    covariances = {name: part.covariance for name, part in named.items() if part.covariance is not None}
    return Bands(
        privacy=privacy.sd,
        sampling=sampling.sd,
        low=np.minimum(centre - half, estimate),
        high=np.maximum(centre + half, estimate),
        truncation=None if truncation is None else truncation.sd,
        centre=np.asarray(centre, dtype=float),
        freedom=freedom,
        covariance=covariances if len(covariances) == len(named) else None,
    )


def robust_part(
    influence: np.ndarray, scale: float | np.ndarray, rows: int, clusters: np.ndarray | None = None
) -> ErrorPart:
    """Return a sampling part from public influence values (m, d): ``Var = scale * mean(influence^2) / rows``.

    Its degrees of freedom are ``2/cv^2``, ``cv`` the coefficient of variation of the mean of squares, and at most a
    quarter of the rows, which is the value for Gaussian rows with Gaussian errors (``E[r^4 x^4] = 9``).

    Args:
        influence: (m, d), in the units of the table.
        scale: factor of each variance.
        rows: number of rows of the fit whose error this is.
        clusters: the group (m,) of each public row: rows of a group are summed before they are squared
            (proofs/results.md, 5), and degrees of freedom count groups.
    """
    if clusters is not None:
        return _clustered_part(influence, scale, rows, clusters)
    squares = influence**2
    mean = np.mean(squares, axis=0)
    m = len(influence)
    variation = np.var(squares / np.maximum(mean, _TINY), axis=0) / m
    covariance = scale * (influence.T @ influence) / m / rows
    return ErrorPart(scale * mean / rows, 2 / np.maximum(variation, 8 / m), np.asarray(covariance))


def _clustered_part(influence: np.ndarray, scale: float | np.ndarray, rows: int, clusters: np.ndarray) -> ErrorPart:
    """Return the sampling part from sums s_g over groups: ``scale G/(G - 1) sum_g s_g s_g'/(m rows)``."""
    sums, correction = group_sums(influence, clusters)
    count = len(sums)
    of_groups = robust_part(sums, scale * correction * count / len(influence), rows)
    return ErrorPart(of_groups.variance, np.minimum(of_groups.freedom, count - 1), of_groups.covariance)


def group_sums(shifts: np.ndarray, clusters: np.ndarray) -> tuple[np.ndarray, float]:
    """Return the sums (G, q) over groups of shifts (m, q), and the correction ``G/(G - 1)`` of their mean square.

    Raises:
        InputError: too few groups.
    """
    groups = np.unique(clusters, return_inverse=True)[1]
    count = int(np.max(groups)) + 1
    if count < _FEWEST_CLUSTERS:
        raise InputError(PublicMessage.TOO_FEW_GROUPS, count=count, limit=_FEWEST_CLUSTERS)
    sums = np.zeros((count, shifts.shape[1]))
    np.add.at(sums, groups, shifts)
    return sums, count / (count - 1)


def bias_part(shifts: np.ndarray) -> ErrorPart:
    """Return the part of a bias estimated from its contribution in each public row (m, d).

    Its covariance is the outer product of the mean plus the sampling covariance of that mean.
    """
    mean, m = np.mean(shifts, axis=0), len(shifts)
    deviations = shifts - mean
    return ErrorPart.of(np.asarray(np.outer(mean, mean) + deviations.T @ deviations / (m - 1) / m))
