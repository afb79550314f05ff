"""What methods are called: a title people can say, the id small beside it; read from the registry."""

from __future__ import annotations

from pmtcore.base.records import Standing
from pmtcore.methods.registry import method


def title(id: str) -> str:
    """The title, marked where the method is for the lab."""
    entry = method(id)
    if entry.standing is not Standing.LAB:
        return entry.title
    return f"{entry.title[:-1]}, lab)" if entry.title.endswith(")") else f"{entry.title} (lab)"


def option(id: str) -> str:
    """For lists to choose from: title and id."""
    return f"{title(id)} · {id}"


def spoken(id: str) -> str:
    """In the middle of a sentence: the title with a small first letter, in quotes, since titles are phrases."""
    text = title(id)
    return f"“{text}”"
