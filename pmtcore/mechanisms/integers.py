"""Integer statistics of two-part and iterative methods, and their noise (proofs/integers.md, 19; proofs/noise.md, 14).

A row becomes integers no longer than a power of two, from that row alone; a quantity that depends on released
coefficients is a bounded integer factor of the row. Sums are float matrix products of integers below 2^53: exact in any
order, for any number of trials at once. Whitening and linear predictors are products of integers too, so that results
do not depend on the order of rows. Lab and release use the same code.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from pmtcore.base.private_rows import Arena, Private, PrivateRows, RowCache
from pmtcore.base.symmetric import from_upper_triangle
from pmtcore.glm.families import Family
from pmtcore.mechanisms.grid import SCALE, grid_rows, join_words, split_into_words
from pmtcore.mechanisms.quantized_rows import bytes_kept, in_steps
from pmtcore.mechanisms.truncation import squared_norms

# Grid steps of rows and of factors in their product, so that a sum over n rows is below n 2^32.
FACTOR = 2**16
# Grid steps of rows in products of two rows and a slope.
COARSE = 2**11
# Grid steps of a slope, so that these sums are below n 2^32 too. The rounding error of a Hessian slows Newton's steps,
# but does not change their limit.
SLOPES = 2**10
# Number of rows of 2^15 grid steps over which a float matrix product is exact: its sums are below 2^42.
_ROWS_PER_EXACT_PRODUCT = 4096
# Most numbers in memory at once.
_NUMBERS_AT_ONCE = 4_000_000
# Number of fits up to which Hessians are computed one by one: all products of columns cost as much as ten Hessians.
_MOST_FITS_ONE_BY_ONE = 4


def grid_numbers(values: np.ndarray, bound: float, steps: int) -> np.ndarray:
    """Clip numbers to the bound and round them towards zero to units of ``bound/steps``; NaN becomes 0."""
    with np.errstate(all="ignore"):
        share = np.clip(values / bound, -1.0, 1.0)
    return np.trunc(np.where(np.isnan(share), 0.0, share) * (steps * (1 - 2.0**-40)))


def gram_and_cross(features: np.ndarray, response: np.ndarray, radius: float, bound: float) -> np.ndarray:
    """Return the exact sums of ``k k'`` and ``k l``, shape (d, d + 1).

    Args:
        features: rows (n, d), truncated here to the radius and rounded to units of ``radius/2^15``.
        response: responses (n,), clipped here to the bound and rounded to units of ``bound/2^15``.
        radius: bound on the length of a row.
        bound: bound on the size of a response.
    """
    z = np.column_stack([grid_rows(features, radius), grid_numbers(response, bound, SCALE)])
    total = np.zeros((z.shape[1] - 1, z.shape[1]), dtype=np.int64)
    for start in range(0, len(z), _ROWS_PER_EXACT_PRODUCT):
        part = z[start : start + _ROWS_PER_EXACT_PRODUCT]
        total += (part[:, :-1].T @ part).astype(np.int64)
    return total


@dataclass(frozen=True, eq=False)
class IntegerRows:
    """Rows for the passes of an iteration: integer directions, lengths, responses.

    Attributes:
        directions: integers (n, d) of 32 bits, no longer than ``FACTOR``.
        length: length that one ``FACTOR`` stands for (n,); the same for all rows that were truncated to a radius.
        response: responses (n,).
    """

    directions: np.ndarray
    length: np.ndarray
    response: np.ndarray

    @classmethod
    def within(cls, features: np.ndarray, response: np.ndarray, radius: float) -> IntegerRows:
        """Truncate rows (n, d) to a radius."""
        directions = grid_rows(features, radius, FACTOR).astype(np.int32)
        return cls(directions, np.full(len(features), radius), response)

    @classmethod
    def of_any_length(cls, features: np.ndarray, response: np.ndarray) -> IntegerRows:
        """Split rows (n, d) into direction and length, untruncated; a row that is not finite becomes zeros."""
        with np.errstate(all="ignore"):
            largest = np.max(np.abs(features), axis=1)
            unit = features / np.maximum(largest, 1e-300)[:, None]
            length = largest * np.sqrt(squared_norms(unit))
            usable = np.isfinite(length) & (length > 0)
            unit = (
                np.where(usable[:, None], unit, 0.0)
                * (np.where(usable, largest, 0.0) / np.where(usable, length, 1.0))[:, None]
            )
        return cls(grid_rows(unit, 1.0, FACTOR).astype(np.int32), np.where(usable, length, 0.0), response)

    def copied_to(self, store: Arena) -> IntegerRows:
        """Return the same rows in memory of the store."""
        directions = store.copy(self.directions, np.int32)
        length, response = (store.copy(values, np.float64) for values in (self.length, self.response))
        return IntegerRows(directions, length, response)

    def scores(self, family: Family, theta: np.ndarray, bound: float, *, clipped: bool) -> np.ndarray:
        """Return ``sum a k`` (t, d): a is the residual clipped to the bound, in units of ``bound/FACTOR``.

        Args:
            family: family of the response.
            theta: coefficients (t, d).
            bound: bound on a.
            clipped: the bound applies to the residual times the row's length, so that the gradient is clipped.
        """

        def factor(z: np.ndarray, part: slice) -> np.ndarray:
            residual = family.mean(z) - self.response[part, None]
            return residual * self.length[part, None] if clipped else residual

        total = np.zeros(theta.shape, dtype=np.int64)
        for part, directions, z in self._linear_predictors(theta):
            with np.errstate(all="ignore"):
                a = grid_numbers(factor(z, part), bound, FACTOR)
            total += (a.T @ directions).astype(np.int64)
        return total

    def hessians(self, family: Family, theta: np.ndarray, bound: float) -> np.ndarray:
        """Return ``sum w k k'`` (t, d, d): slopes w in units of ``bound/2^10``, rows k of 2^11 steps.

        Args:
            family: family of the response.
            theta: coefficients (t, d).
            bound: bound on the slope.
        """
        t, d = theta.shape
        upper = np.triu_indices(d)
        one_by_one = t <= _MOST_FITS_ONE_BY_ONE
        packed, total = np.zeros((t, len(upper[0])), dtype=np.int64), np.zeros((t, d, d), dtype=np.int64)
        for _, directions, z in self._linear_predictors(theta, d if one_by_one else len(upper[0])):
            k = np.trunc(directions * (COARSE / FACTOR))
            w = grid_numbers(family.slope(z), bound, SLOPES)
            if one_by_one:  # integers below 2^53 either way, so both sums are exact and the same
                for fit, slopes in zip(total, w.T, strict=True):
                    fit += ((k * slopes[:, None]).T @ k).astype(np.int64)
            else:
                packed += (w.T @ (k[:, upper[0]] * k[:, upper[1]])).astype(np.int64)
        return total if one_by_one else from_upper_triangle(packed, d)

    def _linear_predictors(self, theta: np.ndarray, width: int = 1) -> Iterator[tuple[slice, np.ndarray, np.ndarray]]:
        """Yield blocks of rows, their integers as floats (k, d) and linear predictors ``x'theta`` (k, t)."""
        step = max(256, _NUMBERS_AT_ONCE // max(3 * len(theta), width))
        points = in_steps(theta, FACTOR).T
        for start in range(0, len(self.response), step):
            part = slice(start, start + step)
            directions = self.directions[part].astype(float)
            yield part, directions, (directions @ points) * self.length[part, None]


def integer_pieces(
    rows: PrivateRows, prepare: Callable[[np.ndarray, np.ndarray], IntegerRows]
) -> RowCache[IntegerRows]:
    """Return private rows as integers in blocks of a public size, for the passes of an iteration.

    Args:
        rows: the private rows.
        prepare: from a block (features, response) to its rows, each by itself.
    """
    return rows.equal_pieces(prepare, bytes_kept(len(rows.names)))


def at(rows: RowCache[IntegerRows], sums: Callable[[IntegerRows], np.ndarray]) -> Private[np.ndarray]:
    """Return a private sum of integers over the rows of an iteration: one pass."""
    return rows.sum_pieces(lambda block: split_into_words(sums(block))).map(join_words)
