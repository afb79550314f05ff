"""Over the registry: the noise that arrives, against what the worst neighbours move, on the code that releases."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from pmtcore.accounting.budgets import Budget
from pmtcore.base import block_sums, private_rows
from pmtcore.base.labels import ReleaseStatus
from pmtcore.base.private_rows import PrivateRows
from pmtcore.glm.families import FAMILIES
from pmtcore.mechanisms.grid import FINE
from pmtcore.mechanisms.integers import COARSE, FACTOR, SLOPES
from pmtcore.mechanisms.noise import SecureNoise, SeededNoise, ZeroNoise
from pmtcore.mechanisms.passes import GRADIENT
from pmtcore.methods.registry import make_parameters, method, methods
from pmtcore.public.moments import public_from_rows
from pmtcore.releases.release import Request, preview, release
from pmtcore.tables.named import entry as entry_of
from pmtcore.tables.named import load
from pmtcore.tables.problem import prepare
from tests.helpers import TEST, names, total_mu
from tests.methods.neighbours import (
    MU,
    ROWS,
    SAMPLING,
    TRIALS,
    D,
    RecordedNoise,
    assert_costs,
    distance_over_noise,
    noise_scales,
    one_row,
    plan_of,
    private_of,
    public_of,
)

# what one release consists of is all seen, as statistic plus noise: (method, parameters, least share of mu reached)
SEEN = (
    ("pmt-ols", {}, 0.95),
    ("pmt-ols", {"calibration": "papers"}, 0.7),
    ("pmt-ridge", {}, 0.95),
    ("dp-ols-public", {}, 0.95),
    ("dp-ridge-public", {}, 0.95),
    ("pmt-moment", {}, 0.95),
    ("pmt-moment", {"calibration": "papers"}, 0.65),
    ("ada-ssp", {}, 0.9),
    ("joint-pmt", {"passes": "1"}, 0.9),
    ("pmt-score", {}, 0.9),
    ("dp-gd", {"steps": 1}, 0.9),
    ("ldp-glm-gaussian", {}, 0.9),
    ("ldp-glm", {}, 0.9),
    ("ldp-whitened", {}, 0.9),
)


def sds_that_arrive(plan, rows) -> np.ndarray:
    """Standard deviation of each coordinate of what is seen, over thousands of seeded draws."""
    return np.std(plan.run(rows, SeededNoise(7), TRIALS).transcript(), axis=0)


@pytest.mark.parametrize(("id", "values", "reached"), SEEN, ids=lambda v: str(v))
def test_no_neighbours_lie_further_apart_than_the_budget(id, values, reached):
    """Distance of two tables' statistics over the noise that arrives: at most mu for all, near mu for the worst."""
    entry = method(id)
    plan = plan_of(entry, 1 if entry.local else ROWS, **values)
    assert total_mu(plan.parts()) == pytest.approx(plan.mu)
    share = distance_over_noise(id, **values)
    assert share <= 1 + SAMPLING
    assert share >= reached * (1 - SAMPLING), "what is paid for is not needed"


SOUND = [entry for entry in methods() if entry.standing is ReleaseStatus.SOUND]


@pytest.mark.parametrize("entry", SOUND, ids=lambda e: e.id)
def test_no_sound_method_has_noise_in_floating_point(entry):
    """Every draw is of integers, on a grid that is fine beside the noise; the registry says so."""
    plan, spy = plan_of(entry, 60), RecordedNoise()
    plan.run(private_of(entry, 60), spy, 1)
    assert bool(spy.draws) == (plan.mu > 0)
    assert all(scale >= 2.0**25 for scale, _ in spy.draws)
    assert entry.as_dict()["noise"] == ("exact" if plan.mu > 0 else "floating point")


@pytest.mark.slow
@pytest.mark.parametrize("id", ["pmt-ols", "ada-ssp", "pmt-moment"])
def test_exact_noise_has_the_stated_size(id):
    """Moments of exact draws in releases, over the sd that seeded noise has: 8 % less would be seen."""
    entry = method(id)
    plan = plan_of(entry, ROWS)
    statistic = plan.measure(one_row(np.zeros(D), 0.0))
    expected = sds_that_arrive(plan, one_row(np.zeros(D), 0.0))
    exact = plan.perturb(statistic, ZeroNoise(), 1).transcript()
    result = (plan.perturb(statistic, SecureNoise(), 8000).transcript() - exact) / expected
    size = float(np.sum(result**2)) / result.size
    assert abs(size - 1) < 6 * np.sqrt(2 / result.size) + 0.03
    assert abs(0.92**2 * size - 1) > 6 * np.sqrt(2 / result.size) + 0.03


def test_the_integers_of_two_passes_cost_mu():
    """Pilot, histogram and clipped gradient of joint-pmt: sensitivities in whole steps over scales."""
    ((diagonal, _), (beside, _), (counts, _), (gradient, wide)), _ = noise_scales("joint-pmt", n=400, passes="2")
    assert beside == pytest.approx(diagonal / np.sqrt(2)) and wide == D
    costs = np.sqrt(2) * 2.0**30 / diagonal, np.sqrt(2) * FINE / counts, 2.0 * GRADIENT / gradient
    assert_costs(np.sqrt(np.sum(np.square(costs))))


def test_the_integers_of_three_passes_cost_mu():
    """The same with a clipped gradient between the two, each with a histogram before it."""
    asked, _ = noise_scales("joint-pmt", n=400)
    (diagonal, _), _, (early, _), (between, width), (late, _), (last, wide) = asked
    assert width == wide == D
    steps, counts = 2.0 * GRADIENT / np.array([between, last]), FINE / np.array([early, late])
    assert_costs(np.sqrt(2 * (2.0**30 / diagonal) ** 2 + 2 * np.sum(counts**2) + np.sum(steps**2)))


def test_the_integers_of_newtons_steps_cost_mu():
    """T steps of pmt-logistic: what a row can move of Hessian and score, in whole steps, over the noise of both."""
    asked, _ = noise_scales("pmt-logistic", steps=3)
    assert len(asked) == 9, "score, diagonal and the rest of the Hessian of each step"
    q, p, t = np.meshgrid(np.linspace(0, 1, 41), np.linspace(0, 1, 41), np.linspace(0, 1, 21))
    w, v = q * (1 - q), p * (1 - p)
    total = 0.0
    for (score, _), (diagonal, _), (beside, _) in zip(asked[::3], asked[1::3], asked[2::3], strict=True):
        assert diagonal == beside, "the papers' noise on the whole triangle"
        curved = (w**2 + v**2 - 2 * w * v * t**2) * (4 * SLOPES * COARSE**2 / diagonal) ** 2
        total += np.max(curved + (q**2 + p**2 + 2 * q * p * t) * (FACTOR**2 / score) ** 2)
    assert_costs(np.sqrt(total))


def test_the_integers_of_gradient_steps_cost_mu():
    """T clipped gradients of dp-gd, each of sensitivity 2 clips."""
    asked, _ = noise_scales("dp-gd", steps=5)
    assert len(asked) == 5
    assert_costs(np.sqrt(sum((2 * FACTOR**2 / scale) ** 2 for scale, _ in asked)))


@pytest.mark.slow
def test_the_integers_of_an_objective_cost_mu():
    """b on its grid, and the noise on the minimizer; and both arrive in the spread of minimizers."""
    ((b, _), (covering, _)), plan = noise_scales("pmt-objective", n=400)
    made = plan.mechanism
    first = 2 * made.radius / (made.minimizer_release.step_of_noise * b)
    assert np.hypot(first, made.minimizer_release.sensitivity / covering) == pytest.approx(MU, rel=2e-6)
    entry = method("pmt-objective")
    rng = np.random.default_rng(3)
    x, y = rng.standard_normal((4000, D)), (rng.random(4000) < 0.5).astype(float)
    plan = entry.plan(public_of(entry), 4000, Budget(MU), make_parameters(entry, {}))
    outcome = plan.run(PrivateRows.from_arrays(x, y, names(D)), SeededNoise(5), 2000)
    inverse = np.linalg.inv(
        plan.mechanism.modulus * np.eye(D) + 4000 * plan.equation.hessians(outcome.statistic[:1])[0]
    )
    expected = plan.mechanism.noise * np.sqrt(np.diag(inverse @ inverse))
    assert np.std(outcome.statistic, axis=0) == pytest.approx(expected, rel=0.3)


def test_a_step_is_the_mean_clipped_gradient():
    """One step of dp-gd without noise, against a loop: rows of every length, and one that overflows, which counts as
    zeros."""
    entry, rng = method("dp-gd"), np.random.default_rng(6)
    x = rng.standard_normal((30, D)) * np.exp(rng.uniform(-3, 8, (30, 1)))
    y = x @ [1.0, -2.0] + rng.standard_normal(30)
    x[0] = 1.7e308
    plan = entry.plan(public_of(entry), 30, Budget(MU), make_parameters(entry, {"steps": 1, "clip": 2.0, "rate": 1.0}))
    result = plan.run(PrivateRows.from_arrays(x, y, names(D)), ZeroNoise(), 1).coefficients[0]
    expected = np.zeros(D)
    for row, response in zip(x[1:], y[1:], strict=True):
        gradient = -response * row
        expected -= gradient * min(1.0, 2.0 / np.linalg.norm(gradient)) / 30
    assert result == pytest.approx(expected, abs=1e-3)


def test_iterates_are_projected():
    """Every released iterate of pmt-glm lies within the coefficient bound that its noise was set for (E3)."""
    entry = method("pmt-glm")
    rng = np.random.default_rng(8)
    x, y = rng.standard_normal((40, D)), rng.poisson(1.0, 40).astype(float)
    public = public_from_rows(x, y, names(D), "y", ridge=0.0, family=FAMILIES["poisson"])
    plan = entry.plan(public, 40, Budget(0.3), make_parameters(entry, {"bound": 0.5, "response_bound": 5.0}))
    path = plan.run(PrivateRows.from_arrays(x, y, names(D)), SeededNoise(1), 50).path
    assert 0.5 * 0.99 < np.max(np.linalg.norm(path, axis=2)) <= 0.5 * (1 + 1e-12)


@pytest.mark.parametrize("id", ["joint-pmt", "pmt-ridge"])
def test_what_is_recorded_is_what_the_parts_come_to(id):
    """Preview, release and record state the mu that the parts of the release compose to."""
    private, public, _ = load("demo", n=300, m=60, d=4)
    problem = prepare(private, public, entry_of("demo").choices)
    request = Request(id, Budget(MU))
    released = release(problem, request, SeededNoise(5))
    for stated in (
        released.guarantee.mu,
        released.as_dict()["guarantee"]["mu"],
        preview(problem, request).guarantee.mu,
    ):
        assert stated == pytest.approx(total_mu(released.parts)) == pytest.approx(MU)


original = block_sums.total


@pytest.mark.parametrize("id", ["pmt-ols", "pmt-moment", "ada-ssp", "joint-pmt"])
def test_sums_of_integers_have_room(id, monkeypatch):
    """More rows than 63 bits hold the sum of: 2^30 times a block of 4000, as the partial sums of so many rows are."""
    rng = np.random.default_rng(0)
    rows = PrivateRows.from_arrays(rng.standard_normal((4000, D)), rng.standard_normal(4000), names(D))
    result, many = plan_of(method(id), 4000), 2**30
    once = result.measure(rows).reveal(TEST)
    for module in (block_sums, private_rows):
        monkeypatch.setattr(module, "total", lambda parts: many * original(parts))
    total = result.measure(rows)
    first, second = (each[0] if isinstance(each, tuple) else each for each in (once, total.reveal(TEST)))
    assert np.array_equal(second.astype(object), first.astype(object) * many)
    if id != "joint-pmt":  # whose gradients have looks of their own
        assert np.all(np.isfinite(result.perturb(total, SeededNoise(1), 1).coefficients))


def test_the_parts_of_a_plan_are_what_dataclasses_say():
    """Parts are typed records."""
    part = plan_of(method("pmt-ols"), ROWS).parts()[0]
    assert dataclasses.asdict(part)["mu"] == pytest.approx(MU)
