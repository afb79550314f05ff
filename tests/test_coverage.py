"""Error bands keep their word: 95 % means between 93 and 98 %."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from pmtcore.moments import public_from_rows
from pmtcore.noise import SeededNoise
from tests.lab import FALSE_ALARM, make, names, plan

DRAWS = 400


@pytest.mark.parametrize(("n", "m"), [(10_000, 200), (3000, 50)])
@pytest.mark.parametrize("mu", [0.5, 1.41, 4.5])
def test_coverage_on_gaussian_data(n, m, mu, seed):
    """Bands cover the true coefficient in 93 to 98 % of fresh draws.

    One coefficient per draw, in rotation, so that the draws are independent: an exact binomial test against
    each end at the stated false-alarm rate. The band of coverage it refuses with 400 draws: below 0.86.
    """
    hits = 0
    for at in range(DRAWS):
        draw, public, rows = make(n, m, seed + at)
        bands = plan("joint-pmt", public, n, mu).run(rows, SeededNoise(seed, at), 1).bands()
        j = at % 10
        hits += bool(bands.low[j] <= draw.beta[j] <= bands.high[j])
    assert stats.binom.cdf(hits, DRAWS, 0.93) > FALSE_ALARM
    assert stats.binom.sf(hits - 1, DRAWS, 0.98) > FALSE_ALARM
    assert stats.binom.cdf(int(0.855 * DRAWS), DRAWS, 0.93) < FALSE_ALARM  # the power: 85.5 % would fail


def shifted(n, m, size, seed):
    """Public rows that follow other coefficients: predictions differ by ``size`` residual standard deviations."""
    draw, public, rows = make(n, m, seed)
    u = np.random.default_rng(seed).standard_normal(10)
    move = size * 0.05 * np.linalg.solve(public.feature_root.T, u / np.linalg.norm(u))
    return draw, public_from_rows(draw.public_x, draw.public_y + draw.public_x @ move, names(10), "y"), rows


def test_bands_hold_when_the_public_sample_is_somewhat_shifted(seed):
    """Public coefficients half a residual standard deviation off: coverage stays above 90 %.

    The limit is known: from about three residual standard deviations on, truncation biases the fit beyond its
    bands; the release then says that the samples do not look alike (next test).
    """
    hits = 0
    for at in range(200):
        draw, public, rows = shifted(3000, 50, 0.5, seed + at)
        bands = plan("joint-pmt", public, 3000, 1.41).run(rows, SeededNoise(seed, at), 1).bands()
        j = at % 10
        hits += bool(bands.low[j] <= draw.beta[j] <= bands.high[j])
    assert stats.binom.cdf(hits, 200, 0.9) > FALSE_ALARM


def test_a_shifted_public_sample_is_said(seed):
    """A shift of three residual standard deviations is noted in every release, an alike sample hardly ever."""
    said = {0.0: 0, 3.0: 0}
    for size in said:
        for at in range(100):
            _, public, rows = shifted(3000, 50, size, seed + at)
            notes = plan("joint-pmt", public, 3000, 1.41).run(rows, SeededNoise(seed, at), 1).notes()
            said[size] += any("do not look like" in note for note in notes)
    assert said[3.0] == 100
    assert said[0.0] <= 3
