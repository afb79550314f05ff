"""TukeyEM (Amin, Joseph, Ribero, Vassilvitskii 2022, arXiv 2208.07353), as a peer; written from the paper.

Least squares on disjoint parts of the rows; the coordinatewise approximation of the Tukey depth of all these fits; a
propose-test-release check that the region a quarter of the fits deep is wide enough; then a depth by the exponential
mechanism, and a uniform point of the box of that depth outside the next. It needs no bounds. Its relation is
add-remove-one, half as strict as replace-one at the same (epsilon, delta), which is an advantage. Where the check fails
the estimate is zero.
"""

from __future__ import annotations

import math

import numpy as np

_FITS = 1000  # as in the paper, as long as each has twice as many rows as columns
_ROUNDS = 1000  # of rejection; never met


def fit(x: np.ndarray, y: np.ndarray, epsilon: float, delta: float, trials: int, seed: int) -> np.ndarray:
    """Return coefficients (trials, d)."""
    rng, (n, d) = np.random.default_rng(seed), x.shape
    many = min(_FITS, n // (2 * d))
    estimates = np.zeros((trials, d))
    if many < 8:
        return estimates
    for trial in range(trials):
        parts = np.array_split(rng.permutation(n), many)
        fits = np.array([np.linalg.lstsq(x[part], y[part], rcond=None)[0] for part in parts])
        ordered = np.sort(fits + 1e-10 * rng.random(fits.shape), axis=0)
        half = many // 2
        volumes = np.sum(np.log(np.maximum(ordered[::-1][:half] - ordered[:half], 1e-300)), axis=1)  # of depth >= i + 1
        if _safe(volumes, many // 4, epsilon / 2, delta, rng):
            estimates[trial] = _drawn(ordered, volumes, many // 4, epsilon / 2, rng)
    return estimates


def _safe(volumes: np.ndarray, start: int, epsilon: float, delta: float, rng: np.random.Generator) -> bool:
    """Check, epsilon and delta in all, how many rows may change before a box next to the quarter's is too thin."""
    distance = -1
    for k in range(start - 1):
        inner = volumes[start + k + 1 :]
        ratio = volumes[start - k - 2] - inner - epsilon / 2 * np.arange(1, len(inner) + 1)
        if len(inner) == 0 or np.min(ratio) > math.log(delta / 4) - epsilon:
            break
        distance = k
    return distance + rng.laplace(scale=1 / epsilon) > math.log(1 / (2 * delta)) / epsilon


def _drawn(
    ordered: np.ndarray, volumes: np.ndarray, start: int, epsilon: float, rng: np.random.Generator
) -> np.ndarray:
    """Return a point of depth at least ``start``, by the exponential mechanism."""
    shell = volumes.copy()
    shell[:-1] += np.log1p(-np.exp(np.minimum(volumes[1:] - volumes[:-1], -1e-12)))
    score = shell + epsilon / 2 * np.arange(1, len(volumes) + 1)
    at = start + int(np.argmax(score[start:] + rng.gumbel(size=len(score) - start)))
    low, high = ordered[at], ordered[-at - 1]
    for _ in range(_ROUNDS):
        point = rng.uniform(low, high)
        inner = at + 1 < len(volumes) and np.all((point > ordered[at + 1]) & (point < ordered[-at - 2]))
        if not inner:
            return point
    return point
