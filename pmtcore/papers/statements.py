"""Every algorithm and every numbered statement of the four papers, and what became of it here: ``statements.toml``.

References are checked by a test: ``method:ID`` is registered, ``bound:SOURCE`` is computed by one of the theory
modules, ``figure:ID`` is in the gallery, ``erratum:ID`` in the table of errata, ``code:module:name`` exists. Figures
and claims are not listed here: the gallery knows them.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

State = Literal["implemented", "declared", "left out"]


@dataclass(frozen=True)
class Statement:
    """One line of a paper.

    Attributes:
        state: *implemented*: to be run or computed; *declared*: done otherwise, or no number; *left out*.
        where: references to what does it.
        why: of what is declared or left out.
        answer: of a figure's claim, by the stored result.
    """

    paper: str
    number: str
    words: str
    state: State
    where: tuple[str, ...] = ()
    why: str = ""
    answer: str = ""


def _read(paper: str, fields: dict[str, Any]) -> Statement:
    """Return a line of the file: declared where it has a reason and is not left out."""
    state: State = "declared" if fields.get("why") else "implemented"
    state = fields.get("state", state)
    return Statement(
        paper, fields["number"], fields["words"], state, tuple(fields.get("where", ())), fields.get("why", "")
    )


_LINES = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
STATEMENTS = tuple(_read(paper, fields) for paper, lines in _LINES.items() for fields in lines)
