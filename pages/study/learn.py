"""Learn: lessons, each with a knob, a picture, one sentence, a question and its answer; a link opens any state."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import pandas as pd
import plotly.graph_objects as go
import streamlit as st

from pages.common import learn_papers, scripts
from pages.common.cards import lesson_cards
from pages.common.widgets import at_first, chart
from pmtcore.auditing import attacks
from pmtcore.auditing.faults import FAULTS
from pmtcore.base.labels import Label
from pmtcore.base.numbers import figure as said
from pmtcore.papers import lessons, lessons_methods
from pmtcore.papers.figures import learn as figures
from pmtcore.papers.figures import retrieval as budgets
from pmtcore.papers.lesson_texts import LESSONS, Lesson
from pmtcore.releases.retrieval import Plan
from pmtcore.report.figures import audit as audits
from pmtcore.report.figures.style import projected
from pmtcore.report.glossary import help_for

LINKED: dict[str, Any] = {"bind": "query-params"}
# What a lesson says of a planted fault, for whoever has not read the papers; the audit has them with their errata.
MISTAKES = {
    "bottom-symbol": "A special answer for rows that are too long",
    "own-radius": "A radius computed from private rows",
    "own-weights": "Weights computed from the private fit",
    "truncated-noise": "Noise cut off at two standard deviations",
}
# Of an attack: half a second, and enough to refute each mistake.
_RUNS = 10_000
_MU = "How much one person's row can change what is seen; smaller protects better."


def knob(column: Any, label: str, options: Sequence[Any], start: Any, key: str, words: str) -> Any:
    """Draw one knob; its place is in the link."""
    return column.select_slider(label, options, start, key=key, help=words, **LINKED)


def linked_choice(label: str, titles: dict[str, str], key: str, words: str) -> str:
    """Draw a choice, one line for each, whose id is in the link."""
    ids = list(titles)
    asked = st.query_params.get(key, "")
    start = at_first(key, index=ids.index(asked) if asked in ids else 0)
    chosen = str(st.radio(label, ids, format_func=titles.__getitem__, key=key, help=words, **start) or ids[0])
    if st.query_params.get(key) != chosen:
        scripts.address(key, chosen)
    return chosen


def stacked() -> tuple[Any, Any]:
    """Return two places for knobs, one above the other: the picture stands beside them."""
    return st.container(), st.container()


def show(sentence: str, picture: go.Figure, key: str, alt: str, table: pd.DataFrame) -> None:
    """Draw the sentence to take away, and the picture, beside the knobs."""
    with stage:
        if st.session_state.get("projector"):
            st.header(sentence, anchor=False)
            chart(projected(picture), key, alt, table, Label.LAB)
        else:
            chart(picture, key, alt, table, Label.LAB, sentence, strong=True)


def whitening() -> None:
    """Draw the lesson on whitening: a needle becomes a ball."""
    a, b = stacked()
    ratio = knob(
        a,
        "How long is the needle?",
        [2, 5, 10, 30, 100],
        30,
        "needle",
        "Its length over its width; the condition number is the square.",
    )
    rows = knob(b, "Public rows", [4, 10, 30, 100, 1000], 30, "rows", "So many rows choose the new units.")
    found = lessons.whitening(float(ratio), int(rows))
    table = figures.points_table("before", found.before, "after", found.after)
    show(found.sentence, figures.clouds(found), "learn-clouds", "Rows before and after whitening", table)


def public_rows() -> None:
    """Draw the lesson on what whitening leaves."""
    a, b = stacked()
    d = knob(a, "Columns", [2, 5, 10, 20, 40], 10, "columns", "Features of the table.")
    rows = knob(b, "Public rows", [5, 10, 20, 50, 100, 200, 500, 1000], 50, "public", "Rows that choose the units.")
    found = lessons_methods.public_rows(int(d), int(rows))
    figure = figures.line(found, "public rows", "condition number left")
    show(found.sentence, figure, "learn-rows", "Condition number left", figures.line_table(found, "public rows"))


def inverse() -> None:
    """Draw the lesson on noise and the inverse of an ill-conditioned matrix."""
    a, b = stacked()
    ratio = knob(
        a,
        "How ill-conditioned?",
        [1, 3, 10, 30],
        10,
        "ratio",
        "Its length over its width; the condition number is the square.",
    )
    mu = knob(b, "Budget mu", [0.1, 0.3, 1.0, 3.0, 10.0], 1.0, "inverse-mu", _MU)
    found = lessons.inverse(float(ratio), float(mu))
    table = figures.points_table("as it is", found.plain, "whitened", found.whitened)
    show(found.sentence, figures.solutions(found), "learn-slopes", "Slopes of repeated releases", table)


def radius() -> None:
    """Draw the lesson on the radius: too small, too large."""
    a, b = stacked()
    chosen = a.slider("Radius", 0.5, 12.0, 6.0, 0.1, key="radius-at", help="Longer rows are shortened to it.", **LINKED)
    mu = knob(b, "Budget mu", [0.1, 0.3, 1.0, 3.0], 0.3, "radius-mu", _MU)
    found = lessons.radius(chosen, float(mu))
    show(found.sentence, figures.radii(found), "learn-radii", "Error along the radius", figures.radii_table(found))


def composition() -> None:
    """Draw the lesson on composition: budgets add up in squares."""
    a, b = stacked()
    mu = a.slider("mu of each release", 0.1, 2.0, 0.5, 0.1, key="each", help=_MU, **LINKED)
    count = b.slider("Releases", 1, 50, 10, key="count", help="From the same rows.", **LINKED)
    total, added, words = lessons.composition(mu, count)
    table = pd.DataFrame({"composed": total, "simply added": added})
    show(words, figures.budgets(total, added), "learn-budgets", "Total mu after each release", table)


def pairs() -> None:
    """Draw the lesson on one mu and its many pairs."""
    a, b = stacked()
    mu = knob(a, "mu", [0.1, 0.3, 0.5, 1.0, 2.0, 3.0], 1.0, "pairs-mu", _MU)
    power = b.slider("delta = 10 to the power of", -12, -2, -5, key="delta", help="Where epsilon is read.", **LINKED)
    found = lessons_methods.pairs(float(mu), int(power))
    figure = figures.line(found, "delta", "epsilon", "x")
    show(found.sentence, figure, "learn-pairs", "Epsilon along delta", figures.line_table(found, "delta"))


def several_rows() -> None:
    """Draw the lesson on one person with several rows."""
    a, b = stacked()
    mu = knob(a, "mu of one row", [0.1, 0.3, 0.5, 1.0], 0.5, "person-mu", _MU)
    rows = b.slider("Rows of one person", 1, 20, 5, key="own", help="All of them are theirs.", **LINKED)
    found = lessons_methods.several_rows(float(mu), int(rows))
    figure = figures.line(found, "false alarms", "detections", "", guess=True)
    show(found.sentence, figure, "learn-person", "Detections", figures.line_table(found, "false alarms"))


def bands() -> None:
    """Draw the lesson on what a band has to hold."""
    a, b = stacked()
    mu = knob(a, "Budget mu", [0.05, 0.1, 0.3, 1.0, 3.0], 0.1, "bands-mu", _MU)
    whole = b.toggle("Noise in the band", True, key="whole", help="Off: the textbook's interval.", **LINKED)
    found = lessons_methods.bands(float(mu), whole)
    show(found.sentence, figures.bands(found), "learn-bands", "Repeated bands", figures.bands_table(found))


def trust() -> None:
    """Draw the lesson on central against local."""
    n = knob(st, "People", [100, 1000, 10_000, 100_000, 1_000_000], 10_000, "people", "One row each.")
    found = lessons_methods.trust(int(n), 1.0)
    figure = figures.line(found, "people", "standard error of the mean")
    show(found.sentence, figure, "learn-trust", "Standard error", figures.line_table(found, "people"))
    st.page_link("pages/study/local.py", label="The local model on a table", icon=":material/smartphone:")


def sites() -> None:
    """Several institutions."""
    a, b = stacked()
    count = knob(a, "Sites", [2, 3, 5, 10, 30, 100], 5, "sites", "Of 1,000 rows each.")
    colluders = knob(b, "Sites that may collude", [0, 1, 2, 4, 9], 0, "collude", "Their noise is not counted on.")
    found = lessons_methods.sites(int(count), int(colluders))
    figure = figures.line(found, "sites", "standard error of the mean")
    show(found.sentence, figure, "learn-sites", "Standard error", figures.line_table(found, "sites"))
    st.page_link("pages/study/sites.py", label="Sites", icon=":material/hub:")


def leaks() -> None:
    """Draw the lesson in which an attacker wins."""
    id = linked_choice("Mistake", MISTAKES, "mistake", "Each claims mu = 1 and does not keep it.")
    found = FAULTS[id].run(1.0, _RUNS)
    words = (
        f"{MISTAKES[id]}: mu = 1 is claimed, and {_RUNS:,} runs of the attack show that it is at least "
        f"{said(found.lower_bound)}."
    )
    show(words, audits.points(found), "learn-attack", "The attacker's test against the claim", audits.table([found]))
    st.caption("More runs show more: Audit, with more of them, has larger figures for the same mistakes.")
    st.page_link("pages/study/audit.py", label="Audit", icon=":material/policy:")


def retrieval() -> None:
    """Draw the lesson on when a budget really comes back."""
    factor = knob(
        st, "Curvature, Lambda/Lambda0", [0.3, 1.0, 3.0, 10.0, 30.0], 3.0, "curvature", help_for("modulus", "Lambda0")
    )
    plan = Plan("logistic", 1.0, 0.0, "replace-one", 0.5, "recycle")
    factors, splits = plan.along([plan.least * f for f in (0.3, 0.5, 1.0, 2.0, 3.0, 5.0, 10.0, 30.0)])
    found = plan.at(plan.least * float(factor))
    relative = [at / plan.least for at in factors]
    words = f"Of epsilon = 1, {found.retrieved:.2g} comes back at this curvature: a number known beforehand."
    figure = budgets.parts(relative, splits, "Lambda/Lambda0")
    show(words, figure, "learn-retrieval", "Parts of epsilon", budgets.table("Lambda/Lambda0", relative, splits))
    with st.expander("As published, and attacked", icon=":material/bug_report:"):
        for found_attack in (attacks.attack("vs-plus"), attacks.attack("vs-plus", "napp-public")):
            (st.error if found_attack.wins else st.success)(found_attack.sentence)
    st.page_link("pages/study/retrieval.py", label="The parts of a budget", icon=":material/savings:")


def questions() -> None:
    """Draw the lesson on one release for every question."""
    a, b = stacked()
    mu = knob(a, "Total budget mu", [0.2, 0.5, 1.0, 2.0, 5.0], 1.0, "moment-mu", _MU)
    asked = knob(b, "Questions", [1, 3, 10, 30, 100, 300, 1000], 30, "questions", "Regressions among eight columns.")
    found = lessons_methods.questions(float(mu), int(asked))
    figure = figures.line(found, "questions", "error, in standard errors")
    table = figures.line_table(found, "questions")
    show(found.sentence, figure, "learn-questions", "Error against the number of questions", table)
    st.page_link("pages/work/explore.py", label="Explore", icon=":material/explore:")


DEMOS: dict[str, Callable[[], None]] = {
    "whitening": whitening,
    "public-rows": public_rows,
    "inverse": inverse,
    "radius": radius,
    "composition": composition,
    "questions": questions,
    "pairs": pairs,
    "rows": several_rows,
    "bands": bands,
    "trust": trust,
    "sites": sites,
    "leaks": leaks,
    "retrieval": retrieval,
    **{id: partial(demo, knob, show) for id, demo in learn_papers.DEMOS.items()},
}


def opened() -> Lesson | None:
    """Return the lesson that the address names: going back there goes back here."""
    return LESSONS.get(st.query_params.get("lesson", ""))


def open_lesson(id: str) -> None:
    """Open a lesson, or all of them where no id is given; the knobs of the one before leave the address."""
    st.query_params.from_dict({"lesson": id} if id else {})


def ways(lesson: Lesson) -> None:
    """Draw the ways to the other lessons, and large print."""
    ids = list(LESSONS)
    at = ids.index(lesson.id)
    with st.container(horizontal=True, vertical_alignment="center"):
        st.button("All lessons", key="lesson-all", icon=":material/apps:", on_click=open_lesson, args=("",))
        for words, other, icon in (
            ("Back", ids[at - 1] if at else None, "arrow_back"),
            ("Next", ids[at + 1] if at + 1 < len(ids) else None, "arrow_forward"),
        ):
            st.button(
                words if other is None else f"{words}: {LESSONS[other].title}",
                key=f"lesson-{words.lower()}",
                icon=f":material/{icon}:",
                disabled=other is None,
                on_click=open_lesson,
                args=(other or "",),
            )
        st.toggle(
            "Large print",
            key="projector",
            help="Everything larger, for a projector; the menu makes room.",
            persist_state="session",
        )


lesson = opened()
if lesson is None:
    st.title("Learn")
    st.markdown("Eighteen ideas of private regression. Each has a knob, a picture and one sentence to take away.")
    lesson_cards(list(LESSONS.values()), open_lesson)
else:
    large = bool(st.session_state.get("projector"))
    with st.container(key="large-print" if large else "lesson-print"):
        st.title(f"{list(LESSONS).index(lesson.id) + 1}. {lesson.title}")
        ways(lesson)
        if lesson.meaning:
            st.markdown(lesson.meaning)
        controls, stage = st.columns([2, 5], gap="large")
        with controls:
            st.markdown(f"**Try it.** {lesson.task}")
            DEMOS[lesson.id]()
            st.markdown(f"**Question.** {lesson.question}")
            # The key names the lesson: an answer that is open closes with it.
            with st.expander("Answer", icon=":material/lightbulb:", key=f"answer-{lesson.id}"):
                st.markdown(lesson.answer)
