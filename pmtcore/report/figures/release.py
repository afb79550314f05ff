"""Pictures of the Release page: predicted errors, trade-off, coefficients, ridge path, moment."""

import math
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from pmtcore.accounting.budgets import attacker_power, detected_percent
from pmtcore.base.messages import ReportWords
from pmtcore.base.numbers import percent
from pmtcore.base.numbers import rounded as said
from pmtcore.methods.facts import Facts, Passes
from pmtcore.methods.registry import Prediction
from pmtcore.public.moments import INTERCEPT
from pmtcore.releases.planning import beside_public, typical_ratio
from pmtcore.releases.record import Release
from pmtcore.releases.release import Preview
from pmtcore.report.figures.coefficients import DisplayUnit
from pmtcore.report.figures.style import (
    AFTER,
    NAME_HEIGHT,
    PRIVACY,
    QUIET,
    SAMPLING,
    TRUNCATION,
    distinct_line,
    finish,
    finish_rows,
    log_axis,
    name_clearest,
)
from pmtcore.report.names import title
from pmtcore.report.rows import step_words, steps
from pmtcore.report.statistics import title as statistic

_MOST_EXPECTED = 30  # coefficients drawn before a release, so that the form below the chart stays in view
_BAR = 7  # pixels of a bar's height
_TWICE = 2.0  # ratio from which a multiple is stated in place of a percentage
_MOST_COEFFICIENTS = 120  # coefficients that one picture still shows; the table has all
_PARTS = {"privacy": (PRIVACY, ""), "sampling": (SAMPLING, "/"), "truncation": (TRUNCATION, ".")}  # colour, hatch


def predicted(preview: Preview) -> go.Figure | None:
    """Draw predicted standard errors, privacy and sampling, relative to those of the public fit alone."""
    if preview.predicted is None or preview.public_alone is None:
        return None
    names = list(preview.names)[:_MOST_EXPECTED]
    figure = _bars(names, _relative(preview.predicted, preview.public_alone))
    figure.add_vline(x=1, line={"color": QUIET, "dash": "dash"}, name="public fit alone", showlegend=True)
    return _rows_of_bars(figure, names, "standard error over that of the public fit")


def _bars(names: Sequence[str], parts: Mapping[str, np.ndarray]) -> go.Figure:
    """Draw bars side by side for the parts of each coefficient's error, distinguished by colour and hatching."""
    figure = go.Figure()
    for part, values in parts.items():
        colour, hatch = _PARTS[part]
        pattern = {"shape": hatch, "fillmode": "overlay", "fgcolor": "#ffffff", "size": 6, "solidity": 0.25}
        marker = {"color": colour, "pattern": pattern}
        figure.add_bar(y=list(names), x=values[: len(names)], name=part, orientation="h", marker=marker)
    return figure


def _rows_of_bars(figure: go.Figure, names: Sequence[str], title: str) -> go.Figure:
    """Return the finished figure of such bars, the parts of a coefficient close together below its name."""
    marks = _BAR * sum(trace.type == "bar" for trace in figure.data)
    figure.update_layout(barmode="group", bargap=1 - marks / (marks + NAME_HEIGHT))
    return finish_rows(figure, names, title, marks)


def predicted_words(preview: Preview) -> str:
    """Return the prediction in one sentence; empty where the method has none."""
    if preview.predicted is None or preview.public_alone is None:
        return ""
    if preview.guarantee.mu == 0:
        return "This is the public fit itself: its error comes from the few public rows, not from privacy."
    _, precise, outcomes = beside_public(preview.predicted, preview.public_alone)
    longer = typical_ratio(preview.predicted.total, preview.predicted.sampling)
    start = f"If private rows are like the public ones, the typical coefficient is predicted to be {precise}."
    start = f"{start} {outcomes}".strip()
    if not math.isfinite(longer):
        return f"{start} Privacy noise is all there is of it."
    if preview.facts.noise_dominates and longer < _TWICE:
        # What sampling leaves is then the error of few public rows: privacy does not cost little.
        return start
    if longer <= 1.005:
        return f"{start} Privacy costs next to nothing beside sampling."
    price = f"by {percent(longer - 1)}" if longer < _TWICE else f"to {said(longer)} times what sampling alone gives"
    if not preview.predicted.is_complete(preview.facts.predicted_truncation_rate):
        return f"{start} Noise widens the typical band {price}; what truncation adds is not predicted."
    return f"{start} Noise and truncation widen the typical band {price}."


def predicted_note(preview: Preview) -> str:
    """Say how many coefficients the picture leaves to the table; empty where it has all."""
    many = len(preview.names)
    return f"The picture has the first {_MOST_EXPECTED} of {many} coefficients, the table all." * (
        many > _MOST_EXPECTED
    )


def facts_words(facts: Facts, columns: int) -> str:
    """Return the public figures of a plan in one line; empty where it has none.

    Args:
        facts: of the plan.
        columns: of the fit, which say how long a typical whitened row is.
    """
    radius = "" if facts.radius is None else _radius_words(facts.radius, columns)
    if facts.passes is not None:
        return _two_passes_words(facts.passes, radius)
    phrases = [radius] if radius else []
    if facts.noise_sd is not None:
        phrases.append(f"noise sd {facts.noise_sd:.2g} on each entry of the main statistic, a mean over rows")
    return ", ".join(phrases)


def _radius_words(radius: float, columns: int) -> str:
    """Say where rows are shortened, beside the length of a typical one: the root of the number of columns."""
    return f"rows shortened to {radius:.3g} in whitened units (a typical one is {math.sqrt(columns):.2g} long)"


def _two_passes_words(passes: Passes, radius: str) -> str:
    """Describe a first-stage estimate (pilot) and a clipped gradient."""
    return (
        f"two passes: {100 * passes.pilot_share:.0f} % of mu² for a pilot with {radius}, "
        f"{100 * passes.counting_share:.0f} % for counting, {100 * passes.gradient_share:.0f} % for gradients clipped "
        f"at about {passes.expected_clipping_bound:.3g}"
    )


def predicted_table(preview: Preview) -> pd.DataFrame:
    """Return predicted standard errors in the units of the table."""
    if preview.predicted is None:
        return pd.DataFrame({"coefficient": list(preview.names)})
    table = pd.DataFrame(
        {
            "coefficient": list(preview.names),
            "privacy sd": preview.predicted.privacy,
            "sampling sd": preview.predicted.sampling,
            "truncation sd": preview.predicted.truncation,
        }
    )
    if preview.public_alone is not None:
        table["public fit alone sd"] = preview.public_alone.total
    return table


def _relative(predicted: Prediction, alone: Prediction) -> dict[str, np.ndarray]:
    unit = np.maximum(alone.total, 1e-300)
    parts = {"privacy": predicted.privacy / unit, "sampling": predicted.sampling / unit}
    return parts if np.ndim(predicted.truncation) == 0 else parts | {"truncation": predicted.truncation / unit}


def tradeoff(mu: float) -> go.Figure:
    """Draw what the best attacker detects at each rate of false alarms (the trade-off curve of mu-GDP)."""
    alarms = np.linspace(0.0005, 0.9995, 400)
    at_five = float(attacker_power(mu, 0.05))
    figure = go.Figure()
    figure.add_scatter(
        x=alarms, y=attacker_power(mu, alarms), name="best attacker", mode="lines", line={"color": AFTER, "width": 3}
    )
    figure.add_scatter(x=[0, 1], y=[0, 1], name="guessing", mode="lines", line={"color": QUIET, "dash": "dash"})
    figure.add_scatter(
        x=[0.05],
        y=[at_five],
        mode="markers",
        marker={"size": 11, "color": "#D55E00"},
        name=f"{detected_percent(mu):g} % at 5 % false alarms",
    )
    figure.update_xaxes(range=[0, 1], dtick=0.25)
    figure.update_yaxes(range=[0, 1], dtick=0.25)
    return finish(figure, "false alarms", "detections", 320)


def tradeoff_table(mu: float) -> pd.DataFrame:
    """Return a few points of the curve."""
    alarms = np.array([0.01, 0.05, 0.1, 0.2, 0.5])
    return pd.DataFrame({"false alarms": alarms, "detections, at most": attacker_power(mu, alarms)})


def parts(coefficients: pd.DataFrame, unit: DisplayUnit) -> go.Figure | None:
    """Draw standard errors of the privacy noise, of sampling and of truncation, apart; rows of a table in this unit.

    Those of ratios are on the scale of their logarithms, where errors add.
    """
    rows = coefficients[coefficients["coefficient"] != INTERCEPT].head(_MOST_COEFFICIENTS)
    apart = {part: rows[f"{part} sd"].to_numpy() for part in _PARTS if f"{part} sd" in rows}
    if not apart or rows.empty:
        return None
    title = f"standard error of the {'logarithm of the ' if unit.ratio else ''}{unit.words}"
    names = list(rows["coefficient"])
    return _rows_of_bars(_bars(names, apart), names, title)


def coefficients_table(release: Release) -> pd.DataFrame:
    """Return coefficients and bands in the units of the table."""
    table = pd.DataFrame({"coefficient": list(release.names), "value": release.coefficients})
    if release.bands is not None:
        for part, errors in release.bands.parts.items():
            table[f"{part} sd"] = errors
        table["low (95 %)"] = release.bands.low
        table["high (95 %)"] = release.bands.high
    return table


def releases_table(releases: Iterable[Release]) -> pd.DataFrame:
    """Return releases in rows, with what each spent."""
    return pd.DataFrame(
        {
            "method": title(release.method),
            "target": release.target,
            "rows": release.n,
            "mu": release.guarantee.person.mu,
            "neighbours": release.guarantee.neighbours.value,
            "standing": release.standing.value,
        }
        for release in releases
    )


def ridge_path(release: Release, lam: float | None = None) -> go.Figure:
    """Draw standardized coefficients along the ridge path: read off the one release, at no further cost."""
    table = ridge_path_table(release)
    by = steps(release.names, release.public.spread, release.public.zero_one)
    figure = go.Figure()
    features = [name for name in release.names if name != INTERCEPT][:_MOST_COEFFICIENTS]
    for j, name in enumerate(features):
        y = table[name] * by[name]
        figure.add_scatter(x=table["penalty"], y=y, name=name, mode="lines", line=distinct_line(j))
    name_clearest(figure)
    if lam:
        figure.add_vline(x=lam, line={"color": QUIET, "dash": "dash"})
    figure.add_hline(y=0, line={"color": QUIET, "width": 1})
    log_axis(figure, "x")
    step = step_words(release.names, release.public.zero_one)
    return finish(figure, "ridge penalty, in units of the table", f"coefficient, for {step}", 380)


def ridge_words(release: Release) -> str:
    """Say what the ridge path shows, and at which penalty the release itself is."""
    return (
        "Read off the same release: any penalty, at no further cost. The picture is for the steps on its axis, "
        "the row below it for one unit of each feature. The "
        f"coefficients above have penalty {release.parameters.get('lam', 0.0):g}."
    )


def ridge_path_table(release: Release) -> pd.DataFrame:
    """Return the path in rows: penalty, then coefficients in the units of the table."""
    path = release.released["ridge_path"]
    table = pd.DataFrame(path["coefficients"], columns=list(release.names))
    table.insert(0, "penalty", path["lam"])
    return table


def moment(release: Release) -> go.Figure:
    """Draw a released second moment like a correlation matrix: entries over the root of their diagonals."""
    matrix = np.asarray(release.released["moment"])
    scale = np.sqrt(np.maximum(np.abs(np.diag(matrix)), 1e-300))
    names = release.released["names"]
    figure = go.Figure(
        go.Heatmap(
            z=matrix / np.outer(scale, scale),
            x=names,
            y=names,
            zmin=-1,
            zmax=1,
            colorscale="RdBu",
            xgap=1,
            ygap=1,
            colorbar={"thickness": 12, "outlinewidth": 0, "dtick": 0.5},
            hovertemplate="%{y}, %{x}: %{z:.3f}<extra></extra>",
        )
    )
    figure.update_yaxes(autorange="reversed")
    return finish(figure, "", "", min(160 + 36 * len(names), 620))


def moment_words(release: Release) -> str:
    """Say how to read the picture of a moment."""
    return ReportWords.ENTRIES_SCALED.sentence()


def moment_table(release: Release) -> pd.DataFrame:
    """Return the released moment with its names."""
    names = release.released["names"]
    return pd.DataFrame(release.released["moment"], columns=names, index=names).reset_index(names="column")


def at_penalty(release: Release, lam: float) -> pd.DataFrame:
    """Return the coefficients at one penalty of the path (the nearest), in the units of the table: one row."""
    table = ridge_path_table(release)
    nearest = int(np.argmin(np.abs(np.log(table["penalty"].to_numpy() / lam))))
    return table.iloc[[nearest]]


def penalties(release: Release) -> list[float]:
    """Return the penalties of the path, rounded for a slider."""
    return [float(f"{lam:.3g}") for lam in release.released["ridge_path"]["lam"]]


def results(release: Release) -> dict[str, str]:
    """Return the single figures released beside the coefficients, with their titles.

    They are left out where noise dominates them, or where most rows were truncated and they would describe these.
    """
    released = release.released
    if release.facts.noise_dominates or released.get("clipped_share", 0.0) > 1 / 2:
        return {}
    fields = {name: released.get(name) for name in ("residual_sd", "r_squared")}
    fields["kappa"] = released.get("after_whitening", {}).get("kappa")
    known = {statistic(name): value for name, value in fields.items() if value is not None}
    return {f"{name[:1].upper()}{name[1:]}": f"{said(value)} (noisy, no band)" for name, value in known.items()}
