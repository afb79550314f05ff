"""Piecewise-exponential survival: rows of persons and periods, hazard ratios, survival curves (docs/survival.md).

Within each period the hazard is constant, so events are counts whose exposure is the time at risk: a Poisson regression
with an exposure. Every person has a row for every period, with time at risk 0 after the end of their observation, so
that the number of rows reveals nobody's time.
"""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from pmtcore.base.messages import FaceMessage, InputError
from pmtcore.base.results import Results
from pmtcore.tables.cells import numbers
from pmtcore.tables.sources import frame_source

PERIOD, AT_RISK, EVENT, PERSON = "period", "at_risk", "event", "person"


def person_periods(frame: pd.DataFrame, *, duration: str, event: str, cuts: Sequence[float]) -> pd.DataFrame:
    """Return a row for each person and period, the periods of a person one after the other.

    Args:
        frame: one row a person.
        duration: column of the times under observation; missing or negative where the time at risk is not known.
        event: column that is 1 or True where the event ended the observation, 0 or False where it is censored; other
            values are missing.
        cuts: boundaries between periods, ascending and positive; the last period has no end. Public.

    Returns:
        The other columns repeated, with ``person``, ``period`` (a label such as ``p1``), ``at_risk`` and ``event``.

    Raises:
        InputError: columns that are not there or are there already, cuts out of order.
    """
    edges = np.array([0.0, *cuts, np.inf])
    if not np.all(np.isfinite(edges[:-1])) or np.any(np.diff(edges) <= 0):
        raise InputError(FaceMessage.CUTS_ASCEND)
    missing = [name for name in (duration, event) if name not in frame.columns]
    others = [name for name in frame.columns if name not in (duration, event)]
    reserved = [name for name in (PERIOD, AT_RISK, EVENT, PERSON) if name in others]
    if missing or reserved:
        raise InputError(FaceMessage.NO_PERIODS, needed=[duration, event], names=[PERSON, PERIOD, AT_RISK, EVENT])
    count, periods = len(frame), len(edges) - 1
    cells = frame_source(frame[[duration, event]]).table
    time, ended = (numbers(cells.column(j).combine_chunks()) for j in (0, 1))
    time = np.where(time >= 0, time, np.nan)[:, None]
    ended = np.where((ended == 0) | (ended == 1), ended, np.nan)
    # By position, since labels of the index may occur twice.
    rows = frame[others].iloc[np.repeat(np.arange(count), periods)].reset_index(drop=True)
    rows[PERSON] = np.repeat(np.arange(count), periods)
    rows[PERIOD] = np.tile([f"p{k + 1}" for k in range(periods)], count)
    rows[AT_RISK] = np.maximum(np.minimum(time, edges[1:]) - edges[:-1], 0.0).ravel()
    rows[EVENT] = (ended[:, None] * ((time > edges[:-1]) & (time <= edges[1:]))).ravel()
    return rows


def hazard_ratios(results: Results, level: float = 0.95) -> pd.DataFrame:
    """Return ``exp`` of each coefficient with its limits, without the intercept and the periods.

    Raises:
        InputError: no regression of counts.
    """
    if results.family != "poisson":
        raise InputError(FaceMessage.NO_HAZARDS)
    limits = results.conf_int(level)
    table = pd.DataFrame({"hazard_ratio": results.params, "low": limits["low"], "high": limits["high"]})
    named = [
        name for name in table.index if name != "Intercept" and not name.startswith((f"{PERIOD}=", f"C({PERIOD})"))
    ]
    return table.loc[named].apply(np.exp)


def survival_curve(
    results: Results, person: pd.DataFrame, *, cuts: Sequence[float], times: Sequence[float]
) -> np.ndarray:
    """Return the survival probabilities (times,) of a person with the covariates of this one row."""
    longest = person.iloc[:1].assign(duration_=float(max(times)), event_=0)
    rows = person_periods(longest, duration="duration_", event="event_", cuts=cuts)
    edges = np.array([0.0, *cuts, np.inf])
    at_risk = np.maximum(np.minimum(np.asarray(times, dtype=float)[:, None], edges[1:]) - edges[:-1], 0.0)
    return np.asarray(np.exp(-at_risk @ np.asarray(results.predict(rows), dtype=float)))
