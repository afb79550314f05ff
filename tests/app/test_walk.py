"""A short random walk in every run; long ones by command (``python -m tests.app.walk``)."""

from __future__ import annotations

import pytest
from streamlit.testing.v1.element_tree import ButtonGroup, Multiselect, Selectbox, SelectSlider

from tests.app import walk


@pytest.mark.slow
def test_a_short_walk(monkeypatch: pytest.MonkeyPatch, tmp_path, seed: int) -> None:
    """Forty steps anywhere raise nothing."""
    monkeypatch.setenv("PMT_LEDGER", str(tmp_path / "walk.db"))
    by_name = {kind: kind.format_func for kind in (Selectbox, ButtonGroup, Multiselect, SelectSlider)}
    try:
        walk.prepared()
        walk.walk(40, seed)
    finally:
        for kind, own in by_name.items():
            kind.format_func = own
