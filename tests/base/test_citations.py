"""The papers are cited from one record, alike wherever they are named."""

from __future__ import annotations

from pathlib import Path

import pytest

from pmtcore.base.citations import CITATIONS, letters
from pmtcore.papers.gallery.catalogue import figures
from pmtcore.report.glossary import term

FILES = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("letter", CITATIONS)
def test_glossary_and_citation_file_have_the_record(letter):
    """Title and number stand in the glossary and in CITATION.cff, with every author's family name."""
    one, cff = CITATIONS[letter], (FILES / "CITATION.cff").read_text()
    assert one.words in term("papers").words
    assert one.title in cff and f"arXiv:{one.arxiv}" in cff
    assert all(f"family-names: {name.rsplit(' ', 1)[-1]}," in cff for name in one.authors)


def test_every_figure_is_of_a_paper_that_is_cited():
    """The letter in front of each figure's source is one of the papers."""
    assert {letters(figure.source) for figure in figures()} == {(letter,) for letter in CITATIONS}


def test_short_names_are_those_of_running_text():
    """Up to three family names, else the first and the others together."""
    assert CITATIONS["A"].short == "Cao, Bi and Zhang (2026)" and CITATIONS["C"].short == "Wang et al. (2019)"
