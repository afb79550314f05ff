"""Predictions for studies, from public figures."""

from __future__ import annotations

import math

import pytest

from pmtcore.base.messages import SiteMessage, StudyFault
from pmtcore.releases import planning
from pmtcore.releases.planning import predict_method
from pmtcore.sites.prospects import noise_mus, prospects
from pmtcore.sites.study import sites_of
from tests.helpers import make, refused


def test_more_sites_narrow_the_band_and_colluders_widen_it():
    """No colluder: the curator's prediction for all rows; all others colluding: noise sqrt(k) times as large."""
    _, public, _ = make(100, 200, 5)
    by_name = {
        (each.sites, each.who): each.half_width
        for each in prospects(public, [400, 400], "joint-pmt", 1.0, coefficient=1, counts=(5,))
    }
    assert by_name[5, "nobody"] == predict_method(public, 2000, "joint-pmt", 1.0).half_width(1)
    assert by_name[5, "nobody"] < by_name[2, "nobody"] < by_name[1, "alone"]
    assert by_name[5, "nobody"] < by_name[5, "one"] < by_name[5, "all"] < by_name[5, "local"]
    mus = noise_mus(1.0, 400, 5)
    assert mus["all"] == pytest.approx(1 / math.sqrt(5))
    assert mus["local"] == pytest.approx(1 / math.sqrt(2000))


def test_another_coefficient_is_predicted_from_the_same_plans(monkeypatch):
    """Plans of one table are made once, whichever coefficient is drawn; another budget's are others."""
    _, public, _ = make(100, 200, 5)
    plans, plan = [], planning._plan
    monkeypatch.setattr(planning, "_plan", lambda *each, **more: plans.append(each[1:]) or plan(*each, **more))
    first, second = (prospects(public, [400, 400], "joint-pmt", 1.0, coefficient=at, counts=(5,)) for at in (1, 2))
    assert len(plans) == len(set(plans)) and [each.half_width for each in first] != [each.half_width for each in second]
    assert second[0].half_width == predict_method(public, 400, "joint-pmt", 1.0).half_width(2)
    before = len(plans)
    prospects(public, [400, 400], "joint-pmt", 0.5, coefficient=1, counts=(2,))
    assert len(plans) > before


def test_each_site_has_its_own_width_alone_and_all_share_that_of_all_rows():
    """Three sites of 300, 400 and 1,000 rows: each alone by its own rows, together by 1,700."""
    _, public, _ = make(100, 200, 5)
    drawn = prospects(public, [300, 400, 1000], "joint-pmt", 1.0, coefficient=1, counts=(2,))
    alone = [each.half_width for each in drawn if each.who == "alone"]
    assert alone == [predict_method(public, n, "joint-pmt", 1.0).half_width(1) for n in (300, 400, 1000)]
    (together,) = [each.half_width for each in drawn if each.sites == 3 and each.who == "nobody"]
    assert together == predict_method(public, 1700, "joint-pmt", 1.0).half_width(1)


def test_sites_are_read_between_commas_or_in_lines():
    """A name without rows, and a study of one site or of two of one name, are refused."""
    assert [(each.name, each.rows) for each in sites_of("a=1, b=2")] == [
        (each.name, each.rows) for each in sites_of("a=1\nb=2")
    ]
    for text in ("a", "a=1,200"):
        with refused(StudyFault.SITE_LINES):
            sites_of(text)
    for text in ("a=1", "a=1, a=2"):
        with refused(SiteMessage.SITES_FORM):
            sites_of(text)
