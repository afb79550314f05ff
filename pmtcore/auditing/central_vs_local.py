"""Central and local at equal epsilon on the same table, for the lab: a run that advances in steps."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from threading import Lock
from typing import Any

from pmtcore.accounting.budgets import mu_from_epsilon, reporting_delta
from pmtcore.auditing.comparison import Cell, SteppedTrials, problem_at, public_errors
from pmtcore.base.messages import whole_number_between
from pmtcore.base.private_rows import Private
from pmtcore.local import setup
from pmtcore.methods.baselines import exact_fit
from pmtcore.methods.local.collected import LocalPlan, WhitenedParameters
from pmtcore.methods.registry import method, recommended
from pmtcore.public.moments import PublicData
from pmtcore.tables.problem import Problem

LOCAL = "ldp-whitened"


@dataclass(frozen=True)
class _Place:
    """Where on the axis, at which epsilon, with how many of the private rows (0: all)."""

    x: float
    epsilon: float
    rows: int = 0


class CentralVsLocal(SteppedTrials):
    """The recommended central method and ``ldp-whitened`` with PrivUnit, at equal epsilon, on the same table.

    Central: (epsilon, delta) at the reporting delta of n rows. Local: purely epsilon for each report. Errors are
    distances to the non-private fit, of the typical coefficient in standard errors of the public fit as far as that fit
    has any. One step is one release. The first release of each method at each place comes before any
    second one, so that the whole picture is there after a share of the work.

    Args:
        epsilons: along epsilon; one where the axis is the number of private rows.
        sizes: the private rows, where the axis is their number; taken at random.
        others: further local methods at (epsilon, delta) for each report, such as those of :func:`papers_local`.

    Raises:
        InputError: more rows than there are, or a bad epsilon.
    """

    def __init__(
        self,
        problem: Problem,
        epsilons: Sequence[float],
        trials: int,
        seed: int,
        *,
        sizes: Sequence[int] = (),
        others: Sequence[str] = (),
    ) -> None:
        self.problem, self.seed, self.others = problem, seed, tuple(others)
        self.trials = whole_number_between("trials", trials, 1, 100_000)
        self._places = [_Place(e, e) for e in epsilons]
        if sizes:
            self._places = [_Place(float(n), epsilons[0], n) for n in sizes]
        self._scale = public_errors(problem.public)
        self._cells: list[Cell] = []
        self._done, self._all = 0, (2 + len(self.others)) * len(self._places) * self.trials
        self._work = self._steps()
        self._alone = Lock()

    @property
    def methods(self) -> tuple[str, ...]:
        """Return the ids of the compared methods, in their order."""
        return (recommended(self.problem.public).id, LOCAL, *self.others)

    @property
    def places(self) -> tuple[float, ...]:
        """Return the positions on the axis, in their order."""
        return tuple(place.x for place in self._places)

    @property
    def share(self) -> float:
        """Share of the releases done."""
        return self._done / self._all

    def _advance(self) -> None:
        """Make one release.

        A second caller at the same time leaves it to the first.

        Raises:
            InputError: a method refuses a place.
        """
        if not self._alone.acquire(blocking=False):
            return
        try:
            next(self._work)
            self._done += 1
        except BaseException:
            self.stopped = True
            raise
        finally:
            self._alone.release()

    def _steps(self) -> Iterator[None]:
        known: Private[Any] | None = None
        for place in self._places:
            here = self.problem if not place.rows else problem_at(self.problem, "private rows", place.rows, self.seed)
            if known is None or place.rows:
                known = exact_fit(here.public, here.private)
            for cell in self._all_sides(here, place, known):
                self._cells.append(cell)
                self._add_block(cell, 0, 1)
                yield
        for trial in range(1, self.trials):
            for cell in self._cells:
                self._add_block(cell, trial, 1)
                yield

    def _all_sides(self, problem: Problem, place: _Place, known: Private[Any]) -> Iterator[Cell]:
        public, n, central = problem.public, problem.private.n, recommended(problem.public)
        mu = mu_from_epsilon(place.epsilon, reporting_delta(n))
        yield Cell(central, mu, place.x, central.planned(public, n, mu), problem.private, known)
        made = setup.whitened(public, n, 1.0, "privunit", bound=0.0, epsilon=place.epsilon)
        local = LocalPlan(public, n, made.mu, made, WhitenedParameters(randomizer="privunit"))
        yield Cell(method(LOCAL), local.mu, place.x, local, problem.private, known)
        for id in self.others:
            entry = method(id)
            labels = {"link": "sigmoid", "response_bound": 1.0} if entry.task == "nonlinear" else {}
            yield Cell(entry, mu, place.x, entry.planned(public, n, mu, labels), problem.private, known)


def papers_local(public: PublicData) -> tuple[str, ...]:
    """Return paper C's algorithms that run on labels of these public data, as printed and repaired.

    Algorithms 3 and 4 take the labels as a regression on the sigmoid, whose error is at most 1; they have no intercept.
    """
    repaired = ["ldp-glm-gaussian", "ldp-glm", *([] if public.has_intercept else ["ldp-nlr-gaussian", "ldp-nlr"])]
    return tuple(id for base in repaired for id in (f"{base}-printed", base))
