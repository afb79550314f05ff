"""AppTest on the whole app, from its entry point."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest
import streamlit as st
from streamlit.components.v2 import manifest_scanner
from streamlit.runtime.pages_manager import PagesManager
from streamlit.testing.v1 import AppTest, app_test, local_script_runner

from pmtcore.releases.planning import Curves

ROOT = Path(__file__).resolve().parents[2]
# One rung of one method, as the application computes it.
STEP = Curves.step
# Each start of AppTest would read the metadata of every installed package, for longer than most pages run.
manifest_scanner.scan_component_manifests = cache(manifest_scanner.scan_component_manifests)
# Each start would compile the app's scripts anew, and look a thousand times a second whether a page has run.
app_test.ScriptCache = local_script_runner.ScriptCache = cache(local_script_runner.ScriptCache)


def _wait(runner: local_script_runner.LocalScriptRunner, timeout: float = 3) -> None:
    """Wait until a page has run, in place of Streamlit's own loop."""
    runner._script_thread.join(timeout)
    if not runner.script_stopped():
        runner.request_stop()
        raise RuntimeError(f"a page ran for longer than {timeout} s")


local_script_runner.require_widgets_deltas = _wait


@pytest.fixture(autouse=True)
def _no_automatic_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    """AppTest forgets, before each run, that the app has its own navigation (decision 0002)."""
    original = PagesManager.__init__

    def init(self, *args, **kwargs):
        PagesManager.uses_pages_directory = False
        original(self, *args, **kwargs)

    monkeypatch.setattr(PagesManager, "__init__", init)


@pytest.fixture(autouse=True)
def _all_curves_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Plan's first look has all predictions, whatever the machine computes in a second; AppTest runs no timers."""

    def finish(curves: Curves) -> bool:
        while STEP(curves):
            pass
        return False

    monkeypatch.setattr(Curves, "step", finish)


@pytest.fixture
def app() -> AppTest:
    """Return a new session on Data, from the app's entry point."""
    st.cache_data.clear()
    st.cache_resource.clear()
    return visit()


def visit() -> AppTest:
    """Return a session on Data of a visitor to a server that may have had others."""
    found = AppTest.from_file(str(ROOT / "app.py"), default_timeout=600)
    found.switch_page("pages/work/data.py").run()
    assert not found.exception
    return found


def words(app: AppTest) -> str:
    """All text on the page, sidebar included."""
    parts = [
        *app.markdown,
        *app.caption,
        *app.title,
        *app.header,
        *app.subheader,
        *app.info,
        *app.warning,
        *app.success,
        *app.error,
    ]
    parts += [*app.sidebar.markdown, *app.sidebar.caption]
    return "\n".join(str(part.value) for part in parts)


def go(app: AppTest, page: str) -> AppTest:
    """Open a page."""
    app.switch_page(f"pages/work/{page}.py").run()
    assert not app.exception
    return app
