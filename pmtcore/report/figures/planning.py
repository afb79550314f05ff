"""Pictures of a plan: predicted half-widths against the budget."""

import math
from collections.abc import Sequence

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from pmtcore.base.messages import ReportWords
from pmtcore.base.numbers import join_names as english
from pmtcore.base.numbers import rounded as said
from pmtcore.methods.registry import method
from pmtcore.public.bands import Z95
from pmtcore.releases.planning import LADDER, Planned, typical_ratio
from pmtcore.report.figures.style import BAND_EDGE, BAND_SHADE, QUIET, SAMPLING, finish, log_axis, rgba
from pmtcore.report.names import title
from pmtcore.report.statistics import truncated_share_words

# Range of the drawn half-widths: from this share of the sampling part to this multiple of that of the public fit.
_SMALLEST_MULTIPLE, _LARGEST_MULTIPLE = 0.7, 5.0
# Where the axis of budgets ends.
_BUDGET_AXIS = (LADDER[0] / 1.1, LADDER[-1] * 1.1)
# Mark behind a method in the legend whose half-widths omit a part of the error.
_INCOMPLETE_MARK = " *"
# Pixels below the picture: four lines of a legend.
_LEGEND = 84
# Pixels of an entry there, as the longest title needs up to its comma: a phone has one a line, wide screens two.
_LEGEND_ENTRY = 145
# Columns of the table beside the picture, by their names in a plan's records.
_COLUMNS = {
    "method": "method",
    "mu": "mu",
    "privacy_sd": "privacy sd",
    "sampling_sd": "sampling sd",
    "truncation_sd": "truncation sd",
    "half_width": "95 % half-width",
    "half_width_median": "median",
    "half_width_low": "80 % from",
    "half_width_high": "80 % to",
}


def widths(plans: Sequence[Planned], coefficient: str, mu: float | None = None, chosen: str = "") -> go.Figure:
    """Draw predicted 95 % half-widths of one coefficient by method, the sampling part alone, and the chosen budget.

    Axes and the height of the legend do not change while curves are added.

    Args:
        plans: plans that are there already, one at least.
        coefficient: name of the coefficient.
        mu: the chosen budget; ``None``: none yet.
        chosen: id of the method whose 80 % interval is drawn as a band, where its outcomes were calibrated.
    """
    figure = go.Figure()
    j = plans[0].names.index(coefficient)
    ids = list(dict.fromkeys(one.method for one in plans))
    wide = _too_wide(plans, j)
    if chosen not in wide:
        _draw_interval(figure, [one for one in plans if one.method == chosen], j)
    # The chosen method is drawn last, over lines that it shares places with.
    for id in sorted((id for id in ids if id not in wide), key=lambda id: id == chosen):
        rows = sorted((one for one in plans if one.method == id), key=lambda one: one.mu)
        figure.add_scatter(
            x=[one.mu for one in rows],
            y=_falling([one.half_width(j) for one in rows]),
            name=f"{_short(id, ids)}{'' if rows[0].is_complete else _INCOMPLETE_MARK}",
            mode="lines" if len(rows) > 1 else "markers",  # while curves are being filled
            line={"color": method(id).colour, "width": 4.5 if id == chosen else 2, "dash": _dash(id)},
            legendrank=ids.index(id),
            hovertemplate=f"{title(id)}<br>mu %{{x:.3g}}: ± %{{y:.3g}}<extra></extra>",
        )
    private = [one for one in plans if not _public(one.method)]
    if private:
        # The sampling part is the same for all methods (planning.sampling_alone).
        level = Z95 * float(private[0].prediction.sampling[j])
        ends = [min(one.mu for one in plans), max(one.mu for one in plans)]
        line = {"color": SAMPLING, "width": 2, "dash": "dot"}
        figure.add_scatter(x=ends, y=[level, level], mode="lines", name="sampling alone, no privacy", line=line)
    if mu is not None:
        figure.add_vline(x=mu, line={"color": QUIET, "dash": "dash"})
    figure.update_xaxes(range=[math.log10(end) for end in _BUDGET_AXIS])
    log_axis(figure, "x")
    figure.update_xaxes(dtick="D2")
    _mark_uncomputed(figure, private)
    heights = _ends(plans, j)
    if heights is not None:
        figure.update_yaxes(range=[math.log10(end) for end in heights])
    log_axis(figure, "y")
    figure.update_yaxes(dtick="D2")
    figure = finish(figure, "total budget mu", f"95 % half-width of {coefficient}", 384)
    legend = {"font": {"size": 11}, "entrywidth": _LEGEND_ENTRY, "entrywidthmode": "pixels"}
    # Below the axis: on a phone the lines come before their names.
    return figure.update_layout(
        legend=legend | {"yref": "container", "yanchor": "bottom", "y": 0}, margin={"b": _LEGEND}
    )


def _draw_interval(figure: go.Figure, plans: Sequence[Planned], j: int) -> None:
    """Draw the 80 % interval of one method's half-widths as a band, where its outcomes were calibrated."""
    ends = sorted((one.mu, *interval) for one in plans if (interval := one.half_width_interval(j)) is not None)
    if len(ends) < 2:
        return
    mus, low, high = zip(*ends, strict=True)
    colour = method(plans[0].method).colour
    line = {"width": 1, "color": rgba(colour, BAND_EDGE)}
    edge = {"x": mus, "mode": "lines", "line": line, "legendgroup": "interval", "hoverinfo": "skip"}
    figure.add_scatter(y=_falling(high), showlegend=False, **edge)
    fill = rgba(colour, BAND_SHADE)
    figure.add_scatter(y=_falling(low), fill="tonexty", fillcolor=fill, name="eight of ten such releases", **edge)


def _falling(widths: Sequence[float]) -> list[float]:
    """Return half-widths at growing budgets, fitted so that none rises: the isotonic regression of their logarithms.

    Predictions are simulated, and their scatter would read as if a larger budget made a release worse.
    """
    from scipy.optimize import isotonic_regression  # noqa: PLC0415  # slow to load

    positive = np.asarray(widths, dtype=float)
    if not np.all(np.isfinite(positive) & (positive > 0)):
        return list(widths)
    return [float(width) for width in np.exp(isotonic_regression(np.log(positive), increasing=False).x)]


def _mark_uncomputed(figure: go.Figure, private: Sequence[Planned]) -> None:
    """Draw a shade over the budgets at which not all methods are computed yet, so that no line seems to end there."""
    ids = {one.method for one in private}
    reach = min((max(one.mu for one in private if one.method == id) for id in ids), default=LADDER[-1])
    if reach >= LADDER[-1]:
        return
    figure.add_vrect(x0=reach, x1=_BUDGET_AXIS[1], fillcolor=rgba(QUIET, 0.1), line_width=0, layer="below")
    middle = (math.log10(reach) + math.log10(_BUDGET_AXIS[1])) / 2  # a log axis places annotations by their logarithm
    text = f"computed up to<br>mu = {said(reach)} so far"
    figure.add_annotation(x=middle, y=1, yref="y domain", yanchor="top", text=text, showarrow=False)


def _short(id: str, ids: Sequence[str]) -> str:
    """Return a method's title up to its comma where no other of these methods begins alike."""
    start = title(id).partition(",")[0]
    return start if sum(title(other).partition(",")[0] == start for other in ids) == 1 else title(id)


def _ends(plans: Sequence[Planned], j: int) -> tuple[float, float] | None:
    """Return where the axis of half-widths ends; ``None`` while neither end is known."""
    levels = [one.half_width(j) for one in plans if _public(one.method)]
    private = [Z95 * float(one.prediction.sampling[j]) for one in plans if not _public(one.method)][:1]
    if not levels or not private or not private[0] > 0:
        return None
    return _SMALLEST_MULTIPLE * min(*private, *levels), _LARGEST_MULTIPLE * max(*private, *levels)


def _too_wide(plans: Sequence[Planned], j: int) -> set[str]:
    """Return the methods without a visible line: all half-widths, or all but one, lie beyond the axis."""
    ends, widths = _ends(plans, j), dict[str, list[float]]()
    for plan in plans:
        widths.setdefault(plan.method, []).append(plan.half_width(j))
    most = math.inf if ends is None else ends[1]
    return {id for id, every in widths.items() if sum(w <= most for w in every) < min(2, len(every))}


def below_words(plans: Sequence[Planned], coefficient: str, chosen: str = "") -> str:
    """Say what the band and the mark behind methods in the legend mean, and which are not drawn, where there are such.

    Args:
        plans: that are drawn.
        coefficient: name of the coefficient.
        chosen: id of the method with the band.
    """
    wide = _too_wide(plans, plans[0].names.index(coefficient))
    sentences = (
        []
        if not wide
        else [f"Wider than the picture at nearly every budget, so not drawn: {english(sorted(map(title, wide)))}."]
    )
    if not all(plan.is_complete for plan in plans if plan.method not in wide):
        sentences.append("* A lower bound: what truncation adds to the error of these methods is not predicted.")
    chosen_plans = [plan for plan in plans if plan.method == chosen and plan.prediction.total_interval is not None]
    if len(chosen_plans) > 1 and chosen not in wide:
        sentences.insert(0, ReportWords.OUTCOMES_SHADED.sentence())
    return " ".join(sentences)


def _dash(id: str) -> str:
    return "dash" if _public(id) else "solid"


def _public(id: str) -> bool:
    return method(id).role == "public"


def table(plans: Sequence[Planned], coefficient: str) -> pd.DataFrame:
    """Return the figures of the picture in rows; truncation is missing where it is not predicted."""
    rows = []
    for one in plans:
        record = one.row(one.names.index(coefficient))
        known = {"method": title(one.method)} | ({} if one.knows_truncation else {"truncation_sd": None})
        rows.append({shown: (record | known)[name] for name, shown in _COLUMNS.items()})
    return pd.DataFrame(rows)


def half_width_words(
    one: Planned, coefficient: str, step: str = "for one unit"
) -> tuple[str, list[tuple[str, str]], str]:
    """Describe one coefficient's half-width and its parts; an unknown part is not stated as zero.

    Args:
        one: the plan.
        coefficient: its name.
        step: of the feature that the coefficient is about, as :func:`pmtcore.report.words.unit_step` says it.

    Returns:
        Its name; label and value of each figure: median and upper end of the 80 % interval, or the predicted value
        where the method was not calibrated; and the parts in words.
    """
    j, p = one.names.index(coefficient), one.prediction
    parts = [("Privacy", p.privacy), ("sampling", p.sampling), *[("truncation", p.truncation)] * one.knows_truncation]
    apart = ", ".join(f"{part} sd {said(float(np.broadcast_to(sd, len(one.names))[j]))}" for part, sd in parts)
    record = one.row(j)
    median, high = record["half_width_median"], record["half_width_high"]
    predicted = said(one.half_width(j))
    if median is None or high is None:
        values = [("Predicted", f"± {predicted}")]
    else:
        values = [("Half of releases at most", f"± {said(median)}"), ("Nine of ten at most", f"± {said(high)}")]
        if said(median) != predicted:
            apart = f"{apart}; drawn is the plan, ± {predicted}, by a formula for rows without outliers"
    return f"95 % half-width of {coefficient}, {step}", values, f"{apart}."


def truncation_words(one: Planned) -> str:
    """Return the share of rows that the method is expected to shorten, and which part of the widths has it."""
    share = truncated_share_words({"predicted_truncation_rate": one.truncation_rate})
    if one.truncation_rate is None:
        return share
    if one.knows_truncation:
        return f"{share} Their effect is in the truncation sd."
    where = "in the privacy sd" if one.prediction.clipping_in_privacy else "left out of the widths"
    return f"{share} Their effect is {where}."


def narrower_words(plan: Planned, other: Planned) -> str:
    """Return the sentence that another method is predicted to be narrower, with both figures."""
    share = typical_ratio(other.prediction.total, plan.prediction.total)
    return (
        f"“{title(other.method)}” is predicted to have {said(share, 2)} times the standard error of this method, "
        "for the typical coefficient."
    )


def reverse_words(budget: float | None, rows: int | None, n: int, mu: float, *, tried: Sequence[float]) -> str:
    """Say which budget, or how many rows, a wanted half-width takes.

    Args:
        budget: that is enough; ``None`` where none is.
        rows: the same.
        n: private rows.
        mu: total budget at which rows were sought.
        tried: budgets in increasing order; the smallest one may be more than it takes.
    """
    if budget is None:
        first = f"With {n:,} rows no budget up to mu = {said(tried[-1])} is enough"
    elif budget <= tried[0]:
        first = f"A total of mu = {said(budget)} or less is enough with {n:,} rows"
    else:
        first = f"It takes a total of mu = {said(budget)} with {n:,} rows"
    second = f"no number of rows is enough at mu = {said(mu)}" if rows is None else f"{rows:,} rows at mu = {said(mu)}"
    return f"{first}; {'or ' if budget is not None and rows is not None else ''}{second}."
