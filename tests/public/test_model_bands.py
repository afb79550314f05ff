"""Bands of labels and counts are never narrower than the model's: levels of few rows, all with one label."""

from __future__ import annotations

import numpy as np
import pytest

from pmtcore.glm.families import GAUSSIAN, LOGISTIC, POISSON
from pmtcore.methods.baselines import public_bands
from pmtcore.methods.gradients.frame import Frame
from pmtcore.public.moments import INTERCEPT, PublicData, public_from_rows

N = 5000


def rare_level(family=LOGISTIC, weights: np.ndarray | None = None, m: int = 300) -> PublicData:
    """Return public rows of which three have a level, with response 0."""
    rng = np.random.default_rng(3)
    level = np.arange(m) < 3
    x = np.column_stack([np.ones(m), rng.standard_normal(m), level])
    mean = family.mean(0.4 * x[:, 1])
    y = rng.poisson(mean) if family is POISSON else (rng.random(m) < mean)
    names = (INTERCEPT, "a", "level=b")
    y = np.where(level, 0.0, y)
    return public_from_rows(x, y, names, "y", family=family, weights=weights).weakly_penalized(N)


@pytest.mark.parametrize("family", [LOGISTIC, POISSON], ids=lambda each: each.id)
def test_a_level_of_three_rows_with_one_label_has_the_model_s_error(family):
    """At least the standard error of a fit by the model with its prior, from textbook formulas in the table's units."""
    public = rare_level(family)
    x = public.rows[:, :-1]
    slope = family.slope(x @ public.coefficients)
    prior = np.diag([0.0, np.var(x[:, 1]), 1.0]) / 2.5**2
    model = np.sqrt(np.diag(np.linalg.inv((x * slope[:, None]).T @ x + prior)))
    bands = public_bands(public)
    assert np.all(bands.sampling >= model * (1 - 1e-6))
    assert bands.sampling[2] == pytest.approx(model[2], rel=1e-6)  # the sandwich is far smaller there
    assert bands.sampling[2] > 1


def test_the_private_part_has_it_too():
    """n private rows: the sampling part of the passes is at least the inverse Hessian over n."""
    frame = Frame(rare_level(), N)
    hessian = frame.hessians(frame.slopes(frame.start[0][None]))[0] + frame.penalty
    model = np.diag(frame.to_table(frame.to_table(np.linalg.inv(hessian)).T)) / N
    part = frame.sampling(frame.start[0])
    assert np.all(part.variance >= model * (1 - 1e-9))
    assert part.variance[2] == pytest.approx(model[2])


def test_weights_enter_the_curvature_alone():
    """Rows of weight two, as those of twice the exposure, have half the variance."""
    public = rare_level(weights=np.full(300, 2.0))
    x = public.rows[:, :-1]
    prior = np.diag([0.0, np.var(x[:, 1]), 1.0]) / 2.5**2
    model = np.linalg.inv(2 * (x * LOGISTIC.slope(x @ public.coefficients)[:, None]).T @ x + prior)
    assert public_bands(public).sampling[2] == pytest.approx(np.sqrt(model[2, 2]), rel=1e-6)


def test_least_squares_keep_their_sandwich():
    """A response has no variance that the mean decides."""
    public = rare_level()
    linear = public_from_rows(public.rows[:, :-1], public.rows[:, -1], public.names, "y", family=GAUSSIAN)
    assert public_bands(linear).sampling[2] < 0.5
