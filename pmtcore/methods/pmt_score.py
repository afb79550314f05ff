"""``pmt-score``: one noisy score at the public fit; the rest of the equation is public.

    q = mean w x~ (y - b'(x~'c)) + g,   w = min(1, R/||x~||),   |y - b'| clipped to G,   g ~ N(0, (2 R G/(mu n))^2 I)
    solve  mean_pub w x~ (b'(x~'beta) - b'(x~'c)) = q

for any canonical link (proofs/score.md, 10). It releases d numbers only, and so is most accurate at small budgets and
in many dimensions. At large budgets its error has a floor, since the left side is a mean over m public rows.
Neighbours: replace-one. Public: the public data with labels, n, R, G.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from pmtcore.accounting.budgets import Budget, Spend
from pmtcore.base.bands import Bands
from pmtcore.base.messages import InputError, MethodMessage
from pmtcore.base.private_rows import Private, PrivateRows
from pmtcore.mechanisms.grid import FINE, SLACK, integer_vectors, noisy_vector
from pmtcore.mechanisms.noise import NoiseSource, SeededNoise, sigma_for
from pmtcore.mechanisms.truncation import cross_sensitivity, truncate_within
from pmtcore.mechanisms.whitening import row_products
from pmtcore.methods.facts import Facts
from pmtcore.methods.gradients.frame import Frame, in_frame_coordinates
from pmtcore.methods.pmt_objective import GlmParameters
from pmtcore.methods.registry import Method, Origin, StatisticOutcome, StatisticPlan, sound
from pmtcore.methods.score_equation import Posterior, ScoreEquation, ScorePlan
from pmtcore.public.moments import PublicData, inverse_root
from pmtcore.public.shape import Clip, choose_clip

_BOUND_FACTOR = 1.5  # residual bound of counts over the largest public residual


@dataclass(frozen=True)
class PublicPointPlan(ScorePlan, StatisticPlan[np.ndarray]):
    """``pmt-score`` with radius and residual bound fixed."""

    clip: Clip
    bound: float
    parameters: GlmParameters

    @property
    def sigma(self) -> float:
        """Return ``2 R G/(mu n)``."""
        return sigma_for(cross_sensitivity(self.clip.radius, self.bound, self.n), self.mu)

    @cached_property
    def equation(self) -> ScoreEquation:
        """Return the equation for a released score."""
        noise = self.sigma**2 * np.eye(self.public.d)
        return ScoreEquation(Frame(self.public, self.n), self.clip, noise, self.parameters.shrinkage != "none")

    def measure(self, rows: PrivateRows) -> Private[np.ndarray]:
        """Return the sum of weighted scores (d,), integers in units of ``R G/2^30``, private."""
        family, centre = self.public.family, self.frame.start[0][:, None]
        inverse = inverse_root(self.frame.root)

        def scores(features: np.ndarray, response: np.ndarray) -> np.ndarray:
            z = row_products(features, inverse)
            mean = family.mean(row_products(z, centre)[:, 0])
            residual = np.clip(response - mean, -self.bound, self.bound)
            return np.asarray(truncate_within(z, self.clip.radius) * residual[:, None])

        return integer_vectors(rows.in_equal_blocks(), scores, self.clip.radius * self.bound)

    def perturb(self, statistic: Private[np.ndarray], source: NoiseSource, trials: int) -> ScoreOutcome:
        """Return released scores.

        Guarantee: mu-GDP under replace-one: one Gaussian mechanism of sensitivity ``2 R G/n`` (proofs/score.md, 10),
        for the
        bits that leave (proofs/noise.md, 14).
        """
        unit = self.clip.radius * self.bound / FINE / self.n
        return ScoreOutcome(self, noisy_vector(statistic, (1 + SLACK) * 2 * FINE / self.mu, source, trials) * unit)

    @property
    def distance(self) -> np.ndarray:
        """Return the covariance (d, d) of the private fit around the public one."""
        return self.frame.start[1]

    def simulated_score(self, rows: PrivateRows, draw: int) -> tuple[np.ndarray, np.ndarray]:
        """See :class:`ScorePlan`."""
        alike = replace(self, n=rows.n, mu=self.mu * self.n / rows.n)  # with the same noise on a mean
        return self.frame.start[0], alike.perturb(alike.measure(rows), SeededNoise(1, draw), 1).statistic[0]

    def parts(self) -> tuple[Spend, ...]:
        """Return the spend on the score."""
        return (Spend.gaussian("score", cross_sensitivity(self.clip.radius, self.bound, self.n), self.sigma),)

    def facts(self) -> Facts:
        """Return the radius, residual bound, noise, predicted truncation."""
        return Facts(
            radius=self.clip.radius,
            noise_sd=self.sigma,
            predicted_truncation_rate=float(np.mean(self.frame.norms > self.clip.radius)),
            penalty=self.public.stated_penalty,
            prior_sd=self.public.prior_sd,
            more={"residual_bound": self.bound},
        )


class ScoreOutcome(StatisticOutcome[PublicPointPlan]):
    """Post-processing of released scores (trials, d)."""

    @cached_property
    def posterior(self) -> Posterior:
        """Return the solutions of the equation, combined with the public fit by precision."""
        points = np.tile(self.plan.frame.start[0], (len(self.statistic), 1))
        return self.plan.equation.solve(points, self.statistic)

    @property
    def coefficients(self) -> np.ndarray:
        """Return coefficients (trials, d) in the units of the table."""
        return self.plan.frame.to_table(self.posterior.fits)

    def bands(self) -> Bands:
        """Return intervals: noise, clipping and the public side of the equation; sampling (proofs/score.md, 10)."""
        return self.plan.bands(self.posterior)


@Method(
    id="pmt-score",
    title="Whitened score at the public fit",
    summary="Releases only d numbers, the score at the public fit: one mechanism and one pass.",
    origin=Origin("beyond A"),
    claim=sound(
        "one Gaussian mechanism on a bounded score; whatever is computed from it costs no more", "score", "integers"
    ),
    colour="#56B4E9",
    has_floor=("logistic", "poisson"),
    families=("logistic", "boosting", "poisson"),
    whitens=True,
)
def _plan(public: PublicData, n: int, budget: Budget, parameters: GlmParameters) -> PublicPointPlan:
    if public.rows is None:
        raise InputError(MethodMessage.ROWS_NEEDED, method="pmt-score")
    around = in_frame_coordinates(public)
    bound = 1.0
    if not public.family.binary:
        residual = public.rows[:, -1] - public.family.mean(public.rows[:, :-1] @ around.coefficients)
        bound = _BOUND_FACTOR * float(np.max(np.abs(residual)))
    noise = 2 * bound / (budget.mu * n)
    clip = Clip(parameters.radius) if parameters.radius else choose_clip(around, n, noise, (np.inf,), from_public=True)
    return PublicPointPlan(public, n, budget.mu, clip, bound, parameters)
