"""The public rows of each column at a glance: kind, part in the fit, and how its values are spread."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from pmtcore.base.messages import Note, TableNote
from pmtcore.tables.choices import Choices
from pmtcore.tables.kinds import CODED, DATES, SIGNS
from pmtcore.tables.problem import schema_summary
from pmtcore.tables.schema import as_kind, frequencies, read_alike
from pmtcore.tables.schema import values as read_values
from pmtcore.tables.table import MomentTable, Table

# Bars of a column that is as wide as a word, and columns that a reader goes through.
_BARS, _MOST = 12, 200
# Why a whole column is not in the fit although it was chosen.
_DROPPED = (TableNote.ZERO, TableNote.CONSTANT, TableNote.COLLINEAR, TableNote.IDENTIFIER_LEFT_OUT)


def at_a_glance(
    private: Table, public: Table | MomentTable, choices: Choices, notes: Sequence[str] = ()
) -> pd.DataFrame:
    """Return one row for each column that both tables have, the target first, from public rows alone.

    Args:
        private: gives the names of its columns alone.
        public: rows, or a moment, whose columns are shown.
        choices: of target, features and person.
        notes: of the prepared tables, which tell what was left out.

    Columns: column, part (target, feature, person or left out), kind, missing in public rows, and public rows, the
    counts of a histogram for numbers and those of the commonest categories otherwise; the last two only with public
    rows. Of very wide tables the first columns are taken.
    """
    summary = schema_summary(private, public)
    noted = [note for note in notes if isinstance(note, Note)]
    dropped = {note.facts["column"] for note in noted if note.kind in _DROPPED}
    dropped |= {name for note in noted if note.kind is TableNote.LEFT_OUT for name in note.facts["columns"]}
    part = ["left out" if name in dropped else _part(name, choices) for name in summary["column"]]
    summary.insert(1, "part", part)
    words = {**dict.fromkeys(("number", CODED, *SIGNS), "numeric"), **dict.fromkeys(DATES, "dates")}
    summary["kind"] = summary["column"].map(choices.kinds).map(words).fillna(summary["kind"])
    summary = summary.iloc[np.argsort([kind != "target" for kind in part], kind="stable")].head(_MOST)
    if isinstance(public, Table):
        summary["public rows"] = [_counts(public, name, choices) for name in summary["column"]]
    return summary.reset_index(drop=True)


def _part(name: str, choices: Choices) -> str:
    if name == choices.target:
        return "target"
    if name == choices.person:
        return "person"
    return "feature" if choices.features is None or name in choices.features else "left out"


def _bars(numbers: np.ndarray) -> list[int]:
    numbers = numbers[np.isfinite(numbers)]
    return [int(count) for count in np.histogram(numbers, _edges(numbers))[0]] if len(numbers) else []


def _edges(numbers: np.ndarray) -> np.ndarray:
    """Return the edges of the bars; each bar has equally many whole numbers where all are whole."""
    low, high = float(np.min(numbers)), float(np.max(numbers))
    if np.any(numbers != np.round(numbers)):
        return np.asarray(np.linspace(low, high, _BARS + 1))
    width = max(np.ceil((high - low + 1) / _BARS), 1.0)
    return np.asarray(np.arange(low - 0.5, high + width, width))


def _counts(public: Table, name: str, choices: Choices) -> list[int]:
    kind = choices.kinds.get(name)
    if kind in ("number", CODED, *SIGNS):
        codes = choices.levels.get(name, ()) if kind == CODED else ()
        numbers = read_values(public.column(name), as_kind(kind), public.decimal, name=name, levels=codes)
        return _bars(numbers)
    values = public.typed.column(name).to_pandas().dropna()
    if kind == "caseless":
        return list(read_alike(frequencies(public.column(name))).values())[:_BARS]
    if pd.api.types.is_numeric_dtype(values.dtype):
        return _bars(values.to_numpy(dtype=float))
    return [int(count) for count in values.value_counts().head(_BARS)]
