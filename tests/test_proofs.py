"""Constants and rounding rules of the proofs are those of the code.

A page's table *Constants* has a phrase of the page, its value, and the expression of the code that has it. The phrase
must stand in the text, so neither side changes without the other.
"""

from __future__ import annotations

import importlib
import math
import re
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[1]
PAGES = {page.name: page.read_text(encoding="utf-8") for page in sorted((ROOT / "docs" / "proofs").glob("*.md"))}
ROOMS = {path.name for path in (ROOT / "pmtcore").iterdir() if path.is_dir()}
_ROW = re.compile(r"^\| (.+) \| `(.+)` \| `(.+)` \|$", re.MULTILINE)


def constants(page: str) -> list[tuple[str, str, str]]:
    """Return the rows of a page's table: phrase, value and expression."""
    _, heading, rest = PAGES[page].partition("## Constants\n")
    table = rest.partition("\n## ")[0]
    rows = [tuple(cell.replace("\\|", "|") for cell in row) for row in _ROW.findall(table)]
    assert not heading or len(rows) == len([line for line in table.splitlines() if line.startswith("| ")]) - 1, page
    return rows


class Room:
    """A package or module of ``pmtcore`` as an expression names it: ``mechanisms.grid.SCALE``."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __getattr__(self, part: str):
        module = importlib.import_module(self.name)
        if part in vars(module) and not isinstance(vars(module)[part], ModuleType):
            return vars(module)[part]
        return Room(f"{self.name}.{part}")


ALL = [(page, *row) for page in PAGES for row in constants(page)]
NAMES = {
    "sqrt": math.sqrt,
    "log": math.log,
    "array": np.array,
    "list": list,
    "len": len,
    **{room: Room(f"pmtcore.{room}") for room in ROOMS},
}


@pytest.mark.parametrize(("page", "phrase", "value", "code"), ALL, ids=[f"{row[0]}: {row[3]}" for row in ALL])
def test_a_constant_of_a_proof_is_that_of_the_code(page, phrase, value, code):
    """The phrase is in the page's text, and the value behind it is what the code works with."""
    text = " ".join(PAGES[page].partition("## Constants\n")[0].split())
    assert " ".join(phrase.split()) in text
    stated = eval(value, {"__builtins__": {}}, NAMES)
    np.testing.assert_allclose(eval(code, {"__builtins__": {}}, NAMES), stated, rtol=1e-9, atol=0)


def test_the_pages_of_mechanisms_have_constants():
    """Each page whose mechanism is executed in integers, or rounds, has a table."""
    assert {page for page, *_ in ALL} >= {
        *("gradients.md", "homogeneity.md", "integers.md", "local.md", "minimizer.md", "moment.md", "noise.md"),
        *("erm.md", "objective.md", "radius.md", "sensitivity.md", "shrinkage.md", "sites.md"),
    }
    assert len(ALL) >= 55
