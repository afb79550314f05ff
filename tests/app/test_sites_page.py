"""The page about several institutions."""

from __future__ import annotations

import json

import pytest

from pmtcore.report.figures.sites import WORDS
from tests.app.conftest import words


@pytest.mark.slow
def test_the_sites_page_compares_studies_with_a_site_alone(app):
    """The picture has every way to collude, one site alone and the local model; another method draws it again."""
    app.switch_page("pages/study/sites.py").run(timeout=120)
    assert not app.exception
    assert not app.error
    (chart,) = app.get("plotly_chart")
    drawn = {trace["name"]: trace for trace in json.loads(chart.proto.spec)["data"]}
    assert set(drawn) == set(WORDS.values())
    assert "study create" in app.code[0].value
    assert "joint-pmt" in app.code[0].value
    app.selectbox(key="sites-method").set_value("joint-moment").run(timeout=120)
    assert not app.exception
    assert "--method joint-moment" in app.code[0].value
    assert "only the noisy total" in words(app)
