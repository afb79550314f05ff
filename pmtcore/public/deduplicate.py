"""Copies among public rows: a table pasted together several times says no more than once."""

from __future__ import annotations

import numpy as np

_MANY = 0.8  # of the rows are distinct: below, copies are no coincidence
_FINE = 0.5  # distinct values in some column, for each distinct row: rows of a few levels repeat by themselves


def distinct(rows: np.ndarray) -> np.ndarray:
    """Places (k,) of the rows (m, D) to count, in their order: one of each where many are exact copies, else all."""
    places = np.arange(len(rows))
    if len(rows) < 2:
        return places
    if _all_differ(rows):
        return places
    first = np.sort(np.unique(rows, axis=0, return_index=True)[1])
    if len(first) > _MANY * len(rows):
        return places
    finest = max(len(np.unique(column)) for column in rows.T)
    return first if finest > _FINE * len(first) else places


def _all_differ(rows: np.ndarray) -> bool:
    """Return whether so many values of a random combination of the columns differ that few rows can be copies.

    Copies have one value, so rows with other values are no copies: sorting one column in place of all rows.
    """
    turn = np.random.default_rng(0).standard_normal(rows.shape[1])
    with np.errstate(all="ignore"):
        # Column by column, so that equal rows give equal sums to the last bit.
        values = np.zeros(len(rows))
        for column, factor in zip(rows.T, np.atleast_1d(turn), strict=True):
            values = values + column * factor
        values = np.sort(values)
    return bool(1 + np.count_nonzero(np.diff(values) > 0) > _MANY * len(rows))
