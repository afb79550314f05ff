"""Comparisons: deterministic, extendable, stoppable; releases and previews."""

from __future__ import annotations

import json

import numpy as np
import pytest

from pmtcore.accounting.budgets import Budget
from pmtcore.auditing.comparison import BLOCK, Comparison, budget_grid, distances, rescaled_problem
from pmtcore.base.labels import ReleaseStatus
from pmtcore.base.messages import ArgumentMessage, AuditMessage, LabReason, MethodMessage, ReleaseMessage, kind_of
from pmtcore.base.private_rows import Private
from pmtcore.mechanisms.noise import SecureNoise, SeededNoise
from pmtcore.methods.registry import methods, methods_for
from pmtcore.releases.release import Request, preview, release, request_from_json
from pmtcore.tables.named import entry as entry_of
from pmtcore.tables.named import load
from pmtcore.tables.problem import Problem, default_choices, prepare
from tests.helpers import TEST, refused, suited


@pytest.fixture(scope="module")
def problem() -> Problem:
    private, public, _ = load("demo", n=2000, m=100, d=5)
    return prepare(private, public, default_choices(private, public))


@pytest.fixture(scope="module")
def labels() -> Problem:
    private, public, _ = load("demo-labels", n=2000, m=100, d=5)
    return prepare(private, public, entry_of("demo-labels").choices)


def results(run: Comparison) -> list[dict]:
    return [vars(summary) for summary in run.summaries().reveal(TEST)]


@pytest.mark.slow
def test_the_same_seed_gives_the_same_figure_whatever_else_runs(problem):
    """A method's errors depend on the seed only, not on its company or its place in the list."""
    alone = results(Comparison(problem, ["pmt-ridge"], [1.0], trials=30, seed=3).run())
    company = results(Comparison(problem, ["joint-pmt", "pmt-ridge"], [0.5, 1.0], trials=30, seed=3).run())
    assert alone[0] in company
    other = results(Comparison(problem, ["pmt-ridge"], [1.0], trials=30, seed=4).run())
    assert other != alone


def test_errors_of_the_typical_coefficient_are_not_those_of_the_largest():
    """One coefficient far off decides the Euclidean distance, and not the median in standard errors."""
    far, near = np.array([[0.1, 0.1, 9.0]]), np.array([[1.0, 1.0, 1.0]])
    reference, scale = Private(np.zeros(3)), np.array([0.1, 0.1, 1.0])
    assert distances(far, reference)[0] > distances(near, reference)[0]
    assert distances(far, reference, scale) == 1.0 and distances(near, reference, scale) == 10.0
    assert distances(np.full((1, 3), np.nan), reference, scale) == np.inf


def test_a_longer_run_extends_a_shorter_one(problem):
    """The first trials of a long run are the short run; extending a finished one gives the long one."""
    short = Comparison(problem, ["joint-pmt"], [1.0], trials=BLOCK, seed=3).run()
    long = Comparison(problem, ["joint-pmt"], [1.0], trials=2 * BLOCK, seed=3).run()
    assert np.array_equal(short._cells[0].errors[0], long._cells[0].errors[0])
    odd = Comparison(problem, ["joint-pmt"], [1.0], trials=BLOCK - 7, seed=3).run()
    assert np.allclose(odd._cells[0].errors[0], long._cells[0].errors[0][: BLOCK - 7])
    short.extend()
    assert results(short.run()) == results(long)


def test_stopping_keeps_what_is_done(problem):
    """A stopped run answers from the trials it has, and does no more."""
    run = Comparison(problem, ["joint-pmt", "pmt-ridge"], [1.0, 2.0], trials=1000, seed=3)
    for _ in range(5):
        assert run.step()
    run.stop()
    assert not run.step()
    assert [row["trials"] for row in results(run)] == [2 * BLOCK, BLOCK, BLOCK, BLOCK]
    assert 0 < run.share < 1
    assert isinstance(run.summaries(), Private)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["problem", "labels"])
def test_every_method_with_coefficients_can_be_compared(kind, request):
    """All of the registry runs but what asks for a declaration; the non-private fit is at distance 0 to itself."""
    problem = request.getfixturevalue(kind)
    ids = [entry.id for entry in methods_for(problem.public) if entry.gives_coefficients and entry.same_target]
    rows = {row["method"]: row for row in results(Comparison(problem, ids, [1.0], trials=10, seed=1).run())}
    assert set(rows) == set(ids)
    assert rows["non-private"]["error_median"] < 1e-10
    assert {e.id for e in methods() if e.gives_coefficients and e.same_target} == set(ids) | {
        e.id
        for e in methods()
        if (problem.public.family.id not in e.families or e.protects_responses_only) and e.same_target
    }
    assert rows["public-only"]["error_sd"] < 1e-12


@pytest.mark.parametrize("how", ["z", "minmax", "max"])
def test_rescaling_the_whole_table(problem, how):
    """Features and target are rescaled by all rows, the intercept is not; the fit is that of the rescaled table."""
    scaled = rescaled_problem(problem, how)
    z = scaled.private.concatenate(lambda x, y: np.column_stack([x, y])).reveal(TEST)
    table = np.vstack([z, scaled.public.rows])
    assert np.all(table[:, 0] == 1)
    rest = table[:, 1:]
    if how == "z":
        assert np.allclose(rest.mean(axis=0), 0) and np.allclose(rest.std(axis=0), 1)
    elif how == "minmax":
        assert np.allclose(rest.min(axis=0), 0) and np.allclose(rest.max(axis=0), 1)
    else:
        assert np.allclose(np.abs(rest).max(axis=0), 1)
    assert any("E23" in reason for reason in scaled.lab_reasons)


def test_budget_grid_is_even_on_a_log_axis():
    """The ends are the ends, ratios are equal, and an upside-down range is a sentence."""
    grid = budget_grid(0.1, 10, 5)
    assert np.allclose(np.diff(np.log(grid)), np.log(100) / 4)
    with refused(AuditMessage.BUDGETS_REVERSED):
        budget_grid(2, 1, 3)


@pytest.mark.parametrize("entry", [e for e in methods() if e.standing is ReleaseStatus.SOUND], ids=lambda e: e.id)
def test_every_sound_method_releases(problem, labels, entry):
    """With secure noise only the missing ledger speaks against it; its record is plain JSON, its cost the budget."""
    problem = suited(entry, problem, labels)
    released = release(problem, Request(entry.id, Budget(2.0)), SecureNoise())
    assert released.standing is ReleaseStatus.SOUND or list(map(kind_of, released.standing_reasons)) == [
        LabReason.UNRECORDED
    ]
    record = json.loads(json.dumps(released.as_dict()))
    assert record["guarantee"]["mu"] == (0.0 if entry.id == "public-only" else 2.0)
    assert set(record["coefficients"]) == (set(problem.public.names) if entry.gives_coefficients else set())
    assert record["n"] == 2000 and record["public_rows"] == 100


@pytest.mark.parametrize("entry", [e for e in methods() if e.standing is ReleaseStatus.LAB], ids=lambda e: e.id)
def test_no_lab_method_releases(problem, labels, entry):
    """A lab method is refused, with the reason."""
    problem = suited(entry, problem, labels)
    with refused(ReleaseMessage.LAB_METHOD):
        release(problem, Request(entry.id, Budget(2.0)), SecureNoise())


def test_a_seeded_release_says_so(problem):
    """Repeatable noise makes a lab figure, whatever the method's standing."""
    released = release(problem, Request("joint-pmt", Budget(1.0)), SeededNoise(5))
    assert released.standing is ReleaseStatus.LAB
    assert "seed" in released.standing_reasons[0]
    assert released.as_dict()["seed"] == 5
    again = release(problem, Request("joint-pmt", Budget(1.0)), SeededNoise(5))
    assert np.array_equal(released.coefficients, again.coefficients)


def test_a_method_of_another_family_is_refused(problem, labels):
    """A sentence that names what would fit."""
    with refused(MethodMessage.OTHER_FAMILY):
        release(problem, Request("pmt-objective", Budget(1.0)), SecureNoise())
    with refused(MethodMessage.OTHER_FAMILY):
        release(labels, Request("joint-pmt", Budget(1.0)), SecureNoise())


def test_preview_reads_no_private_row(problem, labels):
    """A preview works with private rows that cannot be read at all."""

    def forbidden():
        raise AssertionError("private rows were read")

    from pmtcore.base.private_rows import PrivateRows

    def seal(open: Problem) -> Problem:
        return Problem(PrivateRows(forbidden, 2000, open.private.names), open.public, open.choices)

    sealed = seal(problem)
    for entry in methods():
        result = preview(seal(suited(entry, problem, labels)), Request(entry.id, Budget(1.0)))
        assert result.guarantee.mu in (0.0, 1.0)
    assert not preview(sealed, Request("joint-pmt", Budget(1.0))).verdict
    assert preview(sealed, Request("joint-pmt", Budget(0.001))).verdict


def test_predicted_errors_are_near_the_realized_ones(problem, labels):
    """Predicted privacy sd within a factor 1.5 of the band's, in the median over coefficients.

    `joint-pmt` at budgets of one gradient between the pilot and the last, of eight and of twelve.
    """
    for id, open, mus in (
        ("joint-pmt", problem, (1.0, 5.0, 20.0, 50.0, 300.0)),
        ("pmt-ridge", problem, (20.0,)),
        ("pmt-objective", labels, (20.0,)),
        ("pmt-score", labels, (20.0,)),
    ):
        for mu in mus:
            request = Request(id, Budget(mu))
            ratio = preview(open, request).predicted.privacy / release(open, request, SeededNoise(1)).bands.privacy
            assert 1 / 1.5 < np.median(ratio) < 1.5, (id, mu)


def test_a_request_round_trips():
    """Saved fields read back give the same request."""
    request = Request("joint-pmt", Budget(0.7), {"radius_mode": "inference"}, 1e-7)
    again = request_from_json(json.dumps(request.as_dict()).encode())
    assert again.as_dict() == request_from_json(json.dumps(again.as_dict()).encode()).as_dict()
    assert again.parameters["radius_mode"] == "inference"
    assert (again.budget, again.delta, again.method) == (request.budget, request.delta, request.method)


@pytest.mark.parametrize(
    ("kind", "axis", "values", "ids"),
    [
        ("problem", "private rows", [200, 2000], ["joint-pmt", "pmt-ridge"]),
        ("problem", "public rows", [12, 100], ["joint-pmt", "public-only"]),
        ("problem", "penalty", [0.001, 1.0], ["pmt-ridge"]),
        ("labels", "penalty", [0.001, 1.0], ["pmt-objective", "public-only"]),
        ("labels", "steps", [2, 6], ["pmt-logistic"]),
    ],
)
def test_other_axes(kind, axis, values, ids, request):
    """Error against rows, penalty or iterations at one budget; more rows are better, places are what was asked."""
    problem = request.getfixturevalue(kind)
    run = Comparison(problem, ids, [1.0], trials=20, seed=3, axis=axis, values=values).run()
    rows = results(run)
    assert {(row["method"], row["x"]) for row in rows} == {(id, x) for id in ids for x in values}
    if "rows" in axis:
        first, last = (next(r for r in rows if r["method"] == ids[0] and r["x"] == x) for x in values)
        assert last["error_median"] < first["error_median"]
    assert run.sampling is not None and run.sampling > 0


def test_bad_axes_are_sentences(problem):
    """Unknown axis, too many rows, no values."""
    for axis, values, kind, facts in (
        ("moon", [1], ArgumentMessage.NOT_ONE_OF, {"name": "axis"}),
        ("private rows", [10**6], ArgumentMessage.OUT_OF_RANGE, {"name": "private rows"}),
        ("public rows", [3], ArgumentMessage.OUT_OF_RANGE, {"name": "public rows"}),
        ("penalty", [], AuditMessage.AXIS_NEEDS_VALUES, {"axis": "penalty"}),
    ):
        with refused(kind, **facts):
            Comparison(problem, ["joint-pmt"], [1.0], trials=1, seed=1, axis=axis, values=values)
