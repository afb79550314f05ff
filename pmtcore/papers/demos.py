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
from pmtcore.base.numbers import rounded as said
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
class LessonView:
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
        compute: from the places of the knobs, in their order.
        knobs: one below the other.
        curve: how a curve is drawn: its axes and what it is.
        way: name of the page that goes on from here, its label and its icon.
    """

    id: str
    compute: Callable[..., LessonView | LessonCurve]
    knobs: tuple[Knob, ...]
    curve: Mapping[str, Any]
    way: Sequence[str] | None = None

    def show(self, *places: object) -> LessonView:
        """Return the picture and sentence that follow from the places of the knobs; a curve is drawn."""
        shown = self.compute(*places)
        return _drawn(shown, **self.curve) if isinstance(shown, LessonCurve) else shown


def _drawn(curve: LessonCurve, *, x: str, y: str, alt: str, log: str = "xy", guess: bool = False) -> LessonView:
    """Return a curve with its sentence.

    Args:
        curve: computed from the knobs.
        x, y: titles of the axes; that of x heads its column of the table, too.
        alt: what the picture is.
        log: the logarithmic axes.
        guess: whether the line of guessing is drawn.
    """
    table = pd.DataFrame({x: curve.x, **curve.curves})
    return LessonView(curve.sentence, figures.line(curve, x, y, log, guess=guess), alt, table)


def _whitening(ratio: float, rows: int) -> LessonView:
    cloud = lessons.whitening(float(ratio), int(rows))
    table = figures.points_table("before", cloud.before, "after", cloud.after)
    return LessonView(cloud.sentence, figures.clouds(cloud), "Rows before and after whitening", table, cloud.note)


def _inverse(ratio: float, mu: float) -> LessonView:
    solutions = lessons.inverse(float(ratio), float(mu))
    table = figures.points_table("as it is", solutions.plain, "whitened", solutions.whitened)
    return LessonView(solutions.sentence, figures.solutions(solutions), "Slopes of repeated releases", table)


def _radius(radius: float, mu: float) -> LessonView:
    radii = lessons.radius(radius, float(mu))
    return LessonView(radii.sentence, figures.radii(radii), "Error along the radius", figures.radii_table(radii))


def _composition(mu: float, count: int) -> LessonView:
    total, added, words = lessons.composition(mu, count)
    table = pd.DataFrame({"composed": total, "simply added": added})
    return LessonView(words, figures.budgets(total, added), "Total mu after each release", table)


def _bands(mu: float, with_noise: bool) -> LessonView:
    bands = lessons_methods.bands(float(mu), with_noise)
    return LessonView(bands.sentence, figures.bands(bands), "Repeated bands", figures.bands_table(bands))


def _retrieval(factor: float) -> LessonView:
    plan = RetrievalPlan("logistic", 1.0, 0.0, "replace-one", 0.5, "recycle")
    factors, splits = plan.over_moduli([plan.least * f for f in (0.3, 0.5, 1.0, 2.0, 3.0, 5.0, 10.0, 30.0)])
    split = plan.at(plan.least * float(factor))
    relative = [at / plan.least for at in factors]
    words = f"Of epsilon = 1, {split.retrieved:.2g} comes back at this curvature: a number known beforehand."
    picture = budgets.parts(relative, splits, "Lambda/Lambda0")
    return LessonView(words, picture, "Parts of epsilon", budgets.table("Lambda/Lambda0", relative, splits))


def leak(id: str) -> LessonView:
    """Return the attack on one of the :data:`MISTAKES`, by its id."""
    audit = FAULTS[id].run(1.0, _RUNS)
    words = f"{MISTAKES[id]}: mu = 1 is claimed; {_RUNS:,} attacks show that it is at least {said(audit.lower_bound)}."
    note = "More runs show more: Audit, with more of them, has larger figures for the same mistakes."
    return LessonView(words, audits.points(audit), "The attacker's test against the claim", audits.table([audit]), note)


_SHOWS: Mapping[str, Callable[..., LessonView | LessonCurve]] = {
    "whitening": _whitening,
    "public-rows": lessons_methods.public_rows,
    "inverse": _inverse,
    "radius": _radius,
    "composition": _composition,
    "questions": lessons_methods.questions,
    "pairs": lessons_methods.pairs,
    "rows": lessons_methods.several_rows,
    "bands": _bands,
    "trust": lessons_methods.trust,
    "sites": lessons_methods.sites,
    "leaks": leak,
    "retrieval": _retrieval,
    "newton": lessons_papers.newton,
    "objective": lessons_papers.objective,
    "moor": lessons_papers.moor,
    "response-scale": lessons_papers.response_scale,
    "bounds": lessons_papers.looseness,
}


def _knob(fields: Mapping[str, Any]) -> Knob:
    """Return a knob of the file; its words may be those of a glossary."""
    own = dict(fields)
    words = own.pop("words", None) or help_for(own.pop("glossary"), "Lambda0")
    low_and_high = own.pop("ends", None)
    return Knob(words=words, ends=low_and_high and tuple(low_and_high), **own)


DEMOS: Mapping[str, Demo] = {
    id: Demo(
        id=fields["picture"],
        compute=_SHOWS[id],
        knobs=tuple(map(_knob, fields.get("knobs", ()))),
        curve=fields.get("curve", {}),
        way=fields.get("way"),
    )
    for id, fields in _TEXTS["demos"].items()
}
