"""Release of a minimizer that was computed in floating point, with a proof for the bits that leave.

Proof: proofs/minimizer.md, 21.

The ideal mechanism has real numbers, a continuous perturbation b and the exact minimizer. The computed one has b on a
grid and a minimizer within a tolerance; by strong convexity the two lie within a public distance of each other. The
computed minimizer is projected onto a ball, inside which the bound on the distance holds for all rows, and rounded to
integers. Integer noise covers the distance: a second mechanism with a budget of its own, composed with the ideal one.

The solver sums losses in passes over private rows, in blocks of a public size. A block has the same rows however the
table is stored, and its sums are taken in parts of at most 4096 rows and added in the order of the table. So no bit
depends on the storage or the number of threads, and the rounding error is within the bound of proofs/minimizer.md, 21.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Generic

import numpy as np

from pmtcore.accounting.budgets import Spend
from pmtcore.base.private_rows import Curator, PrivateRows, RowCache
from pmtcore.glm.losses import Loss
from pmtcore.glm.rows import ROWS_AT_ONCE, RowLoss, Rows
from pmtcore.glm.solvers import Loss_co, loss_values, weighted_gram
from pmtcore.mechanisms.grid import FINE, SLACK
from pmtcore.mechanisms.noise import NoiseSource
from pmtcore.mechanisms.truncation import truncate_within

# Share of epsilon for the error of the computed minimizer, such that its noise is below that of b.
EPSILON_SHARE = 0.01
# Share of mu for the same, in quadrature, which increases the noise of the objective by 0.02 %.
MU_SHARE = 0.02
# Gradient at which the solver ends, in units of the noise on it; the covering noise is then negligible.
GRADIENT_TOLERANCE = 1e-8
# Relative error of one floating-point operation.
_UNIT_ROUNDOFF = 2.0**-53
# Operations besides the sums: products, differences, the ulps of an exponential; a bound with room.
_FURTHER_OPERATIONS = 64
# Standard deviations of a coordinate of b that its rounding is computed for. Gaussian noise beyond them counts as
# failed (probability e^-800), spherical noise is covered by the other terms (proofs/minimizer.md, 21).
_NOISE_LENGTH_SDS = 40.0
# Grid steps to the radius of the ball, at most: integers have 63 bits.
_MOST_STEPS_TO_BALL = 2.0**60
_SOLVER = Curator("sums of losses: a solver sees them, and only its minimizer leaves, by a mechanism or for the lab")
# A double.
_BYTES_PER_NUMBER = 8


def bytes_kept(d: int) -> int:
    """Return the bytes that a row of d features, its response and its weight take between passes."""
    return _BYTES_PER_NUMBER * (d + 2)


def row_pieces(rows: PrivateRows, prepare: Callable[[np.ndarray, np.ndarray], Rows]) -> RowCache[Rows]:
    """Return prepared private rows in blocks of a public size, for the passes of a solver.

    Args:
        rows: the private rows.
        prepare: from a block (features, response) to its rows, each by itself.
    """
    return rows.equal_pieces(prepare, bytes_kept(len(rows.names)))


class LossSums(Generic[Loss_co]):
    """Sums of a loss over private rows, as :class:`pmtcore.glm.solvers.Losses` has them.

    They are exact private figures: the caller is responsible for what is released of the solver's result.

    Args:
        rows: private rows, from :func:`row_pieces`.
        loss: loss of a row.
        radius: public bound on the length of a row.
        count: public number of rows.
    """

    def __init__(self, rows: RowCache[Rows], loss: Loss_co, radius: float, count: int) -> None:
        self._rows, self.loss, self.radius, self.count = rows, loss, radius, count

    @staticmethod
    def clipped(
        rows: PrivateRows, loss: Loss, radius: float, transform: Callable[[np.ndarray], np.ndarray] = np.asarray
    ) -> LossSums[Loss]:
        """Return the sums of losses of rows clipped to the radius, with responses in the range of the loss.

        A row that is not finite becomes a row of zeros.

        Args:
            rows: the private rows.
            loss: loss of a row.
            radius: bound on the length of a row.
            transform: from the features (k, d) of a block to the coordinates in which they are clipped.
        """

        def clip(x: np.ndarray, y: np.ndarray) -> Rows:
            return Rows(truncate_within(transform(x), radius), loss.responses(y), np.ones(len(y)))

        return LossSums(row_pieces(rows, clip), loss, radius, rows.n)

    @cached_property
    def hessian_bound(self) -> np.ndarray:
        """Return an upper bound (p, p) of the Hessian of the sum of losses, anywhere."""
        return np.asarray(self.loss.curvature * _sum(self._rows, weighted_gram))

    def value(self, theta: np.ndarray) -> np.ndarray:
        """Return the sums of losses (t,) at coefficients (t, p)."""
        return _sum(self._rows, lambda rows: loss_values(self.loss, rows, theta))

    def derivatives(self, theta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return gradients (t, p) and Hessians (t, p, p) of the sum of losses."""
        return derivative_sums(self._rows, self.loss, theta)

    def __repr__(self) -> str:
        return "<sums of losses over private rows>"


def derivative_sums(rows: RowCache[Rows], loss: RowLoss, theta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return ``sum w l' x`` (t, d) and ``sum w l'' x x'`` (t, d, d) over private rows at coefficients (t, d): one pass.

    They are bare figures, for a solver.
    """

    def both(block: Rows) -> np.ndarray:
        gradient, hessian = block.sums(loss, theta)
        return np.concatenate([gradient[..., None], hessian], axis=2)

    total = _sum(rows, both)
    return np.ascontiguousarray(total[..., 0]), np.ascontiguousarray(total[..., 1:])


def _sum(rows: RowCache[Rows], function: Callable[[Rows], np.ndarray]) -> np.ndarray:
    """Return the sum over blocks; blocks are copied so that no cached property of theirs stays in memory."""
    return rows.sum_pieces(lambda block: function(replace(block))).reveal(_SOLVER)


@dataclass(frozen=True)
class Reserve:
    """Part of a budget for the error of a computed minimizer: of a mu in quadrature, of a pure epsilon in sum.

    Attributes:
        total: whole budget, a mu or a pure epsilon.
        pure: True where it is an epsilon.
    """

    total: float
    pure: bool = False

    @property
    def paid(self) -> float:
        """Return the budget of the error."""
        return (EPSILON_SHARE if self.pure else MU_SHARE) * self.total

    @property
    def left(self) -> float:
        """Return the budget of the exact minimizer."""
        return self.total * (1 - EPSILON_SHARE if self.pure else math.sqrt(1 - MU_SHARE**2))


@dataclass(frozen=True)
class RoundingBound:
    """Bound on the rounding error of a gradient at theta: ``fixed + slope |theta - c|``."""

    fixed: float
    slope: float


@dataclass(frozen=True, kw_only=True)
class Sums:
    """Public constants of a perturbed objective over n rows in d dimensions.

    Attributes:
        n: number of rows.
        d: number of coefficients.
        length: bound on a row's length times its weight.
        row: bound on the length of a row.
        score: bound on ``|l'|``.
        curvature: bound on ``l''``.
        response: bound on responses.
        quadratic_norm: Frobenius norm of the quadratic term.
        centre: length of its centre.
        noise: standard deviation of a coordinate of b.
        lasso: sum of the lasso weights.
    """

    n: int
    d: int
    length: float
    row: float
    score: float
    curvature: float
    response: float
    quadratic_norm: float
    centre: float
    noise: float
    lasso: float = 0.0

    @property
    def rounding_bound(self) -> RoundingBound:
        """Return the bound on the rounding error of the gradient.

        It holds for sums in blocks of 4096 rows, then over blocks, in any order within a block, with each l' rounded.
        """
        depth = min(self.n, ROWS_AT_ONCE) + math.ceil(self.n / ROWS_AT_ONCE) + _FURTHER_OPERATIONS
        by_theta = (
            self.n * self.length * self.curvature * (self.d + 8) * self.row + 2 * (self.d + 8) * self.quadratic_norm
        )
        fixed = (
            depth * self.n * self.length * (self.score + self.curvature * self.response)
            + by_theta * self.centre
            + 4 * (_NOISE_LENGTH_SDS * math.sqrt(self.d) * self.noise + self.lasso)
        )
        return RoundingBound(2 * _UNIT_ROUNDOFF * fixed, 2 * _UNIT_ROUNDOFF * by_theta)


@dataclass(frozen=True, eq=False)
class MinimizerRelease:
    """Release of a computed minimizer.

    Attributes:
        centre: middle of the ball (d,).
        ball: radius of the ball.
        modulus: modulus of strong convexity.
        least_gradient: length of the gradient at which the search ends, if floating point can resolve it.
        rounding_bound: bound on the rounding error of the gradient.
        step_of_noise: step of the grid of b.
    """

    centre: np.ndarray
    ball: float
    modulus: float
    least_gradient: float
    rounding_bound: RoundingBound
    step_of_noise: float

    @classmethod
    def of(
        cls, sums: Sums, centre: np.ndarray, ball: float, modulus: float, *, step_of_noise: float
    ) -> MinimizerRelease:
        """Return the release of the minimizer of an objective with these public constants."""
        return cls(centre, ball, modulus, GRADIENT_TOLERANCE * sums.noise, sums.rounding_bound, step_of_noise)

    def tolerance(self, theta: np.ndarray) -> np.ndarray:
        """Return the length of the gradient (t,) that ends the search at coefficients (t, d).

        It is never below the rounding error. The rule is public: a release must not fail because of a row.
        """
        distance = np.linalg.norm(theta - self.centre, axis=1)
        return np.asarray(max(self.least_gradient, self.rounding_bound.fixed) + self.rounding_bound.slope * distance)

    @property
    def distance(self) -> float:
        """Return an upper bound on the distance between computed and exact minimizer after projection onto the ball."""
        slip = self.step_of_noise * math.sqrt(len(self.centre)) / 2
        fixed = (max(self.least_gradient, self.rounding_bound.fixed) + self.rounding_bound.fixed + slip) / self.modulus
        slope = 2 * self.rounding_bound.slope / self.modulus
        bound = fixed + 2 * self.ball * slope + 8 * _UNIT_ROUNDOFF * self.ball
        if slope > 0.25 or fixed > self.ball / 2:  # then only that both lie in the ball
            return 2 * self.ball
        return min(bound, 2 * self.ball)

    @property
    def step(self) -> float:
        """Return the step of the grid on which the minimizer is released."""
        return max(2 * self.distance / FINE, self.ball / _MOST_STEPS_TO_BALL)

    @property
    def sensitivity(self) -> float:
        """Return the largest distance, in steps, of the integers of two neighbours given the ideal minimizer."""
        return FINE + math.sqrt(len(self.centre))

    @property
    def coefficient_sensitivity(self) -> float:
        """Return the sensitivity in the units of the coefficients."""
        return self.sensitivity * self.step

    def integers(self, theta: np.ndarray) -> np.ndarray:
        """Project coefficients (t, d) onto the ball and return them in steps from its centre."""
        deviation = theta - self.centre
        length = np.linalg.norm(deviation, axis=1)
        inside = deviation * np.minimum(1.0, self.ball / np.maximum(length, 1e-300))[:, None]
        return np.rint(inside / self.step).astype(np.int64)

    def covered(self, theta: np.ndarray, reserve: Reserve, source: NoiseSource) -> np.ndarray:
        """Return coefficients (t, d) with integer noise, spherical or discrete Gaussian, that covers their error.

        Guarantee: what the reserve pays, given the ideal minimizer (proofs/minimizer.md, 21).
        """
        if reserve.pure:
            noise = source.spherical(self.sensitivity / reserve.paid, *theta.shape)
        else:
            noise = source.integers((1 + SLACK) * self.sensitivity / reserve.paid, *theta.shape)
        return np.asarray(self.centre + (self.integers(theta) + noise) * self.step, dtype=float)

    def covering_sd(self, reserve: Reserve) -> float:
        """Return the standard deviation per coordinate of the noise that covers the error."""
        if reserve.pure:
            return self.coefficient_sensitivity / reserve.paid * math.sqrt(len(self.centre) + 1)
        return (1 + SLACK) * self.coefficient_sensitivity / reserve.paid

    def spend(self, reserve: Reserve) -> Spend:
        """Return the spend of the error."""
        statistic, covering = "computed less ideal minimizer", self.covering_sd(reserve)
        if reserve.pure:
            return Spend.pure(statistic, self.coefficient_sensitivity, covering, reserve.paid)
        return Spend.gaussian(statistic, self.coefficient_sensitivity, covering / (1 + SLACK))
