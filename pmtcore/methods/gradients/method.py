"""``pmt-gradients``: a generalized linear fit from clipped gradients in several passes (proofs/gradients.md, 16).

    pass k   g = (1/n) sum v_i min(1, R_k/||v_i||) + noise,   v_i = x~_i (y_i - b'(x~_i'theta_k))
    between  theta_{k+1} = theta_k + K (g + what clipping took from public rows - penalty theta_k)

The gain K uses the public Hessian and accounts for its error. A share of the budget releases curvature matrices
(private Hessians) at some of the points, more of them where public rows are few or the budget is large. Each release is
a Gaussian mechanism on integer sums (3.1, 3.4, 14), composed adaptively, so that no property of the optimum has to be
proved. The clipping bias is estimated on public rows, each as if left out, and corrected; the bound balances the
variance of that correction against the noise.
Neighbours: replace-one. Public: the public data with the response, n, the schedule. Goes past the papers (A's
Algorithms 3 and 4 spend half of each step on a Hessian and start at 0).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from pmtcore.accounting.budgets import Budget, Spend
from pmtcore.base.bands import Bands
from pmtcore.base.messages import InputError, MethodMessage, Note, ReleaseNote
from pmtcore.base.private_rows import Private, PrivateRows, RowCache
from pmtcore.base.symmetric import upper_triangle
from pmtcore.glm.families import GAUSSIAN
from pmtcore.mechanisms import passes
from pmtcore.mechanisms.noise import NoiseSource, SeededNoise, sigma_for
from pmtcore.mechanisms.quantized_rows import QuantizedRows, Quantizer
from pmtcore.methods.facts import Facts
from pmtcore.methods.gradients.frame import Frame, has_few_rows
from pmtcore.methods.gradients.passes import (
    ClippingChoice,
    CountedLengths,
    FilterState,
    advance,
    ball_bounds,
    chance_if_alike,
    choose_bounds,
    combine_curvature,
    counted_balls,
    counted_bounds,
    curvature_at,
    expected_update,
)
from pmtcore.methods.gradients.rehearsal import (
    DRAWS,
    MANY_PRIVATE_ROWS,
    RehearsedPlan,
    error_ratios,
    interpolated_squares,
    reference_rows,
    simulated_table,
)
from pmtcore.methods.outcome_interval import OF_GRADIENTS
from pmtcore.methods.parameters import Parameters, parameter
from pmtcore.methods.registry import Method, Origin, Outcome, Prediction, StatisticPlan, sound
from pmtcore.public.bands import ErrorPart, limits
from pmtcore.public.clipping import GradientNorms
from pmtcore.public.moments import PublicData

# Schedules: number of passes, growth of their shares, share of all curvature matrices, and the numbers of gradients
# before each matrix (decisions 34 and 252).
_USUAL_SCHEDULE = (5, 2.2, 0.1, (1,))
# For an ample budget: ten passes have .76 to .89 of the error of five where the noise is below .035 of the sampling
# error (*tune*, m = 5d).
_AMPLE_SCHEDULE = (10, 1.6, 0.15, (1, 4))
# With few public rows, whose Hessian is imprecise: for an ample budget, and for negligible noise, where the number of
# steps limits the accuracy.
_AMPLE_SCHEDULE_OF_FEW_ROWS, _NOISELESS_SCHEDULE_OF_FEW_ROWS = (10, 1.5, 0.3, (1, 3, 5)), (20, 1.25, 0.3, (2, 5, 9, 13))
_LINEAR_SCHEDULE = (4, 2.5, 0.2, (0,))  # for least squares (decision 0017)
# A budget is ample where the noise of one gradient is below this share of the sampling error: then more steps reduce
# the error more than less noise does. With an imprecise public Hessian the share is larger (decision 252).
_AMPLE_NOISE, _AMPLE_NOISE_OF_FEW_ROWS = 0.035, 0.15
# Newton's method (decision 230): passes with a curvature matrix before each, and the share of histograms of lengths.
_NEWTON_SCHEDULE, _NEWTON_COUNTING = (14, 1.35, 0.2, tuple(range(14))), 0.08
# Where the noise of a gradient is below this share of the sampling error, the noise of a curvature matrix is negligible
# too. Newton's method is then used for labels, whose curvature is bounded, unless public rows are few.
_LEAST_NOISE = 0.004
# A smaller p-value counts as evidence of different populations. It is conservative: on *tune* the rate of false alarms
# is one in twenty.
_NOMINAL_RATE = 0.1


class GradientParameters(Parameters):
    """Public parameters of ``pmt-gradients``."""

    passes: int = parameter(
        0,
        "Passes (0: automatic)",
        "Clipped gradients, with curvature matrices before some; automatic: 5, 10 where the budget is ample, 14 or 20 "
        "where noise is next to nothing; 4 for least squares.",
        low=0,
        high=50,
        automatic="gradient_passes",
    )


@dataclass(frozen=True)
class Schedule:
    """Order of the releases, and the share of mu^2 of each.

    Attributes:
        gradients: share of each gradient.
        curvature: share of all curvature matrices together; 0: none.
        curvature_after: number of gradients before each curvature matrix.
        counting: share of all histograms together; 0: none. There is one of gradient lengths before each gradient, and
            one of curvature lengths before each curvature matrix.
    """

    gradients: tuple[float, ...]
    curvature: float
    curvature_after: tuple[int, ...]
    counting: float = 0.0

    @classmethod
    def of(
        cls, count: int, growth: float, curvature: float, before: tuple[int, ...], *, counting: float = 0.0
    ) -> Schedule:
        """Return a schedule whose shares grow by a factor from pass to pass: early steps need less precision."""
        shares = growth ** np.arange(count)
        within = tuple(sorted({min(at, count - 1) for at in before})) if curvature else ()
        return cls(tuple((1 - curvature - counting) * shares / shares.sum()), curvature, within, counting)

    @property
    def curvature_share(self) -> float:
        """Return the share of one curvature matrix."""
        return self.curvature / max(len(self.curvature_after), 1)

    @property
    def histograms(self) -> int:
        """Return the number of histograms."""
        return len(self.gradients) + len(self.curvature_after) if self.counting else 0

    @property
    def histogram_share(self) -> float:
        """Return the share of one histogram."""
        return self.counting / max(self.histograms, 1)


@dataclass(frozen=True)
class GradientPlan(RehearsedPlan, StatisticPlan[RowCache[QuantizedRows]]):
    """``pmt-gradients`` with the schedule fixed."""

    schedule: Schedule

    # Sampling errors are summed over groups first.
    clusters_errors = True

    @cached_property
    def frame(self) -> Frame:
        """Return the public side."""
        return Frame(self.public, self.n)

    @property
    def n_passes(self) -> int:
        """Return the number of gradients, curvature matrices and histograms."""
        return len(self.schedule.gradients) + len(self.schedule.curvature_after) + self.schedule.histograms

    @cached_property
    def gradient_norms(self) -> GradientNorms:
        """Return the bins of histograms of gradient lengths, from public gradients at the initial point."""
        lengths = self.frame.norms * np.abs(self.frame.residuals(self.frame.start[0][None])[0])
        mu = self.mu * math.sqrt(self.schedule.gradients[-1])
        return GradientNorms.at(lengths, self.public.d, self.n, mu)

    @cached_property
    def curvature_norms(self) -> GradientNorms:
        """Return the bins of histograms of curvature lengths, from public curvatures at the initial point."""
        lengths = self.frame.norms * np.sqrt(self.frame.slopes(self.frame.start[0][None])[:, 0])
        return GradientNorms.at(lengths, self.public.d, self.n, self.mu)

    @property
    def _counting_mu(self) -> float:
        return self.mu * math.sqrt(self.schedule.histogram_share)

    def _lengths(self, norms: GradientNorms, counts: np.ndarray) -> CountedLengths:
        return CountedLengths(norms, counts, sigma_for(passes.HISTOGRAM_SENSITIVITY, self._counting_mu))

    def measure(self, rows: PrivateRows) -> Private[RowCache[QuantizedRows]]:
        """Return the rows, to be whitened in the first pass; what is summed depends on the releases before."""
        return Private(Quantizer.features_only(self.frame.root, self.public.has_intercept).pieces(rows))

    def perturb(self, statistic: Private[RowCache[QuantizedRows]], source: NoiseSource, trials: int) -> GradientOutcome:
        """Return the release.

        Guarantee: mu-GDP under replace-one: clipped gradients of sensitivity ``2 R_k/n``, matrices of sensitivity
        ``sqrt(2) B^2/n`` and histograms of sensitivity ``sqrt(2)``, composed adaptively (proofs/sensitivity.md, 3.1,
        3.4 and 16); all else is post-processing.
        """
        return self._passes(statistic, source, trials, self.n)

    def _passes(
        self, rows: Private[RowCache[QuantizedRows]], source: NoiseSource, trials: int, many: int
    ) -> GradientOutcome:
        """Return the releases of the passes over ``many`` rows, with the noise that a mean over n rows would have."""
        scale = self.n / many
        frame, family = self.frame, self.public.family
        state, transcript = FilterState.first(frame, trials), []
        counting = self.schedule.counting > 0

        def counted(norms: GradientNorms, of_curvatures: bool) -> CountedLengths:
            histogram = passes.LengthCounts(family, state.points, norms.edges, of_curvatures)
            counts = histogram.release(rows, self._counting_mu * scale, source) * scale
            transcript.append(counts)
            return self._lengths(norms, counts)

        for at, share in enumerate(self.schedule.gradients):
            if at in self.schedule.curvature_after:
                mu = self.mu * math.sqrt(self.schedule.curvature_share)
                if counting:
                    bounds = counted_balls(frame, mu, counted(self.curvature_norms, True))
                else:
                    bounds = ball_bounds(frame, state, mu)
                curved = passes.CurvatureSum(family, state.points, bounds)
                matrices = curved.release(rows, mu * scale, many, source)
                state = combine_curvature(frame, state, bounds, mu, released=matrices, with_last=counting)
                transcript.append(upper_triangle(matrices) / bounds[:, None] ** 2)
            mu = self.mu * math.sqrt(share)
            if counting:
                chosen = counted_bounds(frame, state, mu, counted(self.gradient_norms, False))
            else:
                chosen = choose_bounds(frame, state, mu)
            sums = passes.GradientSum(family, state.points, chosen.clipped.bounds)
            mean = sums.release(rows, mu * scale, many, source)
            if at == 0:
                first = state, chosen, mean[0] * sums.bounds[0]
            state = advance(frame, state, chosen, mean * sums.bounds[:, None])
            transcript.append(mean)
        return GradientOutcome(self, state, np.column_stack(transcript), first)

    def rehearse(self) -> tuple[np.ndarray, np.ndarray]:
        """Return errors (draws, d) and covariances (draws, d, d) of passes over simulated rows."""
        frame, errors, covariances = self.frame, [], []
        as_they_are = Quantizer.features_only(np.eye(self.public.d), False)
        for draw in range(DRAWS):
            drawn = simulated_table(frame, draw)
            weights = None if self.public.weights is None else frame.weights
            pieces = as_they_are.pieces(drawn.private(frame.rows, self.public.names, weights))
            state = self._passes(Private(pieces), SeededNoise(0, draw), 1, len(drawn.indices)).state
            errors.append(state.points[0] - drawn.fit)
            covariances.append(state.covariance[0])
        return np.array(errors), np.array(covariances)

    @cached_property
    def expected_error_ratios(self) -> np.ndarray:
        """Return :attr:`error_ratios` (d,) interpolated between decades of ``n mu``, for predictions.

        They are simulated for a reference number of rows. Where n is not much larger than m, squared errors are divided
        by the covariance for n rows instead of the reference's.
        """
        n = reference_rows(self.public, self.n)

        def squares_at(noise_scale: float) -> np.ndarray:
            return replace(self, n=n, mu=noise_scale / n).squared_deviations

        squares = interpolated_squares(self.public, (self.schedule, n), self.n * self.mu, squares_at)
        if self.n < MANY_PRIVATE_ROWS * self.frame.m:
            reference = replace(self, n=n, mu=self.n * self.mu / n)
            reference_variances, variances = (
                np.diag(self.in_table_units(plan.expected_state.covariance[0])) for plan in (reference, self)
            )
            squares = squares * reference_variances / np.maximum(variances, 1e-300)
        return error_ratios(squares)

    @cached_property
    def expected_state(self) -> FilterState:
        """Return the state expected after the passes if private rows are like the public ones."""
        state = FilterState.first(self.frame, 1)
        errors = state.covariance
        for at, share in enumerate(self.schedule.gradients):
            if at in self.schedule.curvature_after:
                mu = self.mu * math.sqrt(self.schedule.curvature_share)
                bounds = self._expected_balls(state, mu)
                alike = curvature_at(self.frame, replace(state, released=None)).hessian
                with_last = self.schedule.counting > 0
                state = combine_curvature(self.frame, state, bounds, mu, released=alike, with_last=with_last)
            chosen = self._expected_bounds(state, self.mu * math.sqrt(share))
            state, errors = expected_update(self.frame, state, chosen, errors)
        return state

    def _expected_balls(self, state: FilterState, mu: float) -> np.ndarray:
        if not self.schedule.counting:
            return ball_bounds(self.frame, state, mu)
        norms = self.curvature_norms
        return counted_balls(self.frame, mu, self._lengths(norms, norms.expected_tail_counts(self.n)[None]))

    def _expected_bounds(self, state: FilterState, mu: float) -> ClippingChoice:
        if not self.schedule.counting:
            return choose_bounds(self.frame, state, mu)
        norms = self.gradient_norms
        return counted_bounds(self.frame, state, mu, self._lengths(norms, norms.expected_tail_counts(self.n)[None]))

    def predicted(self) -> Prediction | None:
        """Return the expected standard errors after the passes, and the sampling error from public influence values."""
        privacy = self.privacy_part(self.expected_state, self.expected_error_ratios).sd
        prediction = Prediction(
            privacy, self.frame.sampling(self.expected_state.points[0]).sd, clipping_in_privacy=True
        )
        if self.public.family is GAUSSIAN:
            return prediction
        return OF_GRADIENTS.of(prediction, self.n, self.public.m)

    def privacy_part(self, state: FilterState, error_ratios: np.ndarray) -> ErrorPart:
        """Return the privacy part of the first trial's error, in the units of the table.

        Args:
            state: after the passes.
            error_ratios: factors (d,) by which actual errors exceed the standard deviations of the state's covariance.
        """
        part = ErrorPart.of(self.in_table_units(state.covariance[0]) * np.outer(error_ratios, error_ratios))
        return part.with_variance(np.maximum(part.variance, 0.0))

    def parts(self) -> tuple[Spend, ...]:
        """Return the spends: gradients in units of their bounds, curvature matrices and histograms if there are any."""
        spends = []
        for at, share in enumerate(self.schedule.gradients, 1):
            sensitivity = passes.GRADIENT_SENSITIVITY / self.n
            name = f"clipped gradient {at}, in units of its bound"
            spends.append(Spend.gaussian(name, sensitivity, sensitivity / (self.mu * math.sqrt(share))))
        for at in range(len(self.schedule.curvature_after)):
            sensitivity = passes.CURVATURE_SENSITIVITY / self.n
            sd = sensitivity / (self.mu * math.sqrt(self.schedule.curvature_share))
            name = f"curvature {at + 1}, in units of its squared bound"
            spends.append(Spend.gaussian(name, sensitivity, sd))
        for at in range(self.schedule.histograms):
            sd = sigma_for(passes.HISTOGRAM_SENSITIVITY, self._counting_mu)
            spends.append(Spend.gaussian(f"histogram of lengths {at + 1}", passes.HISTOGRAM_SENSITIVITY, sd))
        return tuple(spends)

    def facts(self) -> Facts:
        """Return the expected noise and share of clipped rows of the last pass, and the schedule."""
        chosen = self._expected_bounds(self.expected_state, self.mu * math.sqrt(self.schedule.gradients[-1]))
        lengths = self.frame.norms * np.abs(self.frame.residuals(self.expected_state.points)[0])
        return Facts(
            noise_sd=float(chosen.noise[0]),
            predicted_truncation_rate=float(np.mean(lengths > chosen.clipped.bounds[0])),
            penalty=self.public.stated_penalty,
            prior_sd=self.public.prior_sd,
            more={
                "gradient_passes": float(len(self.schedule.gradients)),
                "curvature_share": self.schedule.curvature,
                "prior_ridge": self.frame.prior.penalty,
                "whitening_ridge": self.frame.prior.whitening,
            },
        )

    def prepare(self) -> None:
        """Compute the plan's figures and the error ratios from simulated rows, which intervals need."""
        self.facts()
        _ = self.error_ratios


class GradientOutcome(Outcome):
    """Points after the last pass (trials, d), the covariance of their error, and the first gradient."""

    def __init__(
        self,
        plan: GradientPlan,
        state: FilterState,
        transcript: np.ndarray,
        first: tuple[FilterState, ClippingChoice, np.ndarray],
    ) -> None:
        self.plan, self.state, self._first = plan, state, first
        self._transcript = transcript

    def transcript(self) -> np.ndarray:
        """Return all released numbers, in units of their bounds."""
        return self._transcript

    @property
    def coefficients(self) -> np.ndarray:
        """Return coefficients (trials, d) in the units of the table."""
        return self.plan.frame.to_table(self.state.points)

    def bands(self) -> Bands | None:
        """Return intervals from a privacy part (noise, clipping, error of the Hessian) and a sampling part."""
        estimate = self.coefficients[0]
        privacy = self.plan.privacy_part(self.state, self.plan.error_ratios)
        return limits(estimate, privacy, self.plan.frame.sampling(self.state.points[0]))

    @cached_property
    def disagrees(self) -> bool:
        """Return whether the first trial's first gradient is longer than the public fit's error and noise explain."""
        return chance_if_alike(self.plan.frame, *self._first) < _NOMINAL_RATE

    def notes(self) -> tuple[str, ...]:
        """Return a note where private rows do not follow the public fit."""
        return (Note(ReleaseNote.FIT_TOO_FAR),) if self.disagrees else ()


def _recommended(public: PublicData) -> bool:
    """Recommend it for labels and counts."""
    return public.family is not GAUSSIAN


@Method(
    id="pmt-gradients",
    title="Clipped gradients in passes",
    summary="Clipped gradients at one released point after another, scaled by public curvature; for labels and counts.",
    origin=Origin("beyond A"),
    claim=sound("Gaussian mechanisms on integer sums, composed; steps between them cost no more", "noise", "gradients"),
    colour="#0B7A75",
    families=("gaussian", "logistic", "boosting", "poisson"),
    task="any",
    weighs_losses=True,
    recommended=True,
    recommended_for=_recommended,
    whitens=True,
)
def _plan(public: PublicData, n: int, budget: Budget, parameters: GradientParameters) -> GradientPlan:
    """Plan ``pmt-gradients`` for these public data.

    Raises:
        InputError: no public rows.
    """
    if public.rows is None or public.m is None:
        raise InputError(MethodMessage.ROWS_NEEDED, method="pmt-gradients")
    count, growth, curvature, before = terms = _schedule(public, n, budget.mu)
    if parameters.passes > count:
        # More passes keep the ratio of the first share to the last.
        growth = growth ** ((count - 1) / (parameters.passes - 1))
    count, counting = parameters.passes or count, 0.0
    if terms is _NEWTON_SCHEDULE:
        before, counting = tuple(range(count)), _NEWTON_COUNTING
    schedule = Schedule.of(count, growth, curvature, before, counting=counting)
    return GradientPlan(public, n, budget.mu, schedule)


def _schedule(public: PublicData, n: int, mu: float) -> tuple[int, float, float, tuple[int, ...]]:
    """Return the number of passes, growth, share of the curvature, and gradients before each matrix.

    They depend on the ratio of noise to sampling error of a gradient. For rows of length ``sqrt(d)`` the noise of a
    coordinate is ``2 sqrt(d)/(mu n)`` and its sampling error ``1/sqrt(n)``.
    """
    if public.family is GAUSSIAN:
        return _LINEAR_SCHEDULE
    noise = 2 * math.sqrt(public.d / n) / mu
    if has_few_rows(public):
        if noise < _LEAST_NOISE:
            return _NOISELESS_SCHEDULE_OF_FEW_ROWS
        return _AMPLE_SCHEDULE_OF_FEW_ROWS if noise < _AMPLE_NOISE_OF_FEW_ROWS else _USUAL_SCHEDULE
    if public.family.binary and noise < _LEAST_NOISE:
        return _NEWTON_SCHEDULE
    return _AMPLE_SCHEDULE if noise < _AMPLE_NOISE else _USUAL_SCHEDULE
