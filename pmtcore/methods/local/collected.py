"""``ldp-glm-gaussian``, ``ldp-glm``, ``ldp-nlr-gaussian``, ``ldp-nlr``, ``ldp-whitened``: the local model.

Each person releases their own row once, randomized; the server adds nothing. Papers (C, Algorithms 1 to 4):
``x x' + E1`` and ``x y + E2`` (with an intercept ``x (y - 1/2)`` for labels, which moves the intercept alone and halves
the noise), ``w_ols`` from their means, then ``c w_ols`` with ``1 = c mean_pub Phi''(c x'w)``
(``f'`` for a regression). Departures: rows beyond the radius are clipped and noised (E5), the two parts are
calibrated jointly and exactly (E6), norms are Euclidean (E7), responses are clipped to a declared bound (E19), for a
regression ``L r + |f(0)| + C`` where C is declared;
the printed forms are in :mod:`pmtcore.methods.local.printed`, for the lab.
``ldp-whitened`` (proofs/local.md, 12) releases d numbers only. The lab adds the noise of all n people as one
draw where it is Gaussian: the same distribution. Neighbours: replace-one, of one person's own row.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from pmtcore.accounting.budgets import Budget, Spend, pure_epsilon_from_mu
from pmtcore.base.bands import Bands
from pmtcore.base.messages import InputError, MethodMessage, Note, ReleaseNote, number_between
from pmtcore.base.private_rows import Private, PrivateRows
from pmtcore.glm.families import FAMILIES, GAUSSIAN
from pmtcore.glm.rows import Rows
from pmtcore.local import estimators, setup
from pmtcore.local.estimators import LINKS, Link
from pmtcore.local.protocol import Configuration, moments_from_reports
from pmtcore.mechanisms.grid import integer_sum
from pmtcore.mechanisms.noise import NoiseSource
from pmtcore.mechanisms.randomizers import release_mean, release_sums, vector_pieces
from pmtcore.methods.facts import Facts
from pmtcore.methods.parameters import Parameters, parameter, unset
from pmtcore.methods.registry import (
    Method,
    OfPublicData,
    Origin,
    Planner,
    PrivacyClaim,
    StatisticOutcome,
    StatisticPlan,
    sound,
)
from pmtcore.public.bands import ErrorPart, limits
from pmtcore.public.moments import PublicData, back_transform, whiten
from pmtcore.public.shape import Clip


class LocalParameters(Parameters):
    """Public parameters of the local methods."""

    response_bound: float = unset(
        "Response bound (0: automatic)", "Responses are clipped to it on the device; labels need none.", automatic=""
    )


class LocalMomentParameters(LocalParameters):
    """Public parameters of the papers' local methods."""

    pool: str = parameter(
        "yes",
        "Pool the public Gram matrix",
        "Public rows carry no label, but know the Gram matrix (C, Remark 11).",
        choices=("yes", "no"),
    )
    zeta: float = parameter(
        0.05, "Failure probability zeta", "Sets the radius of the Gaussian design.", low=1e-9, high=0.999
    )


class RegressionParameters(LocalMomentParameters):
    """Public parameters of the papers' nonlinear regressions."""

    link: str = parameter(
        "sigmoid", "Link", "y = f(x'w) + noise; cubic is z^3/3, softplus log(1 + e^-z).", choices=tuple(LINKS)
    )
    noise_bound: float = unset(
        "Bound C on the error of the response (0: unknown)",
        "With it responses are bounded by L r + |f(0)| + C, as published, where no response bound is given.",
    )


class WhitenedParameters(LocalParameters):
    """Public parameters of ``ldp-whitened``."""

    randomizer: str = parameter(
        "gaussian",
        "Randomizer",
        "At one mu the Gaussian has less variance; PrivUnit is purely epsilon-private as well, and far "
        "better than a Gaussian of the same epsilon and a small delta.",
        choices=("gaussian", "privunit"),
    )


_FAMILIES = ("logistic", "boosting", "poisson")
_PRIVUNIT_MU = (2e-6, 62.0)  # whose pure epsilon is from 1e-6 to 500
_CLIPPED = sound("each row is clipped to public bounds and randomized on its own; no curator is trusted", "local")
# Cached properties that depend on public rows only, and are shared by plans of different budgets.
_OF_PUBLIC_ROWS = frozenset({"rows", "lengths", "distinct", "gram", "weighted"})


@dataclass(frozen=True)
class LocalPlan(OfPublicData, StatisticPlan[Any]):
    """A local collection with its configuration published."""

    configuration: Configuration
    parameters: LocalParameters
    link: Link | None = None  # of a nonlinear regression

    @cached_property
    def rows(self) -> np.ndarray:
        """Return public features as devices would see them (m, d)."""
        made = self.configuration
        if made.scheme == "whitened":
            return whiten(made.root, setup.features(self.public) - made.shift)
        mean, centred = setup.centred_public_rows(self.public)
        return centred if np.array_equal(mean, made.shift) else setup.features(self.public) - made.shift

    @cached_property
    def lengths(self) -> np.ndarray:
        """Return lengths (m,) of the rows."""
        return np.asarray(np.linalg.norm(self.rows, axis=1))

    @cached_property
    def distinct(self) -> estimators.PublicRows:
        """Return public features without the intercept, each row once."""
        return estimators.PublicRows.of(self.rows[:, 1 if self.public.has_intercept else 0 :])

    @cached_property
    def gram(self) -> np.ndarray:
        """Return the sum of ``x x'`` over the public rows (d, d)."""
        return np.asarray(self.rows.T @ self.rows)

    def with_budget(self, mu: float) -> LocalPlan:
        """Return the same collection of moments at another budget: nothing else that is published depends on it.

        Raises:
            ValueError: the whitened scheme, whose radius does depend on it.
        """
        if self.configuration.scheme != "moments":
            raise ValueError("the radius of the whitened scheme depends on the budget; plan it anew")
        known = {name: vars(self)[name] for name in _OF_PUBLIC_ROWS if name in vars(self)}
        return replace(self, mu=mu, configuration=replace(self.configuration, mu=mu)).with_cached(**known)

    def with_cached(self, **figures: object) -> LocalPlan:
        """Return the same plan with given values of cached properties of its public rows.

        Raises:
            ValueError: another name.
        """
        if not _OF_PUBLIC_ROWS.issuperset(figures):
            raise ValueError(f"not computed from public rows: {sorted(figures.keys() - _OF_PUBLIC_ROWS)}")
        made = replace(self)
        vars(made).update(figures)  # a cached property reads its value from here
        return made

    @cached_property
    def weighted(self) -> Rows:
        """Return public rows with the weights that devices would give them."""
        _, weights = Clip(self.configuration.radius, np.inf).factors(self.lengths)
        return Rows(self.rows, np.zeros(len(self.rows)), weights)

    @cached_property
    def noise_sds(self) -> np.ndarray:
        """Return the noise sd of each coordinate of one report (dimension,)."""
        return self.configuration.noise_sds()

    def measure(self, rows: PrivateRows) -> Private[Any]:
        """Return the sum of all reports, integers (dimension,); with PrivUnit every row's vector, block by block."""
        if self.configuration.randomizer == "privunit":
            return Private(vector_pieces(rows, self.configuration.vectors, self.configuration.unit))
        return integer_sum(rows, self.configuration.total)

    def perturb(self, statistic: Private[Any], source: NoiseSource, trials: int) -> LocalOutcome:
        """Return the mean of all people's reports, with their noise.

        Guarantee: each report is mu-GDP in its own row, with PrivUnit purely private, for its bits (proofs/local.md,
        12).
        """
        c = self.configuration
        if c.randomizer == "privunit":
            return LocalOutcome(self, release_mean(statistic, self.n, source, trials, by=c.unit, bound=c.bound))
        return LocalOutcome(self, release_sums(statistic, source, trials, c.scales(), n=self.n) * (c.units() / self.n))

    @property
    def noise_by_place(self) -> bool:
        """Return True for PrivUnit, where the rows of a block share their directions."""
        return self.configuration.randomizer == "privunit"

    @property
    def mean_variance(self) -> float:
        """Return the noise variance of each coordinate of the mean report (``whitened``)."""
        c = self.configuration
        if c.randomizer == "privunit":
            return c.bound**2 * c.unit.variance / self.n
        return c.gaussian.sd**2 / self.n

    def parts(self) -> tuple[Spend, ...]:
        """Return the spends of one report."""
        c = self.configuration
        if c.epsilon is not None:
            return (Spend.pure("one row's score", 2 * c.bound, c.bound * math.sqrt(c.unit.variance), c.epsilon),)
        if c.scheme == "whitened":
            return (Spend.gaussian("one row's score", 2 * c.bound, 2 * c.bound / self.mu),)
        return (Spend.gaussian("one row's second and cross moment, each over its noise", self.mu, 1.0),)

    def facts(self) -> Facts:
        """Return the radius, bounds and noise of one report."""
        c = self.configuration
        return Facts(
            radius=c.radius,
            noise_sd=None if c.epsilon is not None else float(self.noise_sds[0]),
            pure_epsilon=c.epsilon,
            more={"response_low": c.low, "response_high": c.high, "report_length": c.dimension},
        )


class LocalOutcome(StatisticOutcome[LocalPlan]):
    """Post-processing of mean reports (trials, dimension): any number of losses from one collection."""

    @cached_property
    def coefficients(self) -> np.ndarray:
        """Return coefficients (trials, d) for the problem's own loss; NaN where the scale has no root."""
        return self.fit(self.plan.public.family.id)

    def fit(self, family: str) -> np.ndarray:
        """Return coefficients (trials, d) for another family: no further cost (C, Remark 16)."""
        chosen, plan = FAMILIES[family], self.plan
        if plan.configuration.scheme == "whitened":
            theta = estimators.score_equation(
                chosen,
                plan.weighted,
                self.statistic,
                plan.mean_variance,
                centre=plan.configuration.centre,
                start=np.zeros(plan.public.d),
            )
            return back_transform(plan.configuration.root, theta)
        return self._scaled(plan.link or estimators.family_link(chosen))

    def _scaled(self, link: Link) -> np.ndarray:
        """Return ``c w_ols`` (trials, d); the intercept, where there is one, reproduces the released mean response."""
        plan, made, d = self.plan, self.plan.configuration, self.plan.public.d
        gram, cross = moments_from_reports(self.statistic, d)
        pool = (plan.gram, len(plan.rows)) if getattr(plan.parameters, "pool", "no") == "yes" else None
        ols = estimators.least_squares(gram, cross, pool, plan.n)
        first = 1 if plan.public.has_intercept else 0
        scaled = np.empty_like(ols)
        for t in range(len(ols)):  # a root for each trial
            level = float(np.clip(cross[t, 0] + made.offset, made.low, made.high)) if first else None
            slopes, offset = estimators.scaled_coefficients(link, ols[t, first:], plan.distinct, level)
            scaled[t, first:] = slopes
            if first:
                scaled[t, 0] = offset - made.shift[first:] @ slopes
        return scaled

    def bands(self) -> Bands | None:
        """Return privacy and sampling parts of the score equation; the papers' scale has no formula."""
        plan, family = self.plan, self.plan.public.family
        if plan.configuration.scheme != "whitened" or not family.binary:
            return None
        estimate = self.coefficients[:1]
        theta = (estimate @ plan.configuration.root)[0]
        m = len(plan.rows)
        inverse = np.linalg.pinv(plan.weighted.sums(family, theta[None])[1][0] / m, hermitian=True)
        table = back_transform(plan.configuration.root, inverse)
        mean = family.mean(plan.rows @ theta)
        x = plan.rows * plan.weighted.weights[:, None]
        sampling = x.T @ (x * (mean * (1 - mean))[:, None]) / m / plan.n
        public = np.cov((x * (mean - plan.configuration.centre)[:, None]).T).reshape(plan.public.d, -1) / m
        privacy = ErrorPart.of(plan.mean_variance * table.T @ table)
        return limits(estimate[0], privacy, ErrorPart.of(table.T @ (sampling + public) @ table))

    def notes(self) -> tuple[str, ...]:
        """Return a note where the scale equation has no root."""
        return (Note(ReleaseNote.NO_SCALE),) if np.isnan(self.coefficients[0]).any() else ()


def _glm(gaussian: bool) -> Planner:
    def plan(public: PublicData, n: int, budget: Budget, parameters: LocalMomentParameters) -> LocalPlan:
        made = setup.moments_scheme(
            public, n, budget.mu, gaussian, zeta=parameters.zeta, bound=parameters.response_bound
        )
        return LocalPlan(public, n, budget.mu, made, parameters)

    return plan


def _regression(gaussian: bool) -> Planner:
    def plan(public: PublicData, n: int, budget: Budget, parameters: RegressionParameters) -> LocalPlan:
        if public.has_intercept:
            raise InputError(MethodMessage.INTERCEPT_IN_LINK)
        link, bound = LINKS[parameters.link], parameters.response_bound
        if parameters.noise_bound and not bound:
            radius = setup.moments_radius(public, n, gaussian, parameters.zeta)
            bound = link.response_bound(radius, parameters.noise_bound)
        made = setup.moments_scheme(public, n, budget.mu, gaussian, zeta=parameters.zeta, bound=bound)
        return LocalPlan(public, n, budget.mu, made, parameters, link)

    return plan


@Method(
    id="ldp-whitened",
    title="Local whitened score",
    summary="Each device releases d numbers; the rest of the equation is public.",
    origin=Origin("beyond C"),
    claim=_CLIPPED,
    behind_public_fit=("logistic", "poisson"),
    has_floor=("logistic", "poisson"),
    colour="#AA3377",
    families=_FAMILIES,
    local=True,
    needs_labels=False,
    whitens=True,
)
def _whitened(public: PublicData, n: int, budget: Budget, parameters: WhitenedParameters) -> LocalPlan:
    pure = None
    if parameters.randomizer == "privunit":
        pure = pure_epsilon_from_mu(number_between("mu with randomizer=privunit", budget.mu, *_PRIVUNIT_MU))
    made = setup.whitened_scheme(
        public, n, budget.mu, parameters.randomizer, bound=parameters.response_bound, epsilon=pure
    )
    known = setup.whitened_rows(public)
    return LocalPlan(public, n, budget.mu, made, parameters).with_cached(rows=known.features, lengths=known.norms)


def algorithm(number: int, *, id: str, summary: str, claim: PrivacyClaim, colour: str, printed: bool = False) -> Method:
    """Return the entry of paper C's Algorithm 1, 2 (families), 3 or 4 (nonlinear), repaired or as it is printed.

    The odd ones take a Gaussian design, the even ones rows of bounded length.
    """
    gaussian, nonlinear, name = number % 2 == 1, number > 2, f"C, Algorithm {number}"
    title = f"Local{' nonlinear regression' if nonlinear else ''}, {'Gaussian' if gaussian else 'bounded'} design"
    return Method(
        id=id,
        title=f"{title} (as published)" if printed else title,
        summary=summary,
        origin=Origin(
            name,
            names=(name if printed else f"{name}, repaired",),
            also=("NLDP",),
            errata=("E5", "E6", "E19") if gaussian else ("E6", "E7", "E19"),
        ),
        claim=claim,
        colour=colour,
        families=(GAUSSIAN.id,) if nonlinear else _FAMILIES,
        behind_public_fit=() if nonlinear or printed else ("logistic", "poisson"),
        has_floor=() if nonlinear or printed else ("logistic", "poisson"),
        task="nonlinear" if nonlinear else "glm",
        local=True,
        same_target=not nonlinear,
        studied_with="gallery" if nonlinear else "compare",
        needs_labels=False,
    )


def _register(number: int, id: str, summary: str, plan: Planner, *, colour: str) -> None:
    algorithm(number, id=id, summary=summary, claim=_CLIPPED, colour=colour)(plan)


_MOMENTS = "Local reports of moments; least squares, then one scale."
_NONLINEAR = "y = f(x'w) + noise from local reports of moments."
_BOUNDED = "rows have a bounded length"
_register(1, "ldp-glm-gaussian", _MOMENTS, _glm(True), colour="#DDCC77")
_register(2, "ldp-glm", f"{_MOMENTS[:-1]}; {_BOUNDED}.", _glm(False), colour="#B04A32")
_register(3, "ldp-nlr-gaussian", _NONLINEAR, _regression(True), colour="#999933")
_register(4, "ldp-nlr", f"{_NONLINEAR[:-1]}; {_BOUNDED}.", _regression(False), colour="#6699CC")
