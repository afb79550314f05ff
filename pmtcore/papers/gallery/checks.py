"""Checks of claims: each takes the curves and answers with the figures behind it, as far as paired trials can tell.

A check computes one figure, or one for each x, from the curves and from every resample of the trials at once: arrays
lead with the axis of the resamples, whose first entry is the figure itself (:mod:`.claims`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import bdtrc

from pmtcore.base.computed_once import computed_once
from pmtcore.base.numbers import percent
from pmtcore.base.numbers import rounded as said
from pmtcore.papers.gallery.claims import (
    LEVEL,
    Answer,
    Check,
    ClaimFinding,
    Curve,
    Curves,
    Statistic,
    below_zero,
    spread_of,
    together,
    two_sided,
)
from pmtcore.papers.gallery.series import in_quotes

_ROUNDING = 1e-9  # relative: equal curves computed in two ways
_TOO_FEW = "(too few trials for an interval)"
_NAMES: dict[Statistic, str] = {"mean": "mean", "median": "median", "sd": "standard deviation"}
_DIGITS, _MOST_DIGITS = 3, 6  # of a ratio
_LEAST_ERROR = 1e-3  # of a point on a line: no point weighs more than one known to a thousandth


def _log(curve: Curve, statistic: Statistic) -> np.ndarray:
    """Return logs of a statistic and its resamples (1 + resamples, k)."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.log(curve.statistic(statistic)))


@computed_once(most=100)  # several claims compare the same curves
def _ratio(upper: Curve, lower: Curve, statistic: Statistic) -> np.ndarray:
    """Return logs of the ratio of two curves, paired (1 + resamples, k); of medians that of the median trial."""
    with np.errstate(divide="ignore", invalid="ignore"):
        if statistic == "median":
            return _in_median_trial(upper.x, np.log(upper.values) - np.log(lower.values))
        return _log(upper, statistic) - _log(lower, statistic)


def _in_median_trial(x: np.ndarray, compared: np.ndarray) -> np.ndarray:
    """Return the median of what trials say of two curves (trials, k), and its resamples (1 + resamples, k).

    The two medians by themselves lie in different trials, and the difference of these trials would hide a small one
    between the curves. Where neither curve has an estimate a trial says that they are equal.
    """
    return Curve("", x, np.where(np.isnan(compared), 0.0, compared)).statistic("median")


def _compared(statistic: Statistic, lower: str, times: str, upper: str) -> str:
    """Say how many times one curve is another."""
    if statistic == "median":
        return f"{in_quotes(lower)} is in the median trial {times} {in_quotes(upper)}"
    return f"the {_NAMES[statistic]} of {in_quotes(lower)} is {times} that of {in_quotes(upper)}"


def _multiple(value: float) -> str:
    """Return a ratio with three digits, and more where it is so near 1 that they would not show on which side."""
    off = abs(value - 1)
    digits = int(-np.floor(np.log10(off))) + (value > 1) if 0 < off < np.inf else _DIGITS
    return said(value, min(max(digits, _DIGITS), _MOST_DIGITS))


def _difference(upper: Curve, lower: Curve, statistic: Statistic) -> np.ndarray:
    """Return by how much one curve is above another, paired (1 + resamples, k); of medians in the median trial."""
    with np.errstate(invalid="ignore"):
        if statistic == "median":
            return _in_median_trial(upper.x, upper.values - lower.values)
        return upper.statistic(statistic) - lower.statistic(statistic)


def _shared(a: Curve, b: Curve) -> tuple[Curve, Curve]:
    """Return two curves at the x that both have."""
    if np.array_equal(a.x, b.x):
        return a, b
    one, two = (
        Curve(curve.name, curve.x[there], curve.values[:, there])
        for curve, there in ((a, np.isin(a.x, b.x)), (b, np.isin(b.x, a.x)))
    )
    return one, two


def _trials(*curves: Curve) -> int:
    return min(curve.count for curve in curves)


@dataclass(frozen=True)
class _Ratio:
    """A ratio of two paired curves at each x: what is said of it, and whether it lies below a border.

    Attributes:
        x: positions (k,).
        draws: logs of the ratio and their resamples (1 + resamples, k).
        border: what the ratio is compared with.
        sides: 2 where the ratio must stay within the border on either side.
    """

    x: np.ndarray
    draws: np.ndarray
    trials: int
    border: float = 1.0
    sides: int = 1

    @cached_property
    def answer(self) -> Answer:
        """Return whether the ratio is below the border at every x."""
        return below_zero(self.draws - np.log(self.border), self.trials)

    @property
    def times(self) -> str:
        """Return the smallest and the largest ratio, in words."""
        known = self.draws[0][~np.isnan(self.draws[0])]
        if not len(known):
            return "an unknown multiple of"
        low, high = _multiple(float(np.exp(known.min()))), _multiple(float(np.exp(known.max())))
        return f"{low} times" if low == high else f"{low} to {high} times"

    @property
    def place(self) -> str:
        """Return the x that decides, with the 95 % interval that decided.

        That of this x alone where the claim holds, which is where every such interval is on its side of the border;
        one of intervals that hold together at all x otherwise.
        """
        answer, points = self.answer, self.sides * self.draws.shape[1]
        margin = two_sided(self.trials, 1 if answer is Answer.HOLDS else points) * spread_of(self.draws)
        failed = answer is Answer.FAILS
        with np.errstate(invalid="ignore"):
            end = self.draws[0] - margin if failed else self.draws[0] + margin
        at = int(np.argmax(np.where(np.isnan(end), -np.inf if failed else np.inf, end)))
        value = _with_interval(self.draws[0, at], margin[at])
        return f"at x = {said(float(self.x[at]))} it is {value}"


def _with_interval(log: float, margin: float) -> str:
    """Return a figure from its log, with the interval of that margin in logs, or why there is none."""
    if np.isnan(log):
        return "unknown, since neither has a number there"
    if np.isinf(log):
        return f"{said(float(np.exp(log)))}: one of the two has no estimate in most trials"
    value = _multiple(float(np.exp(log)))
    if not np.isfinite(margin):
        return f"{value} {_TOO_FEW}"
    return f"{value} [{_multiple(float(np.exp(log - margin)))}, {_multiple(float(np.exp(log + margin)))}]"


def _interval(draws: np.ndarray, trials: int) -> str:
    """Return one figure from its log, with the 95 % interval of its paired trials."""
    return _with_interval(float(draws[0]), two_sided(trials) * float(spread_of(draws)))


def below(lower: str, upper: str, statistic: Statistic = "mean", factor: float = 1.0) -> Check:
    """Check that one curve is below a factor of another at every x; points where both are surely equal do not count."""

    def check(curves: Curves) -> ClaimFinding:
        a, b = _shared(curves[lower], curves[upper])
        gap = _ratio(a, b, statistic)
        counted = _untied(gap)
        ratio = _Ratio(a.x[counted], gap[:, counted], _trials(a, b), factor)
        words = f"{_compared(statistic, lower, ratio.times, upper)}; {ratio.place}"
        return ClaimFinding(ratio.answer, words)

    return check


def _untied(gap: np.ndarray) -> np.ndarray:
    """Return which points count (k,): not those surely equal, such as a ceiling; all where all are equal."""
    with np.errstate(invalid="ignore"):
        tied = (np.abs(gap[0]) <= _ROUNDING) & (spread_of(gap) <= _ROUNDING)
    return tied | True if np.all(tied) else ~tied


def never_below(upper: str, lower: str) -> Check:
    """Check that a curve of means is nowhere below another but for rounding; both without chance."""

    def check(curves: Curves) -> ClaimFinding:
        ratio = curves[upper].mean / curves[lower].mean
        answer = Answer.HOLDS if np.min(ratio) >= 1 - _ROUNDING else Answer.FAILS
        times = f"{said(float(np.min(ratio)))} to {said(float(np.max(ratio)))}"
        words = f"{in_quotes(upper)} is {times} times {in_quotes(lower)}"
        return ClaimFinding(answer, words)

    return check


def all_below(pairs: Sequence[tuple[str, str]], statistic: Statistic = "mean") -> Check:
    """Check that each first curve is below its second at every x."""
    return lambda curves: together([below(a, b, statistic)(curves) for a, b in pairs])


def below_somewhere(
    pairs: Sequence[tuple[str, str]],
    statistic: Statistic = "mean",
    *,
    mostly: bool = False,
    panels: Sequence[Callable[[], Curves]] = (),
) -> Check:
    """Check that there is an x at which each first curve is below its second; or, ``mostly``, that at most x they are.

    That at least u of k values do so is believed where u do surely among as many as k - u + 1 that were looked at,
    since of any k - u + 1 one must (Benjamini and Heller 2008), or where all do, each by itself. It fails where too
    many are left at which one surely is not below.

    Args:
        panels: other figures whose values of x count as well, each with its own trials.
    """

    def check(curves: Curves) -> ClaimFinding:
        drawn = [curves, *(panel() for panel in panels)]
        gaps = [np.stack([_ratio(each[a], each[b], statistic) for a, b in pairs]) for each in drawn]
        trials = [_trials(*(each[name] for pair in pairs for name in pair)) for each in drawn]
        points = sum(gap.shape[-1] for gap in gaps)
        wanted = points // 2 + 1 if mostly else 1

        def surely(side: int, tests: int) -> np.ndarray:
            ends = [
                side * gap[:, 0] + two_sided(count, tests) * np.stack([spread_of(draws) for draws in gap])
                for gap, count in zip(gaps, trials, strict=True)
            ]
            return np.concatenate(ends, axis=1)

        with np.errstate(invalid="ignore"):
            single, among = (np.all(surely(1, tests) < 0, axis=0) for tests in (1, points - wanted + 1))
            yes = int(np.sum(single if np.all(single) else among))
            no = int(np.sum(np.any(surely(-1, wanted * len(pairs)) <= 0, axis=0)))
        answer = Answer.HOLDS if yes >= wanted else Answer.FAILS if points - no < wanted else Answer.OPEN
        words = f"surely below at {yes} of {points} values of x, surely not at {no}"
        left = points - yes - no
        return ClaimFinding(answer, f"{words}, cannot be told at {left}" if left else words)

    return check


def falls(names: Sequence[str], statistic: Statistic = "mean") -> Check:
    """Check that the trend of each curve on log axes is downward."""
    return lambda curves: together([_trend(curves[name], statistic, 1.0) for name in names])


def rises(names: Sequence[str], statistic: Statistic = "mean") -> Check:
    """Check that each curve's trend is upward, or its end above its beginning, and no step falls by a tenth."""

    def one(curve: Curve) -> ClaimFinding:
        finding, logs = _trend(curve, statistic, -1.0), _log(curve, statistic)
        steps = np.diff(logs, axis=1) - np.log(0.9)
        without_falls = below_zero(-steps, curve.count)
        if without_falls is Answer.FAILS:
            return ClaimFinding(Answer.FAILS, f"{finding.figures}; it falls on the way by more than a tenth")
        ended = below_zero(logs[:, 0] - logs[:, -1], curve.count) is Answer.HOLDS
        if finding.answer is not Answer.HOLDS and not ended:
            return finding
        return ClaimFinding(
            without_falls,
            f"{finding.figures}{'' if finding.answer is Answer.HOLDS else '; its end is above its start'}",
        )

    return lambda curves: together([one(curves[name]) for name in names])


def _trend(curve: Curve, statistic: Statistic, sign: float) -> ClaimFinding:
    trend, ends = along(curve, statistic), curve.statistic(statistic)[0, [0, -1]]
    moved = f"{in_quotes(curve.name)}: {_NAMES[statistic]} from {said(float(ends[0]))} to {said(float(ends[1]))}"
    if trend is None:
        return ClaimFinding(Answer.OPEN, f"{moved}; too few trials for a slope")
    low, high = sorted((sign * trend.low, sign * trend.high))
    answer = Answer.HOLDS if high < 0 else Answer.FAILS if low >= 0 else Answer.OPEN
    return ClaimFinding(answer, f"{moved}, {trend.words}")


def closer(near: str, far: str, target: str) -> Check:
    """Check that two curves of means deviate from a third, the first nowhere by more than the second."""

    def check(curves: Curves) -> ClaimFinding:
        goal = curves[target].statistic("mean")
        one, two = (np.abs(curves[name].statistic("mean") - goal) for name in (near, far))
        apart = [np.any(gap[0] > _ROUNDING * np.max(goal[0])) for gap in (one, two)]
        answer = below_zero(one - two - _ROUNDING, curves[near].count) if all(apart) else Answer.FAILS
        ends = [
            f"{in_quotes(name)} by at most {said(float(np.max(gap[0])))}" for name, gap in ((near, one), (far, two))
        ]
        return ClaimFinding(answer, f"away from {in_quotes(target)}: {ends[0]}, {ends[1]}")

    return check


def _range(curve: Curve, statistic: Statistic) -> np.ndarray:
    """Return the log of largest over smallest, and its resamples (1 + resamples,)."""
    logs = _log(curve, statistic)
    return np.asarray(logs[:, np.argmax(logs[0])] - logs[:, np.argmin(logs[0])])


def flat(name: str, factor: float) -> Check:
    """Check that a curve stays within a factor."""

    def check(curves: Curves) -> ClaimFinding:
        span = _range(curves[name], "mean")
        answer = below_zero(span - np.log(factor), curves[name].count)
        times = _interval(span, curves[name].count)
        words = f"the largest mean of {in_quotes(name)} is {times} times the smallest"
        return ClaimFinding(answer, words)

    return check


def flatter(first: str, second: str, statistic: Statistic = "mean") -> Check:
    """Check that the first curve varies by a smaller factor than the second."""

    def check(curves: Curves) -> ClaimFinding:
        one, two = (_range(curves[name], statistic) for name in (first, second))
        trials = _trials(curves[first], curves[second])
        words = (
            f"largest over smallest {_NAMES[statistic]}: {in_quotes(first)} {said(float(np.exp(one[0])))}, "
            f"{in_quotes(second)} {said(float(np.exp(two[0])))}; "
            f"the first is {_interval(one - two, trials)} times the second"
        )
        return ClaimFinding(below_zero(one - two, trials), words)

    return check


def last_below(lower: str, upper: str, factor: float = 1.0, statistic: Statistic = "mean") -> Check:
    """Check that the last point of one curve is below a factor of that of another."""

    def check(curves: Curves) -> ClaimFinding:
        a, b = curves[lower], curves[upper]
        gap = _ratio(a, b, statistic)[:, -1]
        times = _interval(gap, _trials(a, b))
        words = f"at the end {_compared(statistic, lower, f'{times} times', upper)}"
        return ClaimFinding(below_zero(gap - np.log(factor), _trials(a, b)), words)

    return check


def alike_at_end(first: str, second: str, factor: float, statistic: Statistic = "median") -> Check:
    """Check that the last points of two curves lie within a factor of each other."""

    def check(curves: Curves) -> ClaimFinding:
        a, b = curves[first], curves[second]
        gap = _ratio(a, b, statistic)[:, -1]
        answer = _within(gap[:, None], factor, _trials(a, b))
        times = _interval(gap, _trials(a, b))
        return ClaimFinding(answer, f"at the end {_compared(statistic, first, f'{times} times', second)}")

    return check


def _within(gap: np.ndarray, factor: float, trials: int) -> Answer:
    """Return whether logs of ratios lie within a factor on either side (1 + resamples, k)."""
    return below_zero(np.concatenate([gap, -gap], axis=1) - np.log(factor), trials)


def alike(pairs: Sequence[tuple[str, str]], factor: float, statistic: Statistic = "mean") -> Check:
    """Check that the two curves of each pair lie within a factor of each other at every x."""

    def one(a: Curve, b: Curve) -> ClaimFinding:
        gap = _ratio(a, b, statistic)
        with np.errstate(invalid="ignore"):
            apart = _Ratio(a.x, gap * np.where(gap[0] < 0, -1, 1), _trials(a, b), factor, sides=2)
        both = f"{in_quotes(a.name)} and {in_quotes(b.name)}"
        larger = f"the larger {_NAMES[statistic]} of {both} is {apart.times} the smaller"
        return ClaimFinding(_within(gap, factor, _trials(a, b)), f"{larger}; {apart.place}")

    return lambda curves: together([one(curves[a], curves[b]) for a, b in pairs])


def lasting(names: Sequence[str], factor: float) -> Check:
    """Check that the last two points of each curve lie within a factor of each other."""

    def one(curve: Curve) -> ClaimFinding:
        step = np.diff(_log(curve, "mean")[:, -2:], axis=1)
        times = _interval(step[:, 0], curve.count)
        words = f"the last mean of {in_quotes(curve.name)} is {times} times the one before"
        return ClaimFinding(_within(step, factor, curve.count), words)

    return lambda curves: together([one(curves[name]) for name in names])


def falls_more(
    first: tuple[str, str],
    second: tuple[str, str],
    statistic: Statistic = "median",
    *,
    share: bool = False,
    last: bool = False,
) -> Check:
    """Check that from before to after the first pair falls by more than the second, at every x or at the last.

    Args:
        share: whether a share of what was before is compared, or the amount.
    """

    def check(curves: Curves) -> ClaimFinding:
        pairs = [(curves[before], curves[after]) for before, after in (first, second)]
        places = slice(-1 if last else 0, None)
        trials = _trials(*(curve for pair in pairs for curve in pair))
        if share:
            one, two = (_ratio(after, before, statistic)[:, places] for before, after in pairs)
            ratio = _Ratio(pairs[0][0].x[places], one - two, trials)
            answer, amounts = ratio.answer, [1 - np.exp(logs[0]) for logs in (one, two)]
            left = f"; what is left of the first over what is left of the second: {ratio.place}"
        else:
            one, two = (_difference(before, after, statistic)[:, places] for before, after in pairs)
            answer, amounts, left = below_zero(two - one, trials), [one[0], two[0]], ""
        say = percent if share else said
        ends = [[say(float(end)) for end in (amount.min(), amount.max())] for amount in amounts]
        by = [
            f"{in_quotes(before.name)} by {low}" + f" to {high}" * (low != high)
            for (before, _), (low, high) in zip(pairs, ends, strict=True)
        ]
        return ClaimFinding(answer, f"the {_NAMES[statistic]} falls: {by[0]}, {by[1]}{left}")

    return check


def grows_more(first: str, second: str) -> Check:
    """Check that from its first point to its last the first curve is multiplied by more than the second."""

    def check(curves: Curves) -> ClaimFinding:
        one, two = (logs[:, -1] - logs[:, 0] for logs in (_log(curves[name], "mean") for name in (first, second)))
        trials = _trials(curves[first], curves[second])
        words = (
            f"last over first mean: {in_quotes(first)} {said(float(np.exp(one[0])))}, {in_quotes(second)} "
            f"{said(float(np.exp(two[0])))}; the second is {_interval(two - one, trials)} times the first"
        )
        return ClaimFinding(below_zero(two - one, trials), words)

    return check


def counted(name: str, least: float, most: float, *, first: bool = False) -> Check:
    """Check that the mean of a count lies between two bounds, at every x or at the first."""

    def check(curves: Curves) -> ClaimFinding:
        mean = curves[name].statistic("mean")[:, : 1 if first else None]
        off = np.concatenate([least - mean, mean - most], axis=1) - _ROUNDING
        ends = f"{said(float(mean[0].min()))} to {said(float(mean[0].max()))}"
        return ClaimFinding(below_zero(off, curves[name].count), f"{in_quotes(name)}: {ends} on average")

    return check


def settles(name: str, yes: bool = True) -> Check:
    """Check that the last step changes the median error by less than a tenth and trials agree; or that it does not."""

    def check(curves: Curves) -> ClaimFinding:
        curve = curves[name]
        change = float(abs(curve.median[-1] - curve.median[-2]) / curve.median[-1])
        apart = (_log(curve, "sd") - _log(curve, "mean"))[:, -1]
        figures = (
            f"the last step changes the median of {in_quotes(name)} by {percent(change)}; its standard deviation is "
            f"{_interval(apart, curve.count)} times its mean"
        )
        settled = Answer.FAILS if change >= 0.1 else below_zero(apart, curve.count)
        turned = {Answer.HOLDS: Answer.FAILS, Answer.FAILS: Answer.HOLDS, Answer.OPEN: Answer.OPEN}
        return ClaimFinding(settled if yes else turned[settled], figures)

    return check


def jump(name: str, at: float, factor: float) -> Check:
    """Check that just before ``at`` the curve is higher than from there on by a factor."""

    def check(curves: Curves) -> ClaimFinding:
        curve = curves[name]
        y = curve.statistic("median")
        before, after = (np.median(y[:, side], axis=1) for side in (curve.x < at, curve.x >= at))
        gap = np.log(after / before)
        words = (
            f"median of {in_quotes(name)}: {said(float(before[0]))} below x = {at:g}, {said(float(after[0]))} from "
            f"there on, {_interval(gap, curve.count)} times that before"
        )
        return ClaimFinding(below_zero(gap + np.log(factor), curve.count), words)

    return check


def near(name: str, value: float, tolerance: float, x: float | None = None) -> Check:
    """Check that a curve's median (at one x) is near a printed figure."""

    def check(curves: Curves) -> ClaimFinding:
        curve = curves[name]
        at = -1 if x is None else int(np.argmin(np.abs(curve.x - x)))
        y = curve.statistic("median")[:, [at]]
        margin = two_sided(curve.count) * float(spread_of(y)[0])
        answer = below_zero(np.concatenate([y - value, value - y], axis=1) - tolerance, curve.count)
        off = f"[{said(y[0, 0] - margin, 4)}, {said(y[0, 0] + margin, 4)}]" if np.isfinite(margin) else _TOO_FEW
        return ClaimFinding(answer, f"{said(float(y[0, 0]), 4)} here {off}, {said(value, 4)} in the paper")

    return check


def all_near(names: Sequence[str], value: float, tolerance: float) -> Check:
    """Check that the last median of each curve is near a figure."""

    def one(name: str, curves: Curves) -> ClaimFinding:
        reading = near(name, value, tolerance)(curves)
        return ClaimFinding(reading.answer, f"{in_quotes(name)}: {reading.figures}")

    return lambda curves: together([one(name, curves) for name in names])


def interior_minimum(name: str) -> Check:
    """Check that the smallest mean is at neither end."""

    def check(curves: Curves) -> ClaimFinding:
        curve = curves[name]
        logs = _log(curve, "mean")
        at = int(np.argmin(logs[0]))
        figures = f"the smallest mean of {in_quotes(name)} is at x = {curve.x[at]:g}"
        if at in (0, len(curve.x) - 1):
            inside = 1 + int(np.argmin(logs[0, 1:-1]))
            known = below_zero(logs[:, at] - logs[:, inside], curve.count)
            return ClaimFinding(Answer.FAILS if known is Answer.HOLDS else Answer.OPEN, figures)
        return ClaimFinding(below_zero(logs[:, [at]] - logs[:, [0, -1]], curve.count), figures)

    return check


@dataclass(frozen=True)
class Slope:
    """A slope on log axes with its 95 % interval."""

    value: float
    low: float
    high: float

    @property
    def words(self) -> str:
        """Render the figure as the verdict prints it."""
        if not np.isfinite(self.high - self.low):
            return f"slope on log axes {self.value:.2f} {_TOO_FEW}"
        return f"slope on log axes {self.value:.2f} [{self.low:.2f}, {self.high:.2f}]"

    def near(self, value: float, tolerance: float) -> ClaimFinding:
        """Return whether the slope is within the tolerance and its interval within twice that.

        More noise does not make a claim hold: where the interval holds the value and is wider, nobody can tell.
        """
        words = f"{self.words}, claimed {value:g}"
        known = value - 2 * tolerance <= self.low and self.high <= value + 2 * tolerance
        if known and abs(self.value - value) <= tolerance:
            return ClaimFinding(Answer.HOLDS, words)
        meets = self.low <= value + tolerance and value - tolerance <= self.high
        return ClaimFinding(Answer.OPEN if meets else Answer.FAILS, words)

    def above(self, value: float) -> ClaimFinding:
        """Return whether the whole 95 % interval lies above a value."""
        answer = Answer.HOLDS if self.low > value else Answer.FAILS if self.high <= value else Answer.OPEN
        return ClaimFinding(answer, self.words)


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
        residuals = logs[0] - weight @ logs[0] - slopes[0] * (u - weight @ u)
        half *= max(1.0, float(np.sqrt(np.sum((residuals / error) ** 2) / (len(u) - 2))))
    return Slope(float(slopes[0]), float(slopes[0]) - half, float(slopes[0]) + half)


def along(curve: Curve, statistic: Statistic = "median") -> Slope | None:
    """Return the slope of a curve's means, medians or sds on log axes; ``None`` where one is not finite."""
    return fitted_slope(curve.x, _log(curve, statistic), curve.count)


def _no_median(curves: Sequence[Curve]) -> ClaimFinding:
    """Return whether so many trials without an estimate could be half by chance, where a median is not finite."""
    left, every = max((int(out), curve.count) for curve in curves for out in curve.omitted)
    known = bdtrc(left - 1, every, 0.5) < LEVEL
    return ClaimFinding(
        Answer.FAILS if known else Answer.OPEN, f"no finite median: {left} of {every} trials have no estimate"
    )


def slope_near(name: str, value: float, tolerance: float = 0.2, statistic: Statistic = "median") -> Check:
    """Check that the slope on log axes is near a value, and known well enough to say so."""

    def check(curves: Curves) -> ClaimFinding:
        slope = along(curves[name], statistic)
        return _no_median([curves[name]]) if slope is None else slope.near(value, tolerance)

    return check


def slope_across(
    named: Mapping[float, str], value: float | None, tolerance: float = 0.2, statistic: Statistic = "median"
) -> Check:
    """Check the slope along another parameter, of which each curve has one value: at the last x of all curves.

    Args:
        value: that the slope is near; ``None``: it is above 0.
    """

    def check(curves: Curves) -> ClaimFinding:
        last = [curves[name] for name in named.values()]
        logs = np.stack([_log(curve, statistic)[:, -1] for curve in last], axis=1)
        slope = fitted_slope(np.asarray(list(named), dtype=float), logs, _trials(*last))
        if slope is None:
            return _no_median(last)
        nearness = slope.above(0.0) if value is None else slope.near(value, tolerance)
        return ClaimFinding(nearness.answer, f"{nearness.figures} (at x = {last[0].x[-1]:g})")

    return check
