"""Registered methods on a perturbed objective, and the accounting as mu-GDP (proofs/erm.md, 15.5)."""

from __future__ import annotations

import dataclasses
import json
import math

import mpmath
import numpy as np
import pytest
from scipy.stats import gamma, ks_2samp, kstest

from pmtcore.accounting import gdp
from pmtcore.accounting.budgets import (
    Budget,
    Neighbours,
    delta_from_mu,
    epsilon_from_mu,
    log_delta,
    mu_from_pure_epsilon,
    pure_epsilon_from_mu,
)
from pmtcore.accounting.gdp import Gdp, cost, log_upper, noise_size, removed_delta, spend_mu
from pmtcore.accounting.perturbed import ApproxDP, Noise, ObjectiveConstants, equation_4, noise_for, spend
from pmtcore.auditing.lower_bound import audit
from pmtcore.base.messages import AccountingMessage, InputError, MethodMessage
from pmtcore.base.private_rows import PrivateRows
from pmtcore.cli.main import main
from pmtcore.glm import losses
from pmtcore.glm.families import family
from pmtcore.glm.solvers import Data, Penalty, minimize
from pmtcore.ledger.log import Ledger
from pmtcore.mechanisms.noise import SecureNoise, SeededNoise, ZeroNoise
from pmtcore.mechanisms.perturbed import Mechanism, dp_erm, draw_above, draw_sampled, napp_public
from pmtcore.mechanisms.perturbed import draw as plain_draw
from pmtcore.mechanisms.truncation import truncate_within
from pmtcore.methods.baselines import exact_fit
from pmtcore.methods.perturbed.setting import setting
from pmtcore.methods.registry import method
from pmtcore.papers.theory_erm import corollary_5
from pmtcore.public.moments import public_from_moment, public_from_rows
from pmtcore.releases.release import Request, recorded_release
from pmtcore.tables.named import entry, load
from pmtcore.tables.problem import prepare
from tests.helpers import FALSE_ALARM, TEST, clipped_table, make, names, plan, refused
from tests.mechanisms.test_perturbed import BOTH, by_id
from tests.methods.test_labels_methods import glm

ADD, REPLACE = BOTH
SOUND = ("dp-erm", "napp-public")
PRINTED = ("napp-erm", "napp-vs", "napp-vs-plus")


def draw(fam, seed, n=3000, m=200, lam=0.001):
    """Public data and private rows of a family."""
    if fam == "gaussian":
        return make(n, m, seed)[1:]
    return glm(n, m, seed, fam, lam)[1:]


families = pytest.mark.parametrize("fam", ["gaussian", "logistic", "poisson", "boosting"])


# ------------------------------------------------------------------ accounting as mu-GDP


@pytest.mark.parametrize("mu", [0.05, 0.7, 3.0, 20.0])
def test_log_delta_is_the_scalar_one(mu):
    """The vectorized curve is ``budgets.delta_from_mu``, near 0 and far out."""
    epsilon = np.array([0.0, 0.01, 0.5, 2.0, 9.0])
    wanted = [delta_from_mu(mu, e) for e in epsilon]
    assert np.allclose(np.exp(log_delta(mu, epsilon)), wanted, rtol=1e-9, atol=1e-290)


@pytest.mark.slow
@pytest.mark.parametrize("size", [0.1, 1.0, 3.0])
@pytest.mark.parametrize("c", [0.0, 0.3, 2.0])
@pytest.mark.parametrize("signed", [True, False])
def test_the_upper_curve_is_the_integral(size, c, signed):
    """Closed forms against mpmath's integral of ``(1 - e^(eps - L))_+`` over the loss of each order."""
    for epsilon in (0.0, 0.2, 1.0, 4.0):

        def hockey(loss, points, epsilon=epsilon):
            return mpmath.quad(
                lambda z: mpmath.npdf(z) * max(1 - mpmath.e ** (epsilon - loss(z)), mpmath.mpf(0)), points
            )

        kink = (max(epsilon - c, 0) - size**2 / 2) / size
        added = hockey(lambda z: max(size * z + size**2 / 2, 0) + c, sorted({-15, -size / 2, kink, kink + 1, 15}))
        wanted = float(added)
        if not signed:
            edge = max((epsilon - size**2 / 2) / size, 0)
            removed = hockey(
                lambda z: size * abs(z) + size**2 / 2, sorted({-15, -edge - 1, -edge, 0, edge, edge + 1, 15})
            )
            wanted = max(wanted, float(removed))
        result = math.exp(float(log_upper(size, c, signed, np.array([epsilon]), rough=True)[0]))
        assert result == pytest.approx(wanted, rel=1e-6, abs=1e-12)


@by_id
@pytest.mark.parametrize("mu", [0.1, 1.0, 3.0])
@pytest.mark.parametrize("kappa", [1e-6, 1e-3, 0.1])
def test_gdp_costs_and_sizes_are_inverse_and_above_the_curve(loss, mu, kappa):
    """What a size costs is the mu it was solved for; delta of that mu is above at epsilons off the grid."""
    terms = ObjectiveConstants(loss, 1.3, 1.3**2 / kappa)
    for relation in BOTH:
        try:
            size = noise_size(terms, mu, relation)
        except InputError:
            assert terms.plain > 0.1 * mu
            continue
        if not (loss.jacobian_is_free and terms.kappa <= size**2 / 2):
            assert cost(terms, size, relation) == pytest.approx(mu, rel=1e-3)
        own = mu / 2 if relation is REPLACE else mu
        if size < own * (1 - 1e-9):
            off = np.random.default_rng(0).uniform(0, 6 * own, 400)
            assert np.all(log_upper(size, terms.plain, loss.signed, off) <= log_delta(own, off) + 1e-12)
            assert not gdp._dominated(1.05 * size, terms.plain, loss.signed, own)  # 5 % less noise is too little


@pytest.mark.slow
@pytest.mark.parametrize("size", [0.05, 0.5, 2.0])
@pytest.mark.parametrize("slope", [0.001, 0.1, 0.5, 5.0])
def test_one_tail_or_two(size, slope):
    """The bound on the removed order: above the integral at any crossing t, near the worst; both tails at most."""
    z = np.linspace(-10, 10, 200_001)
    density = np.exp(-(z**2) / 2) / math.sqrt(2 * math.pi) * (z[1] - z[0])
    epsilons = size * np.array([0.0, 0.1, 0.7, 1.9, 4.0])
    bound = np.minimum(removed_delta(size, slope, epsilons), np.exp(log_upper(size, 0.0, False, epsilons, rough=True)))
    worst = np.zeros(len(epsilons))
    for t in [*np.linspace(0, 7, 36), 1e9]:
        score = np.clip(-slope * (z + t), -size, size)  # positive below -t, negative above
        loss = -score * z + score**2 / 2
        worst = np.maximum(worst, [np.maximum(1 - np.exp(e - loss), 0) @ density for e in epsilons])
    assert np.all(worst <= bound * (1 + 1e-6))
    assert np.all(bound[:3] <= 1.25 * worst[:3])


def one_dimensional(loss, s, w, rows, shift, theta):
    """Log density of the minimizer, exact: ``N(B(theta); 0, s^2) (w + sum l'')``; other rows are a shift."""
    slope, bend = w * theta + shift, np.full_like(theta, w)
    for x, y in rows:
        z, y = theta * x, np.full(1, float(np.clip(y, loss.low, loss.high)))
        slope, bend = slope + x * loss.first(z, y), bend + x * x * loss.second(z, y)
    return -(slope**2) / (2 * s * s) - math.log(s * math.sqrt(2 * math.pi)) + np.log(bend)


@by_id
@pytest.mark.parametrize("relation", BOTH, ids=lambda r: r.value)
@pytest.mark.parametrize("modulus", [20.0, 300.0])
def test_exact_densities_in_one_dimension_stay_below(loss, relation, modulus):
    """Hockey-sticks of exact densities, integrated: at most mu-GDP's delta, for worst rows over many backgrounds."""
    radius, mu = 1.3, 1.0
    w = modulus * loss.curvature * radius**2
    s = loss.score * radius / noise_size(ObjectiveConstants(loss, radius, w), mu, relation)
    ends = (
        [0.0, 1.0] if loss.high == 1.0 else [-1e3 if loss.low < 0 else 0.0, 0.0, loss.high if loss.high < 1e9 else 1e3]
    )
    tables = [((radius, y),) for y in ends] + [((-radius, ends[-1]),)]
    pairs = [(a, ()) for a in tables] + [((), a) for a in tables]
    if relation is REPLACE:
        pairs = [(a, b) for a in tables for b in tables if a != b]
    theta = np.linspace(-1, 1, 60_001) * (12 * s + 2 * loss.score * radius) / w
    step, worst = theta[1] - theta[0], 0.0
    for shift in (0.0, 0.5 * s, -2 * s):
        at = theta - shift / w
        for one, two in pairs:
            p, q = (one_dimensional(loss, s, w, rows, shift, at) for rows in (one, two))
            assert np.exp(p).sum() * step == pytest.approx(1.0, abs=2e-3)
            for epsilon in (0.0, 0.3, 1.0, 2.0):
                value = float(np.maximum(np.exp(p) - np.exp(epsilon + q), 0).sum() * step)
                worst = max(worst, value / delta_from_mu(mu, epsilon))
    assert worst <= 1 + 2e-3
    assert worst > 0.3  # the rows tried are bad ones


@pytest.mark.slow
@pytest.mark.parametrize("loss", [losses.linear(0.5), losses.LOGISTIC, losses.HINGE], ids=lambda loss: loss.id)
@pytest.mark.parametrize("pure", [True, False])
def test_exact_densities_in_two_dimensions_stay_below(loss, pure):
    """Rows at angles replaced: the exact density ratio, or hockey-stick, on a plane; a lasso term does no harm.

    The density of ``v = theta + lam u/w``: zeros of theta are regions of v.
    """
    radius, mu, lam, epsilon = 1.0, 1.0, 0.4, pure_epsilon_from_mu(1.0)
    w = 30.0 * loss.curvature
    terms = ObjectiveConstants(loss, radius, w)
    noise = (
        spend(terms, ApproxDP(epsilon, 0.0, REPLACE)).noise if pure else spend_mu(terms, Gdp(mu, REPLACE, 1e-6)).noise
    )
    half = (9 * noise.scale if not pure else 25 * noise.scale) / w
    axis = np.linspace(-half, half, 601)
    v = np.stack(np.meshgrid(axis, axis, indexing="ij"), axis=-1)  # (k, k, 2)
    theta = np.sign(v) * np.maximum(np.abs(v) - lam / w, 0)
    on = (theta != 0).astype(float)
    worst, low, high = 0.0, (0.0 if loss.high == 1.0 else -9.0), (1.0 if loss.high == 1.0 else 9.0)

    def log_density(row):
        x, y = np.asarray(row[0]), np.full(1, row[1])
        z = theta @ x
        slope = w * v + loss.first(z, y)[..., None] * x
        bend = loss.second(z, y)
        jacobian = w * w + w * bend * (on[..., 0] * x[0] ** 2 + on[..., 1] * x[1] ** 2)  # det(w I + l'' x x' S)
        length = np.linalg.norm(slope, axis=-1)
        if pure:
            return -length / noise.scale + np.log(jacobian) - math.log(2 * math.pi * noise.scale**2)
        return -((length / noise.scale) ** 2) / 2 + np.log(jacobian) - math.log(2 * math.pi * noise.scale**2)

    area = (axis[1] - axis[0]) ** 2
    for angle in (0.0, 1.2, math.pi / 2, math.pi):
        rows = [((1.0, 0.0), low), ((math.cos(angle), math.sin(angle)), high)]
        for one, two in (rows, rows[::-1]):
            p, q = log_density(one), log_density(two)
            if pure:
                worst = max(worst, float(np.max(p - q)) / epsilon)
            else:
                for e in (0.0, 0.5, 1.5):
                    value = float(np.maximum(np.exp(p) - np.exp(e + q), 0).sum() * area)
                    worst = max(worst, value / delta_from_mu(mu, e))
            assert np.exp(p).sum() * area == pytest.approx(1.0, abs=0.01)
    assert 0.3 < worst <= 1 + 2e-3


def test_monotone_scores_make_one_order_one_sided():
    """The lemma behind 15.5: at fixed other coordinates of b, ``x'theta`` never rises with ``<b, x>``."""
    rng = np.random.default_rng(4)
    loss = losses.linear(0.3)
    x, y = rng.uniform(-1, 1, (30, 3)), rng.standard_normal(30)
    row = x[0] / np.linalg.norm(x[0])
    along = np.linspace(-30, 30, 60)[:, None] * row + rng.standard_normal(3)
    theta = minimize(Data(loss, x, y), Penalty.of(along, 0.7, 0.1, 0.5), 1e-10).theta
    assert np.all(np.diff(theta @ row) <= 1e-9)


def test_a_modulus_too_small_is_a_sentence():
    """The Jacobian alone costs more than the budget."""
    with refused(AccountingMessage.MODULUS_COSTS_MU):
        noise_size(ObjectiveConstants(losses.linear(1.0), 1.0, 0.1), 0.5, ADD)
    with refused(AccountingMessage.MODULUS_COSTS_EPSILON):
        plan("napp-public", draw("gaussian", 1)[0], 3000, 0.5, modulus=1e-9, noise="pure")


def test_returned_gaussian_budget_is_a_smaller_mu():
    """Parts add up to what is planned; returned costs less and has the noise of its share."""
    terms = ObjectiveConstants(losses.linear(1.0), 1.0, 500.0)
    remaining, back = (spend_mu(terms, Gdp(2.0, REPLACE, 1e-5), 0.5, how) for how in ("recycle", "return"))
    assert remaining.gdp == 2.0 and remaining.promise.epsilon == pytest.approx(epsilon_from_mu(2.0, 1e-5))
    assert remaining.noise_epsilon + remaining.jacobian_epsilon == pytest.approx(remaining.promise.epsilon)
    assert back.noise_epsilon == pytest.approx(0.5 * remaining.planned.epsilon, rel=1e-4)
    assert back.gdp < 2.0 and back.noise.scale > remaining.noise.scale
    assert back.promise.epsilon == pytest.approx(epsilon_from_mu(back.gdp, 1e-5))


# ------------------------------------------------------------------ methods


@pytest.mark.slow
@families
@pytest.mark.parametrize("noise", ["pure", "gaussian"])
def test_the_released_noise_is_that_of_the_record(fam, noise, seed):
    """b recovered from the released minimizers has the stated law; 20 % less would be seen; the budget is met."""
    public, rows = draw(fam, seed, 400)
    for id in SOUND:
        planned = plan(id, public, 400, 1.0, noise=noise)
        m = planned.mechanism
        table = clipped_table(planned.prepared(rows))
        theta = planned.run(rows, SeededNoise(seed), 3000).statistic
        d = public.d
        b = Data(m.terms.loss, table[:, :d], table[:, d]).derivatives(theta)[0] + m.ridge * (theta - m.centre)
        length = np.linalg.norm(b, axis=1) / m.noise.scale
        law = gamma(d).cdf if noise == "pure" else (lambda t, d=d: gamma(d / 2).cdf(t**2 / 2))
        assert kstest(length, law).pvalue > FALSE_ALARM
        assert kstest(length / 0.8, law).pvalue < FALSE_ALARM
        assert np.min(m.ridge) >= m.terms.modulus * (1 - 1e-12)
        split = m.split
        if noise == "pure":
            assert split.promise.epsilon <= pure_epsilon_from_mu(1.0) * (1 + 1e-12)
            assert 2 * m.terms.gradient / m.noise.scale <= pure_epsilon_from_mu(1.0)
        else:
            covered = math.hypot(cost(m.terms, m.terms.gradient / m.noise.scale, REPLACE), 0.01)
            assert covered <= 1.0 + 1e-4


@families
def test_no_row_is_too_long(fam, seed):
    """Whatever rows come, the score is bounded: huge, tiny, and rows that overflow in whitening."""
    public, _ = draw(fam, seed)
    wild = np.array([1e150, -1e150, 1e6, 0.0, 1e-300, 3.0])[:, None] * np.ones(public.d)
    rows = PrivateRows.from_arrays(wild, np.array([1e150, -1e150, 0.5, 2.0, 1.0, 0.0]), public.names)
    for coordinates in ("scaled", "whitened"):
        planned = plan("napp-public", public, 6, 1.0, coordinates=coordinates)
        table = clipped_table(planned.prepared(rows))
        assert np.all(np.isfinite(table))
        assert np.all(np.linalg.norm(table[:, :-1], axis=1) <= planned.setting.radius * (1 + 1e-12))
        for row in table:
            slope = Data(planned.mechanism.terms.loss, row[None, :-1], row[None, -1]).derivatives(
                np.array([np.full(public.d, 7.0)])
            )[0]
            assert np.linalg.norm(slope) <= planned.mechanism.terms.gradient * (1 + 1e-9)
        assert np.all(np.isfinite(planned.run(rows, SeededNoise(seed), 3).coefficients))


def test_clipping_is_exact():
    """Short rows stay as they are, long ones end on the ball, in their direction; what is not finite is zero."""
    x = np.array([[0.3, 0.4], [3.0, 4.0], [np.inf, 1.0], [np.nan, 1.0], [0.0, 0.0], [1e300, 0.0]])
    result = truncate_within(x, 1.0)
    assert np.allclose(result[0], x[0]) and np.allclose(result[1], [0.6, 0.8]) and np.allclose(result[5], [1.0, 0.0])
    assert np.all(result[2:5] == 0)


def test_coordinates_undo_themselves(seed):
    """Scaled and whitened: predictions are kept, and the problem's own penalty is diagonal there."""
    public, _ = draw("logistic", seed, lam=0.3)
    theta = np.random.default_rng(seed).standard_normal((2, public.d))
    for coordinates in ("scaled", "whitened"):
        ground = setting(public, coordinates)
        x = public.rows[:, :-1]
        assert np.allclose(ground.rows(x) @ theta.T, x @ ground.table(theta).T)
        assert np.allclose(theta**2 @ ground.penalty, 0.3 * np.sum(ground.table(theta) ** 2, axis=1))


@families
@pytest.mark.parametrize("id", SOUND)
def test_without_noise_the_exact_fit_comes_back(id, fam, seed):
    """Zero noise at a large budget."""
    public, rows = draw(fam, seed)
    exact = exact_fit(public, rows).reveal(TEST)
    values = {"bound": 1e3} if fam == "gaussian" else {}
    values |= {"modulus": 1.0} if id == "napp-public" else {}
    result = plan(id, public, 3000, 30.0, noise="pure", **values).run(rows, ZeroNoise(), 1).coefficients[0]
    assert np.linalg.norm(result - exact) < 0.15 * np.linalg.norm(exact)


@pytest.mark.slow
@families
@pytest.mark.parametrize("noise", ["pure", "gaussian"])
def test_it_beats_the_baseline(fam, noise, seed):
    """Equal mu, median distance to the exact fit of 40 draws: below dp-erm, and recycled below returned."""
    public, rows = draw(fam, seed, 5000, lam=0.001)
    exact = exact_fit(public, rows).reveal(TEST)

    def error(id, **values):
        result = plan(id, public, 5000, 1.0, noise=noise, **values).run(rows, SeededNoise(seed), 40).coefficients
        return np.median(np.linalg.norm(result - exact, axis=1))

    assert error("napp-public") < error("dp-erm")
    assert error("napp-public") <= 1.02 * error("napp-public", retrieved="return")


def test_the_guarantee_is_what_was_chosen(seed):
    """Recycled: the budget asked for. Returned: less, stated before rows are read, in facts and words."""
    public, rows = draw("logistic", seed)
    for noise in ("pure", "gaussian"):
        remaining, back = (plan("napp-public", public, 3000, 1.5, noise=noise, retrieved=how) for how in gdp.CHOICES)
        assert remaining.mu == 1.5 and back.mu < 1.5
        facts = back.facts()
        assert facts.retrieved_epsilon > 0 and "returned: the guarantee is smaller" in back.words
        assert "recycled" in remaining.words and "replace-one" in remaining.words
        if noise == "pure":
            assert facts.pure_epsilon == pytest.approx(
                facts.more["planned_epsilon"] - facts.retrieved_epsilon, abs=2e-3
            )
            assert back.mu == pytest.approx(mu_from_pure_epsilon(facts.pure_epsilon))
            assert "pure" in back.words
        assert any("Guarantee: " in note for note in back.run(rows, SeededNoise(1), 1).notes())


def test_a_returned_budget_lowers_the_ledger(tmp_path):
    """The ledger records the smaller guarantee, and a pure release as pure."""
    private, public, reasons = load("demo-labels", n=1000, m=200, d=4)
    problem = prepare(private, public, entry("demo-labels").choices, lab_reasons=reasons)
    spent = {}
    for how in gdp.CHOICES:
        ledger = Ledger(str(tmp_path / f"{how}.db"))
        ledger.cap("d", 5.0)
        request = Request("napp-public", Budget(1.5), {"retrieved": how, "noise": "pure"})
        record = recorded_release(problem, request, SecureNoise(), ledger, dataset="d", key="k").as_dict()
        account = ledger.account("d")
        spent[how] = account.spent
        assert account.entries[0].pure_epsilon == pytest.approx(record["public"]["pure_epsilon"])
        assert record["guarantee"]["neighbours"] == "replace-one" and "retrieved_epsilon" in record["public"]
    assert spent["recycle"] == 1.5 and spent["return"] < 1.0


def test_a_lasso_gives_exact_zeros_and_needs_scaled_coordinates(seed):
    """Elastic net as target: zeros are zeros in the table's units; whitened coordinates are refused."""
    public, rows = draw("logistic", seed)
    for id in SOUND:
        result = plan(id, public, 3000, 3.0, lasso=400.0, ridge=2.0, coordinates="scaled").run(rows, SeededNoise(1), 20)
        assert np.any(result.coefficients == 0) and result.released()["zeros"] == np.sum(result.coefficients[0] == 0)
        with refused(MethodMessage.LASSO_WHITENED):
            plan(id, public, 3000, 1.0, lasso=1.0, coordinates="whitened")


def test_hinge_is_for_labels(seed):
    """It runs for labels and is refused elsewhere."""
    public, rows = draw("logistic", seed)
    for id in SOUND + PRINTED:
        result = plan(id, public, 3000, 1.0, loss="hinge").run(rows, SeededNoise(1), 2)
        assert np.all(np.isfinite(result.coefficients)), id
        with refused(MethodMessage.HINGE_NEEDS_LABELS):
            plan(id, draw("poisson", seed)[0], 3000, 1.0, loss="hinge")


def test_a_moment_alone_is_enough_for_linear(seed):
    """No public rows: the bound on rows is what Gaussian rows leave rarely."""
    sample, public, rows = make(2000, 100, seed)
    z = np.column_stack([sample.public_x, sample.public_y])
    alone = public_from_moment(z.T @ z / 100, public.names, "y", 100)
    for id in SOUND:
        assert np.all(np.isfinite(plan(id, alone, 2000, 1.0).run(rows, SeededNoise(1), 2).coefficients))


def test_without_public_responses(seed):
    """dp-erm runs for labels; a linear fit needs a bound, napp-public needs responses."""
    public, rows = draw("logistic", seed)
    blind = dataclasses.replace(public, labelled=False)
    assert np.all(np.isfinite(plan("dp-erm", blind, 3000, 1.0).run(rows, SeededNoise(1), 2).coefficients))
    with refused(MethodMessage.PUBLIC_FIT_NEEDED):
        plan("napp-public", blind, 3000, 1.0)
    with refused(MethodMessage.LABELS_NEEDED):
        method("napp-public").check_suits(blind)
    linear = dataclasses.replace(make(100, 50, seed)[1], labelled=False)
    with refused(MethodMessage.BOUND_NEEDED):
        plan("dp-erm", linear, 100, 1.0)


@pytest.mark.slow
def test_audit_finds_less_noise():
    """No violation; noise far too small is caught, for each loss and noise."""
    from pmtcore.auditing.faults import UnderscaledNoise

    def again(made, id, own, values):
        return plan(id, made.setting.public if own is None else own, made.n, 1.0, **values)

    for id in SOUND:
        for values in (
            {"noise": "pure"},
            {"noise": "gaussian"},
            {"coordinates": "scaled"},
            {"loss": "hinge"},
            {"loss": "family"},
        ):
            own = glm(100, 60, 1, d=3)[1] if "loss" in values else None
            audited = audit(id, 1.0, 8000, change=lambda p, v=values, own=own: again(p, id, own, v))  # noqa: B023
            assert not audited.violated, audited.verdict
        assert audit(id, 1.0, 8000, noise=lambda s: UnderscaledNoise(s, 0.02)).violated


@families
@pytest.mark.parametrize("id", PRINTED)
def test_printed_methods_run_in_the_lab(id, fam, seed):
    """All regularizers, MOOR or not, pure or Gaussian: finite coefficients, and what would be called retrieved."""
    public, rows = draw(fam, seed, 1000)
    for regularizer in ("ridge", "bridge", "lasso", "elastic-net"):
        for values in ({}, {"moor": "no", "noise": "gaussian"}, {"recycle": "yes", "weights": "printed"}):
            planned = plan(id, public, 1000, 2.0, regularizer=regularizer, iterations=10, **values)
            outcome = planned.run(rows, SeededNoise(seed), 3)
            assert np.all(np.isfinite(outcome.coefficients))
            assert {"retrieved_share_displayed", "retrieved_share_proved", "zeros"} <= set(outcome.released())


def test_mechanisms_refuse_what_was_not_accounted_for():
    """A ridge weight below the modulus (E10), a negative lasso weight."""
    good = napp_public(losses.LOGISTIC, 1.0, Gdp(1.0, REPLACE, 1e-6), np.full(3, 50.0), centre=np.zeros(3))
    with pytest.raises(ValueError):
        Mechanism(good.terms, good.split, np.array([100.0, 100.0, 1.0]), good.centre, good.lasso)
    with pytest.raises(ValueError):
        Mechanism(good.terms, good.split, good.ridge, good.centre, np.array([0.0, -1.0, 0.0]))


@by_id
@pytest.mark.parametrize("relation", BOTH, ids=lambda r: r.value)
def test_dp_erm_as_gdp_spends_no_more_than_planned(loss, relation):
    """Noise at the share, the least Lambda0 that the rest pays for; the whole costs at most the budget."""
    made = dp_erm(loss, 1.2, Gdp(1.0, relation, 1e-6), 4, share=0.5)
    assert cost(made.terms, made.terms.gradient / made.noise.scale, relation) <= 1.0
    smaller = ObjectiveConstants(loss, 1.2, 0.9 * made.terms.modulus)
    if not loss.jacobian_is_free:
        assert cost(smaller, made.terms.gradient / made.noise.scale, relation) > math.sqrt(1 - 1e-4)
    assert made.split.retrieved == 0 and isinstance(made.noise, Noise)
    assert made.split.promise.neighbours is relation and isinstance(relation, Neighbours)


def test_separable_public_labels_are_no_trouble():
    """All public labels equal, or told apart by one column: finite weights and a finite release."""
    rng = np.random.default_rng(7)
    x = rng.standard_normal((40, 3))
    rows = PrivateRows.from_arrays(x, (x[:, 0] > 0).astype(float), ("a", "b", "c"))
    for y in (np.ones(40), (x[:, 0] > 0).astype(float)):
        public = public_from_rows(x, y, ("a", "b", "c"), "y", ridge=0.0, family=family("logistic"), lam=0.0)
        for values in ({}, {"noise": "pure", "coordinates": "scaled"}, {"loss": "hinge"}):
            result = plan("napp-public", public, 40, 1.0, **values).run(rows, SeededNoise(1), 3)
            assert np.all(np.isfinite(result.coefficients))


@pytest.mark.slow
@pytest.mark.parametrize("mu", [1e-3, 0.05, 30.0, 1000.0])
def test_extreme_budgets(mu):
    """From almost nothing to almost everything: a finite release at no more than the budget, or a sentence."""
    for fam in ("gaussian", "logistic"):
        public, rows = draw(fam, 3, 400)
        for noise in ("pure", "gaussian"):
            for how in gdp.CHOICES:
                planned = plan("napp-public", public, 400, mu, noise=noise, retrieved=how)
                assert planned.mu <= mu and np.all(np.isfinite(planned.run(rows, SeededNoise(1), 2).coefficients))
            assert np.all(
                np.isfinite(plan("dp-erm", public, 400, mu, noise=noise).run(rows, SeededNoise(1), 2).coefficients)
            )


def test_command_line(tmp_path, capsys):
    """A returned release says so in its record; a bad choice is one line."""
    private, public, _ = load("demo-labels", n=400, m=80, d=3)
    for name, table in (("p", private), ("b", public)):
        table.frame.to_csv(tmp_path / f"{name}.csv", index=False)
    target = entry("demo-labels").choices.target
    common = ["release", "--private", str(tmp_path / "p.csv"), "--public", str(tmp_path / "b.csv"), "--target", target]
    common += ["--family", "logistic", "--method", "napp-public", "--mu", "1.5"]
    assert main([*common, "--set", "retrieved=return", "--set", "noise=pure", "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert record["guarantee"]["mu"] < 1.5 and record["guarantee"]["neighbours"] == "replace-one"
    assert record["public"]["retrieved_epsilon"] > 0 and any("returned" in note for note in record["notes"])
    for bad in ("retrieved=keep", "loss=huber", "share=2", "coordinates=polar", "lasso=-1", "noise=none"):
        assert main([*common, "--set", bad]) == 2
        assert capsys.readouterr().err.count("\n") == 1
    assert main([*common, "--set", "lasso=3"]) == 2
    assert "scaled coordinates" in capsys.readouterr().err


@pytest.mark.parametrize("id", ["dp-erm", "napp-public"])
@pytest.mark.parametrize("far", [1e14, 1e20, 1e149])
def test_one_far_response_never_stops_a_release(id, far):
    """A solver that fails on one table and not on its neighbour gives the row away, so it never fails."""
    rng = np.random.default_rng(3)
    x = rng.standard_normal((360, 3))
    y = x @ [1.0, -1.0, 0.5] + rng.standard_normal(360)
    data = public_from_rows(x[:60], y[:60], names(3), "y")
    y[60:] += 5.0
    y[60] = far
    rows = PrivateRows.from_arrays(x[60:], y[60:], names(3))
    result = plan(id, data, 300, 3.0).run(rows, SeededNoise(1), 40)
    assert np.all(np.isfinite(result.coefficients))


@pytest.mark.parametrize("values", [{"modulus": 1e9}, {"modulus": 1e9, "noise": "pure"}])
def test_an_extreme_modulus_never_stops_a_release(values):
    """The tolerance is never below what floating point leaves of the gradient; its noise grows with it."""
    rng = np.random.default_rng(3)
    x = rng.standard_normal((360, 3))
    y = x @ [1.0, -1.0, 0.5] + rng.standard_normal(360)
    data = public_from_rows(x[:60], y[:60], names(3), "y")
    rows = PrivateRows.from_arrays(x[60:], y[60:], names(3))
    for mu in (1e-3, 1.0, 100.0):
        result = plan("napp-public", data, 300, mu, **values).run(rows, SeededNoise(1), 20)
        assert np.all(np.isfinite(result.coefficients))


# ------------------------------------------------------------------ the noise as paper D prints it


def test_the_printed_noise_is_to_be_chosen():
    """Equation 4 at delta = 0.001 and half of epsilon 0.4: 18.85 zeta1 zeta2; exact 9.90 with labels; equation 12."""
    terms = ObjectiveConstants(losses.LOGISTIC, 1.0, 1e9)
    assert equation_4(terms, 0.2, 1e-3).scale == pytest.approx(18.85, abs=0.005)
    assert noise_for(terms, 0.2, 1e-3, ADD, free_jacobian=False).scale == pytest.approx(9.90, abs=0.005)
    assert corollary_5(1.0, 0.4, 1e-3) == pytest.approx(18.72, abs=0.01)
    public, rows = draw("gaussian", 1)
    sizes = {}
    for form in ("density", "sampled", "exact"):
        for noise in ("pure", "gaussian"):
            made = plan("napp-erm", public, rows.n, 1.0, form=form, noise=noise)
            sizes[form, noise] = made.noise.scale
    assert sizes["density", "gaussian"] > 1.3 * sizes["exact", "gaussian"]
    assert sizes["density", "pure"] == pytest.approx(sizes["exact", "pure"])


def test_the_length_of_sampled_noise_has_shape_one():
    """E8: twice the scale times an exponential, whatever the dimension; by Kolmogorov and Smirnov."""
    b = draw_sampled(Noise(True, 3.0), SeededNoise(5), 20_000, 7)
    assert kstest(np.linalg.norm(b, axis=1) / 6.0, "expon").pvalue > FALSE_ALARM
    assert kstest(np.linalg.norm(b, axis=1) / 3.0, gamma(7).cdf).pvalue < FALSE_ALARM


@pytest.mark.parametrize("pure", [True, False])
def test_noise_above_a_cut_is_the_conditional_law(pure):
    """Equations 9 and 10: draws above c are those of plain draws that happen to lie above it, coordinate and length."""
    noise, cut, p = Noise(pure, 2.0), 1.5, 3
    made = draw_above(noise, cut, SeededNoise(6), 20_000, p=p)
    plain = plain_draw(noise, SeededNoise(7), 200_000, p)
    remaining = plain[(plain > -cut).all(axis=1)]
    assert made.min() > -cut and len(remaining) > 10_000
    for of in (lambda b: b[:, 0], lambda b: np.linalg.norm(b, axis=1), lambda b: b[:, 0] * b[:, 1]):
        assert ks_2samp(of(made), of(remaining)).pvalue > FALSE_ALARM
        assert ks_2samp(of(made), of(np.abs(plain[:20_000]))).pvalue < FALSE_ALARM  # c = 0 is another law


def test_everything_of_algorithm_2_can_be_asked_for():
    """Rows drawn, passes, a cut: each changes the fit, none fails."""
    public, rows = draw("logistic", 2, n=400)
    fits = {}
    for values in ({}, {"rows": 2000}, {"recycle": "yes"}, {"recycle": "yes", "passes": 4}, {"cut": 0.5}):
        chosen = plan("napp-vs", public, rows.n, 1.0, iterations=8, target=5.0, **values)
        fits[str(values)] = chosen.run(rows, SeededNoise(3), 1).coefficients
    assert all(np.all(np.isfinite(result)) for result in fits.values())
    assert len({result.tobytes() for result in fits.values()}) >= 4
