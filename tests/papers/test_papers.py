"""The table of the papers: complete, every reference resolves, the page in the docs is the one that is made."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path

import pytest

from pmtcore.methods.registry import methods, search
from pmtcore.papers.catalogue_page import NO_ANSWER, answers, lines, text, undecided, without_answer
from pmtcore.papers.errata import ERRATA
from pmtcore.papers.gallery.catalogue import figures
from pmtcore.papers.gallery.claims import Answer
from pmtcore.papers.statements import STATEMENTS
from pmtcore.papers.theory import TheorySetting, bounds
from pmtcore.papers.theory_erm import noise_bounds, risk_bounds
from pmtcore.papers.theory_labels import label_bounds
from pmtcore.papers.theory_local import radius_bound, scale_bounds

PAGE = Path(__file__).resolve().parents[2] / "docs" / "papers.md"


@pytest.mark.slow
def test_the_page_is_the_one_that_is_made():
    """``python -m pmtcore.papers.catalogue_page > docs/papers.md`` was run after the last change."""
    assert PAGE.read_text().partition(f"\n{NO_ANSWER}")[0] == text()


@pytest.mark.slow
def test_the_page_lists_the_claims_without_an_answer():
    """Its last table is that of the results that ship, each claim with what would tell."""
    assert PAGE.read_text() == text() + without_answer()


@pytest.mark.slow
def test_claims_without_an_answer_are_those_that_are_counted():
    """The last table lists every open claim of the papers, also of a figure without a result, and marks ours."""
    listed, table = undecided(), without_answer()
    of_papers = sorted((each.figure, each.claim) for each in listed if not each.ours)
    counted = [line for line in lines() if line.answer == "cannot be told"]
    assert of_papers == sorted((line.where[0].split(":")[1], line.words) for line in counted)
    assert f"and {len(of_papers)} cannot be told" in text()
    assert table.count("\n| `") == len(listed) and table.count("(ours) |") == sum(each.ours for each in listed) > 0
    assert {each.figure for each in listed if each.trials == 0} == {"C6b"}


@pytest.mark.slow
def test_the_state_of_a_claim_is_the_stored_answer():
    """A claim that holds is no exception, however many readings there are; one that does not says what it hangs on."""
    text = PAGE.read_text()
    exceptions, confirmed = text.index("## Exceptions"), text.index("## Implemented, and claims that hold")
    claims = [line for line in lines() if line.number.endswith("claim") and line.where]
    assert len(claims) == sum(not claim.ours for entry in figures() for claim in entry.claims)
    for entry in figures():
        for claim, answer in zip(entry.claims, answers(entry.id), strict=True):
            if not claim.ours:
                row = next(at for at, line in enumerate(claims) if line.where == (f"figure:{entry.id}",))
                line = claims.pop(row)
                assert line.words == claim.words and (line.state == "implemented") == (answer is Answer.HOLDS)
                assert line.answer and bool(line.why) == (answer is not Answer.HOLDS)
                start = confirmed if answer is Answer.HOLDS else exceptions
                assert f"| {claim.words} | {line.answer} | `{entry.id}` |" in text[start:]


@pytest.mark.slow
def test_every_reference_resolves():
    """Methods are registered, bounds computed, figures drawn, errata listed, names defined."""
    small = TheorySetting(d=3, n=500, m=50)
    computed = [*bounds(small, 5), *label_bounds(small, 1), *scale_bounds(), radius_bound(trials=2)]
    computed += noise_bounds(1.0, 1e-3)
    known = {
        "method": {entry.id for entry in methods()},
        "bound": {bound.source for bound in [*computed, *risk_bounds(n=200, trials=2)]},
        "figure": {figure.id for figure in figures()},
        "erratum": set(ERRATA),
    }
    used = set()
    for line in lines():
        for place in line.where:
            kind, _, id = place.partition(":")
            if kind == "code":
                module, _, name = id.partition(":")
                assert hasattr(import_module(module), name), place
            else:
                assert id in known[kind], place
                used.add(place)
    assert {f"bound:{source}" for source in known["bound"]} <= used
    assert {f"erratum:{id}" for id in ERRATA} - used <= {f"erratum:E{k}" for k in (17, 20, 21, 23)}  # data, settings


@pytest.mark.slow
def test_no_line_is_undeclared():
    """What is implemented names where; what is not says why; no line stands twice; every figure of a paper is there."""
    for line in lines():
        assert line.where if line.state == "implemented" else line.why, line
    names = [(line.paper, line.number, line.words) for line in STATEMENTS]
    assert len(set(names)) == len(names)
    for paper, count in (("A", 10), ("B", 5), ("C", 7), ("D", 8)):
        result = {line.number for line in lines() if line.paper == paper}
        assert all(
            any(number.split(",")[0].startswith(f"Figure {k}") for number in result) for k in range(1, count + 1)
        )
        algorithms = {line.number for line in STATEMENTS if line.paper == paper and "Algorithm" in line.number}
        assert len(algorithms) == {"A": 5, "B": 4, "C": 4, "D": 2}[paper]


def test_methods_carry_errata_that_the_table_names():
    """An erratum of data or settings that no statement names is on a figure or a method."""
    carried = {id for entry in methods() for id in entry.origin.errata} | {
        id for figure in figures() for id in figure.errata
    }
    assert {"E17", "E20", "E21", "E23"} <= carried


_LISTINGS = [line for line in STATEMENTS if re.fullmatch(r"Algorithm \d", line.number)]


@pytest.mark.parametrize("line", _LISTINGS, ids=lambda line: f"{line.paper} {line.number}")
def test_every_listing_is_found_by_its_number(line):
    """A search for a paper's algorithm finds the methods that do it, and none of another of its algorithms."""
    where = {place.split(":")[1] for place in line.where if place.startswith("method:")}
    for words in (
        f"{line.paper}, {line.number}",
        f"{line.number} of paper {line.paper}",
        f"{line.paper} {line.number}",
    ):
        assert where <= {entry.id for entry in search(words.upper())}, words
    assert where, line
    others = [other for other in _LISTINGS if other.paper == line.paper and other is not line]
    strangers = {
        place.split(":")[1] for other in others for place in other.where if place.startswith("method:")
    } - where
    assert not strangers & {entry.id for entry in search(f"{line.paper}, {line.number}")}


def test_names_of_the_papers_are_found():
    """What the papers call their procedures, in any letters; a digit or letter counts by itself only."""
    for name in (
        *("DP-PMTRR", "DP-PMTOLSE", "DP-PMTLR", "DP-PMTGLM", "DP-PMTSE", "PMT", "DP-RR", "DP-LR", "DP-GD", "DP-OLSE"),
        *("NAPP-ERM", "NAPP-VS", "NAPP-VS+", "DP-ERM", "NLDP"),
    ):
        assert search(name) and search(name.lower()), name
    assert all(entry.origin.source.startswith("C") or "C" in entry.origin.source for entry in search("paper C"))
    assert search("Algorithm 9") == search("no such words") == []
