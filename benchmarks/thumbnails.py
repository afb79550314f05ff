"""Draw the small pictures of the lessons again, from the lessons as the page opens them: ``assets/lessons``."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from streamlit.testing.v1 import AppTest

from pmtcore.papers.lesson_texts import LESSONS
from pmtcore.report.figures.thumbnail import Line, thumbnail

ROOT = Path(__file__).parents[1]
_GREY = "#8a8f98"


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


def of_figure(spec: Mapping[str, Any], words: str) -> str:
    """Return the small picture of a Plotly figure in plain fields; bands without a line of their own are left out."""
    layout = spec.get("layout", {})
    lines = []
    for trace in spec.get("data", []):
        x, y = _numbers(trace.get("x")), _numbers(trace.get("y"))
        if trace.get("type", "scatter") not in ("scatter", "scattergl", "bar") or not len(x) or len(x) != len(y):
            continue
        stroke, mode = trace.get("line", {}), trace.get("mode", "lines")
        if stroke.get("width") == 0:
            continue
        colour = stroke.get("color") or trace.get("marker", {}).get("color")
        marks = trace.get("type") == "bar" or "lines" not in mode
        colour = colour if isinstance(colour, str) else _GREY
        # A line that stops and begins again, as bands do, is several.
        gaps = np.flatnonzero(~np.isfinite(x) | ~np.isfinite(y))
        parts = [(x, y)] if marks else zip(np.split(x, gaps), np.split(y, gaps), strict=True)
        lines += [Line(*part, colour, marks) for part in parts]
    log_x, log_y = (layout.get(f"{axis}axis", {}).get("type") == "log" for axis in "xy")
    return thumbnail(lines, words, log_x, log_y)


def _numbers(values: Mapping[str, str] | Sequence[object] | None) -> np.ndarray:
    """Return numbers of a trace, also where Plotly packed them; names of places count from 0."""
    if isinstance(values, Mapping):
        return np.frombuffer(base64.b64decode(values["bdata"]), dtype=values["dtype"]).astype(float)
    if values is None:
        return np.empty(0)
    try:
        return np.asarray(values, dtype=float)
    except (TypeError, ValueError):
        order = list(dict.fromkeys(values))
        return np.array([order.index(value) for value in values], dtype=float)


if __name__ == "__main__":
    main()
