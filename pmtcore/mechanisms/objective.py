"""Objective perturbation for labels 0 and 1: one noise draw, and a Jacobian that costs nothing.

Proof: proofs/objective.md, 9.

Minimize ``sum w l(theta; x, y) + N(penalty) + (Lambda/2)||theta - c||^2 + b' theta`` with
``b ~ N(0, s^2 I)``: with scores of length at most R, ``s = 2 R/mu`` and a modulus of at least
``2 s^2 reach`` of all terms other than the data, the minimizer is mu-GDP under replace-one. The computed version has b
on a grid and releases the minimizer on a grid (``minimizer_release``).
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from pmtcore.accounting.budgets import Spend
from pmtcore.accounting.perturbed import least_modulus, noise_sd
from pmtcore.base.private_rows import RowCache
from pmtcore.glm.families import Family
from pmtcore.glm.rows import Rows
from pmtcore.glm.solvers import Penalty, minimize
from pmtcore.mechanisms.grid import FINE, SLACK
from pmtcore.mechanisms.minimizer import LossSums, MinimizerRelease, Reserve, Sums
from pmtcore.mechanisms.noise import NoiseSource

# Radius of the ball over 1 + |centre|: whitened coefficients beyond it saturate every row.
_RADIUS_PER_CENTRE_NORM = 100.0
# Bound on the second derivative of a label's loss.
_LABEL_CURVATURE = 0.25


@dataclass(frozen=True)
class Perturbation:
    """Objective perturbation with everything public fixed.

    Attributes:
        family: family of the labels.
        n: public number of rows.
        radius: bound on the length of a score.
        reach: rows are at most ``reach * radius`` long.
        mu: total budget under replace-one.
        penalty: (d, d), added to the mean loss as ``theta' penalty theta / 2``.
        centre: point (d,) towards which the extra modulus shrinks.
        extra: factor on the least modulus; 1 is what privacy needs.
    """

    family: Family
    n: int
    radius: float
    reach: float
    mu: float
    penalty: np.ndarray
    centre: np.ndarray
    extra: float = 1.0

    @property
    def reserve(self) -> Reserve:
        """Return the part of the budget for the error of the computed minimizer."""
        return Reserve(self.mu)

    @property
    def noise(self) -> float:
        """Return ``s``: standard deviation of each coordinate of b, on the scale of the sum of losses."""
        return (1 + SLACK) * noise_sd(self.radius, self.reserve.left)

    @property
    def modulus(self) -> float:
        """Return ``Lambda``: the modulus that must be added to that of the penalty."""
        return self.extra * max(least_modulus(self.noise, self.reach) - max(self._penalty_modulus, 0.0), 1e-9)

    @property
    def _penalty_modulus(self) -> float:
        return self.n * float(np.linalg.eigvalsh(self.penalty)[0])

    @cached_property
    def minimizer_release(self) -> MinimizerRelease:
        """Return the bound on the computed minimizer's distance from the exact one, and its release grid."""
        d, centre = len(self.centre), float(np.linalg.norm(self.centre))
        quadratic_norm = float(np.linalg.norm(self.n * self.penalty + self.modulus * np.eye(d)))
        sums = Sums(
            n=self.n,
            d=d,
            length=self.radius,
            row=self.reach * self.radius,
            score=1.0,
            curvature=_LABEL_CURVATURE,
            response=1.0,
            quadratic_norm=quadratic_norm,
            centre=centre,
            noise=self.noise,
        )
        ball, modulus = _RADIUS_PER_CENTRE_NORM * (1 + centre), self.modulus + max(self._penalty_modulus, 0.0)
        return MinimizerRelease.of(sums, self.centre, ball, modulus, step_of_noise=self.noise / FINE)

    @property
    def covering_sd(self) -> float:
        """Return the standard deviation of the noise that covers the error of the computed minimizer."""
        return self.minimizer_release.covering_sd(self.reserve)

    def parts(self) -> tuple[Spend, ...]:
        """Return the spends: the sum of scores hidden by the objective's noise, and the error of the minimizer."""
        return (
            Spend.gaussian("sum of scores, in a perturbed objective", 2 * self.radius, self.noise / (1 + SLACK)),
            self.minimizer_release.spend(self.reserve),
        )

    def release(self, rows: RowCache[Rows], source: NoiseSource, trials: int) -> np.ndarray:
        """Return minimizers (trials, d), each with its own noise.

        Args:
            rows: private clipped and weighted rows.
            source: source of the noise.
            trials: number of independent releases.

        Guarantee: mu-GDP under replace-one for labels 0 and 1 with a family of ``|b' - y| <= 1`` and
        ``b'' <= p(1 - p)``, rows within ``reach * radius`` and ``weight * ||x|| <= radius`` (proofs/objective.md,
        9.1), as the
        epsilon that it means at every delta from 1e-300 on, for the bits that leave (proofs/minimizer.md, 21).
        """
        b = source.integers(FINE, trials, len(self.centre)) * (self.noise / FINE)
        return self.minimizer_release.covered(self._minimizers(rows, self.n, b), self.reserve, source)

    def _minimizers(self, rows: RowCache[Rows], threads: int, b: np.ndarray) -> np.ndarray:
        """Return minimizers (trials, d) for noise b (trials, d) on the sum over n rows; ``threads``: rows at hand."""
        share = threads / self.n
        data = LossSums(rows, self.family, self.radius, threads)
        penalty = Penalty.of(share * b, share * self.modulus, self.centre, matrix=threads * self.penalty)

        def tolerance(theta: np.ndarray) -> np.ndarray:
            return share * self.minimizer_release.tolerance(theta)

        return minimize(data, penalty, tolerance).theta

    def simulated(self, rows: RowCache[Rows], many: int, rng: np.random.Generator) -> np.ndarray:
        """Return a minimizer (d,) for simulated rows in place of n private ones; no mechanism: nothing is protected.

        Args:
            rows: simulated rows, clipped and weighted.
            many: number of them.
            rng: generator of public randomness.
        """
        noise, cover = rng.standard_normal((2, len(self.centre)))
        return np.asarray(self._minimizers(rows, many, self.noise * noise[None])[0] + self.covering_sd * cover)
