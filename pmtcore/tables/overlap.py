"""Test whether more public rows are also private rows than expected by chance (decision 0023).

A public table that contains private rows discloses them before any release. The curator sees the figures of this test
before anything is spent; they are private, and no release, record or standing depends on them. Rows with few levels
also occur in independent samples. The share expected by chance is estimated from public rows alone:

    Let a share q of the public rows that are unique (occur once among m) occur among n other rows of the population.
    By Good and Turing a unique row has the mean probability p = 2 f_2/(m f_1), where f_k distinct rows occur k times;
    and q <= 1 - exp(-n p), since 1 - exp(-n p) is concave in p.

Sources: Good (1953), Biometrika 40; proof: proofs/homogeneity.md, 23; figures on real tables: decision 0023.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import astuple, dataclass
from typing import Any

import numpy as np

from pmtcore.base.private_rows import Private, PrivateRows
from pmtcore.public.moments import PublicData

MOST = 2**20  # most private rows that are compared
_LEAST_ROWS = 10  # least unique public rows for the test
_STANDARD_ERRORS = 3.0  # of the share above the upper limit by chance, from which on it is an excess
_LEAST_EXCESS = 0.02  # least excess that is stated
_KEYS = ("public_rows_shared", "public_rows_shared_by_chance", "public_rows_shared_beyond_chance")


@dataclass(frozen=True)
class Overlap:
    """Shares of public rows that are also private rows. Private.

    Attributes:
        share: share of the distinct public rows that are also private rows.
        by_chance: share of the unique public rows expected to be private rows by chance.
        excess: share of the unique public rows beyond that; 0 where chance may explain all.
    """

    share: float = 0.0
    by_chance: float = 0.0
    excess: float = 0.0

    def as_dict(self) -> dict[str, float]:
        """Return the keys of ``describe``."""
        return dict(zip(_KEYS, astuple(self), strict=True))

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> Overlap:
        """Return the figures from the keys of ``describe``."""
        return cls(*(float(fields[name]) for name in _KEYS))


def overlap(public: PublicData, rows: PrivateRows) -> Private[Overlap]:
    """Return the shares of public rows among the first :data:`MOST` private ones; private."""
    if public.rows is None or not len(public.rows):
        return Private(Overlap())
    columns = public.rows.shape[1] - (not public.labelled)
    marks, counts = np.unique(_row_marks(public.rows[:, :columns]), return_counts=True)
    chance_shares = _chance_share(public.rows[:, :columns], counts, min(rows.n, MOST))

    def occurrences(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        return np.isin(marks, _row_marks(np.column_stack([x, y])[:, :columns])).astype(np.int64)

    return (
        rows.first(MOST)
        .sum(occurrences)
        .map(lambda occurrences: _figures(occurrences > 0, counts == 1, *chance_shares))
    )


def _figures(common: np.ndarray, is_unique: np.ndarray, expected: float, upper_limit: float) -> Overlap:
    """Return the shares for k distinct public rows.

    Args:
        common: whether each row (k,) is also a private row.
        is_unique: whether each row (k,) occurs once among the public rows.
        expected: share of the unique rows that is expected to be private rows by chance.
        upper_limit: upper limit of that share.
    """
    share = float(np.mean(common))
    if np.sum(is_unique) < _LEAST_ROWS:
        return Overlap(share, 1.0, 0.0)
    unique_share = float(np.mean(common[is_unique]))
    limit = upper_limit + _STANDARD_ERRORS * math.sqrt(upper_limit * (1 - upper_limit) / np.sum(is_unique))
    excess = (unique_share - expected) / max(1 - expected, 1e-12)
    return Overlap(share, expected, excess if unique_share > limit and excess >= _LEAST_EXCESS else 0.0)


def _chance_share(rows: np.ndarray, counts: np.ndarray, n: int) -> tuple[float, float]:
    """Return the expected share of unique public rows among n other rows, and an upper limit."""
    m, n_unique, n_twice = len(rows), int(np.sum(counts == 1)), int(np.sum(counts == 2))
    if n_unique == 0:
        return 1.0, 1.0
    # More pairs of equal rows may be expected than were observed: one at most, and fewer if columns rarely agree.
    pairs = math.comb(m, 2)
    log_probability = sum(math.log(min(1.0, (_equal_pairs(column) + 1) / max(pairs, 1))) for column in rows.T)
    extra_pairs = min(1.0, math.exp(math.log(max(pairs, 1)) + log_probability))
    upper_pairs = n_twice + extra_pairs + _STANDARD_ERRORS * math.sqrt(n_twice + extra_pairs)
    expected, upper_limit = (
        -math.expm1(-n * 2 * n_pairs / (m * n_unique)) for n_pairs in (n_twice + extra_pairs, upper_pairs)
    )
    return expected, upper_limit


def _equal_pairs(column: np.ndarray) -> int:
    """Return the number of equal pairs of a column's values (m,)."""
    counts = np.unique(column, return_counts=True)[1].astype(np.int64)
    return int(np.sum(counts * (counts - 1) // 2))


def _row_marks(rows: np.ndarray) -> np.ndarray:
    """Return a 64-bit hash (k,) of each row."""
    bits = np.ascontiguousarray(rows + 0.0).view(np.uint64)  # -0.0 is 0.0
    weights = np.random.default_rng(0).integers(1, 2**63, rows.shape[1], dtype=np.uint64) | np.uint64(1)
    with np.errstate(over="ignore"):
        mixed = (bits ^ (bits >> np.uint64(29))) * weights
        return np.bitwise_xor.reduce(mixed ^ (mixed >> np.uint64(32)), axis=1)
