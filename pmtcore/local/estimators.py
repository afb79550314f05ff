"""The server's half: from mean reports to coefficients, for any loss; all of it post-processing (proofs/local.md, 12).

* Papers (C): least squares from the mean moments, then the scale c with ``1 = c mean_pub Phi''(c x'w)``.
* Beyond: the score equation with its right side on public rows, for the ``whitened`` scheme.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import final

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit

from pmtcore.glm.families import Family
from pmtcore.glm.newton import Rows, minimize

_ROUNDS = 6  # of scale and intercept in turn: each fixes one, and they settle
_SCAN = np.geomspace(1e-4, 1e4, 801)  # forty points a decade: two roots closer than that are one for any noise
_NEXT = 1e-4  # relative: the root of all rows lies well within it of that of their summary
_BINS = 2000  # rows of equal rank are one in the scan: its mean is right to a millionth, and the root is found on all


@final
@dataclass(frozen=True, eq=False)
class Link:
    """What stands in the scale equation.

    Attributes:
        curve: ``Phi''`` for a generalized linear model, ``f'`` for a regression ``y = f(x'w) + noise``.
        sign: of the branch through 0 on which the root lies.
    """

    id: str
    curve: Callable[[np.ndarray], np.ndarray]
    value: Callable[[np.ndarray], np.ndarray]
    largest_slope: Callable[[float], float]
    sign: float = 1.0

    def response_bound(self, radius: float, noise: float) -> float:
        """``L r + |f(0)| + C`` (C, Algorithms 3 and 4): no response of a row within the radius is larger.

        ``L`` is the largest slope on ``|z| <= r``, which is where ``z = x'w`` lies for ``||w|| <= 1`` (C, equation 10).

        Args:
            radius: r, of the rows.
            noise: C, which bounds the error of the response.
        """
        return self.largest_slope(radius) * radius + abs(float(self.value(np.zeros(1))[0])) + noise


LINKS = {
    link.id: link
    for link in (
        Link("cubic", lambda z: z**2, lambda z: z**3 / 3, lambda r: r**2),
        Link("softplus", lambda z: -expit(-z), lambda z: np.logaddexp(0.0, -z), lambda r: 1.0, -1.0),
        Link("sigmoid", lambda z: expit(z) * expit(-z), expit, lambda r: 0.25),
    )
}


def of_family(family: Family) -> Link:
    """Return the link of a generalized linear model."""
    return Link(family.id, family.slope, family.mean, family.largest_slope)


def scale_root(link: Link, scores: np.ndarray, offset: float = 0.0) -> float:
    """Return the smallest root c of ``1 = c mean(curve(offset + c s))`` on its branch; NaN if there is none.

    The sign of c is the link's. The root is bracketed on a log grid with few scores that stand for all, and found by
    Brent's method on all of them, starting next to the root of the few.

    Args:
        scores: (k,).
    """

    def over(c: float, each: np.ndarray, weights: np.ndarray | None) -> float:
        with np.errstate(over="ignore"):
            curve = link.curve(offset + c * each)
            mean = np.mean(curve) if weights is None else weights @ curve
            return float(np.clip(c * mean, -1e300, 1e300)) - 1.0

    few, weights, exact = _summarized(scores)
    every = (few, weights) if exact else (scores, None)

    def gap(c: float) -> float:
        return over(c, *every)

    grid = link.sign * _SCAN
    at = next((k for k, c in enumerate(grid) if over(float(c), few, weights) >= 0), len(grid) - 1)
    while at > 0 and gap(grid[at - 1]) >= 0:  # the scan saw a little less than all rows
        at -= 1
    while at < len(grid) and gap(grid[at]) < 0:
        at += 1
    if at == len(grid):
        return float("nan")
    ends = sorted((0.0 if at == 0 else float(grid[at - 1]), float(grid[at])))  # at 0 the gap is -1
    if not exact:
        ends = _narrowed(gap, lambda c: over(c, few, weights), ends)
    return float(brentq(gap, *ends, xtol=1e-300, rtol=1e-12))


def _narrowed(gap: Callable[[float], float], rough: Callable[[float], float], ends: list[float]) -> list[float]:
    """Return a bracket of the root of ``gap`` next to that of ``rough``; the ends where there is none."""
    if rough(ends[0]) * rough(ends[1]) >= 0:
        return ends
    near = float(brentq(rough, *ends, xtol=1e-300, rtol=1e-8))
    close = sorted((near * (1 - _NEXT), near * (1 + _NEXT)))
    inside = [max(close[0], ends[0]), min(close[1], ends[1])]
    return inside if gap(inside[0]) * gap(inside[1]) < 0 else ends


def _summarized(scores: np.ndarray) -> tuple[np.ndarray, np.ndarray, bool]:
    """Return scores that stand for all, their shares, and whether they are exactly all there are.

    Rows of a few levels have few distinct scores; else scores of neighbouring rank are averaged, :data:`_BINS` of them.
    """
    size = len(scores) // _BINS
    if size < 2:
        return scores, np.full(len(scores), 1 / len(scores)), True
    ordered = np.sort(scores)
    starts = np.flatnonzero(np.diff(ordered, prepend=-np.inf) > 0)
    if len(starts) <= _BINS:
        return ordered[starts], np.diff(starts, append=len(ordered)) / len(ordered), True
    means = ordered[: size * _BINS].reshape(_BINS, size).mean(axis=1)
    return means, np.full(_BINS, 1 / _BINS), False


def scaled(link: Link, slopes: np.ndarray, rows: np.ndarray, level: float | None) -> tuple[np.ndarray, float]:
    """``c w`` and an intercept for least-squares slopes w (d,), from centred public rows (m, d).

    Args:
        level: released mean response, which the intercept reproduces; ``None``: no intercept.
    """
    scores, offset, c = rows @ slopes, 0.0, float("nan")
    for _ in range(1 if level is None else _ROUNDS):
        if level is not None:
            offset = _level(link, scores * (0.0 if np.isnan(c) else c), level)
        c = scale_root(link, scores, offset)
    return c * slopes, offset


def _level(link: Link, scores: np.ndarray, level: float) -> float:
    """Return where the mean of ``value(offset + s)`` is the level; the end of the range where it cannot be."""

    def gap(offset: float) -> float:
        return float(np.mean(link.value(offset + scores))) - level

    low, high = -30.0, 30.0
    if gap(low) >= 0 or gap(high) <= 0:
        return low if gap(low) >= 0 else high
    return float(brentq(gap, low, high))


def least_squares(gram: np.ndarray, cross: np.ndarray, public: tuple[np.ndarray, int] | None, n: int) -> np.ndarray:
    """Return ``w_ols`` (t, d) from mean moments (t, d, d) and (t, d).

    Args:
        public: sum of ``x x'`` over the centred public rows (d, d) and their number, to pool the Gram matrix with (C,
            Remark 11); ``None``: do not.
    """
    if public is not None:
        total, m = public
        gram = (n * gram + total) / (n + m)
    return np.asarray(np.linalg.solve(gram, cross[..., None])[..., 0])


def score_equation(
    family: Family, public: Rows, score: np.ndarray, noise_variance: float, centre: float, start: np.ndarray
) -> np.ndarray:
    """Coefficients (t, d) with ``mean_pub w x (b'(x'b) - centre) = score``, a small ridge by the noise.

    Args:
        public: whitened public rows with weights.
        score: released means of ``w x (y - centre)``, (t, d).
        noise_variance: of each of its coordinates.
    """
    m = len(public.response)
    pull = public.features.T @ (public.weights * centre) / m
    h = public.sums(family, start[None])[1][0] / m
    ridge = noise_variance / max(float(np.mean(np.diag(h))), 1e-3) + 1e-6
    blank = Rows(public.features, np.zeros(m), public.weights)

    def derivatives(theta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        gradient, hessian = blank.sums(family, theta)
        return gradient / m - pull - score + ridge * (theta - start), hessian / m + ridge * np.eye(theta.shape[1])

    reach = float(np.max(np.linalg.norm(public.features, axis=1)))
    return minimize(derivatives, np.broadcast_to(start, score.shape).copy(), reach, 1e-9)
