"""Generalized linear models: algebra, independent fits, sensitivities, the accountant against exact densities."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import expit
from scipy.stats import binomtest, norm
from sklearn.linear_model import LogisticRegression, PoissonRegressor

from pmtcore.accounting.budgets import delta_from_mu
from pmtcore.accounting.perturbed import delta_any_sign, least_modulus, noise_sd
from pmtcore.base.private_rows import PrivateRows
from pmtcore.glm import solvers
from pmtcore.glm.families import BOOSTING, FAMILIES, LOGISTIC, POISSON, family
from pmtcore.glm.rows import Rows
from pmtcore.glm.solvers import Data
from pmtcore.mechanisms.noise import SecureNoise, SeededNoise, ZeroNoise
from pmtcore.mechanisms.objective import Perturbation
from pmtcore.methods.baselines import exact_fit, public_bands
from pmtcore.public.moments import PublicData, public_from_rows
from pmtcore.public.shape import Clip
from pmtcore.tables.synthetic import synthetic
from tests.helpers import FALSE_ALARM, TEST, gathered, names, plan


def delta_sign_fixed(epsilon: float, mu: float, log_jacobian: float) -> float:
    """Return the add-remove delta where the label fixes the sign of ``b' - y``: ``delta_mu(eps - c)`` for ``eps >= c``.

    For smaller eps it is ``1 - exp(eps - c) (1 - delta_mu(0))``: the loss is at most ``(mu Z + mu^2/2)_+ + c``.

    Args:
        epsilon: eps.
        mu: ``G R/s``.
        log_jacobian: ``c = log(1 + B R^2/w)``, ``b'' <= B``, w the modulus.
    """
    if epsilon >= log_jacobian:
        return delta_from_mu(mu, epsilon - log_jacobian)
    return 1 - math.exp(epsilon - log_jacobian) * (1 - delta_from_mu(mu, 0.0))


def glm(n: int, m: int, seed: int, fam: str = "logistic", lam: float = 0.0, d: int = 5, size: float = 0.3):
    draw = synthetic(n, m, d=d, trace=2.6 * d, seed=seed, family=fam, size=size)
    public = public_from_rows(draw.public_x, draw.public_y, names(d), "y", ridge=0.0, family=family(fam), lam=lam)
    return draw, public, PrivateRows.from_arrays(draw.private_x, draw.private_y, names(d))


@pytest.mark.parametrize("fam", FAMILIES.values(), ids=lambda f: f.id)
def test_a_family_is_consistent(fam):
    """b' and b'' are the derivatives of b; |b'''| <= b'', which the step rule needs; bounds bound."""
    z, h = np.linspace(-6, 6, 2001), 1e-5
    assert np.allclose(fam.mean(z), (fam.loss(z + h) - fam.loss(z - h)) / (2 * h), atol=1e-5)
    assert np.allclose(fam.slope(z), (fam.mean(z + h) - fam.mean(z - h)) / (2 * h), rtol=1e-4, atol=1e-8)
    third = (fam.slope(z + h) - fam.slope(z - h)) / (2 * h)
    assert np.all(np.abs(third) <= fam.slope(z) * (1 + 1e-4) + 1e-9)
    assert np.max(np.abs(fam.mean(z))) <= fam.largest_mean(6.0) * (1 + 1e-12)
    assert np.max(fam.slope(z)) <= fam.largest_slope(6.0) * (1 + 1e-12)
    if fam.binary:
        p = fam.mean(z)
        assert np.all((p >= 0) & (p <= 1)) and np.all(fam.slope(z) <= p * (1 - p) * (1 + 1e-9))


def test_the_fit_agrees_with_scikit_learn(seed):
    """Logistic and Poisson fits with a penalty, in the units of the table."""
    draw, public, rows = glm(2000, 100, seed, lam=0.02)
    ours = exact_fit(public, rows).reveal(TEST)
    theirs = LogisticRegression(C=1 / (0.02 * 2000), fit_intercept=False, tol=1e-12, max_iter=10_000)
    assert np.allclose(ours, theirs.fit(draw.private_x, draw.private_y).coef_[0], atol=1e-5)
    draw, public, rows = glm(2000, 100, seed, fam="poisson", lam=0.02, size=0.1)
    ours = exact_fit(public, rows).reveal(TEST)
    theirs = PoissonRegressor(alpha=0.02, fit_intercept=False, tol=1e-12, max_iter=10_000)
    assert np.allclose(ours, theirs.fit(draw.private_x, draw.private_y).coef_, atol=1e-5)


def test_a_fit_converges_from_anywhere(seed):
    """Newton's full step diverges from here; the search along it does not."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((500, 3)) * 3
    data = Data(LOGISTIC, x, (rng.random(500) < expit(x @ [1, -1, 0.5])).astype(float))
    best = solvers.fit(data, 1e-3 * np.eye(3))
    far = solvers.fit(data, 1e-3 * np.eye(3), np.array([40.0, 40.0, -40.0]))
    assert np.allclose(best, far, atol=1e-7)


def test_whitened_newton_is_ordinary_newton(seed):
    """Noise-free and untruncated, each iterate maps back to the ordinary one (A, Theorem 5.1)."""
    draw, public, rows = glm(1500, 80, seed, lam=0.01)
    planned = plan("pmt-logistic", public, 1500, 1e-3, steps=4, eta=1e-9, indefinite="printed")
    assert planned.steps.radius > 2 * np.max(np.linalg.norm(draw.private_x @ planned.steps.root.T, axis=1)) / 2
    longest = 1.01 * np.max(np.linalg.norm(draw.private_x @ planned.steps.root.T, axis=1))
    wide = type(planned)(
        public,
        1500,
        planned.mu,
        planned.steps.__class__(**{**vars(planned.steps), "radius": longest}),
        planned.parameters,
    )
    path = wide.run(rows, ZeroNoise(), 1).iterates[:, 0]
    beta, x, y = np.zeros(5), draw.private_x, draw.private_y
    for step in range(1, 5):
        p = expit(x @ beta)
        gradient = x.T @ (p - y) / 1500 + 0.01 * beta
        hessian = (x * (p * (1 - p))[:, None]).T @ x / 1500 + 0.01 * np.eye(5)
        beta = beta - np.linalg.solve(hessian, gradient)
        assert np.allclose(path[step], beta, atol=0.01), "up to rows of 2^11 steps in the Hessian"


@pytest.mark.parametrize("id", ["pmt-objective", "pmt-score", "pmt-logistic", "dp-logistic-public"])
def test_without_noise_the_private_fit_comes_back(id, seed):
    """Zero noise, a wide radius: the objective and Newton give the exact fit; the score is off by the public sample."""
    _, public, rows = glm(3000, 300, seed, lam=0.01)
    exact = exact_fit(public, rows).reveal(TEST)
    off = np.linalg.norm(public.coefficients - exact)
    values = {"steps": 30} if "logistic" in id else {"radius": 30.0, "shrinkage": "none"}
    result = plan(id, public, 3000, 1e3, **values).run(rows, ZeroNoise(), 1).coefficients[0]
    assert np.linalg.norm(result - exact) < (0.3 * off if id == "pmt-score" else 1e-3 * off)


@given(st.integers(2, 5), st.floats(0.2, 5), st.floats(1, 4), st.integers(0, 10**6))
@settings(max_examples=60, deadline=None)
def test_score_and_hessian_keep_to_their_bounds(d, radius, reach, seed):
    """Adversarial neighbours: one row, at any distance, moves sums by at most what the noise is set for."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((2, d)) * np.exp(rng.uniform(-3, 5, (2, 1)))
    theta = rng.standard_normal((1, d)) * np.exp(rng.uniform(-3, 5))
    y = rng.integers(0, 2, 2).astype(float)
    rows = Clip(radius, reach).apply(x, y)
    assert np.all(rows.weights * np.linalg.norm(rows.features, axis=1) <= radius * (1 + 1e-12))
    assert np.all(np.linalg.norm(rows.features, axis=1) <= radius * reach * (1 + 1e-12))
    score, hessian = zip(
        *(Rows(rows.features[i : i + 1], y[i : i + 1], rows.weights[i : i + 1]).sums(LOGISTIC, theta) for i in (0, 1)),
        strict=True,
    )
    assert np.linalg.norm(score[0] - score[1]) <= 2 * radius * (1 + 1e-12)
    inner = Clip(radius).apply(x, y)
    hessian = [Rows(inner.features[i : i + 1], y[i : i + 1], np.ones(1)).sums(LOGISTIC, theta)[1] for i in (0, 1)]
    assert np.linalg.norm(hessian[0] - hessian[1]) <= 0.5 * radius**2 * (1 + 1e-12)


def test_the_score_bound_is_reached():
    """A witness: opposite saturated rows at the radius move the score by 2R."""
    far = Rows(np.array([[3.0, 0.0]]), np.array([1.0]), np.ones(1)).sums(LOGISTIC, np.array([[-50.0, 0.0]]))[0]
    other = Rows(np.array([[3.0, 0.0]]), np.array([0.0]), np.ones(1)).sums(LOGISTIC, np.array([[50.0, 0.0]]))[0]
    assert np.linalg.norm(far - other) == pytest.approx(6.0)


@pytest.mark.parametrize("id", ["pmt-objective", "pmt-score", "pmt-logistic", "pmt-glm", "dp-gd", "dp-logistic-public"])
def test_the_noise_meets_the_budget(id, seed):
    """Noise over sensitivity, composed over steps by an independent formula, is the total budget."""
    _, public, _ = glm(1000, 100, seed, lam=0.01)
    mu = 1.7
    planned = plan(id, public, 1000, mu)
    if id == "pmt-objective":
        m = planned.mechanism
        first, rest = 2 * m.radius / m.noise, 0.02 * mu
        assert math.hypot(first, rest) == pytest.approx(mu, rel=2e-6)
        assert m.modulus + 1000 * np.linalg.eigvalsh(m.penalty)[0] >= 2 * m.noise**2 * m.reach * (1 - 1e-9)
    elif id == "pmt-score":
        assert 2 * planned.clip.radius / 1000 / planned.sigma == pytest.approx(mu)
    elif id == "dp-gd":
        assert math.sqrt(planned.parameters.steps) * 2 * 1.0 / 1000 / planned.sigma == pytest.approx(mu)
    else:
        hessian, score = planned.sigmas
        r, steps = planned.steps.radius, planned.parameters.steps
        # what a row can move of both: over residuals q, q' and the cosine t of two rows at the radius
        q, p, t = np.meshgrid(np.linspace(0, 1, 41), np.linspace(0, 1, 41), np.linspace(0, 1, 21))
        w, v = q * (1 - q), p * (1 - p)
        moved = (w**2 + v**2 - 2 * w * v * t**2) * (r**2 / 1000 / hessian) ** 2
        total = steps * np.max(moved + (q**2 + p**2 + 2 * q * p * t) * (r / 1000 / score) ** 2)
        assert math.sqrt(total) <= mu * (1 + 1e-12)
        assert math.sqrt(total) == pytest.approx(mu)


def densities(mu: float, kappa_share: float, reach: float, fam, mass: float, centre: float = 0.0):
    """Exact densities of the minimizer in one dimension, without and with one row of label 0 at the reach.

    ``centre``, in standard deviations of the minimizer, is what the modulus pulls to.
    """
    radius = 1.0
    s = radius / mu  # add-remove
    w = kappa_share * least_modulus(s, reach)
    weight, x = 1.0 / reach, reach * radius
    t = np.linspace(-1, 1, 400_001) * (12 * s / w + 4 * math.log1p(mass * reach / w))
    grid = t[1] - t[0]
    # other rows push x't to where the added row is wrong: `mass` copies with label 1
    base = mass * (fam.mean(t * x) - 1.0) * x * weight
    curve = mass * fam.slope(t * x) * x**2 * weight
    c = centre * s / w
    b0, b1 = -(base + w * (t - c)), -(base + w * (t - c) + weight * fam.mean(t * x) * x)
    p0 = norm.pdf(b0, scale=s) * (w + curve)
    p1 = norm.pdf(b1, scale=s) * (w + curve + weight * fam.slope(t * x) * x**2)
    return p0, p1, grid


@pytest.mark.slow
@pytest.mark.parametrize("reach", [1.0, 2.0, 4.0])
@pytest.mark.parametrize("mu", [0.3, 1.0, 3.0])
@pytest.mark.parametrize("fam", [LOGISTIC, BOOSTING], ids=lambda f: f.id)
def test_the_jacobian_is_free(mu, reach, fam):
    """Exact delta of both orders in one dimension is at most that of mu-GDP, and comes near it."""
    closest = 0.0
    for mass, centre in ((0.0, -3.0), (0.0, -1.0), (0.0, 0.0), (0.0, 2.0), (1.0, 0.0), (100.0, 0.0), (10_000.0, 0.0)):
        p0, p1, grid = densities(mu, 1.0, reach, fam, mass, centre)
        assert p0.sum() * grid == pytest.approx(1, abs=1e-4) and p1.sum() * grid == pytest.approx(1, abs=1e-4)
        for epsilon in (0.0, 0.1, 0.5, 1.0, 2.0):
            allowed = delta_from_mu(mu, epsilon)
            for a, b in ((p0, p1), (p1, p0)):
                exact = np.sum(np.maximum(a - math.exp(epsilon) * b, 0)) * grid
                assert exact <= allowed + 1e-5
                closest = max(closest, exact / allowed)
    assert closest > (0.9 if reach == 1 else 0.5)


def test_a_small_part_of_the_modulus_is_not_enough():
    """The planted fault: with the modulus too small the Jacobian shows, beyond the claim."""
    worst = 0.0
    for centre in (-3.0, -2.0, -1.0, 0.0, 1.0, 2.0, 3.0):
        p0, p1, grid = densities(0.5, 1 / 64, 1.0, LOGISTIC, 0.0, centre)
        for a, b in ((p0, p1), (p1, p0)):
            worst = max(worst, np.sum(np.maximum(a - math.e * b, 0)) * grid / delta_from_mu(0.5, 1.0))
    assert worst > 2


def test_the_general_accountant_bounds_the_free_one():
    """Without the free Jacobian: the bound with c holds for the exact density, and grows with c."""
    mu, share = 0.5, 1 / 16
    p0, p1, grid = densities(mu, share, 1.0, LOGISTIC, 0.0)
    c = math.log1p(0.25 / (share * least_modulus(1 / mu)))
    for epsilon in (0.3, 0.6, 1.0):
        exact = np.sum(np.maximum(p1 - math.exp(epsilon) * p0, 0)) * grid
        assert exact <= delta_sign_fixed(epsilon, mu, c) + 1e-6
        assert delta_sign_fixed(epsilon, mu, c) <= delta_any_sign(epsilon, mu, c, replace=False) + 1e-12
        assert delta_any_sign(epsilon, mu, c, replace=False) <= delta_any_sign(epsilon, mu, c, replace=True)


@pytest.mark.parametrize("replace", [False, True])
def test_the_general_integral_agrees_with_simulation(replace, seed):
    """Delta of the stated loss by integration and by 400,000 draws, within six standard errors."""
    rng, mu, c = np.random.default_rng(seed), 0.8, 0.1
    size = 2 * mu if replace else mu
    z = np.linalg.norm(rng.standard_normal((400_000, 2 if replace else 1)), axis=1)
    values = np.maximum(-np.expm1(0.7 - (size * z + size**2 / 2 + c)), 0)
    error = np.std(values) / math.sqrt(len(values))
    assert abs(np.mean(values) - delta_any_sign(0.7, mu, c, replace)) < 6 * error


def test_the_two_dimensional_density_keeps_the_claim():
    """Exact densities on a grid in two dimensions, replace-one: two rows at right angles, opposite labels."""
    mu = 1.0
    s, t = noise_sd(1.0, mu), np.linspace(-1, 1, 601)
    w = least_modulus(s)
    a, b = np.meshgrid(t * 8 * s / w, t * 8 * s / w, indexing="ij")
    area = (a[1, 0] - a[0, 0]) ** 2

    def density(x, label):
        z = a * x[0] + b * x[1]
        g, k = expit(z) - label, expit(z) * (1 - expit(z))
        return norm.pdf(w * a + g * x[0], scale=s) * norm.pdf(w * b + g * x[1], scale=s) * (w**2 + w * k)

    p, q = density((1, 0), 1.0), density((0, 1), 0.0)
    assert p.sum() * area == pytest.approx(1, abs=1e-6)
    for epsilon in (0.0, 0.3, 1.0):
        assert np.sum(np.maximum(p - math.exp(epsilon) * q, 0)) * area <= delta_from_mu(mu, epsilon)


def test_the_solver_finds_the_minimum_and_adds_little(seed):
    """The released point solves its own equation to the stated tolerance."""
    _, public, rows = glm(1000, 100, seed, lam=0.01)
    planned = plan("pmt-objective", public, 1000, 1.0)
    m = planned.mechanism
    inside = planned.prepared(rows)
    theta = m.release(inside, ZeroNoise(), 1)
    gradient = gathered(inside).sums(LOGISTIC, theta)[0] + 1000 * theta @ m.penalty + m.modulus * (theta - m.centre)
    assert np.linalg.norm(gradient) <= 1e-7 * m.noise


@pytest.mark.slow
@pytest.mark.parametrize("id", ["pmt-objective", "pmt-score"])
@pytest.mark.parametrize("mu", [0.3, 1.41, 5.0])
def test_bands_cover(id, mu):
    """95 % bands over 60 draws of data and noise, five coefficients each: an exact test at one in a million.

    As wide as they need be: narrower than the public fit's own, errors as large as they say within a factor 1.3.
    """
    inside = total = 0
    widths, squares = [], []
    for seed in range(60):
        draw, public, rows = glm(3000, 150, 1000 + seed, d=5)
        bands = plan(id, public, 3000, mu).run(rows, SeededNoise(seed), 1).bands()
        inside += int(np.sum((bands.low <= draw.beta) & (draw.beta <= bands.high)))
        total += 5
        alone = public_bands(public)
        widths.append(np.median((bands.high - bands.low) / (alone.high - alone.low)))
        squares.append(np.mean(((draw.beta - (bands.low + bands.high) / 2) / ((bands.high - bands.low) / 3.92)) ** 2))
    assert np.quantile(widths, 0.95) < 1.0
    assert np.mean(squares) > 1 / 1.3**2
    assert binomtest(inside, total, 0.95, alternative="less").pvalue > FALSE_ALARM
    assert inside / total > 0.9


def test_unlabelled_public_rows_and_moments_are_enough(seed):
    """Without public labels the objective is centred at zero and runs; what needs labels says so."""
    draw, _, rows = glm(5000, 200, seed, lam=0.001)
    public = public_from_rows(draw.public_x, None, names(5), "y", ridge=0.0, family=LOGISTIC, lam=0.001)
    assert not public.labelled and not np.any(public.centre)
    outcome = plan("pmt-objective", public, 5000, 5.0).run(rows, SeededNoise(seed), 20)
    exact = exact_fit(public, rows).reveal(TEST)
    assert np.median(np.linalg.norm(outcome.coefficients - exact, axis=1)) < 0.5 * np.linalg.norm(exact)
    assert outcome.bands() is not None
    moment = PublicData(names(5), "y", public.factor, None, None, LOGISTIC, 0.001)
    outcome = plan("pmt-objective", moment, 5000, 5.0).run(rows, SecureNoise(), 1)
    assert np.all(np.isfinite(outcome.coefficients)) and outcome.bands() is None


def test_counts(seed):
    """Poisson: the score release comes near the exact fit at a large budget, pmt-glm stays bounded."""
    _, public, rows = glm(20_000, 400, seed, fam="poisson", lam=0.001, size=0.1)
    assert public.family is POISSON
    exact = exact_fit(public, rows).reveal(TEST)
    off = np.linalg.norm(public.coefficients - exact)
    score = plan("pmt-score", public, 20_000, 5.0).run(rows, SeededNoise(seed), 20).coefficients
    assert np.median(np.linalg.norm(score - exact, axis=1)) < 0.6 * off
    result = plan("pmt-glm", public, 20_000, 1.0).run(rows, SeededNoise(seed), 20)
    bound = result.plan.steps.coefficient_bound
    assert np.all(np.linalg.norm(result.path, axis=2) <= bound * (1 + 1e-12))


def test_the_objective_beats_the_papers_newton(seed):
    """Median distance to the exact fit, both from 20 draws of noise."""
    _, public, rows = glm(10_000, 100, seed, lam=0.001)
    exact = exact_fit(public, rows).reveal(TEST)
    error = {
        id: np.median(
            np.linalg.norm(plan(id, public, 10_000, 1.41).run(rows, SeededNoise(seed), 20).coefficients - exact, axis=1)
        )
        for id in ("pmt-objective", "pmt-logistic")
    }
    assert error["pmt-objective"] < 0.5 * error["pmt-logistic"]
    assert error["pmt-objective"] < 0.7 * np.linalg.norm(public.coefficients - exact)


def test_perturbation_refuses_nonsense():
    """No infinite noise, no reach below one."""
    for radius, mu in ((0.0, 1.0), (1.0, 0.0), (math.inf, 1.0)):
        with pytest.raises(ValueError):
            noise_sd(radius, mu)
    with pytest.raises(ValueError):
        least_modulus(1.0, 0.5)
    made = Perturbation(LOGISTIC, 10, 1.0, 1.0, 1.0, np.zeros((2, 2)), np.zeros(2))
    assert made.modulus == pytest.approx(2 * made.noise**2)
