"""Strength of a total budget as an attacker's odds, with published deployments to compare with.

The words give the detections of the best attacker at 5 % false alarms, because that is what the picture beside them
shows. They do not judge: NIST SP 800-226 gives no universal limit, and the verdict is the privacy officer's.
"""

import math
from dataclasses import dataclass

from scipy.special import ndtr

from pmtcore.accounting.budgets import attacker_power, epsilon_from_mu, reporting_delta
from pmtcore.base.messages import ArgumentMessage, InputError, ReportWords
from pmtcore.base.numbers import percent, power_of_ten, rounded

# The customary level of a test.
FALSE_ALARMS = 0.05
_NO_PROTECTION_POWER = 0.99  # power of the best attacker from which a budget counts as no protection: mu of about 4


@dataclass(frozen=True)
class Strength:
    """Odds of the best attacker against one person.

    Attributes:
        mu: total budget.
        detections: share of cases in which the attacker detects a person at 5 % false alarms, rounded up.
    """

    mu: float
    detections: float

    @property
    def protects_nobody(self) -> bool:
        """Return True where fewer than one person in a hundred escapes the best attacker."""
        return self.detections >= _NO_PROTECTION_POWER

    @property
    def times_guessing(self) -> float:
        """Return the detections over those of guessing."""
        return self.detections / FALSE_ALARMS

    @property
    def right_guesses(self) -> float:
        """Return the largest probability of guessing which of two equally likely values a row has, rounded up.

        It is one half plus half the total variation distance, which is ``Phi(mu/2)`` (Dong, Roth and Su 2022,
        Corollary 2.13 with epsilon = 0).

        >>> strength(1.0).right_guesses, strength(0.0).right_guesses
        (0.692, 0.5)
        """
        return min(math.ceil(1000 * float(ndtr(self.mu / 2))) / 1000, 1.0)

    @property
    def sentence(self) -> str:
        """Return the odds in one sentence."""
        if self.mu == 0:
            return "No private row is read, so nothing is spent."
        facts = {"share": percent(FALSE_ALARMS), "factor": rounded(self.times_guessing, 2)}
        if self.detections >= 1:  # rounded up: a share below 1 as well
            return ReportWords.DETECTS_NEARLY_EVERYBODY.sentence(**facts)
        return ReportWords.DETECTS.sentence(value=percent(self.detections, 3), **facts)


def unprotected_words(mu: float) -> str:
    """Return the warning that the budget of a sound method protects nobody; empty where it protects."""
    if not strength(mu).protects_nobody:
        return ""
    return ReportWords.PROTECTS_NOBODY.sentence(mu=rounded(mu))


@dataclass(frozen=True)
class Deployment:
    """Published parameters of one deployment of differential privacy."""

    name: str
    epsilon: float
    delta: float
    unit: str

    def epsilon_of(self, mu: float) -> str:
        """Return epsilon of a total mu at the delta of this deployment: two of one delta can be compared.

        >>> [one.epsilon_of(1.0) for one in DEPLOYMENTS]
        ['no epsilon there', '6.14', '6.55']
        """
        if mu == 0:
            return "0"
        return rounded(epsilon_from_mu(mu, self.delta)) if self.delta else "no epsilon there"


# As their publishers state them: Abowd et al. 2022 (redistricting file, persons); Aktay et al. 2020 (mobility reports,
# all metrics of a day together); Rogers et al. 2020 (labor market insights, three months).
DEPLOYMENTS = (
    Deployment("Google mobility reports, 2020", 2.64, 0.0, "one person's day"),
    Deployment("LinkedIn labor market insights, 2020", 14.4, 1.2e-9, "one member, three months"),
    Deployment("US Census redistricting file, 2020", 17.14, 1e-10, "one person, one census"),
)


def delta_words(delta: float, rows: int) -> str:
    """Return the delta of an epsilon, with where it comes from unless somebody chose it.

    >>> delta_words(1e-5, 9568), delta_words(1e-8, 9568)
    ('1e-5 (chosen by the number of rows)', '1e-8')
    """
    return power_of_ten(delta) + " (chosen by the number of rows)" * (delta == reporting_delta(rows))


def beside_deployments(mu: float) -> list[dict[str, str]]:
    """Return the guarantees of published deployments in rows, with the epsilon of a total mu at the delta of each."""
    return [
        {
            "deployment": one.name,
            "epsilon": rounded(one.epsilon, 4),
            "delta": power_of_ten(one.delta),
            "this release at that delta": one.epsilon_of(mu),
            "protects": one.unit,
        }
        for one in DEPLOYMENTS
    ]


def strength(mu: float) -> Strength:
    """Return an attacker's odds at a total mu.

    Raises:
        InputError: mu is negative or not a number.

    >>> strength(1.0).detections
    0.26
    """
    if not mu >= 0:
        raise InputError(ArgumentMessage.NEGATIVE_MU, given=mu)
    power = FALSE_ALARMS if mu == 0 else float(attacker_power(mu, FALSE_ALARMS))
    return Strength(mu, min(math.ceil(1000 * power) / 1000, 1.0))
