"""Errors and notes: a kind, its facts, and one sentence that is rendered last."""

from __future__ import annotations

import ast
import pickle
import re
from functools import cache
from pathlib import Path

import pytest

from pmtcore.base import messages
from pmtcore.base.messages import (
    AttackResult,
    CuratorNote,
    Damage,
    DatabaseFault,
    ExploreWords,
    GuaranteePhrase,
    GuaranteeWords,
    InputError,
    LabReason,
    LedgerMessage,
    Message,
    Note,
    PageWords,
    Party,
    PartyKnowledge,
    Phrase,
    PlanVerdict,
    ReleaseNote,
    RepairLabel,
    ReportWords,
    SettingFault,
    SiteState,
    SpendMessage,
    StudyError,
    StudyFault,
    TableMessage,
    TableNote,
    kind_of,
    number_between,
)
from pmtcore.ledger.chain import Damaged
from pmtcore.releases.outcome import before_spend

ENUMS = {enum.__name__: enum for enum in Message.__subclasses__()}
KINDS = [kind for enum in ENUMS.values() for kind in enum]
NOTES = (
    TableNote,
    StudyFault,
    PartyKnowledge,
    SettingFault,
    SpendMessage,
    ReleaseNote,
    PlanVerdict,
    CuratorNote,
    GuaranteeWords,
    ExploreWords,
    PageWords,
    ReportWords,
)
CLAUSES = (Damage, DatabaseFault, Party, SiteState, LabReason, GuaranteePhrase, AttackResult, Phrase)
LABELS = (RepairLabel,)
# These are sentences from elsewhere, or end with one.
PASSED_ON = ("{unit}", "{problems}", "{reason}")
SEVERAL = {"allowed", "columns", "datasets", "fields", "functions", "levels", "methods", "names", "needed", "present"}
NUMBERS = {
    *(
        "bound",
        "cap",
        "count",
        "delta",
        "epsilon",
        "event",
        "expected",
        "high",
        "least",
        "left",
        "level",
        "limit",
        "low",
    ),
    *(
        "mean",
        "megabytes",
        "modulus",
        "mu",
        "number",
        "penalty",
        "private_rows",
        "public_rows",
        "rows",
        "share",
        "shared",
        "spent",
        "status",
        "usual",
    ),
    *("by_chance", "claimed", "excess", "radius", "sites", "smallest", "total", "value", "version"),
}
# Rooms in which every error of a user carries a kind.
TYPED = (
    *("accounting", "api", "auditing", "base", "cli", "explore", "glm", "ledger", "local", "methods", "papers"),
    *("public", "releases", "report", "sites", "tables"),
)
ERRORS = {"CapReached", "Damaged", "Forbidden", "InputError", "LedgerError", "NotFitted"}
ADVICE = re.compile(r"[;:]|\. |\b(must|needs?|takes?|gives?|name|reads|are written|is an object)\b", re.I)
PAIRED = {"references"}
ROOT = Path(messages.__file__).parents[1]
# What each fact of a template is. All are public, or were given by whoever reads the sentence: none is a value of a
# private cell, or a name that only the private table has.
FACTS = {
    "most": "in which columns of the table, or nothing",
    "others": "that other columns are held fixed, where there are any",
    "account": "what is spent of a data set in the ledger, and its cap",
    "action": "what somebody wants to do, in words",
    "address": "an address that was given, without what follows its question mark",
    "allowed": "the words one may choose from",
    "axis": "a public quantity that is varied",
    "become": "what a category counts as",
    "bound": "a bound of linear predictors, or of mu by an audit of tables made up for it",
    "by_chance": "the share of public rows that chance makes private ones, for the curator alone",
    "budget": "a budget in words",
    "cap": "a cap of the ledger, total mu",
    "chance": "a p-value of released figures, in words",
    "claimed": "the mu that a method claims",
    "coefficient": "the name of a coefficient that was asked for",
    "column": "the name of a column of the public table, or one that was given",
    "columns": "names of such columns",
    "command": "a command that helps",
    "count": "a number of public things",
    "dataset": "the name of a data set in the ledger",
    "datasets": "names of such data sets",
    "delta": "a delta that was given",
    "epsilon": "an epsilon that was given, or follows from public choices",
    "event": "the number of an event of the ledger, or what a label says in words",
    "example": "a public text of a column",
    "excess": "the share of public rows that are private ones beyond chance, for the curator alone",
    "expected": "the version that this program reads",
    "expression": "a part of a formula that was given",
    "factor": "how much wider bands are, which follows from public counts",
    "family": "the title of a family",
    "fields": "names of fields in a file that was given",
    "file": "the name of a file without its folder",
    "first": "what comes first in a date: day or month",
    "form": "how something is written",
    "formula": "a formula that was given",
    "functions": "names of functions that a formula may use",
    "given": "what was given where something else was needed",
    "high": "an upper limit of the program",
    "id": "the name of a figure of the gallery",
    "key": "the key of a spend",
    "label": "a label that was given, or that public rows have",
    "least": "the least value that serves",
    "left": "what is left of a cap, in mu",
    "level": "a level of confidence that was given",
    "levels": "categories or other texts that the public table has, or declared ones",
    "limit": "the limit that was passed",
    "low": "a lower limit of the program",
    "mean": "a bound of means, which follows from public choices",
    "megabytes": "a limit of size",
    "method": "the name of a method",
    "methods": "names of methods",
    "modulus": "a modulus of strong convexity, which is public",
    "mu": "a budget that was asked for",
    "name": "the name of an argument, a column or a model",
    "names": "names that were given",
    "new_high": "a released limit of a new response, in words",
    "new_low": "a released limit of a new response, in words",
    "needed": "names that are needed",
    "number": "the place of a column",
    "option": "an option of the command line",
    "p": "a released p-value, in words",
    "part": "a part of a standard error or of a table, in words",
    "party": "who looks at a study among sites, in words",
    "penalty": "the ridge penalty of the problem",
    "person": "the name of whoever is signed in",
    "place": "a file or an address that was given",
    "places": "the numbers of columns in a file, from 1 on",
    "precision": "how many times as precise as the public fit a plan is, in words",
    "present": "names that are there, of the public table or of public columns",
    "private": "the name of the file given as private",
    "private_rows": "the number of private rows, where it is public",
    "problems": "sentences about settings, which quote none of their values",
    "public": "the name of the file given as public",
    "public_rows": "the number of public rows",
    "radius": "the radius of the papers, which is public",
    "reason": "a reason, in words of this program or of whoever decided",
    "references": "the level that the categories of each public column are compared with, by column",
    "role": "a role, in words",
    "rows": "a number of rows that is public",
    "scheme": "the scheme of an address",
    "separator": "the name of a separator",
    "setting": "the name of a setting; its value is in no sentence",
    "shared": "the number of public rows that have an identifier in common with another",
    "share": "a share of public cells or rows; of private rows for the curator alone",
    "sites": "a number of sites of a study",
    "smallest": "the least mu that an audit would have seen",
    "spent": "what is spent of a cap, in mu",
    "state": "what became of a request or a spend",
    "statement": "what is wrong with a public column, without advice",
    "status": "the exit status of a process",
    "step": "a step of a command",
    "change": "changes of features by which their effects are compared",
    "picked": "which level of a column a picture draws",
    "table": "'public' or 'private'",
    "table_id": "the name of a table of the list",
    "tables": "two neighbouring tables, in words",
    "thing": "what is named",
    "title": "the title of a table of the list",
    "total": "how many rows there are in all",
    "unit": "the unit of protection, in words",
    "value": "a released figure, in words or as a number",
    "usual": "the value that is taken where none is given",
    "version": "the version of a file",
    "where": "the name of a file, with its role",
}


def sample(fact: str):
    if fact in PAIRED:
        return {"a": "b"}
    return ["a", "b"] if fact in SEVERAL else 3 if fact in NUMBERS else fact


def rendered(kind: Message) -> str:
    return kind.sentence(**{fact: sample(fact) for fact in kind.facts})


def calls(rooms):
    """Return the calls of an error or a note in these rooms, each with its file and line."""
    return [call for room in rooms for call in calls_of(room)]


@cache
def tree_of(path):
    return ast.parse(path.read_text(encoding="utf-8"))


@cache
def calls_of(room):
    names = {*ERRORS, "Note"}
    return [
        (f"{path.relative_to(ROOT)}:{node.lineno}", node)
        for path in sorted((ROOT / room).rglob("*.py"))
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in names
    ]


def kinds_named(node: ast.AST) -> list[Message]:
    named = [one for one in ast.walk(node) if isinstance(one, ast.Attribute) and isinstance(one.value, ast.Name)]
    return [ENUMS[one.value.id][one.attr] for one in named if one.value.id in ENUMS]


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_every_kind_is_a_sentence(kind):
    """It begins, ends and is spaced as one, says what to do where it is an error, and has listed facts only."""
    assert kind.facts <= set(FACTS)
    text = rendered(kind)
    assert "{" not in text.replace('{"name": "analyst"}', "") and "  " not in text and "\n" not in text
    if kind.template.endswith(PASSED_ON):
        return
    if isinstance(kind, LABELS):
        assert (text[0].isupper() or kind.template[0] == "{") and not text.endswith(".")
        return
    if isinstance(kind, CLAUSES):
        assert text[0].islower() or kind.template[0] == "{"
        return
    assert text.endswith(".") and not text.endswith("..")
    # An option, an argument, a fact or a quoted name may stand first, as it is written.
    as_written = r"'|-|\{|(exact|mu|delta|score|level|epsilon|fit|estimator|ledger) "
    assert text[0].isupper() or re.match(as_written, kind.template)
    assert isinstance(kind, NOTES) or ADVICE.search(re.sub(r"{[^}]*}", "", kind.template))


def test_every_template_belongs_to_a_class():
    """The file has the tables of the classes and no other; no class has one template twice, which would be an alias."""
    assert set(messages._TEMPLATES) == set(ENUMS)
    assert all(len(ENUMS[name]) == len(named) for name, named in messages._TEMPLATES.items())


@pytest.mark.parametrize("folder", ["pmtcore", "pages", "tests", "benchmarks"])
def test_every_kind_that_is_named_exists(folder):
    """A misspelled kind fails here: a checker of types does not read the file that the kinds stand in."""
    unknown = [
        (path.name, node.lineno, node.attr)
        for path in sorted((ROOT.parent / folder).rglob("*.py"))
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in ENUMS
        if not hasattr(ENUMS[node.value.id], node.attr)
    ]
    assert unknown == []


def test_all_facts_are_used():
    """No fact is listed that no sentence takes, and each is described."""
    assert set(FACTS) == {fact for kind in KINDS for fact in kind.facts}
    assert all(FACTS.values())


@pytest.mark.parametrize("room", TYPED)
def test_no_error_of_these_rooms_is_prose(room):
    """Each error is raised with a kind: no text, and no text with names in it, stands where it is raised."""
    prose = [
        where
        for where, node in calls((room,))
        if node.func.id != "Note" and any(isinstance(one, ast.Constant | ast.JoinedStr) for one in node.args)
    ]
    assert prose == []


def test_no_note_of_an_outcome_is_prose():
    """What a method says of its release is a note with a kind: no text stands where it is said."""
    prose = []
    for path in sorted((ROOT / "methods").rglob("*.py")):
        for node in ast.walk(tree_of(path)):
            if isinstance(node, ast.FunctionDef) and node.name == "notes":
                texts = [one.value for one in ast.walk(node) if isinstance(one, ast.Constant) and one.kind is None]
                said = [text for text in texts if isinstance(text, str) and " " in text]
                prose += [(path.name, text) for text in said if text != ast.get_docstring(node, clean=False)]
    assert prose == []


def test_each_error_is_raised_with_the_facts_of_its_kind():
    """A template that asks for another fact than the call gives would fail only when somebody makes the mistake."""
    rooms = [path.name for path in ROOT.iterdir() if path.is_dir()]
    wrong, seen_kinds = [], set()
    for where, node in calls(rooms):
        given = {one.arg for one in node.keywords}
        for kind in kinds_named(ast.Module([ast.Expr(one) for one in node.args], [])):
            seen_kinds.add(kind)
            if not kind.facts <= given:
                wrong.append((where, kind.name, sorted(kind.facts - given)))
    assert wrong == []
    assert len(seen_kinds) > 200


def test_every_kind_is_used():
    """A sentence that nothing raises is deleted."""
    used = set()
    for path in (*ROOT.rglob("*.py"), *(ROOT.parent / "pages").rglob("*.py")):
        used |= set(kinds_named(tree_of(path)))
    assert [kind for kind in KINDS if kind not in used] == []


HOSTILE = ["age; sex (constant)", "{column}", "x; choose the policy", "a'b\"c", "collinear: left out", "{0.__class__}"]


@pytest.mark.parametrize("name", HOSTILE)
def test_a_name_is_only_a_name(name):
    """A column whose name looks like a part of a sentence, or of a template, changes neither kind nor advice."""
    error = InputError(TableMessage.ONE_CATEGORY, column=name)
    assert error.kind is TableMessage.ONE_CATEGORY and error.facts == {"column": name}
    assert repr(name) in str(error) and repr(name) in error.statement
    note = Note(TableNote.LEFT_OUT, statement=error.statement)
    assert note.endswith("with public rows: left out.") and repr(name) in note


def test_errors_and_notes_keep_their_kind_elsewhere():
    """In another process an error and a note are what they were: type, kind, facts and sentence."""
    for made in (
        InputError(TableMessage.NO_FILE, place="a"),
        Damaged(Damage.BROKEN_CHAIN, event=3),
        StudyError(StudyFault.LOST, "north"),
    ):
        other = pickle.loads(pickle.dumps(made))
        assert (type(other), other.kind, str(other), other.facts) == (type(made), made.kind, str(made), made.facts)
    made = Note(TableNote.DATES, column="day")
    note = pickle.loads(pickle.dumps(made))
    assert (kind_of(note), note.facts, note) == (TableNote.DATES, {"column": "day"}, made)
    assert kind_of("text of an older record") is None


def test_what_became_of_a_spend_is_added_once():
    """A failure before a spend says so, once, and stays what it was: its type, its kind and its cause."""
    with pytest.raises(Damaged) as caught, before_spend(), before_spend():
        raise Damaged(Damage.EVENTS_MISSING)
    assert caught.value.kind is Damage.EVENTS_MISSING and caught.value.message is LedgerMessage.DAMAGED
    assert str(caught.value).count(SpendMessage.NOTHING.sentence()) == 1 and str(caught.value).count("damaged") == 1


def test_numbers_out_of_range_are_facts():
    """A program that repairs a call reads limits, not words."""
    with pytest.raises(InputError) as caught:
        number_between("mu", float("nan"), 0.1, 10.0)
    assert caught.value.facts["low"] == 0.1 and caught.value.facts["high"] == 10.0
