"""The demonstration of each lesson: its knobs, and the picture and sentence that follow from where they stand."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, final

import pandas as pd
import plotly.graph_objects as go

from pmtcore.auditing.faults import FAULTS
from pmtcore.base.numbers import figure as said
from pmtcore.papers import lessons, lessons_methods, lessons_papers
from pmtcore.papers.figures import learn as figures
from pmtcore.papers.figures import retrieval as budgets
from pmtcore.papers.lessons_methods import Line
from pmtcore.releases.retrieval import Plan
from pmtcore.report.figures import audit as audits
from pmtcore.report.glossary import help_for

_MU = "How much one person's row can change what is seen; smaller protects better."
_MODULUS = help_for("modulus", "Lambda0")
_LENGTHS = "Its length over its width; the condition number is the square."
# What a lesson says of a planted fault, for whoever has not read the papers; the audit has them with their errata.
MISTAKES = {
    "bottom-symbol": "A special answer for rows that are too long",
    "own-radius": "A radius computed from private rows",
    "own-weights": "Weights computed from the private fit",
    "truncated-noise": "Noise cut off at two standard deviations",
}
# Of an attack: half a second, and enough to refute each mistake.
_RUNS = 10_000


@final
@dataclass(frozen=True)
class Knob:
    """What a reader moves.

    Attributes:
        key: its name in the link.
        label: beside it.
        start: where it stands at first; true or false for a switch.
        words: what it is.
        options: its places; empty for a switch and for a range.
        ends: of a range.
        step: of a range.
    """

    key: str
    label: str
    start: Any
    words: str
    options: Sequence[Any] = ()
    ends: tuple[Any, Any] | None = None
    step: float | int = 1


@final
@dataclass(frozen=True)
class Shown:
    """What the knobs lead to: a sentence to take away, its picture, what the picture shows, its table, a note."""

    sentence: str
    picture: go.Figure
    alt: str
    table: pd.DataFrame
    note: str = ""


@final
@dataclass(frozen=True)
class Demo:
    """A lesson's demonstration.

    Attributes:
        id: of its picture.
        show: from the places of the knobs, in their order.
        knobs: one below the other.
        way: name of the page that goes on from here, its label and its icon.
    """

    id: str
    show: Callable[..., Shown]
    knobs: tuple[Knob, ...]
    way: tuple[str, str, str] | None = None


def _mu(key: str, places: Sequence[float], start: float, label: str = "Budget mu") -> Knob:
    return Knob(key, label, start, _MU, places)


def _line(curve: Line, x: str, alt: str, *axes: str, log: str = "xy", guess: bool = False) -> Shown:
    """Return a curve with its sentence; ``axes`` are the titles of the picture's two axes."""
    across, up = axes
    return Shown(curve.sentence, figures.line(curve, across, up, log, guess=guess), alt, figures.line_table(curve, x))


def _whitening(ratio: float, rows: int) -> Shown:
    cloud = lessons.whitening(float(ratio), int(rows))
    table = figures.points_table("before", cloud.before, "after", cloud.after)
    return Shown(cloud.sentence, figures.clouds(cloud), "Rows before and after whitening", table)


def _public_rows(d: int, rows: int) -> Shown:
    curve = lessons_methods.public_rows(int(d), int(rows))
    return _line(curve, "public rows", "Condition number left", "public rows", "condition number left")


def _inverse(ratio: float, mu: float) -> Shown:
    solutions = lessons.inverse(float(ratio), float(mu))
    table = figures.points_table("as it is", solutions.plain, "whitened", solutions.whitened)
    return Shown(solutions.sentence, figures.solutions(solutions), "Slopes of repeated releases", table)


def _radius(radius: float, mu: float) -> Shown:
    radii = lessons.radius(radius, float(mu))
    return Shown(radii.sentence, figures.radii(radii), "Error along the radius", figures.radii_table(radii))


def _composition(mu: float, count: int) -> Shown:
    total, added, words = lessons.composition(mu, count)
    table = pd.DataFrame({"composed": total, "simply added": added})
    return Shown(words, figures.budgets(total, added), "Total mu after each release", table)


def _pairs(mu: float, power: int) -> Shown:
    curve = lessons_methods.pairs(float(mu), int(power))
    return _line(curve, "delta", "Epsilon along delta", "delta", "epsilon", log="x")


def _several_rows(mu: float, rows: int) -> Shown:
    curve = lessons_methods.several_rows(float(mu), int(rows))
    return _line(curve, "false alarms", "Detections", "false alarms", "detections", log="", guess=True)


def _bands(mu: float, with_noise: bool) -> Shown:
    bands = lessons_methods.bands(float(mu), with_noise)
    return Shown(bands.sentence, figures.bands(bands), "Repeated bands", figures.bands_table(bands))


def _trust(n: int) -> Shown:
    curve = lessons_methods.trust(int(n), 1.0)
    return _line(curve, "people", "Standard error", "people", "standard error of the mean")


def _sites(count: int, colluders: int) -> Shown:
    curve = lessons_methods.sites(int(count), int(colluders))
    return _line(curve, "sites", "Standard error", "sites", "standard error of the mean")


def _questions(mu: float, asked: int) -> Shown:
    curve = lessons_methods.questions(float(mu), int(asked))
    return _line(curve, "questions", "Error against questions", "questions", "error, in standard errors")


def _retrieval(factor: float) -> Shown:
    plan = Plan("logistic", 1.0, 0.0, "replace-one", 0.5, "recycle")
    factors, splits = plan.along([plan.least * f for f in (0.3, 0.5, 1.0, 2.0, 3.0, 5.0, 10.0, 30.0)])
    split = plan.at(plan.least * float(factor))
    relative = [at / plan.least for at in factors]
    words = f"Of epsilon = 1, {split.retrieved:.2g} comes back at this curvature: a number known beforehand."
    picture = budgets.parts(relative, splits, "Lambda/Lambda0")
    return Shown(words, picture, "Parts of epsilon", budgets.table("Lambda/Lambda0", relative, splits))


def leak(id: str) -> Shown:
    """Return the attack on one of the :data:`MISTAKES`, by its id."""
    audit = FAULTS[id].run(1.0, _RUNS)
    words = f"{MISTAKES[id]}: mu = 1 is claimed; {_RUNS:,} attacks show that it is at least {said(audit.lower_bound)}."
    note = "More runs show more: Audit, with more of them, has larger figures for the same mistakes."
    return Shown(words, audits.points(audit), "The attacker's test against the claim", audits.table([audit]), note)


def _newton(mu: float, steps: int) -> Shown:
    curve = lessons_papers.newton(float(mu), int(steps))
    return _line(curve, "steps", "Error against steps", "Newton steps", "distance to the fit without privacy", log="y")


def _objective(mu: float, times: float) -> Shown:
    curve = lessons_papers.objective(float(mu), float(times))
    return _line(curve, "ridge", "Noise and ridge", "ridge over the least", "how far the fit moves")


def _moor(lam: float, floor: float) -> Shown:
    curve = lessons_papers.moor(float(lam), float(floor))
    return _line(curve, "coefficient", "Penalty realized", "coefficient", "penalty", log="")


def _response_scale(c: float, ratio: float) -> Shown:
    curve = lessons_papers.response_scale(float(c), float(ratio))
    return _line(curve, "c", "Noise along the scale", "response scale c", "noise, times its least")


def _looseness(d: int, n: int) -> Shown:
    curve = lessons_papers.looseness(int(d), int(n))
    return _line(curve, "rows", "Proved and measured", "private rows", "error of the inverse moment")


DEMOS: Mapping[str, Demo] = {
    "whitening": Demo(
        "learn-clouds",
        _whitening,
        (
            Knob("needle", "Length over width, in the population", 30, _LENGTHS, [2, 5, 10, 30, 100]),
            Knob("rows", "Public rows", 30, "So many rows choose the new units.", [4, 10, 30, 100, 1000]),
        ),
    ),
    "public-rows": Demo(
        "learn-rows",
        _public_rows,
        (
            Knob("columns", "Columns", 10, "Features of the table.", [2, 5, 10, 20, 40]),
            Knob("public", "Public rows", 50, "Rows that choose the units.", [5, 10, 20, 50, 100, 200, 500, 1000]),
        ),
    ),
    "inverse": Demo(
        "learn-slopes",
        _inverse,
        (
            Knob("ratio", "How ill-conditioned?", 10, _LENGTHS, [1, 3, 10, 30]),
            _mu("inverse-mu", [0.1, 0.3, 1.0, 3.0, 10.0], 1.0),
        ),
    ),
    "radius": Demo(
        "learn-radii",
        _radius,
        (
            Knob("radius-at", "Radius", 6.0, "Longer rows are shortened to it.", ends=(0.5, 12.0), step=0.1),
            _mu("radius-mu", [0.1, 0.3, 1.0, 3.0], 0.3),
        ),
    ),
    "composition": Demo(
        "learn-budgets",
        _composition,
        (
            Knob("each", "mu of each release", 0.5, _MU, ends=(0.1, 2.0), step=0.1),
            Knob("count", "Releases", 10, "From the same rows.", ends=(1, 50)),
        ),
    ),
    "questions": Demo(
        "learn-questions",
        _questions,
        (
            _mu("moment-mu", [0.2, 0.5, 1.0, 2.0, 5.0], 1.0, "Total budget mu"),
            Knob("questions", "Questions", 30, "Regressions among eight columns.", [1, 3, 10, 30, 100, 300, 1000]),
        ),
        ("explore", "Explore", "explore"),
    ),
    "pairs": Demo(
        "learn-pairs",
        _pairs,
        (
            _mu("pairs-mu", [0.1, 0.3, 0.5, 1.0, 2.0, 3.0], 1.0, "mu"),
            Knob("delta", "delta = 10 to the power of", -5, "Where epsilon is read.", ends=(-12, -2)),
        ),
    ),
    "rows": Demo(
        "learn-person",
        _several_rows,
        (
            _mu("person-mu", [0.1, 0.3, 0.5, 1.0], 0.5, "mu of one row"),
            Knob("own", "Rows of one person", 5, "All of them are theirs.", ends=(1, 20)),
        ),
    ),
    "bands": Demo(
        "learn-bands",
        _bands,
        (
            _mu("bands-mu", [0.05, 0.1, 0.3, 1.0, 3.0], 0.1),
            Knob("whole", "Noise in the band", True, "Off: the textbook's interval."),
        ),
    ),
    "trust": Demo(
        "learn-trust",
        _trust,
        (Knob("people", "People", 10_000, "One row each.", [100, 1000, 10_000, 100_000, 1_000_000]),),
        ("local", "The local model on a table", "smartphone"),
    ),
    "sites": Demo(
        "learn-sites",
        _sites,
        (
            Knob("sites", "Sites", 5, "Of 1,000 rows each.", [2, 3, 5, 10, 30, 100]),
            Knob("collude", "Sites that may collude", 0, "Their noise is not counted on.", [0, 1, 2, 4, 9]),
        ),
        ("sites", "Sites", "hub"),
    ),
    "leaks": Demo("learn-attack", leak, (), ("audit", "Audit", "policy")),
    "retrieval": Demo(
        "learn-retrieval",
        _retrieval,
        (
            Knob(
                "curvature",
                "Curvature, Lambda/Lambda0",
                3.0,
                help_for("modulus", "Lambda0"),
                [0.3, 1.0, 3.0, 10.0, 30.0],
            ),
        ),
        ("retrieval", "The parts of a budget", "savings"),
    ),
    "newton": Demo(
        "learn-newton",
        _newton,
        (
            _mu("newton-mu", [0.3, 1.0, 3.0, 10.0], 3.0, "Total budget mu"),
            Knob("steps", "Steps", 6, "Each spends its share of the budget.", list(range(1, 13))),
        ),
    ),
    "objective": Demo(
        "learn-objective",
        _objective,
        (
            _mu("objective-mu", [0.1, 0.3, 1.0, 3.0], 0.3),
            Knob("ridge", "Ridge over the least", 1, "1: the least that is private.", [1, 3, 10, 30, 100, 300]),
        ),
    ),
    "moor": Demo(
        "learn-moor",
        _moor,
        (
            Knob("lam", "Lasso, Lambda", 1.0, "The penalty that is wanted.", [0.2, 0.5, 1.0, 2.0]),
            Knob("floor", "Ridge that privacy needs, Lambda0", 1.0, "See the glossary.", [0.25, 0.5, 1.0, 2.0, 4.0]),
        ),
        ("gallery", "The published picture", "collections"),
    ),
    "response-scale": Demo(
        "learn-scale",
        _response_scale,
        (
            Knob("scale", "Response scale c", 1.0, "Of whitened residuals.", [0.3, 1.0, 1.4, 2.0, 2.8, 5.0, 10.0]),
            Knob("over", "Row over response, Rx/Rr", 3.0, "Lengths of the longest.", [1.0, 2.0, 3.0, 5.0]),
        ),
    ),
    "bounds": Demo(
        "learn-bounds",
        _looseness,
        (
            Knob("bound-columns", "Columns", 10, "Features of the table.", [3, 5, 10, 20]),
            Knob("bound-rows", "Private rows", 100_000, "mu = 1 a part.", [3000, 10_000, 30_000, 100_000, 1_000_000]),
        ),
        ("gallery", "All bounds on your table", "straighten"),
    ),
}
