"""Passes of ``joint-pmt``: the joint whitened moment; then, at the estimate from it, a histogram and clipped gradients.

The moment is Algorithm 1 of A on the joint row ``z = (x, y)``, released alone or as the pilot of further passes. With
the public joint moment ``L L'`` the whitened response is the residual of the public fit, so that the private rows
estimate a correction of that fit. With ``w = min(1, R^2/||(x~, c r~)||^2)``:

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
from pmtcore.mechanisms.grid import FINE, MomentSum, join_words, release_integer_moment, release_integers
from pmtcore.mechanisms.noise import NoiseSource, sigma_for
from pmtcore.mechanisms.passes import GradientSum, LengthCounts
from pmtcore.mechanisms.quantized_rows import QuantizedRows, Quantizer
from pmtcore.mechanisms.truncation import length_weights, moment_sensitivity
from pmtcore.mechanisms.whitening import Whitening
from pmtcore.methods.facts import Passes
from pmtcore.public.clipping import Ball, GradientNorms, truncation_variance
from pmtcore.public.moments import PublicData, back_transform

COUNTING = 0.04  # share of mu^2 of all histograms of one stage; with much less the chosen bound is dominated by noise
# Standard deviations by which the count in the open bin must exceed its expectation from public rows to be an excess
_FAR_DEVIATIONS = 3.0
# A share of dropped rows is reported from this number of standard deviations on (one false report in 30,000 releases)
# and from this share on, which lengthens standard errors by a hundredth.
_SURE_DEVIATIONS, _FEW_LEFT_OUT = 4.0, 0.02
# Length up to which a whitened row counts as a row of zeros.
_ZERO_LENGTH = 1e-9
# Number of simulated histograms from which a plan predicts its bound
_REHEARSALS = 16


@dataclass(frozen=True, eq=False)
class _Moment:
    """Sum of the joint moment over blocks of quantized rows."""

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
        """Return whitened rows for all passes; at most ``most`` bytes of them are cached between passes."""
        return Quantizer(self.statistic.product, self.public.d, self.ball.response_scale).pieces(rows, most)

    def measure(self, pieces: RowCache[QuantizedRows]) -> Private[np.ndarray]:
        """Return ``sum w z~ z~'`` (D, D) in integers of ``(R/2^15)^2``, private; the first pass over the rows."""
        return pieces.sum(_Moment(self.statistic)).map(join_words)

    def release(self, total: Private[np.ndarray], source: NoiseSource, trials: int) -> np.ndarray:
        """Return the joint moments (trials, D, D).

        Guarantee: mu-GDP under replace-one, for the bits that leave: one Gaussian mechanism on a statistic of Frobenius
        sensitivity ``sqrt(2) R^2/n`` (proofs/sensitivity.md, 3.1 and 14).
        """
        return release_integer_moment(total, self.mu, self.n, self.ball.radius, source=source, trials=trials)

    def spend(self) -> Spend:
        """Return the spend."""
        return Spend.gaussian("joint moment", moment_sensitivity(self.ball.radius, self.n), self.sigma)

    @property
    def coefficient_units(self) -> np.ndarray:
        """Return the factors (d,) from standard errors of whitened coefficients to units of the table."""
        public = self.public
        known = public.m is None or public.ridge_fit is not None
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
    """Shares of mu^2 of the pilot, of the histogram, and of the intermediate gradients; the last has the rest."""

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
    """Pass of one histogram and one clipped gradient, with everything public fixed.

    Attributes:
        sizes: expected distribution of gradient lengths, and the bins of the histogram.
        n: number of private rows.
        shares: of the budget.
        clip: a fixed bound; 0: chosen from the histogram.
        least: lower bound on the clipping bound chosen from the histogram.
        name: of the gradient's spend.
        at_edges: whether the bound is rounded up to the edge of its bin, so that no row of the bin is clipped.
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
        """Return simulated releases of this pass, with counts drawn from their public expectation and zero scores."""
        counts, rng = None, np.random.default_rng(0)
        if not self.clip:
            rows = np.broadcast_to(self.sizes.expected_tail_counts(self.n), (_REHEARSALS, self.sizes.bin_count))
            counts = poisson_counts(rows, rng) + self.counting_sd * rng.standard_normal(rows.shape)
        return Gradient(self, counts, self.bound(counts, _REHEARSALS), np.zeros((_REHEARSALS, self.sizes.d)))

    @property
    def expected_bound(self) -> float:
        """Return the clipping bound expected from public rows."""
        return float(np.median(self.rehearsal.bound))

    @property
    def counting_sd(self) -> float:
        """Return the noise sd of each count of the histogram; 0 where none is released."""
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
        return rows.sum(LengthCounts(GAUSSIAN, points, self.sizes.edges)).map(join_words)

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
        """Return shares, expected bound and noise, and the expected share of clipped rows, from simulated releases."""
        passes = Passes(
            pilot_share=self.shares.pilot,
            counting_share=0.0 if self.clip else self.shares.counting,
            expected_clipping_bound=self.expected_bound,
            gradient_noise_sd=float(self.noise_at(self.expected_bound)),
        )
        return passes, float(np.median(self.rehearsal.clipped_shares))


@dataclass(frozen=True)
class Gradient:
    """Release of a second pass in T trials.

    Attributes:
        plan: the pass.
        counts: histogram (T, K); ``None`` where none was released.
        bound: clipping bounds (T,).
        score: mean clipped gradients (T, d).
        whitening: W (T, d, d) where gradients of rows ``W'x~`` were clipped; ``None``: of rows ``x~``.
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
        """Return the covariance (T, d, d) in public units of an error of :attr:`score` whose covariance there is I."""
        if self.whitening is None:
            return np.broadcast_to(np.eye(self.score.shape[1]), (len(self.score), *2 * self.score.shape[1:]))
        return in_public_units(self.whitening)

    @cached_property
    def rows(self) -> np.ndarray:
        """Return the estimated number of private rows (T, K) in each bin."""
        return self.plan.sizes.expected(self.plan.n, self.counts, self.plan.counting_sd)

    @cached_property
    def unclipped_share(self) -> np.ndarray:
        """Return the share (T,) of rows whose gradients are not clipped, about the slope of the clipped mean."""
        return self.plan.sizes.unclipped_share(self.rows, self.bound)

    @cached_property
    def clipping_mse(self) -> np.ndarray:
        """Return the squared shift (T,) of a coordinate of the mean by clipping, estimated from the histogram."""
        squared_length = self.plan.sizes.clipping_mse(self.rows, self.plan.n, self.bound)
        return np.asarray(squared_length / self.plan.sizes.d)

    @cached_property
    def exceeds_expected_tail(self) -> np.ndarray:
        """Return a mask (T,) of the trials whose open bin has significantly more rows than public rows predict."""
        if self.counts is None:
            return np.zeros(len(self.bound), dtype=bool)
        expected = self.plan.n * float(self.plan.sizes.shares[-1])
        chance = math.hypot(self.plan.counting_sd, math.sqrt(expected))
        return np.asarray(self.counts[:, -1] - expected > _FAR_DEVIATIONS * chance)

    @cached_property
    def largest_clipping_mse(self) -> np.ndarray:
        """Return :attr:`clipping_mse` (T,) for error bands, an upper bound where the open bin has an excess.

        There private rows are far longer than public ones, whose common direction is no guide to theirs.
        """
        bias = self.plan.sizes.largest_clipping_bias(self.rows, self.plan.n, self.bound)
        largest = np.maximum(bias**2 / self.plan.sizes.d, self.clipping_mse)
        return np.where(self.exceeds_expected_tail, largest, self.clipping_mse)

    def share_left_out(self, public: PublicData) -> float:
        """Return the share of private rows that were replaced by zeros because of gaps; 0 if not significant.

        In the first trial, it is one minus the sum of the noisy counts over n, less the share of complete public rows
        whose features are zero, which occur without an intercept (proofs/radius.md, 5.1).
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
        """Return clipping weights (m,) of the public rows at the bound of the first trial."""
        return length_weights(self.plan.sizes.lengths, self.bound[0])

    @cached_property
    def clipped_shares(self) -> np.ndarray:
        """Return the estimated share (T,) of private rows beyond the bound."""
        edges = self.plan.sizes.edges
        beyond = np.clip((edges[1:] - self.bound[:, None]) / np.diff(edges), 0.0, 1.0)
        beyond[:, -1] = 1.0  # the open bin
        rows = np.broadcast_to(self.rows, beyond.shape)
        pairs = zip(rows, beyond, strict=True)
        return np.array([np.clip(counts @ part / self.plan.n, 0.0, 1.0) for counts, part in pairs])

    def released(self) -> dict[str, float]:
        """Return the bound and, where a histogram was released, the share of private rows beyond it."""
        figures = {"clipping_bound": float(self.bound[0])}
        if self.counts is not None:
            figures["clipped_share"] = float(self.clipped_shares[0])
        return figures


def in_public_units(whitening: np.ndarray) -> np.ndarray:
    """Return ``W^{-T} W^{-1}`` (T, d, d): a moment or covariance that is I in the coordinates ``W'x~``."""
    inverse = np.linalg.inv(whitening)
    return np.asarray(np.swapaxes(inverse, -1, -2) @ inverse)
