"""The Local page with rows of one's own, and the attacks of paper C on the Audit page."""

from __future__ import annotations

import json

import pytest

from pmtcore.report.names import title
from tests.app.conftest import words
from tests.app.test_families import labelled
from tests.app.test_pages import PRIVATE, session, upload


def mine(app, intercept=True):
    """Own tables with labels, on the Local page."""
    upload(app, labelled(500, 1, text=False), labelled(80, 2, text=False))
    key = session(app).tables.key[:12]
    app.selectbox(key=f"family-{key}").set_value("logistic").run()
    app.selectbox(key=f"target-{key}").set_value("bought").run()
    if not intercept:
        app.toggle(key=f"intercept-{key}").set_value(False).run()
    app.switch_page("pages/study/local.py").run()
    assert not app.exception and not app.error
    return app


def test_nothing_is_simulated_on_own_rows_without_the_switch(app):
    """A collection under a known seed is the rows themselves to whoever knows it: no estimate, no picture."""
    mine(app)
    assert not app.get("plotly_chart")
    assert not any("estimate" in frame.value.columns for frame in app.dataframe)
    assert "for the curator" in words(app)
    assert "Each device sends **3** numbers" in words(app), "the configuration is public and stays"


@pytest.mark.slow
def test_with_the_switch_it_is_labelled_private(app):
    """The curator sees the simulation, labelled as what it is, never as released; it goes with the switch."""
    mine(app)
    app.sidebar.toggle(key="curator").set_value(True).run()
    assert app.get("plotly_chart") and any("estimate" in frame.value.columns for frame in app.dataframe)
    shown = "\n".join(str(part.value) for part in app.main.markdown)
    assert PRIVATE in shown and ": released]" not in shown
    assert not any("csv" in str(button.key) for button in app.get("download_button"))
    app.sidebar.toggle(key="curator").set_value(False).run()
    assert not any("estimate" in frame.value.columns for frame in app.dataframe)


@pytest.mark.slow
def test_the_attacks_of_paper_c_and_d_on_the_audit_page(app):
    """A symbol for rows outside the radius gives its sender away; a clipped report does not."""
    app.switch_page("pages/study/audit.py").run()
    app.button(key="audit-printed").click().run()
    assert not app.exception
    lost = [str(e.value) for e in app.error]
    assert len(lost) == 6 and any("answers with a symbol" in text for text in lost)
    assert any("ours: a clipped report" in e.value for e in app.success)


@pytest.mark.slow
@pytest.mark.parametrize("intercept", [True, False])
def test_the_papers_algorithms_stand_beside_ours(app, intercept):
    """Paper C's Algorithms 1 and 2, without intercept 3 and 4 too, as printed and repaired, in the picture's table."""
    mine(app, intercept)
    bases = ["ldp-glm-gaussian", "ldp-glm", *([] if intercept else ["ldp-nlr-gaussian", "ldp-nlr"])]
    ids = [id for base in bases for id in (base, f"{base}-printed")]
    app.sidebar.toggle(key="curator").set_value(True).run()
    for _ in range(1000):
        drawn = {str(name) for frame in app.dataframe for name in frame.value.get("method", [])}
        if len(drawn) >= 2 + len(ids):
            break
        app.run()
    assert {title(id) for id in ids} <= drawn
    (chart,) = app.get("plotly_chart")
    (curator,) = {t["name"] for t in json.loads(chart.proto.spec)["data"] if "with a curator" in t.get("name", "")}
    assert f"With a curator: {curator.split(':')[0]}" in words(app)
    assert "paper C's Algorithms 1 to 4" in words(app)
