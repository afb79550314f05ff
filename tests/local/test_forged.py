"""What forged reports can move is said, and is what they move."""

from __future__ import annotations

import numpy as np
import pytest

from pmtcore.api.local import aggregate
from pmtcore.local import setup
from pmtcore.local.tally import Tally
from pmtcore.mechanisms.noise import SeededNoise
from tests.local.test_protocol import sides

N = 5_000


@pytest.mark.parametrize("kind", ["privunit", "gaussian"])
def test_a_forger_moves_no_more_than_is_said_and_nearly_as_much(kind):
    """The worst accepted report in the direction of one coefficient, from a share of devices: the bound, nearly met."""
    public, _, _, x, y = sides(N, 400, 3, 1)
    made = setup.whitened_scheme(public, N, 2.0, kind, epsilon=4.0)
    honest = made.randomize(x, y, SeededNoise(1))

    def fitted(reports):
        tally = Tally(made)
        tally.add(reports, np.arange(1, len(reports) + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15))
        assert tally.accepted == len(reports)
        return aggregate(public, made, tally)

    plain = fitted(honest)
    names = list(plain["coefficients"])
    before = np.array([plain["coefficients"][name] for name in names])
    said = np.array([plain["one_forged_report"][name] for name in names])
    forged = 5
    best = np.zeros(len(names))
    for direction in np.vstack([np.eye(made.dimension), -np.eye(made.dimension)]):
        worst = direction * made.longest_report if kind == "privunit" else direction * made.largest_coordinates
        reports = honest.copy()
        reports[:forged] = worst
        result = fitted(reports)
        best = np.maximum(best, np.abs(np.array([result["coefficients"][name] for name in names]) - before))
    assert np.all(best <= forged * said * 1.2), (best, forged * said)
    assert np.all(best >= forged * said / (2 * made.dimension)), (best, forged * said)
