"""Draw the small pictures of the lessons again, from the lessons as the page opens them: ``assets/lessons``."""

from __future__ import annotations

import json
from pathlib import Path

from streamlit.testing.v1 import AppTest

from pmtcore.papers.lesson_texts import LESSONS
from pmtcore.report.figures.thumbnail import of_figure

ROOT = Path(__file__).parents[1]


def main() -> None:
    """Write one file for each lesson."""
    folder = ROOT / "assets" / "lessons"
    folder.mkdir(exist_ok=True)
    for lesson in LESSONS.values():
        app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=300)
        app.run()
        app.switch_page("pages/study/learn.py")
        app.query_params["lesson"] = lesson.id
        app.run()
        (drawn,) = app.get("plotly_chart")
        picture = of_figure(json.loads(drawn.proto.spec), f"Picture of the lesson {lesson.title}")
        (folder / f"{lesson.id}.svg").write_text(f"{picture}\n")


if __name__ == "__main__":
    main()
