"""``dp-ols``, ``dp-ridge``: private rows only, as published (lab), and with the public trace (sound).

B, Algorithm 4 and A, Theorem 4.3 with Remark 4.4: ``R^2 = tr(S) + d log(2n/eta)`` (A: ``n/eta``),
``Ry^2 = sigma^2 + log(2n/eta)``, noise ``2 R^2/(mu n)`` and ``2 R Ry/(mu n)`` on untransformed rows. As
published, ``S`` and ``sigma`` are the *private* ones, so radius and noise depend on the data and what runs is
not private (E4): for the lab. The sound variants take both from the public data. Remark 4.4's ``sigma_2``
lacks ``2/mu``; the printed form can be chosen in the lab. Theorem 4.3 itself takes ``tr(S)`` and ``||beta||`` as known:
declared to ``dp-ridge-public``, they give its bounds ``R`` and ``R ||beta||``.

Neighbours: replace-one.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, final

import numpy as np

from pmtcore.accounting.budgets import Budget, Neighbours
from pmtcore.accounting.spends import Spend
from pmtcore.base.records import Curator, Private, PrivateRows, ReleaseStatus
from pmtcore.mechanisms.noise import NoiseSource
from pmtcore.mechanisms.truncation import trace_radius
from pmtcore.methods.registry import Method, Outcome, Plan, parameter, register
from pmtcore.methods.two_part.statistics import Coordinates, TwoPartPlan
from pmtcore.methods.two_part.whitened import PmtParameters, PmtRidgeParameters
from pmtcore.public.moments import PublicData, private_joint_moment

_LAB = Curator("radius from private rows, as published (E4): lab only")


@dataclass(frozen=True, kw_only=True)
class PublishedRidgeParameters(PmtRidgeParameters):
    """Public parameters of ``dp-ridge`` as published."""

    response_noise: str = parameter(
        "repaired",
        label="Noise on the cross moment",
        help="repaired: 2 R Ry/(mu n); printed: R Ry/n, as Remark 4.4 prints it.",
        choices=("repaired", "printed"),
    )


@dataclass(frozen=True, kw_only=True)
class PublicRidgeParameters(PmtRidgeParameters):
    """Public parameters of ``dp-ridge-public``."""

    trace: float = parameter(
        0.0,
        label="Known trace of the second moment (0: from public rows)",
        help="As Theorem 4.3 of paper A takes it; a declared number, never one of private rows.",
        low=0.0,
        high=1e12,
    )
    length: float = parameter(
        0.0,
        label="Known length of the coefficients (0: from public rows)",
        help="Responses are truncated to radius times length (A, Theorem 4.3); declared as well.",
        low=0.0,
        high=1e12,
    )


def _two_part(
    public: PublicData, n: int, mu: float, parameters: PmtParameters, moment: np.ndarray, halve_eta: bool
) -> TwoPartPlan:
    """The plan for a joint moment (d + 1, d + 1), public or (in the lab) private."""
    eta = parameters.eta * (2 if halve_eta else 1)  # trace_radius has log(2n/eta); A has log(n/eta)
    known, length = getattr(parameters, "trace", 0.0), getattr(parameters, "length", 0.0)
    radius = trace_radius(known or float(np.trace(moment[:-1, :-1])), public.d, n, eta)
    response = radius * length or trace_radius(float(moment[-1, -1]), 1, n, eta)
    coordinates = Coordinates(np.eye(public.d), 1.0, radius, response)
    printed = getattr(parameters, "response_noise", "repaired") == "printed"
    factor = mu / math.sqrt(2) / 2 if printed else 1.0
    penalty = getattr(parameters, "lam", 0.0) * np.eye(public.d)
    return TwoPartPlan(public, n, mu, coordinates, penalty, factor, parameters.calibration)


@final
@dataclass(frozen=True)
class AsPublished(Plan):
    """The private trace decides the radius: not private, whatever the noise."""

    public: PublicData
    n: int
    mu: float
    parameters: PmtParameters
    from_a: bool

    def measure(self, rows: PrivateRows) -> Private[tuple[TwoPartPlan, np.ndarray]]:
        """The plan that the private trace makes, and its statistic."""
        moment = private_joint_moment(rows).reveal(_LAB) / self.n
        published = replace(self.parameters, calibration="papers")
        inner = _two_part(self.public, self.n, self.mu, published, moment, self.from_a)
        return inner.measure(rows).map(lambda statistic: (inner, statistic))

    def parts(self) -> tuple[Spend, ...]:
        """None: the private radius is released without noise (E4)."""
        return ()

    def perturb(self, statistic: Private[tuple[TwoPartPlan, np.ndarray]], source: NoiseSource, trials: int) -> Outcome:
        """Guarantee: none. The claim is mu-GDP; the radius leaks (E4)."""
        inner, _ = statistic.reveal(_LAB)
        return inner.perturb(statistic.map(lambda pair: pair[1]), source, trials)


def _published(from_a: bool) -> Callable[[PublicData, int, Budget, PmtParameters], Plan]:
    return lambda public, n, budget, parameters: AsPublished(public, n, budget.mu, parameters, from_a)


def _sound(from_a: bool) -> Callable[[PublicData, int, Budget, PmtParameters], Plan]:
    return lambda public, n, budget, parameters: _two_part(public, n, budget.mu, parameters, public.moment, from_a)


_LAB_COMMON: dict[str, Any] = {
    "task": "linear",
    "neighbours": Neighbours.REPLACE_ONE,
    "standing": ReleaseStatus.LAB,
    "standing_reason": "the radius and the noise scale are computed from private rows without noise (E4)",
    "errata": ("E4", "E23"),
}
_SOUND_COMMON: dict[str, Any] = {
    "task": "linear",
    "neighbours": Neighbours.REPLACE_ONE,
    "standing": ReleaseStatus.SOUND,
    "standing_reason": "the published method with trace and response scale taken from public data",
    "errata": (),
    "exact": True,
}

register(
    Method(
        id="dp-ols",
        paper_names=("DP-OLS", "DP-OLSE"),
        title="Private rows only, least squares (as published)",
        summary="Noisy moments of untransformed rows; the baseline of paper B.",
        source="B, Algorithm 4",
        parameters=PmtParameters,
        plan=_published(from_a=False),
        colour="#999999",
        **_LAB_COMMON,
    )
)
register(
    Method(
        id="dp-ridge",
        paper_names=("DP-RR",),
        title="Private rows only, ridge (as published)",
        summary="Noisy moments of untransformed rows with a penalty; the baseline of paper A.",
        source="A, Theorem 4.3 with Remark 4.4",
        parameters=PublishedRidgeParameters,
        plan=_published(from_a=True),
        colour="#777777",
        **_LAB_COMMON,
    )
)
register(
    Method(
        id="dp-ols-public",
        title="Untransformed least squares, public radius",
        summary="Noisy moments of untransformed rows; only the radius is public.",
        source="B, Algorithm 4, repaired",
        parameters=PmtParameters,
        plan=_sound(from_a=False),
        colour="#E69F00",
        **_SOUND_COMMON,
    )
)
register(
    Method(
        id="dp-ridge-public",
        paper_names=("DP-RR, Theorem 4.3",),
        title="Untransformed ridge, public radius",
        summary="Noisy moments of untransformed rows with a penalty; only the radius is public.",
        source="A, Theorem 4.3",
        parameters=PublicRidgeParameters,
        plan=_sound(from_a=True),
        colour="#B8860B",
        **_SOUND_COMMON,
    )
)
