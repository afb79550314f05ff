"""``pmt-gradients``: a generalized linear fit from clipped gradients in several passes (proofs/gradients.md, 16).

    pass k   g = (1/n) sum v_i min(1, R_k/||v_i||) + noise,   v_i = x~_i (y_i - b'(x~_i'theta_k))
    between  theta_{k+1} = theta_k + K (g + what clipping took from public rows - penalty theta_k)

The public Hessian serves, with its error carried along, and a share of the budget releases curvature matrices at some
of the points, more of them where public rows are few or the budget is ample. Each is one Gaussian mechanism on integer
sums (3.1, 3.4, 14), composed adaptively, so nothing about an optimum has to be proved. What clipping biases is
estimated on public rows, each as if left out, and added back; its variance is weighed against the noise when the bound
is chosen.
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
    simulated,
)
from pmtcore.methods.outcome_interval import OF_GRADIENTS
from pmtcore.methods.parameters import Parameters, parameter
from pmtcore.methods.registry import Method, Origin, Outcome, Prediction, StatisticPlan, sound
from pmtcore.public.bands import ErrorPart, limits
from pmtcore.public.clipping import GradientNorms
from pmtcore.public.moments import PublicData

# Passes, growth of their shares, share of the curvature matrices, passes before each (decisions 34 and 252).
_USUAL_SCHEDULE = (5, 2.2, 0.1, (1,))
# For an ample budget: ten passes have .76 to .89 of the error of five where the noise is below .035 of the sampling
# error (*tune*, m = 5d).
_AMPLE_SCHEDULE = (10, 1.6, 0.15, (1, 4))
# The same for few public rows, whose Hessian is rough; and where noise is so small that steps alone are missing.
_AMPLE_SCHEDULE_OF_FEW_ROWS, _NOISELESS_SCHEDULE_OF_FEW_ROWS = (10, 1.5, 0.3, (1, 3, 5)), (20, 1.25, 0.3, (2, 5, 9, 13))
_LINEAR_SCHEDULE = (4, 2.5, 0.2, (0,))  # the same for least squares (decision 0017)
# A budget is ample where the noise of one gradient is below this share of the sampling error: then steps are what is
# missing. It is sooner where the public Hessian is rough (decision 252).
_AMPLE_NOISE, _AMPLE_NOISE_OF_FEW_ROWS = 0.035, 0.15
# Newton's method (decision 230): passes with a curvature matrix before each, and the share of histograms of lengths.
_NEWTON_SCHEDULE, _NEWTON_COUNTING = (14, 1.35, 0.2, tuple(range(14))), 0.08
# Where the noise of a gradient is below this share of the sampling error, even a curvature matrix has noise of no
# weight. Newton's method is for labels, whose curvature has a bound, and where public rows are not few.
_LEAST_NOISE = 0.004
# Samples with a smaller p-value are not alike. The law is an upper bound: on *tune* that is one false alarm in twenty.
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
        gradients: shares of the passes.
        curvature: share of all curvature matrices together; 0: none.
        before: passes before each curvature matrix.
        counting: share of all histograms together, of lengths before each gradient and each curvature matrix; 0: none.
    """

    gradients: tuple[float, ...]
    curvature: float
    before: tuple[int, ...]
    counting: float = 0.0

    @classmethod
    def of(
        cls, count: int, growth: float, curvature: float, before: tuple[int, ...], *, counting: float = 0.0
    ) -> Schedule:
        """Return shares that grow by a factor from pass to pass: early passes need only a rough direction."""
        shares = growth ** np.arange(count)
        within = tuple(sorted({min(at, count - 1) for at in before})) if curvature else ()
        return cls(tuple((1 - curvature - counting) * shares / shares.sum()), curvature, within, counting)

    @property
    def each_curvature(self) -> float:
        """Share of one curvature matrix."""
        return self.curvature / max(len(self.before), 1)

    @property
    def histograms(self) -> int:
        """Return the number of histograms."""
        return len(self.gradients) + len(self.before) if self.counting else 0

    @property
    def each_histogram(self) -> float:
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
        return len(self.schedule.gradients) + len(self.schedule.before) + self.schedule.histograms

    @cached_property
    def gradient_norms(self) -> GradientNorms:
        """Return the bins of histograms of gradient lengths, by public ones at the start."""
        lengths = self.frame.norms * np.abs(self.frame.residuals(self.frame.start[0][None])[0])
        mu = self.mu * math.sqrt(self.schedule.gradients[-1])
        return GradientNorms.at(lengths, self.public.d, self.n, mu)

    @cached_property
    def curvature_norms(self) -> GradientNorms:
        """Return the bins of histograms of curvature lengths, by public ones at the start."""
        lengths = self.frame.norms * np.sqrt(self.frame.slopes(self.frame.start[0][None])[:, 0])
        return GradientNorms.at(lengths, self.public.d, self.n, self.mu)

    @property
    def _counting_mu(self) -> float:
        return self.mu * math.sqrt(self.schedule.each_histogram)

    def _counted(self, norms: GradientNorms, counts: np.ndarray) -> CountedLengths:
        return CountedLengths(norms, counts, sigma_for(passes.HISTOGRAM_SENSITIVITY, self._counting_mu))

    def measure(self, rows: PrivateRows) -> Private[RowCache[QuantizedRows]]:
        """Return the rows, to be whitened in the first pass: each pass depends on the noise before."""
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
        """Return the releases of the passes; ``many``: number of rows at hand, whose mean gets the noise of n rows."""
        scale = self.n / many
        frame, family = self.frame, self.public.family
        state, transcript = FilterState.first(frame, trials), []
        counting = self.schedule.counting > 0

        def counted(norms: GradientNorms, of_curvatures: bool) -> CountedLengths:
            histogram = passes.LengthCounts(family, state.points, norms.edges, of_curvatures)
            counts = histogram.release(rows, self._counting_mu * scale, source) * scale
            transcript.append(counts)
            return self._counted(norms, counts)

        for at, share in enumerate(self.schedule.gradients):
            if at in self.schedule.before:
                mu = self.mu * math.sqrt(self.schedule.each_curvature)
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
        """Return errors and covariances of passes over simulated rows."""
        frame, errors, covariances = self.frame, [], []
        as_they_are = Quantizer.features_only(np.eye(self.public.d), False)
        for draw in range(DRAWS):
            drawn = simulated(frame, draw)
            weights = None if self.public.weights is None else frame.weights
            pieces = as_they_are.pieces(drawn.private(frame.rows, self.public.names, weights))
            state = self._passes(Private(pieces), SeededNoise(0, draw), 1, len(drawn.places)).state
            errors.append(state.points[0] - drawn.fit)
            covariances.append(state.covariance[0])
        return np.array(errors), np.array(covariances)

    @cached_property
    def expected_error_ratios(self) -> np.ndarray:
        """Return :attr:`error_ratios` (d,) as a prediction needs them: interpolated between decades of ``n mu``.

        The same errors stand beside the covariance for n rows, which is wider where n is not much larger than m.
        """
        n = reference_rows(self.public, self.n)

        def squares_at(noise_scale: float) -> np.ndarray:
            return replace(self, n=n, mu=noise_scale / n).squared_deviations

        squares = interpolated_squares(self.public, (self.schedule, n), self.n * self.mu, squares_at)
        if self.n < MANY_PRIVATE_ROWS * self.frame.m:
            reference = replace(self, n=n, mu=self.n * self.mu / n)
            theirs, own = (np.diag(self.in_table(plan.expected.covariance[0])) for plan in (reference, self))
            squares = squares * theirs / np.maximum(own, 1e-300)
        return error_ratios(squares)

    @cached_property
    def expected(self) -> FilterState:
        """Return the state expected after the passes if private rows are like the public ones."""
        state = FilterState.first(self.frame, 1)
        errors = state.covariance
        for at, share in enumerate(self.schedule.gradients):
            if at in self.schedule.before:
                mu = self.mu * math.sqrt(self.schedule.each_curvature)
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
        return counted_balls(self.frame, mu, self._counted(norms, norms.expected_tail_counts(self.n)[None]))

    def _expected_bounds(self, state: FilterState, mu: float) -> ClippingChoice:
        if not self.schedule.counting:
            return choose_bounds(self.frame, state, mu)
        norms = self.gradient_norms
        return counted_bounds(self.frame, state, mu, self._counted(norms, norms.expected_tail_counts(self.n)[None]))

    def predicted(self) -> Prediction | None:
        """Return the errors that the passes are expected to leave, and the sampling error by public influence."""
        privacy = self.left(self.expected, self.expected_error_ratios).sd
        prediction = Prediction(privacy, self.frame.sampling(self.expected.points[0]).sd, clipping_in_privacy=True)
        if self.public.family is GAUSSIAN:
            return prediction
        return OF_GRADIENTS.of(prediction, self.n, self.public.m)

    def left(self, state: FilterState, error_ratios: np.ndarray) -> ErrorPart:
        """Return the error covariance that the passes leave in the first trial, in the units of the table.

        Args:
            state: after the passes.
            error_ratios: what errors (d,) are longer by than its covariance says.
        """
        part = ErrorPart.of(self.in_table(state.covariance[0]) * np.outer(error_ratios, error_ratios))
        return part.with_variance(np.maximum(part.variance, 0.0))

    def parts(self) -> tuple[Spend, ...]:
        """Return the spends: gradients in units of their bounds, curvature matrices and histograms if there are any."""
        spends = []
        for at, share in enumerate(self.schedule.gradients, 1):
            sensitivity = passes.GRADIENT_SENSITIVITY / self.n
            name = f"clipped gradient {at}, in units of its bound"
            spends.append(Spend.gaussian(name, sensitivity, sensitivity / (self.mu * math.sqrt(share))))
        for at in range(len(self.schedule.before)):
            sensitivity = passes.CURVATURE_SENSITIVITY / self.n
            sd = sensitivity / (self.mu * math.sqrt(self.schedule.each_curvature))
            name = f"curvature {at + 1}, in units of its squared bound"
            spends.append(Spend.gaussian(name, sensitivity, sd))
        for at in range(self.schedule.histograms):
            sd = sigma_for(passes.HISTOGRAM_SENSITIVITY, self._counting_mu)
            spends.append(Spend.gaussian(f"histogram of lengths {at + 1}", passes.HISTOGRAM_SENSITIVITY, sd))
        return tuple(spends)

    def facts(self) -> Facts:
        """Return the noise and clipping that the last pass is expected to have, and the schedule."""
        chosen = self._expected_bounds(self.expected, self.mu * math.sqrt(self.schedule.gradients[-1]))
        lengths = self.frame.norms * np.abs(self.frame.residuals(self.expected.points)[0])
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
        """Compute the figures and the passes over public rows drawn anew, which intervals need."""
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
        """Return intervals: noise, clipping and the rough Hessian, combined with public rows; sampling; both."""
        estimate = self.coefficients[0]
        privacy = self.plan.left(self.state, self.plan.error_ratios)
        return limits(estimate, privacy, self.plan.frame.sampling(self.state.points[0]))

    @cached_property
    def disagrees(self) -> bool:
        """Return whether the first trial's first gradient is longer than the public fit's error and noise explain."""
        return chance_if_alike(self.plan.frame, *self._first) < _NOMINAL_RATE

    def notes(self) -> tuple[str, ...]:
        """Return the notes: whether the rows looked alike."""
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
        # the first share stays what it is of the last
        growth = growth ** ((count - 1) / (parameters.passes - 1))
    count, counting = parameters.passes or count, 0.0
    if terms is _NEWTON_SCHEDULE:
        before, counting = tuple(range(count)), _NEWTON_COUNTING
    schedule = Schedule.of(count, growth, curvature, before, counting=counting)
    return GradientPlan(public, n, budget.mu, schedule)


def _schedule(public: PublicData, n: int, mu: float) -> tuple[int, float, float, tuple[int, ...]]:
    """Return passes, growth, share of the curvature and passes before each matrix.

    A gradient of rows of length ``sqrt(d)`` has noise ``2 sqrt(d)/(mu n)`` on a coordinate where its sampling error is
    ``1/sqrt(n)``: their ratio says whether the budget buys precision or steps.
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
