"""Integer statistics of two parts and of iterations, and their noise (maths.md, 14 and 19).

A row enters as integers no longer than a power of two, decided by itself; what depends on released coefficients is an
integer factor of it, no larger than another. Sums are float matrix products of integers below 2^53: exact, whatever the
order, for any number of trials at once. One path for lab and release.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import final

import numpy as np

from pmtcore.base.records import Curator, Private
from pmtcore.glm.families import Family
from pmtcore.mechanisms.grid import SCALE, grid_rows
from pmtcore.mechanisms.noise import Form, NoiseSource

FACTOR = 2**16  # steps of rows and of factors where they are multiplied once: n 2^32 has room for 2^30 rows
COARSE = 2**11  # steps of rows where they are multiplied twice, and by a slope of
SLOPES = 2**10  # steps: n 2^32 as well; it is for a Hessian, whose error only slows Newton's steps
_EXACT = 4096  # rows of 2^15 steps whose squares a float matrix product adds up exactly: 2^42 of 2^53
_NUMBERS = 4_000_000  # in memory at once
_MECHANISM = Curator("integer noise is added to it")


def grid_numbers(values: np.ndarray, bound: float, steps: int) -> np.ndarray:
    """Numbers clipped to the bound, as integers in units of ``bound/steps``, towards zero; what is no number is 0."""
    with np.errstate(all="ignore"):
        share = np.clip(values / bound, -1.0, 1.0)
    return np.trunc(np.where(np.isnan(share), 0.0, share) * (steps * (1 - 2.0**-40)))


def gram_and_cross(features: np.ndarray, response: np.ndarray, radius: float, bound: float) -> np.ndarray:
    """Exact sums of ``k k'`` and ``k l`` (d, d + 1): rows in units of ``radius/2^15``, responses of ``bound/2^15``."""
    z = np.column_stack([grid_rows(features, radius), grid_numbers(response, bound, SCALE)])
    total = np.zeros((z.shape[1] - 1, z.shape[1]), dtype=np.int64)
    for start in range(0, len(z), _EXACT):
        part = z[start : start + _EXACT]
        total += (part[:, :-1].T @ part).astype(np.int64)
    return total


def noisy_symmetric(
    total: Private[np.ndarray], scale: float, source: NoiseSource, trials: int, form: Form
) -> np.ndarray:
    """Symmetric integers (d, d), or one for each trial, with discrete Gaussian noise: (trials, d, d), as floats.

    ``papers``: the same noise on the whole upper triangle (``SG_d`` of A). ``isometric``: off the diagonal
    ``scale/sqrt(2)``, which is private with the same Frobenius sensitivity.

    Guarantee: mu-GDP for ``scale = (1 + SLACK) sensitivity/mu`` (maths.md, 2 and 14).
    """
    value = total.reveal(_MECHANISM)
    d = value.shape[-1]
    rows, columns = np.triu_indices(d, 1)
    corner = np.arange(d)
    beside = scale if form == "papers" else scale / np.sqrt(2)
    found = np.empty((trials, d, d))
    found[:, corner, corner], found[:, rows, columns] = source.noisy(
        [(value[..., corner, corner], scale), (value[..., rows, columns], beside)], trials
    )
    found[:, columns, rows] = found[:, rows, columns]
    return found


def noisy_vector(total: Private[np.ndarray], scale: float, source: NoiseSource, trials: int) -> np.ndarray:
    """Integers (k,), or one vector for each trial, with discrete Gaussian noise: (trials, k), as floats.

    Guarantee: as :func:`noisy_symmetric`, sensitivity in Euclidean norm.
    """
    value = total.reveal(_MECHANISM)
    (noisy,) = source.noisy([(value, scale)], trials)
    return np.asarray(noisy.astype(float))


@final
@dataclass(frozen=True, eq=False)
class WholeRows:
    """Rows of an iteration: directions in integers, lengths, responses.

    Attributes:
        whole: (n, d), integers no longer than ``FACTOR``.
        length: (n,), what one ``FACTOR`` is; the same for all rows that were truncated to a radius.
        response: (n,).
    """

    whole: np.ndarray
    length: np.ndarray
    response: np.ndarray

    @classmethod
    def within(cls, features: np.ndarray, response: np.ndarray, radius: float) -> WholeRows:
        """Rows (n, d) truncated to a radius."""
        return cls(grid_rows(features, radius, FACTOR).astype(float), np.full(len(features), radius), response)

    @classmethod
    def of_any_length(cls, features: np.ndarray, response: np.ndarray) -> WholeRows:
        """Rows (n, d) as they are: a direction and a length; one that is not finite is a row of zeros."""
        with np.errstate(all="ignore"):
            top = np.max(np.abs(features), axis=1)
            unit = features / np.maximum(top, 1e-300)[:, None]
            length = top * np.linalg.norm(unit, axis=1)
            good = np.isfinite(length) & (length > 0)
            unit = (
                np.where(good[:, None], unit, 0.0) * (np.where(good, top, 0.0) / np.where(good, length, 1.0))[:, None]
            )
        return cls(grid_rows(unit, 1.0, FACTOR).astype(float), np.where(good, length, 0.0), response)

    def scores(self, family: Family, theta: np.ndarray, bound: float, *, clipped: bool) -> np.ndarray:
        """``sum a k`` (t, d) at coefficients (t, d): a the residual in units of ``bound/FACTOR``, clipped to it.

        Args:
            clipped: whether the bound is one on the residual times the row's length, so that the gradient is clipped.
        """

        def factor(z: np.ndarray, part: slice) -> np.ndarray:
            residual = family.mean(z) - self.response[part, None]
            return residual * self.length[part, None] if clipped else residual

        total = np.zeros(theta.shape, dtype=np.int64)
        for part, z in self._along(theta):
            with np.errstate(all="ignore"):
                a = grid_numbers(factor(z, part), bound, FACTOR)
            total += (a.T @ self.whole[part]).astype(np.int64)
        return total

    def hessians(self, family: Family, theta: np.ndarray, bound: float) -> np.ndarray:
        """``sum w k k'`` (t, d, d) at coefficients (t, d): slopes in units of ``bound/2^10``, rows of 2^11 steps."""
        t, d = theta.shape
        upper = np.triu_indices(d)
        packed = np.zeros((t, len(upper[0])), dtype=np.int64)
        for part, z in self._along(theta, len(upper[0])):
            k = np.trunc(self.whole[part] * (COARSE / FACTOR))
            w = grid_numbers(family.slope(z), bound, SLOPES)
            packed += (w.T @ (k[:, upper[0]] * k[:, upper[1]])).astype(np.int64)
        found = np.empty((t, d, d), dtype=np.int64)
        found[:, upper[0], upper[1]] = packed
        found[:, upper[1], upper[0]] = packed
        return found

    def _along(self, theta: np.ndarray, width: int = 1) -> Iterator[tuple[slice, np.ndarray]]:
        """Blocks of rows and their ``x'theta`` (k, t)."""
        step = max(256, _NUMBERS // max(3 * len(theta), width))
        for start in range(0, len(self.response), step):
            part = slice(start, start + step)
            yield part, (self.whole[part] @ theta.T) * (self.length[part] / FACTOR)[:, None]


def at(steps: Private[WholeRows], sums: Callable[[WholeRows], np.ndarray]) -> Private[np.ndarray]:
    """A sum over the rows of an iteration, private; whether something overflowed on the way is private too."""

    def quietly(rows: WholeRows) -> np.ndarray:
        with np.errstate(all="ignore"):
            return sums(rows)

    return steps.map(quietly)
