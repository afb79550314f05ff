"""What errors are longer by than the covariance of the passes says, at few budgets and between them.

The covariance is linear and of second order. What it misses shows where the answer is known: in the same passes over
public rows drawn with replacement. That takes a second on wide tables, and a curve of predictions asks for it at twenty
budgets. It depends on the budget through the noise, which ``n mu`` decides, and changes slowly with it: a prediction
interpolates between decades of ``n mu``, and each decade is computed once for a public table and a schedule. A release
computes it at its own budget.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable
from weakref import WeakKeyDictionary

import numpy as np

from pmtcore.public.moments import PublicData

# Tables of public rows drawn with replacement.
DRAWS = 8
# An error further beyond its covariance counts as this many times.
_MOST_RATIO = 2.0
# Numbers of private rows at which decades are computed, for each public row; the smaller one below the limit.
_FEW_ROWS_FACTOR, _MANY_ROWS_FACTOR, _FEW_ROWS_LIMIT = 1, 100, 3
# From so many private rows for each public one on, they decide less than a hundredth of what is known beforehand.
MANY_PRIVATE_ROWS = 30
# Squared ratios are compared on a logarithm.
_LEAST_SQUARED_RATIO = 1e-12
# Public figures only.
_SQUARES: WeakKeyDictionary[PublicData, dict[tuple[Hashable, int], np.ndarray]] = WeakKeyDictionary()
_TARGETS: WeakKeyDictionary[PublicData, dict[int, np.ndarray]] = WeakKeyDictionary()


def error_ratio(squares: np.ndarray) -> float:
    """Return what errors are longer by than the covariance says, between 1 and 2.

    Args:
        squares: squared errors over the trace of their covariance (k,), one for each draw.
    """
    return float(np.clip(math.sqrt(np.mean(np.minimum(squares, _MOST_RATIO**2))), 1.0, _MOST_RATIO))


def reference_rows(public: PublicData, n: int) -> int:
    """Return the number of private rows at which decades are computed for a prediction at n rows."""
    m = public.m or 1
    return m * (_FEW_ROWS_FACTOR if n < _FEW_ROWS_LIMIT * m else _MANY_ROWS_FACTOR)


def interpolated_squares(
    public: PublicData, key: Hashable, noise_scale: float, squares_at: Callable[[float], np.ndarray]
) -> np.ndarray:
    """Return squared ratios (k,) at a budget, linear in the logarithm between the decades on both sides of it.

    Args:
        public: public data, with which the figures at decades are stored.
        key: what else they depend on.
        noise_scale: ``n mu``.
        squares_at: computes them at a value of ``n mu``.
    """
    stored = _SQUARES.setdefault(public, {})
    place = math.log10(noise_scale)
    below = math.floor(place)
    logarithm = np.zeros(DRAWS)
    for decade, weight in ((below, below + 1 - place), (below + 1, place - below)):
        if weight > 0:
            if (key, decade) not in stored:
                stored[key, decade] = squares_at(10.0**decade)
            logarithm += weight * np.log(np.maximum(stored[key, decade], _LEAST_SQUARED_RATIO))
    return np.exp(logarithm)


def target_of(public: PublicData, draw: int, fit: Callable[[], np.ndarray]) -> np.ndarray:
    """Return the fit (d,) to the rows of one draw, computed once for a public table."""
    stored = _TARGETS.setdefault(public, {})
    if draw not in stored:
        stored[draw] = fit()
    return stored[draw]
