"""Epsilon of mixed releases: Gaussian ones and purely epsilon-private ones together (proofs/ledger.md, 13.1).

Gaussian mechanisms compose to one mu. A purely epsilon-private mechanism is dominated by randomized response, whose
privacy loss is ``+eps`` with probability ``e^eps/(1 + e^eps)`` and ``-eps`` otherwise. Losses add up, so

    delta(epsilon) = sum_s P(S = s) delta_mu(epsilon - s),   S the sum of the two-point losses:

exact where the losses lie on the grid, and rounded up to it (to the private side) where not.
"""

import math
from collections.abc import Sequence

import numpy as np
from scipy.special import expit

from pmtcore.accounting.budgets import checked_delta, log_delta
from pmtcore.base.messages import number_between
from pmtcore.base.roots import root

# Points of the grid of losses, which are rounded up to it: a coarser grid gives a larger epsilon, never a smaller one.
_LOSS_POINTS = 2**15
# Factor on delta for the rounding errors of floating point.
_DELTA_MARGIN = 1 + 1e-9


def mixed_epsilon(mu: float, pure: Sequence[float], delta: float) -> float:
    """Return the epsilon at ``delta`` of a mu-GDP release and purely private ones on the same rows.

    It is never more than the sum of ``pure`` where ``mu`` is 0.

    Args:
        mu: of all Gaussian releases together; 0 where there are none.
        pure: the pure epsilons, under the same neighbouring relation as mu.
        delta: at which epsilon is stated.

    >>> round(mixed_epsilon(0.0, [1.0], 1e-6), 4)
    1.0
    >>> round(mixed_epsilon(1.0, [], 1e-6), 4)
    4.8866
    """
    mu, goal = number_between("mu", mu, 0.0, 1e3), checked_delta(delta)
    epsilons = [number_between("epsilon", value, 0.0, 500.0) for value in pure]
    losses, weights = _two_point_losses([value for value in epsilons if value > 0])

    def gap(epsilon: float) -> float:
        return float(weights @ _gaussian_delta(mu, epsilon - losses)) * _DELTA_MARGIN - goal

    if gap(0.0) <= 0:
        return 0.0
    high = math.fsum(epsilons) + mu * (mu + 1) + 1e-9
    while gap(high) > 0:
        high *= 2
    # Rounded up, to the private side.
    solution = root(gap, 0.0, high, xtol=1e-10, rtol=1e-12) + 1e-9
    return min(solution, math.fsum(epsilons)) if mu == 0 else solution


def _two_point_losses(epsilons: Sequence[float]) -> tuple[np.ndarray, np.ndarray]:
    """Return the values of the sum of two-point losses, rounded up to a grid, and their probabilities."""
    total = math.fsum(epsilons)
    if not total > 0:
        return np.zeros(1), np.ones(1)
    step = min(epsilons) / math.ceil(_LOSS_POINTS * min(epsilons) / total)  # the smallest loss lies on the grid
    ups = [math.ceil(value / step - 1e-9) for value in epsilons]
    downs = [math.floor(value / step + 1e-9) for value in epsilons]
    weights, low = np.ones(1), 0
    for value, up, down in zip(epsilons, ups, downs, strict=True):
        longer = np.zeros(len(weights) + up + down)
        longer[up + down :] += weights * expit(value)
        longer[: len(weights)] += weights * expit(-value)
        weights, low = longer, low - down
    positive = weights > 0
    values = (low + np.arange(len(weights)))[positive] * step
    return values + 1e-9 * step * len(epsilons), weights[positive]


def _gaussian_delta(mu: float, epsilon: np.ndarray) -> np.ndarray:
    """Return ``delta_mu`` at any real epsilon, negative ones included: ``E[(1 - e^(epsilon - L))_+]``."""
    if mu == 0:
        return np.asarray(np.maximum(-np.expm1(np.minimum(epsilon, 0.0)), 0.0))
    return np.exp(log_delta(mu, epsilon))
