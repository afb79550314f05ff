"""Public rows put into a released moment afterwards: what logistic regressions need, at no further cost.

A record may be released without the public rows, since whoever has it could read them. They are public, and the
released moment does not depend on whether they go along, so they can join it later (proofs/moment.md, 18.4).
"""

import copy
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from pmtcore.accounting.budgets import Budget
from pmtcore.base.messages import ExploreMessage, InputError
from pmtcore.explore.moment import Moment
from pmtcore.methods.joint_moment.method import MomentPlan
from pmtcore.methods.registry import make_parameters, method
from pmtcore.public.moments import PublicData

_METHOD = "joint-moment"


def with_public_rows(moment: Moment, public: PublicData, budget: Budget, parameters: Mapping[str, Any]) -> Moment:
    """Return the same moment, with the models that were looked at, and with public rows in its record.

    Args:
        moment: released from these public data.
        public: the public data of the release.
        budget: of the release.
        parameters: of the release, by name.

    Raises:
        InputError: the public data or the parameters are others than those of the release, or there are no rows.
    """
    entry = method(_METHOD)
    plan = entry.plan(public, moment.record.n, budget, make_parameters(entry, {**parameters, "public_rows": "yes"}))
    if not isinstance(plan, MomentPlan) or plan.rows is None:
        raise InputError(ExploreMessage.NO_PUBLIC_ROWS)
    if plan.derived != moment.record.derived or not np.array_equal(plan.root, moment.record.root):
        raise InputError(ExploreMessage.OTHER_TABLES)
    completed = copy.copy(moment)
    shared = plan.shared()
    # All public rows say what the degrees of freedom are of any regression; a part of them does not.
    freedom = None if shared.m == plan.public.m else moment.record.freedom
    completed.record = replace(moment.record, influence=shared, freedom=freedom)
    vars(completed).pop("state", None)  # cached, with the bands of the record before
    return completed
