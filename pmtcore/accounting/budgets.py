"""Privacy budgets: mu-GDP, rho-zCDP and (epsilon, delta), exact both ways; units of protection; spends of a plan.

Native unit: mu of Gaussian differential privacy (Dong, Roth, Su 2022; paper A, Definition 2.2), exact for
every Gaussian mechanism. A total budget goes in; methods divide it. Proofs: ``docs/proofs/budgets.md``, 1.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any

import numpy as np
from scipy.special import erfcx, log_ndtr, ndtr, ndtri

from pmtcore.base.json_fields import JsonFields
from pmtcore.base.messages import (
    AccountingMessage,
    GuaranteePhrase,
    GuaranteeWords,
    InputError,
    Message,
    number_between,
    one_of,
    whole_number_between,
)
from pmtcore.base.roots import first_at_most_zero, root

# Most rows of one person: with more, a budget that protects the person is too small to be useful.
MOST_ROWS = 100_000
FIRST, MEAN = "first", "mean"
RULES = (FIRST, MEAN)


@dataclass(frozen=True)
class Unit:
    """Number of rows of one person that count.

    Attributes:
        rows: largest number; a guarantee for a person is that of so many rows.
        column: column that identifies the person; the rule then enforces the bound, however many rows somebody has.
            Where it is empty, the bound is an assertion of the curator.
        rule: ``first``: the first rows of a person in the order of the table count; ``mean``: a person counts as one
            row, their rows weighted to one.
        all_rows: True in a total over releases, each counted by its unit: the total protects a person with all rows.
    """

    rows: int = 1
    column: str = ""
    rule: str = FIRST
    all_rows: bool = False

    def __post_init__(self) -> None:
        whole_number_between("rows per person", self.rows, 1, MOST_ROWS)
        one_of("rule for the rows of a person", self.rule, RULES)
        if self.rule == MEAN and (self.rows != 1 or not self.column):
            raise InputError(AccountingMessage.MEANS_NEED_COLUMN)

    @property
    def difference(self) -> str:
        """Return the difference of two neighbouring tables, to follow 'two tables that differ in'."""
        if self.all_rows:
            return GuaranteePhrase.ALL_ROWS.sentence()
        if self.rule == MEAN:
            return GuaranteePhrase.MEAN_ROW.sentence(column=self.column)
        counted = GuaranteePhrase.FIRST_ROWS if self.column else GuaranteePhrase.DECLARED_ROWS
        return counted.sentence(column=self.column, count=self.rows)

    @property
    def words(self) -> str:
        """Return the unit in one sentence."""
        if self.rule == MEAN:
            return GuaranteeWords.UNIT_MEAN.sentence(column=self.column)
        counted = GuaranteeWords.UNIT_COLUMN if self.column else GuaranteeWords.UNIT_ROWS
        return counted.sentence(column=self.column, count=self.rows)

    def covers(self, wanted: Unit) -> bool:
        """Return True where a guarantee with this unit protects everybody whom ``wanted`` protects."""
        if wanted.column and (self.column, self.rule) != (wanted.column, wanted.rule):
            return False
        return self.rows >= wanted.rows

    def as_dict(self) -> dict[str, Any]:
        """Return plain fields."""
        return {"rows": self.rows, "column": self.column, "rule": self.rule}

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> Unit:
        """Return the unit of plain fields.

        Raises:
            InputError: a field is out of range.
        """
        return cls(int(fields.get("rows", 1)), str(fields.get("column", "")), str(fields.get("rule", FIRST)))


# Unit of a person who is in one row.
ROW = Unit()
# Unit of totals over releases.
PERSON = Unit(all_rows=True)


# A smaller mu allows no useful release, a larger one protects nobody.
MU_RANGE = (1e-6, 1e3)
# Sentence on what a guarantee under :attr:`Neighbours.REPLACE_RESPONSE` does not cover.
ONLY_RESPONSES = GuaranteeWords.ONLY_RESPONSES.sentence()
# Stands in for 0 under a logarithm.
_LEAST_POSITIVE = np.finfo(float).tiny


class Neighbours(Enum):
    """Neighbouring relation: which two tables a guarantee makes hard to distinguish."""

    REPLACE_ONE = "replace-one"
    ADD_REMOVE_ONE = "add-remove-one"
    REPLACE_RESPONSE = "replace-one-response"

    @property
    def words(self) -> str:
        """Return the relation as a noun phrase."""
        if self is Neighbours.REPLACE_RESPONSE:
            return GuaranteePhrase.REPLACE_RESPONSE.sentence()
        if self is Neighbours.REPLACE_ONE:
            return GuaranteePhrase.REPLACE_ONE.sentence()
        return GuaranteePhrase.ADD_REMOVE_ONE.sentence()


def neighbouring_tables(neighbours: Neighbours, unit: Unit) -> str:
    """Return the two tables that a guarantee makes hard to tell apart, as a noun phrase.

    >>> neighbouring_tables(Neighbours.REPLACE_ONE, Unit(1, "patient"))
    "two tables that differ in one person ('patient'), who counts with at most 1 row"
    """
    if unit == ROW:
        return neighbours.words
    responses = neighbours is Neighbours.REPLACE_RESPONSE
    differ = GuaranteePhrase.DIFFER_IN_RESPONSES if responses else GuaranteePhrase.DIFFER_IN
    return differ.sentence(part=unit.difference)


def log_delta(mu: float, epsilon: np.ndarray | float) -> np.ndarray:
    """Return the logarithm of the smallest delta for which mu-GDP implies (epsilon, delta)-DP, at epsilons of any sign.

    ``delta = Phi(-epsilon/mu + mu/2) - e^epsilon Phi(-epsilon/mu - mu/2)`` (A, Lemma 2.1). Both terms share
    the factor ``exp(-t^2/2)``, ``t = epsilon/mu - mu/2``: taking it out leaves a difference of scaled
    complementary error functions, so nothing overflows and small deltas keep their digits.
    """
    epsilon = np.asarray(epsilon, dtype=float)
    t, u = epsilon / mu - mu / 2, epsilon / mu + mu / 2
    positive_t = np.maximum(t, 0.0)
    gap = erfcx(positive_t / math.sqrt(2)) - erfcx(np.maximum(u, 0.0) / math.sqrt(2))
    upper_tail = -(positive_t**2) / 2 + np.log(np.maximum(gap, _LEAST_POSITIVE) / 2)
    elsewhere = np.log(np.maximum(ndtr(-t) - np.exp(np.minimum(epsilon + log_ndtr(-u), 0.0)), _LEAST_POSITIVE))
    return np.asarray(np.where(t > 0, upper_tail, elsewhere))


def delta_from_mu(mu: float, epsilon: float) -> float:
    """Return the smallest delta at this epsilon for a mu-GDP mechanism (A, Lemma 2.1).

    >>> round(delta_from_mu(1.0, 1.0), 6)
    0.126937
    """
    return math.exp(float(log_delta(_checked_mu(mu), _checked_epsilon(epsilon))))


def epsilon_from_mu(mu: float, delta: float) -> float:
    """Return the smallest epsilon at this delta for a mu-GDP mechanism, rounded up; 0 where delta alone is enough.

    A mu below 1e-6, which a part of a budget may have, counts as 1e-6.

    >>> round(epsilon_from_mu(1.0, 1e-6), 4)
    4.8866
    """
    mu, goal = max(number_between("mu", mu, 0.0, MU_RANGE[1]), MU_RANGE[0]), math.log(checked_delta(delta))
    if log_delta(mu, 0.0) <= goal:
        return 0.0
    high = mu * (mu + 1)
    while float(log_delta(mu, high)) > goal:
        high *= 2
    return first_at_most_zero(lambda epsilon: float(log_delta(mu, epsilon)) - goal, 0.0, high)


def mu_from_epsilon(epsilon: float, delta: float) -> float:
    """Return the largest mu for which mu-GDP implies (epsilon, delta)-DP.

    Raises:
        InputError: epsilon or delta is out of range, or no mu between 1e-6 and 1000 fits.
    """
    epsilon, goal = _checked_epsilon(epsilon), math.log(checked_delta(delta))

    def gap(log_mu: float) -> float:
        return float(log_delta(math.exp(log_mu), epsilon)) - goal

    low, high = (math.log(bound) for bound in MU_RANGE)
    if gap(low) > 0 or gap(high) < 0:
        raise InputError(
            AccountingMessage.OUTSIDE_USEFUL_RANGE, epsilon=epsilon, delta=delta, low=MU_RANGE[0], high=MU_RANGE[1]
        )
    return math.exp(root(gap, low, high, xtol=1e-15, rtol=1e-15))


def mu_from_rho(rho: float) -> float:
    """Return the GDP parameter of a Gaussian mechanism with this rho: ``mu = sqrt(2 rho)``."""
    return math.sqrt(2 * number_between("rho", rho, MU_RANGE[0] ** 2 / 2, MU_RANGE[1] ** 2 / 2))


def epsilon_from_rho_bound(rho: float, delta: float) -> float:
    """Return the papers' bound ``rho + 2 sqrt(rho log(1/delta))`` (B, Lemma 1): never below the exact epsilon."""
    return rho + 2 * math.sqrt(-rho * math.log(checked_delta(delta)))


def compose(mus: Iterable[float]) -> float:
    """Return the total mu of mechanisms run on the same rows: ``sqrt(sum mu_i^2)`` (A, Theorem 2.1)."""
    return math.sqrt(math.fsum(mu * mu for mu in mus))


def attacker_power(mu: float, false_alarms: np.ndarray | float) -> np.ndarray:
    """Return the largest share of cases that an attacker detects at the given false alarm rate.

    ``1 - T_mu(alpha) = Phi(Phi^{-1}(alpha) + mu)``, the trade-off curve of mu-GDP (Dong, Roth, Su 2022).

    >>> round(float(attacker_power(1.0, 0.05)), 2)
    0.26
    """
    return np.asarray(ndtr(ndtri(np.asarray(false_alarms, dtype=float)) + mu))


def detected_percent(mu: float) -> float:
    """Return the share of cases that an attacker with 5 % false alarms detects at most, in per cent.

    A bound is rounded up, to a tenth.

    >>> detected_percent(0.5), detected_percent(1.0)
    (12.7, 26.0)
    """
    return math.ceil(1000 * float(attacker_power(mu, 0.05))) / 10


def reporting_delta(n: int) -> float:
    """Return the delta at which epsilon is stated when the user names none: the power of ten below ``1/(10 n)``.

    It is a point on the curve of a mu-GDP guarantee, not a parameter of any mechanism.

    >>> reporting_delta(9568)
    1e-05
    """
    return 10.0 ** -math.ceil(math.log10(10 * max(n, 1)))


@dataclass(frozen=True)
class Budget:
    """Total privacy budget in its native unit mu; other units are computed from it."""

    mu: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "mu", _checked_mu(self.mu))  # a float, whatever type was given

    @classmethod
    def from_rho(cls, rho: float) -> Budget:
        """Return the budget of this rho (exact for Gaussian mechanisms)."""
        return cls(mu_from_rho(rho))

    @classmethod
    def from_epsilon(cls, epsilon: float, delta: float) -> Budget:
        """Return the budget of this epsilon and delta, exact."""
        return cls(mu_from_epsilon(epsilon, delta))

    @classmethod
    def from_one_unit(
        cls,
        mu: float | None,
        rho: float | None,
        epsilon: float | None,
        delta: float | None,
        *,
        not_one: Message,
        lacks_delta: Message,
    ) -> Budget:
        """Return the budget that was given in one of its units.

        Args:
            mu: in GDP.
            rho: in zCDP.
            epsilon: with ``delta``.
            delta: with ``epsilon`` a part of the budget; else the delta at which epsilon is stated, only checked here.
            not_one: the message where none or several are given, in the words of the caller (Python, command line).
            lacks_delta: the message where ``epsilon`` comes without ``delta``.

        Raises:
            InputError: one of these, or a number out of range.
        """
        if sum(value is not None for value in (mu, rho, epsilon)) != 1:
            raise InputError(not_one)
        if delta is not None:
            checked_delta(delta)
        if mu is not None:
            return cls(mu)
        if rho is not None:
            return cls.from_rho(rho)
        if epsilon is None or delta is None:
            raise InputError(lacks_delta)
        return cls.from_epsilon(epsilon, delta)

    @property
    def rho(self) -> float:
        """Return the same budget in zCDP."""
        return self.mu**2 / 2


@dataclass(frozen=True)
class Guarantee:
    """Privacy guarantee of a released figure; ``mu = 0`` stands for figures that read no private row.

    ``mu`` holds for one row. A person with up to ``unit.rows`` rows is protected by the guarantee :attr:`person`: the
    trade-off of mu-GDP composed with itself along a chain of k neighbours is that of ``k mu`` (Dong, Roth and Su 2022,
    theorem 2.14).

    Attributes:
        mu: of one row.
        neighbours: neighbouring relation.
        delta: at which epsilon is stated.
        unit: unit of protection.
    """

    mu: float
    neighbours: Neighbours
    delta: float
    unit: Unit = ROW

    def __post_init__(self) -> None:
        checked_delta(self.delta)

    @property
    def person(self) -> Guarantee:
        """Return the guarantee for a person with all their rows."""
        return Guarantee(self.mu * self.unit.rows, self.neighbours, self.delta, PERSON)

    @property
    def rho(self) -> float:
        """Return the same guarantee in zCDP."""
        return self.mu**2 / 2

    @property
    def epsilon(self) -> float:
        """Return epsilon at ``delta``."""
        return 0.0 if self.mu == 0 else epsilon_from_mu(self.mu, self.delta)

    @property
    def words(self) -> str:
        """Return the guarantee in words, with its assumptions, including whom it protects."""
        if self.mu == 0:
            return GuaranteeWords.NO_PRIVATE_ROW.sentence()
        power = detected_percent(self.mu * self.unit.rows)
        # A guarantee for all that one person has is that of a total over releases.
        kind = GuaranteeWords.TOLD_APART_BY_ALL if self.unit.all_rows else GuaranteeWords.TOLD_APART
        sentence = kind.sentence(tables=neighbouring_tables(self.neighbours, self.unit), share=power)
        sentence = f"{sentence} {self.unit.words}" if self.unit == ROW else sentence
        return f"{sentence} {ONLY_RESPONSES}" if self.neighbours is Neighbours.REPLACE_RESPONSE else sentence

    def as_dict(self) -> dict[str, Any]:
        """Return the guarantee in all three units as plain fields."""
        return {
            "mu": self.mu,
            "rho": self.rho,
            "epsilon": self.epsilon,
            "delta": self.delta,
            "neighbours": self.neighbours.value,
            **({"rows_per_person": self.unit.rows, "person": self.person.as_dict()} if self.unit.rows > 1 else {}),
            **({"unit": self.unit.as_dict()} if self.unit.column else {}),
        }


def of_person(fields: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the figures for a person with all their rows, of a guarantee in plain fields.

    Args:
        fields: as :meth:`Guarantee.as_dict` gives them, with ``person`` where a person may have several rows.
    """
    person: Mapping[str, Any] = fields.get("person", fields)
    return person


def unit_of(fields: Mapping[str, Any]) -> Unit:
    """Return the unit of protection of a guarantee in plain fields."""
    return Unit.from_dict(fields.get("unit") or {"rows": fields.get("rows_per_person", 1)})


def only_responses(fields: Mapping[str, Any]) -> str:
    """Return the sentence that a guarantee in plain fields protects the responses alone; empty where it does not."""
    return ONLY_RESPONSES if fields.get("neighbours") == Neighbours.REPLACE_RESPONSE.value else ""


def person_note(fields: Mapping[str, Any]) -> str:
    """Return whom the figures of :func:`of_person` protect; empty where that is one row."""
    rows = unit_of(fields).rows
    return "" if rows == 1 else GuaranteePhrase.PERSON.sentence(count=rows, mu=fields["mu"])


def _checked_mu(mu: float) -> float:
    return number_between("mu", mu, *MU_RANGE)


def _checked_epsilon(epsilon: float) -> float:
    return number_between("epsilon", epsilon, 0.0, 1e6)


def checked_delta(delta: float) -> float:
    """Return a delta.

    Raises:
        InputError: it does not lie between 1e-300 and the largest number below 1.
    """
    return number_between("delta", delta, 1e-300, math.nextafter(1.0, 0.0))


def pure_epsilon_from_mu(mu: float) -> float:
    """Return the pure epsilon whose guarantee implies mu-GDP: ``log(Phi(mu/2)/Phi(-mu/2))``."""
    return float(log_ndtr(mu / 2) - log_ndtr(-mu / 2))


def mu_from_pure_epsilon(epsilon: float) -> float:
    """Return the mu that epsilon-privacy implies, ``2 Phi^{-1}(e^eps/(1 + e^eps))``.

    Inverse of :func:`pure_epsilon_from_mu`.
    """
    return mu_of_checked_epsilon(number_between("epsilon", epsilon, 1e-6, 500.0))


def mu_of_checked_epsilon(epsilon: float) -> float:
    """Return the mu of :func:`mu_from_pure_epsilon` for an epsilon that was checked already."""
    return -2 * float(ndtri(1 / (1 + math.exp(epsilon))))


# Largest pure epsilon whose implied mu does not overflow.
_LARGEST_EPSILON = 500.0


@dataclass(frozen=True)
class Spend(JsonFields):
    """One mechanism of a plan, under the method's neighbouring relation.

    Attributes:
        statistic: name of the released statistic.
        sensitivity: largest distance between neighbours, in Euclidean (for matrices Frobenius) norm.
        sd: standard deviation of the noise on each coordinate of that norm.
        mu: cost.
        times: number of runs; ``mu`` counts all of them.
        epsilon: pure epsilon of a purely private mechanism, whose ``mu`` is implied by it; else 0.
    """

    statistic: str
    sensitivity: float
    sd: float
    mu: float
    times: int = 1
    epsilon: float = 0.0

    @classmethod
    def gaussian(cls, statistic: str, sensitivity: float, sd: float, times: int = 1) -> Spend:
        """Return the spend of a Gaussian mechanism: ``mu = sqrt(times) sensitivity/sd`` (A, Theorems 2.1 and 2.2)."""
        return cls(statistic, sensitivity, sd, math.sqrt(times) * sensitivity / sd, times)

    @classmethod
    def pure(cls, statistic: str, sensitivity: float, sd: float, epsilon: float) -> Spend:
        """Return the spend of a purely epsilon-private mechanism."""
        return cls(statistic, sensitivity, sd, mu_of_checked_epsilon(min(epsilon, _LARGEST_EPSILON)), 1, epsilon)


def gaussian_mu(parts: Iterable[Spend]) -> float:
    """Return the total mu of all parts that are not purely private."""
    return compose(part.mu for part in parts if not part.epsilon)


def pure_epsilon(parts: Iterable[Spend]) -> float:
    """Return the total epsilon of all purely private parts."""
    return math.fsum(part.epsilon for part in parts)
