"""Choosing tables and columns: the parts of the Data page."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from pages.common import session as state
from pages.common.persons import whose
from pages.common.registered import named_by_a_curator, on_offer
from pages.common.uploads import mended, own_tables
from pages.common.widgets import at_first, badge, number, number_or_nothing, show_error, study_label
from pmtcore.auditing.diagnostics import rows_in_words, unusual_rows
from pmtcore.base.escaping import markdown as plain
from pmtcore.base.labels import Label
from pmtcore.base.messages import InputError, TableNote, listed
from pmtcore.base.private_rows import Curator
from pmtcore.glm.families import FAMILIES, GAUSSIAN, POISSON
from pmtcore.releases.opened import Tables
from pmtcore.report.demo_knobs import KNOBS
from pmtcore.tables import named
from pmtcore.tables.choices import (
    COLLINEAR_POLICIES,
    COVARIATES,
    MISSING_POLICIES,
    UNSEEN_POLICIES,
    Choices,
    kinds_from_text,
    levels_from_text,
)
from pmtcore.tables.findings import OPEN, Finding, findings, repaired
from pmtcore.tables.formula import target_of
from pmtcore.tables.kinds import KINDS
from pmtcore.tables.problem import Problem, features_taken, schema_summary
from pmtcore.tables.schema import schema_from_json
from pmtcore.tables.table import Table

# Table that is opened first: its picture shows what most tables show, that a larger budget comes nearer.
_FIRST = "power-plant"
# Features up to which all of them are listed, so that one is left out by one click.
_LISTED = 20
_LOOKING = "Looking at the public table"
_MISSING = {
    "refuse": "refuse the table",
    "empty-row": "count the row as zeros",
    "public-median": "fill from the public rows",
}
_UNSEEN = {"refuse": "refuse the table", "other": "other, else missing"}
_SOURCES = {"demo": "Demo", "name": "Table by name", "upload": "Upload", "registered": "Registered"}


def source() -> bool:
    """Draw where the tables come from, and open them; return whether each chosen file could be read."""
    start = at_first("source", default="demo")
    sources = [name for name in _SOURCES if name != "registered" or on_offer()]
    left, beside = st.columns([3, 2], vertical_alignment="center")
    chosen = left.segmented_control(
        "Tables",
        sources,
        format_func=_SOURCES.__getitem__,
        key="source",
        help="A synthetic demo, a public table for study, or your own files.",
        required=True,
        persist_state="session",
        label_visibility="collapsed",
        **start,
    )
    try:
        with beside:
            id = _which() if chosen == "name" else None
            if (chosen or "demo") == "demo":
                _demo()
        if id is not None:
            st.caption(f"{named.entry(id).summary} A release from such a split is marked as a lab figure.")
            _open_named(id)
        elif chosen == "upload":
            return own_tables()
        elif chosen == "registered":
            named_by_a_curator()
    except InputError as error:
        show_error(error)
    return True


def _demo() -> None:
    knobs: dict[str, float] = {}
    with st.popover("Change the demo", icon=":material/tune:"):
        for column, (name, knob) in zip(st.columns(len(KNOBS)), KNOBS.items(), strict=True):
            key = f"demo-{name}"
            knobs[name] = column.select_slider(
                knob["label"],
                knob["options"],
                key=key,
                format_func="{:,}".format,
                persist_state="session",
                help=knob["help"],
                **at_first(key, value=knob["value"]),
            )
    _open_named("demo", **knobs)


def _which() -> str:
    """Draw the tables by name; return the chosen one's id."""
    # Real tables first: whoever asks for a known table means one of them.
    ids = sorted((id for id in named.names() if id != "demo"), key=lambda id: (id.startswith("demo"), id != _FIRST))
    chosen: str = st.selectbox(
        "Table",
        ids,
        format_func=lambda id: named.entry(id).title,
        key="table-name",
        persist_state="session",
        help="Known tables, split into private and public rows; releases from them are lab figures.",
        label_visibility="collapsed",
    )
    return chosen


def _open_named(id: str, **knobs: float) -> None:
    mark = repr((id, sorted(knobs.items())))
    if st.session_state.get("opened") != mark:
        with st.spinner(f"Opening {named.entry(id).title}", show_time=True):
            tables = state.named_tables(id, **knobs)
        current = state.session().tables
        if current is None or current.key != tables.key:
            state.session().open(tables)
        st.session_state["opened"] = mark


def columns() -> Problem | None:
    """Draw target, features and policies; return the prepared problem, or ``None`` under a sentence."""
    current = state.session()
    if current.tables is None:
        return None
    # What is wrong stands above the choices: in sight of whoever has just changed one.
    messages = st.container()
    try:
        first = current.tables.first
        with st.expander("Columns and policies", icon=":material/tune:", expanded=not current.tables.may_be_studied):
            before = current.choices or first
            choices = _choices(current.tables, before)
        was = current.tables.repaired
        if was is not None and before.features == was[1] and choices.target != before.target:
            # Columns were left out for another target: which ones fit with this one is asked anew.
            take(mended(current.tables, replace(choices, features=None)))
        with messages, st.spinner(_LOOKING, show_time=True):
            every = findings(
                current.tables.private,
                current.tables.public,
                choices,
                current.tables.public_rows,
                declared=current.tables.schema,
            )
            said = _say(current.tables, choices, every)
        _notice(choices, [one for one in every if not (one.stops or _asked(one))])
    except InputError as error:
        with messages:
            show_error(error)
        return None
    try:
        with messages, st.spinner(_LOOKING, show_time=True):
            return current.choose(choices)
    except InputError as error:
        if not said:  # else it says once more what stops
            with messages:
                show_error(error)
        return None


def _say(tables: Tables, choices: Choices, every: Sequence[Finding]) -> set[str]:
    """Draw what is wrong or needs an answer, each with its repair: one click. Return what stops."""
    stops = [one for one in every if one.stops]
    first = next((one.repairs[0].apply(choices) for one in stops if one.repairs), None)
    all_repairs = choices if first is None else repaired(tables.private, tables.public, choices, tables.schema)
    if all_repairs != (first or choices) and st.button(
        "Repair everything at once",
        key="repair-all",
        type="primary",
        icon=":material/build:",
        help="The first repair offered for each problem, and for what comes up after it.",
    ):
        take(all_repairs)
    for at, one in enumerate(stops):
        st.error(plain(one.sentence), icon=":material/error:")
        _repairs(one, choices, f"stop-{at}")
    for at, one in enumerate(every):
        if not one.stops and _asked(one):
            left, right = st.columns([4, 1], vertical_alignment="center")
            left.warning(plain(one.sentence), icon=":material/warning:")
            with right:
                _repairs(one, choices, f"open-{at}")
    # Where something stops all the same, what was done already lifted nothing.
    if tables.repaired is not None and choices.features == tables.repaired[1] and not stops:
        st.warning(plain(tables.repaired[0]), icon=":material/warning:")
    return {one.sentence for one in stops}


def _asked(one: Finding) -> bool:
    """Return whether a finding is asked openly: also where a column is left out that one click lets in."""
    return one.kind in OPEN or (one.kind is TableNote.LEFT_OUT and bool(one.repairs))


def _notice(choices: Choices, rest: Sequence[Finding]) -> None:
    """Draw, folded, what was noticed and stops nothing, each with its repair."""
    st.session_state["noticed"] = {one.sentence for one in rest}
    if rest:
        open_ones = list(dict.fromkeys(name for one in rest if one.repairs for name in one.columns))
        asked = f", open to a click: {plain(listed(open_ones))}" if open_ones else ""
        with st.expander(f"What was noticed ({len(rest)}){asked}", icon=":material/fact_check:"):
            for at, one in enumerate(rest):
                st.markdown(f"- {plain(one.sentence)}")
                _repairs(one, choices, f"rest-{at}")


def _repairs(one: Finding, choices: Choices, key: str) -> None:
    for at, repair in enumerate(one.repairs):
        if st.button(plain(repair.label), key=f"repair-{key}-{at}", icon=":material/build:"):
            take(repair.apply(choices))


def take(choices: Choices) -> None:
    """Go on with these choices; their widgets start anew."""
    state.session().take(choices)
    st.session_state["choices-made"] = st.session_state.get("choices-made", 0) + 1
    st.rerun()


def _kept(name: str, key: str, help: str) -> dict[str, Any]:
    """Return what every field of the chooser has: its key, its help, and that it is kept from page to page."""
    return {"key": f"{name}-{key}", "persist_state": "session", "help": help}


def _choices(tables: Tables, current: Choices) -> Choices:
    """Draw what every fit needs in two rows, the rest folded; return the choices."""
    names = schema_summary(tables.private, tables.public)["column"].tolist()
    made = st.session_state.get("choices-made", 0)  # a repair is a new start for the widgets
    key = tables.key[:12] + (f"-{made}" if made else "")
    left, right = st.columns([1, 3])
    help = "linear for numbers, logistic or boosting for two labels, Poisson for counts."
    family = _policy(
        left, "Regression", list(FAMILIES), current.family, **_kept("family", key, help), words=_family_title
    )
    target = _policy(left, "Target", names, current.target, **_kept("target", key, "The column to be explained."))
    if apart := _public_columns(tables, []):
        left.caption(plain(f"Not in both files, so not to be chosen: {listed(apart)}."))
    others = [name for name in names if name != target]
    # What goes in where nothing is chosen, as far as it can be listed.
    first = _taken_at_first(tables, current, target) if len(others) <= _LISTED else ()
    picked = right.multiselect(
        "Features (empty: all)",
        others,
        default=[name for name in current.features or first if name in others],
        **_kept(f"features-{key}", target, "The columns that explain it; those that both tables have."),
    )
    a, b, c = right.columns([3, 4, 2], vertical_alignment="bottom")
    help = (
        "refuse: say where they are; empty-row: such a private row counts as zeros, so that n stays public; "
        "public-median: fill in the public median, or the commonest public category."
    )
    missing = _policy(
        a,
        "Missing values",
        MISSING_POLICIES,
        current.missing,
        **_kept("missing", key, help),
        words=_MISSING.__getitem__,
    )
    with b:
        unit = whose(tables, current, target, key)
    lam, positive = _of_family(family, current, key)
    with c.popover("More choices", icon=":material/more_horiz:", width="stretch"):
        rest = [name for name in names if name not in (target, unit.column)]
        formula, more = _more(tables, current, rest, key)
    if formula:
        target, picked = target_of(formula), []
    return replace(
        current,  # what has no widget here stays as it was
        target=target,
        features=_features(picked, first, {unit.column, more["weights"], more["exposure"], more["cluster"]}),
        person=unit.column,
        person_rows=unit.rows,
        person_rule=unit.rule,
        missing=missing,
        family=family,
        lam=lam,
        positive=positive,
        formula=formula,
        **more
        | {
            "exposure": more["exposure"] if family == POISSON.id else "",
            "covariates": more["covariates"] if family == GAUSSIAN.id else COVARIATES[0],
        },
    )


def _family_title(id: str) -> str:
    return FAMILIES[id].title


def _taken_at_first(tables: Tables, current: Choices, target: str) -> tuple[str, ...]:
    """Return the features where nothing is chosen but the target and how columns are read."""
    nothing: dict[str, Any] = dict.fromkeys(("person", "weights", "exposure", "cluster", "formula"), "")
    alone = replace(current, target=target, features=None, **nothing)
    return features_taken(tables.private, tables.public, alone, tables.schema)


def _features(picked: Sequence[str], first: Sequence[str], beside: set[str]) -> tuple[str, ...] | None:
    """Return the chosen features; ``None`` where they are the default.

    Args:
        picked: names that were picked.
        first: those that are listed at first; none of many.
        beside: columns that say whose a row is, or how much it counts: no features.
    """
    chosen = tuple(name for name in picked if name not in beside)
    return None if not chosen or {*chosen} == {*first} - beside else chosen


def _more(tables: Tables, current: Choices, names: list[str], key: str) -> tuple[str, dict[str, Any]]:
    """Draw what few fits need; return the formula, and the other fields of the choices."""
    help = "In the words of R, as formulaic reads them; each function works on a row by itself."
    formula = st.text_input(
        "Formula (in place of target and features)",
        current.formula,
        placeholder="y ~ age + C(sex) + log(income)",
        **_kept("formula", key, help),
    )
    left, middle, right = st.columns(3)
    choices_of_columns: dict[str, Any] = {}
    for place, field, among, help in (
        (left, "weights", names, "How much a row counts."),
        (middle, "exposure", names, "What a count is of: rates are modelled."),
        (
            right,
            "cluster",
            _public_columns(tables, names),
            "Rows of one group are alike: stated errors allow for it. A column of the public table.",
        ),
    ):
        at = getattr(current, field)
        choices_of_columns[field] = _policy(
            place, field.title(), ["", *among], at, **_kept(field, key, help), words=lambda name: name or "none"
        )
    help = "Columns that others give away in the public rows: left out with a note, or refused."
    choices_of_columns["collinear"] = _policy(
        left, "Collinear columns", COLLINEAR_POLICIES, current.collinear, **_kept("collinear", key, help)
    )
    help = (
        "Public: all columns but the target are known anyway, of every private row. Then a method may protect the "
        "responses alone."
    )
    choices_of_columns["covariates"] = _policy(
        middle, "Covariates", COVARIATES, current.covariates, **_kept("covariates", key, help)
    )
    help = (
        "Categories that only private rows have: refuse them, or count them as 'other', which is missing where the "
        "public rows have no such category."
    )
    choices_of_columns["unseen"] = _policy(
        right,
        "Unseen categories",
        UNSEEN_POLICIES,
        current.unseen,
        **_kept("unseen", key, help),
        words=_UNSEEN.__getitem__,
    )
    help = "For features that are collinear in the public rows."
    choices_of_columns["public_ridge"] = number(
        left, "Ridge on the public moment", 0.0, 1e6, start=current.public_ridge, key=f"ridge-{key}", words=help
    )
    help = "A constant beside the features; leave it on unless the fit goes through the origin."
    choices_of_columns["intercept"] = middle.toggle("Intercept", current.intercept, **_kept("intercept", key, help))
    help = "One column a line. Without a declaration, the categories are those of the public table."
    choices_of_columns["levels"] = levels_from_text(
        _lines("Declared categories", current.levels, "town = north | south | west", **_kept("levels", key, help))
    )
    help = f"One column a line, of the kinds {', '.join(KINDS)}, whatever the public table suggests."
    choices_of_columns["kinds"] = kinds_from_text(
        _lines("Kinds of columns", current.kinds, "code = level", **_kept("kinds", key, help))
    )
    help = (
        "The curator's word, kept in the record of each release. Whether public rows are private rows is shown below "
        "to whoever switched exact figures on."
    )
    choices_of_columns["overlap"] = st.text_input(
        "Public rows that are private rows too: why that may be",
        current.overlap,
        placeholder="there are none",
        **_kept("overlap", key, help),
    ).strip()
    if tables.source is None:
        _declared_schema(tables, key)
    return formula.strip(), choices_of_columns


def _lines(label: str, current: Mapping[str, str | Sequence[str]], example: str, **more: Any) -> list[str]:
    """Draw what is declared of columns, one a line; return the lines that say something."""
    shown = (f"{name} = {one if isinstance(one, str) else ' | '.join(one)}" for name, one in current.items())
    text = st.text_area(label, "\n".join(shown), placeholder=example, height=68, **more)
    return [line for line in text.splitlines() if line.strip()]


def _policy(
    place: DeltaGenerator,
    label: str,
    options: Sequence[str],
    current: str,
    *,
    words: Callable[[str], str] = str,
    **more: Any,
) -> str:
    """Draw the choice of one of several words, the first where the current one is none of them."""
    at = options.index(current) if current in options else 0
    chosen: str = place.selectbox(label, options, index=at, format_func=words, **more)
    return chosen


def _public_columns(tables: Tables, names: list[str]) -> list[str]:
    """Return the columns that both tables have, and those of the public table alone."""
    if not isinstance(tables.public, Table):
        return []
    return [*names, *(name for name in tables.public.columns if name not in tables.private.columns)]


def _declared_schema(tables: Tables, key: str) -> None:
    """Draw a declared schema, and take it for the open tables."""
    help = "In place of what the public table suggests: columns with their kinds and levels, and how text is read."
    text = st.text_area(
        "Declared schema (JSON)",
        "" if tables.schema is None else json.dumps(tables.schema.as_dict()),
        placeholder='{"columns": [...], "dialect": {...}}',
        height=68,
        **_kept("schema", key, help),
    )
    state.session().declare(schema_from_json(text.encode()) if text.strip() else None)


def _of_family(family: str, current: Choices, key: str) -> tuple[float | None, str | None]:
    """Draw penalty and positive label, where the family has them."""
    if family == GAUSSIAN.id:
        return None, None
    left, right = st.columns([1, 3])
    lam = number_or_nothing(
        left,
        "Ridge penalty",
        0.0,
        1e9,
        start=current.lam if current.family == family else None,
        key=f"lam-{key}-{family}",
        words="Empty: a weak prior on each effect (standard deviation 2.5), which the rows outweigh; coefficients are "
        "those of the usual fit and stay finite where labels are separated. A number is a penalty per row on squared "
        "coefficients of the table, by every method. The intercept is not penalized.",
    )
    positive = ""
    if FAMILIES[family].binary:
        positive = right.text_input(
            "Label that counts as 1 (empty: yes, or the last in the alphabet)",
            current.positive or "",
            **_kept("positive", key, "All other labels count as 0."),
        )
    return lam, positive.strip() or None


def notes(problem: Problem) -> None:
    """Draw, folded, what was done to the columns and was not said among what was noticed."""
    left = [note for note in problem.notes if note not in st.session_state.get("noticed", ())]
    if not left:
        return
    with st.expander(f"What was done to the columns ({len(left)})", icon=":material/notes:"):
        st.markdown("\n".join(f"- {plain(note)}" for note in left))


def shared_rows(problem: Problem) -> None:
    """Draw whether public rows are private rows beyond chance: for the curator alone."""
    if not state.curator():
        return
    if not st.toggle(
        "Compare the public rows with the private ones",
        key="shared-rows",
        help="Goes through the private rows once. What is found is private and stays on this page.",
    ):
        return
    with st.spinner("Comparing", show_time=True):
        unusual = unusual_rows(problem).reveal(Curator("shown on the Data page"))
    for line in rows_in_words(unusual, problem.private.n):
        st.markdown(f"{badge(study_label())} {plain(line)}")


def preview() -> None:
    """Draw the schema and the first public rows; private rows only for the curator."""
    tables = state.session().tables
    if tables is None:
        return
    with st.expander("Look at the tables", icon=":material/visibility:"):
        if isinstance(tables.public, Table):
            st.markdown(f"{badge(Label.PUBLIC)} first public rows")
            st.dataframe(tables.public.head(5), hide_index=True, alt="First public rows")
        if state.curator():
            st.markdown(f"{badge(Label.PRIVATE)} first private rows")
            st.dataframe(tables.private.head(5), hide_index=True, alt="First private rows")
