"""Public parameters of ``joint-pmt``, in one pass or more."""

from __future__ import annotations

from dataclasses import dataclass

from pmtcore.methods.registry import Parameters, parameter


@dataclass(frozen=True, kw_only=True)
class JointParameters(Parameters):
    """Public parameters of ``joint-pmt``."""

    radius_mode: str = parameter(
        "accuracy",
        label="Radius chosen for",
        help="accuracy: the smallest predicted error; inference: a radius so wide that error bands are hardly "
        "touched by truncation, at the price of more noise.",
        choices=("accuracy", "inference"),
    )
    radius: float = parameter(
        0.0, label="Radius (0: automatic)", help="Truncation radius in whitened units.", low=0.0, high=1e6
    )
    response_scale: float = parameter(
        0.0,
        label="Response scale c (0: automatic)",
        help="How much the response counts in the radius: larger means less noise on it and more truncation.",
        low=0.0,
        high=100.0,
    )
    passes: str = parameter(
        "auto",
        label="Passes",
        help="1: one release of the moment; 2: then a clipped gradient at what it says, with most of the budget; 3: a "
        "further gradient between the two; auto: 3 where public rows are known, else 1.",
        choices=("auto", "1", "2", "3"),
    )
    clip: float = parameter(
        0.0,
        label="Gradient bound (0: automatic)",
        help="Where the second pass clips gradients, in whitened units.",
        low=0.0,
        high=1e6,
    )
    shrinkage: str = parameter(
        "auto",
        label="Small budgets",
        help="auto: where the noise is large, pull the correction towards the public fit by its known "
        "precision; none: use the released moment as it is.",
        choices=("auto", "none"),
    )
    lam: float = parameter(
        0.0,
        label="Ridge penalty",
        help="Added to the second moment of the features in the units of the table, intercept excepted. May "
        "be changed after the release at no cost.",
        low=0.0,
        high=1e9,
        log=True,
    )
