"""Perturbed objectives: losses, solver, accounting, mechanisms (paper D; proofs/erm.md, 15)."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.optimize import minimize as reference
from scipy.stats import gamma, kstest
from sklearn.linear_model import ElasticNet

from pmtcore.accounting.budgets import Neighbours, delta_from_mu
from pmtcore.accounting.perturbed import (
    ApproxDP,
    Noise,
    ObjectiveConstants,
    delta_any_sign,
    jacobian_cost,
    noise_for,
    spend,
)
from pmtcore.base.messages import AccountingMessage, ArgumentMessage, InputError, LossMessage
from pmtcore.base.private_rows import PrivateRows
from pmtcore.glm import losses
from pmtcore.glm.solvers import Data, Penalty, minimize
from pmtcore.mechanisms.noise import SeededNoise, ZeroNoise
from pmtcore.mechanisms.perturbed import Mechanism, add_remove, dp_erm, draw, napp_public
from pmtcore.public.penalized import best_weights, public_fit
from tests.helpers import FALSE_ALARM, clipped_table, names, refused

BOTH = (Neighbours.ADD_REMOVE_ONE, Neighbours.REPLACE_ONE)
LOSSES = (losses.linear(0.5), losses.poisson(6.0, math.log(6.0)), losses.LOGISTIC, losses.BOOSTING, losses.HINGE)
by_id = pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss.id)


def exact_delta(terms: ObjectiveConstants, noise: Noise, epsilon: float, neighbours: Neighbours) -> float:
    """Return the delta at epsilon that Gaussian noise and this modulus give, by the bounds of proofs/erm.md, 15.4."""
    if noise.pure:
        raise ValueError("pure noise has no delta")
    mu = terms.gradient / noise.scale
    replace = neighbours is Neighbours.REPLACE_ONE
    bounds = [delta_any_sign(epsilon, mu, terms.plain, replace)]
    if terms.loss.signed and not replace and epsilon >= terms.plain:
        bounds.append(delta_from_mu(mu, epsilon - terms.plain))
    if terms.loss.jacobian_is_free:
        if replace and terms.kappa <= mu**2 / 2:
            bounds.append(delta_from_mu(2 * mu, epsilon))
        if not replace and terms.kappa <= epsilon + mu**2 / 2:
            bounds.append(delta_from_mu(mu, epsilon))
    return float(np.min(bounds))


def rows(loss, n, p, seed):
    rng = np.random.default_rng(seed)
    x = rng.uniform(-0.5, 0.5, (n, p))
    z = x @ np.linspace(2, -1, p)
    if loss.high == 1.0:
        y = (rng.random(n) < 1 / (1 + np.exp(-z))).astype(float)
    else:
        y = rng.poisson(np.exp(z)).astype(float) if loss.id == "poisson" else z + 0.2 * rng.standard_normal(n)
    return x, loss.responses(y)


@by_id
def test_a_loss_is_consistent_and_bounded(loss):
    """l' and l'' are derivatives (but at kinks), l is convex, and the stated bounds bound everywhere, and are met."""
    z, h = np.linspace(-9.003, 9.003, 4001), 1e-6
    top = loss.high if math.isfinite(loss.high) else 3.0
    for y in (0.0, top, max(loss.low, -3.0)):
        y = np.full(1, y)
        slope = (loss.value(z + h, y) - loss.value(z - h, y)) / (2 * h)
        assert np.allclose(loss.first(z, y), slope, atol=1e-5)
        bend = (loss.first(z + h, y) - loss.first(z - h, y)) / (2 * h)
        assert np.mean(np.abs(loss.second(z, y) - bend) > 1e-3) < 2e-3  # kinks
        assert np.all(loss.second(z, y) >= 0)
        assert np.max(np.abs(loss.first(z, y))) <= loss.score * (1 + 1e-12)
        assert np.max(loss.second(z, y)) <= loss.curvature * (1 + 1e-12)
        if loss.signed:
            assert np.all(np.sign(loss.first(z, y)) * (1 - 2 * y) >= 0)
        if loss.jacobian_is_free:
            a = np.abs(loss.first(z, y))
            assert np.all(loss.second(z, y) <= a * (1 - a) * (1 + 1e-9) + 1e-12)
    reached = max(np.max(np.abs(loss.first(z, np.full(1, y)))) for y in (0.0, top))
    assert reached > 0.95 * loss.score


def test_poisson_that_falls_for_ever_is_refused():
    """E17: a slope below the response bound has no minimizer."""
    with refused(LossMessage.PREDICTOR_BOUND_TOO_SMALL):
        losses.poisson(20.0, 1.0)


def split_reference(data, b, q, c, lam):
    """Return the same convex problem in a well-kept solver: theta = u - v with u, v >= 0, L-BFGS-B."""
    p = len(b)

    def f(w):
        theta = w[:p] - w[p:]
        z = data.x @ theta
        value = data.loss.value(z, data.y).sum() + b @ theta + q @ (theta - c) ** 2 / 2 + lam @ (w[:p] + w[p:])
        slope = data.x.T @ data.loss.first(z, data.y) + b + q * (theta - c)
        return value, np.concatenate([slope + lam, lam - slope])

    start = np.zeros(2 * p)
    for _ in range(5):  # restarts, since its stopping rule looks at decreases
        start = reference(
            f,
            start,
            jac=True,
            method="L-BFGS-B",
            bounds=[(0, None)] * (2 * p),
            options={"maxiter": 20_000, "maxfun": 40_000, "ftol": 0, "gtol": 1e-10, "maxcor": 30},
        ).x
    return start[:p] - start[p:]


@by_id
@pytest.mark.parametrize("lam", [0.0, 9.0])
def test_the_solver_agrees_with_an_independent_one(loss, lam, seed):
    """To 1e-6, for a stack with unequal weights, centres and lasso terms."""
    x, y = rows(loss, 120, 5, seed)
    rng = np.random.default_rng(seed)
    b, q = rng.standard_normal((3, 5)) * 2, rng.uniform(1, 4, (3, 5))
    c, sharp = rng.standard_normal((3, 5)), lam * rng.uniform(0, 2, (3, 5))
    data = Data(loss, x, y)
    minimizers = minimize(data, Penalty.of(b, q, c, sharp), 1e-9)
    for t in range(3):
        assert np.linalg.norm(minimizers.theta[t] - split_reference(data, b[t], q[t], c[t], sharp[t])) < 1e-6
    if lam:
        assert np.any(minimizers.theta == 0)


def test_the_elastic_net_agrees_with_scikit_learn(seed):
    """Squared loss without the linear continuation is ElasticNet."""
    loss = losses.linear(1e6)
    x, y = rows(loss, 200, 6, seed)
    lam, ridge, n = 4.0, 3.0, 200
    mine = minimize(Data(loss, x, y), Penalty.of(np.zeros((1, 6)), ridge, 0.0, lam), 1e-10).theta[0]
    made = ElasticNet(
        alpha=(lam + ridge) / n, l1_ratio=lam / (lam + ridge), fit_intercept=False, tol=1e-14, max_iter=10**6
    )
    assert np.linalg.norm(mine - made.fit(x, y).coef_) < 1e-6


@pytest.mark.parametrize("p", [1, 5])
def test_pure_noise_has_shape_p(p, seed):
    """E8 repaired: ||b|| is Gamma(p); shape 1 is seen for p = 5."""
    b = draw(Noise(True, 2.0), SeededNoise(seed), 20_000, p)
    length = np.linalg.norm(b, axis=1) / 2.0
    assert kstest(length, gamma(p).cdf).pvalue > FALSE_ALARM
    if p > 1:
        assert kstest(length, gamma(1).cdf).pvalue < FALSE_ALARM
    assert np.std(b) == pytest.approx(Noise(True, 2.0).sd(p), rel=0.06)


# ------------------------------------------------------------------ sensitivity


@pytest.mark.slow
def clipped(made, x, y):
    """Rows as a mechanism clips them."""
    return made.clipped(PrivateRows.from_arrays(x, y, names(x.shape[1])))


@by_id
@settings(max_examples=60, deadline=None)
@given(
    x=st.lists(st.floats(-1e6, 1e6), min_size=3, max_size=3),
    other=st.lists(st.floats(-1e6, 1e6), min_size=3, max_size=3),
    y=st.floats(-1e9, 1e9),
    z=st.floats(-1e9, 1e9),
    theta=st.lists(st.floats(-50, 50), min_size=3, max_size=3),
)
def test_one_row_moves_gradient_and_hessian_by_no_more_than_stated(loss, x, other, y, z, theta):
    """zeta1 zeta2 for a row more, twice that for a row replaced, zeta3 for the Hessian, whatever row and theta."""
    made = napp_public(loss, 1.5, add_remove(1.0, 0.0), np.full(3, 1e4), centre=np.zeros(3))
    table = clipped_table(clipped(made, np.array([x, other]), np.array([y, z])))
    gradient = [Data(loss, table[k : k + 1, :3], table[k : k + 1, 3]).derivatives(np.array([theta])) for k in (0, 1)]
    bound = made.terms.gradient * (1 + 1e-9)
    for one, two in gradient:
        assert np.linalg.norm(one[0]) <= bound
        assert np.linalg.norm(two[0], 2) <= loss.curvature * 1.5**2 * (1 + 1e-9)
    assert np.linalg.norm(gradient[0][0] - gradient[1][0]) <= 2 * bound


@by_id
def test_a_witness_reaches_the_sensitivity(loss):
    """A row at the radius, saturated: its gradient is as long as was paid for."""
    x = np.array([[3.0, 0.0]])
    best = 0.0
    for y in (-1e9, 0.0, 1e9):
        made = napp_public(loss, 2.0, add_remove(1.0, 0.0), np.full(2, 1e4), centre=np.zeros(2))
        table = clipped_table(clipped(made, x, np.array([y])))
        for far in (-400.0, 400.0):
            gradient = Data(loss, table[:, :2], table[:, 2]).derivatives(np.array([[far, 0.0]]))[0]
            best = max(best, float(np.linalg.norm(gradient)))
    assert best == pytest.approx(2.0 * loss.score, rel=1e-3)


# ------------------------------------------------------------------ accounting


def worst(loss, noise, w, radius, lasso, neighbours, backgrounds=(0.0, 6.0, -6.0, 40.0)):
    """Largest log density ratio in one dimension, exact: of v = theta + lam u/w, both orders (pure noise)."""
    ends = [0.0, 1.0] if loss.high == 1.0 else [-1e3 if loss.low < 0 else 0.0, loss.high if loss.high < 1e9 else 1e3]
    tables = [(radius, y) for y in ends] + [(-radius, ends[1])]
    pairs = [(None, row) for row in tables] + [(row, None) for row in tables]
    if neighbours is Neighbours.REPLACE_ONE:
        pairs = [(one, two) for one in tables for two in tables if one != two]
    top = 0.0
    v = np.linspace(-1, 1, 8001) * max(60 * noise.scale, 60.0) / w
    theta = np.sign(v) * np.maximum(np.abs(v) - lasso / w, 0)
    active = (np.abs(v) > lasso / w).astype(float)
    for shift in backgrounds:  # other rows act as a shift of the gradient

        def density(row, shift=shift):
            slope, bend = w * v + shift, np.full_like(v, w)
            if row is not None:
                z, y = theta * row[0], np.full(1, float(np.clip(row[1], loss.low, loss.high)))
                slope, bend = slope + row[0] * loss.first(z, y), bend + active * row[0] ** 2 * loss.second(z, y)
            return -np.abs(slope) / noise.scale + np.log(bend)

        for one, two in pairs:
            top = max(top, float(np.max(density(one) - density(two))))
    return top


@by_id
@pytest.mark.parametrize("neighbours", BOTH, ids=lambda n: n.value)
@pytest.mark.parametrize("lasso", [0.0, 2.0])
@pytest.mark.parametrize("modulus", [0.3, 1.0, 20.0])
def test_pure_epsilon_is_kept_in_exact_densities(loss, neighbours, lasso, modulus):
    """The exact ratio in one dimension never passes the promise; with 20 % less noise it does (large moduli).

    For labels under replace-one the bound is approached in two dimensions only, so the fault is not sought there.
    """
    radius = 1.3
    w = modulus * 2 * loss.curvature * radius**2
    split = spend(ObjectiveConstants(loss, radius, w), ApproxDP(1.0, 0.0, neighbours))
    assert split.noise_epsilon + split.jacobian_epsilon <= 1.0 + 1e-12
    assert worst(loss, split.noise, w, radius, lasso, neighbours) <= 1.0 + 1e-6
    if modulus == 20.0 and not lasso and not (loss.jacobian_is_free and neighbours is Neighbours.REPLACE_ONE):
        less = Noise(True, 0.8 * split.noise.scale)
        assert worst(loss, less, w, radius, lasso, neighbours) > 1.0


def test_the_cost_for_labels_is_the_maximum():
    """Closed form against a grid: max over p of p eps + log(1 + p(1-p) kappa); free exactly from kappa = eps on."""
    p = np.linspace(0, 1, 200_001)
    for eps in (0.1, 0.7, 3.0):
        for kappa in (0.01, 0.5 * eps, eps, 1.01 * eps, 5.0, 400.0):
            terms = ObjectiveConstants(losses.LOGISTIC, 1.0, 1 / kappa)
            grid = float(np.max(p * eps + np.log1p(p * (1 - p) * kappa))) - eps
            result = jacobian_cost(terms, eps, Neighbours.ADD_REMOVE_ONE, 0.0)
            assert result == pytest.approx(max(grid, 0.0), abs=1e-8)
            assert result <= terms.plain
            assert (result == 0) == (kappa <= eps)
            assert jacobian_cost(terms, 2 * eps, Neighbours.REPLACE_ONE, 0.0) == pytest.approx(result, abs=1e-12)


@by_id
@pytest.mark.parametrize("neighbours", BOTH, ids=lambda n: n.value)
def test_gaussian_noise_keeps_its_delta(loss, neighbours):
    """delta of the loss variable, integrated with mpmath, at the promised epsilon: at most delta, and near it."""
    planned = ApproxDP(1.0, 1e-3, neighbours)
    terms = ObjectiveConstants(loss, 1.3, 6 * loss.curvature * 1.3**2)
    split = spend(terms, planned)
    mu = terms.gradient / split.noise.scale
    c, free = split.jacobian_epsilon, split.jacobian_epsilon == 0
    chi, size = neighbours is Neighbours.REPLACE_ONE, 2 * mu if neighbours is Neighbours.REPLACE_ONE else mu
    signed = loss.signed and not chi

    def density(z):
        if chi and not (loss.jacobian_is_free and free):
            return z * mpmath.e ** (-z * z / 2)
        return mpmath.npdf(z) * (1 if signed or (loss.jacobian_is_free and free) else 2)

    start = max(0.0, (1 - c - size**2 / 2) / size)
    if signed or (loss.jacobian_is_free and free):
        start = (1 - c - size**2 / 2) / size
    delta = mpmath.quad(
        lambda z: density(z) * (1 - mpmath.e ** (1 - c - size * z - size**2 / 2)),
        [start, start + 2, start + 5, start + 12],
    )
    assert float(delta) <= 1e-3 * (1 + 1e-6)
    assert float(delta) > 0.9e-3
    assert exact_delta(terms, split.noise, 1.0, neighbours) <= 1e-3 * (1 + 1e-6)
    weaker = Noise(False, 0.8 * split.noise.scale)
    assert exact_delta(terms, weaker, 1.0, neighbours) > 2e-3


def test_returned_and_recycled():
    """Returned: the noise of the planned share, a smaller promise. Recycled: the promise as planned, less noise."""
    free = ObjectiveConstants(losses.LOGISTIC, 1.0, 10.0)
    remaining, back = (spend(free, add_remove(1.0, 0.0), 0.5, how) for how in ("recycle", "return"))
    assert (remaining.noise_epsilon, remaining.jacobian_epsilon, remaining.retrieved, remaining.promise.epsilon) == (
        1.0,
        0.0,
        0.5,
        1.0,
    )
    assert (back.noise_epsilon, back.promise.epsilon) == (0.5, 0.5)
    assert back.noise.scale == pytest.approx(2 * remaining.noise.scale)
    paid = spend(ObjectiveConstants(losses.linear(1.0), 1.0, 10.0), add_remove(1.0, 0.0), 0.5, "return")
    assert paid.promise.epsilon == pytest.approx(0.5 + math.log1p(0.1))
    assert paid.retrieved == pytest.approx(0.5 - math.log1p(0.1))
    with refused(AccountingMessage.MODULUS_COSTS_EPSILON):
        spend(ObjectiveConstants(losses.linear(1.0), 1.0, 0.1), add_remove(1.0, 0.0))
    with refused(ArgumentMessage.NOT_ONE_OF):
        spend(free, add_remove(1.0, 0.0), 0.5, "keep")


def test_the_retrieved_share_grows_with_the_modulus_to_all():
    """D's Figure 7, as it can be proved: never falls, and ends at everything."""
    for loss in LOSSES:
        for neighbours in BOTH:
            least = loss.curvature / math.expm1(0.45)
            shares = [
                spend(ObjectiveConstants(loss, 1.0, least * k), ApproxDP(1.0, 0.0, neighbours)).retrieved_share
                for k in np.geomspace(1, 1e4, 30)
            ]
            assert np.all(np.diff(shares) >= -1e-12) and shares[-1] > 0.999
            assert shares[0] < 0.6 + 0.5 * loss.jacobian_is_free


def test_relations_are_converted_by_name_only():
    """add-remove to replace-one doubles epsilon; the other way is refused; pure epsilon gives mu, delta does not."""
    one = add_remove(0.7, 1e-4)
    two = one.for_neighbours(Neighbours.REPLACE_ONE)
    assert two.epsilon == pytest.approx(1.4) and two.delta == pytest.approx((1 + math.exp(0.7)) * 1e-4)
    with refused(AccountingMessage.REPLACE_ONE_ONLY):
        two.for_neighbours(Neighbours.ADD_REMOVE_ONE)
    assert one.mu is None
    for eps in (0.1, 1.0, 5.0):
        mu = ApproxDP(eps, 0.0, Neighbours.REPLACE_ONE).mu
        assert float(mpmath.log(mpmath.ncdf(mu / 2) / mpmath.ncdf(-mu / 2))) == pytest.approx(eps)
    assert "add-remove-one" in one.words and "as_replace_one" in one.as_dict()


@given(eps=st.floats(0.05, 5), modulus=st.floats(0.5, 1e4), share=st.floats(0.05, 0.95))
@settings(max_examples=60, deadline=None)
def test_every_split_adds_up(eps, modulus, share):
    """Noise and Jacobian never cost more than was promised, at any share, choice, loss and relation."""
    for loss in LOSSES:
        for neighbours in BOTH:
            for how in ("recycle", "return"):
                try:
                    spent = spend(ObjectiveConstants(loss, 1.0, modulus), ApproxDP(eps, 0.0, neighbours), share, how)
                except InputError:
                    continue
                assert spent.noise_epsilon + spent.jacobian_epsilon <= spent.promise.epsilon * (1 + 1e-9)
                assert spent.promise.epsilon <= eps
                width = 2 if neighbours is Neighbours.REPLACE_ONE else 1
                assert width * loss.score / spent.noise.scale <= spent.noise_epsilon


# ------------------------------------------------------------------ mechanisms


@by_id
@pytest.mark.parametrize("make", ["dp-erm", "napp-public"])
def test_the_noise_is_what_was_accounted_for(loss, make, seed):
    """b is recovered from the released minimizer by the gradient; its length has the stated law, 20 % less is seen."""
    x, y = rows(loss, 60, 3, seed)
    promise = ApproxDP(1.0, 0.0, Neighbours.REPLACE_ONE)
    if make == "dp-erm":
        made = dp_erm(loss, 1.0, promise, 3)
    else:
        made = napp_public(loss, 1.0, promise, np.array([1.0, 2.0, 3.0]) * 40 * loss.curvature, centre=np.full(3, 0.2))
    data = clipped(made, x, y)
    table = clipped_table(data)
    theta = made.release(data, len(table), SeededNoise(seed), 3000)
    gradient = Data(loss, table[:, :3], table[:, 3]).derivatives(theta)[0] + made.ridge * (theta - made.centre)
    length = np.linalg.norm(gradient, axis=1) / made.noise.scale
    assert kstest(length, gamma(3).cdf).pvalue > FALSE_ALARM
    assert kstest(length / 0.8, gamma(3).cdf).pvalue < FALSE_ALARM


def test_rows_clipped_for_another_mechanism_are_refused():
    """A longer radius or another loss has another sensitivity."""
    x, y = rows(losses.LOGISTIC, 20, 3, 1)
    narrow, wide = (
        napp_public(losses.LOGISTIC, r, add_remove(1.0, 0.0), np.full(3, 9.0), centre=np.zeros(3)) for r in (1, 2)
    )
    hinge = napp_public(losses.HINGE, 1.0, add_remove(1.0, 0.0), np.full(3, 9.0), centre=np.zeros(3))
    for other in (wide, hinge):
        with pytest.raises(ValueError):
            narrow.release(clipped(other, x, y), 20, ZeroNoise(), 1)
    assert np.all(np.isfinite(wide.release(clipped(narrow, x, y), 20, ZeroNoise(), 1)))


def test_a_modulus_below_what_was_accounted_for_is_refused():
    """E10: the minimum over all coordinates counts."""
    good = napp_public(losses.LOGISTIC, 1.0, add_remove(1.0, 0.0), np.full(3, 5.0), centre=np.zeros(3))
    with pytest.raises(ValueError):
        Mechanism(good.terms, good.split, np.array([10.0, 10.0, 1.0]), good.centre, good.lasso)


def test_zero_noise_gives_the_penalized_fit_and_sparsity_survives(seed):
    """Without noise, exactly the elastic net; zeros are exact zeros in the release."""
    loss = losses.linear(100.0)
    x, y = rows(loss, 200, 6, seed)
    made = dp_erm(loss, 3.0, add_remove(50.0, 0.0), 6, ridge=1.0, lasso=6.0)
    released = made.release(clipped(made, x, y), len(y), ZeroNoise(), 1)[0]
    own = made.ridge[0]
    net = ElasticNet(alpha=(6 + own) / 200, l1_ratio=6 / (6 + own), fit_intercept=False, tol=1e-14, max_iter=10**6).fit(
        x, y
    )
    assert np.linalg.norm(released - net.coef_) < 1e-6
    assert np.array_equal(released == 0, net.coef_ == 0) and np.any(released == 0)


def test_a_smaller_promise_is_more_noise_and_relations_differ():
    """Under replace-one, twice the noise of add-remove at the same epsilon."""
    args = (losses.linear(1.0), 1.0)
    one, two = (noise_for(ObjectiveConstants(*args, 10.0), 0.5, 0.0, n, free_jacobian=False).scale for n in BOTH)
    assert two == 2 * one
    gauss = [noise_for(ObjectiveConstants(*args, 10.0), 0.5, 1e-4, n, free_jacobian=False).scale for n in BOTH]
    assert gauss[1] > 1.9 * gauss[0]


@by_id
def test_public_rows_decide(loss, seed):
    """The public fit is near the private one, weights are at least the modulus, more budget pulls less."""
    x, y = rows(loss, 400, 4, seed)
    fit = public_fit(loss, x[:100], y[:100])
    assert np.all(np.linalg.eigvalsh(fit.covariance) > 0)
    little, much = (best_weights(loss, 1.0, add_remove(eps, 0.0), 300, public=fit, gamma=1.0) for eps in (0.2, 20.0))
    assert much.min() < little.min()
    assert np.all(np.argsort(-fit.weights(1.0), kind="stable") == np.argsort(-little, kind="stable"))


def test_density_integrates():
    """The change of variables behind the proof, with a lasso term: v has a density of mass one."""
    w, lam, eps = 2.0, 1.0, 1.0

    def density(v):
        theta = math.copysign(max(abs(v) - lam / w, 0.0), v)
        active = abs(v) > lam / w
        p = 1 / (1 + math.exp(-theta))
        return eps / 2 * math.exp(-eps * abs(w * v + p)) * (w + active * p * (1 - p))

    total = quad(density, -40, -lam / w)[0] + quad(density, -lam / w, lam / w)[0] + quad(density, lam / w, 40)[0]
    assert total == pytest.approx(1.0, abs=1e-6)
