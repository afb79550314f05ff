"""A finished release on the Release page: its figures, their meaning, and downloads."""

from collections.abc import Sequence

import pandas as pd
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from pages.elements import cautions, scripts, widgets
from pages.elements.controls import control, pick
from pages.elements.jobs import FOCUS
from pages.elements.retrieved import show_retrieved
from pages.elements.session import current_problem, prospect, session
from pmtcore.accounting.budgets import compose
from pmtcore.base.escaping import markdown as plain
from pmtcore.base.labels import Label, ReleaseStatus
from pmtcore.base.messages import InputError, PageWords, ReportWords, TableNote, kind_of
from pmtcore.base.numbers import count, unbroken
from pmtcore.base.numbers import rounded as said
from pmtcore.base.release_record import ReleaseRecord
from pmtcore.releases.record import Release
from pmtcore.releases.release import Request
from pmtcore.report import reproduce
from pmtcore.report.downloads import FiledRelease, filed_release, release_files
from pmtcore.report.figures import coefficients as forest
from pmtcore.report.figures import release as figures
from pmtcore.report.rows import MANY_LEVELS, MOST_COLUMNS
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

# Notes on the meaning of a coefficient: its reference level, or a date in days.
_NOTES_ON_READING = (TableNote.REFERENCES, TableNote.DATES, TableNote.SLASHED_DATES)
# Most notes that are not folded: with more, downloads would be too far down.
_MOST_NOTES_UNFOLDED = 3


def is_of_other_table(id: str) -> bool:
    """Return whether the release of this request came from another table than the open one."""
    state = session()
    return state.tables is not None and state.sources[id] != state.tables.private.sha256


def other_table(id: str, choices: Choices) -> None:
    """Draw a note where the release shown came from another table, or from other choices.

    Args:
        id: of its request.
        choices: the current ones.
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
    """Draw a finished release: whether it may be published, its figures, and downloads."""
    record = release.as_dict()
    # After a release its button is gone, so the verdict gets the keyboard focus.
    with st.container(key="verdict"):
        standing(release, record)
        cautions.warn(release.notes)
        if st.session_state.pop(FOCUS, False):
            scripts.run(scripts.TO_VERDICT)
    left, right = st.columns([5, 2], gap="medium")
    with right:
        draw_summary(release, record)
    with left, widgets.figure_first("coefficients"):
        if release.names:
            coefficients(release, on_open_tables(release, request))
    free(release)
    if release.facts.retrieved_epsilon is not None:
        draw_retrieved(release)
    if release.notes:
        few = len(release.notes) <= _MOST_NOTES_UNFOLDED
        with st.expander(f"Notes ({len(release.notes)})", icon=":material/notes:", expanded=few):
            st.markdown("\n".join(f"- {plain(note)}" for note in release.notes))
    downloads(release, request)
    earlier_list()


def label(release: Release) -> Label:
    """Return the kind of the release's figures."""
    return Label.RELEASED if release.standing is ReleaseStatus.SOUND else Label.LAB


def coefficients(release: Release, remarks: Sequence[str] = ()) -> None:
    """Draw all coefficients with bands, in a chosen unit and order.

    Args:
        release: the release.
        remarks: sentences about them from the open tables.
    """
    units = forest.units(release)
    has_many = len(release.names) > MANY_LEVELS
    # All choices are in one line, so that the axis of the picture is on the first screen.
    line = st.container(key="pairs-choices") if has_many else st
    a, b, c, *view_columns = line.columns([5, 3, 2, 4] if has_many else [5, 3, 2], vertical_alignment="bottom")
    id = pick(widgets.below_all(a, "unit"), "coefficients-unit", units, words=lambda id: units[id].short)
    order = pick(
        widgets.below_all(b, "order"), "coefficients-order", forest.ORDERS, "strength" if has_many else "table"
    )
    search = widgets.below_all(c, "search").text_input(**control("coefficients-search")) if has_many else ""
    unit = units[id]
    table = forest.table(release, unit)
    shown = forest.matching_rows(table, unit, search, order)
    ordered = order in ("strength", "size")
    references, freedom = reference_levels(release.notes), forest.least_freedom(release)
    folded = forest.one_row_per_column(shown, unit, order)
    shows_all = len(shown) <= (MOST_COLUMNS if len(folded) == len(shown) else MANY_LEVELS)
    view = "all" if shows_all else views(widgets.below_all(view_columns[0], "view"))
    rows_drawn = folded.head(MOST_COLUMNS) if view == "columns" else shown
    rows = forest.for_all_effects(rows_drawn, unit, freedom)
    # The sentence is about a row of the picture, by the name of its coefficient.
    named = rows.assign(coefficient=rows["effect"]) if "effect" in rows else rows
    spread = dict(zip(release.names, map(float, release.public.spread), strict=False))
    example = example_words(named, unit, references, release.public.zero_one, spread=spread, ordered=ordered)
    parts = release_words(release, unit.step == "spread")
    st.markdown(f"{widgets.badge(label(release))} **{plain(example or parts)}**")
    if len(shown):
        by_prior = forest.star_levels(rows, prior_levels(release.notes))
        figure = forest.multiples(shown, unit, freedom) if view == "levels" else forest.forest(by_prior, unit)
        widgets.picture(
            figure, "coefficients", "Released coefficients with 95 % bands; the table below has the figures"
        )
        if reading_notes := [note for note in release.notes if kind_of(note) in _NOTES_ON_READING]:
            st.caption(plain(" ".join(reading_notes)))
        if list(by_prior["coefficient"]) != list(rows["coefficient"]):
            st.caption(plain(forest.BY_PRIOR))
        if public_words := public_fit_words(table, release.public_rows):
            st.caption(plain(public_words))
        with st.expander("Table", icon=":material/table_rows:"):
            widgets.frame(forest.displayed_table(shown, unit), f"Coefficients: {unit.words}")
            widgets.download_table(forest.displayed_table(shown, unit), "coefficients-shown")
    if example:
        st.markdown(plain(parts))
    picture_notes(release, table, rows_drawn, order, remarks=remarks)
    if release.bands is None:
        st.caption(PageWords.METHOD_WITHOUT_BANDS.sentence())
        return
    error_parts(rows_drawn, unit)
    leaning = leaning_words(table, unit)
    if leaning:
        st.caption(leaning)


def picture_notes(
    release: Release, table: pd.DataFrame, rows_drawn: pd.DataFrame, order: str, *, remarks: Sequence[str]
) -> None:
    """Draw notes below the picture: which coefficients it has, and how bands compare with the plan."""
    sentences = [*remarks]
    if len(rows_drawn) < len(table):
        sentences.append(forest.note(table, rows_drawn))
    if not set(rows_drawn["coefficient"]) <= set(table["coefficient"]):
        sentences.append(ReportWords.PICKED_LEVEL.sentence(picked=forest.picked_by(order)))
    if words := penalty_words(release.facts.penalty, release.facts.prior_sd):
        sentences.append(f"{words} It can be changed on the page Data, among the choices of columns.")
    st.caption("\n".join(f"- {plain(sentence)}" for sentence in sentences if sentence))


def on_open_tables(release: Release, request: Request) -> list[str]:
    """Return sentences on bands against the plan, and on bias by gaps, if the choices are still the current ones."""
    try:
        problem = current_problem()
        if session().chosen.get(session().next_request) != problem.choices:
            return []
        coefficient = str(st.session_state.get("plan-coefficient", ""))
        return [*beside_plan(release, prospect(problem, request), coefficient), cautions.gaps(problem)]
    except InputError:
        return []


def views(place: DeltaGenerator) -> str:
    """Draw the choice of how many coefficients are drawn; return its id."""
    names = {"columns": "one row for each column", "levels": "small pictures by column", "all": "all rows"}
    return pick(place, "coefficients-view", names)


def error_parts(shown: pd.DataFrame, unit: forest.DisplayUnit) -> None:
    """Draw the parts of the bands, for the rows and in the unit shown."""
    parts_figure = figures.parts(shown, unit)
    with st.expander("What the bands are made of", icon=":material/stacked_bar_chart:"):
        if parts_figure is not None:
            alt = "Standard errors from the privacy noise, from sampling and from truncation, apart"
            widgets.picture(parts_figure, "parts", alt)
        st.markdown("\n".join(f"- {plain(sentence)}" for sentence in coefficient_words(shown, unit)))
        st.caption(parts_words(shown, unit))


def draw_retrieved(release: Release) -> None:
    """Draw the retrieved budget of a release."""
    st.header("Retrieved budget")
    show_retrieved(release.facts, release.parameters.get("retrieved") == "recycle", "release-retrieved")


def standing(release: Release, record: ReleaseRecord) -> None:
    """Draw whether the figures may be published.

    Args:
        release: the one shown.
        record: the same in plain fields.
    """
    unprotected, mu = unprotected_words(release.guarantee.person.mu), release.guarantee.mu
    alarm = plain(disagreement_of(record))
    if release.standing is ReleaseStatus.SOUND and unprotected:
        st.warning(f"{widgets.badge(Label.RELEASED)} {unprotected} {alarm}".strip(), icon=":material/warning:")
    elif release.standing is ReleaseStatus.SOUND and alarm:  # one box: whether figures may leave, and are of use
        words = f"{widgets.badge(Label.RELEASED)} These figures may be published as far as privacy goes. {alarm}"
        st.warning(words, icon=":material/warning:")
    elif release.standing is ReleaseStatus.SOUND:
        st.success(f"{widgets.badge(Label.RELEASED)} These figures may be published.", icon=":material/verified_user:")
    else:
        reasons = "; ".join(release.standing_reasons)
        remarks = _counted(release), unprotected if mu else "", alarm
        words = f"A lab figure, not a release: {plain(reasons)}. {' '.join(filter(None, remarks))}"
        st.warning(f"{widgets.badge(Label.LAB)} {words}", icon=":material/science:")


def _counted(release: Release) -> str:
    """Return a sentence on where the spend of a lab figure is counted; empty where it need not be."""
    studied = session().is_study and not is_of_other_table(session().next_request)
    if release.guarantee.mu == 0 or studied:  # rows for study have no budget
        return ""
    if filed(release).entry is not None:
        return "What it spent is in the ledger all the same."
    return f"Add its mu of {said(release.guarantee.person.mu)} yourself to what was spent on these rows before."


def draw_summary(release: Release, record: ReleaseRecord) -> None:
    """Draw the summary figures of a release, its guarantee, and links to the next steps.

    Args:
        release: the one shown.
        record: the same in plain fields.
    """
    st.page_link("pages/work/report.py", label="Next: Report", icon=":material/arrow_forward:")
    st.markdown(f"**{plain(release.title)}**")
    rows = "" if release.public_rows is None else f", {count(release.public_rows)} public rows"
    unit = release.guarantee.unit
    size = f"n = {count(release.n)}" if not unit.column else private_words(release.n, unit)
    lines = [unbroken(f"{size}{rows}"), *(f"{name}: {value}" for name, value in figures.results(release).items())]
    if release.guarantee.mu > 0:
        lines.append(truncation_of(record))
    st.markdown("\n".join(f"- {line}" for line in lines))
    if release.guarantee.mu > 0:
        widgets.strength_line(release.guarantee.person.mu)
        account = filed(release).account
        total = 0.0 if account is None else account.spent
        if total > release.guarantee.person.mu:
            st.markdown(unbroken(f"All releases of this data set: mu = {said(total)}. {strength(total).sentence}"))
    with st.expander("The guarantee", icon=":material/shield:"):
        st.markdown(
            f"{plain(widgets.guarantee_line(release.guarantee, tables=False))}. {plain(release.guarantee.words)}"
        )
        widgets.deployments(release.guarantee.person.mu)
    if st.button(**control("release-new")):
        session().begin_request()
        st.rerun()


def free(release: Release) -> None:
    """Draw the ridge path and the second moment, where they are released too."""
    kind = label(release)
    if "ridge_path" in release.released:
        st.header("Ridge path")
        lam = st.select_slider(**control("ridge-lam"), options=figures.penalties(release), format_func=said)
        alt = "Standardized coefficients along the ridge path"
        table = figures.ridge_path_table(release)
        widgets.chart(
            figures.ridge_path(release, lam), "ridge-path", alt, table, label=kind, words=figures.ridge_words(release)
        )
        at_penalty = figures.at_penalty(release, lam)
        widgets.frame(at_penalty, f"Coefficients at penalty {lam:g}")
    if "moment" in release.released:
        st.header("Second moment")
        alt = "Released second moment, entries over the root of their diagonals"
        figure, table = figures.moment(release), figures.moment_table(release)
        widgets.chart(figure, "moment", alt, table, label=kind, words=figures.moment_words(release))


def downloads(release: Release, request: Request) -> None:
    """Draw downloads of record, coefficients, configuration and report, and the command that repeats the release."""
    st.header("Take it with you")
    as_filed = filed(release)
    for at, file in enumerate(release_files(release, request.as_dict(), as_filed)):
        if at % 4 == 0:
            columns = st.columns(4)
        widgets.download(columns[at % 4], file)
    with st.expander("The same on the command line", icon=":material/terminal:"):
        st.code(reproduce.command(as_filed.record), language="bash", wrap_lines=True)
        if first := reproduce.cap_command(as_filed.record):
            st.caption("A ledger that is new asks for a cap first:")
            st.code(first, language="bash", wrap_lines=True)
        st.caption("With the configuration saved as request.json. It draws new noise and spends again.")


def filed(release: Release) -> FiledRelease:
    """Return the release shown, with its account in the ledger."""
    id = session().next_request
    return filed_release(id, release, session().titles.get(id, ""))


def earlier_list() -> None:
    """Draw the releases of this session."""
    spent = session().spent_releases
    if not spent:
        return
    with st.expander(f"Releases from this table, in this session ({len(spent)})", icon=":material/history:"):
        table = figures.releases_table(spent)
        st.dataframe(table, hide_index=True, width="stretch", alt="Releases of this session", key="earlier")
        total = compose(release.guarantee.person.mu for release in spent)
        st.markdown(
            f"Together mu = {total:.4g}: releases from one table add up as the root of the sum of their squared mu."
        )
