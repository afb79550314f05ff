"""Roots of equilibrated moments, and which columns stand in the way of one."""

from __future__ import annotations

import math

import numpy as np

from pmtcore.base.checks import InputError, listed

INTERCEPT = "(intercept)"
_DEPENDENT = 1e-6  # share of a column's length left after regressing it on those before it


def column_scale(scale: np.ndarray, names: tuple[str, ...], target: str) -> np.ndarray:
    """The columns' sizes (d + 1,) as they are.

    Raises:
        InputError: one of them is 0.
    """
    zero = [name for name, size in zip((*names, target), scale, strict=False) if not size > 0]
    if zero:
        raise InputError(f"In the public table {listed(zero)} is zero in every row; leave it out.")
    return scale


def ridge_rows(names: tuple[str, ...], ridge: float) -> np.ndarray:
    """Rows whose moment is ``ridge`` on the diagonal of the features, nothing on intercept and response."""
    weights = [0.0 if name == INTERCEPT else math.sqrt(ridge) for name in names]
    return np.diag([*weights, 0.0])


def positive_root(upper: np.ndarray, names: tuple[str, ...], target: str, with_target: bool = True) -> np.ndarray:
    """Lower triangular root with a positive diagonal from the upper factor of an equilibrated moment."""
    upper = upper * np.where(np.diag(upper) < 0, -1.0, 1.0)[:, None]
    for j, name in enumerate(names):
        if not upper[j, j] > _DEPENDENT:
            raise InputError(_dependence(upper, j, name, names))
    if with_target and not upper[-1, -1] > _DEPENDENT:
        raise InputError(
            f"The public rows fit {target!r} exactly, so they say nothing about its spread; add public rows, "
            f"or leave out a feature that repeats the target."
        )
    return np.asarray(upper.T)


def _dependence(upper: np.ndarray, j: int, name: str, names: tuple[str, ...]) -> str:
    weights = np.linalg.lstsq(upper[:j, :j], upper[:j, j], rcond=None)[0]
    partners = [names[i] for i in np.flatnonzero(np.abs(weights) > 1e-3)]
    if partners == [INTERCEPT]:
        return f"Column {name!r} is constant in the public table; leave it out."
    return (
        f"Column {name!r} is a linear combination of {listed(partners)} in the public table "
        f"(collinear); leave one of them out, or set a public ridge."
    )
