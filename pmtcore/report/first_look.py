"""Quick comparison of methods on synthetic or public tables, cached for later sessions of a server.

The cache has a few lab figures of synthetic rows, or of public tables split for study: never rows, and no figures of
tables that a user uploaded.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import final

from pmtcore.auditing.comparison import Comparison, Summary
from pmtcore.base.private_rows import Curator
from pmtcore.glm.families import GAUSSIAN
from pmtcore.methods.registry import methods_for, recommended_method
from pmtcore.report.figures.compare import DISTANCE, TYPICAL
from pmtcore.tables.problem import Problem

TRIALS, GLM_TRIALS = 50, 10  # a linear trial is a share of one batched solve; others are a fit each
_MOST = 32  # comparisons in the cache, of some kilobytes each
_MOST_WORK = 2e7  # 1 CPU second or so; Adult with all its columns has 1.7e8, and took 27 seconds
# Rows held at once; places for the rows of people count, a hundred thousand each where somebody says so.
_MOST_ROWS = 500_000
_kept: OrderedDict[tuple[str, ...], QuickComparison] = OrderedDict()


@final
@dataclass(frozen=True)
class QuickComparison:
    """Figures of a quick comparison.

    Attributes:
        typical: whether errors are those of the typical coefficient in standard errors of the public fit; Euclidean
            distances otherwise.
    """

    summaries: list[Summary]
    trials: int
    typical: bool

    @property
    def measure(self) -> str:
        """Return the words for the kind of the errors."""
        return TYPICAL if self.typical else DISTANCE


def cached_first_look(key: tuple[str, ...]) -> QuickComparison | None:
    """Return the figures of an earlier session, if they are still cached."""
    return _kept.get(key)


def remember(key: tuple[str, ...], compute: Callable[[], QuickComparison]) -> QuickComparison:
    """Return figures of study tables: made once in this process, shared by later sessions."""
    if key not in _kept:
        _kept[key] = compute()
        while len(_kept) > _MOST:
            _kept.popitem(last=False)
    return _kept[key]


def is_quick(problem: Problem) -> bool:
    """Return whether a comparison takes about a second: linear trials are batched, others cost about n d^2 each."""
    if problem.private.n > _MOST_ROWS:
        return False
    return problem.public.family is GAUSSIAN or problem.private.n * problem.public.d**2 <= _MOST_WORK


def first_look(problem: Problem) -> QuickComparison:
    """Compare what Plan compares, where there is one: errors of the typical coefficient in those of the public fit.

    A Euclidean distance is dominated by the coefficients of collinear columns, and would disagree with the page Plan.
    """
    chosen = [
        recommended_method(problem.public).id,
        *(entry.id for entry in methods_for(problem.public) if entry.at_first),
    ]
    linear = problem.public.family is GAUSSIAN
    mus, trials = ([0.1, 0.3, 1.0, 3.0, 10.0], TRIALS) if linear else ([0.3, 1.0, 3.0], GLM_TRIALS)
    run = Comparison(problem, chosen, mus, trials=trials, seed=1, typical=True).run()
    made = run.summaries().reveal(Curator("synthetic or public rows, shown at first sight"))
    return QuickComparison(made, trials, run.is_typical)
