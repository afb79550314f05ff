"""Noise of the system's entropy is drawn anew each time: spied on the source that releases use, for every method."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from pmtcore.accounting.budgets import Budget
from pmtcore.base.labels import ReleaseStatus
from pmtcore.base.private_rows import PrivateRows
from pmtcore.glm.families import LOGISTIC
from pmtcore.mechanisms.noise import SecureNoise
from pmtcore.methods.registry import make_parameters, methods
from tests.helpers import names
from tests.methods.neighbours import D, public_of

SCALE = 2.0**30  # two of a thousand draws are equal with odds of 1 in 5,000
SOUND = [entry for entry in methods() if entry.standing is ReleaseStatus.SOUND]


def drawn(monkeypatch) -> list[np.ndarray]:
    """Let the secure source keep what it gives."""
    given: list[np.ndarray] = []

    def spied(inner):
        def draw(self, *arguments):
            result = inner(self, *arguments)
            given.append(np.array(result))
            return result

        return draw

    for name in ("integers", "spherical", "words"):
        monkeypatch.setattr(SecureNoise, name, spied(getattr(SecureNoise, name)))
    return given


def assert_fresh(given: list[np.ndarray]) -> None:
    """Assert that no number occurs twice, but for one coincidence among all, and no draw is another one's turned or
    scaled copy."""
    numbers = np.concatenate([np.abs(draw.astype(np.float64)).ravel() for draw in given])
    again = sum(count - 1 for count in Counter(numbers.tolist()).values())
    assert again <= 1, f"{again} of {numbers.size} numbers were drawn before"


@pytest.mark.parametrize("entry", SOUND, ids=lambda entry: entry.id)
def test_no_two_draws_of_a_release_are_equal(entry, monkeypatch):
    """Within a release, between its trials, and between two releases by one source or by two."""
    public = public_of(entry)
    rng = np.random.default_rng(2)
    x = rng.standard_normal((60, D))
    y = (rng.random(60) < 0.5).astype(float) if public.family is LOGISTIC else x @ [1.0, 1.0]
    rows = PrivateRows.from_arrays(x, y, names(D))
    plan = entry.plan(public, 60, Budget(1.3), make_parameters(entry, {}))
    given = drawn(monkeypatch)
    source = SecureNoise()
    collected = [plan.run(rows, each, 1).coefficients[0] for each in (source, source, SecureNoise())]
    assert bool(given) == (plan.mu > 0)
    if plan.mu > 0:
        assert_fresh(given)
        assert not entry.gives_coefficients or len({tuple(one) for one in collected}) == len(collected)


@pytest.mark.parametrize("name", ["integers", "spherical"])
def test_draws_of_one_scale_and_shape_differ(name):
    """Asked again for the same scale and shape, in one call and in many: nothing comes twice, in any coordinate."""
    sources = [SecureNoise(), SecureNoise()]
    given = [getattr(source, name)(SCALE, 3, 4) for source in (*sources, *sources)]
    assert_fresh(given)
    assert np.all(np.ptp(np.concatenate(given), axis=0) > 0)


def test_words_differ():
    """Sixty-four bits each: none comes twice, and every bit takes both values."""
    source = SecureNoise()
    words = np.concatenate([source.words(4, 64).ravel() for _ in range(4)])
    assert len(np.unique(words)) == words.size
    bits = (words[:, None] >> np.arange(64, dtype=np.uint64)) & np.uint64(1)
    assert np.all(bits.min(axis=0) == 0) and np.all(bits.max(axis=0) == 1)


def test_no_module_keeps_a_generator_of_its_own():
    """Beside the two sources nothing of the package draws for a release: no seeded generator, no cache of draws."""
    import inspect

    from pmtcore.mechanisms import noise, spherical

    secure = inspect.getsource(noise.SecureNoise) + inspect.getsource(spherical)
    assert "default_rng" not in secure and "cache" not in secure and "import random" not in secure
