"""Gaussian noise in a perturbed objective as mu-GDP: one guarantee that composes (maths.md, 15.5).

Labels whose Jacobian is free have it exactly (maths.md, 9.1). Elsewhere the privacy loss of a row more is at most
``(m Z + m^2/2)_+ + c`` in one order, ``m = zeta1 zeta2/s``; in the other ``m |Z| + m^2/2``, of which a large modulus
leaves little more than one tail (``tails``). The smallest mu whose curve of delta lies above both at every epsilon is
the guarantee. Replacing a row is removing one and adding one: 2 mu.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import final

import numpy as np
from scipy.special import log_ndtr, ndtr

from pmtcore.accounting.budgets import Neighbours, epsilon_from_mu, log_delta, mu_from_epsilon
from pmtcore.accounting.perturbed import CHOICES, Noise, Promise, Split, Terms
from pmtcore.accounting.tails import removed_delta
from pmtcore.base.checks import InputError, number_between, one_of

_POINTS = 1500  # of epsilon; each bound is held against the next point, so a coarser grid costs noise, not privacy
_LOG_LEAST = -690.0  # deltas below 1e-300 are never stated
_STEPS = 26  # halvings of a bracket: mu to eight digits
_ROUND = 1e9  # Jacobians are rounded up to it, so that equal ones are found again


@final
@dataclass(frozen=True)
class Gdp:
    """A total of mu under a relation; ``delta`` is where its parts are stated as epsilon, no parameter of it."""

    mu: float
    neighbours: Neighbours
    delta: float

    @property
    def promise(self) -> Promise:
        """Its point at ``delta``."""
        return Promise(epsilon_from_mu(self.mu, self.delta), self.delta, self.neighbours)


def cost(terms: Terms, size: float, neighbours: Neighbours) -> float:
    """The mu that noise with ``zeta1 zeta2/s = size`` costs, Jacobian included.

    Raises:
        InputError: the Jacobian alone costs more than any useful mu.
    """
    times = 2.0 if neighbours is Neighbours.REPLACE_ONE else 1.0
    if terms.loss.free and terms.kappa <= size**2 / 2:
        return times * size
    return times * _least(size, _rounded(terms.plain), terms.loss.signed)


def noise_size(terms: Terms, mu: float, neighbours: Neighbours, *, rough: bool = False) -> float:
    """The largest ``zeta1 zeta2/s`` whose cost is at most mu.

    Args:
        rough: both tails in full: quicker, and never more than the answer.

    Raises:
        InputError: the modulus is so small that the Jacobian alone costs more.
    """
    own = mu / 2 if neighbours is Neighbours.REPLACE_ONE else mu
    if terms.loss.free and terms.kappa <= own**2 / 2:
        return own
    found = _largest(own, _rounded(terms.plain), terms.loss.signed, rough)
    if found is None:
        raise InputError(
            f"A modulus of {terms.modulus:.4g} costs more than mu = {mu:g} for the Jacobian alone; choose a larger "
            f"modulus or a larger budget."
        )
    return found


def least_modulus(terms: Terms, size: float, mu: float, neighbours: Neighbours) -> float:
    """The smallest modulus at which noise of this size costs at most mu; ``terms.modulus`` is not looked at.

    Raises:
        InputError: the noise alone costs more.
    """
    own = mu / 2 if neighbours is Neighbours.REPLACE_ONE else mu
    if terms.loss.free and size >= own * (1 - 1e-9):
        return 2 * terms.radius**2 / size**2
    low, high = 0.0, 50.0  # of the Jacobian's logarithm
    if not _dominated(size, low, terms.loss.signed, own):
        raise InputError("The noise alone costs more than the budget; choose more noise.")
    for _ in range(_STEPS + 6):
        middle = (low + high) / 2
        low, high = (middle, high) if _dominated(size, middle, terms.loss.signed, own) else (low, middle)
    by_bound = terms.loss.curvature * terms.radius**2 / math.expm1(max(low, 1e-12))
    return min(by_bound, 2 * terms.radius**2 / size**2) if terms.loss.free else by_bound


def spend_mu(terms: Terms, wanted: Gdp, share: float = 0.5, choice: str = "recycle") -> Split:
    """As :func:`pmtcore.accounting.perturbed.spend`, for Gaussian noise and a total of mu."""
    mu, neighbours, delta = wanted.mu, wanted.neighbours, wanted.delta
    number_between("share", share, 0.01, 0.99)
    one_of("retrieved budget", choice, CHOICES)
    planned, size = wanted.promise.epsilon, noise_size(terms, mu, neighbours)
    total = mu
    if choice == "return":
        part = min(mu_from_epsilon(share * planned, delta), mu)
        size = min(size, noise_size(bare(terms), part, neighbours))
        total = min(cost(terms, size, neighbours), mu)
    found = stated(terms, size, Gdp(total, neighbours, delta), share, choice)
    left = max((1 - share) * planned - found.jacobian_epsilon, 0.0)
    return replace(found, planned=wanted.promise, retrieved=left)


def stated(terms: Terms, size: float, total: Gdp, share: float, choice: str) -> Split:
    """The parts of a total at noise of this size, nothing retrieved."""
    alone = epsilon_from_mu(min(cost(bare(terms), size, total.neighbours), total.mu), total.delta)
    return Split(
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


def bare(terms: Terms) -> Terms:
    """The same objective with a modulus at which the Jacobian costs nothing."""
    return Terms(terms.loss, terms.radius, 1e12 * terms.loss.curvature * terms.radius**2)


def _rounded(log_jacobian: float) -> float:
    """Rounded up, to the private side."""
    return math.ceil(log_jacobian * _ROUND) / _ROUND


def log_upper(size: float, log_jacobian: float, signed: bool, epsilon: np.ndarray, rough: bool = False) -> np.ndarray:
    """Logarithm of the larger delta (k,) of both orders under add-remove-one (maths.md, 15.5)."""
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
def _claimed(mu: float) -> tuple[np.ndarray, np.ndarray]:
    """Epsilons (k,) from 0 to where nothing is stated any more, and the logarithm of mu-GDP's delta there."""
    end = mu * (math.sqrt(-2 * _LOG_LEAST) + mu / 2)
    epsilon = np.concatenate([[0.0], np.geomspace(1e-5 * mu, end, _POINTS)])
    found = log_delta(mu, epsilon)
    told = found > _LOG_LEAST
    return epsilon[told], found[told]


def _dominated(size: float, log_jacobian: float, signed: bool, mu: float, rough: bool = False) -> bool:
    """Whether mu-GDP's delta is above at every epsilon: each value against the next point's, so also between."""
    epsilon, claimed = _claimed(mu)
    return bool(np.all(log_upper(size, log_jacobian, signed, epsilon[:-1], rough) <= claimed[1:]))


@lru_cache(maxsize=4096)
def _largest(mu: float, log_jacobian: float, signed: bool, rough: bool) -> float | None:
    """The largest size under a claim of mu, rounded down; none where the Jacobian alone is above it."""
    low, high = math.log(1e-6 * mu), math.log(mu)
    if not _dominated(math.exp(low), log_jacobian, signed, mu, True):
        return None
    steps = _STEPS
    if not rough:  # between what the rough curve allows and what no Jacobian would
        first = _largest(mu, log_jacobian, signed, True)
        low, steps = math.log(first or math.exp(low)), 0 if signed else _STEPS // 2
    for _ in range(steps):
        middle = (low + high) / 2
        below = _dominated(math.exp(middle), log_jacobian, signed, mu, rough)
        low, high = (middle, high) if below else (low, middle)
    return math.exp(low)


@lru_cache(maxsize=4096)
def _least(size: float, log_jacobian: float, signed: bool) -> float:
    """The smallest mu above a size, rounded up."""
    low, high = math.log(size), math.log(1e3)
    if not _dominated(size, log_jacobian, signed, math.exp(high)):
        raise InputError("The Jacobian alone costs more than any budget; choose a larger modulus.")
    for _ in range(_STEPS):
        middle = (low + high) / 2
        low, high = (low, middle) if _dominated(size, log_jacobian, signed, math.exp(middle)) else (middle, high)
    return math.exp(high)
