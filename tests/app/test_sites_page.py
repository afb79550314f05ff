"""The page about several institutions."""

from __future__ import annotations

import json

import pytest

from pmtcore.report.figures.sites import WORDS
from tests.app.conftest import words


@pytest.mark.slow
def test_the_sites_page_compares_studies_with_a_site_alone(app):
    """The picture has every way to collude, one site alone and the local model; another method draws it again."""
    app.switch_page("pages/study/sites.py").run()
    assert not app.exception
    assert not app.error
    (chart,) = app.get("plotly_chart")
    drawn = {trace["name"]: trace for trace in json.loads(chart.proto.spec)["data"]}
    assert set(drawn) == set(WORDS.values())
    assert "study create" in app.code[0].value
    assert "joint-pmt" in app.code[0].value
    app.selectbox(key="sites-method").set_value("joint-moment").run()
    assert not app.exception
    assert "--method joint-moment" in app.code[0].value
    assert "only the noisy total" in words(app)


def _study(tmp_path):
    """Return the text of a study of two sites, and what one of them sends back."""
    from pmtcore.accounting.budgets import Budget
    from pmtcore.ledger.log import Ledger
    from pmtcore.releases.release import Request
    from pmtcore.sites.parties import join
    from pmtcore.sites.study import Site, StudyContext, create
    from pmtcore.tables.choices import Choices
    from tests.sites.conftest import draw

    draw(120, 7).to_csv(tmp_path / "public.csv", index=False)
    sites = [Site("north", 100), Site("south", 200)]
    path = str(tmp_path / "public.csv")
    study = create("page", path, Choices(target="y"), Request("joint-pmt", Budget(1.0)), sites=sites)
    ledger = Ledger(str(tmp_path / "ledger.db"))
    ledger.cap("north", 3.0)
    context = StudyContext.of(study, str(tmp_path))
    return study, join(context, "north", tmp_path / "keys", ledger, dataset="north", by="curator")


@pytest.mark.slow
def test_a_study_is_created_on_the_page(app, tmp_path):
    """From an uploaded public table: who can learn what, and a file; a line that names no rows is refused."""
    _study(tmp_path)
    app.switch_page("pages/study/sites.py").run()
    app.get("file_uploader")[0].set_value(("public.csv", (tmp_path / "public.csv").read_bytes(), "text/csv"))
    app.run()
    app.selectbox(key="sites-target").set_value("y")
    app.text_input(key="sites-list").set_value("north=100, south=200")
    app.run()
    assert not app.exception
    assert not app.error
    assert "each row is protected at mu\N{NO-BREAK SPACE}=\N{NO-BREAK SPACE}1" in words(app)
    assert "Study file" in [each.label for each in app.get("download_button")]
    made = app.session_state["sites-made"][1].as_json()
    app.select_slider(key="sites-mu").set_value(2.0).run()
    assert app.session_state["sites-made"][1].as_json() != made
    again = app.session_state["sites-made"][1].as_json()
    app.selectbox(key="sites-coefficient").set_value(app.selectbox(key="sites-coefficient").options[-1]).run()
    assert app.session_state["sites-made"][1].as_json() == again, "the file that was sent keeps its mark"
    assert "--site north=100 --site south=200" in app.code[0].value
    app.text_input(key="sites-list").set_value("north")
    app.run()
    assert "NAME=ROWS" in words(app)
    assert [each.value for each in app.error]


def test_the_page_shows_who_has_agreed(app, tmp_path):
    """Study file and what a site sent back: one has agreed, the other has not."""
    study, joined = _study(tmp_path)
    app.switch_page("pages/study/sites.py").run()
    uploads = {each.label: each for each in app.get("file_uploader")}
    uploads["Study file"].set_value(("study.json", study.as_json().encode(), "application/json"))
    name = "Files of sites that joined"
    uploads[name].set_value([("north.joined.json", json.dumps(joined).encode(), "application/json")])
    app.run()
    assert not app.exception
    assert not app.error
    table = app.dataframe[-1].value
    assert list(table["site"]) == ["north", "south"]
    assert list(table[""]) == ["has agreed", "has not agreed yet"]
