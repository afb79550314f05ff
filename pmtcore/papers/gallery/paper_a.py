"""Figures of paper A: ridge regression (1 to 6), and logistic regression, error by Newton step (7 to 10)."""

from __future__ import annotations

import itertools
import math
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Unpack

from pmtcore.papers.gallery.checks import (
    alike_at_end,
    all_below,
    below,
    falls,
    flat,
    flatter,
    interior_minimum,
    last_below,
    settles,
)
from pmtcore.papers.gallery.claims import Check, Claim, Statistic
from pmtcore.papers.gallery.engine import Figure, FigureChoices, Run
from pmtcore.papers.gallery.series import TEXTS

ROOT2 = math.sqrt(2)  # the papers' mu is per part; ours is a total (A, Theorem 4.2)
TRUTH, FIT = TEXTS["truth"], TEXTS["fit"]
UNSTATED_BUDGETS = "the budgets are not stated, and the answer depends on how far apart they are"
_NO_MU = "mu is not stated for figures 1 and 4, and errors depend on it; the notes say what larger budgets give"
_RANGE = TEXTS["range"]
_OUTLIER = TEXTS["outlier"]
# How a typical error is read: lines are averages (C, section 6: "the average of the errors").
AVERAGES: dict[str, Statistic] = {"average": "mean", "median": "median"}
TYPICAL = "how a typical error is taken: lines are averages"
Problem = Mapping[str, Any]
Tried = list[tuple[str, str, float, dict[str, Any]]]


def run(x: float | None, problem: Problem, tried: Tried, *, path: bool = False, reference: float | None = None) -> Run:
    """Return a run of central methods."""
    setting = {"problem": dict(problem), "tried": tried, "path": path}
    return Run(x, "central:trial", setting if reference is None else {**setting, "reference": reference})


def ours(mu: float, beyond: str = "joint-pmt") -> Tried:
    """Return the series that the paper does not have: the joint release, and the public fit alone."""
    return [(beyond, beyond, mu, {}), ("public-only", "public-only", mu, {})]


_KNOWN = {"known": True}  # trace and length of the coefficients, as Theorem 4.3 takes them: on synthetic rows only


def _baseline(mu: float, values: Problem, known: bool, label: str = "DP-RR") -> Tried:
    """Return DP-RR: on synthetic rows by Theorem 4.3, on real ones by Remark 4.4, as the paper says."""
    if known:
        return [(label, "dp-ridge-public", ROOT2 * mu, {**values, **_KNOWN})]
    return [(label, "dp-ridge", ROOT2 * mu, dict(values))]


def _three(known: bool, *, mu: float, eta: float, clip: float, rate: float) -> Tried:
    """Return the three methods of figures 1 and 4; DP-GD at its own mu and at the same total (E20)."""
    descent = {"steps": 1000, "clip": clip, "rate": rate}
    remark = [("DP-RR, Remark 4.4", "dp-ridge", ROOT2 * mu, {"eta": eta})]
    return [
        ("DP-PMTRR", "pmt-ridge", ROOT2 * mu, {"eta": eta}),
        *_baseline(mu, {"eta": eta}, known),
        *(remark if known else []),
        ("DP-GD", "dp-gd", mu, descent),
        ("DP-GD, same total", "dp-gd", ROOT2 * mu, descent),
        *ours(ROOT2 * mu),
    ]


def drawn(
    id: str,
    title: str,
    runs: Iterable[Run],
    claims: Iterable[Claim],
    *,
    cited: str = "",
    **more: Unpack[FigureChoices],
) -> Figure:
    """Return a figure of paper A or B: what differs from its other figures is said in ``more``."""
    alike: FigureChoices = {"trials": 300, "quick": 10, "x_label": "private rows n"}
    source = cited or f"{id[0]}, Figure {id[1:].rstrip('ab')}"
    return Figure(id=id, title=title, source=source, runs=tuple(runs), claims=tuple(claims), **(alike | more))


def averaged(words: str, check: Callable[[Statistic], Check]) -> Claim:
    """Return a claim about the lines: averages, as the paper draws them, and medians, which no single trial decides."""
    readings = {how: check(statistic) for how, statistic in AVERAGES.items()}
    return Claim(words, unstated=TYPICAL, readings=readings, stated=("average",))


def _against_n(
    id: str,
    title: str,
    problem: Problem,
    sizes: Sequence[int],
    *,
    tried: Mapping[str, float],
    **more: Unpack[FigureChoices],
) -> Figure:
    claims = (
        Claim("DP-PMTRR is below DP-RR at every n.", below("DP-PMTRR", "DP-RR")),
        Claim("DP-PMTRR is more robust than DP-RR.", below("DP-PMTRR", "DP-RR", "sd")),
        Claim("DP-PMTRR and DP-RR fall as n grows.", falls(["DP-PMTRR", "DP-RR"]), _NO_MU),
        Claim(
            "DP-GD shows limited sensitivity to n.",
            unstated=f"what limited sensitivity is; {_NO_MU}",
            readings={
                "within a factor of 1.3": flat("DP-GD", 1.3),
                "less than DP-PMTRR": flatter("DP-GD", "DP-PMTRR"),
            },
        ),
        Claim(
            "DP-GD is the most robust: its spread is too small to be drawn.", below("DP-GD", "DP-PMTRR", "sd"), _NO_MU
        ),
        Claim("DP-PMTRR achieves better accuracy than DP-GD.", below("DP-PMTRR", "DP-GD"), _NO_MU),
    )
    three = _three(problem["table"] == "synthetic", **tried)
    return drawn(id, title, (run(n, {**problem, "n": n}, three) for n in sizes), claims, **more)


def _with_mu(
    id: str,
    title: str,
    problem: Problem,
    sizes: Sequence[int],
    *,
    mus: Sequence[float],
    values: Problem,
    **more: Unpack[FigureChoices],
) -> Figure:
    better, plain = ([f"{kind}, mu = {mu:g}" for mu in mus] for kind in ("DP-PMTRR", "DP-RR"))
    pairs = list(zip(better, plain, strict=True))
    known = problem["table"] == "synthetic"
    tried: Tried = [
        *((name, "pmt-ridge", ROOT2 * mu, dict(values)) for name, mu in zip(better, mus, strict=True)),
        *(part for name, mu in zip(plain, mus, strict=True) for part in _baseline(mu, values, known, name)),
        *ours(ROOT2 * mus[-1]),
    ]
    smaller = "DP-PMTRR is below DP-RR even with the smaller budget."
    claims = (
        Claim("DP-PMTRR is below DP-RR at every n and mu.", all_below(pairs)),
        Claim(smaller, below(better[0], plain[-1], "median"), UNSTATED_BUDGETS),
        Claim("DP-PMTRR is more robust than DP-RR at every n and mu.", all_below(pairs, "sd")),
        Claim("Errors fall as n grows.", falls(better)),
        Claim("Their standard deviations fall as n grows.", falls(better, "sd")),
        Claim("Errors fall as mu grows.", all_below([(high, low) for low, high in itertools.pairwise(better)])),
    )
    notes = f"The budgets are not stated in the text; {', '.join(f'{mu:g}' for mu in mus)} per part are taken."
    return drawn(id, title, (run(n, {**problem, "n": n}, tried) for n in sizes), claims, **(more | {"notes": notes}))


def _with_lam(id: str, title: str, problem: Problem, mu: float, *, eta: float, **more: Unpack[FigureChoices]) -> Figure:
    def tried(lam: float) -> Tried:
        values = {"lam": lam, "eta": eta}
        known = problem["table"] == "synthetic"
        return [("DP-PMTRR", "pmt-ridge", ROOT2 * mu, values), *_baseline(mu, values, known), *ours(ROOT2 * mu)]

    depends = "The {} of DP-PMTRR depends less on the penalty."
    claims = (
        Claim(depends.format("accuracy"), flatter("DP-PMTRR", "DP-RR", "median"), _RANGE),
        Claim(depends.format("robustness"), flatter("DP-PMTRR", "DP-RR", "sd"), _RANGE),
        Claim("A larger penalty makes DP-RR more robust.", falls(["DP-RR"], "sd"), _RANGE),
        Claim("DP-RR has a penalty of smallest mean error inside the range.", interior_minimum("DP-RR"), _RANGE),
    )
    notes = "The reference of this figure is the target without a penalty. The range of lam is chosen here."
    more |= {"x_label": "ridge penalty lam", "log_x": True, "notes": notes}
    return drawn(id, title, (run(lam, problem, tried(lam)) for lam in _LAMS), claims, **more)


_LAMS = (1e-5, 1e-4, 1e-3, 1e-2, 0.1, 0.3)  # the paper states no range; from no effect to plain bias


# Figures 7 to 10: logistic regression.

_STEPS = 10  # the paper states none; noise-free Newton is still by then
_PRINTED = {"steps": _STEPS, "indefinite": "printed"}


def _newton(label: str, mu: float, eta: float) -> Tried:
    values = {**_PRINTED, "eta": eta}
    return [
        (f"DP-PMTLR, {label}", "pmt-logistic", ROOT2 * mu, values),
        (f"DP-LR, {label}", "dp-logistic", ROOT2 * mu, values),
    ]


_T = f"T = {_STEPS} steps are taken; the paper states none."
_BY_STEP: FigureChoices = {"trials": 100, "quick": 5, "x_label": "Newton step"}


def _by_mu(
    id: str, title: str, problem: Problem, mus: Sequence[float], *, eta: float, **more: Unpack[FigureChoices]
) -> Figure:
    tried = [part for mu in mus for part in _newton(f"mu = {mu:g}", mu, eta)]
    tried += [("pmt-objective", "pmt-objective", ROOT2 * mus[-1], {}), *ours(mus[-1])[1:]]
    names = [f"DP-PMTLR, mu = {mu:g}" for mu in mus]
    strongest = f"DP-LR, mu = {mus[-1]:g}"
    most = "DP-PMTLR with the smallest budget is {} DP-LR with the largest."

    def claims() -> Iterator[Claim]:
        readings = {
            f"mu = {mu:g}, {how}": last_below(name, f"DP-LR, mu = {mu:g}", statistic=statistic)
            for mu, name in zip(mus, names, strict=True)
            for how, statistic in AVERAGES.items()
        }
        yield Claim("At the end DP-PMTLR is below DP-LR.", unstated=UNSTATED_BUDGETS, readings=readings)
        yield Claim(most.format("below"), last_below(names[0], strongest, statistic="median"), UNSTATED_BUDGETS)
        yield Claim(most.format("more robust than"), last_below(names[0], strongest, statistic="sd"), _OUTLIER)
        for (low, a), (high, b) in itertools.pairwise(zip(mus, names, strict=True)):
            rise = f"mu = {low:g} to {high:g}."
            yield averaged(f"More budget makes DP-PMTLR more accurate: {rise}", partial(last_below, b, a, 1.0))
            yield Claim(f"More budget makes DP-PMTLR more stable: {rise}", last_below(b, a, statistic="sd"), _OUTLIER)
        yield Claim("DP-PMTLR's steps settle at the largest budget.", settles(names[-1]), _OUTLIER)

    notes = f"{_T} {more['notes']} The budgets are not stated; {', '.join(f'{mu:g}' for mu in mus)} per part are taken."
    return drawn(id, title, [run(None, problem, tried, path=True)], claims(), **(_BY_STEP | more | {"notes": notes}))


def _by_lam(
    id: str,
    title: str,
    problem: Problem,
    mu: float,
    *,
    eta: float,
    lams: Sequence[float],
    reference: float | None = None,
    best: float | None = None,
    **more: Unpack[FigureChoices],
) -> Figure:
    """Return a figure with a line for each penalty.

    Args:
        reference: penalty of the one fit that all errors are distances to.
        best: the penalty at which the paper has DP-PMTLR best.
    """
    labels = {lam: f"lam = {lam:g}" for lam in lams}
    first, last = labels[lams[0]], labels[lams[-1]]
    ends = (f"DP-PMTLR, {first}", f"DP-PMTLR, {last}")

    def sd_below(low: str, high: str) -> Check:
        return last_below(low, high, statistic="sd")

    def claims() -> Iterator[Claim]:
        yield Claim(f"DP-LR fails to converge at {first}.", settles(f"DP-LR, {first}", yes=False), _OUTLIER)
        yield Claim(f"DP-PMTLR converges at {first}.", settles(ends[0]), _OUTLIER)
        for at in labels.values():
            robust = f"DP-PMTLR is more robust than DP-LR at {at}."
            yield Claim(robust, sd_below(f"DP-PMTLR, {at}", f"DP-LR, {at}"), _OUTLIER)
        yield Claim(
            "A larger penalty makes DP-LR more robust.", sd_below(f"DP-LR, {last}", f"DP-LR, {first}"), _OUTLIER
        )
        yield Claim(
            "DP-PMTLR depends only weakly on the penalty.",
            unstated="what 'weakly' is",
            readings={f"within a factor of {factor:g}": alike_at_end(*ends, factor) for factor in (1.5, 3.0, 10.0)},
        )
        if best is None:
            larger = "A larger penalty makes the average error of DP-PMTLR larger."
            yield Claim(larger, last_below(*ends), _OUTLIER)
            return
        for lam, at in labels.items():
            if lam != best:
                words = f"DP-PMTLR is best at lam = {best:g}: below DP-PMTLR, {at}."
                yield Claim(words, last_below(f"DP-PMTLR, lam = {best:g}", f"DP-PMTLR, {at}"), _OUTLIER)

    runs = (
        run(None, {**problem, "lam": lam}, _newton(at, mu, eta), path=True, reference=reference)
        for lam, at in labels.items()
    )
    notes = f"{_T} {more['notes']}"
    if reference is not None:
        notes += f" All errors are distances to the fit at lam = {reference:g}, the original penalty."
    return drawn(id, title, runs, claims(), **(_BY_STEP | more | {"notes": notes}))


_FORMS: Mapping[str, Callable[..., Figure]] = {
    "against n": _against_n,
    "with mu": _with_mu,
    "with lam": _with_lam,
    "by mu": _by_mu,
    "by lam": _by_lam,
}
_FILE = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))


def _made(id: str, form: str, rows: str, problem: Problem | None = None, **more: object) -> Figure:
    """Return a figure of the file."""
    table = _FILE["rows"][rows]
    of_rows = {name: value for name, value in table.items() if name != "problem"}
    of_rows |= {"y_label": TEXTS[table["y_label"]], "errata": tuple(table.get("errata", ()))}
    return _FORMS[form](id, problem={**table["problem"], **(problem or {})}, **(of_rows | more))


FIGURES = [_made(id, **fields) for id, fields in _FILE["figures"].items()]
