"""Plan: what a budget buys, before anything is spent; reads no private row."""

from __future__ import annotations

import streamlit as st

from pages.common.widgets import badge, chart, problem_or_sentence, show_error
from pmtcore.accounting.budgets import Guarantee, Neighbours, reporting_delta
from pmtcore.base.checks import InputError
from pmtcore.base.records import Label
from pmtcore.data.problem import Problem
from pmtcore.lab.comparison import grid
from pmtcore.lab.diagnostics import predicted
from pmtcore.methods.registry import recommended
from pmtcore.releases import planning
from pmtcore.show.figures import planning as figures

ETA = 0.05


def page(problem: Problem) -> None:
    """The whole page."""
    public, n = problem.public, problem.private.n
    ids = planning.plannable(public)
    best = recommended(public).id
    left, right = st.columns(2)
    id = left.selectbox(
        "Method", ids, index=ids.index(best) if best in ids else 0, key=f"plan-method-{public.family.id}"
    )
    shown = [name for name in public.names if name != "(intercept)"] or list(public.names)
    coefficient = right.selectbox("Coefficient", shown, key="plan-coefficient")
    mu = st.slider("Total budget mu", 0.05, 10.0, 1.0, 0.05, key="plan-mu")
    delta = reporting_delta(n)
    epsilon = Guarantee(mu, Neighbours.REPLACE_ONE, delta).epsilon
    st.caption(f"rho = {mu * mu / 2:.3g}, epsilon = {epsilon:.3g} at delta = {delta:g}; replace-one.")
    (here,) = planning.plan(public, n, [mu], [id])
    row = next(r for r in here.rows() if r["coefficient"] == coefficient)
    st.markdown(f"{badge(Label.PUBLIC)} **{planning.verdict(public, n, mu, id)}**")
    a, b, c, d = st.columns(4)
    a.metric("Privacy sd", f"{row['privacy_sd']:.3g}")
    b.metric("Sampling sd", f"{row['sampling_sd']:.3g}")
    c.metric("Truncation sd", f"{row['truncation_sd']:.3g}")
    d.metric("95 % half-width", f"± {row['half_width']:.3g}")
    found = planning.plan(public, n, grid(0.05, 10.0, 25), ids)
    chart(
        figures.widths(found, coefficient),
        "plan",
        f"Predicted half-width of {coefficient} against the budget, all methods",
        figures.table(found),
        Label.PUBLIC,
    )
    spectrum = predicted(public, n, ETA).after
    facts = [] if here.truncation_rate is None else [f"about {100 * here.truncation_rate:.2g} % of the rows truncated"]
    if spectrum is not None:
        facts.append(f"condition number {spectrum.kappa:.3g} to expect after whitening")
    st.caption(
        f"{badge(Label.PUBLIC)} {'; '.join(facts)}. Predictions assume that private rows are like the public ones."
    )
    reverse(problem, id, coefficient, mu, row["half_width"])


def reverse(problem: Problem, id: str, coefficient: str, mu: float, start: float) -> None:
    """This width, which budget? how many rows?"""
    st.subheader("The other way round")
    width = st.number_input(
        f"Wanted 95 % half-width of {coefficient}", 1e-12, 1e12, float(f"{start:.3g}"), format="%g", key="plan-width"
    )
    budget = planning.budget_for(problem.public, problem.private.n, id, coefficient, width)
    rows = planning.rows_for(problem.public, id, mu, coefficient, width)
    if budget is None:
        st.warning(f"With {problem.private.n:,} rows no budget is enough: sampling alone is wider than that.")
    else:
        st.markdown(f"{badge(Label.PUBLIC)} It takes a total of **mu = {budget:.3g}** with {problem.private.n:,} rows,")
    st.markdown("no number of rows is enough." if rows is None else f"or **{rows:,} rows** at mu = {mu:g}.")


st.title("Plan")
st.markdown(
    "What a budget buys, from the public rows and the number of private ones alone: free, before anything is spent."
)
current = problem_or_sentence()
if current is not None:
    try:
        page(current)
    except InputError as error:
        show_error(error)
