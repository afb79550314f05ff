"""How many clicks lie between somebody's own files and their first release."""

from __future__ import annotations

import gzip

import pytest

from pmtcore.tables import named
from tests.app.conftest import words

MOST = 12


class Hand:
    """A visitor: each thing done counts."""

    def __init__(self, app) -> None:
        self.app, self.clicks = app, 0

    def do(self, act) -> None:
        act()
        self.clicks += 1
        self.app.run()
        assert not self.app.exception


@pytest.mark.slow
def test_clicks_from_own_files_to_a_first_release(app) -> None:
    """Adult as two files of one's own, missing values and a text target included: at most twelve clicks."""
    path = named.entry("adult").path
    if path is None:
        pytest.skip("the Adult table is not on this machine")
    head, *rows = gzip.decompress(path.read_bytes()).splitlines(keepends=True)
    files = {"upload-private": head + b"".join(rows[1000:]), "upload-public-rows": head + b"".join(rows[:1000])}
    hand = Hand(app)
    hand.do(lambda: app.segmented_control(key="source").set_value("upload"))
    for key, data in files.items():
        hand.do(lambda key=key, data=data: app.file_uploader(key=key).set_value((f"{key}.csv", data, "text/csv")))
    target = next(box for box in app.selectbox if box.label == "Target")
    hand.do(lambda: target.set_value("income"))
    if app.error:
        hand.do(next(button for button in app.button if str(button.key).startswith("repair-stop")).click)
    assert not app.error and "**income** on" in words(app)
    hand.do(lambda: app.switch_page("pages/work/release.py"))
    hand.do(next(box for box in app.checkbox if str(box.key).startswith("sure-")).check)
    hand.do(next(button for button in app.button if str(button.key).startswith("go-")).click)
    while (job := app.session_state["second_moment"].job) is not None:  # a busy machine; waiting is no click
        job.wait()
        app.run()
    assert "These figures may be published" in words(app)
    assert hand.clicks <= MOST
    print(f"{hand.clicks} clicks")
