"""Choice of tables and columns, on the Data page."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from pages.elements import session as state
from pages.elements.controls import at_first, control, pick, segments
from pages.elements.persons import person_choice
from pages.elements.registered import named_by_a_curator, registered_names_offered
from pages.elements.uploads import open_title, own_tables, with_recommended_repairs
from pages.elements.widgets import badge, errors_shown, number, number_or_nothing, show_error, study_label
from pmtcore.auditing.diagnostics import rows_in_words, unusual_rows
from pmtcore.base.escaping import markdown as plain
from pmtcore.base.labels import Label
from pmtcore.base.messages import InputError, TableNote, kind_of, quoted_names
from pmtcore.base.private_rows import Curator
from pmtcore.glm.families import FAMILIES, GAUSSIAN, POISSON
from pmtcore.releases.register import Tables
from pmtcore.report.columns import dropped_columns
from pmtcore.report.link import KNOBS
from pmtcore.tables import named
from pmtcore.tables.choices import COLLINEAR_POLICIES, COVARIATES, Choices, kinds_from_text, levels_from_text
from pmtcore.tables.findings import Finding, repaired_choices
from pmtcore.tables.formula import target_of
from pmtcore.tables.problem import Problem, check_not_swapped, chosen_features, common_columns
from pmtcore.tables.schema import schema_from_json
from pmtcore.tables.table import Table

# First table in the list: in its picture, as for most tables, errors fall with the budget.
_DEFAULT = "power-plant"
# Most features that are all listed, so that each can be removed by one click.
_MOST_LISTED = 20
# Notes whose content is elsewhere on the page: the label that is modelled, and cells with a repair.
_SHOWN_ELSEWHERE = (TableNote.MODELLED, TableNote.UNREADABLE_CELL, TableNote.UNREADABLE_CELLS)
_READING_MESSAGE = "Looking at the public table"
_MISSING = {
    "empty-row": "count as a row of zeros",
    "public-median": "fill from the public rows",
    "refuse": "refuse the table",
}
_UNSEEN = {"other": "other, else missing", "refuse": "refuse the table"}
_SOURCES = {"demo": "Demo", "name": "Table by name", "upload": "Upload", "registered": "Registered"}


def source() -> bool:
    """Draw the choice of tables, and open them; return whether the chosen ones are open."""
    sources = {name: words for name, words in _SOURCES.items() if name != "registered" or registered_names_offered()}
    left, beside = st.columns([3, 2], vertical_alignment="center")
    chosen = segments("source", sources, "demo", left)
    with errors_shown():
        with beside:
            id = _pick_by_name() if chosen == "name" else None
            if chosen == "demo":
                _demo()
        if chosen == "name" and id is None:
            st.info(f"Until a table is chosen, {open_title()} is open on the other pages.", icon=":material/table:")
            return False
        if id is not None:
            st.caption(
                f"{named.entry(id).summary} A release from it is a lab figure, for study and not to be published."
            )
            _open_named(id)
        elif chosen == "upload":
            return own_tables()
        elif chosen == "registered":
            named_by_a_curator()
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


def _pick_by_name() -> str | None:
    """Draw the choice of a table by name; return its id, or ``None`` before one is chosen."""
    # Published tables first, then the synthetic ones.
    ids = sorted((id for id in named.names() if id != "demo"), key=lambda id: (id.startswith("demo"), id != _DEFAULT))
    chosen: str | None = st.selectbox(
        **control("table-name", index=None), options=ids, format_func=lambda id: named.entry(id).title
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


def columns(messages: DeltaGenerator) -> Problem | None:
    """Draw target, features and policies; return the problem, or ``None`` where there is none.

    Args:
        messages: container above the choices, for findings and errors.
    """
    current = state.session()
    if current.tables is None:
        return None
    try:
        first = current.tables.first
        with st.expander("Columns and policies", icon=":material/tune:", expanded=not current.tables.may_be_studied):
            before = current.choices or first
            choices, below = _choices(current.tables, before)
        if choices.target != before.target:
            _retarget(current.tables, before, choices)
        if isinstance(current.tables.public, Table):
            check_not_swapped(current.tables.private, current.tables.public, choices)
        with messages, st.spinner(_READING_MESSAGE, show_time=True):
            all_findings = state.findings_about(current.tables, choices)
            stopping = _draw_findings(current.tables, choices, all_findings)
    except InputError as error:
        with messages:
            show_error(error)
        return None
    problem = None
    try:
        with messages, st.spinner(_READING_MESSAGE, show_time=True):
            problem = current.problem_for(choices)
    except InputError as error:
        if not stopping:  # otherwise the finding that stops has the same content
            with messages:
                show_error(error)
    if problem is not None and (dropped := dropped_columns(problem.notes) & set(choices.features or ())):
        below.caption(plain(f"Chosen, and left out of the fit: {quoted_names(sorted(dropped))}."))
    others = [one for one in all_findings if not (one.stops or one.is_open)]
    _draw_notes(choices, others, problem.notes if problem else ())
    return problem


def _retarget(tables: Tables, before: Choices, choices: Choices) -> None:
    """Take another target, with the regression that fits it, and with the last target as a feature."""
    starts_anew = tables.repaired is not None and before.features == tables.repaired[1]
    features = None if starts_anew or choices.formula else _not_left_out(tables, before, choices)
    repaired_choices = with_recommended_repairs(tables, replace(choices, features=features))
    # If the repair would choose one of several labels, the user is asked instead.
    if starts_anew or (repaired_choices != choices and repaired_choices.positive == choices.positive):
        apply_choices(repaired_choices, f"Take {choices.target} as the target")


def _not_left_out(tables: Tables, before: Choices, choices: Choices) -> tuple[str, ...] | None:
    """Return the features for a new target, without those that were left out; ``None``: the default."""
    if before.features is None or choices.features is None:
        return choices.features
    left_out = {*_default_features(tables, before, before.target)} - {*before.features}
    default_names = _default_features(tables, choices, choices.target)
    added = [name for name in default_names if name not in left_out and name not in choices.features]
    features = (*choices.features, *added)
    return None if {*features} == {*default_names} else features


def _draw_findings(tables: Tables, choices: Choices, all_findings: Sequence[Finding]) -> set[str]:
    """Draw findings that stop or are open, with buttons of their repairs; return the sentences of those that stop."""
    stops = [finding for finding in all_findings if finding.stops]
    first_repaired = next((finding.repairs[0].apply(choices) for finding in stops if finding.repairs), None)
    all_repairs = (
        choices if first_repaired is None else repaired_choices(tables.private, tables.public, choices, tables.schema)
    )
    if all_repairs != (first_repaired or choices) and st.button(**(button := control("repair-all"))):
        apply_choices(all_repairs, button["label"])
    for at, finding in enumerate(stops):
        st.error(plain(finding.sentence), icon=":material/error:")
        _repairs(finding, choices, f"stop-{at}")
    if (n_questions := sum(finding.stops or finding.is_open for finding in all_findings)) > 1:
        st.caption(f"{n_questions} questions about the columns, each with its buttons:")
    for at, finding in enumerate(all_findings):
        if finding.is_open:
            left, right = st.columns([5, 2])
            left.warning(plain(finding.sentence), icon=":material/warning:")
            with right:
                _repairs(finding, choices, f"open-{at}")
    # Repairs that were applied are only stated where nothing stops.
    if tables.repaired is not None and choices.features == tables.repaired[1] and not stops:
        st.warning(plain(tables.repaired[0]), icon=":material/warning:")
    return {finding.sentence for finding in stops}


def _draw_notes(choices: Choices, rest: Sequence[Finding], notes: Sequence[str]) -> None:
    """Draw, folded, the other findings with their repairs, and notes, each once."""
    sentences = {one.sentence for one in rest}
    more = [note for note in notes if note not in sentences and kind_of(note) not in _SHOWN_ELSEWHERE]
    if rest or more:
        open_ones = list(dict.fromkeys(name for one in rest if one.repairs for name in one.columns))
        question = f"; inside is a choice for {plain(quoted_names(open_ones))}" if open_ones else ""
        with st.expander(f"What was done to the columns ({len(rest) + len(more)}){question}", icon=":material/notes:"):
            for at, one in enumerate(rest):
                st.markdown(f"- {plain(one.sentence)}")
                _repairs(one, choices, f"rest-{at}")
            st.markdown("\n".join(f"- {plain(note)}" for note in more))


def _repairs(one: Finding, choices: Choices, key: str) -> None:
    for at, repair in enumerate(one.repairs):
        if st.button(**control("repair", f"-{key}-{at}"), label=plain(repair.label)):
            apply_choices(repair.apply(choices), repair.label)


def apply_choices(choices: Choices, description: str) -> None:
    """Take new choices, and draw all widgets with them; the change can be undone (:func:`undo`).

    Args:
        choices: the new ones.
        description: label of the button that changed them.
    """
    current = state.session()
    if current.tables is not None:
        before = current.choices or current.tables.first
        st.session_state["changes"] = [*_changes(), (current.tables.key, description, before, choices)]
    _start_anew(choices)


def _changes() -> list[tuple[str, str, Choices, Choices]]:
    """Return the changes that buttons made to the choices: key of the tables, label, choices before and after."""
    tables, changes = state.session().tables, st.session_state.get("changes", [])
    return [] if tables is None else [change for change in changes if change[0] == tables.key]


def undo(choices: Choices) -> None:
    """Draw the changes that buttons made and that still apply, with a button that undoes each.

    Args:
        choices: the current ones.
    """
    applied = [change for change in _changes() if choices.still_changed(change[2], change[3])]
    if not applied:
        return
    with st.container(horizontal=True, gap="small", vertical_alignment="center"):
        st.caption(plain(f"Applied: {'; '.join(description for _, description, _, _ in applied)}."), width="content")
        for at, change in enumerate(applied):
            without = choices.without_change(*change[2:])
            if without is not None and st.button(**control("undo", f"-{at}"), label=plain(f"Undo “{change[1]}”")):
                st.session_state["changes"] = [one for one in _changes() if one is not change]
                _start_anew(without)


def _start_anew(choices: Choices) -> None:
    """Take new choices, and draw all widgets with them."""
    state.session().set_choices(choices)
    st.session_state["choices-made"] = st.session_state.get("choices-made", 0) + 1
    st.rerun()


def _choices(tables: Tables, current: Choices) -> tuple[Choices, DeltaGenerator]:
    """Draw the choices, some of them folded; return them, and a container below the features."""
    names = common_columns(tables.private, tables.public)
    made = st.session_state.get("choices-made", 0)  # after a repair all widgets are new
    key = tables.key[:12] + (f"-{made}" if made else "")
    left, right = st.columns([1, 3])
    at = f"-{key}"
    family = pick(left, "family", FAMILIES, current.family, at=at, words=lambda id: FAMILIES[id].title)
    target = pick(left, "target", names, current.target, at=at)
    if apart := _public_columns(tables, []):
        left.caption(plain(f"Not in both files, so not to be chosen: {quoted_names(apart)}."))
    others = [name for name in names if name != target]
    # The default features, unless there are too many to list.
    first = _default_features(tables, current, target) if len(others) <= _MOST_LISTED else ()
    picked = right.multiselect(
        **control("features", f"{at}-{target}"),
        options=others,
        default=[name for name in current.features or first if name in others],
    )
    below = right.container()
    a, b, c = right.columns([3, 4, 2], vertical_alignment="bottom")
    missing = pick(a, "missing", _MISSING, current.missing, at=at)
    with b:
        unit = person_choice(tables, current, target, key, below=right.container())
    lam, positive = _family_choices(family, current, key)
    with c.popover("More choices", icon=":material/more_horiz:", width="stretch"):
        rest = [name for name in names if name not in (target, unit.column)]
        formula, more = _more_choices(tables, current, rest, key)
    if formula:
        target, picked = target_of(formula), []
    chosen = replace(
        current,  # fields without a widget do not change
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
    return chosen, below


def _default_features(tables: Tables, current: Choices, target: str) -> tuple[str, ...]:
    """Return the default features for a target and the kinds of columns."""
    nothing: dict[str, Any] = dict.fromkeys(("person", "weights", "exposure", "cluster", "formula"), "")
    alone = replace(current, target=target, features=None, **nothing)
    return chosen_features(tables.private, tables.public, alone, tables.schema)


def _features(picked: Sequence[str], first: Sequence[str], beside: set[str]) -> tuple[str, ...] | None:
    """Return the chosen features; ``None`` where they are the default.

    Args:
        picked: names that were picked.
        first: the default ones; empty where they are too many to list.
        beside: columns of persons, weights and groups, which are not features.
    """
    chosen = tuple(name for name in picked if name not in beside)
    return None if not chosen or {*chosen} == {*first} - beside else chosen


def _more_choices(tables: Tables, current: Choices, names: list[str], key: str) -> tuple[str, dict[str, Any]]:
    """Draw the choices that few fits need; return the formula, and the other fields."""
    at = f"-{key}"
    formula = st.text_input(**control("formula", at), value=current.formula)
    left, middle, right = st.columns(3)
    chosen: dict[str, Any] = {}
    for place, field, among in (
        (left, "weights", names),
        (middle, "exposure", names),
        (right, "cluster", _public_columns(tables, names)),
    ):
        options = {"": "none", **{name: name for name in among}}
        chosen[field] = pick(place, field, options, getattr(current, field), at=at)
    chosen["collinear"] = pick(left, "collinear", COLLINEAR_POLICIES, current.collinear, at=at)
    chosen["covariates"] = pick(middle, "covariates", COVARIATES, current.covariates, at=at)
    chosen["unseen"] = pick(right, "unseen", _UNSEEN, current.unseen, at=at)
    chosen["public_ridge"] = number(left, "ridge", 0.0, 1e6, start=current.public_ridge, at=at)
    chosen["intercept"] = middle.toggle(**control("intercept", at), value=current.intercept)
    chosen["levels"] = levels_from_text(_declared_lines("levels", current.levels, at))
    chosen["kinds"] = kinds_from_text(_declared_lines("kinds", current.kinds, at))
    chosen["overlap"] = st.text_input(**control("overlap", at), value=current.overlap).strip()
    if tables.source is None:
        _declared_schema(tables, key)
    return formula.strip(), chosen


def _declared_lines(id: str, current: Mapping[str, str | Sequence[str]], at: str) -> list[str]:
    """Draw declarations of columns, one per line; return the lines that are not empty."""
    shown = (f"{name} = {one if isinstance(one, str) else ' | '.join(one)}" for name, one in current.items())
    text = st.text_area(**control(id, at), value="\n".join(shown))
    return [line for line in text.splitlines() if line.strip()]


def _public_columns(tables: Tables, names: list[str]) -> list[str]:
    """Return these columns, and those that only the public table has."""
    if not isinstance(tables.public, Table):
        return []
    return [*names, *(name for name in tables.public.columns if name not in tables.private.columns)]


def _declared_schema(tables: Tables, key: str) -> None:
    """Draw a declared schema, and set it for the open tables."""
    declared = "" if tables.schema is None else json.dumps(tables.schema.as_dict())
    text = st.text_area(**control("schema", f"-{key}"), value=declared)
    state.session().declare(schema_from_json(text.encode()) if text.strip() else None)


def _family_choices(family: str, current: Choices, key: str) -> tuple[float | None, str | None]:
    """Draw penalty and positive label, where the family has them."""
    if family == GAUSSIAN.id:
        return None, None
    left, right = st.columns([1, 3])
    start = current.lam if current.family == family else None
    lam = number_or_nothing(left, "lam", 0.0, 1e9, start=start, at=f"-{key}-{family}")
    positive = ""
    if FAMILIES[family].binary:
        positive = right.text_input(**control("positive", f"-{key}"), value=current.positive or "")
    return lam, positive.strip() or None


def shared_rows(problem: Problem) -> None:
    """Draw, for the curator, whether more public rows are private rows than expected by chance."""
    if not state.curator():
        return
    if not st.toggle(**control("shared-rows")):
        return
    with st.spinner("Comparing", show_time=True):
        unusual = unusual_rows(problem).reveal(Curator("shown on the Data page"))
    for line in rows_in_words(unusual, problem.private.n):
        st.markdown(f"{badge(study_label())} {plain(line)}")


def preview() -> None:
    """Draw the first public rows, and for the curator the first private rows."""
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
