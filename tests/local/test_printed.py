"""The printed local algorithms: to the letter, never released, and the leak an attacker sees."""

from __future__ import annotations

import dataclasses
import math

import mpmath
import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.stats import chi2, fisher_exact

from pmtcore.accounting.budgets import Budget, epsilon_from_mu
from pmtcore.auditing import attacks
from pmtcore.auditing.lower_bound import audit
from pmtcore.base.labels import ReleaseStatus
from pmtcore.base.messages import ReleaseMessage
from pmtcore.base.private_rows import PrivateRows
from pmtcore.glm.families import family
from pmtcore.local import setup
from pmtcore.local.estimators import LINKS, family_link, scale_root
from pmtcore.local.printed import classical_size, printed_sds, symbol_attack
from pmtcore.local.protocol import moments_from_reports
from pmtcore.mechanisms.noise import SecureNoise, SeededNoise, ZeroNoise
from pmtcore.methods.registry import make_parameters, method
from pmtcore.public.moments import PublicData, public_from_rows
from pmtcore.releases.release import Request, release
from pmtcore.tables.problem import Choices, prepare
from pmtcore.tables.table import read_table
from tests.helpers import FALSE_ALARM, TEST, names, plan, refused
from tests.local.test_protocol import sides

PRINTED = ["ldp-glm-gaussian-printed", "ldp-glm-printed"]


def test_the_attack_as_the_audit_page_shows_it():
    """E5 in the words of the page: the printed device breaks the claim of epsilon 1, the clipping one does not."""
    printed, clipped = attacks.symbol(), attacks.symbol(printed=False)
    assert printed.refutes and (printed.without, printed.with_row) == (0, printed.runs)
    assert not clipped.refutes and 0 < clipped.without < clipped.runs
    assert "row on the radius" in printed.sentence


def moments(seed=1):
    public, *_ = sides(10, 60, 3, seed)
    return setup.moments_scheme(public, 1000, 1.0, True, zeta=0.05)


def test_the_symbol_gives_a_row_away_every_time(seed):
    """E5: the attacker is right in all of 2,000 trials without one false alarm: delta = 1."""
    attacked = symbol_attack(moments(), 2000, SeededNoise(seed), printed=True)
    assert attacked.detections == 1.0 and attacked.false_alarms == 0.0


@pytest.mark.slow
@pytest.mark.parametrize("source", [SeededNoise(3), SecureNoise()])
def test_clipping_leaves_the_attacker_guessing(source):
    """E5 repaired: caught as often as falsely accused, by Fisher's exact test, with 4,000 reports of each row."""
    attacked = symbol_attack(moments(), 4000, source, printed=False)
    counts = [[round(rate * 4000), round((1 - rate) * 4000)] for rate in (attacked.detections, attacked.false_alarms)]
    assert fisher_exact(counts).pvalue > FALSE_ALARM


def test_a_leak_of_half_a_deviation_would_be_seen():
    """Power of the test above: rows outside clipped a little later, by a hundredth of the radius at large mu."""
    made = dataclasses.replace(moments(), mu=100.0)
    late = dataclasses.replace(made, radius=made.radius * 1.01)
    row = made.shift + np.array([[0, 0, 1.01 * made.radius]])
    on = made.shift + np.array([[0, 0, made.radius]])
    expected = made.statistic(on, np.ones(1))[0]
    rates = []
    for at, candidate in enumerate((row, on)):
        reports = late.randomize(np.repeat(candidate, 4000, 0), np.ones(4000), SeededNoise(at))
        rates.append(float(np.mean((reports - expected) @ (expected / late.noise_sds() ** 2) > 0)))
    counts = [[round(rate * 4000), round((1 - rate) * 4000)] for rate in rates]
    assert fisher_exact(counts).pvalue < FALSE_ALARM


def test_printed_noise_by_hand():
    """C, Algorithm 1: variances 32 r^4 log(2.5/delta)/eps^2 and 32 r^2 log(2.5/delta)/eps^2, on the matrix itself."""
    made = moments()
    sds = printed_sds(made, 2.0, 1e-4)
    unit = math.sqrt(32 * math.log(2.5e4)) / 2.0
    assert classical_size(2.0, 1e-4) == pytest.approx(unit)
    noise = np.diag(sds)  # one coordinate at a time
    gram, cross = moments_from_reports(noise, 3)
    entries = np.abs(gram).sum(axis=0)[np.triu_indices(3)]
    assert np.allclose(entries, made.radius**2 * unit) and np.allclose(cross.sum(axis=0), made.radius * unit)


def _exact_delta(epsilon, mu):
    """Return delta of the Gaussian mechanism at epsilon, in thirty digits."""
    with mpmath.workdps(30):
        return mpmath.ncdf(mu / 2 - epsilon / mu) - mpmath.exp(epsilon) * mpmath.ncdf(-mu / 2 - epsilon / mu)


def test_the_classical_formula_fails_a_part_but_not_the_total_at_20():
    """E6: at epsilon 20, n = 1e4 a part has 2.39 times its delta; the algorithm keeps its own up to 88.

    Lemma 4 by itself gives twice its delta at epsilon 10 (n = 1e5).
    """
    delta = 1e4**-1.1
    rng = np.random.default_rng(1)
    rows = rng.standard_normal((2, 20_000, 2))
    x, z = rows / np.linalg.norm(rows, axis=-1, keepdims=True)
    squares = np.einsum("ki,kj->kij", x, x) - np.einsum("ki,kj->kij", z, z)
    far = np.sum(squares**2, axis=(1, 2)) + np.maximum(*(np.sum((x + sign * z) ** 2, axis=1) for sign in (1, -1)))
    assert 4.499 < far.max() <= 4.5 + 1e-12

    def excess(epsilon, share, size):
        at = _exact_delta(share * epsilon, mpmath.sqrt(size) / classical_size(epsilon, delta))
        return float(mpmath.log(at / (share * delta)))

    assert math.exp(excess(20.0, 0.5, 4.0)) == pytest.approx(2.39, abs=0.01)
    assert brentq(excess, 10, 30, args=(0.5, 4.0)) == pytest.approx(16.6, abs=0.05)
    assert brentq(excess, 60, 120, args=(1.0, 4.5)) == pytest.approx(88.7, abs=0.1)
    alone = 10 / math.sqrt(2 * math.log(1.25 / 1e5**-1.1))
    assert _exact_delta(10.0, alone) / 1e5**-1.1 == pytest.approx(2.07, abs=0.01)


@pytest.mark.slow
@pytest.mark.parametrize("id", PRINTED)
def test_printed_forms_can_be_audited(id):
    """One row, as the audit runs local methods."""
    assert audit(id, trials=1000).claimed == 1.0


@pytest.mark.parametrize("id", PRINTED)
def test_printed_forms_are_for_the_lab(id):
    """Standing lab, and a release is refused in one sentence."""
    assert method(id).standing is ReleaseStatus.LAB
    rng = np.random.default_rng(1)

    def table(rows, role):
        x = rng.standard_normal((rows, 2))
        lines = [f"{a},{b},{int(a > 0)}" for a, b in x]
        return read_table("\n".join(["a,b,y", *lines]).encode(), f"{role}.csv", role)

    problem = prepare(table(60, "private"), table(50, "public"), Choices(target="y", family="logistic"))
    with refused(ReleaseMessage.LAB_METHOD, method=id):
        release(problem, Request.from_dict({"method": id, "mu": 1.0}), SecureNoise())


def test_no_sound_local_method_has_less_noise_than_its_budget():
    """At every budget, whatever its parameters: sensitivity over noise of both parts together is at most mu."""
    public, *_ = sides(10_000, 60, 4, 1)
    for id in ("ldp-glm-gaussian", "ldp-glm", "ldp-nlr-gaussian", "ldp-nlr"):
        for mu in (0.1, 1.0, 12.0, 100.0):
            planned = plan(id, public, 10_000, mu)
            r, y = planned.configuration.radius, planned.configuration.response_bound
            first, second = planned.noise_sds[0], planned.noise_sds[-1]
            # cosine of two rows on the radius with opposite responses (proofs/sensitivity.md, 3.5)
            t = np.linspace(0, 1, 1001)
            cost = 2 * (1 - t**2) * (r**2 / first) ** 2 + 2 * (1 + t) * (r * y / second) ** 2
            assert 0.999 * mu <= math.sqrt(np.max(cost)) <= mu
            assert np.allclose(planned.noise_sds[:-4], first)


@pytest.mark.parametrize("id", PRINTED)
def test_without_noise_the_printed_form_is_the_repaired_one(id, seed):
    """Rows inside the radius, no noise: one estimate. The l1 radius is at least the Euclidean one (E7)."""
    public, rows, *_ = sides(3000, 400, 3, seed)
    repaired, printed = plan(id.removesuffix("-printed"), public, 3000, 2.0), plan(id, public, 3000, 2.0)
    assert printed.repaired.configuration.radius >= repaired.configuration.radius
    wide = plan("ldp-glm-gaussian", public, 3000, 2.0).run(rows, ZeroNoise(), 1).coefficients
    if id == PRINTED[0]:
        assert np.allclose(printed.run(rows, ZeroNoise(), 1).coefficients, wide)


def test_rows_outside_are_missing_from_the_printed_mean():
    """A row outside the radius takes part in the repaired mean and not in the printed one."""
    public, _, _, x, y = sides(50, 60, 3, 1)
    far = np.vstack([x, [[1e4, 0, 0]]])
    rows = PrivateRows.from_arrays(far, np.append(y, 1.0), names(3))
    printed = plan("ldp-glm-gaussian-printed", public, 51, 2.0)
    made = printed.repaired.configuration
    assert np.allclose(printed.measure(rows).reveal(TEST), made.statistic(x, y).mean(axis=0))
    assert not np.allclose(printed.repaired.measure(rows).reveal(TEST), made.statistic(x, y).mean(axis=0))


@pytest.mark.parametrize("id", PRINTED)
def test_counts_enter_as_they_are_where_the_listing_only_assumes_a_bound(id):
    """Counts above 1 are in the mean of x y, exactly; noise and x x' are those of |y| <= 1 (E19)."""
    rng = np.random.default_rng(8)
    x, y = rng.uniform(-0.4, 0.4, (40, 3)), rng.poisson(3.0, 40).astype(float)
    factor = np.diag([*np.sqrt(np.mean(x**2, axis=0)), 1.0])
    public = PublicData(names(3), "y", factor, 40, np.column_stack([x, 0 * y]), family("poisson"), labelled=False)
    entry = method(id)

    def made(responses: str):
        values = {"response_bound": 1.0, "responses": responses}
        return entry.plan(public, 40, Budget(1.0), make_parameters(entry, values))

    as_they_are, clipped = made("as they are"), made("clipped")
    rows = PrivateRows.from_arrays(x, y, names(3))
    centred = x - as_they_are.repaired.configuration.shift
    means = [each.measure(rows).reveal(TEST) for each in (as_they_are, clipped)]
    assert np.allclose(means[0][-3:], centred.T @ y / 40, atol=1e-3)
    assert np.allclose(means[1][-3:], centred.T @ np.minimum(y, 1) / 40, atol=1e-3)
    assert np.array_equal(means[0][:-3], means[1][:-3]) and np.max(y) > 4
    assert np.array_equal(as_they_are.noise_sds, clipped.noise_sds)


def test_printed_noise_is_drawn_as_stated(seed):
    """Chi-square of 2,000 releases against the stated sds; 20 % less would be seen."""
    public, rows, *_ = sides(400, 60, 3, seed)
    planned = plan("ldp-glm-gaussian-printed", public, 400, 1.0)
    exact = planned.measure(rows).reveal(TEST)
    sds = planned.noise_sds / 20
    delta = 400**-1.1
    assert planned.noise_sds[-1] == pytest.approx(
        planned.repaired.configuration.radius * math.sqrt(32 * math.log(2.5 / delta)) / epsilon_from_mu(1.0, delta)
    )
    z = ((planned.run(rows, SeededNoise(seed), 2000).statistic - exact) / sds).ravel()
    assert FALSE_ALARM < chi2.cdf(np.sum(z**2), z.size) < 1 - FALSE_ALARM
    assert chi2.cdf(0.64 * np.sum(z**2), z.size) < FALSE_ALARM


@pytest.mark.parametrize(("link", "bound"), [("cubic", 0.0326228), ("sigmoid", 0.25 * 10**-0.5 + 0.501)])
def test_the_bound_of_algorithms_3_and_4(link, bound):
    """``L r + |f(0)| + C`` on Bernoulli rows with p = 10 is what responses are clipped to, once C is declared."""
    x = np.random.default_rng(3).choice([-0.1, 0.1], (400, 10))
    x = np.vstack([x, -x])  # centred, so that the radius is that of the rows
    public = public_from_rows(x, None, names(10), "y", ridge=0.0, family=family("gaussian"))
    values = {"link": link, "noise_bound": 0.001}
    assert plan("ldp-nlr", public, 100, 1.0, **values).configuration.high == pytest.approx(bound, rel=1e-5)
    printed = plan("ldp-nlr-printed", public, 100, 1.0, **values)
    made = printed.repaired.configuration
    assert made.radius == pytest.approx(1.0) and made.high == pytest.approx(
        LINKS[link].largest_slope(1.0) + abs(LINKS[link].value(np.zeros(1))[0]) + 0.001
    )
    epsilon, delta = epsilon_from_mu(1.0, 100**-1.1), 100**-1.1
    assert printed.noise_sds[-1] == pytest.approx(made.high * math.sqrt(32 * math.log(2.5 / delta)) / epsilon)


@pytest.mark.slow
@pytest.mark.parametrize("size", [0.3, 3.0, 60.0, 1e4])
def test_a_steep_curve_is_asked_where_rows_see_it(size):
    """The root of all rows, or none, is that of a plain scan; few rows stand near the bend of a steep curve."""
    asked = []
    link = family_link(family("logistic"))

    def curve(z):
        asked.append(len(z))
        return link.curve(z)

    scores = size * np.random.default_rng(3).standard_normal(50_000)
    result = scale_root(dataclasses.replace(link, curve=curve), scores)
    grid = np.geomspace(1e-4, 1e4, 801)
    above = [float(c) for c in grid if c * np.mean(link.curve(c * scores)) >= 1]
    assert np.isnan(result) == (not above)
    if above:
        assert result == pytest.approx(
            brentq(lambda c: c * np.mean(link.curve(c * scores)) - 1, 1e-5, above[0]), rel=1e-9
        )
    assert sum(asked) < 100 * len(scores)  # a scan of all rows asks each 801 times


def test_the_scale_is_that_of_all_rows(seed):
    """The scan sees means of neighbouring scores; the root is the one that all rows have, by an independent solver."""
    scores = np.random.default_rng(seed).standard_normal(30_000) * 0.2
    for link, most in ((LINKS["sigmoid"], 6.0), (LINKS["cubic"], 60.0)):
        result = scale_root(link, scores)
        assert result == pytest.approx(
            brentq(lambda c, link=link: c * np.mean(link.curve(c * scores)) - 1, 1e-6, most, xtol=1e-14)
        )
