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
    first = np.sort(np.unique(rows, axis=0, return_index=True)[1])
    if len(first) > _MANY * len(rows):
        return places
    finest = max(len(np.unique(column)) for column in rows.T)
    return first if finest > _FINE * len(first) else places
