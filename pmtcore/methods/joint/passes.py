"""What ``joint-pmt`` releases: the joint whitened moment; then at what it says a histogram, a bound, a gradient.

The moment is Algorithm 1 of A on the joint row ``z = (x, y)``, alone or as the pilot of further passes: with the public
joint moment ``L L'`` the whitened response is the residual of the public fit, so the private rows only have to correct
it. With ``w = min(1, R^2/||(x~, c r~)||^2)``:

    M = (1/n) sum w (x~, c r~)(x~, c r~)' + G,   G isometric, sigma = sqrt(2) R^2 / (mu n)

Neighbours: replace-one. Public: the public data, n, R and c chosen from them. Proofs: proofs/sensitivity.md, 3 and 14;
proofs/radius.md, 5 and 5.1.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from pmtcore.accounting.budgets import Spend
from pmtcore.base.distributions import poisson_counts
from pmtcore.base.private_rows import Private, PrivateRows, RowCache
from pmtcore.glm.families import GAUSSIAN
from pmtcore.mechanisms.grid import FINE, MomentSum, from_words, release_integer_moment, release_integers
from pmtcore.mechanisms.noise import NoiseSource, sigma_for
from pmtcore.mechanisms.passes import GradientSum, LengthCounts
from pmtcore.mechanisms.quantized_rows import QuantizedRows, Quantizer
from pmtcore.mechanisms.truncation import length_weights, moment_sensitivity
from pmtcore.mechanisms.whitening import Whitening
from pmtcore.methods.facts import Passes
from pmtcore.public.clipping import Ball, GradientNorms, truncation_variance
from pmtcore.public.moments import PublicData, back_transform

COUNTING = 0.04  # of mu^2 for each histogram: it needs little, and less would choose bounds at random
# Standard deviations by which the count in the open bin must exceed what public rows lead one to expect
_FAR_DEVIATIONS = 3.0
# Standard deviations from which on rows are said to be left out (once in 30,000 releases without any), and a share of
# them without which standard errors are a hundredth longer.
_SURE_DEVIATIONS, _FEW_LEFT_OUT = 4.0, 0.02
# A whitened row that is no longer is a row of zeros.
_ZERO_LENGTH = 1e-9
# Simulated histograms behind what a plan expects
_REHEARSALS = 16


@dataclass(frozen=True, eq=False)
class _Moment:
    """Moment of pieces in their first pass, before any of them is kept."""

    statistic: MomentSum

    def __call__(self, pieces: Iterable[QuantizedRows]) -> np.ndarray:
        return self.statistic.of(piece.block for piece in pieces)


@dataclass(frozen=True)
class FirstPass:
    """The joint moment with radius and noise fixed; ``mu`` is its own share of the budget."""

    public: PublicData
    n: int
    mu: float
    ball: Ball

    @property
    def sigma(self) -> float:
        """Return the noise scale: tight replace-one sensitivity of the joint moment over mu."""
        return sigma_for(moment_sensitivity(self.ball.radius, self.n), self.mu)

    @cached_property
    def statistic(self) -> MomentSum:
        """Return the statistic that is summed over blocks of rows."""
        wanted = np.append(np.ones(self.public.d), self.ball.response_scale)
        whitening = Whitening(self.public.factor, self.public.has_intercept)
        return MomentSum(whitening.product_for(np.diag(wanted), len(wanted)), self.ball.radius)

    def pieces(self, rows: PrivateRows, most: int | None = None) -> RowCache[QuantizedRows]:
        """Return whitened rows for this pass and those after it; at most ``most`` bytes are kept between them."""
        return Quantizer(self.statistic.product, self.public.d, self.ball.response_scale).pieces(rows, most)

    def measure(self, pieces: RowCache[QuantizedRows]) -> Private[np.ndarray]:
        """Return ``sum w z~ z~'`` (D, D) in integers of ``(R/2^15)^2``, private; the first pass over the rows."""
        return pieces.sum(_Moment(self.statistic)).map(from_words)

    def release(self, total: Private[np.ndarray], source: NoiseSource, trials: int) -> np.ndarray:
        """Return the joint moments (trials, D, D).

        Guarantee: mu-GDP under replace-one, for the bits that leave: one Gaussian mechanism on a statistic of Frobenius
        sensitivity ``sqrt(2) R^2/n`` (proofs/sensitivity.md, 3.1 and 14).
        """
        return release_integer_moment(total, self.mu, self.n, self.ball.radius, source=source, trials=trials)

    def part(self) -> Spend:
        """Return the spend."""
        return Spend.gaussian("joint moment", moment_sensitivity(self.ball.radius, self.n), self.sigma)

    @property
    def unit(self) -> np.ndarray:
        """Return the factors (d,) from standard errors of whitened coefficients to units of the table."""
        public = self.public
        known = public.m is None or public.around is not None
        freedom = 1.0 if known or public.m is None else (public.m - public.d) / public.m
        lengths = np.linalg.norm(back_transform(public.feature_root, np.eye(public.d)), axis=0)
        return np.asarray(public.residual_scale / np.sqrt(freedom) * lengths)

    @cached_property
    def public_weights(self) -> np.ndarray:
        """Return weights (m,) of the public rows, whitened as if left out; empty where only a moment is known."""
        return self.ball.public_weights(self.public)

    @cached_property
    def truncation_variance(self) -> float:
        """Return the predicted squared shift of ``q`` by truncation, per coordinate; 0 where only a moment is known."""
        return truncation_variance(self.public, self.ball)


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
        at_edges: whether a bound is the upper edge of its bin, so that no row of the bin is clipped.
    """

    sizes: GradientNorms
    n: int
    shares: Shares
    clip: float
    least: float
    name: str = "clipped gradient, in units of its bound"
    at_edges: bool = False

    @cached_property
    def rehearsal(self) -> Gradient:
        """Return releases of this pass over rows simulated from the public ones, without scores."""
        counts, rng = None, np.random.default_rng(0)
        if not self.clip:
            rows = np.broadcast_to(self.sizes.expected_tail_counts(self.n), (_REHEARSALS, self.sizes.many))
            counts = poisson_counts(rows, rng) + self.counting_sd * rng.standard_normal(rows.shape)
        return Gradient(self, counts, self.bound(counts, _REHEARSALS), np.zeros((_REHEARSALS, self.sizes.d)))

    @property
    def expected_bound(self) -> float:
        """Return the clipping bound expected from public rows."""
        return float(np.median(self.rehearsal.bound))

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
        if self.at_edges:
            chosen = self.sizes.edges[np.searchsorted(self.sizes.edges[:-1], chosen)]
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
        mean = self.gradients(points, bound).release(rows, self.shares.gradient_mu, self.n, source)
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
        """Return shares, bound and noise to expect, and the share of rows beyond that rehearsed releases state."""
        passes = Passes(
            pilot_share=self.shares.pilot,
            counting_share=0.0 if self.clip else self.shares.counting,
            expected_clipping_bound=self.expected_bound,
            gradient_noise_sd=float(self.noise_at(self.expected_bound)),
        )
        return passes, float(np.median(self.rehearsal.clipped_shares))


@dataclass(frozen=True)
class Gradient:
    """Release of a second pass: counts (T, K), bounds (T,), mean clipped gradients (T, d).

    Attributes:
        whitening: W (T, d, d) where rows were ``W'x~`` when they were clipped; ``None``: ``x~``.
    """

    plan: SecondPass
    counts: np.ndarray | None
    bound: np.ndarray
    score: np.ndarray
    whitening: np.ndarray | None = None

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
    def public_score(self) -> np.ndarray:
        """Return the mean clipped gradients (T, d) in public units."""
        if self.whitening is None:
            return self.score
        return np.asarray(np.linalg.solve(np.swapaxes(self.whitening, -1, -2), self.score[..., None])[..., 0])

    @cached_property
    def error_scale(self) -> np.ndarray:
        """Return the covariance (T, d, d), in public units, of an error of :attr:`score` that is I in its own."""
        if self.whitening is None:
            return np.broadcast_to(np.eye(self.score.shape[1]), (len(self.score), *2 * self.score.shape[1:]))
        return in_public_units(self.whitening)

    @cached_property
    def rows(self) -> np.ndarray:
        """Return private rows (T, K) in each bin, as far as is known."""
        return self.plan.sizes.expected(self.plan.n, self.counts, self.plan.counting_sd)

    @cached_property
    def unclipped_share(self) -> np.ndarray:
        """Share (T,) of rows whose gradients are not clipped: a clipped one does not move with its residual."""
        return self.plan.sizes.unclipped_share(self.rows, self.bound)

    @cached_property
    def clipping_mse(self) -> np.ndarray:
        """Return the squared shift (T,) of a coordinate of the mean by clipping, as the histogram has it."""
        losses = self.plan.sizes.clipping_mse(self.rows, self.plan.n, self.bound)
        return np.asarray(losses / self.plan.sizes.d)

    @cached_property
    def exceeds_expected_tail(self) -> np.ndarray:
        """Return a mask (T,) of the trials whose open bin has more rows than public rows and chance explain."""
        if self.counts is None:
            return np.zeros(len(self.bound), dtype=bool)
        expected = self.plan.n * float(self.plan.sizes.shares[-1])
        chance = math.hypot(self.plan.counting_sd, math.sqrt(expected))
        return np.asarray(self.counts[:, -1] - expected > _FAR_DEVIATIONS * chance)

    @cached_property
    def clipping_mse_with_far_rows(self) -> np.ndarray:
        """Return :attr:`clipping_mse` (T,) plus the unknown part of rows in the open bin beyond its edge."""
        beyond = self.plan.sizes.clipping_mse_beyond_reach(self.rows, self.plan.n) / self.plan.sizes.d
        return np.asarray(self.clipping_mse + np.where(self.exceeds_expected_tail, beyond, 0.0))

    def share_left_out(self, public: PublicData) -> float:
        """Return the share of private rows that became rows of zeros because of gaps; 0 if chance may explain it.

        Of the first trial: what the histogram's noisy counts lack of n, less the share of complete public rows whose
        features are zero, as some are without an intercept (proofs/radius.md, 5.1).
        """
        if self.counts is None or public.whitened is None:
            return 0.0
        n, m = self.plan.n, len(public.whitened)
        zeros = int(np.sum(np.linalg.norm(public.whitened[:, :-1], axis=1) <= _ZERO_LENGTH))
        share = 1 - float(np.sum(self.counts[0])) / n - zeros / m
        variance = self.plan.counting_sd**2 * self.counts.shape[1] / n**2
        if not public.has_intercept:
            chance = (zeros + 1) / (m + 2)
            variance += chance * (1 - chance) * (1 / m + 1 / n)
        return share if share > max(_SURE_DEVIATIONS * math.sqrt(variance), _FEW_LEFT_OUT) else 0.0

    @cached_property
    def weights(self) -> np.ndarray:
        """Return weights (m,) that public rows get in the first trial."""
        return length_weights(self.plan.sizes.lengths, self.bound[0])

    @cached_property
    def clipped_shares(self) -> np.ndarray:
        """Return the share (T,) of private rows beyond the bound, as far as is known."""
        edges = self.plan.sizes.edges
        beyond = np.clip((edges[1:] - self.bound[:, None]) / np.diff(edges), 0.0, 1.0)
        beyond[:, -1] = 1.0  # an open bin
        rows = np.broadcast_to(self.rows, beyond.shape)
        return np.array([np.clip(one @ part / self.plan.n, 0.0, 1.0) for one, part in zip(rows, beyond, strict=True)])

    def released(self) -> dict[str, float]:
        """Return the bound, and the share of private rows beyond it where it was counted."""
        figures = {"clipping_bound": float(self.bound[0])}
        if self.counts is not None:
            figures["clipped_share"] = float(self.clipped_shares[0])
        return figures


def in_public_units(whitening: np.ndarray) -> np.ndarray:
    """Return ``W^{-T} W^{-1}`` (T, d, d): what is I for rows ``W'x~``, a moment or the covariance of an error."""
    inverse = np.linalg.inv(whitening)
    return np.asarray(np.swapaxes(inverse, -1, -2) @ inverse)
