"""Combination of releases: a model confirmed on the same rows, and moments of disjoint tables added.

The chosen model is released once more with ``joint-pmt``, and both releases are combined by their full covariances
(proofs/moment.md, 18.5). Moments of several sites or years under one public whitening become one analysis
(:func:`combined_record`).
"""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from pmtcore.base.messages import ExploreMessage, InputError, Note, ReleaseNote, reraised_as
from pmtcore.explore.regression import Regression
from pmtcore.methods.joint_moment.influence import RowInfluence
from pmtcore.methods.joint_moment.record import Record, mean_difference_variance
from pmtcore.public.bands import Z95
from pmtcore.public.moments import INTERCEPT, joint_rows, public_from_rows
from pmtcore.tables.problem import Problem

# Relative tolerance of equal coordinates: those that were written and read again differ by less.
_RELATIVE_TOLERANCE = 1e-9


@dataclass(frozen=True, eq=False)
class _ChosenModel:
    """Map from rows of the given columns to the chosen features and response, derived columns included."""

    record: Record
    response: int
    features: tuple[int, ...]

    def __call__(self, features: np.ndarray, response: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return features and response of rows; a row that overflows in a derived column becomes zeros."""
        rows = self.record.derived.extend(joint_rows(features, response))
        finite = np.all(np.isfinite(rows), axis=1)
        if not np.all(finite):
            rows = np.where(finite[:, None], rows, 0.0)
        return rows[:, list(self.features)], rows[:, self.response]


def problem_of(problem: Problem, record: Record, fit: Regression) -> Problem:
    """Return the regression as a problem of its own for ``joint-pmt``, derived columns among its features.

    Raises:
        InputError: other tables, no public rows, a penalty, or no intercept where the record has one.
    """
    base = (*problem.public.names, problem.public.target)
    if base != record.derived.base or problem.private.n != record.n:
        raise InputError(ExploreMessage.OTHER_TABLES)
    if problem.public.rows is None:
        raise InputError(ExploreMessage.CONFIRMING_NEEDS_ROWS)
    if fit.lam > 0:
        raise InputError(ExploreMessage.CONFIRMING_PENALIZED)
    if fit.constant != (record.names[0] == INTERCEPT):
        raise InputError(ExploreMessage.OTHER_INTERCEPT)
    if len(fit.names) <= fit.constant:
        raise InputError(ExploreMessage.NO_FEATURE_TO_CONFIRM)
    chosen = _ChosenModel(record, fit.fit.response, fit.fit.features)
    x, y = chosen(problem.public.rows[:, :-1], problem.public.rows[:, -1])
    words = Note(ReleaseNote.CONFIRMS, formula=fit.formula)
    return replace(
        problem,
        private=problem.private.mapped(chosen, fit.names),
        public=public_from_rows(x, y, fit.names, fit.response, clusters=problem.public.clusters),
        notes=(*problem.notes, words),
        coder=None,
        design=None,
    )


@dataclass(frozen=True, eq=False)
class ConfirmedModel:
    """A chosen model, estimated from both releases.

    Attributes:
        coefficients: (q,).
        privacy: covariance (q, q) of the noise and of quantities estimated from public rows.
        truncation: (q,), variances, with the truncation errors of both releases taken as perfectly correlated.
        sampling: (q,), variances, common to both releases: the rows are the same.
        second: limits (q,), (q,) of the second release alone.
    """

    names: tuple[str, ...]
    coefficients: np.ndarray
    privacy: np.ndarray
    truncation: np.ndarray
    sampling: np.ndarray
    second: tuple[np.ndarray, np.ndarray]

    @property
    def limits(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the 95 % limits (q,), (q,)."""
        half = Z95 * np.sqrt(np.diag(self.privacy) + self.truncation + self.sampling)
        return self.coefficients - half, self.coefficients + half

    def as_rows(self) -> list[dict[str, Any]]:
        """Return one row for each coefficient."""
        low, high = self.limits
        return [
            {
                "coefficient": name,
                "value": float(self.coefficients[j]),
                "privacy": math.sqrt(float(self.privacy[j, j])),
                "sampling": math.sqrt(float(self.sampling[j])),
                "truncation": math.sqrt(float(self.truncation[j])),
                "low": float(low[j]),
                "high": float(high[j]),
                "second_low": float(self.second[0][j]),
                "second_high": float(self.second[1][j]),
            }
            for j, name in enumerate(self.names)
        ]


def combine_with_release(fit: Regression, other: Mapping[str, Any]) -> ConfirmedModel:
    """Return a regression combined with the record of a ``joint-pmt`` release of the same question on the same rows.

    The estimates are combined by the inverses of their covariances A and B of noise and truncation: the second has the
    weight ``W = A (A + B)^{-1}``. The noises are independent. Both releases truncate the same long rows, so their
    truncation errors add as standard deviations, not as variances. Sampling is common to both and counts once.

    Raises:
        InputError: the record is of another question or method, or of other rows.
    """
    released, bands = other.get("released"), other.get("bands")
    same = isinstance(bands, Mapping) and set(bands) == set(fit.names)
    if not same or other.get("target") != fit.response or other.get("n") != fit.state.n:
        raise InputError(ExploreMessage.OTHER_QUESTION)
    theirs = released.get("alone") if isinstance(released, Mapping) else None
    if not isinstance(theirs, Mapping):
        raise InputError(ExploreMessage.SECOND_WITHOUT_COVARIANCE)
    coefficients, noise, cut, limits = _alone(theirs, other, fit.names)
    own, lost = fit.fit.privacy, fit.fit.truncation
    first, second = own + lost, noise + np.diag(cut)
    scale = np.sqrt(np.diag(first + second))
    weight = np.linalg.solve((first + second) / np.outer(scale, scale), first / scale[:, None]).T / scale
    rest = np.eye(len(weight)) - weight
    length = np.sqrt(np.diag(rest @ lost @ rest.T)) + np.sqrt(np.diag(weight @ np.diag(cut) @ weight.T))
    return ConfirmedModel(
        fit.names,
        fit.fit.coefficients + weight @ (coefficients - fit.fit.coefficients),
        rest @ own @ rest.T + weight @ noise @ weight.T,
        length**2,
        np.diag(fit.fit.sampling),
        (limits[0], limits[1]),
    )


def _alone(
    fields: Mapping[str, Any], release: Mapping[str, Any], names: tuple[str, ...]
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return coefficients, noise covariance, truncation variances and limits (2, q) of the second release."""
    with reraised_as(InputError(ExploreMessage.SECOND_UNREADABLE)):
        order = [list(release["coefficients"]).index(name) for name in names]
        coefficients = np.array(fields["coefficients"], dtype=float)[order]
        noise = np.array(fields["privacy"], dtype=float)[np.ix_(order, order)]
        truncation = np.array(fields["truncation"], dtype=float)[order]
        limits = np.array([[float(release["bands"][name][side]) for name in names] for side in ("low", "high")])
    finite = all(np.all(np.isfinite(x)) for x in (coefficients, noise, truncation, limits))
    if not finite or np.any(truncation < 0) or np.min(np.diag(noise)) <= 0:
        raise InputError(ExploreMessage.SECOND_UNREADABLE)
    return coefficients, noise, truncation, limits


def combined_record(records: Sequence[Record], disjoint: str) -> Record:
    """Return the record of all tables together (proofs/results.md, 3).

    Each ``M_k`` is a mean over ``n_k`` rows with noise ``sigma_k``; ``M = sum n_k M_k / N`` is the mean over all, with
    noise ``sqrt(sum n_k^2 sigma_k^2)/N``. Nothing private is read. If nobody is in two tables, each person keeps the
    guarantee of their own table; the caller must therefore state why, and moments that share a table are refused.

    Args:
        records: one of each table, with the same columns and coordinates.
        disjoint: why nobody is in two of the tables; the caller stores it.

    Raises:
        InputError: fewer than two, no reason, other columns or coordinates, or one table twice.
    """
    if not disjoint.strip():
        raise InputError(ExploreMessage.DISJOINT_REASON)
    if len(records) < 2:
        raise InputError(ExploreMessage.TWO_MOMENTS_NEEDED)
    first = records[0]
    for at, record in enumerate(records):
        _check_alike(first, record)
        if any(np.array_equal(record.noisy, other.noisy) for other in records[:at]):
            raise InputError(ExploreMessage.MOMENT_TWICE)
    n = sum(record.n for record in records)
    weights = np.array([record.n / n for record in records])
    noisy = np.einsum("k,kij->ij", weights, np.stack([record.noisy for record in records]))
    sigma = math.sqrt(float(np.sum((weights * [record.sigma for record in records]) ** 2)))
    influence = replace(first.influence, n=n) if isinstance(first.influence, RowInfluence) else first.influence
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
    """Raise unless two moments have the same columns in the same coordinates."""
    same = json.dumps(_columns(one)) == json.dumps(_columns(other)) and one.root.shape == other.root.shape
    if not same:
        raise InputError(ExploreMessage.OTHER_COLUMNS)
    apart = np.max(np.abs(one.root - other.root)) > _RELATIVE_TOLERANCE * np.max(np.abs(one.root))
    if apart or not math.isclose(one.radius, other.radius, rel_tol=_RELATIVE_TOLERANCE) or one.m != other.m:
        raise InputError(ExploreMessage.OTHER_RADII)


def _columns(record: Record) -> list[object]:
    derived = record.derived
    return [record.names, [rule.as_dict() for rule in derived.rules], derived.weighted, record.shrunk]
