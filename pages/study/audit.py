"""Audit: what each method claims, what an attacker found, and faults that are caught."""

from __future__ import annotations

import streamlit as st

from pages.common.widgets import badge, chart, show_error
from pmtcore.base.checks import InputError
from pmtcore.base.records import Label, Standing
from pmtcore.lab import attacks
from pmtcore.lab.audit import audit
from pmtcore.lab.faults import FAULTS, wrong_shape
from pmtcore.methods.registry import method, methods
from pmtcore.show.errata import ERRATA
from pmtcore.show.figures import audit as figures

TRIALS = 10_000


def standings() -> None:
    """Every method with its standing and errata."""
    st.subheader("Standings")
    rows = [
        {
            "method": entry.id,
            "standing": entry.standing.value,
            "why": entry.standing_reason,
            "errata": ", ".join(entry.errata),
            "source": entry.source,
        }
        for entry in methods()
    ]
    st.dataframe(rows, hide_index=True, width="stretch", alt="Methods with standing and errata")
    st.subheader("Errata")
    st.dataframe(
        [vars(entry) for entry in ERRATA.values()], hide_index=True, width="stretch", alt="Errata of the papers"
    )
    st.caption("Derived in docs/maths.md, sections 8, 12 and 15.")


def everything() -> None:
    """All methods in one table."""
    st.subheader("All methods")
    if st.button("Audit every method", key="audit-all", icon=":material/checklist:"):
        found, bar = [], st.progress(0.0)
        entries = methods()
        for at, entry in enumerate(entries, 1):
            found.append(audit(entry.id, 1.0, TRIALS))
            bar.progress(at / len(entries), entry.id)
        st.session_state["audit-table"] = found
    if "audit-table" in st.session_state:
        table = figures.table(st.session_state["audit-table"])
        st.dataframe(table, hide_index=True, width="stretch", alt="Claims and lower bounds of all methods")


def one() -> None:
    """Run one now."""
    st.subheader("Audit a method")
    ids = [entry.id for entry in methods() if entry.id != "non-private"]
    left, right = st.columns(2)
    id = left.selectbox("Method", ids, index=ids.index("joint-pmt"), key="audit-method")
    mu = right.number_input("Claimed mu", 0.1, 10.0, 1.0, format="%g", key="audit-mu")
    if method(id).standing is Standing.LAB:
        st.caption(f"As published; for the lab: {method(id).standing_reason}.")
    if st.button("Run", type="primary", key="audit-run", icon=":material/play_arrow:"):
        with st.spinner(f"{TRIALS:,} runs on two tables built to be told apart", show_time=True):
            st.session_state["audit-found"] = audit(id, float(mu), TRIALS)
    found = st.session_state.get("audit-found")
    if found is not None:
        (st.error if found.violated else st.success)(f"{found.method}: {found.verdict}.")
        st.markdown(f"{badge(Label.PUBLIC)} Tables: {found.pair}. Lower bound at {found.confidence:.0%} confidence.")
        chart(
            figures.points(found),
            "audit",
            "The audit's test against the claim's curve",
            figures.table([found]),
            Label.PUBLIC,
        )


def planted() -> None:
    """Faults that the audit catches."""
    st.subheader("Faults, and the attacker who wins")
    id = st.selectbox("Planted fault", list(FAULTS), format_func=lambda id: FAULTS[id].words, key="audit-fault")
    if st.button("Attack it", key="audit-attack", icon=":material/bug_report:"):
        found = FAULTS[id].run(1.0, TRIALS)
        (st.error if found.violated else st.success)(f"{FAULTS[id].words}: {found.verdict}.")
        chart(
            figures.points(found),
            "fault",
            "The attacker's test against the claim",
            figures.table([found]),
            Label.PUBLIC,
        )


def published() -> None:
    """Paper C's symbol and noise, paper D's selection and iterated weights, and the same attacks on ours."""
    st.subheader("Published steps, attacked")
    if st.button("Run the attacks (E5, E8, E11, E12)", key="audit-printed", icon=":material/bug_report:"):
        for shape, words in ((1.0, "Noise of length Gamma(1), as printed (E8)"), (None, "Noise of length Gamma(d)")):
            claim, bound = wrong_shape(100_000, shape=shape)
            sentence = f"{words}: epsilon is at least {bound:.3g} where {claim:.3g} was claimed."
            (st.error if bound > claim else st.success)(sentence)
        with st.spinner("Each step on two tables, and the same on ours", show_time=True):
            found = [attacks.symbol(), attacks.symbol(printed=False)]
            for id in attacks.ATTACKS:
                found += [attacks.attack(id, how) for how in ("published", *attacks.SOUND)]
        for attack in found:
            (st.error if attack.wins else st.success)(attack.sentence)


st.title("Audit")
st.markdown(
    "A guarantee is a proof; an audit is an attack that could have refuted it. Two neighbouring tables are built to be "
    "told apart as well as possible, and the errors of the best test found bound the privacy from below."
)
try:
    one()
    everything()
    planted()
    published()
    standings()
except InputError as error:
    show_error(error)
