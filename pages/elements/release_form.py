"""Parts of the Release page: the confirmation card and what stands below it."""

import streamlit as st

from pages.elements import workflow_state
from pages.elements.controls import control, pick
from pages.elements.jobs import tell_spent
from pages.elements.ledger_form import SpendPlan, data_set
from pages.elements.session import session
from pages.elements.widgets import badge, chart, deployments, show_error
from pmtcore.accounting.budgets import only_responses
from pmtcore.base.escaping import markdown as plain
from pmtcore.base.labels import Label, ReleaseStatus
from pmtcore.base.messages import InputError
from pmtcore.base.numbers import rounded as said
from pmtcore.base.numbers import unbroken
from pmtcore.methods.registry import method, methods, offered_methods, recommended_method
from pmtcore.papers.errata import words
from pmtcore.public.moments import PublicData
from pmtcore.releases.record import modelled_response
from pmtcore.releases.release import Preview, request_from_json
from pmtcore.report.figures import release as figures
from pmtcore.report.glossary import help_for
from pmtcore.report.names import option, source
from pmtcore.report.statistics import truncated_share_words
from pmtcore.report.strength import delta_words, strength, unprotected_words
from pmtcore.tables.problem import Problem


def method_choice(public: PublicData) -> str:
    """Draw the sound methods that suit the problem; return the chosen id."""
    sound = [entry.id for entry in offered_methods(public)]
    return pick(st, "release-method", sound, at=f"-{public.family.id}", words=option)


def about_methods(public: PublicData) -> None:
    """Draw, folded, the description of the chosen method, and the methods that cannot be released."""
    chosen = st.session_state.get(f"release-method-{public.family.id}", recommended_method(public).id)
    entry = method(chosen)
    with st.expander(f"About {entry.title}", icon=":material/info:"):
        st.markdown(
            f"{entry.summary} Source: {source(chosen)}. Sound: {entry.claim.reason}.",
            help=help_for("papers", "sound"),
        )
        if entry.origin.errata:
            st.caption(f"Errata of the paper ({', '.join(entry.origin.errata)}): {words(entry.origin.errata)}")
    with st.expander("Methods that cannot be released", icon=":material/science:"):
        for entry in methods():
            if entry.standing is ReleaseStatus.LAB:
                st.markdown(f"**{entry.id}**, {entry.title[0].lower()}{entry.title[1:]}: {entry.claim.reason}.")
        st.caption("They can be studied on the Compare page.")
    import_configuration()


def cost(prospect: Preview, rows: int) -> None:
    """Draw the cost of a release in all units, and its predicted errors.

    Args:
        prospect: of the release.
        rows: number of private rows.
    """
    guarantee = prospect.guarantee
    if guarantee.mu == 0:
        st.markdown(f"{badge(Label.PUBLIC)} Costs nothing: no private row is read.")
        st.markdown(plain(figures.predicted_words(prospect)))
        return
    person = guarantee.person
    costs = unbroken(
        f"**Costs.** mu = {said(person.mu, 4)} · rho = {said(person.rho, 4)} · epsilon = {said(person.epsilon, 4)} at "
        f"delta {delta_words(guarantee.delta, rows)}. {strength(person.mu).sentence} "
        f"{plain(f'{guarantee.unit.words} {only_responses(guarantee.as_dict())}'.strip())}"
    )
    st.markdown(costs, help=help_for("mu", "rho", "epsilon", "delta"))
    prediction = figures.predicted_words(prospect) or "There is no prediction of the errors for this method."
    st.markdown(f"{badge(Label.PUBLIC)} **Buys.** {plain(prediction)}")
    st.markdown(truncated_share_words(prospect.facts.as_dict()), help=help_for("truncation"))
    for sentence in prospect.verdict:
        st.info(plain(sentence), icon=":material/info:")
    if unprotected := unprotected_words(person.mu):
        st.warning(unprotected, icon=":material/warning:")
    if guarantee.unit.rows > 1:
        st.caption(f"These are figures of a person with all rows that count; of one row mu is {guarantee.mu:.4g}.")


def draw_predictions(prospect: Preview) -> None:
    """Draw predicted errors, and the power of the best attacker, from public figures alone."""
    figure = figures.predicted(prospect)
    left, right = st.columns([3, 2], gap="large")
    if figure is not None:
        with left:
            alt = "Predicted standard errors of each coefficient relative to the public fit alone"
            table = figures.predicted_table(prospect)
            if note := figures.predicted_note(prospect):
                st.caption(note)
            chart(figure, "predicted", alt, table, label=Label.PUBLIC, folded_note=_note(prospect))
    if prospect.guarantee.mu > 0:
        with right:
            alt = "Detections against false alarms of the best attacker at this budget"
            figure = figures.tradeoff(prospect.guarantee.person.mu)
            table = figures.tradeoff_table(prospect.guarantee.person.mu)
            chart(figure, "tradeoff", alt, table, label=Label.PUBLIC)
            deployments(prospect.guarantee.person.mu)


def _note(prospect: Preview) -> str:
    """Return the note on the public figures that the plan chose; empty without any."""
    chosen = figures.facts_words(prospect.facts, len(prospect.names))
    return f"Chosen from public figures: {chosen}." if chosen else ""


def agreement_given(problem: Problem, prospect: Preview, id: str, where: SpendPlan) -> bool:
    """Draw the confirmation and the button of one request; return whether it was pressed with the box ticked.

    The button is never disabled, since a keyboard would skip it while the page responds to the tick. The key of the
    box depends on budget, method and table, so that each of them must be confirmed anew.
    """
    tables, studied = session().tables, session().is_study
    words = unbroken(f"I spend mu = {prospect.guarantee.person.mu:.4g} on this table")
    if prospect.guarantee.mu == 0:
        words = "I spend nothing: this method reads no private row."
    elif studied and tables is not None and not data_set(tables):
        words = "I know that this is for study: nothing is entered in a ledger, and the result is not to be published."
    elif studied:
        words += ", for study: the result is a lab figure, not to be published."
    else:
        # Labels are known from public rows; a private row with another label counts as zeros.
        labels = [label for label in (problem.positive, problem.other_label) if label is not None]
        outcome = modelled_response(problem.public.target, labels[0] if labels else None)
        if len(labels) == 1:
            # Other texts count as 0: "where it is 'yes'" would read as a selection of rows.
            words += plain(f"; {outcome} counts as 1")
        elif labels:
            words += plain(f"; modelled is {outcome} against “{labels[1]}”")
        words += ". It cannot be taken back."
        if not where.purpose.strip():
            words += " No purpose is stated: the report will say so."
    table = "" if tables is None else tables.key
    key = f"sure-{id}-{table}-{prospect.method.id}-{prospect.guarantee.person.mu!r}"
    help = "A release cannot be undone: what has left has left, and the budget it took stays spent."
    tell_spent()
    is_ticked = st.checkbox(words, key=key, help=help)
    name, icon = ("Compute a lab figure", "science") if studied else ("Release", "verified_user")
    pressed = st.button(name, type="primary", key=f"go-{id}", icon=f":material/{icon}:", width="stretch")
    if pressed and not is_ticked:
        st.warning("Nothing is computed yet: tick the box above first.", icon=":material/check_box:")
    if where.place:
        st.caption(f"The spend is written to {plain(where.place)} before a private row is used.")
    return pressed and is_ticked


def import_configuration() -> None:
    """Draw the upload of a saved configuration, with which the form above is filled."""
    with st.expander("Import a configuration", icon=":material/upload_file:"):
        st.file_uploader(**control("config-file"), on_change=_imported)
        outcome = st.session_state.pop("config-outcome", None)
        if isinstance(outcome, InputError):
            show_error(outcome)
        elif outcome is not None:
            st.success("The form above now has this configuration.", icon=":material/check:")


def _imported() -> None:
    """Fill the form from the uploaded file; this runs before the form is drawn."""
    file = st.session_state.get("config-file")
    if file is None:
        return
    try:
        workflow_state.fill_release_form(request_from_json(file.getvalue()))
        st.session_state["config-outcome"] = True
    except InputError as error:
        st.session_state["config-outcome"] = error
