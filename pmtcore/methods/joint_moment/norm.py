"""The norm in which rows are truncated, and the radius: both chosen from public rows, free.

Proof: proofs/moment.md, 18.2.

Whitened rows are measured in the norm ``z' K^{-p} z``, ``K = mean |z~|^2 z~ z~'``: for Gaussian rows the ordinary
one, elsewhere directions in which public rows reach far count less. The radius has the least predicted error of a
regression that one might ask for: random responses and features, in units of their own sampling error.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from weakref import WeakKeyDictionary

import numpy as np

from pmtcore.mechanisms.truncation import ball_weights
from pmtcore.methods.joint_moment.influence import Tail
from pmtcore.methods.joint_moment.parameters import MomentParameters
from pmtcore.public.moments import PublicData, whiten
from pmtcore.public.radius import moment_only_ball
from pmtcore.public.sizes import HARMLESS

POWER = 0.75  # of K: best or near it on five tables, where 0, 0.5 and 1 are each worst on one (decision 0018)
# No public row is more than half of K in any direction: one that lies far out says little of where private ones do.
# Without it one split in seven of white wine is no better than the public fit; 0.3 costs where tails are well known.
_MOST_ROW_SHARE, _WEIGHT_ROUNDS = 0.5, 15
# Share of common direction in what truncation takes: 0 costs up to half at small budgets, 0.1 a tenth
_COMMON_SHARE = 0.03
_STRETCHES_TRIED = (1.0, 1.4, 2.0, 2.8, 4.0)  # powers of the root of 2; beyond, a row is little but that column
_RADII_TRIED = 30  # on a log grid over a range of about one to ten: a twelfth apart
_MOST_ROWS = 1000  # public rows behind a choice; more change it by less than its own error
# random questions that a radius is priced by, and coefficients of them that are looked at
_REGRESSIONS, _PAIRS = 60, 120


@dataclass(frozen=True, eq=False)
class RowNorm:
    """Public rows as the mechanism measures them; everything here is public.

    Attributes:
        root: (D, D) lower triangular; a row z counts by the length of ``y = root^{-1} z``.
        inside: public rows y (m, D); ``factor`` (m,) makes them as long as if left out of the whitening.
        responses: places of the columns whose regressions matter most; empty: all alike.
    """

    root: np.ndarray
    inside: np.ndarray
    factor: np.ndarray
    m: int
    responses: tuple[int, ...] = ()

    @cached_property
    def left_out(self) -> np.ndarray:
        """Return public rows (m, D) as new rows would be."""
        return np.asarray(self.inside * self.factor[:, None])

    @cached_property
    def lengths(self) -> np.ndarray:
        """Return the lengths (m,) of the left-out rows."""
        return np.linalg.norm(self.left_out, axis=1)

    @property
    def dimension(self) -> int:
        """Return D, the number of columns."""
        return len(self.root)

    @cached_property
    def pairs(self) -> tuple[np.ndarray, np.ndarray]:
        """Return directions (K, D) by which random regressions multiply the moment, in sampling errors."""
        rng = np.random.default_rng(15)  # the same questions for everybody
        d, directions = self.dimension, []
        moment = self.inside.T @ self.inside / self.m
        for _ in range(_REGRESSIONS):
            t = int(rng.choice(self.responses)) if self.responses else int(rng.integers(1, d))
            others = np.delete(np.arange(1, d), t - 1)
            chosen = rng.permutation(others)[: int(rng.integers(1, len(others) + 1))] if len(others) else others
            features = self.root[np.concatenate([[0], chosen])]
            inverse = np.linalg.pinv(features @ moment @ features.T, hermitian=True) @ features
            b = self.root[t] - (inverse @ moment @ self.root[t]) @ features
            directions += [(a, b) for a in inverse]
        at = rng.permutation(len(directions))[:_PAIRS]
        a, b = (np.array([directions[i][side] for i in at]) for side in (0, 1))
        sizes = [np.sqrt(np.einsum("ki,ij,kj->k", x, moment, x)) for x in (a, b)]
        return a / sizes[0][:, None], b / sizes[1][:, None]

    @cached_property
    def products(self) -> np.ndarray:
        """Return the contribution of each left-out row to each pair's error (m, K)."""
        a, b = self.pairs
        return np.asarray((self.left_out @ a.T) * (self.left_out @ b.T))


def row_norm(public: PublicData, weights: str) -> RowNorm | None:
    """Return public rows in the norm that truncation uses; ``None`` where only a moment is known."""
    if public.whitened is None or public.m is None or public.rows is None:
        return None
    z, left_out = public.whitened_in_sample, public.whitened
    factor = np.linalg.norm(left_out, axis=1) / np.maximum(np.linalg.norm(z, axis=1), 1e-300)
    root = public.factor
    if weights == "tails":
        root = _weighted_root(public, z)
    return RowNorm(root, whiten(root, public.rows), factor, public.m)


def penalized_norm(rows: RowNorm, responses: tuple[int, ...], n: int, mu: float) -> RowNorm:
    """Return the rows in a norm that gives regressions of some columns less noise than the others.

    The part of such a column that no other column explains is stretched. Its noise falls by the factor and every row
    gets longer; the factor with the least predicted error of its regressions is chosen.
    """
    if not responses:
        return rows
    own, _ = np.linalg.qr(np.linalg.solve(rows.root, np.eye(rows.dimension)[:, list(responses)]))
    scored = []
    for by in _STRETCHES_TRIED:
        upper = np.asarray(np.linalg.qr((rows.root + (1 / by - 1) * (rows.root @ own) @ own.T).T, mode="r"))
        root = (upper * np.where(np.diag(upper) < 0, -1.0, 1.0)[:, None]).T
        stretched = RowNorm(root, rows.inside @ np.linalg.solve(root, rows.root).T, rows.factor, rows.m, responses)
        priced = candidates(stretched, n)
        scored.append((float(np.mean(np.log(priced.prospects(priced.best(mu), mu).errors))), stretched))
    return min(scored, key=lambda each: each[0])[1]


def _weighted_root(public: PublicData, z: np.ndarray) -> np.ndarray:
    """Lower triangular root of ``L K^p L'``, the constant apart; no moment is squared on the way."""
    first = int(public.has_intercept)
    kurtosis = _kurtosis(z[:, first:], np.sum(z**2, axis=1))
    values, vectors = np.linalg.eigh(kurtosis)
    values = np.maximum(values, 1e-6 * values[-1])
    values = (values / np.exp(np.mean(np.log(values)))) ** (POWER / 2)
    half = np.eye(len(public.factor))
    half[first:, first:] = vectors * values  # K^{p/2}, a rotation apart
    upper = np.asarray(np.linalg.qr(half.T @ public.factor.T, mode="r"))
    return np.asarray((upper * np.where(np.diag(upper) < 0, -1.0, 1.0)[:, None]).T)


def _kurtosis(x: np.ndarray, squares: np.ndarray) -> np.ndarray:
    """Return ``mean v |z|^2 x x'`` (d, d) with weights v such that no row has more than its share in any direction."""
    m, d = x.shape
    share, weights = min(max(_MOST_ROW_SHARE, 2 * d / m), 0.9), np.ones(m)
    for _ in range(_WEIGHT_ROUNDS):
        fourth = (x.T * (weights * squares)) @ x / m
        half = np.linalg.cholesky(fourth + 1e-12 * np.trace(fourth) * np.eye(d))
        own = weights * squares * np.sum(np.linalg.solve(half, x.T) ** 2, axis=0) / m
        odds = np.maximum(own, 1e-300) / np.maximum(1 - own, 1e-12)  # exact where a direction has one such row
        weights = np.minimum(1.0, weights * (share / (1 - share)) / odds)
    return np.asarray((x.T * (weights * squares)) @ x / m)


def one_sided(rows: RowNorm, radius: float, n: int) -> np.ndarray:
    """Return what truncation moves random regressions by (K,), in sampling errors, where all of it pulls one way.

    The choice of a radius takes the rows' signs as they come, which codes for missing values do not do: they are the
    same number in every row.
    """
    lost = 1 - ball_weights(rows.lengths**2, radius)
    return np.asarray(math.sqrt(n) * np.mean(lost[:, None] * np.abs(rows.products), axis=0))


@dataclass(frozen=True)
class Prospects:
    """Predicted errors (K,) of random regressions in units of their own sampling errors, squared.

    Attributes:
        noise, truncation: to the non-private coefficient; ``public``: of the public fit.
    """

    noise: np.ndarray
    truncation: np.ndarray
    public: np.ndarray

    @property
    def errors(self) -> np.ndarray:
        """Return expected distances (K,) to non-private coefficients, combined with the public fit by precision."""
        mine = self.noise + self.truncation
        return np.sqrt(1 / (1 / np.maximum(mine, 1e-12) + 1 / self.public))


@dataclass(frozen=True)
class Candidates:
    """Radii (C,) with what does not depend on the budget: truncation's squared error (C, K), the noise's shape (K,)."""

    radii: np.ndarray
    truncation: np.ndarray
    shape: np.ndarray
    public: np.ndarray
    n: int

    def prospects(self, at: int, mu: float) -> Prospects:
        """Return what to expect at one of the radii."""
        noise = self.shape * (self.radii[at] ** 2 / mu) ** 2 / self.n
        return Prospects(noise, self.truncation[at], self.public)

    def best(self, mu: float) -> int:
        """Place of the radius with the least error at this budget, in the geometric mean: of a typical regression."""
        return int(np.argmin([np.mean(np.log(self.prospects(at, mu).errors)) for at in range(len(self.radii))]))

    def harmless_radius(self, mu: float) -> float:
        """Return the radius whose noise is a fiftieth of a typical regression's sampling error: it cannot be seen."""
        return math.sqrt(mu) * (HARMLESS**2 * self.n / float(np.median(self.shape))) ** 0.25

    def nearest(self, radius: float) -> int:
        """Place of the candidate nearest to a radius."""
        return int(np.argmin(np.abs(np.log(self.radii / radius))))


_CACHE: WeakKeyDictionary[RowNorm, dict[int, Candidates]] = WeakKeyDictionary()  # public figures only


def candidates(rows: RowNorm, n: int) -> Candidates:
    """Return radii and what each is predicted to cost at n private rows."""
    by_size = _CACHE.setdefault(rows, {})
    if n not in by_size:
        if len(by_size) > 8:  # a plan over many sizes
            by_size.clear()
        by_size[n] = _candidates(rows, n)
    return by_size[n]


def _candidates(rows: RowNorm, n: int) -> Candidates:
    step = math.ceil(rows.m / _MOST_ROWS)
    lengths, products = rows.lengths[::step], rows.products[::step]
    m, tail = len(lengths), Tail.of(lengths, n)
    radii = np.geomspace(0.5 * float(np.median(lengths)), 4 * float(np.max(lengths)), _RADII_TRIED)
    direction = products[tail.rows] / np.maximum(lengths[tail.rows] ** 2, 1e-300)[:, None]
    body = np.ones(m, dtype=bool)
    body[tail.rows] = False
    lost = []
    for radius in radii:
        moves = (1 - np.minimum(1.0, radius**2 / np.maximum(lengths**2, 1e-300)))[:, None] * products
        cut = np.maximum(tail.lengths**2 - radius**2, 0.0)
        square = np.sum(moves[body] ** 2, axis=0) / m + np.sum(cut**2 * tail.shares) * np.mean(direction**2, axis=0)
        line = np.sum(np.abs(moves[body]), axis=0) / m + np.sum(cut * tail.shares) * np.mean(np.abs(direction), axis=0)
        lost.append(square / n + _COMMON_SHARE * line**2)
    a, b = rows.pairs
    shape = np.sum(a**2, axis=1) * np.sum(b**2, axis=1) + np.sum(a * b, axis=1) ** 2
    public = n * np.var(products, axis=0) * (1 / rows.m + 1 / n)
    return Candidates(radii, n * np.array(lost), shape, public, n)


def chosen(rows: RowNorm | None, dimension: int, n: int, mu: float, *, parameters: MomentParameters) -> float:
    """Return the truncation radius: as given, covering (inference), or of least predicted error (accuracy)."""
    if parameters.radius:
        return float(parameters.radius)
    covering = parameters.radius_mode == "inference"
    if rows is None:
        return moment_only_ball(dimension).radius * (math.sqrt(2.0) if covering else 1.0)
    if not covering:
        priced = candidates(rows, n)
        return max(float(priced.radii[priced.best(mu)]), priced.harmless_radius(mu))
    top = min(float(np.max(rows.lengths)), Tail.top(rows.lengths))
    wide = 2 * top  # four times the largest public norm^2 where the noise is then below the sampling error, else twice
    return wide if (wide**2 / mu) ** 2 < n else math.sqrt(2.0) * top
