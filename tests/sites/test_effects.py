"""A fixed effect of each site, and the test that sites are alike."""

from __future__ import annotations

import pytest

from pmtcore.base.messages import StudyError, StudyFault
from pmtcore.mechanisms.noise import SeededNoise
from pmtcore.releases.release import release
from pmtcore.sites import effects
from pmtcore.sites.noise_shares import NoiseShares
from pmtcore.sites.rounds import SharedNoise
from pmtcore.sites.transcript import OpenedPass
from pmtcore.tables.table import table_from
from tests.sites.conftest import draw

ROWS = (3000, 2000, 4000)


def test_public_rows_are_dealt_out_evenly():
    """In proportion, everybody two at least, and no site has a stretch of the file to itself."""
    names = effects.assigned_sites(("a", "b", "c"), (100, 100, 200), 40)
    assert len(names) == 40
    assert [names.count(name) for name in "abc"] == [10, 10, 20]
    assert all(set(names[at : at + 8]) == set("abc") for at in range(0, 40, 8))
    small = effects.assigned_sites(("a", "b"), (1, 10**6), 11)
    assert len(small) == 11
    assert small.count("a") == 2
    with pytest.raises(StudyError) as error:
        effects.assigned_sites(("a", "b"), (1, 1), 3)
    assert error.value.kind is StudyFault.FEW_PUBLIC_ROWS


@pytest.mark.parametrize("shifts", [(0.0, 0.0, 0.0), (0.0, 1.5, 0.0)])
def test_sites_that_differ_are_detected_and_their_effects_are_in_the_bands(study, shifts):
    """From the released moment alone: the p-value, and each site against the largest; slopes as without effects."""
    setup = study(rows=ROWS, method="joint-moment", mu=2.0, shifts=shifts, site_effects=True)
    answers = setup.run()
    for record in answers.values():
        assert not isinstance(record, BaseException), record
    record = answers[""]
    result = record["study"]["homogeneity"]
    assert answers["s1"]["study"]["homogeneity"] == result
    assert list(result["effects"]) == ["site=s0", "site=s1"]
    assert (result["p"] < 1e-6) is any(shifts)
    for (low, high), shift in zip(result["effects"].values(), shifts, strict=False):
        assert low < shift < high
    assert record["bands"]["a"]["low"] < 0.5 < record["bands"]["a"]["high"]
    assert "site" not in setup.table("s0").columns


class Adds:
    """Sums what the sites bring one after the other; the last one sees the total."""

    def __init__(self, names):
        self.names, self.total_of = names, 0

    def total(self, step, values):
        self.total_of = self.total_of + values
        return OpenedPass(self.names, tuple(map(int, self.total_of)))


@pytest.mark.slow
def test_alike_sites_are_called_different_no_more_often_than_stated(study):
    """Of 60 studies of alike sites at 5 %: more than 14 have a chance of 1.9e-7 by the binomial law."""
    context = study(rows=ROWS, method="joint-moment", site_effects=True).context
    names, rare = context.study.names, 0
    for trial in range(60):
        adds = Adds(names)
        for at, name in enumerate(names):
            table = table_from(draw(ROWS[at], 1000 + 10 * trial + at), name, "private")
            source = SharedNoise(context.study, adds, NoiseShares(SeededNoise(3, trial, at), 3, 0))
            released = release(context.problem(names, table, name), context.study.request_of(names), source)
        rare += effects.homogeneity(released)["p"] < 0.05
    assert rare <= 14


@pytest.mark.parametrize("changed", [{"method": "joint-pmt"}, {"least": 2}])
def test_effects_that_cannot_be_had_are_refused(study, changed):
    """Another method, or a site that may be missing."""
    with pytest.raises(StudyError) as error:
        study(**{"method": "joint-moment", "site_effects": True, **changed})
    assert error.value.kind is StudyFault.EFFECTS
