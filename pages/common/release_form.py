"""The parts of the Release page."""

from __future__ import annotations

import streamlit as st

from pages.common import workflow_state
from pages.common.session import session
from pages.common.widgets import (
    at_first,
    badge,
    chart,
    show_error,
    strength_line,
)
from pmtcore.base.checks import InputError
from pmtcore.base.escaping import markdown as plain
from pmtcore.base.numbers import figure as said
from pmtcore.base.numbers import power_of_ten
from pmtcore.base.records import Label, Standing
from pmtcore.methods.registry import method, methods, recommended, suiting
from pmtcore.papers.errata import words
from pmtcore.public.moments import PublicData
from pmtcore.releases.release import Preview, request_from_json
from pmtcore.report.figures import release as figures
from pmtcore.report.glossary import help_for
from pmtcore.report.names import option, source


def method_choice(public: PublicData) -> str:
    """A sound method that suits the problem, with what the registry says of it."""
    sound = [entry.id for entry in suiting(public) if entry.standing is Standing.SOUND]
    key = f"release-method-{public.family.id}"
    start = at_first(key, index=sound.index(recommended(public).id))
    chosen: str = st.selectbox(
        "Method",
        sound,
        format_func=option,
        key=key,
        persist_state="session",
        help="Sound methods that suit the tables; the recommended one is chosen first. The id is small behind it.",
        **start,
    )
    entry = method(chosen)
    st.caption(
        f"{entry.summary} Source: {source(chosen)}. Sound: {entry.standing_reason}.",
        help=help_for("papers", "sound"),
    )
    if entry.errata:
        with st.expander(f"Errata of the paper ({', '.join(entry.errata)})", icon=":material/edit_note:"):
            st.caption(words(entry.errata))
    with st.expander("Methods that cannot be released", icon=":material/science:"):
        for lab in methods():
            if lab.standing is Standing.LAB:
                st.markdown(f"**{lab.id}**, {lab.title[0].lower()}{lab.title[1:]}: {lab.standing_reason}.")
        st.caption("They can be studied on the Compare page.")
    return chosen


def cost(found: Preview) -> None:
    """What will be spent, in all units."""
    guarantee = found.guarantee
    st.markdown(f"{badge(Label.PUBLIC)} **What it costs**")
    if guarantee.mu == 0:
        st.markdown("Nothing: no private row is read.")
        return
    person = guarantee.person
    columns = st.columns([2, 2, 3])
    columns[0].metric("mu", said(person.mu, 4), help=help_for("mu"))
    columns[1].metric("rho", said(person.rho, 4), help=help_for("rho"))
    columns[2].metric(
        "epsilon",
        said(person.epsilon, 4),
        f"at delta {power_of_ten(guarantee.delta)}",
        delta_color="off",
        delta_arrow="off",
        help=help_for("epsilon", "delta"),
    )
    strength_line(person.mu)
    st.caption(f"Neighbours, {guarantee.neighbours.value}: {guarantee.neighbours.words}. {plain(guarantee.unit.words)}")
    if guarantee.unit.rows > 1:
        st.caption(f"These are figures of a person with all rows that count; of one row mu is {guarantee.mu:.4g}.")


def meaning(found: Preview) -> None:
    """The attacker's view of this budget."""
    st.header("What this budget means")
    if found.guarantee.mu == 0:
        st.markdown(found.guarantee.words)
        return
    chart(
        figures.tradeoff(found.guarantee.person.mu),
        "tradeoff",
        "Detections against false alarms of the best attacker at this budget",
        figures.tradeoff_table(found.guarantee.person.mu),
        Label.PUBLIC,
        found.guarantee.words,
    )


def prospects(found: Preview) -> None:
    """Predicted errors and a verdict, from public figures alone."""
    st.header("What to expect")
    for sentence in found.verdict:
        st.info(plain(sentence), icon=":material/info:")
    figure = figures.predicted(found)
    if figure is None:
        st.markdown(f"{badge(Label.PUBLIC)} There is no prediction of the errors for this method.")
        _facts(found)
        return
    chart(
        figure,
        "predicted",
        "Predicted standard errors of each coefficient relative to the public fit alone",
        figures.predicted_table(found),
        Label.PUBLIC,
        figures.predicted_words(found),
    )
    if note := figures.predicted_note(found):
        st.caption(note)
    _facts(found)


def _facts(found: Preview) -> None:
    words = figures.facts_words(found.facts)
    if words:
        st.caption(f"Chosen from public figures: {plain(words)}.")


def confirmation(found: Preview) -> str:
    """What the user agrees to."""
    if found.guarantee.mu == 0:
        return "I spend nothing: this method reads no private row."
    return f"I spend mu = {found.guarantee.person.mu:.4g} on this table. It cannot be taken back."


def confirmation_key(found: Preview) -> str:
    """A key that changes with what is confirmed, so that a tick for one amount never counts for another."""
    state = session()
    table = "" if state.tables is None else state.tables.key
    return f"sure-{state.next_request}-{table}-{found.method.id}-{found.guarantee.person.mu!r}"


def import_configuration() -> None:
    """Fill the form from a saved configuration."""
    with st.expander("Import a configuration", icon=":material/upload_file:"):
        file = st.file_uploader(
            "Configuration (JSON)",
            type=["json"],
            key="config-file",
            max_upload_size=1,
            help="Saved after a release, or written by hand: a method and a budget at least.",
        )
        if file is None or st.session_state.get("config-read") == file.file_id:
            return
        st.session_state["config-read"] = file.file_id
        try:
            workflow_state.fill(request_from_json(file.getvalue()))
        except InputError as error:
            show_error(error)
            return
        st.success("The form below now holds this configuration.", icon=":material/check:")
