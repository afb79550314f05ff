"""Audit: claims of all methods, lower bounds from attacks on them, and planted faults."""

import streamlit as st
from pandas import DataFrame

from pages.elements import actors
from pages.elements.controls import control
from pages.elements.live import progress, redrawn, work
from pages.elements.session import current_problem
from pages.elements.widgets import badge, chart, errors_shown, frame, number, picture
from pmtcore.auditing import attacks
from pmtcore.auditing.audits import TRIALS, AuditRecord, Sweep, latest_record, store_record
from pmtcore.auditing.faults import FAULTS, wrong_shape
from pmtcore.auditing.lower_bound import CONFIDENCE, Audit, audit
from pmtcore.base.labels import Label
from pmtcore.base.messages import InputError, PageWords
from pmtcore.base.numbers import percent
from pmtcore.methods.registry import method, methods, recommended_method
from pmtcore.papers.errata import ERRATA, words
from pmtcore.releases import job_slots
from pmtcore.report.figures import audit as figures
from pmtcore.report.names import option, source, title

KEY, SWEEP = "audit-record", "audit-sweep"
REDRAW_SECONDS = 0.3


def record() -> AuditRecord:
    """Return the stored results, replaced by those of this session."""
    if KEY not in st.session_state:
        st.session_state[KEY] = latest_record() or AuditRecord("never", {})
    current: AuditRecord = st.session_state[KEY]
    return current


def keep(audits: dict[str, Audit], computed: str) -> None:
    """Add results to the table."""
    st.session_state[KEY] = AuditRecord(computed, {**record().audits, **audits})


def sweep() -> None:
    """Draw the button that audits everything, or the running audit."""
    if SWEEP in st.session_state:
        redrawn(draw_progress, REDRAW_SECONDS)
    elif st.button(**control("audit-all")):
        with errors_shown():
            made = Sweep()
            job_slots.acquire(made, actors.claimant())
            st.session_state[SWEEP] = made
            st.rerun()


def draw_progress() -> bool:
    """Draw progress and Stop, and audit for a moment; return whether work is left."""
    run: Sweep | None = st.session_state.get(SWEEP)
    if run is None:
        return False
    words = f"{run.share:.0%} done{f', now {run.next}' if run.live else ''}"
    progress(run.share, words, "audit-stop", run.stop)
    work(run.step, REDRAW_SECONDS)
    job_slots.note(run, run.live)
    if not run.live:
        made = run.record()
        keep(made.audits, made.computed)
        if not run.stopped:
            store_record(record())
        del st.session_state[SWEEP]
    return run.live


def overview() -> None:
    """Draw all results as a picture and a table."""
    current = record()
    st.markdown(
        f"{badge(Label.LAB)} **{figures.tally(current.audits)}** Claimed mu = 1; {TRIALS:,} runs of each, bounds at "
        f"{percent(CONFIDENCE)} confidence; last computed: {current.computed}."
    )
    picture(figures.overview(current.audits), "audit-overview", "Lower bounds of all attacks as shares of the claim")
    frame(figures.overview_table(current.audits), "Audit of every method and planted fault")
    st.caption(PageWords.AUDIT_COLUMNS.sentence())
    with st.expander("One method or fault in detail", icon=":material/search:"):
        ids = [*(entry.id for entry in methods()), *FAULTS]
        id = st.selectbox(**control("audit-detail"), options=ids, format_func=_audit_title)
        details(id, current.audits.get(id))


def _audit_title(id: str) -> str:
    return FAULTS[id].words if id in FAULTS else option(id)


def details(id: str, result: Audit | None) -> None:
    """Draw the claim of a method, or a planted fault, and the attack on it."""
    if id in FAULTS:
        st.markdown(f"Planted: {FAULTS[id].words}. The audit must find it.")
    else:
        entry = method(id)
        st.markdown(f"{entry.summary} Source: {source(id)}. {entry.standing.value}: {entry.claim.reason}.")
        if entry.origin.errata:
            st.caption(words(entry.origin.errata))
    if result is not None:
        tested(result, f"audit-{id}")


def tested(result: Audit, key: str) -> None:
    """Draw the test of an audit."""
    alt = "The audit's test against the claim's curve"
    words = f"Tables: {result.pair}. Lower bound at {percent(result.confidence)} confidence, {result.trials:,} runs."
    chart(figures.points(result), key, alt, figures.table([result]), label=Label.LAB, words=words)


def _first(ids: list[str]) -> int:
    """Return the position of the recommended method of the open tables; 0 without one."""
    try:
        return ids.index(recommended_method(current_problem().public).id)
    except (InputError, ValueError):
        return 0


def audit_one() -> None:
    """Draw the form that audits one method, and its result."""
    st.header("Audit one method")
    ids = [entry.id for entry in methods() if entry.role != "reference"]
    left, right = st.columns(2)
    id = left.selectbox(**control("audit-method"), options=ids, index=_first(ids), format_func=option)
    mu = number(right, "audit-mu", 0.1, 10.0, start=1.0)
    if st.button(**control("audit-run")):
        with st.spinner(f"{TRIALS:,} runs on two tables built to be told apart", show_time=True):
            st.session_state["audit-found"] = audit(id, float(mu), TRIALS)
    result = st.session_state.get("audit-found")
    if result is not None:
        (st.error if result.violated else st.success)(f"{title(result.method)}: {result.verdict}.")
        tested(result, "audit")


def published() -> None:
    """Draw attacks on steps of papers C and D as printed, and on the sound methods."""
    st.header("Attacks on published steps")
    st.markdown(PageWords.PUBLISHED_STEPS.sentence())
    if st.button(**control("audit-printed")):
        sentences = []
        for shape, name in ((1.0, "Noise of length Gamma(1), as printed (E8)"), (None, "Noise of length Gamma(d)")):
            claim, bound = wrong_shape(100_000, shape=shape)
            sentence = f"{name}: epsilon is at least {bound:.3g} where {claim:.3g} was claimed."
            sentences.append((bound > claim, sentence))
        with st.spinner("Each step on two tables, and the same on ours", show_time=True):
            results = [attacks.symbol(), attacks.symbol(printed=False)]
            for id in attacks.ATTACKS:
                results += [attacks.attack(id, how) for how in ("published", *attacks.SOUND)]
        st.session_state["audit-attacks"] = sentences + [(attack.refutes, attack.sentence) for attack in results]
    for wins, sentence in st.session_state.get("audit-attacks", []):
        (st.error if wins else st.success)(sentence)


def errata() -> None:
    """Draw the papers' errata."""
    st.header("Errata of the papers")
    # Not a data frame, whose cells cut sentences off.
    with st.container(key="errata"):
        st.table(DataFrame([vars(entry) for entry in ERRATA.values()]).set_index("id"))
    st.caption("Derived in the documentation of this program: Proofs, Errata.")


st.title("Audit")
st.caption(PageWords.WHAT_AUDITS_SHOW.sentence())
with errors_shown():
    overview()
    sweep()
    audit_one()
    published()
    errata()
