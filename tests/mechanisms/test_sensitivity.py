"""Every sensitivity: adversarial neighbours stay within it, a witness reaches it, the budget is met."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import stats

from pmtcore.base.private_rows import PrivateRows
from pmtcore.mechanisms.grid import SCALE
from pmtcore.mechanisms.noise import SeededNoise, ZeroNoise
from pmtcore.mechanisms.truncation import cross_sensitivity, moment_sensitivity, papers_moment_sensitivity, truncate
from pmtcore.public.moments import public_from_rows
from tests.helpers import FALSE_ALARM, TEST, make, names, plan

D = 3
HUGE = st.sampled_from([0.0, 1.0, -1.0, 1e-300, 1e6, -1e6, 1e100])
ROW = arrays(float, D + 1, elements=st.one_of(st.floats(-50, 50), HUGE))
NEIGHBOURS = st.tuples(arrays(float, (4, D + 1), elements=st.floats(-5, 5)), ROW, ROW)


def public():
    """Return a fixed public sample."""
    rng = np.random.default_rng(5)
    x = rng.standard_normal((40, D)) * [1.0, 10.0, 0.1]
    return public_from_rows(x, x @ [1.0, 0.2, 3.0] + rng.standard_normal(40), names(D), "y")


def pair(base: np.ndarray, a: np.ndarray, b: np.ndarray) -> list[PrivateRows]:
    """Two tables that differ in the last row."""
    tables = [np.vstack([base, row]) for row in (a, b)]
    return [PrivateRows.from_arrays(t[:, :-1], t[:, -1], names(D)) for t in tables]


def moved(result, tables) -> np.ndarray:
    """Difference of a plan's statistic on two neighbouring tables."""
    first, second = (result.measure(rows).reveal(TEST) for rows in tables)
    return first - second


def joint_moved(result, tables) -> np.ndarray:
    """Return the same of a first pass."""
    first, second = (result.measure(result.pieces(rows)).reveal(TEST) for rows in tables)
    return first - second


@pytest.mark.slow
@settings(max_examples=300, deadline=None)
@given(NEIGHBOURS)
def test_joint_moment_moves_at_most_by_its_sensitivity(tables):
    """joint-pmt: Frobenius norm of the change is at most sqrt(2) R^2/n, whatever the two rows."""
    base, a, b = tables
    planned = plan("joint-pmt", public(), 5, 1.0, radius=3.0, response_scale=1.4, passes="1")
    change = joint_moved(planned.first, pair(base, a, b))
    assert np.linalg.norm(change.astype(float)) <= math.sqrt(2) * SCALE**2
    assert planned.first.sigma == pytest.approx(math.sqrt(2) * 9.0 / 5)


def test_joint_sensitivity_is_reached():
    """Orthogonal whitened rows at the radius reach it: the bound is tight."""
    data = public()
    rows = [data.factor @ (1e3 * axis) for axis in np.eye(D + 1)[:2]]
    change = joint_moved(
        plan("joint-pmt", data, 5, 1.0, radius=3.0, passes="1").first, pair(np.zeros((4, D + 1)), *rows)
    )
    assert np.linalg.norm(change) == pytest.approx(math.sqrt(2) * SCALE**2, rel=1e-3)


@pytest.mark.slow
@pytest.mark.parametrize("id", ["pmt-ols", "pmt-ridge", "dp-ols-public", "dp-ridge-public"])
@settings(max_examples=150, deadline=None)
@given(NEIGHBOURS)
def test_two_part_statistics_move_at_most_by_their_sensitivities(id, tables):
    """Gram matrix within the tight sqrt(2) R^2/n, cross moment within 2 R Ry/n, in the integers that noise is added to;
    both over their noise within mu (proofs/sensitivity.md, 3.5)."""
    base, a, b = tables
    planned = plan(id, public(), 5, 1.0)
    change = moved(planned, pair(base, a, b)).astype(float)
    gram, cross = np.linalg.norm(change[:, :-1]), np.linalg.norm(change[:, -1])
    assert gram <= math.sqrt(2) * SCALE**2
    assert cross <= 2 * SCALE**2
    over = [sigma / unit for sigma, unit in zip(planned.sigmas, planned.units, strict=True)]
    rows, columns = np.triu_indices(D)  # the papers' noise is on the upper triangle
    upper = np.linalg.norm(change[:, :-1][rows, columns])
    assert (upper / over[0]) ** 2 + (cross / over[1]) ** 2 <= 1 + 1e-9


def test_two_part_sensitivity_of_the_cross_moment_is_reached():
    """Opposite responses on one row at the radius."""
    planned = plan("pmt-ols", public(), 5, 1.0)
    x = 1e3 * np.ones(D)
    change = moved(planned, pair(np.zeros((4, D + 1)), np.append(x, 1e6), np.append(x, -1e6)))
    assert np.linalg.norm(change[:, -1].astype(float)) == pytest.approx(2 * SCALE**2, rel=1e-3)


@settings(max_examples=150, deadline=None)
@given(NEIGHBOURS)
def test_whitened_moment_moves_at_most_by_its_sensitivity(tables):
    """pmt-moment: within the tight bound, so within the paper's."""
    base, a, b = tables
    planned = plan("pmt-moment", public(), 5, 1.0)
    assert np.linalg.norm(moved(planned, pair(base, a, b)).astype(float)) <= math.sqrt(2) * SCALE**2


@given(arrays(float, (2, D), elements=st.one_of(st.floats(-1e3, 1e3), HUGE)), st.floats(0.1, 100))
def test_truncated_rows_lie_in_the_ball(rows, radius):
    """No row is longer than the radius; rows inside are untouched."""
    short = truncate(rows, radius)
    assert np.all(np.linalg.norm(short, axis=1) <= radius * (1 + 1e-9))
    inside = np.linalg.norm(rows, axis=1) <= radius
    assert np.array_equal(short[inside], rows[inside])


@pytest.mark.parametrize("mu", [0.05, 1.0, 7.0])
@pytest.mark.parametrize("n", [100, 5000])
def test_every_sound_method_meets_its_total_budget(mu, n, seed):
    """sigma over an independently written sensitivity, composed, is the total budget, for each sound method."""
    _, data, _ = make(200, 60, seed)
    joint = plan("joint-pmt", data, n, mu, passes="1")
    assert math.sqrt(2) * joint.first.ball.radius**2 / n / joint.first.sigma == pytest.approx(mu)
    moment = plan("pmt-moment", data, n, mu)
    assert math.sqrt(2) * moment.radius**2 / n / moment.sigma == pytest.approx(mu)
    for id in ("pmt-ols", "pmt-ridge", "dp-ols-public", "dp-ridge-public"):
        planned = plan(id, data, n, mu, calibration="papers")
        r, ry = planned.coordinates.radius, planned.coordinates.response_radius
        gram, cross = planned.sigmas
        total = (2 * r * r / n / gram) ** 2 + (2 * r * ry / n / cross) ** 2
        assert math.sqrt(total) == pytest.approx(mu)
        assert planned.mu == mu


def test_each_mechanism_adds_the_noise_it_states(seed):
    """Released minus exact statistic has the stated variance, by a chi-square test; 20 % less would be seen."""
    _, data, rows = make(200, 60, seed)
    joint = plan("joint-pmt", data, 200, 1.3, passes="1")
    moment, two = (plan(id, data, 200, 1.3) for id in ("pmt-moment", "pmt-ridge"))
    trials = 3000
    moment_unit = (moment.radius / SCALE) ** 2 / 200
    two_out, two_exact = two.run(rows, SeededNoise(seed, 1), trials), two.measure(rows).reveal(TEST)
    exact = joint.first.release(joint.first.measure(joint.first.pieces(rows)), ZeroNoise(), 1)[0]
    again = joint.run(rows, SeededNoise(seed), trials).pilot
    drawn = {
        "joint": (again.gram[:, 0, 0] - exact[0, 0], joint.first.sigma),
        "joint, off the diagonal": (
            again.cross[:, 0] * joint.first.ball.response_scale - exact[0, -1],
            joint.first.sigma / math.sqrt(2),
        ),
        "moment": (
            moment.run(rows, SeededNoise(seed), trials).statistic[:, 0, 1]
            - moment_unit * moment.measure(rows).reveal(TEST)[0, 1],
            moment.sigma,
        ),
        "gram": (two_out.gram[:, 0, 1] - two.units[0] * two_exact[0, 1] - two.penalty[0, 1], two.sigmas[0]),
        "cross": (two_out.cross[:, 0] - two.units[1] * two_exact[0, -1], two.sigmas[1]),
    }
    for name, (noise, sigma) in drawn.items():
        total = np.sum(noise**2)
        assert stats.chi2.cdf(total / sigma**2, trials) > FALSE_ALARM, name
        assert stats.chi2.sf(total / sigma**2, trials) > FALSE_ALARM, name
        assert stats.chi2.cdf(0.64 * total / sigma**2, trials) < FALSE_ALARM, name


def test_the_papers_parameters_by_hand(seed):
    """A, Algorithm 2 line 4: sigma_1 = 2 d (1 + log(2n/eta))/(mu n), sigma_2 with sqrt(d), at the per-part mu."""
    _, data, _ = make(200, 60, seed)
    n, eta, d, part = 3000, 0.05, 10, 1.0
    gram, cross = plan("pmt-ridge", data, n, math.sqrt(2) * part, eta=eta, calibration="papers").sigmas
    log = 1 + math.log(2 * n / eta)
    assert gram == pytest.approx(2 * d * log / (part * n))
    assert cross == pytest.approx(2 * math.sqrt(d) * log / (part * n))
    assert papers_moment_sensitivity(2.0, 4) == 2.0
    assert moment_sensitivity(2.0, 4) == pytest.approx(math.sqrt(2))
    assert cross_sensitivity(2.0, 3.0, 4) == 3.0
