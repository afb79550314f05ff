"""Exact noise: the grid keeps lengths and sums, the bits do not depend on blocks, the noise meets its budget."""

from __future__ import annotations

import math
import tracemalloc
from itertools import pairwise

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import kstest

from pmtcore.accounting.budgets import epsilon_from_mu
from pmtcore.auditing.lower_bound import mu_bound
from pmtcore.base.private_rows import Private, PrivateRows
from pmtcore.mechanisms.grid import (
    SCALE,
    SLACK,
    MomentSum,
    grid_rows,
    join_words,
    release_integer_moment,
    split_into_words,
    truncate_to_grid,
)
from pmtcore.mechanisms.noise import SecureNoise, SeededNoise, ZeroNoise
from pmtcore.mechanisms.whitening import Block, Whitening
from pmtcore.public.moments import whiten
from pmtcore.tables.limits import MAX_FEATURES
from tests.helpers import FALSE_ALARM, TEST, make, names, plan
from tests.mechanisms.helpers import opendps_gaussian


@pytest.mark.parametrize("coordinates", [MAX_FEATURES + 1, 4000])
def test_no_row_of_a_wide_table_is_too_long(coordinates, seed):
    """As many columns as a design may have, and as the proof allows: entries alike, alternating, and of all sizes."""
    rng = np.random.default_rng(seed)
    values = rng.standard_normal((coordinates, 64)) * np.exp(rng.uniform(-12, 12, (coordinates, 64)))
    values[:, :20] = rng.uniform(0.9, 1.1, 20)
    values[:, 20:30] *= 1e-3
    block = Block(np.rint(values * 2.0**30), np.empty_like(values), None, 64)
    steps = truncate_to_grid(block, 2.0**20, SCALE).astype(np.int64)
    longest = np.max(np.sum(steps * steps, axis=0))
    assert 0.99 * SCALE**2 < longest <= SCALE**2


@given(st.integers(1, 8), st.floats(1e-6, 1e6), st.integers(0, 10**6))
@settings(max_examples=200, deadline=None)
def test_no_integer_row_is_too_long(d, radius, seed):
    """Rows near, on and far outside the radius, huge and tiny: at most 2^15 long, and never lost inside."""
    rng = np.random.default_rng(seed)
    rows = rng.standard_normal((50, d)) * np.exp(rng.uniform(-20, 20, (50, 1)))
    rows[:10] *= (radius / np.linalg.norm(rows[:10], axis=1))[:, None]  # on the radius
    result = grid_rows(rows, radius)
    assert np.all(np.sum(result * result, axis=1) <= SCALE**2)
    inside = np.minimum(1, radius / np.linalg.norm(rows, axis=1))[:, None] * rows
    assert np.all(np.abs(result * (radius / SCALE) - inside) <= 1.01 * radius / SCALE)


@pytest.mark.slow
def test_the_same_bits_however_rows_are_split(seed):
    """Blocks of 1, 7, 1000 or all rows: one integer moment, and one release for one seed."""
    draw, public, _ = make(3000, 60, seed)
    planned = plan("joint-pmt", public, 3000, 1.0)
    moments, released = [], []
    for block in (1, 7, 1000, 10**6):
        rows = PrivateRows.from_arrays(draw.private_x, draw.private_y, names(10), block_rows=block)
        moments.append(planned.first.measure(planned.first.pieces(rows)).reveal(TEST))
        released.append(planned.run(rows, SeededNoise(3), 3).coefficients)
    assert all(np.array_equal(a, b) for a, b in pairwise(moments))
    assert all(np.array_equal(a, b) for a, b in pairwise(released))


@pytest.mark.slow
def test_twelve_ways_of_cutting_one_table(seed):
    """Rows far out, not numbers and left out among them: any block size, layout and order, the same sums."""
    draw, public, _ = make(3000, 60, seed)
    x, y = draw.private_x.copy(), draw.private_y.copy()
    x[5], y[5], x[6, 2], x[7, 1], x[8, 3], y[9] = 0.0, 0.0, 1e6, 1e300, np.inf, np.nan
    planned = plan("joint-pmt", public, 3000, 1.0)
    points = np.full((2, 10), 0.1)
    ways = [PrivateRows.from_arrays(x, y, names(10), block_rows=k) for k in (1, 7, 63, 64, 65, 513, 1000, 4096)]
    order = np.random.default_rng(seed).permutation(3000)
    ways.append(PrivateRows.from_arrays(np.asfortranarray(x), y, names(10)))
    ways.append(PrivateRows.from_arrays(x[order], y[order], names(10), block_rows=777))
    ways.append(PrivateRows.from_arrays(np.repeat(x, 2, axis=0)[::2], np.repeat(y, 2)[::2], names(10)))
    wide = np.column_stack([x, y])
    ways.append(PrivateRows.from_arrays(wide[:, :-1], wide[:, -1], names(10), block_rows=500))
    bounds = np.array([2.0, 5.0])
    sums = []
    for at, rows in enumerate(ways):
        pieces = planned.first.pieces(rows, (0, 50_000, None)[at % 3])  # nothing kept, room for a part, all
        gradients = planned.second.gradients(points, bounds)
        first, counts = planned.first.measure(pieces), planned.second.counts(pieces, points)
        sums.append([total.reveal(TEST) for total in (first, counts, pieces.sum(gradients))])
        sums[-1][-1] = join_words(sums[-1][-1])
    for other in sums[1:]:
        assert all(np.array_equal(a, b) for a, b in zip(sums[0], other, strict=True))


@pytest.mark.parametrize("hard", [False, True])
def test_whitening_in_integers_is_whitening(hard, seed):
    """To the bits that it promises, and with a public moment so badly conditioned that products are split in halves."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((400, 6))
    x[:, 0] = 1.0
    if hard:
        x[:, 5] = x[:, 4] + 1e-4 * x[:, 5]
    z = np.column_stack([x, rng.standard_normal(400)])
    root = np.linalg.cholesky(z[:60].T @ z[:60] / 60)
    made = Whitening(root, intercept=True)
    assert made.is_split == hard
    product = made.product_for(np.eye(7), 7)
    result = np.hstack([b.values[:, : b.rows] * product.units[:, None] for b in product.blocks(x, z[:, -1])])
    assert np.allclose(result.T, np.linalg.solve(root, z.T).T, atol=2e-4)


@pytest.mark.parametrize("far", [-1e6, 1e6, -1e300, -np.inf, np.nan])
def test_a_far_cell_alone_in_its_block_is_scaled_down(far):
    """Below the range as above it, in a feature or the response: the same bits as beside another such row."""
    product = Whitening(np.eye(4), intercept=False).product_for(np.eye(4), 4)
    z = np.random.default_rng(2).standard_normal((64, 4))
    for column in (1, 3):
        some, more = z.copy(), z.copy()
        some[0, column] = more[0, column] = far
        more[1] = 1e9
        alone, beside = (next(product.blocks(rows[:, :3], rows[:, 3])) for rows in (some, more))
        assert alone.lift is not None and beside.lift is not None
        assert alone.lift[0] == beside.lift[0] and np.array_equal(alone.values[:, 0], beside.values[:, 0])
        row = alone.values[:, 0] * product.units * alone.lift[0]
        assert row[column] == pytest.approx(far if abs(far) < 1e100 else 0.0, rel=1e-4)


@pytest.mark.parametrize("steps", [(1, 2), (3, 4), (1, 2, 4), (1, 4)])
def test_lengths_of_more_coordinates_go_on_from_those_of_fewer(steps, seed):
    """The same bits as asked for at once."""
    values = np.random.default_rng(seed).standard_normal((4, 128)) * 1e3
    block, complete = (Block(values, np.empty_like(values), None, 128) for _ in range(2))
    for coordinates in steps:
        result = block.lengths(coordinates)
        assert np.allclose(result, np.linalg.norm(values[:coordinates], axis=0))
    assert np.array_equal(result, complete.lengths(steps[-1]))


def test_no_pass_holds_more_for_more_rows(seed):
    """Blocks made on the fly: ten times the rows, the same memory."""
    draw, public, _ = make(4096, 60, seed)
    planned = plan("joint-pmt", public, 10**6, 1.0)
    peaks = []
    for blocks in (3, 30):
        once = [(draw.private_x, draw.private_y)]
        rows = PrivateRows(lambda m=blocks, o=once: iter(o * m), 4096 * blocks, names(10))
        tracemalloc.start()
        planned.run(rows, SeededNoise(1), 1)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 1.2 * peaks[0] and peaks[1] < 20e6


def test_without_noise_it_is_the_float_moment(seed):
    """The grid moves the released moment by less than its step: against a loop written from the definition."""
    draw, public, rows = make(3000, 60, seed)
    first = plan("joint-pmt", public, 3000, 1.0).first
    ours = first.release(first.measure(first.pieces(rows)), ZeroNoise(), 1)[0]
    z = whiten(first.public.factor, np.column_stack([draw.private_x, draw.private_y]))
    z[:, -1] *= first.ball.response_scale
    z *= np.minimum(1, first.ball.radius / np.linalg.norm(z, axis=1))[:, None]
    assert np.allclose(ours, z.T @ z / 3000, atol=3 * first.ball.radius**2 / SCALE)


def test_integer_noise_is_gaussian_of_the_right_size():
    """Integers of releases against the normal distribution, with 20 % less noise seen."""
    sigma = math.sqrt(2) * SCALE**2
    z = SecureNoise().integers(sigma, 1, 4000)[0] / sigma
    assert kstest(z, "norm").pvalue > FALSE_ALARM
    assert kstest(0.8 * z, "norm").pvalue < FALSE_ALARM
    assert SecureNoise().integers(sigma, 1, 0).shape == (1, 0)


def test_the_budget_by_opendps_own_map():
    """OpenDP's privacy map, at the proved sensitivity of each part, adds up to mu^2/2-zCDP."""
    mu = 1.7
    sigma = math.sqrt(2) * SCALE**2 / mu
    for share in (0.0, 0.3, 1.0):  # of the squared sensitivity 2 * 2^60 on the diagonal
        on, off = math.sqrt(2 * share) * SCALE**2, math.sqrt(1 - share) * SCALE**2  # off-diagonal entries count twice
        rho = opendps_gaussian(sigma).map(on) + opendps_gaussian(sigma / math.sqrt(2)).map(off)
        assert rho <= mu**2 / 2 * (1 + 1e-9)


def moment(root, rows):
    """Return the integer moment of whitened rows truncated to 1."""
    product = Whitening(root, intercept=False).product_for(np.eye(len(root)), len(root))
    return rows.sum(MomentSum(product, 1.0)).map(join_words)


def orthogonal_pair():
    """Integer moments (2, 2) of two neighbouring tables: one row at the radius along the first axis, or the second."""
    moments = []
    for column in (0, 1):
        row = np.zeros((1, 2))
        row[0, column] = 1e5
        rows = PrivateRows.from_arrays(row[:, :1], row[:, 1], names(1))
        moments.append(moment(np.eye(2), rows))
    return moments


@pytest.mark.slow
@pytest.mark.parametrize(("noise_share", "runs"), [(1.0, 2000), (0.8, 4000)])
def test_audit_of_the_integer_release(noise_share, runs):
    """Released integer noise from the system's entropy, the best test there is, at mu = 2: the bound lies near the
    claim and above it in one run of a million; with 20 % less noise it lies above."""
    mu = 2.0
    answers = []
    for total in orthogonal_pair():
        released = [
            release_integer_moment(total, mu / noise_share, 1, 1.0, source=SecureNoise())[0] for _ in range(runs)
        ]
        answers.append([m[0, 0] - m[1, 1] for m in released])
    false_alarms, misses = int(np.sum(np.array(answers[1]) > 0)), int(np.sum(np.array(answers[0]) <= 0))
    lower_bound = mu_bound(false_alarms, misses, runs, confidence=1 - FALSE_ALARM)
    assert 0.7 * mu < lower_bound < mu if noise_share == 1.0 else lower_bound > mu


@pytest.mark.parametrize(
    "row", [[np.inf, 1.0], [np.nan, 1.0], [-np.inf, np.inf], [1e308, 1e308], [1e200, 0.0], [np.nan, np.inf]]
)
def test_a_row_that_overflowed_is_a_row_of_zeros(row):
    """Not the smallest integer there is, whose square wraps to 0 and passes for short."""
    rows = grid_rows(np.array([row, [3.0, 4.0]]), 1.0)
    assert rows[0].tolist() == [0, 0]
    assert rows[1].tolist() == [int(0.6 * SCALE), int(0.8 * SCALE)]


def test_overflow_in_whitening_cannot_pass_the_radius():
    """A private value near the largest float over a tiny public scale: the moment stays within one row's reach."""
    root = np.array([[1e-140, 0.0], [0.5, 1.0]])
    rows = PrivateRows.from_arrays(np.array([[1e149], [1e-141]]), np.array([1.0, 0.0]), ("x",))
    total = moment(root, rows).reveal(TEST)
    assert 0 <= np.trace(total) <= 2 * SCALE**2


@given(st.lists(st.integers(-(2**62), 2**62), min_size=1, max_size=60))
def test_sums_in_words_have_room_for_any_number_of_rows(values):
    """Partial sums near the end of 63 bits add up exactly, whatever their signs and order."""
    words = sum(split_into_words(np.array([value, -value], dtype=np.int64)) for value in values)
    assert join_words(words).tolist() == [sum(values), -sum(values)]


def test_more_rows_than_one_word_holds():
    """2^34 rows at the radius, as partial sums: the moment is exact, and noise is added to it."""
    row = PrivateRows.from_arrays(np.full((1, 1), 1e6), np.zeros(1), ("x",))
    one = moment(np.eye(2), row).reveal(TEST)
    words = sum(split_into_words(one * 2**30) for _ in range(16))
    total = join_words(words)
    assert total.tolist() == [[int(one[0, 0]) * 2**34, 0], [0, 0]]
    result = release_integer_moment(Private(total), 1.0, 2**34, 1.0, source=SeededNoise(1), trials=3)
    assert np.allclose(result[:, 0, 0], 1.0, atol=1e-4) and result.shape == (3, 2, 2)


@pytest.mark.parametrize("s", [2, 30, 300])
def test_discrete_and_rounded_gaussian_are_close_point_by_point(s):
    """The lemma of proofs/noise.md, 14, in high precision, out to 40 standard deviations; and that it is not idle."""
    with mp.workdps(60):
        total = 1 + 2 * mp.fsum(mp.exp(-mp.mpf(k * k) / (2 * s * s)) for k in range(1, 18 * s))
        worst = mp.mpf(0)
        for z in (0, 0.5, 1, 3, 10, 25, 40):
            k = round(z * s)
            q = mp.exp(-mp.mpf(k * k) / (2 * s * s)) / total
            low, high = (mp.erfc((k + side) / (s * mp.sqrt(2))) / 2 for side in (mp.mpf(1) / 2, -mp.mpf(1) / 2))
            limit = (1 + mp.mpf(k * k) / (s * s)) / (8 * s * s) + 3 * mp.exp(-2 * mp.pi**2 * s * s)
            gap = abs(mp.log(q / (high - low)))
            assert gap <= limit
            worst = max(worst, gap / limit)
        assert worst > 0.2


def delta_mp(mu, epsilon):
    a, b = epsilon / mu - mu / 2, epsilon / mu + mu / 2
    return mp.erfc(a / mp.sqrt(2)) / 2 - mp.exp(epsilon) * mp.erfc(b / mp.sqrt(2)) / 2


@pytest.mark.slow
@pytest.mark.parametrize("s", [0.4, 1.0, 3.0, 50.0])
def test_squares_of_discrete_gaussians_are_bounded_as_those_of_a_gaussian(s):
    """Step 2 of proofs/noise.md, 14: the mean of ``exp(c U^2)``, which its bound on a transcript rests on."""
    with mp.workdps(40):
        for c in map(mp.mpf, ("0.05", "0.25", "0.45")):
            weights = [(k, mp.exp(-mp.mpf(k * k) / (2 * s * s))) for k in range(-int(150 * s) - 5, int(150 * s) + 6)]
            mean = mp.fsum(w * mp.exp(c * k * k / mp.mpf(s * s)) for k, w in weights) / mp.fsum(w for _, w in weights)
            assert mean <= (1 - 2 * c) ** mp.mpf("-0.5") * (1 + mp.mpf(10) ** -20)


@pytest.mark.slow
@pytest.mark.parametrize("size", [3, MAX_FEATURES * (MAX_FEATURES + 3) // 2 + 1, 10**8])
@pytest.mark.parametrize("mu", [1e-6, 0.01, 1.0, 10.0, 100.0, 1000.0])
def test_the_slack_pays_for_the_grid(mu, size):
    """Step 3 of proofs/noise.md, 14: what was bounded is below mu-GDP's delta at every stated delta; without slack
    not."""
    with mp.workdps(400):
        h = mp.mpf(mu) ** 2 * (size + (mp.sqrt(size) + 41 + mu) ** 2) / 2**63
        less = mp.mpf(mu) / (1 + mp.mpf(SLACK))
        for delta in (0.49, 0.1, 1e-6, 1e-30, 1e-299):
            epsilon = mp.mpf(epsilon_from_mu(mu, delta))
            rest = mp.exp(-800)
            claimed = delta_mp(mp.mpf(mu), epsilon)
            assert mp.exp(h) * delta_mp(less, epsilon - 2 * h) + rest <= claimed
            assert mp.exp(h) * delta_mp(mp.mpf(mu), epsilon - 2 * h) + rest > claimed


@pytest.mark.parametrize("mu", [0.01, 1.0, 50.0])
def test_secure_releases_run_at_every_budget(mu):
    """Large and small noise, no overflow."""
    _, public, rows = make(500, 60, 3)
    assert np.all(np.isfinite(plan("joint-pmt", public, 500, mu).run(rows, SecureNoise(), 1).coefficients))
