"""A second pass at what a first one released: a private histogram, a bound, one clipped gradient.

Proof: proofs/radius.md, 5.1.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from pmtcore.accounting.budgets import Spend
from pmtcore.base.private_rows import Private, RowCache
from pmtcore.glm.families import GAUSSIAN
from pmtcore.mechanisms.grid import FINE, from_words, release_integers
from pmtcore.mechanisms.noise import NoiseSource, sigma_for
from pmtcore.mechanisms.passes import GradientSum, LengthCounts, release_gradients
from pmtcore.mechanisms.quantized_rows import QuantizedRows
from pmtcore.mechanisms.truncation import length_weights
from pmtcore.methods.facts import Passes
from pmtcore.public.sizes import GradientNorms

COUNTING = 0.04  # of mu^2 for each histogram: it needs little, and less would choose bounds at random
# Standard deviations by which the count in the open bin must exceed what public rows lead one to expect
_FAR_DEVIATIONS = 3.0


@dataclass(frozen=True)
class Shares:
    """Shares of mu^2 of the pilot, of the histogram, and of gradients before the last."""

    mu: float
    pilot: float
    counting: float
    middle: float = 0.0

    @property
    def pilot_mu(self) -> float:
        """Return the budget of the first pass."""
        return self.mu * math.sqrt(self.pilot)

    @property
    def counting_mu(self) -> float:
        """Return the budget of the histogram."""
        return self.mu * math.sqrt(self.counting)

    @property
    def gradient_mu(self) -> float:
        """Return the budget of the clipped gradient."""
        return self.mu * math.sqrt(1 - self.pilot - self.counting - self.middle)


@dataclass(frozen=True)
class SecondPass:
    """The second pass with everything public fixed.

    Attributes:
        clip: a fixed bound; 0: chosen by the histogram.
        least: the bound that the histogram may not go below.
    """

    sizes: GradientNorms
    n: int
    shares: Shares
    clip: float
    least: float
    name: str = "clipped gradient, in units of its bound"

    @cached_property
    def expected_bound(self) -> float:
        """Return the clipping bound that public rows lead one to expect."""
        if self.clip:
            return self.clip
        return max(self.sizes.counted_bound(self.n, self.shares.gradient_mu, self.counting_sd), self.least)

    @property
    def counting_sd(self) -> float:
        """Return the noise on each count of the histogram; 0 where none is released."""
        return 0.0 if self.clip else sigma_for(self.sizes.sensitivity, self.shares.counting_mu)

    def noise_at(self, bound: np.ndarray | float) -> np.ndarray | float:
        """Return the standard deviation of the noise on the mean gradient: ``2 R/(mu n)``."""
        return 2 * bound / (self.shares.gradient_mu * self.n)

    def bound(self, counts: np.ndarray | None, trials: int) -> np.ndarray:
        """Return clipping bounds (trials,): fixed, or from the released histogram."""
        if counts is None:
            return np.full(trials, self.clip)
        chosen = self.sizes.bound(self.n, self.shares.gradient_mu, counts, self.counting_sd)
        return np.maximum(chosen, self.least)

    def release(self, rows: Private[RowCache[QuantizedRows]], points: np.ndarray, source: NoiseSource) -> Gradient:
        """Release histogram, bound and mean gradient at each point.

        Args:
            rows: private quantized rows.
            points: corrections to the public fit that the first pass released (T, d).
            source: source of the noise.

        Guarantee: ``sqrt(counting_mu^2 + gradient_mu^2)``-GDP under replace-one, for the bits that leave: a histogram
        of sensitivity ``sqrt(2)``, then a mean of vectors no longer than R (proofs/sensitivity.md, 3.4 and 14).
        """
        counts, trials = None, len(points)
        if not self.clip:
            exact = rows.bind(lambda cache: self.counts(cache, points))
            moved = self.sizes.sensitivity * FINE
            counts = release_integers(exact, moved, self.shares.counting_mu, source, trials=trials) / FINE
        bound = self.bound(counts, trials)
        sums = self.gradients(points, bound)
        mean = release_gradients(rows, sums, self.shares.gradient_mu, self.n, source=source)
        return Gradient(self, counts, bound, mean * bound[:, None])

    def counts(self, rows: RowCache[QuantizedRows], points: np.ndarray) -> Private[np.ndarray]:
        """Return histograms (T, K) of all rows' gradient lengths at points (T, d), in units of 2^-30 rows, private."""
        return rows.sum(LengthCounts(GAUSSIAN, points, self.sizes.edges)).map(from_words)

    def gradients(self, points: np.ndarray, bound: np.ndarray) -> GradientSum:
        """Return the statistic that is summed at points (T, d), clipped at bounds (T,)."""
        return GradientSum(GAUSSIAN, points, bound)

    def parts(self) -> tuple[Spend, ...]:
        """Return the spends: the histogram, where there is one, and the clipped gradient in units of its bound."""
        gradient = Spend.gaussian(self.name, 2 / self.n, float(self.noise_at(1.0)))
        if self.clip:
            return (gradient,)
        return (Spend.gaussian("histogram of gradient lengths", self.sizes.sensitivity, self.counting_sd), gradient)

    def facts(self) -> tuple[Passes, float]:
        """Return shares, bound and noise to expect, and the share of rows beyond."""
        passes = Passes(
            pilot_share=self.shares.pilot,
            counting_share=0.0 if self.clip else self.shares.counting,
            expected_clipping_bound=self.expected_bound,
            gradient_noise_sd=float(self.noise_at(self.expected_bound)),
        )
        return passes, float(np.mean(self.sizes.lengths > self.expected_bound))


@dataclass(frozen=True)
class Gradient:
    """Release of a second pass: counts (T, K), bounds (T,), mean clipped gradients (T, d)."""

    plan: SecondPass
    counts: np.ndarray | None
    bound: np.ndarray
    score: np.ndarray

    @property
    def units(self) -> np.ndarray:
        """Return gradients in units of their bounds (T, d)."""
        return self.score / self.bound[:, None]

    @property
    def transcript(self) -> list[np.ndarray]:
        """Return all that an attacker gets, a matrix for each statistic."""
        return [self.units] if self.counts is None else [self.units, self.counts]

    @property
    def noise(self) -> np.ndarray:
        """Return the standard deviation (T,) of the noise on each coordinate."""
        return np.asarray(self.plan.noise_at(self.bound))

    @cached_property
    def rows(self) -> np.ndarray:
        """Return private rows (T, K) in each bin, as far as is known."""
        return self.plan.sizes.expected(self.plan.n, self.counts, self.plan.counting_sd)

    @cached_property
    def unclipped_share(self) -> np.ndarray:
        """Share (T,) of rows whose gradients are not clipped: a clipped one does not move with its residual."""
        edges = self.plan.sizes.edges
        inside = np.clip((self.bound[:, None] - edges[:-1]) / np.diff(edges), 0.0, 1.0)
        inside[:, -1] = 0.0  # an open bin
        return np.maximum(np.sum(self.rows * inside, axis=1) / np.maximum(np.sum(self.rows, axis=1), 1.0), 0.05)

    @cached_property
    def clipping_mse(self) -> np.ndarray:
        """Return the squared shift (T,) of a coordinate of the mean by clipping, as the histogram has it."""
        losses = self.plan.sizes.clipping_mse(self.rows, self.plan.n, self.bound)
        return np.asarray(losses / self.plan.sizes.d)

    @cached_property
    def exceeds_reach(self) -> np.ndarray:
        """Return in which trials (T,) the histogram's open bin has more rows than public rows and chance explain."""
        if self.counts is None:
            return np.zeros(len(self.bound), dtype=bool)
        expected = self.plan.n * float(self.plan.sizes.shares[-1])
        chance = math.hypot(self.plan.counting_sd, math.sqrt(expected))
        return np.asarray(self.counts[:, -1] - expected > _FAR_DEVIATIONS * chance)

    @cached_property
    def clipping_mse_with_far_rows(self) -> np.ndarray:
        """Return :attr:`clipping_mse` (T,) and what rows in the open bin have beyond its edge, which nobody counted."""
        beyond = self.plan.sizes.clipping_mse_beyond_reach(self.rows, self.plan.n) / self.plan.sizes.d
        return np.asarray(self.clipping_mse + np.where(self.exceeds_reach, beyond, 0.0))

    @cached_property
    def weights(self) -> np.ndarray:
        """Return weights (m,) that public rows get in the first trial."""
        return length_weights(self.plan.sizes.lengths, self.bound[0])

    def released(self) -> dict[str, float]:
        """Return the bound, and the share of private rows beyond it where it was counted."""
        figures = {"clipping_bound": float(self.bound[0])}
        if self.counts is not None:
            edges = self.plan.sizes.edges
            beyond = np.clip((edges[1:] - self.bound[0]) / np.diff(edges), 0.0, 1.0)
            beyond[-1] = 1.0  # an open bin
            figures["clipped_share"] = float(np.clip(self.rows[0] @ beyond / self.plan.n, 0.0, 1.0))
        return figures
