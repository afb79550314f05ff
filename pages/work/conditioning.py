"""Conditioning: the second moment before and after whitening, and the rows outside a radius."""

import streamlit as st

from pages.elements import workflow_state
from pages.elements.controls import control
from pages.elements.session import curator, prospect
from pages.elements.widgets import badge, download_table, frame, keep_within, on_tables, picture, study_label
from pmtcore.auditing import diagnostics
from pmtcore.auditing.diagnostics import Diagnosis
from pmtcore.base.escaping import markdown as plain
from pmtcore.base.labels import Label
from pmtcore.base.messages import InputError, PageWords
from pmtcore.base.numbers import rounded as said
from pmtcore.base.private_rows import Curator
from pmtcore.methods.facts import Facts
from pmtcore.methods.registry import method
from pmtcore.releases.release import Request
from pmtcore.report.figures import conditioning as figures
from pmtcore.report.glossary import term
from pmtcore.report.names import in_quotes
from pmtcore.report.statistics import truncated_share_words
from pmtcore.report.words import conditioning_words, directions_words, truncation_words
from pmtcore.tables.problem import Problem

# Confidence of the papers' radius.
ETA = 0.05
# Share of public rows outside the initial radius, without a plan.
_SHARE_OUTSIDE = 0.05
# Session key of the last initial radius.
_START = "radius-start"


def metrics(diagnosis: Diagnosis, mark: str) -> None:
    """Draw condition numbers and smallest eigenvalue, before and after whitening, in one row."""
    after = diagnosis.after.as_dict() if diagnosis.after else {}
    for column, id in zip(st.columns(3), ("kappa", "kappa_bar", "lambda_min"), strict=True):
        values = f"{said(diagnosis.before.as_dict()[id])} → {said(after[id]) if after else 'unknown'}"
        column.metric(f"{mark} {term(id).name}", values, help=f"Before and after whitening. {term(id).words}")


def page(problem: Problem) -> None:
    """Draw the whole page: figures of merit, spectrum and ellipses, rows outside a radius."""
    shown = [diagnostics.predicted_diagnosis(problem.public, problem.private.n, ETA)]
    kinds = [Label.PUBLIC]
    if curator():
        shown.append(diagnostics.exact_diagnosis(problem, ETA).reveal(Curator("shown on the Conditioning page")))
        kinds.append(study_label())
    label = kinds[-1]

    workflow_state.steps("conditioning", problem)
    ends = diagnostics.extreme_directions(problem.public)
    words = conditioning_words(shown[-1], diagnostics.scaled_condition_number(problem.public))
    st.markdown(f"{badge(label)} {plain(' '.join([*words, directions_words(shown[0], *ends)]))}")
    # Where all figures have one label, only the sentences have it, so that a phone has space for names.
    for diagnosis, kind in zip(shown, kinds, strict=True):
        metrics(diagnosis, badge(kind) if len(kinds) > 1 else "")
    request = workflow_state.planned(problem)
    facts = planned_facts(problem, request)
    planned = facts.radius if facts and method(request.method).whitens else None
    beside = planned is not None or facts is None
    left, middle, *right = st.container(key="pairs-conditioning").columns([4, 3, 4] if beside else [4, 3], gap="medium")
    with left:
        st.markdown("**Spectrum of the second moment**")
        picture(figures.spectrum(shown), "spectrum", "Eigenvalues before and after whitening, log axis")
    with middle:
        st.markdown("**Longest and shortest direction**")
        picture(figures.ellipses(shown[-1]), "ellipses", "Longest and shortest direction before and after whitening")
    # The plan comes first, then the radius that the reader moves.
    if facts:
        planned_share(request, facts, beside)
    # Where the plan has no radius for whitened rows, the slider only concerns the papers' methods.
    folded = None if beside else st.expander("The papers' truncation (not used by your method)", icon=":material/tune:")
    with right[0] if right else folded or st.container():
        radius = truncation(shown, planned)
    with folded or st.container():
        for diagnosis, kind in zip(shown, kinds, strict=True):
            st.markdown(f"{badge(kind)} {plain(truncation_words(diagnosis, radius))}")
    st.caption(
        PageWords.WHY_WHITENING.sentence()
        + ("" if curator() else " Figures after whitening are predicted from public rows; exact figures are private: ")
        + ("" if curator() else "switch them on in the sidebar.")
    )
    details(shown, label)
    workflow_state.next_step("plan", "Plan")


def planned_facts(problem: Problem, request: Request) -> Facts | None:
    """Return the public figures of the plan; ``None`` where it cannot be made."""
    try:
        return prospect(problem, request).facts
    except InputError:
        return None


def planned_share(request: Request, facts: Facts, beside: bool) -> None:
    """Draw the share of rows that the planned method truncates, as on Plan, on Release and in the report.

    Args:
        request: the plan.
        facts: its public figures.
        beside: whether the curve of the lengths of rows is drawn too.
    """
    own, after = "clips gradients rather than rows, at bounds that it chooses itself from public rows.", ""
    if facts.radius is not None:
        own = f"shortens rows that are longer than its radius, {said(facts.radius)}, which it chooses from public rows."
    if beside and facts.radius is not None and facts.passes is not None:
        own = f"shortens rows longer than its radius, {said(facts.radius)}, then contributions that count residuals."
        after = " The curve is of the features alone, by which fewer rows are too long."
    of = f"The planned method, {in_quotes(request.method)} at mu = {said(request.budget.mu)},"
    st.markdown(
        f"{badge(Label.PUBLIC)} **{plain(truncated_share_words(facts.as_dict()))}** {plain(f'{of} {own}{after}')}"
    )


def truncation(shown: list[Diagnosis], planned: float | None) -> float:
    """Draw the share of rows outside a radius that the reader moves; return the radius, in whitened units.

    Args:
        shown: lengths of rows, predicted and perhaps exact.
        planned: radius of the plan, the initial one; ``None`` where it has none.
    """
    # Without a planned radius, some rows are outside the initial one.
    start = round(shown[0].radius_outside(_SHARE_OUTSIDE) if planned is None else planned, 2)
    top = figures.largest_radius(shown, start)
    # With another plan or table the slider is reset to its radius.
    if st.session_state.get(_START) != start:
        st.session_state.update({_START: start, "radius": start})
    keep_within("radius", 0.0, top)
    radius = st.slider(**control("radius", value=start), min_value=0.0, max_value=top)
    alt = "Share of rows outside the radius as the radius moves"
    picture(figures.truncation(shown, radius, top), "truncation", alt)
    return float(radius)


def details(shown: list[Diagnosis], label: Label) -> None:
    """Draw the tables of both pictures, folded."""
    with st.expander("Tables", icon=":material/table_rows:"):
        for key, table, alt in (
            ("spectrum", figures.spectrum_table(shown), "Eigenvalues before and after whitening"),
            ("truncation", figures.truncation_table(shown), "Share of rows outside each radius"),
        ):
            frame(table, alt)
            if label is not Label.PRIVATE:
                download_table(table, key)
        st.caption(PageWords.NORMS_OF_FEATURES.sentence())


st.title("Conditioning")
on_tables(page)
