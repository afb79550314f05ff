"""Whether the public rows are public: how many of them are rows of the private table (decision 0016).

A public table that holds the private rows gives them away before anything is released, and a fit of it costs
nothing and hides nobody. The share is a private figure, for the curator's eyes. A release looks at it, after its
spend is written down, only to ask whether at least half of the public rows are private ones; its record is then a lab
record, unless the curator gave a word on it, which is recorded.
"""

from __future__ import annotations

import numpy as np

from pmtcore.base.records import Curator, Private, PrivateRows
from pmtcore.public.moments import PublicData

MOST = 2**20  # private rows that are looked at
_MARKING = Curator("a release from public rows that are private ones is marked as lab")
_FEWEST = 10  # public rows: fewer may be alike by chance, such as rows of a few categories
SHARED = "at least half of the public rows are rows of the private table: they are not public"


def overlap(public: PublicData, rows: PrivateRows) -> Private[float]:
    """Share of the different public rows that are among the first million private ones, private."""
    if public.rows is None or not public.labelled:
        return Private(0.0)
    marks = np.unique(_marks(public.rows))

    def seen(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        return np.isin(marks, _marks(np.column_stack([x, y]))).astype(np.int64)

    return rows.first(MOST).sum(seen).map(lambda times: float(np.mean(times > 0)))


def shared(public: PublicData, rows: PrivateRows) -> bool:
    """Whether at least half of the public rows are private ones, and they are many enough to say so.

    One bit about the private table that no noise protects: it depends on a single private row only where as many
    public rows are private rows as is half of them, less one (decision 0016).
    """
    if public.rows is None or len(np.unique(_marks(public.rows))) < _FEWEST:
        return False
    return overlap(public, rows).reveal(_MARKING) >= 0.5


def _marks(rows: np.ndarray) -> np.ndarray:
    """A 64-bit mark (k,) of each row: equal rows have equal marks, others almost never."""
    bits = np.ascontiguousarray(rows + 0.0).view(np.uint64)  # -0.0 is 0.0
    weights = np.random.default_rng(0).integers(1, 2**63, rows.shape[1], dtype=np.uint64) | np.uint64(1)
    with np.errstate(over="ignore"):
        mixed = (bits ^ (bits >> np.uint64(29))) * weights
        return np.bitwise_xor.reduce(mixed ^ (mixed >> np.uint64(32)), axis=1)
