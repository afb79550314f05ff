"""Sums over rows of the derivatives of a loss, for a stack of coefficients at once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np

from pmtcore.base.private_rows import Arena
from pmtcore.base.symmetric import from_upper_triangle, upper_indices

Curve = Callable[[np.ndarray, np.ndarray], np.ndarray]
# Numbers in memory at once: 32 MB.
_NUMBERS_AT_ONCE = 4_000_000
# Number of fits up to which Hessians are computed one by one: all products of columns cost as much as ten Hessians.
_MOST_FITS_ONE_BY_ONE = 4
# Number of columns from which Hessians are computed one by one too, because the products of columns do not fit into a
# block's memory: at 97 columns it takes a quarter of the time for 14 fits, and the same time for 60.
_WIDE_ROWS = 64
# Largest number of rows of a block of a sum: the rounding error grows with the block, not the table.
ROWS_AT_ONCE = 4096


class RowLoss(Protocol):
    """Loss of one row, a family's or one with bounds: ``l``, ``l'`` and ``l''`` as functions of (z, y)."""

    @property
    def value(self) -> Curve:
        """Return ``l``, broadcast over z and y."""

    @property
    def first(self) -> Curve:
        """Return ``l'``, broadcast over z and y."""

    @property
    def second(self) -> Curve:
        """Return ``l''``, broadcast over z and y."""

    @property
    def curvature(self) -> float:
        """Return an upper bound of ``l''``."""


@dataclass(frozen=True)
class Rows:
    """Rows of one fit in memory.

    Attributes:
        features: (k, d).
        response: (k,).
        weights: weights of the loss (k,).
    """

    features: np.ndarray
    response: np.ndarray
    weights: np.ndarray

    def copied_to(self, store: Arena) -> Rows:
        """Return the same rows in memory of the store."""
        copies = (store.copy(values, np.float64) for values in (self.features, self.response, self.weights))
        return Rows(*copies)

    def sums(self, loss: RowLoss, theta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return ``sum w l' x`` (t, d) and ``sum w l'' x x'`` (t, d, d) at coefficients (t, d)."""
        t, d = theta.shape
        one_by_one = t <= _MOST_FITS_ONE_BY_ONE or d > _WIDE_ROWS
        products = d * (d + 1) // 2
        gradient, packed, hessian = np.zeros((t, d)), np.zeros((t, products)), np.zeros((t, d, d))
        for part in self.parts(max(t, d) if one_by_one else max(t, products)):
            x, y, w = self.features[part], self.response[part, None], self.weights[part, None]
            z = x @ theta.T  # (k, t)
            gradient += (w * loss.first(z, y)).T @ x
            curvature = w * loss.second(z, y)
            if one_by_one:
                # Products of columns pay only for many fits.
                for total, weight in zip(hessian, curvature.T, strict=True):
                    total += (x * weight[:, None]).T @ x
            else:
                packed += curvature.T @ self._products_of(part)
        return gradient, hessian if one_by_one else from_upper_triangle(packed, d)

    def gradients(self, loss: RowLoss, theta: np.ndarray) -> np.ndarray:
        """Return ``sum w l' x`` (t, d) at coefficients (t, d), without the Hessians."""
        gradient = np.zeros(theta.shape)
        for part in self.parts(max(theta.shape)):
            x, y, w = self.features[part], self.response[part, None], self.weights[part, None]
            gradient += (w * loss.first(x @ theta.T, y)).T @ x
        return gradient

    def hessian(self, loss: RowLoss, theta: np.ndarray) -> np.ndarray:
        """Return ``sum w l'' x x'`` (d, d) at coefficients (d,) as ``A'A``, at half the cost of a general product."""
        total = np.zeros((len(theta), len(theta)))
        for part in self.parts(len(theta)):
            x = self.features[part]
            half = x * np.sqrt(self.weights[part] * loss.second(x @ theta, self.response[part]))[:, None]
            total += half.T @ half
        return total

    def parts(self, width: int) -> list[slice]:
        """Return slices of the rows such that this many numbers for each row fit in memory at once."""
        step = min(max(256, _NUMBERS_AT_ONCE // max(width, 1)), ROWS_AT_ONCE)
        return [slice(start, start + step) for start in range(0, len(self.response), step)]

    def _products_of(self, part: slice) -> np.ndarray:
        """Return the products of columns (k, d (d + 1) / 2) of a block; of few rows all are kept."""
        n, d = self.features.shape
        if n * d * (d + 1) // 2 <= _NUMBERS_AT_ONCE:
            return np.asarray(self._products[part])
        rows, columns = upper_indices(d)
        return np.asarray(self.features[part][:, rows] * self.features[part][:, columns])

    @cached_property
    def _products(self) -> np.ndarray:
        rows, columns = upper_indices(self.features.shape[1])
        return np.asarray(self.features[:, rows] * self.features[:, columns])
