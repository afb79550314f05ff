"""The default penalty of labels and counts: a weak prior on effects, of the same strength in all rows together."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from pmtcore.base.private_rows import Curator, PrivateRows
from pmtcore.glm.families import family
from pmtcore.methods.baselines import exact_fit
from pmtcore.public.moments import EFFECT_SD, INTERCEPT, public_from_rows
from pmtcore.public.shrinkage import strongest_shrinkage
from pmtcore.tables.choices import Choices
from pmtcore.tables.problem import prepare
from pmtcore.tables.table import read_table

TEST = Curator("a test on synthetic rows")
NAMES = (INTERCEPT, "a", "b", "rare")


def rows(n, kind, seed=0, share=0.02):
    """An intercept, two numbers that move together, a rare level; each has an effect of one."""
    rng = np.random.default_rng(seed)
    a = rng.standard_normal(n)
    x = np.column_stack([np.ones(n), a, 0.8 * a + 0.6 * rng.standard_normal(n), rng.random(n) < share]).astype(float)
    x[0, 3], x[1, 3] = 0.0, 1.0
    z = x @ np.array([-0.5, 1.0, 0.5, 1.0])
    y = rng.poisson(np.exp(z)) if kind == "poisson" else rng.random(n) < 1 / (1 + np.exp(-z))
    return x, y.astype(float)


def fitted(x, y, kind, shown=200, scale=None, lam=None):
    """Return the exact fit to all rows with the default penalty or another one; the first rows are public."""
    x = x if scale is None else x * scale
    public = public_from_rows(x[:shown], y[:shown], NAMES, "y", family=family(kind), lam=lam or 0.0)
    public = public.weakly_penalized(len(x)) if lam is None else public
    return exact_fit(public, PrivateRows.from_arrays(x, y, NAMES)).reveal(TEST)


@pytest.mark.parametrize("kind", ["logistic", "poisson"])
@pytest.mark.parametrize("n", [300, 3000, 30_000])
def test_the_fit_moves_by_a_fifth_of_the_mean_effect_at_most(kind, n):
    """In standard errors of the fit without a penalty; 0.01 per row moves it further the more rows there are."""
    x, y = rows(n, kind)
    free, weak = fitted(x, y, kind, lam=0.0), fitted(x, y, kind)
    slope = family(kind).slope(x @ free)

    def distance(fit):
        return float(np.sqrt((fit - free) @ ((x * slope[:, None]).T @ x) @ (fit - free) / 4))

    effects = free * np.array([0.0, np.std(x[:, 1]), np.std(x[:, 2]), 1.0])
    assert 0 < distance(weak) <= 1.1 * np.sqrt(np.mean(effects**2)) / (2 * EFFECT_SD)
    assert n < 3000 or distance(fitted(x, y, kind, lam=0.01)) > 5 * distance(weak)


@pytest.mark.parametrize("n", [300, 30_000])
def test_separated_labels_have_a_finite_fit(n):
    """A level all of whose labels are 1: an effect of no more than a few standard deviations of its prior."""
    x, y = rows(n, "logistic")
    y[x[:, 3] > 0] = 1.0
    fit = fitted(x, y, "logistic")
    assert np.all(np.isfinite(fit)) and 1.0 < fit[3] < 3.2 * EFFECT_SD


def test_units_of_columns_do_not_matter():
    """Columns times powers of ten, those of two values too: coefficients divided by them."""
    x, y = rows(2000, "logistic")
    scale = np.array([1.0, 1e-6, 1e5, 1e-3])
    assert fitted(x, y, "logistic", scale=scale) * scale == pytest.approx(fitted(x, y, "logistic"), rel=1e-5)


def test_the_public_fit_has_the_same_prior_as_the_private_one():
    """Beside m rows it is as strong as beside n: of the same rows both are the same fit, whatever n is."""
    x, y = rows(60, "logistic")
    y[x[:, 3] > 0] = 1.0
    public = public_from_rows(x, y, NAMES, "y", family=family("logistic"))
    for n in (60, 10**6):
        assert public.weakly_penalized(n).coefficients == pytest.approx(fitted(x, y, "logistic", shown=60), rel=1e-5)


def test_a_problem_knows_how_many_rows_its_penalty_is_for():
    """A copy with other rows has another penalty per row; a chosen one stays, none is stated for the default."""
    x, y = rows(900, "logistic")
    table = pd.DataFrame(np.column_stack([x[:, 1:], y]), columns=["a", "b", "rare", "y"])
    sides = [
        read_table(part.to_csv(index=False).encode(), label, label)
        for part, label in ((table[200:], "private"), (table[:200], "public"))
    ]
    made = prepare(*sides, Choices(target="y", family="logistic"))
    few = replace(made, private=PrivateRows.from_arrays(x[:100], y[:100], NAMES))
    assert made.public.lam * 700 == pytest.approx(EFFECT_SD**-2)
    assert few.public.lam == pytest.approx(7 * made.public.lam)
    assert made.public.stated_penalty is None and made.public.prior_sd == EFFECT_SD
    assert strongest_shrinkage(made.public, 700) is None
    for lam in (0.0, 0.01):
        chosen = prepare(*sides, Choices(target="y", family="logistic", lam=lam))
        assert chosen.public.lam == lam == chosen.public.stated_penalty and chosen.public.prior_sd is None
    assert prepare(*sides, Choices(target="y")).public.prior_sd is None


def test_a_chosen_penalty_is_in_the_units_of_the_columns():
    """``lam`` is what each squared coefficient is multiplied by, whatever its column; the intercept is left alone."""
    x, y = rows(200, "logistic")
    chosen = public_from_rows(x, y, NAMES, "y", family=family("logistic"), lam=0.01)
    assert chosen.penalties == pytest.approx([0.0, 0.01, 0.01, 0.01])
    root = chosen.feature_root
    assert root @ chosen.unit_penalty @ root.T == pytest.approx(np.diag([0.0, 1.0, 1.0, 1.0]), abs=1e-9)
