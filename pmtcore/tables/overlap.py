"""Test whether public rows are private rows too, beyond what chance explains (decision 0023).

A public table that holds the private rows gives them away before anything is released. That is the curator's to see
and to judge, before anything is spent: the figures here are private, and no release, record or standing depends on
them. Rows of a few levels are among any other rows of the same population. What chance explains is estimated from
public rows alone:

    Of the public rows that are there once, a share q would be among n other rows of the population. By Good and Turing
    such a row has the mean probability p = 2 f_2/(m f_1), where f_k different rows are there k times among m; and
    q <= 1 - exp(-n p), since 1 - exp(-n p) is concave in p.

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

MOST = 2**20  # private rows that are looked at
_FEWEST = 10  # public rows that are there once: fewer tell nothing
_SDS = 3.0  # between what chance explains, taken at its upper limit, and what is more than that
_LEAST = 0.02  # excess: less is not worth a question
_KEYS = ("public_rows_shared", "public_rows_shared_by_chance", "public_rows_shared_beyond_chance")


@dataclass(frozen=True)
class Overlap:
    """Number of public rows that are private rows. Private.

    Attributes:
        share: of the different public rows, those that are private rows too.
        by_chance: of the public rows that are there once, the share that chance explains; at most 1.
        excess: share of the public rows that are private rows beyond chance; 0 where chance may explain all.
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
    """Return how many public rows are among the first million private ones, and what chance explains; private."""
    if public.rows is None or not len(public.rows):
        return Private(Overlap())
    columns = public.rows.shape[1] - (not public.labelled)
    marks, counts = np.unique(_marks(public.rows[:, :columns]), return_counts=True)
    chance = _by_chance(public.rows[:, :columns], counts, min(rows.n, MOST))

    def times(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        return np.isin(marks, _marks(np.column_stack([x, y])[:, :columns])).astype(np.int64)

    return rows.first(MOST).sum(times).map(lambda times: _judged(times > 0, counts == 1, *chance))


def _judged(common: np.ndarray, once: np.ndarray, likely: float, at_most: float) -> Overlap:
    """Return the figures of public rows (k,) that are private rows too.

    Args:
        common: True for each different public row that is a private row.
        once: True for each different public row that is there once.
        likely: share of the rows that are there once which chance explains.
        at_most: upper limit of that share.
    """
    share = float(np.mean(common))
    if np.sum(once) < _FEWEST:
        return Overlap(share, 1.0, 0.0)
    of_once = float(np.mean(common[once]))
    limit = at_most + _SDS * math.sqrt(at_most * (1 - at_most) / np.sum(once))
    excess = (of_once - likely) / max(1 - likely, 1e-12)
    return Overlap(share, likely, excess if of_once > limit and excess >= _LEAST else 0.0)


def _by_chance(rows: np.ndarray, counts: np.ndarray, n: int) -> tuple[float, float]:
    """Return the share of public rows, of those there once, that are among n others by chance, and an upper limit."""
    m, once, twice = len(rows), int(np.sum(counts == 1)), int(np.sum(counts == 2))
    if once == 0:
        return 1.0, 1.0
    # No pair of equal rows among m (m - 1)/2 does not say that there is none: up to one more may be expected, fewer
    # where several columns would have to agree.
    pairs = math.comb(m, 2)
    log_agree = sum(math.log(min(1.0, (_equal_pairs(column) + 1) / max(pairs, 1))) for column in rows.T)
    unseen = min(1.0, math.exp(math.log(max(pairs, 1)) + log_agree))
    upper = twice + unseen + _SDS * math.sqrt(twice + unseen)
    likely, at_most = (-math.expm1(-n * 2 * number / (m * once)) for number in (twice + unseen, upper))
    return likely, at_most


def _equal_pairs(column: np.ndarray) -> int:
    """Return how many pairs of a column's values (m,) are equal."""
    counts = np.unique(column, return_counts=True)[1].astype(np.int64)
    return int(np.sum(counts * (counts - 1) // 2))


def _marks(rows: np.ndarray) -> np.ndarray:
    """Return a 64-bit mark (k,) of each row: equal rows have equal marks, others almost never."""
    bits = np.ascontiguousarray(rows + 0.0).view(np.uint64)  # -0.0 is 0.0
    weights = np.random.default_rng(0).integers(1, 2**63, rows.shape[1], dtype=np.uint64) | np.uint64(1)
    with np.errstate(over="ignore"):
        mixed = (bits ^ (bits >> np.uint64(29))) * weights
        return np.bitwise_xor.reduce(mixed ^ (mixed >> np.uint64(32)), axis=1)
