"""Estimates of coefficients from mean reports, for any loss, on the server: post-processing (proofs/local.md, 12).

* Papers (C): least squares from the mean moments, then the scale c with ``1 = c mean_pub Phi''(c x'w)``.
* Beyond: the score equation on public rows, for the ``whitened`` scheme.

The influence of forged reports is stated too. A report is accepted if an honest device could have sent it, which is a
wide range because of the noise, and a forged report may lie at its boundary. To first order a coefficient then changes
by its gradient in the mean report times the largest change of the mean.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from pmtcore.base.roots import root
from pmtcore.glm.families import Family
from pmtcore.glm.rows import Rows
from pmtcore.glm.solvers import Data, Penalty, minimize
from pmtcore.local.protocol import Configuration

_ROUNDS = 6  # alternating updates of scale and intercept until convergence
_SCAN = np.geomspace(1e-4, 1e4, 801)  # grid of the scan for a root, forty points a decade; noise hides closer roots
_ROOT_TOLERANCE = 1e-7  # relative distance within which the root for all scores lies from that for their summary
_SCAN_MARGIN = 1e-3  # margin of the scan, far above the error of the summary
_SUMMARY_SIZE = 2000  # size of the summary of scores that is scanned; the root is computed from all scores
_ROWS_FOR_NEAR_HESSIANS = 100_000  # number of public rows above which reusing near Hessians halves the cost
_SCORES_AT_ONCE = 8192  # numbers that fit into the processor's cache
_SIGMOID_REACH = 45.0  # beyond it the slope of a sigmoid is below 3e-20
MOST_NUMBERS = 300  # of a report: each is a fit of its own
_STEP = 1e-3  # of the standard error that noise leaves in the mean


def largest_shifts(
    fit: Callable[[np.ndarray], np.ndarray], configuration: Configuration, mean: np.ndarray, n: int, *, sd: float
) -> np.ndarray:
    """Return the largest change of each coefficient (d,) by one forged report among n, to first order.

    Args:
        fit: coefficients (t, d) from mean reports (t, dimension).
        configuration: published configuration of a report.
        mean: mean report (dimension,).
        n: number of reports.
        sd: of one coordinate of a report, about.
    """
    step = _STEP * sd / np.sqrt(n)
    around = np.concatenate([mean + step * np.eye(len(mean)), mean - step * np.eye(len(mean))])
    values = fit(around)
    gradients = (values[: len(mean)] - values[len(mean) :]) / (2 * step)  # (dimension, d)
    if configuration.randomizer == "privunit":
        reach = configuration.longest_report + float(np.linalg.norm(mean))
        return np.asarray(np.linalg.norm(gradients, axis=0) * reach / n)
    return np.asarray((configuration.largest_coordinates + np.abs(mean)) @ np.abs(gradients) / n)


@dataclass(frozen=True, eq=False)
class Link:
    """Functions of a model in the scale equation.

    Attributes:
        curve: ``Phi''`` for a generalized linear model, ``f'`` for a regression ``y = f(x'w) + noise``.
        sign: of the branch through 0 on which the root lies.
        reach: absolute argument beyond which the curve is negligible relative to its maximum.
    """

    id: str
    curve: Callable[[np.ndarray], np.ndarray]
    value: Callable[[np.ndarray], np.ndarray]
    largest_slope: Callable[[float], float]
    sign: float = 1.0
    reach: float = math.inf

    def response_bound(self, radius: float, noise: float) -> float:
        """Return ``L r + |f(0)| + C`` (C, Algorithms 3 and 4): no response of a row within the radius is larger.

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
        Link("sigmoid", lambda z: expit(z) * expit(-z), expit, lambda r: 0.25, reach=_SIGMOID_REACH),
    )
}


def family_link(family: Family) -> Link:
    """Return the link of a generalized linear model."""
    reach = _SIGMOID_REACH if family.id == "logistic" else math.inf
    return Link(family.id, family.slope, family.mean, family.largest_slope, reach=reach)


@dataclass(frozen=True, eq=False)
class PublicRows:
    """Distinct centred public rows with their shares, for the scale equation.

    Attributes:
        features: rows (k, d).
        shares: shares (k,) of the rows, adding up to 1; ``None`` where all rows differ and count alike.
    """

    features: np.ndarray
    shares: np.ndarray | None = None

    @classmethod
    def of(cls, features: np.ndarray) -> PublicRows:
        """Return rows (m, d) without their copies where they have few levels, as Bernoulli rows do."""
        key = row_keys(features)
        if len(np.unique(key[: 2 * _SUMMARY_SIZE])) > _SUMMARY_SIZE:
            return cls(features)
        _, first, back, counts = np.unique(key, return_index=True, return_inverse=True, return_counts=True)
        if len(first) > _SUMMARY_SIZE or not np.array_equal(features[first][back], features):
            return cls(features)
        return cls(features[first], counts / len(features))

    def mean(self, values: np.ndarray) -> float:
        """Return the mean over all rows of values (k,)."""
        return float(np.mean(values) if self.shares is None else self.shares @ values)


def row_keys(rows: np.ndarray) -> np.ndarray:
    """Return a number for each row (m,): equal for equal rows, and almost surely different for different ones."""
    return np.asarray(rows @ np.sqrt(np.arange(2.0, 2.0 + rows.shape[1])))


def scale_root(link: Link, scores: np.ndarray, offset: float = 0.0, shares: np.ndarray | None = None) -> float:
    """Return the smallest root c of ``1 = c mean(curve(offset + c s))`` on its branch; NaN if there is none.

    The sign of c is the link's. The root is first bracketed on a log grid and computed for a summary of the scores. The
    root for all scores is next to it, where the equation is linear up to rounding; where it is not, Brent's method is
    used.

    Args:
        link: its curve and the sign of its root.
        scores: (k,).
        offset: added to each scaled score.
        shares: shares (k,) of the scores, adding up to 1; alike if ``None``.
    """
    few, weights, exact = _summarized(scores, shares)
    known: dict[float, float] = {}
    longest = float(np.max(np.abs(scores)))

    def over(c: float, scores: np.ndarray, shares: np.ndarray) -> float:
        with np.errstate(over="ignore"):
            return float(np.clip(c * (shares @ link.curve(offset + c * scores)), -1e300, 1e300)) - 1.0

    def rough(c: float) -> float:
        return over(c, few, weights)

    def gap(c: float) -> float:
        if exact or shares is not None:
            return rough(c) if shares is None else over(c, scores, shares)
        if c not in known:
            with np.errstate(over="ignore"):
                inside = scores
                if abs(offset) + abs(c) * longest > 2 * link.reach:  # of a steep curve most scores are beyond its reach
                    inside = scores[np.abs(offset + c * scores) < link.reach]
                parts = (inside[start : start + _SCORES_AT_ONCE] for start in range(0, len(inside), _SCORES_AT_ONCE))
                total = sum(float(np.sum(link.curve(offset + c * part))) for part in parts)
                known[c] = float(np.clip(c * total / len(scores), -1e300, 1e300)) - 1.0
        return known[c]

    grid = link.sign * _SCAN
    begin = _first_possible(link, longest, offset)
    at = next((k for k in range(begin, len(grid)) if rough(float(grid[k])) >= 0), len(grid) - 1)
    if not exact and at > 0 and rough(float(grid[at - 1])) < -_SCAN_MARGIN:
        near = _root_near(gap, rough, sorted((float(grid[at - 1]), float(grid[at]))))
        if near is not None:
            return near
    while at > 0 and gap(float(grid[at - 1])) >= 0:  # the scan saw a little less than all rows
        at -= 1
    while at < len(grid) and gap(float(grid[at])) < 0:
        at += 1
    if at == len(grid):
        return float("nan")
    ends = sorted((0.0 if at == 0 else float(grid[at - 1]), float(grid[at])))  # at 0 the gap is -1
    return root(gap, ends[0], ends[1], xtol=1e-300, rtol=1e-12)


def _first_possible(link: Link, longest: float, offset: float) -> int:
    """Return the first grid index at which c times the largest curve of any score reaches 1; no root lies before it."""

    def reaches(c: float) -> bool:
        return c * link.largest_slope(abs(offset) + c * longest) >= 1

    return bisect_left(_SCAN[:-1].tolist(), True, key=reaches)


def _root_near(gap: Callable[[float], float], rough: Callable[[float], float], ends: list[float]) -> float | None:
    """Return the root of ``gap`` next to that of ``rough`` by the secant of two near points; ``None`` if not between.

    The error of the secant is of the order of their squared distance, which is below rounding.
    """
    if rough(ends[0]) * rough(ends[1]) >= 0:
        return None
    near = root(rough, ends[0], ends[1], xtol=1e-300, rtol=1e-8)
    close = sorted((near * (1 - _ROOT_TOLERANCE), near * (1 + _ROOT_TOLERANCE)))
    inside = [max(close[0], ends[0]), min(close[1], ends[1])]
    first, last = gap(inside[0]), gap(inside[1])
    return inside[0] - first * (inside[1] - inside[0]) / (last - first) if first * last < 0 else None


def _summarized(scores: np.ndarray, shares: np.ndarray | None) -> tuple[np.ndarray, np.ndarray, bool]:
    """Return a summary of the scores, the shares of its points, and whether it is exact.

    Many scores are put into bins of equal width. Each bin is represented by two points, one standard deviation to
    either side of its mean, which preserve its mean and variance.
    """
    low, high = float(np.min(scores)), float(np.max(scores))
    if len(scores) < 2 * _SUMMARY_SIZE or not high > low:
        return scores, np.full(len(scores), 1 / len(scores)) if shares is None else shares, True
    bins = _SUMMARY_SIZE // 2
    at = np.minimum(((scores - low) * (bins / (high - low))).astype(np.intp), bins - 1)
    counts = np.bincount(at, shares, minlength=bins)
    some = counts > 0
    filled, each = np.where(some, counts, 1), 1 if shares is None else shares
    mean = np.bincount(at, each * scores, minlength=bins) / filled
    deviation = np.sqrt(np.bincount(at, each * (scores - mean[at]) ** 2, minlength=bins) / filled)
    points = np.concatenate([(mean - deviation)[some], (mean + deviation)[some]])
    return points, np.tile(counts[some] / (2 * counts.sum()), 2), False


def scaled_coefficients(
    link: Link, slopes: np.ndarray, rows: PublicRows, level: float | None
) -> tuple[np.ndarray, float]:
    """Return ``c w`` and an intercept for least-squares slopes w (d,), from centred public rows.

    Args:
        link: of the regression.
        slopes: w (d,).
        rows: centred public rows with their shares.
        level: released mean response, which the intercept reproduces; ``None``: no intercept.
    """
    scores, offset, c = rows.features @ slopes, 0.0, float("nan")
    for _ in range(1 if level is None else _ROUNDS):
        if level is not None:
            offset = _level(link, rows, scores * (0.0 if np.isnan(c) else c), level)
        c = scale_root(link, scores, offset, rows.shares)
    return c * slopes, offset


def _level(link: Link, rows: PublicRows, scores: np.ndarray, level: float) -> float:
    """Return the offset at which the mean of ``value(offset + s)`` is the level, or the end of the range if none is."""

    def gap(offset: float) -> float:
        return rows.mean(link.value(offset + scores)) - level

    low, high = -30.0, 30.0
    if gap(low) >= 0 or gap(high) <= 0:
        return low if gap(low) >= 0 else high
    return root(gap, low, high)


def least_squares(gram: np.ndarray, cross: np.ndarray, public: tuple[np.ndarray, int] | None, n: int) -> np.ndarray:
    """Return ``w_ols`` (t, d) from mean moments (t, d, d) and (t, d).

    Args:
        gram: mean ``x x'`` (t, d, d).
        cross: mean ``x y`` (t, d).
        public: sum of ``x x'`` over the centred public rows (d, d) and their number, to pool the Gram matrix with (C,
            Remark 11); ``None``: do not.
        n: number of reports.
    """
    if public is not None:
        total, m = public
        gram = (n * gram + total) / (n + m)
    return np.asarray(np.linalg.solve(gram, cross[..., None])[..., 0])


def score_equation(
    family: Family, public: Rows, score: np.ndarray, noise_variance: float, *, centre: float, start: np.ndarray
) -> np.ndarray:
    """Return coefficients (t, d) with ``mean_pub w x (b'(x'b) - centre) = score``, a small ridge by the noise.

    Args:
        family: of the response.
        public: whitened public rows with weights.
        score: released means of ``w x (y - centre)``, (t, d).
        noise_variance: of each of its coordinates.
        centre: number that devices subtract from responses.
        start: initial coefficients (d,).
    """
    m = len(public.response)
    pull = public.features.T @ (public.weights * centre) / m
    h = public.sums(family, start[None])[1][0] / m
    ridge = noise_variance / max(float(np.mean(np.diag(h))), 1e-3) + 1e-6
    data = Data(family, public.features, np.zeros(m), public.weights, reuses_hessians=m > _ROWS_FOR_NEAR_HESSIANS)
    return minimize(data, Penalty.of(-m * (pull + score), m * ridge, start), 1e-9 * m).theta
