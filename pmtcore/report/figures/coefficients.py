"""Coefficients of a release as a forest plot and a table, in one unit that the reader chooses for both."""

import math
import re
from collections.abc import Collection, Hashable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from pmtcore.base import escaping
from pmtcore.base.numbers import rounded as said
from pmtcore.base.numbers import with_equal_decimals
from pmtcore.methods.registry import of_role
from pmtcore.public.moments import INTERCEPT
from pmtcore.releases.record import Release
from pmtcore.report.figures.style import PRIVACY, QUIET, finish, finish_rows, log_axis
from pmtcore.report.rows import BAND_OF_ALL, axis_ends, axis_limit, clearest, round_steps, source, step_words, steps
from pmtcore.report.rows import clarity as clarity_of
from pmtcore.report.rows import for_all_effects as rows_for_all_effects
from pmtcore.report.statistics import RATIOS, SCALES

MOST_ROWS_DRAWN = 120  # rows drawn at once: a taller picture cannot be read
ORDERS = {
    "table": "as in the table",
    "strength": "clearest first",
    "size": "largest first",
    "name": "by name",
    "source": "grouped by column",
}
# What the star behind a name means.
BY_PRIOR = "* The size of this effect comes from the prior or penalty: all public rows of the level have one outcome."
_SCALE_NAMES = {"gaussian": "", "logistic": "log-odds", "boosting": "score", "poisson": "log"}
# Small pictures beside each other, their height in pixels, levels in each, and characters of a title and of a level.
_PANELS_PER_ROW, _PANEL, _LEVELS, _PANEL_TITLE, _LEVEL_NAME = 2, 185, 8, 50, 22
_PARTS = ("privacy", "sampling", "truncation")
_LIMITS = ("low (95 %)", "high (95 %)")
# Rows up to which each has more air: with more of them the axis would be below the first screen.
_ROWS_WIDELY_SPACED = 7
# Background of a white number at the edge, which covers the band below it in either theme.
_EDGE_LABEL_BACKGROUND = "#5a616b"


# Change of a feature that its coefficient is shown for: comparable ones (rows.steps), the powers of ten next to these,
# or one unit of the table.
Step = Literal["spread", "round", "unit"]
# Column of a table of coefficients that has round steps.
STEP = "for a change by"


@dataclass(frozen=True)
class DisplayUnit:
    """Unit of a displayed coefficient: the change of the feature that it refers to, and the scale."""

    id: str
    words: str
    step: Step
    ratio: bool  # e to the power of the coefficient
    short: str = ""  # in a list to choose from
    scale: str = ""  # what changes, or what is multiplied

    @property
    def neutral(self) -> float:
        """Return the value that means no effect."""
        return 1.0 if self.ratio else 0.0


def units(release: Release) -> dict[str, DisplayUnit]:
    """Return the units that suit the family, the first to start with."""
    family = release.public.family
    response, step = f"{SCALES.get(family, '')}{release.modelled}", step_words(release.names, release.public.zero_one)
    steps_of: dict[Step, tuple[str, str]] = {
        "spread": ("one standard deviation" if step == step_words((), ()) else "comparable steps", step),
        "round": (
            f"a round step of each{_first_step(release)}",
            "the step beside its name (a category: against the reference)",
        ),
        "unit": ("one unit", "one unit of the feature"),
    }
    ids: dict[Step, str] = {"spread": "sd", "round": "round", "unit": "table"}
    choices = [
        _unit(ids[by], response, _SCALE_NAMES[family], by=by, of=of, step=at, ratio=False)
        for by, (of, at) in steps_of.items()
    ]
    if family in RATIOS:
        name = RATIOS[family]
        choices += [
            _unit(f"{ids[by]}-ratio", release.modelled, name, by=by, of=of, step=at, ratio=True)
            for by, (of, at) in steps_of.items()
        ]
    return {unit.id: unit for unit in choices}


def _first_step(release: Release) -> str:
    """Return the round step of the first number, for a list of units; empty where there is none."""
    by = round_steps(release.names, release.public.spread, release.public.zero_one)
    numbers = [name for name in by if source(name) == name and name not in (INTERCEPT, *release.public.zero_one)]
    return f" ({numbers[0]}: {said(by[numbers[0]])})" if numbers and by[numbers[0]] else ""


def _unit(id: str, scale: str, short: str, *, by: Step, of: str, step: str, ratio: bool) -> DisplayUnit:
    """Return a unit with its words for a list (``of``) and for an axis (``step``)."""
    listed = f"{short}, for {of}" if short else f"for {of} of the feature" if by != "round" else f"for {of} feature"
    words = f"{short} of {scale}" if ratio else f"change of {scale}"
    return DisplayUnit(id, f"{words} for {step}", by, ratio, listed, scale)


def table(release: Release, unit: DisplayUnit) -> pd.DataFrame:
    """Return one row for each coefficient in this unit, the intercept last and always in the table's own unit.

    Columns: coefficient, column (of the table that it comes from), round step if that is the unit, value, low, high
    (95 %), public fit, and the standard errors of the parts, which stay on the scale of the coefficient itself (not of
    ratios).
    """
    names = list(release.names)
    of = {"spread": steps, "round": round_steps}.get(unit.step)
    by = dict.fromkeys(names, 1.0) if of is None else of(names, release.public.spread, release.public.zero_one)
    scale = np.array(list(by.values()))

    def shown(values: np.ndarray) -> np.ndarray:
        with np.errstate(over="ignore"):
            return np.exp(values * scale) if unit.ratio else values * scale

    frame = pd.DataFrame({"coefficient": names, "column": [source(name) for name in names]})
    if unit.step == "round":
        frame[STEP] = scale
    frame["value"] = shown(release.coefficients)
    if release.bands is not None:
        frame["low (95 %)"], frame["high (95 %)"] = shown(release.bands.low), shown(release.bands.high)
        for part, errors in release.bands.parts.items():
            frame[f"{part} sd"] = errors * scale
    if release.public.public_fit is not None:
        frame[of_role("public").title.lower()] = shown(release.public.public_fit)
    last = frame["coefficient"] == INTERCEPT
    return pd.concat([frame[~last], frame[last]], ignore_index=True)


def displayed_table(coefficients: pd.DataFrame, unit: DisplayUnit) -> pd.DataFrame:
    """Return the table as it is shown: beside ratios the standard errors say that they are of the logarithm.

    A part that is 0 in every row is left out: a method may count truncation in the privacy part. The column that a
    coefficient comes from stands last, so that its limits are beside it.
    """
    zero = [f"{part} sd" for part in _PARTS if not coefficients.get(f"{part} sd", pd.Series([1.0])).any()]
    coefficients = coefficients[[name for name in coefficients if name not in ("column", *zero)] + ["column"]]
    if not unit.ratio:
        return coefficients
    return coefficients.rename(columns={f"{part} sd": f"{part} sd (log)" for part in _PARTS})


def matching_rows(
    coefficients: pd.DataFrame, unit: DisplayUnit, search: str = "", order: str = "table"
) -> pd.DataFrame:
    """Return the rows whose coefficient contains the text, in this order (one of :data:`ORDERS`)."""
    matching = coefficients[coefficients["coefficient"].str.contains(search.strip(), case=False, regex=False)]
    if order == "strength":
        return matching.iloc[np.argsort(-clarity(matching, unit), kind="stable")].reset_index(drop=True)
    if order == "size":
        return matching.iloc[np.argsort(-size(matching, unit), kind="stable")].reset_index(drop=True)
    if order == "name":
        return matching.sort_values("coefficient", kind="stable", ignore_index=True)
    if order == "source":
        return matching.sort_values(["column", "coefficient"], kind="stable", ignore_index=True)
    return matching.reset_index(drop=True)


def clarity(coefficients: pd.DataFrame, unit: DisplayUnit) -> np.ndarray:
    """Return the clarity of each effect (:func:`pmtcore.report.rows.clarity`), on the scale where errors add."""
    value = coefficients["value"].to_numpy(dtype=float)
    low, high = (coefficients[name].to_numpy(dtype=float) if name in coefficients else value for name in _LIMITS)
    with np.errstate(all="ignore"):
        if unit.ratio:
            value, low, high = np.log(value), np.log(low), np.log(high)
    return clarity_of(value, low, high)


def size(coefficients: pd.DataFrame, unit: DisplayUnit) -> np.ndarray:
    """Return the size of each effect (rows,), on the scale where effects add."""
    value = coefficients["value"].to_numpy(dtype=float)
    return np.asarray(np.abs(np.log(value.clip(1e-300, 1e300)) if unit.ratio else value))


def picked_by(order: str) -> str:
    """Return the word for the level that represents its column in this order."""
    return "largest" if order == "size" else "clearest"


def one_row_per_column(coefficients: pd.DataFrame, unit: DisplayUnit, order: str = "table") -> pd.DataFrame:
    """Return one row for each column of the table: one of its levels, with the number of effects it was picked from.

    The level is the clearest, or the largest where rows are ordered by size.
    """
    measure = size if order == "size" else clarity
    rows = clearest(list(coefficients["coefficient"]), measure(coefficients, unit), picked_by(order))
    folded_rows = coefficients.iloc[[at for at, _ in rows]].reset_index(drop=True)
    effects = coefficients.groupby("column")["column"].transform("size").iloc[[at for at, _ in rows]]
    called = [name for _, name in rows]
    return folded_rows.assign(effect=folded_rows["coefficient"], coefficient=called, effects=list(effects))


def least_freedom(release: Release) -> dict[str, float]:
    """Return the least degrees of freedom of the bands of each column's coefficients; infinite where none are known."""
    freedom = None if release.bands is None else release.bands.freedom
    least: dict[str, float] = {}
    for name, each in zip(release.names, [math.inf] * len(release.names) if freedom is None else freedom, strict=True):
        least[source(name)] = min(least.get(source(name), math.inf), float(each))
    return least


def for_all_effects(rows: pd.DataFrame, unit: DisplayUnit, freedom: Mapping[str, float]) -> pd.DataFrame:
    """Return rows with limits that hold for all effects of their column, where each was picked among several.

    Args:
        rows: of :func:`one_row_per_column`, or others with a number of effects.
        unit: of the displayed coefficients.
        freedom: of :func:`least_freedom`.
    """
    if "effects" not in rows or _LIMITS[0] not in rows:
        return rows
    low, high = (rows[name].to_numpy(dtype=float) for name in _LIMITS)
    least = rows["column"].map(freedom).to_numpy(dtype=float)
    with np.errstate(all="ignore"):
        if unit.ratio:
            low, high = np.log(low), np.log(high)
        low, high = rows_for_all_effects(low, high, rows["effects"].to_numpy(), least)
        if unit.ratio:
            low, high = np.exp(low), np.exp(high)
    return rows.assign(**dict(zip(_LIMITS, (low, high), strict=True)))


def forest(coefficients: pd.DataFrame, unit: DisplayUnit) -> go.Figure:
    """Draw points and 95 % bands, the bands over the points so that both can be seen; the intercept is in the table."""
    rows = coefficients[coefficients["coefficient"] != INTERCEPT].head(MOST_ROWS_DRAWN)
    names, public = row_names(rows), of_role("public")
    hovers = [_hover(row) for row in rows.to_dict("records")]
    figure = go.Figure()
    if public.title.lower() in rows:
        figure.add_scatter(
            x=rows[public.title.lower()],
            y=names,
            mode="markers",
            name=f"{public.title.lower()} (its band is not drawn)",
            marker={"size": 9, "color": public.colour, "symbol": "diamond-open", "line": {"width": 1.5}},
        )
    figure.add_scatter(
        x=rows["value"],
        y=names,
        mode="markers",
        name="released",
        marker={"size": 9, "color": PRIVACY},
        customdata=hovers,
        hovertemplate="<br>".join(f"%{{customdata[{at}]}}" for at in range(len(hovers[0]) if hovers else 0))
        + "<extra></extra>",
    )
    if "low (95 %)" in rows:
        _draw_bands(figure, rows, names)
    figure.add_vline(x=unit.neutral, line={"color": QUIET, "width": 1})
    if unit.ratio:
        log_axis(figure, "x")
    else:
        value = rows["value"].to_numpy(dtype=float)
        low, high = (rows[name].to_numpy(dtype=float) if name in rows else value for name in _LIMITS)
        fit = rows[public.title.lower()].to_numpy(dtype=float) if public.title.lower() in rows else None
        at_the_edge(figure, value, low, high, beside=fit)
    return finish_rows(figure, names, unit.words, marks=12 if len(names) <= _ROWS_WIDELY_SPACED else 8)


def star_levels(rows: pd.DataFrame, levels: Collection[str]) -> pd.DataFrame:
    """Return rows of which those of these levels have a star behind their name (:data:`BY_PRIOR`)."""
    names = zip(rows["coefficient"], rows.get("effect", rows["coefficient"]), strict=True)
    starred = [f"{own}*{name.removeprefix(own)}" if own in levels else name for name, own in names]
    return rows.assign(coefficient=starred)


def row_names(rows: pd.DataFrame) -> list[str]:
    """Return what each row is called in a picture: the coefficient, and beside it the round step of a number."""
    names = list(rows["coefficient"])
    if STEP not in rows:
        return names
    return [
        f"{name}, {said(step)} more" if name == column else name
        for name, column, step in zip(names, rows["column"], rows[STEP], strict=True)
    ]


def multiples(coefficients: pd.DataFrame, unit: DisplayUnit, freedom: Mapping[str, float] | None = None) -> go.Figure:
    """Draw small pictures on one axis: the numbers together, and the levels of each column of categories.

    Of a column with many levels the clearest are drawn, with bands for all of them; the title of its picture says so.

    Args:
        coefficients: rows of :func:`table`.
        unit: of the displayed coefficients.
        freedom: of :func:`least_freedom`; ``None`` for bands by the normal law.
    """
    rows = coefficients[coefficients["coefficient"] != INTERCEPT]
    effects = rows.groupby("column")["column"].transform("size")
    many = effects.where(effects > _LEVELS, 1)
    rows = for_all_effects(rows.assign(effects=many), unit, freedom or dict.fromkeys(rows["column"], math.inf))
    panels = list(_panels(rows, unit).items())
    figure = make_subplots(
        rows=-(-len(panels) // _PANELS_PER_ROW),
        cols=_PANELS_PER_ROW,
        subplot_titles=[escaping.chart(title, _PANEL_TITLE) for title, _ in panels],
        shared_xaxes="all",
        horizontal_spacing=0.28,
        vertical_spacing=min(0.09, 0.5 / len(panels)),
    )
    for at, (_, part) in enumerate(panels):
        place = {"row": at // _PANELS_PER_ROW + 1, "col": at % _PANELS_PER_ROW + 1}
        names = _short_names([name.split("=", 1)[-1] for name in row_names(part)])
        figure.add_scatter(
            x=part["value"],
            y=names,
            mode="markers",
            marker={"size": 7, "color": PRIVACY},
            customdata=[_hover(row) for row in part.to_dict("records")],
            hovertemplate="%{customdata[0]}<extra></extra>",
            **place,
        )
        if _LIMITS[0] in part:
            _draw_bands(figure, part, names, **place)
        figure.update_yaxes(range=[len(names) - 0.5, -0.5], dtick=1, tickfont={"size": 11}, **place)
    figure.add_vline(x=unit.neutral, line={"color": QUIET, "width": 1})
    if unit.ratio:
        log_axis(figure, "x")
    else:
        ends = rows[[name for name in ("value", *_LIMITS) if name in rows]].abs().max(axis=1).to_numpy(dtype=float)
        limit = axis_limit(rows["value"].to_numpy(dtype=float), ends) or float(ends.max())
        figure.update_xaxes(range=[-1.05 * limit, 1.05 * limit])
    figure.update_annotations(font={"size": 13})
    drawn = finish(figure, "", "", 60 + _PANEL * -(-len(panels) // _PANELS_PER_ROW))
    return drawn.update_layout(showlegend=False, margin={"t": 28})


def _short_names(names: list[str]) -> list[str]:
    """Return names shortened to the width of their chart; names that would become equal stay unabridged."""
    short = [name if len(name) <= _LEVEL_NAME else f"{name[: _LEVEL_NAME - 1]}…" for name in names]
    return [each if short.count(each) == 1 else name for name, each in zip(names, short, strict=True)]


def _panels(rows: pd.DataFrame, unit: DisplayUnit) -> dict[str, pd.DataFrame]:
    """Return the rows of each small picture under its title, the numbers first."""
    sizes = rows.groupby("column", sort=False)["column"].transform("size")
    panels = {}
    if (sizes == 1).any():
        panels["numbers, two levels"] = rows[sizes == 1]
    for name in dict.fromkeys(rows["column"][sizes > 1]):
        part = rows[rows["column"] == name]
        title = str(name) if len(part) <= _LEVELS else f"{name}: clearest {_LEVELS} of {len(part)}, bands for all"
        clearest = np.sort(np.argsort(-clarity(part, unit), kind="stable")[:_LEVELS])
        panels[title] = part.iloc[clearest].sort_values("value", ascending=False)
    return panels


def at_the_edge(
    figure: go.Figure, value: np.ndarray, low: np.ndarray, high: np.ndarray, *, beside: np.ndarray | None = None
) -> None:
    """Limit the axis to the range of most rows; write values with bands, or ends of bands, beyond it at its edge.

    Args:
        figure: with a row for each value, from 0 on.
        value: of each row (rows,).
        low: lower ends of the bands; the values where there are none.
        high: upper ends.
        beside: other marks of the rows, which the axis includes within its limit.
    """
    reach = np.max(np.abs([value, low, high]), axis=0) if len(value) else np.empty(0)
    limit = axis_limit(value if beside is None else np.append(value, beside), reach)
    if limit is None:
        return
    banded, marks = bool(np.any(high > low)), [low, high] if beside is None else [low, high, beside]
    least, most = axis_ends(np.min(marks, axis=0), np.max(marks, axis=0), limit)
    margin = 0.05 * (most - least)
    figure.update_xaxes(range=[least - margin, most + margin])
    # Rows are addressed by number: the axis shows names in another form, and a text it does not have makes a new row.
    edges = least - margin, most + margin
    for place in np.flatnonzero(reach > limit):
        here, ends = float(value[place]), (float(low[place]), float(high[place]))
        if not edges[0] <= here <= edges[1]:
            shown = "released: {} ({} to {})".format(*with_equal_decimals(here, *ends)) if banded else said(here)
            labels = [(shown, here)]
        else:
            labels = [(said(end), end) for end in ends if not edges[0] <= end <= edges[1]]
        for text, far in labels:
            figure.add_annotation(
                x=int(far > 0),
                xref="x domain",
                y=int(place),
                text=_with_minus(f"{text} →" if far > 0 else f"← {text}"),
                showarrow=False,
                xanchor="right" if far > 0 else "left",
                yanchor="middle",  # over its band: above stands its own name, below the next one's
                borderpad=0,
                font={"size": 10, "color": "#ffffff"},
                bgcolor=_EDGE_LABEL_BACKGROUND,
            )


def _with_minus(text: str) -> str:
    """Write the sign of numbers as an axis does."""
    return re.sub(r"-(?=[\d.])", "\N{MINUS SIGN}", text)


def _draw_bands(figure: go.Figure, rows: pd.DataFrame, names: list[str], **place: int) -> None:
    """Draw interval lines with ends, last; dashed and named apart where they hold for all effects of a column."""
    wide = (rows["effects"] > 1).to_numpy() if "effects" in rows else np.zeros(len(rows), dtype=bool)
    for among, name, dash in ((~wide, "95 % band", "solid"), (wide, BAND_OF_ALL, "4px,3px")):
        part = rows[among]
        if part.empty:
            continue
        figure.add_scatter(
            x=np.column_stack([part[_LIMITS[0]], part[_LIMITS[1]], np.full(len(part), np.nan)]).ravel(),
            y=[called for called, drawn in zip(names, among, strict=True) if drawn for _ in range(3)],
            mode="lines+markers",
            name=name,
            line={"color": "#56B4E9", "width": 2.5, "dash": dash},
            marker={"symbol": "line-ns-open", "size": 9, "color": "#56B4E9", "line": {"width": 2.5}},
            hoverinfo="skip",
            **place,
        )


def _hover(row: Mapping[Hashable, Any]) -> list[str]:
    if "low (95 %)" not in row:
        return [f"{row['coefficient']}: {said(row['value'])}"]
    value, low, high = with_equal_decimals(row["value"], row["low (95 %)"], row["high (95 %)"])
    parts = [f"{part}: {said(row[part])}" for part in row if str(part).endswith(" sd")]
    return [f"{row['coefficient']}: {value}", f"95 %: {low} to {high}", *parts]


def note(coefficients: pd.DataFrame, shown: pd.DataFrame) -> str:
    """State how many of the coefficients are shown, so that none is left out without a word."""
    drawn, every = ((names["coefficient"] != INTERCEPT).sum() for names in (shown, coefficients))
    most = f"; drawn are the first {MOST_ROWS_DRAWN}" if drawn > MOST_ROWS_DRAWN else ""
    return f"The picture has {drawn} of the {every} coefficients, the table all{most}."
