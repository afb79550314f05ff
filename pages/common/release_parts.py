"""The parts of the Release page."""

from __future__ import annotations

import json
from uuid import uuid4

import pandas as pd
import streamlit as st

from pages.common.session import session
from pages.common.widgets import PLAIN, at_first, badge, chart, guarantee_line, show_error
from pmtcore.accounting.budgets import compose
from pmtcore.base.checks import InputError
from pmtcore.base.records import Label, Standing
from pmtcore.methods.registry import method, methods, recommended, suiting
from pmtcore.public.moments import PublicData
from pmtcore.releases.record import Release
from pmtcore.releases.release import Preview, Request, request_from_json
from pmtcore.show.errata import words
from pmtcore.show.figures import release as figures
from pmtcore.show.report import report
from pmtcore.show.words import coefficient_words, release_words


def method_choice(public: PublicData) -> str:
    """A sound method that suits the problem, with what the registry says of it."""
    sound = [entry.id for entry in suiting(public) if entry.standing is Standing.SOUND]
    key = f"release-method-{public.family.id}"
    start = at_first(key, index=sound.index(recommended(public).id))
    chosen: str = st.selectbox(
        "Method",
        sound,
        format_func=lambda id: f"{method(id).title} ({id})",
        key=key,
        persist_state="session",
        **start,
    )
    entry = method(chosen)
    st.caption(f"{entry.summary} Source: {entry.source}. Sound: {entry.standing_reason}.")
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
    columns = st.columns([2, 2, 3])
    columns[0].metric("mu", f"{guarantee.mu:.4g}")
    columns[1].metric("rho", f"{guarantee.rho:.4g}")
    columns[2].metric(
        "epsilon", f"{guarantee.epsilon:.4g}", f"at delta {guarantee.delta:g}", delta_color="off", delta_arrow="off"
    )
    st.caption(f"Neighbours, {guarantee.neighbours.value}: {guarantee.neighbours.words}.")


def meaning(found: Preview) -> None:
    """The attacker's view of this budget."""
    st.subheader("What this budget means")
    if found.guarantee.mu == 0:
        st.markdown(found.guarantee.words)
        return
    chart(
        figures.tradeoff(found.guarantee.mu),
        "tradeoff",
        "Detections against false alarms of the best attacker at this budget",
        figures.tradeoff_table(found.guarantee.mu),
        Label.PUBLIC,
    )
    st.markdown(f"{badge(Label.PUBLIC)} {found.guarantee.words}")


def prospects(found: Preview) -> None:
    """Predicted errors and a verdict, from public figures alone."""
    st.subheader("What to expect")
    for sentence in found.verdict:
        st.info(sentence, icon=":material/info:")
    figure = figures.predicted(found)
    if figure is None:
        st.markdown(f"{badge(Label.PUBLIC)} There is no prediction of the errors for this method.")
        _facts(found)
        return
    st.markdown(f"{badge(Label.PUBLIC)} {figures.predicted_words(found)}")
    chart(
        figure,
        "predicted",
        "Predicted standard errors of each coefficient relative to the public fit alone",
        figures.predicted_table(found),
        Label.PUBLIC,
    )
    _facts(found)


def _facts(found: Preview) -> None:
    words = figures.facts_words(found.facts)
    if words:
        st.caption(f"Chosen from public figures: {words}.")


def confirmation(found: Preview) -> str:
    """What the user agrees to."""
    if found.guarantee.mu == 0:
        return "I spend nothing: this method reads no private row."
    return f"I spend mu = {found.guarantee.mu:.4g} on this table. It cannot be taken back."


def confirmation_key(found: Preview) -> str:
    """A key that changes with what is confirmed, so that a tick for one amount never counts for another."""
    state = session()
    table = "" if state.tables is None else state.tables.key
    return f"sure-{state.next_request}-{table}-{found.method.id}-{found.guarantee.mu!r}"


def other_table(id: str) -> None:
    """Say so when the release on screen came from a table that is no longer open."""
    state = session()
    if state.tables is not None and state.sources[id] != state.tables.private.sha256:
        st.info(
            f"This release came from another table. '{state.tables.title}' is open now; New release starts from it.",
            icon=":material/swap_horiz:",
        )


def show(found: Release, request: Request) -> None:
    """A finished release."""
    standing(found)
    if found.names:
        coefficients(found)
    free(found)
    downloads(found, request)
    if st.button("New release", key="release-new", icon=":material/add:"):
        session().next_request = uuid4().hex
        st.rerun()
    earlier()


def coefficients(found: Release) -> None:
    """Coefficients with bands, the parts of the bands beside them, and a plain line for each."""
    st.subheader("Coefficients")
    st.markdown(f"{badge(Label.RELEASED)} **{release_words(found)}**")
    apart = figures.parts(found)
    left, right = st.columns([3, 2], gap="medium") if apart is not None else (st.container(), None)
    with left:
        alt = "Released coefficients with 95 % bands, standardized by the public spread of their column"
        chart(figures.coefficients(found), "coefficients", alt, figures.coefficients_table(found), Label.RELEASED)
    if apart is None or right is None:
        st.caption("There are no error bands for this method.")
        return
    with right:
        st.plotly_chart(
            apart,
            width="stretch",
            key="parts",
            alt="Standard errors from the privacy noise, from sampling and from truncation, apart",
            config=PLAIN,
        )
        with st.expander("In words", icon=":material/notes:"):
            st.markdown("\n".join(f"- {sentence}" for sentence in coefficient_words(found)))
    st.caption(
        "The band holds all parts together, at 95 %; the bars show them apart. Privacy: the noise that was added. "
        "Sampling: other rows from the same population. Truncation: rows moved in to the radius. The intercept is in "
        "the table. Bands miss more often where public rows follow other coefficients by several residual standard "
        "deviations, which the release then says, and where one row far from all public ones decides the fit."
    )


def standing(found: Release) -> None:
    """Whether the figures may leave, the guarantee, and notes."""
    if found.standing is Standing.SOUND:
        st.success(f"{badge(Label.RELEASED)} Sound: these figures may leave.", icon=":material/verified_user:")
    else:
        st.warning(f"A lab figure, not a release: {'; '.join(found.standing_reasons)}.", icon=":material/science:")
    st.markdown(f"**{found.title}** · {guarantee_line(found.guarantee)}")
    st.markdown(found.guarantee.words)
    for note in found.notes:
        st.caption(note)


def free(found: Release) -> None:
    """What came out beside the coefficients at no further cost."""
    singles = figures.results(found)
    if singles:
        for column, (title, value) in zip(st.columns(3), singles.items(), strict=False):
            column.metric(title, value)
    if "ridge_path" in found.released:
        st.subheader("Ridge path")
        st.markdown(f"{badge(Label.RELEASED)} {figures.ridge_words(found)}")
        lam = st.select_slider(
            "Ridge penalty",
            figures.penalties(found),
            key="ridge-lam",
            persist_state="session",
            format_func="{:g}".format,
        )
        alt = "Standardized coefficients along the ridge path"
        table = figures.ridge_path_table(found)
        chart(figures.ridge_path(found, lam), "ridge-path", alt, table, Label.RELEASED)
        at = figures.at_penalty(found, lam)
        st.dataframe(at, hide_index=True, width="stretch", alt=f"Coefficients at penalty {lam:g}", key="ridge-at")
    if "moment" in found.released:
        st.subheader("Second moment")
        st.markdown(f"{badge(Label.RELEASED)} {figures.moment_words(found)}")
        alt = "Released second moment, entries over the root of their diagonals"
        chart(figures.moment(found), "moment", alt, figures.moment_table(found), Label.RELEASED)


def downloads(found: Release, request: Request) -> None:
    """The record, the coefficients, the configuration, the report."""
    st.subheader("Take it with you")
    *columns, last = st.columns(4 if found.names else 3)
    last.download_button(
        "Report (HTML)",
        report(found.as_dict()),
        "report.html",
        "text/html",
        key="report",
        on_click="ignore",
        width="stretch",
    )
    record = json.dumps(found.as_dict(), indent=2)
    columns[0].download_button(
        "Record (JSON)", record, "release.json", "application/json", key="record", on_click="ignore", width="stretch"
    )
    if found.names:
        table = figures.coefficients_table(found).to_csv(index=False)
        columns[1].download_button(
            "Coefficients (CSV)", table, "coefficients.csv", "text/csv", key="csv", on_click="ignore", width="stretch"
        )
    fields = json.dumps(request.as_dict(), indent=2)
    columns[-1].download_button(
        "Configuration (JSON)",
        fields,
        "request.json",
        "application/json",
        key="config",
        on_click="ignore",
        width="stretch",
    )


def earlier() -> None:
    """Releases of this session."""
    spent = session().spent
    if not spent:
        return
    with st.expander(f"Releases from this table, in this session ({len(spent)})", icon=":material/history:"):
        rows = [
            {
                "method": release.method,
                "target": release.target,
                "rows": release.n,
                "mu": release.guarantee.mu,
                "neighbours": release.guarantee.neighbours.value,
                "standing": release.standing.value,
            }
            for release in spent
        ]
        st.dataframe(
            pd.DataFrame(rows), hide_index=True, width="stretch", alt="Releases of this session", key="earlier"
        )
        total = compose(release.guarantee.mu for release in spent)
        st.markdown(
            f"Together mu = {total:.4g}: releases from one table add up as the root of the sum of their squared mu."
        )


def import_configuration() -> None:
    """Fill the form from a saved configuration."""
    with st.expander("Import a configuration", icon=":material/upload_file:"):
        file = st.file_uploader("Configuration (JSON)", type=["json"], key="config-file", max_upload_size=1)
        if file is None or st.session_state.get("config-read") == file.file_id:
            return
        st.session_state["config-read"] = file.file_id
        try:
            fill(request_from_json(file.getvalue()))
        except InputError as error:
            show_error(error)
            return
        st.success("The form below now holds this configuration.", icon=":material/check:")


def fill(request: Request) -> None:
    """Put a configuration into the widgets of the form.

    Raises:
        InputError: its method is for the lab.
    """
    entry = method(request.method)
    if entry.standing is Standing.LAB:
        raise InputError(f"The configuration names {entry.id}, which cannot be released: {entry.standing_reason}.")
    keys = {f"release-method-{family}": request.method for family in entry.families} | {
        "release-unit": "mu",
        "release-mu": request.budget.mu,
    }
    if request.delta is not None:
        keys["release-delta"] = repr(float(request.delta))
    keys |= {f"release-{request.method}-{name}": value for name, value in request.parameters.items()}
    st.session_state.update(keys)
