"""A finished release on the Release page: its figures, what they mean, how to take them along."""

from collections.abc import Sequence

import pandas as pd
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from pages.elements import cautions, scripts
from pages.elements.controls import control, pick
from pages.elements.jobs import FOCUS
from pages.elements.retrieved import show_retrieved
from pages.elements.session import current_problem, prospect, session
from pages.elements.widgets import (
    badge,
    chart,
    deployments,
    download_table,
    figure_first,
    frame,
    guarantee_line,
    later,
    picture,
    strength_line,
)
from pmtcore.accounting.budgets import compose
from pmtcore.base.escaping import markdown as plain
from pmtcore.base.labels import Label, ReleaseStatus
from pmtcore.base.messages import InputError, TableNote, kind_of
from pmtcore.base.numbers import count, unbroken
from pmtcore.base.numbers import figure as said
from pmtcore.base.release_record import ReleaseRecord
from pmtcore.releases.record import Release
from pmtcore.releases.release import Request
from pmtcore.report import reproduce
from pmtcore.report.downloads import FiledRelease, filed_release, release_files
from pmtcore.report.figures import coefficients as forest
from pmtcore.report.figures import release as figures
from pmtcore.report.rows import MANY, MOST_COLUMNS, PICKED
from pmtcore.report.statistics import disagreement_of, penalty_words, truncation_of
from pmtcore.report.strength import strength, unprotected_words
from pmtcore.report.words import (
    beside_plan,
    coefficient_words,
    example_words,
    leaning_words,
    parts_words,
    prior_levels,
    private_words,
    public_fit_words,
    reference_levels,
    release_words,
)
from pmtcore.tables.choices import Choices

# Notes that say what a coefficient is of: the level it is compared with, or a date counted in days.
_READ_AS = (TableNote.REFERENCES, TableNote.DATES, TableNote.SLASHED_DATES)
# Notes that stand open: more of them would push what can be taken along off the page.
_FEW_NOTES = 3


def is_of_other_table(id: str) -> bool:
    """Return whether the release of this request came from tables that are open no longer."""
    state = session()
    return state.tables is not None and state.sources[id] != state.tables.private.sha256


def other_table(id: str, choices: Choices) -> None:
    """Say so when the release on screen came from a table that is no longer open, or from other choices.

    Args:
        id: of its request.
        choices: what is chosen now.
    """
    state = session()
    if state.tables is None:
        return
    if is_of_other_table(id):
        words = f"This release came from another table. '{plain(state.tables.title)}' is open now."
        label = "New release from the open table"
    elif state.chosen.get(id, choices) != choices:
        words = "This release was made before the choices on Data were changed. What is chosen now is not released."
        label = "New release of what is chosen now"
    else:
        return
    st.warning(words, icon=":material/swap_horiz:")
    if st.button(**control("release-other"), label=label):
        session().begin_request()
        st.rerun()


def show(release: Release, request: Request) -> None:
    """Draw a finished release: what may be done with it, its figures, how to take them along."""
    record = release.as_dict()
    # The button that had the keyboard is gone after a release: the verdict takes it.
    with st.container(key="verdict"):
        standing(release, record)
        cautions.warn(release.notes)
        if st.session_state.pop(FOCUS, False):
            scripts.run(scripts.TO_VERDICT)
    left, right = st.columns([5, 2], gap="medium")
    with right:
        about(release, record)
    with left, figure_first("coefficients"):
        if release.names:
            coefficients(release, on_open_tables(release, request))
    free(release)
    if release.facts.retrieved_epsilon is not None:
        retrieved(release)
    if release.notes:
        few = len(release.notes) <= _FEW_NOTES
        with st.expander(f"Notes ({len(release.notes)})", icon=":material/notes:", expanded=few):
            st.markdown("\n".join(f"- {plain(note)}" for note in release.notes))
    downloads(release, request)
    earlier()


def label(release: Release) -> Label:
    """Return the kind of the release's figures."""
    return Label.RELEASED if release.standing is ReleaseStatus.SOUND else Label.LAB


def coefficients(release: Release, here: Sequence[str] = ()) -> None:
    """Draw all coefficients with bands: search, order, unit; picture and table are in the same unit.

    Args:
        release: the release.
        here: what the open tables say of them.
    """
    units = forest.units(release)
    many = len(release.names) > MANY
    # One line for all that is chosen of the picture, so that its axis is on the first screen.
    a, b, c, *last = st.columns([5, 3, 2, 4] if many else [5, 3, 2], vertical_alignment="bottom")
    id = pick(later(a, "unit"), "coefficients-unit", units, words=lambda id: units[id].short)
    order = pick(later(b, "order"), "coefficients-order", forest.ORDERS, "strength" if many else "table")
    search = later(c, "search").text_input(**control("coefficients-search")) if many else ""
    unit = units[id]
    table = forest.table(release, unit)
    shown = forest.chosen(table, unit, search, order)
    ordered = order in ("strength", "size")
    references, freedom = reference_levels(release.notes), forest.least_freedom(release)
    few = forest.folded(shown, unit, order)
    as_it_is = len(shown) <= (MOST_COLUMNS if len(few) == len(shown) else MANY)
    view = "all" if as_it_is else views(later(last[0], "view"))
    drawn = few.head(MOST_COLUMNS) if view == "columns" else shown
    rows = forest.for_all_effects(drawn, unit, freedom)
    # The sentence is about a row of the picture: with its band, and under the name that the coefficient has.
    named = rows.assign(coefficient=rows["effect"]) if "effect" in rows else rows
    spread = dict(zip(release.names, map(float, release.public.spread), strict=False))
    example = example_words(named, unit, references, release.public.zero_one, spread=spread, ordered=ordered)
    parts = release_words(release, unit.step == "spread")
    st.markdown(f"{badge(label(release))} **{plain(example or parts)}**")
    if len(shown):
        by_prior = forest.marked(rows, prior_levels(release.notes))
        figure = forest.multiples(shown, unit, freedom) if view == "levels" else forest.forest(by_prior, unit)
        picture(figure, "coefficients", "Released coefficients with 95 % bands; the table below has the figures")
        if read_as := [note for note in release.notes if kind_of(note) in _READ_AS]:
            st.caption(plain(" ".join(read_as)))
        if list(by_prior["coefficient"]) != list(rows["coefficient"]):
            st.caption(plain(forest.BY_PRIOR))
        if beside := public_fit_words(table, release.public_rows):
            st.caption(plain(beside))
        with st.expander("Table", icon=":material/table_rows:"):
            frame(forest.displayed(shown, unit), f"Coefficients: {unit.words}")
            download_table(forest.displayed(shown, unit), "coefficients-shown")
    if example:
        st.markdown(plain(parts))
    about_picture(release, table, drawn, order, here=here)
    if release.bands is None:
        st.caption(
            "There are no error bands for this method: part of its error is not known from public figures, the pull of "
            "a penalty or of an iteration that is cut short. Methods that Plan lists have bands."
        )
        return
    error_parts(drawn, unit)
    leaning = leaning_words(table, unit)
    if leaning:
        st.caption(leaning)


def about_picture(
    release: Release, table: pd.DataFrame, drawn: pd.DataFrame, order: str, *, here: Sequence[str]
) -> None:
    """Say below the picture which coefficients it holds, what they estimate, and how bands compare with the plan."""
    told = [*here]
    if len(drawn) < len(table):
        told.append(forest.note(table, drawn))
    if not set(drawn["coefficient"]) <= set(table["coefficient"]):
        told.append(PICKED.format(picked=forest.picked_by(order)))
    if words := penalty_words(release.facts.penalty, release.facts.prior_sd):
        told.append(f"{words} It can be changed on the page Data, among the choices of columns.")
    st.caption("\n".join(f"- {plain(sentence)}" for sentence in told if sentence))


def on_open_tables(release: Release, request: Request) -> list[str]:
    """Return how bands compare with the plan, and what gaps bias, while the choices of the release are still open."""
    try:
        problem = current_problem()
        if session().chosen.get(session().next_request) != problem.choices:
            return []
        asked = str(st.session_state.get("plan-coefficient", ""))
        return [*beside_plan(release, prospect(problem, request), asked), cautions.gaps(problem)]
    except InputError:
        return []


def views(place: DeltaGenerator) -> str:
    """Draw how many coefficients are drawn; return the id of the choice."""
    names = {"columns": "one row for each column", "levels": "small pictures by column", "all": "all rows"}
    return pick(place, "coefficients-view", names)


def error_parts(shown: pd.DataFrame, unit: forest.DisplayUnit) -> None:
    """Draw what the bands are made of, apart, for the rows and in the unit that are shown."""
    apart = figures.parts(shown, unit)
    with st.expander("What the bands are made of", icon=":material/stacked_bar_chart:"):
        if apart is not None:
            alt = "Standard errors from the privacy noise, from sampling and from truncation, apart"
            picture(apart, "parts", alt)
        st.markdown("\n".join(f"- {plain(sentence)}" for sentence in coefficient_words(shown, unit)))
        st.caption(parts_words(shown, unit))


def retrieved(release: Release) -> None:
    """Draw the budget that came back."""
    st.header("Retrieved budget")
    show_retrieved(release.facts, release.parameters.get("retrieved") == "recycle", "release-retrieved")


def standing(release: Release, record: ReleaseRecord) -> None:
    """Draw whether the figures may leave.

    Args:
        release: that is shown.
        record: the same in plain fields.
    """
    nobody, mu = unprotected_words(release.guarantee.person.mu), release.guarantee.mu
    alarm = plain(disagreement_of(record))
    if release.standing is ReleaseStatus.SOUND and nobody:
        st.warning(f"{badge(Label.RELEASED)} {nobody} {alarm}".strip(), icon=":material/warning:")
    elif release.standing is ReleaseStatus.SOUND and alarm:  # one box: whether figures may leave, and are of use
        words = f"{badge(Label.RELEASED)} These figures may be published as far as privacy goes. {alarm}"
        st.warning(words, icon=":material/warning:")
    elif release.standing is ReleaseStatus.SOUND:
        st.success(f"{badge(Label.RELEASED)} These figures may be published.", icon=":material/verified_user:")
    else:
        reasons = "; ".join(release.standing_reasons)
        more = _counted(release), nobody if mu else "", alarm
        words = f"{badge(Label.LAB)} A lab figure, not a release: {plain(reasons)}. {' '.join(filter(None, more))}"
        st.warning(words, icon=":material/science:")


def _counted(release: Release) -> str:
    """Say who counts what a lab figure spent."""
    studied = session().studied and not is_of_other_table(session().next_request)
    if release.guarantee.mu == 0 or studied:  # rows that anybody may study have no budget to keep
        return ""
    if filed(release).entry is not None:
        return "What it spent is in the ledger all the same."
    return f"Add its mu of {said(release.guarantee.person.mu)} yourself to what was spent on these rows before."


def about(release: Release, record: ReleaseRecord) -> None:
    """Draw the single figures of a release, its guarantee and how strong it is, and the ways on.

    Args:
        release: that is shown.
        record: the same in plain fields.
    """
    st.page_link("pages/work/report.py", label="Next: Report", icon=":material/arrow_forward:")
    st.markdown(f"**{plain(release.title)}**")
    rows = "" if release.public_rows is None else f", {count(release.public_rows)} public rows"
    unit = release.guarantee.unit
    whose = f"n = {count(release.n)}" if not unit.column else private_words(release.n, unit)
    lines = [unbroken(f"{whose}{rows}"), *(f"{name}: {value}" for name, value in figures.results(release).items())]
    if release.guarantee.mu > 0:
        lines.append(truncation_of(record))
    st.markdown("\n".join(f"- {line}" for line in lines))
    if release.guarantee.mu > 0:
        strength_line(release.guarantee.person.mu)
        account = filed(release).account
        total = 0.0 if account is None else account.spent
        if total > release.guarantee.person.mu:
            st.markdown(unbroken(f"All releases of this data set: mu = {said(total)}. {strength(total).sentence}"))
    with st.expander("The guarantee", icon=":material/shield:"):
        st.markdown(f"{plain(guarantee_line(release.guarantee, tables=False))}. {plain(release.guarantee.words)}")
        deployments(release.guarantee.person.mu)
    if st.button(**control("release-new")):
        session().begin_request()
        st.rerun()


def free(release: Release) -> None:
    """Draw what came out beside the coefficients at no further cost."""
    kind = label(release)
    if "ridge_path" in release.released:
        st.header("Ridge path")
        lam = st.select_slider(**control("ridge-lam"), options=figures.penalties(release), format_func=said)
        alt = "Standardized coefficients along the ridge path"
        table = figures.ridge_path_table(release)
        chart(
            figures.ridge_path(release, lam), "ridge-path", alt, table, label=kind, words=figures.ridge_words(release)
        )
        at = figures.at_penalty(release, lam)
        frame(at, f"Coefficients at penalty {lam:g}")
    if "moment" in release.released:
        st.header("Second moment")
        alt = "Released second moment, entries over the root of their diagonals"
        figure, table = figures.moment(release), figures.moment_table(release)
        chart(figure, "moment", alt, table, label=kind, words=figures.moment_words(release))


def downloads(release: Release, request: Request) -> None:
    """Draw downloads of record, coefficients, configuration and report, and how to ask for the same again."""
    st.header("Take it with you")
    as_filed = filed(release)
    for at, file in enumerate(release_files(release, request.as_dict(), as_filed)):
        if at % 4 == 0:
            columns = st.columns(4)
        columns[at % 4].download_button(
            file.label, file.make, file.name, file.media_type, on_click="ignore", width="stretch"
        )
    with st.expander("The same on the command line", icon=":material/terminal:"):
        st.code(reproduce.command(as_filed.record), language="bash", wrap_lines=True)
        if first := reproduce.cap_command(as_filed.record):
            st.caption("A ledger that is new asks for a cap first:")
            st.code(first, language="bash", wrap_lines=True)
        st.caption("With the configuration saved as request.json. It draws new noise and spends again.")


def filed(release: Release) -> FiledRelease:
    """Return the release on screen as the ledger has it."""
    id = session().next_request
    return filed_release(id, release, session().titles.get(id, ""))


def earlier() -> None:
    """Draw the releases of this session."""
    spent = session().spent
    if not spent:
        return
    with st.expander(f"Releases from this table, in this session ({len(spent)})", icon=":material/history:"):
        table = figures.releases_table(spent)
        st.dataframe(table, hide_index=True, width="stretch", alt="Releases of this session", key="earlier")
        total = compose(release.guarantee.person.mu for release in spent)
        st.markdown(
            f"Together mu = {total:.4g}: releases from one table add up as the root of the sum of their squared mu."
        )
