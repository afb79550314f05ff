"""``joint-pmt``: the joint whitened release, in one pass or more (proofs/radius.md, 5 to 7)."""

from __future__ import annotations

from pmtcore.accounting.budgets import Budget
from pmtcore.base.messages import InputError, MethodMessage
from pmtcore.methods.joint.parameters import JointParameters
from pmtcore.methods.joint.plan import JointPlan, one_pass, two_passes
from pmtcore.methods.registry import Method, Origin, sound
from pmtcore.public.moments import PublicData
from pmtcore.public.ridge import ridge_regularized_public

_LEAST_BOUND = 1e-6  # below it a bound is a typing error


@Method(
    id="joint-pmt",
    title="Joint whitened release",
    summary="A noisy moment of features and public residual, then a clipped gradient: private rows only correct "
    "the public fit.",
    origin=Origin("beyond A and B"),
    claim=sound("Gaussian mechanisms with tight sensitivities; whatever is computed from them costs no more"),
    colour="#0072B2",
    recommended=True,
)
def plan(public: PublicData, n: int, budget: Budget, parameters: JointParameters) -> JointPlan:
    """``joint-pmt`` for these public data, n private rows and this total budget.

    Raises:
        InputError: more than one pass without public rows; a radius, bound or scale of next to nothing.
    """
    for name in ("radius", "clip", "response_scale"):
        value = getattr(parameters, name)
        if 0 < value < _LEAST_BOUND:
            raise InputError(MethodMessage.TINY_BOUND, name=name, least=_LEAST_BOUND, given=f"{value:g}")
    if parameters.passes in ("2", "3") and public.rows is None:
        raise InputError(MethodMessage.PASSES_NEED_ROWS)
    public = ridge_regularized_public(public)
    if public.rows is not None and parameters.passes != "1":
        return two_passes(public, n, budget, parameters)
    return one_pass(public, n, budget, parameters)
