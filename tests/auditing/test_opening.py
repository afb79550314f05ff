"""The stored picture of the first page is the one that today's code draws."""

import numpy as np
import pytest

from pmtcore.auditing.opening import BUDGETS, compute_opening
from pmtcore.auditing.opening_picture import stored_opening


def test_the_stored_picture_is_that_of_todays_code():
    """If it fails, ``python -m pmtcore.auditing.opening`` computes and stores it again: look at the picture then."""
    stored, today = stored_opening(), compute_opening()
    assert stored.names == today.names and stored.budgets == list(BUDGETS)
    for name in ("private", "public", "released", "widths", "floor"):
        np.testing.assert_allclose(getattr(stored, name), getattr(today, name), rtol=1e-6)


@pytest.mark.parametrize("mu", [BUDGETS[0], 1.0, BUDGETS[-1]])
def test_bands_of_the_picture_contain_what_was_released(mu):
    """At each budget of the slider, and they are as wide as is said."""
    values, low, high = stored_opening().values(mu)
    assert np.all(low < values) and np.all(values < high)
    assert 0 < stored_opening().floor < stored_opening().width(mu) <= 1.05
