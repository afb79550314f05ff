"""Randomizers of one bounded vector whose guarantee holds for the bits that leave (proofs/local.md, 12).

*Gaussian*: the vector is rounded towards zero to integers, and discrete Gaussian integers are added
(proofs/noise.md, 14).

*PrivUnit* (Bhowmick et al. 2018), made finite: directions are drawn independently of the row, and one of them is
chosen: one of the ``winners`` nearest to the row's direction with probability ``keep``, one of the others otherwise.
Only this choice among finitely many directions depends on the row. So ``e^epsilon`` bounds a ratio of two rational
numbers, and the guarantee holds for all bits of the report. A vector shorter than the bound is first replaced by a
random unit vector with the right mean: its direction or the opposite one. Epsilon-privacy implies mu-GDP with
``mu = 2 Phi^{-1}(e^eps/(1 + e^eps))``; a budget mu is spent as the epsilon of this equation.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from scipy.special import bdtr, betaincinv, ndtri, roots_legendre

from pmtcore.base.messages import number_between
from pmtcore.base.private_rows import Arena, Curator, Private, PrivateRows, RowCache
from pmtcore.mechanisms.grid import FINE, SLACK, grid_rows
from pmtcore.mechanisms.noise import NoiseSource

_MECHANISM = Curator("local randomizers: every row is randomized on its own")
# Relative margin of each probability, for rounding and because 2^64 is not a multiple of the number of directions.
_MARGIN = 2.0**-40
# Least probability of the other directions: if it rounded to 0, epsilon would be infinite.
_REST = 2.0**-30
# Largest epsilon of one choice. A larger budget is divided among several choices, which is cheaper than one choice
# among millions of directions.
_MOST_EPSILON_PER_CHOICE = 6.0
# Binary logarithm of the largest number of directions, 512: at epsilon 6 five of them are winners, near the best share.
_MOST_POWER = 9
# Binary logarithm of the ratio of directions to e^epsilon: with a few winners their share can be near the best one.
_ROOM_POWER = 2
# Number of candidate numbers of winners: the variance of neighbouring candidates differs by less than 1 %.
_CANDIDATES = 24
# Nodes of the quadrature for the mean of the winners; relative error below 1e-9.
_NODES = 400
# Number of random reflections of each row. The mean of rows that share their directions has a bias of 1 % with two;
# with four, none is detected with 1e5 rows.
_MIRRORS = 4
# Scores in memory at once. Rows of one chunk share their directions, so that chunks are small.
_CHUNK = 200_000
# A double.
_BYTES_PER_NUMBER = 8


@dataclass(frozen=True)
class PrivUnit:
    """Finite PrivUnit randomizer at one epsilon.

    Attributes:
        d: dimension of the vectors.
        epsilon: budget of a report.
        pieces: independent choices, each at ``epsilon/pieces``; the report is their mean.
        directions: number of directions, in opposite pairs, of which one is chosen.
        winners: number of directions that count as near.
        keep: probability of choosing a near one.
        shrink: ``E<v, u>``; reports are divided by it.
    """

    d: int
    epsilon: float
    pieces: int
    directions: int
    winners: int
    keep: float
    shrink: float

    @classmethod
    def for_epsilon(cls, d: int, epsilon: float) -> PrivUnit:
        """Return the randomizer with the number of winners of least variance; for d = 1 it is randomized response."""
        number_between("epsilon", epsilon, 1e-6, 500.0)
        if d == 1:
            keep = _keep_probability(epsilon, 1, 2)
            return cls(1, epsilon, 1, 2, 1, keep, 2 * keep - 1)
        pieces = math.ceil(epsilon / _MOST_EPSILON_PER_CHOICE)
        return cls(d, epsilon, pieces, *_best(d, epsilon / pieces))

    @property
    def variance(self) -> float:
        """Return the variance of a coordinate of a report of the zero vector, at bound 1."""
        return 1 / (self.shrink**2 * self.d * self.pieces)

    @property
    def rows_at_once(self) -> int:
        """Return the number of rows that share their directions."""
        return max(1, _CHUNK // self.directions)

    def randomize(self, vectors: np.ndarray, bound: float, source: NoiseSource) -> np.ndarray:
        """Return unbiased reports (k, d).

        Args:
            vectors: (k, d), of length at most ``bound``.
            bound: bound on the length.
            source: source of the noise.

        Guarantee: epsilon-LDP for each row, so mu-GDP with :func:`mu_from_pure_epsilon` (proofs/local.md, 12).
        """
        length = np.linalg.norm(vectors, axis=1)
        unit = vectors / np.maximum(length, 1e-300)[:, None]
        unit[length <= 1e-300] = np.eye(1, self.d)
        total = np.zeros(vectors.shape)
        for start in range(0, len(unit), self.rows_at_once):
            part = slice(start, start + self.rows_at_once)
            for _ in range(self.pieces):
                turned = _share(source.words(len(unit[part]), 1)[:, 0]) < (1 + np.minimum(length[part] / bound, 1)) / 2
                total[part] += self._choose(np.where(turned[:, None], unit[part], -unit[part]), source)
        return np.asarray(bound / (self.shrink * self.pieces) * total)

    def _choose(self, unit: np.ndarray, source: NoiseSource) -> np.ndarray:
        """Choose one direction (k, d) for each unit vector (k, d).

        All directions are made of random words alone: one set for these rows, reflected for each row at four random
        hyperplanes.
        """
        k, d = unit.shape
        half = _directions(source, self.directions // 2, d)
        mirrors = [_directions(source, k, d) for _ in range(_MIRRORS if d > 1 else 0)]
        reflected = unit
        for mirror in mirrors:
            reflected = _reflected(reflected, mirror)
        scores = reflected @ half.T  # (k, directions/2)
        order = np.argpartition(np.column_stack([-scores, scores]), self.winners - 1, axis=1)
        words = source.words(k, 2)
        near = _share(words[:, 0]) < self.keep
        among = np.where(near, self.winners, self.directions - self.winners).astype(np.uint64)
        at = _scaled_words(words[:, 1], among) + np.where(near, 0, self.winners)
        chosen = order[np.arange(k), at]
        direction = np.where(chosen < len(half), 1.0, -1.0)[:, None] * half[chosen % len(half)]
        for mirror in reversed(mirrors):
            direction = _reflected(direction, mirror)
        return direction


def _share(words: np.ndarray) -> np.ndarray:
    """Return words as numbers from [0, 1), multiples of 2^-53: a comparison with a double has an exact probability."""
    return (words >> np.uint64(11)).astype(float) * 2.0**-53


def _scaled_words(words: np.ndarray, bounds: np.ndarray) -> np.ndarray:
    """Return ``floor(word bound / 2^64)``, exactly, for bounds below 2^32."""
    high, low = words >> np.uint64(32), words & np.uint64(0xFFFFFFFF)
    return ((high * bounds + (low * bounds >> np.uint64(32))) >> np.uint64(32)).astype(np.int64)


def _directions(source: NoiseSource, count: int, d: int) -> np.ndarray:
    """Draw directions (count, d) from random words alone."""
    if d == 1:
        return np.ones((count, 1))
    normal = ndtri(((source.words(count, d) >> np.uint64(12)).astype(float) + 0.5) * 2.0**-52)
    return np.asarray(normal / np.linalg.norm(normal, axis=1)[:, None])


def _reflected(rows: np.ndarray, mirror: np.ndarray) -> np.ndarray:
    return np.asarray(rows - 2 * np.einsum("kd,kd->k", rows, mirror)[:, None] * mirror)


@lru_cache(maxsize=256)
def _best(d: int, epsilon: float) -> tuple[int, int, float, float]:
    """Return directions, winners, ``keep`` and ``shrink`` of one choice at epsilon."""
    directions = 2 ** min(math.ceil(epsilon / math.log(2)) + _ROOM_POWER, _MOST_POWER)
    choices = []
    for winners in np.unique(np.geomspace(1, directions // 2, _CANDIDATES).astype(int)).tolist():
        keep = _keep_probability(epsilon, winners, directions)
        shrink = _mean_of_winners(d, directions // 2, winners) * (keep - (1 - keep) * winners / (directions - winners))
        choices.append((shrink, winners, keep))
    shrink, winners, keep = max(choices)
    return directions, winners, keep, shrink


def _mean_of_winners(d: int, pairs: int, winners: int) -> float:
    """Compute ``E<v, u>`` of a winner: the mean of the ``winners`` largest of ``pairs`` values ``|<v, u>|``.

    ``(pairs/winners) int q(s) P(Bin(pairs - 1, s) < winners) ds``, q the upper quantile of ``|<v, u>|``.
    """
    end = min(1.0, (winners + 12 * math.sqrt(winners) + 40) / pairs)
    nodes, weights = roots_legendre(_NODES)
    root = (nodes + 1) / 2  # s = end root^2: the quantile has a root at the end of d = 2, a logarithm's at 0
    s = end * root**2
    quantile = np.sqrt(1 - betaincinv((d - 1) / 2, 0.5, s))
    inside = bdtr(winners - 1, pairs - 1, s) if pairs > 1 else np.ones_like(s)
    return float(pairs / winners * np.sum(weights * end * root * quantile * inside))


def _keep_probability(epsilon: float, winners: int, directions: int) -> float:
    """Return the probability of the winners, rounded to the private side: the others always have a share."""
    odds = epsilon + math.log(winners) - math.log(directions - winners)
    return min(1 / (1 + math.exp(-max(odds, -700.0))) * (1 - _MARGIN), 1 - _REST)


@dataclass(frozen=True)
class Gaussian:
    """Discrete Gaussian noise on a bounded vector, in units of ``bound/2^30``.

    Attributes:
        mu: budget of a report.
        bound: bound on the length of a vector.
    """

    mu: float
    bound: float

    @cached_property
    def scale(self) -> float:
        """Return the scale of the integer noise: sensitivity ``2 2^30`` over mu."""
        return (1 + SLACK) * 2 * FINE / self.mu

    @property
    def sd(self) -> float:
        """Return the standard deviation of each coordinate, in the units of the vector."""
        return self.scale * self.bound / FINE

    def integers(self, vectors: np.ndarray) -> np.ndarray:
        """Return vectors (k, d) as integers, none longer than ``2^30``."""
        return grid_rows(vectors, self.bound, FINE)

    def randomize(self, vectors: np.ndarray, source: NoiseSource) -> np.ndarray:
        """Return vectors (k, d) with noise.

        Guarantee: mu-GDP for each row, for the bits that leave (proofs/local.md, 12 and 14).
        """
        integers = self.integers(vectors)
        return np.asarray((integers + source.integers(self.scale, *integers.shape)).astype(float) * (self.bound / FINE))


@dataclass(frozen=True, eq=False)
class Vectors:
    """Vectors (k, d) of some rows."""

    values: np.ndarray

    def copied_to(self, store: Arena) -> Vectors:
        """Return the same vectors in memory of the store."""
        return Vectors(store.copy(self.values, np.float64))


def vector_pieces(
    rows: PrivateRows, vectors: Callable[[np.ndarray, np.ndarray], np.ndarray], by: PrivUnit
) -> RowCache[Vectors]:
    """Return the vectors of private rows, in blocks of a public size.

    Args:
        rows: the private rows.
        vectors: from a block (features, response) to a vector for each row (k, d).
        by: the randomizer, which draws directions for so many rows at once.
    """
    return rows.equal_pieces(lambda x, y: Vectors(vectors(x, y)), bytes_kept(by.d), multiple=by.rows_at_once)


def bytes_kept(d: int) -> int:
    """Return the bytes that a row's vector of d numbers takes between collections."""
    return _BYTES_PER_NUMBER * d


def release_mean(
    statistic: Private[RowCache[Vectors]], n: int, source: NoiseSource, trials: int, *, by: PrivUnit, bound: float
) -> np.ndarray:
    """Return mean reports (trials, d) of rows by PrivUnit: one pass for each collection.

    Args:
        statistic: private vectors, from :func:`vector_pieces`.
        n: public number of rows.
        source: source of the noise, asked in the order of the table.
        trials: number of independent collections.
        by: the randomizer.
        bound: bound on the length of a row.

    Guarantee: that of the randomizer, for each row.
    """

    def collected(vectors: RowCache[Vectors]) -> Private[np.ndarray]:
        return vectors.sum_pieces(lambda block: by.randomize(block.values, bound, source).sum(axis=0), in_order=True)

    return np.stack([statistic.bind(collected).reveal(_MECHANISM) / n for _ in range(trials)])


def release_sums(
    statistic: Private[np.ndarray], source: NoiseSource, trials: int, scales: np.ndarray, *, n: int
) -> np.ndarray:
    """Return sums of n integer reports (trials, dimension), as floats: they may have more than 64 bits.

    The noise of all reports together is one discrete Gaussian of scale ``sqrt(n)`` times that of each
    (``scales``, (dimension,)): the distribution of n of them up to what a grid of 2^30 steps shows.

    Args:
        statistic: private sum (dimension,) of the reports without noise.
        source: source of the noise.
        trials: number of independent collections.
        scales: scale of the noise of one report (dimension,).
        n: number of reports.

    Guarantee: at least that of one report, for every row (proofs/local.md, 12).
    """
    value = statistic.reveal(_MECHANISM)
    noisy = np.empty((trials, len(value)))
    for scale in np.unique(scales):
        at = np.flatnonzero(scales == scale)
        noisy[:, at] = value[at] + source.integers(float(scale) * math.sqrt(n), trials, len(at))
    return noisy
