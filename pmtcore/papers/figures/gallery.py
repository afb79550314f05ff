"""Pictures of the gallery: a published experiment, recomputed."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from string import ascii_lowercase
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from pmtcore.base import escaping
from pmtcore.base.citations import letters
from pmtcore.base.messages import InputError
from pmtcore.base.numbers import plural
from pmtcore.methods.registry import method, methods, of_role
from pmtcore.papers.errata import ERRATA
from pmtcore.papers.gallery.claims import Answer, Curve
from pmtcore.papers.gallery.engine import Figure, needed
from pmtcore.papers.gallery.series import expansions, shown
from pmtcore.papers.gallery.unsettled import OpenClaim
from pmtcore.report.figures.style import finish, log_axis, rgba
from pmtcore.tables import named

_COLOURS = ("#D55E00", "#CC79A7", "#E69F00", "#56B4E9", "#AA4477", "#44AA99", "#777777", "#6F5FC7", "#999933")
_DASHES = ("solid", "dash", "dot", "dashdot")
# Pixels of a picture whose legend has so many lines, and of each more: two or three share a row of 19 pixels, and a
# legend scrolls where it would take half of the picture.
_HEIGHT, _LINES, _PER_LINE = 420, 12, 8


def picture(figure: Figure, record: Mapping[str, Any]) -> go.Figure:
    """Draw means with a band of one standard deviation, as the papers do; medians where means do not exist."""
    drawn = go.Figure()
    at = 0
    for fields in record["series"]:
        _draw(drawn, Curve.from_dict(fields), at, figure.log_y)
        at += _own(fields["name"]) is None
    if figure.log_x:
        log_axis(drawn, "x")
    if figure.log_y:
        log_axis(drawn, "y")
    more = max(0, len(record["series"]) - _LINES)
    return finish(drawn, figure.x_label, figure.y_label, _HEIGHT + more * _PER_LINE)


def _draw(drawn: go.Figure, curve: Curve, at: int, log: bool) -> None:
    colour = _own(curve.name) or _COLOURS[at % len(_COLOURS)]
    low = np.maximum(curve.mean - curve.sd, curve.quantile(0.1)) if log else curve.mean - curve.sd
    band = {"x": curve.x, "mode": "lines", "line": {"width": 0}, "legendgroup": curve.name, "showlegend": False}
    drawn.add_scatter(y=curve.mean + curve.sd, hoverinfo="skip", **band)
    drawn.add_scatter(y=low, fill="tonexty", fillcolor=rgba(colour, 0.12), hoverinfo="skip", **band)
    drawn.add_scatter(
        x=curve.x,
        y=curve.mean,
        name=shown(curve.name),
        legendgroup=curve.name,
        mode="lines+markers",
        line={"color": colour, "width": 2, "dash": _dash(curve.name, at)},
        marker={"size": 6, "color": colour},
        hovertemplate=f"{escaping.chart(shown(curve.name))}<br>%{{x:.4g}}: mean %{{y:.3g}}<extra></extra>",
    )


def colours(names: Sequence[str]) -> list[str]:
    """Return the colour of each series, as :func:`picture` draws them."""
    palette, at = [], 0
    for name in names:
        palette.append(_own(name) or _COLOURS[at % len(_COLOURS)])
        at += _own(name) is None
    return palette


def _own(name: str) -> str | None:
    """Return the colour of a registered method's curve, ours or the public fit; ``None`` for the papers'."""
    entry_of = {entry.id: entry for entry in methods()}.get(name)
    return entry_of.colour if entry_of is not None and (entry_of.recommended or entry_of.role == "public") else None


def _dash(name: str, at: int) -> str:
    if name == of_role("public").id:
        return "dash"
    return "solid" if _own(name) else _DASHES[at // len(_COLOURS) % len(_DASHES)]


def table(record: Mapping[str, Any]) -> pd.DataFrame:
    """Return the figures in rows."""
    summaries = [
        {name: value for name, value in fields.items() if name != "values"} | {"name": shown(fields["name"])}
        for fields in record["series"]
    ]
    parts = [pd.DataFrame(fields).rename(columns={"name": "series"}) for fields in summaries]
    return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame()


@dataclass(frozen=True)
class Verdict:
    """One claim as a page shows it.

    Attributes:
        words: the answer and the claim.
        lines: the figures behind the answer, a line for each comparison.
        reason: letter of the unstated setting that the answer depends on (:func:`reasons`); empty where there is none.
    """

    answer: Answer
    words: str
    lines: tuple[str, ...]
    reason: str


def reasons(verdict: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Return the unstated settings that answers depend on, each once, by letter."""
    settings = dict.fromkeys(entry["unstated"] for entry in verdict if entry["unstated"])
    return dict(zip(ascii_lowercase, settings, strict=False))


def verdicts(
    verdict: Sequence[Mapping[str, Any]], unanswered: Sequence[OpenClaim] = (), *, ours: bool = False
) -> list[Verdict]:
    """Return the claims of the paper, or those of this project, each with its answer.

    Args:
        verdict: answers of a figure's claims.
        unanswered: those of them without an answer, which say what would give one.
        ours: this project's claims.
    """
    letters = {words: letter for letter, words in reasons(verdict).items()}
    advice = {each.claim: each.advice for each in unanswered}
    return [
        Verdict(
            answer := Answer(entry["answer"]),
            f"{_sentence(answer.value).rstrip('.')}: {entry['claim']}",
            tuple(_sentence(line) for line in (*entry["lines"], *filter(None, [advice.get(entry["claim"])]))),
            letters.get(entry["unstated"], ""),
        )
        for entry in verdict
        if entry["ours"] is ours
    ]


def _sentence(words: str) -> str:
    """Return words as a sentence; a name that begins with a small letter is none of ours to change."""
    return f"{words[:1].upper()}{words[1:].rstrip('.')}."


def wanting_words(figure: Figure) -> str:
    """Say why there is no result: no table, or nobody computed it."""
    try:
        needed(figure)
    except InputError:
        table = named.entry(str(figure.needs)).title
        return f"Not computed yet: it needs the table {table}, which is not on this machine."
    return f"Not computed yet: {plural(figure.trials, 'trial')}."


def omitted_words(record: Mapping[str, Any]) -> str:
    """Return which series left trials out, and how many at most; empty where none did."""
    most = {fields["name"]: max(fields.get("omitted") or [0]) for fields in record["series"]}
    parts = [f"{shown(name)}: up to {count:.0f}" for name, count in most.items() if count]
    if not parts:
        return ""
    return f"Trials without an estimate are in no mean ({'; '.join(parts)} of {record['trials']})."


def useless_words(figure: Figure, record: Mapping[str, Any]) -> str:
    """Say how many series err more than an estimate of zero at every x; empty where none does."""
    count = sum(min(fields["mean"]) > 1 for fields in record["series"])
    if not count or "relative error" not in figure.y_label:
        return ""
    lines = f"{count} of {plural(len(record['series']), 'line')}"
    return f"An estimate of zero has error 1; the mean error of {lines} is larger at every x drawn."


def trials_words(figure: Figure, record: Mapping[str, Any]) -> str:
    """Say how many trials there are, how many the paper has, and how long those would take."""
    have = f"{plural(record['trials'], 'trial')}, computed on {record['computed']}"
    if not record.get("first"):
        have += " by an earlier version of the code"
    if record["trials"] >= figure.trials:
        return f"{have}, {'as many as' if record['trials'] == figure.trials else 'more than'} the paper has."
    if not (seconds := record.get("seconds_per_trial")):
        return f"{have}; the paper has {figure.trials:,}."
    return f"{have}; the {figure.trials:,} of the paper take about {duration(seconds * figure.trials)} on one core."


def wait_words(record: Mapping[str, Any] | None, trials: int) -> str:
    """Say how long so many trials take, as measured for the stored ones; empty where nobody knows."""
    seconds = (record or {}).get("seconds_per_trial")
    return duration(seconds * trials) if seconds else ""


def duration(seconds: float) -> str:
    """Return seconds, minutes, hours or days in words, to one or two figures."""
    for size, word in ((86_400, "day"), (3600, "hour"), (60, "minute")):
        if seconds >= size:
            count = f"{seconds / size:.2g}"
            return f"{count} {word}{'' if count == '1' else 's'}"
    return f"{max(seconds, 1):.0f} second{'' if round(max(seconds, 1)) == 1 else 's'}"


def errata_of(figure: Figure) -> list[str]:
    """Return the errata that a figure touches: of its data, its methods, and what its notes and claims name."""
    text = " ".join((figure.notes, *(claim.unstated for claim in figure.claims)))
    errata = set(figure.errata).union(*(set(method(id).origin.errata) for id in figure.methods), _named(text))
    own = {id for id in errata if figure.id[0] in letters(ERRATA[id].where)}
    return sorted(own, key=lambda id: int(id[1:]))


def _named(text: str) -> set[str]:
    """Return the errata that a text names, ranges written out."""
    ranges = [range(int(a), int(b or a) + 1) for a, b in re.findall(r"\bE(\d+)(?: to E(\d+))?", text)]
    return {f"E{k}" for numbers in ranges for k in numbers}


def abbreviations(figure: Figure, record: Mapping[str, Any]) -> str:
    """Say what each abbreviation in the figure's lines is short for; empty where there is none."""
    explained = expansions(" ".join([figure.claim, *(fields["name"] for fields in record["series"])]))
    return "; ".join(f"{short}: {words}" for short, words in explained.items())
