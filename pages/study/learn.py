"""Learn: lessons with controls, a picture, a sentence, a question and its answer; the address has their state."""

from typing import Any

import streamlit as st

from pages.elements import scripts
from pages.elements.cards import lesson_cards
from pages.elements.controls import at_first, control
from pages.elements.widgets import badge, below_all, chart, figure_first, picture
from pmtcore.auditing import attacks
from pmtcore.base.escaping import markdown as plain
from pmtcore.base.labels import Label
from pmtcore.papers.demos import DEMOS, MISTAKES, Demo, Knob, LessonView
from pmtcore.papers.lesson_texts import LESSONS, Lesson
from pmtcore.report.figures.style import in_large_print

LINKED: dict[str, Any] = {"bind": "query-params"}


def knob_value(knob: Knob) -> object:
    """Draw one control, whose value is in the address; return the value."""
    common: dict[str, Any] = {"key": knob.key, "help": knob.words, **LINKED}
    if isinstance(knob.start, bool):
        return st.toggle(knob.label, knob.start, **common)
    if knob.ends is not None:
        return st.slider(knob.label, *knob.ends, knob.start, knob.step, **common)
    return st.select_slider(knob.label, knob.options, knob.start, **common)


def linked_choice(label: str, titles: dict[str, str], key: str, words: str) -> str:
    """Draw a choice, whose id is in the address; return the id."""
    ids = list(titles)
    requested = st.query_params.get(key, "")
    start = at_first(key, index=ids.index(requested) if requested in ids else 0)
    chosen = str(st.radio(label, ids, format_func=titles.__getitem__, key=key, help=words, **start) or ids[0])
    if st.query_params.get(key) != chosen:
        scripts.address(key, chosen)
    return chosen


def show(demo: Demo, shown: LessonView) -> None:
    """Draw the picture under the main sentence; in large print without its table."""
    if st.session_state.get("projector"):
        with st.container(key="lesson-sentence"):
            st.header(f"{badge(Label.LAB)} {plain(shown.sentence)}", anchor=False)
        picture(in_large_print(shown.picture), demo.id, shown.alt)
    else:
        settings: dict[str, Any] = {"words": shown.sentence, "strong": True, "picture_first": True}
        chart(shown.picture, demo.id, shown.alt, shown.table, label=Label.LAB, **settings)


def onward(demo: Demo, note: str) -> None:
    """Draw the note on the picture, and a link to a page on its subject."""
    if note:
        st.caption(note)
    if demo is DEMOS["retrieval"]:
        attacked()
    if demo.way is not None:
        name, label, icon = demo.way
        room = "work" if name == "explore" else "study"
        st.page_link(f"pages/{room}/{name}.py", label=label, icon=f":material/{icon}:")


def attacked() -> None:
    """Draw the attack on the retrieved budget as published, and on the sound method."""
    with st.expander("As published, and attacked", icon=":material/bug_report:"):
        for attack in (attacks.attack("vs-plus"), attacks.attack("vs-plus", "napp-public")):
            (st.error if attack.refutes else st.success)(attack.sentence)


def draw_knobs(demo: Demo) -> LessonView:
    """Draw a lesson's controls; return its picture and sentence for their values."""
    if demo is DEMOS["leaks"]:
        return demo.show(linked_choice("Mistake", MISTAKES, "mistake", "Each claims mu = 1 and does not keep it."))
    return demo.show(*[knob_value(knob) for knob in demo.knobs])


def lesson_in_address() -> Lesson | None:
    """Return the lesson that the address names; ``None``: none."""
    return LESSONS.get(st.query_params.get("lesson", ""))


def open_lesson(id: str) -> None:
    """Open a lesson, or the list of all for an empty id; values of other controls are removed from the address."""
    st.query_params.from_dict({"lesson": id} if id else {})


def navigation(lesson: Lesson, large: bool) -> None:
    """Draw title, links to the other lessons, and the switch of large print, where they are in one line."""
    ids = list(LESSONS)
    at = ids.index(lesson.id)
    title = f"{at + 1}. {lesson.title}"
    if not large:
        st.title(title)
    with st.container(horizontal=True, vertical_alignment="center", key="lesson-ways"):
        if large:
            st.title(title)
        st.button(**control("lesson-all"), on_click=open_lesson, args=("",))
        for words, other, icon in (
            ("Back", ids[at - 1] if at else None, "arrow_back"),
            ("Next", ids[at + 1] if at + 1 < len(ids) else None, "arrow_forward"),
        ):
            st.button(
                words if other is None or large else f"{words}: {LESSONS[other].title}",
                key=f"lesson-{words.lower()}",
                icon=f":material/{icon}:",
                disabled=other is None,
                on_click=open_lesson,
                args=(other or "",),
            )
        st.toggle(**control("projector"))


lesson = lesson_in_address()
if lesson is None:
    st.title("Learn")
    st.markdown("Eighteen ideas of private regression. Each has a knob, a picture and one sentence to take away.")
    lesson_cards(list(LESSONS.values()), open_lesson)
else:
    large = bool(st.session_state.get("projector"))
    with st.container(key="large-print" if large else "lesson-print"):
        navigation(lesson, large)
        with figure_first("lesson"):
            # In large print the meaning of words is below the picture, which fills the projector.
            meaning = st.container()
            controls, stage = st.columns([2, 5], gap="large")
            with controls:
                st.markdown(f"**Try it.** {lesson.task}")
                demo = DEMOS[lesson.id]
                shown = draw_knobs(demo)
                with below_all(st, "question"):
                    st.markdown(f"**Question.** {lesson.question}")
                    # The key has the lesson, so that its answer is closed in another one.
                    is_open = st.toggle("Answer", key=f"answer-{lesson.id}", help="It moves neither knobs nor picture.")
                    if is_open and not large:
                        st.markdown(lesson.answer)
                    if not large:
                        onward(demo, shown.note)
            with stage:
                show(demo, shown)
            if is_open and large:
                st.markdown(f"**Answer.** {lesson.answer}")
            if lesson.meaning:
                below_all(st if large else meaning, "meaning").markdown(f"**Take away.** {lesson.meaning}")
            if large:
                onward(demo, shown.note)
