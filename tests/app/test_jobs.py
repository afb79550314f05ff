"""A release that takes long: progress and Stop on the page, and a spend that finishes whatever is clicked."""

from __future__ import annotations

from threading import Event

import pytest

from pmtcore.releases import job as work
from pmtcore.releases.job import Job
from pmtcore.releases.progress import Progress
from tests.app.conftest import go, words
from tests.app.test_pages import session


def buttons(app) -> list[str]:
    return [button.label for button in app.button]


@pytest.fixture
def slow(monkeypatch):
    """Each block of private rows waits for a sign."""
    observed, sign, asked = Progress.rows, Event(), Event()

    def waiting(self, count):
        asked.set()
        assert sign.wait(600)
        observed(self, count)

    monkeypatch.setattr(Progress, "rows", waiting)
    monkeypatch.setattr(work, "_PATIENCE", 0.0)
    monkeypatch.setattr(work, "_SECONDS_BEFORE_PROGRESS", 0.0)
    yield sign, asked
    sign.set()


def begin(app, asked) -> Job:
    go(app, "release")
    next(box for box in app.checkbox if str(box.key).startswith("sure-")).check().run()
    next(button for button in app.button if str(button.key).startswith("go-")).click().run()
    assert not app.exception and asked.wait(600)
    return session(app).job


def test_stop_before_the_spend_says_that_nothing_was_spent(app, slow):
    """Progress is shown, Release is gone, Stop is heard at the next block."""
    sign, asked = slow
    job = begin(app, asked)
    assert "Stop before the spend" in buttons(app) and "Compute a lab figure" not in buttons(app)
    next(button for button in app.button if button.label == "Stop before the spend").click().run()
    assert not app.exception and not job.stoppable
    sign.set()
    job._thread.join(600)
    app.run()
    assert not app.exception and "nothing was spent" in words(app)
    assert session(app).job is None and not session(app).releases and "Compute a lab figure" in buttons(app)


@pytest.mark.slow
def test_a_release_goes_on_while_other_pages_are_open(app, slow):
    """Begun, left alone, finished: it is there once, whatever was clicked meanwhile."""
    sign, asked = slow
    job = begin(app, asked)
    go(app, "plan")
    go(app, "release")
    assert session(app).job is job and "Compute a lab figure" not in buttons(app)
    sign.set()
    job._thread.join(600)
    app.run()
    assert not app.exception and len(session(app).releases) == 1 and session(app).job is None
