"""``pmt-moment``, ``pmt-ols``, ``pmt-ridge``: the papers' whitened releases.

* ``pmt-moment`` (B, Algorithm 2; A, Theorem 3.2): ``M = (1/n) sum x~ x~' + G``, ``G ~ SG_d(sigma^2)``,
  ``sigma = 2 R^2/(mu n)``; its inverse by A, Theorem 3.3.
* ``pmt-ols`` (B, Algorithm 3) and ``pmt-ridge`` (A, Algorithm 2): the same and ``(1/n) sum x~ y~ + g``, then
  ``(X~'X~/n + lam S_B^{-1} + G)^{-1} (X~'y~/n + g)``, recovered as ``sigma_B S_B^{-1/2} beta~``.

Rows are rounded to integers and noise is discrete Gaussian. Whitening uses the symmetric root, since ``SG_d`` is not
rotation invariant. Radius ``R^2 = d (1 + log(2n/eta))``. Neighbours: replace-one. Public: ``S_B``, ``sigma_B``, n.
The budget is a total: the papers' ``mu`` is ``mu/sqrt(2)`` here. Departure by default (``calibration=joint``): noise is
0.75 of the printed one for ``pmt-ols`` and ``pmt-ridge`` and 0.707 for ``pmt-moment``, which is proved to be enough
(proofs/sensitivity.md, 3.1 and 3.5); ``calibration=papers`` has the printed noise.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from pmtcore.accounting.budgets import Budget, Spend
from pmtcore.base.messages import Note, ReleaseNote
from pmtcore.base.private_rows import Private, PrivateRows
from pmtcore.base.strict_json import Json
from pmtcore.glm.families import FAMILIES
from pmtcore.mechanisms.grid import SCALE, SLACK, integer_sum, noisy_symmetric
from pmtcore.mechanisms.integers import gram_and_cross
from pmtcore.mechanisms.noise import NoiseSource, sigma_for
from pmtcore.mechanisms.truncation import (
    calibration_factor,
    moment_sensitivity,
    papers_moment_sensitivity,
    papers_radius,
)
from pmtcore.mechanisms.whitening import row_products
from pmtcore.methods.facts import Facts
from pmtcore.methods.parameters import Parameters, choice, failure_probability, penalty
from pmtcore.methods.registry import Method, OfPublicData, Origin, StatisticOutcome, StatisticPlan, sound
from pmtcore.methods.two_part.statistics import Coordinates, TwoPartPlan, predicted_truncation
from pmtcore.public.moments import PublicData, conditioning

_TRUNCATED = sound("Gaussian mechanisms on rows truncated to a public radius", "integers")


class PmtParameters(Parameters):
    """Public parameters of the whitened releases."""

    calibration: str = choice(
        "Calibration",
        joint="the parts of the release together, by what one row can move of all of them (0.7 to 0.75 of the noise)",
        papers="each part by itself, as published: more noise at the same budget",
    )

    eta: float = failure_probability("Sets the radius: smaller eta, wider ball, more noise.")


class PmtRidgeParameters(PmtParameters):
    """Public parameters of ``pmt-ridge``."""

    lam: float = penalty(
        "Ridge penalty",
        "Added to the second moment of the features in the units of the table, the intercept included, "
        "as the paper has it.",
    )


class PmtMomentParameters(PmtParameters):
    """Public parameters of ``pmt-moment``."""

    lam: float = penalty(
        "Penalty of the inverse",
        "The inverse of the moment plus lam I (A, Theorem 3.3): added to the release, at no cost.",
    )


@Method(
    id="pmt-ols",
    title="Whitened least squares",
    summary="Least squares from a noisy whitened moment and a noisy whitened cross moment.",
    origin=Origin("B, Algorithm 3", names=("DP-PMTOLS", "DP-PMTOLSE")),
    claim=_TRUNCATED,
    colour="#CC79A7",
    whitens=True,
)
def _two_part(
    public: PublicData, n: int, budget: Budget, parameters: PmtParameters, *, lam: float = 0.0
) -> TwoPartPlan:
    _, inverse_root = public.symmetric_root
    radius, response_radius = papers_radius(public.d, n, parameters.eta), papers_radius(1, n, parameters.eta)
    coordinates = Coordinates(inverse_root, public.response_scale, radius, response_radius)
    penalty_matrix = lam * inverse_root @ inverse_root.T
    return TwoPartPlan(public, n, budget.mu, coordinates, penalty_matrix, calibration=parameters.calibration)


@Method(
    id="pmt-ridge",
    title="Whitened ridge",
    summary="Ridge regression from a noisy whitened moment and a noisy whitened cross moment.",
    origin=Origin("A, Algorithm 2", names=("DP-PMTRR",), errata=("E20",)),
    claim=_TRUNCATED,
    colour="#D55E00",
    at_first=True,
    whitens=True,
)
def _ridge_plan(public: PublicData, n: int, budget: Budget, parameters: PmtRidgeParameters) -> TwoPartPlan:
    return _two_part(public, n, budget, parameters, lam=parameters.lam)


@dataclass(frozen=True)
class PmtMomentPlan(OfPublicData, StatisticPlan[np.ndarray]):
    """``pmt-moment`` with radius and noise fixed."""

    radius: float
    calibration: str
    lam: float = 0.0

    @property
    def sigma(self) -> float:
        """Return ``2 R^2/(mu n)`` (B, Algorithm 2 line 3), or ``sqrt(2) R^2/(mu n)``, which is tight.

        Proof: proofs/sensitivity.md, 3.1.
        """
        papers = sigma_for(papers_moment_sensitivity(self.radius, self.n), self.mu)
        return papers * calibration_factor("moment", self.calibration)

    def measure(self, rows: PrivateRows) -> Private[np.ndarray]:
        """Return the sum of truncated whitened rows' products (d, d), integers in units of ``(R/2^15)^2``, private."""
        _, inverse_root = self.public.symmetric_root

        def block(features: np.ndarray, response: np.ndarray) -> np.ndarray:
            return gram_and_cross(row_products(features, inverse_root), response, self.radius, 1.0)[:, :-1]

        return integer_sum(rows.in_equal_blocks(), block)

    def perturb(self, statistic: Private[np.ndarray], source: NoiseSource, trials: int) -> PmtMomentOutcome:
        """Return released moments.

        Guarantee: mu-GDP under replace-one (B, Theorem 2), for the bits that leave (proofs/noise.md, 14).
        """
        unit = (self.radius / SCALE) ** 2 / self.n
        noisy = noisy_symmetric(statistic, (1 + SLACK) * self.sigma / unit, source, trials, form="papers")
        return PmtMomentOutcome(self, noisy * unit)

    def parts(self) -> tuple[Spend, ...]:
        """Return the spend on the moment."""
        size = moment_sensitivity if self.calibration == "joint" else papers_moment_sensitivity
        return (Spend.gaussian("second moment", size(self.radius, self.n), self.sigma),)

    def facts(self) -> Facts:
        """Return the radius, noise and predicted truncation rate."""
        rate = predicted_truncation(self.public, self.public.symmetric_root[1], self.radius)
        return Facts(radius=self.radius, noise_sd=self.sigma, predicted_truncation_rate=rate)


class PmtMomentOutcome(StatisticOutcome[PmtMomentPlan]):
    """Released second moments in whitened coordinates (trials, d, d)."""

    @property
    def coefficients(self) -> np.ndarray:
        """Return no coefficients: this method estimates a moment."""
        return np.empty((len(self.statistic), 0))

    @property
    def moments(self) -> np.ndarray:
        """Return ``S^{1/2} M S^{1/2}`` (trials, d, d): the moment in the units of the table (A, Theorem 3.3)."""
        root, _ = self.plan.public.symmetric_root
        return np.asarray(root @ self.statistic @ root)

    def released(self) -> Mapping[str, Json]:
        """Return the moment, its inverse where it is positive definite, and condition numbers."""
        spectrum = conditioning(self.statistic[0])
        fields: dict[str, Json] = {
            "names": list(self.plan.public.names),
            "moment": self.moments[0].tolist(),
            "after_whitening": {"lambda_min": spectrum.lambda_min},
        }
        if self.invertible:
            fields["inverse"] = self.inverses[0].tolist()
        if spectrum.lambda_min > 0:
            fields["after_whitening"] = spectrum.as_dict()
        return fields

    @property
    def penalized(self) -> np.ndarray:
        """Return ``M + lam S^{-1}`` (trials, d, d), in whitened coordinates."""
        _, inverse_root = self.plan.public.symmetric_root
        return np.asarray(self.statistic + self.plan.lam * inverse_root @ inverse_root)

    @property
    def inverses(self) -> np.ndarray:
        """Return inverses (trials, d, d) of the table's moment plus ``lam I`` (A, Theorem 3.3)."""
        _, inverse_root = self.plan.public.symmetric_root
        return np.asarray(inverse_root @ np.linalg.inv(self.penalized) @ inverse_root)

    @property
    def invertible(self) -> bool:
        """Return whether the first trial's matrix, its penalty included, is positive definite."""
        return bool(np.linalg.eigvalsh(self.penalized[0])[0] > 0)

    def notes(self) -> tuple[str, ...]:
        """Return a note where the moment cannot be inverted."""
        return () if self.invertible else (Note(ReleaseNote.NO_INVERSE),)


@Method(
    id="pmt-moment",
    title="Whitened second moment",
    summary="The private second moment of the features and its inverse, released in whitened coordinates.",
    origin=Origin(
        "B, Algorithm 2; A, Theorems 3.2 and 3.3",
        names=("DP-PMTSE",),
        also=("PMT truncation", "A, Algorithm 1", "B, Algorithm 1"),
    ),
    claim=_TRUNCATED,
    colour="#882255",
    families=tuple(FAMILIES),
    task="moment",
    gives_coefficients=False,
    needs_labels=False,
    whitens=True,
)
def _moment_plan(public: PublicData, n: int, budget: Budget, parameters: PmtMomentParameters) -> PmtMomentPlan:
    radius = papers_radius(public.d, n, parameters.eta)
    return PmtMomentPlan(public, n, budget.mu, radius, parameters.calibration, parameters.lam)
