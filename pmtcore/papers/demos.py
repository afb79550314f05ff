"""The demonstration of each lesson: its knobs, and the picture and sentence that follow from where they stand."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, final

import pandas as pd
import plotly.graph_objects as go

from pmtcore.auditing.faults import FAULTS
from pmtcore.base.numbers import figure as said
from pmtcore.papers import lessons, lessons_methods, lessons_papers
from pmtcore.papers.figures import learn as figures
from pmtcore.papers.figures import retrieval as budgets
from pmtcore.papers.lessons_methods import LessonCurve
from pmtcore.releases.retrieval import RetrievalPlan
from pmtcore.report.figures import audit as audits
from pmtcore.report.glossary import help_for

_TEXTS = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
MISTAKES: dict[str, str] = _TEXTS["mistakes"]
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
    way: Sequence[str] | None = None


def _line(curve: LessonCurve, x: str, alt: str, *axes: str, log: str = "xy", guess: bool = False) -> Shown:
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
    plan = RetrievalPlan("logistic", 1.0, 0.0, "replace-one", 0.5, "recycle")
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


_SHOWS: Mapping[str, Callable[..., Shown]] = {
    "whitening": _whitening,
    "public-rows": _public_rows,
    "inverse": _inverse,
    "radius": _radius,
    "composition": _composition,
    "questions": _questions,
    "pairs": _pairs,
    "rows": _several_rows,
    "bands": _bands,
    "trust": _trust,
    "sites": _sites,
    "leaks": leak,
    "retrieval": _retrieval,
    "newton": _newton,
    "objective": _objective,
    "moor": _moor,
    "response-scale": _response_scale,
    "bounds": _looseness,
}


def _knob(fields: Mapping[str, Any]) -> Knob:
    """Return a knob of the file; its words may be those of a glossary."""
    own = dict(fields)
    words = own.pop("words", None) or help_for(own.pop("glossary"), "Lambda0")
    low_and_high = own.pop("ends", None)
    return Knob(words=words, ends=low_and_high and tuple(low_and_high), **own)


DEMOS: Mapping[str, Demo] = {
    id: Demo(fields["picture"], _SHOWS[id], tuple(map(_knob, fields.get("knobs", ()))), fields.get("way"))
    for id, fields in _TEXTS["demos"].items()
}
