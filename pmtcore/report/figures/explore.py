"""Charts and sentences of the Explore page: coefficients, comparison of models, correlations and components."""

import math
from collections.abc import Collection, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from pmtcore.accounting.budgets import of_person, person_note, unit_of
from pmtcore.base import escaping
from pmtcore.base.labels import Label
from pmtcore.base.messages import ExploreWords, quoted_names
from pmtcore.base.numbers import join_names as english
from pmtcore.base.numbers import p_equation, p_value, percent, plural, power_of_ten, with_equal_decimals
from pmtcore.base.numbers import rounded as said
from pmtcore.base.results import KNOWN_DOF, WaldTest, denominator_dof
from pmtcore.explore.confirm import ConfirmedModel
from pmtcore.explore.functionals import Estimates
from pmtcore.explore.logistic import Logistic
from pmtcore.explore.moment import Moment
from pmtcore.explore.penalized import Path, Subset
from pmtcore.explore.regression import Predicted, Regression
from pmtcore.methods.facts import Facts
from pmtcore.methods.joint_moment.influence import MOST_TENSOR
from pmtcore.methods.registry import Prediction
from pmtcore.public.bands import Z95
from pmtcore.public.moments import INTERCEPT
from pmtcore.report.figures import style
from pmtcore.report.figures.coefficients import at_the_edge
from pmtcore.report.rows import (
    BAND_OF_ALL,
    MOST_COLUMNS,
    clarity,
    effects_among,
    few,
    few_words,
    for_all_effects,
    source,
    step_words,
    steps,
)
from pmtcore.report.words import private_words

Values = TypeVar("Values", np.ndarray, "pd.Series[float]")

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#AA4499", "#999933")
_FAR_DISTANCE = 1000  # standard errors beyond which a distance is only called far
_HIDING_RATIO = 3.0  # width of a band over that by sampling alone from which it hides effects that the rows would show
_LIMITS = ("low", "high")
_MARGIN = 0.06  # share of an axis beyond its outermost marks
_LINE_SPACING = 14  # pixels of one model's line among others

# Lines of a path up to which each has its band: more would hide each other.
_MOST_BANDS = 8
# Of a picture with the names of lines at their ends: the height between two, and the width that they take.
_NAME_GAP, _NAME_ROOM = 0.055, 0.3
# Columns up to which each cell of their correlations has its number.
_MOST_NUMBERED = 14
# Share of the variance that is most of it.
_MOST_VARIANCE = 0.8
# Lines of a network up to which the eye follows them; of more the strongest are drawn.
_MOST_TIES = 30
# Names up to which a network has them level; more stand along their rays.
_MOST_LEVEL = 24
# Of such a network: half its height and the width of a letter in pixels, and the letters of a name.
_RADIUS, _LETTER, _LETTERS = 380, 5.6, 30


def table(fit: Regression, correction: str, models: int) -> pd.DataFrame:
    """Return coefficients with their parts and limits."""
    bands = fit.corrected(correction, models)
    return pd.DataFrame(
        {
            "coefficient": list(fit.names),
            "value": fit.fit.coefficients,
            "low": bands.low,
            "high": bands.high,
            # Where no public row is truncated, the truncation part is 0 throughout.
            **{f"{part} sd": errors for part, errors in bands.parts.items() if np.any(errors)},
        }
    )


def comparable_steps(moment: Moment) -> dict[str, float]:
    """Return the change of each column that makes effects comparable: a deviation, or from 0 to 1."""
    return steps(moment.names, moment.record.spread, moment.labels)


def in_steps(moment: Moment, fit: Regression) -> dict[str, float]:
    """Return the factors of coefficients in a picture: the :func:`comparable_steps` of the features that have one."""
    by = comparable_steps(moment)
    return {name: by[name] for name in fit.features if by[name] > 0}


def chart_rows(shown: pd.DataFrame, scales: Mapping[str, float], freedom: float | None = None) -> pd.DataFrame:
    """Return the coefficients of a chart: their name, its row's name, and value, low and high in steps.

    With many columns, each has its clearest effect only, as in the report; the intercept is left out.

    Args:
        shown: as of :func:`table`.
        scales: as of :func:`in_steps`, of at least one.
        freedom: degrees of freedom of the bands, which are widened where one of several effects is picked; ``None``
            for bands that allow for a search already.
    """
    rows = shown[shown["coefficient"].isin(list(scales))]
    among = effects_among(list(rows["coefficient"]))
    figures = [*_LIMITS, "value"]
    scaled = rows[figures].multiply(rows["coefficient"].map(scales), axis=0).assign(coefficient=rows["coefficient"])
    clear = clarity(*(scaled[name].to_numpy(dtype=float) for name in ("value", *_LIMITS)))
    effects = list(rows["coefficient"])
    places, names = zip(*few(effects, clear), strict=True)
    if freedom is not None:
        low, high = (scaled[name].to_numpy(dtype=float) for name in _LIMITS)
        wide = for_all_effects(low, high, among, freedom)
        scaled = scaled.assign(effects=among, **dict(zip(_LIMITS, wide, strict=True)))
    return scaled.iloc[list(places)].assign(row=names)


def forest(moment: Moment, fit: Regression, rows: pd.DataFrame, levels: Mapping[str, str] | None = None) -> go.Figure:
    """Draw the coefficients of :func:`chart_rows` with 95 % bands.

    Args:
        moment: the record.
        fit: the regression.
        rows: of :func:`chart_rows`.
        levels: that count as 1, as for :func:`event`.
    """
    value, low, high = (rows[name].to_numpy(dtype=float) for name in ("value", *_LIMITS))
    names, figure = list(rows["row"]), go.Figure()
    wide = (rows["effects"] > 1).to_numpy() if "effects" in rows else np.zeros(len(rows), dtype=bool)
    for among, name, symbol in ((~wide, "95 % band", "circle"), (wide, BAND_OF_ALL, "diamond-open")):
        figure.add_scatter(
            x=value[among],
            y=[called for called, is_one in zip(names, among, strict=True) if is_one],
            error_x=error_bars(low[among], value[among], high[among]),
            mode="markers",
            marker={"color": style.AFTER, "size": 9, "symbol": symbol},
            name=name,
        )
    figure.add_vline(x=0, line={"color": style.QUIET})
    at_the_edge(figure, value, low, high)
    figure.update_layout(showlegend=bool(wide.any()))
    return style.finish_rows(figure, names, f"together: {_axis(moment, [fit], levels)}")


def _axis(moment: Moment, fits: Collection[Regression], levels: Mapping[str, str] | None) -> str:
    """Return what the effects in a picture of models are: in the unit of the one response, of several in sd."""
    responses = dict.fromkeys(fit.response for fit in fits)
    in_sd = " (in sd)" if len(responses) > 1 else ""
    effects = [_changed(moment, name, levels) or f"{name}{in_sd}" for name in responses]
    features = [name for fit in fits for name in fit.features]
    return f"change of {english(effects)}, for {step_words(features, moment.labels)}"


def _changed(moment: Moment, response: str, levels: Mapping[str, str] | None) -> str:
    """Return the chance that effects on a label change, with its event; empty for a number."""
    label_event = event_of(moment, response, levels or {})
    return f"the chance that {label_event}" if label_event else ""


def error_bars(low: Values, value: Values, high: Values, colour: str | None = style.AFTER) -> dict[str, Any]:
    """Return the error bar of values from one limit to the other; without a colour it has the theme's."""
    return {"type": "data", "symmetric": False, "array": high - value, "arrayminus": value - low, "color": colour}


def neighbours(
    moment: Moment, fit: Regression, response: str, references: Mapping[str, str], *, beside: Collection[str] = ()
) -> tuple[go.Figure, pd.DataFrame]:
    """Draw the correlation of each column with the response, filled where the model has it; a mark names its column.

    Its first rows are those of the picture beside this one, in their order, so that they can be read together; then
    come the strongest others. The reference level of a category has a row in the table only, and counts as part of a
    model that has all other levels.

    Args:
        moment: the record.
        fit: the model.
        response: its response, with the level of a label.
        references: level that others are compared with, by column of the table.
        beside: coefficients in the picture beside this one.
    """
    others = _reference_levels(moment, references)
    correlations = moment.correlations_with(fit.response, others)
    rows = pd.DataFrame(correlations).rename(columns={"name": "column"})
    compared = [name for name, columns in others.items() if set(columns) <= set(fit.features)]
    rows["in the model"] = rows["column"].isin([*fit.features, *compared])
    own = rows[~rows["column"].isin(list(others))]
    # A correlation is at most 1, so rows with such a mark go before all without it.
    marks = 2.0 * own["in the model"] + 2.0 * own["column"].isin(list(beside))
    rank = (own["value"].abs() + marks).to_numpy(dtype=float)
    order = {name: at for at, name in enumerate(beside)}
    shown = sorted(few(list(own["column"]), rank), key=lambda row: order.get(own["column"].iloc[row[0]], len(order)))
    places, names = zip(*shown, strict=True)
    # A row that stands for all levels of a column names the column.
    named = [
        name if name == row else source(name) for name, row in zip(own["column"].iloc[list(places)], names, strict=True)
    ]
    drawn = own.iloc[list(places)].assign(row=names, named=named)
    figure = go.Figure()
    for name, part, symbol in (
        ("in the model", drawn[drawn["in the model"]], "circle"),
        ("not in it", drawn[~drawn["in the model"]], "circle-open"),
    ):
        figure.add_scatter(
            x=part["value"],
            y=part["row"],
            error_x=error_bars(part["low"], part["value"], part["high"]),
            mode="markers",
            name=name,
            customdata=part[["named"]].to_numpy(),
            marker={"color": style.AFTER, "size": 10, "symbol": symbol, "line": {"width": 2}},
        )
    figure.add_vline(x=0, line={"color": style.QUIET})
    least, most = min(float(drawn["low"].min()), 0.0), max(float(drawn["high"].max()), 0.0)
    figure.update_xaxes(range=[least - _MARGIN * (most - least), most + _MARGIN * (most - least)])
    return style.finish_rows(figure, names, f"alone: correlation with {response}"), rows


def event(response: str, levels: Mapping[str, str]) -> str:
    """Return the event that a 0/1 response indicates where it is 1.

    Args:
        response: its name; that of a level has the level in it.
        levels: that count as 1, by column, as far as they are known.
    """
    column, is_level, level = response.partition("=")
    return f"{column} is {level if is_level else levels.get(response, '1')}"


def event_of(moment: Moment, response: str, levels: Mapping[str, str]) -> str:
    """Return the :func:`event` of a response that is a label of the record; empty for a number."""
    return event(response, levels) if response in moment.labels else ""


def predicted_words(fit: Regression, at: Predicted, event: str) -> str:
    """Return a prediction with its band; of a label a chance, which lies between 0 and 1.

    Args:
        fit: the regression.
        at: what it predicts at some values.
        event: what a response of zeros and ones says where it is 1 (:func:`event`); empty for others.
    """
    if event:
        value, low, high = with_equal_decimals(at.value, at.low, at.high)
        kind = ExploreWords.CHANCE if at.low >= 0 and at.high <= 1 else ExploreWords.CHANCE_BEYOND
        return kind.sentence(event=event, value=value, low=low, high=high)
    value, low, high = with_equal_decimals(at.value, at.low, at.high)
    figures = {"value": value, "low": low, "high": high, "new_low": said(at.new_low), "new_high": said(at.new_high)}
    return ExploreWords.PREDICTED.sentence(name=fit.response, **figures)


def chance_words(moment: Moment) -> str:
    """Say how many of the :func:`related_pairs` are expected to stand out by chance at 95 % each; and other caveats."""
    levels = [len(names) for names in by_source(moment.columns).values()]
    among = sum(count * (count - 1) // 2 for count in levels)
    pairs = len(moment.columns) * (len(moment.columns) - 1) // 2 - among
    words = ExploreWords.PAIRS_BY_CHANCE.sentence(count=pairs, expected=said(0.05 * pairs, 2))
    return f"{words} {ExploreWords.LEVELS_EXCLUDE.sentence()}" if among else words


def shares_table(fit: Regression) -> pd.DataFrame:
    """Return what each feature explains beyond the others, and its variance inflation, with 95 % limits."""
    share, more = fit.partial_r_squared, fit.inflation
    return pd.DataFrame(
        {
            "feature": list(fit.features),
            "partial R²": share.values,
            "R² low": share.bands.low,
            "R² high": share.bands.high,
            "variance inflation": more.values,
            "inflation low": more.bands.low,
            "inflation high": more.bands.high,
        }
    )


def fit_words(fit: Regression) -> str:
    """Say how much of the response's variance a model explains, and what makes its bands wide."""
    share = fit.r_squared
    words = "" if share is None else ExploreWords.EXPLAINS.sentence(name=fit.response, value=_percents(share))
    return f"{words} {_wider_words(fit)}".strip()


def _percents(share: Estimates) -> str:
    """Write a share of variance with its limits in per cent."""
    value, low, high = (100 * float(one[0]) for one in (share.values, share.bands.low, share.bands.high))
    return f"{value:.1f} % ({low:.1f} to {high:.1f})"


def bands_words(moment: Moment, correction: str) -> str:
    """Say what bands assume, and that they do not hold after a search without a correction."""
    shown, many = len(moment.looked), moment.models
    searched = many > 1 and correction == "none"
    words = [ExploreWords.NOT_BEST.sentence(state=models_shown_words(shown, many))] if searched else []
    return " ".join([*words, assumptions(moment)])


def picture_words(moment: Moment, fit: Regression, bases: Mapping[str, str], correction: str) -> list[str]:
    """Say what the picture of the coefficients draws, what levels are compared with, and what its bands assume.

    Args:
        moment: the record.
        fit: the regression.
        bases: what the levels of each column are compared with.
        correction: of the bands for a search.
    """
    scales, columns = in_steps(moment, fit), {source(name) for name in fit.features}
    bare = [f"{level} of {column}" for column, level in bases.items() if column in columns]
    sentences = [
        few_words(list(scales)),
        f"Other levels are compared with {english(bare)}." if bare else "",
        together_words(factor_tests(fit)),
        bands_words(moment, correction),
        ExploreWords.PICTURE_UNITS.sentence() if any(each != 1 for each in scales.values()) else "",
    ]
    return [words for words in sentences if words]


def example_words(
    moment: Moment, fit: Regression, shown: pd.DataFrame, references: Mapping[str, str], *, event: str = ""
) -> str:
    """Say what the clearest coefficient means, in the unit of the chart; empty without one.

    Args:
        moment: the record.
        fit: the regression.
        shown: as of :func:`table`.
        references: levels that categories are compared with, by column.
        event: what a response of zeros and ones says where it is 1 (:func:`event`); empty for others.
    """
    rows = shown[shown["coefficient"].isin(fit.features)]
    clear = (np.abs(rows["value"]) / (rows["high"] - rows["low"])).where((rows["low"] > 0) | (rows["high"] < 0))
    if not clear.notna().any():
        return ""
    row = rows.loc[clear.idxmax()]
    name, column = row["coefficient"], source(row["coefficient"])
    if name != column:
        cause = f"{name}, compared with {references.get(column, 'the rest')},"
    elif name in moment.labels:
        cause = f"{name} = 1, compared with 0,"
    else:
        cause = f"{name} higher by one standard deviation ({said(comparable_steps(moment)[name], 3)})"
    scale, spread = in_steps(moment, fit).get(name, 1.0), comparable_steps(moment)[fit.response]
    value, low, high = with_equal_decimals(*(row[figure] * scale for figure in ("value", "low", "high")))
    has_sd = spread > 0 and fit.response not in moment.labels
    in_sd = f" ({said(row['value'] * scale / spread)} standard deviations)" if has_sd else ""
    changed = f"the chance that {event}" if event else f"{fit.response}{in_sd}"
    others = ", the other columns held fixed" if len(fit.features) > 1 else ""
    facts = {"name": changed, "value": value, "low": low, "high": high, "others": others}
    return ExploreWords.EXAMPLE.sentence(event=cause, **facts)


def _wider_words(fit: Regression) -> str:
    """Say how much wider the typical band is than sampling alone would make it, and why, where that hides effects."""
    if not fit.features:
        return ""
    bands, at = fit.bands, slice(int(fit.constant), None)
    with np.errstate(all="ignore"):
        wider = (bands.high - bands.low) / (2 * Z95 * bands.sampling)
        # Of the two causes that a curator can act on, the one with the larger share of the typical band.
        truncation = 0.0 if bands.truncation is None else float(np.nanmedian(bands.truncation[at] / bands.sampling[at]))
        privacy = float(np.nanmedian(bands.privacy[at] / bands.sampling[at]))
    ratio = float(np.nanmedian(wider[at]))
    if not ratio > _HIDING_RATIO:
        return ""
    size = f"{said(ratio, 2)} times as wide as sampling alone would make it" if math.isfinite(ratio) else "endless"
    kind = ExploreWords.TRUNCATION_WIDENS if truncation > privacy else ExploreWords.NOISE_WIDENS
    return kind.sentence(factor=size)


def models_shown_words(shown: int, models: int) -> str:
    """Return how many different models were shown, and how many more best subsets compared, without a full stop.

    >>> models_shown_words(1, 1), models_shown_words(3, 19)
    ('1 model was shown', '3 models were shown, and 16 more compared by best subsets')
    """
    more = f", and {models - shown:,} more compared by best subsets" if models > shown else ""
    return f"{plural(shown, 'model')} {'was' if shown == 1 else 'were'} shown{more}"


def model_words(fit: Regression) -> str:
    """Return which column a model explains by which others, in plain words.

    >>> model_words(fit)  # doctest: +SKIP
    'pay on age, town (3 effects)'
    """
    described = [
        name if len(names) == 1 else f"{name} ({plural(len(names), 'effect')})"
        for name, names in by_source(fit.features).items()
    ]
    return f"{fit.response} on {', '.join(described) or 'its mean alone'}"


def model_titles(models: Sequence[Regression], names: Mapping[str, str]) -> dict[str, str]:
    """Return the title of each model by its key: its name, else its number among the models shown."""
    return {key_of(fit): names.get(key_of(fit), f"model {at}") for at, fit in enumerate(models, 1)}


def listing(models: Sequence[Regression], names: Mapping[str, str], pinned: Sequence[str]) -> pd.DataFrame:
    """Return the models examined, newest first, with their fits and how each differs from the one before it."""
    rows, named = [], model_titles(models, names)
    for at, fit in reversed(list(enumerate(models, 1))):
        share = fit.r_squared
        key = key_of(fit)
        rows.append(
            {
                "model": named[key],
                "explains": model_words(fit),
                "R² (95 %)": "" if share is None else _percents(share),
                "change": _difference(models[at - 2], fit) if at > 1 else "",
                "residual sd": fit.residual_sd,
                "features": len(fit.names) - fit.constant,
                "ridge": fit.lam,
                "pinned": key in pinned,
            }
        )
    return pd.DataFrame(rows)


def _difference(before: Regression, fit: Regression) -> str:
    """Return the features that a model has more and less than another one; where the responses differ, say so."""
    if fit.response != before.response:
        return f"response {fit.response}"
    more = [f"+ {name}" for name in fit.names if name not in before.names]
    less = [f"\N{MINUS SIGN} {name}" for name in before.names if name not in fit.names]
    ridge = [f"ridge {fit.lam:g}"] if fit.lam != before.lam else []
    return " ".join(more + less + ridge)


def nested_words(fits: Mapping[str, Regression]) -> str:
    """Return the F test of the additional features of the larger of two nested models; empty for other models."""
    if len(fits) != 2:
        return ""
    (_, small), (name, large) = sorted(fits.items(), key=lambda item: len(item[1].names))
    more = [term for term in large.names if term not in small.names]
    same = large.response == small.response and large.lam == small.lam == 0
    if not same or not more or not set(small.names) < set(large.names):
        return ""
    joint = large.test(more)
    kind = ExploreWords.ONE_MORE_IS_ZERO if len(more) == 1 else ExploreWords.MORE_ARE_ZERO
    figures = {"value": f_words(joint), "p": p_equation(joint.pvalue)}
    return kind.sentence(name=f"{name[:1].upper()}{name[1:]}", count=len(more), names=english(more), **figures)


def f_words(test: WaldTest) -> str:
    """Write an F statistic with both its degrees of freedom; those of the error count public rows.

    >>> f_words(WaldTest(4.2103, 0.006, 3, 194.26)), f_words(WaldTest(1.0, 0.3, 1, 1e12))
    ('F(3, 194) = 4.21', 'F(1, ∞) = 1')
    """
    return f"F({test.df_num}, {denominator_dof(test)}) = {said(test.statistic)}"


def freedom_words(test: WaldTest, moment: Moment, fit: Regression) -> str:
    """Say what the denominator degrees of freedom of F are, and why they are fewer than without privacy."""
    rows = moment.record.n - len(fit.names)
    if not test.df_denom < min(rows, KNOWN_DOF):
        return ""
    return (
        f"The second figure, {denominator_dof(test)}, is the degrees of freedom of the error, not {rows:,} as without "
        "privacy: the scatter behind the bands is estimated from the public rows."
    )


def key_of(fit: Regression) -> str:
    """Return a key that identifies a model."""
    return f"{fit.formula} | {fit.lam:g}"


def side_by_side(
    fits: Mapping[str, Regression], moment: Moment, levels: Mapping[str, str] | None = None
) -> tuple[go.Figure, pd.DataFrame]:
    """Draw coefficients of pinned models: one colour, one mark and one line each.

    They are in the unit of :func:`forest`, those of several responses in standard deviations of these. Of many, each
    column has the effect that is clearest in some model.

    Args:
        fits: the models by name.
        moment: the record.
        levels: that count as 1, as for :func:`event`.
    """
    marks = ("circle", "diamond", "square", "triangle-up", "x", "cross", "star", "triangle-down")
    figure, tables, by = go.Figure(), [], comparable_steps(moment)
    several = len({fit.response for fit in fits.values()}) > 1
    clear: dict[str, float] = {}
    parts = {}
    for name, fit in fits.items():
        unit = by[fit.response] or 1.0 if several else 1.0
        with_noise = table(fit, "none", 1)
        scales = {column: step / unit for column, step in in_steps(moment, fit).items()}
        rows = with_noise[with_noise["coefficient"].isin(list(scales))]
        # An intercept alone has no rows, whose names pandas maps to text.
        by_row = rows["coefficient"].map(scales).astype(float)
        parts[name] = rows[["value", *_LIMITS]].mul(by_row, axis=0).set_axis(rows["coefficient"])
        for effect, one in zip(parts[name].index, clarity(*parts[name].to_numpy(dtype=float).T), strict=True):
            clear[effect] = max(one, clear.get(effect, 0.0))
        tables.append(with_noise[["coefficient", "value", "low", "high"]].assign(model=name))
    effects = list(clear)
    drawn = {effects[at]: row for at, row in few(effects, np.array(list(clear.values())))} if effects else {}
    for at, (name, part) in enumerate(parts.items()):
        rows = part[part.index.isin(list(drawn))]
        figure.add_scatter(
            x=rows["value"],
            y=[drawn[effect] for effect in rows.index],
            error_x={"type": "data", "array": (rows["high"] - rows["low"]) / 2},
            mode="markers",
            orientation="h",
            offsetgroup=str(at),
            name=name,
            marker={"color": COLOURS[at % len(COLOURS)], "symbol": marks[at % len(marks)], "size": 9},
        )
    figure.add_vline(x=0, line={"color": style.QUIET})
    figure.update_layout(scattermode="group")
    joined = pd.concat(tables, ignore_index=True)
    title = _axis(moment, fits.values(), levels)
    return style.finish_rows(figure, list(drawn.values()), title, _LINE_SPACING * len(fits)), joined


def regression_table(fits: Mapping[str, Regression]) -> pd.DataFrame:
    """Return models in columns and coefficients in rows, as papers print regressions; missing coefficients are blank.

    Each value is followed by the half-width of its 95 % band with the sign ±, not by a standard error.
    """
    columns: dict[str, dict[str, str]] = {}
    for name, fit in fits.items():
        rows = table(fit, "none", 1).to_dict("records")
        cells = {
            str(row["coefficient"]): f"{said(row['value'])} ± {said((row['high'] - row['low']) / 2, 2)}" for row in rows
        }
        share = fit.r_squared
        cells["R²"] = "" if share is None else said(float(share.values[0]))
        columns[name] = {"response": fit.response, **cells}
    order = dict.fromkeys(row for cells in columns.values() for row in cells if row not in ("response", "R²"))
    index = ["response", *order, "R²"]
    shown = {name: [cells.get(row, "") for row in index] for name, cells in columns.items()}
    return pd.DataFrame({"coefficient": index, **shown})


def factor_tests(fit: Regression) -> pd.DataFrame:
    """Return the joint test of all effects of each column in the model: one row for each."""
    rows = []
    for column, names in by_source(fit.features).items():
        test = fit.test(names)
        figures = {"F": test.statistic, "p": p_value(test.pvalue), "df": denominator_dof(test)}
        rows.append({"column": column, **figures, "effects": len(names)})
    # The answer comes first: at 1280 pixels the last columns are reached by scrolling.
    return pd.DataFrame(rows, columns=["column", "F", "p", "effects", "df"])


def tests_offered(fit: Regression) -> dict[str, list[str]]:
    """Return effects that may be tested together, by what they are called: whole columns first, then single ones."""
    levels = by_source(fit.features)
    columns = {
        f"{column} (all {len(names)} effects)" if len(names) > 1 else column: names for column, names in levels.items()
    }
    return columns | {name: [name] for name in fit.features}


def joint_test_words(fit: Regression, names: Sequence[str], moment: Moment) -> str:
    """Return the joint test that effects are zero, and which these are: of a part of a column each, else the column."""
    names = list(dict.fromkeys(names))
    joint = fit.test(names)
    levels = by_source(fit.features)
    sentences = [
        part
        for column, chosen in by_source(names).items()
        for part in ([column] if len(chosen) == len(levels[column]) else chosen)
    ]
    words = ExploreWords.TESTED.sentence(
        count=len(names), names=english(sentences), value=f_words(joint), p=p_equation(joint.pvalue)
    )
    return f"{words} {freedom_words(joint, moment, fit)}".strip()


def together_words(tests: pd.DataFrame) -> str:
    """Say for each column with several levels whether its effects jointly differ from zero; empty without such columns.

    Args:
        tests: of :func:`factor_tests`.
    """
    rows = tests[tests["effects"] > 1]
    described = [f"{column} ({p_equation(p)})" for column, p in zip(rows["column"], rows["p"], strict=True)]
    return f"All effects of a column together, against none: {english(described)}." if described else ""


def first_columns(moment: Moment, response: str) -> list[str]:
    """Return the default columns of the correlation table: those of the record, as many as fit into the chart."""
    others = [name for name in moment.columns if name != response]
    own = [name for name in (moment.names[j] for j in moment.record.features) if name in others]
    return list(by_source(own or others))[:MOST_COLUMNS]


def responses(moment: Moment) -> list[str]:
    """Return the columns that may be explained: numbers and labels first, then levels of categories."""
    return sorted(moment.columns, key=lambda name: source(name) != name)


def left_out_words(columns: Sequence[str], chosen: Sequence[str]) -> str:
    """Say which columns of the table are not in the model."""
    out = [column for column in columns if column not in chosen]
    return ExploreWords.NOT_IN_MODEL.sentence(names=english(out)) if out and chosen else ""


def baselines(references: Mapping[str, str], columns: Sequence[str], features: Sequence[str]) -> dict[str, str]:
    """Return the baseline of each column's levels in a model: the reference, with any other levels left out.

    >>> baselines({"town": "south"}, ["town=north", "town=west"], ["town=north"])
    {'town': 'south and west together'}

    Args:
        references: levels without a column of their own, by column.
        columns: of the moment.
        features: of the model.
    """
    combined = {}
    for column, names in by_source(columns).items():
        out = [name.removeprefix(f"{column}=") for name in names if name not in features]
        if out and len(out) < len(names):
            combined[column] = f"{english([references.get(column, 'the rest'), *out])} together"
    return {**references, **combined}


def by_source(names: Sequence[str]) -> dict[str, list[str]]:
    """Group columns of the moment by the column of the table that they come from.

    >>> by_source(["age", "town=north", "town=south"])
    {'age': ['age'], 'town': ['town=north', 'town=south']}
    """
    groups: dict[str, list[str]] = {}
    for name in names:
        groups.setdefault(source(name), []).append(name)
    return groups


def related_pairs(moment: Moment, partial: bool) -> list[dict[str, Any]]:
    """Return correlations of the pairs that may have a relation: levels of one column exclude one another."""
    return [row for row in moment.pairs(partial) if source(row["first"]) != source(row["second"])]


def first_related_columns(moment: Moment, response: str) -> list[str]:
    """Return the columns of the table whose correlations are drawn at first: as many as have room for their numbers.

    The response comes first, then columns of few levels.
    """
    levels = by_source(moment.columns)
    first, room = list[str](), _MOST_NUMBERED
    for column in sorted(levels, key=lambda column: (column != source(response), len(levels[column]))):
        room -= len(levels[column])
        if room >= 0 or not first:
            first.append(column)
    return [column for column in levels if column in first]


def heat(moment: Moment, partial: bool, columns: Collection[str] = ()) -> tuple[go.Figure, pd.DataFrame]:
    """Draw the correlations of pairs with their half-widths, coloured where the band excludes zero.

    Pairs of levels of one column are shaded: they exclude one another, which is no relation in the data. The table has
    the strongest first.

    Args:
        moment: the record.
        partial: whether all other columns, drawn or not, are held fixed.
        columns: of the table, all where none is given.
    """
    names = [name for name in moment.columns if not columns or source(name) in columns]
    place = {name: j for j, name in enumerate(names)}
    rows = [row for row in related_pairs(moment, partial) if row["first"] in place and row["second"] in place]
    rows.sort(key=lambda row: -abs(row["value"]))
    values = np.where(np.eye(len(names), dtype=bool), 1.0, np.nan)
    sources = np.array([source(name) for name in names])
    within = np.where((sources[:, None] == sources) & np.isnan(values), 1.0, np.nan)
    texts, hovers = (np.where(np.eye(len(names), dtype=bool), "1", "").astype(object) for _ in range(2))
    for row in rows:
        at = (place[row["first"]], place[row["second"]])
        value, low, high = (_hundredths(row[one]) for one in ("value", "low", "high"))
        if row["told"]:
            values[at] = values[at[::-1]] = row["value"]
        texts[at] = texts[at[::-1]] = f"{value} ± {_hundredths((row['high'] - row['low']) / 2)}"
        clear = "" if row["told"] else ", not clear of zero"
        hovers[at] = hovers[at[::-1]] = f"{value} ({low} to {high}){clear}"
    hover, numbered = "%{x}, %{y}: %{customdata}<extra></extra>", len(names) <= _MOST_NUMBERED
    figure = go.Figure()
    if np.any(within == 1):
        shade = style.rgba(style.QUIET, 0.25)
        levels = hover.replace("%{customdata}", "levels of one column")
        figure.add_heatmap(
            z=within, x=names, y=names, colorscale=[[0, shade], [1, shade]], showscale=False, hovertemplate=levels
        )
    # A cell that has a colour writes its own text, dark on light or light on dark.
    colours = {"zmin": -1, "zmax": 1, "colorscale": "RdBu", "colorbar": {"title": "r"}}
    written = (
        {"text": np.where(np.isnan(values), "", texts), "texttemplate": "%{text}", "textfont": {"size": 10}}
        if numbered
        else {}
    )
    figure.add_heatmap(z=values, x=names, y=names, customdata=hovers, hovertemplate=hover, **colours, **written)
    figure.update_traces(hoverongaps=False)
    grey = np.argwhere(np.isnan(values) & np.isnan(within))
    figure.add_scatter(
        x=[names[j] for _, j in grey],
        y=[names[i] for i, _ in grey],
        text=[texts[i, j] for i, j in grey],
        customdata=[hovers[i, j] for i, j in grey],
        mode="text" if numbered else "markers",
        marker={"symbol": "square", "opacity": 0, "size": 20},
        textfont={"color": style.QUIET, "size": 10},
        hovertemplate=hover,
        showlegend=False,
    )
    figure.update_xaxes(showgrid=False)
    figure.update_yaxes(autorange="reversed", showgrid=False)
    shown = pd.DataFrame(rows, columns=["first", "second", "value", "low", "high", "told"])
    return style.finish(figure, "", "", 160 + 26 * len(names)), shown.rename(columns={"told": "clear of zero"})


def heat_words(moment: Moment, columns: Collection[str]) -> str:
    """Say what the picture of :func:`heat` has, and where the figures are that have no room in it."""
    many = sum(len(names) for column, names in by_source(moment.columns).items() if not columns or column in columns)
    return (ExploreWords.CORRELATIONS if many <= _MOST_NUMBERED else ExploreWords.CORRELATIONS_MANY).sentence()


def _hundredths(value: float) -> str:
    """Write a correlation: a minus sign, and none at a zero.

    >>> _hundredths(-0.314), _hundredths(-0.001)
    ('\N{MINUS SIGN}0.31', '0.00')
    """
    return f"{round(value, 2) + 0.0:.2f}".replace("-", "\N{MINUS SIGN}")


def network(moment: Moment) -> tuple[go.Figure, pd.DataFrame]:
    """Draw the strongest partial correlations whose band excludes zero as lines, thicker for larger ones."""
    rows = [row for row in related_pairs(moment, True) if row["told"]]
    names = list(moment.columns)
    angle = {name: 2 * math.pi * j / len(names) for j, name in enumerate(names)}
    figure = go.Figure()
    for row in sorted(rows, key=lambda row: -abs(row["value"]))[:_MOST_TIES]:
        ends = [row["first"], row["second"]]
        colour = style.PRIVACY if row["value"] > 0 else "#D55E00"
        dash = "solid" if row["value"] > 0 else "dash"
        figure.add_scatter(
            x=[math.cos(angle[n]) for n in ends],
            y=[math.sin(angle[n]) for n in ends],
            mode="lines",
            line={"width": 1 + 8 * abs(row["value"]), "color": colour, "dash": dash},
            hoverinfo="skip",
            showlegend=False,
        )
    figure.add_scatter(
        x=[math.cos(angle[n]) for n in names],
        y=[math.sin(angle[n]) for n in names],
        mode="markers",
        marker={"size": 12, "color": style.QUIET},
        showlegend=False,
    )
    many = len(names) > _MOST_LEVEL
    for name in names:
        (_along_its_ray if many else _beside_its_mark)(figure, name, angle[name])
    figure.update_xaxes(visible=False, range=[-1.5, 1.5])
    figure.update_yaxes(visible=False, range=[-1.3, 1.3])
    if many:
        figure.update_xaxes(range=[-2, 2])
        figure.update_yaxes(range=[-2, 2], scaleanchor="x")
    columns = ["first", "second", "value", "low", "high"]
    shown = pd.DataFrame([{c: row[c] for c in columns} for row in rows], columns=columns)
    return style.finish(figure, "", "", 2 * _RADIUS if many else 560), shown


def network_words(moment: Moment, lines: int) -> str:
    """Say what a line of the network is, and how many stand in the table alone.

    Args:
        moment: the record.
        lines: whose bands exclude zero.
    """
    kind = ExploreWords.STRONGEST_LINES if lines > _MOST_TIES else ExploreWords.LINES
    return f"{kind.sentence(count=_MOST_TIES, total=lines)} {chance_words(moment)}"


def _beside_its_mark(figure: go.Figure, name: str, angle: float) -> None:
    """Write a name outside the circle, since all lines lie inside it."""
    side = "left" if math.cos(angle) >= 0 else "right"
    x, y = 1.08 * math.cos(angle), 1.08 * math.sin(angle)
    figure.add_annotation(x=x, y=y, text=escaping.chart(name), showarrow=False, xanchor=side)


def _along_its_ray(figure: go.Figure, name: str, angle: float) -> None:
    """Write one of many names along its ray, so that none lies over another, turned so that none stands on its head."""
    shown = name if len(name) <= _LETTERS else f"{name[: _LETTERS - 1]}…"
    # Turned about its middle, which lies half the length of the text outside the circle.
    middle = 1.06 + len(shown) * _LETTER / _RADIUS
    turned = -math.degrees(angle) if math.cos(angle) >= 0 else 180 - math.degrees(angle)
    figure.add_annotation(
        x=middle * math.cos(angle),
        y=middle * math.sin(angle),
        text=escaping.chart(shown),
        textangle=(turned + 180) % 360 - 180,
        font={"size": 10},
        showarrow=False,
    )


def summary_table(moment: Moment, references: Mapping[str, str]) -> pd.DataFrame:
    """Return mean and spread of each column, with bands, levels without a column of their own included.

    Args:
        moment: the record.
        references: those levels, by column of the table.
    """
    columns = list(by_source(moment.columns))
    rows = moment.summary(_reference_levels(moment, references))
    rows.sort(key=lambda row: columns.index(source(row["column"])))
    return pd.DataFrame(rows).rename(columns=lambda name: name.replace("_", " "))


def _reference_levels(moment: Moment, references: Mapping[str, str]) -> dict[str, list[str]]:
    """Return the levels without a column of their own, by their names, with the columns of the other levels."""
    levels = by_source(moment.columns)
    return {f"{column}={level}": levels[column] for column, level in references.items() if column in levels}


def scree(moment: Moment) -> tuple[go.Figure, pd.DataFrame]:
    """Draw variance shares of the principal components, with bands; loadings are in the table."""
    variances, loadings = moment.components()
    names = [f"component {k + 1}" for k in range(len(variances.values))]
    error = error_bars(variances.bands.low, variances.values, variances.bands.high, None)
    places = np.arange(1, len(names) + 1)
    figure = go.Figure(go.Bar(x=places, y=variances.values, error_y=error, marker={"color": style.AFTER}))
    shown = pd.DataFrame(loadings, columns=names, index=moment.columns).reset_index(names="column")
    shares = pd.DataFrame([["share of variance", *variances.values]], columns=shown.columns)
    return style.finish(figure, "principal component", "share of variance"), pd.concat(
        [shares, shown], ignore_index=True
    )


def components_words(moment: Moment) -> str:
    """Say how much of the columns' variance the first components have, and how many have most of it."""
    shares = moment.components()[0].values
    many = int(np.searchsorted(np.cumsum(shares), _MOST_VARIANCE)) + 1
    share = percent(_MOST_VARIANCE)
    return ExploreWords.COMPONENTS.sentence(
        share=percent(float(shares[0])), count=min(many, len(shares)), expected=share
    )


def has_bands(moment: Moment, path: Path) -> bool:
    """Return whether the picture of a path shades the bands of its lines."""
    return path.bands is not None and len(_lines(moment, path)) <= _MOST_BANDS


def _lines(moment: Moment, path: Path) -> list[tuple[int, str]]:
    """Return place and name of the lines of a path."""
    by = comparable_steps(moment)
    return [(j, name) for j, name in enumerate(path.names) if name != INTERCEPT and by[name]]


def ridge_words(moment: Moment, path: Path) -> str:
    """Say what the penalty of a ridge path acts on, which lines are coloured, and what is shaded."""
    many = len(_lines(moment, path)) > style.MOST_NAMED and path.bands is not None
    sentences = [ExploreWords.RIDGE_PATH, *[ExploreWords.COLOURED_LINES] * many]
    sentences += [ExploreWords.SHADED_PATH] * has_bands(moment, path)
    return " ".join(one.sentence() for one in sentences)


def paths(moment: Moment, path: Path, response: str, levels: Mapping[str, str] | None = None) -> go.Figure:
    """Draw coefficients for comparable steps of their columns along penalties, each line unlike all others.

    They are in the unit of :func:`forest`, so that a path begins at the coefficients beside it. A few lines have their
    names at their left ends, and those of a ridge their 95 % bands, shaded.

    Args:
        moment: the record.
        path: of one regression.
        response: its response.
        levels: that count as 1, as for :func:`event`.
    """
    figure, by, drawn = go.Figure(), comparable_steps(moment), _lines(moment, path)
    for at, (j, name) in enumerate(drawn):
        y, line = path.coefficients[:, j] * by[name], style.distinct_line(at)
        hover = "%{fullData.name}: %{y:.3g} at penalty %{x:.3g}<extra></extra>"
        figure.add_scatter(x=path.lam, y=y, mode="lines", name=name, legendgroup=name, line=line, hovertemplate=hover)
    clear = None if path.bands is None else clarity(path.coefficients[0], path.bands[0][0], path.bands[1][0])
    style.name_clearest(figure, None if clear is None else [float(clear[j]) for j, _ in drawn])
    for at, (j, name) in enumerate(drawn if has_bands(moment, path) else ()):
        edge = {"x": path.lam, "mode": "lines", "line": {"width": 0}, "hoverinfo": "skip", "showlegend": False}
        low, high = (limits[:, j] * by[name] for limits in path.bands or ())
        figure.add_scatter(y=high, legendgroup=name, **edge)
        colour = style.rgba(style.distinct_line(at)["color"], 0.2)
        figure.add_scatter(y=low, legendgroup=name, fill="tonexty", fillcolor=colour, **edge)
    style.log_axis(figure, "x")
    if len(drawn) <= _MOST_NUMBERED:
        name_at_ends(figure, np.min(path.lam), np.max(path.lam))
    step = step_words([name for _, name in drawn], moment.labels)
    of = _changed(moment, response, levels) or response
    return style.finish(figure, "penalty, features in steps of the other axis", f"change of {of}, for {step}", 420)


def name_at_ends(figure: go.Figure, first: float, last: float) -> None:
    """Write the names of lines beside their largest sizes, spread so that none covers another, in place of a legend.

    Args:
        figure: of lines over a logarithmic axis.
        first: least place of the lines.
        last: largest place.
    """
    from scipy.optimize import isotonic_regression  # noqa: PLC0415  # slow to load

    lines = [line for line in figure.data if line.mode == "lines" and line.name]
    ends = {id(line): float(np.asarray(line.y)[np.argmin(line.x)]) for line in lines}
    values = np.concatenate([np.asarray(line.y, dtype=float) for line in figure.data])
    gap = _NAME_GAP * max(float(np.ptp(values)), 1e-300)
    lines.sort(key=lambda line: ends[id(line)])
    apart = gap * np.arange(len(lines))
    # The nearest places at least a gap apart.
    spread = isotonic_regression(np.array([ends[id(line)] for line in lines]) - apart).x + apart
    start, width = math.log10(first), math.log10(last / first)
    for line, place in zip(lines, spread, strict=True):
        x = [start - _NAME_ROOM * width / 5, start]
        figure.add_scatter(
            x=[10 ** x[0], 10 ** x[1]],
            y=[place, ends[id(line)]],
            mode="lines",
            hoverinfo="skip",
            showlegend=False,
            line={"width": 1, "color": line.line.color},
        )
        figure.add_annotation(
            x=x[0],
            y=place,
            text=escaping.chart(line.name),
            showarrow=False,
            xanchor="right",
            xshift=-2,
            font={"size": 11},
        )
    figure.update_xaxes(range=[start - _NAME_ROOM * width, start + 1.02 * width])
    figure.update_layout(showlegend=False)


def best_subset_words(subsets: Sequence[Subset]) -> str:
    """Name the subset that predicts a new row best, beside the largest one; empty without a choice."""
    if len(subsets) < 2:
        return ""
    best, largest = min(subsets, key=lambda one: one.criterion), max(subsets, key=lambda one: len(one.names))
    facts = {"count": len(best.names), "value": said(best.criterion, 4)}
    if best is largest:
        return ExploreWords.BEST_IS_ALL.sentence(**facts)
    more = {"total": len(largest.names), "expected": said(largest.criterion, 4)}
    return ExploreWords.BEST_SUBSET.sentence(names=english(best.names) or "the mean alone", **facts, **more)


def subsets_table(subsets: Sequence[Subset]) -> pd.DataFrame:
    """Return the best subset of each size, with its residual variance and squared prediction error."""
    rows = [
        {
            "columns": len(one.names),
            "best of that number": ", ".join(one.names),
            "residual sd": math.sqrt(max(one.residual_variance, 0.0)),
            "expected squared error of a new row": one.criterion,
        }
        for one in subsets
    ]
    return pd.DataFrame(rows)


def path_table(moment: Moment, path: Path) -> pd.DataFrame:
    """Return the path as it is drawn, and for a lasso the share of draws in which each feature is chosen."""
    by = comparable_steps(moment)
    frame = pd.DataFrame(
        {n: path.coefficients[:, j] * (by[n] or 1.0) for j, n in enumerate(path.names) if n != INTERCEPT}
    )
    frame.insert(0, "penalty", path.lam)
    if path.chosen is not None:
        for j, name in enumerate(path.names[1:]):
            frame[f"chosen: {name}"] = path.chosen[:, j]
    return frame


def logistic_table(logistic: Logistic) -> pd.DataFrame:
    """Return coefficients on the log-odds scale, limits, and the floor."""
    return pd.DataFrame(
        {
            "coefficient": list(logistic.coefficients),
            "log odds": list(logistic.coefficients.values()),
            "low": logistic.bands.low,
            "high": logistic.bands.high,
            "privacy sd": logistic.bands.privacy,
            "sampling sd": logistic.bands.sampling,
            "floor sd": logistic.floor,
        }
    )


def prospects_words(facts: Facts, public_rows: str) -> list[str]:
    """Say what to expect of a typical regression, in standard errors of the fit without privacy, and beside what.

    Args:
        facts: of the plan.
        public_rows: the method's parameter, which says whether public rows go along in the record.
    """
    prospects = facts.regressions
    if prospects is None:
        return [ExploreWords.UNPREDICTED.sentence()]
    as_gaussian = public_rows == "no" and float(facts.more["columns"]) > MOST_TENSOR
    typical, worst, public, pulled = (
        said(value, 2) if value <= _FAR_DISTANCE else f"more than {_FAR_DISTANCE:,}"
        for value in (
            prospects.typical_error_in_standard_errors,
            prospects.worst_error_in_standard_errors,
            prospects.public_error_in_standard_errors,
            prospects.one_sided_error_in_standard_errors,
        )
    )
    apart = prospects.one_sided_error_in_standard_errors > max(2 * prospects.worst_error_in_standard_errors, 1.0)
    return [
        ExploreWords.PROSPECTS.sentence(value=typical),
        ExploreWords.PROSPECTS_WORST.sentence(high=worst),
        ExploreWords.PROSPECTS_PUBLIC.sentence(expected=public),
        *([ExploreWords.ONE_WAY.sentence(value=pulled)] if apart else []),
        *([ExploreWords.WILL_ASSUME_GAUSSIAN.sentence(limit=MOST_TENSOR)] if as_gaussian else []),
    ]


def record_words(moment: Moment) -> str:
    """Describe the open record."""
    record = moment.record
    promise, note = of_person(record.guarantee), person_note(record.guarantee)
    rows = "an unknown number of" if record.m is None else f"{record.m:,}"
    return ExploreWords.RECORD.sentence(
        columns=_many_columns(moment),
        private=private_words(record.n, unit_of(record.guarantee)),
        public_rows=rows,
        mu=said(promise["mu"], 4),
        epsilon=said(promise["epsilon"], 4),
        delta=power_of_ten(promise["delta"]),
        unit=f"replace-one; {note}" if note else "replace-one",
    )


def unlike_words(columns: Sequence[str]) -> str:
    """Say that a release has shown the private rows to be unlike the public ones, and what that does to bands.

    Args:
        columns: columns of the table that differ most; empty where none stands out.
    """
    return ExploreWords.UNLIKE.sentence(most=f", most in {quoted_names(columns)}" if columns else "")


def assumptions(moment: Moment) -> str:
    """Say what the bands of a record assume."""
    assumed = (ExploreWords.ASSUMES_ALIKE, ExploreWords.ASSUMES_GAUSSIAN)[: 1 + moment.assumes_gaussian]
    return " ".join(one.sentence() for one in assumed)


def _many_columns(moment: Moment) -> str:
    """Count the columns of the table, and all of the moment where a category has several."""
    many, sources = len(moment.columns), len(by_source(moment.columns))
    return plural(sources, "column") + (f" ({many} after coding the categories)" if many > sources else "")


def code(fit: Regression) -> dict[str, str]:
    """Return the same model in Python and on the command line."""
    ridge = f", ridge={fit.lam!r}" if fit.lam else ""
    flag = f" --ridge {fit.lam!r}" if fit.lam else ""
    python = f'import pmtcore as pc\n\nmoment = pc.Moment.load("R.json")\nmoment.regress({fit.formula!r}{ridge})\n'
    return {
        "Python": python,
        "Command line": f"python -m pmtcore explore --record R.json --formula {escaping.shell_word(fit.formula)}{flag}",
    }


def section(fits: Mapping[str, Regression], moment: Moment, title: str = "") -> str:
    """Return one HTML page of the models given, public and released figures only.

    Args:
        fits: the models, by name.
        moment: the record that answers them.
        title: what the record is of.
    """
    study = ExploreWords.FOR_STUDY.sentence()
    may_leave = f"<p>{ExploreWords.MAY_LEAVE.sentence()}</p>"
    standing = may_leave if moment.label is Label.RELEASED else f"<p><strong>{study}</strong></p>"
    parts = [
        "<!doctype html><meta charset='utf-8'><title>Explored models</title>",
        "<style>body{font:16px sans-serif;max-width:60em;margin:2em auto}td,th{padding:.2em .8em;text-align:right}"
        "td:first-child,th:first-child{text-align:left}</style><h1>Explored models</h1>",
        standing,
        f"<p>{escaping.html(' '.join([f'{title}:' * bool(title), record_words(moment), assumptions(moment)]))}</p>",
        answers(fits, moment),
    ]
    return "\n".join(parts)


def answers(fits: Mapping[str, Regression], moment: Moment) -> str:
    """Return the models given as a part of the report of the release that answers them; empty without any.

    Args:
        fits: the models, by name.
        moment: the record.
    """
    if not fits:
        return ""
    looked = models_shown_words(len(moment.looked), moment.models)
    parts = ["<h2>Answers from the released moment</h2>", f"<p>{ExploreWords.ANSWERS.sentence(state=looked)}</p>"]
    if len(fits) > 1:
        parts.append(f"<h3>Side by side</h3><p>{ExploreWords.BESIDE.sentence()}</p>{_html(regression_table(fits))}")
    for name, fit in fits.items():
        parts.append(f"<h3>{escaping.html(name)}: {escaping.html(model_words(fit))}</h3>")
        parts.append(f"<p>{escaping.html(fit_words(fit))}</p>")
        parts.append(_html(table(fit, "none", 1)))
        if len(tests := factor_tests(fit)):
            parts.append(f"<p>Test that all effects of a column are zero:</p>{_html(tests)}")
        parts.append(f"<pre>{escaping.html(code(fit)['Python'])}</pre>")
    return "\n".join(parts)


def _html(shown: pd.DataFrame) -> str:
    head = "".join(f"<th>{escaping.html(str(name))}</th>" for name in shown.columns)
    body = "".join("<tr>" + "".join(f"<td>{_cell(value)}</td>" for value in row) + "</tr>" for row in shown.to_numpy())
    return f"<table><tr>{head}</tr>{body}</table>"


def _cell(value: object) -> str:
    return said(value, 4) if isinstance(value, float) else escaping.html(str(value))


def confirming_words(fit: Regression, predicted: Prediction | None, spent: float, mu: float) -> str:
    """Say how a second release would change the privacy and truncation parts, from public figures.

    Args:
        fit: the model.
        predicted: errors of the second release, where they are predicted.
        spent: mu of the first release, for a person.
        mu: of the second.
    """
    bands = fit.bands
    lost = 0.0 if bands.truncation is None else bands.truncation
    own = np.hypot(bands.privacy, lost)
    if predicted is None:
        return ExploreWords.CONFIRMING_UNPREDICTED.sentence()
    theirs = np.hypot(predicted.privacy, predicted.truncation)
    both = own * theirs / np.maximum(np.hypot(own, theirs), 1e-300)
    share = float(np.median(both / np.maximum(own, 1e-300)))
    return ExploreWords.CONFIRMING.sentence(
        value=said(100 * (1 - share), 2), mu=said(mu), total=said(math.hypot(spent, mu))
    )


def confirmed_words(confirmed: ConfirmedModel) -> str:
    """Count the coefficients of the confirmed model whose bands exclude zero, together and by the second release."""
    rows = [row for row in confirmed.as_rows() if row["coefficient"] != INTERCEPT]
    both = sum(row["low"] > 0 or row["high"] < 0 for row in rows)
    alone = sum(row["second_low"] > 0 or row["second_high"] < 0 for row in rows)
    return ExploreWords.CONFIRMED.sentence(count=both, left=alone, total=len(rows))
