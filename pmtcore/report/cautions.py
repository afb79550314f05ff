"""Cautions about a fit, each with the choices that remedy it; shown before a budget is spent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import final
from weakref import WeakKeyDictionary

import numpy as np

from pmtcore.base.messages import Note, TableNote, kind_of, quoted_names
from pmtcore.base.numbers import count, date_of_day, rounded
from pmtcore.public.shrinkage import strongest_shrinkage
from pmtcore.report.words import date_columns, filled_words, gaps_words, reference_levels
from pmtcore.tables.choices import Choices
from pmtcore.tables.findings import missing_as_level, missing_categories
from pmtcore.tables.problem import Problem
from pmtcore.tables.table import MomentTable, Table

# Share of rows with gaps from which rows of zeros are no small matter.
_MANY_GAPS = 0.05
# What the penalty of each problem does, for which all public rows are read: it is public, and goes with the problem.
_PENALTIES: WeakKeyDictionary[Problem, Caution | None] = WeakKeyDictionary()


@final
@dataclass(frozen=True)
class Caution:
    """Warning that coefficients of a fit estimate something else than a reader expects.

    Attributes:
        words: the caution, one or two sentences computed from public figures.
        repairs: the choices about the tables under which the caution no longer applies, by the label of their button.
    """

    words: str
    repairs: Mapping[str, Choices]


def public_gaps(problem: Problem, public: Table | MomentTable) -> int:
    """Return the number of public rows that were left out for their gaps."""
    return max(public.n - (problem.public.m or 0), 0) if isinstance(public, Table) else 0


def filled_gaps(problem: Problem, public: Table | MomentTable) -> str:
    """Say with what gaps are filled, column by column; empty where gaps are not filled or there are none."""
    if problem.choices.missing != "public-median" or not isinstance(public, Table):
        return ""
    coder = problem.coder
    if coder is None or problem.choices.formula:
        return ""
    missing, values = {}, {}
    dates, references = date_columns(problem.notes), reference_levels(problem.notes)
    for one in coder.features:  # a cell that cannot be read is a gap too
        cells = public.column(one.name).combine_chunks()
        missing[one.name] = int(np.sum(one.encode(cells, coder.decimal)[1].missing))
        median = date_of_day(one.fill) if one.name in dates else f"{one.fill:g}"
        values[one.name] = repr(references[one.name]) if one.name in references else f"its public median, {median}"
    # Texts that are no gap elsewhere are named.
    unread = [
        note for note in problem.notes if kind_of(note) in (TableNote.UNREADABLE_CELL, TableNote.UNREADABLE_CELLS)
    ]
    return " ".join(filter(None, (filled_words(missing, values, public.n), *unread)))


def public_rows_words(problem: Problem, public: Table | MomentTable) -> str:
    """Say how many public rows are used, and where some are not, of how many and why."""
    if problem.public.m is None:
        return "an unknown number of public rows"
    left_out, used = public_gaps(problem, public), count(problem.public.m)
    if left_out == 0:
        return f"{used} public rows"
    why = "has a gap" if left_out == 1 else "have gaps"
    for note in problem.notes:
        if isinstance(note, Note) and note.kind is TableNote.PUBLIC_ROWS_UNFILLED:
            missing = _missing_parts(problem, note.facts["columns"])
            why = f"{'has' if left_out == 1 else 'have'} {missing}"
    return f"{used} of {count(problem.public.m + left_out)} public rows ({count(left_out)} {why})"


def _missing_parts(problem: Problem, columns: Sequence[str]) -> str:
    """Say what rows lack that no policy fills: a response is missing, a category may be too rare as well."""
    rare = [name for name in columns if name != problem.public.target]
    return f"a rare or missing {quoted_names(columns)}" if rare else f"no {quoted_names(columns)}"


def rows_of_zeros(problem: Problem, public: Table | MomentTable) -> Caution | None:
    """Return the caution about gaps, where a row with a gap counts as zeros and more than a twentieth have one."""
    choices, left_out = problem.choices, public_gaps(problem, public)
    known = left_out + (problem.public.m or 0)
    if choices.missing != "empty-row" or left_out <= _MANY_GAPS * known:
        return None
    filled = replace(choices, missing="public-median")
    repairs = {"Fill from the public rows": filled}
    if isinstance(public, Table) and problem.coder is not None:
        names = [one.name for one in problem.coder.features if missing_categories(public, one.name, choices)]
        if names:
            repairs["Fill numbers, keep missing categories as unknown"] = missing_as_level(names, choices).apply(filled)
    return Caution(gaps_words(left_out / known), repairs)


def decisive_penalty(problem: Problem) -> Caution | None:
    """Return the caution about a ridge penalty that decides coefficients of rare categories.

    All public rows are read for it, once for each problem.
    """
    if problem not in _PENALTIES:
        _PENALTIES[problem] = _decisive_penalty(problem)
    return _PENALTIES[problem]


def _decisive_penalty(problem: Problem) -> Caution | None:
    pull = strongest_shrinkage(problem.public, problem.private.n)
    if pull is None:
        return None
    smaller = replace(problem.choices, lam=pull.penalty)
    return Caution(pull.note, {f"Take penalty {rounded(pull.penalty)}": smaller})


def cautions(problem: Problem, public: Table | MomentTable) -> Sequence[Caution]:
    """Return all that biases the coefficients of a fit."""
    return [one for one in (rows_of_zeros(problem, public), decisive_penalty(problem)) if one is not None]
