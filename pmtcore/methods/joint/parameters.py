"""Public parameters of ``joint-pmt``, in one pass or more."""

from __future__ import annotations

from pmtcore.methods.parameters import Parameters, choice, parameter, penalty, truncation_radius, unset


class JointParameters(Parameters):
    """Public parameters of ``joint-pmt``."""

    radius_mode: str = choice(
        "Radius chosen for",
        accuracy="the smallest predicted error",
        inference="with one pass, a radius so wide that truncation hardly touches error bands, at the price of more "
        "noise; with gradients the same as accuracy, whose bands cover more often",
    )
    radius: float = truncation_radius()
    response_scale: float = unset(
        "Response scale c (0: automatic)",
        "How much the response counts in the radius: larger means less noise on it and more truncation.",
        high=100.0,
    )
    passes: str = parameter(
        "auto",
        "Passes",
        "1: one release of the moment; 2: then a clipped gradient at what it says, with most of the "
        "budget; 3: a further gradient between the two; auto: 3 where public rows are known, else 1.",
        choices=("auto", "1", "2", "3"),
    )
    clip: float = unset(
        "Gradient bound (0: automatic)", "Where the second pass clips gradients, in whitened units.", high=1e6
    )
    shrinkage: str = choice(
        "Small budgets",
        auto="where the noise is large, pull the correction towards the public fit by its known precision",
        none="use the released moment as it is",
    )
    lam: float = penalty(
        "Ridge penalty",
        "Added to the second moment of the features in the units of the table, intercept excepted. May "
        "be changed after the release at no cost.",
    )
