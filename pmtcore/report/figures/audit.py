"""The attacker's point against the trade-off curve of the claim."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import pandas as pd
import plotly.graph_objects as go

from pmtcore.auditing.faults import FAULTS
from pmtcore.auditing.lower_bound import Audit, curve_points
from pmtcore.base.numbers import figure as said
from pmtcore.base.records import Standing
from pmtcore.methods.registry import methods
from pmtcore.report.figures.style import AFTER, BEFORE, QUIET, finish


def points(found: Audit) -> go.Figure:
    """Largest detections that the claim allows, guessing, and the test that the audit counted."""
    figure = go.Figure()
    alarms, detections = curve_points(found)
    line = {"color": AFTER, "width": 2.5}
    figure.add_scatter(x=alarms, y=detections, mode="lines", name="most that the claim allows", line=line)
    figure.add_scatter(x=[0, 1], y=[0, 1], mode="lines", name="guessing", line={"color": QUIET, "dash": "dot"})
    figure.add_scatter(
        x=[found.false_alarms],
        y=[found.detections],
        mode="markers",
        name="the audit's test",
        marker={"size": 14, "color": BEFORE, "symbol": "star"},
    )
    return finish(figure, "false alarms", "detections", 360)


def table(found: Sequence[Audit]) -> pd.DataFrame:
    """One row for each audit."""
    columns = {
        "method": "method",
        "claimed": "claimed mu",
        "lower_bound": "lower bound",
        "smallest_found": "smallest violation found",
        "trials": "trials",
        "pair": "worst pair",
        "verdict": "verdict",
    }
    return pd.DataFrame([entry.as_dict() for entry in found], columns=list(columns)).rename(columns=columns)


def result_words(found: Audit | None) -> str:
    """A row's result in words; never a pass where nothing was attacked."""
    if found is None:
        return "not audited yet"
    if found.violated:
        return f"refuted: at least {said(found.lower_bound)}"
    if found.claimed == 0:
        return "nothing to attack: no private row is read"
    if not math.isfinite(found.smallest):
        return f"not refuted: at least {said(found.lower_bound)}; these runs could not have found anything"
    return f"not refuted: at least {said(found.lower_bound)}; a leak of mu = {said(found.smallest)} would show"


def tally(found: Mapping[str, Audit]) -> str:
    """How many sound methods were refuted, how many faults and lab methods were caught."""
    sound = [found[e.id] for e in methods() if e.standing is Standing.SOUND and e.id in found]
    faults = [found[id] for id in FAULTS if id in found]
    if not sound and not faults:
        return "Nothing is audited yet."
    bad = sum(one.violated for one in sound)
    verdict = "none refuted" if not bad else f"{bad} refuted: do not use these"
    caught = sum(one.violated for one in faults)
    return f"Sound methods audited: {len(sound)}, {verdict}. Planted faults caught: {caught} of {len(faults)}."
