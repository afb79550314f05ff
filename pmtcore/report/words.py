"""Plain sentences beside the figures, each computed from the numbers shown there, and correct at their extremes."""

import math
from collections.abc import Collection, Hashable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from pmtcore.accounting.budgets import Unit
from pmtcore.auditing.comparison import Summary
from pmtcore.auditing.diagnostics import Diagnosis, Direction
from pmtcore.base.labels import Label
from pmtcore.base.messages import Note, Phrase, ReportWords, TableNote, kind_of
from pmtcore.base.numbers import join_names, percent, plural, rounded, with_equal_decimals
from pmtcore.methods.registry import Prediction, method, of_role
from pmtcore.public.bands import Z95
from pmtcore.public.moments import INTERCEPT
from pmtcore.releases.planning import typical_ratio
from pmtcore.releases.record import Release
from pmtcore.releases.release import Preview
from pmtcore.report.figures.coefficients import STEP, DisplayUnit
from pmtcore.report.figures.coefficients import clarity as clear_effects
from pmtcore.report.names import in_quotes
from pmtcore.report.rows import clarity, is_level, source, step_words, steps
from pmtcore.report.statistics import off_centre_words
from pmtcore.tables.cells import MISSING_EXAMPLES

_ROUND = 2.0  # ratio of longest to shortest direction up to which noise counts as equal in all directions
_WIDER_BAND_RATIO = 1.15  # ratio of a band to that of its parts from which it is explained
_NARROW_BAND_RATIO = 0.5  # ratio of bands to predicted ones below which it is explained
_STATED_PUBLIC_SHARE = 0.2  # share of a precision that the public rows have alone from which it is stated
_LEAN = {False: "leans on them", True: "lean on them"}
_CONDITIONING_CHANGE = 1.25  # ratio of condition numbers below which whitening counts as without effect
_ABOUT_EQUAL = 0.8  # ratio of two parts of an error from which they are called about equal
_TIE_RATIO = 1.05  # distances within 5 % are called equal: medians of tens of trials are not more precise
_ERROR_SOURCES = (
    ("the privacy noise moves it", "privacy sd"),
    ("another sample", "sampling sd"),
    ("truncation", "truncation sd"),
)
_SMALLER_RADIUS = "A smaller radius means less noise and more bias."
_CHOSEN_BY_PRIVATE_ROWS = "A radius chosen by that figure would leak it: choose by public rows."
_MOST_LOG = 700.0  # exponents beyond it overflow
_SIDE_WORDS = {False: ("negative", "positive"), True: ("below 1", "above 1")}  # by whether the unit is a ratio
_GAPS_NAMED = 20  # columns with gaps that a line can name
# Methods beside the best one that a sentence compares one by one; of more the nearest and the farthest.
_MOST_COMPARED = 3
_NO_ERROR = 1e-12  # relative distance below which it is a rounding error


def columns_words(names: Sequence[str]) -> str:
    """Say how many columns of the table a fit has, and with how many coefficients where a category has several.

    >>> columns_words(["(intercept)", "age"]), columns_words(["age", "town=north", "town=west"])
    ('1 column and an intercept', '2 columns (3 coefficients)')
    """
    features = [name for name in names if name != INTERCEPT]
    columns = {source(name) for name in features}
    many = plural(len(columns), "column")
    many += f" ({len(features)} coefficients)" if len(features) > len(columns) else ""
    return f"{many} and an intercept" if INTERCEPT in names else many


def private_words(n: int, unit: Unit | None) -> str:
    """Say that n is the number of private rows, or of persons where a column identifies them.

    Args:
        n: number of rows that count, with the rows of zeros in the unused places of a person.
        unit: unit of protection; ``None`` where none was chosen.

    >>> private_words(2000, None), private_words(300, Unit(3, "patient"))
    ('2,000 private rows', '100 persons (each up to 3 rows)')
    """
    if unit is None or not unit.column:
        return plural(n, "private row")
    return f"{plural(n // unit.rows, 'person')} (each {'1 row' if unit.rows == 1 else f'up to {unit.rows} rows'})"


def conditioning_words(diagnosis: Diagnosis, scaled: float = math.nan) -> list[str]:
    """Say whether whitening helps, and whether noise is still larger in some directions; the page has the figures.

    Args:
        diagnosis: of the rows.
        scaled: condition number once every column has the same length; NaN where it is unknown.
    """
    if not np.any(diagnosis.before.eigenvalues > 0):
        return [ReportWords.ALL_ROWS_EMPTY.sentence()]
    before = _ratio(diagnosis.before.kappa)
    after = None if diagnosis.after is None else _ratio(diagnosis.after.kappa)
    sentences = []
    if math.isinf(before):
        sentences.append(ReportWords.NO_LENGTH.sentence())
    elif before > _ROUND * _ratio(scaled):
        sentences.append(
            "Units make most of the condition number before whitening: with all columns scaled to one length it is "
            f"{rounded(scaled)}."
        )
    if diagnosis.after is None or after is None:
        sentences.append(
            "How far whitening helps cannot be predicted without the number of rows behind the moment matrix."
        )
    elif math.isinf(after):
        worse = "no better" if math.isinf(before) else "some direction has no length at all"
        remedy = "Leave one of the collinear columns out, or add a public ridge."
        sentences.append(f"After whitening: {worse}. {remedy}")
    else:
        sentences += [] if math.isinf(before) else [_gain(before, after)]
        sentences.append(_harm_words(after))
    return sentences


def directions_words(diagnosis: Diagnosis, longest: Direction, shortest: Direction) -> str:
    """Say which columns make the condition number large; empty where it is small.

    Args:
        diagnosis: of the rows.
        longest: direction of the public second moment.
        shortest: direction of the public second moment.
    """
    if _ratio(diagnosis.before.kappa) <= _ROUND or not np.any(diagnosis.before.eigenvalues > 0):
        return ""
    return (
        f"In units of the table the longest direction is {_columns_of(longest)}; the shortest, {_columns_of(shortest)}."
    )


def _columns_of(direction: Direction) -> str:
    """Return the columns of a direction in words."""
    called = ["the intercept" if name == INTERCEPT else name for name in direction.shares]
    if direction.columns == 1:
        return f"mostly {called[0]}"
    named = [f"{name} ({percent(share, 2)})" for name, share in zip(called, direction.shares.values(), strict=True)]
    if direction.columns > len(named):
        return f"spread over {plural(direction.columns, 'column')}, the most along {named[0]}"
    return f"made of {join_names(named)}"


def _ratio(kappa: float) -> float:
    """Return the ratio of longest to shortest direction; infinite where the shortest has length 0, or is unknown."""
    return math.inf if not kappa < 1e30 else math.sqrt(max(kappa, 1.0))


def _gain(before: float, after: float) -> str:
    if after > before * _CONDITIONING_CHANGE:
        return "Whitening makes it worse: there are too few public rows for these columns."
    if before > after * _CONDITIONING_CHANGE:
        return "Whitening helps."
    return "Whitening changes little."


def _harm_words(after: float) -> str:
    if after <= _ROUND:
        return "After it, noise does about the same harm in every direction."
    return "After it, noise still does more harm along the shortest direction; more public rows would help."


def truncation_words(diagnosis: Diagnosis, radius: float) -> str:
    """Say how many rows lie outside a radius, by the length of their features alone."""
    rate = diagnosis.rate(radius)
    if math.isnan(rate):
        return "Without public rows the share of rows outside cannot be predicted."
    at = f"Rows outside the slider's radius, {rounded(radius)}, by the length of their features alone:"
    longest = rounded(float(diagnosis.norms[-1]))
    if diagnosis.label is Label.PRIVATE:
        if rate <= 0:
            return f"{at} no private row; the longest has {longest}. {_CHOSEN_BY_PRIVATE_ROWS}"
        share = "every private row" if rate >= 1 else f"{percent(rate)} of the private rows"
        return f"{at} {share}. {_SMALLER_RADIUS}"
    if rate <= 0:
        return f"{at} no public row; the longest has {longest}. Some private rows may be longer."
    share = "all private rows" if rate >= 1 else f"about {percent(rate)} of the private rows"
    return f"{at} {share}, to judge by the public ones. {_SMALLER_RADIUS}"


def coefficient_words(table: pd.DataFrame, unit: DisplayUnit) -> list[str]:
    """Return a line for each row of a table of coefficients, with its privacy, sampling and truncation errors."""
    sentences = []
    for row in table.to_dict("records"):
        if "low (95 %)" not in row or row["coefficient"] == INTERCEPT:
            continue
        name, low, high = row["coefficient"], float(row["low (95 %)"]), float(row["high (95 %)"])
        if not (math.isfinite(low) and math.isfinite(high)):
            sentences.append(f"{name}: no finite band; this release says nothing about it.")
            continue
        none = f"{rounded(unit.neutral)}, no effect" if unit.ratio else "zero"
        sign = f"could be {none}" if low <= unit.neutral <= high else _SIDE_WORDS[unit.ratio][low > unit.neutral]
        value, *limits = with_equal_decimals(float(row["value"]), low, high)
        sentences.append(f"{name}: {value}, between {limits[0]} and {limits[1]} ({sign}); {_error_sizes(row, unit)}")
    return sentences


def _error_sizes(row: Mapping[Hashable, Any], unit: DisplayUnit) -> str:
    """Say how large each part of a coefficient's error is."""
    moves = []
    for who, part in _ERROR_SOURCES:
        size = float(row.get(part, 0.0))
        if unit.ratio and size > 0:
            moves.append(f"{who} by a factor of about {rounded(math.exp(min(size, _MOST_LOG)))}")
        elif size > 0:
            moves.append(f"{who} by about {rounded(size, 2)}")
    if float(row["privacy sd"]) > 0:
        return f"{', '.join(moves)}."
    return f"no privacy noise moves it{'; ' * bool(moves)}{', '.join(moves)}."


def beside_plan(release: Release, plan: Preview, coefficient: str = "") -> list[str]:
    """Return sentences that compare a release with its plan and with the public fit.

    Args:
        release: the release.
        plan: public figures of its request.
        coefficient: as of :func:`planned_words`.
    """
    sentences = (
        planned_words(release, plan.predicted, coefficient),
        precision_words(release, plan.public_alone),
        as_planned_words(release, plan.predicted),
    )
    return [sentence for sentence in sentences if sentence]


def planned_words(release: Release, predicted: Prediction | None, wanted: str = "") -> str:
    """Say which half-width was predicted and which was released; empty where one is unknown.

    Args:
        release: the release.
        predicted: predicted errors.
        wanted: coefficient chosen on Plan; the clearest one where the release has none of that name.
    """
    at = [j for j, name in enumerate(release.names) if name != INTERCEPT]
    if release.bands is None or predicted is None or not at or release.guarantee.mu == 0:
        return ""
    low, high = release.bands.low[at], release.bands.high[at]
    clearest = at[int(np.argmax(clarity(release.coefficients[at], low, high)))]
    j = release.names.index(wanted) if wanted in release.names else clearest
    coefficient, half_width = release.names[j], float(release.bands.high[j] - release.bands.low[j]) / 2
    step = unit_step(coefficient, release.notes)
    planned = f"planned ± {rounded(Z95 * float(predicted.total[j]))}"
    if predicted.total_interval is not None:  # as Plan states it
        planned = f"{planned} (half of releases: at most ± {rounded(Z95 * float(predicted.median_total[j]))})"
    return f"95 % half-width of {coefficient}, {step}: {planned}, released ± {rounded(half_width)}."


def precision_words(release: Release, alone: Prediction | None) -> str:
    """Say how precise a release is relative to the public fit, and what the public rows have of it; empty if unknown.

    Precision is one over the variance, so that the share of the public rows is the square of the ratio of errors: the
    weight that they have where estimates are combined by precision.

    Args:
        release: the release.
        alone: errors of the public fit.
    """
    at = [j for j, name in enumerate(release.names) if name != INTERCEPT]
    if release.bands is None or alone is None or not at or release.guarantee.mu == 0:
        return ""
    errors = (release.bands.high - release.bands.low)[at] / (2 * Z95)
    public = np.asarray(alone.total)[at]
    wider = typical_ratio(errors, public)
    if not (math.isfinite(wider) and wider > 0):
        return ""
    words = f"As released, the typical coefficient is {Phrase.TIMES_AS_PRECISE.sentence(value=rounded(1 / wider, 2))}"
    leaning = int(np.sum(np.isfinite(errors) & (errors**2 > public**2 / 2)))
    if wider >= 1:
        return f"{words}: it leans on the public rows, which are as precise without this release."
    if wider**2 < _STATED_PUBLIC_SHARE and not leaning:
        return f"{words}."
    share = f"{words}: the public rows alone have {percent(wider**2)} of that precision"
    if not 0 < leaning < len(at):
        return f"{share}, so that it leans on them." if leaning else f"{share}."
    return f"{share}. {plural(leaning, 'coefficient')} of {len(at)} {_LEAN[leaning > 1]}: more than half is theirs."


def prior_levels(notes: Sequence[str]) -> frozenset[str]:
    """Return the coefficients that the prior or penalty determines, from notes that have their facts."""
    return frozenset(name for facts in _facts_of(notes, TableNote.LEVELS_OF_ONE_LABEL) for name in facts["levels"])


def as_planned_words(release: Release, predicted: Prediction | None) -> str:
    """Say where bands are wider than predicted, or much narrower, and due to which part of the error.

    Empty where they did not, or where either is not known.
    """
    bands = release.bands
    if bands is None or predicted is None or release.guarantee.mu == 0:
        return ""
    at = [j for j, name in enumerate(release.names) if name != INTERCEPT]
    planned = np.asarray(predicted.total)[at]

    def share(part: float | np.ndarray) -> float:
        """Return the variance of a part over that of the predicted total, for the typical coefficient."""
        with np.errstate(all="ignore"):
            return float(np.median((np.broadcast_to(part, len(release.names))[at] / planned) ** 2))

    with np.errstate(all="ignore"):
        ratio = float(np.median((bands.high - bands.low)[at] / (2 * Z95 * planned))) if at else math.nan
    if not math.isfinite(ratio) or _NARROW_BAND_RATIO <= ratio <= _CONDITIONING_CHANGE:
        return ""
    lost = 0.0 if bands.truncation is None else bands.truncation
    parts = {
        "noise": (bands.privacy, predicted.privacy),
        "scatter of the rows": (bands.sampling, predicted.sampling),
        "truncation": (lost, predicted.truncation),
    }
    grown = {name: share(after) - share(before) for name, (after, before) in parts.items()}
    more = ratio > 1
    cause = (max if more else min)(grown, key=lambda name: grown[name])
    return (
        f"Bands came out {rounded(ratio, 2)} times as wide as predicted, for the typical coefficient: what was "
        f"released shows {'more' if more else 'less'} {cause} than public rows foresaw."
    )


def _over_parts(table: pd.DataFrame, unit: DisplayUnit) -> float:
    """Return the width of the typical band over that of the sum of its parts; 1 without bands or parts."""
    parts = [name for name in table if str(name).endswith(" sd")]
    if "low (95 %)" not in table or not parts:
        return 1.0
    with np.errstate(all="ignore"):
        low, high = (np.asarray(table[name], dtype=float) for name in ("low (95 %)", "high (95 %)"))
        half = (np.log(high) - np.log(low) if unit.ratio else high - low) / 2
        ratio = half / (Z95 * np.sqrt(np.sum(np.asarray(table[parts], dtype=float) ** 2, axis=1)))
    known = ratio[np.isfinite(ratio)]
    return float(np.median(known)) if len(known) else 1.0


def parts_words(table: pd.DataFrame, unit: DisplayUnit) -> str:
    """Say which parts of the error the bands of a table of coefficients in this unit include."""
    wider = _over_parts(table, unit)
    few = (
        f" The typical band is {rounded(wider, 2)} times as wide as its parts add up to: they are themselves estimated "
        "from few public rows, and the band allows for that."
        if wider > _WIDER_BAND_RATIO
        else ""
    )
    cut = "Truncation: rows beyond the radius, which are shortened to it." if "truncation sd" in table else ""
    lost = "" if cut else "What shortened contributions change is in these parts, not listed separately."
    return (
        f"The 95 % band is for all parts of the error together.{few} Privacy: the noise that was added. Sampling: "
        "other rows from the same population, as far as public rows and this release show; another method has another "
        "estimate of it. "
        f"{cut or lost} The intercept is in the table. Bands miss more often where the public rows "
        "follow quite another fit than the private ones; a release that shows it says so above its figures. They also "
        "miss more often where one row far from all public ones decides the fit."
    )


def public_fit_words(table: pd.DataFrame, public_rows: int | None) -> str:
    """Say for how many coefficients the public fit lies outside the released band; empty where there are none.

    Args:
        table: of coefficients, in any unit.
        public_rows: behind the public fit; ``None`` where that is unknown.
    """
    fit = of_role("public").title.lower()
    rows = table[table["coefficient"] != INTERCEPT]
    if fit not in rows or "low (95 %)" not in rows:
        return ""
    outside = int(((rows[fit] < rows["low (95 %)"]) | (rows[fit] > rows["high (95 %)"])).sum())
    if not outside:
        return ""
    behind = "" if public_rows is None else f", from {plural(public_rows, 'row')},"
    return ReportWords.PUBLIC_FIT_OUTSIDE.sentence(others=behind, count=outside, total=len(rows))


def leaning_words(table: pd.DataFrame, unit: DisplayUnit) -> str:
    """Return the sentence on why some values are not in the middle of their bands; empty where all are."""
    if "low (95 %)" not in table:
        return ""
    with np.errstate(all="ignore"):
        value, low, high = (np.asarray(table[name], dtype=float) for name in ("value", "low (95 %)", "high (95 %)"))
        return off_centre_words(*((np.log(value), np.log(low), np.log(high)) if unit.ratio else (value, low, high)))


def reference_levels(notes: Sequence[str]) -> dict[str, str]:
    """Return the reference level of each column of categories, from notes that have their facts."""
    levels: dict[str, str] = {}
    for facts in _facts_of(notes, TableNote.REFERENCES):
        levels |= facts["references"]
    return levels


def date_columns(notes: Sequence[str]) -> frozenset[str]:
    """Return the columns whose numbers count days since 1970-01-01, from notes that have their facts."""
    return frozenset(facts["column"] for facts in _facts_of(notes, TableNote.DATES, TableNote.SLASHED_DATES))


def unit_step(coefficient: str, notes: Sequence[str]) -> str:
    """Say for which step of its feature a coefficient in units of the table is the change.

    Args:
        coefficient: its name.
        notes: of the problem, which say what is a date and what categories are compared with.
    """
    column = source(coefficient)
    reference = reference_levels(notes).get(column)
    if reference is not None and coefficient != column:
        return f"against {reference}"
    return "for one day" if coefficient in date_columns(notes) else "for one unit"


def modelled_levels(notes: Sequence[str]) -> dict[str, str]:
    """Return the level of each label that counts as 1, from notes that have their facts."""
    return {facts["column"]: facts["label"] for facts in _facts_of(notes, TableNote.MODELLED)}


def _facts_of(notes: Sequence[str], *kinds: TableNote) -> list[Mapping[str, Any]]:
    """Return the facts of the notes of these kinds; a note that was stored as a sentence has none."""
    return [note.facts for note in notes if isinstance(note, Note) and note.kind in kinds]


def example_words(
    shown: pd.DataFrame,
    unit: DisplayUnit,
    references: Mapping[str, str] | None = None,
    zero_one: Collection[str] = (),
    *,
    spread: Mapping[str, float] | None = None,
    ordered: bool = False,
) -> str:
    """Say what the clearest coefficient in the table means, with its limits; empty where there is none.

    Args:
        shown: rows of a table of coefficients in this unit.
        unit: of the displayed coefficients.
        references: levels that categories are compared with, by column.
        zero_one: features that are 0 or 1 in every public row.
        spread: standard deviations of the features in the public rows, where they are known.
        ordered: whether the rows are in a meaningful order, so that the first one is explained in its place.
    """
    rows = shown[shown["coefficient"] != INTERCEPT]
    if rows.empty or "low (95 %)" not in rows:
        return ""
    row = rows.iloc[0 if ordered else int(np.argmax(clear_effects(rows, unit)))]
    value, low, high = with_equal_decimals(row["value"], row["low (95 %)"], row["high (95 %)"])
    band = f"95 % band {low} to {high}"
    name, reference = row["coefficient"], (references or {}).get(row["column"])
    if reference is not None or is_level(name):
        cause = f"{name} compared with {reference or 'the reference'}"
    elif name in zero_one:
        cause = f"{name} = 1 compared with 0"
    else:
        size = (spread or {}).get(name)
        step = "one standard deviation of the public rows"
        cause = {
            "spread": f"{step} more of {name}{f' ({rounded(size)})' if size else ''}",
            "round": f"{rounded(row.get(STEP, 1.0))} more of {name}",
            "unit": f"one unit more of {name}",
        }[unit.step]
    if unit.ratio:
        odds = "rate" if unit.short.startswith("rate") else "odds"
        effect = f"the {odds} of {unit.scale} are {value} times as large ({band})"
    else:
        effect = f"the change in {unit.scale} is {value} ({band})"
    others = ", with the other columns held fixed" if len(rows) > 1 else ""
    return f"For {cause}{others}, {effect}."


def gaps_words(share: float) -> str:
    """Say how rows with gaps bias a fit in which each counts as zeros.

    Args:
        share: share of the public rows that have gaps.
    """
    return ReportWords.ROWS_WITH_GAPS.sentence(share=percent(share))


def filled_words(missing: Mapping[str, int], values: Mapping[str, str], rows: int) -> str:
    """Say which values replace missing ones where gaps are filled; empty where no public row has a gap.

    Args:
        missing: number of public rows without a value, by feature.
        values: the replacement of a missing value in words, by feature.
        rows: number of public rows.
    """
    gappy = sorted((name for name, gaps in missing.items() if gaps > 0), key=lambda name: -missing[name])
    if not gappy:
        return ""
    filled = [
        f"{name} ({plural(missing[name], 'cell')}, {percent(missing[name] / rows)}) with {values[name]}"
        for name in gappy[:_GAPS_NAMED]
    ]
    more = f", and {plural(len(gappy) - _GAPS_NAMED, 'column')} more" if len(gappy) > _GAPS_NAMED else ""
    return (
        f"Gaps (numbers and shares of public rows; empty cells and {MISSING_EXAMPLES} count as gaps) are filled: "
        f"{', '.join(filled)}{more}. "
        "Filled values are not the true ones, so effects of these columns are biased, usually towards zero, and with "
        "many gaps their bands are too narrow."
    )


def release_words(release: Release, per_spread: bool = True) -> str:
    """Describe the release in one sentence.

    Args:
        release: with its bands.
        per_spread: whether coefficients are shown for comparable steps of the features: only those have a typical
            standard error.
    """
    if release.bands is None or release.guarantee.mu == 0:
        return release.guarantee.words
    bands, features = release.bands, [j for j, name in enumerate(release.names) if name != INTERCEPT]
    at = features or list(range(len(release.names)))  # all, where there is only an intercept
    by = steps(release.names, release.public.spread, release.public.zero_one)
    unit = np.array([by[release.names[j]] for j in at]) if features else 1.0
    parts = {part: float(np.median(errors[at] * unit)) for part, errors in bands.parts.items()}
    if not all(math.isfinite(part) for part in parts.values()):
        return "The noise swamped this release: its bands are without end for the typical coefficient."
    largest = max(parts, key=lambda name: parts[name])
    # Where private and public rows differ in distribution, neither budget nor radius is the remedy.
    more, wider = ": a larger budget would narrow the bands", ": choose the inference radius, or a wider one"
    if release.disagrees:
        more = wider = ""
    advice = {
        "privacy": f"privacy noise and sampling are about equal parts of the error{more}."
        if parts["sampling"] >= _ABOUT_EQUAL * parts["privacy"]
        else f"the privacy noise is the largest part of the error{more}.",
        "sampling": "the error is mostly that of the public rows: the noise is about as large as what was released."
        if release.facts.noise_dominates
        else f"sampling is the largest part of the error; {_price(parts)}.",
        "truncation": f"truncation is the largest part of the error{wider}.",
    }[largest]
    typical = f"the typical coefficient (median of {len(at)})" if len(at) > 1 else "the coefficient"
    if TableNote.FEW_PUBLIC_ROWS in map(kind_of, release.notes):  # two digits of a part would claim too much
        return f"For {typical} {advice} How large each part is, so few public rows tell roughly at best."
    figures = ", ".join(f"{name} {rounded(part, 2)}" for name, part in parts.items() if part or name != "truncation")
    first = f"For {typical} {advice}"
    if not per_spread and features:
        return first
    per = f", for {step_words(release.names, release.public.zero_one)}" if features else ""
    return f"{first} Standard errors{per}: {figures}."


def _price(parts: Mapping[str, float]) -> str:
    """Say by which factor privacy increases the sampling error, from the parts shown beside the sentence.

    Args:
        parts: standard errors of the typical coefficient, by part.
    """
    if not parts["sampling"]:
        return "and there is no other"
    longer = math.hypot(*parts.values()) / parts["sampling"] - 1
    return (
        "noise and truncation cost next to nothing"
        if longer < 0.005
        else f"noise and truncation widen bands by {percent(longer)}"
    )


def comparison_words(
    summaries: Sequence[Summary], axis: str = "budget", at: float | None = None, *, ratios: bool = True
) -> str:
    """Say which method is closest in each interval of the axis, and how far the others are at one position.

    Args:
        summaries: of all methods and positions.
        axis: quantity on the axis.
        at: position at which methods are compared, or the nearest one; ``None``: the middle.
        ratios: whether to say how far the others are.
    """
    real = [s for s in summaries if method(s.method).role != "reference"]  # without the reference, at distance 0
    failed: dict[str, list[float]] = {}
    by_place: dict[float, dict[str, float]] = {}
    for s in real:
        if math.isfinite(s.error_median):
            by_place.setdefault(s.x, {})[s.method] = s.error_median
        else:
            failed.setdefault(s.method, []).append(s.x)
    lost = [
        f"{in_quotes(id)} has no finite result at {_at_values(sorted(xs), axis)}" for id, xs in sorted(failed.items())
    ]
    note = f" {'; '.join(lost)}." if lost else ""
    if not by_place:
        return note.strip()
    stuck = _without_gain(by_place) if axis == "budget" else ""
    beside = f" {_compare_with_best(by_place, axis, at)}" if ratios else ""
    return f"{_closest_methods(by_place, axis)}{beside}{stuck}{note}".strip()


def _without_gain(by_place: Mapping[float, Mapping[str, float]]) -> str:
    """Say which methods are farther away at a larger budget, so that the rest of their error is not noise."""
    last = by_place[max(by_place)]
    names = [
        in_quotes(id)
        for id, error in last.items()
        if min(at.get(id, math.inf) for at in by_place.values()) * _CONDITIONING_CHANGE < error
    ]
    if not names:
        return ""
    return (
        f" With a larger budget {join_names(names)} {'comes' if len(names) == 1 else 'come'} no nearer here: what is "
        "left is not noise, but rows that are truncated and that the fit without privacy follows."
    )


def _closest_methods(by_place: Mapping[float, Mapping[str, float]], axis: str) -> str:
    """Return intervals of the axis, each with the method that is closest there."""
    stretches: list[tuple[str, float, float]] = []
    for place in sorted(by_place):
        best = min(by_place[place], key=lambda id: by_place[place][id])
        if stretches and stretches[-1][0] == best:
            stretches[-1] = (best, stretches[-1][1], place)
        else:
            stretches.append((best, place, place))
    if len(stretches) == 1:
        best, low, high = stretches[0]
        if low == high:
            return f"At {_at_value(low, axis)}, {in_quotes(best)} comes closest to the fit without privacy."
        everywhere = "budget" if axis == "budget" else "place"
        return f"{in_quotes(best)} comes closest to the fit without privacy at every {everywhere} drawn."
    if len(stretches) > 4:
        return "Which method comes closest to the fit without privacy changes back and forth: see the table."
    texts = [
        f"{in_quotes(best)} {'at' if low == high else 'from'} {_at_value(low, axis)}"
        + ("" if low == high else f" to {rounded(high)}")
        for best, low, high in stretches
    ]
    return f"Closest to the fit without privacy: {join_names(texts)}."


def _compare_with_best(by_place: Mapping[float, Mapping[str, float]], axis: str, at: float | None) -> str:
    """Compare all methods with the best one next to a place of the axis, or in its middle."""
    places = sorted(by_place)
    there = places[len(places) // 2] if at is None else min(places, key=lambda place: abs(place - at))
    here = sorted(by_place[there].items(), key=lambda item: item[1])
    (best, least), others = here[0], here[1:]
    if not others:
        return ""
    if least <= _NO_ERROR * here[-1][1]:
        return f"At {_at_value(there, axis)}, {in_quotes(best)} has no distance at all; the others do."
    comparisons = [f"{in_quotes(id)} is {_further(error / least)}" for id, error in others]
    if len(others) > _MOST_COMPARED:
        id, error = others[-1]
        comparisons[1:] = [f"the farthest of the {len(others)} others, {in_quotes(id)}, {rounded(error / least)} times"]
    first = {min(errors, key=lambda id: errors[id]) for errors in by_place.values()}
    where = "" if len(first) == 1 else f", where {in_quotes(best)} is closest"
    counted = " Sampling is not counted here; Plan and Release count it, and find methods less far apart."
    public = any(method(id).role == "public" for id, _ in here)
    return f"At {_at_value(there, axis)}{where}, {join_names(comparisons)}.{counted * public}"


def _further(ratio: float) -> str:
    """Return the ratio of a distance from the fit without privacy to that of the best method, in words."""
    return "about as far from it" if ratio < _TIE_RATIO else f"{rounded(ratio)} times as far from it"


def _at_values(at: Sequence[float], axis: str) -> str:
    """Describe several places on the axis, the smallest and the largest where they are many."""
    if len(at) > 3:
        return f"{plural(len(at), 'place')} from {_at_value(at[0], axis)} to {_at_value(at[-1], axis)}"
    return join_names([_at_value(x, axis) for x in at])


def _at_value(x: float, axis: str) -> str:
    """Describe a place on the axis."""
    if axis in ("budget", "epsilon"):
        return f"{'mu' if axis == 'budget' else axis} = {rounded(x)}"
    return f"{rounded(x, 6)} {axis}" if "rows" in axis or axis == "steps" else f"{axis} {rounded(x)}"
