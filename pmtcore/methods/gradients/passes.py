"""Kalman filter over clipped gradients and curvatures that are released at the current estimate.

Proof: proofs/gradients.md, 16.

The state after each pass is the estimate (points, (t, d)) and the covariance V (t, d, d) of the fit to the private rows
around it, both from public and released figures. With the Hessian H, the penalized clipped gradient e and its noise D,

    S = H V H + D,   K = V H S^{-1},   point + K e,   V - K H V.

D contains the noise, the error of the correction for clipping, and the error of H times a step of covariance V. Where
e conflicts with S, V is inflated first (proofs/shrinkage.md, 6.1). After a step H refers to the previous point, so V
gets process noise in proportion to the squared step; otherwise later gradients would have too little weight.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from pmtcore.glm.families import GAUSSIAN
from pmtcore.mechanisms.passes import CURVATURE_SENSITIVITY, GRADIENT_SENSITIVITY
from pmtcore.mechanisms.truncation import length_weights
from pmtcore.methods.gradients.frame import ClippedPart, Frame
from pmtcore.public.clipping import ABSOLUTE_SHARE, GradientNorms, PowerTail, least_error, mean_excess
from pmtcore.public.gaussian_update import chance_if_agreeing, gaussian_update, inflate_on_conflict, raise_curvatures

# Multiple of the mean eigenvalue that is added to the diagonal of a public Hessian.
_LEAST_CURVATURE = 0.02
# Lower bound on the eigenvalues of a released curvature in units of the public one.
_LEAST_CURVATURE_RATIO = 0.02
# Standard deviations (of a chi-square) beyond which a released curvature conflicts with the expected one.
_CURVATURE_DEVIATIONS = 3.0
# Candidate bounds of curvatures: least in units of the median length, largest in units of the longest, and their
# number.
_BALLS_TRIED = (0.5, 4.0, 12)
# Process noise along a step, as a share of its square, and in every direction, as a share of that (benchmarks/zoo.py).
_ALONG_STEP, _ACROSS_STEP = 0.3, 0.3
# Noise below this share of the sampling error is negligible: the bound may be that large, and then clips less.
_HARMLESS_NOISE = 0.05
# Largest change of a public linear predictor by a step that is not shortened.
_UNDAMPED_MOVE = 3.0
# The same where the curvature of the private rows was released at the point.
_UNDAMPED_NEWTON_MOVE = 5.0
# A step overshot the minimum along it if the slope at its end has the opposite sign and exceeds this share of the slope
# at its start, and this many standard deviations of noise.
_STEEP_SHARE, _SLOPE_DEVIATIONS = 0.5, 3.0
# Largest step after an overshoot, as a share of the distance to the minimum, and its growth from pass to pass (*tune*,
# 70 draws from distant starts, two releases: a share .029 of errors above 3 standard errors, without the limit .057).
_REACH_AFTER_OVERSHOOT, _REACH_GROWTH = 0.25, 2.0


@dataclass(frozen=True)
class Curvature:
    """Hessians without the penalty (t, d, d), and the variance (t,) of their entries."""

    hessian: np.ndarray
    variance: np.ndarray


@dataclass(frozen=True, eq=False)
class CurvatureRatio:
    """Released curvatures in units of public ones.

    Attributes:
        ratio: (t, d, d), where the public Hessian is the identity.
        root: of the public Hessian (t, d, d) where the curvature was released.
        variance: of an entry (t,).
    """

    ratio: np.ndarray
    root: np.ndarray
    variance: np.ndarray


@dataclass(frozen=True, eq=False)
class Observation:
    """Penalized gradients (t, d) that were released at points (t, d), and the variance (t,) of a coordinate."""

    points: np.ndarray
    gradients: np.ndarray
    variance: np.ndarray


@dataclass(frozen=True, eq=False)
class FilterState:
    """State of the filter in t trials.

    Attributes:
        points: (t, d) in whitened coordinates.
        covariance: of the fit to the private rows around the points (t, d, d).
        released: released curvature as a ratio to the public one; ``None`` before any.
        last_observation: the gradients of the previous pass; ``None`` at first.
        reach: upper bound (t,) on the length of steps after an overshoot; ``None`` before any.
    """

    points: np.ndarray
    covariance: np.ndarray
    released: CurvatureRatio | None
    last_observation: Observation | None = None
    reach: np.ndarray | None = None

    @classmethod
    def first(cls, frame: Frame, trials: int) -> FilterState:
        """Return the initial state: the public prior in each trial."""
        centre, covariance = frame.start
        points, spread = np.tile(centre, (trials, 1)), np.tile(covariance, (trials, 1, 1))
        return cls(points, spread, None)


@dataclass(frozen=True, eq=False)
class ClippingChoice:
    """Clipping bounds of a pass, with the curvature and the noise that belong to them.

    Attributes:
        clipped: bounds, and the mean and covariance of the clipped part of gradients.
        curvature: at the points.
        noise: standard deviation (t,) of the noise on a coordinate.
        counted: whether a histogram of private lengths and a private curvature were released at the points.
    """

    clipped: ClippedPart
    curvature: Curvature
    noise: np.ndarray
    counted: bool = False


@dataclass(frozen=True, eq=False)
class CountedLengths:
    """Released histograms of private lengths.

    Attributes:
        norms: their bins, and the public lengths.
        counts: of rows (t, K).
        noise: standard deviation of the noise on a count.
    """

    norms: GradientNorms
    counts: np.ndarray
    noise: float

    def rows(self, n: int) -> np.ndarray:
        """Return the estimated number of the n rows in each bin (t, K)."""
        return self.norms.expected(n, self.counts, self.noise)

    def bounds(self, n: int, unit: float, power: int) -> np.ndarray:
        """Return the edges (t,) with the least squared error of the clipped mean.

        The clipping error is an upper bound: each row is as long as the upper edge of its bin, and all clipped parts
        point in one direction. It is close where noise is small, since few rows are then beyond the bound.

        Args:
            n: number of private rows.
            unit: root of the noise variance, summed over coordinates, at bound 1.
            power: power of the length in a row's contribution, 1 for gradients and 2 for curvatures.
        """
        edges = self.norms.edges[1:] ** power
        excess = np.maximum(edges - edges[:, None], 0.0)  # bounds, bins
        bias = self.rows(n) @ excess.T / n
        return least_error(self.norms.edges[1:], bias**2 + (unit * edges) ** 2)


def curvature_at(frame: Frame, state: FilterState) -> Curvature:
    """Return the public Hessian at the points, or the last released one without a change of point.

    Public rows do not predict how the private Hessian changes between points: where their labels are nearly separated
    the public Hessian vanishes while the private one does not, and steps would grow without bound.
    """
    if state.released is not None:
        root = state.released.root
        return Curvature(root @ state.released.ratio @ np.swapaxes(root, 1, 2), state.released.variance)
    slopes = frame.slopes(state.points)
    hessians = frame.hessians(slopes)
    return Curvature(hessians, frame.hessian_entry_variance(slopes, hessians))


def choose_bounds(frame: Frame, state: FilterState, mu: float) -> ClippingChoice:
    """Choose in each trial the bound with the least squared error of the gradient, from public rows and their tail.

    Clipping error and noise are summed over coordinates. The bound is at least the one with negligible noise, limited
    to the largest candidate.
    """
    d = frame.public.d
    curvature = curvature_at(frame, state)
    residuals = frame.residuals(state.points)
    ratio = frame.expected_residual_ratio(residuals, state.points, state.covariance)
    bounds, clipping = frame.candidates(residuals * ratio[:, None])
    unit = GRADIENT_SENSITIVITY / (mu * frame.n)
    chosen = least_error(bounds, clipping + d * (unit * bounds) ** 2)
    harmless = frame.negligible_noise_bounds(curvature.hessian + frame.penalty, unit, _HARMLESS_NOISE)
    chosen = np.maximum(chosen, np.minimum(harmless, bounds[:, -1]))
    return ClippingChoice(frame.clipped_part(residuals, chosen, ratio), curvature, unit * chosen)


def counted_bounds(frame: Frame, state: FilterState, mu: float, lengths: CountedLengths) -> ClippingChoice:
    """Choose in each trial the bound with the least squared error of the gradient, from counted private lengths.

    The mean is not corrected for clipping: the clipped part of public rows is not informative where the histogram shows
    that hardly any private row is clipped.
    """
    d = frame.public.d
    unit = GRADIENT_SENSITIVITY / (mu * frame.n)
    bounds = lengths.bounds(frame.n, unit * math.sqrt(d), 1)
    variance = lengths.norms.clipping_mse(lengths.rows(frame.n), frame.n, bounds) / d
    clipped = ClippedPart(bounds, np.zeros_like(state.points), variance[:, None, None] * np.eye(d))
    return ClippingChoice(clipped, curvature_at(frame, state), unit * bounds, counted=True)


def advance(frame: Frame, state: FilterState, chosen: ClippingChoice, gradients: np.ndarray) -> FilterState:
    """Return the state after clipped gradients (t, d) at the points."""
    innovation = _innovation(frame, state, chosen, gradients)
    clipping = np.trace(chosen.clipped.covariance, axis1=1, axis2=2) / gradients.shape[1]
    now = Observation(state.points, innovation, chosen.noise**2 + clipping)
    hessian = chosen.curvature.hessian + frame.penalty
    if state.last_observation is not None:
        hessian = _raised_by_overshoot(hessian, chosen.curvature.variance, state.last_observation, now)
    from_start, rough, noise = _innovation_covariances(state, chosen, hessian)
    from_prior = from_start + rough
    inflation = inflate_on_conflict(from_prior, innovation, from_prior + noise)
    wide = inflation[:, None, None]
    update = gaussian_update(wide * state.covariance, hessian, innovation, noise + wide * rough)
    share = _damping(frame, update.step, _UNDAMPED_NEWTON_MOVE if chosen.counted else _UNDAMPED_MOVE)
    missed = (1 - share)[:, None] * update.step
    step = update.step - missed
    covariance = update.covariance + missed[:, :, None] * missed[:, None, :]
    reach = state.reach
    if chosen.counted and state.last_observation is not None:
        step, covariance, reach = _safeguarded(state, now, step, covariance)
    covariance = covariance + _process_noise(frame, step[:, :, None] * step[:, None, :])
    return replace(
        state,
        points=state.points + step,
        covariance=(covariance + np.swapaxes(covariance, 1, 2)) / 2,
        last_observation=now,
        reach=reach,
    )


def _innovation(frame: Frame, state: FilterState, chosen: ClippingChoice, gradients: np.ndarray) -> np.ndarray:
    """Return the penalized gradients (t, d) at the points, corrected by the public mean of the clipped part."""
    return np.asarray(gradients + chosen.clipped.mean - state.points @ frame.penalty)


def _innovation_covariances(
    state: FilterState, chosen: ClippingChoice, hessian: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return three parts (t, d, d) of an innovation's covariance: prior, error of the Hessian, noise with clipping.

    Args:
        state: before the gradient.
        chosen: clipping, curvature and noise.
        hessian: (t, d, d), with the penalty.
    """
    noise = (chosen.noise**2)[:, None, None] * np.eye(hessian.shape[-1]) + chosen.clipped.covariance
    rough = hessian_error(state.covariance, chosen.curvature.variance)
    return hessian @ state.covariance @ hessian, rough, noise


def _raised_by_overshoot(
    hessian: np.ndarray, entry_variance: np.ndarray, before: Observation, after: Observation
) -> np.ndarray:
    """Return Hessians (t, d, d) raised to the secant where the last step overshot the minimum along it.

    There the slope has changed sign, and the secant between the ends of the step is the mean curvature around the
    minimum; with a smaller curvature, steps would oscillate with growing length. Without an overshoot the Hessian is
    not changed: where curvature falls along the step, the secant would only shorten the next steps.

    Args:
        hessian: known curvature (t, d, d), with the penalty.
        entry_variance: of one of its entries (t,).
        before: gradients where the step began.
        after: gradients where it ended.
    """
    step = after.points - before.points
    points_back = np.sum(step * after.gradients, axis=1) < 0
    difference, variance = before.gradients - after.gradients, before.variance + after.variance
    higher = raise_curvatures(hessian, step, difference, variance, entry_variance=entry_variance)
    return np.where(points_back[:, None, None], higher, hessian)


def _safeguarded(
    state: FilterState, now: Observation, step: np.ndarray, covariance: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return safeguarded steps (t, d), the covariance (t, d, d) after them, and the limit (t,) on the next steps.

    An overshooting step is replaced by one back to the minimum along it. The next step is limited to a quarter of the
    distance from where the overshooting step began to that minimum, and the limit doubles from pass to pass, since the
    curvature may be too small again.

    Args:
        state: before the gradient.
        now: the gradient.
        step: of the filter (t, d).
        covariance: of the fit around the points after that step (t, d, d).
    """
    if state.last_observation is None:
        raise ValueError("two gradients are needed")
    last_step, back = now.points - state.last_observation.points, _step_back(state.last_observation, now)
    overshot = np.any(back != 0, axis=1)
    reach = np.full(len(step), np.inf) if state.reach is None else _REACH_GROWTH * state.reach
    reach = np.where(overshot, _REACH_AFTER_OVERSHOOT * np.linalg.norm(last_step + back, axis=1), reach)
    share = np.minimum(1.0, reach / np.maximum(np.linalg.norm(step, axis=1), 1e-300))
    missed = (1 - share)[:, None] * step
    # The filter's covariance refers to its own step, not to a step back.
    narrow = covariance + missed[:, :, None] * missed[:, None, :]
    wide = state.covariance + last_step[:, :, None] * last_step[:, None, :]
    covariance = np.where(overshot[:, None, None], wide, narrow)
    return np.where(overshot[:, None], back, step - missed), covariance, reach


def _step_back(before: Observation, after: Observation) -> np.ndarray:
    """Return steps (t, d) back to the minimum along the last step, by linear interpolation; zeros without an overshoot.

    An overshoot has a steep and significant slope of the opposite sign at the end of the step. Far beyond the minimum
    the curvature of labels vanishes in all directions, and a Newton step from there would go further away; only along
    the last step is the loss known to fall. Both gradients must be of one loss, without clipping.

    Args:
        before: gradients where the step began.
        after: gradients where it ended.
    """
    step = after.points - before.points
    down, up = np.sum(step * before.gradients, axis=1), -np.sum(step * after.gradients, axis=1)
    noise = np.linalg.norm(step, axis=1) * np.sqrt(after.variance)
    passed = (down > 0) & (up > _STEEP_SHARE * down) & (up > _SLOPE_DEVIATIONS * noise)
    share = np.where(passed, up / np.where(passed, up + down, 1.0), 0.0)
    return np.asarray(-share[:, None] * step)


def chance_if_alike(frame: Frame, state: FilterState, chosen: ClippingChoice, gradient: np.ndarray) -> float:
    """Return the p-value of the first gradient (d,) where private rows are a sample of the public population.

    Later gradients contain little of the public fit's error, and their Hessians are those of other points. On real
    tables gradients have heavier tails than a Gaussian of their covariance. So the tested direction is studentized by
    the variance of the clipped public gradients along it, where that is larger, with degrees of freedom from their
    fourth moment (proofs/gradients.md, 16).

    Args:
        frame: the public side.
        state: before the gradient.
        chosen: clipping, curvature and noise.
        gradient: clipped mean (d,) of the first trial.
    """
    d = len(gradient)
    innovation = _innovation(frame, state, chosen, gradient)[0]
    parts = _innovation_covariances(state, chosen, chosen.curvature.hessian + frame.penalty)
    from_start, rough, noise = (part[0] for part in parts)
    total = from_start + rough + noise
    direction = np.linalg.solve(total, innovation)
    square = float(direction @ innovation)
    share = float(np.trace(np.linalg.solve(total, from_start))) / d
    residuals = frame.residuals(state.points[:1])[0]
    weights = length_weights(frame.norms * np.abs(residuals), chosen.clipped.bounds[0])
    along = (frame.left_out @ direction) * residuals * weights
    squares = (along - np.mean(along)) ** 2
    sampling = np.sum(squares) / max(frame.m - 1, 1) * (1 / (frame.public.m or frame.m) + 1 / frame.n)
    empirical = float(sampling + chosen.noise[0] ** 2 * direction @ direction)
    spread = max(np.sum(squares**2) - np.sum(squares) ** 2 / frame.m, 1e-300)
    dof = max(min(2 * np.sum(squares) ** 2 / spread, frame.prior_dof), 1.0)
    ratio = square / d * min(1.0, square / max(empirical, 1e-300))
    return chance_if_agreeing(ratio, share, d, dof)


def expected_update(
    frame: Frame, state: FilterState, chosen: ClippingChoice, errors: np.ndarray
) -> tuple[FilterState, np.ndarray]:
    """Return the expected state after a gradient, and the expected error covariance (t, d, d), if rows are alike.

    The points do not change. The covariance is updated as in a release, with the process noise of a step of the
    expected size, which follows from ``errors``. These contain no process noise.

    Args:
        frame: the public side.
        state: before the gradient.
        chosen: clipping, curvature and noise.
        errors: covariance (t, d, d) of the actual error if the passes are linear and the rows of one population.
    """
    hessian = chosen.curvature.hessian + frame.penalty
    _, rough, noise = _innovation_covariances(state, chosen, hessian)
    update = gaussian_update(state.covariance, hessian, np.zeros_like(state.points), noise + rough)
    observed = noise + hessian_error(errors, chosen.curvature.variance)
    step_moment = update.of_observation(hessian @ errors @ hessian + observed)
    errors_after = update.of_prior(errors) + update.of_observation(observed)
    return replace(state, covariance=update.covariance + _process_noise(frame, step_moment)), errors_after


def _process_noise(frame: Frame, step_moment: np.ndarray) -> np.ndarray:
    """Return the process noise (t, d, d) for the change of the Hessian over a step; zero for least squares.

    Args:
        frame: the public side.
        step_moment: second moment of the steps (t, d, d).
    """
    if frame.public.family is GAUSSIAN:
        return np.zeros_like(step_moment)
    d = step_moment.shape[1]
    across = np.trace(step_moment, axis1=1, axis2=2)[:, None, None] / d * np.eye(d)
    return np.asarray(_ALONG_STEP * (step_moment + _ACROSS_STEP * across))


def _damping(frame: Frame, step: np.ndarray, undamped: float) -> np.ndarray:
    """Return damping factors (t,) ``log(1 + a)/a`` for steps (t, d), a the largest change of a public predictor.

    Args:
        frame: the public side.
        step: (t, d).
        undamped: the change that is one unit of a.
    """
    if frame.public.family is GAUSSIAN:
        return np.ones(len(step))
    move = np.max(np.abs(frame.left_out @ step.T), axis=0) / undamped
    return np.where(move > 1, np.log1p(move) / np.maximum(move, 1e-12), 1.0)


def hessian_error(covariance: np.ndarray, variance: np.ndarray) -> np.ndarray:
    """Return the covariance (t, d, d) of ``E s`` for a symmetric E with entries of this variance (t,), s ~ N(0, V)."""
    size = np.trace(covariance, axis1=-2, axis2=-1)[..., None, None] * np.eye(covariance.shape[-1])
    return np.asarray(variance[..., None, None] * (size + covariance))


def ball_bounds(frame: Frame, state: FilterState, mu: float) -> np.ndarray:
    """Return truncation bounds (t,) of curvatures ``b'' xx'`` with the least squared error by public rows and tail."""
    d, (low, high, count) = frame.public.d, _BALLS_TRIED
    lengths = np.sort(np.sqrt(frame.slopes(state.points).T) * frame.norms, axis=1)  # (t, m)
    first = np.maximum(low * np.median(lengths, axis=1), 1e-9)
    radii = np.geomspace(first, np.maximum(high * lengths[:, -1], 2 * first), count, axis=1)
    noise = (CURVATURE_SENSITIVITY * radii**2 / (mu * frame.n)) ** 2 * d * (d + 1) / 2
    square, excess = mean_excess(lengths**2, radii**2, PowerTail)
    return least_error(radii, square / frame.m + ABSOLUTE_SHARE * excess**2 + noise)


def counted_balls(frame: Frame, mu: float, lengths: CountedLengths) -> np.ndarray:
    """Return truncation bounds (t,) of curvatures with the least squared error by counted private lengths."""
    d = frame.public.d
    unit = CURVATURE_SENSITIVITY / (mu * frame.n) * math.sqrt(d * (d + 1) / 2)
    return lengths.bounds(frame.n, unit, 2)


def combine_curvature(
    frame: Frame,
    state: FilterState,
    bounds: np.ndarray,
    mu: float,
    *,
    released: np.ndarray,
    with_last: bool = False,
) -> FilterState:
    """Combine released curvatures (t, d, d) with the public ones by precision, for all later passes.

    Args:
        frame: the public side.
        state: before the curvatures.
        bounds: truncation bounds (t,).
        mu: budget of a curvature.
        released: (t, d, d).
        with_last: whether the previously released curvature replaces the public one where it is nearer.
    """
    slopes = frame.slopes(state.points)
    public = frame.hessians(slopes)
    spread = frame.hessian_entry_variance(slopes, public)
    weights = length_weights(frame.norms[:, None] * np.sqrt(slopes), bounds) ** 2
    deviation = released - frame.hessians(slopes * weights)
    noise = (CURVATURE_SENSITIVITY * bounds**2 / (mu * frame.n)) ** 2 / 2
    spread = _widened_spread(spread, noise, deviation)
    root = np.linalg.cholesky(_with_least_curvature(public))
    expected = public
    if with_last and state.released is not None:
        last, before = curvature_at(frame, state), state.released.root
        change = root @ np.swapaxes(root, 1, 2) - before @ np.swapaxes(before, 1, 2)
        from_last = _widened_spread(last.variance + _mean_entry_variance(change), noise, released - last.hessian)
        nearer = from_last < spread
        spread = np.where(nearer, from_last, spread)
        expected = np.where(nearer[:, None, None], last.hessian, expected)
        deviation = np.where(nearer[:, None, None], released - last.hessian, deviation)
    weight = spread / (spread + noise)
    inverse = np.linalg.inv(root)
    ratio = inverse @ (expected + weight[:, None, None] * deviation) @ np.swapaxes(inverse, 1, 2)
    values, vectors = np.linalg.eigh(ratio)
    ratio = (vectors * np.maximum(values, _LEAST_CURVATURE_RATIO)[:, None, :]) @ np.swapaxes(vectors, 1, 2)
    return replace(state, released=CurvatureRatio(ratio, root, weight * noise))


def _widened_spread(spread: np.ndarray, noise: np.ndarray, deviation: np.ndarray) -> np.ndarray:
    """Return the variance (t,) of an entry of the expected curvature, inflated where the released one conflicts.

    Args:
        spread: variance of an entry of the expected curvature (t,).
        noise: noise variance of an entry of the released curvature (t,).
        deviation: released minus expected curvature (t, d, d).
    """
    d = deviation.shape[-1]
    distance, entries = _mean_entry_variance(deviation), d * (d + 1) / 2
    conflict = distance > (spread + noise) * (1 + _CURVATURE_DEVIATIONS * math.sqrt(2 / entries))
    return np.where(conflict, np.maximum(distance - noise, spread), spread)


def _mean_entry_variance(matrices: np.ndarray) -> np.ndarray:
    """Return the mean square (t,) of an entry off the diagonal of symmetric matrices (t, d, d) of isotropic noise."""
    d = matrices.shape[-1]
    return np.asarray(np.sum(matrices**2, axis=(1, 2)) / (d * (d + 1)))


def _with_least_curvature(hessians: np.ndarray) -> np.ndarray:
    """Return Hessians (t, d, d) with a fiftieth of their mean eigenvalue added to the diagonal."""
    d = hessians.shape[-1]
    size = np.trace(hessians, axis1=1, axis2=2) / d
    return np.asarray(hessians + (_LEAST_CURVATURE * size + 1e-300)[:, None, None] * np.eye(d))
