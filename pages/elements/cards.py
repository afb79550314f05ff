"""Cards of lessons in a grid, each a button with a small picture and a question."""

from collections.abc import Callable, Sequence

import streamlit as st

from pages.elements.controls import control
from pmtcore.base.paths import assets_folder
from pmtcore.papers.lesson_texts import Lesson

_IN_A_ROW = 4  # cards, on a wide screen


def lesson_cards(lessons: Sequence[Lesson], open_lesson: Callable[[str], None]) -> None:
    """Draw one card for each lesson: its initial picture, its question, and a button that covers the card.

    Args:
        lessons: all lessons.
        open_lesson: opens the lesson of an id.
    """
    for start in range(0, len(lessons), _IN_A_ROW):
        row = lessons[start : start + _IN_A_ROW]
        for at, (column, lesson) in enumerate(zip(st.columns(_IN_A_ROW), row, strict=False), start + 1):
            with column.container(border=True, height="stretch", gap="xsmall", key=f"card-{lesson.id}"):
                picture = assets_folder() / "lessons" / f"{lesson.id}.svg"
                if picture.exists():
                    st.image(picture.read_text(), width="stretch", alt=f"Small picture of {lesson.title}")
                st.button(
                    **control("lesson", f"-{lesson.id}"),
                    label=f"{at}. {lesson.title}",
                    on_click=open_lesson,
                    args=(lesson.id,),
                )
                st.caption(lesson.question)
