"""Released moments of disjoint tables under one public whitening, added (proofs/results.md, 3).

Several sites or years become one analysis. Each ``M_k`` is a mean over ``n_k`` rows with noise ``sigma_k``;
``M = sum n_k M_k / N`` is the mean over all, with noise ``sqrt(sum n_k^2 sigma_k^2)/N``. Nothing private is read. Where
nobody is in two tables each person keeps the guarantee of their own table; so that must be stated, and moments that
share a table are refused.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from pmtcore.base.messages import ExploreMessage, Refusal, RefusedError
from pmtcore.methods.joint_moment.influence import Rows
from pmtcore.methods.joint_moment.record import Record, mean_difference_variance

_SAME = 1e-9  # relative: coordinates that were written and read again differ by less


def combined_record(records: Sequence[Record], disjoint: str) -> Record:
    """Return the record of all tables together.

    Args:
        records: one of each table, with the same columns and coordinates.
        disjoint: why nobody is in two of the tables; kept by the caller.

    Raises:
        InputError: fewer than two, no reason, other columns or coordinates, or one table twice.
    """
    if not disjoint.strip():
        raise RefusedError(Refusal.OVERLAPPING_TABLES, ExploreMessage.DISJOINT_REASON)
    if len(records) < 2:
        raise RefusedError(Refusal.UNLIKE_MOMENTS, ExploreMessage.TWO_MOMENTS_NEEDED)
    first = records[0]
    for at, record in enumerate(records):
        _check_alike(first, record)
        if any(np.array_equal(record.noisy, other.noisy) for other in records[:at]):
            raise RefusedError(Refusal.OVERLAPPING_TABLES, ExploreMessage.MOMENT_TWICE)
    n = sum(record.n for record in records)
    weights = np.array([record.n / n for record in records])
    noisy = np.einsum("k,kij->ij", weights, np.stack([record.noisy for record in records]))
    sigma = math.sqrt(float(np.sum((weights * [record.sigma for record in records]) ** 2)))
    influence = replace(first.influence, n=n) if isinstance(first.influence, Rows) else first.influence
    return replace(
        first,
        noisy=noisy,
        sigma=sigma,
        n=n,
        prior=first.prior * mean_difference_variance(n, first.m) / mean_difference_variance(first.n, first.m),
        influence=influence,
        guarantee=dict(max((record.guarantee for record in records), key=lambda promise: promise["mu"])),
    )


def _check_alike(one: Record, other: Record) -> None:
    """Raise unless two moments are of the same columns in the same coordinates."""
    same = json.dumps(_columns(one)) == json.dumps(_columns(other)) and one.root.shape == other.root.shape
    if not same:
        raise RefusedError(Refusal.UNLIKE_MOMENTS, ExploreMessage.OTHER_COLUMNS)
    apart = np.max(np.abs(one.root - other.root)) > _SAME * np.max(np.abs(one.root))
    if apart or not math.isclose(one.radius, other.radius, rel_tol=_SAME) or one.m != other.m:
        raise RefusedError(Refusal.UNLIKE_MOMENTS, ExploreMessage.OTHER_RADII)


def _columns(record: Record) -> list[object]:
    derived = record.derived
    return [record.names, [rule.as_dict() for rule in derived.rules], derived.weighted, record.shrunk]
