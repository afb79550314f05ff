"""Widgets of several pages: labels, charts with their tables, forms from the registry."""

import dataclasses
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TypeVar

import pandas as pd
import plotly.graph_objects as go
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from pages.elements import session as state
from pages.elements.controls import at_first, control, segments
from pmtcore.accounting.budgets import Budget, Guarantee, Neighbours, neighbouring_tables, person_note, reporting_delta
from pmtcore.base.escaping import markdown as plain
from pmtcore.base.labels import Label
from pmtcore.base.messages import InputError, Note, PageWords, TableNote
from pmtcore.base.numbers import digits_in_columns, power_of_ten, unbroken, written_number
from pmtcore.base.numbers import rounded as said
from pmtcore.methods.registry import Method
from pmtcore.releases.outcome import SpendFailure
from pmtcore.report.downloads import Download
from pmtcore.report.reproduce import Recipe
from pmtcore.report.sheet import csv_text, values_with_limits
from pmtcore.report.strength import beside_deployments, strength
from pmtcore.tables.problem import Problem

# Plotly's tool bar would cover the legend, and its boxes for axis ranges would open at a click beside a mark.
PLAIN = {"displayModeBar": False, "showAxisRangeEntryBoxes": False}
Number = TypeVar("Number", int, float)
_BADGES = {
    Label.PUBLIC: ":green-badge[:material/public: public]",
    Label.RELEASED: ":blue-badge[:material/lock_open: released]",
    Label.PRIVATE: ":red-badge[:material/lock: private, curator only]",
    Label.LAB: ":violet-badge[:material/science: lab, for study]",
}


def badge(label: Label) -> str:
    """Return a label as markdown, with colour and icon."""
    return _BADGES[label]


def study_label() -> Label:
    """Return the label of exact figures of the open tables: lab for tables for study, else private."""
    return Label.LAB if state.session().is_study else Label.PRIVATE


def show_error(error: InputError) -> None:
    """Draw the sentence of an error."""
    words = error.on_page if isinstance(error, SpendFailure) else str(error)
    st.error(plain(words), icon=":material/error:")


@contextmanager
def errors_shown() -> Iterator[None]:
    """Draw the error that is raised in this context."""
    try:
        yield
    except InputError as error:
        show_error(error)


def problem_or_sentence() -> Problem | None:
    """Return the session's problem; without one, draw the reason and return ``None``."""
    try:
        return state.current_problem()
    except InputError as error:
        # Preferably the sentence that Data shows with its repair.
        st.error(plain(state.what_stops() or str(error)), icon=":material/error:")
        st.page_link("pages/work/data.py", label="Mend it on Data", icon=":material/table:")
        return None


def chart(
    figure: go.Figure,
    key: str,
    alt: str,
    table: pd.DataFrame,
    *,
    label: Label,
    words: str = "",
    strong: bool = False,
    folded_note: str = "",
    picture_first: bool = False,
) -> None:
    """Draw a figure under its label and a sentence, with its table folded below; private figures have no download.

    Args:
        words: sentence above the figure; without one the label is at the folded table.
        folded_note: note on the table.
        picture_first: whether the sentence is :func:`below` the figure on a phone.
    """
    if words:
        shown = f"**{plain(words)}**" if strong else plain(words)
        (below(st, key) if picture_first else st).markdown(f"{badge(label)} {shown}")
    picture(figure, key, alt)
    with st.expander("Table" if words else f"{badge(label)} Table", icon=":material/table_rows:"):
        if folded_note:
            st.caption(plain(folded_note))
        frame(table, alt)
        if label is not Label.PRIVATE:
            download_table(table, key)


def picture(figure: go.Figure, key: str, alt: str) -> None:
    """Draw a figure with its description for screen readers."""
    st.plotly_chart(figure, width="stretch", key=key, alt=alt, config=PLAIN)


def curator_may_show(harmless: bool, words: str) -> bool:
    """Return whether exact figures may be shown; otherwise draw a note, with the switch for a curator.

    Args:
        harmless: whether the figures are of tables for study.
        words: subject of the note.
    """
    if harmless or state.curator():
        return True
    st.info(f"{words}, so for the curator's eyes.", icon=":material/lock:")
    if state.may_be_curator():
        st.button(**control("curator-here"), on_click=lambda: st.session_state.update(curator=True))
    return False


def on_tables(draw: Callable[[Problem], None], otherwise: Callable[[], object] = lambda: None) -> None:
    """Draw a page about the open tables, or the error that prevents it.

    Args:
        otherwise: draws the page where there is no problem.
    """
    problem = problem_or_sentence()
    if problem is None:
        otherwise()
        return
    with errors_shown():
        draw(problem)


def ask_coefficient(place: DeltaGenerator, problem: Problem, key: str) -> str:
    """Draw the choice of a coefficient, without the intercept, and with identifiers last; return it."""
    ids = {
        note.facts["column"]
        for note in problem.notes
        if isinstance(note, Note) and note.kind is TableNote.LIKE_IDENTIFIER
    }
    names = sorted((name for name in problem.public.names if name != "(intercept)"), key=ids.__contains__)
    if st.session_state.get(key) not in names:  # of a table, or of choices, before these
        st.session_state.pop(key, None)
    help = "Whose band is drawn; type to search."
    options = names or problem.public.names
    return place.selectbox("Coefficient", options, key=key, help=help, persist_state="session")


def figure_first(key: str) -> DeltaGenerator:
    """Return a container in which a phone shows the picture right after the main control (assets/style.css)."""
    return st.container(key=f"figure-first-{key}")


def below(place: Any, key: str) -> DeltaGenerator:
    """Return a container that a phone shows below the picture of :func:`figure_first`."""
    made: DeltaGenerator = place.container(key=f"below-{key}")
    return made


def below_all(place: Any, key: str) -> DeltaGenerator:
    """Return a container that a phone shows after all those :func:`below` the picture."""
    made: DeltaGenerator = place.container(key=f"later-{key}")
    return made


# Pixels of a letter in a table, pixels around a cell, and letters of a heading that are always visible.
_LETTER, _EDGES, _HEADING = 7, 22, 12
# Columns of words that are shown in full, up to this width in pixels.
_NAMES = {"coefficient": 300, "column": 300, "feature": 300, "R² (95 %)": 300, "explains": 520}


def frame(table: pd.DataFrame, alt: str) -> None:
    """Draw a table that can be searched and sorted."""
    columns: dict[str, Any] = {}
    written = values_with_limits(table)
    for name in table.columns:
        if name in written:
            letters = max(len(text) for text in (str(name)[:_HEADING], *written[name].values()))
            columns[name] = st.column_config.NumberColumn(width=_LETTER * letters + _EDGES)
        elif pd.api.types.is_float_dtype(table[name]):
            # Four digits that count, also of a small number; more of a ratio next to 1. The browser measures a table
            # once: without a width of its own, a column that gets longer figures later shows them without their sign.
            digits = digits_in_columns(table[name])
            longest = max([f"{value:.{digits}g}" for value in table[name]], key=len, default="")
            letters = max(len(longest), min(len(str(name)), _HEADING))
            columns[name] = st.column_config.NumberColumn(format=f"%.{digits}g", width=_LETTER * letters + _EDGES)
        elif name in _NAMES:
            letters = max((len(str(value)) for value in table[name]), default=0)
            if letters > _HEADING:
                columns[name] = st.column_config.TextColumn(width=min(_LETTER * letters + _EDGES, _NAMES[name]))
    columns |= {"model": st.column_config.TextColumn(width="medium")}  # names given by the user are shown in full
    # The style formats cells; sorting uses the numbers.
    formats: Any = {name: texts.get for name, texts in written.items()}
    shown: Any = table.style.format(formats) if written else table
    st.dataframe(shown, hide_index=True, width="stretch", alt=alt, column_config=columns)


def opened_on_demand(title: str, key: str, icon: str, draw: Callable[[], None]) -> None:
    """Draw an expander whose content is computed only while it is open."""
    folded = st.expander(title, key=key, icon=f":material/{icon}:", on_change="rerun")
    if folded.open:
        with folded:
            draw()


def download(place: DeltaGenerator, file: Download) -> None:
    """Draw the button of a file of a release, which is written when it is asked for."""
    place.download_button(file.label, file.make, file.name, file.media_type, on_click="ignore", width="stretch")


def download_table(table: pd.DataFrame, key: str) -> None:
    """Draw a download of the table as CSV, which is written when it is asked for."""
    st.download_button(
        "Download the table",
        lambda: csv_text(table),
        f"{key}.csv",
        "text/csv",
        key=f"{key}-csv",
        on_click="ignore",
        help="Comma-separated values, as shown.",
    )


def script_downloads(recipe: Recipe, key: str) -> None:
    """Draw downloads of the page as a script and as a notebook."""
    with st.expander("Take it with you", icon=":material/code:"):
        left, right, _ = st.columns([1, 1, 2])
        more: dict[str, Any] = {"on_click": "ignore", "width": "stretch"}
        left.download_button("Python script", recipe.script, f"{key}.py", "text/x-python", key=f"{key}-script", **more)
        kind = "application/x-ipynb+json"
        right.download_button("Notebook", recipe.notebook, f"{key}.ipynb", kind, key=f"{key}-notebook", **more)
        st.code(recipe.script, language="python")


def strength_line(mu: float) -> None:
    """Draw the attacker's odds at a total budget as one sentence."""
    st.markdown(f":gray-badge[:material/shield: protection] {unbroken(strength(mu).sentence)}")


def deployments(mu: float) -> None:
    """Draw, folded, the budgets of published deployments beside this one at their delta."""
    with st.expander("Budgets of published deployments", icon=":material/compare_arrows:"):
        rows = beside_deployments(mu)
        st.dataframe(rows, hide_index=True, width="stretch", alt="Budgets of published deployments")
        st.caption(PageWords.DEPLOYMENTS.sentence())


def parameter_form(method: Method, key: str, starts: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Draw a method's parameters from the fields of its registry entry; return their values.

    Args:
        method: its entry.
        key: start of the keys of the fields.
        starts: initial values of fields, in place of their defaults.
    """
    fields = dataclasses.fields(method.parameters)
    if not fields:
        st.caption("This method has no parameters.")
    return {
        item.name: _field(item, f"{key}-{method.id}-{item.name}", (starts or {}).get(item.name, item.default))
        for item in fields
    }


def _field(item: dataclasses.Field[Any], key: str, first: Any) -> Any:
    meta = item.metadata
    common: dict[str, Any] = {"label": meta["label"], "help": meta["help"], "key": key, "persist_state": "session"}
    if meta["choices"]:
        return st.segmented_control(
            options=list(meta["choices"]),
            default=None if key in st.session_state else first,
            required=True,
            **common,
        )
    start = at_first(key, value=first)
    if isinstance(item.default, str):
        return st.text_input(max_chars=10_000, **start, **common)
    # Without limits, since a limited field silently keeps its last number; the parameters check the range.
    form: dict[str, Any] = {"step": 1} if isinstance(item.default, int) else {"format": "%g"}
    return st.number_input(required=True, **form, **start, **common)


def number(
    place: Any, id: str, low: Number, high: Number, *, start: Number, at: str = "", label: str = "", words: str = ""
) -> Number:
    """Draw a number field and return its number, within its range.

    The field itself has no limits, since a limited field silently keeps its last number.

    Args:
        place: where to draw it.
        id: of the control in the table.
        low: smallest number.
        high: largest number.
        start: initial number; an integer for integers.
        at: end of its key, where there are several such controls.
        label: where the table has none, because it depends on the data.
        words: help, where the table has none.
    """
    settings = {"label": label, "help": words, **control(id, at)}
    label, settings["label"] = settings["label"], plain(settings["label"])
    form = None if isinstance(start, int) else "%g"
    value: Number = place.number_input(**settings, value=start, format=form, persist_state="session", required=True)
    return _within_range(place, label, low, high, value=value)


def number_or_nothing(place: Any, id: str, low: float, high: float, *, start: float | None, at: str) -> float | None:
    """Draw a number field that may be empty; see :func:`number`."""
    settings = control(id, at)
    # A field that starts with a number cannot be emptied, so it starts empty and the number is set in the session.
    st.session_state.update(at_first(settings["key"], **({} if start is None else {settings["key"]: start})))
    value = place.number_input(**settings, value=None, format="%g", persist_state="session", placeholder="automatic")
    return None if value is None else float(_within_range(place, settings["label"], low, high, value=value))


def _within_range(place: Any, label: str, low: Number, high: Number, *, value: Number) -> Number:
    """Return the number in the range that is nearest to the given one; draw a note where they differ."""
    within_range: Number = min(max(value, low), high)
    if within_range != value:
        place.caption(f":red[{plain(label)} goes from {low:g} to {high:g}: {within_range:g} is taken.]")
    return within_range


def keep_within(key: str, low: float, high: float) -> None:
    """Let the stored value of a control be within a new range; Streamlit raises an error for one outside."""
    value = st.session_state.get(key)
    if isinstance(value, int | float) and not low <= value <= high:
        st.session_state[key] = min(max(value, low), high)


# Key of the delta of epsilon, one for all pages.
_DELTA = "release-delta"


def epsilon_delta(n: int) -> float:
    """Return the delta at which epsilon is stated: as typed, else the default for this many rows."""
    try:
        return Guarantee(1.0, Neighbours.REPLACE_ONE, float(st.session_state[_DELTA])).delta
    except (KeyError, ValueError):
        return reporting_delta(n)


def budget_input(key: str, n: int) -> tuple[Budget, float]:
    """Draw a total budget in a chosen unit; return it, and the delta of epsilon.

    Raises:
        InputError: budget or delta is out of range.
    """
    unit = segments(f"{key}-unit", ["mu", "rho", "epsilon"], "mu", on_change=_same_budget, args=(key,))
    starts = {"mu": 1.0, "rho": 0.5, "epsilon": 4.0}
    left, right = st.columns(2)
    with left:
        value = amount(f"{key}-{unit}", starts[unit])
    with right:
        delta = _text_number(_DELTA, power_of_ten(reporting_delta(n)))
    budget = {
        "mu": lambda: Budget(value),
        "rho": lambda: Budget.from_rho(value),
        "epsilon": lambda: Budget.from_epsilon(value, delta),
    }[unit]()
    st.session_state[f"{key}-asked"] = (budget.mu, delta)
    return budget, delta


def _same_budget(key: str) -> None:
    """Convert the budget to the unit that was just chosen."""
    if f"{key}-asked" in st.session_state:
        mu, delta = st.session_state[f"{key}-asked"]
        unit = st.session_state[f"{key}-unit"]
        same = getattr(Guarantee(mu, Neighbours.REPLACE_ONE, delta), unit)
        st.session_state[f"{key}-{unit}"] = float(f"{same:.6g}")


def amount(id: str, start: float, at: str = "") -> float:
    """Draw a budget or a cap without limits; see :func:`number`."""
    settings = control(id, at, value=start)
    return float(st.number_input(**settings, format="%g", step=0.1, persist_state="session", required=True))


def _text_number(id: str, start: str) -> float:
    settings = control(id, value=start)
    text = st.text_input(**settings, persist_state="session")
    try:
        return written_number(text)
    except ValueError:
        raise InputError(f"{settings['label']} must be a number such as 1e-6, got {text!r}.") from None


def guarantee_line(guarantee: Guarantee, *, tables: bool = True) -> str:
    """Return a person's guarantee in all three units, in one line, with its unit of protection.

    Args:
        guarantee: the guarantee.
        tables: whether the line states the neighbouring tables.
    """
    person, note = guarantee.person, person_note(guarantee.as_dict())
    whom = f": {neighbouring_tables(guarantee.neighbours, guarantee.unit)}" if tables else ""
    return unbroken(
        f"mu = {said(person.mu, 4)} · rho = {said(person.rho, 4)} · epsilon = {said(person.epsilon, 4)} at "
        f"delta = {power_of_ten(person.delta)}{f' ({note})' if note else ''} · {guarantee.neighbours.value}{whom}"
    )
