"""Logistic regression of a 0/1 column from a released moment and public rows (proofs/moment.md, 18.4).

The linear probability model ``beta`` of the private rows is released. The logistic coefficients b are those whose
probabilities, on public rows, have the same linear model: ``mean w x phi'(x'b) = (mean w x x') beta``, the minimum of a
convex function of b. Their *floor* is the error that m public rows leave even without noise: its variance is at most
``1/m`` times that of ``phi'(x'b) - x'beta``.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import expit

from pmtcore.base.bands import Bands
from pmtcore.base.messages import ExploreMessage, InputError, Note, ReleaseNote
from pmtcore.explore.regression import Regression
from pmtcore.glm.losses import LOGISTIC
from pmtcore.glm.solvers import Data, Penalty, minimize
from pmtcore.methods.joint_moment.influence import RowInfluence
from pmtcore.public.bands import ErrorPart, limits
from pmtcore.public.moments import INTERCEPT

# Norm of the mean gradient at which the fit ends: it changes no printed digit of a coefficient.
_TOLERANCE = 1e-11
_RIDGE = 1e-4  # ridge over the mean slope, so that a solution exists even where classes are separated


@dataclass(frozen=True)
class Logistic:
    """Coefficients by name, their bands, and the floor of each: its standard error from m public rows alone."""

    coefficients: dict[str, float]
    bands: Bands
    floor: np.ndarray
    note: str

    def chance(self, values: Mapping[str, float]) -> float:
        """Return the probability of the label at values of the features by name; the intercept needs none.

        Raises:
            KeyError: a feature has no value.
        """
        score = sum(b * (1.0 if name == INTERCEPT else values[name]) for name, b in self.coefficients.items())
        return float(expit(score))

    def as_dict(self) -> dict[str, Any]:
        """Return the fields under the keys of a release; the floor is a separate part of the error."""
        parts = {"privacy": self.bands.privacy, "sampling": self.bands.sampling, "floor": self.floor}
        if self.bands.truncation is not None:
            parts["truncation"] = self.bands.truncation
        parts |= {"low": self.bands.low, "high": self.bands.high}
        return {
            "family": "logistic",
            "coefficients": self.coefficients,
            "bands": {n: {p: float(v[j]) for p, v in parts.items()} for j, n in enumerate(self.coefficients)},
            "note": self.note,
        }


def logistic_from_linear(linear: Regression) -> Logistic:
    """Return the logistic model behind a linear probability model.

    Raises:
        InputError: no public rows in the record, a response that is not 0/1 in them, or too few rows.
    """
    state, influence = linear.state, linear.state.influence
    if not isinstance(influence, RowInfluence):
        raise InputError(ExploreMessage.LOGISTIC_NEEDS_ROWS)
    rows = influence.inside @ state.root.T
    y = rows[:, linear.fit.response]
    if not np.all(np.minimum(np.abs(y), np.abs(y - 1)) < 1e-6):
        raise InputError(ExploreMessage.NOT_A_LABEL, column=linear.response)
    x = rows[:, list(linear.fit.features)]
    if len(x) <= x.shape[1] + 1:
        raise InputError(ExploreMessage.LOGISTIC_TOO_FEW_ROWS)
    upper = np.asarray(np.linalg.qr(x * np.sqrt(influence.weights / len(x))[:, None], mode="r"))
    white = np.linalg.solve(upper.T, x.T).T  # weighted Gram matrix I
    c, slope = _solve(white, influence.weights, upper @ linear.fit.coefficients)
    b = np.linalg.solve(upper, c)
    inverse = np.linalg.solve(upper, np.linalg.inv(slope))
    turn = inverse @ upper  # d b = turn d beta
    left = expit(white @ c) - x @ linear.fit.coefficients
    moves = (white * (influence.weights * left)[:, None]) @ inverse.T
    floor = np.diag(influence.mean_square(moves)) / len(x)
    parts = [np.einsum("ij,jk,ik->i", turn, cov, turn) for cov in (linear.fit.privacy, linear.fit.sampling)]
    lost = np.einsum("ij,jk,ik->i", turn, linear.fit.truncation, turn)
    limited = limits(b, ErrorPart(parts[0]), ErrorPart(parts[1], len(x) / 4), ErrorPart(lost + floor))
    return Logistic(
        dict(zip(linear.names, b.tolist(), strict=True)),
        Bands(limited.privacy, limited.sampling, limited.low, limited.high, np.sqrt(lost)),
        np.sqrt(floor),
        Note(ReleaseNote.CURVE_FLOOR, rows=len(x)),
    )


def _solve(x: np.ndarray, weights: np.ndarray, beta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the minimizer of ``mean w log(1 + e^{x'b}) - beta'b``, with a small ridge, and the Hessian there.

    Args:
        x: rows (m, d) whose weighted Gram matrix is the identity.
        weights: weights of the rows (m,).
        beta: coefficients (d,) of the linear model.
    """
    m = len(x)
    data = Data(LOGISTIC, x, np.zeros(m), weights)
    b = minimize(data, Penalty.of(-m * beta, m * _RIDGE), m * _TOLERANCE).theta
    return b[0], data.derivatives(b)[1][0] / m + _RIDGE * np.eye(len(beta))
