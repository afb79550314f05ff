"""Detect a public table that repeats itself, and reduce it to one copy, which has the same information.

Equal rows alone are no copies: two people of the same age and answer are two people. A table counts as repeated where
the multiplicities of *all* rows have a common divisor of at least 2, or where it is one block of rows, repeated in
order. In a sample neither happens by chance. In a balanced design the first does; it is recognized because its rows are
all combinations of its levels, each equally often, and is not reduced.
"""

import math

import numpy as np

# Least number of distinct rows for a common divisor of their counts to be significant: the counts of 20 distinct rows
# of a sample are all even with probability 2^-20, about one in a million.
_FEWEST_DIFFERENT = 20
_LOG_CHANCE = math.log(1e-6)  # probability that the rows of a sample are one repeated block


def one_copy(rows: np.ndarray) -> np.ndarray:
    """Return the indices (k,) of one copy of the rows (m, D), in order; all indices where the table does not repeat.

    Each distinct row keeps its multiplicity within one copy, so that true duplicates remain.
    """
    m = len(rows)
    if m < 2 or _all_differ(rows):
        return np.arange(m)
    _, which, counts = np.unique(rows, axis=0, return_inverse=True, return_counts=True)
    which = which.reshape(-1)
    if len(counts) == m or _is_full_cross(rows, counts):
        return np.arange(m)
    period = _period(which)
    if 2 * period <= m and (m - period) * math.log(float(np.sum((counts / m) ** 2))) < _LOG_CHANCE:
        return np.arange(period)
    copies = math.gcd(*counts.tolist())
    if copies < 2 or len(counts) < _FEWEST_DIFFERENT:
        return np.arange(m)
    return np.flatnonzero(_occurrence(which) < (counts // copies)[which])


def _all_differ(rows: np.ndarray) -> bool:
    """Return whether a random combination of the columns differs in all rows: then no two rows are copies.

    Sorting one column costs a tenth of sorting all rows.
    """
    values = np.zeros(len(rows))
    with np.errstate(all="ignore"):
        # Column by column, so that equal rows give equal sums to the last bit.
        for column, factor in zip(rows.T, np.random.default_rng(0).standard_normal(rows.shape[1:]), strict=True):
            values = values + column * factor
    return bool(np.all(np.diff(np.sort(values)) > 0))


def _is_full_cross(rows: np.ndarray, counts: np.ndarray) -> bool:
    """Return whether all combinations of the columns' levels are there, each equally often: a balanced design."""
    combinations = math.prod(len(np.unique(column)) for column in rows.T)
    return len(counts) == combinations and counts.min() == counts.max()


def _period(which: np.ndarray) -> int:
    """Return the least p with ``which[i] == which[i - p]`` for all i from p on, by the border of the sequence.

    Source: the failure function of Knuth, Morris and Pratt (1977); m less the longest border is the period.
    """
    sequence = which.tolist()
    border, failure = 0, [0] * len(sequence)
    for i in range(1, len(sequence)):
        while border and sequence[i] != sequence[border]:
            border = failure[border - 1]
        border += sequence[i] == sequence[border]
        failure[i] = border
    return len(sequence) - border


def _occurrence(which: np.ndarray) -> np.ndarray:
    """Return for each row (m,) the number of equal rows before it."""
    order = np.argsort(which, kind="stable")
    ranked = which[order]
    start = np.flatnonzero(np.r_[True, ranked[1:] != ranked[:-1]])
    length = np.diff(np.r_[start, len(ranked)])
    occurrence = np.empty(len(which), dtype=np.int64)
    occurrence[order] = np.arange(len(which)) - np.repeat(start, length)
    return occurrence
