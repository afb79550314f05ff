"""Planning of ``joint-pmt``: one pass, or a first-stage release (pilot) and clipped gradients at its estimate.

Proof: proofs/radius.md, 5 and 5.1.

    pilot     at a share of mu^2: the joint moment, hence a Gram matrix P and a correction delta_1
    counting  a histogram of the sizes of gradients at the pilot, which chooses the bound R
    gradient  q = (1/n) sum x~ r~_1 min(1, R/||x~ r~_1||) + g,   r~_1 = r~ - x~'delta_1

Most of the budget is spent on the d coordinates of gradients, which are clipped by ``|x~| |r~|``; the pilot's rows are
clipped by ``|x~|^2 + |r~|^2``.
"""

import math
from dataclasses import dataclass, replace
from functools import cache, partial

import numpy as np

from pmtcore.accounting.budgets import Budget, Spend
from pmtcore.base.messages import InputError, MethodMessage
from pmtcore.base.private_rows import Private, PrivateRows, RowCache
from pmtcore.mechanisms.noise import NoiseSource
from pmtcore.mechanisms.quantized_rows import QuantizedRows
from pmtcore.methods.facts import Facts
from pmtcore.methods.joint.fit import FirstFit, Fit, RefinedFit
from pmtcore.methods.joint.outcome import JointOutcome
from pmtcore.methods.joint.own_metric import MetricPass, release_gradients, release_metrics, rows_in_metric
from pmtcore.methods.joint.passes import COUNTING, FirstPass, SecondPass, Shares
from pmtcore.methods.outcome_interval import OF_JOINT
from pmtcore.methods.parameters import Parameters, choice, parameter, penalty, small_budgets, truncation_radius, unset
from pmtcore.methods.registry import Method, Origin, Prediction, StatisticPlan, sound
from pmtcore.public.clipping import (
    Ball,
    GradientNorms,
    PowerTail,
    inference_ball,
    least_error_ball,
    mean_excess,
    negligible_noise_bound,
    truncation_variance,
)
from pmtcore.public.moments import PublicData
from pmtcore.public.ridge import ridge_regularized_public

# Candidate shares of mu^2 for the pilot; the one with the least predicted error is chosen.
_PILOT_SHARES = (0.05, 0.1, 0.15, 0.25, 0.4)
# Candidate radii, in units of the best radius of a one-pass release: all later passes use the pilot's Gram matrix, so
# that less truncation may be worth more noise.
_BALL_FACTORS = (1.0, 1.5, 2.25)
# Response scale in units of the best one of a one-pass release: later passes correct the noise on the response, but not
# that of the Gram matrix.
_PILOT_SCALE = math.sqrt(0.5)  # chosen on tune (decision 261)
# Factor on the price of a wider ball, because the tail beyond the public rows is uncertain.
_WIDER_BALL_PENALTY = 1.25
# Share of the gradients' mu^2 that is spent on intermediate gradients, which lie between the pilot and the last one.
_MIDDLE_SHARE = 0.25
# Several intermediate gradients are released where their bounds need at most this multiple of the negligible-noise
# bound; and their largest number.
_HARMLESS_FACTOR, _MOST_BETWEEN = 8.0, 12
_REACH_FACTOR = 4.0  # bound that intermediate gradients need, in units of the longest public gradient
# Negligible relative error of the pilot's Gram matrix. Two gradient steps multiply the pilot's error by its square.
HARMLESS_GRAM = 0.02
# The same with several intermediate gradients, each of which multiplies the error by it: the ball can be wider.
HARMLESS_GRAM_OF_MANY = 0.1
# mu from which gradients are whitened by a released private moment instead of the public one (decision 258)
_AMPLE_MU = 200.0
# Shares of mu^2 in that case: pilot, each metric pass, each gradient but the last, and the histogram of each gradient
_OWN_PILOT_SHARE, _METRIC_SHARE, _EARLY_SHARE, _OWN_COUNTING = 0.05, 0.03, 0.05, 0.0025
# Each metric pass triples the length of rows that can be released untruncated; each gradient step leaves a thirtieth of
# the error.
_METRIC_PASSES, _EARLY_PASSES = 6, 3
# Least position of the last edge of the histograms in that case, in units of the longest public gradient
_OWN_REACH = 1e5
_LEAST_BOUND = 1e-6  # smaller bounds are refused as typing errors

# The first pass's sum, the quantized rows for the gradients, and the table, which metric passes whiten anew.
MomentAndRows = tuple[np.ndarray, RowCache[QuantizedRows], PrivateRows]


class JointParameters(Parameters):
    """Public parameters of ``joint-pmt``."""

    radius_mode: str = choice(
        "Radius chosen for",
        accuracy="the smallest predicted error",
        inference="with one pass, a radius so wide that truncation hardly touches error bands, at the price of more "
        "noise; with gradients the same as accuracy, whose bands cover more often",
    )
    radius: float = truncation_radius()
    response_scale: float = unset(
        "Response scale c (0: automatic)",
        "How much the response counts in the radius: larger means less noise on it and more truncation.",
        high=100.0,
        automatic="response_scale",
    )
    passes: str = parameter(
        "auto",
        "Passes",
        "1: one release of the moment; 2: then a clipped gradient at what it says, with most of the "
        "budget; 3: a further gradient between the two; auto: 3 where public rows are known, else 1.",
        choices=("auto", "1", "2", "3"),
    )
    clip: float = unset(
        "Gradient bound (0: automatic)",
        "Where the second pass clips gradients, in whitened units.",
        high=1e6,
        automatic="",
    )
    shrinkage: str = small_budgets(
        "pull the correction towards the public fit by its known precision", none="use the released moment as it is"
    )
    lam: float = penalty(
        "Ridge penalty",
        "Added to the second moment of the features in the units of the table, intercept excepted. May "
        "be changed after the release at no cost.",
    )


@dataclass(frozen=True)
class JointPlan(StatisticPlan[MomentAndRows]):
    """``joint-pmt`` with radius, bound and noise fixed; with a second pass, the first one is its pilot."""

    mu: float
    first: FirstPass
    second: SecondPass | None
    parameters: JointParameters
    middle: tuple[SecondPass, ...] = ()  # clipped gradients between the two
    metrics: tuple[MetricPass, ...] = ()  # after the first pass, where the budget is ample

    # Sampling errors are summed over groups first.
    clusters_errors = True

    @property
    def n_passes(self) -> int:
        """Return the number of passes over the rows: the moment, and each histogram, metric and gradient."""
        return 1 + 2 * len(self.metrics) + sum(1 if gradient.clip else 2 for gradient in self.gradients)

    def measure(self, rows: PrivateRows) -> Private[MomentAndRows]:
        """Return the truncated joint moment's sum (D, D), and the rows, from which gradients follow."""
        pieces = self.first.pieces(rows) if self.second is not None else self.first.pieces(rows, 0)
        return self.first.measure(pieces).map(lambda total: (total, pieces, rows))

    def perturb(self, statistic: Private[MomentAndRows], source: NoiseSource, trials: int) -> JointOutcome:
        """Return the release of all passes.

        Guarantee: mu-GDP under replace-one, for the bits that leave: a joint moment of sensitivity ``sqrt(2) R^2/n``;
        with a second pass a histogram of sensitivity ``sqrt(2)`` and a mean of vectors no longer than R, composed
        adaptively (proofs/sensitivity.md, 3.1, 3.4 and 14); all else is post-processing.
        """
        moment = self.first.release(statistic.map(lambda parts: parts[0]), source, trials)
        metric, table = None, statistic.map(lambda parts: parts[2])
        if self.metrics:
            metric = release_metrics(self.metrics, table, source, trials)
        pilot = FirstFit(self.first, moment, self.parameters.shrinkage == "auto", metric)
        fit: Fit = pilot
        caches = [] if metric is None else [rows_in_metric(table, self.first.public, w) for w in metric.whitening]
        for gradient in self.gradients:
            if metric is None:
                released = gradient.release(statistic.map(lambda parts: parts[1]), fit.correction, source)
            else:
                released = release_gradients(gradient, caches, fit.correction, metric.whitening, source=source)
            fit = RefinedFit(fit, released)
        return JointOutcome(pilot, fit, self.parameters.lam)

    @property
    def gradients(self) -> tuple[SecondPass, ...]:
        """Return clipped gradients in their order."""
        return () if self.second is None else (*self.middle, self.second)

    def parts(self) -> tuple[Spend, ...]:
        """Return the spends: the joint moment; of a second pass the histogram, if any, and the clipped gradient."""
        metrics = [part for item in self.metrics for part in item.parts()]
        return (self.first.spend(), *metrics, *(part for item in self.gradients for part in item.parts()))

    def predicted(self) -> Prediction | None:
        """Predict the standard errors from noise, from sampling of least squares at n rows, and from clipping.

        With one pass the noise part is ``s_B sigma/(sqrt(2) c) sqrt((S_xx^{-1})_jj)``; with more it is the posterior
        standard deviation of the filter over all passes.
        """
        first, unit = self.first, self.first.coefficient_units
        sampling = unit / np.sqrt(first.n)
        if self.second is None:
            return Prediction(unit * first.sigma / np.sqrt(2) / first.ball.response_scale, sampling)
        noise, clipping = self._expected_errors()
        prediction = Prediction(unit * math.sqrt(noise), sampling, unit * math.sqrt(clipping))
        return OF_JOINT.of(prediction, first.n, first.public.m)

    def _expected_errors(self) -> tuple[float, float]:
        """Return the noise variance and the squared clipping bias of a whitened coefficient, medians over simulations.

        They are computed by the filter over all passes in one coordinate, with the bounds and unclipped shares that the
        passes choose for simulated counts (proofs/radius.md, 5.1, *The plan*).
        """
        noise: np.ndarray = np.array([pilot_variance(self.first)])
        clipping = np.zeros(1)
        gram_mse = gram_error(self.first, expected_truncated_fraction(self.first.public, self.first.ball))
        for gradient in self.gradients:
            simulated = gradient.rehearsal
            step_noise = (simulated.noise / simulated.unclipped_share) ** 2 + gram_mse * (noise + clipping)
            step_clipping = simulated.clipping_mse / simulated.unclipped_share**2
            gain = (noise + clipping) / (noise + clipping + step_noise + step_clipping)
            noise = (1 - gain) ** 2 * noise + gain**2 * step_noise
            # All passes clip the same rows, so that biases add rather than squared biases.
            clipping = ((1 - gain) * np.sqrt(clipping) + gain * np.sqrt(step_clipping)) ** 2
        return float(np.median(noise)), float(np.median(clipping))

    def facts(self) -> Facts:
        """Return radius, scale, shares, noise, and the share of rows expected to be clipped, from public rows."""
        first = self.first
        beyond = None if first.public.whitened is None else float(np.mean(first.public_weights < 1))
        facts = Facts(
            radius=first.ball.radius,
            noise_sd=first.sigma,
            noise_over_signal=first.sigma * math.sqrt(2 * (first.public.d + 1)),
            predicted_truncation_rate=beyond,
            more={"response_scale": first.ball.response_scale},
        )
        if self.second is None:
            return facts
        passes, beyond = self.second.facts()
        return replace(facts, passes=passes, predicted_truncation_rate=beyond)


def one_pass(public: PublicData, n: int, budget: Budget, parameters: JointParameters) -> JointPlan:
    """Plan ``joint-pmt`` in one pass."""
    best = inference_ball if parameters.radius_mode == "inference" else least_error_ball
    ball = _chosen(best(public, n, budget.mu), parameters)
    return JointPlan(budget.mu, FirstPass(public, n, budget.mu, ball), None, parameters)


def two_passes(public: PublicData, n: int, budget: Budget, parameters: JointParameters) -> JointPlan:
    """Plan ``joint-pmt`` in two passes."""
    sizes = gradient_norms(public, n, budget.mu)
    if _is_ample(budget.mu, parameters):
        return _in_own_metric(public, sizes, n, budget.mu, parameters=parameters)
    shares, first = _best_pilot(public, sizes, n, budget.mu, harmless=HARMLESS_GRAM, parameters=parameters)
    middle: tuple[SecondPass, ...] = ()
    if parameters.passes != "2":
        if len(_between_fits(sizes, n, budget.mu, _middle_share(shares), parameters=parameters)) > 1:
            shares, first = _best_pilot(
                public, sizes, n, budget.mu, harmless=HARMLESS_GRAM_OF_MANY, parameters=parameters
            )
        between = _middle_share(shares)
        middle = _between_fits(sizes, n, budget.mu, between, parameters=parameters)
        counted = sum(each.shares.counting for each in middle)
        shares = replace(shares, middle=between + counted, counting=0.0 if parameters.clip else COUNTING)
    second = SecondPass(sizes, n, shares, parameters.clip, negligible_noise_bound(n, shares.gradient_mu))
    return JointPlan(budget.mu, first, second, parameters, middle)


def _is_ample(mu: float, parameters: JointParameters) -> bool:
    """Return whether the budget suffices to release a private metric, and passes and bounds are automatic."""
    return mu >= _AMPLE_MU and parameters.passes == "auto" and not (parameters.clip or parameters.radius)


def _in_own_metric(
    public: PublicData, sizes: GradientNorms, n: int, mu: float, *, parameters: JointParameters
) -> JointPlan:
    """Plan ``joint-pmt`` with gradients that are whitened by a released moment (proofs/radius.md, 5.2)."""
    harmless = negligible_noise_bound(n, mu) / max(float(np.max(sizes.lengths)), 1e-12)
    sizes = replace(sizes, reach=max(_OWN_REACH, harmless))
    early, counting = _EARLY_SHARE - _OWN_COUNTING, _OWN_COUNTING
    metrics = (MetricPass(public, n, mu * math.sqrt(_METRIC_SHARE)),) * _METRIC_PASSES
    before = _METRIC_PASSES * _METRIC_SHARE + _EARLY_PASSES * _EARLY_SHARE
    shares = Shares(mu, _OWN_PILOT_SHARE, counting, before)
    accurate = least_error_ball(public, n, shares.pilot_mu)
    least = negligible_noise_radius(n, shares.pilot_mu, public.d, HARMLESS_GRAM_OF_MANY)
    ball = _chosen(Ball(max(accurate.radius, least), accurate.response_scale), parameters)
    name = "clipped gradient between, in units of its bound"
    between = SecondPass(sizes, n, Shares(mu, 1 - early - counting, counting), 0.0, 0.0, name, at_edges=True)
    first, last = FirstPass(public, n, shares.pilot_mu, ball), SecondPass(sizes, n, shares, 0.0, 0.0, at_edges=True)
    return JointPlan(mu, first, last, parameters, (between,) * _EARLY_PASSES, metrics)


def _middle_share(shares: Shares) -> float:
    """Return the share of mu^2 of all intermediate gradients together."""
    return _MIDDLE_SHARE * (1 - shares.pilot - shares.counting)


def _counting(parameters: JointParameters) -> float:
    """Return the share of mu^2 of all histograms together: of the last gradient, and of the intermediate ones."""
    return 0.0 if parameters.clip else COUNTING * (1 if parameters.passes == "2" else 2)


def _between_fits(
    sizes: GradientNorms, n: int, mu: float, share: float, *, parameters: JointParameters
) -> tuple[SecondPass, ...]:
    """Return the intermediate gradients, which have this share of ``mu^2`` together.

    It is the largest number of at most twelve whose noise is still small at bounds that clip no row, and one where
    there is no such number: each further gradient reduces the error from the pilot's Gram matrix. The share of a single
    histogram is divided among their histograms.
    """
    name = "clipped gradient between, in units of its bound"
    needed_bound = max(_REACH_FACTOR * float(np.max(sizes.lengths)), negligible_noise_bound(n, mu))
    for many in range(_MOST_BETWEEN, 1, -1):
        gradient_share, counting = share / many, COUNTING / many
        shares = Shares(mu, 1 - gradient_share - counting, counting)
        least = negligible_noise_bound(n, shares.gradient_mu)
        if parameters.passes == "auto" and not parameters.clip and _HARMLESS_FACTOR * least >= needed_bound:
            return (SecondPass(sizes, n, shares, 0.0, least, name),) * many
    counting = 0.0 if parameters.clip else COUNTING
    shares = Shares(mu, 1 - share - counting, counting)
    return (SecondPass(sizes, n, shares, parameters.clip, negligible_noise_bound(n, shares.gradient_mu), name),)


def gradient_norms(public: PublicData, n: int, mu: float) -> GradientNorms:
    """Return the lengths of the gradients of public rows at the public fit, as if each row had been left out.

    Raises:
        ValueError: no public rows.
    """
    if public.whitened is None:
        raise ValueError("public rows are needed")
    lengths = np.linalg.norm(public.whitened[:, :-1], axis=1) * np.abs(public.whitened[:, -1])
    return GradientNorms.at(lengths, public.d, n, mu)


def negligible_noise_radius(n: int, mu: float, d: int, harmless: float) -> float:
    """Return the radius at which the noise on the Gram matrix has the norm ``harmless``.

    Args:
        n: number of private rows.
        mu: budget of the pass.
        d: number of features.
        harmless: norm of the noise in whitened units, HARMLESS_GRAM or HARMLESS_GRAM_OF_MANY.
    """
    return math.sqrt(harmless * mu * n / math.sqrt(d))


def pilot_variance(first: FirstPass) -> float:
    """Return the expected error variance of a whitened coefficient after a joint release shrunk to the public fit."""
    public, ball = first.public, first.ball
    v = first.sigma**2 / 2
    prior = np.maximum(public.fit_variances, 1e-300)
    observation = v / ball.response_scale**2 + v * np.sum(prior) + truncation_variance(public, ball)
    return float(np.mean(1 / (1 / observation + 1 / prior)))


def gram_error(first: FirstPass, truncated: float) -> float:
    """Return the expected squared relative error of the Gram matrix along a step: by noise, and by truncation.

    Args:
        first: the pass that releases the matrix.
        truncated: share of the Gram matrix that its ball truncates.
    """
    v, prior = first.sigma**2 / 2, 1 / first.n + first.public.moment_variance
    return v * prior / (v + prior) * (first.public.d + 1) + truncated**2


def _chosen(ball: Ball, parameters: JointParameters) -> Ball:
    """Return the truncation as given, or as chosen."""
    return Ball(parameters.radius or ball.radius, parameters.response_scale or ball.response_scale)


def expected_truncated_fraction(public: PublicData, ball: Ball) -> float:
    """Return the share of the Gram matrix that a ball is expected to truncate, from public rows and a power law.

    Args:
        public: the public data; without rows the share is 0.
        ball: truncation of the release.
    """
    rows = public.whitened
    if rows is None:
        return 0.0
    squares = np.sort(public.whitened_squares + (ball.response_scale * rows[:, -1]) ** 2)
    truncated = float(mean_excess(squares[None], np.array([[ball.radius**2]]), PowerTail)[1][0, 0])
    return min(truncated / float(np.mean(squares)), 1.0)


def _best_pilot(
    public: PublicData, sizes: GradientNorms, n: int, mu: float, *, harmless: float, parameters: JointParameters
) -> tuple[Shares, FirstPass]:
    """Choose the budget split and the pilot that minimize predicted error.

    A pilot with too little budget costs the later passes more than it saves.

    Args:
        public: the public data.
        sizes: lengths of gradients expected from public rows.
        n: number of private rows.
        mu: total budget.
        harmless: negligible relative error of the Gram matrix; the radius with that noise is the least one considered.
        parameters: of the method.
    """
    priced: list[tuple[float, Shares, FirstPass]] = []
    truncated = cache(partial(expected_truncated_fraction, public))
    for share in _PILOT_SHARES:
        shares = Shares(mu, share, _counting(parameters))
        accurate = least_error_ball(public, n, shares.pilot_mu)
        least = negligible_noise_radius(n, shares.pilot_mu, public.d, harmless)
        gradient_mse = sizes.predicted_mse(n, shares.gradient_mu) / public.d
        for wider in _BALL_FACTORS:
            ball = _chosen(
                Ball(max(wider * accurate.radius, least), _PILOT_SCALE * accurate.response_scale), parameters
            )
            first = FirstPass(public, n, shares.pilot_mu, ball)
            pilot_mse = pilot_variance(first)
            price = (
                pilot_mse * gradient_mse / (pilot_mse + gradient_mse) + gram_error(first, truncated(ball)) * pilot_mse
            )
            priced.append((price * (1.0 if wider == 1 else _WIDER_BALL_PENALTY), shares, first))
    return min(priced, key=lambda each: each[0])[1:]


@Method(
    id="joint-pmt",
    title="Joint whitened release",
    summary="A noisy moment of features and public residual, then clipped gradients. Both correct the public fit.",
    origin=Origin("beyond A and B"),
    claim=sound(
        "Gaussian mechanisms with tight sensitivities; whatever is computed from them costs no more", "radius", "noise"
    ),
    colour="#0072B2",
    recommended=True,
    whitens=True,
)
def plan(public: PublicData, n: int, budget: Budget, parameters: JointParameters) -> JointPlan:
    """Plan ``joint-pmt`` for these public data, n private rows and this total budget.

    Raises:
        InputError: more than one pass without public rows; a radius, bound or scale of next to nothing.
    """
    for name in ("radius", "clip", "response_scale"):
        value = getattr(parameters, name)
        if 0 < value < _LEAST_BOUND:
            raise InputError(MethodMessage.TINY_BOUND, name=name, least=_LEAST_BOUND, given=f"{value:g}")
    if parameters.passes in ("2", "3") and public.rows is None:
        raise InputError(MethodMessage.PASSES_NEED_ROWS)
    public = ridge_regularized_public(public)
    if public.rows is not None and parameters.passes != "1":
        return two_passes(public, n, budget, parameters)
    return one_pass(public, n, budget, parameters)
