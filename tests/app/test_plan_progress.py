"""Plan while its predictions are being computed: how far they are, and Stop."""

from __future__ import annotations

from pmtcore.releases.planning import Curves
from tests.app.conftest import STEP, go
from tests.app.test_pages import session


def test_plan_says_how_far_it_is_and_stop_keeps_what_was_done(app, monkeypatch):
    """Each look computes more and says so; after Stop no look does, and the picture has what was there."""

    def once(curves: Curves) -> bool:
        """Compute one rung, and end the look: as much of it on every machine."""
        STEP(curves)
        return False

    def done() -> set[tuple[str, float]]:
        return {(each.method, each.mu) for each in curves.plans()}

    monkeypatch.setattr(Curves, "step", once)
    go(app, "plan")
    curves, shown = session(app).curves, []
    for _ in range(2):
        (progress,) = app.get("progress")
        shown.append(progress.proto.value)
        app.run()
    assert shown == sorted(shown) and shown[0] < shown[-1] < 100 * curves.share < 100
    before = done()
    app.button(key="plan-stop").click()
    for _ in range(2):
        app.run()
        assert not app.exception and not curves.live and done() == before
        assert not app.get("progress") and all(button.key != "plan-stop" for button in app.button)
        (drawn,) = app.get("plotly_chart")
        assert drawn.proto.spec


def test_stop_has_room_for_its_word(app, monkeypatch):
    """A sixth of the column broke it into "Sto" and "p"."""
    monkeypatch.setattr(Curves, "step", lambda curves: False)
    go(app, "plan")
    with_stop = [one for one in app.get("column") if any(button.key == "plan-stop" for button in one.button)]
    (beside,) = (one for one in with_stop if not one.get("progress"))
    assert beside.weight >= 0.25
