"""Checks of claims: each takes the curves and answers with the figures behind it, as far as the trials can tell."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.stats import norm

from pmtcore.papers.gallery.findings import (
    LEVEL,
    Answer,
    Check,
    Curve,
    Curves,
    Finding,
    Statistic,
    below_zero,
    together,
)
from pmtcore.papers.gallery.slopes import along

_ROUNDING = 1e-9  # relative: equal curves computed in two ways
_Z = float(norm.isf(LEVEL / 2))


def below(lower: str, upper: str, statistic: Statistic = "mean", factor: float = 1.0) -> Check:
    """One curve is below a factor of another at every x."""

    def check(curves: Curves) -> Finding:
        a, b = curves[lower], curves[upper]
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = a.values(statistic) / b.values(statistic)
            answer = below_zero(np.log(ratio / factor), np.hypot(a.doubt(statistic), b.doubt(statistic)))
        return Finding(answer, f"{statistic} ratio {np.nanmin(ratio):.3g} to {np.nanmax(ratio):.3g}")

    return check


def never_below(upper: str, lower: str) -> Check:
    """A curve of means is nowhere below another but for rounding; both without chance."""

    def check(curves: Curves) -> Finding:
        ratio = curves[upper].mean / curves[lower].mean
        answer = Answer.HOLDS if np.min(ratio) >= 1 - _ROUNDING else Answer.FAILS
        return Finding(answer, f"ratio {np.min(ratio):.3g} to {np.max(ratio):.3g}")

    return check


def all_below(pairs: Sequence[tuple[str, str]], statistic: Statistic = "mean") -> Check:
    """Each first curve is below its second at every x."""

    def check(curves: Curves) -> Finding:
        found = [below(a, b, statistic)(curves) for a, b in pairs]
        named = zip(pairs, found, strict=True)
        return together([Finding(each.answer, f"{a} to {b}: {each.figures}") for (a, b), each in named])

    return check


def falls(names: Sequence[str], statistic: Statistic = "mean") -> Check:
    """The trend of each curve on log axes is downward."""
    return _trend(names, statistic, 1.0)


def rises(names: Sequence[str], statistic: Statistic = "mean") -> Check:
    """The trend of each curve on log axes is upward, or it ends above where it began; it never falls by a tenth."""
    trend = _trend(names, statistic, -1.0)

    def check(curves: Curves) -> Finding:
        found = trend(curves)
        falling = [_falls_by(curves[name], statistic) for name in names]
        if any(known for known, _, _ in falling):
            return Finding(Answer.FAILS, found.figures + "; it falls on the way by more than a tenth")
        if any(seen for _, seen, _ in falling):
            return Finding(Answer.OPEN if found.answer is Answer.HOLDS else found.answer, found.figures)
        ended = found.answer is Answer.OPEN and all(above for _, _, above in falling)
        return Finding(Answer.HOLDS, found.figures + "; each ends above where it began") if ended else found

    return check


def _falls_by(curve: Curve, statistic: Statistic) -> tuple[bool, bool, bool]:
    """Whether a step down by more than a tenth is known, whether one is seen, and whether the end is known higher."""
    y, doubt = curve.values(statistic), curve.doubt(statistic)
    steps, errors = np.log(y[1:] / y[:-1]), np.hypot(doubt[1:], doubt[:-1])
    z = norm.isf(LEVEL / 2 / max(len(steps), 1))
    known = bool(np.any(steps + z * errors < np.log(0.9)))
    above = bool(np.log(y[-1] / y[0]) > _Z * np.hypot(doubt[0], doubt[-1]))
    return known, bool(np.any(steps < np.log(0.9))), above


def closer(near: str, far: str, target: str) -> Check:
    """Two curves of means deviate from a third, the first nowhere by more than the second."""

    def check(curves: Curves) -> Finding:
        goal = curves[target].mean
        one, two = (np.abs(curves[name].mean - goal) for name in (near, far))
        doubts = [curves[name].doubt("mean") * curves[name].mean for name in (near, far)]
        ends = [np.any(far > _ROUNDING * np.max(goal)) for far in (one, two)]
        answer = below_zero(one - two - _ROUNDING, np.hypot(*doubts)) if all(ends) else Answer.FAILS
        return Finding(answer, f"distance {np.max(one):.3g} at most against {np.max(two):.3g}")

    return check


def _trend(names: Sequence[str], statistic: Statistic, sign: float) -> Check:
    def one(curve: Curve) -> Finding:
        found = along(curve, statistic)
        ends = curve.values(statistic)[[0, -1]]
        if found is None:
            return Finding(Answer.OPEN, f"{curve.name}: {ends[0]:.3g} to {ends[1]:.3g}, no slope")
        low, high = sorted((sign * found.low, sign * found.high))
        answer = Answer.HOLDS if high < 0 else Answer.FAILS if low >= 0 else Answer.OPEN
        return Finding(answer, f"{curve.name}: {ends[0]:.3g} to {ends[1]:.3g}, {found.words}")

    return lambda curves: together([one(curves[name]) for name in names])


def _span(curve: Curve, statistic: Statistic) -> tuple[float, float]:
    """Log of largest over smallest, and its standard error."""
    y, doubt = curve.values(statistic), curve.doubt(statistic)
    top, bottom = int(np.argmax(y)), int(np.argmin(y))
    return float(np.log(y[top] / y[bottom])), float(np.hypot(doubt[top], doubt[bottom]))


def flat(name: str, factor: float, statistic: Statistic = "mean") -> Check:
    """A curve stays within a factor."""

    def check(curves: Curves) -> Finding:
        span, doubt = _span(curves[name], statistic)
        answer = below_zero(np.array([span - np.log(factor)]), np.array([doubt]))
        return Finding(answer, f"largest over smallest {np.exp(span):.3g}")

    return check


def flatter(first: str, second: str, statistic: Statistic = "mean") -> Check:
    """The first curve varies by a smaller factor than the second."""

    def check(curves: Curves) -> Finding:
        (one, doubt), (two, more) = (_span(curves[name], statistic) for name in (first, second))
        answer = below_zero(np.array([one - two]), np.array([np.hypot(doubt, more)]))
        return Finding(answer, f"largest over smallest {np.exp(one):.3g} against {np.exp(two):.3g}")

    return check


def last_below(lower: str, upper: str, factor: float = 1.0, statistic: Statistic = "mean") -> Check:
    """The last point of one curve is below a factor of that of another."""

    def check(curves: Curves) -> Finding:
        a, b = curves[lower], curves[upper]
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = float(a.values(statistic)[-1] / b.values(statistic)[-1])
        doubt = np.hypot(a.doubt(statistic)[-1:], b.doubt(statistic)[-1:])
        return Finding(below_zero(np.log([ratio / factor]), doubt), f"at the end, {statistic} ratio {ratio:.3g}")

    return check


def alike_at_end(first: str, second: str, factor: float, statistic: Statistic = "median") -> Check:
    """The last points of two curves lie within a factor of each other."""

    def check(curves: Curves) -> Finding:
        a, b = curves[first], curves[second]
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = float(a.values(statistic)[-1] / b.values(statistic)[-1])
        doubt = np.hypot(a.doubt(statistic)[-1:], b.doubt(statistic)[-1:])
        answer = below_zero(np.array([abs(np.log(ratio)) - np.log(factor)]), doubt)
        return Finding(answer, f"at the end, {first} over {second}: {ratio:.3g}")

    return check


def alike(pairs: Sequence[tuple[str, str]], factor: float, statistic: Statistic = "mean") -> Check:
    """The two curves of each pair lie within a factor of each other at every x."""

    def one(a: Curve, b: Curve) -> Finding:
        with np.errstate(divide="ignore", invalid="ignore"):  # one trial has no deviation
            gap = np.abs(np.log(a.values(statistic) / b.values(statistic)))
        answer = below_zero(gap - np.log(factor), np.hypot(a.doubt(statistic), b.doubt(statistic)))
        return Finding(answer, f"{a.name} and {b.name} within a factor of {np.exp(gap.max()):.3g}")

    return lambda curves: together([one(curves[a], curves[b]) for a, b in pairs])


def lasting(names: Sequence[str], factor: float, statistic: Statistic = "mean") -> Check:
    """The last two points of each curve lie within a factor of each other."""

    def one(curve: Curve) -> Finding:
        y, doubt = curve.values(statistic)[-2:], curve.doubt(statistic)[-2:]
        gap = abs(float(np.log(y[1] / y[0])))
        answer = below_zero(np.array([gap - np.log(factor)]), np.array([np.hypot(*doubt)]))
        return Finding(answer, f"{curve.name}: last over the one before {y[1] / y[0]:.3g}")

    return lambda curves: together([one(curves[name]) for name in names])


def gains_more(first: tuple[str, str], second: tuple[str, str], statistic: Statistic = "median") -> Check:
    """From before to after, the first pair of curves falls by a larger factor than the second, at every x."""

    def check(curves: Curves) -> Finding:
        logs, doubts = [], []
        for before, after in (first, second):
            a, b = curves[before], curves[after]
            with np.errstate(divide="ignore", invalid="ignore"):
                logs.append(np.log(b.values(statistic) / a.values(statistic)))
            doubts.append(np.hypot(a.doubt(statistic), b.doubt(statistic)))
        figures = "; ".join(
            f"{before} by {1 - np.exp(log.max()):.0%} to {1 - np.exp(log.min()):.0%}"
            for (before, _), log in zip((first, second), logs, strict=True)
        )
        return Finding(below_zero(logs[0] - logs[1], np.hypot(*doubts)), f"it falls: {figures}")

    return check


def grows_more(first: str, second: str, statistic: Statistic = "mean") -> Check:
    """From its first point to its last, the first curve is multiplied by more than the second."""

    def check(curves: Curves) -> Finding:
        logs, doubts = [], []
        for curve in (curves[first], curves[second]):
            y, doubt = curve.values(statistic), curve.doubt(statistic)
            logs.append(np.log(y[-1] / y[0]))
            doubts.append(np.hypot(doubt[0], doubt[-1]))
        answer = below_zero(np.array([logs[1] - logs[0]]), np.array([np.hypot(*doubts)]))
        return Finding(answer, f"last over first {np.exp(logs[0]):.3g} against {np.exp(logs[1]):.3g}")

    return check


def counted(name: str, least: float, most: float) -> Check:
    """The mean of a count lies between two bounds at every x."""

    def check(curves: Curves) -> Finding:
        curve = curves[name]
        error = np.where(curve.sd > 0, curve.sd / np.sqrt(np.maximum(curve.trials, 1)), 0.0)
        answer = below_zero(np.concatenate([least - curve.mean, curve.mean - most]) - _ROUNDING, np.tile(error, 2))
        return Finding(answer, f"{name}: {curve.mean.min():.3g} to {curve.mean.max():.3g} on average")

    return check


def settles(name: str, yes: bool = True) -> Check:
    """The last step changes the median error by less than a tenth, and trials agree; or not."""

    def check(curves: Curves) -> Finding:
        curve = curves[name]
        change = float(abs(curve.median[-1] - curve.median[-2]) / curve.median[-1])
        spread = float(curve.sd[-1] / max(curve.mean[-1], 1e-300))
        doubt = float(np.hypot(curve.doubt("sd")[-1], curve.doubt("mean")[-1]))
        figures = f"last change of the median {change:.2g}, sd over mean {spread:.2g}"
        apart = below_zero(np.log([max(spread, 1e-300)]), np.array([doubt]))  # is the sd below the mean?
        settled = Answer.FAILS if change >= 0.1 else apart
        turned = {Answer.HOLDS: Answer.FAILS, Answer.FAILS: Answer.HOLDS, Answer.OPEN: Answer.OPEN}
        return Finding(settled if yes else turned[settled], figures)

    return check


def jump(name: str, at: float, factor: float) -> Check:
    """Just before ``at`` the curve is higher than from there on by a factor."""

    def check(curves: Curves) -> Finding:
        curve = curves[name]
        x, y, doubt = curve.x, curve.median, curve.doubt("median")
        before, after = float(np.median(y[x < at])), float(np.median(y[x >= at]))
        error = np.array([np.hypot(np.median(doubt[x < at]), np.median(doubt[x >= at]))])
        answer = below_zero(np.log([factor * after / before]), error)
        return Finding(answer, f"median {before:.3g} before, {after:.3g} from {at:g} on")

    return check


def near(name: str, value: float, tolerance: float, x: float | None = None) -> Check:
    """A curve's median (at one x) is near a printed figure."""

    def check(curves: Curves) -> Finding:
        curve = curves[name]
        at = -1 if x is None else int(np.argmin(np.abs(curve.x - x)))
        y = float(curve.median[at])
        half = _Z * float(curve.doubt("median")[at]) * abs(y)
        answer = below_zero(np.array([abs(y - value) - tolerance]), np.array([half / _Z]))
        return Finding(answer, f"{y:.3g} here (known to {half:.2g}), {value:g} printed")

    return check


def all_near(names: Sequence[str], value: float, tolerance: float) -> Check:
    """The last median of each curve is near a figure."""
    each = [near(name, value, tolerance) for name in names]

    def check(curves: Curves) -> Finding:
        found = [one(curves) for one in each]
        named = zip(names, found, strict=True)
        return together([Finding(one.answer, f"{name}: {one.figures}") for name, one in named])

    return check


def interior_minimum(name: str) -> Check:
    """The smallest mean is at neither end."""

    def check(curves: Curves) -> Finding:
        y, doubt = curves[name].mean, curves[name].doubt("mean")
        at = int(np.argmin(y))
        ends = np.array([0, len(y) - 1])
        figures = f"smallest mean at {curves[name].x[at]:g}"
        if at in ends:
            inside = 1 + int(np.argmin(y[1:-1]))
            known = below_zero(np.log([y[at] / y[inside]]), np.hypot(doubt[[at]], doubt[[inside]]))
            return Finding(Answer.FAILS if known is Answer.HOLDS else Answer.OPEN, figures)
        return Finding(below_zero(np.log(y[at] / y[ends]), np.hypot(doubt[at], doubt[ends])), figures)

    return check
