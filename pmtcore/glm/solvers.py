"""A stack of penalized fits to the same rows, each with its own linear term, ridge weights and lasso weights.

    sum_i w_i l(x_i' theta; y_i) + b' theta + sum_j q_j (theta_j - c_j)^2/2 + sum_j lam_j |theta_j| + theta' Q theta/2

Proximal Newton: the quadratic model is minimized by coordinate descent and then exactly on its active set, and the step
is halved until the objective decreases enough. After twenty steps the line search uses the slope along the step
instead, which is less affected by rounding than the objective. The result is certified: the shortest subgradient is at
most the tolerance, so by strong convexity each fit is within ``tolerance / min_j q_j`` of its minimizer. In the units
of the table the stopping rule uses Newton's decrement, which is invariant to a change of units.

Where the lasso is diagonal in other coordinates than those of the gradient steps, :class:`Proximal` computes the steps.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Generic, Protocol, TypeVar

import numpy as np

from pmtcore.glm.families import GAUSSIAN
from pmtcore.glm.rows import RowLoss, Rows

Derivatives = tuple[np.ndarray, np.ndarray]  # gradients (t, p) and Hessians (t, p, p)
Tolerance = float | Callable[[np.ndarray], np.ndarray]  # of coefficients (t, d), if not of all: (t,)
Loss_co = TypeVar("Loss_co", bound=RowLoss, covariant=True)
Measure = Callable[[np.ndarray, np.ndarray], np.ndarray]  # of subgradients (t, p) and Hessians (t, p, p): (t,)
# Number of steps with a line search on the objective. A smooth loss takes about ten steps in all. One with a
# discontinuous slope may cycle, with steps that change the objective by less than its rounding error.
_SEARCHED_BY_VALUE = 20
# Number of Newton steps; later steps use an upper bound of the curvature, which converges slowly but always.
_NEWTON_STEPS = 2_000
_MOST_STEPS = 20_000  # of both kinds; a step with the bound reduces the error by a fixed factor
_MOST_HALVINGS = 50  # most halvings of a step in the search by slope; then its length is below rounding
_SLOPE_LEFT = 0.5  # largest ratio of the slope at the end of a step to that at its start
_SWEEPS_PER_ROUND = 4  # sweeps of coordinate descent before the active set is tried, which is then mostly the final one
_MOST_ROUNDS = 16  # rounds of sweeps and active set; a step that has not converged then is computed exactly
_ROUNDS_OF_WIDE = 4  # the same for many coefficients, where a round takes longer than an exact step
_MANY_COEFFICIENTS = 64  # number of coefficients from which on there are many
_MOST_VISITS = 100  # most visits of a coordinate by the exact step; a few are usual from nearly correct signs
_LEFT_OF_LEVEL = 1e-12  # tolerance, in units of the gradient, on the subgradient of a coordinate that stays at 0
_LEAST_DECREASE = 1e-4  # least ratio of actual to predicted decrease of the objective (Armijo)
_ROUNDING = 1e-13  # rounding error of a solved quadratic model's gradient, relative to the gradient at the start
# Newton's decrement over sqrt(n) at which a fit ends; its square is the excess of the mean loss.
_CONVERGED_DECREMENT = 1e-9
# Ridge on the mean loss that gives it a minimum in directions without curvature (separable labels and no penalty).
_LEAST_RIDGE = 1e-8
# Root mean square difference of predictors up to which a Hessian is reused.
_REUSED_WITHIN = 0.2
# Most reuses of a Hessian. Where few rows determine a coefficient, predictors may agree on average while curvatures
# differ, and steps with an old Hessian would not converge.
_MOST_SERVED = 60
_LEAST_CURVATURE = 1e-6  # share of the mean curvature that is added to the diagonal before a Cholesky factor
# Bound on sweeps over the coordinates.
_MOST_SWEEPS = 200
# Change that ends the sweeps, relative to the largest coefficient: far below the noise of a step.
_SWEEP_TOLERANCE = 1e-9
# Coefficients below this share of the largest one are rounding errors of multiplying by W and its inverse.
_RELATIVE_ZERO = 1e-12


@dataclass(frozen=True)
class Proximal:
    """Proximal operator ``argmin_theta |theta - v|^2/2 + sum_j sharp_j |(W theta)_j|`` for a symmetric, invertible W.

    Attributes:
        root: W (d, d): coefficients of the table are ``W theta``.
        back: ``W^{-1}`` (d, d).
        metric: ``W^{-2}`` (d, d).
        lasso: weights (d,).
    """

    root: np.ndarray
    back: np.ndarray
    metric: np.ndarray
    lasso: np.ndarray

    @classmethod
    def of(cls, root: np.ndarray, sharp: np.ndarray) -> Proximal:
        """Return the operator for W and weights (d,), with ``W^{-1}`` and ``W^{-2}`` computed."""
        back = np.linalg.inv(root)
        return cls(root, back, back @ back, np.asarray(sharp, dtype=float))

    def step(self, v: np.ndarray) -> np.ndarray:
        """Return the minimizers (t, d) for v (t, d), by coordinate descent; v itself without weights."""
        if not np.any(self.lasso):
            return v
        goal = v @ self.root
        beta, diagonal = goal.copy(), np.diag(self.metric)
        for _ in range(_MOST_SWEEPS):
            before = beta.copy()
            for j in range(len(diagonal)):
                pull = (beta - goal) @ self.metric[:, j] - (beta[:, j] - goal[:, j]) * diagonal[j]
                unpenalized = goal[:, j] - pull / diagonal[j]
                beta[:, j] = np.sign(unpenalized) * np.maximum(np.abs(unpenalized) - self.lasso[j] / diagonal[j], 0.0)
            if np.max(np.abs(beta - before)) <= _SWEEP_TOLERANCE * max(float(np.max(np.abs(beta))), 1e-300):
                break
        return np.asarray(beta @ self.back)

    def table(self, theta: np.ndarray) -> np.ndarray:
        """Return ``W theta`` (t, d), with lasso coefficients of the size of rounding errors set to 0."""
        beta = theta @ self.root
        negligible = np.abs(beta) < _RELATIVE_ZERO * np.max(np.abs(beta), axis=1, keepdims=True)
        return np.where(negligible & (self.lasso > 0), 0.0, beta)


@dataclass(frozen=True)
class Penalty:
    """Terms of the objective besides the losses: linear term b, ridge weights q, centre c, lasso weights lam, matrix Q.

    Q is symmetric, (p, p), the same in all fits; the other terms are (t, p) each.
    """

    linear: np.ndarray
    ridge: np.ndarray
    centre: np.ndarray
    lasso: np.ndarray
    matrix: np.ndarray

    @classmethod
    def of(
        cls,
        linear: np.ndarray,
        ridge: np.ndarray | float,
        centre: np.ndarray | float = 0.0,
        lasso: np.ndarray | float = 0.0,
        *,
        matrix: np.ndarray | float = 0.0,
    ) -> Penalty:
        """Return the terms, broadcast to the shape (t, p) of the linear term; without a matrix Q is 0."""
        linear = np.atleast_2d(np.asarray(linear, dtype=float))
        t, p = linear.shape
        shapes = ((t, p), (t, p), (t, p), (p, p))
        rest = (
            np.broadcast_to(np.asarray(part, dtype=float), shape)
            for part, shape in zip((ridge, centre, lasso, matrix), shapes, strict=True)
        )
        return cls(linear, *rest)

    def subset(self, which: np.ndarray) -> Penalty:
        """Return the terms of some fits of the stack."""
        return Penalty(self.linear[which], self.ridge[which], self.centre[which], self.lasso[which], self.matrix)

    def smooth(self, theta: np.ndarray) -> np.ndarray:
        """Return the value of the differentiable terms (t,)."""
        pull = self.ridge * (theta - self.centre) ** 2 + theta * (theta @ self.matrix)
        return np.asarray(np.sum(self.linear * theta + pull / 2, axis=1))

    def gradient(self, theta: np.ndarray) -> np.ndarray:
        """Return the gradients (t, p) of the differentiable terms."""
        return np.asarray(self.linear + self.ridge * (theta - self.centre) + theta @ self.matrix)

    def lasso_value(self, theta: np.ndarray) -> np.ndarray:
        """Return the value of the lasso term (t,)."""
        return np.asarray(np.sum(self.lasso * np.abs(theta), axis=1))


@dataclass(frozen=True)
class Solution:
    """Minimizers, and the derivatives of the sum of losses at each.

    Attributes:
        theta: minimizers (t, p).
        derivatives: gradients (t, p) and Hessians (t, p, p) of the losses alone.
    """

    theta: np.ndarray
    derivatives: Derivatives


class Losses(Protocol[Loss_co]):
    """Interface of a sum of losses over rows in memory, or by passes over private rows."""

    @property
    def loss(self) -> Loss_co:
        """Return the loss of a row."""

    @property
    def count(self) -> int:
        """Return the number of rows."""

    @property
    def hessian_bound(self) -> np.ndarray:
        """Return an upper bound (p, p) of the Hessian of the sum, anywhere."""

    def value(self, theta: np.ndarray) -> np.ndarray:
        """Return the sum (t,) at coefficients (t, p)."""

    def derivatives(self, theta: np.ndarray) -> Derivatives:
        """Return gradients (t, p) and Hessians (t, p, p) of the sum at coefficients (t, p)."""


class NearHessians:
    """Cache of Hessians of a sum of losses, which returns the Hessian at an earlier point if one is near.

    A solver that ends at a short subgradient has the same result as with exact Hessians, after more steps that cost a
    gradient each. A Hessian that has been reused often is computed anew at the solver's current point.

    Args:
        own: function from coefficients (t, p) to the Hessians (t, p, p) of the sum.
        scale: number of rows times the largest curvature of a loss; the sum over it measures distances of predictors.
        near: root mean square of the difference of predictors up to which a Hessian is reused.
    """

    def __init__(self, own: Callable[[np.ndarray], np.ndarray], scale: float, near: float = _REUSED_WITHIN) -> None:
        self._own, self._scale, self._distance = own, scale, near
        self._root: np.ndarray = np.empty((0, 0))
        self._places: np.ndarray = np.empty((0, 0))
        self._hessians: list[np.ndarray] = []
        self._served: list[int] = []

    def at(self, theta: np.ndarray) -> np.ndarray:
        """Return Hessians (t, p, p) of points whose predictors are near those of coefficients (t, p)."""
        if not self._hessians:
            self._hessians, self._served = list(self._own(theta[:1])), [0]
            first = self._hessians[0]
            self._root = np.linalg.cholesky(first / self._scale + _LEAST_CURVATURE * np.eye(len(first)))
            self._places = theta[:1] @ self._root
        serving, new = [], []
        for at, place in enumerate(theta @ self._root):
            far = np.linalg.norm(self._places - place, axis=1)
            nearest = int(np.argmin(far))
            if not far[nearest] <= self._distance:
                # Made below together with the others: one pass over the rows serves them all.
                nearest = len(self._places)
                self._places = np.vstack([self._places, place])
                new.append(at)
            serving.append(nearest)
        if new:
            self._hessians += list(self._own(theta[new]))
            self._served += [0] * len(new)
        for at in set(serving):
            self._served[at] += 1
            if self._served[at] == _MOST_SERVED:
                self._places[at] = np.inf
        return np.stack([self._hessians[at] for at in serving])


@dataclass(frozen=True)
class Data(Generic[Loss_co]):
    """Rows (n, p) in memory, responses (n,), the loss, and its weight in each row (n,); ``None``: 1.

    Attributes:
        reuses_hessians: whether Hessians at near points are reused, which is faster for many rows.
    """

    loss: Loss_co
    x: np.ndarray
    y: np.ndarray
    weights: np.ndarray | None = None
    reuses_hessians: bool = False

    @property
    def count(self) -> int:
        """Return the number of rows."""
        return len(self.y)

    @cached_property
    def hessian_bound(self) -> np.ndarray:
        """Return an upper bound (p, p) of the Hessian of the sum of losses, anywhere."""
        return np.asarray(self.loss.curvature * weighted_gram(self.rows))

    @cached_property
    def rows(self) -> Rows:
        """Return the rows with their responses and weights."""
        return Rows(self.x, self.y, np.ones(len(self.y)) if self.weights is None else self.weights)

    def value(self, theta: np.ndarray) -> np.ndarray:
        """Return the sum of losses (t,) at coefficients (t, p)."""
        return loss_values(self.loss, self.rows, theta)

    def derivatives(self, theta: np.ndarray) -> Derivatives:
        """Return gradients (t, p) and Hessians (t, p, p) of the sum of losses."""
        if self.reuses_hessians:
            return self.rows.gradients(self.loss, theta), self._hessians.at(theta)
        return self.rows.sums(self.loss, theta)

    @cached_property
    def _hessians(self) -> NearHessians:
        def own(theta: np.ndarray) -> np.ndarray:
            return np.stack([self.rows.hessian(self.loss, each) for each in theta])

        return NearHessians(own, self.count * self.loss.curvature)


def weighted_gram(rows: Rows) -> np.ndarray:
    """Return ``sum w x x'`` (p, p)."""
    return np.asarray((rows.features * rows.weights[:, None]).T @ rows.features)


def loss_values(loss: RowLoss, rows: Rows, theta: np.ndarray) -> np.ndarray:
    """Return the sum of losses (t,) at coefficients (t, p)."""
    total = np.zeros(len(theta))
    for part in rows.parts(len(theta)):
        losses = loss.value(rows.features[part] @ theta.T, rows.response[part, None])
        total += (rows.weights[part, None] * losses).sum(axis=0)
    return total


def tolerance_at(tolerance: Tolerance, theta: np.ndarray) -> np.ndarray:
    """Return the tolerance at each of the coefficients, shape (t,)."""
    return tolerance(theta) if callable(tolerance) else np.full(len(theta), tolerance)


def subgradient_length(subgradient: np.ndarray, hessian: np.ndarray) -> np.ndarray:
    """Return the Euclidean lengths (t,) of subgradients (t, p); the Hessian is not used."""
    return np.asarray(np.linalg.norm(subgradient, axis=1))


def newton_decrements(gradient: np.ndarray, hessian: np.ndarray) -> np.ndarray:
    """Return Newton's decrements ``sqrt(g' H^{-1} g)`` (t,) of a smooth objective: the same in all units.

    They are infinite where a derivative is not finite or the Hessian is singular in floating point, after a long step.
    """
    with np.errstate(all="ignore"):
        try:
            step = np.linalg.solve(hessian, gradient[..., None])[..., 0]
        except np.linalg.LinAlgError:
            if len(gradient) == 1:
                return np.array([np.inf])
            return np.concatenate([newton_decrements(gradient[[t]], hessian[[t]]) for t in range(len(gradient))])
        squares = np.maximum(np.sum(gradient * step, axis=1), 0.0)
    return np.asarray(np.sqrt(np.where(np.isnan(squares), np.inf, squares)))


# A Newton step of counts can be so long that a loss overflows. The step is then halved, so the warning is suppressed.
@np.errstate(over="ignore", invalid="ignore")
def minimize(
    data: Losses[RowLoss],
    penalty: Penalty,
    tolerance: Tolerance,
    start: np.ndarray | None = None,
    *,
    measure: Measure = subgradient_length,
) -> Solution:
    """Compute the minimizers of the stack, each with a subgradient no longer than ``tolerance``.

    Args:
        data: rows and their loss.
        penalty: the other terms.
        tolerance: one number, or a function of the coefficients, as the rounding error is.
        start: initial coefficients (t, p); ``None``: the centre.
        measure: size of subgradients: :func:`subgradient_length`, or :func:`newton_decrements` without a lasso.

    Raises:
        RuntimeError: the tolerance is not reached within thousands of steps, which only rounding can cause.

    Newton steps may cycle where the slope of a loss is discontinuous; after some steps the line search therefore uses
    the slope along the step. After thousands of steps the Hessian is replaced by an upper bound of the curvature, with
    which every step decreases the objective.
    """
    theta = np.array(penalty.centre if start is None else np.broadcast_to(start, penalty.linear.shape), dtype=float)
    live, now, here = np.arange(len(theta)), penalty, theta
    losses = data.derivatives(here)
    at_end = (losses[0].copy(), losses[1].copy())
    gradient, hessian, size = _model(losses, now, here, measure)
    for count in range(_MOST_STEPS):
        going = ~(size <= tolerance_at(tolerance, here))
        if not np.any(going):
            return Solution(theta, at_end)
        if not np.all(going):
            live, now, here, size = live[going], now.subset(going), here[going], size[going]
            gradient, hessian = gradient[going], hessian[going]
        step = _step(gradient, hessian, here, now.lasso)
        tried = _flattened(data, now, here, step) if _SEARCHED_BY_VALUE <= count < _NEWTON_STEPS else here + step
        losses = data.derivatives(tried)
        bound = data.hessian_bound if count + 1 >= _NEWTON_STEPS else None
        model = _model(losses, now, tried, measure, bound=bound)
        if count < _SEARCHED_BY_VALUE:
            # A full step that halves the subgradient is accepted without a line search, which would double its cost.
            slow = ~(model[2] <= np.maximum(size / 2, tolerance_at(tolerance, tried)))
            if np.any(slow):
                tried[slow] = _line_search(data, now.subset(slow), here[slow], step[slow], gradient=gradient[slow])
                nearer = data.derivatives(tried[slow])
                for part, again in zip(losses, nearer, strict=True):
                    part[slow] = again
                for part, again in zip(model, _model(nearer, now.subset(slow), tried[slow], measure), strict=True):
                    part[slow] = again
        here, (gradient, hessian, size) = tried, model
        theta[live] = here
        at_end[0][live], at_end[1][live] = losses
    raise RuntimeError("the fit did not converge to the wanted precision")


def model_minimum(losses: Derivatives, penalty: Penalty, start: np.ndarray, tolerance: float) -> np.ndarray:
    """Return the minimizers (t, p) with the losses replaced by their quadratic model at the start.

    Args:
        losses: derivatives of the losses at the start.
        penalty: the other terms.
        start: coefficients (t, p).
        tolerance: length of a subgradient up to which the start is returned.
    """
    gradient, hessian, size = _model(losses, penalty, start, subgradient_length)
    going = ~(size <= tolerance)
    theta = start.copy()
    theta[going] += _step(gradient[going], hessian[going], start[going], penalty.lasso[going])
    return theta


def fit(
    data: Losses[RowLoss],
    penalty: np.ndarray,
    start: np.ndarray | None = None,
    *,
    least_ridge: float = _LEAST_RIDGE,
) -> np.ndarray:
    """Return the coefficients (d,) that minimize ``mean loss + theta' penalty theta / 2``, to rounding.

    Args:
        data: rows and their loss.
        penalty: (d, d).
        start: first coefficients (d,); 0 if None.
        least_ridge: added to the penalty.
    """
    n, zero = data.count, np.zeros((1, len(penalty)))
    terms, size = Penalty.of(zero, n * least_ridge, matrix=n * penalty), math.sqrt(n)
    if data.loss is GAUSSIAN:
        # A squared loss has the response's unit squared: the decrement at 0, the length of the fit, sets the scale.
        size = float(_model(data.derivatives(zero), terms, zero, newton_decrements)[2][0])
    return np.asarray(minimize(data, terms, _CONVERGED_DECREMENT * size, start, measure=newton_decrements).theta[0])


def _model(
    losses: Derivatives, penalty: Penalty, theta: np.ndarray, measure: Measure, *, bound: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return gradients (t, p) and Hessians (t, p, p) of the smooth part, and sizes (t,) of the shortest subgradients.

    Args:
        losses: derivatives of the sum of losses at theta; they are not modified.
        penalty: the quadratic, linear and absolute terms.
        theta: coefficients (t, p).
        measure: size of the subgradients.
        bound: an upper bound (p, p) of the curvature of the losses, which replaces their Hessian.
    """
    gradient = losses[0] + penalty.gradient(theta)
    hessian = losses[1].copy() if bound is None else np.repeat(bound[None], len(theta), axis=0)
    diagonal = np.arange(theta.shape[1])
    hessian[:, diagonal, diagonal] += penalty.ridge
    hessian += penalty.matrix
    return gradient, hessian, measure(shortest_subgradient(gradient, theta, penalty.lasso), hessian)


def shortest_subgradient(gradient: np.ndarray, theta: np.ndarray, lasso: np.ndarray) -> np.ndarray:
    """Return the shortest subgradient (t, p) of smooth part plus ``sum lam_j |theta_j|``."""
    inside = np.sign(gradient) * np.maximum(np.abs(gradient) - lasso, 0.0)
    return np.where(theta != 0, gradient + lasso * np.sign(theta), inside)


def _soft(values: np.ndarray, threshold: np.ndarray) -> np.ndarray:
    return np.asarray(np.sign(values) * np.maximum(np.abs(values) - threshold, 0.0))


def _step(gradient: np.ndarray, hessian: np.ndarray, theta: np.ndarray, lasso: np.ndarray) -> np.ndarray:
    """Return the minimizers (t, p) of ``g'd + d'Hd/2 + sum lam |theta + d|``."""
    if not np.any(lasso):
        return np.asarray(-np.linalg.solve(hessian, gradient[..., None])[..., 0])
    end = theta.copy()  # theta + d
    todo = np.arange(len(theta))
    accuracy = _ROUNDING * (np.linalg.norm(gradient, axis=1) + np.linalg.norm(lasso, axis=1))
    for count in range(_MOST_ROUNDS if theta.shape[1] < _MANY_COEFFICIENTS else _ROUNDS_OF_WIDE):
        h, lam = hessian[todo], lasso[todo]
        level = gradient[todo] - np.einsum("tij,tj->ti", h, theta[todo])  # model gradient at end: level + H end
        # In the last iterations signs and zeros do not change, and no sweep is needed.
        swept = _after_sweeps(level, h, end[todo], lam) if count else end[todo]
        end[todo] = _finished(level, h, swept, lam)
        slope = level + np.einsum("tij,tj->ti", h, end[todo])
        unfinished = np.linalg.norm(shortest_subgradient(slope, end[todo], lam), axis=1) > np.maximum(
            accuracy[todo], 1e-12 * np.linalg.norm(level, axis=1)
        )
        todo = todo[unfinished]
        if not len(todo):
            break
    for t in todo:  # strongly correlated coordinates, for which sweeps converge too slowly
        level = gradient[t] - hessian[t] @ theta[t]
        end[t] = _exact_step(level, hessian[t], lasso[t], end[t])
    return np.asarray(end - theta)


def _exact_step(level: np.ndarray, hessian: np.ndarray, lasso: np.ndarray, start: np.ndarray) -> np.ndarray:
    """Return the minimizer (p,) of ``level' e + e'He/2 + sum lam |e|`` by a search over signs (Lee et al. 2007).

    The search goes to the minimizer for the current signs if that has these signs. Otherwise it goes to the lowest
    point on the way there at which a coordinate becomes 0. Once signs agree, the coordinate at 0 that violates its
    subgradient condition most is released. Each iteration decreases the objective, so that no set of signs recurs and
    the search ends.

    Args:
        level: slope of the smooth part at 0 (p,).
        hessian: its second derivative (p, p).
        lasso: weights lam (p,).
        start: initial coefficients (p,); the nearer their signs to the solution's, the faster.
    """
    end, free = start.copy(), lasso == 0
    active, sign = (end != 0) | free, np.sign(end)
    small = _LEFT_OF_LEVEL * (np.linalg.norm(level) + np.linalg.norm(lasso))
    for _ in range(_MOST_VISITS * len(level)):
        at = np.flatnonzero(active)
        h, lam, now = hessian[np.ix_(at, at)], lasso[at], end[at]
        aim = np.linalg.solve(h, -(level[at] + lam * sign[at]))
        turned = (aim * sign[at] < 0) & ~free[at]
        if np.any(turned):
            way = aim - now
            lengths = -now / np.where(turned, way, 1.0)  # where a coordinate that changes its sign is 0
            tried = np.append(lengths[turned], 1.0)
            lowest = np.abs(now + tried[:, None] * way) @ lam
            lowest += tried * (way @ (level[at] + h @ now)) + tried**2 * (way @ h @ way) / 2
            length = float(tried[np.argmin(lowest)])
            if length == 0:  # the coordinate released last would change its sign: its violation was rounding error
                break
            end[at] = np.where(turned & (lengths == length), 0.0, now + length * way)
            active, sign = (end != 0) | free, np.sign(end)
            continue
        end[at] = aim
        slope = level + hessian @ end
        beyond = np.where(active, -np.inf, np.abs(slope) - lasso)
        worst = int(np.argmax(beyond))
        if beyond[worst] <= small:
            break
        active[worst], sign[worst] = True, -np.sign(slope[worst])
    return end


def _after_sweeps(level: np.ndarray, hessian: np.ndarray, end: np.ndarray, lasso: np.ndarray) -> np.ndarray:
    """Return the coefficients (t, p) after some sweeps of coordinate descent, all fits at once."""
    end = end.copy()
    slope = level + np.einsum("tij,tj->ti", hessian, end)
    for _ in range(_SWEEPS_PER_ROUND):
        for j in range(end.shape[1]):
            curvature = hessian[:, j, j]
            new = _soft(end[:, j] - slope[:, j] / curvature, lasso[:, j] / curvature)
            slope += hessian[:, j] * (new - end[:, j])[:, None]  # a row: the Hessian is symmetric, and rows contiguous
            end[:, j] = new
    return end


def _finished(level: np.ndarray, hessian: np.ndarray, end: np.ndarray, lasso: np.ndarray) -> np.ndarray:
    """Return the minimizers for the current signs and zeros; where signs would change, the coefficients unchanged.

    Coefficients without a lasso weight may have any sign.
    """
    free = lasso == 0
    active = ((end != 0) | free).astype(float)
    p = end.shape[1]
    reduced = hessian * active[:, :, None] * active[:, None, :]
    reduced[:, np.arange(p), np.arange(p)] += 1 - active
    right = -(level + lasso * np.sign(end)) * active
    solved = np.linalg.solve(reduced, right[..., None])[..., 0]
    agrees = np.all((solved * end >= 0) | free, axis=1) & np.all(np.isfinite(solved), axis=1)
    return np.where(agrees[:, None], solved, end)


def _line_search(
    data: Losses[RowLoss], penalty: Penalty, theta: np.ndarray, step: np.ndarray, *, gradient: np.ndarray
) -> np.ndarray:
    """Return the ends (t, p) of steps halved until the objective falls by a share of the predicted decrease."""
    before = data.value(theta) + penalty.smooth(theta) + penalty.lasso_value(theta)
    predicted = np.sum(gradient * step, axis=1) + penalty.lasso_value(theta + step) - penalty.lasso_value(theta)
    rounding = 1e-11 * (1 + np.abs(before))
    length = np.ones(len(theta))
    live = np.flatnonzero(-predicted > rounding)  # a smaller decrease is below the objective's rounding error
    for _ in range(50):
        if not len(live):
            break
        tried = theta[live] + length[live, None] * step[live]
        now = penalty.subset(live)
        after = data.value(tried) + now.smooth(tried) + now.lasso_value(tried)
        short = after > before[live] + _LEAST_DECREASE * length[live] * predicted[live] + rounding[live]
        live = live[short]
        length[live] /= 2
    return np.asarray(theta + length[:, None] * step)


def _flattened(data: Losses[RowLoss], penalty: Penalty, theta: np.ndarray, step: np.ndarray) -> np.ndarray:
    """Return the end of each step (t, p), with a length found by bisection on the slope along the step.

    The slope increases along a step, since the objective is convex. It is more precise in floating point than a
    difference of objectives.
    """
    length, low, high = np.ones(len(theta)), np.zeros(len(theta)), np.ones(len(theta))
    start = np.abs(_slope(data, penalty, theta, step))
    live = np.arange(len(theta))
    for _ in range(_MOST_HALVINGS):
        now = _slope(data, penalty.subset(live), theta[live] + length[live, None] * step[live], step[live])
        beyond, short = now > _SLOPE_LEFT * start[live], (now < -_SLOPE_LEFT * start[live]) & (length[live] < 1)
        high[live[beyond]] = length[live[beyond]]
        low[live[short]] = length[live[short]]
        live = live[beyond | short]
        if not len(live):
            break
        length[live] = (low[live] + high[live]) / 2
    return np.asarray(theta + length[:, None] * step)


def _slope(data: Losses[RowLoss], penalty: Penalty, theta: np.ndarray, step: np.ndarray) -> np.ndarray:
    """Return the derivative (t,) of the objective along a step."""
    gradient = data.derivatives(theta)[0] + penalty.gradient(theta)
    return np.asarray(np.sum((gradient + penalty.lasso * np.sign(theta)) * step, axis=1))
