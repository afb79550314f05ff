"""Objective perturbation in table units and budget retrieval."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import expit
from scipy.stats import gamma, kstest
from sklearn.linear_model import ElasticNet, Lasso

from pmtcore import attacks
from pmtcore.audit import audit
from pmtcore.families import GAUSSIAN, LOGISTIC, POISSON
from pmtcore.local.randomizers import epsilon_for, mu_for
from pmtcore.methods.baselines import exact_fit
from pmtcore.napp import Target, limit, literal, retrieved_as_printed
from pmtcore.newton import Rows
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


def rows_of(fam, n=150, d=4, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.uniform(-0.5, 0.5, (n, d))
    z = x @ np.array([2.0, -1.5, 0.0, 0.0])[:d]
    if fam.binary:
        y = (rng.random(n) < fam.mean(z)).astype(float)
    else:
        y = rng.poisson(fam.mean(z)).astype(float) if fam.id == "poisson" else z + 0.2 * rng.standard_normal(n)
    return Rows(x, y, np.ones(n))


@pytest.mark.parametrize("fam", [GAUSSIAN, LOGISTIC, POISSON], ids=lambda f: f.id)
def test_literal_augmentation_tends_to_the_limit(fam):
    """Distance to the limit falls like one over the root of the augmented rows (fitted slope), noise included."""
    rows, target = rows_of(fam), Target("ridge", 3.0, 1.0)
    b = np.array([0.8, -0.5, 0.3, 0.1])
    exact = limit(fam, rows, target, b[None], 1)[0]
    counts = np.array([400, 1600, 6400, 25_600])
    errors = [
        np.mean([np.linalg.norm(literal(fam, rows, target, b, c, seed=s) - exact) for s in range(12)]) for c in counts
    ]
    slope = np.polyfit(np.log(counts), np.log(errors), 1)[0]
    assert -0.65 < slope < -0.35


def test_the_limit_is_the_lasso_of_an_independent_solver():
    """Repaired weights give scikit-learn's lasso and elastic net to 1e-6; printed ones realize 2 Lambda (E14)."""
    rows, n = rows_of(GAUSSIAN), 150
    zero = np.zeros((1, 4))
    for lam, printed in ((2.0, False), (1.0, True)):
        ours = limit(GAUSSIAN, rows, Target("lasso", lam, 0.0, printed=printed), zero, 5000)[0]
        theirs = Lasso(alpha=2.0 / n, fit_intercept=False, tol=1e-14, max_iter=100_000).fit(
            rows.features, rows.response
        )
        assert np.allclose(ours, theirs.coef_, atol=1e-6)
    ours = limit(GAUSSIAN, rows, Target("elastic-net", 2.0, 0.0, kappa=0.5), zero, 5000)[0]
    theirs = ElasticNet(alpha=(2.0 + 2.0) / n, l1_ratio=0.5, fit_intercept=False, tol=1e-14, max_iter=100_000).fit(
        rows.features, rows.response
    )
    assert np.allclose(ours, theirs.coef_, atol=1e-6)


def test_moor_is_closer_to_the_target():
    """Without noise, the larger of both weights is closer to the plain lasso than their sum."""
    rows, zero = rows_of(LOGISTIC), np.zeros((1, 4))
    plain_lasso = limit(LOGISTIC, rows, Target("lasso", 1.0, 0.0), zero, 500)[0]
    with_moor, without = (
        np.linalg.norm(limit(LOGISTIC, rows, Target("lasso", 1.0, 0.5, moor=moor), zero, 500)[0] - plain_lasso)
        for moor in (True, False)
    )
    assert with_moor < without


def test_retrieval_as_printed_grows_to_a_plateau():
    """The share retrieved grows with Lambda and stays below (1 - r) eps; fewer coordinates retrieve more (E10)."""
    theta = np.array([1.0, 0.3, 0.0])
    found = [retrieved_as_printed(1.0, 0.5, Target("lasso", lam, 0.25), theta) for lam in (0.1, 1.0, 10.0, 1e4)]
    assert found == sorted(found) and found[0] == 0 and 0.49 < found[-1] < 0.5


@pytest.mark.parametrize("attack", [attacks.selection, attacks.iterated], ids=["E11", "E12"])
def test_the_printed_steps_lose(attack):
    """An impossible event, seen with the person's row: the claim of epsilon 1 is broken."""
    found = attack()
    assert found.without < 0.01 * found.runs and found.with_row > 0.05 * found.runs
    assert found.wins and found.bound > 1.5


def test_ours_does_not():
    """The same events on public weights keep to the claim."""
    assert not any(attack.wins for attack in attacks.ours())


@pytest.mark.parametrize("id", ["napp-erm", "napp-vs", "napp-vs-plus"])
def test_printed_methods_run_in_the_lab(id, seed):
    """They run, give finite coefficients, and cannot be released."""
    _, public, rows = glm(2000, 100, seed, lam=0.001)
    outcome = plan(id, public, 2000, 2.0).run(rows, SeededNoise(seed), 5)
    assert np.all(np.isfinite(outcome.coefficients)) and set(outcome.released()) == {"retrieved_as_printed", "zeros"}
