"""The methods: algebra first, then their error formulas against simulation."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats
from sklearn.linear_model import ElasticNet, Ridge

from pmtcore.base.labels import ReleaseStatus
from pmtcore.base.private_rows import PrivateRows
from pmtcore.glm.families import family
from pmtcore.mechanisms.noise import SeededNoise, ZeroNoise
from pmtcore.methods.baselines import least_squares
from pmtcore.methods.registry import methods
from pmtcore.public.moments import INTERCEPT, public_from_rows
from pmtcore.tables.synthetic import synthetic
from tests.helpers import FALSE_ALARM, TEST, make, names, plan, weather

# without truncation: the grid has 2^15 steps to the radius and 2^18 to the bound, which is what exactness is limited by
EXACT = {"radius": 30.0, "clip": 300.0, "response_scale": 1.0, "shrinkage": "none"}


def ridge(x: np.ndarray, y: np.ndarray, lam: float) -> np.ndarray:
    """scikit-learn's ridge: it minimizes ||y - Xb||^2 + alpha ||b||^2, so alpha = n lam."""
    return Ridge(alpha=len(x) * lam, fit_intercept=False, solver="svd").fit(x, y).coef_


@pytest.mark.parametrize("lam", [0.0, 0.01, 1.0, 100.0])
def test_pmt_ridge_without_noise_and_truncation_is_ridge(lam, seed):
    """A, Theorem 4.1: zero noise and no truncation give ordinary ridge, up to the grid of 2^15 steps to the radius."""
    draw, public, rows = make(400, 60, seed)
    planned = plan("pmt-ridge", public, rows.n, 1.0, lam=lam, eta=1e-9)
    root, scale = planned.coordinates.root, planned.coordinates.scale
    longest = 1.01 * np.max(np.linalg.norm(draw.private_x @ root.T, axis=1))
    wide = type(planned.coordinates)(root, scale, longest, 1.01 * np.max(np.abs(draw.private_y)) / scale)
    planned = type(planned)(planned.public, planned.n, planned.mu, wide, planned.penalty)
    expected = ridge(draw.private_x, draw.private_y, lam) if lam else np.linalg.lstsq(draw.private_x, draw.private_y)[0]
    released = planned.run(rows, ZeroNoise(), 2).coefficients
    assert np.allclose(released, expected, atol=1e-3 * np.max(np.abs(expected)))


@pytest.mark.parametrize("lam", [0.0, 0.01, 1.0, 100.0])
def test_joint_release_without_noise_and_truncation_is_ridge(lam, seed):
    """The joint release gives ordinary least squares, and ridge along its free path, to the grid."""
    draw, public, rows = make(400, 60, seed)
    outcome = plan("joint-pmt", public, rows.n, 1.0, **EXACT).run(rows, ZeroNoise(), 2)
    expected = ridge(draw.private_x, draw.private_y, lam) if lam else np.linalg.lstsq(draw.private_x, draw.private_y)[0]
    assert np.allclose(outcome.ridge(lam), expected, rtol=1e-3 if lam else 1e-5, atol=1e-3 if lam else 1e-5)


def weather_sides(seed: int, change=lambda x, y: (x, y)):
    """Raw units with an intercept, private and public, after a change of units."""
    columns = (INTERCEPT, "pressure", "warm", "tiny", "dew")
    private, public = change(*weather(600, seed)), change(*weather(80, seed + 1))
    return public_from_rows(*public, columns, "load"), PrivateRows.from_arrays(*private, columns), private[0]


@pytest.mark.parametrize("lam", [0.0, 0.3])
def test_joint_release_on_raw_units(lam, seed):
    """With an intercept, pressures near 1000 and a column of size 1e-6: least squares' predictions, to the grid."""
    public, rows, x = weather_sides(seed)
    y = weather(600, seed)[1]
    outcome = plan("joint-pmt", public, rows.n, 1.0, **EXACT).run(rows, ZeroNoise(), 2)
    if lam:
        expected = Ridge(alpha=600 * lam, solver="svd").fit(x[:, 1:], y).predict(x[:, 1:])
    else:  # standardized by hand: scikit-learn's least squares drops the column of size 1e-6
        design = np.column_stack([np.ones(600), (x[:, 1:] - x[:, 1:].mean(axis=0)) / x[:, 1:].std(axis=0)])
        expected = design @ np.linalg.lstsq(design, y)[0]
    assert np.allclose(x @ outcome.ridge(lam)[0], expected, rtol=1e-5)
    if not lam:
        assert np.allclose(x @ least_squares(public, rows).reveal(TEST), expected, rtol=1e-8)


def test_predictions_do_not_move_with_units(seed):
    """A change of unit and zero of every column, response included, leaves the noisy release's predictions."""

    def change(x, y):
        moved = x.copy()
        moved[:, 1:] = moved[:, 1:] * [100.0, 1.8, 3e5, 0.01] + [7.0, 32.0, -1.0, 40.0]
        return moved, 5 * y - 3

    def predictions(sides):
        public, rows, x = sides
        return x @ plan("joint-pmt", public, rows.n, 0.7).run(rows, SeededNoise(seed), 1).coefficients[0]

    same, moved = predictions(weather_sides(seed)), predictions(weather_sides(seed, change))
    assert np.allclose(5 * same - 3, moved, rtol=1e-7)


def test_noise_free_predictions_do_not_move_with_any_affine_change(seed):
    """Without noise, mixing the columns by any invertible matrix leaves the truncated release's predictions."""
    rng = np.random.default_rng(seed)
    mix = rng.standard_normal((10, 10))
    draw, public, rows = make(500, 60, seed)
    mixed = public_from_rows(draw.public_x @ mix, draw.public_y, names(10), "y")
    other = PrivateRows.from_arrays(draw.private_x @ mix, draw.private_y, names(10))
    first = plan("joint-pmt", public, 500, 1.0).run(rows, ZeroNoise(), 2).coefficients[0]
    second = plan("joint-pmt", mixed, 500, 1.0).run(other, ZeroNoise(), 2).coefficients[0]
    assert np.allclose(draw.private_x @ first, draw.private_x @ mix @ second, rtol=1e-4, atol=1e-4)


def within(result: np.ndarray, sd: float, draws: np.ndarray) -> bool:
    """Chi-square test that draws have this standard deviation, at the stated false-alarm rate."""
    total = np.sum((draws - draws.mean()) ** 2) / sd**2
    return bool(2 * min(stats.chi2.cdf(total, len(draws) - 1), stats.chi2.sf(total, len(draws) - 1)) > FALSE_ALARM)


@pytest.mark.slow
@pytest.mark.parametrize("id", ["joint-pmt", "pmt-ols"])
def test_privacy_part_of_the_bands_is_the_spread_of_releases(id, seed):
    """The first-order privacy sd agrees with 4000 simulated releases within 10 %; 20 % too small would be seen.

    Each trial weighs its gradients by its own steps, so one trial's statement scatters around the spread of all.
    """
    _, public, rows = make(100_000, 400, seed)
    fixed = {"clip": 8.0, "shrinkage": "none"} if id == "joint-pmt" else {}
    outcome = plan(id, public, rows.n, 3.0, **fixed).run(rows, SeededNoise(seed), 4000)
    spread = outcome.coefficients.std(axis=0)
    stated = outcome.bands().privacy
    assert np.max(np.abs(stated / spread - 1)) < (0.1 if fixed else 4 * np.sqrt(1 / 8000) * 1.3)
    assert not within(outcome.coefficients, 0.8 * stated[0], outcome.coefficients[:, 0])


def test_residual_variance_and_r_squared(seed):
    """Without noise and truncation they are those of the private fit."""
    draw, public, rows = make(3000, 200, seed, noise=0.7)
    released = plan("joint-pmt", public, rows.n, 900.0, radius=50.0).run(rows, ZeroNoise(), 2).released()
    residual = draw.private_y - draw.private_x @ np.linalg.lstsq(draw.private_x, draw.private_y)[0]
    assert released["residual_variance"] == pytest.approx(np.mean(residual**2), rel=0.01)
    share = 1 - np.mean(residual**2) / np.mean(draw.private_y**2)
    assert released["r_squared"] == pytest.approx(share, abs=0.01)


def test_noise_that_swamps_is_a_stated_outcome(seed):
    """At a tiny budget the papers' solve says so and gives no bands; the joint release leans on the public fit."""
    _, public, rows = make(300, 60, seed)
    bad = plan("pmt-ridge", public, 300, 0.01).run(rows, SeededNoise(seed), 1)
    assert bad.bands() is None
    assert "indefinite" in bad.notes()[0]
    good = plan("joint-pmt", public, 300, 0.01).run(rows, SeededNoise(seed), 1)
    assert np.all(np.isfinite(good.coefficients))
    assert any("weighs less" in note for note in good.notes())


@pytest.mark.slow
def test_small_budgets_are_no_worse_than_the_public_fit(seed):
    """At total mu 0.02 to 0.1 the median error over 40 draws is below that of the public fit alone."""
    for mu in (0.02, 0.1):
        errors = []
        for at in range(40):
            draw, public, rows = make(3000, 50, seed + at)
            result = plan("joint-pmt", public, 3000, mu).run(rows, SeededNoise(seed), 5).coefficients
            errors.append(
                np.mean(np.linalg.norm(result - draw.beta, axis=1)) / np.linalg.norm(public.coefficients - draw.beta)
            )
        assert np.median(errors) < 1


@pytest.mark.slow
@pytest.mark.parametrize(("n", "m"), [(3000, 50), (10_000, 200)])
def test_joint_release_against_the_papers_ridge(n, m, seed):
    """Total mu 1.41, medians over 100 trials: at most 1/50 of pmt-ridge; at (10000, 200) at most 1.25 times OLS."""
    errors = {"joint-pmt": [], "pmt-ridge": [], "ols": []}
    for at in range(100):
        draw, public, rows = make(n, m, seed + at)
        for id in ("joint-pmt", "pmt-ridge"):
            result = plan(id, public, n, 1.41).run(rows, SeededNoise(seed, at), 1).coefficients[0]
            errors[id].append(np.linalg.norm(result - draw.beta))
        errors["ols"].append(np.linalg.norm(np.linalg.lstsq(draw.private_x, draw.private_y)[0] - draw.beta))
    median = {name: np.median(values) for name, values in errors.items()}
    assert median["joint-pmt"] <= median["pmt-ridge"] / 50
    if m == 200:
        assert median["joint-pmt"] <= 1.25 * median["ols"]


def test_public_fit_has_hc3_bands(seed):
    """The public fit's standard errors are the HC3 sandwich, computed the long way."""
    draw, public, _ = make(50, 80, seed)
    x, y = draw.public_x, draw.public_y
    inverse = np.linalg.inv(x.T @ x)
    leverage = np.einsum("ij,jk,ik->i", x, inverse, x)
    residual = (y - x @ inverse @ x.T @ y) / (1 - leverage)
    expected = np.sqrt(np.diag(inverse @ (x.T * residual**2) @ x @ inverse))
    outcome = plan("public-only", public, 50, 1.0).run(PrivateRows.from_arrays(x, y, names(10)), ZeroNoise(), 2)
    assert np.allclose(outcome.bands().sampling, expected, rtol=1e-6)
    assert np.all(outcome.bands().privacy == 0)


def test_published_radius_depends_on_private_rows_and_the_sound_one_does_not(seed):
    """E4: one outlier changes the noise of dp-ols as published; it changes nothing public in the sound variant."""
    draw, public, rows = make(500, 60, seed)
    far = draw.private_x.copy()
    far[0] *= 1e3
    other = PrivateRows.from_arrays(far, draw.private_y, names(10))
    lab = plan("dp-ols", public, 500, 1.0)
    radii = [lab.inner(table).reveal(TEST).coordinates.radius for table in (rows, other)]
    assert radii[1] > 10 * radii[0]
    sound = plan("dp-ols-public", public, 500, 1.0)
    assert sound.facts() == plan("dp-ols-public", public, 500, 1.0).facts()
    printed = plan("dp-ridge", public, 500, 1.0, response_noise="printed").inner(rows).reveal(TEST)
    repaired = plan("dp-ridge", public, 500, 1.0).inner(rows).reveal(TEST)
    assert repaired.sigmas[1] / printed.sigmas[1] == pytest.approx(2 * np.sqrt(2))


def test_moment_release_recovers_the_moment(seed):
    """Without noise and truncation pmt-moment is the private second moment, and its inverse inverts it."""
    draw, public, rows = make(500, 60, seed)
    planned = plan("pmt-moment", public, 500, 1.0, eta=1e-9)
    longest = 1.01 * np.max(np.linalg.norm(draw.private_x @ public.symmetric_root[1], axis=1))
    wide = type(planned)(planned.public, planned.n, planned.mu, longest, planned.calibration)
    released = wide.run(rows, ZeroNoise(), 2).released()
    expected = draw.private_x.T @ draw.private_x / 500
    assert np.allclose(released["moment"], expected, atol=1e-3 * np.max(np.abs(expected)))
    assert np.allclose(np.array(released["inverse"]) @ np.array(released["moment"]), np.eye(10), atol=1e-8)


@pytest.mark.slow
def test_moment_alone_is_enough(seed):
    """A public moment matrix in place of rows: every sound method runs, joint-pmt stays near the truth."""
    from pmtcore.public.moments import joint_rows, public_from_moment

    draw, _, rows = make(10_000, 200, seed)
    z = joint_rows(draw.public_x, draw.public_y)
    for m in (200, None):
        public = public_from_moment(z.T @ z / 200, names(10), "y", m)
        for entry in methods():
            if (
                entry.standing is ReleaseStatus.SOUND
                and "gaussian" in entry.families
                and entry.id not in ("ada-ssp", "pmt-gradients", "response-moment")  # need rows, and say so
                and not entry.local
            ):
                outcome = plan(entry.id, public, rows.n, 1.41).run(rows, SeededNoise(seed), 1)
                outcome.bands()
                outcome.released()
        result = plan("joint-pmt", public, rows.n, 1.41).run(rows, SeededNoise(seed), 1)
        assert np.linalg.norm(result.coefficients[0] - draw.beta) < np.linalg.norm(public.coefficients - draw.beta)


def test_published_condition_numbers(seed):
    """B section 4.1, lmin 0.17 and trace 26 (kbar 15.3): after whitening about 2.7 (m = 40) and 1.6 (m = 135)."""
    by_name = {}
    for m in (40, 135):
        after = []
        for at in range(40):
            draw, public, _ = make(4000, m, seed + at)
            inverse = public.symmetric_root[1]
            spectrum = np.linalg.eigvalsh(inverse @ (draw.private_x.T @ draw.private_x / 4000) @ inverse)
            after.append(spectrum.mean() / spectrum[0])
        before = np.linalg.eigvalsh(draw.private_x.T @ draw.private_x / 4000)
        assert before.mean() / before[0] == pytest.approx(15.32, rel=0.15)
        by_name[m] = np.median(after)
    assert by_name[40] == pytest.approx(2.7, abs=0.3)
    assert by_name[135] == pytest.approx(1.6, abs=0.15)


def test_the_regularized_inverse(seed):
    """A, Theorem 3.3: without noise and truncation the released inverse is that of the moment plus lam I."""
    _, public, rows = make(2000, 100, seed)
    moment = rows.sum(lambda x, y: x.T @ x).reveal(TEST) / rows.n
    result = plan("pmt-moment", public, rows.n, 1.0, lam=0.3, eta=1e-9).run(rows, ZeroNoise(), 1)
    assert np.allclose(result.inverses[0], np.linalg.inv(moment + 0.3 * np.eye(public.d)), atol=2e-3)


def test_theorem_4_3_with_what_it_takes_as_known():
    """Known trace and length give R^2 = tr + d log(n/eta) and Ry = R length, and both noises of the theorem."""
    _, public, rows = make(2000, 100, 1)
    made = plan("dp-ridge-public", public, rows.n, math.sqrt(2) * 3, trace=26.0, length=2.0, calibration="papers")
    square = 26 + public.d * math.log(rows.n / 0.05)
    assert made.coordinates.radius == pytest.approx(math.sqrt(square))
    assert made.sigmas[0] == pytest.approx(2 * square / (3 * rows.n))
    assert made.sigmas[1] == pytest.approx(2 * square * 2.0 / (3 * rows.n))


def test_gradients_on_whitened_rows_with_an_elastic_net(seed):
    """A, end of section 4: without noise, steps on whitened rows end at the elastic net of scikit-learn."""
    draw = synthetic(1500, 100, d=4, seed=seed)
    columns = names(4)
    public = public_from_rows(draw.public_x, draw.public_y, columns, "y", ridge=0.0, family=family("gaussian"), lam=0.2)
    rows = PrivateRows.from_arrays(draw.private_x, draw.private_y, columns)
    values = {"coordinates": "whitened", "lasso": 0.5, "steps": 600, "rate": 0.3, "clip": 300.0, "eta": 1e-9}
    result = plan("dp-gd", public, rows.n, 1.0, **values).run(rows, ZeroNoise(), 1).coefficients[0]
    reference = ElasticNet(alpha=0.7, l1_ratio=0.5 / 0.7, fit_intercept=False, tol=1e-12, max_iter=100_000)
    assert np.allclose(result, reference.fit(draw.private_x, draw.private_y).coef_, atol=2e-3)
    assert np.sum(result == 0) == 3
