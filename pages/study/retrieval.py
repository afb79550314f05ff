"""Retrieved budget: planned, spent on noise and on the Jacobian, and retrieved; and selection under noise."""

import streamlit as st

from pages.elements.controls import control, pick, segments
from pages.elements.retrieved import open_table
from pages.elements.session import curator, session
from pages.elements.widgets import badge, chart, curator_may_show, errors_shown, figure_first
from pmtcore.accounting.perturbed import BudgetSplit
from pmtcore.auditing.comparison import grid
from pmtcore.base.labels import Label
from pmtcore.base.messages import PageWords
from pmtcore.base.numbers import rounded as said
from pmtcore.base.private_rows import Curator
from pmtcore.methods.perturbed.napp_public import FAMILIES
from pmtcore.papers.figures import retrieval as figures
from pmtcore.papers.gallery.selection import SelectionStudy, study, study_table
from pmtcore.papers.gallery.series import LAMS
from pmtcore.releases.retrieval import CHOICES, RELATIONS, TITLES, RetrievalPlan
from pmtcore.report.glossary import help_for
from pmtcore.tables.problem import Problem

_FACTORS = [0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0]
_DELTAS = {"pure: delta = 0": 0.0, "delta = 1e-6": 1e-6, "delta = 1e-4": 1e-4, "delta = 1e-3": 1e-3}


def ask() -> tuple[RetrievalPlan, float]:
    """Draw the inputs of a plan; return it, and the modulus in units of Lambda0."""
    a, b, c = st.columns(3)
    loss = pick(a, "retrieval-loss", TITLES)
    relation = pick(b, "retrieval-relation", list(RELATIONS))
    kind = pick(c, "retrieval-delta", list(_DELTAS))
    a, b, c = st.columns(3)
    epsilon = a.slider(**control("retrieval-epsilon"), min_value=0.1, max_value=10.0, value=1.0)
    share = b.slider(**control("retrieval-share"), min_value=0.1, max_value=0.9, value=0.5)
    factor = c.select_slider(**control("retrieval-modulus"), options=_FACTORS, value=10.0)
    choice = segments("retrieval-choice", list(CHOICES), "recycle")
    plan = RetrievalPlan(loss, float(epsilon), _DELTAS[kind], relation, float(share), choice)
    return plan, float(factor)


def numbers(plan: RetrievalPlan, split: BudgetSplit) -> None:
    """Draw the parts of epsilon, and the guarantee in words and converted."""
    recycled = split.retrieved if split.choice == "recycle" else 0.0
    back = {"recycle": "Example: retrieved, used for smaller noise", "return": "Example: retrieved, returned"}
    parts = (
        ("Example: spent on noise", split.noise_epsilon - recycled, ""),
        ("Example: spent on the Jacobian", split.jacobian_epsilon, "jacobian"),
        (back.get(split.choice, "Example: retrieved"), split.retrieved, "retrieved"),
        ("Example: guarantee", split.promise.epsilon, "epsilon"),
    )
    for column, (name, value, term) in zip(st.columns(4), parts, strict=True):
        column.metric(name, f"ε {said(value)}", help=help_for(term) if term else None)
    st.markdown(f"{badge(Label.PUBLIC)} **{split.promise.words}.** {plan.conversion(split.promise)}")


def pictures(plan: RetrievalPlan, factor: float) -> None:
    """Draw the parts along Lambda, and along epsilon."""
    left, right = st.columns(2)
    factors, splits = plan.over_moduli([plan.least * f for f in grid(0.03, 300.0, 40)])
    relative = [at / plan.least for at in factors]
    with left:
        alt = f"Parts of epsilon by Lambda, {plan.relation}"
        words = "More curvature: the Jacobian costs less, more comes back."
        drawn = figures.parts(relative, splits, "Lambda/Lambda0")
        table = figures.table("Lambda/Lambda0", relative, splits)
        chart(drawn, "retrieval", alt, table, label=Label.PUBLIC, words=words)
    epsilons, over = plan.over_epsilon(grid(0.1, 10.0, 30), plan.least * factor)
    with right:
        alt = f"Shares of epsilon by budget, {plan.relation}"
        words = "The same curvature at other budgets, as shares of each."
        drawn = figures.parts(epsilons, over, "planned epsilon", relative=True)
        table = figures.table("planned epsilon", epsilons, over)
        chart(drawn, "retrieval-budgets", alt, table, label=Label.PUBLIC, words=words)


_OWN = "the open table"


def own_table() -> Problem | None:
    """Return the problem of the open tables, if the methods can be used on it."""
    opened = session().problem
    if opened is None or opened.public.rows is None:
        return None
    return opened if opened.public.family.id in FAMILIES else None


def selected(kind: str, epsilon: float, lam: float) -> tuple[SelectionStudy, Label] | None:
    """Return the selections and their label; ``None`` where they may not be shown."""
    if kind != _OWN:
        return study(kind, epsilon, lam), Label.LAB
    opened = own_table()
    if opened is None:
        return None
    public = session().is_study
    if not curator_may_show(public, "On your own rows the selections depend on what no budget covers"):
        return None
    private = study_table(opened, epsilon, lam)
    return private.reveal(Curator("shown on the page Retrieved budget, harmless or curator")), (
        Label.LAB if public else Label.PRIVATE
    )


def selection() -> None:
    """Draw the coefficients that a lasso selects under noise, on synthetic rows or on the open table."""
    st.header("Variable selection: NAPP-ERM, NAPP-VS, NAPP-VS+ (lab)")
    a, b, c = st.columns(3)
    kinds = ["logistic", "linear", "poisson", *([_OWN] if own_table() is not None else [])]
    kind = pick(a, "selection-kind", kinds)
    epsilon = b.slider(**control("selection-epsilon"), min_value=0.2, max_value=5.0, value=1.0)
    lam = c.select_slider(**control("selection-lam"), options=list(LAMS), value=5.0)
    tables = session().tables
    mark = (kind, tables.key if tables and kind == _OWN else "")
    if st.button(**control("selection-run")):
        with st.spinner("Six methods, eight Lambdas, ten noise draws", show_time=True):
            st.session_state["selection"] = (mark, selected(kind, float(epsilon), float(lam)))
    drawn = st.session_state.get("selection")
    if drawn is None or drawn[0] != mark or drawn[1] is None:
        return
    chosen, label = drawn[1]
    if label is Label.PRIVATE and not curator():
        return
    st.markdown(f"{badge(label)} {PageWords.SELECTIONS.sentence()}")
    left, right = st.columns(2)
    with left:
        chart(
            figures.selected(chosen), "selection-kept", "Coefficients kept", figures.selected_table(chosen), label=label
        )
    with right:
        if chosen.roc:
            chart(figures.roc(chosen), "selection-roc", "ROC of selection", figures.roc_table(chosen), label=label)
        else:
            alt = "Coefficients kept"
            chart(figures.counts(chosen), "selection-counts", alt, figures.counts_table(chosen), label=label)


st.title("Retrieved budget")
st.markdown(PageWords.JACOBIAN_RESERVE.sentence())
with errors_shown():
    if open_table() is not None:
        st.header("An example, at any curvature")
        st.caption("From here on nothing is about the open table: each figure follows from these choices alone.")
    with figure_first("retrieval"):
        planned, at = ask()
        numbers(planned, planned.at(planned.least * at))
        pictures(planned, at)
    st.info(PageWords.RETRIEVED_AS_PUBLISHED.sentence(), icon=":material/info:")
    selection()
