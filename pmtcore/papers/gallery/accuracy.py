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

from pmtcore.base.private_rows import Private
from pmtcore.base.symmetric import isometric_scale, upper_triangle
from pmtcore.glm.families import LOGISTIC
from pmtcore.glm.solvers import Derivatives, Penalty, Solution, minimize, newton_decrements
from pmtcore.local import estimators, setup
from pmtcore.local.protocol import Configuration, moments_from_reports
from pmtcore.mechanisms.noise import SeededNoise
from pmtcore.methods.local.collected import LocalMomentParameters, LocalPlan
from pmtcore.methods.local.printed import PrintedLocalPlan
from pmtcore.methods.registry import Plan, method
from pmtcore.papers.gallery.central import table_as_numbers
from pmtcore.papers.gallery.engine import Errors, at_epsilon
from pmtcore.papers.gallery.local import mu_of
from pmtcore.public.moments import PublicData

_TABLE_RIDGE = 1e-3  # of public moments and of the fit without privacy, where columns depend on each other
_SETTLED = 1e-5  # Newton's decrement over the root of n at which a fit ends: its square bounds the excess mean loss
_FEW = 16  # every 16th row: the fit to few rows is the start of the fit to all
_ROWS_AT_ONCE = 16_384  # so many stay in the processor's cache
_ROWS_FOR_RADIUS = 40_000  # public rows, at most, by which the radius of the whitened scheme is chosen
_BINS_PER_OCTAVE = 64  # of scores
_LEAST_OCTAVE = 30  # scores below 2^-30 are in the first bin
_BINS = (_LEAST_OCTAVE + 4) * _BINS_PER_OCTAVE  # up to a score of 16, beyond which no curve that counts is left
_LARGEST_SCALE = 1e4  # as in the scan for the root
_SCALES = 137  # forty a decade
_HALF = 0.5  # a label of 1 is above it
_CODED = 2  # distinct values of a column, at most, that goes into the code of a row


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
    """The logistic loss of coded rows, weighted, as a solver takes it."""

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

    def fitted(self, linear: np.ndarray, matrix: np.ndarray, start: np.ndarray | None = None) -> Solution:
        """Return the minimizer (1, p) of the mean loss plus ``linear' b + b' matrix b / 2``.

        Args:
            start: where it begins; at the fit to every 16th row if ``None``.
        """
        if start is None:
            few = slice(None, None, _FEW)
            subset = CodedLosses(self.rows.part(few), self.response[few], self.weights[few])
            start = subset.fitted(linear, matrix, np.zeros(len(linear))).theta[0]
        penalty = Penalty.of(self.count * linear, 0.0, matrix=self.count * matrix)
        return minimize(self, penalty, _SETTLED * math.sqrt(self.count), start, measure=newton_decrements)

    def continued(self, fewer: Solution, matrix: np.ndarray, first: int) -> np.ndarray:
        """Return where the fit to the rows begins: one Newton step from that to the first of them.

        Only the new rows are read: at its end the fit to the first knows their derivatives.

        Args:
            fewer: the fit to the first rows.
            matrix: of the penalty (p, p).
            first: number of the first rows.
        """
        new = slice(first, None)
        more = CodedLosses(self.rows.part(new), self.response[new], self.weights[new]).derivatives(fewer.theta)
        gradient, hessian = (one[0] + two[0] for one, two in zip(fewer.derivatives, more, strict=True))
        theta, ridge = fewer.theta[0], self.count * matrix
        return np.asarray(theta - np.linalg.solve(hessian + ridge, gradient + ridge @ theta))


@dataclass(frozen=True, eq=False)
class WeightedMoments:
    """Sums over rows x with weights w and v and responses y: moments about 0, which give those about any shift.

    Attributes:
        count, first, second: ``sum w``, ``sum w x`` (p,) and ``sum w x x'`` (p, p).
        responses, cross: ``sum v y`` and ``sum v x y`` (p,).
    """

    count: float
    first: np.ndarray
    second: np.ndarray
    responses: float
    cross: np.ndarray

    def __add__(self, other: WeightedMoments) -> WeightedMoments:
        """Return the sums over the rows of both."""
        return WeightedMoments(*(one + two for one, two in zip(vars(self).values(), vars(other).values(), strict=True)))

    def gram_about(self, shift: np.ndarray) -> np.ndarray:
        """Return ``sum w (x - shift)(x - shift)'``."""
        mixed = np.outer(self.first, shift)
        return np.asarray(self.second - mixed - mixed.T + self.count * np.outer(shift, shift))

    def cross_about(self, shift: np.ndarray) -> np.ndarray:
        """Return ``sum v (x - shift) y``."""
        return np.asarray(self.cross - shift * self.responses)


@dataclass(frozen=True, eq=False)
class Side:
    """Rows in one scale: each row times a number.

    Attributes:
        rows: z-scores.
        scale: number of each row (n,).
        squares: squared length of each row in this scale (n,).
        response: label of each row (n,).
        fewer: a side of the first of these rows, whose moments are part of those of all.
    """

    rows: CodedRows
    scale: np.ndarray
    squares: np.ndarray
    response: np.ndarray
    fewer: Side | None = None

    @classmethod
    def of(cls, rows: CodedRows, response: np.ndarray) -> Side:
        """Return the rows as they are."""
        squares = rows.squares(np.eye(len(rows.numbers) + rows.levels.shape[1]))
        return cls(rows, np.ones(len(squares)), squares, response)

    @property
    def unit(self) -> Side:
        """Return the rows, each made of length 1."""
        return Side(self.rows, self.scale / np.sqrt(self.squares), np.ones(len(self.squares)), self.response)

    def part(self, which: slice | np.ndarray) -> Side:
        """Return some rows."""
        return Side(self.rows.part(which), self.scale[which], self.squares[which], self.response[which])

    def firsts(self, sizes: Sequence[int]) -> dict[int, Side]:
        """Return the first rows, for each of some increasing numbers of them."""
        sides: dict[int, Side] = {}
        fewer = None
        for n in sizes:
            fewer = sides[n] = replace(self.part(slice(n)), fewer=fewer)
        return sides

    @cached_property
    def moments(self) -> WeightedMoments:
        """Return the sums over all rows, of weights 1."""
        new = self if self.fewer is None else self.part(slice(len(self.fewer.rows), None))
        ones = np.ones(len(new.rows))
        own = new.weighted(ones, ones)
        return own if self.fewer is None else self.fewer.moments + own

    def weighted(self, w: np.ndarray, v: np.ndarray) -> WeightedMoments:
        """Return the sums with weights w and v (n,)."""
        pulled = v * self.response
        first, cross = self.rows.first(np.column_stack([w, pulled]) * self.scale[:, None]).T
        return WeightedMoments(w.sum(), first, self.rows.second(w * self.scale**2), pulled.sum(), cross)

    def first(self, weights: np.ndarray) -> np.ndarray:
        """Return ``sum w x`` (p,) of weights (n,)."""
        return self.rows.first((weights * self.scale)[:, None])[:, 0]

    def lengths(self, shift: np.ndarray) -> np.ndarray:
        """Return the lengths (n,) of the rows less the shift."""
        squares = self.squares - 2 * self.scale * self.rows.scores(shift) + shift @ shift
        return np.asarray(np.sqrt(np.maximum(squares, 0.0)))

    def clipped(self, shift: np.ndarray, radius: float, omitted: bool) -> WeightedMoments:
        """Return the moments of rows whose distance from the shift is made at most the radius.

        Args:
            omitted: a row beyond the radius counts for nothing, else it is drawn to it.
        """
        if math.sqrt(self.squares.max()) + np.linalg.norm(shift) <= radius:
            return self.moments
        lengths = self.lengths(shift)
        beyond = np.flatnonzero(lengths > radius)
        factor = np.zeros(len(beyond)) if omitted else radius / lengths[beyond]
        return self.moments + self.part(beyond).weighted(factor**2 - 1, factor - 1)


@cache
def _table(table: str, label: float) -> tuple[Side, tuple[str, ...]]:
    """Return z-scores of all columns that vary and a column of ones, with whether each row has the label, and names."""
    x, y, names = table_as_numbers(table, "z", False)
    varies = np.ptp(x, axis=0) > 0
    coded = np.array([len(np.unique(column[:1000])) <= _CODED and len(np.unique(column)) <= _CODED for column in x.T])
    order = [*np.flatnonzero(varies & ~coded), *np.flatnonzero(varies & coded)]
    last = np.column_stack([x[:, varies & coded], np.ones(len(x))])
    _, first, codes = np.unique(estimators.row_keys(last), return_index=True, return_inverse=True)
    rows = CodedRows(np.ascontiguousarray(x[:, varies & ~coded].T), codes, last[first])
    return Side.of(rows, (y == label).astype(float)), (*[names[at] for at in order], "one")


def _moments(
    id: str, private: Side, public: Side, names: tuple[str, ...], *, mus: Sequence[float], seed: int
) -> np.ndarray:
    """Return the coefficients (t, p) of paper C's Algorithm 1 or 2."""
    n, m, d = len(private.rows), len(public.rows), len(names)
    printed, gaussian = id.endswith("-printed"), "gaussian" in id
    shift = public.moments.first / m
    gram = public.moments.gram_about(shift)
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
    # As printed, the device of a row outside the radius sends a symbol that is no number.
    moments = private.clipped(shift, radius, printed)
    seconds = upper_triangle(moments.gram_about(shift)) * isometric_scale(d)
    sums = np.concatenate([seconds, moments.cross_about(shift)])
    statistic = Private(sums / moments.count if printed else np.rint(sums / made.units()).astype(np.int64))
    reports = np.vstack([by.with_budget(mu).perturb(statistic, SeededNoise(seed, 1), 1).statistic for mu in mus])
    slopes = estimators.least_squares(*moments_from_reports(reports, d), (gram, m), n)
    return np.asarray(scales(public, shift, slopes)[:, None] * slopes)


@cache
def _scale_equation() -> tuple[np.ndarray, np.ndarray]:
    """Return scales c (k,) and ``c Phi''(c s)`` (k, bins) at a score s of each bin; smaller c have no root.

    A bin is a sixty-fourth part of the scores between one power of 2 and the next, so ``c s`` is known to a
    hundredth whatever c, and the mean over many scores to a ten-thousandth.
    """
    middles = 2.0 ** ((np.arange(_BINS) + 0.5) / _BINS_PER_OCTAVE - _LEAST_OCTAVE)
    scales = np.geomspace(1 / LOGISTIC.curvature, _LARGEST_SCALE, _SCALES)
    return scales, scales[:, None] * LOGISTIC.slope(scales[:, None] * middles)


def scales(public: Side, shift: np.ndarray, slopes: np.ndarray) -> np.ndarray:
    """Return the root c (t,) of ``1 = c mean_pub Phi''(c x'w)`` for slopes (t, p); NaN if there is none.

    The mean is over scores counted by bins, and the root is the next point of a grid of forty points a decade: the sign
    of a prediction has no c in it, so only whether there is a root counts.
    """
    scores = public.scale[:, None] * public.rows.scores(slopes.T) - slopes @ shift
    octaves = np.log2(np.maximum(np.abs(scores), 2.0**-_LEAST_OCTAVE)) + _LEAST_OCTAVE
    bins = np.minimum((octaves * _BINS_PER_OCTAVE).astype(np.int64), _BINS - 1)
    counts = np.stack([np.bincount(each, minlength=_BINS) for each in bins.T])
    grid, curve = _scale_equation()
    reached = counts @ curve.T >= len(scores)
    return np.where(reached.any(axis=1), grid[np.argmax(reached, axis=1)], np.nan)


def _planned(id: str, names: tuple[str, ...], n: int, mu: float) -> Plan:
    """Return the plan of a registered method from one public row for each column.

    What it finds of these rows is replaced by sums over public rows that are made here.
    """
    d = len(names)
    rows = np.column_stack([np.eye(d), np.zeros(d)])
    shown = PublicData(names, "y", np.eye(d + 1), d, rows, LOGISTIC, labelled=False)
    return method(id).planned(shown, n, mu)


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
    """Return the coefficients (t, p) of a method at the budgets, its noise alike but in size."""
    return (_whitened if id == "ldp-whitened" else _moments)(id, private, public, names, mus=mus, seed=seed)


def _whitened(
    id: str, private: Side, public: Side, names: tuple[str, ...], *, mus: Sequence[float], seed: int
) -> np.ndarray:
    """Return the coefficients (t, p) of ``ldp-whitened`` on z-scores."""
    n, m, d = len(private.rows), len(public.rows), len(names)
    moment = public.moments.second / m
    units = np.sqrt(np.diag(moment))
    root = np.linalg.cholesky(moment / np.outer(units, units) + _TABLE_RIDGE * np.eye(d)) * units[:, None]
    inverse = solve_triangular(root, np.eye(d), lower=True)
    lengths, public_lengths = (np.sqrt(side.rows.squares(inverse.T @ inverse)) for side in (private, public))
    known, fits = _shells(public, public_lengths, inverse), []
    for mu in mus:
        made = setup.whitened_scheme(_known(names, root), n, mu, "gaussian", known=known)
        plan = _configured(_planned(id, names, n, mu), _known(names, root), made)
        clipped = np.minimum(1.0, made.radius / lengths) * (private.response - made.centre)
        statistic = Private(np.rint(inverse @ private.first(clipped) / made.units()).astype(np.int64))
        score = plan.perturb(statistic, SeededNoise(seed, 1), 1).statistic[0]
        weights = np.minimum(1.0, made.radius / public_lengths)
        linear = -public.first(weights) * (made.centre / m) - root @ score
        slope = weights @ public_lengths**2 * LOGISTIC.curvature / m / d
        ridge = (plan.mean_variance / max(slope, 1e-3) + 1e-6) * root @ root.T
        fits.append(CodedLosses(public.rows, np.zeros(m), weights).fitted(linear, ridge).theta[0])
    return np.stack(fits)


def _shells(public: Side, lengths: np.ndarray, inverse: np.ndarray) -> setup.WhitenedRows:
    """Return what the choice of a radius reads of whitened public rows, from at most some of them.

    Args:
        lengths: of the rows, whitened.
        inverse: of the root that whitens.
    """
    some = slice(None, None, -(-len(lengths) // _ROWS_FOR_RADIUS))
    rows, few = public.rows.part(some), lengths[some]
    radii = setup.radii_of(few)
    shells = np.zeros((3, len(radii) + 1, *inverse.shape))
    shell = np.searchsorted(radii, few, side="left")
    for at in range(len(radii) + 1):
        inside, length = rows.part(shell == at), few[shell == at]
        for power in range(3):
            shells[power, at] = inverse @ inside.second(length ** -float(power)) @ inverse.T
    return setup.WhitenedRows(np.empty((0, len(inverse))), few, radii, shells)


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
    references: Sequence[str] = (),
    methods: Sequence[str] = (),
) -> Errors:
    """Return the share of test rows classified correctly, one label against the rest, for each size.

    The private rows of a size are the first of the training rows, and its public rows the last.

    Args:
        sizes: numbers of private rows, and of public ones, increasing.
        series: name, method and scale: ``columns`` for z-scores, ``rows`` for z-scores with each row made of length 1,
            which turns no prediction.
        rows_used: of the table, drawn anew; all of them if ``None``.
        references: names of what the methods are compared with, of the two that are known here.
        methods: ids of the series, which the description of the figure names.
    """
    every, names = _table(table, label)
    order, d = np.random.default_rng(seed).permutation(len(every.rows))[:rows_used], len(names)
    train, test = order[:train_rows], every.part(order[train_rows:])
    columns = [every.part(which[: sizes[-1]]) for which in (train, train[::-1])]
    scaled = {"columns": columns, "rows": [side.unit for side in columns]}
    drawn = {scale: [side.firsts(sizes) for side in sides] for scale, sides in scaled.items()}
    test_labels = test.response > _HALF
    zero, ridge = np.zeros(d), _TABLE_RIDGE * np.eye(d)
    exact: tuple[Solution, int] | None = None  # the fit to fewer rows, and their number
    errors: Errors = {}
    for n in sizes:
        fits = {}
        if "always the larger class" in references:
            fits["always the larger class"] = np.append(np.zeros(d - 1), np.mean(test_labels) - _HALF)
        if "without privacy" in references:
            private = drawn["columns"][0][n]
            losses = CodedLosses(private.rows, private.response, np.ones(n))
            start = zero if exact is None else losses.continued(exact[0], ridge, exact[1])
            exact = losses.fitted(zero, ridge, start), n
            fits["without privacy"] = exact[0].theta[0]
        mus = [mu_of(epsilon, n**-1.1) for epsilon in epsilons]
        for name, id, scale in series:
            private, public = (side[n] for side in drawn[scale])
            beta = np.nan_to_num(released(id, private, public, names, mus=mus, seed=seed))
            fits |= {at_epsilon(name, epsilon): fit for epsilon, fit in zip(epsilons, beta, strict=True)}
        positive = test.rows.scores(np.stack(list(fits.values()), axis=1)) > 0
        for name, share in zip(fits, np.mean(positive == test_labels[:, None], axis=0), strict=True):
            errors.setdefault(name, []).append(float(share))
    return errors
