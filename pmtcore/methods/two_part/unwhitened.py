"""``dp-ols``, ``dp-ridge``: private rows only, as published (lab), and with the public trace (sound).

B, Algorithm 4 and A, Theorem 4.3 with Remark 4.4: ``R^2 = tr(S) + d log(2n/eta)`` (A: ``n/eta``), ``Ry^2 = sigma^2 +
log(2n/eta)``, noise ``2 R^2/(mu n)`` and ``2 R Ry/(mu n)`` on untransformed rows. As published, ``S`` and ``sigma``
are the *private* ones, so radius and noise depend on the data and what runs is not private (E4): for the lab. The
sound variants take both from the public data. Remark 4.4's ``sigma_2`` lacks ``2/mu``; the printed form can be chosen
in the lab. Theorem 4.3 itself takes ``tr(S)`` and ``||beta||`` as known: declared to ``dp-ridge-public``, they give
its bounds ``R`` and ``R ||beta||``. Departures by default: noise is 0.75 of the printed one (``calibration=joint``,
proved to be enough; ``papers`` has the printed one), and ``sigma_2`` has its ``2/mu``.

Neighbours: replace-one.
"""

import math

import numpy as np

from pmtcore.accounting.budgets import Budget
from pmtcore.mechanisms.truncation import trace_radius
from pmtcore.methods.as_published import LEAKS, AsPublished
from pmtcore.methods.parameters import choice, unset
from pmtcore.methods.registry import Method, Origin, sound
from pmtcore.methods.two_part.statistics import Coordinates, TwoPartPlan
from pmtcore.methods.two_part.whitened import PmtParameters, PmtRidgeParameters
from pmtcore.public.moments import PublicData

_ETA_OF_A = 2.0  # paper A's radius has log(n/eta), where trace_radius has log(2n/eta)
_PUBLIC_SCALES = sound("the published method with trace and response scale taken from public data", "baselines")


class PublishedRidgeParameters(PmtRidgeParameters):
    """Public parameters of ``dp-ridge`` as published."""

    response_noise: str = choice(
        "Noise on the cross moment", repaired="2 R Ry/(mu n)", printed="R Ry/n, as Remark 4.4 prints it"
    )


class PublicRidgeParameters(PmtRidgeParameters):
    """Public parameters of ``dp-ridge-public``."""

    trace: float = unset(
        "Known trace of the second moment (0: from public rows)",
        "As Theorem 4.3 of paper A takes it; a declared number, never one of private rows.",
    )
    length: float = unset(
        "Known length of the coefficients (0: from public rows)",
        "Responses are truncated to radius times length (A, Theorem 4.3); declared as well.",
    )


def _plan(
    public: PublicData,
    n: int,
    mu: float,
    radii: tuple[float, float],
    *,
    lam: float = 0.0,
    response_noise_factor: float = 1.0,
    calibration: str = "papers",
) -> TwoPartPlan:
    """Return the plan on untransformed rows, with radii of rows and responses."""
    coordinates = Coordinates(np.eye(public.d), 1.0, *radii)
    penalty = lam * np.eye(public.d)
    return TwoPartPlan(public, n, mu, coordinates, penalty, response_noise_factor, calibration)


def _radii(moment: np.ndarray, n: int, eta: float) -> tuple[float, float]:
    """Return ``R`` and ``Ry`` for a joint moment (d + 1, d + 1), public or (in the lab) private: B, Algorithm 4."""
    d = len(moment) - 1
    return trace_radius(float(np.trace(moment[:-1, :-1])), d, n, eta), trace_radius(float(moment[-1, -1]), 1, n, eta)


@Method(
    id="dp-ols",
    title="Private rows only, least squares (as published)",
    summary="Noisy moments of untransformed rows; the baseline of paper B.",
    origin=Origin("B, Algorithm 4", names=("DP-OLS", "DP-OLSE"), errata=("E4",)),
    claim=LEAKS,
    colour="#999999",
)
def _dp_ols(public: PublicData, n: int, budget: Budget, parameters: PmtParameters) -> AsPublished:
    return AsPublished(budget.mu, lambda moment: _plan(public, n, budget.mu, _radii(moment, n, parameters.eta)))


@Method(
    id="dp-ridge",
    title="Private rows only, ridge (as published)",
    summary="Noisy moments of untransformed rows with a penalty; the baseline of paper A.",
    origin=Origin("A, Theorem 4.3 with Remark 4.4", names=("DP-RR",), errata=("E4",)),
    claim=LEAKS,
    colour="#777777",
)
def _dp_ridge(public: PublicData, n: int, budget: Budget, parameters: PublishedRidgeParameters) -> AsPublished:
    factor = budget.mu / math.sqrt(2) / 2 if parameters.response_noise == "printed" else 1.0

    def planner(moment: np.ndarray) -> TwoPartPlan:
        radii = _radii(moment, n, _ETA_OF_A * parameters.eta)
        return _plan(public, n, budget.mu, radii, lam=parameters.lam, response_noise_factor=factor)

    return AsPublished(budget.mu, planner)


@Method(
    id="dp-ols-public",
    title="Untransformed least squares, public radius",
    summary="Noisy moments of untransformed rows; only the radius is public.",
    origin=Origin("B, Algorithm 4, repaired"),
    claim=_PUBLIC_SCALES,
    behind_public_fit=("gaussian",),
    colour="#E69F00",
)
def _dp_ols_public(public: PublicData, n: int, budget: Budget, parameters: PmtParameters) -> TwoPartPlan:
    radii = _radii(public.moment, n, parameters.eta)
    return _plan(public, n, budget.mu, radii, calibration=parameters.calibration)


@Method(
    id="dp-ridge-public",
    title="Untransformed ridge, public radius",
    summary="Noisy moments of untransformed rows with a penalty; only the radius is public.",
    origin=Origin("A, Theorem 4.3", names=("DP-RR, Theorem 4.3",)),
    claim=_PUBLIC_SCALES,
    behind_public_fit=("gaussian",),
    colour="#B8860B",
)
def _dp_ridge_public(public: PublicData, n: int, budget: Budget, parameters: PublicRidgeParameters) -> TwoPartPlan:
    radius, response_radius = _radii(public.moment, n, _ETA_OF_A * parameters.eta)
    if parameters.trace:
        radius = trace_radius(parameters.trace, public.d, n, _ETA_OF_A * parameters.eta)
    if parameters.length:
        response_radius = radius * parameters.length
    radii = radius, response_radius
    return _plan(public, n, budget.mu, radii, lam=parameters.lam, calibration=parameters.calibration)
