"""Gaussian noise in a perturbed objective as mu-GDP: one guarantee that composes (proofs/erm.md, 15.5).

For losses of labels whose Jacobian costs nothing the guarantee is exact (proofs/objective.md, 9.1). For all others the
privacy loss of adding a row is at most ``(m Z + m^2/2)_+ + c`` with ``m = zeta1 zeta2/s``, and that of removing a row
is ``m |Z| + m^2/2``. With a large modulus the latter is nearly one-sided (:func:`removed_delta`). The
guarantee is the smallest mu whose curve of delta lies above both at every epsilon. Replacing a row means removing one
and adding one, which costs 2 mu.
"""

import math
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from scipy.special import log_ndtr, ndtr

from pmtcore.accounting.budgets import Neighbours, epsilon_from_mu, log_delta, mu_from_epsilon
from pmtcore.accounting.perturbed import CHOICES, ApproxDP, BudgetSplit, Noise, ObjectiveConstants
from pmtcore.base.messages import AccountingMessage, InputError, number_between, one_of

# Points of epsilon; each bound is compared with the next point, so a coarser grid costs noise, not privacy.
_EPSILON_POINTS = 1500
# Deltas below 1e-300 are never stated.
_LOG_LEAST_DELTA = -690.0
# Halvings of a bracket: mu to eight digits.
_HALVINGS = 26
# Jacobians are rounded up to multiples of 1e-9, so that equal ones share a cache entry.
_JACOBIAN_STEPS = 1e9
# Integration cells up to three standard deviations, and beyond them.
_NEAR_CELLS, _FAR_CELLS = 200, 40
# End of the grid in standard deviations; all mass beyond it counts in full.
_GRID_END_SDS = 8.0
# Grid of t, where ``-t`` is the noise, in standard deviations, at which the score is zero; a t between two points is
# bounded by both.
_CROSSINGS = np.linspace(0.0, 6.0, 16)
# Points of epsilon; chords between them bound delta, which is convex in e^epsilon.
_CHORDS = 40
# No guarantee is stated at a larger epsilon.
_LARGEST_EPSILON = 300.0


@dataclass(frozen=True)
class Gdp:
    """Total of mu under a neighbouring relation.

    Attributes:
        mu: total budget.
        neighbours: neighbouring relation.
        delta: at which the parts are stated as epsilon; not a parameter of the guarantee.
    """

    mu: float
    neighbours: Neighbours
    delta: float

    @property
    def promise(self) -> ApproxDP:
        """Return the (epsilon, delta) guarantee at ``delta``."""
        return ApproxDP(epsilon_from_mu(self.mu, self.delta), self.delta, self.neighbours)


def cost(terms: ObjectiveConstants, size: float, neighbours: Neighbours) -> float:
    """Return the mu that noise with ``zeta1 zeta2/s = size`` costs, Jacobian included.

    Raises:
        InputError: the Jacobian alone costs more than any useful mu.
    """
    times = 2.0 if neighbours is Neighbours.REPLACE_ONE else 1.0
    if terms.loss.jacobian_is_free and terms.kappa <= size**2 / 2:
        return times * size
    return times * _least_mu(size, _rounded(terms.plain), terms.loss.signed)


def noise_size(terms: ObjectiveConstants, mu: float, neighbours: Neighbours, *, rough: bool = False) -> float:
    """Return the largest ``zeta1 zeta2/s`` whose cost is at most mu.

    Args:
        terms: constants of the objective.
        mu: total budget.
        neighbours: neighbouring relation.
        rough: count both tails in full, which is faster and gives a size no larger than the exact one.

    Raises:
        InputError: the modulus is so small that the Jacobian alone costs more.
    """
    row_mu = mu / 2 if neighbours is Neighbours.REPLACE_ONE else mu
    if terms.loss.jacobian_is_free and terms.kappa <= row_mu**2 / 2:
        return row_mu
    size = _largest(row_mu, _rounded(terms.plain), terms.loss.signed, rough)
    if size is None:
        raise InputError(AccountingMessage.MODULUS_COSTS_MU, modulus=terms.modulus, mu=mu)
    return size


def least_modulus(terms: ObjectiveConstants, size: float, mu: float, neighbours: Neighbours) -> float:
    """Return the smallest modulus at which noise of this size costs at most mu; ``terms.modulus`` is not used.

    Raises:
        InputError: the noise alone costs more.
    """
    row_mu = mu / 2 if neighbours is Neighbours.REPLACE_ONE else mu
    if terms.loss.jacobian_is_free and size >= row_mu * (1 - 1e-9):
        return 2 * terms.radius**2 / size**2
    low, high = 0.0, 50.0  # of the Jacobian's logarithm
    if not _dominated(size, low, terms.loss.signed, row_mu):
        raise InputError(AccountingMessage.NOISE_COSTS_TOO_MUCH)
    for _ in range(_HALVINGS + 6):
        middle = (low + high) / 2
        low, high = (middle, high) if _dominated(size, middle, terms.loss.signed, row_mu) else (low, middle)
    by_bound = terms.loss.curvature * terms.radius**2 / math.expm1(max(low, 1e-12))
    return min(by_bound, 2 * terms.radius**2 / size**2) if terms.loss.jacobian_is_free else by_bound


def spend_mu(terms: ObjectiveConstants, wanted: Gdp, share: float = 0.5, choice: str = "recycle") -> BudgetSplit:
    """Solve for the noise as :func:`pmtcore.accounting.perturbed.spend` does, for Gaussian noise and a total of mu."""
    mu, neighbours, delta = wanted.mu, wanted.neighbours, wanted.delta
    number_between("share", share, 0.01, 0.99)
    one_of("retrieved budget", choice, CHOICES)
    planned, size = wanted.promise.epsilon, noise_size(terms, mu, neighbours)
    total = mu
    if choice == "return":
        part = min(mu_from_epsilon(share * planned, delta), mu)
        size = min(size, noise_size(with_free_jacobian(terms), part, neighbours))
        total = min(cost(terms, size, neighbours), mu)
    split = parts_of_noise(terms, size, Gdp(total, neighbours, delta), share, choice=choice)
    retrieved = max((1 - share) * planned - split.jacobian_epsilon, 0.0)
    return replace(split, planned=wanted.promise, retrieved=retrieved)


def parts_of_noise(terms: ObjectiveConstants, size: float, total: Gdp, share: float, *, choice: str) -> BudgetSplit:
    """Return the parts of a total at noise of this size, with nothing retrieved."""
    alone = epsilon_from_mu(min(cost(with_free_jacobian(terms), size, total.neighbours), total.mu), total.delta)
    return BudgetSplit(
        planned=total.promise,
        share=share,
        choice=choice,
        noise_epsilon=alone,
        jacobian_epsilon=total.promise.epsilon - alone,
        retrieved=0.0,
        promise=total.promise,
        noise=Noise(False, terms.gradient / size),
        gdp=total.mu,
    )


def with_free_jacobian(terms: ObjectiveConstants) -> ObjectiveConstants:
    """Return the same objective with a modulus at which the Jacobian costs nothing."""
    return ObjectiveConstants(terms.loss, terms.radius, 1e12 * terms.loss.curvature * terms.radius**2)


def _rounded(log_jacobian: float) -> float:
    """Round up, to the private side."""
    return math.ceil(log_jacobian * _JACOBIAN_STEPS) / _JACOBIAN_STEPS


def log_upper(
    size: float, log_jacobian: float, signed: bool, epsilon: np.ndarray, *, rough: bool = False
) -> np.ndarray:
    """Return the logarithm of the larger delta (k,) of adding and of removing a row (proofs/erm.md, 15.5)."""
    added = np.where(
        epsilon >= log_jacobian,
        log_delta(size, np.maximum(epsilon - log_jacobian, 0.0)),
        np.log1p(-np.exp(np.minimum(epsilon - log_jacobian, 0.0)) * 2 * ndtr(-size / 2)),
    )
    if signed:
        return np.asarray(added)
    removed = np.where(
        epsilon >= size**2 / 2,
        math.log(2) + log_delta(size, epsilon),
        np.log1p(-np.exp(np.minimum(epsilon + math.log(2) + log_ndtr(-size), -1e-16))),
    )
    if not rough:
        removed = np.minimum(removed, np.log(removed_delta(size, math.expm1(log_jacobian), epsilon)))
    return np.asarray(np.maximum(added, removed))


@lru_cache(maxsize=64)
def _epsilon_grid(mu: float) -> tuple[np.ndarray, np.ndarray]:
    """Return a grid of epsilons (k,), from 0 to where delta falls below 1e-300, and the log delta of mu-GDP on it."""
    end = mu * (math.sqrt(-2 * _LOG_LEAST_DELTA) + mu / 2)
    epsilon = np.concatenate([[0.0], np.geomspace(1e-5 * mu, end, _EPSILON_POINTS)])
    log_deltas = log_delta(mu, epsilon)
    stated = log_deltas > _LOG_LEAST_DELTA
    return epsilon[stated], log_deltas[stated]


def _dominated(size: float, log_jacobian: float, signed: bool, mu: float, *, rough: bool = False) -> bool:
    """Return True where the delta of mu-GDP is at least that of :func:`log_upper` at every epsilon.

    Each value is compared with mu-GDP's at the next grid point, so the inequality also holds between the points.
    """
    epsilon, claimed = _epsilon_grid(mu)
    return bool(np.all(log_upper(size, log_jacobian, signed, epsilon[:-1], rough=rough) <= claimed[1:]))


@lru_cache(maxsize=4096)
def _largest(mu: float, log_jacobian: float, signed: bool, rough: bool) -> float | None:
    """Return the largest ``zeta1 zeta2/s`` that satisfies mu-GDP, rounded down; None where the Jacobian costs more."""
    low, high = math.log(1e-6 * mu), math.log(mu)
    if not _dominated(math.exp(low), log_jacobian, signed, mu, rough=True):
        return None
    steps = _HALVINGS
    if not rough:  # between the size by the rough bound and the size without a Jacobian
        first = _largest(mu, log_jacobian, signed, True)
        low, steps = math.log(first or math.exp(low)), 0 if signed else _HALVINGS // 2
    for _ in range(steps):
        middle = (low + high) / 2
        below = _dominated(math.exp(middle), log_jacobian, signed, mu, rough=rough)
        low, high = (middle, high) if below else (low, middle)
    return math.exp(low)


@lru_cache(maxsize=4096)
def _least_mu(size: float, log_jacobian: float, signed: bool) -> float:
    """Return the smallest mu such that noise with ``zeta1 zeta2/s = size`` satisfies mu-GDP, rounded up."""
    low, high = math.log(size), math.log(1e3)
    if not _dominated(size, log_jacobian, signed, math.exp(high)):
        raise InputError(AccountingMessage.JACOBIAN_COSTS_TOO_MUCH)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (low, middle) if _dominated(size, log_jacobian, signed, math.exp(middle)) else (middle, high)
    return math.exp(high)


def removed_delta(size: float, slope: float, epsilon: np.ndarray) -> np.ndarray:
    """Return an upper bound on delta (k,) of removing a row where no label fixes the sign of its score.

    When a row is removed, the privacy loss is two-sided only where the score changes sign. The score changes slowly:
    with q = zeta3/w it is q-Lipschitz in the noise along the row. A large modulus therefore leaves one tail.

    The score is 0 at ``Z = -t``; the worst t is sought between neighbours of a grid, at which one tail grows with t and
    the other falls. Integrals are upper sums. Between its own points delta is bounded by chords, since it is convex in
    ``e^epsilon``; beyond them the bound is infinite.

    Args:
        size: ``zeta1 zeta2/s``.
        slope: ``q = zeta3/w``.
        epsilon: epsilons (k,).
    """
    grid = np.concatenate([[0.0], np.geomspace(1e-3 * size, min(6 * size + size**2 / 2, _LARGEST_EPSILON), _CHORDS)])
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
    """Return cells of the privacy loss above the score's zero (``Z > -t``, for each t and for no zero) and below it."""
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
