"""Checks of claims: each takes the curves and answers with yes or no and the figures behind it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pmtcore.lab.gallery.engine import Check, Curves


def below(lower: str, upper: str, statistic: str = "mean") -> Check:
    """One curve is below another at every x."""

    def check(curves: Curves) -> tuple[bool, str]:
        ratio = getattr(curves[lower], statistic) / getattr(curves[upper], statistic)
        return bool(np.all(ratio < 1)), f"{statistic} ratio {ratio.min():.3g} to {ratio.max():.3g}"

    return check


def all_below(pairs: Sequence[tuple[str, str]], statistic: str = "mean") -> Check:
    """Each first curve is below its second at every x."""

    def check(curves: Curves) -> tuple[bool, str]:
        answers = [below(a, b, statistic)(curves) for a, b in pairs]
        return all(yes for yes, _ in answers), "; ".join(
            f"{a} to {b}: {words}" for (a, b), (_, words) in zip(pairs, answers, strict=True)
        )

    return check


def falls(names: Sequence[str], statistic: str = "mean") -> Check:
    """Each curve ends below where it starts, and its trend on log axes is downward."""

    def check(curves: Curves) -> tuple[bool, str]:
        slopes = []
        for name in names:
            y = np.log(getattr(curves[name], statistic))
            slopes.append(float(np.polyfit(np.log(curves[name].x), y, 1)[0]))
        ends = [getattr(curves[n], statistic) for n in names]
        words = ", ".join(f"{name}: slope {slope:.2f}" for name, slope in zip(names, slopes, strict=True))
        return all(s < 0 for s in slopes) and all(e[-1] < e[0] for e in ends), words

    return check


def flat(name: str, factor: float, statistic: str = "mean") -> Check:
    """A curve stays within a factor."""

    def check(curves: Curves) -> tuple[bool, str]:
        y = getattr(curves[name], statistic)
        return bool(y.max() <= factor * y.min()), f"largest over smallest {y.max() / y.min():.3g}"

    return check


def flatter(first: str, second: str, statistic: str = "mean") -> Check:
    """The first curve varies by a smaller factor than the second."""

    def check(curves: Curves) -> tuple[bool, str]:
        spans = [float(np.max(y) / np.min(y)) for y in (getattr(curves[n], statistic) for n in (first, second))]
        return spans[0] < spans[1], f"largest over smallest {spans[0]:.3g} against {spans[1]:.3g}"

    return check


def last_below(lower: str, upper: str, factor: float = 1.0, statistic: str = "mean") -> Check:
    """The last point of one curve is below that of another."""

    def check(curves: Curves) -> tuple[bool, str]:
        ratio = float(getattr(curves[lower], statistic)[-1] / getattr(curves[upper], statistic)[-1])
        return ratio < factor, f"at the end, {statistic} ratio {ratio:.3g}"

    return check


def settles(name: str, yes: bool = True) -> Check:
    """The last step changes the median error by less than a tenth; or it does not."""

    def check(curves: Curves) -> tuple[bool, str]:
        y = curves[name].median
        change = float(abs(y[-1] - y[-2]) / y[-1])
        spread = float(curves[name].sd[-1] / max(curves[name].mean[-1], 1e-300))
        settled = change < 0.1 and spread < 1
        return settled == yes, f"last change of the median {change:.2g}, sd over mean {spread:.2g}"

    return check


def jump(name: str, at: float, factor: float) -> Check:
    """Just before ``at`` the curve is higher than from there on by a factor."""

    def check(curves: Curves) -> tuple[bool, str]:
        x, y = curves[name].x, curves[name].median
        before, after = float(np.median(y[x < at])), float(np.median(y[x >= at]))
        return before > factor * after, f"median {before:.3g} before, {after:.3g} from {at:g} on"

    return check


def near(name: str, value: float, tolerance: float, x: float | None = None) -> Check:
    """A curve's median (at one x) is near a printed figure."""

    def check(curves: Curves) -> tuple[bool, str]:
        curve = curves[name]
        y = float(curve.median[-1] if x is None else curve.median[np.argmin(np.abs(curve.x - x))])
        return abs(y - value) <= tolerance, f"{y:.3g} here, {value:g} printed"

    return check


def interior_minimum(name: str) -> Check:
    """The smallest mean is at neither end."""

    def check(curves: Curves) -> tuple[bool, str]:
        at = int(np.argmin(curves[name].mean))
        return 0 < at < len(curves[name].x) - 1, f"smallest mean at {curves[name].x[at]:g}"

    return check


def rises(names: Sequence[str], statistic: str = "mean") -> Check:
    """Each curve ends above where it starts and never falls by more than a tenth."""

    def check(curves: Curves) -> tuple[bool, str]:
        ends = [(float(y[0]), float(y[-1])) for y in (getattr(curves[n], statistic) for n in names)]
        steady = all(np.all(y[1:] >= 0.9 * y[:-1]) for y in (getattr(curves[n], statistic) for n in names))
        words = ", ".join(f"{name}: {a:.3g} to {b:.3g}" for name, (a, b) in zip(names, ends, strict=True))
        return bool(steady and all(b > a for a, b in ends)), words

    return check
