"""Noise: its distribution by exact tests, its sources, and that nobody gets it by default."""

from __future__ import annotations

import inspect
from importlib import import_module
from pkgutil import walk_packages

import numpy as np
import pytest
from scipy import stats

import pmtcore
from pmtcore.accounting.budgets import MU_RANGE
from pmtcore.base.private_rows import Private
from pmtcore.mechanisms.grid import integer_sd
from pmtcore.mechanisms.noise import (
    LARGEST_DRAWN,
    SecureNoise,
    SeededNoise,
    ZeroNoise,
    release_vector,
    sigma_for,
    spherical,
    symmetric_noise,
    uniform,
)
from pmtcore.mechanisms.passes import GRADIENT, GRADIENT_SENSITIVITY
from pmtcore.mechanisms.randomizers import release_sums
from tests.helpers import FALSE_ALARM

SIZE = 20_000
# Words of 32 candidates: segment 1, offset 2 beyond 4, accepted.
FIRST = np.repeat(np.array([1, 2, 0], dtype=np.uint64), 32).tobytes()


def looks_standard_normal(draws: np.ndarray) -> bool:
    """Kolmogorov-Smirnov, and chi-square on the sum of squares, each at half the false-alarm rate."""
    total = float(np.sum(draws**2))
    tail = 2 * min(stats.chi2.cdf(total, draws.size), stats.chi2.sf(total, draws.size))
    return bool(stats.kstest(draws.ravel(), "norm").pvalue > FALSE_ALARM / 2 and tail > FALSE_ALARM / 2)


def test_secure_noise_has_nothing_in_floating_point():
    """By construction: no normal numbers, and what asks for them refuses a source that a release may use."""
    assert not hasattr(SecureNoise(), "normal")
    for ask in (
        lambda: symmetric_noise(SecureNoise(), 1, 2, "papers"),
        lambda: release_vector(Private(np.zeros(2)), 1.0, SecureNoise(), 1),
        lambda: uniform(SecureNoise(), 1, 2),
        lambda: spherical(SecureNoise(), 1, 2),
    ):
        with pytest.raises(TypeError):
            ask()


def test_secure_integers_and_words_come_from_the_system():
    """Discrete Gaussian integers of their scale, uniform words; two sources never agree, and 20 % less would be
    seen."""
    draws = SecureNoise().integers(2.0**31, 1, 4000) / 2.0**31
    assert looks_standard_normal(draws)
    assert not looks_standard_normal(0.8 * draws)
    assert not np.array_equal(draws, SecureNoise().integers(2.0**31, 1, 4000) / 2.0**31)
    words = SecureNoise().words(1, SIZE).ravel()
    assert stats.kstest(words / 2.0**64, "uniform").pvalue > FALSE_ALARM
    assert not np.array_equal(words, SecureNoise().words(1, SIZE).ravel())


@pytest.mark.parametrize("source", [SecureNoise(), SeededNoise(1)], ids=["secure", "seeded"])
def test_noise_beyond_64_bits_is_not_cut(source):
    """At a scale of 2^63 every third draw is beyond 64 bits: none stops or turns there and shows its sum."""
    (noisy,) = source.noisy([(np.array([2**40 + 1] * 40), 2.0**63)], 1)
    added = noisy[0].astype(object) - (2**40 + 1)
    assert {int(value) % 2**64 for value in added}.isdisjoint({2**63 - 1, 2**63})
    assert 2**63 < max(abs(value) for value in added) < 2**66, "none of 40 beyond: once in four million"
    spread = float(np.std(added.astype(float))) / 2.0**63
    assert abs(spread - 1) < 5 / np.sqrt(80), "40 draws tell a standard deviation to 11 %"


def test_sums_of_local_reports_may_have_more_than_64_bits():
    """Eight million reports at mu 1e-6: the noise on one coordinate in eight is beyond 64 bits."""
    scale, n = 2.0**31 / MU_RANGE[0], 8_000_000
    sums = release_sums(Private(np.zeros(250, dtype=np.int64)), SecureNoise(), 1, np.full(250, scale), n=n)
    assert np.max(np.abs(sums)) > 2.0**63, "none of 250 beyond: once in 10^14"
    assert abs(np.std(sums) / (scale * np.sqrt(n)) - 1) < 5 / np.sqrt(500)


def test_the_smallest_budget_has_noise_beyond_64_bits():
    """A pass of clipped gradients with a sixteenth of the least mu^2 has such a scale."""
    assert integer_sd(GRADIENT_SENSITIVITY * GRADIENT, MU_RANGE[0] / 4) > LARGEST_DRAWN


def test_system_entropy_is_asked(monkeypatch):
    """Words are what the operating system gives, not what a generator of our own makes of a seed."""
    monkeypatch.setattr("pmtcore.mechanisms.noise.os.urandom", lambda count: bytes(range(count)))
    assert SecureNoise().words(1, 2).tobytes() == bytes(range(16))
    asked = []
    third = lambda bits: asked.append(bits) or 2**bits // 3  # noqa: E731
    monkeypatch.setattr("pmtcore.mechanisms.spherical.secrets.randbits", third)
    SecureNoise().spherical(2.0**20, 1, 2)
    assert sum(asked) >= 4 * 128
    called = []
    monkeypatch.setattr("pmtcore.mechanisms.discrete_gaussian.os.urandom", lambda count: called.append(count) or FIRST)
    assert SecureNoise().integers(4.0, 2, 2).tolist() == [[6, 6], [6, 6]] and called == [len(FIRST)]


def test_seeded_noise_is_standard_normal(seed):
    """Seeded noise is N(0, 1), and noise 20 % too small would be seen."""
    draws = SeededNoise(seed).normal(100, SIZE // 100)
    assert looks_standard_normal(draws)
    assert not looks_standard_normal(0.8 * draws)


def test_a_longer_run_extends_a_shorter_one(seed):
    """Row t of a seeded stream does not depend on how many rows follow; calls and paths are separate streams."""
    short, long = SeededNoise(seed, 7), SeededNoise(seed, 7)
    for _ in range(2):
        assert np.array_equal(short.normal(5, 12), long.normal(50, 12)[:5])
    assert not np.array_equal(SeededNoise(seed, 1).normal(3, 3), SeededNoise(seed, 2).normal(3, 3))
    source = SeededNoise(seed)
    assert not np.array_equal(source.normal(3, 3), source.normal(3, 3))


@pytest.mark.parametrize(("form", "off_diagonal"), [("papers", 1.0), ("isometric", 0.5)])
def test_symmetric_noise_has_the_stated_variances(form, off_diagonal, seed):
    """Diagonal variance 1; off the diagonal 1 (papers) or 1/2 (isometric); symmetric."""
    matrices = symmetric_noise(SeededNoise(seed), 3000, 4, form)
    assert np.array_equal(matrices, np.swapaxes(matrices, 1, 2))
    rows, columns = np.triu_indices(4, 1)
    assert looks_standard_normal(np.diagonal(matrices, axis1=1, axis2=2))
    assert looks_standard_normal(matrices[:, rows, columns] / np.sqrt(off_diagonal))


def test_isometric_noise_is_rotation_invariant(seed):
    """In isometric noise any orthogonal direction pair has the same law: u'Gv ~ N(0, 1/2) for u orthogonal to v."""
    q = np.linalg.qr(np.random.default_rng(seed).standard_normal((5, 5)))[0]
    matrices = symmetric_noise(SeededNoise(seed), 20_000, 5, "isometric")
    assert looks_standard_normal(np.sqrt(2) * np.einsum("i,tij,j->t", q[0], matrices, q[1]))
    assert looks_standard_normal(np.einsum("i,tij,j->t", q[2], matrices, q[2]))


def test_mechanisms_add_their_noise_and_nothing_else(seed):
    """Release is statistic plus sigma times unit noise."""
    vector = np.array([3.0, 4.0, 5.0])
    released = release_vector(Private(vector), 0.5, SeededNoise(seed), 2)
    assert np.allclose(released, vector + 0.5 * SeededNoise(seed).normal(2, 3))
    assert np.array_equal(release_vector(Private(vector), 1.0, ZeroNoise(), 2), np.tile(vector, (2, 1)))


@pytest.mark.parametrize(("sensitivity", "mu"), [(0, 1), (1, 0), (-1, 1), (np.nan, 1), (1, np.nan), (np.inf, 1)])
def test_no_noise_scale_without_a_sensitivity_and_a_budget(sensitivity, mu):
    """Zero, negative and not-a-number never calibrate anything."""
    with pytest.raises(ValueError):
        sigma_for(sensitivity, mu)


def test_nothing_takes_noise_or_delta_or_neighbours_by_default():
    """No public function has a default for the noise source, delta or the neighbouring relation."""
    for module in walk_packages(pmtcore.__path__, "pmtcore."):
        if module.name.endswith("__main__"):
            continue
        for name, function in inspect.getmembers(import_module(module.name), inspect.isfunction):
            for parameter in inspect.signature(function).parameters.values():
                form = parameter.name == "form" and ".mechanisms." in module.name  # of noise, not of a command line
                if (module.name, name, parameter.name) == ("pmtcore.api.functions", "audit", "delta"):
                    continue  # of a claim that is put to the test: pure, the strictest, where none is stated
                if form or parameter.name in {"source", "noise_source", "delta", "neighbours"}:
                    assert parameter.default is inspect.Parameter.empty, f"{module.name}.{name}({parameter.name})"
