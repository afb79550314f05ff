"""Checks of claims: each takes the curves and answers with the figures behind it, as far as paired trials can tell.

A check computes one figure, or one for each x, from the curves and from every resample of the trials at once: arrays
lead with the axis of the resamples, whose first entry is the figure itself (:mod:`.claims`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import final

import numpy as np
from scipy.stats import binom

from pmtcore.papers.gallery.claims import (
    LEVEL,
    Answer,
    Check,
    Curve,
    Curves,
    Finding,
    Statistic,
    below_zero,
    spread_of,
    together,
    two_sided,
)

_ROUNDING = 1e-9  # relative: equal curves computed in two ways
_LEAST_ERROR = 1e-3  # of a point on a line: no point weighs more than one known to a thousandth


def _log(curve: Curve, statistic: Statistic) -> np.ndarray:
    """Return logs of a statistic and its resamples (1 + resamples, k)."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.log(curve.statistic(statistic)))


def _ratio(upper: Curve, lower: Curve, statistic: Statistic) -> np.ndarray:
    """Return logs of the ratio of two curves, paired (1 + resamples, k)."""
    with np.errstate(invalid="ignore"):
        return _log(upper, statistic) - _log(lower, statistic)


def _trials(*curves: Curve) -> int:
    return min(curve.count for curve in curves)


def _interval(draws: np.ndarray, trials: int) -> str:
    """Return the figure with the 95 % interval of its paired trials, where it is one figure."""
    margin = two_sided(trials) * spread_of(draws)
    return f"{np.exp(draws[0]):.4g} [{np.exp(draws[0] - margin):.4g}, {np.exp(draws[0] + margin):.4g}]"


def _ends(draws: np.ndarray, trials: int) -> str:
    """Return the range of ratios, each end with its interval."""
    low, high = (int(pick(draws[0])) for pick in (np.nanargmin, np.nanargmax))
    words = _interval(draws[:, low], trials)
    return words if low == high else f"{words} to {_interval(draws[:, high], trials)}"


def below(lower: str, upper: str, statistic: Statistic = "mean", factor: float = 1.0) -> Check:
    """Check that one curve is below a factor of another at every x; points where both are surely equal do not count."""

    def check(curves: Curves) -> Finding:
        a, b = curves[lower], curves[upper]
        gap = _untied(_ratio(a, b, statistic))
        return Finding(
            below_zero(gap - np.log(factor), _trials(a, b)), f"{statistic} ratio {_ends(gap, _trials(a, b))}"
        )

    return check


def _untied(gap: np.ndarray) -> np.ndarray:
    """Leave out points at which two curves are equal in every resample, such as a common ceiling; if all are, none."""
    with np.errstate(invalid="ignore"):
        tied = np.all(np.abs(gap) <= _ROUNDING, axis=0)
    return gap if np.all(tied) else gap[:, ~tied]


def never_below(upper: str, lower: str) -> Check:
    """Check that a curve of means is nowhere below another but for rounding; both without chance."""

    def check(curves: Curves) -> Finding:
        ratio = curves[upper].mean / curves[lower].mean
        answer = Answer.HOLDS if np.min(ratio) >= 1 - _ROUNDING else Answer.FAILS
        return Finding(answer, f"ratio {np.min(ratio):.3g} to {np.max(ratio):.3g}")

    return check


def all_below(pairs: Sequence[tuple[str, str]], statistic: Statistic = "mean") -> Check:
    """Check that each first curve is below its second at every x."""

    def one(a: str, b: str, curves: Curves) -> Finding:
        finding = below(a, b, statistic)(curves)
        return Finding(finding.answer, f"{a} to {b}: {finding.figures}")

    return lambda curves: together([one(a, b, curves) for a, b in pairs])


def below_somewhere(pairs: Sequence[tuple[str, str]], statistic: Statistic = "mean", *, mostly: bool = False) -> Check:
    """Check that there is an x at which each first curve is below its second; or, ``mostly``, that at most x they are.

    It fails where too many x are left at which one surely is not below.
    """

    def check(curves: Curves) -> Finding:
        gaps = np.stack([_ratio(curves[a], curves[b], statistic) for a, b in pairs])  # (pairs, 1 + resamples, k)
        points = gaps.shape[-1]
        trials = _trials(*(curves[name] for pair in pairs for name in pair))
        margin = two_sided(trials, points) * np.stack([spread_of(gap) for gap in gaps])
        with np.errstate(invalid="ignore"):
            yes = int(np.sum(np.all(gaps[:, 0] + margin < 0, axis=0)))
            no = int(np.sum(np.any(gaps[:, 0] - margin >= 0, axis=0)))
        wanted = points // 2 + 1 if mostly else 1
        answer = Answer.HOLDS if yes >= wanted else Answer.FAILS if points - no < wanted else Answer.OPEN
        return Finding(answer, f"below at {yes} of {points} values, not below at {no}")

    return check


def falls(names: Sequence[str], statistic: Statistic = "mean") -> Check:
    """Check that the trend of each curve on log axes is downward."""
    return lambda curves: together([_trend(curves[name], statistic, 1.0) for name in names])


def rises(names: Sequence[str], statistic: Statistic = "mean") -> Check:
    """Check that each curve's trend is upward, or its end above its beginning, and no step falls by a tenth."""

    def one(curve: Curve) -> Finding:
        finding, logs = _trend(curve, statistic, -1.0), _log(curve, statistic)
        steps = np.diff(logs, axis=1) - np.log(0.9)
        without_falls = below_zero(-steps, curve.count)
        if without_falls is Answer.FAILS:
            return Finding(Answer.FAILS, finding.figures + "; it falls on the way by more than a tenth")
        ended = below_zero(logs[:, 0] - logs[:, -1], curve.count) is Answer.HOLDS
        if finding.answer is not Answer.HOLDS and not ended:
            return finding
        return Finding(
            without_falls, finding.figures + ("" if finding.answer is Answer.HOLDS else "; its end is above its start")
        )

    return lambda curves: together([one(curves[name]) for name in names])


def _trend(curve: Curve, statistic: Statistic, sign: float) -> Finding:
    slope, ends = along(curve, statistic), curve.statistic(statistic)[0, [0, -1]]
    if slope is None:
        return Finding(Answer.OPEN, f"{curve.name}: {ends[0]:.3g} to {ends[1]:.3g}, no slope")
    low, high = sorted((sign * slope.low, sign * slope.high))
    answer = Answer.HOLDS if high < 0 else Answer.FAILS if low >= 0 else Answer.OPEN
    return Finding(answer, f"{curve.name}: {ends[0]:.3g} to {ends[1]:.3g}, {slope.words}")


def closer(near: str, far: str, target: str) -> Check:
    """Check that two curves of means deviate from a third, the first nowhere by more than the second."""

    def check(curves: Curves) -> Finding:
        goal = curves[target].statistic("mean")
        one, two = (np.abs(curves[name].statistic("mean") - goal) for name in (near, far))
        apart = [np.any(gap[0] > _ROUNDING * np.max(goal[0])) for gap in (one, two)]
        answer = below_zero(one - two - _ROUNDING, curves[near].count) if all(apart) else Answer.FAILS
        return Finding(answer, f"distance {np.max(one[0]):.3g} at most against {np.max(two[0]):.3g}")

    return check


def _range(curve: Curve, statistic: Statistic) -> np.ndarray:
    """Return the log of largest over smallest, and its resamples (1 + resamples,)."""
    logs = _log(curve, statistic)
    return np.asarray(logs[:, np.argmax(logs[0])] - logs[:, np.argmin(logs[0])])


def flat(name: str, factor: float, statistic: Statistic = "mean") -> Check:
    """Check that a curve stays within a factor."""

    def check(curves: Curves) -> Finding:
        span = _range(curves[name], statistic)
        answer = below_zero(span - np.log(factor), curves[name].count)
        return Finding(answer, f"largest over smallest {np.exp(span[0]):.3g}")

    return check


def flatter(first: str, second: str, statistic: Statistic = "mean") -> Check:
    """Check that the first curve varies by a smaller factor than the second."""

    def check(curves: Curves) -> Finding:
        one, two = (_range(curves[name], statistic) for name in (first, second))
        answer = below_zero(one - two, _trials(curves[first], curves[second]))
        return Finding(answer, f"largest over smallest {np.exp(one[0]):.3g} against {np.exp(two[0]):.3g}")

    return check


def last_below(lower: str, upper: str, factor: float = 1.0, statistic: Statistic = "mean") -> Check:
    """Check that the last point of one curve is below a factor of that of another."""

    def check(curves: Curves) -> Finding:
        a, b = curves[lower], curves[upper]
        gap = _ratio(a, b, statistic)[:, -1]
        words = f"at the end, {statistic} ratio {_interval(gap, _trials(a, b))}"
        return Finding(below_zero(gap - np.log(factor), _trials(a, b)), words)

    return check


def alike_at_end(first: str, second: str, factor: float, statistic: Statistic = "median") -> Check:
    """Check that the last points of two curves lie within a factor of each other."""

    def check(curves: Curves) -> Finding:
        a, b = curves[first], curves[second]
        gap = _ratio(a, b, statistic)[:, -1]
        answer = _within(gap[:, None], factor, _trials(a, b))
        return Finding(answer, f"at the end, {first} over {second}: {_interval(gap, _trials(a, b))}")

    return check


def _within(gap: np.ndarray, factor: float, trials: int) -> Answer:
    """Return whether logs of ratios lie within a factor on either side (1 + resamples, k)."""
    return below_zero(np.concatenate([gap, -gap], axis=1) - np.log(factor), trials)


def alike(pairs: Sequence[tuple[str, str]], factor: float, statistic: Statistic = "mean") -> Check:
    """Check that the two curves of each pair lie within a factor of each other at every x."""

    def one(a: Curve, b: Curve) -> Finding:
        gap = _ratio(a, b, statistic)
        words = f"{a.name} and {b.name} within a factor of {np.exp(np.abs(gap[0]).max()):.3g}"
        return Finding(_within(gap, factor, _trials(a, b)), words)

    return lambda curves: together([one(curves[a], curves[b]) for a, b in pairs])


def lasting(names: Sequence[str], factor: float, statistic: Statistic = "mean") -> Check:
    """Check that the last two points of each curve lie within a factor of each other."""

    def one(curve: Curve) -> Finding:
        step = np.diff(_log(curve, statistic)[:, -2:], axis=1)
        words = f"{curve.name}: last over the one before {np.exp(step[0, 0]):.3g}"
        return Finding(_within(step, factor, curve.count), words)

    return lambda curves: together([one(curves[name]) for name in names])


def gains_more(first: tuple[str, str], second: tuple[str, str], statistic: Statistic = "median") -> Check:
    """Check that from before to after the first pair falls by a larger factor than the second, at every x."""

    def check(curves: Curves) -> Finding:
        one, two = (_ratio(curves[after], curves[before], statistic) for before, after in (first, second))
        figures = "; ".join(
            f"{before} by {1 - np.exp(logs[0].max()):.1%} to {1 - np.exp(logs[0].min()):.1%}"
            for (before, _), logs in zip((first, second), (one, two), strict=True)
        )
        return Finding(
            below_zero(one - two, _trials(*(curves[name] for name in (*first, *second)))), f"it falls: {figures}"
        )

    return check


def grows_more(first: str, second: str, statistic: Statistic = "mean") -> Check:
    """Check that from its first point to its last the first curve is multiplied by more than the second."""

    def check(curves: Curves) -> Finding:
        one, two = (logs[:, -1] - logs[:, 0] for logs in (_log(curves[name], statistic) for name in (first, second)))
        answer = below_zero(two - one, _trials(curves[first], curves[second]))
        return Finding(answer, f"last over first {np.exp(one[0]):.3g} against {np.exp(two[0]):.3g}")

    return check


def counted(name: str, least: float, most: float, *, first: bool = False) -> Check:
    """Check that the mean of a count lies between two bounds, at every x or at the first."""

    def check(curves: Curves) -> Finding:
        mean = curves[name].statistic("mean")[:, : 1 if first else None]
        off = np.concatenate([least - mean, mean - most], axis=1) - _ROUNDING
        return Finding(
            below_zero(off, curves[name].count), f"{name}: {mean[0].min():.3g} to {mean[0].max():.3g} on average"
        )

    return check


def settles(name: str, yes: bool = True) -> Check:
    """Check that the last step changes the median error by less than a tenth and trials agree; or that it does not."""

    def check(curves: Curves) -> Finding:
        curve = curves[name]
        change = float(abs(curve.median[-1] - curve.median[-2]) / curve.median[-1])
        apart = (_log(curve, "sd") - _log(curve, "mean"))[:, -1]
        figures = f"last change of the median {change:.2g}, sd over mean {np.exp(apart[0]):.2g}"
        settled = Answer.FAILS if change >= 0.1 else below_zero(apart, curve.count)
        turned = {Answer.HOLDS: Answer.FAILS, Answer.FAILS: Answer.HOLDS, Answer.OPEN: Answer.OPEN}
        return Finding(settled if yes else turned[settled], figures)

    return check


def jump(name: str, at: float, factor: float) -> Check:
    """Check that just before ``at`` the curve is higher than from there on by a factor."""

    def check(curves: Curves) -> Finding:
        curve = curves[name]
        y = curve.statistic("median")
        before, after = (np.median(y[:, side], axis=1) for side in (curve.x < at, curve.x >= at))
        words = f"median {before[0]:.3g} before, {after[0]:.3g} from {at:g} on"
        return Finding(below_zero(np.log(factor * after / before), curve.count), words)

    return check


def near(name: str, value: float, tolerance: float, x: float | None = None) -> Check:
    """Check that a curve's median (at one x) is near a printed figure."""

    def check(curves: Curves) -> Finding:
        curve = curves[name]
        at = -1 if x is None else int(np.argmin(np.abs(curve.x - x)))
        y = curve.statistic("median")[:, [at]]
        margin = two_sided(curve.count) * float(spread_of(y)[0])
        answer = below_zero(np.concatenate([y - value, value - y], axis=1) - tolerance, curve.count)
        return Finding(answer, f"{y[0, 0]:.4g} here (known to {margin:.2g}), {value:g} printed")

    return check


def all_near(names: Sequence[str], value: float, tolerance: float) -> Check:
    """Check that the last median of each curve is near a figure."""

    def one(name: str, curves: Curves) -> Finding:
        finding = near(name, value, tolerance)(curves)
        return Finding(finding.answer, f"{name}: {finding.figures}")

    return lambda curves: together([one(name, curves) for name in names])


def interior_minimum(name: str) -> Check:
    """Check that the smallest mean is at neither end."""

    def check(curves: Curves) -> Finding:
        curve = curves[name]
        logs = _log(curve, "mean")
        at, figures = int(np.argmin(logs[0])), f"smallest mean at {curve.x[int(np.argmin(logs[0]))]:g}"
        if at in (0, len(curve.x) - 1):
            inside = 1 + int(np.argmin(logs[0, 1:-1]))
            known = below_zero(logs[:, at] - logs[:, inside], curve.count)
            return Finding(Answer.FAILS if known is Answer.HOLDS else Answer.OPEN, figures)
        return Finding(below_zero(logs[:, [at]] - logs[:, [0, -1]], curve.count), figures)

    return check


@final
@dataclass(frozen=True)
class Slope:
    """A slope on log axes with its 95 % interval."""

    value: float
    low: float
    high: float

    @property
    def words(self) -> str:
        """Render the figure as the verdict prints it."""
        return f"slope {self.value:.2f} [{self.low:.2f}, {self.high:.2f}]"

    def near(self, value: float, tolerance: float) -> Finding:
        """Return whether the slope is within the tolerance and its interval within twice that.

        More noise does not make a claim hold: where the interval holds the value and is wider, nobody can tell.
        """
        known = value - 2 * tolerance <= self.low and self.high <= value + 2 * tolerance
        if known and abs(self.value - value) <= tolerance:
            return Finding(Answer.HOLDS, self.words)
        meets = self.low <= value + tolerance and value - tolerance <= self.high
        return Finding(Answer.OPEN if meets else Answer.FAILS, self.words)


def fitted_slope(x: np.ndarray, logs: np.ndarray, trials: int) -> Slope | None:
    """Fit a line to logs of y on log x by weighted least squares; ``None`` where a point is not finite.

    Where the points scatter around the line by more than they are uncertain, the interval is so much wider.

    Args:
        logs: of y and its resamples (1 + resamples, k), so that points that move together are known to.
    """
    u, error = np.log(np.asarray(x, dtype=float)), np.maximum(spread_of(logs), _LEAST_ERROR)
    if not np.all(np.isfinite(logs[0])) or len(u) < 2 or not np.all(np.isfinite(error)):
        return None
    weight = error**-2 / np.sum(error**-2)
    leverage = weight * (u - weight @ u)
    slopes = logs @ leverage / (leverage @ (u - weight @ u))
    half = two_sided(trials) * max(float(spread_of(slopes)), np.finfo(float).tiny)
    if len(u) > 2:
        away = logs[0] - weight @ logs[0] - slopes[0] * (u - weight @ u)
        half *= max(1.0, float(np.sqrt(np.sum((away / error) ** 2) / (len(u) - 2))))
    return Slope(float(slopes[0]), float(slopes[0]) - half, float(slopes[0]) + half)


def along(curve: Curve, statistic: Statistic = "median") -> Slope | None:
    """Return the slope of a curve's means, medians or sds on log axes; ``None`` where one is not finite."""
    return fitted_slope(curve.x, _log(curve, statistic), curve.count)


def _no_median(curves: Sequence[Curve]) -> Finding:
    """Return whether so many trials without an estimate could be half by chance, where a median is not finite."""
    left, every = max((int(out), curve.count) for curve in curves for out in curve.omitted)
    known = binom.sf(left - 1, every, 0.5) < LEVEL
    return Finding(
        Answer.FAILS if known else Answer.OPEN, f"no finite median: {left} of {every} trials have no estimate"
    )


def slope_near(name: str, value: float, tolerance: float = 0.2) -> Check:
    """Check that the slope of the median on log axes is near a value, and known well enough to say so."""

    def check(curves: Curves) -> Finding:
        slope = along(curves[name])
        return _no_median([curves[name]]) if slope is None else slope.near(value, tolerance)

    return check


def slope_above(name: str, value: float) -> Check:
    """Check that the whole 95 % interval of the slope on log axes lies above a value."""

    def check(curves: Curves) -> Finding:
        slope = along(curves[name])
        if slope is None:
            return _no_median([curves[name]])
        answer = Answer.HOLDS if slope.low > value else Answer.FAILS if slope.high <= value else Answer.OPEN
        return Finding(answer, slope.words)

    return check


def slope_across(named: Mapping[float, str], value: float, tolerance: float = 0.2) -> Check:
    """Check the slope along another parameter, of which each curve has one value: at the last x of all curves."""

    def check(curves: Curves) -> Finding:
        last = [curves[name] for name in named.values()]
        logs = np.stack([_log(curve, "median")[:, -1] for curve in last], axis=1)
        slope = fitted_slope(np.asarray(list(named), dtype=float), logs, _trials(*last))
        if slope is None:
            return _no_median(last)
        nearness = slope.near(value, tolerance)
        return Finding(nearness.answer, f"{nearness.figures} (at x = {last[0].x[-1]:g})")

    return check
