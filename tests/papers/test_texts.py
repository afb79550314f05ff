"""The list of the papers' lines against the texts themselves: nothing with a number is missing from it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from pmtcore.papers.catalogue_page import lines

PLACES = (Path(__file__).resolve().parents[k] / "shared" / "papers" for k in (3, 4))
TEXTS = next((place for place in PLACES if place.exists()), Path("shared"))
FILES = {"A": "A-pmt-truncation", "B": "B-pmt-ols", "C": "C-nldp-glm", "D": "D-napp-erm"}
KIND = "Theorem|Lemma|Remark|Corollary|Proposition|Claim|Algorithm|Figure|Table|Assumption|Definition"
# A line that begins with the item: behind marks of the conversion, and followed by its title or text.
STATED = re.compile(rf"(?m)^(?:<\|[^>]*\|>)?[\s\-#>*]*(?:\d+: )?({KIND})\s+((?:[A-Z]\.)?\d+(?:\.\d+)?)(?=[\s.:*(])")
EQUATION = re.compile(r"\\tag\{(\d+)\}|\((\d+)\)\s*(?:\$\$)?\s*$", re.MULTILINE)
# Any mention, and what the papers cite of others; A calls its Lemma A.3 a theorem.
MENTIONED = re.compile(rf"\b({KIND})s?[ \t]+((?:[A-Z]\.)?\d+(?:\.\d+)?)\b")
CITED = {
    "A": {("Corollary", "1"), ("Corollary", "2"), ("Lemma", "21"), ("Theorem", "A.3")},
    "B": set(),
    "C": {("Corollary", "2.3"), ("Theorem", "4.7")},
    "D": {
        ("Corollary", "25"),
        ("Theorem", "18"),
        ("Theorem", "26"),
        *(("Lemma", k) for k in ("2", "17", "23", "24", "28")),
    },
}


_PLURAL = re.compile(
    r"(Theorem|Lemma|Remark|Corollary|Proposition|Claim|Algorithm|Figure|Table|Assumption|Definition|equation)s?"
)


def numbered(number: str) -> set[tuple[str, str]]:
    """Return the items that a line's number names, ranges written out."""
    parts = _PLURAL.split(number.replace("Lemmas", "Lemma").replace("Corollaries", "Corollary"))
    named: set[tuple[str, str]] = set()
    for kind, text in zip(parts[1::2], parts[2::2], strict=True):
        for low, high in re.findall(r"((?:[A-Z]\.)?\d+(?:\.\d+)?)(?: to ((?:[A-Z]\.)?\d+(?:\.\d+)?))?", text):
            head, _, first = low.rpartition(".")
            last = high.rpartition(".")[2] if high else first
            prefix = f"{head}." if head else ""
            named |= {(kind, f"{prefix}{k}") for k in range(int(first), int(last) + 1)}
    return named


def stated(text: str) -> set[tuple[str, str]]:
    """Every item of a paper's text that has a kind and a number."""
    items = {(kind, number) for kind, number in STATED.findall(text)}
    return items | {("equation", one or two) for one, two in EQUATION.findall(text)}


def listed(paper: str) -> set[tuple[str, str]]:
    """Every item that the list names of a paper."""
    return set().union(*(numbered(line.number) for line in lines() if line.paper == paper))


def test_patterns_find_items_and_not_mentions():
    """A heading counts, behind marks too; a mention in a sentence does not."""
    text = (
        "Theorem 5.5 (X). *Suppose\n**Lemma 11.** [6]\nby Theorem 9 we have\n"
        "$$x = y \\tag{7}$$\nFigure S.1: ROC\n a = b (12)\n"
    )
    assert stated(text) == {
        ("Theorem", "5.5"),
        ("Lemma", "11"),
        ("equation", "7"),
        ("Figure", "S.1"),
        ("equation", "12"),
    }


def test_numbers_of_lines_are_written_out():
    """Ranges and several kinds in one line."""
    assert numbered("Theorem 14, Corollary 15") == {("Theorem", "14"), ("Corollary", "15")}
    assert numbered("equations 1, 5 to 7") == {("equation", k) for k in ("1", "5", "6", "7")}
    assert numbered("Figures 2 to 4") == {("Figure", k) for k in ("2", "3", "4")}
    assert numbered("Figure S.1") == {("Figure", "S.1")} and numbered("section 6") == set()


@pytest.mark.slow
@pytest.mark.parametrize("paper", FILES)
def test_no_line_of_a_paper_is_missing(paper):
    """Theorems, lemmas, remarks, algorithms, figures, tables, definitions and numbered equations, by pattern."""
    text = TEXTS / f"{FILES[paper]}.txt"
    if not text.exists():
        pytest.skip("the papers' texts are not here: they may not be passed on, so no copy of the package has them")
    assert stated(text.read_text(encoding="utf-8")) - listed(paper) == set()


@pytest.mark.slow
@pytest.mark.parametrize("paper", FILES)
def test_no_mention_goes_nowhere(paper):
    """An item whose heading the pattern misses is still mentioned: every mention is listed, or of another's paper."""
    text = TEXTS / f"{FILES[paper]}.txt"
    if not text.exists():
        pytest.skip("the papers' texts are not here: they may not be passed on, so no copy of the package has them")
    assert set(MENTIONED.findall(text.read_text(encoding="utf-8"))) - listed(paper) == CITED[paper]
