"""``joint-pmt``: the joint whitened release, in one pass or two (maths.md, 5 to 7)."""

from __future__ import annotations

from pmtcore.accounting.budgets import Budget, Neighbours
from pmtcore.base.checks import InputError
from pmtcore.base.records import Standing
from pmtcore.methods.joint.parameters import JointParameters
from pmtcore.methods.joint.plan import JointPlan, one_pass, two_passes
from pmtcore.methods.registry import Method, register
from pmtcore.public.moments import PublicData

_LEAST = 1e-6  # below it a bound is a typing error
_SPARE = 5  # public rows above columns, from which on a second pass pays


def plan(public: PublicData, n: int, budget: Budget, parameters: JointParameters) -> JointPlan:
    """``joint-pmt`` for these public data, n private rows and this total budget.

    Raises:
        InputError: two passes without public rows; a radius, bound or scale of next to nothing.
    """
    for name in ("radius", "clip", "response_scale"):
        value = getattr(parameters, name)
        if 0 < value < _LEAST:
            raise InputError(f"{name} must be 0 (automatic) or at least {_LEAST:g}, got {value:g}.")
    if parameters.passes == "2" and public.rows is None:
        raise InputError("Two passes need public rows to choose their bound from; choose passes=1.")
    enough = public.m is not None and public.m >= public.d + _SPARE
    if public.rows is not None and (parameters.passes == "2" or (parameters.passes == "auto" and enough)):
        return two_passes(public, n, budget, parameters)
    return one_pass(public, n, budget, parameters)


register(
    Method(
        id="joint-pmt",
        title="Joint whitened release",
        summary="A noisy moment of features and public residual, then a clipped gradient: private rows only correct "
        "the public fit.",
        task="linear",
        source="beyond A and B",
        neighbours=Neighbours.REPLACE_ONE,
        standing=Standing.SOUND,
        standing_reason="Gaussian mechanisms with tight sensitivities; everything after is post-processing",
        errata=(),
        parameters=JointParameters,
        plan=plan,
        recommended=True,
        exact=True,
        colour="#0072B2",
    )
)
