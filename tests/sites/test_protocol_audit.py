"""The coalition's view against the claim, and faults that the audit has to find."""

from __future__ import annotations

import pytest

from tests.sites.study_audit import FAULTS, StudySetting


@pytest.mark.slow
@pytest.mark.parametrize("sites, colluders", [(3, 1), (2, 0), (4, 2)])
def test_the_view_of_the_coordinator_and_colluders_keeps_the_claim(sites, colluders):
    """No violation, and a bound close enough that one would have shown."""
    audited = StudySetting(sites, colluders).audit(trials=8_000)
    assert not audited.violated
    assert audited.lower_bound > 0.8


@pytest.mark.slow
@pytest.mark.parametrize("fault", FAULTS)
def test_planted_faults_are_caught(fault):
    """Noise shares too small, a site without noise, masks used twice."""
    assert FAULTS[fault].audit(trials=8_000, words=fault).violated
