"""Choice of the coefficients in a chart and of the range of its axis; the same on a page and in the report."""

import math
from collections.abc import Collection, Iterable, Sequence

import numpy as np

from pmtcore.base.distributions import student
from pmtcore.base.messages import ReportWords
from pmtcore.public.moments import INTERCEPT
from pmtcore.tables.formula import category

# From so many rows on, the levels of a column are folded into one row.
MANY_LEVELS = 20
# Words for the change that a comparable effect of a 0/1 feature refers to.
_LEVEL_STEP, _ZERO_ONE_STEP = "a category: against the reference", "0 or 1: from 0 to 1"
# Columns that a chart draws at first: more cannot be read.
MOST_COLUMNS = 40
# What a picture calls the band of a row that was picked among several.
BAND_OF_ALL = "95 % for all levels of its column together"
# The level of every band.
_LEVEL = 0.95
# An axis has room for this multiple of what four in five rows need; for as much again three times where that shows more
# effects. What lies beyond stands at the edge, with its figure.
_EDGE_FACTOR, _ROWS_INSIDE, _STRETCH = 2.0, 0.8, 3.0


def source(name: str) -> str:
    """Return the column of the table that a coefficient comes from: ``town`` for ``town=north``."""
    return category(name) or name


def is_level(name: str) -> bool:
    """Return whether a coefficient is that of a level of a category, and not of its product with a number."""
    return source(name) != name and ":" not in source(name)


def step_words(names: Iterable[str], zero_one: Collection[str]) -> str:
    """Return, for an axis, the change of a feature that a comparable effect is for (:func:`steps`)."""
    steps_of = [
        _LEVEL_STEP if is_level(name) else _ZERO_ONE_STEP for name in names if is_level(name) or name in zero_one
    ]
    apart = f" ({'; '.join(sorted(set(steps_of)))})" if steps_of else ""
    return f"one standard deviation of the feature{apart}"


def steps(names: Sequence[str], spread: Sequence[float] | np.ndarray, zero_one: Collection[str]) -> dict[str, float]:
    """Return the change of each feature that makes effects comparable.

    It is one standard deviation for a number, and 1 for a level of a category or a column of 0 and 1, which is there
    or not: a level's effect is that against the reference. The intercept keeps its own unit. A feature that is
    constant has 0.

    Args:
        names: of coefficients.
        spread: standard deviations of their features in the public rows.
        zero_one: features that are 0 or 1 in every public row.
    """
    ones = [
        name == INTERCEPT or ((name in zero_one or is_level(name)) and each > 0)
        for name, each in zip(names, spread, strict=False)
    ]
    return {name: 1.0 if one else float(each) for name, each, one in zip(names, spread, ones, strict=False)}


def round_steps(
    names: Sequence[str], spread: Sequence[float] | np.ndarray, zero_one: Collection[str]
) -> dict[str, float]:
    """Return the change of each feature as :func:`steps` has it, a standard deviation as the power of ten next to it.

    So the effect of age is that of ten years, and of an income that of 10,000.
    """
    return {
        name: step if step <= 0 or name == INTERCEPT else float(f"1e{round(math.log10(step))}")
        for name, step in steps(names, spread, zero_one).items()
    }


def clarity(value: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Return the clarity of effects (rows,): the middle of a band over its half-width, without its sign.

    It is above 1 where the band excludes 0. An effect without a band has its size. The middle is used in place of the
    value, which need not lie there.
    """
    with np.errstate(all="ignore"):
        clear = np.where(high > low, np.abs(low + high) / (high - low), np.abs(value))
    return np.nan_to_num(clear, posinf=0.0)


def clearest(names: Sequence[str], clarity: np.ndarray, called: str = "clearest") -> list[tuple[int, str]]:
    """Return, for each column of the table, the place of its clearest row and what that row is called there.

    Args:
        names: of coefficients.
        clarity: of each effect (rows,), by :func:`clarity`; or another figure by which a level is picked.
        called: word for the picked effect, such as clearest.
    """
    columns: dict[str, list[int]] = {}
    for at, name in enumerate(names):
        columns.setdefault(source(name), []).append(at)
    rows = []
    for places in columns.values():
        at = places[int(np.argmax(clarity[places]))]
        more = f" ({called} of {len(places)} effects)" if len(places) > 1 else ""
        rows.append((at, f"{names[at]}{more}"))
    return rows


def effects_among(names: Sequence[str]) -> list[int]:
    """Return, for each coefficient, the number of effects from which a chart picks it: 1 where it draws all."""
    columns = [source(name) for name in names]
    return [columns.count(column) if len(names) > MANY_LEVELS else 1 for column in columns]


def for_all_effects(
    low: np.ndarray, high: np.ndarray, effects: Sequence[int] | np.ndarray, freedom: float | np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return 95 % limits (rows,) widened so that those of all effects of a column hold together, whichever is picked.

    Bonferroni: each of k bands misses with probability at most 0.05/k, and the picked one with at most 0.05.

    Args:
        low: lower limits, on a scale on which they are symmetric.
        high: upper limits.
        effects: number of effects (rows,) among which each was picked; 1 leaves a row as it is.
        freedom: degrees of freedom of Student's law behind the limits.
    """
    tail = (1 - _LEVEL) / 2
    with np.errstate(all="ignore"):
        widening = student.isf(tail / np.asarray(effects), freedom) / student.isf(tail, freedom)
        middle, half = (low + high) / 2, np.where(widening > 1, widening, 1.0) * (high - low) / 2
    return middle - half, middle + half


def few(names: Sequence[str], clarity: np.ndarray) -> list[tuple[int, str]]:
    """Return the rows that a picture of all coefficients has, in their order: all, or the clearest of many.

    Args:
        names: of coefficients.
        clarity: of each effect (rows,), by :func:`clarity`.
    """
    rows = clearest(names, clarity) if len(names) > MANY_LEVELS else list(enumerate(names))
    least = sorted((clarity[at] for at, _ in rows), reverse=True)[:MOST_COLUMNS][-1]
    return [row for row in rows if clarity[row[0]] >= least][:MOST_COLUMNS]


def few_words(names: Sequence[str]) -> str:
    """Say what such a picture leaves out; empty where it has every coefficient."""
    many = len({source(name) for name in names})
    folded = many < len(names) and len(names) > MANY_LEVELS
    notes = [ReportWords.PICKED_LEVEL.sentence(picked="clearest")] if folded else []
    if many > MOST_COLUMNS:
        notes.append(f"Of {many} columns the picture has the {MOST_COLUMNS} with the clearest effects, the tables all.")
    return " ".join(notes)


def axis_limit(values: np.ndarray, reach: np.ndarray) -> float | None:
    """Return the limit of an axis on which some rows would compress all others; ``None`` where all of them fit.

    Args:
        values: value of each row (rows,), and further marks of the rows.
        reach: largest absolute value of each row's band (rows,).
    """
    if len(reach) < 3 or not np.all(np.isfinite(reach)):
        return None
    limit = _EDGE_FACTOR * float(np.quantile(reach, _ROWS_INSIDE, method="lower"))
    # Up to here the axis shows every row; beyond it the others would be compressed.
    most = _STRETCH * limit
    if not 0 < most < reach.max():
        return None
    sizes = np.abs(values)
    return max(limit, float(sizes[sizes <= most].max(initial=0.0)))


def axis_ends(low: np.ndarray, high: np.ndarray, limit: float | None) -> tuple[float, float]:
    """Return the ends of an axis that has 0 and every end of a band that reaches within the limit, as far as the limit.

    Args:
        low: lower ends of the bands.
        high: upper ends.
        limit: of :func:`axis_limit`.
    """
    if limit is None:
        return min(0.0, float(low.min())), max(0.0, float(high.max()))
    # A row that lies entirely beyond the limit is written in figures, so the axis needs no room for it.
    near = (low <= limit) & (high >= -limit)
    return max(-limit, min(0.0, float(low[near].min()))), min(limit, max(0.0, float(high[near].max())))
