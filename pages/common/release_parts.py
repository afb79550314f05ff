"""The parts of the Release page."""

from __future__ import annotations

import json
from uuid import uuid4

import streamlit as st

from pages.common.session import session
from pages.common.widgets import badge, chart, guarantee_line, show_error
from pmtcore.checks import InputError
from pmtcore.figures import release as figures
from pmtcore.records import Label, Release, Standing
from pmtcore.registry import method, methods
from pmtcore.release import Preview, Request, request_from_json
from pmtcore.words import coefficient_words, release_words


def method_choice() -> str:
    """A sound method, with what the registry says of it."""
    sound = [entry.id for entry in methods() if entry.standing is Standing.SOUND]
    start = {} if "release-method" in st.session_state else {"index": sound.index("joint-pmt")}
    chosen: str = st.selectbox(
        "Method",
        sound,
        format_func=lambda id: f"{method(id).title} ({id})",
        key="release-method",
        persist_state="session",
        **start,
    )
    entry = method(chosen)
    errata = f" Errata: {', '.join(entry.errata)}." if entry.errata else ""
    st.caption(f"{entry.summary} Source: {entry.source}. Sound: {entry.standing_reason}.{errata}")
    lab = ", ".join(e.id for e in methods() if e.standing is Standing.LAB)
    st.caption(f"For the lab only, on the Compare page: {lab}.")
    return chosen


def cost(found: Preview) -> None:
    """What will be spent, in all units."""
    guarantee = found.guarantee
    st.markdown(f"{badge(Label.PUBLIC)} **What it costs**")
    if guarantee.mu == 0:
        st.markdown("Nothing: no private row is read.")
        return
    columns = st.columns(3)
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
    st.markdown(found.guarantee.words)


def prospects(found: Preview) -> None:
    """Predicted errors and a verdict, from public figures alone."""
    st.subheader("What to expect")
    facts = found.facts
    line = [f"radius {facts['radius']:.3g}"] if "radius" in facts else []
    if "predicted_truncation_rate" in facts:
        line.append(f"{facts['predicted_truncation_rate']:.1%} of the rows truncated")
    if "noise_sd" in facts:
        line.append(f"noise sd {facts['noise_sd']:.2g} on a moment near 1")
    st.markdown(f"{badge(Label.PUBLIC)} {', '.join(line)}" if line else badge(Label.PUBLIC))
    for sentence in found.verdict:
        st.info(sentence, icon=":material/info:")
    figure = figures.predicted(found)
    if figure is None:
        st.caption("No prediction of the errors for this method.")
        return
    chart(
        figure,
        "predicted",
        "Predicted standard errors of each coefficient relative to the public fit alone",
        figures.predicted_table(found),
        Label.PUBLIC,
    )


def show(found: Release, request: Request) -> None:
    """A finished release."""
    standing(found)
    if found.names:
        st.subheader("Coefficients")
        st.markdown(f"**{release_words(found)}**")
        alt = "Released coefficients with 95 % bands, standardized by the public spread of their column"
        chart(figures.coefficients(found), "coefficients", alt, figures.coefficients_table(found), Label.RELEASED)
        with st.expander("In words", icon=":material/notes:"):
            for sentence in coefficient_words(found):
                st.markdown(sentence)
    free(found)
    downloads(found, request)
    if st.button("New release", key="release-new", icon=":material/add:"):
        session().next_request = uuid4().hex
        st.rerun()
    earlier()


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
    released = found.released
    columns = st.columns(4)
    shown = {
        "Residual sd": released.get("residual_sd"),
        "R squared": released.get("r_squared"),
        "Condition number": released.get("after_whitening", {}).get("kappa"),
    }
    for column, (title, value) in zip(columns, shown.items(), strict=False):
        if value is not None:
            column.metric(title, f"{value:.3g}")
    if "ridge_path" in released:
        st.subheader("Ridge path, free")
        penalties = [float(f"{lam:.3g}") for lam in released["ridge_path"]["lam"]]
        lam = st.select_slider("Ridge penalty", penalties, key="ridge-lam")
        alt = "Standardized coefficients along the ridge path"
        table = figures.ridge_path_table(found)
        chart(figures.ridge_path(found, lam), "ridge-path", alt, table, Label.RELEASED)
        at = table.iloc[penalties.index(lam)]
        st.caption(f"At penalty {lam:g}: " + ", ".join(f"{name} {at[name]:.4g}" for name in found.names))
    if "moment" in released:
        st.subheader("Released second moment")
        alt = "Released second moment, entries over the root of their diagonals"
        chart(figures.moment(found), "moment", alt, figures.moment_table(found), Label.RELEASED)


def downloads(found: Release, request: Request) -> None:
    """The record, the coefficients, the configuration."""
    columns = st.columns(3)
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
    columns[2].download_button(
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
    with st.expander(f"Releases of this session ({len(spent)})", icon=":material/history:"):
        for release in spent:
            st.markdown(
                f"{release.title}, {release.target}: {guarantee_line(release.guarantee)} ({release.standing.value})"
            )


def import_configuration() -> None:
    """Fill the form from a saved configuration."""
    with st.expander("Import a configuration", icon=":material/upload_file:"):
        file = st.file_uploader("Configuration (JSON)", type=["json"], key="config-file", max_upload_size=1)
        if file is None or st.session_state.get("config-read") == file.file_id:
            return
        st.session_state["config-read"] = file.file_id
        try:
            request = request_from_json(file.getvalue())
        except InputError as error:
            show_error(error)
            return
        keys = {"release-method": request.method, "release-unit": "mu", "release-mu": request.budget.mu}
        if request.delta is not None:
            keys["release-delta"] = f"{request.delta:g}"
        keys |= {f"release-{request.method}-{name}": value for name, value in request.parameters.items()}
        st.session_state.update(keys)
        st.success("The form below now holds this configuration.", icon=":material/check:")
