"""How much of both tails a row's score can use where no label fixes its sign (maths.md, 15.5).

In the order in which a row is removed, the privacy loss is two-sided only where the score changes sign, and it changes
slowly: with q = zeta3/w it is q-Lipschitz in the noise along the row. A large modulus therefore leaves one tail.
"""

from __future__ import annotations

import numpy as np
from scipy.special import ndtr

_CELLS, _COARSE = 200, 40  # up to three sds, and beyond
_REACH = 8.0  # in sds; beyond, everything is counted
_CROSSINGS = np.linspace(0.0, 6.0, 16)  # of the score, in sds; what lies between two is bounded by both
_POINTS = 40  # of epsilon; chords between them bound delta, which is convex in e^epsilon
_MOST = 300.0  # epsilon; nobody states more


def removed_delta(size: float, slope: float, epsilon: np.ndarray) -> np.ndarray:
    """An upper bound on delta (k,) at epsilons (k,) at least 0, of the order in which a row is removed.

    The score is 0 at ``Z = -t``; the worst t is sought between neighbours of a grid, at which one tail grows with t and
    the other falls. Integrals are upper sums. Between its own points delta is bounded by chords, since it is convex in
    ``e^epsilon``; beyond them nothing is said (infinity).

    Args:
        size: ``zeta1 zeta2/s``.
        slope: ``q = zeta3/w``.
    """
    own = np.concatenate([[0.0], np.geomspace(1e-3 * size, min(6 * size + size**2 / 2, _MOST), _POINTS)])
    weight = np.exp(own)  # (e,)
    near, far = _tails(size, slope)
    right = _sums(near, weight)  # (t + 1, e), grows with t
    left = _sums(far, weight)  # (t, e), falls with t
    worst = np.max(right[1:] + left, axis=0)
    inside = epsilon <= own[-1]
    found = np.interp(np.exp(np.where(inside, epsilon, 0.0)), weight, worst)
    return np.where(inside, found, np.inf)


Cells = tuple[np.ndarray, np.ndarray]  # e^(-loss) at the worse end of each cell (t, c), mass of each cell (c,)


def _tails(size: float, slope: float) -> tuple[Cells, Cells]:
    """Losses beyond the crossing on its long side, for each t and for none, and on its short side."""
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
    return np.concatenate([np.linspace(start, 3.0, _CELLS), np.linspace(3.0, _REACH, _COARSE + 1)[1:]])


def _sums(cells: Cells, weight: np.ndarray) -> np.ndarray:
    """``E[(1 - e^(eps - L))_+]`` (t, e) as upper sums, all of what lies beyond the reach counted."""
    shrunk, mass = cells
    inside = np.maximum(1 - shrunk[:, None, :] * weight[:, None], 0.0) @ mass
    return np.asarray(inside + ndtr(-_REACH))
