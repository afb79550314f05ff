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


def test_a_page_lists_the_code_that_cites_it():
    """The last section of a page has each module that rests on it, and none that does not cite it."""
    texts = {path: path.read_text(encoding="utf-8") for path in sorted((ROOT / "pmtcore").rglob("*.py"))}
    for page, text in PAGES.items():
        cited = [
            str(path.relative_to(ROOT))
            for path, code in texts.items()
            if f"proofs/{page}" in code and path.parts[-2] not in ("report", "cli")
        ]
        listed = re.findall(
            r"^\* `(pmtcore/.+)`$", text.partition("\n## Code that rests on this page\n")[2], re.MULTILINE
        )
        assert listed == (cited if page != "index.md" else []), page


def test_sections_that_a_page_names_exist():
    """``section 6.1``, ``noise.md, 14`` and ``(15.7)`` are headings of the proofs."""
    heads = {page: set(re.findall(r"^#+ (\d+(?:\.\d+)?)\.? ", text, re.MULTILINE)) for page, text in PAGES.items()}
    for page, text in PAGES.items():
        for many in re.findall(r"[Ss]ections? (\d[\d.]*(?:(?:, | and )\d[\d.]*)*)", text):
            assert {part.rstrip(".") for part in re.split(", | and ", many)} <= set().union(*heads.values()), (
                page,
                many,
            )
        for other, many in re.findall(r"\b([a-z]+\.md), (\d[\d.]*(?:(?:, | and )\d[\d.]*)*)", text):
            assert {part.rstrip(".") for part in re.split(", | and ", many)} <= heads[other], (page, other, many)


def test_the_pages_of_mechanisms_have_constants():
    """Each page whose mechanism is executed in integers, or rounds, has a table."""
    assert {page for page, *_ in ALL} >= {
        *("gradients.md", "homogeneity.md", "integers.md", "local.md", "minimizer.md", "moment.md", "noise.md"),
        *("erm.md", "objective.md", "radius.md", "sensitivity.md", "shrinkage.md", "sites.md"),
    }
    assert len(ALL) >= 55
