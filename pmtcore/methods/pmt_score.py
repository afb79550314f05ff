"""``pmt-score``: one noisy score at the public fit; the rest of the equation is public.

    q = mean w x~ (y - b'(x~'c)) + g,   w = min(1, R/||x~||),   |y - b'| clipped to G,   g ~ N(0, (2 R G/(mu n))^2 I)
    solve  mean_pub w x~ (b'(x~'beta) - b'(x~'c)) = q

for any canonical link (proofs/score.md, 10). Few numbers leave, so it does best at small
budgets and in many dimensions; the public side of the equation is a mean of m rows, which leaves a floor at
large ones. Neighbours: replace-one. Public: the public data with labels, n, R, G.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from pmtcore.accounting.budgets import Budget, Spend
from pmtcore.base.bands import Bands
from pmtcore.base.messages import InputError, MethodMessage
from pmtcore.base.private_rows import Private, PrivateRows
from pmtcore.glm.rows import Rows
from pmtcore.mechanisms.grid import FINE, SLACK, integer_vectors, noisy_vector
from pmtcore.mechanisms.noise import NoiseSource, sigma_for
from pmtcore.mechanisms.truncation import bounded, cross_sensitivity
from pmtcore.methods.facts import Facts
from pmtcore.methods.pmt_objective import Free, GlmParameters, glm_bands
from pmtcore.methods.registry import REPLACE_ONE, Method, Origin, Outcome, Prediction, StatisticPlan, register, sound
from pmtcore.public.bands import robust_part
from pmtcore.public.moments import PublicData, back_transform, whiten
from pmtcore.public.shape import Clip, Shape, choose_clip, public_score_covariance

_STEPS = 60  # of Levenberg and Marquardt, from the public fit, which is near
_ROOM = 1.5  # the residual bound of counts: this many times the largest public residual


@dataclass(frozen=True)
class ScorePlan(StatisticPlan[np.ndarray]):
    """``pmt-score`` with radius and residual bound fixed."""

    public: PublicData
    n: int
    mu: float
    clip: Clip
    bound: float
    parameters: GlmParameters

    @property
    def sigma(self) -> float:
        """``2 R G/(mu n)``."""
        return sigma_for(cross_sensitivity(self.clip.radius, self.bound, self.n), self.mu)

    @cached_property
    def shape(self) -> Shape:
        """Return the public rows' norms, influence and curvature."""
        return Shape.of(self.public)

    @cached_property
    def rows(self) -> Rows:
        """Public rows, weighted, with the means at the public fit as responses."""
        rows = self.shape.clipped(self.clip)
        return Rows(
            self.shape.rows.features,
            self.public.family.mean(self.shape.rows.features @ self.public.centre),
            rows.weights,
        )

    def measure(self, rows: PrivateRows) -> Private[np.ndarray]:
        """Return the sum of weighted scores (d,), integers in units of ``R G/2^30``, private."""
        root, family, centre = self.public.feature_root, self.public.family, self.public.centre

        def scores(features: np.ndarray, response: np.ndarray) -> np.ndarray:
            z = whiten(root, features)
            residual = np.clip(response - family.mean(z @ centre), -self.bound, self.bound)
            return np.asarray(bounded(z, self.clip.radius) * residual[:, None])

        return integer_vectors(rows, scores, self.clip.radius * self.bound)

    def perturb(self, statistic: Private[np.ndarray], source: NoiseSource, trials: int) -> ScoreOutcome:
        """Return released scores.

        Guarantee: mu-GDP under replace-one: one Gaussian mechanism of sensitivity ``2 R G/n`` (proofs/score.md, 10),
        for the
        bits that leave (proofs/noise.md, 14).
        """
        unit = self.clip.radius * self.bound / FINE / self.n
        return ScoreOutcome(self, noisy_vector(statistic, (1 + SLACK) * 2 * FINE / self.mu, source, trials) * unit)

    @cached_property
    def doubt(self) -> np.ndarray:
        """Covariance (d, d) of the equation: noise, and the public side being a mean of m rows."""
        return np.asarray(self.sigma**2 * np.eye(self.public.d) + public_score_covariance(self.shape, self.rows))

    @property
    def clusters_errors(self) -> bool:
        """Sampling errors are summed over groups first."""
        return True

    def predicted(self) -> Prediction | None:
        """Privacy sd, the floor of the public side included, and sampling sd."""
        inverse = np.linalg.inv(self.shape.hessians(self.rows, self.public.centre[None])[0])
        table = back_transform(self.public.feature_root, inverse)
        privacy = np.sqrt(np.einsum("ji,jk,ki->i", table, self.doubt, table))
        influence = back_transform(self.public.feature_root, self.shape.influence)
        return Prediction(privacy, robust_part(influence, 1.0, self.n, self.public.clusters).sd)

    def prepare(self) -> None:
        """Compute the figures and the law of the score, which intervals need."""
        self.facts()
        self.predicted()

    def parts(self) -> tuple[Spend, ...]:
        """Return the spend on the score."""
        return (Spend.gaussian("score", cross_sensitivity(self.clip.radius, self.bound, self.n), self.sigma),)

    def facts(self) -> Facts:
        """Radius, residual bound, noise, predicted truncation."""
        return Facts(
            radius=self.clip.radius,
            noise_sd=self.sigma,
            predicted_truncation_rate=float(np.mean(self.shape.norms > self.clip.radius)),
            penalty=self.public.lam,
            more={"residual_bound": self.bound},
        )


class ScoreOutcome(Outcome):
    """Post-processing of released scores (trials, d)."""

    def __init__(self, plan: ScorePlan, score: np.ndarray) -> None:
        self.plan = plan
        # the penalized score of the whole problem at the public fit
        self.score = score - plan.public.penalty @ plan.public.centre

    def seen(self) -> np.ndarray:
        """Return the released scores."""
        return self.score

    def _solve(self, precision_of_public: np.ndarray) -> np.ndarray:
        """Minimizers (t, d) of ``|G(theta) - q|^2`` in the metric of the doubt plus the prior's pull.

        Levenberg's damping, all trials at once; ``G`` is the penalized score of the public rows less its
        value at the public fit.
        """
        plan, public = self.plan, self.plan.public
        metric = np.linalg.inv(plan.doubt)

        def at(theta: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
            gradient, hessian = plan.rows.sums(public.family, theta)
            m = len(plan.rows.response)
            gap = gradient / m + (theta - public.centre) @ public.penalty - self.score
            away = theta - public.centre
            cost = np.einsum("ti,ij,tj->t", gap, metric, gap)
            cost += np.einsum("ti,ij,tj->t", away, precision_of_public, away)
            return gap, hessian / m + public.penalty, cost

        theta = np.broadcast_to(public.centre, self.score.shape).copy()
        gap, jacobian, cost = at(theta)
        damping = np.full(len(theta), 1e-3)
        for _ in range(_STEPS):
            curvature = jacobian @ metric @ jacobian + precision_of_public
            slope = np.einsum("tij,jk,tk->ti", jacobian, metric, gap) + (theta - public.centre) @ precision_of_public
            size = np.trace(curvature, axis1=1, axis2=2)[:, None, None] / public.d * np.eye(public.d)
            step = np.linalg.solve(curvature + damping[:, None, None] * size, slope[..., None])[..., 0]
            next_gap, next_jacobian, after = at(theta - step)
            better = after <= cost
            damping = np.where(better, damping / 5, damping * 5)
            theta = np.where(better[:, None], theta - step, theta)
            gap, jacobian = (
                np.where(better[:, None], next_gap, gap),
                np.where(better[:, None, None], next_jacobian, jacobian),
            )
            cost = np.where(better, after, cost)
        return theta

    @cached_property
    def whitened(self) -> np.ndarray:
        """Coefficients (trials, d), combined with the public fit by precision."""
        if self.plan.parameters.shrinkage == "none":
            return self.free
        return self._solve(self._prior_precision())

    @cached_property
    def free(self) -> np.ndarray:
        """Coefficients (trials, d) from the score alone, with a prior a hundred times wider."""
        return self._solve(self._prior_precision() / 1e4)

    def _prior_precision(self) -> np.ndarray:
        """Inverse (d, d) of the prior, in which no direction is known a million times better than another one.

        Where the penalty of a column in tiny units leaves it no freedom at all, the prior is singular in rounding.
        """
        values, vectors = np.linalg.eigh(self.plan.shape.prior(self.plan.n))
        return np.asarray(vectors / np.maximum(values, 1e-12 * values[-1]) @ vectors.T)

    @property
    def coefficients(self) -> np.ndarray:
        """Coefficients (trials, d) in the units of the table."""
        return back_transform(self.plan.public.feature_root, self.whitened)

    def bands(self) -> Bands:
        """Privacy (with the public side's floor), sampling and truncation parts (proofs/objective.md, 9.4 and 10)."""
        plan = self.plan
        inverse = np.linalg.inv(plan.shape.hessians(plan.rows, self.free[:1])[0])
        noise = inverse @ plan.doubt @ inverse
        clipped = Rows(plan.rows.features, plan.shape.rows.response, plan.rows.weights)
        combined = plan.parameters.shrinkage != "none"
        return glm_bands(
            plan.shape, clipped, Free(self.free[0], inverse, noise), self.coefficients[0], n=plan.n, combined=combined
        )


def _plan(public: PublicData, n: int, budget: Budget, parameters: GlmParameters) -> ScorePlan:
    if public.rows is None:
        raise InputError(MethodMessage.ROWS_NEEDED, method="pmt-score")
    bound = 1.0
    if not public.family.binary:
        residual = public.rows[:, -1] - public.family.mean(public.rows[:, :-1] @ public.fit)
        bound = _ROOM * float(np.max(np.abs(residual)))
    noise = 2 * bound / (budget.mu * n)
    clip = Clip(parameters.radius) if parameters.radius else choose_clip(public, n, noise, (np.inf,), from_public=True)
    return ScorePlan(public, n, budget.mu, clip, bound, parameters)


register(
    Method(
        id="pmt-score",
        title="Whitened score at the public fit",
        summary="Releases only d numbers, the score at the public fit; best at small budgets.",
        origin=Origin("beyond A"),
        claim=sound(
            REPLACE_ONE, "one Gaussian mechanism on a bounded score; whatever is computed from it costs no more"
        ),
        plan=_plan,
        colour="#56B4E9",
        families=("logistic", "boosting", "poisson"),
    )
)
