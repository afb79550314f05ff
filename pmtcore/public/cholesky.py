"""Cholesky factors of equilibrated moments, and the error that names a collinear column."""

import math
from collections.abc import Iterable

import numpy as np
from scipy.linalg.lapack import dpocon, dpotrf

from pmtcore.base.messages import InputError, PublicMessage

INTERCEPT = "(intercept)"
# A column counts as collinear where regressing it on the columns before it leaves less than this share of its length.
_LEAST_INDEPENDENT_SHARE = 1e-6

# Above this number of columns a QR decomposition takes a tenth of planning, and a Cholesky factor a tenth of that.
_MANY_COLUMNS = 128
# Reciprocal condition number of an equilibrated moment above which its factor has nine correct digits.
_WELL_CONDITIONED = 1e-4


def triangular_root(rows: np.ndarray) -> np.ndarray:
    """Return an upper triangular R (D, D) with ``R'R = rows' rows``, of rows (k, D); its diagonal may be negative.

    A QR decomposition of the rows is used, which does not square the condition number. With many columns and a well
    conditioned moment the moment is factorized, which costs less.
    """
    if rows.shape[1] > _MANY_COLUMNS:
        moment = rows.T @ rows
        scale = np.sqrt(np.diagonal(moment))
        if np.all(scale > 0):
            equal = moment / scale / scale[:, None]
            root, failed = dpotrf(equal, lower=False, clean=True)
            if not failed and dpocon(root, np.max(np.sum(np.abs(equal), axis=0)))[0] > _WELL_CONDITIONED:
                return np.asarray(root * scale)
    return np.asarray(np.linalg.qr(rows, mode="r"))


def column_scale(columns: np.ndarray, names: tuple[str, ...], target: str) -> np.ndarray:
    """Return the root mean square of each column, or raise where one of them is 0.

    Args:
        columns: rows of the d features, the target last where it is whitened too, shape (m, d) or (m, d + 1).
        names: names of the d features.
        target: name of the target.

    Raises:
        InputError: a column is zero in every row, or its squares are.
    """
    scale = np.sqrt(np.mean(columns**2, axis=0))
    zero = [
        (name, np.any(column))
        for name, size, column in zip((*names, target), scale, columns.T, strict=False)
        if not size > 0
    ]
    if tiny := [name for name, has_values in zero if has_values]:
        raise InputError(PublicMessage.VALUES_TOO_SMALL, columns=tiny)
    if [name for name, _ in zero] == [target]:
        raise InputError(PublicMessage.TARGET_CONSTANT, column=target)
    if zero:
        raise InputError(PublicMessage.ZERO_COLUMNS, columns=[name for name, _ in zero])
    return np.asarray(scale)


def ridge_rows(names: tuple[str, ...], ridge: float) -> np.ndarray:
    """Return rows whose moment is ``ridge`` on the diagonal of the features, and 0 for intercept and response.

    Args:
        names: names of the d features; the intercept is recognized by its name.
        ridge: weight of each feature.

    Returns:
        Diagonal matrix (d + 1, d + 1).
    """
    weights = [0.0 if name == INTERCEPT else math.sqrt(ridge) for name in names]
    return np.diag([*weights, 0.0])


def with_positive_diagonal(upper: np.ndarray) -> np.ndarray:
    """Return the upper triangular factor (d, d) of the same moment whose diagonal is positive."""
    return np.asarray(upper * np.where(np.diag(upper) < 0, -1.0, 1.0)[:, None])


def positive_root(upper: np.ndarray, names: tuple[str, ...], target: str, with_target: bool = True) -> np.ndarray:
    """Return the lower triangular Cholesky factor, with a positive diagonal.

    Args:
        upper: upper triangular factor of an equilibrated moment.
        names: names of the features, in the order of the columns.
        target: name of the target, which is the last column.
        with_target: require that the features do not determine the target exactly.

    Raises:
        InputError: a column is a linear combination of the columns before it.
    """
    upper = with_positive_diagonal(upper)
    for j, name in enumerate(names):
        if not upper[j, j] > _LEAST_INDEPENDENT_SHARE:
            raise _dependence(upper, j, name, names)
    if with_target and not upper[-1, -1] > _LEAST_INDEPENDENT_SHARE:
        d = len(names)
        constant = collinear_with(upper[:d, :d], upper[:d, d], names) in ([], [INTERCEPT])
        kind = PublicMessage.TARGET_CONSTANT if constant else PublicMessage.TARGET_FITTED_EXACTLY
        raise InputError(kind, column=target)
    return np.asarray(upper.T)


def collinear_with(columns: np.ndarray, column: np.ndarray, names: Iterable[str]) -> list[str]:
    """Return the names of the columns (k, j), of about equal length, that combine linearly to another column (k,)."""
    weights = np.linalg.lstsq(columns, column, rcond=None)[0]
    return [name for name, weight in zip(names, weights, strict=True) if abs(weight) > 1e-3]


def _dependence(upper: np.ndarray, j: int, name: str, names: tuple[str, ...]) -> InputError:
    others = collinear_with(upper[:j, :j], upper[:j, j], names[:j])
    if others == [INTERCEPT]:
        return InputError(PublicMessage.CONSTANT, column=name)
    return InputError(PublicMessage.COLLINEAR, column=name, columns=others)
