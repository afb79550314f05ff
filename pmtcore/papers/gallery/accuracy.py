"""Trials of paper C's figure 6: its algorithms on tables of few numbers and coded columns, by sums over codes.

A row of Covertype is ten numbers and one of a few dozen pairs of an area and a soil. So sums over rows, lengths and
predictors are sums over ten columns and over pairs, at a fifth of the cost of fifty-five columns. The noise, the
radius and the server's equations are those of the registered methods.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property

import numpy as np
from scipy.linalg import block_diag, solve_triangular

from pmtcore.accounting.budgets import Budget
from pmtcore.base.private_rows import Private
from pmtcore.base.symmetric import isometric_scale, upper_triangle
from pmtcore.glm.families import LOGISTIC
from pmtcore.glm.solvers import Derivatives, Penalty, decrement, minimize
from pmtcore.local import estimators, setup
from pmtcore.local.protocol import Configuration, moments_from_reports
from pmtcore.mechanisms.noise import SeededNoise
from pmtcore.methods.local.collected import LocalMomentParameters, LocalPlan
from pmtcore.methods.local.printed import PrintedLocalPlan
from pmtcore.methods.registry import Plan, make_parameters, method
from pmtcore.papers.gallery.central import table_as_numbers
from pmtcore.papers.gallery.engine import at_epsilon
from pmtcore.papers.gallery.local import mu_of
from pmtcore.public.moments import PublicData

_TABLE_RIDGE = 1e-3  # of public moments and of the fit without privacy, where columns depend on each other
_SETTLED = 1e-6  # Newton's decrement over the root of n at which a fit ends: its square bounds the excess mean loss
_FEW = 16  # every 16th row: the fit to those rows is the start of the fit to all
_ROWS_AT_ONCE = 16_384  # so many stay in the processor's cache
_CODED = 2  # distinct values of a column, at most, that goes into the code of a row
Errors = dict[str, list[float]]


@dataclass(frozen=True, eq=False)
class CodedRows:
    """Rows whose last columns are coded: equal combinations of them share a code.

    Attributes:
        numbers: the first columns (q, n).
        codes: of each row (n,).
        levels: the last columns (k, p - q) of a row of each code.
    """

    numbers: np.ndarray
    codes: np.ndarray
    levels: np.ndarray

    def part(self, which: slice | np.ndarray) -> CodedRows:
        """Return some rows."""
        return CodedRows(self.numbers[:, which], self.codes[which], self.levels)

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.codes)

    def scores(self, beta: np.ndarray) -> np.ndarray:
        """Return products (n, ...) of the rows with coefficients (p, ...)."""
        q = len(self.numbers)
        return np.asarray(self.numbers.T @ beta[:q] + (self.levels @ beta[q:])[self.codes])

    def squares(self, form: np.ndarray) -> np.ndarray:
        """Return ``x'Ax`` (n,) for a symmetric matrix (p, p)."""
        q = len(self.numbers)
        mixed = 2 * (form[:q, q:] @ self.levels.T)[:, self.codes]
        own = np.einsum("ki,ij,kj->k", self.levels, form[q:, q:], self.levels)
        return np.asarray(np.sum(self.numbers * (form[:q, :q] @ self.numbers + mixed), axis=0) + own[self.codes])

    def first(self, weights: np.ndarray) -> np.ndarray:
        """Return ``sum w x`` (p, t) of weights (n, t)."""
        counts = [np.bincount(self.codes, each, len(self.levels)) for each in weights.T]
        return np.vstack([self.numbers @ weights, self.levels.T @ np.stack(counts, axis=1)])

    def second(self, weights: np.ndarray) -> np.ndarray:
        """Return ``sum w x x'`` (p, p) of weights (n,)."""
        q, k = len(self.numbers), len(self.levels)
        own, mixed = np.zeros((q, q)), np.zeros((q, k))
        for start in range(0, len(self), _ROWS_AT_ONCE):
            part = slice(start, start + _ROWS_AT_ONCE)
            weighted = self.numbers[:, part] * weights[part]
            own += weighted @ self.numbers[:, part].T
            mixed += [np.bincount(self.codes[part], each, k) for each in weighted]
        crossed, counts = mixed @ self.levels, np.bincount(self.codes, weights, k)
        return np.block([[own, crossed], [crossed.T, self.levels.T @ (counts[:, None] * self.levels)]])


@dataclass(frozen=True, eq=False)
class CodedLosses:
    """The logistic loss of coded rows, weighted, as a solver takes it; Hessians are those of points near by."""

    rows: CodedRows
    response: np.ndarray
    weights: np.ndarray
    loss = LOGISTIC

    @property
    def count(self) -> int:
        """Return the number of rows."""
        return len(self.rows)

    @property
    def hessian_bound(self) -> np.ndarray:
        """Return an upper bound (p, p) of the Hessian of the sum, anywhere."""
        return self.rows.second(self.weights) * LOGISTIC.curvature

    def value(self, theta: np.ndarray) -> np.ndarray:
        """Return the sums of losses (t,) at coefficients (t, p)."""
        return np.asarray(self.weights @ LOGISTIC.value(self.rows.scores(theta.T), self.response[:, None]))

    def derivatives(self, theta: np.ndarray) -> Derivatives:
        """Return gradients (t, p) and Hessians (t, p, p)."""
        scores, y = self.rows.scores(theta.T), self.response[:, None]
        gradients = self.rows.first(self.weights[:, None] * LOGISTIC.first(scores, y)).T
        return gradients, np.stack([self.rows.second(self.weights * each) for each in LOGISTIC.second(scores, y).T])

    def fitted(self, linear: np.ndarray, matrix: np.ndarray) -> np.ndarray:
        """Return the minimizer (p,) of the mean loss plus ``linear' b + b' matrix b / 2``, begun at few rows' fit."""
        beta = np.zeros(len(linear))
        for step in (_FEW, 1):
            few = CodedLosses(self.rows.part(slice(None, None, step)), self.response[::step], self.weights[::step])
            penalty = Penalty.of(few.count * linear, 0.0, matrix=few.count * matrix)
            beta = minimize(few, penalty, _SETTLED * math.sqrt(few.count), beta, measure=decrement).theta[0]
        return beta


@cache
def _rows_of(table: str, label: float) -> tuple[CodedRows, np.ndarray, tuple[str, ...]]:
    """Return z-scores of all columns that vary and a column of ones, whether each row has the label, and names."""
    x, y, names = table_as_numbers(table, "z", False)
    varies = np.ptp(x, axis=0) > 0
    coded = np.array([len(np.unique(column[:1000])) <= _CODED and len(np.unique(column)) <= _CODED for column in x.T])
    order = [*np.flatnonzero(varies & ~coded), *np.flatnonzero(varies & coded)]
    last = np.column_stack([x[:, varies & coded], np.ones(len(x))])
    _, first, codes = np.unique(estimators.row_keys(last), return_index=True, return_inverse=True)
    rows = CodedRows(np.ascontiguousarray(x[:, varies & ~coded].T), codes, last[first])
    return rows, (y == label).astype(float), (*[names[at] for at in order], "one")


@dataclass(frozen=True, eq=False)
class Side:
    """Rows of one trial in one scale: each row times a number.

    Attributes:
        rows: z-scores.
        scale: number of each row (n,).
    """

    rows: CodedRows
    scale: np.ndarray
    response: np.ndarray

    @cached_property
    def mean(self) -> np.ndarray:
        """Return the mean row (p,)."""
        return self.rows.first(self.scale[:, None])[:, 0] / len(self.scale)

    def lengths(self, shift: np.ndarray) -> np.ndarray:
        """Return the lengths (n,) of the rows less the shift."""
        squares = self.scale**2 * self.rows.squares(np.eye(len(shift))) - 2 * self.scale * self.rows.scores(shift)
        return np.asarray(np.sqrt(np.maximum(squares + shift @ shift, 0.0)))

    def gram(self, shift: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Return ``sum w (x - shift)(x - shift)'`` of weights (n,)."""
        mixed = np.outer(self.rows.first((weights * self.scale)[:, None])[:, 0], shift)
        return np.asarray(
            self.rows.second(weights * self.scale**2) - mixed - mixed.T + weights.sum() * np.outer(shift, shift)
        )

    def cross(self, shift: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Return ``sum w (x - shift) y`` of weights (n,)."""
        pulled = weights * self.response
        return np.asarray(self.rows.first((pulled * self.scale)[:, None])[:, 0] - shift * pulled.sum())


def _moments(
    id: str, private: Side, public: Side, names: tuple[str, ...], *, mus: Sequence[float], seed: int
) -> np.ndarray:
    """Return the coefficients (len(mus), p) of paper C's Algorithm 1 or 2 at several budgets."""
    n, m, d = len(private.scale), len(public.scale), len(names)
    printed, gaussian = id.endswith("-printed"), "gaussian" in id
    shift = public.mean
    gram = public.gram(shift, np.ones(m))
    largest = float(np.linalg.norm(gram / m, 2))
    zeta = LocalMomentParameters().zeta
    radius = math.sqrt(5 * d * largest * math.log(n / zeta)) if gaussian else float(public.lengths(shift).max())
    made = Configuration("moments", names, "y", shift, np.eye(d), radius, 0.0, 1.0, "gaussian", mus[0])
    plan, without_rows = _planned(id, names, n, mus[0]), _known(names, np.eye(d))
    by: LocalPlan | PrintedLocalPlan
    if isinstance(plan, PrintedLocalPlan):
        by = replace(plan, repaired=replace(plan.repaired, public=without_rows, configuration=made))
    else:
        by = _configured(plan, without_rows, made)
    lengths = private.lengths(shift)
    # A row outside the radius is clipped; as printed, its device sends a symbol that is no number.
    weights = (lengths <= radius).astype(float) if printed else np.minimum(1.0, radius / np.maximum(lengths, 1e-300))
    answered = weights.sum() if printed else n
    sums = np.concatenate(
        [upper_triangle(private.gram(shift, weights**2)) * isometric_scale(d), private.cross(shift, weights)]
    )
    statistic = Private(sums / answered if printed else np.rint(sums / made.units()).astype(np.int64))
    reports = np.vstack([by.at(mu).perturb(statistic, SeededNoise(seed, 1), 1).statistic for mu in mus])
    ols = estimators.least_squares(*moments_from_reports(reports, d), (gram, m), n)
    scores = public.scale[:, None] * public.rows.scores(ols.T) - ols @ shift
    link = estimators.of_family(LOGISTIC)
    return np.stack([estimators.scale_root(link, scores[:, t]) * ols[t] for t in range(len(mus))])


def _planned(id: str, names: tuple[str, ...], n: int, mu: float) -> Plan:
    """Return the plan of a registered method from one public row for each column.

    What it finds of these rows is replaced by sums over public rows that are made here.
    """
    entry, d = method(id), len(names)
    rows = np.column_stack([np.eye(d), np.zeros(d)])
    shown = PublicData(names, "y", np.eye(d + 1), d, rows, LOGISTIC, labelled=False)
    return entry.plan(shown, n, Budget(mu), make_parameters(entry, {}))


def _configured(plan: Plan, public: PublicData, configuration: Configuration) -> LocalPlan:
    """Return the plan of a collection with this public side and configuration.

    Raises:
        TypeError: the plan is of another kind.
    """
    if not isinstance(plan, LocalPlan):
        raise TypeError("the plan is of no collection")
    return replace(plan, public=public, configuration=configuration)


def _known(names: tuple[str, ...], root: np.ndarray) -> PublicData:
    """Return the public data without their rows, whose sums are computed here."""
    return PublicData(names, "y", block_diag(root, 1.0), None, None, LOGISTIC, labelled=False)


def released(
    id: str, private: Side, public: Side, names: tuple[str, ...], *, mus: Sequence[float], seed: int
) -> np.ndarray:
    """Return the coefficients (len(mus), p) of a method at several budgets, its noise alike but in size."""
    if id == "ldp-whitened":
        return _whitened(private, public, names, mus=mus, seed=seed)
    return _moments(id, private, public, names, mus=mus, seed=seed)


def _whitened(private: Side, public: Side, names: tuple[str, ...], *, mus: Sequence[float], seed: int) -> np.ndarray:
    """Return the coefficients (len(mus), p) of ``ldp-whitened`` on z-scores at several budgets."""
    n, m, d = len(private.scale), len(public.scale), len(names)
    moment = public.rows.second(np.ones(m)) / m
    size = np.sqrt(np.diag(moment))
    root = np.linalg.cholesky(moment / np.outer(size, size) + _TABLE_RIDGE * np.eye(d)) * size[:, None]
    inverse = solve_triangular(root, np.eye(d), lower=True)
    own, theirs = (np.sqrt(side.rows.squares(inverse.T @ inverse)) for side in (private, public))
    radii = setup.radii_of(theirs)
    shells = np.zeros((3, len(radii) + 1, d, d))
    shell = np.searchsorted(radii, theirs, side="left")
    for at in range(len(radii) + 1):
        rows, length = public.rows.part(shell == at), theirs[shell == at]
        for power in range(3):
            shells[power, at] = inverse @ rows.second(length ** -float(power)) @ inverse.T
    known = setup.WhitenedRows(np.empty((0, d)), theirs, radii, shells)
    fits = []
    for mu in mus:
        made = setup.whitened(_known(names, root), n, mu, "gaussian", known=known)
        plan = _configured(_planned("ldp-whitened", names, n, mu), _known(names, root), made)
        clipped = np.minimum(1.0, made.radius / own) * (private.response - made.centre)
        sums = inverse @ private.rows.first(clipped[:, None])[:, 0]
        statistic = Private(np.rint(sums / made.units()).astype(np.int64))
        score = plan.perturb(statistic, SeededNoise(seed, 1), 1).statistic[0]
        weights = np.minimum(1.0, made.radius / theirs)
        pull = inverse @ public.rows.first(weights[:, None])[:, 0] * (made.centre / m)
        slope = float(np.trace(inverse @ public.rows.second(weights / 4) @ inverse.T)) / m / d
        ridge = plan.mean_variance / max(slope, 1e-3) + 1e-6
        losses = CodedLosses(public.rows, np.zeros(m), weights)
        fits.append(losses.fitted(-root @ (pull + score), ridge * root @ root.T))
    return np.stack(fits)


def accuracy_trial(
    seed: int,
    *,
    table: str,
    sizes: Sequence[int],
    epsilons: Sequence[float],
    series: Sequence[tuple[str, str, str]],
    train_rows: int = 406_708,
    rows_used: int | None = None,
    label: float = 2.0,
    methods: Sequence[str] = (),
) -> Errors:
    """Return the share of test rows classified correctly, one label against the rest, for each size.

    Args:
        series: name, method and scale: ``columns`` for z-scores, ``rows`` for z-scores with each row made of length 1,
            which turns no prediction.
        rows_used: of the table, drawn anew; all of them if ``None``.
        methods: ids of the series, which the description of the figure names.
    """
    rows, y, names = _rows_of(table, label)
    order = np.random.default_rng(seed).permutation(len(y))[:rows_used]
    rows, y, d = rows.part(order), y[order], len(names)
    scales = {"columns": np.ones(len(y)), "rows": 1 / np.sqrt(rows.squares(np.eye(d)))}
    errors: Errors = {}
    test = rows.part(slice(train_rows, None))
    for n in sizes:
        theirs = slice(n, 2 * n) if 2 * n <= train_rows else slice(train_rows - n, train_rows)
        exact = CodedLosses(rows.part(slice(n)), y[:n], np.ones(n)).fitted(np.zeros(d), _TABLE_RIDGE * np.eye(d))
        fits = {"always the larger class": np.append(np.zeros(d - 1), np.mean(y[train_rows:]) - 0.5)}
        fits["without privacy"] = exact
        mus = [mu_of(epsilon, n**-1.1) for epsilon in epsilons]
        for name, id, scale in series:
            private, public = (Side(rows.part(at), scales[scale][at], y[at]) for at in (slice(n), theirs))
            for epsilon, beta in zip(epsilons, released(id, private, public, names, mus=mus, seed=seed), strict=True):
                fits[at_epsilon(name, epsilon)] = np.nan_to_num(beta)
        correct = (test.scores(np.stack(list(fits.values()), axis=1)) > 0) == (y[train_rows:, None] > 0.5)
        for name, share in zip(fits, correct.mean(axis=0), strict=True):
            errors.setdefault(name, []).append(float(share))
    return errors
