"""Integers modulo 2^128, their shares, and the noise that sites add up to."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare

from pmtcore.base.messages import SiteMessage, StudyError, StudyFault
from pmtcore.mechanisms.noise import SeededNoise
from pmtcore.sites import sharing
from pmtcore.sites.noise_shares import NoiseShares, concentrated_epsilon, require_fine, share_scale, tau
from pmtcore.sites.seals import Keys
from tests.helpers import refused

INTEGERS = st.integers(-(2**99), 2**99)


@given(st.lists(st.tuples(INTEGERS, INTEGERS), min_size=1, max_size=5))
def test_words_add_and_subtract_as_integers_do(pairs):
    """Python's integers are the reference, carries and borrows included."""
    one, other = ([pair[at] for pair in pairs] for at in (0, 1))
    words = sharing.encode(one), sharing.encode(other)
    if all(abs(a + b) < 2**99 for a, b in pairs):
        assert list(sharing.decode(sharing.add(*words))) == [a + b for a, b in pairs]
    if all(abs(a - b) < 2**99 for a, b in pairs):
        assert list(sharing.decode(sharing.subtract(*words))) == [a - b for a, b in pairs]
    assert np.array_equal(sharing.from_bytes(sharing.to_bytes(words[0])), words[0])


@pytest.mark.slow
def test_a_thousand_sites_add_up_to_their_total():
    """Shares of 1,000 sites, a share for each, add up to the integers' total, exactly."""
    values = np.random.default_rng(3).integers(-(2**62), 2**62, (1000, 3))
    received = None
    for row in values:
        shares = np.stack(sharing.split(sharing.encode(row), 1000))  # (reader, k, 2)
        if received is None:
            received = shares
            continue
        lower = received[..., 1] + shares[..., 1]
        received[..., 0] += shares[..., 0] + (lower < shares[..., 1])
        received[..., 1] = lower
    assert list(sharing.decode(sharing.total(received))) == [sum(map(int, column)) for column in values.T]


@pytest.mark.parametrize("left_out", [0, 1, 2])
def test_all_shares_but_one_are_uniform(left_out):
    """Whichever share is missing, the sum of the others has uniform bytes, whatever the secret."""
    secret = sharing.encode(np.zeros(20_000, dtype=np.int64))
    shares = sharing.split(secret, 3)
    rest = sharing.total(share for at, share in enumerate(shares) if at != left_out)
    counts = np.bincount(np.frombuffer(sharing.to_bytes(rest), dtype=np.uint8), minlength=256)
    assert chisquare(counts).pvalue > 1e-6


def test_a_total_out_of_range_is_refused():
    """A total of random words is no sum of rows: a site did not follow the protocol."""
    with pytest.raises(StudyError) as error:
        sharing.decode(sharing.encode([2**120]))
    assert error.value.kind is StudyFault.RANGE


def test_noise_shares_add_up_to_the_scale_asked_for():
    """Variance of k shares over the planned one: 1 within five standard errors, and 0.96 would be noticed."""
    trials, answering, scale = 40_000, 4, 2.0**30
    totals = sum(
        NoiseShares(SeededNoise(1, site), answering, 0).add(np.zeros(trials, dtype=np.int64), scale).astype(float)
        for site in range(answering)
    )
    assert abs(np.var(totals) / scale**2 - 1) < 5 * math.sqrt(2 / trials)
    assert share_scale(scale, answering, answering, 0) == scale / 2


@pytest.mark.parametrize("honest", [2, 3, 5])
@pytest.mark.parametrize("scale", [0.6, 0.8, 1.0])
def test_tau_bounds_the_exact_log_ratio(scale, honest):
    """The sum's exact probabilities (a convolution) against the discrete Gaussian of its variance."""
    at = np.arange(-60, 61)
    one = np.exp(-(at**2) / (2 * scale**2))
    one /= one.sum()
    total = one
    for _ in range(honest - 1):
        total = np.convolve(total, one)
    wide = np.arange(len(total)) - len(total) // 2
    gaussian = np.exp(-(wide**2) / (2 * honest * scale**2))
    gaussian /= gaussian.sum()
    near = np.abs(wide) <= 6 * scale * math.sqrt(honest)
    ratio = np.max(np.abs(np.log(total[near] / gaussian[near])))
    assert ratio <= tau(scale, honest)
    assert honest > 2 or ratio > tau(scale, honest) / 6


def test_noise_too_coarse_to_account_for_is_refused():
    """A share of a few integers' width is refused; the shares of every pass are 2^15 wide at least."""
    with pytest.raises(StudyError) as error:
        require_fine(5.0, 3)
    assert error.value.kind is StudyFault.TOO_LITTLE_NOISE
    require_fine(2.0**15, 100)
    assert concentrated_epsilon(1.0, 10.0, 4, 9) == pytest.approx(0.05, abs=1e-12)


@pytest.mark.parametrize("text", ['{"seal": "***", "sign": "***"}', '{"seal": "aGk=", "sign": "aGk="}', "{", "[]"])
def test_a_file_that_holds_no_keys_is_named(tmp_path, text):
    """Keys that cannot be decoded are said to be none, with their file; not a forged message."""
    path = tmp_path / "keys.json"
    path.write_text(text)
    with refused(SiteMessage.NO_KEYS, place=str(path)):
        Keys.read(path)
