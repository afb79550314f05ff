"""Objective perturbation in table units and budget retrieval."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import expit
from scipy.stats import gamma, kstest

from pmtcore.audit import audit
from pmtcore.families import LOGISTIC
from pmtcore.local.randomizers import epsilon_for, mu_for
from pmtcore.methods.baselines import exact_fit
from pmtcore.noise import SeededNoise, ZeroNoise
from pmtcore.objective import Perturbation
from pmtcore.retrieval import split
from tests.lab import FALSE_ALARM, TEST, plan
from tests.test_glm import glm


def pure(d: int, mu: float = 1.0, **more) -> Perturbation:
    return Perturbation(LOGISTIC, 100, 2.0, 1.0, mu, np.zeros((d, d)), np.zeros(d), pure=True, **more)


@pytest.mark.parametrize("d", [1, 3, 8])
def test_the_length_of_pure_noise_is_gamma_of_shape_d(d, seed):
    """E8 repaired: shape d; shape 1 is seen where d is larger. The sd of a coordinate is what is stated."""
    made = pure(d)
    b = made.draw(SeededNoise(seed), 20_000)
    length = np.linalg.norm(b, axis=1) * made.epsilon / (2 * made.radius)
    assert kstest(length, gamma(d).cdf).pvalue > FALSE_ALARM
    if d > 1:
        assert kstest(length, gamma(1).cdf).pvalue < FALSE_ALARM
    assert np.std(b) == pytest.approx(made.noise, rel=0.05)


@pytest.mark.parametrize("epsilon", [0.2, 1.0, 4.0])
@pytest.mark.parametrize("share", [1.0, 0.02])
def test_the_pure_jacobian_is_free(epsilon, share):
    """Exact densities in one dimension, add-remove: the log ratio stays within epsilon/2, and not with 2 % of W."""
    radius = 1.0
    w = share * 2 * radius**2 / epsilon
    rate = epsilon / (2 * radius)
    worst = 0.0
    for centre in (-20.0, -3.0, 0.0, 3.0, 20.0):
        t = np.linspace(-1, 1, 20_001) * 200 / rate / w
        g, k = expit(t * radius) * radius, expit(t) * expit(-t) * radius**2
        base = w * (t - centre / rate / w)
        logs = -rate * np.abs(base + g) + np.log(w + k) - (-rate * np.abs(base) + np.log(w))
        worst = max(worst, float(np.max(np.abs(logs))))
    if share == 1.0:
        assert worst <= epsilon / 2 * (1 + 1e-9)
    else:
        assert worst > epsilon / 2


def test_one_dimensional_density_integrates(seed):
    """The change of variables behind the proof: the density of the minimizer has mass one."""
    epsilon, w = 1.0, 2.0

    def density(t):
        return epsilon / 4 * math.exp(-epsilon / 2 * abs(w * t + expit(t))) * (w + expit(t) * expit(-t))

    assert quad(density, -60, 60, limit=400)[0] == pytest.approx(1.0, abs=1e-6)


def test_split_adds_up():
    """Noise and Jacobian make the total; recycling keeps it, returning lowers it; below the least modulus it costs."""
    free = split(2.0, 0.5, 1.0, "recycle")
    assert (free.noise, free.jacobian, free.retrieved, free.total) == (2.0, 0.0, 1.0, 2.0)
    back = split(2.0, 0.5, 1.0, "return")
    assert (back.noise, back.total, back.retrieved) == (1.0, 1.0, 1.0)
    for factor in (0.01, 0.1, 0.5):
        part = split(2.0, 0.5, factor, "recycle")
        assert part.noise + part.jacobian == pytest.approx(2.0) and part.jacobian > 0
        assert part.retrieved == pytest.approx(max(1.0 - part.jacobian, 0))
    with pytest.raises(ValueError, match="must be one of"):
        split(1.0, 0.5, 1.0, "keep")


def test_the_guarantee_is_what_was_chosen(seed):
    """Recycled: the budget asked for. Returned: the mu that half of epsilon implies. Both before rows are read."""
    _, public, _ = glm(1000, 100, seed, lam=0.01)
    assert plan("napp-public", public, 1000, 1.5).mu == pytest.approx(1.5)
    returned = plan("napp-public", public, 1000, 1.5, retrieved="return")
    assert returned.mu == pytest.approx(mu_for(epsilon_for(1.5) / 2))
    assert returned.facts()["retrieved_epsilon"] == pytest.approx(epsilon_for(1.5) / 2)
    m = returned.mechanism
    assert m.modulus + 1000 * np.linalg.eigvalsh(m.penalty)[0] >= 2 * m.radius**2 / m.epsilon * (1 - 1e-9)
    assert np.all(m.pull >= m.modulus)


def test_it_beats_the_baseline(seed):
    """Equal mu, median distance to the exact fit of 20 draws: below dp-erm, and recycled below returned."""
    _, public, rows = glm(5000, 200, seed, lam=0.001)
    exact = exact_fit(public, rows).reveal(TEST)

    def error(id, **values):
        found = plan(id, public, 5000, 1.0, **values).run(rows, SeededNoise(seed), 20).coefficients
        return np.median(np.linalg.norm(found - exact, axis=1))

    assert error("napp-public") < 0.8 * error("dp-erm")
    assert error("napp-public") < error("napp-public", retrieved="return")


@pytest.mark.parametrize("id", ["dp-erm", "napp-public"])
def test_without_noise_the_exact_fit_comes_back(id, seed):
    """Zero noise at the largest budget."""
    _, public, rows = glm(3000, 300, seed, lam=0.01)
    exact = exact_fit(public, rows).reveal(TEST)
    mu = 1000.0 if id == "dp-erm" else 30.0  # the epsilon of mu = 30 is 120
    found = plan(id, public, 3000, mu).run(rows, ZeroNoise(), 1).coefficients[0]
    assert np.linalg.norm(found - exact) < 0.1 * np.linalg.norm(exact)


def test_audit():
    """No violation; noise far too small is caught."""
    from pmtcore.faults import Weaker

    for id in ("dp-erm", "napp-public"):
        assert not audit(id, 1.0, 8000).violated
    assert audit("dp-erm", 1.0, 8000, noise=lambda s: Weaker(s, 0.05)).violated


def test_weights_below_one_are_refused():
    """The modulus is the minimum over all coordinates (E10)."""
    with pytest.raises(ValueError, match="at least 1"):
        _ = pure(2, weights=np.array([1.0, 0.5])).pull
