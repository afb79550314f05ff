"""Ridge prior of the coefficients from public rows alone: a centre and its covariance (proofs/gradients.md, 16).

The penalty is in units of the columns' variance and leaves the intercept free, so neither the unit nor the offset of
a column matters. Along a path of penalties each public row is left out once (exactly for least squares, by one Newton
step elsewhere). Two penalties are chosen from the path. The one with the least left-out loss gives fit and covariance

    b = argmin mean loss + (lam/2)||beta||^2 + (a/2) beta'D beta,   C = (phi/m) (H + lam I + a D)^{-1},

with ``phi`` the left-out dispersion, and a at most 0.3 in C, 0.03 for least squares. Whitening uses another penalty, at
most 0.1: the least one whose left-out loss is within a standard error of the best and whose effective number of columns
is at most half the number of rows. It bounds the factor by which whitening inflates a direction with little variance in
the public rows. With many rows both penalties are negligible.

With few public rows per column their least-squares fit is unstable, and so is the Cholesky factor of their moment.
:func:`ridge_regularized_public` replaces both: the release then corrects the ridge fit, in coordinates whitened with
the whitening penalty. With many public rows nothing changes.

Labels that are almost separated in few public rows have no finite fit, and the public Hessian is singular along some
direction. :func:`weakly_informed_fit` multiplies the ridge prior by a normal prior of standard deviation 1 on whitened
coefficients: one standard deviation of a column changes the linear predictor by about 1 (after Gelman et al., 2008).
This prior counts as much as a handful of public rows. On *tune* a standard deviation of 1 is as good as 2.5 at five
public rows a column, and has .88, .92 and .94 of its error at two and fewer (mu .15, .5, 1.5). The fit is the posterior
mode, and its covariance is computed from the Hessian at that mode.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from weakref import WeakKeyDictionary

import numpy as np
from scipy.linalg import solve_triangular

from pmtcore.base.computed_once import computed_once
from pmtcore.glm import solvers
from pmtcore.glm.families import GAUSSIAN, Family
from pmtcore.glm.rows import Rows
from pmtcore.glm.solvers import Data
from pmtcore.public.cholesky import triangular_root
from pmtcore.public.moments import PublicData, RidgeFitCovariance

# Penalties in units of the spread, from one that shrinks all coefficients to zero to none.
_PENALTY_PATH = np.append(np.geomspace(30.0, 1e-5, 14), 0.0)
# Spread that the intercept, whose own is 0, has in the stabilizing ridge.
_LEAST_SPREAD = 1e-6
# Lower bound on 1 - leverage * slope: a left-out linear predictor changes by at most fifty residuals.
_LEAST_RESIDUAL_SHARE = 0.02
# Lower bound on the dispersion of labels and counts: few public rows may fit well by chance.
_DISPERSION_FLOOR = 0.3
# With some twenty rows leave-one-out is uninformative of the penalty, so whitening and covariance use at most these.
_MOST_WHITENING_PENALTY, _MOST_COVARIANCE_PENALTY = 0.1, 0.3
# For least squares: intervals of 35 settings of *tune* covered 0.93, 0.93, 0.95, 0.95 at 0.3 and 0.95 to 0.96 at 0.03.
_MOST_COVARIANCE_PENALTY_LINEAR = 0.03
# Largest effective number of columns per public row in the whitening.
_COLUMNS_PER_ROW = 0.5
# Penalty at which the decomposition of the path is made; it keeps the rounding errors along the whole path small.
_REFERENCE_PENALTY = 1e-2
# Lower bound on a curvature relative to that at the reference penalty; below it a curvature is rounding error.
_LEAST_SHARE = 1e-14
# Leave-one-out log likelihoods distinguish two models with at least a hundred rows where their sums differ by more than
# four and more than a standard error (Sivula, Magnusson, Matamoros and Vehtari, arXiv 2008.10296).
_CLEAR_DECREASE, _CLEAR_ROWS = 4.0, 100
# Most reweightings of the penalties by the coefficients; they end sooner where left-out losses stop falling.
_MOST_REWEIGHTINGS = 4
_TINY = np.finfo(float).tiny
# Ridge, in units of the spread, that gives a direction without curvature a solution.
_STABILIZING_RIDGE = 1e-10
# Standard deviations of whitened coefficients and of the intercept on the scale of the linear predictor.
COEFFICIENT_SD, INTERCEPT_SD = 1.0, 10.0
# Upper bound on the ridge in the covariance of the weakly informed fit, as in the ridge prior.
_LARGEST_RIDGE = 0.3


@dataclass(frozen=True, eq=False)
class RidgePrior:
    """Centre and covariance of the coefficients in the units of the table, from public rows.

    Attributes:
        coefficients: ridge fit (d,) at the penalty with the least left-out loss.
        covariance: covariance (d, d) of this fit around the population fit.
        whitening: penalty for whitening, in units of :attr:`spread`.
        penalty: penalty of the fit, in units of :attr:`shape`.
        spread: variance of each column (d,); 0 for the intercept.
        shape: factor of the penalty in each squared coefficient (d,): the spread times the weight of the coefficient
            under a Cauchy prior.
        dispersion: left-out ``phi``: mean squared residual over mean slope.
    """

    coefficients: np.ndarray
    covariance: np.ndarray
    whitening: float
    penalty: float
    spread: np.ndarray
    shape: np.ndarray
    dispersion: float

    def whitening_root(self, x: np.ndarray) -> np.ndarray:
        """Return the Cholesky factor ``L_x`` (d, d) of the public feature moment with the whitening ridge.

        Args:
            x: public features (m, d).
        """
        rows = np.vstack([x / math.sqrt(len(x)), np.diag(np.sqrt(self.whitening * self.spread))])
        upper = triangular_root(rows)
        return np.asarray((upper * np.sign(np.diag(upper))[:, None]).T)

    def whitened(self, root: np.ndarray, scale: float = 1.0) -> tuple[np.ndarray, np.ndarray]:
        """Return centre (d,) and covariance (d, d) in the coordinates ``root' beta/scale``.

        Args:
            root: Cholesky factor (d, d) of the features.
            scale: unit of the response.
        """
        return root.T @ self.coefficients / scale, root.T @ self.covariance @ root / scale**2


@dataclass(frozen=True)
class _Point:
    """Ridge fit at one penalty of the path.

    Attributes:
        penalty: in units of the spread.
        coefficients: (d,).
        losses: left-out losses (m,).
        hessian: Hessian (d, d) of the mean loss, without penalties.
        dispersion: left-out mean squared residual over mean slope.
        columns: effective number of columns, the trace of the hat matrix.
    """

    penalty: float
    coefficients: np.ndarray
    losses: np.ndarray
    hessian: np.ndarray
    dispersion: float
    columns: float


@computed_once(most=1)
def ridge_prior(public: PublicData) -> RidgePrior:
    """Return the ridge prior of these public rows; it is computed once per table.

    Raises:
        ValueError: there are no public rows, or rows without the response.
    """
    if public.rows is None or not public.labelled:
        raise ValueError("labelled public rows are needed")
    x, y, penalties = public.rows[:, :-1], public.rows[:, -1], public.lam * public.penalty_shape
    return prior_of(public.family, x, y, public.penalized, penalties=penalties, weights=public.weights)


def prior_of(
    family: Family,
    x: np.ndarray,
    y: np.ndarray,
    free: np.ndarray,
    *,
    penalties: np.ndarray,
    weights: np.ndarray | None = None,
) -> RidgePrior:
    """Estimate the ridge prior from rows.

    Args:
        family: family of the response.
        x: features (m, d).
        y: responses (m,).
        free: 0 for the intercept, 1 for each other column, shape (d,).
        penalties: penalties (d,) that belong to the problem itself; the population fit has them too.
        weights: of the loss of each row (m,); ``None``: all the same.
    """
    m = len(x)
    data, linear = Data(family, x, y, weights), family.id == "gaussian"
    spread = free * (np.mean(x**2, axis=0) - (np.mean(x, axis=0) ** 2 if not free.all() else 0.0))
    problem_penalties = penalties + _STABILIZING_RIDGE * np.maximum(spread, _LEAST_SPREAD)
    path = _path(data, spread, problem_penalties)
    ridge = _least_loss(path)
    # For least squares a Gram matrix is released, beside which a better public fit gains little (decision 109).
    best, shape = (ridge, spread) if linear else _reweighted(data, ridge, problem_penalties, spread=spread)
    excess_losses = [point.losses - ridge.losses for point in path]
    as_good = [
        p.penalty
        for p, excess in zip(path, excess_losses, strict=True)
        if np.mean(excess) <= np.std(excess) / np.sqrt(m)
    ]
    most = _MOST_COVARIANCE_PENALTY_LINEAR if linear else _MOST_COVARIANCE_PENALTY
    penalized = best.hessian + np.diag(best.penalty * shape + problem_penalties)
    curvature = penalized - np.diag(max(best.penalty - most, 0.0) * shape)
    covariance = best.dispersion / m * np.linalg.inv(curvature)
    supported = [point.penalty for point in path if point.columns <= _COLUMNS_PER_ROW * m]
    # With two or three public rows no penalty may leave few enough columns; then the largest is used.
    whitening = min(max(min(as_good), min(supported, default=_PENALTY_PATH[0])), _MOST_WHITENING_PENALTY)
    return RidgePrior(best.coefficients, covariance, whitening, best.penalty, spread, shape, best.dispersion)


def _path(data: Data[Family], shape: np.ndarray, problem_penalties: np.ndarray) -> list[_Point]:
    """Return the fits of the path with their left-out losses.

    Args:
        data: public rows.
        shape: factor of the penalty in each squared coefficient (d,).
        problem_penalties: (d,), the same along the path.
    """
    fit, path = np.zeros(len(shape)), []
    gradient, hessian = _mean_derivatives(data, fit)
    linear = data.loss.id == "gaussian"
    together = _LeastSquares.of(data.rows, hessian + np.diag(problem_penalties), shape) if linear else None
    for a in _PENALTY_PATH:
        if together is not None:
            fit, leverage = together.at(float(a))
        else:
            penalty_matrix = np.diag(a * shape + problem_penalties)
            if linear:
                fit = np.linalg.solve(hessian + penalty_matrix, -gradient)
            else:
                fit = solvers.fit(data, penalty_matrix, fit, least_ridge=0.0)
                hessian = _mean_derivatives(data, fit)[1]
            leverage = _leverage(data.x, hessian + penalty_matrix)
        path.append(_left_out(data, float(a), hessian, fit, leverage=leverage))
    return path


def _least_loss(path: list[_Point]) -> _Point:
    """Return the fit with the least mean left-out loss."""
    return min(path, key=lambda point: float(np.mean(point.losses)))


def _reweighted(
    data: Data[Family], ridge: _Point, problem_penalties: np.ndarray, *, spread: np.ndarray
) -> tuple[_Point, np.ndarray]:
    """Return the fit under a Cauchy prior and its penalty's shape (d,), where leave-one-out clearly prefers it.

    A common penalty shrinks a large coefficient among small ones by more than its standard error, which the covariance
    does not contain. Where the two fits do not differ significantly in left-out loss, or there are fewer than a hundred
    rows, the ridge fit is returned.

    Args:
        data: public rows.
        ridge: the best fit with a common penalty.
        problem_penalties: (d,).
        spread: variance of each column (d,).
    """
    m, best, shape = len(data.x), ridge, spread
    for _ in range(_MOST_REWEIGHTINGS if ridge.penalty and m >= _CLEAR_ROWS else 0):
        weighted = spread * _cauchy_weights(best, shape, problem_penalties, spread=spread, m=m)
        better = _least_loss(_path(data, weighted, problem_penalties))
        if np.mean(better.losses) >= np.mean(best.losses):
            break
        best, shape = better, weighted
    fall = ridge.losses - best.losses
    is_clear = np.sum(fall) > max(_CLEAR_DECREASE * ridge.dispersion, float(np.std(fall)) * math.sqrt(m))
    return (best, shape) if is_clear else (ridge, spread)


def _cauchy_weights(
    point: _Point, shape: np.ndarray, problem_penalties: np.ndarray, *, spread: np.ndarray, m: int
) -> np.ndarray:
    """Return the weight (d,) of each coefficient's penalty under a Cauchy prior, by one step of the EM algorithm.

    A Cauchy effect is normal with a precision that is gamma(1/2, 1/2) in units of the prior's. Given the effect e, the
    precision has mean ``2/(1 + e^2/s^2)`` with prior variance ``s^2 = phi/(m a)``. The posterior mean of e^2 includes
    the variance of the fit.

    Args:
        point: the current fit.
        shape: factor of its penalty in each squared coefficient (d,).
        problem_penalties: (d,).
        spread: variance of each column (d,).
        m: number of public rows.
    """
    unit = point.dispersion / m
    variance = unit * np.diag(np.linalg.inv(point.hessian + np.diag(point.penalty * shape + problem_penalties)))
    squares = spread * (point.coefficients**2 + variance)
    return np.asarray(2 * unit / np.maximum(unit + squares * point.penalty, _TINY))


def _mean_derivatives(data: Data[Family], fit: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return gradient (d,) and Hessian (d, d) of the mean loss."""
    gradient, hessian = data.derivatives(fit[None])
    return gradient[0] / data.count, hessian[0] / data.count


@dataclass(frozen=True, eq=False)
class _LeastSquares:
    """Ridge regressions for all penalties of the path, from one decomposition.

    With ``M = H_0 + r D = L L'`` at a reference penalty r and ``L^{-1} D L^{-T} = Q S Q'``, the Hessian at a is
    ``L Q (I + (a - r) S) Q' L'``. After one Cholesky factor and one eigendecomposition, each a costs only products of
    matrices with vectors.

    Attributes:
        rows: rows of the fit.
        hessian: ``H_0`` (d, d), without the penalty of the path.
        spread: D (d,).
        basis: ``L^{-T} Q`` (d, d).
        squares: squared coordinates of the rows in this basis (m, d).
        shares: S (d,).
    """

    rows: Rows
    hessian: np.ndarray
    spread: np.ndarray
    basis: np.ndarray
    squares: np.ndarray
    shares: np.ndarray

    @classmethod
    def of(cls, rows: Rows, hessian: np.ndarray, spread: np.ndarray) -> _LeastSquares | None:
        """Return the decomposition, or ``None`` where rounding leaves the reference without a Cholesky factor."""
        try:
            root = np.linalg.cholesky(hessian + np.diag(_REFERENCE_PENALTY * spread))
        except np.linalg.LinAlgError:
            return None
        half = solve_triangular(root, np.diag(np.sqrt(spread)), lower=True, check_finite=False)
        shares, vectors = np.linalg.eigh(half @ half.T)
        basis = solve_triangular(root, vectors, lower=True, trans="T", check_finite=False)
        return cls(rows, hessian, spread, basis, (rows.features @ basis) ** 2, np.maximum(shares, 0.0))

    def at(self, penalty: float) -> tuple[np.ndarray, np.ndarray]:
        """Return fit (d,) and leverages of the rows (m,) at a penalty.

        The fit is refined once, by the residual of its normal equations.
        """
        x, m = self.rows.features, len(self.rows.features)
        scale = 1 / np.maximum(1 + (penalty - _REFERENCE_PENALTY) * self.shares, _LEAST_SHARE)
        right = x.T @ (self.rows.weights * self.rows.response) / m
        fit = self.basis @ (scale * (self.basis.T @ right))
        residual = right - self.hessian @ fit - penalty * self.spread * fit
        return fit + self.basis @ (scale * (self.basis.T @ residual)), self.squares @ scale / m


def _leverage(x: np.ndarray, hessian: np.ndarray) -> np.ndarray:
    """Return the leverages of rows (m,) at a penalized Hessian of the mean loss (d, d)."""
    return np.asarray(np.einsum("ij,jk,ik->i", x, np.linalg.inv(hessian), x, optimize=True) / len(x))


def _left_out(
    data: Data[Family], penalty: float, hessian: np.ndarray, coefficients: np.ndarray, *, leverage: np.ndarray
) -> _Point:
    """Compute the fit's left-out losses from the predictors ``z - h w r/(1 - h w b'')``, exact for least squares.

    Args:
        data: the rows.
        penalty: of the fit, in units of the spread.
        hessian: Hessian (d, d) of the mean loss at the fit, without penalties.
        coefficients: (d,).
        leverage: of the rows (m,), at this Hessian and penalty.
    """
    family, x, y, weights = data.loss, data.x, data.y, data.rows.weights
    m, z = len(x), x @ coefficients
    slope = weights * family.slope(z)
    residual = weights * (y - family.mean(z))
    left_out = z - leverage * residual / np.maximum(1 - leverage * slope, _LEAST_RESIDUAL_SHARE)
    residual = weights * (y - family.mean(left_out))
    columns = float(np.sum(leverage * slope))
    inflation = 1 + columns / m
    dispersion = float(np.mean(residual**2) / max(float(np.mean(weights * family.slope(left_out))), 1e-300)) / inflation
    dispersion_floor = 0.0 if family.id == "gaussian" else _DISPERSION_FLOOR
    return _Point(
        penalty,
        coefficients,
        weights * (family.loss(left_out) - y * left_out),
        hessian,
        max(dispersion, dispersion_floor),
        columns,
    )


_REGULARIZED: WeakKeyDictionary[PublicData, PublicData] = WeakKeyDictionary()  # public figures only


def ridge_regularized_public(public: PublicData) -> PublicData:
    """Return the same public rows in the coordinates of their ridge prior.

    Data with only a moment, without labels, or of a family other than the Gaussian are returned unchanged.
    """
    if public.rows is None or public.m is None or public.family is not GAUSSIAN or not public.labelled:
        return public
    if public not in _REGULARIZED:
        _REGULARIZED[public] = _ridge_regularized(public, public.rows, public.m)
    return _REGULARIZED[public]


def _ridge_regularized(public: PublicData, rows: np.ndarray, m: int) -> PublicData:
    """Compute the ridge-regularized factor, and the covariance and leverage of the ridge fit."""
    prior, x, d = ridge_prior(public), rows[:, :-1], public.d
    residual_scale = math.sqrt(prior.dispersion)
    root = prior.whitening_root(x)
    factor = np.zeros((d + 1, d + 1))
    factor[:d, :d], factor[-1, :d], factor[-1, -1] = root, root.T @ prior.coefficients, residual_scale
    moment = x.T @ x / m
    inverse = np.linalg.inv(moment + np.diag(prior.penalty * prior.shape))
    leverage = np.einsum("ij,jk,ik->i", x, inverse, x, optimize=True) / m
    covariance = prior.whitened(root, residual_scale)[1]
    half = root.T @ inverse
    shrinkage = covariance - half @ moment @ inverse @ root / m
    return replace(public, factor=factor, ridge_fit=RidgeFitCovariance(covariance, leverage, half @ root, shrinkage))


def prior_precision(features: np.ndarray) -> np.ndarray:
    """Return the prior precision (d, d) of whitened coefficients, from whitened public rows (k, d).

    With mean row u the covariance is ``COEFFICIENT_SD^2 I + (INTERCEPT_SD^2 - COEFFICIENT_SD^2) u u'``, so that the
    base rate is almost free; where there is an intercept, u is its axis.
    """
    d = features.shape[1]
    mean = np.mean(features, axis=0)
    covariance = COEFFICIENT_SD**2 * np.eye(d) + (INTERCEPT_SD**2 - COEFFICIENT_SD**2) * np.outer(mean, mean)
    return np.asarray(np.linalg.inv(covariance))


def weakly_informed_fit(
    family: Family,
    features: np.ndarray,
    response: np.ndarray,
    penalty: np.ndarray,
    *,
    ridge: tuple[float, np.ndarray],
    dispersion: float,
    rows: int,
    weights: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """Return the posterior mode (d,) and its covariance (d, d) around the population fit.

    Args:
        family: of the response.
        features: public rows (k, d) in whitened coordinates.
        response: (k,).
        penalty: penalty (d, d) that belongs to the problem itself; the population fit has it too.
        ridge: the penalty chosen by leave-one-out, and the matrix (d, d) that it multiplies.
        dispersion: left-out mean squared residual over mean slope.
        rows: number of public rows; more than k where only a subset is used.
        weights: of the loss of each row (k,).
    """
    amount, shape = ridge
    fixed = penalty + dispersion / rows * prior_precision(features)
    mode = solvers.fit(Data(family, features, response, weights), fixed + amount * shape)
    hessian = (features * (weights * family.slope(features @ mode))[:, None]).T @ features / len(features)
    precision = hessian + fixed + min(amount, _LARGEST_RIDGE) * shape
    return mode, dispersion / rows * np.linalg.inv(precision)
