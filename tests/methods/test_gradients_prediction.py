"""Predictions of gradients in passes: a curve of them costs few rehearsals, and each is near its own rehearsal."""

from __future__ import annotations

import math

import numpy as np
import pytest

from pmtcore.glm.families import BOOSTING, LOGISTIC, POISSON
from pmtcore.mechanisms.noise import SeededNoise
from pmtcore.methods.gradients.frame import Frame
from pmtcore.methods.gradients.method import GradientPlan
from pmtcore.methods.gradients.rehearsal import DRAWS, drawn_response, error_ratios, simulated_table
from tests.helpers import plan
from tests.methods.test_gradients import ID, glm


@pytest.mark.slow
def test_an_interpolated_ratio_is_near_the_computed_one():
    """With hardly more private than public rows, and with many: within a twentieth in the median, a fifth at most."""
    _, public, _ = glm(10, 150, 4)
    made = [plan(ID, public, n, mu) for n in (300, 30_000) for mu in (0.1, 0.7)]
    away = np.abs([np.log(each.expected_error_ratios / each.error_ratios) for each in made])
    assert np.median(away) < 0.05 and np.max(away) < 0.2


def test_at_a_decade_nothing_is_interpolated():
    """``n mu = 1000`` with a hundred private rows for a public one: the figure is the rehearsal's own."""
    _, public, _ = glm(10, 100, 5)
    made = plan(ID, public, 10_000, 0.1)
    assert made.expected_error_ratios == pytest.approx(made.error_ratios, rel=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("sizes", [(5000,), (400, 12_000)])
def test_a_curve_acts_out_its_passes_at_few_budgets(monkeypatch, sizes):
    """Seven budgets and several numbers of rows: at most five decades for each schedule and reference."""
    _, public, _ = glm(10, 100, 6)
    runs, acted_out = [], GradientPlan._passes

    def counted(self, *arguments):
        runs.append((self.schedule, self.n))
        return acted_out(self, *arguments)

    monkeypatch.setattr(GradientPlan, "_passes", counted)
    for n in sizes:
        for mu in np.geomspace(0.05, 5, 7):
            assert np.all(plan(ID, public, n, mu).predicted().privacy > 0)
    assert len(runs) <= 5 * DRAWS * len(set(runs))
    before = len(runs)
    plan(ID, public, sizes[0], 0.05 * 1.001).predicted()
    assert len(runs) == before


def test_another_table_or_schedule_has_its_own_ratio():
    """What is stored for one public table or number of passes is not read for another."""
    (_, first, _), (_, second, _) = glm(10, 30, 7), glm(10, 60, 7)
    made = [
        plan(ID, public, 100 * public.m, 10 / public.m, **more)
        for public in (first, second)
        for more in ({}, {"passes": 3})
    ]
    for each in made:
        assert each.expected_error_ratios == pytest.approx(each.error_ratios, rel=1e-9)
    assert len({each.squared_deviations.tobytes() for each in made}) == 4


def test_the_interpolated_ratio_is_the_prediction_s_alone():
    """A prediction has it; bands are scaled by the ratio at the release's own budget."""
    _, public, rows = glm(3000, 60, 9)
    made = plan(ID, public, 3000, 0.4)
    assert made.predicted().privacy == pytest.approx(
        made.privacy_part(made.expected_state, made.expected_error_ratios).sd
    )
    outcome = made.run(rows, SeededNoise(1), 1)
    assert outcome.bands().privacy == pytest.approx(made.privacy_part(outcome.state, made.error_ratios).sd)


def test_one_coefficient_that_runs_off_widens_its_own_band():
    """Errors as the covariance has them leave it as it is; one that runs off is wide, and the others hardly wider."""
    usual = np.ones((DRAWS, 20))
    far = usual.copy()
    far[:, 3] = 1e6
    assert error_ratios(0.01 * usual) == pytest.approx(np.ones(20))
    assert error_ratios(usual) == pytest.approx(np.ones(20))
    ratios = error_ratios(far)
    assert 7 < ratios[3] < 8
    assert np.all(np.delete(ratios, 3) < 1.2)


def test_errors_that_are_all_longer_are_in_every_band():
    """Every error three times its standard deviation: so is every band."""
    assert error_ratios(np.full((DRAWS, 5), 9.0)) == pytest.approx(np.full(5, 3.0))


@pytest.mark.parametrize("id", [ID, "pmt-objective", "pmt-score"])
def test_deviations_are_squares_over_variances(id):
    """Each error over simulated rows in the units of the table, squared, over its own variance there."""
    _, public, _ = glm(10, 60, 3)
    made = plan(id, public, 2000, 1.0)
    errors, covariances = made.rehearse()
    to_table = np.linalg.inv(made.frame.root.T)
    wanted = [
        (to_table @ e) ** 2 / np.diag(to_table @ c @ to_table.T) for e, c in zip(errors, covariances, strict=True)
    ]
    assert made.squared_deviations == pytest.approx(np.array(wanted))
    assert made.error_ratios == pytest.approx(error_ratios(np.array(wanted)))


def test_fits_to_simulated_rows_are_as_far_as_those_to_private_ones():
    """In standard deviations of the public fit: the mean square is 1 for a fit to a large table."""
    _, public, _ = glm(10, 300, 11)
    frame = Frame(public, 10**6)
    centre, covariance = frame.public_fit
    away = np.array([simulated_table(frame, draw).fit - centre for draw in range(40)])
    square = np.einsum("ti,ij,tj->t", away, np.linalg.inv(covariance), away) / public.d
    assert np.mean(square) == pytest.approx(1.0, abs=4 * np.std(square) / math.sqrt(len(square)))


@pytest.mark.parametrize("family", [LOGISTIC, BOOSTING, POISSON], ids=lambda family: family.id)
def test_drawn_responses_have_the_mean_and_variance_of_the_family(family):
    """``b'`` and ``b''`` over the exposure, for single rows and for seven units each; labels are 0 and 1."""
    rng, many = np.random.default_rng(3), 200_000
    predictor = np.full(many, 0.4)
    mean = float(family.mean(predictor)[0])
    for exposure in (1.0, 7.0):
        drawn = drawn_response(family, predictor, np.full(many, exposure), rng)
        variance = (mean * (1 - mean) if family.binary else mean) / exposure
        assert np.mean(drawn) == pytest.approx(mean, abs=5 * math.sqrt(variance / many))
        assert np.var(drawn) == pytest.approx(variance, rel=0.03)
        if family.binary and exposure == 1:
            assert set(np.unique(drawn)) == {0.0, 1.0}


@pytest.mark.parametrize(("n", "m", "mu"), [(3000, 150, 0.5), (8000, 100, 1.5), (20_000, 400, 6.0)])
def test_the_foreseen_covariance_is_that_of_releases_in_the_mean(n, m, mu):
    """Five passes and ten: standard errors of five alike samples within a seventh of it."""
    ratios = []
    for seed in range(5):
        _, public, rows = glm(n, m, seed)
        made = plan(ID, public, n, mu)
        released = np.trace(made.run(rows, SeededNoise(seed), 2).state.covariance, axis1=1, axis2=2)
        ratios.append(np.mean(np.log(released / np.trace(made.expected_state.covariance[0]))) / 2)
    assert abs(np.mean(ratios)) < math.log(1 + 1 / 7)


def test_the_noise_of_a_gradient_and_public_rows_decide_the_number_of_passes():
    """Beside the sampling error the noise is 0.063 and 0.016, and 0.32, 0.063 and 0.003 (decision 252)."""
    (_, many, _), (_, few, _) = glm(10, 100, 1), glm(10, 15, 1)
    assert [plan(ID, many, 20_000, mu).n_passes for mu in (0.5, 2.0)] == [5 + 1, 10 + 2]
    assert [plan(ID, few, 20_000, mu).n_passes for mu in (0.1, 0.5, 10.0)] == [5 + 1, 10 + 3, 20 + 4]
