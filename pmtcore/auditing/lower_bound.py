"""Audit: run a mechanism on two neighbouring tables built to be distinguishable, and bound its privacy from below.

Half of the runs choose the pair of tables, the direction and the threshold; on the other half, false alarms and
misses of that one test are counted, and Clopper-Pearson gives a lower bound on mu at a stated confidence:
``mu >= Phi^{-1}(1 - FPR) - Phi^{-1}(FNR)`` with both rates at their upper limits. A bound above the claim is a
violation. A bound below it proves nothing: :attr:`Audit.smallest` is the violation that this attack would have shown.

Neighbours may differ in one person: tables of people with any number of rows, bounded as in a release.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np
from scipy.special import ndtr, ndtri

from pmtcore.accounting.budgets import MEAN, Unit, epsilon_from_mu
from pmtcore.base.distributions import beta
from pmtcore.base.messages import (
    AttackResult,
    AuditMessage,
    InputError,
    number_between,
    reraised_as,
    whole_number_between,
)
from pmtcore.base.private_rows import PrivateRows
from pmtcore.glm.families import GAUSSIAN, family
from pmtcore.mechanisms.noise import NoiseSource, SeededNoise
from pmtcore.methods.registry import Method, Plan, method
from pmtcore.public.clipping import RESPONSE_SCALES
from pmtcore.public.moments import PublicData, public_from_rows
from pmtcore.public.ridge import ridge_regularized_public
from pmtcore.tables.persons import bounded_rows

# Confidence of every bound: at most one false accusation in a hundred audits.
CONFIDENCE = 0.99
# Number of private rows: the effect of one row relative to the noise does not depend on it.
_PRIVATE_ROWS = 8
# Public rows: enough for methods of two passes, and few enough that an audit starts at once.
_PUBLIC_ROWS = 60
# Features: two directions for the pairs of rows, and one more.
_FEATURES = 3
# Size of the rows: beyond every radius, so that truncation and not the row decides.
_BEYOND_RADII = 1e4
# Middle of the response scales, all of which are within a factor of 1.7 of it.
_MIDDLE_RESPONSE_SCALE = float(np.sqrt(RESPONSE_SCALES[0] * RESPONSE_SCALES[-1]))
# Runs computed as one batch, which takes a few tens of megabytes.
_RELEASES_AT_ONCE = 5000
# Share of the trials that choose the pair.
_PAIR_SHARE = 0.25
# Thresholds on either side, of 200 in all: a twentieth of the runs each.
_SMOOTHED_THRESHOLDS = 10
# Delta at which 10,000 runs can still show an event.
_DELTA = 1e-3
Runs = Callable[[int, int, int], np.ndarray]  # table (0 or 1), trials, stream -> outputs (trials, k)
Fit = Callable[[np.ndarray, np.ndarray, int], np.ndarray]
Table = tuple[np.ndarray, np.ndarray]
# Name of the identifier column; any other would do.
_COLUMN = "person"


@dataclass(frozen=True)
class People:
    """People in the tables of an audit.

    Attributes:
        unit: claimed bound on the rows of each person.
        row_counts: rows of the attacked person in the one table and in the other.
        applied: bound that is applied; ``None``: the claimed one. Another one is a planted fault.
    """

    unit: Unit
    row_counts: tuple[int, int] = (1000, 10)
    applied: Unit | None = None

    @classmethod
    def of(cls, rows: int, rule: str, applied: int | None = None) -> People:
        """Return people of whom ``rows`` rows count by a rule.

        Raises:
            InputError: no such rule, or a number that does not go with it.
        """
        return cls(Unit(rows, _COLUMN, rule), applied=None if applied is None else Unit(applied, _COLUMN, rule))

    def table(
        self, which: int, row: tuple[np.ndarray, float], rest: tuple[np.ndarray, np.ndarray], names: tuple[str, ...]
    ) -> PrivateRows:
        """Return a table of the attacked person, with many copies of their worst row, before the others.

        Args:
            which: number of the table, 0 or 1.
            row: features (d,) and response of the attacked person.
            rest: rows (n, d), (n,) of the other people, each of whom has as many rows as count.
            names: names of the features.
        """
        count, k = self.row_counts[which], self.unit.rows
        x = np.vstack([np.tile(row[0], (count, 1)), rest[0]])
        y = np.concatenate([np.full(count, row[1]), rest[1]])
        others = 1 + np.arange(len(rest[1])) // k
        person = np.concatenate([np.zeros(count, dtype=int), others])
        rows = PrivateRows.from_arrays(np.column_stack([x, person]), y, (*names, _COLUMN))
        return bounded_rows(rows, 1 + len(rest[1]) // k, self.applied or self.unit)

    @property
    def words(self) -> str:
        """Return the neighbours in words, after the pair of rows."""
        counts = " and ".join(f"{count:,}" for count in self.row_counts)
        return f"as all {counts} rows of one person"


@dataclass(frozen=True)
class ClaimTest:
    """A claim of privacy and the lower bound that a test of it gives.

    Attributes:
        claimed: mu that a method claims, or epsilon where only that is claimed.
        lower_bound: lower bound on the same.
        confidence: of the bound.
        trials: number of runs.
        false_alarms, detections: rates of the counted test.
    """

    claimed: float
    lower_bound: float
    confidence: float = field(default=CONFIDENCE, kw_only=True)
    trials: int
    false_alarms: float
    detections: float

    @property
    def violated(self) -> bool:
        """Return True where the bound is above the claim."""
        return self.lower_bound > self.claimed


@dataclass(frozen=True)
class Audit(ClaimTest):
    """Result of an audit.

    Attributes:
        method: id.
        pair: description of the two tables.
    """

    method: str
    pair: str

    @property
    def smallest(self) -> float:
        """Return the smallest true mu of the same mechanism with less noise that this attack would have detected.

        The counted test separates the tables by ``t = Phi^{-1}(detections) - Phi^{-1}(false alarms)``. Noise smaller
        by a factor s gives mu = claimed/s and, for Gaussian noise, t/s, which is detected from :func:`power` on.
        """
        if self.detections <= self.false_alarms:
            return math.inf if self.claimed > 0 else 0.0
        apart = float(ndtri(self.detections) - ndtri(self.false_alarms))
        return self.claimed * power(self.claimed, self.trials) / min(apart, self.claimed)

    @property
    def verdict(self) -> str:
        """Return the result in one sentence."""
        if self.violated:
            return AttackResult.VIOLATION.sentence(bound=self.lower_bound, claimed=self.claimed)
        if not math.isfinite(self.smallest):
            return AttackResult.NO_POWER.sentence()
        return AttackResult.NO_VIOLATION.sentence(bound=self.lower_bound, claimed=self.claimed, smallest=self.smallest)

    @property
    def epsilon_lower_bound(self) -> float:
        """Return the lower bound on epsilon at delta 0.001, from the same counts."""
        half = self.trials // 2
        return epsilon_bound(round(self.false_alarms * half), round((1 - self.detections) * half), half, _DELTA)

    def as_dict(self) -> dict[str, Any]:
        """Return plain fields."""
        return {
            "method": self.method,
            "claimed": self.claimed,
            "lower_bound": self.lower_bound,
            "epsilon_lower_bound": self.epsilon_lower_bound,
            "epsilon_claimed": epsilon_from_mu(self.claimed, _DELTA) if self.claimed > 0 else 0.0,
            "delta": _DELTA,
            "confidence": self.confidence,
            "trials": self.trials,
            "pair": self.pair,
            "false_alarms": self.false_alarms,
            "detections": self.detections,
            "smallest_found": self.smallest,
            "verdict": self.verdict,
        }


def audit(
    id: str,
    mu: float = 1.0,
    trials: int = 20_000,
    seed: int = 1,
    *,
    noise: Callable[[NoiseSource], NoiseSource] = lambda source: source,
    change: Callable[[Plan], Plan] = lambda plan: plan,
    people: People | None = None,
    **values: object,
) -> Audit:
    """Audit a registered method.

    Args:
        id: the method.
        mu: total budget.
        trials: number of runs on each pair of tables.
        seed: of the noise.
        noise: a planted fault: another source of noise. For the audit's own tests.
        change: a planted fault: another plan. For the audit's own tests.
        people: neighbours differ in a person with many rows, and the claim is for a person; ``None``: in a row.
        **values: parameters of the method.

    Raises:
        InputError: unknown method, or too few trials.
    """
    entry = method(id)
    number_between("mu", mu, 1e-3, 100.0)
    whole_number_between("trials", trials, 1000, 10**7)
    public = _public(entry)
    if people is not None and (entry.local or (people.unit.rule == MEAN and public.family.binary)):
        kind = AuditMessage.REPORT_IS_ONE_ROW if entry.local else AuditMessage.LABELS_HAVE_NO_MEAN
        raise InputError(kind, method=id)
    k = 1 if people is None else people.unit.rows
    n = 1 if entry.local else _PRIVATE_ROWS * k  # in the local model the guarantee is of one report
    plan = change(entry.planned(public, n, mu, values))
    if plan.mu == 0 and entry.role != "reference":
        return Audit(0.0, 0.0, trials, 1.0, 1.0, method=id, pair="no private row is read")
    best: tuple[float, str, Runs] | None = None
    pairs = _pairs(public, n, people, responses_only=entry.protects_responses_only)
    for at, (words, tables) in enumerate(pairs):
        runs = _runs(plan, tables, noise, seed, pair=at)
        pair_bound = bound(runs, max(int(trials * _PAIR_SHARE), 500), at)[0]
        if best is None or pair_bound > best[0]:
            best = (pair_bound, words, runs)
    if best is None:
        raise InputError(AuditMessage.NO_WORST_PAIR, method=id)
    claimed = k * (mu if entry.role == "reference" else plan.mu)
    return audit_of(id, claimed, best[2], trials, pair=best[1], stream=1000)


def audit_of(method: str, claimed: float, runs: Runs, trials: int, *, pair: str, stream: int = 0) -> Audit:
    """Return the audit of a claim by runs on one pair of tables.

    Args:
        method: id.
        claimed: mu that is claimed.
        runs: outputs of the mechanism on each table.
        trials: number of runs.
        pair: description of the two tables.
        stream: of the seeds of the runs.
    """
    lower, alarms, detections = bound(runs, trials, stream)
    return Audit(claimed, lower, trials, alarms, detections, method=method, pair=pair)


def bound(runs: Runs, trials: int, stream: int = 0) -> tuple[float, float, float]:
    """Return a lower bound on mu, with the rates of false alarms and detections of its test.

    Args:
        runs: outputs of ``trials`` runs on table 0 or 1; streams differ between learning and counting.
        trials: number of runs on each table.
        stream: number of this audit's streams.
    """
    half = trials // 2
    a, b = runs(0, half, 2 * stream), runs(1, half, 2 * stream)
    direction = _direction(a, b)
    threshold = _threshold(a @ direction, b @ direction)
    a, b = runs(0, half, 2 * stream + 1) @ direction, runs(1, half, 2 * stream + 1) @ direction
    alarms, misses = int(np.sum(a > threshold)), int(np.sum(~(b > threshold)))
    return mu_bound(alarms, misses, half), alarms / half, 1 - misses / half


def mu_bound(alarms: int, misses: int, runs: int, *, confidence: float = CONFIDENCE) -> float:
    """Return ``Phi^{-1}(1 - FPR) - Phi^{-1}(FNR)`` at the upper Clopper-Pearson limits, half of the error rate each."""
    alarm_rate, miss_rate = _upper_rates(alarms, misses, runs, confidence=confidence)
    mu = -float(ndtri(alarm_rate)) - float(ndtri(miss_rate))
    return max(mu, 0.0) if math.isfinite(mu) else 0.0


@cache
def power(claimed: float, trials: int) -> float:
    """Return the smallest true mu of a Gaussian mechanism whose best test has an expected bound above the claim."""
    half = trials // 2
    for ratio in np.geomspace(1.0, 10.0, 400):
        mu = claimed * float(ratio)
        at = np.linspace(0.0, mu + 3.0, 60)
        bounds = [mu_bound(round(half * ndtr(-t)), round(half * ndtr(t - mu)), half) for t in at]
        if max(bounds) > claimed:
            return mu
    return math.inf


def epsilon_bound(alarms: int, misses: int, runs: int, delta: float) -> float:
    """Return a lower bound on epsilon at a delta: ``log((1 - delta - FNR)/FPR)`` at the upper limits."""
    alarm_rate, miss_rate = _upper_rates(alarms, misses, runs)
    return max(math.log(max(1 - delta - miss_rate, 1e-300) / alarm_rate), 0.0)


def _upper_rates(alarms: int, misses: int, runs: int, *, confidence: float = CONFIDENCE) -> tuple[float, float]:
    """Return upper Clopper-Pearson limits of the rates of false alarms and misses, at half of the error rate each."""
    tail = (1 - confidence) / 2
    alarm_rate, miss_rate = (float(beta.isf(tail, k + 1, runs - k)) if k < runs else 1.0 for k in (alarms, misses))
    return alarm_rate, miss_rate


def _direction(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return Fisher's direction on robustly scaled columns, so that heavy tails do not hide it."""
    both = np.vstack([a, b])
    both = np.where(np.isfinite(both), both, 0.0)
    spread = np.quantile(both, 0.84, axis=0) - np.quantile(both, 0.16, axis=0)
    scale = 1 / np.where(spread > 0, spread, 1.0)
    a, b = (np.clip(np.where(np.isfinite(x), x, 0.0) * scale, -50, 50) for x in (a, b))
    pooled = np.atleast_2d(np.cov(a.T) + np.cov(b.T)) / 2
    width = float(np.trace(pooled)) / len(scale)
    regularized = pooled + 1e-9 * (width + 1e-30) * np.eye(len(scale))
    return np.asarray(np.linalg.solve(regularized, (b - a).mean(axis=0)) * scale)


def _threshold(a: np.ndarray, b: np.ndarray) -> float:
    """Choose the threshold with the largest bound on the learning half, averaged over neighbouring thresholds.

    A single bound far in the tail may be large by chance, and is then small on the other half.
    """
    levels = np.unique(np.quantile(np.concatenate([a, b]), np.linspace(0.002, 0.998, 200)))
    alarms = len(a) - np.searchsorted(np.sort(a), levels, side="right")
    misses = np.searchsorted(np.sort(b), levels, side="right")
    bounds = [mu_bound(int(x), int(y), len(a)) for x, y in zip(alarms, misses, strict=True)]
    wide = np.pad(bounds, _SMOOTHED_THRESHOLDS, mode="edge")
    smooth = np.convolve(wide, np.full(2 * _SMOOTHED_THRESHOLDS + 1, 1.0), mode="valid")
    return float(levels[int(np.argmax(smooth))])


def _runs(
    plan: Plan,
    tables: tuple[PrivateRows, PrivateRows],
    noise: Callable[[NoiseSource], NoiseSource],
    seed: int,
    *,
    pair: int,
) -> Runs:
    mechanisms = [plan.mechanism_on(rows) for rows in tables]

    def run(which: int, trials: int, stream: int) -> np.ndarray:
        parts = []
        for start in range(0, trials, _RELEASES_AT_ONCE):
            source = noise(SeededNoise(seed, pair, which, stream, start))
            parts.append(mechanisms[which](source, min(_RELEASES_AT_ONCE, trials - start)).transcript())
        return np.vstack(parts)

    return run


def _public(entry: Method) -> PublicData:
    """Draw the public data of the audit: a fixed draw, with labels where the family has them."""
    rng = np.random.default_rng(20_261_121)
    x = rng.standard_normal((_PUBLIC_ROWS, _FEATURES))
    chosen = family(next(f for f in ("gaussian", "logistic", "poisson", "boosting") if f in entry.families))
    z = x @ np.array([0.5, -0.5, 0.25])
    if chosen.binary:
        y = (rng.random(_PUBLIC_ROWS) < chosen.mean(z)).astype(float)
    elif chosen.id == "poisson":
        y = rng.poisson(chosen.mean(z)).astype(float)
    else:
        y = z + rng.standard_normal(_PUBLIC_ROWS)
    names = tuple(f"x{j + 1}" for j in range(_FEATURES))
    return public_from_rows(x, y, names, "y", ridge=0.0, family=chosen, lam=0.0 if chosen.id == "gaussian" else 0.01)


def _pairs(
    public: PublicData, n: int, people: People | None = None, *, responses_only: bool = False
) -> Iterator[tuple[str, tuple[PrivateRows, PrivateRows]]]:
    """Yield neighbouring tables (replace-one, a row or a person): worst rows against each other, over backgrounds.

    Args:
        public: public data of the audit.
        n: number of private rows.
        people: where neighbours differ in a person.
        responses_only: neighbours have the same covariates.
    """
    d, binary = public.d, public.family.binary
    far = _BEYOND_RADII * public.feature_root[:, 0]
    other = _BEYOND_RADII * public.feature_root[:, -1]
    low, high = (0.0, 1.0) if binary else (-_BEYOND_RADII, _BEYOND_RADII)
    others = n - (1 if people is None else people.unit.rows)
    rest = np.zeros((others, d))
    backgrounds: list[tuple[str, np.ndarray, np.ndarray]] = [("over empty rows", rest, np.zeros(others))]
    if binary:
        pushing = np.tile(far, (others, 1)), np.ones(others)
        backgrounds.append(("against rows that push its prediction up", *pushing))
    rows = [
        ("one row with opposite responses", (far, low), (far, high)),
        ("opposite rows with opposite labels", (far, low), (-far, low)),
        ("rows at right angles", (far, low), (other, low)),
        ("a row at the radius against an empty one", (far, low), (0 * far, 0.0)),
        ("residual rows at right angles", (far, float(far @ public.coefficients)), (0 * far, high)),
    ]
    if public.family is GAUSSIAN:
        rows.append(("one row with opposite residuals", *_opposite_residuals(ridge_regularized_public(public))))
    if responses_only:
        rows = [row for row in rows if np.array_equal(row[1][0], row[2][0])]
    for words, x, y in backgrounds:
        for name, one, two in rows:
            if people is None:
                yield f"{name}, {words}", (_table(public, one, x, y), _table(public, two, x, y))
            else:
                first, second = (people.table(at, row, (x, y), public.names) for at, row in enumerate((one, two)))
                yield f"{name} {people.words}, {words}", (first, second)


def _opposite_residuals(public: PublicData) -> tuple[tuple[np.ndarray, float], tuple[np.ndarray, float]]:
    """Return two long rows with opposite residuals as long as their features, which change the joint moment most.

    The gradients of these rows are clipped, in opposite directions, at any estimate of a previous pass.
    """
    x = _BEYOND_RADII * public.feature_root[:, 0]
    level, deviation = float(x @ public.coefficients), _BEYOND_RADII * public.residual_scale / _MIDDLE_RESPONSE_SCALE
    return (x, level - deviation), (x, level + deviation)


def _table(public: PublicData, row: tuple[np.ndarray, float], x: np.ndarray, y: np.ndarray) -> PrivateRows:
    return PrivateRows.from_arrays(np.vstack([row[0], x]), np.concatenate([[row[1]], y]), public.names)


def curve_points(audit: Audit) -> tuple[np.ndarray, np.ndarray]:
    """Return false alarm rates and the largest detection rates that the claim allows."""
    alarms = np.linspace(0.001, 0.999, 200)
    return alarms, np.asarray(ndtr(ndtri(alarms) + audit.claimed))


@dataclass(frozen=True)
class PeerAudit(ClaimTest):
    """Result of an audit: a lower bound on epsilon at the stated delta."""

    delta: float

    @property
    def sentence(self) -> str:
        """Return the result in one line."""
        return AttackResult.PEER.sentence(
            state="VIOLATION" if self.violated else "no violation found",
            bound=self.lower_bound,
            claimed=self.claimed,
            delta=self.delta,
            count=self.trials,
            level=self.confidence,
            low=self.false_alarms,
            high=self.detections,
        )


def audit_estimator(
    fit: Fit, tables: tuple[Table, Table], epsilon: float, delta: float, *, trials: int = 2000
) -> PeerAudit:
    """Audit a black box.

    Args:
        fit: from rows (n, d), responses (n,) and a run number to its output, of any shape.
        tables: two tables of equal shape that differ in one row.
        epsilon: claimed epsilon.
        delta: claimed delta.
        trials: number of runs on each table.

    Raises:
        InputError: the tables are not neighbours.
    """
    number_between("epsilon", epsilon, 1e-6, 1e3)
    number_between("delta", delta, 0.0, 1.0)
    whole_number_between("trials", trials, 100, 10**7)
    with reraised_as(InputError(AuditMessage.NOT_ONE_ROW_APART), TypeError, ValueError, AttributeError):
        (x, y), (other_x, other_y) = tables
        x, y, other_x, other_y = map(np.asarray, (x, y, other_x, other_y))
        if x.shape != other_x.shape or np.sum(np.any(x != other_x, axis=1) | (y != other_y)) != 1:
            raise InputError(AuditMessage.NOT_ONE_ROW_APART)

    def runs(which: int, count: int, stream: int) -> np.ndarray:
        rows, responses = tables[which]
        outputs = [
            np.ravel(fit(rows.copy(), responses.copy(), stream * trials + which * 10**9 + t)) for t in range(count)
        ]
        return _views(np.asarray(outputs, dtype=float))

    half = trials // 2
    _, alarms, detections = bound(runs, trials)
    lower_bound = max(
        epsilon_bound(round(alarms * half), round((1 - detections) * half), half, delta),
        epsilon_bound(round((1 - detections) * half), round(alarms * half), half, delta),
    )
    return PeerAudit(epsilon, lower_bound, trials, alarms, detections, delta=delta)


def neighbouring_pairs(
    rows: int, features: int, bound: float, response: tuple[float, float]
) -> list[tuple[Table, Table]]:
    """Build pairs of tables that differ in their first row: a large row against zeros, or against its opposites.

    Args:
        rows: of each table; all but the first are nearly zero.
        features: columns of each table.
        bound: largest absolute value of a feature.
        response: range of the response.

    Raises:
        InputError: no row, no column, or no numbers.
    """
    rows, features = (whole_number_between(n, value, 1, 10**6) for n, value in (("rows", rows), ("features", features)))
    bound = number_between("bound", bound, -1e100, 1e100)
    with reraised_as(InputError(AuditMessage.RESPONSE_RANGE, given=response), TypeError, ValueError):
        low, high = map(float, response)
    x = np.full((rows, features), 1e-3 * bound)
    y = np.full(rows, low)
    large = (np.full(features, bound), high)
    others = [(np.zeros(features), low), (np.full(features, bound), low), (np.full(features, -bound), high)]
    pairs = []
    for other in others:
        one, two = (x.copy(), y.copy()), (x.copy(), y.copy())
        one[0][0], one[1][0] = large
        two[0][0], two[1][0] = other
        pairs.append((one, two))
    return pairs


def _views(outputs: np.ndarray) -> np.ndarray:
    """Return the outputs, their size on a log scale, and a large value where they are not finite."""
    finite = np.isfinite(outputs)
    values = np.where(finite, outputs, 0.0)
    size = np.log(np.abs(values) + 1e-12)
    return np.hstack([np.clip(values, -1e6, 1e6), np.where(finite, size, 50.0)])
