"""The sampler of exact noise: its law candidate by candidate, found by bisection, and draws against the law."""

from __future__ import annotations

import numpy as np
import pytest
from mpmath import mp, mpf
from scipy import stats

from pmtcore.mechanisms import discrete_gaussian as sampler
from pmtcore.mechanisms.discrete_gaussian import LARGEST_DRAWN, discrete_gaussian, integers_from_uniform
from tests.helpers import FALSE_ALARM
from tests.mechanisms.helpers import opendps_gaussian

SCALES = [0.3, 1.0, 1.0 + 2.0**-52, 2.7, 4.0, 2.0**31 * 1.37, LARGEST_DRAWN]
LARGEST_WORD = 2**64 - 1


def bits_of(sigma):
    """Return the bits of an offset: the first power of two that is not below the scale."""
    bits = 0
    while 2**bits < sigma:
        bits += 1
    return bits


def candidate(segment, offset, negative, word):
    """Return three words that make one candidate."""
    noise = 0x5A5A << (segment + 1) if segment < 40 else 0  # bits above the first zero mean nothing
    return np.array([[2**segment - 1 | noise], [offset | int(negative) << 63], [word]], dtype=np.uint64)


@pytest.mark.parametrize("sigma", SCALES)
def test_every_candidate_is_accepted_with_the_chance_of_the_law(sigma):
    """Chance of the candidate times chance of its acceptance is proportional to the discrete Gaussian, to one word of
    2^64: what a proof says of the code, asked of the code."""
    mp.prec = 300
    bits, some = bits_of(sigma), np.random.default_rng(3).integers(0, 2**64, 200, dtype=np.uint64)
    for segment in (0, 1, 2, 3, 6):
        for offset in {0, min(1, 2**bits - 1), 2**bits // 3, 2**bits - 1}:
            length = segment * 2**bits + offset
            law = mp.exp(-(mpf(length) ** 2) / (2 * mpf(sigma) ** 2))
            words = law * mp.exp(mpf(1) / 2) / 4 * 2 ** (segment + 1) * 2**64  # of 2^64 that accept
            assert words <= 2**64 * (1 + mpf(2) ** -200)
            last = int(mp.floor(words))
            for word, taken in ((last - 1, True), (last + 1, False)):
                if 0 <= word < 2**64:
                    result = integers_from_uniform(candidate(segment, offset, False, word), sigma)
                    assert result.tolist() == [length] * taken, (segment, offset)
            many = np.repeat(candidate(segment, offset, False, 0), len(some), axis=1)
            many[2] = some
            assert len(integers_from_uniform(many, sigma)) == np.sum(some < min(last, LARGEST_WORD))


def test_signs_and_zero():
    """Both signs by one bit; zero only once."""
    for negative, sign in ((False, 1), (True, -1)):
        assert integers_from_uniform(candidate(1, 2, negative, 0), 4.0).tolist() == [sign * 6]
    assert integers_from_uniform(candidate(0, 0, False, 0), 4.0).tolist() == [0]
    assert integers_from_uniform(candidate(0, 0, True, 0), 4.0).tolist() == []


@pytest.mark.parametrize("sigma", [1.5, LARGEST_DRAWN])
@pytest.mark.parametrize(("ones", "sign"), [(0, 1), (3, -1)], ids=["64 ones", "67 ones"])
def test_integers_of_any_size_have_the_chance_of_the_law(sigma, ones, sign, monkeypatch):
    """After a word of 64 ones further bits make the segment, and its chance, below 1e-870, is that of the law."""
    mp.prec = 16_000
    bits, segment, offset = bits_of(sigma), 64 + ones, 1
    length = segment * 2**bits + offset
    law = mp.exp(mpf(1) / 2 - mpf(length) ** 2 / (2 * mpf(sigma) ** 2)) * mpf(2) ** (segment - 1)
    assert law < mpf(10) ** -870
    deep = 64 + 128 * 60  # bits that tell this chance from its neighbours
    words = np.array([[LARGEST_WORD], [offset | (sign < 0) << 63], [0]], dtype=np.uint64)
    for uniform, taken in ((mp.floor(law * mpf(2) ** deep) - 1, True), (mp.floor(law * mpf(2) ** deep) + 1, False)):
        rest = iter([1] * ones + [0] + [int(uniform) >> 128 * (59 - k) & (2**128 - 1) for k in range(60)])
        monkeypatch.setattr(sampler.secrets, "randbits", lambda bits, rest=rest: next(rest))
        assert integers_from_uniform(words, sigma).tolist() == [sign * length] * taken
    words[2] = 1  # a uniform number of 2^-64 is far above this chance
    monkeypatch.setattr(sampler.secrets, "randbits", lambda bits: 0)
    assert integers_from_uniform(words, sigma).dtype == np.int64 and not len(integers_from_uniform(words, sigma))


def test_candidates_have_their_chances(monkeypatch):
    """Of random words segments halve, offsets are uniform, and signs are even: what the law above is multiplied by."""
    monkeypatch.setattr(sampler, "_is_accepted", lambda *candidate: True)
    words = np.random.default_rng(1).integers(0, 2**64, (3, 400_000), dtype=np.uint64)
    words[2] = 0  # all are accepted
    result = integers_from_uniform(words, 4.0)
    counts = np.bincount(np.abs(result) // 4, minlength=12)[:12]
    assert stats.chisquare(counts[1:9], counts[1:9].sum() * 0.5 ** np.arange(1, 9) / (1 - 2.0**-8)).pvalue > FALSE_ALARM
    assert stats.chisquare(np.bincount(np.abs(result[np.abs(result) > 3]) % 4)).pvalue > FALSE_ALARM
    assert stats.binomtest(int(np.sum(result > 0)), int(np.sum(result != 0))).pvalue > FALSE_ALARM


def test_what_floating_point_leaves_open_is_decided_the_same_way(monkeypatch):
    """With all decisions by interval arithmetic the same words give the same integers."""
    words = np.random.default_rng(2).integers(0, 2**64, (3, 100), dtype=np.uint64)
    for sigma in (0.7, 5.5, 2.0**40):
        by_floats = integers_from_uniform(words, sigma)
        with monkeypatch.context() as patch:
            patch.setattr(sampler, "_MARGIN", 2.0**70)
            assert integers_from_uniform(words, sigma).tolist() == by_floats.tolist()


def test_the_last_word_is_decided_by_further_bits(monkeypatch):
    """Where 64 bits do not tell, the next ones do, and the chance is split where it must be."""
    mp.prec = 400
    chance = mp.exp(mpf(1) / 2 - mpf(36) / 18) * 2**64  # of segment 1 and length 6 at scale 3
    word, rest = int(mp.floor(chance)), chance - mp.floor(chance)
    split = int(mp.floor(rest * 2**128))
    for extra, taken in ((0, True), (split - 1, True), (split + 1, False), (2**128 - 1, False)):
        monkeypatch.setattr(sampler.secrets, "randbits", lambda bits, extra=extra: extra)
        assert bool(len(integers_from_uniform(candidate(1, 2, False, word), 3.0))) is taken, extra


@pytest.mark.parametrize("sigma", [0.3, 0.6, 1.0, 2.0, 2.7, 6.5])
def test_integers_have_the_law(sigma):
    """Each integer as often as the law says, in 300,000 draws."""
    draws = discrete_gaussian(sigma, 300_000)
    weights = np.exp(-0.5 * (np.arange(-100, 101) / sigma) ** 2)
    inside = np.abs(np.arange(-100, 101)) <= 4 * sigma
    chances = np.append(weights[inside], weights[~inside].sum()) / weights.sum()
    counted = np.bincount(draws + 100, minlength=201)
    result = np.append(counted[inside], counted[~inside].sum())
    assert stats.chisquare(result, draws.size * chances).pvalue > FALSE_ALARM


@pytest.mark.parametrize("sigma", [2.0**15 * 1.9, 2.0**31, LARGEST_DRAWN])
def test_integers_of_large_scale_are_normal(sigma):
    """Kolmogorov and Smirnov, and the sum of squares, of 200,000 draws; each number is its own."""
    draws = discrete_gaussian(sigma, 200_000)
    assert stats.kstest(draws / sigma, "norm").pvalue > FALSE_ALARM
    total = float(np.sum((draws / sigma) ** 2))
    assert 2 * min(stats.chi2.cdf(total, draws.size), stats.chi2.sf(total, draws.size)) > FALSE_ALARM
    assert abs(np.corrcoef(draws[1:], draws[:-1])[0, 1]) < 6 / np.sqrt(draws.size)
    assert sigma < 2.0**31 or len(np.unique(draws)) > draws.size - 40
    low_bits = np.bincount(draws & 15, minlength=16)
    assert stats.chisquare(low_bits).pvalue > FALSE_ALARM


@pytest.mark.parametrize("count", [0, 1, 5, 40_000])
def test_as_many_as_asked(count):
    """However many candidates a round refuses."""
    assert discrete_gaussian(3.0, count).shape == (count,)


@pytest.mark.parametrize(("drawn", "kind"), [(2**62 - 1, np.int64), (2**62, object), (-(2**62), object)])
def test_no_sum_with_noise_wraps(drawn, kind, monkeypatch):
    """Beside private integers of 64 bits, which are below 2^61, the sum has 64 bits or is Python's."""
    monkeypatch.setattr(sampler, "integers_from_uniform", lambda words, sigma: np.array([drawn]))
    noise = discrete_gaussian(LARGEST_DRAWN, 1)
    sign = 1 if drawn > 0 else -1
    assert noise.dtype == kind and (np.array([sign * (2**61 - 1)]) + noise).tolist() == [drawn + sign * (2**61 - 1)]


@pytest.mark.parametrize("sigma", [0.0, -1.0, np.inf, np.nan, 2 * LARGEST_DRAWN])
def test_no_scale_without_noise(sigma):
    """Nothing is drawn at a scale of zero, nor where 64 bits would end."""
    with pytest.raises(ValueError):
        discrete_gaussian(sigma, 3)


def test_the_law_is_that_of_opendp():
    """Two samplers of one law: Kolmogorov and Smirnov on 4,000 draws each."""
    sigma = 2.0**30 * 1.3
    drawn = np.array(opendps_gaussian(sigma)(np.zeros(4000, dtype=np.int64)))
    assert stats.ks_2samp(drawn, discrete_gaussian(sigma, 4000)).pvalue > FALSE_ALARM
