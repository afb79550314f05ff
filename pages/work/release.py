"""Release: choose, look at the cost, confirm, release once, download."""

from __future__ import annotations

import streamlit as st

from pages.common import release_parts as parts
from pages.common.session import session
from pages.common.widgets import budget_input, parameter_form, problem_or_stop, show_error
from pmtcore.checks import InputError
from pmtcore.noise import SecureNoise, SeededNoise
from pmtcore.registry import method
from pmtcore.release import Request, preview, release

problem = problem_or_stop()
state = session()
st.title("Release")
done = state.releases.get(state.next_request)
if done is not None:
    parts.show(done, state.requests[state.next_request])
    st.stop()

st.markdown(
    "One figure that leaves costs budget for good. Everything on this page before the button is public and free."
)
parts.import_configuration()
left, right = st.columns([1, 1], gap="large")
try:
    with left:
        st.subheader("Method and budget")
        chosen = parts.method_choice()
        budget, delta = budget_input("release", problem.private.n)
        with st.expander("Parameters", icon=":material/tune:"):
            values = parameter_form(method(chosen), "release")
    request = Request(chosen, budget, values, delta)
    prospect = preview(problem, request)
except InputError as error:
    show_error(error)
    st.stop()
with left:
    parts.cost(prospect)
with right:
    parts.meaning(prospect)
parts.prospects(prospect)

st.subheader("Spend it")
with st.expander("Lab: repeatable noise", icon=":material/science:"):
    seeded = st.toggle("Use a seed", key="release-seeded", help="The result can be repeated, so it is a lab figure.")
    seed = st.number_input("Seed", 0, 2**31, 1, key="release-seed", disabled=not seeded)
sure = st.checkbox(
    f"I spend mu = {prospect.guarantee.mu:.4g} on this table. It cannot be taken back.",
    key=f"sure-{state.next_request}",
)
if st.button(
    "Release", type="primary", disabled=not sure, key=f"go-{state.next_request}", icon=":material/verified_user:"
):
    try:
        if state.next_request not in state.releases:
            source = SeededNoise(int(seed)) if seeded else SecureNoise()
            state.requests[state.next_request] = request
            state.releases[state.next_request] = release(problem, request, source)
        st.rerun()
    except InputError as error:
        show_error(error)
parts.earlier()
