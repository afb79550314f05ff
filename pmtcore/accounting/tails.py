"""Bound on delta of removing a row where no label fixes the sign of its score (maths.md, 15.5).

When a row is removed, the privacy loss is two-sided only where the score changes sign. The score changes slowly: with
q = zeta3/w it is q-Lipschitz in the noise along the row. A large modulus therefore leaves one tail.
"""

from __future__ import annotations

import numpy as np
from scipy.special import ndtr

# Cells up to three standard deviations, and beyond.
_NEAR_CELLS, _FAR_CELLS = 200, 40
# End of the grid in standard deviations; all mass beyond it counts in full.
_GRID_END_SDS = 8.0
# Zeros of the score, in standard deviations; a zero between two is bounded by both.
_CROSSINGS = np.linspace(0.0, 6.0, 16)
# Points of epsilon; chords between them bound delta, which is convex in e^epsilon.
_EPSILON_POINTS = 40
# Nobody states a larger epsilon.
_LARGEST_EPSILON = 300.0


def removed_delta(size: float, slope: float, epsilon: np.ndarray) -> np.ndarray:
    """Return an upper bound on delta (k,) of removing a row, at epsilons (k,) of at least 0.

    The score is 0 at ``Z = -t``; the worst t is sought between neighbours of a grid, at which one tail grows with t and
    the other falls. Integrals are upper sums. Between its own points delta is bounded by chords, since it is convex in
    ``e^epsilon``; beyond them the bound is infinite.

    Args:
        size: ``zeta1 zeta2/s``.
        slope: ``q = zeta3/w``.
        epsilon: epsilons (k,).
    """
    grid = np.concatenate(
        [[0.0], np.geomspace(1e-3 * size, min(6 * size + size**2 / 2, _LARGEST_EPSILON), _EPSILON_POINTS)]
    )
    weight = np.exp(grid)  # (e,)
    near, far = _tails(size, slope)
    right = _sums(near, weight)  # (t + 1, e), grows with t
    left = _sums(far, weight)  # (t, e), falls with t
    worst = np.max(right[1:] + left, axis=0)
    inside = epsilon <= grid[-1]
    bound = np.interp(np.exp(np.where(inside, epsilon, 0.0)), weight, worst)
    return np.where(inside, bound, np.inf)


Cells = tuple[np.ndarray, np.ndarray]  # e^(-loss) at the worse end of each cell (t, c), mass of each cell (c,)


def _tails(size: float, slope: float) -> tuple[Cells, Cells]:
    """Return the losses beyond the crossing on its long side, for each t and for no crossing, and on its short side."""
    edges = _edges(-size / 2)
    z = edges[1:]
    score = np.minimum(size, slope * np.maximum(z + _CROSSINGS[:, None], 0.0))
    score = np.vstack([score, np.full(len(z), size)])  # no crossing at all
    near = np.exp(-np.maximum(score * (z + score / 2), 0.0))
    sides = _edges(0.0)
    y = sides[1:]
    score = np.minimum(size, slope * np.maximum(y - _CROSSINGS[:, None], 0.0))
    far = np.exp(-score * (y + score / 2))
    return (near, np.diff(ndtr(edges))), (far, np.diff(ndtr(sides)))


def _edges(start: float) -> np.ndarray:
    return np.concatenate([np.linspace(start, 3.0, _NEAR_CELLS), np.linspace(3.0, _GRID_END_SDS, _FAR_CELLS + 1)[1:]])


def _sums(cells: Cells, weight: np.ndarray) -> np.ndarray:
    """Return ``E[(1 - e^(eps - L))_+]`` (t, e) as upper sums; all mass beyond the range of the grid counts in full."""
    shrunk, mass = cells
    inside = np.maximum(1 - shrunk[:, None, :] * weight[:, None], 0.0) @ mass
    return np.asarray(inside + ndtr(-_GRID_END_SDS))
