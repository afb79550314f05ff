"""Checks of claims about rates: slopes on log axes, with intervals, of one curve or across curves."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import final

import numpy as np
from scipy.stats import binom
from scipy.stats import t as student

from pmtcore.papers.gallery.findings import LEVEL, Answer, Check, Curve, Curves, Finding, Statistic


@final
@dataclass(frozen=True)
class Slope:
    """A slope on log axes with its 95 % interval."""

    value: float
    low: float
    high: float

    @property
    def words(self) -> str:
        """As the verdict prints it."""
        return f"slope {self.value:.2f} [{self.low:.2f}, {self.high:.2f}]"

    def near(self, value: float, tolerance: float) -> Finding:
        """Whether the slope is within the tolerance and its interval within twice that.

        More noise does not make a claim hold: where the interval holds the value and is wider, nobody can tell.
        """
        known = value - 2 * tolerance <= self.low and self.high <= value + 2 * tolerance
        if known and abs(self.value - value) <= tolerance:
            return Finding(Answer.HOLDS, self.words)
        meets = self.low <= value + tolerance and value - tolerance <= self.high
        return Finding(Answer.OPEN if meets else Answer.FAILS, self.words)


def fitted_slope(x: np.ndarray, y: np.ndarray, doubt: np.ndarray, trials: np.ndarray) -> Slope | None:
    """Weighted least squares of log y (k,) on log x (k,); ``None`` where one is not finite.

    Where the points scatter around the line by more than their doubt, the interval is so much wider.

    Args:
        doubt: relative standard errors of y (k,), estimated with ``trials - 1`` degrees of freedom.
    """
    u, v = np.log(np.asarray(x, dtype=float)), np.log(np.asarray(y, dtype=float))
    if not np.all(np.isfinite(v)) or len(u) < 2 or not np.all(np.isfinite(doubt)):
        return None
    error = np.maximum(doubt, 1e-3)
    weight = 1 / error**2
    centre = np.sum(weight * u) / np.sum(weight)
    spread = np.sum(weight * (u - centre) ** 2)
    value = float(np.sum(weight * (u - centre) * v) / spread)
    half = float(student.ppf(0.975, max(np.sum(trials - 1), 1))) / math.sqrt(spread)
    if len(u) > 2:
        level = np.sum(weight * (v - value * (u - centre))) / np.sum(weight)
        scatter = float(np.sum(weight * (v - level - value * (u - centre)) ** 2)) / (len(u) - 2)
        half *= max(1.0, math.sqrt(scatter))
    return Slope(value, value - half, value + half)


def along(curve: Curve, statistic: Statistic = "median") -> Slope | None:
    """The slope of a curve's means, medians or sds on log axes; ``None`` where one is not finite."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return fitted_slope(curve.x, curve.values(statistic), curve.doubt(statistic), curve.trials)


def _no_median(curves: list[Curve]) -> Finding:
    """Where a median is not finite: whether so many without an estimate could be half by chance."""
    left, every = max(
        (int(out), int(out + found)) for c in curves for out, found in zip(c.omitted, c.trials, strict=True)
    )
    known = binom.sf(left - 1, every, 0.5) < LEVEL
    return Finding(
        Answer.FAILS if known else Answer.OPEN, f"no finite median: {left} of {every} trials have no estimate"
    )


def slope_near(name: str, value: float, tolerance: float = 0.2) -> Check:
    """The slope of the median on log axes is near a value, and known well enough to say so."""

    def check(curves: Curves) -> Finding:
        found = along(curves[name])
        return _no_median([curves[name]]) if found is None else found.near(value, tolerance)

    return check


def slope_above(name: str, value: float) -> Check:
    """The whole 95 % interval of the slope on log axes lies above a value."""

    def check(curves: Curves) -> Finding:
        found = along(curves[name])
        if found is None:
            return _no_median([curves[name]])
        answer = Answer.HOLDS if found.low > value else Answer.FAILS if found.high <= value else Answer.OPEN
        return Finding(answer, found.words)

    return check


def slope_across(named: Mapping[float, str], value: float, tolerance: float = 0.2) -> Check:
    """The same along another parameter, of which each curve has one value: at the last x of all curves."""

    def check(curves: Curves) -> Finding:
        last = [curves[name] for name in named.values()]
        x = np.asarray(list(named), dtype=float)
        found = fitted_slope(
            x,
            np.asarray([c.median[-1] for c in last]),
            np.asarray([c.doubt("median")[-1] for c in last]),
            np.asarray([c.trials[-1] for c in last]),
        )
        if found is None:
            return _no_median(last)
        near = found.near(value, tolerance)
        return Finding(near.answer, f"{near.figures} (at x = {last[0].x[-1]:g})")

    return check
