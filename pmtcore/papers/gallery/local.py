"""Trials of paper C's experiments: its four algorithms as printed and repaired, beside the whitened score."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from itertools import accumulate, pairwise
from typing import Any

import numpy as np
from scipy.linalg import block_diag

from pmtcore.accounting.budgets import mu_from_epsilon
from pmtcore.base.private_rows import Private, PrivateRows
from pmtcore.base.symmetric import isometric_scale, upper_triangle
from pmtcore.glm.families import Family
from pmtcore.glm.families import family as family_of
from pmtcore.local import setup
from pmtcore.local.estimators import LINKS, PublicRows, row_keys
from pmtcore.local.protocol import Configuration
from pmtcore.mechanisms.grid import integer_sum
from pmtcore.mechanisms.noise import SeededNoise
from pmtcore.methods.local.collected import LocalOutcome, LocalPlan
from pmtcore.methods.local.printed import BEYOND, CLIPPED, PrintedLocalPlan
from pmtcore.methods.registry import method
from pmtcore.papers.gallery.engine import Errors, at_epsilon
from pmtcore.public.moments import PublicData

mu_of = cache(mu_from_epsilon)  # the same in every trial
_NOISE = 0.001  # C of paper C, section 6
_ROUNDING = 1e-9  # relative: a length computed in two ways
Series = Sequence[tuple[str, str, Mapping[str, Any]]]  # name, method, its parameters


class Nested:
    """Sums over the first rows of a draw, for every number of them, from one pass.

    Args:
        x: rows (N, p).
        y: their responses (N,).
        sizes: numbers of first rows.
    """

    def __init__(self, x: np.ndarray, y: np.ndarray, sizes: Sequence[int]) -> None:
        self._reach = np.abs(x).max(axis=0)
        self._rows = np.column_stack([x, np.ones(len(x))])
        self._response = y
        self._ends = sorted(set(sizes))
        self._cross: dict[tuple[float, float], dict[int, np.ndarray]] = {}

    def _first(self, right: np.ndarray) -> dict[int, np.ndarray]:
        """Return ``sum (x, 1) right'`` over the first rows, by their number."""
        parts = [self._rows[low:high].T @ right[low:high] for low, high in pairwise([0, *self._ends])]
        return dict(zip(self._ends, accumulate(parts), strict=True))

    @cached_property
    def _moments(self) -> dict[int, np.ndarray]:
        return self._first(self._rows)

    def gram(self, shift: np.ndarray, n: int) -> np.ndarray:
        """Return ``sum (x - shift)(x - shift)'`` over the first n rows."""
        centre = np.column_stack([np.eye(len(shift)), -shift])
        return np.asarray(centre @ self._moments[n] @ centre.T)

    def cross(self, shift: np.ndarray, n: int, low: float, high: float) -> np.ndarray:
        """Return ``sum (x - shift) y`` over the first n rows, responses clipped to a range."""
        ends = (max(low, float(self._response.min())), min(high, float(self._response.max())))
        if ends not in self._cross:
            self._cross[ends] = self._first(np.clip(self._response, *ends))
        total = self._cross[ends][n]
        return np.asarray(total[:-1] - shift * total[-1])

    @cached_property
    def _signs(self) -> bool:
        return len(np.unique(self._rows[:, 0])) <= 2

    @cached_property
    def _levels(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the first of each set of equal rows, and to which set each row belongs."""
        x = self._rows[:, :-1]
        _, first, back = np.unique(row_keys(x), return_index=True, return_inverse=True)
        return x[first], back

    def distinct(self, shift: np.ndarray, n: int) -> PublicRows | None:
        """Return the first n rows less the shift, each once; ``None`` unless they have few levels, as signs do."""
        if not self._signs:
            return None
        rows, back = self._levels
        shares = np.bincount(back[:n], minlength=len(rows)) / n
        return PublicRows(rows[shares > 0] - shift, shares[shares > 0])

    def reports(self, made: Configuration, n: int) -> np.ndarray | None:
        """Return the sum of the reports of the first n devices before noise; ``None`` if a row may pass the radius."""
        if np.linalg.norm(self._reach + np.abs(made.shift)) > made.radius * (1 + _ROUNDING):
            return None
        gram = upper_triangle(self.gram(made.shift, n)) * isometric_scale(made.d)
        return np.concatenate([gram, self.cross(made.shift, n, made.low, made.high)])


@dataclass(frozen=True)
class LocalDraw:
    """Rows of one trial, of which every setting takes the first: private ones, and public ones without a response."""

    x: np.ndarray
    y: np.ndarray
    public: np.ndarray
    truth: np.ndarray
    family: Family

    @classmethod
    def of(cls, seed: int, design: str, target: str, *, p: int, n: int, m: int) -> LocalDraw:
        """Draw n private and m public rows."""
        rng = np.random.default_rng(seed)
        truth = np.full(p, 1 / np.sqrt(p))
        x = _design(rng, design, n + m, p)
        z = x[:n] @ truth
        linked = target in LINKS
        y = LINKS[target].value(z) + rng.uniform(-_NOISE, _NOISE, n) if linked else _labels(rng, z, target)
        return cls(x[:n], y, x[n:], truth, family_of("gaussian" if linked else target))

    @cached_property
    def _unlabelled(self) -> np.ndarray:
        return np.column_stack([self.public, np.zeros(len(self.public))])

    def public_data(self, m: int) -> PublicData:
        """Return the first m public rows; all are counted, copies of Bernoulli rows too, as the paper does."""
        x, p = self.public[:m], self.x.shape[1]
        names = tuple(f"x{j + 1}" for j in range(p))
        factor = block_diag(np.linalg.cholesky(x.T @ x / m), 1.0)
        return PublicData(names, "y", factor, m, self._unlabelled[:m], self.family, labelled=False)

    def private(self, n: int, names: tuple[str, ...]) -> PrivateRows:
        """Return the first n private rows."""
        return PrivateRows.from_arrays(self.x[:n], self.y[:n], names)


def trial(
    seed: int,
    *,
    design: str,
    target: str,
    p: int,
    sizes: Sequence[tuple[int, int]],
    epsilons: Sequence[float],
    series: Series,
    power: float = 1.1,
    largest: bool = False,
    squared: bool = True,
    methods: Sequence[str] = (),
) -> Errors:
    """Compute each method's relative error at each epsilon, delta = n^-power, of one draw; one for each size.

    Args:
        design: ``diagonal``, ``turned`` or ``identity`` (Gaussian rows), or ``bernoulli``.
        target: ``logistic``, ``poisson``, ``cubic`` or ``softplus``.
        sizes: private and public rows.
        series: name, method and parameters; ``ldp-whitened`` plans anew for each budget.
        largest: l_inf error, else l2.
        methods: ids of the series, which the description of the figure names.
    """
    n, m = (max(size) for size in zip(*sizes, strict=True))
    drawn = LocalDraw.of(seed, design, target, p=p, n=n, m=m)
    order = np.inf if largest else 2
    errors: Errors = {}
    private = Nested(drawn.x, drawn.y, [n for n, _ in sizes])
    beside = Nested(drawn.public, np.zeros(len(drawn.public)), [m for _, m in sizes])
    for n, m in sizes:
        public = drawn.public_data(m)
        rows = drawn.private(n, public.names)
        mus = [mu_of(epsilon, n**-power) for epsilon in epsilons]
        for name, id, values in series:
            known = _known(id, target, power) | dict(values)
            clipped = id.endswith("-printed") or known.pop("responses", CLIPPED) == CLIPPED
            releases = collected(
                id, public, rows, mus, values=known, seed=seed, sums=(private, beside), clipped=clipped
            )
            far = np.linalg.norm(releases - drawn.truth, order, axis=1) / np.linalg.norm(drawn.truth, order)
            far = np.where(np.isnan(far), np.inf, far**2 if squared else far)
            for epsilon, error in zip(epsilons, far, strict=True):
                errors.setdefault(at_epsilon(name, epsilon), []).append(float(error))
    return errors


def _known(id: str, target: str, power: float) -> dict[str, Any]:
    """Return parameters that the experiment states: delta, the link, and the bound on the error of the response."""
    stated = {"power": power, "link": target, "noise_bound": _NOISE}
    return {name: value for name, value in stated.items() if name in method(id).parameters.__dataclass_fields__}


def collected(
    id: str,
    public: PublicData,
    rows: PrivateRows,
    mus: Sequence[float],
    *,
    values: dict[str, Any],
    seed: int,
    sums: tuple[Nested, Nested] | None = None,
    clipped: bool = True,
) -> np.ndarray:
    """Return the coefficients (len(mus), d) of one collection at several budgets, its noise alike but in size.

    Args:
        sums: of the draw whose first rows these are, private and public: what every size would add up anew.
        clipped: whether a repaired algorithm clips responses to the bound that its noise is for.
    """
    entry = method(id)
    if id == "ldp-whitened":
        runs = [entry.planned(public, rows.n, mu, values).run(rows, SeededNoise(seed, 1), 1) for mu in mus]
        return np.vstack([outcome.coefficients for outcome in runs])
    plan = entry.planned(public, rows.n, mus[0], values)
    if not isinstance(plan, LocalPlan | PrintedLocalPlan):
        raise TypeError(f"{id} is no collection")
    if sums is not None:
        server = plan if isinstance(plan, LocalPlan) else plan.repaired
        centre = (server.configuration.shift, len(setup.features(public)))
        distinct = sums[1].distinct(*centre) or PublicRows(server.rows)
        server = server.with_cached(gram=sums[1].gram(*centre), distinct=distinct)
        plan = server if isinstance(plan, LocalPlan) else replace(plan, repaired=server)
    statistic = _measured(plan, rows, None if sums is None else sums[0], clipped=clipped)
    outcomes = [plan.with_budget(mu).perturb(statistic, SeededNoise(seed, 1), 1) for mu in mus]
    return LocalOutcome(outcomes[0].plan, np.vstack([outcome.statistic for outcome in outcomes])).coefficients


def _measured(
    plan: LocalPlan | PrintedLocalPlan, rows: PrivateRows, sums: Nested | None, *, clipped: bool
) -> Private[np.ndarray]:
    """Return what the plan measures of its rows, by sums over first rows where no device clips any.

    Args:
        clipped: whether responses beyond the bound that the noise is for are clipped to it.
    """
    if isinstance(plan, PrintedLocalPlan):
        total = None if sums is None else sums.reports(plan.answered, rows.n)
        return plan.measure(rows) if total is None else Private(total / rows.n)
    made = plan.configuration if clipped else replace(plan.configuration, low=-BEYOND, high=BEYOND)
    total = None if sums is None else sums.reports(made, rows.n)
    said = integer_sum(rows, made.total).map(lambda steps: steps * made.units()) if total is None else Private(total)
    return said.map(lambda each: np.rint(each / plan.configuration.units()).astype(np.int64))


def _design(rng: np.random.Generator, design: str, count: int, p: int) -> np.ndarray:
    """Return rows (count, p): Gaussian with variances from U(0, 1), turned or not, or of 1; or fair signs over p."""
    if design == "bernoulli":
        return (2.0 * rng.integers(0, 2, (count, p), dtype=np.int8) - 1) / p
    x = rng.standard_normal((count, p))
    if design == "identity":
        return x
    x *= np.sqrt(rng.uniform(0, 1, p))
    return x if design == "diagonal" else np.asarray(x @ np.linalg.qr(rng.standard_normal((p, p)))[0])


def _labels(rng: np.random.Generator, z: np.ndarray, target: str) -> np.ndarray:
    mean = family_of(target).mean(z)
    return rng.poisson(mean).astype(float) if target == "poisson" else (rng.random(len(z)) < mean).astype(float)
