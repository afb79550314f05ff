"""Sampling and truncation errors from public information: the rows themselves, their fourth moments, or nothing.

An estimate whose derivative with respect to the moment is J, ``d = tr(J dM)``, has the influence values ``y'J y`` of
rows y; with J the symmetrized ``a b'`` they are ``(a'y)(b'y)``.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations_with_replacement, permutations
from math import factorial

import numpy as np

from pmtcore.base.distributions import chi
from pmtcore.mechanisms.truncation import ball_weights
from pmtcore.public.bands import group_sums
from pmtcore.public.clipping import PRIOR_ROWS, PowerTail

_TAIL_SHARE = 10  # reciprocal of the share of rows in the tail
_QUANTILES = 40  # number of quantiles that represent the tail, on a log scale
# Intervals allow for rows as long as one table in ten contains, at an exponent of the tail 2.5 standard errors below
# its estimate and at least 3: on white wine one private row is eight times as long as any public one (coverage 0.91;
# without this allowance 0.88).
_TABLES_PER_EXTREME, _CAUTIOUS_DEVIATIONS, _LEAST_POWER = 10, 2.5, 3.0
# Relative excess of the tail's mean log length over that of Gaussian rows from which the power law has its full weight;
# the ratio of the two is 1.4 to 1.8 on white wine, and 0.75 to 1.15 on Gaussian tables.
_HEAVY_LOG_EXCESS = 0.5
MOST_ROWS_IN_RECORD = 2000  # public rows kept in a record
MOST_TENSOR = 30  # columns, up to which fourth moments are kept where rows are not


@dataclass(frozen=True)
class Tail:
    """Discrete law of the lengths of the largest tenth of rows.

    Attributes:
        rows: indices (k,) of the largest tenth of the public rows.
        lengths: quantiles of the tail (Q,).
        shares: share of all rows (Q,) that each of them represents.
    """

    rows: np.ndarray
    lengths: np.ndarray
    shares: np.ndarray

    @classmethod
    def of(cls, lengths: np.ndarray, rows: float) -> Tail:
        """Return the tail by a power law, up to the length that one row in ``rows`` exceeds."""
        order, tail = _outermost(lengths)
        return cls._from_power(order, tail, tail.power, rows)

    @staticmethod
    def expected_longest(lengths: np.ndarray) -> float:
        """Return the expected largest length of as many rows by the power law."""
        _, tail = _outermost(lengths)
        return float((tail.start * tail.many ** (1 / tail.power))[0])

    @classmethod
    def conservative(cls, lengths: np.ndarray, dimension: int, rows: float) -> Tail:
        """Return a tail with a conservative exponent, weighted by the evidence for a heavier tail than Gaussian rows'.

        The evidence is the excess of the tail's mean log length over that of Gaussian rows.
        """
        order, tail = _outermost(lengths)
        m, k = len(order), int(tail.many)
        ranks = (np.arange(k) + 0.5) / m
        gaussian_log_excess = float(np.sum(np.log(chi.isf(ranks, dimension) / chi.isf(k / m, dimension))))
        weight = min(max((float(tail.log_excess[0]) / gaussian_log_excess - 1) / _HEAVY_LOG_EXCESS, 0.0), 1.0)
        power = np.maximum(tail.power * (1 - _CAUTIOUS_DEVIATIONS / math.sqrt(k + PRIOR_ROWS)), _LEAST_POWER)
        cautious = cls._from_power(order, tail, power, rows)
        return replace(cautious, shares=weight * cautious.shares)

    @classmethod
    def _from_power(cls, order: np.ndarray, tail: PowerTail, power: np.ndarray, rows: float) -> Tail:
        """Return the tail of rows in this order at this power, from its start to one row in ``rows``."""
        share = tail.many / len(order)
        edges = np.exp(np.linspace(math.log(min(1 / rows, share / 2)), math.log(share), _QUANTILES + 1))
        middle = np.sqrt(edges[1:] * edges[:-1])
        return cls(order[-tail.many :], tail.start * (share / middle) ** (1 / power), np.diff(edges))


def _outermost(lengths: np.ndarray) -> tuple[np.ndarray, PowerTail]:
    """Return the indices (m,) that sort the lengths, and the power law of the largest tenth."""
    order = np.argsort(lengths)
    return order, PowerTail.of(lengths[order], _TAIL_SHARE, 0.0)


class Influence(ABC):
    """Second moments of the influence of a row, for directions a (q, D) and b (D,), or matrices J (q, D, D).

    The truncated part is zero in this base class: it is unknown without rows.

    Attributes:
        m: number of public rows; 0 where only a moment is known.
        residual_moment: ``mean (1 - w) y y'`` (D, D) over left-out rows.
        removed_moment: the same mean over rows in sample, with the weights w of the left-out rows: an unbiased estimate
            of the part of the second moment that truncation removes.
    """

    m: int
    residual_moment: np.ndarray
    removed_moment: np.ndarray

    @abstractmethod
    def second_moments(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """Return ``mean w^2 (a'y)(a'y)' (b'y)^2`` (q, q) over public rows in sample."""

    @abstractmethod
    def weighted_mean_square(self, b: np.ndarray) -> float:
        """Return ``mean w (b'y)^2``."""

    @abstractmethod
    def truncated_variances(self, matrices: np.ndarray) -> np.ndarray:
        """Return variances (q,) of ``w y'J y`` over public rows."""

    @abstractmethod
    def product_covariance(self, a: np.ndarray, b: np.ndarray, rest: np.ndarray) -> np.ndarray:
        """Return covariance (q, q) of ``w y'(J o rest) y`` on public rows, J symmetrized ``a b'``; ``rest``: (D, D)."""

    def residual_products(self, a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return mean (q,) and covariance (q, q) of the truncated part ``(1 - w)(a'y)(b'y)`` over left-out rows."""
        return np.zeros(len(a)), np.zeros((len(a), len(a)))

    def tail_covariance(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """Return the mean of ``(1 - w)^2 (a'y)(a'y)'(b'y)^2`` (q, q) over the tail beyond the public rows."""
        return np.zeros((len(a), len(a)))

    def tail_variances(self, matrices: np.ndarray) -> np.ndarray:
        """Return means (q,) of ``((1 - w) y'J y)^2`` over the tail beyond the public rows."""
        return np.zeros(len(matrices))

    def residual_moments(self, matrices: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return means and variances (q,) of ``(1 - w) y'J y`` over left-out rows."""
        return np.zeros(len(matrices)), np.zeros(len(matrices))

    def freedom(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """Return degrees of freedom (q,) of the diagonal of :meth:`second_moments`: at most a quarter of the rows."""
        return np.full(len(a), max(self.m, 1) / 4)


def left_out_rows(inside: np.ndarray, factor: np.ndarray, constant: bool) -> np.ndarray:
    """Return public rows (m, D) with the lengths they have if left out of the whitening.

    The coordinate of the constant does not depend on the whitening; only the others are scaled (proofs/moment.md,
    18.3).

    Args:
        inside: rows y (m, D), the constant's coordinate first where there is one.
        factor: ratio (m,) of each row's left-out length to its length.
        constant: whether there is a constant.
    """
    if not constant:
        return np.asarray(inside * factor[:, None])
    first, others = inside[:, :1], inside[:, 1:]
    squares = np.sum(others**2, axis=1, keepdims=True)
    left_out = factor[:, None] ** 2 * (squares + first**2) - first**2
    return np.hstack([first, others * np.sqrt(np.maximum(left_out, 0.0) / np.maximum(squares, 1e-300))])


@dataclass(frozen=True, eq=False)
class RowInfluence(Influence):
    """Influence from public rows.

    Attributes:
        inside: rows y (m, D).
        factor: ratio (m,) of each row's left-out length to its length.
        radius: truncation radius.
        n: number of private rows.
        clusters: the group (m,) of each row, numbered from 0, where rows of a group are correlated: influence values
            are summed over groups before they are squared (proofs/results.md, 5).
        constant: whether the first column is the constant.
    """

    inside: np.ndarray
    factor: np.ndarray
    radius: float
    n: int
    clusters: np.ndarray | None = None
    constant: bool = False

    @property
    def m(self) -> int:  # type: ignore[override]
        """Return the number of public rows in the record."""
        return len(self.inside)

    @cached_property
    def weights(self) -> np.ndarray:
        """Return the truncation weights (m,) of the rows in sample."""
        return ball_weights(np.sum(self.inside**2, axis=1), self.radius)

    @cached_property
    def left_out(self) -> np.ndarray:
        """Return rows (m, D), each as if left out of the whitening."""
        return left_out_rows(self.inside, self.factor, self.constant)

    @cached_property
    def clipped_fractions(self) -> np.ndarray:
        """Return ``1 - w`` of the left-out rows (m,)."""
        return np.asarray(1 - ball_weights(np.sum(self.left_out**2, axis=1), self.radius))

    def second_moments(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """See :meth:`Influence.second_moments`."""
        return self.mean_square((self.inside @ a.T) * (self.weights * (self.inside @ b))[:, None])

    def mean_square(self, moves: np.ndarray) -> np.ndarray:
        """Return ``sum s s' / m`` (q, q) of moves (m, q), of rows or of the sums over groups."""
        if self.clusters is None:
            return np.asarray(moves.T @ moves / self.m)
        sums, correction = group_sums(moves, self.clusters)
        return np.asarray(correction * sums.T @ sums / self.m)

    def weighted_mean_square(self, b: np.ndarray) -> float:
        """See :meth:`Influence.weighted_mean_square`."""
        return float(np.mean(self.weights * (self.inside @ b) ** 2))

    def freedom(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """Return ``2/cv^2`` of the mean of squares, as in proofs/bands.md, 7."""
        influences = (self.inside @ a.T) * (self.weights * (self.inside @ b))[:, None]
        influences = influences if self.clusters is None else group_sums(influences, self.clusters)[0]
        squares, count = influences**2, len(influences)
        mean = np.maximum(np.mean(squares, axis=0), 1e-300)
        degrees = 2 / np.maximum(np.var(squares, axis=0) / mean**2 / count, 8 / count)
        return np.asarray(degrees if self.clusters is None else np.minimum(degrees, count - 1))

    def residual_products(self, a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """See :meth:`Influence.residual_products`."""
        influences = (self.left_out @ a.T) * (self.clipped_fractions * (self.left_out @ b))[:, None]
        mean = np.mean(influences, axis=0)
        if self.clusters is None:
            return mean, np.asarray(influences.T @ influences / self.m - np.outer(mean, mean))
        return mean, self.mean_square(influences - mean)

    @cached_property
    def far_directions(self) -> np.ndarray:
        """Return the directions (k, D) of the longest rows, scaled to the mean square truncated part."""
        lengths = np.linalg.norm(self.left_out, axis=1)
        tail = Tail.conservative(lengths, self.inside.shape[1], _TABLES_PER_EXTREME * self.n)
        mean_square = np.sum(np.maximum(tail.lengths**2 - self.radius**2, 0.0) ** 2 * tail.shares)
        return np.asarray(self.left_out[tail.rows] / lengths[tail.rows, None] * mean_square**0.25)

    def tail_covariance(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """See :meth:`Influence.tail_covariance`."""
        influences = (self.far_directions @ a.T) * (self.far_directions @ b)[:, None]
        return np.asarray(influences.T @ influences / len(self.far_directions))

    def tail_variances(self, matrices: np.ndarray) -> np.ndarray:
        """See :meth:`Influence.tail_variances`."""
        return np.asarray(np.mean(_forms(self.far_directions, matrices) ** 2, axis=0))

    def truncated_variances(self, matrices: np.ndarray) -> np.ndarray:
        """See :meth:`Influence.truncated_variances`."""
        influences = self.weights[:, None] * _forms(self.inside, matrices)
        if self.clusters is None:
            return np.asarray(np.var(influences, axis=0))
        sums, correction = group_sums(influences - np.mean(influences, axis=0), self.clusters)
        return np.asarray(correction * np.sum(sums**2, axis=0) / self.m)

    def product_covariance(self, a: np.ndarray, b: np.ndarray, rest: np.ndarray) -> np.ndarray:
        """See :meth:`Influence.product_covariance`."""
        y = self.inside
        influences = self.weights[:, None] * ((y * ((y * b) @ rest)) @ a.T)
        return self.mean_square(influences - np.mean(influences, axis=0))

    def residual_moments(self, matrices: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """See :meth:`Influence.residual_moments`."""
        influences = self.clipped_fractions[:, None] * _forms(self.left_out, matrices)
        return np.mean(influences, axis=0), np.var(influences, axis=0)

    @cached_property
    def residual_moment(self) -> np.ndarray:  # type: ignore[override]
        """See :class:`Influence`."""
        return np.asarray(self.left_out.T @ (self.clipped_fractions[:, None] * self.left_out) / self.m)

    @cached_property
    def removed_moment(self) -> np.ndarray:  # type: ignore[override]
        """See :class:`Influence`."""
        return np.asarray(self.inside.T @ (self.clipped_fractions[:, None] * self.inside) / self.m)


def _symmetrized(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return ``(a_q b' + b a_q')/2`` (q, D, D)."""
    product = a[:, :, None] * b
    return np.asarray((product + np.swapaxes(product, 1, 2)) / 2)


def _forms(rows: np.ndarray, matrices: np.ndarray) -> np.ndarray:
    """Return ``y'J y`` (m, q)."""
    return np.einsum("mi,qij,mj->mq", rows, matrices, rows, optimize=True)


@dataclass(frozen=True, eq=False)
class Moments(Influence):
    """Second and fourth moments of the rows: (D, D) and unique entries of (D, D, D, D)."""

    m: int
    truncated_second: np.ndarray  # mean w y y'
    truncated_fourth: np.ndarray  # unique entries of mean w^2 y y y y
    residual_moment: np.ndarray
    lost_fourth: np.ndarray
    far_fourth: np.ndarray  # of the directions furthest out
    removed_moment: np.ndarray

    @classmethod
    def of(cls, rows: RowInfluence) -> Moments:
        """Return everything that bands need, without a row."""
        y, w = rows.inside, rows.weights
        return cls(
            rows.m,
            np.asarray(y.T @ (w[:, None] * y) / rows.m),
            _fourth(y * np.sqrt(w)[:, None]),
            rows.residual_moment,
            _fourth(rows.left_out * np.sqrt(rows.clipped_fractions)[:, None]),
            _fourth(rows.far_directions),
            rows.removed_moment,
        )

    @cached_property
    def _fourth_moments(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        after, lost, far = (
            _full_tensor(x, len(self.truncated_second))
            for x in (self.truncated_fourth, self.lost_fourth, self.far_fourth)
        )
        return after, lost, far

    def tail_covariance(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """See :meth:`Influence.tail_covariance`."""
        return _products(self._fourth_moments[2], a, b)

    def tail_variances(self, matrices: np.ndarray) -> np.ndarray:
        """See :meth:`Influence.tail_variances`."""
        return _squares(self._fourth_moments[2], matrices)

    def second_moments(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """See :meth:`Influence.second_moments`."""
        return _products(self._fourth_moments[0], a, b)

    def weighted_mean_square(self, b: np.ndarray) -> float:
        """See :meth:`Influence.weighted_mean_square`."""
        return float(b @ self.truncated_second @ b)

    def residual_products(self, a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """See :meth:`Influence.residual_products`."""
        mean = a @ self.residual_moment @ b
        return mean, _products(self._fourth_moments[1], a, b) - np.outer(mean, mean)

    def product_covariance(self, a: np.ndarray, b: np.ndarray, rest: np.ndarray) -> np.ndarray:
        """See :meth:`Influence.product_covariance`."""
        forms = _symmetrized(a, b) * rest
        mean = np.einsum("qij,ij->q", forms, self.truncated_second)
        mean_square = np.einsum("qij,ijkl,rkl->qr", forms, self._fourth_moments[0], forms, optimize=True)
        return np.asarray(mean_square - np.outer(mean, mean))

    def truncated_variances(self, matrices: np.ndarray) -> np.ndarray:
        """See :meth:`Influence.truncated_variances`."""
        mean = np.einsum("qij,ij->q", matrices, self.truncated_second)
        return np.maximum(_squares(self._fourth_moments[0], matrices) - mean**2, 0.0)

    def residual_moments(self, matrices: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """See :meth:`Influence.residual_moments`."""
        mean = np.einsum("qij,ij->q", matrices, self.residual_moment)
        return mean, np.maximum(_squares(self._fourth_moments[1], matrices) - mean**2, 0.0)


def _products(four: np.ndarray, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return means of ``(a'y)(a'y)'(b'y)^2`` (q, q) by fourth moments (D, D, D, D)."""
    return np.asarray(a @ np.einsum("ijkl,k,l->ij", four, b, b, optimize=True) @ a.T)


def _squares(four: np.ndarray, matrices: np.ndarray) -> np.ndarray:
    """Return means of ``(y'J y)^2`` (q,) by fourth moments (D, D, D, D)."""
    return np.asarray(np.einsum("qij,ijkl,qkl->q", matrices, four, matrices, optimize=True))


@dataclass(frozen=True, eq=False)
class GaussianInfluence(Influence):
    """No rows: as if rows were Gaussian and none truncated; bands then lack the truncation part."""

    moment: np.ndarray  # expected moment (D, D)
    m: int = 0

    def second_moments(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """Return ``(a'Sa)(b'Sb) + 2 (a'Sb)(a'Sb)'``, by Isserlis' theorem."""
        cross = a @ self.moment @ b
        return np.asarray(a @ self.moment @ a.T * self.weighted_mean_square(b) + 2 * np.outer(cross, cross))

    def weighted_mean_square(self, b: np.ndarray) -> float:
        """See :meth:`Influence.weighted_mean_square`."""
        return float(b @ self.moment @ b)

    def product_covariance(self, a: np.ndarray, b: np.ndarray, rest: np.ndarray) -> np.ndarray:
        """Return ``2 tr(J S J' S)``."""
        half = (_symmetrized(a, b) * rest) @ self.moment
        return np.asarray(2 * np.einsum("qij,rji->qr", half, half))

    def truncated_variances(self, matrices: np.ndarray) -> np.ndarray:
        """Return ``2 tr(J S J S)``."""
        half = matrices @ self.moment
        return np.asarray(2 * np.einsum("qij,qji->q", half, half))

    @property
    def residual_moment(self) -> np.ndarray:  # type: ignore[override]
        """Return zero: nothing is known of it."""
        return np.zeros_like(self.moment)

    removed_moment = residual_moment

    def freedom(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """Return infinity (q,): the moment is taken as known."""
        return np.full(len(a), np.inf)


def _places(d: int) -> np.ndarray:
    """Return places (4, U) of the unique entries of a symmetric tensor."""
    return np.array(list(combinations_with_replacement(range(d), 4))).T


def unique_count(d: int) -> int:
    """Return the number of unique entries of a symmetric (d, d, d, d) tensor."""
    return factorial(d + 3) // (factorial(4) * factorial(d - 1))


def _fourth(rows: np.ndarray) -> np.ndarray:
    """Return unique entries of ``mean y y y y`` (U,)."""
    i, j, k, l = _places(rows.shape[1])  # noqa: E741  # indices of a tensor
    pairs = np.einsum("mi,mj->ijm", rows, rows)
    return np.asarray(np.einsum("um,um->u", pairs[i, j], pairs[k, l], optimize=True) / len(rows))


def _full_tensor(unique: np.ndarray, d: int) -> np.ndarray:
    """Return the tensor (D, D, D, D) with these unique entries."""
    full = np.empty((d, d, d, d))
    places = _places(d)
    for order in permutations(range(4)):
        full[tuple(places[list(order)])] = unique
    return full
