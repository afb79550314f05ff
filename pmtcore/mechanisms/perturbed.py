"""Objective perturbation for any of the losses: ``dp-erm``, and ``napp-public`` on the same ground.

    minimize  sum_i l(x_i' theta; y_i) + b' theta + sum_j q_j (theta_j - c_j)^2/2 + sum_j lam_j |theta_j|

``q``, ``c``, ``lam`` are public constants with ``q_j >= w`` for every j (E10), rows are clipped to ``|x| <= R`` and
responses to the declared range. The lasso term is allowed: the proof changes variables to ``v = theta + lam u/w``, u
the subgradient, of which theta is a function (maths.md, 15.2).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import final

import numpy as np

from pmtcore.accounting.budgets import Neighbours
from pmtcore.accounting.gdp import Gdp, bare, least_modulus, noise_size, spend_mu, stated
from pmtcore.accounting.perturbed import Noise, Promise, Split, Terms, jacobian_cost, noise_for, spend
from pmtcore.accounting.spends import Spend
from pmtcore.base.records import Curator, Private
from pmtcore.mechanisms.noise import NoiseSource, uniform
from pmtcore.models.losses import Loss
from pmtcore.models.newton import ROUNDING
from pmtcore.models.solvers import Data, Penalty, minimize

_MECHANISM = Curator("objective perturbation: only the minimizer with its noise leaves")
_ROUNDING_SHARE = 1e-3  # of epsilon, for the optimum that is found only to a tolerance
_ROUNDING_MU = 0.01  # of mu, for the same where the guarantee is one
_TOLERANCE = 1e-8  # of the noise on the gradient
_LEAST = 1e-9  # of zeta3
_CERTAINLY_NOISE = 50.0
Rows = tuple[np.ndarray, np.ndarray]  # features (n, p), responses (n,)


@final
@dataclass(frozen=True)
class Mechanism:
    """Everything public fixed: constants of the objective, the budget's parts, penalties (p,)."""

    terms: Terms
    split: Split
    ridge: np.ndarray
    centre: np.ndarray
    lasso: np.ndarray

    def __post_init__(self) -> None:
        if not float(np.min(self.ridge)) >= self.terms.modulus * (1 - 1e-12):
            raise ValueError("a ridge weight is below the modulus that was accounted for (E10)")
        if not float(np.min(self.lasso)) >= 0:
            raise ValueError("lasso weights must not be negative")

    @property
    def noise(self) -> Noise:
        """The noise b."""
        return self.split.noise

    def rows(self, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Clipped rows and responses, (n, p + 1); a row that is not finite is a row of zeros."""
        return np.column_stack([clipped(x, self.terms.radius), self.terms.loss.responses(y)])

    def release(self, rows: Private[np.ndarray], source: NoiseSource, trials: int) -> np.ndarray:
        """Minimizers (trials, p), each with its own noise.

        Args:
            rows: what :meth:`rows` made, (n, p + 1).

        Guarantee: ``split.promise`` (maths.md, 15.2 to 15.5). A thousandth of epsilon pays for the tolerance of the
        solver; coefficients that only this tiny noise keeps from 0 are set to 0, which is post-processing.
        """
        value = rows.reveal(_MECHANISM)
        p = len(self.ridge)
        b = draw(self.noise, source, trials, p)
        tolerance = self.tolerance(len(value))
        found = minimize(
            Data(self.terms.loss, value[:, :p], value[:, p]),
            Penalty.of(b, self.ridge, self.centre, self.lasso),
            tolerance,
        ).theta
        rest = self._rest(2 * tolerance / self.terms.modulus)
        released = found + draw(rest, source, trials, p)
        tiny = (np.abs(released) < _CERTAINLY_NOISE * rest.sd(p)) & (self.lasso > 0)
        return np.where(tiny, 0.0, released)

    def tolerance(self, n: int) -> float:
        """Length of the gradient at which the optimum of n rows counts as found."""
        return max(_TOLERANCE * self.noise.sd(len(self.ridge)), self._rounding(n))

    def parts(self, n: int) -> tuple[Spend, ...]:
        """The perturbed objective, its Jacobian included, and the tolerance of the solver, on n rows."""
        p, split = len(self.ridge), self.split
        distance = 2 * self.tolerance(n) / self.terms.modulus
        statistic, moved, sd = "sum of scores, in a perturbed objective", 2 * self.terms.gradient, self.noise.sd(p)
        covering = self._rest(distance)
        if split.gdp is not None:
            mu = split.gdp * math.sqrt(1 - _ROUNDING_MU**2)
            return (
                Spend(statistic, moved, sd, mu),
                Spend.gaussian("tolerance of the solver", distance, covering.scale),
            )
        rest = _ROUNDING_SHARE * split.planned.epsilon
        return (
            Spend.pure(statistic, moved, sd, split.promise.epsilon - rest),
            Spend.pure("tolerance of the solver", distance, covering.sd(p), rest),
        )

    def _rounding(self, n: int) -> float:
        """What floating point may leave of the gradient at the optimum of n rows: public, so that a release never fails
        because of a row."""
        widest = float(np.max(self.ridge))
        pushed = n * self.terms.gradient + 10 * math.sqrt(len(self.ridge)) * self.noise.sd(len(self.ridge))
        held = widest * float(np.linalg.norm(self.centre)) + (1 + widest / self.terms.modulus) * pushed
        return ROUNDING * (held + float(np.sum(self.lasso)))

    def _rest(self, distance: float) -> Noise:
        """The noise that covers two minimizers which the solver's tolerance may set this far apart."""
        if self.split.gdp is not None:
            return Noise(False, distance / (_ROUNDING_MU * self.split.gdp))
        return Noise(True, distance / (_ROUNDING_SHARE * self.split.planned.epsilon))


def draw(noise: Noise, source: NoiseSource, trials: int, p: int) -> np.ndarray:
    """The noise b (trials, p): Gaussian, or spherical with length ``Gamma(shape p)`` (E8)."""
    direction = source.normal(trials, p)
    if not noise.pure:
        return np.asarray(noise.scale * direction)
    direction = direction / np.maximum(np.linalg.norm(direction, axis=1), 1e-300)[:, None]
    length = -np.log(np.maximum(uniform(source, trials, p), 1e-300)).sum(axis=1)
    return np.asarray(noise.scale * length[:, None] * direction)


def clipped(x: np.ndarray, radius: float) -> np.ndarray:
    """Rows (n, p) no longer than ``radius``; one that is not finite becomes zeros. Nothing overflows."""
    top = np.max(np.abs(x), axis=1)
    good = np.isfinite(top) & (top > 0)
    unit = np.where(good[:, None], x, 0.0) / np.where(good, top, 1.0)[:, None]
    length = np.linalg.norm(unit, axis=1)
    return np.asarray(unit * np.minimum(np.where(good, top, 0.0), radius / np.maximum(length, 1.0))[:, None])


Budgeted = Promise | Gdp


def for_solver(planned: Budgeted) -> Budgeted:
    """What is left of a budget for the exact optimum."""
    if isinstance(planned, Gdp):
        return replace(planned, mu=planned.mu * math.sqrt(1 - _ROUNDING_MU**2))
    return replace(planned, epsilon=planned.epsilon * (1 - _ROUNDING_SHARE))


def with_solver(split: Split, planned: Budgeted) -> Split:
    """A split with the solver's share counted in again."""
    if isinstance(planned, Gdp):
        total = planned if split.gdp is None else replace(planned, mu=split.gdp / math.sqrt(1 - _ROUNDING_MU**2))
        return replace(split, planned=planned.promise, promise=total.promise, gdp=min(total.mu, planned.mu))
    extra = _ROUNDING_SHARE * planned.epsilon
    total_epsilon = min(split.promise.epsilon + extra, planned.epsilon)
    return replace(split, planned=planned, promise=replace(split.promise, epsilon=total_epsilon))


def expected_noise(terms: Terms, planned: Budgeted) -> Noise:
    """The noise at all that the Jacobian leaves, roughly: for choosing among moduli."""
    inner = for_solver(planned)
    if isinstance(inner, Gdp):
        return Noise(False, terms.gradient / noise_size(terms, inner.mu, inner.neighbours, rough=True))
    return spend(terms, inner).noise


def parts(terms: Terms, planned: Budgeted, share: float, choice: str) -> Split:
    """Where a budget goes, the solver's share counted in."""
    inner = for_solver(planned)
    found = spend_mu(terms, inner, share, choice) if isinstance(inner, Gdp) else spend(terms, inner, share, choice)
    return with_solver(found, planned)


def dp_erm(
    loss: Loss,
    radius: float,
    planned: Budgeted,
    p: int,
    *,
    share: float = 0.5,
    ridge: float = 0.0,
    lasso: float | np.ndarray = 0.0,
) -> Mechanism:
    """The baseline (Kifer, Smith, Thakurta 2012; D, equation 2): ``Lambda0 ||theta||^2`` beside the target.

    Noise at the share r of the budget, the least ``Lambda0`` that the rest pays for, nothing retrieved. With an
    epsilon ``Lambda0 = zeta3/(2 (1 - r) eps)``, as printed. Gaussian noise is calibrated exactly, which is less than
    the printed bound. The ridge target is met by the larger of the two, as D does.

    Args:
        ridge, lasso: the target ``ridge ||theta||^2 + lasso |theta|_1``; both are an elastic net.
    """
    sharp = np.broadcast_to(np.asarray(lasso, dtype=float), (p,))
    inner = for_solver(planned)
    if isinstance(inner, Gdp):
        start = Terms(loss, radius, 1.0)
        size = share * noise_size(bare(start), inner.mu, inner.neighbours)
        least = least_modulus(start, size, inner.mu, inner.neighbours) / 2
    else:
        size, least = 0.0, loss.curvature * radius**2 / (2 * (1 - share) * inner.epsilon)
    least = max(least, _LEAST * loss.curvature * radius**2)  # a modulus of nothing leaves the fit nowhere to stop
    own = max(ridge, least) if not np.any(sharp) else ridge + least
    terms = Terms(loss, radius, 2 * own)
    split = stated(terms, size, inner, share, "none") if isinstance(inner, Gdp) else _kept(terms, inner, share)
    return Mechanism(terms, with_solver(split, planned), np.full(p, 2 * own), np.zeros(p), sharp)


def _kept(terms: Terms, inner: Promise, share: float) -> Split:
    """Noise at the share, nothing retrieved."""
    drawn = share * inner.epsilon
    return Split(
        planned=inner,
        share=share,
        choice="none",
        noise_epsilon=drawn,
        jacobian_epsilon=jacobian_cost(terms, drawn, inner.neighbours, inner.delta),
        retrieved=0.0,
        promise=inner,
        noise=noise_for(terms, drawn, inner.delta, inner.neighbours, free=False),
    )


def napp_public(
    loss: Loss,
    radius: float,
    planned: Budgeted,
    weights: np.ndarray,
    centre: np.ndarray,
    *,
    share: float = 0.5,
    choice: str = "recycle",
    lasso: float | np.ndarray = 0.0,
) -> Mechanism:
    """``napp-public``: penalty ``sum_j v_j (theta_j - c_j)^2`` from public data, the rest retrieved with a proof.

    Args:
        weights: v (p,), public.
        centre: c (p,), public.
        share, choice: r of D, and what is done with what is retrieved; before a private row is read.
    """
    weights = np.asarray(weights, dtype=float)
    terms = Terms(loss, radius, 2 * float(np.min(weights)))
    sharp = np.broadcast_to(np.asarray(lasso, dtype=float), weights.shape)
    return Mechanism(terms, parts(terms, planned, share, choice), 2 * weights, np.asarray(centre, dtype=float), sharp)


def replace_one(epsilon: float, delta: float) -> Promise:
    """A promise under replace-one."""
    return Promise(epsilon, delta, Neighbours.REPLACE_ONE)


def add_remove(epsilon: float, delta: float) -> Promise:
    """A promise under add-remove-one."""
    return Promise(epsilon, delta, Neighbours.ADD_REMOVE_ONE)
