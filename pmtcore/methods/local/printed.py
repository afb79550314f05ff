"""``ldp-glm-gaussian-printed``, ``ldp-glm-printed``, ``ldp-nlr-gaussian-printed``, ``ldp-nlr-printed``.

C, Algorithms 1 to 4, for the lab, as printed but that responses beyond the bound are clipped to it by default, where
the listing assumes that there are none (``responses=as they are``; E19). A row outside the radius answers with a
symbol (E5), the noise is the classical formula at halves of epsilon and ``delta = n^-1.1`` (E6), the bounded design
is bounded in the l1 norm (E7), and for a regression responses are taken to be at most ``L r + |f(0)| + C``
(Algorithms 3 and 4). Everything else, and what is done about it, is in ``ldp-glm-gaussian``, ``ldp-glm``,
``ldp-nlr-gaussian`` and ``ldp-nlr``.
"""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass

import numpy as np

from pmtcore.accounting.budgets import Budget, Spend, epsilon_from_mu
from pmtcore.base.messages import InputError, MethodMessage
from pmtcore.base.private_rows import Private, PrivateRows
from pmtcore.local import setup
from pmtcore.local.estimators import LINKS
from pmtcore.local.printed import answered_by_symbol, printed_sds
from pmtcore.local.protocol import Configuration
from pmtcore.mechanisms.noise import NoiseSource, release_vector
from pmtcore.methods.facts import Facts
from pmtcore.methods.local.collected import (
    LocalMomentParameters,
    LocalOutcome,
    LocalPlan,
    RegressionParameters,
    algorithm,
)
from pmtcore.methods.parameters import parameter
from pmtcore.methods.registry import Planner, StatisticPlan, lab
from pmtcore.public.moments import PublicData

_DELTA_POWER = 1.1  # of n: delta as paper C takes it
BEYOND = 1024.0  # bound on the grid for unclipped responses: counts up to it are whole numbers of grid steps
CLIPPED = "clipped"
_FEWEST_ROWS = 10  # least n in delta = n^-1.1, which is 1 for the single row of an audit


@dataclass(frozen=True)
class PrintedLocalPlan(StatisticPlan[np.ndarray]):
    """The printed device around the server of the repaired method."""

    repaired: LocalPlan
    mu: float
    symbol: bool
    power: float = _DELTA_POWER

    def with_budget(self, mu: float) -> PrintedLocalPlan:
        """Return the same collection at another budget."""
        return dataclasses.replace(self, repaired=self.repaired.with_budget(mu), mu=mu)

    @property
    def noise_sds(self) -> np.ndarray:
        """Return the noise on each coordinate of one report (dimension,)."""
        delta = max(self.repaired.n, _FEWEST_ROWS) ** -self.power
        return printed_sds(self.repaired.configuration, epsilon_from_mu(self.mu, delta), delta)

    @property
    def answered(self) -> Configuration:
        """Return the configuration of devices: the listing assumes a bound on responses, but no device enforces it."""
        made = self.repaired.configuration
        if getattr(self.repaired.parameters, "responses", CLIPPED) == CLIPPED:
            return made
        return dataclasses.replace(made, low=-BEYOND, high=BEYOND)

    def measure(self, rows: PrivateRows) -> Private[np.ndarray]:
        """Return the mean over the devices that answer with a number (dimension,)."""
        made = self.answered

        def block(features: np.ndarray, response: np.ndarray) -> np.ndarray:
            answers = ~answered_by_symbol(made, features) if self.symbol else np.ones(len(response), dtype=bool)
            said = made.total(features[answers], response[answers]) * made.units()
            return np.append(said, np.sum(answers))

        return rows.sum(block).map(lambda total: total[:-1] / max(total[-1], 1.0))

    def perturb(self, statistic: Private[np.ndarray], source: NoiseSource, trials: int) -> LocalOutcome:
        """Return the mean of all people's reports, with the printed noise.

        Guarantee: none; a symbol tells a row outside the radius from all rows inside (E5).
        """
        sds = self.noise_sds / math.sqrt(self.repaired.n)
        noisy = release_vector(statistic.map(lambda mean: mean / sds), 1.0, source, trials)
        return LocalOutcome(self.repaired, noisy * sds)

    def parts(self) -> tuple[Spend, ...]:
        """Return no spend: the claim does not hold (E5, E6)."""
        return ()

    def facts(self) -> Facts:
        """Return the radius, bounds and noise of one report."""
        return dataclasses.replace(self.repaired.facts(), noise_sd=float(self.noise_sds[0]))


def _power() -> float:
    return parameter(
        _DELTA_POWER,
        "Power of n in delta",
        "delta = n^-power: 1.1 in the paper, and 1 in its figure 7.",
        low=0.5,
        high=5.0,
    )


class PrintedMomentParameters(LocalMomentParameters):
    """Public parameters of C's Algorithms 1 and 2 as printed."""

    power: float = _power()

    responses: str = parameter(
        CLIPPED,
        "Responses beyond the bound",
        "The listing assumes that there are none, and lets them in as they are (E19); the noise is for the bound.",
        choices=(CLIPPED, "as they are"),
    )


class PrintedRegressionParameters(RegressionParameters):
    """Public parameters of C's Algorithms 3 and 4 as printed."""

    power: float = _power()

    noise_bound: float = parameter(
        0.001,
        "Bound C on the error of the response",
        "Responses are taken to be at most L r + |f(0)| + C; 0.001 in the paper's experiments.",
        low=0.0,
        high=1e12,
    )


def _listed(public: PublicData, n: int, mu: float, gaussian: bool, *, zeta: float, bound: float) -> Configuration:
    """Return the configuration of the listings: no offset, and the l1 norm of rows for the bounded design (E7)."""
    made = setup.moments_scheme(public, n, mu, gaussian, zeta=zeta, bound=bound)
    longest = float(np.max(np.abs(setup.centred_public_rows(public)[1]).sum(axis=1)))
    return dataclasses.replace(made, radius=made.radius if gaussian else longest, offset=0.0)


def _moments(gaussian: bool) -> Planner:
    def plan(public: PublicData, n: int, budget: Budget, parameters: PrintedMomentParameters) -> PrintedLocalPlan:
        made = _listed(public, n, budget.mu, gaussian, zeta=parameters.zeta, bound=parameters.response_bound)
        repaired = LocalPlan(public, n, budget.mu, made, parameters)
        return PrintedLocalPlan(repaired, budget.mu, gaussian, parameters.power)

    return plan


def _regression(gaussian: bool) -> Planner:
    def plan(public: PublicData, n: int, budget: Budget, parameters: PrintedRegressionParameters) -> PrintedLocalPlan:
        if public.has_intercept:
            raise InputError(MethodMessage.INTERCEPT_IN_LINK)
        link = LINKS[parameters.link]
        made = _listed(public, n, budget.mu, gaussian, zeta=parameters.zeta, bound=1.0)  # that of responses follows
        bound = parameters.response_bound or link.response_bound(made.radius, parameters.noise_bound)
        repaired = LocalPlan(public, n, budget.mu, dataclasses.replace(made, low=-bound, high=bound), parameters, link)
        return PrintedLocalPlan(repaired, budget.mu, gaussian, parameters.power)

    return plan


_SYMBOL = lab("a row outside the radius answers with a symbol that rows inside never give (E5)")
_CLASSICAL = lab("the classical noise formula is used beyond the epsilon it is proved for (E6)")


def _register(number: int, id: str, plan: Planner, colour: str) -> None:
    gaussian = number % 2 == 1
    radius = "Rows outside the radius answer with a symbol" if gaussian else "The l1 norm as radius"
    noise = "classical noise for responses up to L r + |f(0)| + C" if number > 2 else "classical noise"
    claim = _SYMBOL if gaussian else _CLASSICAL
    summary = f"{radius}; {noise}."
    algorithm(number, id=id, summary=summary, claim=claim, colour=colour, printed=True)(plan)


_register(1, "ldp-glm-gaussian-printed", _moments(True), "#CC99BB")
_register(2, "ldp-glm-printed", _moments(False), "#AA7799")
_register(3, "ldp-nlr-gaussian-printed", _regression(True), "#BBBB77")
_register(4, "ldp-nlr-printed", _regression(False), "#99BBDD")
