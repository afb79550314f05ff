"""Figures 1 and 3 of paper D: one weight for two purposes, and over-regularization."""

from __future__ import annotations

from pmtcore.papers.gallery.checks import alike, below, closer, never_below, rises
from pmtcore.papers.gallery.engine import Figure, Run
from pmtcore.papers.gallery.findings import Claim
from pmtcore.papers.gallery.paper_d import DATA, ROWS

_ENOUGH = "Lambda0 and kappa are not stated: with those taken the elastic net alone is convex enough, up to 2"


def _weight(id: str, kind: str, title: str) -> Figure:
    return Figure(
        id=id,
        title=f"What one weight does for two purposes: {title}",
        source="D, Figure 1",
        runs=tuple(Run(t / 20, "erm_trials:weight_trial", {"kind": kind, "theta": t / 20}) for t in range(1, 41)),
        claims=(
            Claim(
                "Both deviate from the target, NAPP-ERM less than DP-ERM.",
                closer("NAPP-ERM", "DP-ERM", "target"),
                _ENOUGH if kind == "elastic-net" else "",
            ),
        ),
        trials=5,
        quick=1,
        x_label="coefficient",
        y_label="penalty realized",
        log_y=False,
        notes="Lambda = 1 and Lambda0 = 1 (not stated), weights as printed; 10,000 rows drawn for a logistic loss.",
    )


def _modulus(id: str, kind: str, title: str) -> Figure:
    return Figure(
        id=id,
        title=f"The modulus of one weight for two purposes: {title}",
        source="D, Figure 1",
        runs=tuple(Run(t / 20, "erm_trials:modulus_trial", {"kind": kind, "theta": t / 20}) for t in range(1, 41)),
        claims=(
            Claim("NAPP-ERM keeps the required modulus everywhere (Prop. 3).", never_below("NAPP-ERM", "required")),
            Claim("DP-ERM has more of it everywhere.", below("NAPP-ERM", "DP-ERM")),
            Claim(
                "With 10,000 rows the modulus is nearly what the formula says.",
                alike([("NAPP-ERM, rows drawn", "NAPP-ERM")], 1.15),
            ),
        ),
        trials=5,
        quick=1,
        x_label="coefficient",
        y_label="modulus of strong convexity",
        notes="Lambda = 1 and Lambda0 = 1 (not stated), weights as printed; 10,000 rows drawn for a logistic loss.",
    )


_LAMS = (0.25, 0.5, 1.0)  # the paper draws a range that it does not state


def _moor(id: str, kind: str) -> Figure:
    pairs = [(f"with MOOR, Lambda = {lam:g}", f"without MOOR, Lambda = {lam:g}") for lam in _LAMS]
    return Figure(
        id=id,
        title=f"Over-regularization, {kind}",
        source="D, Figure 3",
        runs=tuple(
            Run(floor, "erm_trials:moor_trial", {"kind": kind, "n": ROWS[kind], "lams": list(_LAMS), "floor": floor})
            for floor in (0.3, 0.6, 1, 2, 4)
        ),
        claims=(
            *(
                Claim(f"With MOOR the estimate is closer to the plain lasso, Lambda = {lam:g}.", below(*pair))
                for lam, pair in zip(_LAMS, pairs, strict=True)
            ),
            Claim("(Ours) all move away as Lambda0 grows.", rises([name for pair in pairs for name in pair])),
        ),
        errata=DATA,
        trials=500,
        quick=20,
        x_label="Lambda0",
        y_label="distance to the plain lasso",
        log_x=True,
        notes="No noise, weights that realize the target (E14).",
    )


FIGURES = [
    _weight("D1", "lasso", "lasso"),
    _weight("D1b", "elastic-net", "elastic net"),
    _weight("D1c", "bridge", "l0.5"),
    _modulus("D1d", "lasso", "lasso"),
    _modulus("D1e", "elastic-net", "elastic net"),
    _modulus("D1f", "bridge", "l0.5"),
    _moor("D3", "logistic"),
    _moor("D3b", "linear"),
    _moor("D3c", "poisson"),
]
