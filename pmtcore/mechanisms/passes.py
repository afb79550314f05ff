"""Sums that a method in several passes releases: clipped gradients and curvatures at released points, exactly.

Each of ``t`` points was released before; at it a row gives the gradient ``x (y - b'(x'theta))``, clipped in length, or
the curvature ``b'' x x'``, truncated in ``sqrt(b'') |x|``. Both go through the integer grid (maths.md, 14), so what is
added up is exact and what leaves has discrete Gaussian noise, in the lab as in a release.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from pmtcore.base.records import Curator, Private
from pmtcore.mechanisms.grid import FINE, SCALE, SLACK, grid_rows
from pmtcore.mechanisms.noise import NoiseSource
from pmtcore.models.families import Family

_MECHANISM = Curator("integer noise is added to it")
_NUMBERS = 1_000_000  # held at once
_EXACT = 4096  # rows whose products of 16-bit integers a float matrix product adds up exactly
GRADIENT_SENSITIVITY = 2.0  # replace-one, of a sum of vectors no longer than 1
CURVATURE_SENSITIVITY = math.sqrt(2)  # of a sum of uu', |u| <= 1


def release_gradients(
    rows: Private[np.ndarray],
    family: Family,
    points: np.ndarray,
    bounds: np.ndarray,
    mu: float,
    source: NoiseSource,
) -> np.ndarray:
    """Mean clipped gradients (t, d) of rows (n, d + 1) at points (t, d), clipped at bounds (t,).

    Guarantee: mu-GDP under replace-one for each point: a sum of vectors no longer than the bound (maths.md, 3.4, 14).
    """

    def total(z: np.ndarray) -> np.ndarray:
        found = np.zeros(points.shape, dtype=np.int64)
        for x, y, part in _blocks(z, points):
            with np.errstate(all="ignore"):  # what overflows is for the grid to settle, not for a warning to tell
                factor = (y - family.mean(_along(x, points[part]))) / bounds[part, None]
                vectors = x * factor[:, :, None]
            found[part] += _gridded(vectors, FINE).sum(axis=1)
        return found

    exact = rows.map(lambda z: (total(z), len(z))).reveal(_MECHANISM)
    noise = source.integers((1 + SLACK) * GRADIENT_SENSITIVITY * FINE / mu, *points.shape)
    return np.asarray((exact[0] + noise).astype(float) * (bounds / FINE)[:, None] / exact[1])


def release_curvatures(
    rows: Private[np.ndarray],
    family: Family,
    points: np.ndarray,
    bounds: np.ndarray,
    mu: float,
    source: NoiseSource,
) -> np.ndarray:
    """Mean truncated curvatures (t, d, d) of rows (n, d + 1) at points (t, d), with isometric noise.

    Guarantee: mu-GDP under replace-one for each point: a joint moment of vectors no longer than the bound, of Frobenius
    sensitivity ``sqrt(2) bound^2/n`` (maths.md, 3.1 and 14).
    """
    d = points.shape[1]

    def total(z: np.ndarray) -> np.ndarray:
        found = np.zeros((len(points), d, d), dtype=np.int64)
        for x, _, part in _blocks(z, points):
            with np.errstate(all="ignore"):
                factor = np.sqrt(family.slope(_along(x, points[part]))) / bounds[part, None]
                vectors = x * factor[:, :, None]
            found[part] += _products(_gridded(vectors, SCALE))
        return found

    exact, n = rows.map(lambda z: (total(z), len(z))).reveal(_MECHANISM)
    sigma = (1 + SLACK) * CURVATURE_SENSITIVITY * SCALE**2 / mu
    above, beside = np.triu_indices(d, 1)
    noisy = exact.copy()
    noisy[:, np.arange(d), np.arange(d)] += source.integers(sigma, len(points), d)
    noisy[:, above, beside] += source.integers(sigma / math.sqrt(2), len(points), len(above))
    noisy[:, beside, above] = noisy[:, above, beside]
    return np.asarray(noisy.astype(float) * ((bounds / SCALE) ** 2)[:, None, None] / n)


def _gridded(vectors: np.ndarray, scale: int) -> np.ndarray:
    """Vectors (t, k, d) in units of their bounds, as integers no longer than ``scale``."""
    return grid_rows(vectors.reshape(-1, vectors.shape[-1]), 1.0, scale).reshape(vectors.shape)


def _products(z: np.ndarray) -> np.ndarray:
    """``sum zz'`` (t, d, d) of integer rows (t, k, d), exact."""
    total = np.zeros((len(z), z.shape[2], z.shape[2]), dtype=np.int64)
    for start in range(0, z.shape[1], _EXACT):
        part = z[:, start : start + _EXACT].astype(float)
        total += np.rint(np.swapaxes(part, 1, 2) @ part).astype(np.int64)
    return total


def _along(x: np.ndarray, points: np.ndarray) -> np.ndarray:
    """``x'theta`` (t, k), summed column by column: no row's value depends on its neighbours in memory."""
    found = np.zeros((len(points), len(x)))
    for j in range(x.shape[1]):
        found += points[:, j, None] * x[:, j]
    return found


def _blocks(z: np.ndarray, points: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray, slice]]:
    """Blocks of features (k, d) and responses (k,), each with as many of the points as fit in memory beside them."""
    rows = min(len(z), max(_NUMBERS // z.shape[1], 1))
    many = max(_NUMBERS // (rows * z.shape[1]), 1)
    for start in range(0, len(z), rows):
        block = z[start : start + rows]
        for first in range(0, len(points), many):
            yield block[:, :-1], block[:, -1], slice(first, first + many)
