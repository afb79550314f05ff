"""What each lesson asks, and the answer; the pictures are in ``figures.learn``, the numbers in the lab."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Lesson:
    """One lesson: its id in links, its title, a thing to try, a question and the answer; words it needs beforehand."""

    id: str
    title: str
    task: str
    question: str
    answer: str
    meaning: str = ""


_TEXTS = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
LESSONS = {id: Lesson(id, **fields) for id, fields in _TEXTS.items()}
