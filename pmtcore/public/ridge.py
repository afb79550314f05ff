"""A ridge prior from public rows alone: where the coefficients lie, and how far that is to be doubted (maths.md, 16).

The penalty is in units of the columns' own spread, the intercept free, so that neither units nor an offset of a column
matter. Along a path of penalties every public row is left out once (exactly for least squares, by one Newton step
elsewhere). Two penalties are read off: the best one gives the fit and its covariance

    b = argmin mean loss + (lam/2)||beta||^2 + (a/2) beta'D beta,   C = (phi/m) (H + lam I + a D)^{-1},

``phi`` the left-out dispersion, a at most 0.3 in C, 0.03 for least squares. The least one within a standard error of
the best that leaves no more columns than half the rows is enough to whiten with, at most 0.1: it keeps a direction that
few public rows show from being blown up. With many rows both are next to nothing.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import final
from weakref import WeakKeyDictionary

import numpy as np

from pmtcore.glm.families import Family
from pmtcore.public.moments import PublicData

_PENALTIES = np.append(np.geomspace(30.0, 1e-5, 14), 0.0)  # of the spread; from nothing left to no effect
_STEPS = 60  # of Newton; never met
_NEAR = 1e-6  # relative: below what any figure prints
_LEAST_SLACK = 0.02  # of a row's own share: a left-out prediction never moves by more than fifty residuals
_LEAST_DISPERSION = 0.3  # few public labels that happen to fit well do not make a model certain
# where a score of rows decide, leaving one out tells little of the penalty: coordinates and doubt rely on no more of it
_MOST_WHITENING, _MOST_BELIEVED = 0.1, 0.3
# For least squares: bands of 35 settings of *tune* covered 0.93, 0.93, 0.95, 0.95 at 0.3 and 0.95 to 0.96 at 0.03
_MOST_BELIEVED_LINEAR = 0.03
_SHOWN = 0.5  # columns for each row that whitening may rest on: two rows show a direction, one may blow it up
_HELD = 1e-10  # of the spread: a direction without curvature keeps a solution


@final
@dataclass(frozen=True, eq=False)
class RidgePrior:
    """Coefficients (d,) in the units of the table and their covariance (d, d), from public rows.

    Attributes:
        fit: the ridge fit at the best left-out penalty.
        covariance: of the distance from it to the population's own fit.
        whitening: penalty that is enough to whiten with, in units of :attr:`spread`.
        penalty: penalty of the fit, in the same units.
        spread: squared spread of each column (d,); 0 for the intercept.
        dispersion: left-out ``phi``: mean squared residual over mean slope.
    """

    fit: np.ndarray
    covariance: np.ndarray
    whitening: float
    penalty: float
    spread: np.ndarray
    dispersion: float

    def whitening_root(self, x: np.ndarray) -> np.ndarray:
        """``L_x`` (d, d): of the moment of public features (m, d) with the ridge that is enough."""
        rows = np.vstack([x / math.sqrt(len(x)), np.diag(np.sqrt(self.whitening * self.spread))])
        upper = np.linalg.qr(rows, mode="r")
        return np.asarray((upper * np.sign(np.diag(upper))[:, None]).T)

    def whitened(self, root: np.ndarray, scale: float = 1.0) -> tuple[np.ndarray, np.ndarray]:
        """Centre (d,) and covariance (d, d) in coordinates ``root' beta/scale``."""
        return root.T @ self.fit / scale, root.T @ self.covariance @ root / scale**2


@final
@dataclass(frozen=True)
class _Point:
    """One penalty of the path: fit, left-out losses (m,), penalized Hessian (d, d), dispersion, columns it leaves."""

    penalty: float
    fit: np.ndarray
    losses: np.ndarray
    hessian: np.ndarray
    dispersion: float
    columns: float


_CACHE: WeakKeyDictionary[PublicData, RidgePrior] = WeakKeyDictionary()  # public figures only


def ridge_prior(public: PublicData) -> RidgePrior:
    """The prior that these public rows give.

    Raises:
        ValueError: no public rows, or rows without the response.
    """
    if public.rows is None or not public.labelled:
        raise ValueError("labelled public rows are needed")
    if public not in _CACHE:
        free = np.ones(public.d)
        free[0] = 0.0 if public.has_intercept else 1.0
        _CACHE[public] = prior_of(public.family, public.rows[:, :-1], public.rows[:, -1], free, public.lam)
    return _CACHE[public]


def prior_of(family: Family, x: np.ndarray, y: np.ndarray, free: np.ndarray, lam: float) -> RidgePrior:
    """The prior from rows (m, d) and (m,).

    Args:
        free: (d,), 0 for the intercept, 1 elsewhere.
        lam: the problem's own penalty, part of what is fitted.
    """
    m = len(x)
    spread = free * (np.mean(x**2, axis=0) - (np.mean(x, axis=0) ** 2 if not free.all() else 0.0))
    path, fit = [], np.zeros(x.shape[1])
    for a in _PENALTIES:
        held = np.diag(a * spread + lam * free + _HELD * np.maximum(spread, _NEAR))
        path.append(_left_out(family, x, y, float(a), held, _ridge_fit(family, x, y, held, fit)))
        fit = path[-1].fit
    best = min(path, key=lambda point: float(np.mean(point.losses)))
    apart = [point.losses - best.losses for point in path]
    enough = [p.penalty for p, each in zip(path, apart, strict=True) if np.mean(each) <= np.std(each) / np.sqrt(m)]
    most = _MOST_BELIEVED_LINEAR if family.id == "gaussian" else _MOST_BELIEVED
    believed = best.hessian - np.diag(max(best.penalty - most, 0.0) * spread)
    covariance = best.dispersion / m * np.linalg.inv(believed)
    sure = [point.penalty for point in path if point.columns <= _SHOWN * m]
    whitening = min(max(min(enough), min(sure)), _MOST_WHITENING)
    return RidgePrior(best.fit, covariance, whitening, best.penalty, spread, best.dispersion)


def _ridge_fit(family: Family, x: np.ndarray, y: np.ndarray, held: np.ndarray, start: np.ndarray) -> np.ndarray:
    """Newton's method, damped where a step would move a prediction by more than 1."""
    fit = start.copy()
    for _ in range(_STEPS):
        z = x @ fit
        gradient = x.T @ (family.mean(z) - y) / len(x) + held @ fit
        hessian = (x * family.slope(z)[:, None]).T @ x / len(x) + held
        step = np.linalg.solve(hessian, gradient)
        move = float(np.max(np.abs(x @ step)))
        linear = family.id == "gaussian"
        fit = fit - (step if move < 1 or linear else step * np.log1p(move) / move)
        if move < _NEAR or linear:
            break
    return fit


def _left_out(
    family: Family, x: np.ndarray, y: np.ndarray, penalty: float, held: np.ndarray, fit: np.ndarray
) -> _Point:
    """Losses of all rows, each left out: ``z - h r/(1 - h b'')``, exact for least squares."""
    m, z = len(x), x @ fit
    slope = family.slope(z)
    hessian = (x * slope[:, None]).T @ x / m + held
    own = np.einsum("ij,jk,ik->i", x, np.linalg.inv(hessian), x, optimize=True) / m
    left = z - own * (y - family.mean(z)) / np.maximum(1 - own * slope, _LEAST_SLACK)
    residual = y - family.mean(left)
    columns = float(np.sum(own * slope))
    freedom = 1 + columns / m
    dispersion = float(np.mean(residual**2) / max(float(np.mean(family.slope(left))), 1e-300)) / freedom
    least = 0.0 if family.id == "gaussian" else _LEAST_DISPERSION
    return _Point(penalty, fit, family.loss(left) - y * left, hessian, max(dispersion, least), columns)
