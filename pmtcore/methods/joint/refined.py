"""``joint-pmt`` in two passes: the joint release as a pilot, then one clipped gradient at it (maths.md, 5.1).

    pilot     at a share of mu^2: the joint moment, hence a Gram matrix P and a correction delta_1
    counting  a histogram of the sizes of gradients at the pilot, which chooses the bound R
    gradient  q = (1/n) sum x~ r~_1 min(1, R/||x~ r~_1||) + g,   r~_1 = r~ - x~'delta_1
    delta     = delta_1 + S P^{-1} q,   S shrinks where noise dominates

The pilot is wrong by little, so P, the Hessian, may be rough: almost all of the budget goes to ``d`` numbers whose
rows are clipped by ``|x~| |r~|`` and not by ``|x~|^2 + |r~|^2``. Three Gaussian mechanisms, each with noise of its own
share of mu^2, composed adaptively. Neighbours: replace-one.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, final

import numpy as np

from pmtcore.accounting.budgets import Budget
from pmtcore.accounting.spends import Spend
from pmtcore.base.records import Private, PrivateRows
from pmtcore.mechanisms.grid import FINE, integer_vectors, release_integers, squared_norms, whiten_exactly
from pmtcore.mechanisms.noise import NoiseSource, release_symmetric
from pmtcore.methods.facts import Facts
from pmtcore.methods.joint.moment import JointOutcome, JointPlan
from pmtcore.methods.joint.parameters import JointParameters
from pmtcore.methods.joint.second_pass import COUNTING, Gradient, SecondPass, Shares
from pmtcore.methods.registry import Prediction
from pmtcore.public.bands import Part
from pmtcore.public.moments import PublicData, joint, whiten
from pmtcore.public.radius import Ball, accurate_ball, truncation_variance
from pmtcore.public.sizes import Sizes

_SHARES = (0.05, 0.1, 0.15, 0.25, 0.4)  # of mu^2 for the pilot


@dataclass(frozen=True)
class RefinedPlan(JointPlan):
    """``joint-pmt`` in two passes with everything public fixed."""

    second: SecondPass

    @property
    def sigma(self) -> float:
        """Noise scale of the pilot's moment."""
        return JointPlan.sigma_at(self, self.second.shares.pilot_mu)

    def measure(self, rows: PrivateRows) -> Private[Any]:
        """The truncated joint moment (D, D) and the whitened rows (n, D), private: the second pass depends on the
        pilot's noise."""
        whitened = rows.concatenate(lambda x, y: whiten(self.public.factor, joint(x, y)))
        return JointPlan.measure(self, rows).with_(whitened)

    def perturb(self, statistic: Private[Any], source: NoiseSource, trials: int) -> RefinedOutcome:
        """The release.

        Guarantee: mu-GDP under replace-one: a joint moment of sensitivity ``sqrt(2) R^2/n``, a histogram of
        sensitivity ``sqrt(2)``, a mean of vectors no longer than R, composed adaptively (maths.md, 3.4); all else
        is post-processing.
        """
        moment = release_symmetric(statistic.map(lambda pair: pair[0]), self.sigma, source, trials, "isometric")
        points = JointOutcome(self, moment).correction
        gradient = self.second.release(statistic.map(lambda pair: pair[1]), points, source)
        return RefinedOutcome(self, moment, gradient)

    def run(self, rows: PrivateRows, source: NoiseSource, trials: int) -> JointOutcome:
        """One release on the integer grid; repeated trials in the lab are in floating point.

        Guarantee: ``mu^2/2``-zCDP under replace-one for the bits that leave (maths.md, 14); in the lab as
        :meth:`perturb`.
        """
        if trials != 1:
            return self.perturb(self.measure(rows), source, trials)
        shares, sizes = self.second.shares, self.second.sizes
        moment = self.exact_moment(rows, shares.pilot_mu, source)
        correction = JointOutcome(self, moment).correction[0]
        counts = None
        if not self.second.clip:
            found = rows.sum(lambda x, y: FINE * sizes.counts(sizes.bins(self._lengths(x, y, correction))))
            counts = release_integers(found, sizes.sensitivity * FINE, shares.counting_mu, source)[None] / FINE
        bound = self.second.bound(counts, 1)

        def gradients(features: np.ndarray, response: np.ndarray) -> np.ndarray:
            x, r = self._residuals(features, response, correction)
            return x * r[:, None]

        total = integer_vectors(rows, gradients, float(bound[0]))
        units = release_integers(total, 2.0 * FINE, shares.gradient_mu, source)
        score = units[None] * (bound[0] / (FINE * self.n))
        return RefinedOutcome(self, moment, Gradient(self.second, counts, bound, score))

    def _residuals(self, features: np.ndarray, response: np.ndarray, correction: np.ndarray) -> tuple[np.ndarray, ...]:
        """Whitened features (k, d) and residuals (k,) at the pilot, column by column."""
        z = whiten_exactly(self.public.factor, joint(features, response))
        residual = z[:, -1].copy()
        for j, value in enumerate(correction):
            residual -= z[:, j] * value
        return z[:, :-1], residual

    def _lengths(self, features: np.ndarray, response: np.ndarray, correction: np.ndarray) -> np.ndarray:
        """Lengths (k,) of the gradients at the pilot; a row that overflows is a row of zeros."""
        x, r = self._residuals(features, response, correction)
        return np.nan_to_num(np.sqrt(squared_norms(x)) * np.abs(r), nan=0.0, posinf=0.0)

    def predicted(self) -> Prediction | None:
        """Noise of pilot and gradient combined, sampling sd, and what clipping is expected to cost."""
        shares, bound = self.second.shares, self.second.expected_bound
        first = pilot_variance(self.public, self.n, self.ball, shares.pilot_mu)
        second = float(self.second.noise_at(bound)) ** 2
        kept = first / (first + second)
        lost = float(self.second.sizes.foreseen(self.n, np.array([bound]))[0]) / self.public.d
        privacy = self.unit * math.sqrt(kept * second)
        return Prediction(privacy, self.unit / np.sqrt(self.n), self.unit * kept * math.sqrt(lost))

    def parts(self) -> tuple[Spend, ...]:
        """The pilot's moment, the histogram where there is one, the clipped gradient."""
        return (*JointPlan.parts(self), *self.second.parts())

    def facts(self) -> Facts:
        """Radius, scale, shares, noise, and the share of rows that public rows lead one to expect clipped."""
        passes, beyond = self.second.facts()
        return replace(JointPlan.facts(self), passes=passes, predicted_truncation_rate=beyond)


@final
class RefinedOutcome(JointOutcome):
    """Post-processing of a pilot's joint moment (trials, D, D) and of clipped gradients (trials, d) at it."""

    def __init__(self, plan: RefinedPlan, moment: np.ndarray, gradient: Gradient) -> None:
        super().__init__(plan, moment)
        self.pilot = JointOutcome(plan, moment)
        self.gradient = gradient

    def seen(self) -> np.ndarray:
        """The pilot's moment, the gradient in units of its bound, the histogram."""
        return np.column_stack([super().seen(), *self.gradient.seen])

    @cached_property
    def whole(self) -> np.ndarray:
        """Share (trials,) of rows whose gradients are not clipped."""
        return self.gradient.whole

    @cached_property
    def slope(self) -> np.ndarray:
        """How the expected gradient falls with the coefficients (trials, d, d): P times the unclipped share."""
        return np.asarray(self.whole[:, None, None] * self.stable_gram)

    @cached_property
    def step(self) -> np.ndarray:
        """``(a P)^{-1} q`` (trials, d): from the pilot to the fit, whatever the pilot."""
        return np.asarray(np.linalg.solve(self.slope, self.gradient.score[..., None])[..., 0])

    @cached_property
    def unshrunk(self) -> np.ndarray:
        """The pilot's correction and the whole step (trials, d)."""
        return np.asarray(self.pilot.correction + self.step)

    @cached_property
    def correction(self) -> np.ndarray:
        """The pilot's correction and the step, shrunk by the precision of both (trials, d)."""
        if self.plan.parameters.shrinkage == "none":
            return self.unshrunk
        rough = self.gram_doubt(self.whole[:, None] * self.step)
        return np.asarray(
            self.pilot.correction + self.gradient.combined(self.pilot.doubt, self.step, self.slope, rough)
        )

    @property
    def clip_weights(self) -> np.ndarray:
        """Weights (m,) that public rows get in the gradient."""
        return self.gradient.weights

    def noise_covariance(self, penalized: np.ndarray) -> np.ndarray:
        """``C`` (d, d) of the first trial: noise of the gradient, and of P where it multiplies the step."""
        step = self.whole[:1, None] * (penalized - self.pilot.correction[0])
        return np.asarray(self.gradient.noise[0] ** 2 * np.eye(step.shape[1]) + self.gram_doubt(step)[0])

    def truncation_part(self, inverse: np.ndarray) -> Part | None:
        """As on public rows, and not below what the released histogram says is cut off."""
        part = super().truncation_part(inverse)
        if part is None or self.gradient.counts is None:
            return part
        return Part(np.maximum(part.variance, self.gradient.lost * np.sum(inverse**2, axis=1)))

    @property
    def residual_variance(self) -> float:
        """The pilot's."""
        return self.pilot.residual_variance

    def released(self) -> Mapping[str, Any]:
        """As the joint release; the bound, and the share of private rows beyond it where it was counted."""
        return {**super().released(), **self.gradient.released()}


def sizes_of(public: PublicData) -> Sizes:
    """Lengths of the gradients of public rows at the public fit, as if left out.

    Raises:
        ValueError: no public rows.
    """
    if public.whitened is None:
        raise ValueError("public rows are needed")
    return Sizes(np.linalg.norm(public.whitened[:, :-1], axis=1) * np.abs(public.whitened[:, -1]), public.d)


def pilot_variance(public: PublicData, n: int, ball: Ball, mu: float) -> float:
    """Expected error variance of a whitened coefficient after a joint release shrunk to the public fit."""
    v = (ball.radius**2 / (mu * n)) ** 2
    alike = public.fit_variance
    off = v / ball.response_scale**2 + v * public.d * alike + truncation_variance(public, ball)
    return 1 / (1 / off + 1 / alike)


def _ball(public: PublicData, n: int, mu: float, parameters: JointParameters) -> Ball:
    """The pilot's truncation: chosen, or as given."""
    ball = accurate_ball(public, n, mu)
    return Ball(parameters.radius or ball.radius, parameters.response_scale or ball.response_scale)


def _best_pilot(
    public: PublicData, sizes: Sizes, n: int, mu: float, counting: float, parameters: JointParameters
) -> tuple[Shares, Ball]:
    """Shares of mu^2 and pilot with the least predicted error: a pilot too small leaves more than its share saves."""
    alike = 1 / n + 1 / (public.m or 1)
    found: list[tuple[float, Shares, Ball]] = []
    for share in _SHARES:
        shares = Shares(mu, share, counting)
        ball = _ball(public, n, shares.pilot_mu, parameters)
        first = pilot_variance(public, n, ball, shares.pilot_mu)
        second = sizes.price_as_seen(n, shares.gradient_mu) / public.d
        v = (ball.radius**2 / (shares.pilot_mu * n)) ** 2
        rough = v * alike / (v + alike) * (public.d + 1) * first  # the Hessian is as rough as this, the pilot as wrong
        found.append((first * second / (first + second) + rough, shares, ball))
    return min(found, key=lambda each: each[0])[1:]


def refined_plan(public: PublicData, n: int, budget: Budget, parameters: JointParameters) -> RefinedPlan:
    """``joint-pmt`` in two passes."""
    sizes = sizes_of(public)
    shares, ball = _best_pilot(public, sizes, n, budget.mu, 0.0 if parameters.clip else COUNTING, parameters)
    second = SecondPass(sizes, n, shares, parameters.clip, 0.0)
    if parameters.radius_mode == "inference":
        second = replace(second, least=second.covering_bound())
        if second.least >= sizes.edges[-1] * (1 - 1e-9):  # no count could change it
            second = replace(second, clip=second.least, shares=replace(shares, counting=0.0))
    return RefinedPlan(public, n, budget.mu, ball, parameters, second)
