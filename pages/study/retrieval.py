"""Retrieved budget: planned, spent on noise, spent on the Jacobian, given back."""

from __future__ import annotations

import streamlit as st

from pages.common.widgets import badge, chart, show_error
from pmtcore.checks import InputError
from pmtcore.experiments import grid
from pmtcore.figures import retrieval as figures
from pmtcore.records import Label
from pmtcore.retrieval import split


def page() -> None:
    """The whole page."""
    a, b, c = st.columns(3)
    epsilon = a.slider("Planned epsilon", 0.1, 10.0, 1.0, 0.1, key="retrieval-epsilon")
    share = b.slider("Share planned for the noise (r)", 0.1, 0.9, 0.5, 0.05, key="retrieval-share")
    factor = c.select_slider(
        "Modulus", [0.01, 0.03, 0.1, 0.3, 1.0, 3.0], 1.0, key="retrieval-modulus", help="1: the Jacobian is free."
    )
    choice = st.segmented_control(
        "Retrieved budget, chosen before a private row is read",
        ["recycle", "return"],
        default="recycle",
        key="retrieval-choice",
        required=True,
    )
    found = split(epsilon, share, float(factor), choice or "recycle")
    columns = st.columns(4)
    for column, (name, value) in zip(
        columns,
        {
            "Spent on noise": found.noise,
            "Spent on the Jacobian": found.jacobian,
            "Retrieved": found.retrieved,
            "Guarantee": found.total,
        }.items(),
        strict=True,
    ):
        column.metric(name, f"ε {value:.3g}")
    factors = grid(0.003, 10.0, 40)
    splits = [split(epsilon, share, x, "recycle") for x in factors]
    st.markdown(
        f"{badge(Label.PUBLIC)} The stronger the public curvature, the less the Jacobian costs; from 1 on it is free."
    )
    chart(
        figures.parts(factors, splits),
        "retrieval",
        "Parts of epsilon by modulus",
        figures.table(factors, splits),
        Label.PUBLIC,
    )
    st.info(
        "As published, the retrieved amount is computed from the private fit, unpaid, with weights that depend on the "
        "data (E10, E12, E13): such a guarantee is none. `napp-public` takes the weights from the public fit, so the "
        "amount is a public number.",
        icon=":material/info:",
    )


st.title("Retrieved budget")
st.markdown(
    "Objective perturbation pays for the noise, and for how much one row can bend the objective (the Jacobian). "
    "What was planned for the second and not needed comes back."
)
try:
    page()
except InputError as error:
    show_error(error)
