"""Objective perturbation for any of the losses: the mechanism of ``dp-erm`` and ``napp-public``.

    minimize  sum_i l(x_i' theta; y_i) + b' theta + sum_j q_j (theta_j - c_j)^2/2 + sum_j lam_j |theta_j|

``q``, ``c``, ``lam`` are public constants with ``q_j >= w`` for every j (E10), rows are clipped to ``|x| <= R`` and
responses to the declared range. The lasso term is allowed: the proof changes variables to ``v = theta + lam u/w``, u
the subgradient, of which theta is a function (proofs/erm.md, 15.2).
"""

import math
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import ndtr, ndtri

from pmtcore.accounting.budgets import Neighbours, Spend
from pmtcore.accounting.gdp import Gdp, least_modulus, noise_size, parts_of_noise, spend_mu, with_free_jacobian
from pmtcore.accounting.perturbed import (
    ApproxDP,
    BudgetSplit,
    Noise,
    ObjectiveConstants,
    jacobian_cost,
    noise_for,
    spend,
)
from pmtcore.base.distributions import gamma
from pmtcore.base.private_rows import PrivateRows
from pmtcore.glm.losses import Loss
from pmtcore.glm.solvers import Penalty, minimize
from pmtcore.mechanisms.grid import FINE, SLACK
from pmtcore.mechanisms.minimizer import LossSums, MinimizerRelease, Reserve, Sums
from pmtcore.mechanisms.noise import NoiseSource, in_the_lab, spherical, uniform

# Modulus in units of zeta3 below which the fit would have no unique minimum.
_LEAST_RELATIVE_MODULUS = 1e-9
# Least modulus in units of the noise on the sum of scores: its penalty gradient at length 1 is a thirtieth of the
# noise.
_HARMLESS_PULL = 1 / 30
# With a lasso, released coefficients below this many standard deviations of the covering noise are 0.
_NEGLIGIBLE_SDS = 50.0
# Radius of the ball, over |centre| plus the predictor at which a loss of this curvature saturates.
_RADIUS_PER_SCALE = 100.0
# Number of quantiles from which a variance is drawn: far more than trials.
_VARIANCE_QUANTILES = 20_000


@dataclass(frozen=True)
class Mechanism:
    """Perturbed objective with everything public fixed.

    Attributes:
        terms: constants of the objective.
        split: parts of the budget.
        ridge: q (p,).
        centre: c (p,).
        lasso: lam (p,).
    """

    terms: ObjectiveConstants
    split: BudgetSplit
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
        """Return the law of the noise b."""
        return self.split.noise

    @property
    def reserve(self) -> Reserve:
        """Return the part of the budget for the error of the computed minimizer."""
        gdp = self.split.gdp
        return Reserve(self.split.planned.epsilon, pure=True) if gdp is None else Reserve(gdp)

    def clipped(self, rows: PrivateRows) -> LossSums[Loss]:
        """Return the sums of losses of rows in the coordinates of the mechanism, clipped as it needs them."""
        return LossSums.clipped(rows, self.terms.loss, self.terms.radius)

    def minimizer_release(self, n: int) -> MinimizerRelease:
        """Return, for n rows, the bound on the error of the computed minimizer, and its release grid."""
        p, loss, centre = len(self.ridge), self.terms.loss, float(np.linalg.norm(self.centre))
        largest = max(abs(loss.low), abs(loss.high))
        sums = Sums(
            n=n,
            d=p,
            length=self.terms.radius,
            row=self.terms.radius,
            score=loss.score,
            curvature=loss.curvature,
            response=largest if math.isfinite(largest) else 0.0,  # in the lab only
            quadratic_norm=float(np.linalg.norm(self.ridge)),
            centre=centre,
            noise=self.noise.sd(p),
            lasso=float(np.sum(self.lasso)),
        )
        ball = _RADIUS_PER_SCALE * (centre + loss.score / loss.curvature)
        step = self.noise.scale / FINE
        return MinimizerRelease.of(sums, self.centre, ball, self.terms.modulus, step_of_noise=step)

    def release(self, data: LossSums[Loss], n: int, source: NoiseSource, trials: int) -> np.ndarray:
        """Return minimizers (trials, p), each with its own noise.

        Args:
            data: private rows as :meth:`clipped` returns them.
            n: public number of rows; where it was declared, the number of rows at hand is private.
            source: source of the noise.
            trials: number of independent releases.

        Guarantee: ``split.promise`` (proofs/erm.md, 15.2 to 15.5) for the bits that leave (proofs/minimizer.md, 21).
        A hundredth of epsilon, or a fiftieth of mu, pays for the error of the computed minimizer. Lasso coefficients
        that differ from 0 by covering noise only are set to 0, which is post-processing.

        Raises:
            ValueError: rows are longer, or have another loss, than was accounted for.
        """
        if data.radius > self.terms.radius or data.loss is not self.terms.loss:
            raise ValueError("rows are clipped to another radius, or have another loss, than was accounted for")
        p, minimizer_release = len(self.ridge), self.minimizer_release(n)
        drawn = source.spherical if self.noise.pure else source.integers
        minimizers = minimize(
            data,
            Penalty.of(drawn(FINE, trials, p) * (self.noise.scale / FINE), self.ridge, self.centre, self.lasso),
            minimizer_release.tolerance,
        ).theta
        released = minimizer_release.covered(minimizers, self.reserve, source)
        negligible = (np.abs(released) < _NEGLIGIBLE_SDS * self.covering_sd(n)) & (self.lasso > 0)
        return np.where(negligible, 0.0, released)

    def covering_sd(self, n: int) -> float:
        """Return the standard deviation per coordinate of the noise that covers the minimizer's error, on n rows."""
        return self.minimizer_release(n).covering_sd(self.reserve)

    def parts(self, n: int) -> tuple[Spend, ...]:
        """Return the spends on n rows: the perturbed objective with its Jacobian, and the error of the minimizer."""
        p, split = len(self.ridge), self.split
        statistic, moved, sd = "sum of scores, in a perturbed objective", 2 * self.terms.gradient, self.noise.sd(p)
        if split.gdp is not None:
            ideal = Spend(statistic, moved, sd, self.reserve.left)
        else:
            ideal = Spend.pure(statistic, moved, sd, split.promise.epsilon - self.reserve.paid)
        return ideal, self.minimizer_release(n).spend(self.reserve)


def draw(noise: Noise, source: NoiseSource, trials: int, p: int) -> np.ndarray:
    """Draw b (trials, p) in floating point, for the lab: Gaussian, or spherical with length ``Gamma(p)`` (E8)."""
    return np.asarray(
        noise.scale * (spherical(source, trials, p) if noise.pure else in_the_lab(source).normal(trials, p))
    )


def draw_sampled(noise: Noise, source: NoiseSource, trials: int, p: int) -> np.ndarray:
    """Draw pure noise as D's text samples it (E8), for the lab: a length that is ``Gamma(1)`` of twice the scale."""
    direction = spherical(source, trials, p)
    direction /= np.maximum(np.linalg.norm(direction, axis=1), 1e-300)[:, None]
    length = -np.log(np.maximum(uniform(source, trials, 1), 1e-300))
    return np.asarray(2 * noise.scale * length * direction)


def draw_above(noise: Noise, cut: float, source: NoiseSource, trials: int, *, p: int) -> np.ndarray:
    """Draw noise (trials, p) given that every coordinate is above ``-cut``, ``cut >= 0`` (D, equations 9 and 10), lab.

    The spherical law is a Gaussian whose variance is ``Gamma((p + 1)/2)``; given it, coordinates are truncated normals.
    The variance is drawn from a fine grid of its quantiles, each weighted by the odds that all coordinates pass.
    """
    scale = np.full(trials, noise.scale)
    if noise.pure:
        levels = (np.arange(_VARIANCE_QUANTILES) + 0.5) / _VARIANCE_QUANTILES
        roots = np.sqrt(gamma.ppf(levels, (p + 1) / 2, scale=2))
        odds = np.cumsum(ndtr(cut / (noise.scale * roots)) ** p)
        scale = noise.scale * roots[np.searchsorted(odds / odds[-1], uniform(source, trials, 1)[:, 0])]
    least = ndtr(-cut / scale)[:, None]
    return np.asarray(scale[:, None] * ndtri(least + (1 - least) * uniform(source, trials, p)))


Budgeted = ApproxDP | Gdp


def reserve_solver_budget(planned: Budgeted) -> Budgeted:
    """Return the budget left for the exact minimizer after reserving the share of the solver's error.

    The reserve is 2 % of mu (in quadrature) or 1 % of epsilon. A mu also loses a millionth for noise that is
    discrete Gaussian (proofs/minimizer.md, 21).
    """
    if isinstance(planned, Gdp):
        return replace(planned, mu=Reserve(planned.mu).left / (1 + SLACK))
    return replace(planned, epsilon=Reserve(planned.epsilon, pure=True).left)


def restore_solver_budget(split: BudgetSplit, planned: Budgeted) -> BudgetSplit:
    """Return the split with the solver's reserve added back; the inverse of :func:`reserve_solver_budget`."""
    if isinstance(planned, Gdp):
        inflation = (1 + SLACK) / Reserve(1.0).left
        total = planned if split.gdp is None else replace(planned, mu=split.gdp * inflation)
        return replace(split, planned=planned.promise, promise=total.promise, gdp=min(total.mu, planned.mu))
    paid = Reserve(planned.epsilon, pure=True).paid
    total_epsilon = min(split.promise.epsilon + paid, planned.epsilon)
    return replace(split, planned=planned, promise=replace(split.promise, epsilon=total_epsilon))


def expected_noise(terms: ObjectiveConstants, planned: Budgeted) -> Noise:
    """Return the approximate noise at the budget that the Jacobian leaves, for choosing among moduli."""
    inner = reserve_solver_budget(planned)
    if isinstance(inner, Gdp):
        return Noise(False, terms.gradient / noise_size(terms, inner.mu, inner.neighbours, rough=True))
    return spend(terms, inner).noise


def parts(terms: ObjectiveConstants, planned: Budgeted, share: float, choice: str) -> BudgetSplit:
    """Split a budget between noise and Jacobian, the solver's reserve included.

    Args:
        terms: constants of the objective.
        planned: total budget.
        share: share r of D that is planned for the noise.
        choice: use of the retrieved budget.
    """
    inner = reserve_solver_budget(planned)
    split = spend_mu(terms, inner, share, choice) if isinstance(inner, Gdp) else spend(terms, inner, share, choice)
    return restore_solver_budget(split, planned)


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
    """Return the baseline (Kifer, Smith, Thakurta 2012; D, equation 2): ``Lambda0 ||theta||^2`` besides the target.

    The noise has the share r of the budget, ``Lambda0`` is the least that the rest pays for, and nothing is retrieved.
    With an epsilon ``Lambda0 = zeta3/(2 (1 - r) eps)``, as printed. Gaussian noise is calibrated exactly, which is less
    than the printed bound. The ridge target is met by the larger of the two, as D does.

    Args:
        loss: loss of one row.
        radius: bound on the length of a row.
        planned: total budget.
        p: number of coefficients.
        share: r.
        ridge: of the target ``ridge ||theta||^2 + lasso |theta|_1``; with ``lasso`` an elastic net.
        lasso: of the same target.
    """
    sharp = np.broadcast_to(np.asarray(lasso, dtype=float), (p,))
    inner = reserve_solver_budget(planned)
    if isinstance(inner, Gdp):
        start = ObjectiveConstants(loss, radius, 1.0)
        size = share * noise_size(with_free_jacobian(start), inner.mu, inner.neighbours)
        least = least_modulus(start, size, inner.mu, inner.neighbours) / 2
    else:
        size, least = 0.0, loss.curvature * radius**2 / (2 * (1 - share) * inner.epsilon)
    # A smaller modulus needs more covering noise, and shrinkage far below the noise costs nothing: hence a lower bound.
    noise = loss.score * radius / size if size else 0.0
    least = max(least, _LEAST_RELATIVE_MODULUS * loss.curvature * radius**2, _HARMLESS_PULL * noise)
    weight = max(ridge, least) if not np.any(sharp) else ridge + least
    terms = ObjectiveConstants(loss, radius, 2 * weight)
    if isinstance(inner, Gdp):
        split = parts_of_noise(terms, size, inner, share, choice="none")
    else:
        split = _nothing_retrieved(terms, inner, share)
    return Mechanism(terms, restore_solver_budget(split, planned), np.full(p, 2 * weight), np.zeros(p), sharp)


def _nothing_retrieved(terms: ObjectiveConstants, guarantee: ApproxDP, share: float) -> BudgetSplit:
    """Return the split with noise at the share and nothing retrieved."""
    drawn = share * guarantee.epsilon
    return BudgetSplit(
        planned=guarantee,
        share=share,
        choice="none",
        noise_epsilon=drawn,
        jacobian_epsilon=jacobian_cost(terms, drawn, guarantee.neighbours, guarantee.delta),
        retrieved=0.0,
        promise=guarantee,
        noise=noise_for(terms, drawn, guarantee.delta, guarantee.neighbours, free_jacobian=False),
    )


def napp_public(
    loss: Loss,
    radius: float,
    planned: Budgeted,
    weights: np.ndarray,
    *,
    centre: np.ndarray,
    share: float = 0.5,
    choice: str = "recycle",
    lasso: float | np.ndarray = 0.0,
) -> Mechanism:
    """Return ``napp-public``: penalty ``sum_j v_j (theta_j - c_j)^2`` from public data; the rest is retrieved.

    Args:
        loss: loss of one row.
        radius: bound on the length of a row.
        planned: total budget.
        weights: v (p,), public.
        centre: c (p,), public.
        share: r of D, chosen before a private row is read.
        choice: use of the retrieved budget, chosen before a private row is read.
        lasso: lasso weights, one or (p,).
    """
    weights = np.asarray(weights, dtype=float)
    terms = ObjectiveConstants(loss, radius, 2 * float(np.min(weights)))
    sharp = np.broadcast_to(np.asarray(lasso, dtype=float), weights.shape)
    return Mechanism(terms, parts(terms, planned, share, choice), 2 * weights, np.asarray(centre, dtype=float), sharp)


def add_remove(epsilon: float, delta: float) -> ApproxDP:
    """Return a promise under add-remove-one."""
    return ApproxDP(epsilon, delta, Neighbours.ADD_REMOVE_ONE)
