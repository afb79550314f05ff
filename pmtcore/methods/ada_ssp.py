"""``ada-ssp``: adaptive sufficient statistics perturbation (Wang 2018), in GDP form.

Three mechanisms of equal budget, calibrated together (proofs/sensitivity.md, 3.6), release the smallest eigenvalue
lambda, the moment and the cross moment of untransformed rows. The first determines the ridge
``max(0, sqrt(d log(2 d^2/eta)) sigma - lambda)``, with which the moment is invertible. Bounds are public: 1.1 times the
longest public row and the largest public response. Neighbours: replace-one.
"""

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri

from pmtcore.accounting.budgets import Budget, Spend
from pmtcore.base.messages import InputError, MethodMessage, Note, ReleaseNote
from pmtcore.base.private_rows import Private, PrivateRows
from pmtcore.base.symmetric import upper_triangle
from pmtcore.mechanisms.grid import SCALE, SLACK, integer_sum, noisy_symmetric, noisy_vector
from pmtcore.mechanisms.integers import gram_and_cross
from pmtcore.mechanisms.noise import NoiseSource, sigma_for
from pmtcore.mechanisms.truncation import calibration_factor, cross_sensitivity, moment_sensitivity
from pmtcore.methods.facts import Facts
from pmtcore.methods.registry import Coefficients, Method, OfPublicData, Origin, StatisticPlan, sound
from pmtcore.methods.two_part.whitened import PmtParameters
from pmtcore.public.moments import PublicData

_BOUND_FACTOR = 1.1  # bounds over the largest public lengths: few private rows exceed them
_EIGENVALUE_ERROR = 20 * 2.0**-53  # backward error of LAPACK's symmetric eigenvalues, for each dimension, with room


@dataclass(frozen=True)
class AdaptivePlan(OfPublicData, StatisticPlan[np.ndarray]):
    """``ada-ssp`` with bounds fixed."""

    radius: float
    response_radius: float
    eta: float
    calibration: str

    @property
    def sigmas(self) -> tuple[float, float, float]:
        """Return the noise on the smallest eigenvalue (sensitivity ``R^2/n``), the moment, the cross moment.

        Proof: proofs/sensitivity.md, 3.6.
        """
        part, factor = self.mu / math.sqrt(3), calibration_factor("three parts", self.calibration)
        return (
            sigma_for(self.radius**2 / self.n, part) * factor,
            sigma_for(moment_sensitivity(self.radius, self.n), part) * factor,
            sigma_for(cross_sensitivity(self.radius, self.response_radius, self.n), part) * factor,
        )

    def measure(self, rows: PrivateRows) -> Private[np.ndarray]:
        """Return sums for moment and cross moment side by side (d, d + 1), integers, private."""
        return integer_sum(rows, lambda x, y: gram_and_cross(x, y, self.radius, self.response_radius))

    def perturb(self, statistic: Private[np.ndarray], source: NoiseSource, trials: int) -> Coefficients:
        """Return released moments and the ridge that follows.

        Guarantee: three Gaussian mechanisms, together mu-GDP under replace-one for the bits that leave; by Weyl's
        inequality replacing a row moves the smallest eigenvalue by at most ``R^2/n`` (proofs/sensitivity.md, 3.6,
        11, 14).
        """
        d, steps = self.public.d, SCALE**2
        unit, cross_unit = self.radius**2 / steps / self.n, self.radius * self.response_radius / steps / self.n
        eigen_sd, moment_sd, cross_sd = self.sigmas
        rounded = (
            1 + _EIGENVALUE_ERROR * d * self.n
        )  # bound on the error of a computed eigenvalue, as a share of 2^30 steps
        smallest = statistic.map(lambda s: np.rint(np.linalg.eigvalsh(s[:, :-1].astype(float))[:1]).astype(np.int64))
        least = noisy_vector(smallest, (1 + SLACK) * rounded * eigen_sd / unit, source, trials)[:, 0] * unit
        gram = noisy_symmetric(
            statistic.map(lambda s: s[:, :-1]), (1 + SLACK) * moment_sd / unit, source, trials, form="isometric"
        )
        cross = noisy_vector(statistic.map(lambda s: s[:, -1]), (1 + SLACK) * cross_sd / cross_unit, source, trials)
        eigen = np.maximum(least - eigen_sd * float(-ndtri(self.eta)), 0.0)
        ridge = np.maximum(math.sqrt(d * math.log(2 * d * d / self.eta)) * moment_sd - eigen, 0.0)
        gram, cross = gram * unit, cross * cross_unit
        coefficients = np.linalg.solve(gram + ridge[:, None, None] * np.eye(d), cross[..., None])[..., 0]
        transcript = np.column_stack([least, upper_triangle(gram), cross])
        return Coefficients(coefficients, Note(ReleaseNote.NO_BANDS), transcript=transcript)

    def parts(self) -> tuple[Spend, ...]:
        """Return the smallest eigenvalue, moment, cross moment, together where they are calibrated together."""
        if self.calibration == "joint":
            return (Spend.gaussian("smallest eigenvalue, moment and cross moment, each over its noise", self.mu, 1.0),)
        eigen_sd, moment_sd, cross_sd = self.sigmas
        cross = cross_sensitivity(self.radius, self.response_radius, self.n)
        return (
            Spend.gaussian("smallest eigenvalue", self.radius**2 / self.n, eigen_sd),
            Spend.gaussian("second moment", moment_sensitivity(self.radius, self.n), moment_sd),
            Spend.gaussian("cross moment", cross, cross_sd),
        )

    def facts(self) -> Facts:
        """Return bounds and noise scales."""
        return Facts(radius=self.radius, noise_sd=self.sigmas[1], more={"response_radius": self.response_radius})


@Method(
    id="ada-ssp",
    title="Adaptive sufficient statistics",
    summary="Noisy moments of untransformed rows with a ridge set from a noisy smallest eigenvalue.",
    origin=Origin("Wang 2018, in GDP form"),
    claim=sound("three Gaussian mechanisms on rows clipped to public bounds", "integers"),
    colour="#44AA99",
)
def _plan(public: PublicData, n: int, budget: Budget, parameters: PmtParameters) -> AdaptivePlan:
    if public.rows is None:
        raise InputError(MethodMessage.BOUNDS_NEED_ROWS, method="ada-ssp")
    longest = float(np.max(np.linalg.norm(public.rows[:, :-1], axis=1)))
    response = float(np.max(np.abs(public.rows[:, -1])))
    return AdaptivePlan(
        public, n, budget.mu, _BOUND_FACTOR * longest, _BOUND_FACTOR * response, parameters.eta, parameters.calibration
    )
