"""The attacker's point against the trade-off curve of the claim."""

import math
from collections.abc import Mapping, Sequence

import pandas as pd
import plotly.graph_objects as go

from pmtcore.auditing.faults import FAULTS
from pmtcore.auditing.lower_bound import Audit, curve_points
from pmtcore.base.labels import ReleaseStatus
from pmtcore.base.numbers import rounded as said
from pmtcore.methods.registry import Method, methods
from pmtcore.report.figures.style import AFTER, BEFORE, QUIET, finish
from pmtcore.report.names import in_quotes


def points(audit: Audit) -> go.Figure:
    """Draw the largest detections that the claim allows, guessing, and the test that the audit counted."""
    figure = go.Figure()
    alarms, detections = curve_points(audit)
    line = {"color": AFTER, "width": 2.5}
    figure.add_scatter(x=alarms, y=detections, mode="lines", name="most that the claim allows", line=line)
    figure.add_scatter(x=[0, 1], y=[0, 1], mode="lines", name="guessing", line={"color": QUIET, "dash": "dot"})
    figure.add_scatter(
        x=[audit.false_alarms],
        y=[audit.detections],
        mode="markers",
        name="the audit's test",
        marker={"size": 10, "color": BEFORE, "symbol": "diamond"},
        # Whole marks at 0 and 1 too, where the tests that matter lie.
        cliponaxis=False,
    )
    figure.update_xaxes(range=[0, 1], dtick=0.2)
    figure.update_yaxes(range=[0, 1], dtick=0.2)
    return finish(figure, "false alarms", "detections", 360)


def overview(audits: Mapping[str, Audit]) -> go.Figure:
    """Draw the largest lower bound of each attack against the claim, one row for each kind of target."""
    figure = go.Figure()
    kinds = (
        ("sound method", AFTER, "circle", [e.id for e in methods() if e.standing is ReleaseStatus.SOUND]),
        ("lab method", QUIET, "circle-open", [e.id for e in _as_published()]),
        ("without privacy", QUIET, "square-open", [e.id for e in methods() if e.role == "reference"]),
        ("planted fault", "#D55E00", "x", list(FAULTS)),
    )
    claims = [one.claimed for one in audits.values() if one.claimed > 0]
    for name, colour, symbol, ids in kinds:
        shown = [(id, audits[id]) for id in ids if id in audits and audits[id].claimed > 0]
        shown.sort(key=lambda pair: pair[1].lower_bound)
        figure.add_scatter(
            x=[one.lower_bound / one.claimed for _, one in shown],
            y=[name] * len(shown),
            mode="markers",
            name=name,
            marker={"size": 12, "color": colour, "symbol": symbol, "opacity": 0.75},
            customdata=[[FAULTS[id].words if id in FAULTS else in_quotes(id), result_words(one)] for id, one in shown],
            hovertemplate="%{customdata[0]}<br>%{customdata[1]}<extra></extra>",
        )
    if claims:
        figure.add_vline(x=1, line={"color": QUIET, "dash": "dash"}, annotation_text="claim", annotation_yshift=10)
    # Whole marks at 0, and room beyond the largest.
    most = max((one.lower_bound / one.claimed for one in audits.values() if one.claimed > 0), default=1.0)
    figure.update_xaxes(range=[-0.03 * most, 1.03 * most])
    finish(figure, "proved mu over claimed mu", "", 300)
    return figure.update_layout(showlegend=False, margin={"t": 24})  # room for the word at the claim


def _as_published() -> list[Method]:
    """Return the methods of the lab; nobody claims that the fit without privacy is private."""
    return [e for e in methods() if e.standing is not ReleaseStatus.SOUND and e.role != "reference"]


def overview_table(audits: Mapping[str, Audit]) -> pd.DataFrame:
    """Return one sortable row for each method and planted fault."""
    rows = []
    for entry in methods():
        rows.append((entry.title, entry.standing.value, audits.get(entry.id)))
    for id, fault in FAULTS.items():
        rows.append((fault.words, "planted fault", audits.get(id)))
    rows.sort(key=lambda row: 0.0 if row[2] is None else -row[2].lower_bound / max(row[2].claimed, 1e-9))
    return pd.DataFrame(
        {
            "method or fault": name,
            "result": result_words(one, figures=False),
            "mu proved": None if one is None else one.lower_bound,
            "least mu refuted": None if one is None else one.smallest,
            "standing": standing,
        }
        for name, standing, one in rows
    )


def table(audits: Sequence[Audit]) -> pd.DataFrame:
    """Return one row for each audit."""
    columns = {
        "method": "method",
        "claimed": "claimed mu",
        "lower_bound": "lower bound",
        "smallest_found": "smallest violation found",
        "trials": "trials",
        "pair": "worst pair",
        "verdict": "verdict",
    }
    return pd.DataFrame([entry.as_dict() for entry in audits], columns=list(columns)).rename(columns=columns)


def result_words(audit: Audit | None, *, figures: bool = True) -> str:
    """Describe a row's result; never as a pass where nothing was attacked.

    Args:
        audit: the result.
        figures: whether the words have the figures; a table has them in columns of their own.
    """
    if audit is None:
        return "not audited yet"
    if audit.claimed == 0:
        return "nothing to attack: no private row is read"
    word = "refuted" if audit.violated else "not refuted"
    if not math.isfinite(audit.smallest):
        return f"{word}: this attack could not have found anything"
    if not figures:
        return word
    would = "" if audit.violated else f"; with so little noise that mu = {said(audit.smallest)}, refuted"
    return f"{word}: mu is at least {said(audit.lower_bound)} where {said(audit.claimed)} is claimed{would}"


def tally(audits: Mapping[str, Audit]) -> str:
    """Count the sound methods that were refuted, and the faults and lab methods that were caught."""
    sound = [audits[e.id] for e in methods() if e.standing is ReleaseStatus.SOUND and e.id in audits]
    faults = [audits[id] for id in FAULTS if id in audits]
    if not sound and not faults:
        return "Nothing is audited yet."
    bad = sum(one.violated for one in sound)
    verdict = "none refuted" if not bad else f"{bad} refuted: do not use these"
    caught = sum(one.violated for one in faults)
    rest = [e for e in _as_published() if e.id in audits]
    beyond = sum(audits[e.id].violated for e in rest)
    published = f" Methods as published, which nothing here releases: {beyond} of {len(rest)} refuted." if rest else ""
    return (
        f"Sound methods audited: {len(sound)}, {verdict}. Planted faults caught: {caught} of {len(faults)}.{published}"
    )
