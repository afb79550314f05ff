"""Trials of paper C's experiments: its four algorithms as printed and repaired, beside the whitened score."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import block_diag

from pmtcore.accounting.budgets import Budget, mu_from_epsilon
from pmtcore.base.private_rows import PrivateRows
from pmtcore.glm.families import LOGISTIC, Family
from pmtcore.glm.families import family as family_of
from pmtcore.local.estimators import LINKS
from pmtcore.mechanisms.noise import SeededNoise
from pmtcore.methods.baselines import exact_fit
from pmtcore.methods.local.collected import LocalOutcome, LocalPlan
from pmtcore.methods.local.printed import PrintedPlan
from pmtcore.methods.registry import make_parameters, method
from pmtcore.papers.gallery.central import HARMLESS, table_as_numbers
from pmtcore.public.moments import PublicData, public_from_rows

_NOISE = 0.001  # C of paper C, section 6
Errors = dict[str, list[float]]
Series = Sequence[tuple[str, str, Mapping[str, Any]]]  # name, method, its parameters


@dataclass(frozen=True)
class Draw:
    """Rows of one trial, of which every setting takes the first: private ones, and public ones without a response."""

    x: np.ndarray
    y: np.ndarray
    public: np.ndarray
    truth: np.ndarray
    family: Family

    @classmethod
    def of(cls, seed: int, design: str, target: str, p: int, n: int, m: int) -> Draw:
        """Draw n private and m public rows."""
        rng = np.random.default_rng(seed)
        truth = np.full(p, 1 / np.sqrt(p))
        x = _design(rng, design, n + m, p)
        z = x[:n] @ truth
        linked = target in LINKS
        y = LINKS[target].value(z) + rng.uniform(-_NOISE, _NOISE, n) if linked else _labels(rng, z, target)
        return cls(x[:n], y, x[n:], truth, family_of("gaussian" if linked else target))

    def public_data(self, m: int) -> PublicData:
        """Return the first m public rows; all are counted, copies of Bernoulli rows too, as the paper does."""
        x, p = self.public[:m], self.x.shape[1]
        names = tuple(f"x{j + 1}" for j in range(p))
        factor = block_diag(np.linalg.cholesky(x.T @ x / m), 1.0)
        rows = np.column_stack([x, np.zeros(m)])
        return PublicData(names, "y", factor, m, rows, self.family, labelled=False)

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
    """Relative error of each method at each epsilon, delta = n^-power, of one draw of data; one for each size.

    Args:
        design: ``diagonal`` or ``turned`` (Gaussian rows), or ``bernoulli``.
        target: ``logistic``, ``poisson``, ``cubic`` or ``softplus``.
        sizes: private and public rows.
        series: name, method and parameters; ``ldp-whitened`` runs at the first epsilon alone, whose delta it shares.
        largest: l_inf error, else l2.
        methods: ids of the series, which the description of the figure names.
    """
    drawn = Draw.of(seed, design, target, p, *(max(size) for size in zip(*sizes, strict=True)))
    order = np.inf if largest else 2
    errors: Errors = {}
    for n, m in sizes:
        public = drawn.public_data(m)
        rows = drawn.private(n, public.names)
        mus = [mu_from_epsilon(epsilon, n**-power) for epsilon in epsilons]
        for name, id, values in series:
            budgets = mus[:1] if id == "ldp-whitened" else mus
            releases = collected(id, public, rows, budgets, values=_known(id, target, power) | dict(values), seed=seed)
            far = np.linalg.norm(releases - drawn.truth, order, axis=1) / np.linalg.norm(drawn.truth, order)
            far = np.where(np.isnan(far), np.inf, far**2 if squared else far)
            for epsilon, error in zip(epsilons, far, strict=False):
                errors.setdefault(f"{name}, eps = {epsilon:g}", []).append(float(error))
    return errors


def _known(id: str, target: str, power: float) -> dict[str, Any]:
    """Parameters that the experiment states: delta, the link, and the bound on the error of the response."""
    stated = {"power": power, "link": target, "noise_bound": _NOISE}
    return {name: value for name, value in stated.items() if name in method(id).parameters.__dataclass_fields__}


def collected(
    id: str, public: PublicData, rows: PrivateRows, mus: Sequence[float], *, values: dict[str, Any], seed: int
) -> np.ndarray:
    """Return the coefficients (len(mus), d) of one collection at several budgets, its noise alike but in size."""
    entry = method(id)
    parameters = make_parameters(entry, values)
    if id == "ldp-whitened":
        runs = [entry.plan(public, rows.n, Budget(mu), parameters).run(rows, SeededNoise(seed, 1), 1) for mu in mus]
        return np.vstack([outcome.coefficients for outcome in runs])
    plan = entry.plan(public, rows.n, Budget(mus[0]), parameters)
    if not isinstance(plan, LocalPlan | PrintedPlan):
        raise TypeError(f"{id} is no collection")
    statistic = plan.measure(rows)
    outcomes = [plan.at(mu).perturb(statistic, SeededNoise(seed, 1), 1) for mu in mus]
    return LocalOutcome(outcomes[0].plan, np.vstack([outcome.mean for outcome in outcomes])).coefficients


def accuracy_trial(
    seed: int,
    *,
    table: str,
    sizes: Sequence[int],
    epsilons: Sequence[float],
    methods: Sequence[str],
    train_rows: int = 406_708,
    rows_used: int | None = None,
    label: float = 2.0,
) -> Errors:
    """Share of test rows that are told right, one label against the rest; one for each size.

    Args:
        rows_used: of the table, drawn anew; all of them if ``None``.
    """
    x, y, names = table_as_numbers(table, "z", False)
    keep = np.linalg.norm(x, axis=0) > 0
    y = (y == label).astype(float)
    order = np.random.default_rng(seed).permutation(len(y))[:rows_used]
    x = np.column_stack([x[order][:, keep], np.ones(len(order))])
    y, test = y[order], slice(train_rows, None)
    names = (*[name for name, k in zip(names, keep, strict=True) if k], "one")
    errors: Errors = {}

    def told(series: str, beta: np.ndarray) -> None:
        errors.setdefault(series, []).append(float(np.mean((x[test] @ beta > 0) == (y[test] > 0.5))))

    for n in sizes:
        theirs = slice(n, 2 * n) if 2 * n <= train_rows else slice(train_rows - n, train_rows)
        public = public_from_rows(x[theirs], None, names, "y", 1e-3, LOGISTIC, 1e-4)
        rows = PrivateRows.from_arrays(x[:n], y[:n], names)
        majority = max(float(np.mean(y[test])), 1 - float(np.mean(y[test])))
        errors.setdefault("always the larger class", []).append(majority)
        told("without privacy", exact_fit(public, rows).reveal(HARMLESS))
        mus = [mu_from_epsilon(epsilon, n**-1.1) for epsilon in epsilons]
        for id in methods:
            for epsilon, beta in zip(epsilons, collected(id, public, rows, mus, values={}, seed=seed), strict=True):
                told(f"{id}, eps = {epsilon:g}", np.nan_to_num(beta))
    return errors


def _design(rng: np.random.Generator, design: str, count: int, p: int) -> np.ndarray:
    """Rows (count, p): Gaussian with variances from U(0, 1), turned or not, or fair signs over p."""
    if design == "bernoulli":
        return (2.0 * rng.integers(0, 2, (count, p), dtype=np.int8) - 1) / p
    x = rng.standard_normal((count, p)) * np.sqrt(rng.uniform(0, 1, p))
    return x if design == "diagonal" else np.asarray(x @ np.linalg.qr(rng.standard_normal((p, p)))[0])


def _labels(rng: np.random.Generator, z: np.ndarray, target: str) -> np.ndarray:
    mean = family_of(target).mean(z)
    return rng.poisson(mean).astype(float) if target == "poisson" else (rng.random(len(z)) < mean).astype(float)
