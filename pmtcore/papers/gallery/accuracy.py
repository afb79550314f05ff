"""Trials of paper C's figure 6: its algorithms on tables of few numbers and coded columns, by sums over codes.

A row of Covertype is ten numbers and one of a few dozen pairs of an area and a soil. So sums over rows, lengths and
predictors are sums over ten columns and over pairs, at a fifth of the cost of fifty-five columns. The noise, the
radius and the server's equations are those of the registered methods.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property, partial
from itertools import pairwise

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
_LAST_STEP = 1e-4  # the same, at which the last step is taken: what it leaves is far smaller
_SLOW = 0.1  # share of a step before, from which on the curvature is divided anew
_MOST_STEPS = 60  # of fits together; those of much noise take about fifteen
_FEW = 16  # every 16th row of a common code: the fit to few rows is the start of the fit to all
_ROWS_AT_ONCE = 16_384  # so many stay in the processor's cache
_ROWS_FOR_RADIUS = 40_000  # public rows, at most, by which the radius of the whitened scheme is chosen
_ROUNDING = 1e-9  # relative: a length computed in two ways
_BITS_BELOW = 46  # of a double, below its exponent and the first six bits of its fraction: 64 bins for a power of 2
_LEAST_BIN = (1023 - 30) << 6  # of a score of 2^-30
_BINS = (30 + 4) << 6  # up to a score of 16, beyond which no curve that counts is left
_LARGEST_SCALE = 1e4  # as in the scan for the root
_SCALES = 137  # forty a decade
_HALF = 0.5  # a label of 1 is above it
_LEAST_CURVATURE = 1e-300  # of the rows of a code; without any there is none to divide
_CODED = 2  # distinct values of a column, at most, that goes into the code of a row
Errors = dict[str, list[float]]
Weights = Callable[[int, np.ndarray, np.ndarray], np.ndarray]  # a block, sizes (k,) and places of t (k,) -> (k, rows)


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
    """Rows in one scale: each row times a number.

    Attributes:
        rows: z-scores.
        scale: number of each row (n,).
    """

    rows: CodedRows
    scale: np.ndarray
    response: np.ndarray

    def part(self, which: slice | np.ndarray) -> Side:
        """Return some rows."""
        return Side(self.rows.part(which), self.scale[which], self.response[which])

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


class FirstRows:
    """Sums over the first rows of one side, for every number of them, from one pass over blocks of rows.

    Within a block rows are put in the order of their codes, which changes no sum: sums over codes are then sums over
    neighbours.

    Args:
        side: the rows, in the order in which they are drawn.
        sizes: increasing numbers of first rows.
    """

    def __init__(self, side: Side, sizes: Sequence[int]) -> None:
        self.sizes = tuple(sizes)
        self.blocks = [slice(low, high) for low, high in pairwise([0, *sizes])]
        order = [block.start + np.argsort(side.rows.codes[block], kind="stable") for block in self.blocks]
        self.side = side.part(np.concatenate(order))
        self.rows = self.side.rows
        self._groups = [np.unique(self.rows.codes[block], return_index=True) for block in self.blocks]

    def thinned(self) -> tuple[FirstRows, list[np.ndarray], list[np.ndarray]]:
        """Return few of the rows, their places in each block, and how many rows each stands for.

        Where a block has many rows of a code they are every 16th of them; all of the few rows of a rare code stay.
        """
        places, times = [], []
        for block, (_, starts) in zip(self.blocks, self._groups, strict=True):
            counts = np.diff(np.append(starts, block.stop - block.start))
            steps = np.where(counts >= 2 * _FEW, _FEW, 1)
            within = np.arange(block.stop - block.start) - np.repeat(starts, counts)
            chosen = np.flatnonzero(within % np.repeat(steps, counts) == 0)
            left = np.repeat(counts, counts)[chosen] - within[chosen]
            places.append(chosen)
            times.append(np.minimum(np.repeat(steps, counts)[chosen], left).astype(float))
        all_places = np.concatenate([block.start + own for block, own in zip(self.blocks, places, strict=True)])
        return FirstRows(self.side.part(all_places), np.cumsum([len(own) for own in places]).tolist()), places, times

    def codes_of(self, block: int) -> np.ndarray:
        """Return the codes of a block's rows."""
        return self.rows.codes[self.blocks[block]]

    @property
    def pairs(self) -> int:
        """Return the number of pairs of the numbers of a row and 1."""
        q = len(self.rows.numbers) + 1
        return q * (q + 1) // 2

    def _added(self, of_block: Callable[[Side], np.ndarray]) -> np.ndarray:
        """Return what is computed of each block, added up to each size (sizes, ...)."""
        return np.cumsum([of_block(self.side.part(block)) for block in self.blocks], axis=0)

    @cached_property
    def second(self) -> np.ndarray:
        """Return ``sum x x'`` (sizes, p, p)."""
        return self._added(lambda side: side.rows.second(side.scale**2))

    @cached_property
    def means(self) -> np.ndarray:
        """Return the mean rows (sizes, p)."""
        sums = self._added(lambda side: side.rows.first(side.scale[:, None])[:, 0])
        return np.asarray(sums / np.array(self.sizes)[:, None])

    @cached_property
    def responses(self) -> np.ndarray:
        """Return ``sum (x, 1) y`` (sizes, p + 1)."""
        return self._added(
            lambda side: np.append(side.rows.first((side.scale * side.response)[:, None])[:, 0], side.response.sum())
        )

    def gram(self, at: int, shift: np.ndarray) -> np.ndarray:
        """Return ``sum (x - shift)(x - shift)'`` over the first rows of one size."""
        n, mean = self.sizes[at], self.means[at]
        return np.asarray(
            self.second[at] - n * (np.outer(mean, shift) + np.outer(shift, mean) - np.outer(shift, shift))
        )

    def cross(self, at: int, shift: np.ndarray) -> np.ndarray:
        """Return ``sum (x - shift) y`` over the first rows of one size."""
        return np.asarray(self.responses[at, :-1] - shift * self.responses[at, -1])

    @cached_property
    def _from_mean(self) -> np.ndarray:
        """Return the distances (n,) of all rows from their mean."""
        return self.side.lengths(self.means[-1])

    def beyond(self, at: int, shift: np.ndarray, radius: float) -> np.ndarray:
        """Return the places among the first rows of one size of all that may lie further from the shift than a radius.

        A row's distance from the shift differs from that from the mean by at most what lies between these two.
        """
        between = float(np.linalg.norm(shift - self.means[-1])) + _ROUNDING * radius
        return np.flatnonzero(self._from_mean[: self.sizes[at]] > radius - between)

    def longest(self, at: int, shift: np.ndarray) -> float:
        """Return the largest distance from the shift of the first rows of one size."""
        between = 2 * float(np.linalg.norm(shift - self.means[-1]))
        few = self.beyond(at, shift, float(self._from_mean[: self.sizes[at]].max()) - between)
        return float(self.side.part(few).lengths(shift).max())

    def scores(self, block: int, beta: np.ndarray) -> np.ndarray:
        """Return products (k, rows) of a block's rows, unscaled, with coefficients (k, p)."""
        q, (codes, starts) = len(self.rows.numbers), self._groups[block]
        own = self.blocks[block]
        counts = np.diff(np.append(starts, own.stop - own.start))
        levels = beta[:, q:] @ self.rows.levels[codes].T
        return np.asarray(beta[:, :q] @ self.rows.numbers[:, own] + np.repeat(levels, counts, axis=1))

    def first(self, block: int, weights: np.ndarray) -> np.ndarray:
        """Return ``sum w x`` (k, p) over a block's rows, unscaled, of weights (k, rows)."""
        own = weights @ self.rows.numbers[:, self.blocks[block]].T
        return np.hstack([own, self.counted(block, weights) @ self.rows.levels])

    def by_code(self, block: int, weights: np.ndarray) -> np.ndarray:
        """Return ``sum w (u, 1)(u, 1)'`` over a block's rows of each code, u their numbers: (k, codes, pairs)."""
        own, (codes, starts) = self.blocks[block], self._groups[block]
        numbers = np.vstack([self.rows.numbers[:, own], np.ones(own.stop - own.start)])
        one, other = np.triu_indices(len(numbers))
        products = (numbers[one] * numbers[other]).T
        sums = np.zeros((len(weights), len(self.rows.levels), len(one)))
        for code, low, high in zip(codes, starts, [*starts[1:], len(products)], strict=True):
            sums[:, code] = weights[:, low:high] @ products[low:high]
        return sums

    def hessians(self, sums: np.ndarray) -> np.ndarray:
        """Return ``sum w x x'`` (..., p, p) of sums by code (..., codes, pairs)."""
        q, levels = len(self.rows.numbers), self.rows.levels
        one, other = np.triu_indices(q + 1)
        inner = other < q
        own = np.zeros((*sums.shape[:-2], q, q))
        own[..., one[inner], other[inner]] = own[..., other[inner], one[inner]] = sums[..., inner].sum(axis=-2)
        crossed = np.swapaxes(sums[..., (other == q) & (one < q)], -1, -2) @ levels
        counted = levels.T @ (sums[..., -1][..., None] * levels)
        upper, lower = (
            np.concatenate(pair, axis=-1) for pair in ((own, crossed), (np.swapaxes(crossed, -1, -2), counted))
        )
        return np.concatenate([upper, lower], axis=-2)

    def counted(self, block: int, weights: np.ndarray) -> np.ndarray:
        """Return the sums of weights (k, rows) over a block's rows of each code (k, codes)."""
        codes, starts = self._groups[block]
        sums = np.zeros((len(weights), len(self.rows.levels)))
        sums[:, codes] = np.add.reduceat(weights, starts, axis=1)
        return sums

    def lengths(self, forms: np.ndarray) -> list[np.ndarray]:
        """Return, for each block, ``sqrt(x'Ax)`` (sizes from it on, rows) by the form (sizes, p, p) of each size."""
        return [
            np.stack([np.sqrt(self.rows.part(own).squares(form)) for form in forms[block:]])
            for block, own in enumerate(self.blocks)
        ]


def _moments(
    id: str, private: FirstRows, public: FirstRows, names: tuple[str, ...], *, mus: np.ndarray, seed: int
) -> np.ndarray:
    """Return the coefficients (sizes, t, p) of paper C's Algorithm 1 or 2 at the budgets (sizes, t)."""
    slopes = np.stack([_slopes(id, private, public, names, at=at, mus=own, seed=seed) for at, own in enumerate(mus)])
    return np.asarray(scales(public, slopes)[..., None] * slopes)


def _slopes(
    id: str,
    private: FirstRows,
    public: FirstRows,
    names: tuple[str, ...],
    *,
    at: int,
    mus: np.ndarray,
    seed: int,
) -> np.ndarray:
    """Return the least-squares slopes (t, p) of one size."""
    n, m, d = private.sizes[at], public.sizes[at], len(names)
    printed, gaussian = id.endswith("-printed"), "gaussian" in id
    shift = public.means[at]
    gram = public.gram(at, shift)
    largest = float(np.linalg.norm(gram / m, 2))
    zeta = LocalMomentParameters().zeta
    radius = math.sqrt(5 * d * largest * math.log(n / zeta)) if gaussian else public.longest(at, shift)
    made = Configuration("moments", names, "y", shift, np.eye(d), radius, 0.0, 1.0, "gaussian", mus[0])
    plan, without_rows = _planned(id, names, n, mus[0]), _known(names, np.eye(d))
    by: LocalPlan | PrintedLocalPlan
    if isinstance(plan, PrintedLocalPlan):
        by = replace(plan, repaired=replace(plan.repaired, public=without_rows, configuration=made))
    else:
        by = _configured(plan, without_rows, made)
    far = private.side.part(private.beyond(at, shift, radius))
    lengths = far.lengths(shift)
    # A row outside the radius is clipped; as printed, its device sends a symbol that is no number.
    weights = (lengths <= radius).astype(float) if printed else np.minimum(1.0, radius / np.maximum(lengths, 1e-300))
    answered = n - len(weights) + weights.sum() if printed else n
    seconds = private.gram(at, shift) + far.gram(shift, weights**2 - 1)
    sums = np.concatenate(
        [upper_triangle(seconds) * isometric_scale(d), private.cross(at, shift) + far.cross(shift, weights - 1)]
    )
    statistic = Private(sums / answered if printed else np.rint(sums / made.units()).astype(np.int64))
    reports = np.vstack([by.at(mu).perturb(statistic, SeededNoise(seed, 1), 1).statistic for mu in mus])
    return estimators.least_squares(*moments_from_reports(reports, d), (gram, m), n)


@cache
def _scale_equation() -> tuple[np.ndarray, np.ndarray]:
    """Return scales c (k,) and ``c Phi''(c s)`` (k, bins) at a score s of each bin; smaller c have no root.

    A bin is a sixty-fourth part of the scores between one power of 2 and the next, so ``c s`` is known to a
    hundredth whatever c, and the mean over many scores to a ten-thousandth.
    """
    sizes = ((np.arange(_BINS, dtype=np.int64) + _LEAST_BIN) << _BITS_BELOW).view(np.float64)
    middles = (sizes + np.append(sizes[1:], 2 * sizes[-1])) / 2
    middles[0] = 0.0
    scales = np.geomspace(1 / LOGISTIC.curvature, _LARGEST_SCALE, _SCALES)
    return scales, scales[:, None] * LOGISTIC.slope(scales[:, None] * middles)


def scales(public: FirstRows, slopes: np.ndarray) -> np.ndarray:
    """Return the root c (sizes, t) of ``1 = c mean_pub Phi''(c x'w)`` for slopes (sizes, t, p); NaN if there is none.

    The mean is over scores counted by bins, and the root is interpolated on a grid of forty points a decade; the sign
    of a prediction has no c in it, so only whether there is a root counts.
    """
    trials = slopes.shape[1]
    counts = np.zeros((*slopes.shape[:2], _BINS))
    for block, own in enumerate(public.blocks):
        scores = public.scores(block, slopes[block:].reshape(-1, slopes.shape[2])) * public.side.scale[own]
        centred = scores.reshape(-1, trials, scores.shape[1])
        centred -= np.einsum("ktp,kp->kt", slopes[block:], public.means[block:])[..., None]
        bins = np.clip((np.abs(centred).view(np.int64) >> _BITS_BELOW) - _LEAST_BIN, 0, _BINS - 1)
        for at in np.ndindex(bins.shape[:2]):
            counts[block + at[0], at[1]] += np.bincount(bins[at], minlength=_BINS)
    grid, curve = _scale_equation()
    means = counts @ curve.T / np.array(public.sizes)[:, None, None]
    reached = means >= 1
    after = np.maximum(np.argmax(reached, axis=2), 1)
    low, high = (np.take_along_axis(means, each[..., None], axis=2)[..., 0] for each in (after - 1, after))
    share = np.clip(np.divide(1 - low, high - low, out=np.zeros_like(low), where=high > low), 0.0, 1.0)
    return np.where(reached.any(axis=2), grid[after - 1] * (grid[after] / grid[after - 1]) ** share, np.nan)


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
    id: str, private: FirstRows, public: FirstRows, names: tuple[str, ...], *, mus: np.ndarray, seed: int
) -> np.ndarray:
    """Return the coefficients (sizes, t, p) of a method at the budgets (sizes, t), its noise alike but in size."""
    if id == "ldp-whitened":
        return _whitened(private, public, names, mus=mus, seed=seed)
    return _moments(id, private, public, names, mus=mus, seed=seed)


def _whitened(
    private: FirstRows, public: FirstRows, names: tuple[str, ...], *, mus: np.ndarray, seed: int
) -> np.ndarray:
    """Return the coefficients (sizes, t, p) of ``ldp-whitened`` on z-scores at the budgets (sizes, t)."""
    d, sizes = len(names), np.array(public.sizes)
    moments = public.second / sizes[:, None, None]
    units = np.sqrt(np.diagonal(moments, axis1=1, axis2=2))
    correlations = moments / (units[:, :, None] * units[:, None, :])
    roots = np.linalg.cholesky(correlations + _TABLE_RIDGE * np.eye(d)) * units[:, :, None]
    inverses = np.stack([solve_triangular(root, np.eye(d), lower=True) for root in roots])
    forms = np.swapaxes(inverses, 1, 2) @ inverses
    own, theirs = private.lengths(forms), public.lengths(forms)
    plans = []
    for size, n in enumerate(private.sizes):
        lengths = np.concatenate([theirs[block][size - block] for block in range(size + 1)])
        known = _shells(public, lengths, inverses[size])
        for mu in mus[size]:
            made = setup.whitened(_known(names, roots[size]), n, mu, "gaussian", known=known)
            plans.append(_configured(_planned("ldp-whitened", names, n, mu), _known(names, roots[size]), made))
    radii = np.array([plan.configuration.radius for plan in plans]).reshape(mus.shape)
    centre = plans[0].configuration.centre

    def weights(block: int, at: np.ndarray, each: np.ndarray, *, lengths: list[np.ndarray]) -> np.ndarray:
        return np.asarray(np.minimum(1.0, radii[at, each][:, None] / lengths[block][at - block]))

    sums, pulls, slopes = np.zeros((*mus.shape, d)), np.zeros((*mus.shape, d)), np.zeros(mus.shape)
    every = np.indices(mus.shape)
    for block, part in enumerate(private.blocks):
        at, each = every[:, block:].reshape(2, -1)
        clipped = weights(block, at, each, lengths=own) * (private.side.response[part] - centre)
        sums[at, each] += private.first(block, clipped)
        beside = weights(block, at, each, lengths=theirs)
        pulls[at, each] += public.first(block, beside)
        slopes[at, each] += np.einsum("kr,kr->k", beside, (theirs[block] ** 2)[at - block])
    linear, ridge = np.empty_like(sums), np.empty((*mus.shape, d, d))
    for (size, t), plan in zip(np.ndindex(mus.shape), plans, strict=True):
        said = inverses[size] @ sums[size, t]
        statistic = Private(np.rint(said / plan.configuration.units()).astype(np.int64))
        score = plan.perturb(statistic, SeededNoise(seed, 1), 1).statistic[0]
        linear[size, t] = -pulls[size, t] * (centre / sizes[size]) - roots[size] @ score
        slope = slopes[size, t] * LOGISTIC.curvature / sizes[size] / d
        ridge[size, t] = (plan.mean_variance / max(slope, 1e-3) + 1e-6) * roots[size] @ roots[size].T
    return fitted(public, np.zeros(len(public.rows)), linear, ridge, weights=partial(weights, lengths=theirs))


def _shells(public: FirstRows, lengths: np.ndarray, inverse: np.ndarray) -> setup.WhitenedRows:
    """Return what the choice of a radius reads of whitened public rows, from at most some of the first rows.

    Args:
        lengths: of the first rows of one size, whitened.
        inverse: of the root that whitens.
    """
    some = slice(None, len(lengths), -(-len(lengths) // _ROWS_FOR_RADIUS))
    rows, few = public.rows.part(some), lengths[some]
    radii = setup.radii_of(few)
    shells = np.zeros((3, len(radii) + 1, *inverse.shape))
    shell = np.searchsorted(radii, few, side="left")
    for at in range(len(radii) + 1):
        inside, length = rows.part(shell == at), few[shell == at]
        for power in range(3):
            shells[power, at] = inverse @ inside.second(length ** -float(power)) @ inverse.T
    return setup.WhitenedRows(np.empty((0, len(inverse))), few, radii, shells)


def fitted(
    first: FirstRows,
    response: np.ndarray,
    linear: np.ndarray,
    ridge: np.ndarray,
    *,
    weights: Weights,
    sizes: np.ndarray | None = None,
) -> np.ndarray:
    """Return the minimizers (sizes, t, p) of the mean loss of the first rows, plus a linear and a quadratic term.

    Newton's method, which begins at the fits to few rows that stand for all. A step takes the curvature of the rows of
    each code where it stands, and how it divides among their numbers from an earlier step, while that makes steps
    short.

    Args:
        response: of all rows (n,).
        linear: (sizes, t, p).
        ridge: symmetric matrices (sizes, t, p, p).
        weights: of a block's rows (k, rows) in the fits of given sizes and places of t.
        sizes: how many rows the first rows stand for, where they stand for more.
    """
    sizes = np.array(first.sizes) if sizes is None else sizes
    beta = np.zeros(linear.shape)
    if len(first.rows) == sizes[-1]:
        few, places, times = first.thinned()

        def fewer(block: int, at: np.ndarray, t: np.ndarray) -> np.ndarray:
            return weights(block, at, t)[:, places[block]] * times[block]

        those = np.concatenate([block.start + own for block, own in zip(first.blocks, places, strict=True)])
        beta = fitted(few, response[those], linear, ridge, weights=fewer, sizes=sizes)
    before, steps = np.full(linear.shape[:2], np.inf), np.zeros(linear.shape)
    left = np.full(linear.shape[:2], np.inf)
    going = np.ones(linear.shape[:2], dtype=bool)
    anew = going.copy()
    divided = np.zeros((*linear.shape[:2], len(first.rows.levels), first.pairs))
    for _ in range(_MOST_STEPS):
        at, t = np.nonzero(going)
        if not len(at):
            break
        own, here = anew[at, t], beta[at, t]
        pulled = np.einsum("kij,kj->ki", ridge[at, t], here)
        value, gradient = np.sum((linear[at, t] + pulled / 2) * here, axis=1), linear[at, t] + pulled
        curvature, fresh = np.zeros((len(at), len(first.rows.levels))), np.zeros((own.sum(), *divided.shape[2:]))
        for block, rows in enumerate(first.blocks):
            some = at >= block
            if not some.any():
                break
            scores, by = first.scores(block, here[some]), weights(block, at[some], t[some])
            small = np.exp(-np.abs(scores))
            mean = np.where(scores > 0, 1.0, small) / (1 + small)
            losses = np.log1p(small) + np.maximum(scores, 0) - scores * response[rows]
            value[some] += np.einsum("kr,kr->k", by, losses) / sizes[at[some]]
            gradient[some] += first.first(block, by * (mean - response[rows])) / sizes[at[some], None]
            by *= mean * (1 - mean)
            curvature[some] += first.counted(block, by) / sizes[at[some], None]
            fresh[some[own]] += first.by_code(block, by[own[some]])
        divided[at[own], t[own]] = fresh / np.maximum(fresh[..., -1:], _LEAST_CURVATURE)
        # A step that leads up is halved.
        up = value > before[at, t] + _ROUNDING * np.abs(before[at, t])
        steps[at[up], t[up]] /= 2
        down = ~up
        at_down, t_down = at[down], t[down]
        hessians = first.hessians((divided[at, t] * curvature[..., None])[down]) + ridge[at_down, t_down]
        solved = np.linalg.solve(hessians, gradient[down][..., None])[..., 0]
        now = np.sqrt(np.maximum(np.sum(solved * gradient[down], axis=1), 0.0))
        anew[at, t] = up
        anew[at_down, t_down] = now > _SLOW * left[at_down, t_down]
        steps[at_down, t_down], left[at_down, t_down], before[at_down, t_down] = solved, now, value[down]
        beta[at, t] = here - np.where(up[:, None], -1, 1) * steps[at, t]
        going[at_down, t_down] = now > _LAST_STEP
    for k, each in np.argwhere(going) if len(first.rows) == sizes[-1] else ():
        beta[k, each] = _alone(first, response, linear[k, each], ridge[k, each], weights=weights, at=(k, each))
    return beta


def _alone(
    first: FirstRows,
    response: np.ndarray,
    linear: np.ndarray,
    ridge: np.ndarray,
    *,
    weights: Weights,
    at: tuple[int, int],
) -> np.ndarray:
    """Return the minimizer (p,) of one size and place of t, whose steps together with others were too many."""
    size, t = (np.array([each]) for each in at)
    own = np.concatenate([weights(block, size, t)[0] for block in range(at[0] + 1)])
    losses = CodedLosses(first.rows.part(slice(len(own))), response[: len(own)], own)
    return losses.fitted(linear, ridge)


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
    rows, y, names = _rows_of(table, label)
    order, d = np.random.default_rng(seed).permutation(len(y))[:rows_used], len(names)
    train, test = order[:train_rows], order[train_rows:]
    by_scale = {"columns": np.ones(len(y)), "rows": 1 / np.sqrt(rows.squares(np.eye(d)))}
    drawn = {
        scale: tuple(FirstRows(Side(rows, by, y).part(which[: sizes[-1]]), sizes) for which in (train, train[::-1]))
        for scale, by in by_scale.items()
        if scale in {"columns", *(scale for _, _, scale in series)}
    }
    private = drawn["columns"][0]
    shape = (len(sizes), 1, d)
    fits = {}
    if "always the larger class" in references:
        fits["always the larger class"] = np.broadcast_to(np.append(np.zeros(d - 1), np.mean(y[test]) - 0.5), shape)
    if "without privacy" in references:
        fits["without privacy"] = fitted(
            private,
            private.side.response,
            np.zeros(shape),
            np.broadcast_to(_TABLE_RIDGE * np.eye(d), (*shape, d)),
            weights=lambda block, at, t: np.ones((len(at), len(private.codes_of(block)))),
        )
    mus = np.array([[mu_of(epsilon, n**-1.1) for epsilon in epsilons] for n in sizes])
    for name, id, scale in series:
        first, public = drawn[scale]
        beta = np.nan_to_num(released(id, first, public, names, mus=mus, seed=seed))
        fits |= {at_epsilon(name, epsilon): beta[:, [t]] for t, epsilon in enumerate(epsilons)}
    correct = _correct(Side(rows, by_scale["columns"], y).part(test), np.concatenate(list(fits.values()), axis=1))
    return {name: shares.tolist() for name, shares in zip(fits, correct.T, strict=True)}


def _correct(test: Side, beta: np.ndarray) -> np.ndarray:
    """Return the shares (sizes, t) of test rows that coefficients (sizes, t, p) classify correctly."""
    blocks = FirstRows(test, [*range(_ROWS_AT_ONCE, len(test.rows), _ROWS_AT_ONCE), len(test.rows)])
    right = np.zeros(beta.shape[:2])
    for block, own in enumerate(blocks.blocks):
        positive = blocks.scores(block, beta.reshape(-1, beta.shape[2])) > 0
        right += np.sum(positive == (blocks.side.response[own] > _HALF), axis=1).reshape(right.shape)
    return right / len(test.rows)
