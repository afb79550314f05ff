"""Trials of the central experiments of papers A and B: data, methods, errors.

Only synthetic and public UCI tables come here, so exact fits harm nobody.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, Literal

import numpy as np
import pandas as pd

from pmtcore.base.private_rows import Curator, PrivateRows
from pmtcore.glm.families import family as family_of
from pmtcore.mechanisms.noise import SeededNoise, ZeroNoise
from pmtcore.methods.baselines import exact_fit
from pmtcore.methods.noisy_newton import NewtonOutcome
from pmtcore.methods.registry import Method, method
from pmtcore.methods.two_part.whitened import PmtMomentOutcome
from pmtcore.papers.gallery.engine import Errors
from pmtcore.public.moments import PublicData, public_from_rows
from pmtcore.tables import named
from pmtcore.tables.synthetic import synthetic
from pmtcore.tables.table import read_path

_TRACE = 26.0  # of the papers' synthetic second moment
_PUBLISHED = {"calibration": "papers"}  # each part by itself, as in the figures that are recomputed
HARMLESS = Curator("a published experiment on synthetic or public rows")
Tried = Sequence[tuple[str, str, float, Mapping[str, Any]]]  # series, method, total mu, parameters


def trial(
    seed: int,
    *,
    problem: Mapping[str, Any],
    tried: Tried,
    path: bool = False,
    reference: float | None = None,
) -> Errors:
    """Draw data once and release each method once: distances to the truth or to the exact fit.

    Args:
        reference: the penalty of the exact fit that distances are to; the problem's own if ``None``.
    """
    public, rows, truth = sides(seed, **problem)
    fitted = public if reference is None else dataclasses.replace(public, lam=reference)
    target = exact_fit(fitted, rows).reveal(HARMLESS) if truth is None else truth
    errors: Errors = {}
    for series, id, mu, values in tried:
        entry = method(id)
        chosen = _published(entry) | _known(values, problem, truth)
        plan = entry.planned(public, rows.n, mu, chosen)
        outcome = plan.run(rows, SeededNoise(seed), 1)
        path_of = outcome.iterates[:, 0] if path and isinstance(outcome, NewtonOutcome) else outcome.coefficients
        distance = np.linalg.norm(path_of - target, axis=-1)
        if path and len(distance) == 1:  # not iterative: the same at every step
            distance = np.repeat(distance, len(next(iter(errors.values()), [0.0])))
        errors[series] = np.nan_to_num(distance, nan=np.inf).tolist()
    return errors


def _known(values: Mapping[str, Any], problem: Mapping[str, Any], truth: np.ndarray | None) -> dict[str, Any]:
    """Return parameters with ``known`` replaced by what A's Theorem 4.3 takes as known: trace and ``||beta||``."""
    parameters = dict(values)
    if parameters.pop("known", False) and truth is not None:
        parameters |= {"trace": problem.get("trace", _TRACE), "length": float(np.linalg.norm(truth))}
    return parameters


def _published(entry: Method) -> dict[str, Any]:
    """Return parameters that a published experiment has and the method's defaults have not."""
    known = {item.name for item in dataclasses.fields(entry.parameters)}
    return {name: value for name, value in _PUBLISHED.items() if name in known}


def conditioning_trial(seed: int, *, problem: Mapping[str, Any], truncated: bool = False) -> Errors:
    """Return the averaged condition number of the private moment, as it is and whitened.

    Args:
        truncated: of truncated rows too.
    """
    return {name: [float(each.mean() / each[0])] for name, each in _spectra(seed, problem, truncated).items()}


def eigenvalue_trial(seed: int, *, problem: Mapping[str, Any]) -> Errors:
    """Return the smallest eigenvalue of the private moment, as it is and whitened."""
    return {name: [float(each[0])] for name, each in _spectra(seed, problem).items()}


def _spectra(seed: int, problem: Mapping[str, Any], truncated: bool = False) -> dict[str, np.ndarray]:
    """Return ascending eigenvalues (d,) of the private moment, and whitened, by what is plotted.

    Args:
        truncated: of rows truncated as ``pmt-moment`` does it, too: its outcome without noise.
    """
    public, rows, _ = sides(seed, **problem)
    # Made for every figure: what a release of these rows would refuse has no spectrum here either.
    plan = method("pmt-moment").planned(public, rows.n, 1.0)
    moment = rows.sum(lambda features, _: features.T @ features).reveal(HARMLESS) / rows.n
    inverse = np.linalg.inv(public.feature_root)
    spectra = {"before whitening": moment, "after whitening": inverse @ moment @ inverse.T}
    if truncated:
        outcome = plan.run(rows, ZeroNoise(), 1)
        if not isinstance(outcome, PmtMomentOutcome):
            raise TypeError("pmt-moment has another outcome")
        of_both = (outcome.moments[0], outcome.statistic[0])
        spectra |= {f"{name}, rows truncated": each for name, each in zip(spectra, of_both, strict=True)}
    return {name: np.linalg.eigvalsh(each) for name, each in spectra.items()}


def sides(
    seed: int,
    *,
    table: str,
    m: int,
    n: int | None = None,
    d: int = 10,
    trace: float = _TRACE,
    family: str = "gaussian",
    lam: float = 0.0,
    scale: Literal["none", "max", "minmax", "z"] = "none",
    one: bool = False,
) -> tuple[PublicData, PrivateRows, np.ndarray | None]:
    """Return public data, private rows, and the true coefficients where there are any.

    Args:
        table: ``synthetic``, or a UCI table by name, split anew for each seed.
        one: add a column of ones, as the paper does; an ordinary feature.
    """
    if table == "synthetic":
        draw = synthetic(int(n or 10_000), m, d=d, trace=trace, family=family, seed=seed)
        names = tuple(f"x{j + 1}" for j in range(d))
        rows = PrivateRows.from_arrays(draw.private_x, draw.private_y, names)
        return _public(draw.public_x, draw.public_y, names, family, lam=lam), rows, draw.beta
    x, y, names = table_as_numbers(table, scale, one)
    order = np.random.default_rng(seed).permutation(len(y))
    private, public = order[m : None if n is None else m + n], order[:m]
    rows = PrivateRows.from_arrays(x[private], y[private], names)
    return _public(x[public], y[public], names, family, lam=lam), rows, None


def _public(x: np.ndarray, y: np.ndarray, names: tuple[str, ...], family: str, *, lam: float) -> PublicData:
    """Return public data; with no more rows than features, the moment alone, held by a ridge of 1e-9."""
    m, d = x.shape
    if m > d:
        return public_from_rows(x, y, names, "y", ridge=0.0, family=family_of(family), lam=lam)
    factor = np.zeros((d + 1, d + 1))
    factor[:d, :d] = np.linalg.cholesky(x.T @ x / m + 1e-9 * np.eye(d))
    factor[d, d] = math.sqrt(float(np.mean(y**2)))
    return PublicData(names, "y", factor, None, None, family_of(family), lam)


@cache
def table_as_numbers(table: str, scale: str, one: bool) -> tuple[np.ndarray, np.ndarray, tuple[str, ...]]:
    """Return a UCI table as numbers (texts by place in the alphabet), rescaled by all its rows as the papers do."""
    entry = named.entry(table)
    if entry.path is None:
        raise FileNotFoundError(entry.file)
    frame = read_path(entry.path, "public").frame
    columns = {name: _codes(frame[name]) for name in frame.columns}
    y = columns.pop(entry.target)
    x = _rescaled(np.column_stack(list(columns.values())), scale)
    if entry.family == "gaussian":
        y = _rescaled(y[:, None], scale)[:, 0]
    names = tuple(columns)
    if one:
        x, names = np.column_stack([np.ones(len(x)), x]), ("one", *names)
    return x, y, names


def _codes(column: pd.Series[Any]) -> np.ndarray:
    if pd.api.types.is_numeric_dtype(column):
        return column.to_numpy(dtype=float)
    return pd.factorize(column.astype(str), sort=True)[0].astype(float)


def _rescaled(x: np.ndarray, scale: str) -> np.ndarray:
    if scale == "max":
        return x / np.abs(x).max(axis=0)
    if scale == "minmax":
        return (x - x.min(axis=0)) / np.ptp(x, axis=0)
    return (x - x.mean(axis=0)) / x.std(axis=0) if scale == "z" else x
