"""Comparison of the central and the local model at equal epsilon on one table, for the lab; it advances in steps."""

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from pmtcore.accounting.budgets import mu_from_epsilon, mu_from_pure_epsilon, reporting_delta
from pmtcore.auditing.comparison import (
    Cell,
    Scale,
    SteppedTrials,
    check_scale,
    problem_at,
    public_errors,
    rescaled_problem,
)
from pmtcore.base.private_rows import Private
from pmtcore.local import setup
from pmtcore.methods.baselines import exact_fit
from pmtcore.methods.local.collected import LocalPlan, WhitenedParameters
from pmtcore.methods.registry import Mechanism, Method, Plan, method, recommended_method
from pmtcore.public.moments import PublicData
from pmtcore.tables.problem import Problem

LOCAL = "ldp-whitened"


class CentralVsLocal(SteppedTrials):
    """Trials of the recommended central method and of ``ldp-whitened`` with PrivUnit at equal epsilon on one table.

    Central: (epsilon, delta) at the reporting delta of n rows. Local: pure epsilon for each report. Errors are
    distances to the non-private fit, of the typical coefficient in standard errors of the public fit where that fit
    has any. One step is one release. The first releases of all methods at all positions precede the second ones, so
    that the chart is complete early.

    Args:
        epsilons: positions on the axis of epsilon; a single one where the axis is the number of private rows.
        sizes: numbers of private rows, where these are the axis; the rows are drawn at random.
        others: further local methods at (epsilon, delta) for each report, such as those of :func:`papers_local`.
        scale: how the columns are rescaled (:func:`rescaled_problem`), for which all rows are read at the first step.

    Raises:
        InputError: a bad epsilon, or no public rows to rescale by; at a step, more rows than there are or a place that
            a method refuses.
    """

    per_step = 1

    def __init__(
        self,
        problem: Problem,
        epsilons: Sequence[float],
        trials: int,
        seed: int,
        *,
        sizes: Sequence[int] = (),
        others: Sequence[str] = (),
        scale: Scale = "none",
    ) -> None:
        super().__init__(trials, seed, public_errors(problem.public))
        check_scale(scale, problem.public)
        self._given, self._how = problem, scale
        self._at_rows: dict[int, tuple[Problem, Private[np.ndarray]]] = {}
        places = [(float(n), epsilons[0], n) for n in sizes] or [(e, e, 0) for e in epsilons]
        ids = (recommended_method(problem.public).id, LOCAL, *others)
        self._cells = [self._cell(id, x, epsilon, rows) for x, epsilon, rows in places for id in ids]

    @cached_property
    def problem(self) -> Problem:
        """Return the problem in the scale of the comparison; errors are in that scale too."""
        problem = rescaled_problem(self._given, self._how)
        self._scale = public_errors(problem.public)
        return problem

    def _cell(self, id: str, x: float, epsilon: float, rows: int) -> Cell:
        """Return the cell of a method at this epsilon on so many rows (0: all), which are read at its first step."""
        entry, n = method(id), rows or self._given.private.n
        mu = mu_from_pure_epsilon(epsilon) if id == LOCAL else mu_from_epsilon(epsilon, reporting_delta(n))

        def begin() -> tuple[Mechanism, Private[np.ndarray]]:
            here, known = self._with_rows(rows)
            return _plan(entry, here.public, n, mu, epsilon=epsilon).mechanism_on(here.private), known

        return Cell(entry, mu, x, begin)

    def _with_rows(self, rows: int) -> tuple[Problem, Private[np.ndarray]]:
        """Return the problem with so many of its rows (0: all), and the non-private fit to them."""
        if rows not in self._at_rows:
            here = problem_at(self.problem, "private rows", rows, self.seed) if rows else self.problem
            self._at_rows[rows] = here, exact_fit(here.public, here.private)
        return self._at_rows[rows]


def _plan(entry: Method, public: PublicData, n: int, mu: float, *, epsilon: float) -> Plan:
    if entry.id == LOCAL:
        made = setup.whitened_scheme(public, n, 1.0, "privunit", bound=0.0, epsilon=epsilon)
        return LocalPlan(public, n, made.mu, made, WhitenedParameters(randomizer="privunit"))
    labels = {"link": "sigmoid", "response_bound": 1.0} if entry.task == "nonlinear" else {}
    return entry.planned(public, n, mu, labels)


def papers_local(public: PublicData) -> tuple[str, ...]:
    """Return paper C's algorithms that run on labels of these public data, as printed and repaired.

    Algorithms 3 and 4 take the labels as a regression on the sigmoid, whose error is at most 1; they have no intercept.
    """
    repaired = ["ldp-glm-gaussian", "ldp-glm", *([] if public.has_intercept else ["ldp-nlr-gaussian", "ldp-nlr"])]
    return tuple(id for base in repaired for id in (f"{base}-printed", base))
