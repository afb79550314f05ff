"""Central and local at equal epsilon, in steps."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pmtcore.auditing.central_vs_local import LOCAL, CentralVsLocal
from pmtcore.auditing.comparison import rescaled_problem
from pmtcore.base.messages import InputError
from pmtcore.base.private_rows import Curator, PrivateRows
from pmtcore.tables import named
from pmtcore.tables.problem import Problem, prepare

LAB = Curator("test: synthetic rows")


@pytest.fixture(scope="module")
def problem() -> Problem:
    private, public, reasons = named.load("demo-labels", n=2000)
    return prepare(private, public, named.entry("demo-labels").choices, lab_reasons=reasons)


def test_the_whole_run(problem: Problem) -> None:
    """Both methods at every place with all trials; the curator is nearer; the same seed gives the same figures."""
    run = CentralVsLocal(problem, [1.0, 4.0], 3, 1).run()
    result = run.summaries().reveal(LAB)
    assert [(s.x, s.trials) for s in result] == [(1.0, 3), (1.0, 3), (4.0, 3), (4.0, 3)]
    far = {(s.method == LOCAL, s.x): s.error_median for s in result}
    assert all(far[False, x] < far[True, x] for x in (1.0, 4.0))
    assert run.share == 1.0 and not run.live and not run.step()
    assert CentralVsLocal(problem, [1.0, 4.0], 3, 1).run().summaries().reveal(LAB) == result


def test_rescaled_at_the_first_step(problem: Problem) -> None:
    """Private rows are first read when the run begins; figures are those of tables that were rescaled before it."""
    unread = PrivateRows(lambda: pytest.fail("a private row was read"), problem.private.n, problem.private.names)
    assert CentralVsLocal(replace(problem, private=unread), [2.0], 2, 1, scale="z").is_typical
    result = CentralVsLocal(rescaled_problem(problem, "z"), [2.0], 2, 1).run().summaries().reveal(LAB)
    assert CentralVsLocal(problem, [2.0], 2, 1, scale="z").run().summaries().reveal(LAB) == result
    assert CentralVsLocal(problem, [2.0], 2, 1).run().summaries().reveal(LAB) != result


def test_stopped_it_keeps_what_is_done(problem: Problem) -> None:
    """A step is one release; after Stop there are no more, and those there are stay."""
    run = CentralVsLocal(problem, [2.0], 4, 1)
    assert run.step() and run.step()
    run.stop()
    assert not run.step() and not run.live and run.share == 2 / 8
    result = run.summaries().reveal(LAB)
    assert [one.trials for one in result] == [1, 1]


def test_the_whole_picture_comes_before_second_trials(problem: Problem) -> None:
    """One release of each method at each place comes first; the figures at the end do not depend on the order."""
    run = CentralVsLocal(problem, [1.0, 4.0], 3, 1)
    for _ in range(4):
        run.step()
    assert [(s.x, s.trials) for s in run.summaries().reveal(LAB)] == [(1.0, 1), (1.0, 1), (4.0, 1), (4.0, 1)]
    alone = CentralVsLocal(problem, [4.0], 3, 1).run().summaries().reveal(LAB)
    assert run.run().summaries().reveal(LAB)[2:] == alone


def test_along_the_number_of_rows(problem: Problem) -> None:
    """Fewer rows of the same table; more than there are is a sentence, and ends the run."""
    run = CentralVsLocal(problem, [2.0], 1, 1, sizes=[500, 1000]).run()
    assert [s.x for s in run.summaries().reveal(LAB)] == [500, 500, 1000, 1000]
    run = CentralVsLocal(problem, [2.0], 1, 1, sizes=[10_000])
    with pytest.raises(InputError):
        run.run()
    assert not run.live
