"""Checks of claims about rates: slopes on log axes, with intervals, of one curve or across curves."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import final

import numpy as np
from scipy.stats import t as student

from pmtcore.lab.gallery.engine import Check, Curve, Curves


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

    def near(self, value: float, tolerance: float) -> tuple[bool, str]:
        """Whether the slope is within the tolerance and its interval within twice that, and the words for it.

        More noise does not make a claim hold: where the interval holds the value and is wider, nobody can tell.
        """
        known = value - 2 * tolerance <= self.low and self.high <= value + 2 * tolerance
        holds = known and abs(self.value - value) <= tolerance
        open_question = not holds and not known and self.low <= value <= self.high
        return holds, self.words + ("; too few trials to tell" if open_question else "")


def fitted_slope(x: np.ndarray, median: np.ndarray, relative_sd: np.ndarray, trials: np.ndarray) -> Slope | None:
    """Weighted least squares of log medians (k,) on log x (k,); ``None`` where a median is not finite.

    A median of T errors has the relative standard error ``sqrt(pi/2) sd/mean/sqrt(T)``, estimated with T - 1
    degrees of freedom; where the points scatter around the line by more than that, the interval is so much wider.
    """
    u, v = np.log(np.asarray(x, dtype=float)), np.log(np.asarray(median, dtype=float))
    if not np.all(np.isfinite(v)) or len(u) < 2:
        return None
    error = np.maximum(math.sqrt(math.pi / 2) * relative_sd / np.sqrt(trials), 1e-3)
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


def _along(curve: Curve) -> Slope | None:
    with np.errstate(divide="ignore", invalid="ignore"):
        return fitted_slope(curve.x, curve.median, curve.sd / curve.mean, curve.trials)


_NO_MEDIAN = "the median is not finite: more than half of the trials have no estimate"


def slope_near(name: str, value: float, tolerance: float = 0.2) -> Check:
    """The slope of the median on log axes is near a value, and known well enough to say so."""

    def check(curves: Curves) -> tuple[bool, str]:
        found = _along(curves[name])
        return (False, _NO_MEDIAN) if found is None else found.near(value, tolerance)

    return check


def slope_above(name: str, value: float) -> Check:
    """The whole 95 % interval of the slope on log axes lies above a value."""

    def check(curves: Curves) -> tuple[bool, str]:
        found = _along(curves[name])
        return (False, _NO_MEDIAN) if found is None else (found.low > value, found.words)

    return check


def slope_across(named: Mapping[float, str], value: float, tolerance: float = 0.2) -> Check:
    """The same along another parameter, of which each curve has one value: at the last x of all curves."""

    def check(curves: Curves) -> tuple[bool, str]:
        last = [curves[name] for name in named.values()]
        x = np.asarray(list(named), dtype=float)
        with np.errstate(divide="ignore", invalid="ignore"):
            sds = np.asarray([c.sd[-1] / c.mean[-1] for c in last])
            found = fitted_slope(
                x, np.asarray([c.median[-1] for c in last]), sds, np.asarray([c.trials[-1] for c in last])
            )
        if found is None:
            return False, _NO_MEDIAN
        holds, words = found.near(value, tolerance)
        return holds, f"{words} (at x = {last[0].x[-1]:g})"

    return check
