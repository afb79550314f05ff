"""What may mislead about the fit that is worked on, said by Data beside its repair and before a budget is spent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import final
from weakref import WeakKeyDictionary

import streamlit as st

from pages.common.session import curator, session
from pmtcore.base.escaping import markdown as plain
from pmtcore.base.messages import TableNote, kind_of
from pmtcore.base.numbers import figure
from pmtcore.public.pull import strongest_pull
from pmtcore.report.words import filled_words, gaps_words, reference_levels
from pmtcore.tables.choices import Choices
from pmtcore.tables.problem import Problem
from pmtcore.tables.table import Table

# With one of these a release is spent for nothing.
RUINOUS = (TableNote.ONE_PUBLIC_LABEL, TableNote.LIKE_IDENTIFIER, TableNote.DECISIVE_PENALTY)
# Share of rows with gaps from which rows of zeros are no small matter.
_MANY_GAPS = 0.05
# What the penalty of each problem does, for which all public rows are read: it is public, and goes with the problem.
_PENALTIES: WeakKeyDictionary[Problem, Caution | None] = WeakKeyDictionary()


@final
@dataclass(frozen=True)
class Caution:
    """What the coefficients of a fit estimate where that is not what a reader expects.

    Attributes:
        words: what is so, from public figures.
        repair: label of the button that mends it.
        choices: with which it is mended.
    """

    words: str
    repair: str
    choices: Choices


def public_gaps(problem: Problem) -> int:
    """Return the number of public rows that were left out for their gaps."""
    tables = session().tables
    if tables is None or not isinstance(tables.public, Table):
        return 0
    return max(tables.public.n - (problem.public.m or 0), 0)


def filled_gaps(problem: Problem) -> str:
    """Return what rows with gaps count with, where gaps are filled; empty where there are none."""
    tables, features = session().tables, problem.choices.features
    if problem.choices.missing != "public-median" or tables is None or not isinstance(tables.public, Table):
        return ""
    table, references = tables.public, reference_levels(problem.notes)
    names = [name for name in features or table.columns if name in table.columns and name != problem.public.target]
    return filled_words({name: table.missing(name) / table.n for name in names}, references)


def rows_of_zeros(problem: Problem) -> Caution | None:
    """Return what gaps do where a row with one counts as zeros, and many rows have one."""
    choices, left_out = problem.choices, public_gaps(problem)
    known = left_out + (problem.public.m or 0)
    if choices.missing != "empty-row" or left_out <= _MANY_GAPS * known:
        return None
    return Caution(gaps_words(left_out / known), "Fill from the public rows", replace(choices, missing="public-median"))


def decisive_penalty(problem: Problem) -> Caution | None:
    """Return what the penalty does where it decides coefficients of rare categories; read once for each problem."""
    if problem not in _PENALTIES:
        _PENALTIES[problem] = _decisive_penalty(problem)
    return _PENALTIES[problem]


def _decisive_penalty(problem: Problem) -> Caution | None:
    pull = strongest_pull(problem.public, problem.private.n)
    if pull is None:
        return None
    smaller = replace(problem.choices, lam=pull.penalty)
    return Caution(pull.note, f"Take penalty {figure(pull.penalty)}", smaller)


def cautions(problem: Problem) -> Sequence[Caution]:
    """Return all that biases the coefficients of a fit."""
    return [one for one in (rows_of_zeros(problem), decisive_penalty(problem)) if one is not None]


def warn(notes: Sequence[str], kinds: Sequence[TableNote] = RUINOUS) -> None:
    """Warn where no figure of a release means anything.

    Args:
        notes: of the tables, or of a release from them.
        kinds: of the notes that are shown.
    """
    for note in notes:
        if kind_of(note) in kinds:
            st.warning(plain(note), icon=":material/warning:")


def say(problem: Problem) -> None:
    """Say what biases coefficients, with the way to its repair, and what public rows cannot show."""
    if words := " ".join(one.words for one in cautions(problem)):
        st.warning(plain(f"{words} Data mends it by a click."), icon=":material/warning:")
    tables = session().tables
    texts = problem.positive is not None or TableNote.UNKNOWN_LEVELS in map(kind_of, problem.notes)
    if texts and tables is not None and not tables.may_be_studied and not curator():
        st.caption(
            "A private row whose text is spelt in another way than in the public table counts as zeros. Whether there "
            "are such rows is private: Data compares both tables for the curator's eyes."
        )
