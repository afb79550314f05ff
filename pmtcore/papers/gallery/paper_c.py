"""Figures 1 to 7 of paper C."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pmtcore.papers.gallery.checks import alike_at_end, all_below
from pmtcore.papers.gallery.engine import Figure, Run
from pmtcore.papers.gallery.findings import Claim
from pmtcore.papers.gallery.slopes import slope_above, slope_across, slope_near

_EPSILONS = (2.0, 3.0, 5.0, 10.0)  # C, section 6
_SIZES = (10_000, 50_000, 110_000, 290_000)  # four of the paper's fifteen, ends included
_BEYOND = (2.0, 3.0)  # where the whitened score runs too: at larger ones its reports take most of the time
_POOLED = (
    "The public Gram matrix is pooled (Remark 11); noise is calibrated exactly (E6) and the radius Euclidean (E7); "
    "responses are clipped to a declared bound: 10 for Poisson on Bernoulli rows, 50 on Gaussian ones, and "
    "L r + |f(0)| + C with C = 0.001 for a regression. ldp-whitened uses PrivUnit at the same epsilon, for 2 and 3 "
    "only. Rates are those of small errors: where squared relative errors are "
    "far above 1, the scale equation answers noise with a smaller scale, and the error falls more slowly."
)


def _id(design: str, target: str) -> str:
    return ("ldp-nlr" if target in ("cubic", "softplus") else "ldp-glm") + (
        "" if design == "bernoulli" else "-gaussian"
    )


def _run(x: float, **setting: Any) -> Run:
    also = setting["target"] not in ("cubic", "softplus") and bool(setting.get("beyond"))
    ids = [_id(setting["design"], setting["target"]), *(["ldp-whitened"] if also else [])]
    return Run(x, "local:trial", {**setting, "methods": ids})


def _pairs(design: str, target: str, epsilons: Sequence[float]) -> tuple[Claim, ...]:
    if target in ("cubic", "softplus"):
        return ()
    names = [(f"ldp-whitened, eps = {e:g}", f"{_id(design, target)}, eps = {e:g}") for e in epsilons if e in _BEYOND]
    if not names:
        return ()
    return (Claim("(Ours) the whitened score is below the paper's method everywhere.", all_below(names, "median")),)


def _ours(design: str, target: str) -> tuple[Claim, ...]:
    """The rates, of the whitened score."""
    if target in ("cubic", "softplus"):
        return ()
    rate = slope_near("ldp-whitened, eps = 2", -1.0)
    return (Claim("(Ours) its squared error is proportional to 1/n at epsilon = 2.", rate),)


def _by_privacy(id: str, title: str, design: str, target: str) -> Figure:
    name = _id(design, target)
    largest = design == "bernoulli"
    return Figure(
        id=id,
        title=title,
        source=f"C, Figure {id[1]}",
        runs=tuple(
            _run(n, design=design, target=target, p=10, n=n, m=n, epsilons=_EPSILONS, largest=largest, beyond=_BEYOND)
            for n in _SIZES
        ),
        claims=(
            *(
                Claim(
                    f"Squared relative error is proportional to 1/n at epsilon = {e:g}.",
                    slope_near(f"{name}, eps = {e:g}", -1.0),
                )
                for e in _EPSILONS
            ),
            Claim(
                "Squared relative error is proportional to 1/epsilon^2 (at the largest n).",
                slope_across({e: f"{name}, eps = {e:g}" for e in _EPSILONS}, -2.0, 0.4),
            ),
            *_ours(design, target),
            *_pairs(design, target, _EPSILONS),
        ),
        trials=100,
        quick=2,
        x_label="private rows n",
        y_label=f"squared relative error, {'l_inf' if largest else 'l2'}",
        log_x=True,
        notes=_POOLED + " Four of the paper's fifteen n.",
    )


def _by_dimension(id: str, title: str, design: str, target: str) -> Figure:
    name, largest = _id(design, target), design == "bernoulli"
    sizes = (100_000, 200_000)
    return Figure(
        id=id,
        title=title,
        source=f"C, Figure {id[1]}",
        runs=tuple(
            _run(p, design=design, target=target, p=p, n=n, m=n, epsilons=(10.0,), largest=largest)
            for p in (5, 10, 12, 15)
            for n in sizes[1:]
        ),
        claims=(
            Claim("The error grows with the dimension.", slope_above(f"{name}, eps = 10", 0.0)),
            *_pairs(design, target, (10.0,)),
        ),
        trials=100,
        quick=2,
        x_label="dimension p",
        y_label=f"squared relative error, {'l_inf' if largest else 'l2'}",
        notes=_POOLED + " n = 200,000, one of the paper's twenty.",
    )


def _by_public(id: str, target: str) -> Figure:
    name = _id("bernoulli", target)
    return Figure(
        id=id,
        title=f"Public rows, {target}",
        source="C, Figure 7",
        runs=tuple(
            _run(
                m,
                design="bernoulli",
                target=target,
                p=10,
                n=200_000,
                m=m,
                epsilons=(3.0, 5.0, 10.0),
                power=1.0,
                largest=True,
                squared=False,
                beyond=_BEYOND,
            )
            for m in (20_000, 80_000, 160_000)
        ),
        claims=(
            Claim("Few public rows suffice: the error hardly depends on m.", slope_near(f"{name}, eps = 10", 0.0, 0.1)),
            *_pairs("bernoulli", target, (3.0, 5.0, 10.0)),
        ),
        trials=100,
        quick=2,
        x_label="public rows m",
        y_label="relative error, l_inf",
        log_x=True,
        notes=_POOLED + " Three of the paper's eight m.",
    )


def _accuracy(id: str, title: str, table: str, sizes: Sequence[int], setting: Mapping[str, Any], notes: str) -> Figure:
    return Figure(
        id=id,
        title=title,
        source="C, Figure 6",
        runs=tuple(
            Run(
                n,
                "local:accuracy_trial",
                {"table": table, "n": n, "epsilons": (5.0, 10.0, 20.0), **setting},
            )
            for n in sizes
        ),
        claims=(
            Claim(
                "With enough rows the performance approaches that without privacy (epsilon = 20).",
                alike_at_end("ldp-glm-gaussian, eps = 20", "without privacy", 1.05),
            ),
            Claim(
                "With enough rows at epsilon = 20 the method does better than always the larger class.",
                all_below([("always the larger class", "ldp-glm-gaussian, eps = 20")], "median"),
            ),
            Claim(
                "(Ours) the whitened score is more accurate at every n.",
                all_below(
                    [(f"ldp-glm-gaussian, eps = {e}", f"ldp-whitened, eps = {e}") for e in (5, 10, 20)], "median"
                ),
            ),
        ),
        trials=1000,
        quick=2,
        x_label="private rows n",
        y_label="accuracy on the test rows",
        log_y=False,
        needs=table,
        notes=notes,
        errata=("E23",),
        named=("ldp-glm-gaussian", "ldp-whitened"),
    )


FIGURES = [
    _by_privacy("C1", "Logistic, Gaussian rows, diagonal", "diagonal", "logistic"),
    _by_privacy("C1b", "Poisson, Gaussian rows, orthogonal", "orthogonal", "poisson"),
    _by_dimension("C2", "Logistic by dimension", "diagonal", "logistic"),
    _by_dimension("C2b", "Poisson by dimension", "orthogonal", "poisson"),
    _by_dimension("C3b", "Logistic, Bernoulli rows, by dimension", "bernoulli", "logistic"),
    _by_dimension("C4b", "Poisson, Bernoulli rows, by dimension", "bernoulli", "poisson"),
    _by_dimension("C5b", "Cubic regression, Bernoulli rows, by dimension", "bernoulli", "cubic"),
    _by_privacy("C3", "Logistic, Bernoulli rows", "bernoulli", "logistic"),
    _by_privacy("C4", "Poisson, Bernoulli rows", "bernoulli", "poisson"),
    _by_privacy("C5", "Cubic regression, Bernoulli rows", "bernoulli", "cubic"),
    _accuracy(
        "C6",
        "Covertype, type 2 or not",
        "covertype",
        (10_000, 90_000, 190_000),
        {},
        "z-scores of all columns, a column of ones, a public ridge of 0.001 in place of removing columns.",
    ),
    _accuracy(
        "C6b",
        "SUSY, signal or background",
        "susy",
        (10_000, 90_000, 170_000),
        {"train_rows": 350_000, "rows_used": 500_000, "label": 1.0},
        "500,000 rows drawn anew in each trial; z-scores, a column of ones, a public ridge of 0.001.",
    ),
    _by_public("C7", "logistic"),
    _by_public("C7b", "cubic"),
]
