"""Second moments, condition numbers, and whitening that is sound on raw units.

Moments are un-centred: ``S = X'X / n``. Whitening with a public moment ``S = L L'`` is ``z~ = L^{-1} z`` with
the Cholesky root; the papers' symmetric root is there for noise that is not rotation invariant. A root is
never taken of a moment when rows are at hand: a QR factorization of the equilibrated rows gives it without
squaring the condition number, so that a constant column beside pressures near 1000 causes no loss of precision.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy.linalg import block_diag, solve_triangular

from pmtcore.base.computed_once import computed_once
from pmtcore.base.messages import InputError, PublicMessage, reraised_as
from pmtcore.base.private_rows import Private, PrivateRows
from pmtcore.glm import solvers
from pmtcore.glm.families import GAUSSIAN, Family
from pmtcore.glm.solvers import Data
from pmtcore.public import cholesky
from pmtcore.public.cholesky import column_scale, positive_root, ridge_rows, triangular_root
from pmtcore.public.deduplicate import one_copy

INTERCEPT = cholesky.INTERCEPT
OTHER = "other"  # the level into which levels with too few public rows for a dummy are merged
# Limits of the factor by which the squared length of a left-out row grows: relative to its mean over rows of a normal
# population, and absolute (decision 0251).
_MEAN_GROWTHS, _MOST_GROWTH = 2.0, 5.0
_LEAST_SLACK = 0.1  # lower bound on 1 - leverage: left-out residuals are at most ten times those in sample
# Prior standard deviation of one effect in the default penalty of labels and counts, as in Gelman et al. (2008). Where
# effects are about 1 it changes the fit by at most a fifth of a standard error (decision 99).
EFFECT_SD = 2.5
_MOST_PENALTY = 1e6  # largest penalty of a coefficient, in units of its column's variance: it is 0 then


@dataclass(frozen=True)
class Conditioning:
    """Spectrum of a second moment and the figures of merit of the papers.

    ``kappa = lmax/lmin``; ``kappa_bar = mean(lambda)/lmin`` (B, Theorem 4).
    """

    eigenvalues: np.ndarray  # (d,), ascending

    @property
    def lambda_min(self) -> float:
        """Return the smallest eigenvalue."""
        return float(self.eigenvalues[0])

    @property
    def kappa(self) -> float:
        """Condition number; infinite where the smallest eigenvalue is not positive."""
        return self._over_lambda_min(float(self.eigenvalues[-1]))

    @property
    def kappa_bar(self) -> float:
        """Return the averaged condition number."""
        return self._over_lambda_min(float(np.mean(self.eigenvalues)))

    def _over_lambda_min(self, value: float) -> float:
        return value / self.lambda_min if self.lambda_min > 0 else math.inf

    def as_dict(self) -> dict[str, float]:
        """Return the three figures by name."""
        return {"kappa": self.kappa, "kappa_bar": self.kappa_bar, "lambda_min": self.lambda_min}


def conditioning(moment: np.ndarray) -> Conditioning:
    """Return the spectrum of a symmetric matrix (d, d)."""
    return Conditioning(np.linalg.eigvalsh(moment))


def joint_rows(features: np.ndarray, response: np.ndarray) -> np.ndarray:
    """Return rows ``z = (x, y)``, (k, d + 1), the response last."""
    return np.column_stack([features, response])


@dataclass(frozen=True, eq=False)
class RidgeFitCovariance:
    """Uncertainty of a public ridge fit, in whitened coordinates and units of the residual scale.

    Attributes:
        covariance: of the public fit around the population fit, (d, d).
        leverage: leverage (m,) of each public row.
        solve: (d, d), the map from the right-hand side of the normal equations to the coefficients.
        bias: part (d, d) of the covariance that is due to the penalty's shrinkage, not to sampling.
    """

    covariance: np.ndarray
    leverage: np.ndarray
    solve: np.ndarray
    bias: np.ndarray


@dataclass(frozen=True, eq=False)
class PosteriorMode:
    """A public fit of labels or counts with a weakly informative prior, in whitened coordinates.

    Attributes:
        coefficients: the mode (d,).
        covariance: (d, d), of the mode around the population fit.
    """

    coefficients: np.ndarray
    covariance: np.ndarray


@dataclass(frozen=True, eq=False)
class PublicData:
    """Public information on the population: rows, or only a second moment of ``z = (x, y)``.

    Attributes:
        names: the d features, the intercept first when there is one.
        target: name of the response.
        factor: (d + 1, d + 1) lower triangular, ``factor @ factor.T`` is the joint second moment.
        m: number of public rows, ``None`` where only a moment was given without it.
        rows: (m, d + 1) or ``None``.
        family, lam: the fit minimizes the mean loss of this family plus ``lam/2 ||u beta||^2``, with the intercept
            unpenalized and u the ``penalty_units``. ``lam`` is 0 for the linear family, whose methods have a penalty.
        penalty_units: u (d,) of the default penalty: the change of each column that is one effect
            (:meth:`weakly_penalized`). ``None``: the user chose ``lam``, and u is 1 in the units of the table.
        labelled: whether the public rows have the response; without it their last column is zero.
        clusters: the group (m,) of each public row, numbered from 0, where rows of a group are correlated.
        weights: of the loss of each public row (m,), of mean 1 before rows were dropped; ``None``: all the same.
            For least squares the rows themselves are weighted and this is ``None``.
        covariates_are_public: whether the user has declared the covariates of the private rows public.
        rows_are_weighted: whether rows, and the constant in them, are multiplied by the root of their weight.
        mode: the public fit of labels or counts, where it has a prior.
        ridge_fit: uncertainty of the coefficients in the last row of ``factor`` where they are a ridge fit; ``None``:
            they are the least-squares fit.
    """

    names: tuple[str, ...]
    target: str
    factor: np.ndarray
    m: int | None
    rows: np.ndarray | None = None
    family: Family = GAUSSIAN
    lam: float = 0.0
    labelled: bool = True
    ridge_fit: RidgeFitCovariance | None = None
    mode: PosteriorMode | None = None
    clusters: np.ndarray | None = None
    weights: np.ndarray | None = None
    rows_are_weighted: bool = False
    covariates_are_public: bool = False
    penalty_units: np.ndarray | None = None

    @property
    def d(self) -> int:
        """Return the number of features, the intercept included."""
        return len(self.names)

    @property
    def has_intercept(self) -> bool:
        """Return True where the first feature is the constant 1."""
        return self.names[0] == INTERCEPT

    @property
    def feature_root(self) -> np.ndarray:
        """Return ``L_x`` (d, d): the feature block of the factor."""
        return self.factor[: self.d, : self.d]

    @cached_property
    def moment(self) -> np.ndarray:
        """Return the joint second moment (d + 1, d + 1)."""
        return np.asarray(self.factor @ self.factor.T)

    @property
    def response_scale(self) -> float:
        """Return the root mean square of the public response (``sigma_B`` of A, Remark 4.1)."""
        return float(np.linalg.norm(self.factor[-1]))

    @property
    def fit_variance(self) -> float:
        """Return the expected variance of a whitened public coefficient, ``1/(m - d - 1)`` for Gaussian rows."""
        if self.ridge_fit is not None:
            return float(np.trace(self.ridge_fit.covariance)) / self.d
        return 1 / max((self.m or 0) - self.d - 1, 1)

    @property
    def residual_scale(self) -> float:
        """Return ``s_B``: root mean square residual of the public least squares fit, in sample."""
        return float(self.factor[-1, -1])

    @property
    def response_is_constant(self) -> bool:
        """Return whether the public rows have the response and it is the same in all of them."""
        return self.labelled and self.rows is not None and bool(np.ptp(self.rows[:, -1]) == 0)

    @cached_property
    def centre(self) -> np.ndarray:
        """Return the public fit in whitened coordinates (d,); zero where labelled rows are needed and missing."""
        if self.family is GAUSSIAN:
            return np.asarray(self.factor[-1, : self.d])
        if self.mode is not None:
            return self.mode.coefficients
        if self.rows is None or self.m is None or not self.labelled:
            return np.zeros(self.d)
        z = whiten(self.feature_root, self.rows[:, :-1])
        return solvers.fit(Data(self.family, z, self.rows[:, -1], self.loss_weights), self.own_penalty)

    @cached_property
    def loss_weights(self) -> np.ndarray:
        """Return weights (m,) of the loss of each public row; ones where all count the same."""
        if self.weights is not None:
            return self.weights
        return np.ones(0 if self.rows is None else len(self.rows))

    @cached_property
    def coefficients(self) -> np.ndarray:
        """Return coefficients (d,) of the public fit."""
        return back_transform(self.feature_root, self.centre)

    @property
    def penalized(self) -> np.ndarray:
        """Return 1 for each coefficient (d,) that a penalty applies to, and 0 for the intercept."""
        mask = np.ones(self.d)
        mask[0] = 0.0 if self.has_intercept else 1.0
        return mask

    @computed_once(most=4)  # so that all problems of one public side have one object, and what is computed from it
    def weakly_penalized(self, n: int | None) -> PublicData:
        """Return the same data with the default penalty of labels and counts: a weak prior on each effect.

        An effect is the change of the linear predictor between the two values of a binary column, or over one standard
        deviation of any other. It has a normal prior of standard deviation :data:`EFFECT_SD`, whatever the unit and the
        number of rows: a penalty of ``u^2/(2.5^2 n)`` per row. So the fit is finite where labels are separated.
        Elsewhere it differs from the unpenalized fit, in standard errors, by a fifth of the mean effect
        (proofs/gradients.md, 16).

        Args:
            n: rows of the fit that is penalized; ``None``: not known yet, and the penalty is zero.
        """
        units = self.effect_units if self.penalty_units is None else self.penalty_units
        return replace(self, lam=0.0 if n is None else EFFECT_SD**-2 / n, penalty_units=units)

    @property
    def effect_units(self) -> np.ndarray:
        """Return the change of each column (d,) that is one effect; its spread where there are no public rows."""
        if self.rows is None:
            return self.spread
        x = self.rows[:, :-1]
        low, high = np.min(x, axis=0), np.max(x, axis=0)
        has_two_values = np.all((x == low) | (x == high), axis=0) & (low < high)
        return np.where(has_two_values, high - low, self.spread)

    @property
    def zero_one(self) -> tuple[str, ...]:
        """Return the columns, the response last, whose values in the public rows are 0 and 1, both present."""
        if self.rows is None:
            return ()
        is_zero_one = np.all((self.rows == 0) | (self.rows == 1), axis=0) & (np.ptp(self.rows, axis=0) > 0)
        return tuple(name for name, is_ in zip((*self.names, self.target), is_zero_one, strict=True) if is_)

    @property
    def penalty_shape(self) -> np.ndarray:
        """Return the factor of ``lam`` in the penalty of each squared coefficient (d,); 0 for the intercept."""
        return self.penalized if self.penalty_units is None else self.penalized * self.penalty_units**2

    @cached_property
    def unit_penalty(self) -> np.ndarray:
        """Return the penalty at ``lam = 1`` in whitened coordinates (d, d), ``L_x^{-1} D L_x^{-T}``."""
        inverse = solve_triangular(self.feature_root, np.diag(np.sqrt(self.penalty_shape)), lower=True)
        return np.asarray(inverse @ inverse.T)

    @property
    def penalties(self) -> np.ndarray:
        """Return the problem's penalty of each squared coefficient (d,), 0 for the intercept.

        It is at most a million times the column's variance: such a coefficient is 0 already.
        """
        most = np.where(self.spread > 0, _MOST_PENALTY * self.spread**2, np.inf)
        return np.minimum(self.lam * self.penalty_shape, most) * self.penalized

    @property
    def penalty(self) -> np.ndarray:
        """Return :attr:`penalties` in whitened coordinates (d, d)."""
        inverse = solve_triangular(self.feature_root, np.diag(np.sqrt(self.penalties)), lower=True)
        return np.asarray(inverse @ inverse.T)

    @property
    def own_lam(self) -> float:
        """Return ``lam`` per row of the public fit: the default prior is the same for m public and n private rows."""
        return self.lam if self.penalty_units is None or self.m is None else EFFECT_SD**-2 / self.m

    @property
    def own_penalty(self) -> np.ndarray:
        """Return the penalty (d, d) of the public fit, in whitened coordinates."""
        return self.penalty if self.penalty_units is None else self.own_lam * self.unit_penalty

    @property
    def stated_penalty(self) -> float | None:
        """Return the penalty that the user chose, per row and squared coefficient; ``None`` for the default one."""
        return self.lam if self.penalty_units is None else None

    @property
    def prior_sd(self) -> float | None:
        """Return the prior standard deviation of an effect; ``None`` where the user chose the penalty."""
        return None if self.penalty_units is None else EFFECT_SD

    @property
    def spread(self) -> np.ndarray:
        """Return the standard deviation of each feature (d,); root mean square where there is no intercept."""
        squares = np.diag(self.moment)[: self.d]
        if not self.has_intercept:
            return np.sqrt(squares)
        return np.sqrt(np.maximum(squares - self.moment[0, : self.d] ** 2, 0.0))

    @cached_property
    def variance_inflation(self) -> np.ndarray:
        """Return the variance inflation factors (d,) of the coefficients; 1 for an intercept.

        The features' factor after the intercept is the Cholesky factor of their covariance. The factors are multiplied
        by ``1 - d/m``, for d of m rows are fitted exactly by chance.
        """
        first = int(self.has_intercept)
        root = self.feature_root[first:, first:]
        inverse = solve_triangular(root, np.eye(len(root)), lower=True)
        by_chance = 1.0 if self.m is None else max(1 - self.d / self.m, 0.0)
        factors = np.sum(root**2, axis=1) * np.sum(inverse**2, axis=0) * by_chance
        return np.concatenate([np.ones(first), np.maximum(factors, 1.0)])

    @cached_property
    def symmetric_root(self) -> tuple[np.ndarray, np.ndarray]:
        """Return ``S_x^{1/2}`` and ``S_x^{-1/2}`` (d, d), from the singular values of ``L_x``."""
        vectors, values, _ = np.linalg.svd(self.feature_root)
        return (vectors * values) @ vectors.T, (vectors / values) @ vectors.T

    @cached_property
    def whitened_in_sample(self) -> np.ndarray:
        """Return whitened public rows (m, d + 1); an empty array where only a moment is known."""
        return np.empty((0, self.d + 1)) if self.rows is None else whiten(self.factor, self.rows)

    @cached_property
    def left_out_residual(self) -> np.ndarray:
        """Return public residuals (m,) in units of ``s_B``, each from the fit without its row: ``r/(1 - h/m)``."""
        z = self.whitened_in_sample
        leverages = np.sum(z[:, :-1] ** 2, axis=1) / max(len(z), 1)
        leverage = leverages if self.ridge_fit is None else self.ridge_fit.leverage
        return np.asarray(z[:, -1] / np.maximum(1 - leverage, 1e-6))

    @cached_property
    def fit_influence(self) -> np.ndarray:
        """Return influence values (m, d) of the public fit in whitened units, times m, from left-out residuals."""
        rows = self.whitened_in_sample[:, :-1] * self.left_out_residual[:, None]
        return rows if self.ridge_fit is None else rows @ self.ridge_fit.solve

    @property
    def remaining_fit_covariance(self) -> np.ndarray:
        """Return the part (d, d) of the public fit's covariance that :attr:`fit_influence` does not contain."""
        return np.zeros((self.d, self.d)) if self.ridge_fit is None else self.ridge_fit.bias

    @property
    def fit_covariance(self) -> np.ndarray:
        """Return the expected covariance (d, d) of the public fit in whitened coordinates."""
        return self.fit_variance * np.eye(self.d) if self.ridge_fit is None else self.ridge_fit.covariance

    @cached_property
    def fit_variances(self) -> np.ndarray:
        """Return eigenvalues (d,) of the expected covariance of the public fit in whitened coordinates."""
        return np.asarray(np.linalg.eigvalsh(self.fit_covariance))

    @cached_property
    def moment_variance(self) -> float:
        """Return the expected variance of an entry of the population's feature moment in whitened coordinates.

        For Gaussian rows the matrix is inverse Wishart and the variance ``m^2/((m - d)(m - d - 1)(m - d - 3))``: about
        ``1/m`` where m is far above d, and large near d. With a ridge in the whitening, d is :attr:`whitened_columns`.
        """
        if self.m is None:
            return 0.25
        freedom = self.m - self.whitened_columns
        return self.m**2 / math.prod(max(freedom - less, 1.0) for less in (0, 1, 3))

    @property
    def whitened_columns(self) -> float:
        """Return the effective number of columns in the whitening, the trace of its hat matrix: d without a ridge."""
        if self.ridge_fit is None or self.rows is None:
            return float(self.d)
        return float(np.mean(np.sum(self.whitened_in_sample[:, :-1] ** 2, axis=1)))

    @property
    def unbiased_squares(self) -> np.ndarray:
        """Return squared public residuals (m,), scaled to have the residual variance of the population fit as mean."""
        square = self.whitened_in_sample[:, -1] ** 2
        if self.ridge_fit is not None:
            return np.asarray(square / np.maximum(1 - self.ridge_fit.leverage, _LEAST_SLACK))
        return np.asarray(square * len(square) / (len(square) - self.d))

    @cached_property
    def whitened(self) -> np.ndarray | None:
        """Return public rows in whitened coordinates (m, d + 1), as if each had been left out of the whitening.

        A row that contributes to ``S`` has a smaller whitened norm than a new row would (:func:`left_out_norm`).
        """
        if self.rows is None or self.m is None:
            return None
        z = self.whitened_in_sample
        inner = np.sum(z[:, : self.d] ** 2, axis=1)
        residual_square = left_out_norm(inner + z[:, -1] ** 2, self.m) - left_out_norm(inner, self.m)
        inner_out = left_out_norm(inner, self.m, self.category_norm)
        inner_out = np.minimum(inner_out, inner * self.largest_growth)
        features = z[:, : self.d] * np.sqrt(inner_out / np.maximum(inner, 1e-300))[:, None]
        if self.ridge_fit is not None:
            return joint_rows(features, z[:, -1] / np.maximum(1 - self.ridge_fit.leverage, _LEAST_SLACK))
        return joint_rows(features, np.sign(z[:, -1]) * np.sqrt(np.maximum(residual_square, 0.0)))

    @property
    def largest_growth(self) -> float:
        """Return the largest factor by which a left-out row's squared length may grow.

        Rows of a normal population grow by ``m/(m - d - 1)`` on average. The growth of a row that alone spans a
        direction is unbounded, and not informative of the norm of new rows.
        """
        if self.m is None:
            return _MOST_GROWTH
        return min(_MEAN_GROWTHS * self.m / max(self.m - self.d - 1, 1), _MOST_GROWTH)

    @cached_property
    def category_norm(self) -> np.ndarray:
        """Return the part (m,) of each row's squared whitened norm that is due to its rarest category.

        A column of two values, or the indicators of one table column, sort the rows into categories. Where the
        indicator of a category of k rows is a combination of the features, the squared norm of its rows is at least
        ``m/k``.
        """
        if self.rows is None or self.m is None:
            return np.zeros(0)
        constant = self.rows[:, 0] if self.has_intercept else np.ones(len(self.rows))
        # A row of weight zero counts as one of the first category, with its weight.
        values = self.rows[:, : self.d] / np.where(constant == 0, 1.0, constant)[:, None]
        most = np.zeros(len(values))
        for indicators in by_table_column(self.names).values():
            places = np.zeros(len(values), int)
            for j in indicators:
                low, high = np.min(values[:, j]), np.max(values[:, j])
                is_high = values[:, j] == high
                if low < high and np.all(is_high | (values[:, j] == low)) and (self.has_intercept or low == 0):
                    places = np.where(is_high, j + 1, places)
            if not np.any(places):
                continue
            together = np.bincount(places, constant**2)[places]
            # A category of one row has no norm once that row is left out; without an intercept the first category has
            # no indicator among the features.
            known = (np.bincount(places)[places] > 1) & (self.has_intercept | (places > 0))
            most = np.maximum(most, np.where(known, self.m * constant**2 / np.maximum(together, 1e-300), 0.0))
        return most

    @cached_property
    def whitened_squares(self) -> np.ndarray:
        """Return the squared lengths (m,) of the features of :attr:`whitened`; none where only a moment is known."""
        rows = self.whitened
        return np.empty(0) if rows is None else np.sum(rows[:, : self.d] ** 2, axis=1)


def by_table_column(names: Iterable[str]) -> dict[str, list[int]]:
    """Return the indices of the features that encode each column of the table; an indicator is ``column=level``."""
    columns: dict[str, list[int]] = {}
    for j, name in enumerate(names):
        columns.setdefault(name.rpartition("=")[0] or name, []).append(j)
    return columns


def left_out_norm(h: np.ndarray, m: int, categories: np.ndarray | float = 0.0) -> np.ndarray:
    """Return the squared whitened norm of each row under the moment of the other ``m - 1`` rows, from its own ``h``.

    It is ``(m - 1) h / (m - h)`` (Sherman-Morrison; proofs/whitening.md, 4). The part of ``h`` that is due to a
    category is not changed: leaving a row out of a category of two would halve its frequency, and so double that part,
    while a new row of the category has the frequency of both.

    Args:
        h: squared whitened norms (k,) under the moment of all rows.
        m: number of rows behind the moment.
        categories: part of ``h`` that is due to categories (k,).
    """
    fixed = np.minimum(categories, h)
    return np.asarray(fixed + (m - 1) * (h / np.maximum(m - h, 1e-9) - fixed / np.maximum(m - fixed, 1e-9)))


def whiten(root: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Return ``L^{-1} z`` for rows (k, D)."""
    return np.asarray(solve_triangular(root, rows.T, lower=True, check_finite=False).T)


def inverse_root(root: np.ndarray) -> np.ndarray:
    """Return ``L^{-T}`` (d, d), by which rows (k, d) are multiplied from the right to whiten them."""
    return np.asarray(solve_triangular(root, np.eye(len(root)), lower=True).T)


def back_transform(root: np.ndarray, coefficients: np.ndarray) -> np.ndarray:
    """Return ``L^{-T} b`` for coefficients (..., d): from whitened coordinates to the units of the table."""
    flat = coefficients.reshape(-1, coefficients.shape[-1])
    return np.asarray(solve_triangular(root, flat.T, lower=True, trans="T").T.reshape(coefficients.shape))


def ridge_from_least_squares(fit: np.ndarray, moment: np.ndarray, penalty: np.ndarray) -> np.ndarray:
    """Return the ridge fit from a least-squares fit b, ``b - (M + P)^{-1} P b``.

    Args:
        fit: least-squares fits (..., d), in the units of the table.
        moment: second moment of the features (..., d, d), in the units of the table, positive definite.
        penalty: of each coefficient (d,), not negative.
    """
    return np.asarray(fit - equilibrated_solve(moment + np.diag(penalty), (penalty * fit)[..., None])[..., 0])


def equilibrated_solve(matrix: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Solve ``M X = B`` in units in which the diagonal of M is one.

    For moments with a penalty in raw units: where columns differ much in scale, whitening the sum would lose the
    unpenalized part in rounding errors.

    Args:
        matrix: M (..., d, d), positive definite.
        right: B (..., d, k).

    Returns:
        X (..., d, k).
    """
    scale = np.sqrt(np.diagonal(matrix, axis1=-2, axis2=-1))[..., None]
    equal = matrix / scale / np.swapaxes(scale, -1, -2)
    try:
        solved = np.linalg.solve(equal, right / scale)
    except np.linalg.LinAlgError:  # collinear columns, and a penalty below rounding: the minimum-norm solution
        solved = np.linalg.pinv(equal, hermitian=True) @ (right / scale)
    return np.asarray(solved / scale)


def public_from_rows(
    features: np.ndarray,
    response: np.ndarray | None,
    names: Iterable[str],
    target: str,
    *,
    ridge: float = 0.0,
    family: Family = GAUSSIAN,
    lam: float = 0.0,
    clusters: np.ndarray | None = None,
    weights: np.ndarray | None = None,
) -> PublicData:
    """Return public data from rows (m, d) and (m,), or from features alone.

    Args:
        features: (m, d). Of a table that repeats itself one copy is used (``deduplicate``), and ``m`` is the number of
            its rows.
        response: (m,); ``None``: unknown.
        names: of the features.
        target: name of the response.
        ridge: added to the diagonal of the equilibrated moment of the features, the intercept excepted; an opt-in for
            features that are collinear in the public rows.
        family: of the response.
        lam: ridge penalty of the problem itself, per row.
        clusters: the group (m,) of each row, where rows of a group are correlated.
        weights: of the loss of each row (m,).

    Raises:
        InputError: too few rows, or columns that are constant or collinear; the sentence names them.
    """
    names = tuple(names)
    extra = [part for part in (response, weights) if part is not None]
    once = one_copy(np.column_stack([features, *extra]))
    features, response = features[once], None if response is None else response[once]
    m, d = features.shape
    if m < d + 1:
        raise InputError(PublicMessage.TOO_FEW_ROWS, rows=m, count=d, limit=d + 1)
    labelled = response is not None
    linear = labelled and family is GAUSSIAN
    rows = joint_rows(features, np.zeros(m) if response is None else response)
    columns = rows[:, : d + linear]
    scale = column_scale(columns, names, target)
    stack = columns / scale / math.sqrt(m)
    if ridge:
        stack = np.vstack([stack, ridge_rows(names, ridge)[:, : d + linear]])
    factor = positive_root(triangular_root(stack), names, target, linear) * scale[:, None]
    if not linear:  # only features are whitened; the response counts as a unit of its own
        factor = block_diag(factor, 1.0)
    groups = None if clusters is None else np.unique(clusters[once], return_inverse=True)[1]
    row_weights = None if weights is None else weights[once]
    return PublicData(names, target, factor, m, rows, family, lam, labelled, clusters=groups, weights=row_weights)


def public_from_moment(
    moment: np.ndarray,
    names: Iterable[str],
    target: str,
    m: int | None,
    *,
    ridge: float = 0.0,
    family: Family = GAUSSIAN,
    lam: float = 0.0,
) -> PublicData:
    """Return public data from a joint second moment (d + 1, d + 1), ordered as ``(*names, target)``.

    Raises:
        InputError: not square, symmetric and positive definite, or fewer rows behind it than features.
    """
    names = tuple(names)
    if m is not None and m < len(names) + 2:
        raise InputError(PublicMessage.MOMENT_TOO_FEW_ROWS, rows=m, count=len(names), limit=len(names) + 2)
    if not np.allclose(moment, moment.T, rtol=1e-6, atol=1e-9 * float(np.max(np.abs(moment)))):
        raise InputError(PublicMessage.MOMENT_NOT_SYMMETRIC)
    diagonal = np.diag(moment)
    if not np.all(diagonal > 0):
        bad = [(*names, target)[j] for j in np.flatnonzero(~(diagonal > 0))]
        raise InputError(PublicMessage.MOMENT_NOT_POSITIVE, columns=bad)
    scale = np.sqrt(diagonal)
    equal = (moment + moment.T) / 2 / np.outer(scale, scale)
    extra = ridge_rows(names, ridge)
    with reraised_as(InputError(PublicMessage.MOMENT_COLLINEAR), np.linalg.LinAlgError):
        root = np.linalg.cholesky(equal + extra.T @ extra if ridge else equal).T
    factor = positive_root(root, names, target) * scale[:, None]
    return PublicData(names, target, factor, m, None, family, lam)


def private_joint_moment(rows: PrivateRows) -> Private[np.ndarray]:
    """Sum over blocks of ``z z'``, exact and private: for the curator and for the lab."""
    return rows.sum(lambda x, y: (z := joint_rows(x, y)).T @ z)
