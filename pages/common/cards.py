"""Cards in a grid: a small picture, a sentence, a button that opens what it shows, all over the card."""

from collections.abc import Callable, Sequence

import streamlit as st

from pages.common.controls import control
from pmtcore.base.paths import assets
from pmtcore.papers.lesson_texts import Lesson


def lesson_cards(lessons: Sequence[Lesson], go: Callable[[str], None], across: int = 4) -> None:
    """Draw one card for each lesson: its picture as it opens, its sentence, a button that reaches over the whole card.

    Args:
        go: opens the lesson of an id.
        across: cards in a row on a wide screen.
    """
    for start in range(0, len(lessons), across):
        for at, (column, lesson) in enumerate(zip(st.columns(across), lessons[start : start + across], strict=False)):
            with column.container(border=True, height="stretch", gap="xsmall", key=f"card-{lesson.id}"):
                picture = assets() / "lessons" / f"{lesson.id}.svg"
                if picture.exists():
                    st.image(picture.read_text(), width="stretch", alt=f"Small picture of {lesson.title}")
                st.button(
                    **control("lesson", f"-{lesson.id}"),
                    label=f"{start + at + 1}. {lesson.title}",
                    on_click=go,
                    args=(lesson.id,),
                )
                st.caption(lesson.question)
