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
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, final

import numpy as np

from pmtcore.bands import Part
from pmtcore.budgets import Budget
from pmtcore.clipping import Sizes, clipped_weights
from pmtcore.exact import FINE, integer_vectors, release_integers, squared_norms, whiten_exactly
from pmtcore.joint import JointOutcome, JointPlan
from pmtcore.joint_parameters import JointParameters
from pmtcore.moments import PublicData, joint, whiten
from pmtcore.noise import NoiseSource, release_symmetric, release_vector, sigma_for
from pmtcore.radius import Ball, accurate_ball, truncation_variance
from pmtcore.records import Private, PrivateRows
from pmtcore.registry import Prediction

COUNTING = 0.06  # of mu^2
_SHARES = (0.05, 0.1, 0.15, 0.25, 0.4)  # of mu^2 for the pilot
_CHUNK_NUMBERS = 4_000_000


@final
@dataclass(frozen=True)
class Shares:
    """How mu^2 is divided."""

    mu: float
    pilot: float
    counting: float

    @property
    def pilot_mu(self) -> float:
        """Of the joint moment."""
        return self.mu * math.sqrt(self.pilot)

    @property
    def counting_mu(self) -> float:
        """Of the histogram."""
        return self.mu * math.sqrt(self.counting)

    @property
    def gradient_mu(self) -> float:
        """Of the clipped gradient."""
        return self.mu * math.sqrt(1 - self.pilot - self.counting)


@dataclass(frozen=True)
class RefinedPlan(JointPlan):
    """``joint-pmt`` in two passes with everything public fixed."""

    shares: Shares
    clip: float  # a fixed bound; 0: chosen by the histogram
    least: float  # the bound that the histogram may not go below

    @property
    def sigma(self) -> float:
        """Noise scale of the pilot's moment."""
        return JointPlan.sigma_at(self, self.shares.pilot_mu)

    @cached_property
    def sizes(self) -> Sizes:
        """Gradients of public rows."""
        return Sizes(self.public)

    @cached_property
    def expected_bound(self) -> float:
        """The clipping bound that public rows lead one to expect."""
        return self.clip or max(self.sizes.foreseen_bound(self.n, self.shares.gradient_mu), self.least)

    def noise_at(self, bound: np.ndarray | float) -> np.ndarray | float:
        """Standard deviation of the noise on the mean gradient: ``2 R/(mu n)``."""
        return 2 * bound / (self.shares.gradient_mu * self.n)

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
        pilot, rows = JointOutcome(self, moment), statistic.map(lambda pair: pair[1])
        counts = None
        if not self.clip:
            sigma = sigma_for(self.sizes.sensitivity, self.shares.counting_mu)
            counts = release_vector(rows.map(lambda z: self._counts(z, pilot.correction)), sigma, source, trials)
        bound = self._bound(counts, trials)
        units = rows.map(lambda z: self._gradients(z, pilot.correction, bound))
        score = release_vector(units, 2 / (self.shares.gradient_mu * self.n), source, trials) * bound[:, None]
        return RefinedOutcome(self, moment, counts, bound, score)

    def run(self, rows: PrivateRows, source: NoiseSource, trials: int) -> JointOutcome:
        """One release on the integer grid; repeated trials in the lab are in floating point.

        Guarantee: ``mu^2/2``-zCDP under replace-one for the bits that leave (maths.md, 14); in the lab as
        :meth:`perturb`.
        """
        if trials != 1:
            return self.perturb(self.measure(rows), source, trials)
        moment = self.exact_moment(rows, self.shares.pilot_mu, source)
        correction = JointOutcome(self, moment).correction[0]
        counts = None
        if not self.clip:
            found = rows.sum(lambda x, y: FINE * self.sizes.counts(self.sizes.bins(self._lengths(x, y, correction))))
            reach = self.sizes.sensitivity * FINE
            counts = release_integers(found, reach, self.shares.counting_mu, source)[None] / FINE
        bound = self._bound(counts, 1)

        def gradients(features: np.ndarray, response: np.ndarray) -> np.ndarray:
            x, r = self._residuals(features, response, correction)
            return x * r[:, None]

        total = integer_vectors(rows, gradients, float(bound[0]))
        units = release_integers(total, 2.0 * FINE, self.shares.gradient_mu, source)
        return RefinedOutcome(self, moment, counts, bound, units[None] * (bound[0] / (FINE * self.n)))

    def _residuals(self, features: np.ndarray, response: np.ndarray, correction: np.ndarray) -> tuple[np.ndarray, ...]:
        """Whitened features (k, d) and residuals (k,) at the pilot, column by column."""
        z = whiten_exactly(self.public.factor, joint(features, response))
        residual = z[:, -1].copy()
        with np.errstate(over="ignore", invalid="ignore"):
            for j, value in enumerate(correction):
                residual -= z[:, j] * value
        return z[:, :-1], residual

    def _lengths(self, features: np.ndarray, response: np.ndarray, correction: np.ndarray) -> np.ndarray:
        """Lengths (k,) of the gradients at the pilot; a row that overflows is a row of zeros."""
        x, r = self._residuals(features, response, correction)
        return np.nan_to_num(np.sqrt(squared_norms(x)) * np.abs(r), nan=0.0, posinf=0.0)

    def _bound(self, counts: np.ndarray | None, trials: int) -> np.ndarray:
        """Clipping bounds (trials,): fixed, or from the released histogram."""
        if self.clip:
            return np.full(trials, self.clip)
        noise = sigma_for(self.sizes.sensitivity, self.shares.counting_mu)
        return np.maximum(self.sizes.bound(self.n, self.shares.gradient_mu, counts, noise)[0], self.least)

    def _counts(self, z: np.ndarray, corrections: np.ndarray) -> np.ndarray:
        """Histograms (T, K) of all rows (n, D) at the pilots (T, d)."""
        found = [self.sizes.counts(self.sizes.bins(lengths)) for _, _, lengths in _parts(z, corrections)]
        return np.sum(found, axis=0)

    def _gradients(self, z: np.ndarray, corrections: np.ndarray, bound: np.ndarray) -> np.ndarray:
        """Mean clipped gradients (T, d) at the pilots, in units of the bounds."""
        total = np.zeros(corrections.shape)
        for x, r, lengths in _parts(z, corrections):
            total += (clipped_weights(lengths, bound) * r).T @ x
        return np.asarray(total / bound[:, None] / self.n)

    def predicted(self) -> Prediction | None:
        """Noise of pilot and gradient combined, sampling sd, and what clipping is expected to cost."""
        first, second = self._pilot_variance, float(self.noise_at(self.expected_bound)) ** 2
        kept = first / (first + second)
        lost = self.sizes.foreseen(self.n, self.expected_bound) / self.public.d
        unit = self.unit
        privacy = unit * math.sqrt(kept * second)
        return Prediction(privacy, unit / np.sqrt(self.n), unit * math.sqrt(kept**2 * lost))

    @property
    def _pilot_variance(self) -> float:
        """Expected error variance of a whitened coefficient after the pilot."""
        return pilot_variance(self.public, self.n, self.ball, self.shares.pilot_mu)

    def facts(self) -> Mapping[str, Any]:
        """Radius, scale, shares, noise, and the share of rows that public rows lead one to expect clipped."""
        facts = dict(JointPlan.facts(self))
        noise = float(self.noise_at(self.expected_bound))
        facts |= {
            "passes": 2,
            "pilot_share": self.shares.pilot,
            "counting_share": 0.0 if self.clip else self.shares.counting,
            "expected_clipping_bound": self.expected_bound,
            "gradient_noise_sd": noise,
            "predicted_truncation_rate": float(np.mean(self.sizes.lengths > self.expected_bound)),
        }
        return facts


@final
class RefinedOutcome(JointOutcome):
    """Post-processing of a pilot's joint moment and of a clipped gradient (trials, d) at it."""

    def __init__(
        self,
        plan: RefinedPlan,
        moment: np.ndarray,
        counts: np.ndarray | None,
        bound: np.ndarray,
        score: np.ndarray,
    ) -> None:
        super().__init__(plan, moment)
        self.refined = plan
        self.pilot = JointOutcome(plan, moment)
        self.counts = counts
        self.bound = bound
        self.score = score

    def seen(self) -> np.ndarray:
        """The pilot's moment, the gradient in units of its bound, the histogram."""
        parts = [super().seen(), self.score / self.bound[:, None]]
        return np.column_stack(parts if self.counts is None else [*parts, self.counts])

    @cached_property
    def step(self) -> np.ndarray:
        """``P^{-1} q`` (trials, d): from the pilot to the fit, whatever the pilot."""
        return np.asarray(np.linalg.solve(self.slope, self.score[..., None])[..., 0])

    @cached_property
    def slope(self) -> np.ndarray:
        """How the expected gradient falls with the coefficients (trials, d, d): P times the unclipped share."""
        return np.asarray(self.whole[:, None, None] * self.stable_gram)

    @cached_property
    def whole(self) -> np.ndarray:
        """Share (trials,) of rows whose gradients are not clipped: a clipped one does not move with its residual."""
        sizes = self.refined.sizes
        noise = 0.0 if self.counts is None else sigma_for(sizes.sensitivity, self.refined.shares.counting_mu)
        rows = sizes.expected(self.plan.n, self.counts, noise)
        inside = np.clip((self.bound[:, None] - sizes.edges[:-1]) / np.diff(sizes.edges), 0.0, 1.0)
        return np.maximum(np.sum(rows * inside, axis=1) / np.maximum(np.sum(rows, axis=1), 1.0), 0.05)

    @cached_property
    def unshrunk(self) -> np.ndarray:
        """The pilot's correction and the whole step (trials, d)."""
        return np.asarray(self.pilot.correction + self.step)

    @cached_property
    def correction(self) -> np.ndarray:
        """The pilot's correction and the step, shrunk by the precision of both (trials, d); maths.md, 6."""
        if self.plan.parameters.shrinkage == "none":
            return self.unshrunk
        first = self.pilot.doubt
        inverse = np.linalg.inv(self.slope)
        second = (np.asarray(self.refined.noise_at(self.bound)) ** 2)[:, None, None] * inverse @ inverse
        size = np.einsum("ti,ti->t", self.step, np.linalg.solve(first + second, self.step[..., None])[..., 0])
        first = first * np.maximum(size / self.plan.public.d, 1.0)[:, None, None]
        solved = np.linalg.solve(first + second, self.step[..., None])
        return np.asarray(self.pilot.correction + (first @ solved)[..., 0])

    @cached_property
    def clip_weights(self) -> np.ndarray:
        """Weights (m,) that public rows get in the gradient."""
        return clipped_weights(self.refined.sizes.lengths, self.bound[0])

    def noise_covariance(self) -> np.ndarray:
        """``C`` (d, d) of the first trial: noise of the gradient, and of P where it multiplies the step."""
        step, noise = self.step[0], float(np.asarray(self.refined.noise_at(self.bound))[0]) ** 2
        return np.asarray(noise * np.eye(len(step)) + self.gram_doubt(self.whole[0] * step))

    @cached_property
    def _rows_in_bins(self) -> np.ndarray | None:
        """Private rows (1, K) in each bin as far as the first trial released them."""
        if self.counts is None:
            return None
        noise = sigma_for(self.refined.sizes.sensitivity, self.refined.shares.counting_mu)
        return self.refined.sizes.expected(self.plan.n, self.counts[:1], noise)

    def truncation_part(self, inverse: np.ndarray) -> Part | None:
        """As on public rows, and not below what the released histogram says is cut off."""
        part, rows = super().truncation_part(inverse), self._rows_in_bins
        if part is None or rows is None:
            return part
        lost = float(self.refined.sizes.losses(rows, self.plan.n, self.bound[:1])[0, 0]) / self.plan.public.d
        return Part(np.maximum(part.variance, lost * np.sum(inverse**2, axis=1)))

    @property
    def residual_variance(self) -> float:
        """The pilot's."""
        return self.pilot.residual_variance

    def released(self) -> Mapping[str, Any]:
        """As the joint release; the bound, and the share of private rows beyond it where it was counted."""
        found = dict(super().released())
        found["clipping_bound"] = float(self.bound[0])
        if self._rows_in_bins is not None:
            share = float((self._rows_in_bins @ self._beyond())[0]) / self.plan.n
            found["clipped_share"] = min(max(share, 0.0), 1.0)
        return found

    def _beyond(self) -> np.ndarray:
        """Share of each bin (K,) that lies beyond the bound."""
        edges = self.refined.sizes.edges
        return np.clip((edges[1:] - self.bound[0]) / np.diff(edges), 0.0, 1.0)


def pilot_variance(public: PublicData, n: int, ball: Ball, mu: float) -> float:
    """Expected error variance of a whitened coefficient after a joint release shrunk to the public fit."""
    v = (ball.radius**2 / (mu * n)) ** 2
    alike = 1 / max((public.m or 0) - public.d - 1, 1)
    off = v / ball.response_scale**2 + v * public.d * alike + truncation_variance(public, ball)
    return 1 / (1 / off + 1 / alike)


def best_shares(public: PublicData, n: int, mu: float, counting: float) -> Shares:
    """The division of mu^2 with the least predicted error: a pilot too small leaves more than its share saves."""
    sizes, alike = Sizes(public), 1 / n + 1 / (public.m or 1)
    found: list[tuple[float, Shares]] = []
    for share in _SHARES:
        shares = Shares(mu, share, counting)
        ball = accurate_ball(public, n, shares.pilot_mu)
        first = pilot_variance(public, n, ball, shares.pilot_mu)
        second = sizes.price_as_seen(n, shares.gradient_mu) / public.d
        v = (ball.radius**2 / (shares.pilot_mu * n)) ** 2
        rough = v * alike / (v + alike) * (public.d + 1) * first  # the Hessian is as rough as this, the pilot as wrong
        found.append((first * second / (first + second) + rough, shares))
    return min(found, key=lambda pair: pair[0])[1]


def covering_bound(public: PublicData, n: int, mu: float) -> float:
    """Four times the longest public gradient where the noise is then below the sampling error, else twice."""
    top = float(np.max(Sizes(public).lengths))
    return (4.0 if (8 * top / (mu * n)) ** 2 < 1 / n else 2.0) * top


def refined_plan(public: PublicData, n: int, budget: Budget, parameters: JointParameters) -> RefinedPlan:
    """``joint-pmt`` in two passes."""
    least = covering_bound(public, n, budget.mu) if parameters.radius_mode == "inference" else 0.0
    shares = best_shares(public, n, budget.mu, 0.0 if parameters.clip else COUNTING)
    ball = accurate_ball(public, n, shares.pilot_mu)
    ball = Ball(parameters.radius or ball.radius, parameters.response_scale or ball.response_scale)
    return RefinedPlan(public, n, budget.mu, ball, parameters, shares, parameters.clip, least)


def _parts(z: np.ndarray, corrections: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Blocks of whitened features (k, d), residuals (k, T) at the pilots, and lengths (k, T) of the gradients."""
    step = max(256, _CHUNK_NUMBERS // len(corrections))
    for start in range(0, len(z), step):
        x, response = z[start : start + step, :-1], z[start : start + step, -1:]
        residuals = response - x @ corrections.T
        yield x, residuals, np.linalg.norm(x, axis=1)[:, None] * np.abs(residuals)
