"""The server's half: from mean reports to coefficients, for any loss; all of it post-processing (maths.md, 12).

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
    """The link of a generalized linear model."""
    return Link(family.id, family.slope, family.mean, family.largest_slope)


def scale_root(link: Link, scores: np.ndarray, offset: float = 0.0) -> float:
    """The smallest root c of ``1 = c mean(curve(offset + c s))`` on its branch, scores (k,); NaN if there is none.

    The sign of c is the link's; the root is bracketed on a log grid and found by Brent's method.
    """

    def over(c: float, found: np.ndarray) -> float:
        with np.errstate(over="ignore"):
            return float(np.clip(c * np.mean(link.curve(offset + c * found)), -1e300, 1e300)) - 1.0

    def gap(c: float) -> float:
        return over(c, scores)

    grid, few = link.sign * _SCAN, _few(scores)
    above = np.flatnonzero(np.asarray([over(c, few) for c in grid]) >= 0)
    at = int(above[0]) if len(above) else len(grid) - 1
    while at > 0 and gap(grid[at - 1]) >= 0:  # the scan saw a little less than all rows
        at -= 1
    while at < len(grid) and gap(grid[at]) < 0:
        at += 1
    if at == len(grid):
        return float("nan")
    ends = sorted((0.0 if at == 0 else float(grid[at - 1]), float(grid[at])))  # at 0 the gap is -1
    return float(brentq(gap, *ends, xtol=1e-300, rtol=1e-12))


def _few(scores: np.ndarray) -> np.ndarray:
    """Means of scores of neighbouring rank, at most :data:`_BINS` of them."""
    size = len(scores) // _BINS
    if size < 2:
        return scores
    ordered = np.sort(scores)
    return np.asarray(ordered[: size * _BINS].reshape(_BINS, size).mean(axis=1))


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
    """Where the mean of ``value(offset + s)`` is the level; the end of the range where it cannot be."""

    def gap(offset: float) -> float:
        return float(np.mean(link.value(offset + scores))) - level

    low, high = -30.0, 30.0
    if gap(low) >= 0 or gap(high) <= 0:
        return low if gap(low) >= 0 else high
    return float(brentq(gap, low, high))


def least_squares(gram: np.ndarray, cross: np.ndarray, public: np.ndarray | None, n: int) -> np.ndarray:
    """``w_ols`` (t, d) from mean moments (t, d, d) and (t, d).

    Args:
        public: centred public rows (m, d) to pool the Gram matrix with (C, Remark 11); ``None``: do not.
    """
    if public is not None:
        m = len(public)
        gram = (n * gram + public.T @ public) / (n + m)
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
