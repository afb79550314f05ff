"""The filter of ``joint-pmt`` over pilot and gradients: curvature is raised where they say so, never lowered."""

from __future__ import annotations

import numpy as np
import pytest

from pmtcore.accounting.budgets import Budget
from pmtcore.base.records import Curator, PrivateRows
from pmtcore.mechanisms.noise import SeededNoise, ZeroNoise
from pmtcore.methods.baselines import exact_fit
from pmtcore.methods.joint.refined import raised
from pmtcore.methods.registry import make_parameters, method
from pmtcore.public.moments import public_from_rows
from pmtcore.public.sizes import Sizes, harmless_bound
from tests.helpers import names

TEST = Curator("a test of the filter on synthetic rows")


def _gram(rng: np.random.Generator, d: int) -> np.ndarray:
    rows = rng.standard_normal((4 * d, d))
    return rows.T @ rows / len(rows)


@pytest.mark.parametrize("d", [1, 2, 6, 20])
def test_a_row_that_was_truncated_is_given_back(d: int) -> None:
    """Without noise the difference of two gradients restores one missing row exactly, whatever the step."""
    rng = np.random.default_rng(d)
    gram, row, step = _gram(rng, d), 5 * rng.standard_normal(d), rng.standard_normal(d)
    whole = gram + np.outer(row, row)
    found = raised(gram[None], step[None], (whole @ step)[None], np.full(1, 1e-18), np.full(1, 1e-18))
    assert np.allclose(found[0], whole)


def test_curvature_is_never_lowered(seed) -> None:
    """Whatever two gradients say, the matrix that comes out is at least the one that went in."""
    rng = np.random.default_rng(seed)
    for d in (1, 3, 10):
        gram = np.array([_gram(rng, d) for _ in range(200)])
        step, seen = rng.standard_normal((2, 200, d)) * np.exp(3 * rng.standard_normal((2, 200, 1)))
        found = raised(gram, step, seen, np.full(200, 0.01), np.full(200, 1e-4))
        assert np.linalg.eigvalsh(found - gram).min() > -1e-9 * np.abs(found).max()
        lowered = raised(gram, step, np.einsum("tij,tj->ti", gram / 2, step), np.full(200, 1e-9), np.full(200, 1e-9))
        assert np.array_equal(lowered, gram)


def test_noise_alone_raises_nothing(seed) -> None:
    """Of 20,000 steps that are all noise at most 0.0025 are believed, twice what three standard deviations allow."""
    rng = np.random.default_rng(seed)
    gram, step = np.eye(4), 0.1 * rng.standard_normal((20_000, 4))
    seen = step + 0.05 * rng.standard_normal((20_000, 4))
    found = raised(np.tile(gram, (20_000, 1, 1)), step, seen, np.full(20_000, 0.05**2), np.zeros(20_000))
    assert np.mean(np.any(found != gram, axis=(1, 2))) < 0.0025


@pytest.mark.parametrize("scale", [1.0, 30.0])
def test_a_large_budget_reaches_the_fit_also_of_skewed_rows(scale: float, seed) -> None:
    """At mu 300 within a tenth of a standard error, with private rows far beyond the public ones too."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((3000, 4))
    x[60:90] *= scale
    y = x.sum(axis=1) + rng.standard_normal(3000)
    public = public_from_rows(x[:60], y[:60], names(4), "y")
    rows = PrivateRows.from_arrays(x[60:], y[60:], names(4))
    exact = exact_fit(public, rows).reveal(TEST)
    entry = method("joint-pmt")
    plan = entry.plan(public, rows.n, Budget(300.0), make_parameters(entry, {}))
    away = plan.run(rows, SeededNoise(seed), 3).coefficients - exact
    errors = np.sqrt(np.einsum("ti,ij,tj->t", away, x[60:].T @ x[60:], away) / 4)
    assert np.max(errors) < 0.1


def test_heavy_truncation_is_said(seed) -> None:
    """Private rows far beyond the public ones, a budget at which the ball takes them: the release says so."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((4000, 3))
    x[60:] *= np.array([20.0, 1.0, 1.0])
    y = x.sum(axis=1) + rng.standard_normal(4000)
    public = public_from_rows(x[:60], y[:60], names(3), "y")
    entry = method("joint-pmt")
    plan = entry.plan(public, 3940, Budget(4.5), make_parameters(entry, {}))
    outcome = plan.run(PrivateRows.from_arrays(x[60:], y[60:] + 3 * x[60:, 0], names(3)), ZeroNoise(), 1)
    assert outcome.disagrees
    assert outcome.fit.truncates_heavily


def test_bounds_grow_with_the_budget() -> None:
    """The noise of a harmless bound is a fiftieth of the sampling error; the histogram reaches it."""
    for n, mu in ((500, 0.5), (20_000, 4.5), (1000, 300.0)):
        bound = harmless_bound(n, mu)
        assert 2 * bound / (mu * n) == pytest.approx(0.02 / np.sqrt(n))
    lengths = np.linspace(0.1, 3.0, 50)
    assert Sizes.at(lengths, 3, 1000, 0.5).edges[-1] == pytest.approx(12.0)
    assert Sizes.at(lengths, 3, 1000, 300.0).edges[-1] == pytest.approx(harmless_bound(1000, 300.0))


def test_the_plan_has_an_interval_that_narrows_with_public_rows(seed) -> None:
    """Its ends are around the prediction, further apart the fewer public rows there are; none without public rows."""
    rng = np.random.default_rng(seed)
    entry, ratios = method("joint-pmt"), []
    for m in (8, 40, 400):
        x = rng.standard_normal((m, 4))
        public = public_from_rows(x, x.sum(axis=1) + rng.standard_normal(m), names(4), "y")
        predicted = entry.plan(public, 2000, Budget(1.0), make_parameters(entry, {})).predicted()
        low, high = predicted.interval
        assert low < np.linalg.norm(predicted.to_exact) < high
        ratios.append(high / low)
    assert ratios == sorted(ratios, reverse=True)
    alone = entry.plan(public, 2000, Budget(1.0), make_parameters(entry, {"passes": "1"})).predicted()
    assert alone.interval is None
