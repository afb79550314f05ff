"""Trials of paper D's figures, and the picture of a budget: they say what they should."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.linalg import block_diag
from scipy.special import expit

from pmtcore.base.messages import AccountingMessage
from pmtcore.base.private_rows import Private, PrivateRows
from pmtcore.glm import families
from pmtcore.glm.losses import LOGISTIC
from pmtcore.glm.rows import Rows
from pmtcore.glm.solvers import NearHessians, Penalty, minimize
from pmtcore.local import estimators, setup
from pmtcore.mechanisms.minimizer import LossSums
from pmtcore.mechanisms.perturbed import add_remove
from pmtcore.methods.perturbed.setting import Setting
from pmtcore.papers.figures import retrieval as pictures
from pmtcore.papers.gallery import accuracy
from pmtcore.papers.gallery.accuracy import CodedLosses, CodedRows, Side, released
from pmtcore.papers.gallery.catalogue import figures
from pmtcore.papers.gallery.erm import (
    CachedSums,
    Trial,
    adult,
    area,
    coefficients,
    corner_trial,
    fit_together,
    moor_trial,
    prediction_trial,
    rates,
    retrieved_trial,
    table4,
    weight_trial,
)
from pmtcore.papers.gallery.local import LocalDraw, Nested, collected
from pmtcore.papers.gallery.selection import study, study_table
from pmtcore.papers.gallery.series import LAMS
from pmtcore.public.moments import PublicData
from pmtcore.releases.retrieval import LOSSES, RELATIONS, RetrievalPlan
from pmtcore.tables.named import entry as entry_of
from pmtcore.tables.named import load
from pmtcore.tables.problem import prepare
from tests.helpers import TEST, refused


def test_area_under_the_curve():
    """Perfect selections have 1, chance 1/2, the reverse 0; order does not matter."""
    truth = np.array([1.0, 1.0, 0.0, 0.0])
    perfect = np.array([[1.0, 1.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0], [1.0, 1.0, 1.0, 1.0]])
    assert area(*rates(perfect, truth)) == 1
    assert area(*rates(perfect[::-1], truth)) == 1
    assert area(*rates(np.ones((3, 4)), truth)) == 0.5
    assert area(*rates(1 - perfect[:1], truth)) == 0


@pytest.mark.parametrize("kind", ["linear", "poisson", "logistic"])
def test_settings_of_table_4(kind):
    """Eight coefficients are not 0, rows lie in the box, the radius is that of the public rows."""
    result = table4(3, kind, 200)
    assert np.sum(result.truth != 0) == 8 and result.x.shape == (200, 16)
    assert np.max(np.abs(result.x)) <= (0.5 if kind == "logistic" else 0.25)
    assert result.longest == np.max(np.linalg.norm(result.public_x, axis=1)) < result.box
    assert result.box == {"linear": 1.0, "poisson": 1.0, "logistic": 2.0}[kind]


def test_all_budgets_of_a_trial_are_under_one_relation():
    """Published methods claim, and ours are planned, under add-remove-one at the paper's epsilon and delta."""
    for delta in (0.0, 1e-4):
        at = Trial(table4(1, "logistic", 300), 0.7, delta, 1)
        for id in ("napp-erm", "napp-vs", "napp-vs-plus", "dp-erm"):
            claim = at.published(id, {}).claim
            assert claim.neighbours.value == "add-remove-one" and claim.epsilon == pytest.approx(0.7)
            assert claim.delta == delta
    promise = at.ours({}).build(add_remove(0.7, 0.0)).split.promise
    assert promise.neighbours.value == "add-remove-one" and promise.epsilon == pytest.approx(0.7)
    for entry in figures():
        if entry.id in ("D4", "D5", "D6", "D7", "D8", "DS1", "DS4"):
            assert "add-remove-one" in entry.notes


def test_methods_of_a_trial_share_its_noise():
    """All published methods have one draw of b, ``napp-vs-plus`` its absolute values; without privacy there is none."""
    at = Trial(table4(1, "linear", 200), 0.7, 1e-4, 3)
    b = {
        id: at.published(id, {}).noise_draws(at.source(id), 1)
        for id in ("napp-erm", "napp-vs", "napp-vs-plus", "dp-erm")
    }
    assert np.array_equal(b["napp-erm"], b["napp-vs"]) and np.array_equal(b["napp-erm"], b["dp-erm"])
    assert np.array_equal(np.abs(b["napp-erm"]), b["napp-vs-plus"]) and np.any(b["napp-erm"] < 0)
    assert not np.any(at.published("non-private", {}).noise_draws(at.source("non-private"), 1))


def test_a_stack_of_plans_is_each_plan_by_itself():
    """Fitted together or alone, iterated, recycled or direct: the same coefficients."""
    at = Trial(table4(2, "logistic", 400), 0.8, 0.0, 5)
    plans = [
        at.published(id, values)
        for id, values in (
            ("napp-erm", {}),
            ("napp-vs", {"moor": "no"}),
            ("napp-vs-plus", {}),
            ("napp-vs", {"recycle": "yes"}),
            ("dp-erm", {}),
        )
    ]
    together = fit_together(plans, at.drawn.rows, [at.source() for _ in plans])
    for plan, outcome in zip(plans, together, strict=True):
        alone = plan.run(at.drawn.rows, at.source(), 1)
        assert np.allclose(outcome.coefficients, alone.coefficients, atol=2e-3)


def test_moor_and_weights():
    """With MOOR nearer to the lasso; realized penalties lie between target and sum; drawn rows realize the weight."""
    result = moor_trial(1, kind="linear", n=200, lams=[0.5, 1.0], floors=[1.0])
    alone = moor_trial(1, kind="linear", n=200, lams=[1.0], floors=[1.0])
    for lam in ("0.5", "1"):
        assert result[f"with MOOR, Lambda = {lam}"][0] < result[f"without MOOR, Lambda = {lam}"][0]
    for name, value in alone.items():
        assert result[name] == pytest.approx(value, rel=1e-3)
    one = weight_trial(1, kind="lasso", theta=0.5)
    assert one["target"][0] <= one["NAPP-ERM"][0] <= one["DP-ERM"][0]
    assert one["NAPP-ERM, rows drawn"][0] == pytest.approx(one["NAPP-ERM"][0], rel=0.1)


def test_a_prediction_trial_has_every_series():
    """One error each, finite; more budget is no worse in the mean of a few."""
    tried = (
        ("a", "dp-erm", {}),
        ("b", "napp-public", {}),
        ("c", "napp-vs-plus", {"recycle": "yes"}),
        ("d", "public-only", {}),
    )
    few, many = (
        [prediction_trial(s, kind="linear", n=300, epsilons=[e], delta=0.0, tried=tried) for s in range(5)]
        for e in (0.3, 5.0)
    )
    assert set(few[0]) == {"a", "b", "c", "d"}
    for name in ("a", "b"):
        assert np.mean([t[name][0] for t in many]) < np.mean([t[name][0] for t in few])


@pytest.mark.parametrize("kind", ["linear", "logistic", "poisson"])
def test_budgets_fitted_together_are_those_fitted_alone(kind):
    """A stack of budgets, passes and methods gives each of them what it has by itself."""
    tried = (
        ("erm", "napp-erm", {}),
        ("sum", "napp-erm", {"moor": "no"}),
        ("once", "napp-vs", {"recycle": "yes"}),
        ("often", "napp-vs-plus", {"recycle": "yes", "passes": 5}),
        ("public", "public-only", {}),
        ("direct", "dp-erm", {}),
    )
    setting = {"kind": kind, "n": 200, "delta": 1e-4}
    together = prediction_trial(3, epsilons=(0.4, 2.0), tried=tried, **setting)
    lams = prediction_trial(3, epsilons=(1.0,), tried=tried[:2], lams=(0.5, 20.0), **setting)
    back = retrieved_trial(3, epsilons=(0.4, 2.0), lams=(1.0,), **setting)
    for series in tried:
        for place, epsilon in enumerate((0.4, 2.0)):
            alone = prediction_trial(3, epsilons=(epsilon,), tried=(series,), **setting)
            assert together[series[0]][place] == pytest.approx(alone[series[0]][0], rel=1e-3)
    for place, lam in enumerate((0.5, 20.0)):
        alone = prediction_trial(3, epsilons=(1.0,), tried=tried[:1], lams=(lam,), **setting)
        assert lams["erm"][place] == pytest.approx(alone["erm"][0], rel=1e-3)
    for place, epsilon in enumerate((0.4, 2.0)):
        for name, share in retrieved_trial(3, epsilons=(epsilon,), lams=(1.0,), **setting).items():
            assert back[name][place] == pytest.approx(share[0], rel=1e-3)


def test_false_features_are_counted():
    """Without privacy none is kept at a large Lambda, and some at a small one; never more than the 8 without effect."""
    tried = (("plain", "non-private", {}), ("plus", "napp-vs-plus", {}), ("erm", "napp-erm", {}))
    result = corner_trial(2, kind="linear", n=200, epsilons=[0.5], delta=0.0, tried=tried, lams=(1e-3, 1e3))
    assert result["plain, Lambda = 1000"] == [0.0] and result["plus, Lambda = 1000"] == [0.0]
    assert 0 < result["plain, Lambda = 0.001"][0] <= 8 and result["erm, Lambda = 1000"][0] <= 8


def test_study_of_selection():
    """Six methods; positive noise keeps no false coefficient at a large Lambda; without privacy the true ones stay."""
    a_study = study("linear", 1.0, 2.0, n=300, trials=4)
    assert len(a_study.selected) == 6 and a_study.lams == LAMS
    assert np.all(a_study.selected["without privacy"][:4] == 1)
    for false, true in a_study.roc.values():
        assert np.all((false >= 0) & (false <= 1) & (true >= 0) & (true <= 1))
    assert len(pictures.selected_table(a_study)) == 6 and len(pictures.roc_table(a_study)) == 6 * len(LAMS)
    assert len(pictures.roc(a_study).data) == 7 and pictures.selected(a_study).data


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("delta", [0.0, 1e-4])
def test_parts_of_a_budget_add_up(loss, relation, delta):
    """Noise, Jacobian and retrieved make what was planned; what comes back never falls with Lambda."""
    for choice in ("recycle", "return"):
        plan = RetrievalPlan(loss, 1.0, delta, relation, 0.5, choice)
        moduli, result = plan.over_moduli([plan.least * f for f in (0.01, 0.3, 1.0, 10.0, 1e3)])
        assert len(result) >= 4
        for split in result:
            assert sum(pictures.planned_parts(split).values()) == pytest.approx(1.0)
        back = [split.retrieved for split in result]
        assert back == sorted(back) and back[-1] > 0.49
        assert len(pictures.table("Lambda", moduli, result)) == len(result)
        words = plan.conversion(result[-1].promise)
        said = "Under replace-one the same release has" if relation == "add-remove-one" else "plan under add-remove-one"
        assert said in words
    epsilons, over = plan.over_epsilon([0.2, 1.0, 5.0], plan.least)
    assert len(pictures.parts(epsilons, over, "epsilon", relative=True).data) == 3
    with refused(AccountingMessage.MODULUS_COSTS_EPSILON):
        RetrievalPlan("linear", 1.0, delta, relation, 0.5, "recycle").at(1e-6)


@pytest.mark.parametrize(("table", "family"), [("demo", "gaussian"), ("demo-labels", "logistic")])
def test_selection_runs_on_a_table_of_ones_own(table, family):
    """Six methods on any table with public rows; the figures are private, and the truth is not known."""
    own, public, _ = load(table, n=400, m=60, d=4)
    problem = prepare(own, public, entry_of(table).choices)
    assert problem.public.family.id == family
    private = study_table(problem, 1.0, 2.0, trials=2)
    assert isinstance(private, Private)
    result = private.reveal(TEST)
    assert result.truth is None and not result.roc and result.names == problem.public.names
    assert {"NAPP-ERM (lab)", "NAPP-VS (lab)", "NAPP-VS+ (lab)", "dp-erm"} <= set(result.selected)
    for name in result.selected:
        assert result.selected[name].shape == (problem.public.d,) and np.all(
            (result.selected[name] >= 0) & (result.selected[name] <= 1)
        )
    plain = result.counts["without privacy"]
    assert plain[-1] < plain[0] == problem.public.d, "a large Lambda keeps fewer"


@pytest.mark.parametrize("design", ["diagonal", "bernoulli"])
@pytest.mark.parametrize("id", ["ldp-glm-gaussian-printed", "ldp-glm", "ldp-glm-printed"])
def test_sums_over_first_rows_are_what_each_size_adds_up(design, id):
    """Coefficients of every size are those that a pass over its rows gives, but for the rounding to a grid."""
    drawn = LocalDraw.of(2, design, "poisson", p=4, n=6000, m=6000)
    sums = (Nested(drawn.x, drawn.y, [3000, 6000]), Nested(drawn.public, np.zeros(6000), [2000, 6000]))
    for n, m in ((3000, 6000), (6000, 2000)):
        public = drawn.public_data(m)
        given = (id, public, drawn.private(n, public.names), [50.0, 200.0])
        values = {"response_bound": 2.0}
        fast, slow = (collected(*given, values=values, seed=3, sums=each) for each in (sums, None))
        assert np.all(np.isfinite(slow))
        np.testing.assert_allclose(fast, slow, rtol=0, atol=2e-3 * np.abs(slow).max())


def test_rows_that_a_device_may_clip_are_not_added_up_at_once():
    """A radius that a row may pass leaves the sum to the devices."""
    drawn = LocalDraw.of(2, "diagonal", "logistic", p=4, n=500, m=500)
    public = drawn.public_data(500)
    made = setup.moments_scheme(public, 500, 1.0, True, zeta=0.05)
    sums = Nested(drawn.x, drawn.y, [500])
    assert sums.reports(made, 500) is not None
    short = replace(made, radius=float(np.linalg.norm(drawn.x - made.shift, axis=1).max()) * 0.999)
    assert sums.reports(short, 500) is None


def _unlabelled(x, names):
    """Return public rows without labels, with the ridge that their moment has in figure C6."""
    m, d = x.shape
    size = np.sqrt(np.mean(x**2, axis=0))
    root = np.linalg.cholesky(x.T @ x / m / np.outer(size, size) + 1e-3 * np.eye(d)) * size[:, None]
    rows = np.column_stack([x, np.zeros(m)])
    return PublicData(names, "y", block_diag(root, 1.0), m, rows, families.LOGISTIC, labelled=False)


def _coded(rng, n):
    """Return rows of two numbers and a code, some of them long, the same rows in full, and labels."""
    numbers, codes, levels = rng.standard_normal((2, n)), rng.integers(0, 5, n), rng.standard_normal((5, 3))
    numbers[:, :: n // 4] *= 60.0
    x = np.column_stack([numbers.T, levels[codes]])
    return CodedRows(numbers, codes, levels), x, (rng.random(n) < expit(x[:, 0])).astype(float)


def test_sums_of_coded_rows_are_those_of_the_rows():
    """Scores, squares, first and second sums, and derivatives, of all rows and of some."""
    rng = np.random.default_rng(4)
    rows, x, y = _coded(rng, 300)
    w, form, beta = rng.random(300), x[:5].T @ x[:5], rng.normal(0, 0.1, (5, 2))
    np.testing.assert_allclose(rows.scores(beta), x @ beta)
    np.testing.assert_allclose(rows.squares(form), np.einsum("ni,ij,nj->n", x, form, x))
    np.testing.assert_allclose(rows.first(np.column_stack([w, y])), x.T @ np.column_stack([w, y]))
    np.testing.assert_allclose(rows.part(slice(100)).second(w[:100]), (x[:100] * w[:100, None]).T @ x[:100])
    losses, full = CodedLosses(rows, y, w), Rows(x, y, w).sums(LOGISTIC, beta.T)
    for ours, plain in zip(losses.derivatives(beta.T), full, strict=True):
        np.testing.assert_allclose(ours, plain, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(losses.value(beta.T), w @ LOGISTIC.value(x @ beta, y[:, None]))
    fit = losses.fitted(np.full(5, 0.01), 0.1 * np.eye(5)).theta[0]
    gradient = losses.derivatives(fit[None])[0][0] / 300 + 0.01 + 0.1 * fit
    np.testing.assert_allclose(gradient, 0, atol=1e-5)


@pytest.mark.parametrize(
    ("id", "scale"),
    [
        ("ldp-glm-gaussian-printed", "columns"),
        ("ldp-glm-gaussian", "rows"),
        ("ldp-glm", "rows"),
        ("ldp-whitened", "columns"),
    ],
)
def test_releases_of_coded_rows_are_those_of_the_methods(id, scale):
    """Coefficients are what a collection of the full rows releases, but for the rounding to a grid."""
    rng = np.random.default_rng(5)
    names, mus = tuple(f"x{j}" for j in range(5)), [100.0, 400.0]
    (private, x, y), (public, public_x, _) = _coded(rng, 20_000), _coded(rng, 20_000)
    public = replace(public, levels=private.levels)
    public_x[:, 2:] = private.levels[public.codes]
    sides = [Side.of(rows, y) for rows in (private, public)]
    if scale == "rows":
        sides = [side.unit for side in sides]
    firsts = [side.firsts([9000, 20_000]) for side in sides]
    for n in (9000, 20_000):
        fast = released(id, *(first[n] for first in firsts), names, mus=mus, seed=3)
        known = _unlabelled((public_x * sides[1].scale[:, None])[:n], names)
        rows = PrivateRows.from_arrays((x * sides[0].scale[:, None])[:n], y[:n], names)
        slow = collected(id, known, rows, mus, values={}, seed=3)
        assert np.all(np.isfinite(slow)) and np.ptp(slow) > 0
        if id != "ldp-whitened":  # the scale of the others is a point of a grid: directions are compared
            fast, slow = (each / np.linalg.norm(each, axis=1, keepdims=True) for each in (fast, slow))
        np.testing.assert_allclose(fast, slow, rtol=0, atol=4e-2 * np.abs(slow).max())


def test_whether_a_scale_has_a_root_is_told_from_counted_scores():
    """There is a root by the counts where the scale equation has one, at the next point of the grid."""
    rng = np.random.default_rng(9)
    (rows, x, y), link = _coded(rng, 4000), estimators.family_link(families.LOGISTIC)
    slopes = rng.normal(0, 1, (60, 5)) * np.geomspace(0.003, 3, 60)[:, None]
    fast = accuracy.scales(Side.of(rows, y), x.mean(axis=0), slopes)
    slow = np.array([estimators.scale_root(link, (x - x.mean(axis=0)) @ each) for each in slopes])
    assert 10 < np.isnan(slow).sum() < 50
    assert np.sum(np.isnan(fast) != np.isnan(slow)) <= 1, "a curve whose top is at 1 to rounding may be on either side"
    both = ~np.isnan(fast) & ~np.isnan(slow)
    np.testing.assert_allclose(fast[both], slow[both], rtol=7e-2)  # a step of the grid


def test_rows_that_stay_give_the_same_bits():
    """Sums over rows in memory are those of the passes over private rows, whose columns' products are made once."""
    at = Trial(table4(2, "logistic", 400), 0.8, 0.0, 5)
    plan = at.published("napp-erm", {})
    remaining, passes = plan.prepared(at.drawn.rows), Setting.clipped(plan.setting, at.drawn.rows)
    theta = np.random.default_rng(1).normal(0, 1, (6, 16))
    assert np.array_equal(remaining.value(theta), passes.value(theta))
    for of_kept, of_passes in zip(remaining.derivatives(theta), passes.derivatives(theta), strict=True):
        assert np.array_equal(of_kept, of_passes)


@pytest.mark.slow
def test_sums_of_sparse_rows_are_those_of_the_passes():
    """Values and gradients of Adult's rows, some of them clipped, and Hessians at the points where they are formed."""
    if not entry_of("adult").available:
        pytest.skip("Adult is not here")
    at = Trial(adult(2), 0.8, 1e-4, 5)
    setting = replace(at.published("napp-erm", {}).setting, radius=2.0)
    ours, passes = setting.clipped(at.drawn.rows), Setting.clipped(setting, at.drawn.rows)
    theta = np.random.default_rng(1).normal(0, 2, (2, at.drawn.x.shape[1]))
    np.testing.assert_allclose(ours.value(theta), passes.value(theta))
    for of_ours, of_passes in zip(ours.derivatives(theta), passes.derivatives(theta), strict=True):
        np.testing.assert_allclose(of_ours, of_passes, rtol=1e-9, atol=1e-6)


def test_a_fit_without_privacy_is_made_once_for_all_budgets():
    """It has no noise: its coefficients are those of a trial at each budget alone."""
    trials = [Trial(table4(2, "logistic", 300), epsilon, 0.0, 5) for epsilon in (0.3, 3.0)]
    tried, lams = [("without privacy", "non-private", {}), ("DP-ERM", "dp-erm", {})], (0.5, 2.0)
    both = coefficients(trials, tried, lams)
    for at, trial in enumerate(trials):
        for series, theta in coefficients([trial], tried, lams).items():
            np.testing.assert_allclose(both[series][at], theta[0], rtol=0, atol=1e-5)


def test_plans_of_ours_are_made_once_for_all_budgets():
    """The public fit has no budget; a modulus is in units of one."""
    drawn = table4(2, "linear", 300)
    few, many = (Trial(drawn, epsilon, 0.0, 5) for epsilon in (0.3, 3.0))
    assert few.ours({}) is many.ours({})
    assert few.ours({"modulus": 2.0}) is not many.ours({"modulus": 2.0})
    other = Trial(table4(2, "linear", 300), 3.0, 0.0, 5)
    assert np.array_equal(many.released(many.ours({})), other.released(other.ours({})))


def test_hessians_of_points_near_by_lead_to_the_same_fits():
    """Fits end where they do with Hessians of their own, though far fewer are formed."""
    rng = np.random.default_rng(3)
    x = rng.uniform(-1, 1, (400, 6))
    y = (rng.random(400) < expit(x @ np.arange(6.0))).astype(float)
    rows = PrivateRows.from_arrays(x, y, tuple(f"x{j}" for j in range(6)))
    exact = LossSums.clipped(rows, LOGISTIC, 3.0)
    near, formed = CachedSums(exact, Rows(x, y, np.ones(400))), []

    def own(theta):
        formed.extend(theta)
        return exact.derivatives(theta)[1]

    hessians = NearHessians(own, 400 * LOGISTIC.curvature)
    near.derivatives = lambda theta: (exact.derivatives(theta)[0], hessians.at(theta))
    penalty = Penalty.of(rng.normal(0, 3, (8, 6)), 2.0, 0.0, np.full((8, 6), 1.5))
    fits = [minimize(sums, penalty, 1e-9).theta for sums in (exact, near)]
    assert np.allclose(*fits, rtol=0, atol=1e-8) and np.any(fits[0] == 0)
    assert len(formed) < 8 * 5  # eight fits take about five steps each
    gradient, hessian = near.derivatives(fits[0])
    own = exact.derivatives(fits[0])
    assert np.allclose(gradient, own[0]) and np.allclose(hessian, own[1], rtol=0.2, atol=4.0)


def test_designs_have_their_covariances():
    """Variances of 1, variances from U(0, 1), the same turned: within five standard errors of 20,000 rows."""
    moments = {}
    for design in ("identity", "diagonal", "turned"):
        x = LocalDraw.of(2, design, "poisson", p=4, n=20_000, m=1).x
        moments[design] = x.T @ x / len(x)
    off = {design: np.abs(moment - np.diag(np.diag(moment))).max() for design, moment in moments.items()}
    assert np.allclose(moments["identity"], np.eye(4), atol=0.05) and off["diagonal"] < 0.04 < off["turned"]
    assert np.all(np.diag(moments["diagonal"]) < 1)
    assert np.allclose(*(np.linalg.eigvalsh(moments[each]) for each in ("diagonal", "turned")), rtol=1e-9)
