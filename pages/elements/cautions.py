"""Warnings about the current fit, shown on Data beside their repairs, and before a budget is spent."""

from collections.abc import Sequence

import streamlit as st

from pages.elements.session import curator, session
from pmtcore.base.escaping import markdown as plain
from pmtcore.base.messages import PageWords, TableNote, kind_of
from pmtcore.report.cautions import Caution, cautions, filled_gaps, rows_of_zeros
from pmtcore.tables.findings import few_rows_note, unchosen_persons
from pmtcore.tables.problem import Problem

# Notes with which a release would be useless, or would disclose what it should protect.
DISCLOSING_OR_USELESS = (
    *(TableNote.ONE_PUBLIC_LABEL, TableNote.LIKE_IDENTIFIER, TableNote.DECISIVE_PENALTY),
    TableNote.MORE_PUBLIC_ROWS,
)
# These hold under every policy for gaps, since unknown text is not a gap.
UNKNOWN_OUTCOME = (
    "A private row whose {outcome} is neither of the two counts as a row of zeros, and adds nothing to the fit."
)


def cautions_of_tables(problem: Problem) -> Sequence[Caution]:
    """Return the causes of bias in a fit to the open tables."""
    tables = session().tables
    return [] if tables is None else cautions(problem, tables.public)


def gaps(problem: Problem) -> str:
    """Return the effect of gaps on a fit to the open tables, as a sentence; empty where there is none."""
    tables = session().tables
    if tables is None:
        return ""
    caution = rows_of_zeros(problem, tables.public)
    return filled_gaps(problem, tables.public) if caution is None else caution.words


def warn(notes: Sequence[str], kinds: Sequence[TableNote] = DISCLOSING_OR_USELESS) -> None:
    """Draw warnings for notes of these kinds.

    Args:
        notes: of the tables, or of a release from them.
        kinds: of the notes that are shown.
    """
    for note in notes:
        if kind_of(note) in kinds:
            st.warning(plain(note), icon=":material/warning:")


def draw_few_rows(problem: Problem) -> None:
    """Draw warnings where there are too few rows."""
    if problem.unit is None and (few := few_rows_note(problem.private.n)) is not None:
        st.warning(plain(few), icon=":material/warning:")
    warn(problem.notes, (TableNote.FEW_PUBLIC_ROWS,))


def biases(problem: Problem) -> list[str]:
    """Return sentences on the causes of bias, codes for missing values among them."""
    codes = [note for note in problem.notes if kind_of(note) is TableNote.CODE_FOR_MISSING]
    return [*codes, *(caution.words for caution in cautions_of_tables(problem))]


def draw_cautions(problem: Problem, biased: Sequence[str]) -> None:
    """Draw, before a spend, the causes of bias with the way to their repair, and what public rows cannot show.

    Args:
        problem: the current one.
        biased: its :func:`biases`.
    """
    draw_few_rows(problem)
    for words in biased:
        st.warning(plain(f"{words} Data mends it by a click."), icon=":material/warning:")
    tables = session().tables
    for words in [] if tables is None else unchosen_persons(tables.private, tables.public, problem.choices):
        st.warning(plain(f"{words} One click on Data chooses it."), icon=":material/group:")
    has_texts = problem.positive is not None or TableNote.UNKNOWN_LEVELS in map(kind_of, problem.notes)
    if has_texts and tables is not None and not tables.may_be_studied and not curator():
        st.caption(PageWords.UNKNOWN_TEXT.sentence())
