"""Data: open tables, choose columns; opens on a demo with a result."""

from dataclasses import replace

import streamlit as st

from pages.elements import cautions, table_picker, workflow_state
from pages.elements.controls import control
from pages.elements.session import findings_of_tables, quick, session
from pages.elements.widgets import badge, chart, show_error
from pmtcore.base.escaping import markdown as plain
from pmtcore.base.labels import Label
from pmtcore.base.messages import InputError, TableNote, kind_of
from pmtcore.base.numbers import plural
from pmtcore.report.cautions import filled_gaps, public_rows_words
from pmtcore.report.columns import at_a_glance
from pmtcore.report.figures import compare as figures
from pmtcore.report.words import columns_words, comparison_words, private_words
from pmtcore.tables.cells import MISSING_EXAMPLES
from pmtcore.tables.problem import Problem

# Pixels of the picture, whose axis a projector shows too, of the table of columns at most, and of one of its lines.
_PICTURE = 345
_TABLE_HEIGHT, _LINE_HEIGHT = 353, 35


def showcase() -> None:
    """Draw what the open tables already show, on tables that harm nobody."""
    try:
        shown = quick()
    except InputError as error:
        show_error(error)
        return
    if shown is None:
        glance()
        return
    left, right = st.container(key="alone-showcase").columns([3, 2], gap="medium")
    with left:
        alt = f"{shown.measure.capitalize()}, against the total budget"
        drawn = figures.comparison(shown.summaries, measure=shown.measure, height=_PICTURE)
        table = figures.comparison_table(shown.summaries)
        chart(drawn, "showcase", alt, table, label=Label.LAB, words=comparison_words(shown.summaries, ratios=False))
        of = ", in standard errors of the public fit" if shown.typical else ""
        st.caption(f"Medians of {shown.trials} repeated releases each{of}; bands from 10 to 90\u00a0% of them.")
    with right:
        glance()


def glance() -> None:
    """Draw the public rows of each column, where there is no comparison at once."""
    opened = session()
    if opened.tables is None or opened.problem is None:
        return
    st.markdown(f"{badge(Label.PUBLIC)} What goes in, by the public rows. Plan shows what a budget buys.")
    table = at_a_glance(opened.tables.private, opened.tables.public, opened.problem.choices, opened.problem.notes)
    missing, in_public = "missing", f"In public rows; texts such as {MISSING_EXAMPLES} are read as missing."
    if opened.problem.choices.missing == "public-median":
        missing, in_public = "missing at first", f"{in_public} Before gaps were filled."
    st.dataframe(
        table,
        hide_index=True,
        width="stretch",
        height=min(_TABLE_HEIGHT, _LINE_HEIGHT * (len(table) + 1) + 3),
        alt="Columns with their part in the fit, kind, missing values and spread in the public rows",
        column_config={
            "part": st.column_config.TextColumn(width=62),
            "kind": st.column_config.TextColumn(width=75),
            "missing in public rows": st.column_config.NumberColumn(missing, width=66, help=in_public),
            "public rows": st.column_config.BarChartColumn("public rows", width=84, y_min=0),
        },
    )
    if unknown := [note for note in opened.problem.notes if kind_of(note) is TableNote.UNKNOWN_LEVELS]:
        st.caption(plain(" ".join(unknown)))


def modelled(problem: Problem) -> None:
    """Say which level of a label is modelled, with a swap where there are two."""
    cautions.warn(problem.notes, (TableNote.ONE_PUBLIC_LABEL,))
    if problem.positive is None:
        return
    left, right = st.columns([4, 1], vertical_alignment="center")
    other = problem.other_label
    rest = "" if other is None else f" {cautions.UNKNOWN_OUTCOME.format(outcome=plain(problem.public.target))}"
    left.markdown(
        f"{badge(Label.PUBLIC)} {problem.public.family.title.capitalize()} regression of the chance that "
        f"**{plain(problem.public.target)}** is **“{plain(problem.positive)}”**: a positive coefficient makes it "
        f"likelier.{rest}"
    )
    if other is not None and right.button(**control("swap-label"), label=f"Model “{plain(other)}”"):
        table_picker.apply_choices(replace(problem.choices, positive=other), f"Model “{other}”")


def draw_repairs(problem: Problem) -> None:
    """Say what biases the coefficients, each with its repair: one click."""
    for at, one in enumerate(cautions.cautions_of_tables(problem)):
        left, right = st.columns([4, 1], vertical_alignment="center")
        left.warning(plain(one.words), icon=":material/warning:")
        for which, (label, choices) in enumerate(one.repairs.items()):
            if right.button(**control("mend", f"-{at}-{which}"), label=label):
                table_picker.apply_choices(choices, label)
    opened = session().tables
    if opened is not None and (words := filled_gaps(problem, opened.public)):
        st.caption(plain(words))
    table_picker.undo(problem.choices)


def open_below(problem: Problem) -> None:
    """Say above the table of columns how many questions about them stand below it."""
    count = sum(one.is_open for one in findings_of_tables()) + len(cautions.cautions_of_tables(problem))
    if count:
        st.caption(f":material/warning: {plural(count, 'question')} about the columns below the table, with repairs.")


def draw_overview(problem: Problem) -> None:
    """Draw what is open, what is explained by what, and which level of a label is modelled."""
    opened = session().tables
    if opened is None:
        return
    st.markdown(
        f"**{private_words(problem.private.n, problem.unit)}**, "
        f"**{plain(public_rows_words(problem, opened.public))}**; "
        f"{f'{problem.public.family.title} regression of ' if problem.positive is None else ''}"
        f"**{plain(problem.public.target)}** on "
        f"**{plain(columns_words(problem.public.names))}** "
        f"{badge(Label.PUBLIC)}"
    )
    modelled(problem)


st.title("Data")
thread = st.container()
readable = table_picker.source()
studied = session().is_study
# On tables that are ready to be studied the picture comes before questions and choices; on one's own, these come first.
head = st.container()
picture = st.container() if studied else None
messages = st.container()
# Under uploaders without two files that can be read, the tables before are not what was asked for.
problem = table_picker.columns(messages) if readable else None
with thread:
    workflow_state.steps("data", problem)
if problem is not None:
    # What was guessed stands above what is asked about it.
    with head:
        draw_overview(problem)
        if studied:
            open_below(problem)
        else:
            draw_repairs(problem)
    if studied:
        with messages:
            draw_repairs(problem)
    with picture or st.container():
        showcase()
    table_picker.shared_rows(problem)
    table_picker.preview()
    workflow_state.kind_of_release()
