"""Find a public table that was pasted together several times: it says no more than one copy of it.

Equal rows alone are no copies: two people of the same age and answer are two people. What a paste leaves is that
*every* row is there k, 2k, 3k ... times for one k from 2 on, or that the table is one block of rows, repeated in
order. A sample does neither by chance, and a designed experiment, which does, is told apart by its rows: it holds all
combinations of its levels, each equally often.
"""

import math

import numpy as np

# Different rows from which on counts with a common divisor are no chance: a sample has even counts in all of so many
# with probability 2^-20, about one in a million.
_FEWEST_DIFFERENT = 20
_LOG_CHANCE = math.log(1e-6)  # that a sample's rows are one block, repeated


def one_copy(rows: np.ndarray) -> np.ndarray:
    """Return the places (k,) of one copy of the rows (m, D), in their order; of a table not pasted, all places.

    Each different row keeps the share of its places that one copy has, so that honest duplicates inside the copy stay.
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
    """Return for each place (m,) how many equal rows come before it."""
    order = np.argsort(which, kind="stable")
    ranked = which[order]
    start = np.flatnonzero(np.r_[True, ranked[1:] != ranked[:-1]])
    length = np.diff(np.r_[start, len(ranked)])
    occurrence = np.empty(len(which), dtype=np.int64)
    occurrence[order] = np.arange(len(which)) - np.repeat(start, length)
    return occurrence
