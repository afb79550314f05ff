"""The public rows of each column at a glance: kind, part in the fit, and how its values are spread."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from pmtcore.base.messages import Note, TableNote
from pmtcore.base.numbers import plural
from pmtcore.public.moments import OTHER
from pmtcore.tables.choices import Choices
from pmtcore.tables.kinds import CAPPED, CODED, DATES, LEVELS, WITH_UNKNOWN, as_kind
from pmtcore.tables.problem import common_columns
from pmtcore.tables.schema import frequencies, merged_spellings
from pmtcore.tables.schema import values as read_values
from pmtcore.tables.table import MomentTable, Table

# Bars of a column that is as wide as a word, and columns that a reader goes through.
_BARS, _MOST_COLUMNS = 12, 200
# Kinds of notes on a chosen column that is not in the fit.
_DROPPED = (
    *(TableNote.ZERO, TableNote.CONSTANT, TableNote.COLLINEAR),
    *(TableNote.IDENTIFIER_LEFT_OUT, TableNote.NAMED_IDENTIFIER_LEFT_OUT),
)


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
    noted = [note for note in notes if isinstance(note, Note)]
    dropped = dropped_columns(notes)
    parts = {name: "left out" if name in dropped else _role(name, choices) for name in common_columns(private, public)}
    merged = (TableNote.RARE_LEVELS, TableNote.UNDECLARED_LEVELS)
    rare = {note.facts["column"]: note.facts for note in noted if note.kind in merged}
    rows = []
    for name in sorted(parts, key=lambda name: parts[name] != "target")[:_MOST_COLUMNS]:
        about = _as_read(public, name, choices, rare.get(name)) if isinstance(public, Table) else {"kind": "numeric"}
        rows.append({"column": name, "part": parts[name], **about})
    return pd.DataFrame(rows)


def dropped_columns(notes: Sequence[str]) -> set[str]:
    """Return the columns that were chosen, or would be, and are not in the fit, by the notes of prepared tables."""
    noted = [note for note in notes if isinstance(note, Note)]
    dropped = {str(note.facts["column"]) for note in noted if note.kind in _DROPPED}
    return dropped | {str(name) for note in noted if note.kind is TableNote.LEFT_OUT for name in note.facts["columns"]}


def _as_read(public: Table, name: str, choices: Choices, rare: Mapping[str, Any] | None = None) -> dict[str, object]:
    """Return kind, missing cells and bars of a public column as it is read: what cannot be read is missing.

    Rare categories count as those that they become, so that the number is that of the report.
    """
    column, kind = public.column(name), as_kind(choices.kinds.get(name, public.schema[name].kind))
    if kind in LEVELS:
        counts = frequencies(column)
        levels = merged_spellings(counts) if kind == "caseless" else counts
        many = len(levels)
        if rare is not None:
            many = len(set(levels) - set(rare["levels"]) | ({OTHER} if rare["become"] == repr(OTHER) else set()))
        words = plural(many, "category", "categories")
        missing = 0 if kind == WITH_UNKNOWN else public.n - sum(counts.values())
        bars = list(levels.values())[:_BARS]
    else:
        declared = choices.levels.get(name, ()) if kind in (CODED, CAPPED) else ()
        numbers = read_values(column, kind, public.decimal, name=name, levels=declared)
        words, missing = "dates, as days" if kind in DATES else "numeric", int(np.sum(np.isnan(numbers)))
        bars = _bars(numbers)
    return {"kind": words, "missing in public rows": missing, "public rows": bars}


def _role(name: str, choices: Choices) -> str:
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
