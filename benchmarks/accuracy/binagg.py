"""BinAgg (Lin, Slavkovic, Bhoomireddy 2026, arXiv 2510.16974), as a peer; written from the paper.

PrivTree splits the box of the features into bins, at the pure epsilon of one part of mu; three parts each go to the
bins' counts, sums of features and sums of responses. Coefficients are weighted least squares on these sums, less the
expected effect of the noise on the moment of the features. Bounds are the true ones of the private rows, which is an
advantage. Its relation is add-remove-one, half as strict as replace-one at the same mu, another advantage. The tree
has at most as many leaves as rows.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.stats import norm

# Parts of mu for the bins, their counts, sums of features and of responses.
_PARTS = (1.0, 3.0, 3.0, 3.0)
# Fewer rows than that in a bin, with noise: left out.
_FEWEST = 2


@dataclass(frozen=True)
class Bin:
    """A box of features, low and high (d,), the places of its rows, and its depth in the tree."""

    low: np.ndarray
    high: np.ndarray
    rows: np.ndarray
    depth: int

    def halves(self, x: np.ndarray) -> tuple[Bin, Bin]:
        """Return both halves along the widest side."""
        j = int(np.argmax(self.high - self.low))
        middle = (self.low[j] + self.high[j]) / 2
        left = x[self.rows, j] < middle
        high, low = self.high.copy(), self.low.copy()
        high[j] = low[j] = middle
        return (
            Bin(self.low, high, self.rows[left], self.depth + 1),
            Bin(low, self.high, self.rows[~left], self.depth + 1),
        )


def fit(x: np.ndarray, y: np.ndarray, mu: float, trials: int, seed: int) -> np.ndarray:
    """Return coefficients (trials, d)."""
    rng = np.random.default_rng(seed)
    return np.array([_fitted(x, y, mu * np.array(_PARTS) / np.linalg.norm(_PARTS), rng) for _ in range(trials)])


def _fitted(x: np.ndarray, y: np.ndarray, parts: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    bins = _tree(x, float(parts[0]), rng)
    reach = np.array([np.maximum(np.abs(each.low), np.abs(each.high)) for each in bins])
    counts = np.array([len(each.rows) for each in bins]) + rng.standard_normal(len(bins)) / parts[1]
    sums = np.array([np.sum(x[each.rows], axis=0) for each in bins])
    sums = sums + rng.standard_normal(sums.shape) * reach / parts[2]
    totals = np.array([np.sum(y[each.rows]) for each in bins])
    totals = totals + rng.standard_normal(len(bins)) * np.max(np.abs(y)) / parts[3]
    enough = np.rint(counts) >= _FEWEST
    weights = 1 / np.rint(counts[enough])
    sums, reach, totals = sums[enough], reach[enough], totals[enough]
    added = np.diag(weights @ (reach / parts[2]) ** 2)
    try:
        return np.linalg.solve(sums.T @ (weights[:, None] * sums) - added, sums.T @ (weights * totals))
    except np.linalg.LinAlgError:
        return np.zeros(x.shape[1])


def _tree(x: np.ndarray, mu: float, rng: np.random.Generator) -> list[Bin]:
    """Return the leaves: bins whose noisy count, less a penalty by depth, is not above 0; d + 1 of them at least."""
    n, d = x.shape
    # The epsilon at which a pure guarantee implies this mu.
    epsilon = float(norm.logcdf(mu / 2) - norm.logcdf(-mu / 2))
    scale = 3 / epsilon
    penalty = scale * math.log(2)
    waiting, leaves = [Bin(np.min(x, axis=0), np.max(x, axis=0), np.arange(n), 0)], []
    while waiting:
        each = waiting.pop(0)
        score = max(len(each.rows) - penalty * each.depth, -penalty) + rng.laplace(scale=scale)
        if score > 0 and len(waiting) + len(leaves) < n:
            waiting.extend(each.halves(x))
        else:
            leaves.append(each)
    while len(leaves) <= d:
        wide = [float(np.sum(np.log(np.maximum(each.high - each.low, 1e-12)))) for each in leaves]
        leaves.extend(leaves.pop(int(np.argmax(wide))).halves(x))
    return leaves
