"""The local model: randomizers, reports, estimates."""

from __future__ import annotations

import dataclasses
import gc
import json
import math
import weakref
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import kstest, norm

from pmtcore.accounting.budgets import delta_from_mu, mu_from_epsilon, mu_from_pure_epsilon, pure_epsilon_from_mu
from pmtcore.base.messages import ArgumentMessage, LocalMessage
from pmtcore.base.private_rows import PrivateRows
from pmtcore.cli.main import main
from pmtcore.glm.families import LOGISTIC, POISSON, family
from pmtcore.local import setup
from pmtcore.local.estimators import LINKS, PublicRows, family_link, scale_root, scaled_coefficients
from pmtcore.local.protocol import VERSION, Configuration, moments_from_reports, report_lines
from pmtcore.local.reading import tally_file
from pmtcore.local.tally import Tally
from pmtcore.mechanisms.noise import NoiseSource, SecureNoise, SeededNoise
from pmtcore.mechanisms.randomizers import PrivUnit
from pmtcore.papers.gallery.local import LocalDraw, collected
from pmtcore.public.moments import public_from_rows
from tests.helpers import FALSE_ALARM, names, plan, refused


def sides(n, m, d, seed, fam=LOGISTIC, size=1.0):
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((n + m, d))
    w = size * np.ones(d) / math.sqrt(d)
    mean = fam.mean(x @ w)
    y = rng.poisson(mean).astype(float) if fam is POISSON else (rng.random(n + m) < mean).astype(float)
    public = public_from_rows(x[n:], None, names(d), "y", ridge=0.0, family=fam)
    return public, PrivateRows.from_arrays(x[:n], y[:n], names(d)), w, x[:n], y[:n]


def ratio(result: PrivUnit) -> Fraction:
    """Return the largest ratio of the probabilities of a report, in rational numbers: of the choice as it is drawn.

    A word's 53 first bits are held against ``keep``; an index among k is ``floor(word k / 2^64)``, so its words are
    ``2^64/k`` rounded down or up.
    """
    near = Fraction(math.ceil(Fraction(result.keep) * 2**53), 2**53)
    others = result.directions - result.winners
    one = near * Fraction(-(-(2**64) // result.winners), 2**64)
    other = (1 - near) * Fraction(2**64 // others, 2**64)
    return (one / other) ** result.pieces


@pytest.mark.parametrize("d", [1, 2, 3, 10, 40, 200])
@pytest.mark.parametrize("epsilon", [0.01, 0.1, 1.0, 5.0, 20.0, 60.0])
def test_privunit_ratio_is_epsilon(d, epsilon):
    """The largest ratio of probabilities, in exact rational arithmetic, is at most e^epsilon, and close to it."""
    result = PrivUnit.for_epsilon(d, epsilon)
    with mpmath.workdps(60):
        exact = ratio(result)
        log = mpmath.log(mpmath.mpf(exact.numerator)) - mpmath.log(mpmath.mpf(exact.denominator))
        assert log <= mpmath.mpf(epsilon)
    if d > 1 or epsilon < 20:
        assert log >= epsilon * (1 - 1e-3)
    assert 1 - result.keep >= 2.0**-31, "a side of probability zero would tell the two sides apart for certain"


def test_a_privunit_that_keeps_more_is_caught():
    """The planted fault: five per cent more probability on the winners shows in the ratio."""
    fair = PrivUnit.for_epsilon(10, 2.0)
    false = dataclasses.replace(fair, keep=fair.keep * 1.05)
    assert math.log(ratio(false)) > 2.0 + 0.05


@pytest.mark.slow
@pytest.mark.parametrize(("d", "epsilon"), [(1, 1.0), (3, 1.0), (3, 5.0)])
def test_the_choice_is_drawn_with_its_probabilities(d, epsilon, seed):
    """On the code that makes reports: near directions are chosen with probability ``keep``; 5 % more would be seen."""
    result, k = PrivUnit.for_epsilon(d, epsilon), 40_000
    source = Recorded(SeededNoise(seed))
    unit = np.tile(np.eye(1, d), (k // 200, 1))
    near = []
    for _ in range(200):
        source.made.clear()
        chosen = result._choose(unit, source)
        near.append(near_share(result, unit, chosen, source.made))
    share = float(np.mean(np.concatenate(near)))
    sd = math.sqrt(result.keep * (1 - result.keep) / k)
    assert abs(share - result.keep) < 5 * sd
    assert abs(share - 1.05 * result.keep) > 5 * sd


@pytest.mark.parametrize("mu", [1e-6, 63.0, 300.0])
def test_a_budget_beyond_privunit_is_refused_as_it_was_given(mu):
    """The refusal is about mu, which was asked for, and not about the epsilon that it becomes; its ends are planned."""
    public = sides(500, 60, 2, 1)[0]
    with refused(ArgumentMessage.OUT_OF_RANGE, name="mu with randomizer=privunit", given=mu):
        plan("ldp-whitened", public, 500, mu, randomizer="privunit")
    for end in (2e-6, 62.0):
        assert plan("ldp-whitened", public, 500, end, randomizer="privunit").configuration.epsilon > 0


class WordsOnly(NoiseSource):
    """A source whose other draws a report must not use."""

    secure = False

    def normal(self, trials, size):
        raise AssertionError("a report is made of words alone")

    def integers(self, sigma, trials, size):
        raise AssertionError("a report is made of words alone")

    def spherical(self, scale, trials, size):
        raise AssertionError("a report is made of words alone")


class Recorded(WordsOnly):
    """A source that remembers the words it gave."""

    def __init__(self, source: NoiseSource) -> None:
        self.source, self.made = source, []

    def words(self, trials, size):
        self.made.append(self.source.words(trials, size))
        return self.made[-1]


def near_share(result, unit, chosen, words):
    """Which of the chosen directions are among the winners, all directions remade from the words they came from."""

    def remade(part):
        if result.d == 1:
            return np.ones((len(part), 1))
        z = norm.ppf(((part >> np.uint64(12)).astype(float) + 0.5) * 2.0**-52)
        return z / np.linalg.norm(z, axis=1)[:, None]

    if result.d == 1:
        return np.einsum("kd,kd->k", chosen, unit) > 0
    all_of = np.tile(remade(words[0]), (len(unit), 1, 1))  # (k, directions/2, d)
    for mirror in map(remade, reversed(words[1:-1])):
        all_of = all_of - 2 * np.einsum("kjd,kd->kj", all_of, mirror)[..., None] * mirror[:, None, :]
    scores = np.einsum("kjd,kd->kj", all_of, unit)
    least = np.sort(np.column_stack([scores, -scores]), axis=1)[:, -result.winners]
    return np.einsum("kd,kd->k", chosen, unit) >= least - 1e-9


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["privunit", "gaussian", "moments"])
def test_no_report_shows_a_row_that_another_row_could_not_give(scheme):
    """In floating point the bits told a zero row from another in 989 of 1000 reports. Now every report of one row is
    one that the other gives too: Gaussian ones are whole numbers of steps whatever the row, PrivUnit's a choice."""
    public, *_ = sides(10, 60, 3, 1)
    if scheme == "moments":
        made = setup.moments_scheme(public, 100, 0.1, True, zeta=0.05)
    else:
        made = setup.whitened_scheme(public, 100, 0.1, scheme, epsilon=1.0)
    rows = np.array([[np.nan, 0.0, 0.0], [0.3, -0.7, 0.2]])
    result = [made.randomize(np.tile(row, (1000, 1)), np.ones(1000), SecureNoise()) for row in rows]
    if scheme != "privunit":
        for reports in result:
            steps = np.rint(reports / made.units())
            assert np.array_equal(steps * made.units(), reports)
            assert np.all(np.any(steps % 2 == 1, axis=0)) and np.all(np.any(steps % 2 == 0, axis=0))
        return
    for word in range(40):  # one set of directions and one choice: whatever is chosen for one row can be for the other
        sets = []
        for row in rows:
            unit = _unit(made, row)
            sets.append({made.unit._choose(unit, Fixed(SeededNoise(word), at)).tobytes() for at in range(64)})
        assert sets[0] == sets[1]


def _unit(made, row):
    v = made.vectors(row[None], np.ones(1))
    length = np.linalg.norm(v)
    return v / length if length > 0 else np.eye(1, made.d)


class Fixed(WordsOnly):
    """The same directions every time; the choice (the last words) runs over all that there are."""

    def __init__(self, source: NoiseSource, at: int) -> None:
        self.source, self.at = source, at

    def words(self, trials, size):
        if size == 2:
            near = np.uint64(0 if self.at % 2 else 2**64 - 1)
            return np.array([[near, np.uint64((self.at // 2) * 2**59)]], dtype=np.uint64)
        return self.source.words(trials, size)


@pytest.mark.slow
@pytest.mark.parametrize("d", [1, 2, 8])
def test_privunit_is_unbiased_and_of_one_length(d, seed):
    """Mean of 400,000 reports within five standard errors of the vector, whatever its length; one length for all."""
    result, bound = PrivUnit.for_epsilon(d, 3.0), 2.0
    for length in (0.0, 0.7, 2.0):
        v = np.zeros((400_000, d))
        v[:, 0] = length
        reports = result.randomize(v, bound, SeededNoise(seed))
        assert np.allclose(np.linalg.norm(reports, axis=1), bound / result.shrink)
        error = np.std(reports, axis=0) / math.sqrt(len(v))
        assert np.all(np.abs(reports.mean(axis=0) - v[0]) < 5.5 * error + 1e-12)


def test_epsilon_and_mu_agree_with_the_trade_off(seed):
    """The two conversions are inverse, and the GDP curve lies below that of epsilon-DP at every delta."""
    for epsilon in (0.1, 1.0, 4.0, 12.0):
        mu = mu_from_pure_epsilon(epsilon)
        assert pure_epsilon_from_mu(mu) == pytest.approx(epsilon, rel=1e-9)
        alpha = np.linspace(1e-6, 1 - 1e-6, 2001)
        pure = np.maximum(0, np.maximum(1 - math.exp(epsilon) * alpha, math.exp(-epsilon) * (1 - alpha)))
        assert np.all(norm.cdf(norm.isf(alpha) - mu) <= pure + 1e-9)
        assert delta_from_mu(mu, epsilon) > 0


def moved(made, a, b):
    """Return how far two rows' integers lie apart, in units of their noise."""
    return float(np.linalg.norm((a - b) / made.scales()))


@given(st.integers(2, 5), st.floats(0.3, 4), st.integers(0, 10**6))
@settings(max_examples=60, deadline=None)
def test_one_row_moves_a_statistic_by_at_most_its_diameter(d, mu, seed):
    """Adversarial rows, near and far: both schemes keep to the diameters their noise is set for."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((2, d)) * np.exp(rng.uniform(-3, 6, (2, 1)))
    y = rng.choice([0.0, 1.0, -50.0, 50.0], 2)
    public, *_ = sides(10, 40, d, seed)
    made = setup.whitened_scheme(public, 100, mu, "gaussian")
    a, b = made.statistic(x, y)
    assert np.linalg.norm(a - b) <= made.radius * (1 + 1e-12)
    assert made.gaussian.sd == pytest.approx(made.radius / mu, rel=1e-5)
    assert moved(made, *made.integers(x, y)) <= mu
    papers = setup.moments_scheme(public, 100, mu, True, zeta=0.05)
    assert moved(papers, *papers.integers(x, y)) <= mu


def test_the_diameter_is_reached():
    """Witnesses: opposite labels on one far row; orthogonal rows at the radius for the moments."""
    public, *_ = sides(10, 40, 3, 1)
    made = setup.whitened_scheme(public, 100, 1.0, "gaussian")
    a, b = made.statistic(np.array([[1e6, 0, 0], [1e6, 0, 0]]), np.array([0.0, 1.0]))
    assert np.linalg.norm(a - b) == pytest.approx(made.radius)
    x = np.column_stack([np.ones(40), np.random.default_rng(1).standard_normal((40, 2))])
    labels = public_from_rows(x, None, names(3, True), "y", ridge=0.0, family=LOGISTIC)
    # proofs/sensitivity.md, 3.5: where t = 1/4
    for given_public, t, y in ((public, -0.25, (1.0, 1.0)), (labels, 0.25, (0.0, 1.0))):
        papers = setup.moments_scheme(given_public, 100, 1.0, True, zeta=0.05)
        far = 1e3 * papers.radius * np.array([[0, 1.0, 0], [0, t, math.sqrt(1 - t * t)]])
        assert 0.999 < moved(papers, *papers.integers(far + papers.shift, np.array(y))) <= 1
    assert papers.response_bound == 0.5, "with an intercept labels are sent less one half"


def test_no_output_tells_whether_a_row_was_clipped():
    """E5 repaired: rows on and outside the radius in one direction have the same report distribution."""
    public, *_ = sides(10, 40, 3, 1)
    papers = setup.moments_scheme(public, 100, 1.0, True, zeta=0.05)
    direction = np.array([[1.0, 2.0, -1.0]]) / math.sqrt(6)
    on = papers.statistic(papers.radius * direction + papers.shift, np.ones(1))
    outside = papers.statistic(50 * papers.radius * direction + papers.shift, np.ones(1))
    assert np.allclose(on, outside)
    made = setup.whitened_scheme(public, 100, 1.0, "privunit", epsilon=2.0)
    on = made.statistic(direction @ made.root.T * made.radius, np.ones(1))
    outside = made.statistic(direction @ made.root.T * made.radius * 50, np.ones(1))
    assert np.allclose(on, outside)


def test_the_shortcut_has_the_distribution_of_the_sum(seed):
    """Noise of the mean of 400 reports, and the one draw the lab adds: one distribution, by Kolmogorov-Smirnov."""
    public, rows, _, x, y = sides(400, 60, 3, seed)
    planned = plan("ldp-glm-gaussian", public, 400, 1.0)
    made = planned.configuration
    exact = made.statistic(x, y).mean(axis=0)
    sds = planned.noise_sds / 20
    long = np.stack([made.randomize(x, y, SeededNoise(seed, t)).mean(axis=0) for t in range(400)])
    short = planned.run(rows, SeededNoise(seed), 400).statistic
    for reports in (long, short):
        z = ((reports - exact) / sds).ravel()
        assert kstest(z, "norm").pvalue > FALSE_ALARM
    assert kstest(((short - exact) / sds).ravel() * 0.8, "norm").pvalue < FALSE_ALARM, "20 % less noise is seen"


def test_rows_of_few_levels_stand_for_their_copies(seed):
    """Each distinct row once with its share gives the root and the mean of all rows; rows that differ stay all."""
    rng = np.random.default_rng(seed)
    x = (2.0 * rng.integers(0, 2, (30_000, 6)) - 1) / 6
    few, slopes = PublicRows.of(x), rng.uniform(0.5, 1.0, 6)
    assert few.shares is not None and len(few.features) == len(np.unique(x, axis=0))
    assert few.shares.sum() == pytest.approx(1.0) and few.mean(few.features[:, 0]) == pytest.approx(x[:, 0].mean())
    for link in (family_link(LOGISTIC), LINKS["cubic"], LINKS["softplus"]):
        every = scaled_coefficients(link, slopes, PublicRows(x), None)[0]
        assert scaled_coefficients(link, slopes, few, None)[0] == pytest.approx(every, rel=1e-9, nan_ok=True)
    many = rng.standard_normal((9000, 6)) / 10
    shares = rng.integers(1, 4, 9000)
    every = scaled_coefficients(family_link(LOGISTIC), slopes, PublicRows(many.repeat(shares, axis=0)), None)[0]
    counted = scaled_coefficients(family_link(LOGISTIC), slopes, PublicRows(many, shares / shares.sum()), None)[0]
    assert counted == pytest.approx(every, rel=1e-9), "many levels are scanned by their summary, too"
    assert PublicRows.of(many).shares is None
    one = x.copy()
    one[-1] = rng.standard_normal(6)
    assert len(PublicRows.of(one).features) == len(few.features) + 1


@pytest.mark.slow
def test_no_plan_keeps_public_rows_from_being_forgotten(seed):
    """Public rows that only a plan was made from go with it: nothing of the process holds them or their copy."""
    public = sides(400, 60, 3, seed)[0]
    assert np.allclose(setup.centred_public_rows(public)[1], public.rows[:, :-1] - public.rows[:, :-1].mean(axis=0))
    assert setup.centred_public_rows(public)[1] is setup.centred_public_rows(public)[1]
    planned = plan("ldp-glm-gaussian", public, 400, 1.0)
    rows, copy = weakref.ref(public.rows), weakref.ref(setup.centred_public_rows(public)[1])
    del public, planned
    gc.collect()
    assert rows() is None and copy() is None


def test_plans_at_several_budgets_whiten_the_public_rows_once(seed):
    """The whitened rows are those of the configuration, shared by the plans and forgotten with the public data."""
    public = sides(400, 60, 3, seed)[0]
    first, second = (plan("ldp-whitened", public, 400, mu) for mu in (1.0, 4.0))
    assert first.rows is second.rows and first.lengths is second.lengths
    anew = dataclasses.replace(first)  # as a server has it that reads a published configuration
    assert anew.rows is not first.rows
    assert np.array_equal(anew.rows, first.rows) and np.array_equal(anew.lengths, first.lengths)
    rows = weakref.ref(first.rows)
    del public, first, second, anew
    gc.collect()
    assert rows() is None


def test_the_radius_of_the_whitened_scheme_has_the_least_price(seed):
    """Sums over shells choose the radius that weighting every row by each radius chooses."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((400, 3)) * rng.exponential(1.0, (400, 1))
    public = public_from_rows(x, None, names(3), "y", ridge=0.0, family=LOGISTIC)
    z = np.linalg.solve(public.feature_root, x.T).T
    norms, chosen = np.linalg.norm(z, axis=1), set()
    for mu in (0.03, 0.3, 3.0, 300.0):

        def price(radius, mu=mu):
            weights = np.minimum(1.0, radius / norms)[:, None]
            inverse = np.linalg.inv((z * weights).T @ z / 400)
            return np.trace(inverse @ ((z * weights**2).T @ z / 1600 + (radius / mu) ** 2 * np.eye(3)) @ inverse)

        best = min(np.quantile(norms, (0, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 1)), key=price)
        assert setup.whitened_scheme(public, 400, mu, "gaussian").radius == pytest.approx(best)
        chosen.add(round(float(best), 6))
    assert len(chosen) > 1, "the budgets want different radii"


def test_scale_root_is_the_smallest_and_says_when_there_is_none(seed):
    """Against a fine grid; the negative branch for softplus; none where the curve never reaches 1."""
    s = np.random.default_rng(seed).standard_normal(4000) * 0.5
    links = map(LINKS.__getitem__, ("sigmoid", "cubic", "softplus"))
    for link in (family_link(LOGISTIC), family_link(POISSON), *links):
        c = scale_root(link, s)
        if not np.isnan(c):
            assert c * np.mean(link.curve(c * s)) == pytest.approx(1.0, abs=1e-8)
            fine = np.linspace(0, c, 500)[1:-1]
            assert all(k * np.mean(link.curve(k * s)) < 1 for k in fine)
    assert scale_root(LINKS["softplus"], s) < 0
    assert np.isnan(scale_root(family_link(LOGISTIC), 100 * s))


def test_without_noise_the_papers_scale_is_right(seed):
    """Gaussian rows, logistic: c w_ols is the true coefficient up to sampling; the intercept is recovered."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((200_000, 4))
    w = np.array([1.0, -0.5, 0.3, 0.8])
    y = (rng.random(200_000) < LOGISTIC.mean(x @ w - 0.7)).astype(float)
    centred = y - y.mean()
    ols = np.linalg.solve(x.T @ x, x.T @ centred)
    slopes, offset = scaled_coefficients(family_link(LOGISTIC), ols, PublicRows.of(x[:50_000]), float(y.mean()))
    assert np.linalg.norm(slopes - w) < 0.05 and abs(offset + 0.7) < 0.05


def relative_errors(rows: np.ndarray, seed: int, n: int, epsilon: float, ids: dict[str, dict]) -> dict[str, float]:
    """Of methods at one epsilon on rows whose labels are logistic: n private ones first, public ones after them."""
    w = np.full(rows.shape[1], rows.shape[1] ** -0.5)
    y = (np.random.default_rng((9, seed)).random(n) < LOGISTIC.mean(rows[:n] @ w)).astype(float)
    drawn = LocalDraw(rows[:n], y, rows[n:], w, LOGISTIC)
    public = drawn.public_data(len(rows) - n)
    private = drawn.private(n, public.names)
    pure = {"ldp-whitened": mu_from_pure_epsilon(epsilon)}
    by_name = {
        id: collected(id, public, private, [pure.get(id, mu_from_epsilon(epsilon, n**-1.1))], values=values, seed=seed)[
            0
        ]
        for id, values in ids.items()
    }
    return {id: float(np.linalg.norm(beta - w) / np.linalg.norm(w)) for id, beta in by_name.items()}


PRIVUNIT = {"randomizer": "privunit"}


@pytest.mark.slow
def test_ldp_whitened_reaches_what_the_design_asks():
    """Relative error at n = 1e5, d = 10, PrivUnit: at most 0.25 at epsilon 2 and 0.12 at 5; far below Algorithm 1."""
    for epsilon, most in ((2.0, 0.25), (5.0, 0.12)):
        errors = [
            relative_errors(
                np.random.default_rng(s).standard_normal((120_000, 10)),
                s,
                100_000,
                epsilon,
                {"ldp-whitened": PRIVUNIT, "ldp-glm-gaussian": {}},
            )
            for s in range(3)
        ]
        assert np.median([error["ldp-whitened"] for error in errors]) < most
        others = [error["ldp-glm-gaussian"] for error in errors]
        assert np.median(np.nan_to_num(others, nan=np.inf)) > 0.5  # no root is no estimate


@pytest.mark.slow
def test_half_the_error_on_bernoulli_rows():
    """The papers' Bernoulli setting at epsilon 10, n = 2e5: at most half the error of ldp-glm."""
    rows = np.random.default_rng(1).choice([-0.1, 0.1], (220_000, 10))
    result = relative_errors(rows, 1, 200_000, 10.0, {"ldp-whitened": PRIVUNIT, "ldp-glm": {}})
    assert result["ldp-whitened"] < 0.5 * result["ldp-glm"]


def test_a_total_is_the_sum_of_integers(seed):
    """The product of matrices gives the same integers as adding up what each row says, over several blocks."""
    public, *_ = sides(3000, 500, 4, seed)
    made = plan("ldp-glm-gaussian", public, 3000, 1.0).configuration
    x = np.random.default_rng(seed).standard_normal((70_000, 4)) * 3
    y = np.random.default_rng(seed).random(70_000)
    assert np.array_equal(made.total(x, y), made.integers(x, y).sum(axis=0))
    # With an intercept a label is sent less one half: levels of both signs.
    with_one = public_from_rows(
        np.column_stack([np.ones(40), x[:40]]), None, names(5, True), "y", ridge=0.0, family=LOGISTIC
    )
    signed = setup.moments_scheme(with_one, 3000, 1.0, True, zeta=0.05)
    wide = np.column_stack([np.ones(len(x)), x])
    assert np.array_equal(signed.total(wide, y), signed.integers(wide, y).sum(axis=0))


def test_a_row_with_a_gap_says_what_the_centre_says(seed):
    """Whatever else stands in it, wherever the gap is, in both schemes: no feature and the response 0."""
    public, *_ = sides(3000, 500, 4, seed)
    rng = np.random.default_rng(seed)
    for id in ("ldp-glm-gaussian", "ldp-whitened"):
        made = plan(id, public, 3000, 1.0).configuration
        centre = made.integers(np.broadcast_to(made.shift, (1, 4)), np.zeros(1))
        for gap in (math.nan, math.inf, -math.inf):
            x, y = rng.standard_normal((5, 4)), rng.random(5)
            x[range(4), range(4)] = gap
            y[4] = math.nan
            assert np.array_equal(made.integers(x, y), np.repeat(centre, 5, axis=0))


def test_a_collection_of_moments_at_another_budget_is_planned_alike(seed):
    """``at`` gives what planning anew gives; the whitened scheme, whose radius follows the budget, refuses."""
    public, rows, *_ = sides(3000, 500, 4, seed)
    for id in ("ldp-glm-gaussian", "ldp-glm", "ldp-glm-printed", "ldp-glm-gaussian-printed"):
        one, two = (
            made.perturb(made.measure(rows), SeededNoise(seed), 1).statistic
            for made in (plan(id, public, 3000, 1.0).with_budget(2.5), plan(id, public, 3000, 2.5))
        )
        assert np.array_equal(one, two)
    with pytest.raises(ValueError):
        plan("ldp-whitened", public, 3000, 1.0).with_budget(2.0)


def test_a_plan_takes_figures_of_public_rows_that_are_known(seed):
    """A copy has them, at other budgets too; the plan itself computes its own, and no other name is taken."""
    public = sides(300, 50, 4, seed)[0]
    made, known = plan("ldp-glm", public, 300, 1.0), np.eye(public.d)
    assert made.with_cached(gram=known).gram is known and made.with_cached(gram=known).with_budget(2.0).gram is known
    assert np.array_equal(made.gram, made.rows.T @ made.rows)
    with pytest.raises(ValueError):
        made.with_cached(mean=1.0)


def test_one_collection_answers_many_losses(seed):
    """Remark 16: another loss from the same reports, without another pass."""
    public, rows, w, *_ = sides(50_000, 500, 4, seed)
    outcome = plan("ldp-whitened", public, 50_000, 3.0).run(rows, SeededNoise(seed), 1)
    logistic, boosting = outcome.fit("logistic")[0], outcome.fit("boosting")[0]
    assert np.linalg.norm(logistic - w) < 0.3
    assert np.linalg.norm(boosting) > 0 and not np.allclose(logistic, boosting)
    assert np.array_equal(outcome.coefficients[0], logistic)


@pytest.mark.slow
def test_bands_cover_the_truth():
    """95 % bands of ldp-whitened over 60 draws, four coefficients each."""
    inside = 0
    for seed in range(60):
        public, rows, w, *_ = sides(20_000, 400, 4, 500 + seed)
        bands = plan("ldp-whitened", public, 20_000, 2.0).run(rows, SeededNoise(seed), 1).bands()
        inside += int(np.sum((bands.low <= w) & (w <= bands.high)))
    assert inside / 240 > 0.89


def files(tmp_path, scheme, seed=1, n=4000):
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((n + 500, 3)) + np.array([0, 5, 0])
    y = (rng.random(n + 500) < LOGISTIC.mean(x @ [1, -0.5, 0.5] + 2)).astype(int)
    rows = [",".join(["a", "b", "c", "y"])] + [",".join(map(str, [*xi, yi])) for xi, yi in zip(x, y, strict=True)]
    (tmp_path / "public.csv").write_text("\n".join([rows[0], *rows[n + 1 :]]))
    (tmp_path / "own.csv").write_text("\n".join(rows[: n + 1]))
    budget = ["--epsilon", "8"] if scheme == "whitened" else ["--mu", "4"]
    command = ["local", "configure", "--public", str(tmp_path / "public.csv"), "--target", "y", "--scheme", scheme]
    assert main([*command, *budget, "--out", str(tmp_path / "c.json")]) == 0


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["whitened", "moments"])
@pytest.mark.parametrize("kind", ["jsonl", "parquet"])
def test_configure_randomize_aggregate(tmp_path, capsys, scheme, kind):
    """The three halves as commands; the estimate is near the truth, the counts add up."""
    files(tmp_path, scheme)
    common = ["--config", str(tmp_path / "c.json")]
    reports = str(tmp_path / f"r.{kind}")
    assert main(["local", "randomize", *common, "--rows", str(tmp_path / "own.csv"), "--out", reports]) == 0
    capsys.readouterr()
    assert (
        main(["local", "aggregate", *common, "--reports", reports, "--public", str(tmp_path / "public.csv"), "--json"])
        == 0
    )
    record = json.loads(capsys.readouterr().out)
    assert record["counts"]["accepted"] == 4000 == record["n"]
    assert set(record["coefficients"]) == {"(intercept)", "a", "b", "c"}
    if scheme == "whitened":
        assert abs(record["coefficients"]["a"] - 1) < 0.6
        assert set(record["bands"]["a"]) == {"privacy", "sampling", "low", "high"}


def test_reports_hold_nothing_else(tmp_path):
    """A report has a version, the configuration's digest, a random id and the randomized vector."""
    files(tmp_path, "whitened")
    made = Configuration.from_json(
        json.dumps(
            {k: v for k, v in json.loads((tmp_path / "c.json").read_text()).items() if k not in ("family", "positive")}
        ).encode()
    )
    lines = [json.loads(line) for line in report_lines(np.ones((3, made.dimension)), made.digest)]
    assert all(set(line) == {"v", "c", "id", "r"} for line in lines)
    assert len({line["id"] for line in lines}) == 3
    assert Configuration.from_json(json.dumps(made.as_dict()).encode()).digest == made.digest


def test_hostile_reports_are_left_out_and_counted(tmp_path):
    """Malformed, duplicate, truncated, huge, NaN, wrong version: each is counted, none is in the mean."""
    public, _, _, x, y = sides(300, 60, 3, 1)
    made = setup.whitened_scheme(public, 300, 1.0, "privunit", epsilon=2.0)
    good = list(report_lines(made.randomize(x, y, SeededNoise(1)), made.digest))
    one = json.loads(good[0])
    bad = [
        "{",
        "[]",
        "null",
        json.dumps({**one, "v": VERSION + 1}),
        json.dumps({**one, "c": "other"}),
        json.dumps({**one, "id": "zz"}),
        json.dumps({**one, "r": one["r"][:2]}),
        json.dumps({**one, "r": [1e300] * 3}),
        json.dumps({**one, "r": [float("nan")] * 3}),
        json.dumps({**one, "r": ["1", "2", "3"]}),
        json.dumps({**one, "r": {"a": 1}}),
        json.dumps({k: v for k, v in one.items() if k != "r"}),
        good[0],
        good[-1][: len(good[-1]) // 2],
    ]
    path = tmp_path / "r.jsonl"
    path.write_text("\n".join([*good, *bad]) + "\n")
    tally = tally_file(path, made)
    assert tally.accepted == 300
    assert sum(tally.counts.values()) == 300 + len(bad)
    clean = tmp_path / "clean.jsonl"
    clean.write_text("\n".join(good))
    assert np.allclose(tally.mean, tally_file(clean, made).mean)
    assert tally.counts["duplicate"] == 1 and tally.counts["impossible"] == 2
    for line in bad:
        single = Tally(made)
        single.add_lines([line.encode()])
        assert single.accepted == (line == good[0])


def test_gaussian_reports_beyond_reach_are_refused():
    """A Gaussian report beyond its bound plus 12 sd cannot have come from the randomizer."""
    public, _, _, x, y = sides(50, 60, 3, 1)
    for made in (
        setup.whitened_scheme(public, 50, 1.0, "gaussian"),
        setup.moments_scheme(public, 50, 1.0, True, zeta=0.05),
    ):
        reports = made.randomize(x, y, SeededNoise(2))
        assert made.possible_reports(reports).all()
        reports[0, 0] = 1e9
        assert not made.possible_reports(reports)[0]


def test_unfolded_moments_are_the_moments(seed):
    """Mean reports without noise unfold to the Gram matrix and the cross moment."""
    public, _, _, x, y = sides(50, 60, 3, seed)
    made = setup.moments_scheme(public, 50, 1.0, True, zeta=1e-6)
    gram, cross = moments_from_reports(made.statistic(x, y).mean(axis=0), 3)
    centred = x - made.shift
    step = made.radius / 2**15
    assert np.allclose(gram, centred.T @ centred / 50, atol=step * made.radius)
    assert np.allclose(cross, centred.T @ y / 50, atol=2 * step)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["local", "configure", "--target", "y"], "needs --public"),
        (["local", "aggregate", "--reports", "r.jsonl"], "needs --config"),
        (["local", "randomize", "--config", "{bad}", "--rows", "x.csv", "--out", "o"], "not a local configuration"),
    ],
)
def test_bad_input_is_one_sentence(tmp_path, capsys, arguments, words):
    """Exit 2 and one line that says what to do."""
    bad = tmp_path / "bad.json"
    bad.write_text('{"version": 1}')
    assert main([a.replace("{bad}", str(bad)) for a in arguments]) == 2
    err = capsys.readouterr().err
    assert words in err and len(err.strip().splitlines()) == 1


def test_families_of_the_registry(seed):
    """Counts need a declared bound without public labels; an intercept has no place in a nonlinear regression."""
    public, rows, w, *_ = sides(50_000, 8000, 3, seed, fam=POISSON, size=0.5)
    with refused(LocalMessage.RESPONSE_BOUND_NEEDED):
        plan("ldp-whitened", public, 50_000, 3.0)
    result = plan("ldp-whitened", public, 50_000, 3.0, response_bound=8.0).run(rows, SeededNoise(seed), 5)
    assert np.median(np.linalg.norm(result.coefficients - w, axis=1)) < 0.5 * np.linalg.norm(w)
    assert family("poisson") is POISSON
