"""Figures 4 to 8 of paper D, the sound variants beside."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pmtcore.lab.gallery.checks import (
    alike,
    all_below,
    below,
    falls,
    lasting,
    near,
    rises,
)
from pmtcore.lab.gallery.engine import Figure, Run
from pmtcore.lab.gallery.findings import Claim

_EPSILONS = (0.4, 0.6, 0.8, 1.0)  # D, Table 4
_RELATION = (
    "Every budget is under add-remove-one, the paper's relation, ours too. The published methods are for the lab: "
    "their claim does not hold (E11 to E13); they run with bounded losses (E17), the noise of equation 4 (E8), weights "
    "that realize the target (E14), in the limit of many augmented rows."
)
ROWS = {"linear": 500, "poisson": 1000, "logistic": 1000, "adult": 0}
_FEW = {"linear": 200, "poisson": 500, "logistic": 500}  # the smaller n of Table 4
DATA = ("E21",)  # delta is 0.001 in the table and 0.0001 in the text; labels have the sign of the table here turned
_LAMS = (0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0)  # the paper draws a range; from all kept to none
Tried = tuple[tuple[str, str, Mapping[str, Any]], ...]
_SELECTING: Tried = (
    ("NAPP-VS+ with MOOR", "napp-vs-plus", {}),
    ("NAPP-VS+ without MOOR", "napp-vs-plus", {"moor": False}),
    ("NAPP-VS with MOOR", "napp-vs", {}),
    ("NAPP-VS without MOOR", "napp-vs", {"moor": False}),
)
_FITTING: Tried = (
    ("NAPP-ERM with MOOR", "napp-erm", {}),
    ("DP-ERM", "dp-erm", {}),
)
_OURS: Tried = (
    ("napp-public", "napp-public", {}),
    ("napp-public, returned", "napp-public", {"choice": "return"}),
    ("public fit alone", "public-only", {}),
)
_NONE: Tried = (("without privacy", "non-private", {}),)


def _prediction(x: float, kind: str, tried: Tried, **more: Any) -> Run:
    return Run(x, "erm_trials:prediction_trial", {"kind": kind, "n": ROWS[kind], "tried": tried} | more)


def _errors(kind: str) -> str:
    return "share of new rows told wrong" if kind in ("logistic", "adult") else "mean squared error on new rows"


def _selection(id: str, kind: str, few: bool = False) -> Figure:
    n = _FEW[kind] if few else ROWS[kind]
    tried = _SELECTING + _FITTING + (("napp-public with a lasso", "napp-public", {"lasso": 1}),) + _NONE
    return Figure(
        id=id,
        title=f"Selection, {kind}, n = {n}",
        source="D, Figure 4",
        runs=tuple(
            Run(
                e,
                "erm_trials:selection_trial",
                {"kind": kind, "n": n, "epsilon": e, "tried": tried, "lams": list(_LAMS), "delta": 0.0},
            )
            for e in _EPSILONS
        ),
        claims=(
            Claim("NAPP-VS+ selects better than NAPP-VS.", below("NAPP-VS with MOOR", "NAPP-VS+ with MOOR")),
            Claim(
                "NAPP-VS selects better than NAPP-ERM and DP-ERM.",
                all_below([("NAPP-ERM with MOOR", "NAPP-VS with MOOR"), ("DP-ERM", "NAPP-VS with MOOR")]),
            ),
            Claim(
                "MOOR makes little difference to selection.",
                alike([(f"{n} with MOOR", f"{n} without MOOR") for n in ("NAPP-VS", "NAPP-VS+")], 1.05),
            ),
            Claim(
                "(Ours) napp-public with a lasso selects better than DP-ERM.",
                below("DP-ERM", "napp-public with a lasso"),
            ),
        ),
        errata=DATA,
        trials=500,
        quick=2,
        x_label="epsilon",
        y_label="area under the ROC curve of selection",
        log_y=False,
        notes=f"Lambda from {_LAMS[0]:g} to {_LAMS[-1]:g}. {_RELATION}",
    )


def _predicting(id: str, kind: str, delta: float, few: bool = False) -> Figure:
    n = _FEW[kind] if few else ROWS[kind]
    tried = _SELECTING + _FITTING + _OURS + _NONE
    return Figure(
        id=id,
        title=f"Prediction, {kind}, n = {n}" + (f", delta = {delta:g}" if delta else ""),
        source="D, Figure 5",
        runs=tuple(_prediction(e, kind, tried, epsilon=e, delta=delta, n=n) for e in _EPSILONS),
        claims=(
            Claim(
                "MOOR predicts better.",
                all_below(
                    [(f"{name} with MOOR", f"{name} without MOOR") for name in ("NAPP-VS", "NAPP-VS+")], "median"
                ),
            ),
            Claim(
                "NAPP-VS has the smallest prediction errors of the published methods.",
                all_below([("NAPP-VS with MOOR", f"{m} with MOOR") for m in ("NAPP-VS+", "NAPP-ERM")], "median"),
            ),
            *(
                [
                    Claim(
                        "NAPP-VS+ has the largest error of the three.",
                        all_below(
                            [(f"{m} with MOOR", "NAPP-VS+ with MOOR") for m in ("NAPP-VS", "NAPP-ERM")], "median"
                        ),
                    )
                ]
                if kind == "poisson" or (kind == "logistic" and few)
                else []
            ),
            Claim("Errors fall with epsilon.", falls(["NAPP-ERM with MOOR", "NAPP-VS with MOOR", "DP-ERM"], "median")),
            Claim(
                "(Ours) napp-public predicts better than DP-ERM and the public fit.",
                all_below([("napp-public", "DP-ERM"), ("napp-public", "public fit alone")], "median"),
            ),
        ),
        errata=DATA,
        trials=500,
        quick=5,
        x_label="epsilon",
        y_label=_errors(kind),
        notes=f"Lambda = 1. {_RELATION}",
    )


def _by_weight(id: str, kind: str) -> Figure:
    names = ("NAPP-ERM with MOOR", "NAPP-VS with MOOR", "NAPP-VS+ with MOOR", "DP-ERM")
    tried = tuple(entry for entry in _SELECTING + _FITTING if entry[0] in names) + _NONE
    return Figure(
        id=id,
        title=f"Prediction by Lambda, {kind}",
        source="D, Figure 5",
        runs=tuple(_prediction(lam, kind, tried, epsilon=1.0, delta=0.0, lam=lam) for lam in (0.2, 1, 5, 20, 80)),
        claims=tuple(Claim(f"The error of {name} grows with Lambda.", rises([name], "median")) for name in names),
        errata=DATA,
        trials=500,
        quick=5,
        x_label="Lambda",
        y_label=_errors(kind),
        log_x=True,
        notes=f"epsilon = 1. {_RELATION}",
    )


def _adult(id: str, lam: float) -> Figure:
    tried = _SELECTING[:3:2] + _FITTING + _OURS + _NONE
    return Figure(
        id=id,
        title=f"Adult, Lambda = {lam:g}",
        source="D, Figure 6",
        runs=tuple(
            _prediction(e, "adult", tried, epsilon=e, delta=0.0, lam=lam, floor=1 / e, m=300) for e in (0.1, 0.3, 1.0)
        ),
        claims=(
            Claim(
                "NAPP-VS+ performs best of the private ones.",
                all_below([("NAPP-VS+ with MOOR", name) for name in ("NAPP-VS with MOOR", "DP-ERM")], "median"),
            ),
            Claim(
                "At epsilon = 1 it misses 15.5 % of the labels.",
                near("NAPP-VS+ with MOOR", 0.155, 0.005, 1.0),
            ),
            Claim("Without privacy 15.2 % are missed.", near("without privacy", 0.152, 0.005, 1.0)),
            Claim("Errors fall with epsilon.", falls(["NAPP-ERM with MOOR", "DP-ERM"], "median")),
            Claim("(Ours) napp-public predicts better than DP-ERM.", below("napp-public", "DP-ERM", "median")),
        ),
        errata=DATA,
        trials=500,
        quick=2,
        x_label="epsilon",
        y_label=_errors("adult"),
        log_y=False,
        needs="adult",
        notes=(
            f"T = 80, Lambda0 = 1/epsilon for all published methods and DP-ERM, as the paper has it (less than the "
            f"zeta3/epsilon that is needed here), 300 training rows public, a new split each time. {_RELATION}"
        ),
    )


def _retrieved(id: str, kind: str) -> Figure:
    names = ("NAPP-ERM", "NAPP-VS", "NAPP-VS+")
    return Figure(
        id=id,
        title=f"Retrieved budget, {kind}",
        source="D, Figure 7",
        runs=tuple(
            Run(lam, "erm_trials:retrieved_trial", {"kind": kind, "n": ROWS[kind], "epsilon": 1.0, "lam": lam})
            for lam in (0.1, 0.4, 1.0, 4.0, 16.0, 64.0, 256.0)
        ),
        claims=(
            Claim("The share retrieved grows with Lambda.", rises(list(names))),
            Claim(
                "NAPP-VS+ retrieves more than NAPP-VS and NAPP-ERM.",
                all_below([("NAPP-ERM", "NAPP-VS+"), ("NAPP-VS", "NAPP-VS+")]),
            ),
            Claim(
                "More is retrieved without MOOR than with it.",
                all_below([(name, f"{name} without MOOR") for name in names]),
            ),
            Claim("The share retrieved reaches a plateau.", lasting(list(names), 1.1)),
            Claim("(Ours) what is proved grows with Lambda to all.", rises(["ridge of Lambda + Lambda0 (proved)"])),
        ),
        errata=DATA,
        trials=500,
        quick=4,
        x_label="Lambda",
        y_label="share of (1 - r) epsilon retrieved",
        log_x=True,
        log_y=False,
        notes=(
            f"epsilon = 1. Published: equation 13 read as its worked example, from the private fit, unpaid (E9, E10, "
            f"E13). Proved: napp-public at the modulus of least predicted error, and at Lambda + Lambda0. {_RELATION}"
        ),
    )


def _recycled(id: str, kind: str) -> Figure:
    tried: Tried = (
        *(
            (name + words, method, {"recycle": 1} if words else {})
            for name, method in (("NAPP-ERM", "napp-erm"), ("NAPP-VS", "napp-vs"), ("NAPP-VS+", "napp-vs-plus"))
            for words in ("", ", recycled")
        ),
        ("napp-public, not recycled", "napp-public", {"choice": "return"}),
        ("napp-public, recycled", "napp-public", {}),
    )
    return Figure(
        id=id,
        title=f"Recycling, {kind}",
        source="D, Figure 8",
        runs=tuple(_prediction(e, kind, tried, epsilon=e, delta=0.0) for e in _EPSILONS),
        claims=(
            Claim(
                "Recycling the retrieved budget predicts better.",
                all_below([(f"{n}, recycled", n) for n in ("NAPP-ERM", "NAPP-VS", "NAPP-VS+")], "median"),
            ),
            Claim(
                "(Ours) so it does where it is proved.",
                below("napp-public, recycled", "napp-public, not recycled", "median"),
            ),
        ),
        errata=DATA,
        trials=500,
        quick=5,
        x_label="epsilon",
        y_label=_errors(kind),
        notes=(
            f"Lambda = 1. Published: one pass of Algorithm 2 with equation 15, the same noise made smaller. Ours, not "
            f"recycled: noise at r epsilon, the rest returned. {_RELATION}"
        ),
    )


def _selecting_recycled(id: str, kind: str) -> Figure:
    pairs = (("NAPP-ERM", "napp-erm"), ("NAPP-VS", "napp-vs"), ("NAPP-VS+", "napp-vs-plus"))
    tried: Tried = tuple(
        (name + words, method, {"recycle": 1} if words else {})
        for name, method in pairs
        for words in ("", ", recycled")
    )
    return Figure(
        id=id,
        title=f"Recycling and selection, {kind}",
        source="D, Figure 8",
        runs=tuple(
            Run(
                e,
                "erm_trials:selection_trial",
                {"kind": kind, "n": ROWS[kind], "epsilon": e, "tried": tried, "lams": list(_LAMS), "delta": 0.0},
            )
            for e in (0.4, 1.0)
        ),
        claims=(
            *(
                Claim(f"Recycling lets {name} select better.", below(name, f"{name}, recycled"))
                for name in ("NAPP-ERM", "NAPP-VS")
            ),
            Claim("NAPP-VS+ selects about as well with recycling.", alike([("NAPP-VS+", "NAPP-VS+, recycled")], 1.05)),
        ),
        errata=DATA,
        trials=500,
        quick=2,
        x_label="epsilon",
        y_label="area under the ROC curve of selection",
        log_y=False,
        notes=f"Lambda from {_LAMS[0]:g} to {_LAMS[-1]:g}; one pass of Algorithm 2. {_RELATION}",
    )


FIGURES = [
    _selection("D4", "logistic"),
    _selection("D4b", "linear"),
    _selection("D4c", "linear", few=True),
    _predicting("D5", "logistic", 0.0),
    _predicting("D5b", "linear", 0.0),
    _predicting("D5c", "poisson", 0.0),
    _predicting("D5d", "logistic", 0.001),
    _predicting("D5e", "logistic", 0.0, few=True),
    _predicting("D5f", "linear", 0.0, few=True),
    _predicting("D5g", "linear", 0.001),
    _by_weight("D5h", "logistic"),
    _adult("D6", 1.0),
    _retrieved("D7", "logistic"),
    _retrieved("D7b", "linear"),
    _recycled("D8", "linear"),
    _recycled("D8b", "logistic"),
    _selecting_recycled("D8c", "linear"),
]
