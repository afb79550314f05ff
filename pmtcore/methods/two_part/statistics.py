"""Sufficient statistics perturbation with two parts, as A and B have it: Gram matrix and cross moment apart.

Shared by ``pmt-ols``, ``pmt-ridge`` (whitened rows) and ``dp-ols``, ``dp-ridge`` (untransformed rows). The budget mu is
the total: each of the two mechanisms runs at ``mu/sqrt(2)``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from pmtcore.accounting.budgets import Spend
from pmtcore.base.bands import Bands
from pmtcore.base.messages import Note, ReleaseNote
from pmtcore.base.private_rows import Private, PrivateRows
from pmtcore.base.symmetric import upper_triangle
from pmtcore.mechanisms import truncation
from pmtcore.mechanisms.grid import SCALE, SLACK, integer_sum, noisy_symmetric, noisy_vector
from pmtcore.mechanisms.integers import gram_and_cross
from pmtcore.mechanisms.noise import NoiseSource, sigma_for
from pmtcore.mechanisms.whitening import row_products
from pmtcore.methods.facts import Facts
from pmtcore.methods.registry import OfPublicData, Outcome, Prediction, StatisticPlan
from pmtcore.public.bands import ErrorPart, limits
from pmtcore.public.moments import PublicData, equilibrated_solve


@dataclass(frozen=True)
class Coordinates:
    """Coordinates of the statistic: ``x~ = W x``, ``y~ = y / scale``, truncated to ``Rx`` and ``Ry``."""

    root: np.ndarray  # W (d, d); beta = scale W' beta~
    scale: float
    radius: float
    response_radius: float

    def statistic(self, features: np.ndarray, response: np.ndarray) -> np.ndarray:
        """Return sums of ``x~ x~'`` and ``x~ y~`` of one block, side by side (d, d + 1), integers in units of 2^-30."""
        rows = row_products(features, self.root.T)
        return gram_and_cross(rows, response / self.scale, self.radius, self.response_radius)


def predicted_truncation(public: PublicData, root: np.ndarray, radius: float) -> float | None:
    """Return the share of public rows ``W x`` outside the radius; none without public rows."""
    if public.rows is None:
        return None
    return truncation.truncation_rate(np.linalg.norm(public.rows[:, :-1] @ root.T, axis=1), radius)


@dataclass(frozen=True)
class TwoPartPlan(OfPublicData, StatisticPlan[np.ndarray]):
    """Release the two sums with the papers' noise and solve.

    Args:
        penalty: matrix (d, d) that is added to the Gram matrix, in the coordinates of the statistic.
        response_noise_factor: 1; less only for a printed form that a lab method reproduces.
        calibration: ``joint``: three quarters of the papers' noise (proofs/sensitivity.md, 3.5).
    """

    coordinates: Coordinates
    penalty: np.ndarray
    response_noise_factor: float = 1.0
    calibration: str = "papers"

    @property
    def sigmas(self) -> tuple[float, float]:
        """Return ``2 R^2/(mu' n)`` and ``2 R Ry/(mu' n)`` with ``mu' = mu/sqrt(2)`` (A, Alg. 2 line 4)."""
        part = self.mu / math.sqrt(2)
        c, factor = self.coordinates, truncation.calibration_factor("two parts", self.calibration)
        return (
            sigma_for(truncation.papers_moment_sensitivity(c.radius, self.n), part) * factor,
            sigma_for(truncation.cross_sensitivity(c.radius, c.response_radius, self.n), part)
            * (factor * self.response_noise_factor),
        )

    @property
    def units(self) -> tuple[float, float]:
        """Return the size of one integer step in the means: ``R^2/(2^30 n)`` and ``R Ry/(2^30 n)``."""
        c = self.coordinates
        return c.radius**2 / SCALE**2 / self.n, c.radius * c.response_radius / SCALE**2 / self.n

    def measure(self, rows: PrivateRows) -> Private[np.ndarray]:
        """Return sums for Gram matrix and cross moment side by side (d, d + 1), integers, private."""
        return integer_sum(rows.in_equal_blocks(), self.coordinates.statistic)

    def perturb(self, statistic: Private[np.ndarray], source: NoiseSource, trials: int) -> TwoPartOutcome:
        """Return Gram matrix and cross moment with noise.

        Guarantee: each is ``mu/sqrt(2)``-GDP under replace-one, together mu-GDP (A, Theorem 4.2); jointly calibrated
        ones together by proofs/sensitivity.md, 3.5; for the bits that leave (proofs/noise.md, 14).
        """
        (gram_sigma, cross_sigma), (gram_unit, cross_unit) = self.sigmas, self.units
        first, second = (1 + SLACK) * gram_sigma / gram_unit, (1 + SLACK) * cross_sigma / cross_unit
        gram = noisy_symmetric(statistic.map(lambda s: s[:, :-1]), first, source, trials, form="papers")
        cross = noisy_vector(statistic.map(lambda s: s[:, -1]), second, source, trials)
        return TwoPartOutcome(self, gram * gram_unit, cross * cross_unit)

    def predicted(self) -> Prediction | None:
        """Return first-order standard errors with the public moment and fit in place of the private ones."""
        public = self.public
        if public.m is None or public.m <= public.d:
            return None
        gram = self.coordinates.root @ public.moment[:-1, :-1] @ self.coordinates.root.T
        b = np.linalg.solve(self.coordinates.root.T, public.coefficients) / self.coordinates.scale
        privacy, sampling = self.error_parts(gram + self.penalty, b)
        return Prediction(np.sqrt(np.diag(privacy)), np.sqrt(np.diag(sampling)))

    def error_parts(self, gram: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return privacy and sampling covariance (d, d) of the coefficients at a penalized Gram matrix and solution."""
        gram_sigma, cross_sigma = self.sigmas
        from_gram = gram_sigma**2 * (b @ b * np.eye(len(b)) + np.outer(b, b) - np.diag(b**2))
        inverse = self.coordinates.root.T @ equilibrated_solve(gram, np.eye(len(gram)))
        noise = from_gram + cross_sigma**2 * np.eye(len(b))
        public = self.public
        variance = public.residual_scale**2 * public.m / (public.m - public.d) if public.m else np.nan
        return (
            self.coordinates.scale**2 * inverse @ noise @ inverse.T,
            variance * inverse @ (gram - self.penalty) @ inverse.T / self.n,
        )

    def parts(self) -> tuple[Spend, ...]:
        """Return Gram matrix and cross moment, together where they are calibrated together."""
        if self.calibration == "joint":
            return (Spend.gaussian("Gram matrix and cross moment, each over its noise", self.mu, 1.0),)
        c, (gram_sigma, cross_sigma) = self.coordinates, self.sigmas
        cross = truncation.cross_sensitivity(c.radius, c.response_radius, self.n)
        return (
            Spend.gaussian("Gram matrix", truncation.papers_moment_sensitivity(c.radius, self.n), gram_sigma),
            Spend.gaussian("cross moment", cross, cross_sigma),
        )

    def facts(self) -> Facts:
        """Return radii, noise scales and the predicted truncation rate."""
        gram_sigma, cross_sigma = self.sigmas
        return Facts(
            radius=self.coordinates.radius,
            noise_sd=gram_sigma,
            predicted_truncation_rate=predicted_truncation(self.public, self.coordinates.root, self.coordinates.radius),
            more={"response_radius": self.coordinates.response_radius, "response_noise_sd": cross_sigma},
        )


class TwoPartOutcome(Outcome):
    """Post-processing of released pairs (trials, d, d) and (trials, d)."""

    def __init__(self, plan: TwoPartPlan, gram: np.ndarray, cross: np.ndarray) -> None:
        self.plan = plan
        self.gram = gram + plan.penalty
        self.cross = cross

    def transcript(self) -> np.ndarray:
        """Return both released statistics."""
        return np.column_stack([upper_triangle(self.gram), self.cross])

    @cached_property
    def whitened(self) -> np.ndarray:
        """Return the solution in the coordinates of the statistic (trials, d)."""
        return np.asarray(np.linalg.solve(self.gram, self.cross[..., None])[..., 0])

    @property
    def coefficients(self) -> np.ndarray:
        """Return ``scale W' beta~`` (trials, d) (A, Alg. 2 line 6)."""
        return np.asarray(self.plan.coordinates.scale * self.whitened @ self.plan.coordinates.root)

    @cached_property
    def indefinite(self) -> bool:
        """Return whether the noise made the first trial's matrix indefinite."""
        return bool(np.linalg.eigvalsh(self.gram[0])[0] <= 0)

    def bands(self) -> Bands | None:
        """Return first-order privacy part, and sampling part by the public residual variance (proofs/bands.md, 7)."""
        public = self.plan.public
        if self.indefinite or public.m is None or public.m <= public.d:
            return None
        privacy, sampling = self.plan.error_parts(self.gram[0], self.whitened[0])
        estimate = self.coefficients[0]
        return limits(estimate, ErrorPart.of(privacy), ErrorPart.of(sampling, public.m - public.d))

    def notes(self) -> tuple[str, ...]:
        """Return a note where the noise made the matrix indefinite."""
        return (Note(ReleaseNote.INDEFINITE),) if self.indefinite else ()
