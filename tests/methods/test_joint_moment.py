"""``joint-moment``: the moment it releases, the bands around what follows, the record, and what it refuses."""

from __future__ import annotations

import copy
import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pmtcore.auditing.faults import UnderscaledNoise
from pmtcore.auditing.lower_bound import audit
from pmtcore.base.messages import InputError, MethodMessage, PublicMessage, RecordMessage
from pmtcore.base.private_rows import PrivateRows
from pmtcore.explore.functionals import Marginals
from pmtcore.mechanisms.noise import SecureNoise, SeededNoise, ZeroNoise
from pmtcore.methods.joint_moment.derived import Rule, parse
from pmtcore.methods.joint_moment.influence import GaussianInfluence, Moments, RowInfluence
from pmtcore.methods.joint_moment.linear import floor_moments, solve
from pmtcore.methods.joint_moment.method import _kurtosis, candidate_radii, row_norm
from pmtcore.methods.joint_moment.record import Record, _digest, record_from_bytes
from pmtcore.public.moments import INTERCEPT, public_from_moment, public_from_rows
from tests.helpers import TEST, plan, refused

NAMES = (INTERCEPT, "a", "b", "c")


def table(n, seed, heavy=False):
    rng = np.random.default_rng(seed)
    z = rng.standard_t(5, (n, 3)) if heavy else rng.standard_normal((n, 3))
    x = np.column_stack([np.ones(n), 5 + z[:, 0], 100 + 20 * z[:, 1], np.exp(rng.standard_normal(n) / 2)])
    return x, x @ [1.0, 2.0, 0.05, -1.0] + rng.standard_normal(n)


def both(n=4000, m=150, seed=1, heavy=False):
    x, y = table(m, seed, heavy)
    px, py = table(n, seed + 1000, heavy)
    return public_from_rows(x, y, NAMES, "y"), PrivateRows.from_arrays(px, py, NAMES), np.column_stack([px, py])


def exact(z, t, features):
    return np.linalg.lstsq(z[:, features], z[:, t], rcond=None)[0]


def state_of(result, outcome):
    return outcome.state()


def test_without_noise_and_truncation_every_regression_is_the_exact_one():
    """Any response on any columns: what least squares on the private rows gives."""
    public, rows, z = both()
    planned = plan("joint-moment", public, rows.n, 1.0, radius=60.0, shrinkage="none")
    state = state_of(planned, planned.run(rows, ZeroNoise(), 1))
    for t, features in ((4, [0, 1, 2, 3]), (1, [0, 4]), (3, [0, 2, 4]), (2, [1, 3])):
        assert np.allclose(solve(state, t, features).coefficients, exact(z, t, features), rtol=1e-3, atol=1e-3)
    ridge = solve(state, 4, [0, 1, 2], 3.0).coefficients
    gram = z[:, :3].T @ z[:, :3] / len(z) + np.diag([0.0, 3.0, 3.0])
    assert np.allclose(
        ridge, np.linalg.solve(gram, z[:, :3].T @ z[:, 4] / len(z)), rtol=5e-3
    )  # the grid at this radius


@pytest.mark.slow
def test_the_covariance_of_the_noise_is_what_noise_does(seed):
    """3000 releases of one table: the spread of coefficients against the formula, within what 3000 draws allow."""
    public, rows, _ = both(n=3000)
    planned = plan("joint-moment", public, rows.n, 2.0, radius=8.0, shrinkage="none")
    outcome = planned.perturb(planned.measure(rows), SeededNoise(seed), 3000)
    clean = state_of(planned, planned.run(rows, ZeroNoise(), 1))
    for t, features in ((4, [0, 1, 2, 3]), (2, [0, 4])):
        drawn = [solve(planned.state(m), t, features).coefficients for m in outcome.statistic]
        cov, stated = np.cov(np.array(drawn).T), solve(clean, t, features).privacy
        scale = np.sqrt(np.outer(np.diag(stated), np.diag(stated)))
        assert np.max(np.abs(cov - stated) / scale) < 0.2  # five standard errors of a variance from 3000 draws are 0.13
        assert np.max(np.abs(0.64 * cov - stated) / scale) > 0.2  # noise 20 % too small would fail


@pytest.mark.slow
def test_what_is_borrowed_from_public_rows_has_their_covariance(seed):
    """At a budget near zero the fit is the public one: its spread over 200 public samples against the stated part."""
    stated, found_at = [], []
    px, py = table(4000, 77)
    rows = PrivateRows.from_arrays(px, py, NAMES)
    for at in range(200):
        public = public_from_rows(*table(100, 1000 * seed + at), NAMES, "y")
        planned = plan("joint-moment", public, 4000, 1e-4, radius=8.0)
        fit = solve(planned.run(rows, SeededNoise(at), 1).state(), 4, [0, 1, 2, 3])
        stated.append(fit.privacy)
        found_at.append(fit.coefficients)
    spread = np.std(found_at, axis=0)[1:]
    claimed = np.sqrt(np.median(stated, axis=0).diagonal())[1:]
    assert np.all((claimed / spread > 0.7) & (claimed / spread < 1.4)), claimed / spread


@pytest.mark.parametrize("m", [8, 25, 150])
def test_a_left_out_row_has_the_same_constant_and_is_as_long(m):
    public, _, _ = both(m=m)
    rows = row_norm(public, "tails")
    assert np.array_equal(rows.left_out[:, 0], rows.inside[:, 0])
    assert np.allclose(rows.lengths, rows.factor * np.linalg.norm(rows.inside, axis=1))


@pytest.mark.parametrize("intercept", [True, False])
def test_bands_and_records_leave_rows_out_as_the_plan_does(intercept):
    x, y = table(25, 4)
    names = NAMES if intercept else ("d", *NAMES[1:])
    public = public_from_rows(x, y, names, "y")
    planned = plan("joint-moment", public, 2000, 1.0, public_rows="yes")
    record = planned.run(PrivateRows.from_arrays(*table(2000, 5), names), SeededNoise(1), 1).record()
    again = Record.from_dict(json.loads(json.dumps(record.as_dict())))
    assert np.array_equal(planned.influence.left_out, planned.rows.left_out)
    assert np.allclose(again.influence.left_out, planned.rows.left_out, rtol=1e-4)
    grows = np.linalg.norm(planned.rows.left_out, axis=1) / np.linalg.norm(planned.rows.inside, axis=1)
    assert np.allclose(grows, planned.rows.factor)
    assert np.allclose(planned.rows.left_out[:, 0], planned.rows.inside[:, 0]) == intercept


@pytest.mark.parametrize("m", [10, 25, 150])
def test_without_noise_spreads_are_the_private_ones_however_few_public_rows(m):
    """The public moment says what the constant squared is: 1, not what whitening makes of it."""
    public, rows, z = both(m=m)
    planned = plan("joint-moment", public, rows.n, 300.0, radius=100.0)
    marginals = Marginals(state_of(planned, planned.run(rows, ZeroNoise(), 1)))
    assert planned.expected_moment[0, 0] == pytest.approx(1.0)
    assert np.allclose(marginals.spreads().values, z[:, 1:].std(axis=0), rtol=0.02)
    assert np.allclose(marginals.means().values, z[:, 1:].mean(axis=0), rtol=0.02, atol=0.02)


def test_what_stands_out_of_the_noise_is_no_higher_for_an_expectation_that_is():
    """Few public rows expect a hundred times too much; what the noise hides is raised, by twice its scale at most."""
    rng = np.random.default_rng(3)
    axes = np.linalg.qr(rng.standard_normal((4, 4)))[0]
    moment = (axes * [0.5, 1.0, 2.0, 9.0]) @ axes.T
    expected = np.diag([1.0, 50.0, 100.0, 300.0])
    assert floor_moments(moment, expected, 0.01) is moment
    for sigma in (0.1, 1.0, 100.0):
        raised = floor_moments(np.stack([moment, moment - 5 * np.eye(4)]), expected, sigma)
        assert np.all(np.linalg.eigvalsh(raised) > 0)
        by = np.linalg.eigvalsh(raised[0] - moment)
        assert by[0] > -1e-9 and by[-1] <= 2 * sigma
    hidden = floor_moments(-moment, expected, 1e9)
    assert np.allclose(hidden, expected / 20, rtol=1e-6), "with much noise a twentieth of what is expected is left"


def test_what_truncation_takes_is_added_back_in_the_units_of_the_table():
    """Public rows that are all cut to next to nothing come back as the public moment."""
    public, rows, _ = both(m=25)
    planned = plan("joint-moment", public, rows.n, 1.0, radius=1e-3)
    back = planned.root @ planned.influence.removed_moment @ planned.root.T
    assert np.allclose(back, public.rows.T @ public.rows / public.m, rtol=1e-4)
    record = Record.from_dict(json.loads(json.dumps(planned.run(rows, SeededNoise(1), 1).record().as_dict())))
    assert np.allclose(record.influence.removed_moment, planned.influence.removed_moment)


@pytest.mark.parametrize("far", [5.0, 50.0, 5000.0])
def test_one_far_public_row_is_at_most_half_of_what_coordinates_come_from(far):
    """However far out it is: its direction counts at most twice what the other rows say of it."""
    x = np.random.default_rng(3).standard_normal((300, 4))
    x[0] = [0, far, 0, 0]
    with_it, without = (_kurtosis(z, np.sum(z**2, axis=1)) for z in (x, x[1:]))
    assert with_it[1, 1] <= 2.1 * without[1, 1] and np.allclose(with_it[0, 0], without[0, 0], rtol=0.1)


@pytest.mark.slow
@pytest.mark.parametrize("share", ["yes", "no"])
@pytest.mark.parametrize("mu", [0.1, 0.3, 1.5])
def test_bands_hold_the_exact_coefficients_whatever_is_asked(mu, share, seed):
    """Sixty tables with Student columns (5), three regressions each: nine in ten of the exact coefficients."""
    hits = []
    for at in range(60):
        public, rows, z = both(2000, 100, 10 * seed + at, heavy=True)
        planned = plan("joint-moment", public, rows.n, mu, radius_mode="inference", public_rows=share)
        record = planned.run(rows, SeededNoise(at), 1).record()
        for t, features in ((4, [0, 1, 2, 3]), (1, [0, 3]), (3, [0, 1, 4])):
            fit = solve(record.state(), t, features)
            b = exact(z, t, features)
            hits += list((fit.bands.low <= b) & (b <= fit.bands.high))
    assert np.mean(hits) >= 0.88


@settings(max_examples=60, deadline=None)
@given(st.lists(st.floats(-1e6, 1e6), min_size=8, max_size=8), st.floats(0.5, 20.0))
def test_no_pair_of_rows_moves_it_further_than_stated(values, radius):
    """Frobenius norm of the change of the mean moment: at most sqrt(2) R^2/n, whatever the two rows."""
    public, _, _ = both(m=60)
    planned = plan("joint-moment", public, 1, 1.0, radius=radius, derived="a:b; square(c); log(a)")
    one, two = (
        planned.measure(PrivateRows.from_arrays(np.array([[1.0, *row[:3]]]), np.array([row[3]]), NAMES)).reveal(TEST)
        for row in (values[:4], values[4:])
    )
    change = (one - two).astype(float) * (radius / 2**15) ** 2
    (part,) = planned.parts()
    assert np.linalg.norm(change) <= part.sensitivity * (1 + 1e-9)


def test_the_stated_sensitivity_is_reached():
    """Rows at right angles at the radius."""
    public, _, _ = both(m=60)
    planned = plan("joint-moment", public, 1, 1.0, radius=2.0)
    rows = [1e6 * planned.root[:, j] for j in (3, 4)]
    one, two = (planned.measure(PrivateRows.from_arrays(row[None, :-1], row[-1:], NAMES)).reveal(TEST) for row in rows)
    change = np.linalg.norm((one - two).astype(float)) * (2.0 / 2**15) ** 2
    assert change == pytest.approx(planned.parts()[0].sensitivity, rel=1e-3)


@pytest.mark.slow
def test_audit_comes_near_the_claim_and_catches_less_noise():
    """At least 0.8 of the claim at 20,000 runs; noise a fifth too small is a violation."""
    audited = audit("joint-moment", 1.0, 20_000)
    assert not audited.violated and audited.lower_bound >= 0.8
    assert audit("joint-moment", 1.0, 20_000, noise=lambda source: UnderscaledNoise(source, 0.8)).violated


def test_integer_noise_from_the_system(seed):
    """A release uses the secure source, differs each time, and its sum stays on the grid."""
    public, rows, _ = both(n=500)
    planned = plan("joint-moment", public, rows.n, 1.0)
    one, two = (planned.run(rows, SecureNoise(), 1).statistic[0] for _ in range(2))
    assert np.all(one[np.triu_indices(5)] != two[np.triu_indices(5)])
    steps = one * planned.n / (planned.radius / 2**15) ** 2
    assert np.allclose(steps, np.rint(steps), atol=1e-3)


def test_derived_columns_by_name():
    """Rules take their constants from public rows, and are columns like others; bad ones get a sentence."""
    public, rows, z = both()
    text = "log(c); square(a); a:b; product(a, c); spline(b, 4)"
    planned = plan("joint-moment", public, rows.n, 5.0, radius=60.0, derived=text, shrinkage="none")
    assert planned.derived.names[4:] == ("log(c)", "square(a)", "a:b", "a:c", "spline(b)[1]", "spline(b)[2]", "y")
    state = state_of(planned, planned.run(rows, ZeroNoise(), 1))
    complete = planned.derived.extend(z)
    assert np.allclose(solve(state, 10, [0, 1, 6]).coefficients, exact(complete, 10, [0, 1, 6]), rtol=0.02, atol=0.02)
    knots = np.array(planned.derived.rules[-1].constants[:-1])
    beyond = planned.derived.rules[-1].apply([knots[-1] + np.arange(3.0) * 10])
    assert np.allclose(np.diff(beyond, 2), 0, atol=1e-9 * abs(beyond).max())  # linear beyond the knots
    for bad in ("log(q)", "cube(a)", "a:q", "spline(b, 2)", "square(a); square(a)", "a;b"):
        with pytest.raises(InputError):
            plan("joint-moment", public, rows.n, 5.0, derived=bad)
    with refused(PublicMessage.COLLINEAR):
        plan("joint-moment", public, rows.n, 5.0, derived="log(c); a:b; b:a")


def test_columns_that_matter_most_get_less_noise():
    """Regressions of the column named cost less, those of others no less than before; the guarantee is the same."""
    public, rows, z = both()
    plain, leaned = (plan("joint-moment", public, rows.n, 0.5, radius=6.0, important=name) for name in ("", "y"))
    assert leaned.parts()[0].sensitivity == plain.parts()[0].sensitivity
    noise = {}
    for result in (plain, leaned):
        state = result.state(result.expected_moment)
        noise[result is leaned] = [np.median(np.diag(solve(state, t, [0, 1, 2]).privacy)) for t in (4, 3)]
    assert noise[True][0] < noise[False][0] and noise[True][1] >= 0.99 * noise[False][1]
    wide = plan("joint-moment", public, rows.n, 5.0, radius=60.0, shrinkage="none", important="y; a")
    state = state_of(wide, wide.run(rows, ZeroNoise(), 1))
    assert np.allclose(solve(state, 4, [0, 1, 2]).coefficients, exact(z, 4, [0, 1, 2]), rtol=1e-2, atol=1e-2)
    for bad in ("q", INTERCEPT):
        with refused(MethodMessage.NO_IMPORTANT_COLUMN):
            plan("joint-moment", public, rows.n, 1.0, important=bad)
    moment = public_from_moment(public.moment, public.names, public.target, public.m)
    with refused(MethodMessage.IMPORTANT_NEED_ROWS):
        plan("joint-moment", moment, rows.n, 3.0, important="y")


def test_a_private_row_that_overflows_is_a_row_of_zeros():
    """Nothing about one row may change when or how loudly anything fails."""
    public, _, _ = both()
    planned = plan("joint-moment", public, 2, 1.0, derived="square(a); log(b)")
    x = np.array([[1.0, 1e200, -5.0, 1.0], [1.0, 5.0, 100.0, 1.0]])
    alone = planned.measure(PrivateRows.from_arrays(x[1:], np.array([1.0]), NAMES)).reveal(TEST)
    assert np.array_equal(planned.measure(PrivateRows.from_arrays(x, np.ones(2), NAMES)).reveal(TEST), alone)


def test_a_public_moment_is_enough():
    """Regressions still work; what is missing is said, and derived columns are refused."""
    public, rows, z = both()
    moment = public_from_moment(public.moment, public.names, public.target, public.m)
    planned = plan("joint-moment", moment, rows.n, 3.0)
    outcome = planned.run(rows, SeededNoise(1), 1)
    assert np.allclose(outcome.coefficients[0][1:], exact(z, 4, [0, 1, 2, 3])[1:], atol=0.3)
    assert any("public moment" in note for note in outcome.notes()) and outcome.bands().truncation is None
    assert isinstance(outcome.record().influence, GaussianInfluence) and planned.prospects is None
    with refused(MethodMessage.DERIVED_NEED_ROWS):
        plan("joint-moment", moment, rows.n, 3.0, derived="square(a)")


def test_fourth_moments_say_what_rows_say():
    """The record without public rows gives the same parts to rounding."""
    public, rows, _ = both(heavy=True)
    planned = plan("joint-moment", public, rows.n, 0.5)
    outcome = planned.run(rows, SeededNoise(1), 1)
    state = state_of(planned, outcome)
    other = replace(state, influence=Moments.of(state.influence))
    one, two = solve(state, 4, [0, 1, 3]), solve(other, 4, [0, 1, 3])
    for part in ("privacy", "sampling", "truncation"):
        assert np.allclose(getattr(one, part), getattr(two, part), rtol=1e-8)


@pytest.mark.parametrize("share", ["no", "yes"])
def test_the_record_states_the_band_of_the_release(share):
    """The default regression has one band: in the release, and from its record, in any order of the columns."""
    public, rows, _ = both(m=3000, heavy=True)
    planned = plan("joint-moment", public, rows.n, 0.5, public_rows=share)
    outcome = planned.run(rows, SeededNoise(1), 1)
    record = Record.from_dict(json.loads(json.dumps(outcome.record().as_dict())))
    state, places = record.state(), list(planned.features)
    stated, again = planned.regression(outcome.state()), solve(state, 4, places)
    degrees = stated.freedom(np.eye(len(places)))
    assert np.allclose(again.freedom(np.eye(len(places))), degrees, rtol=1e-6)
    if share == "no":  # else every second row goes along, which has another mean square
        assert np.allclose([again.bands.low, again.bands.high], [stated.bands.low, stated.bands.high], rtol=1e-6)
    turned = solve(state, 4, places[::-1])
    assert np.allclose(turned.freedom(np.eye(len(places)))[::-1], degrees, rtol=1e-6)
    assert np.allclose(turned.freedom(np.ones((1, len(places)))), np.min(degrees))
    other = solve(state, 4, places[:-1])
    assert np.allclose(other.freedom(np.eye(len(places) - 1)), state.influence.freedom(other.a, other.b))


def test_prospects_say_what_a_typical_regression_costs():
    """The plan's figures fall with the budget; the worst is above the typical, and both above nothing."""
    public, _, _ = both()
    collected = [plan("joint-moment", public, 4000, mu).facts().regressions for mu in (0.3, 1.0, 3.0)]
    typical = [f.typical_error_in_standard_errors for f in collected]
    assert typical[0] > typical[1] > typical[2] > 0
    assert all(f.worst_error_in_standard_errors > t for f, t in zip(collected, typical, strict=True))


def test_regressions_without_a_sampling_error_price_no_radius():
    """One of all levels on the others, without a constant, is exact: its error of 0 made the least radius the best."""
    rng = np.random.default_rng(4)
    levels = np.eye(4)[rng.integers(0, 4, 80)]
    public = public_from_rows(levels, levels @ [1.0, 2.0, 3.0, 4.0] + rng.standard_normal(80), list("abcd"), "y")
    rows = row_norm(public, "tails")
    priced = candidate_radii(rows, 5000)
    assert np.all(priced.public > 1e-3) and np.all(np.isfinite(priced.truncation))
    assert 0 < priced.best(1.0) < len(priced.radii) - 1
    assert np.all(np.sum(rows.pairs[1][:, 4:] ** 2, axis=1) > 0), "only y on levels has an error"


@pytest.fixture(scope="module")
def record():
    public, rows, _ = both()
    planned = plan("joint-moment", public, rows.n, 1.0, derived="a:b; spline(c, 3)")
    return json.loads(json.dumps(planned.run(rows, SeededNoise(1), 1).record().as_dict()))


@pytest.mark.parametrize("rows_in_it", [False, True])
def test_the_record_comes_back(record, rows_in_it):
    """Plain JSON, the same regression from it, alone or inside a release; public rows only where somebody said so."""
    if rows_in_it:
        public, rows, _ = both()
        planned = plan("joint-moment", public, rows.n, 1.0, derived="a:b; spline(c, 3)", public_rows="yes")
        record = json.loads(json.dumps(planned.run(rows, SeededNoise(1), 1).record().as_dict()))
    again = Record.from_dict(record)
    assert again.as_dict() == record
    release = {"released": {"joint_moment": record}}
    outcome, sound = record_from_bytes(json.dumps(release).encode())
    assert sound and not record_from_bytes(json.dumps({**release, "standing": "lab"}).encode())[1]
    assert np.array_equal(solve(outcome.state(), 4, [0, 1]).coefficients, solve(again.state(), 4, [0, 1]).coefficients)
    assert isinstance(again.influence, RowInfluence) == rows_in_it


def test_a_record_of_before_the_moment_that_is_added_back_is_read(record):
    """It adds back what left-out rows lose, as when it was written; any other wrong size is refused."""
    before = {name: value for name, value in record["influence"].items() if name != "removed"}
    again = Record.from_dict(_deep(record, "influence", before)).influence
    assert np.array_equal(again.removed_moment, again.residual_moment)
    now = Record.from_dict(record).influence
    assert not np.array_equal(now.removed_moment, now.residual_moment)
    with refused(RecordMessage.NUMBERS_NEEDED):
        Record.from_dict(_deep(record, "influence", {**before, "removed": [1.0]}))


def _deep(fields, key, value):
    """Changed by somebody who writes a fitting digest beside it."""
    copied = copy.deepcopy(fields)
    copied[key] = value
    copied.pop("digest")
    return {**copied, "digest": _digest(copied)}


@pytest.mark.parametrize("key", ["moment", "sigma", "guarantee", "n", "digest"])
def test_a_record_that_was_changed_is_refused(record, key):
    """One figure changed, or the digest: a sentence says so, whichever it was."""
    copied = copy.deepcopy(record)
    copied[key] = {"moment": [2 * v for v in copied["moment"]], "n": 5, "digest": "sha256:0"}.get(
        key, copied["sigma"] / 2
    )
    with refused(RecordMessage.DIGEST_DIFFERS):
        record_from_bytes(json.dumps(copied).encode())
    copied.pop("digest")
    with refused(RecordMessage.DIGEST_DIFFERS):
        Record.from_dict(copied)


@pytest.mark.parametrize(
    "change",
    [
        {"version": 2},
        {"root": [1.0]},
        {"freedom": [1.0]},
        {"freedom": [-1.0] * 7},
        {"root": "x"},
        {"moment": [float("nan")] * 21},
        {"moment": [10**400] * 21},
        {"moment": None},
        {"expected": [-1.0] * 21},
        {"prior_variance": [0.0] * 21},
        {"columns": ["a"]},
        {"columns": ["x" * 1000, "b", "c", "d", "e"]},
        {"columns": [1, 2, 3, 4, 5]},
        {"columns": ["(intercept)", "a", "a", "c", "y"]},
        {"derived": [{"kind": "exec", "name": "x", "of": ["a"], "constants": []}]},
        {"derived": "x"},
        {"n": -3},
        {"n": True},
        {"sigma": float("inf")},
        {"radius": 0},
        {"features": [99]},
        {"target": "nothing"},
        {"influence": {"kind": "rows", "rows": [[1, 2]], "factor": [1]}},
        {"influence": {"kind": "pickle"}},
        {"influence": []},
        {"guarantee": {"mu": 1}},
        {"spread": [1.0]},
        {"labels": ["nothing"]},
        {"labels": 7},
    ],
)
def test_a_hostile_record_gets_one_sentence(record, change):
    """Whatever is wrong with it: an InputError, never another error, and nothing computed."""
    (key, value), *_ = change.items()
    with pytest.raises(InputError) as result:
        Record.from_dict(_deep(record, key, value))
    assert str(result.value).count("\n") == 0 and len(str(result.value)) < 400


@pytest.mark.parametrize("data", [b"", b"[]", b"{}", b"null", b"[" * 100_000, b"\xff\xfe", b'{"format": 1}'])
def test_a_file_that_is_no_record(data):
    """Not JSON, or JSON of something else."""
    with pytest.raises(InputError) as caught:
        record_from_bytes(data)
    assert isinstance(caught.value.kind, RecordMessage)


def test_an_indefinite_moment_still_answers(record):
    """Noise can make it so: held positive definite, whatever the record says."""
    values = np.array(record["moment"])
    result = Record.from_dict(_deep(record, "moment", (-50 * values).tolist()))
    assert np.all(np.isfinite(solve(result.state(), 4, [0, 1, 2]).coefficients))


def test_rules_from_a_record_are_checked():
    """A rule that is none, or that names a column the record has not."""
    for bad in ({"name": "x"}, {"name": "x", "kind": "log", "of": ["q"], "constants": [1.0]}, 3):
        with pytest.raises(InputError):
            Rule.checked(bad, ("a",))
    assert parse("", ("a",), np.ones((3, 1))).rules == ()


@pytest.mark.slow
@pytest.mark.parametrize("derived", ["x1:x2; square(x3); log(x1)", "spline(x1, 4)"])
def test_the_audit_of_a_release_with_derived_columns(derived):
    """Far rows are farther still there: the bound holds, the attack comes near it, half the noise shows."""
    audited = audit("joint-moment", 1.0, 6000, derived=derived)
    assert not audited.violated and audited.lower_bound > 0.7
    assert audit(
        "joint-moment", 1.0, 6000, derived=derived, noise=lambda source: UnderscaledNoise(source, 0.5)
    ).violated


def test_a_plan_foresees_that_the_released_moment_is_combined_with_the_public_one(seed):
    """At a small budget the privacy part is what the combination meets within a factor two, and not the noise alone."""
    public, rows, z = both(4000, 150, seed)
    combined = plan("joint-moment", public, rows.n, 0.02)
    alone = plan("joint-moment", public, rows.n, 0.02, shrinkage="none")
    privacy = np.linalg.norm(combined.predicted().privacy)
    away = combined.run(rows, SeededNoise(seed), 40).coefficients - exact(z, 4, [0, 1, 2, 3])
    assert 1 / 2 < np.median(np.linalg.norm(away, axis=1)) / privacy < 2
    assert privacy < 0.9 * np.linalg.norm(alone.predicted().privacy)
