"""Smooth functions of a released moment: correlations, partial correlations, components, means, spreads, group means.

Their errors follow from first derivatives (the delta method). A function with gradient J (symmetric, in the mechanism's
coordinates) has privacy variance ``sum V_ij J_ij^2``, sampling variance ``Var(w y'J y)/n`` over public rows, and
truncation moves it by ``mean (1 - w) y'J y`` (proofs/moment.md, 18.3).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pmtcore.base.bands import Bands
from pmtcore.base.messages import ExploreMessage, InputError
from pmtcore.methods.joint_moment.linear import State
from pmtcore.public.bands import ErrorPart, limits

_CLOSEST = 1e-9  # times the largest variance share: two shares that are closer count as equal in doubles


@dataclass(frozen=True)
class Estimates:
    """Estimates (q,) with the parts of their errors and their 95 % limits."""

    values: np.ndarray
    bands: Bands

    def as_rows(self, names: Sequence[str]) -> list[dict[str, Any]]:
        """Return one record for each estimate."""
        rows = zip(names, self.values, self.bands.rows(), strict=True)
        return [{"name": name, "value": float(value), **row} for name, value, row in rows]


def moment_figures(
    state: State,
    values: np.ndarray,
    gradients: np.ndarray,
    within: tuple[float, float] | None = None,
    *,
    completed: bool = False,
) -> Estimates:
    """Return smooth functions of the moment with their errors.

    Args:
        state: the released moment with its errors.
        values: the functions at the released moment (q,).
        gradients: their derivatives (q, D, D) by the entries of the moment, in the mechanism's coordinates.
        within: range of the functions, to which limits are clipped; ``None``: none.
        completed: whether the truncation bias, estimated from public rows, was added back; then its variance, and not
            the bias, is part of the error.
    """
    influence = state.influence
    mean, spread = influence.residual_moments(gradients)
    rows = max(influence.m, 1)
    tail = influence.tail_variances(gradients)
    truncation = (0.0 if completed else mean**2) + spread / rows + (spread + tail) / state.n
    limited = limits(
        values,
        ErrorPart(state.variances(gradients)),
        ErrorPart(influence.truncated_variances(gradients) / state.n, max(rows / 4, 1.0) if influence.m else np.inf),
        ErrorPart(truncation) if influence.m else None,
    )
    if within is not None:
        low, high = np.clip(limited.low, *within), np.clip(limited.high, *within)
        limited = Bands(limited.privacy, limited.sampling, low, high, limited.truncation)
    return Estimates(values, limited)


@dataclass(frozen=True, eq=False)
class Marginals:
    """Means and covariances of the columns, corrected for truncation; the constant is the first column."""

    state: State

    @property
    def moment(self) -> np.ndarray:
        """Return the second moment (D, D) in the units of the table."""
        root = self.state.root
        return np.asarray(root @ (self.state.moment + self.state.influence.removed_moment) @ root.T)

    def centred(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return means (D,), covariance (D, D) and centred coordinates (D, D): row j is column j less its mean."""
        s = self.moment
        mean = s[0] / s[0, 0]
        centred = self.state.root - np.outer(mean, self.state.root[0])
        return mean, np.asarray(s / s[0, 0] - np.outer(mean, mean)), centred / math.sqrt(s[0, 0])

    def columns(self, sums: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return means (k,), covariance (k, k) and centred coordinates (k, D) of the columns but the constant.

        Args:
            sums: weights of the columns (k - D + 1, D - 1) in what stands after them: 1 and a sum of columns each, as a
                level is that is there where all others are not; ``None``: nothing.
        """
        mean, cov, centred = self.centred()
        mean, cov, centred = mean[1:], cov[1:, 1:], centred[1:]
        if sums is None:
            return mean, cov, centred
        wanted = np.vstack([np.eye(len(cov)), sums])
        return np.append(mean, 1 + sums @ mean), wanted @ cov @ wanted.T, wanted @ centred

    def means(self, sums: np.ndarray | None = None) -> Estimates:
        """Return the mean of each of the :meth:`columns` (k,)."""
        mean, _, centred = self.columns(sums)
        one = self.state.root[0] / math.sqrt(self.moment[0, 0])
        derivatives = np.array([_symmetric_product(row, one) for row in centred])
        return moment_figures(self.state, mean, derivatives, None, completed=True)

    def spreads(self, sums: np.ndarray | None = None) -> Estimates:
        """Return the standard deviation of each of the :meth:`columns` (k,)."""
        _, cov, centred = self.columns(sums)
        sd = np.sqrt(np.maximum(np.diag(cov), 1e-300))
        one = self.state.root[0] / math.sqrt(self.moment[0, 0])
        derivatives = np.array(
            [
                (_symmetric_product(row, row) - s**2 * _symmetric_product(one, one)) / (2 * s)
                for row, s in zip(centred, sd, strict=True)
            ]
        )
        return moment_figures(self.state, sd, derivatives, (0.0, math.inf), completed=True)

    def units(self, sums: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
        """Return correlations (k, k), and standardized coordinates (k, D), of the :meth:`columns`."""
        _, cov, centred = self.columns(sums)
        sd = np.sqrt(np.maximum(np.diag(cov), 1e-300))
        return cov / np.outer(sd, sd), centred / sd[:, None]

    def correlations(self, column: int | None = None, sums: np.ndarray | None = None) -> Estimates:
        """Estimate the correlation of each pair i < j of the columns but the constant.

        Args:
            column: position of the one column whose pairs are wanted; all pairs without one.
            sums: weights (k, D - 1) of sums of columns that stand after them.
        """
        r, u = self.units(sums)
        i, j = np.triu_indices(len(r), 1)
        if column is not None:
            wanted = (i == column) | (j == column)
            i, j = i[wanted], j[wanted]
        squares = [_symmetric_product(x, x) for x in u]
        derivatives = [
            _symmetric_product(u[a], u[b]) - r[a, b] / 2 * (squares[a] + squares[b]) for a, b in zip(i, j, strict=True)
        ]
        return moment_figures(self.state, r[i, j], np.array(derivatives), (-1.0, 1.0), completed=True)

    def partial_correlations(self) -> Estimates:
        """Return the correlation of each pair i < j, given all other columns."""
        r, u = self.units()
        inverse = np.linalg.inv(r)
        v = inverse @ u  # d inverse = -v' dM v
        i, j = np.triu_indices(len(r), 1)
        scale = np.sqrt(np.outer(np.diag(inverse), np.diag(inverse)))
        rho = -inverse / scale
        derivatives = [
            _symmetric_product(v[a], v[b]) / scale[a, b]
            + rho[a, b]
            / 2
            * (_symmetric_product(v[a], v[a]) / inverse[a, a] + _symmetric_product(v[b], v[b]) / inverse[b, b])
            for a, b in zip(i, j, strict=True)
        ]
        return moment_figures(self.state, rho[i, j], np.array(derivatives), (-1.0, 1.0), completed=True)

    def _eigenvectors(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return standardized columns, and eigenvalues and eigenvectors of their correlations, largest first."""
        r, u = self.units()
        values, vectors = np.linalg.eigh(r)
        values, vectors = values[::-1], vectors[:, ::-1]
        return u, values, vectors * np.where(np.sum(vectors, axis=0) < 0, -1.0, 1.0)

    def components(self) -> tuple[Estimates, np.ndarray]:
        """Return variance shares of the principal components of the correlation matrix, largest first, and loadings."""
        u, values, vectors = self._eigenvectors()
        derivatives = []
        for k, value in enumerate(values):
            x = vectors[:, k]
            scaling = np.einsum("j,ja,jb->ab", x**2, u, u)  # from the derivative of the standard deviations
            derivatives.append(_symmetric_product(x @ u, x @ u) - value * scaling)
        d = len(values)
        return moment_figures(self.state, values / d, np.array(derivatives) / d, (0.0, 1.0), completed=True), vectors

    def loadings(self, count: int) -> Estimates:
        """Return the loadings of the first components, component by component: (count d,).

        Perturbation of eigenvectors, ``dx_k = sum over l of x_l (x_l' dr x_k)/(lambda_k - lambda_l)``: where two shares
        are close, the components are not identified and the bands span the whole range.
        """
        u, values, vectors = self._eigenvectors()
        projected, derivatives = vectors.T @ u, []
        for k in range(count):
            moved = np.zeros((len(values), *self.state.moment.shape))
            for l in (l for l in range(len(values)) if l != k):  # noqa: E741  # the other component
                # From the derivative of the standard deviations.
                scaling = np.einsum("j,ja,jb->ab", vectors[:, l] * vectors[:, k], u, u)
                turn = _symmetric_product(projected[l], projected[k]) - (values[k] + values[l]) / 2 * scaling
                apart = values[k] - values[l]
                gap = math.copysign(max(abs(apart), _CLOSEST * values[0]), apart or 1.0)
                moved += vectors[:, l, None, None] * turn / gap
            derivatives.append(moved)
        return moment_figures(
            self.state, vectors[:, :count].T.ravel(), np.concatenate(derivatives), (-1.0, 1.0), completed=True
        )

    def groups(self, value: int, dummies: Sequence[int]) -> tuple[Estimates, np.ndarray]:
        """Return means of one column where each dummy is 1, then where all are 0; and the shares of rows in each.

        Raises:
            InputError: no dummies.
        """
        if not dummies:
            raise InputError(ExploreMessage.DUMMIES_NEEDED)
        s, root = self.moment, self.state.root
        rest = root[0] - np.sum(root[list(dummies)], axis=0)
        chosen = np.vstack([root[list(dummies)], rest])  # (g, D)
        inner = self.state.moment + self.state.influence.removed_moment
        share = chosen @ inner @ root[0]
        mean = (chosen @ inner @ root[value]) / np.maximum(share, 1e-9)
        derivatives = [
            _symmetric_product(x, root[value] - m * root[0]) / max(w, 1e-9)
            for x, m, w in zip(chosen, mean, share, strict=True)
        ]
        return moment_figures(self.state, mean, np.array(derivatives), None, completed=True), np.asarray(
            share / s[0, 0]
        )


def _symmetric_product(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return the symmetric matrix J with ``tr(J dM) = a' dM b``."""
    product = np.outer(a, b)
    return np.asarray((product + product.T) / 2)
