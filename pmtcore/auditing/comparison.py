"""Repeated trials on one problem, for the lab: distance of each method to the non-private fit.

There is one pass over the private rows per method and budget; all trials of a block are solved as one batch. Trials
come in fixed blocks, each with its own seeded stream, so that a longer run extends a shorter one and a stopped run
keeps its results.
"""

import dataclasses
import time
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from threading import Lock
from typing import Any, Literal

import numpy as np

from pmtcore.accounting.budgets import Budget
from pmtcore.base.messages import AuditMessage, InputError, LabReason, Note, one_of, whole_number_between
from pmtcore.base.private_rows import Curator, Private, PrivateRows
from pmtcore.base.steps import Steps
from pmtcore.glm.families import GAUSSIAN
from pmtcore.mechanisms.noise import SeededNoise
from pmtcore.methods.baselines import exact_fit
from pmtcore.methods.registry import Mechanism, Method, Plan, method
from pmtcore.public.moments import PublicData, joint_rows, public_from_rows
from pmtcore.releases.planning import public_alone, sampling_alone, typical_ratio
from pmtcore.tables.limits import MAX_CELLS, check_runs
from pmtcore.tables.problem import Problem

# Trials per seeded stream.
BLOCK = 50
Scale = Literal["none", "z", "minmax", "max"]
_LAB = Curator("repeated trials in the lab")


@dataclass(frozen=True)
class Summary:
    """Errors of one method at one budget: distances of the coefficients to the reference.

    Attributes:
        method: id.
        mu: total budget.
        x: position on the axis: the budget itself, or rows, penalty, steps.
        error_median, error_mean, error_sd: over the trials.
        error_low, error_high: 10 % and 90 % quantiles.
        trials: number of trials.
    """

    method: str
    mu: float
    x: float
    error_median: float
    error_mean: float
    error_sd: float
    error_low: float
    error_high: float
    trials: int


AXES = {
    "budget": "total budget mu",
    "private rows": "private rows n",
    "public rows": "public rows m",
    "penalty": "ridge penalty lam",
    "steps": "iterations",
    "epsilon": "epsilon",
}


@dataclass
class Cell:
    """One method at one position on the axis.

    Attributes:
        entry: the method.
        mu: total budget.
        x: position on the axis.
        begin: reads the rows, once; returns the mechanism on them, and the reference that errors are distances to.
        errors: of each block of trials so far.
    """

    entry: Method
    mu: float
    x: float
    begin: Callable[[], tuple[Mechanism, Private[np.ndarray]]]
    errors: list[np.ndarray] = field(default_factory=list)

    @cached_property
    def begun(self) -> tuple[Mechanism, Private[np.ndarray]]:
        """Return the mechanism and the reference of :attr:`begin`."""
        return self.begin()

    @property
    def trials(self) -> int:
        """Return the number of trials so far."""
        return sum(len(block) for block in self.errors)


class SteppedTrials(Steps):
    """Trials of methods in steps, each a block of trials of the cell with the fewest.

    Args:
        trials: repetitions of each cell.
        seed: of the noise.
        scale: standard errors (d,) that errors are measured in; ``None``: Euclidean distances.
    """

    per_step = BLOCK

    def __init__(self, trials: int, seed: int, scale: np.ndarray | None) -> None:
        self.trials = whole_number_between("trials", trials, 1, 100_000)
        self.seed = whole_number_between("seed", seed, 0, 2**63 - 1)
        self._scale = scale
        self._cells: list[Cell] = []
        self._alone = Lock()

    @property
    def is_typical(self) -> bool:
        """Return whether errors are those of the typical coefficient in standard errors of the public fit."""
        return self._scale is not None

    @property
    def methods(self) -> tuple[str, ...]:
        """Return the ids of the compared methods, in their order."""
        return tuple(dict.fromkeys(cell.entry.id for cell in self._cells))

    @property
    def places(self) -> tuple[float, ...]:
        """Return the positions on the axis, in their order."""
        return tuple(dict.fromkeys(cell.x for cell in self._cells))

    @property
    def share(self) -> float:
        """Return the share of the trials that are done."""
        return sum(cell.trials for cell in self._cells) / (self.trials * len(self._cells))

    def _advance(self) -> None:
        """Do one block of trials, whose noise depends only on the seed and its position; an error ends the run.

        A call while another thread does a block returns at once.
        """
        if not self._alone.acquire(blocking=False):
            return
        try:
            cell = min(self._cells, key=lambda c: c.trials)
            block, left = cell.trials // self.per_step, self.trials - cell.trials
            mechanism, reference = cell.begun
            noise = SeededNoise(self.seed, zlib.crc32(cell.entry.id.encode()), block)
            released = mechanism(noise, min(self.per_step, left)).coefficients
            cell.errors.append(distances(released, reference, self._scale))
        except BaseException:
            self.stopped = True
            raise
        finally:
            self._alone.release()

    def summaries(self) -> Private[list[Summary]]:
        """Return the summaries so far. Distances to a private fit are private: for the curator."""
        return Private([summary_of(cell) for cell in self._cells if cell.errors])


class Comparison(SteppedTrials):
    """Trials of methods at several budgets, or along another axis at one budget; they advance in steps.

    Args:
        problem: the tables.
        methods: ids with parameter values.
        mus: total budgets; one where the axis is another.
        trials: repetitions per method and position.
        seed: for the lab; the same seed gives the same errors.
        reference: coefficients (d,) that errors are distances to; ``None``: those of the non-private fit.
        axis: one of :data:`AXES`; rows are taken at random, with one permutation.
        values: positions on the axis. Each has its own non-private fit as reference, with its own rows and penalty.
        typical: measure the median over coefficients of the error in standard errors of the public fit, where that fit
            has any; Euclidean distances of all coefficients otherwise.

    Raises:
        InputError: an unknown method or parameter, a method without coefficients, a bad budget or axis.
    """

    def __init__(
        self,
        problem: Problem,
        methods: Mapping[str, Mapping[str, Any]] | Sequence[str],
        mus: Sequence[float],
        *,
        trials: int,
        seed: int,
        reference: np.ndarray | None = None,
        axis: str = "budget",
        values: Sequence[float] = (),
        typical: bool = False,
    ) -> None:
        super().__init__(trials, seed, public_errors(problem.public) if typical else None)
        chosen = methods if isinstance(methods, Mapping) else {name: {} for name in methods}
        self.axis = one_of("axis", axis, [name for name in AXES if name != "epsilon"])
        if not chosen or not mus:
            raise InputError(AuditMessage.NOTHING_TO_COMPARE)
        if axis != "budget" and (len(mus) != 1 or not values):
            raise InputError(AuditMessage.AXIS_NEEDS_VALUES, axis=axis)
        self._check(problem, len(chosen) * max(len(mus), len(values)) * self.trials, values)
        places = [(mu, mu, problem) for mu in mus]
        if axis != "budget":
            places = [(x, mus[0], problem_at(problem, axis, x, self.seed)) for x in values]
        for x, mu, here in places:
            known = exact_fit(here.public, here.private) if reference is None else Private(reference)
            for name, given in chosen.items():
                entry, settings = _comparable(name, here), _settings(method(name), given, axis, x)
                plan = entry.planned(here.public, here.private.n, mu, settings)
                self._cells.append(Cell(entry, mu, x, partial(_start, plan, here.private, known)))
        self.sampling = self._sampling_error(problem)
        self._seconds = 0.0

    def _sampling_error(self, problem: Problem) -> float | None:
        """Return the expected error of the non-private fit, predicted from public rows; None if unknown."""
        errors = sampling_alone(problem.public, problem.private.n)
        if errors is None:
            return None
        return float(np.linalg.norm(errors)) if self._scale is None else typical_ratio(errors, self._scale)

    def _check(self, problem: Problem, runs: int, values: Sequence[float] = ()) -> None:
        n, d = problem.private.n, problem.public.d
        check_runs(runs, 0 if problem.public.family is GAUSSIAN else n * d**2)
        if self.axis == "private rows" and d * sum(values) > MAX_CELLS:
            raise InputError(AuditMessage.TOO_MANY_CELLS, limit=MAX_CELLS // 10**6)
        self._problem = problem

    @property
    def seconds_left(self) -> float | None:
        """Return the remaining computing time in seconds at the speed so far, or None before the first step."""
        return self._seconds * (1 - self.share) / self.share if self.share > 0 else None

    def _advance(self) -> None:
        start = time.monotonic()
        super()._advance()
        self._seconds += time.monotonic() - start

    def extend(self) -> None:
        """Double the number of trials, in whole blocks: the longer run contains the shorter one.

        Raises:
            InputError: more trials than the lab allows.
        """
        self._check(self._problem, 2 * self.trials * len(self._cells))
        for cell in self._cells:  # an incomplete block is drawn again in full
            cell.errors = [block for block in cell.errors if len(block) == BLOCK]
        self.trials = BLOCK * -(-2 * self.trials // BLOCK)
        self.stopped = False

    def reference_norm(self) -> Private[float]:
        """Return the length of the reference coefficients; private."""
        return self._cells[0].begun[1].map(lambda fit: float(np.linalg.norm(fit)))


def _start(plan: Plan, rows: PrivateRows, reference: Private[np.ndarray]) -> tuple[Mechanism, Private[np.ndarray]]:
    """Return the mechanism of a plan on the rows, beside the reference; see :class:`Cell`."""
    return plan.mechanism_on(rows), reference


def public_errors(public: PublicData) -> np.ndarray | None:
    """Return the standard errors (d,) of the public fit alone; ``None`` where it has none."""
    alone = public_alone(public)
    return None if alone is None else alone.total


def budget_grid(low: float, high: float, count: int) -> list[float]:
    """Return total budgets, evenly spaced on a log axis.

    Raises:
        InputError: a bad budget, or the lowest is above the highest.
    """
    if low > high:
        raise InputError(AuditMessage.BUDGETS_REVERSED, low=low, high=high)
    return [
        float(mu) for mu in np.geomspace(Budget(low).mu, Budget(high).mu, whole_number_between("budgets", count, 1, 50))
    ]


def grid(low: float, high: float, count: int, integers: bool = False) -> list[float]:
    """Return values evenly spaced on a log axis; rounded to distinct whole numbers if asked.

    Raises:
        InputError: the lowest is above the highest or not positive.
    """
    if not 0 < low <= high:
        raise InputError(AuditMessage.VALUES_REVERSED, low=low, high=high)
    values = np.geomspace(low, high, whole_number_between("values", count, 1, 50))
    return [float(x) for x in (np.unique(np.round(values)) if integers else values)]


def problem_at(problem: Problem, axis: str, x: float, seed: int) -> Problem:
    """Return the problem with fewer private or public rows, or another penalty; unchanged for other axes.

    Args:
        problem: the tables.
        axis: one of :data:`AXES`.
        x: position on the axis.
        seed: of the permutation of the rows.

    Raises:
        InputError: more rows than there are, or no public rows to choose from.
    """
    public, private = problem.public, problem.private
    if axis == "penalty" and public.family is not GAUSSIAN:
        public = dataclasses.replace(public, lam=float(x), penalty_units=None)
    if axis == "public rows":
        if public.rows is None or public.m is None:
            raise InputError(AuditMessage.AXIS_NEEDS_ROWS)
        count = whole_number_between("public rows", x, public.d + 2, public.m)
        at = np.random.default_rng(seed).permutation(public.m)[:count]
        public = _with_rows(public, public.rows[at], at, problem.choices.public_ridge)
    if axis == "private rows":
        count = whole_number_between("private rows", x, 2, private.n)
        order = np.random.default_rng(seed).permutation(private.n)[:count]
        rows = private.concatenate(joint_rows).reveal(_LAB)[order]
        private = _in_memory(rows, private.names)
    return dataclasses.replace(problem, public=public, private=private)


# Parameter of a method that varies along an axis.
_SWEPT_PARAMETERS = {"penalty": "lam", "steps": "steps"}


def errors_depend_on_axis(entry: Method, public: PublicData, axis: str) -> bool:
    """Return whether the errors of a method change along the axis on such tables.

    Args:
        entry: the method.
        public: its family decides whether a penalty is part of the problem, which every method then has.
        axis: one of :data:`AXES`.
    """
    if axis == "penalty" and public.family is not GAUSSIAN:
        return True
    return axis not in _SWEPT_PARAMETERS or _has(entry, _SWEPT_PARAMETERS[axis])


def _has(entry: Method, parameter: str) -> bool:
    """Return whether a method has a parameter of this name."""
    return any(item.name == parameter for item in dataclasses.fields(entry.parameters))


def _settings(entry: Method, values: Mapping[str, Any], axis: str, x: float) -> dict[str, Any]:
    """Return the parameters of a method at a position; unchanged where the method has no parameter for the axis."""
    name = _SWEPT_PARAMETERS.get(axis)
    return {**values, name: x} if name is not None and _has(entry, name) else dict(values)


def distances(coefficients: np.ndarray, reference: Private[np.ndarray], scale: np.ndarray | None = None) -> np.ndarray:
    """Return the distances (trials,) of coefficients (trials, d) to the private reference; NaN becomes infinite.

    Args:
        coefficients: of the trials.
        reference: coefficients (d,).
        scale: standard errors (d,): the median over coefficients in units of them, in place of the Euclidean distance.
    """

    def distance(fit: np.ndarray) -> np.ndarray:
        deviation = coefficients - fit
        size = np.linalg.norm(deviation, axis=1) if scale is None else np.median(np.abs(deviation) / scale, axis=1)
        return np.asarray(size)

    return np.nan_to_num(reference.map(distance).reveal(_LAB), nan=np.inf)


def rescaled_problem(problem: Problem, scale: Scale) -> Problem:
    """Return the problem with every column rescaled by statistics of all rows, as the papers do: for the lab (E23).

    ``z``: mean 0 and standard deviation 1; ``minmax``: to [0, 1]; ``max``: divided by the largest absolute
    value. Features and target; the intercept stays 1.

    Raises:
        InputError: there are no public rows.
    """
    public = problem.public
    check_scale(scale, public)
    if scale == "none" or public.rows is None:
        return problem
    private, d = problem.private.concatenate(joint_rows).reveal(_LAB), public.d
    shift, width = _affine(np.vstack([private[:, : d + 1], public.rows]), scale, fixed=public.has_intercept)
    if public.family is not GAUSSIAN:  # labels and counts stay what they are
        shift[-1], width[-1] = 0.0, 1.0
    private[:, : d + 1] = (private[:, : d + 1] - shift) / width
    rows = (public.rows - shift) / width
    return Problem(
        private=_in_memory(private, public.names),
        public=_with_rows(public, rows, np.arange(len(rows)), problem.choices.public_ridge),
        choices=problem.choices,
        notes=problem.notes,
        lab_reasons=(*problem.lab_reasons, Note(LabReason.RESCALED)),
    )


def check_scale(scale: Scale, public: PublicData) -> None:
    """Check that columns can be rescaled in this way.

    Raises:
        InputError: an unknown scale, or no public rows to rescale by.
    """
    if one_of("scale", scale, ("none", "z", "minmax", "max")) != "none" and public.rows is None:
        raise InputError(AuditMessage.SCALE_NEEDS_ROWS)


def _in_memory(rows: np.ndarray, names: tuple[str, ...]) -> PrivateRows:
    """Return rows (n, d + 1), or (n, d + 2) with the weights of their losses, as private rows in memory."""
    d = len(names)
    return PrivateRows.from_arrays(rows[:, :d], rows[:, d] if rows.shape[1] == d + 1 else rows[:, d:], names)


def _with_rows(public: PublicData, rows: np.ndarray, indices: np.ndarray, ridge: float) -> PublicData:
    """Return public data of other rows (k, d + 1), with the groups and weights of the rows ``indices`` (k,)."""
    made = public_from_rows(
        rows[:, :-1],
        rows[:, -1] if public.labelled else None,
        public.names,
        public.target,
        ridge=ridge,
        family=public.family,
        lam=public.lam,
        clusters=None if public.clusters is None else public.clusters[indices],
        weights=None if public.weights is None else public.weights[indices],
    )
    return made if public.penalty_units is None else made.weakly_penalized(None)


def _affine(table: np.ndarray, scale: Scale, fixed: bool) -> tuple[np.ndarray, np.ndarray]:
    """Return shift and width of each column (D,); the first column is unchanged when it is the intercept."""
    shift = np.zeros(table.shape[1])
    if scale == "z":
        shift, width = table.mean(axis=0), table.std(axis=0)
    elif scale == "minmax":
        shift, width = table.min(axis=0), np.ptp(table, axis=0)
    else:
        width = np.abs(table).max(axis=0)
    if fixed:
        shift[0], width[0] = 0.0, 1.0
    return shift, np.where(width > 0, width, 1.0)


def _comparable(name: str, problem: Problem) -> Method:
    entry = method(name)
    entry.check_suits(problem.public)
    if not entry.same_target:
        raise InputError(AuditMessage.OTHER_CURVE, columns=[name], command=entry.studied_with)
    if not entry.gives_coefficients:
        raise InputError(AuditMessage.NO_COEFFICIENTS, columns=[name])
    return entry


def summary_of(cell: Cell) -> Summary:
    """Return the summary of the trials of one cell so far."""
    errors = np.concatenate(cell.errors)
    finite = errors[np.isfinite(errors)]
    with np.errstate(invalid="ignore"):  # between two infinite errors
        low, high = (float(q) for q in np.quantile(errors, (0.1, 0.9)))
    return Summary(
        method=cell.entry.id,
        mu=cell.mu,
        x=cell.x,
        error_median=float(np.median(errors)),
        error_mean=float(np.mean(errors)),
        error_sd=float(np.std(finite)) if len(finite) else float("nan"),
        error_low=low,
        error_high=high,
        trials=len(errors),
    )
