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
# The step of the application, which computes one budget of one method.
STEP = Curves.step
# Otherwise each AppTest would read the metadata of every installed package, which takes longer than most pages.
manifest_scanner.scan_component_manifests = cache(manifest_scanner.scan_component_manifests)
# Otherwise each AppTest would compile the app's scripts, and poll a thousand times a second for the end of a page.
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
    """Tell AppTest before each run that the app has its own navigation (decision 0002)."""
    original = PagesManager.__init__

    def init(self, *args, **kwargs):
        PagesManager.uses_pages_directory = False
        original(self, *args, **kwargs)

    monkeypatch.setattr(PagesManager, "__init__", init)


@pytest.fixture(autouse=True)
def _all_curves_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let Plan compute all predictions in its first run, since AppTest has no timers."""

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
    """Return a new session on Data; caches of earlier sessions stay."""
    session = AppTest.from_file(str(ROOT / "app.py"), default_timeout=600)
    session.switch_page("pages/work/data.py").run()
    assert not session.exception
    return session


def words(app: AppTest) -> str:
    """Return all text on the page, sidebar included."""
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
