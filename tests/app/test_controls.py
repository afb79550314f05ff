"""What is true of every control on every page, whatever state shows it."""

from __future__ import annotations

import ast
import re

import pytest
from streamlit.testing.v1 import AppTest

from pages.elements.controls import CONTROLS
from pmtcore.auditing.comparison import AXES
from pmtcore.base.messages import TableNote
from pmtcore.base.numbers import written_number
from tests.app.conftest import ROOT

INPUTS = {
    "selectbox",
    "multiselect",
    "segmented_control",
    "pills",
    "select_slider",
    "slider",
    "number_input",
    "text_input",
    "text_area",
    "toggle",
    "checkbox",
    "radio",
    "file_uploader",
}

DRAWN = {"pick", "segments", "number", "number_or_nothing", "amount", "_lines"}  # by functions of the pages' own
SHARED = {"common", "more", "settings", "control(id, at)", "{**control(id, at), **more}"}  # judged where they are given
UNITS = ("unit", "mu", "rho", "epsilon", "delta")


def test_a_number_that_was_not_understood_keeps_the_last_one() -> None:
    """Each number field is required: letters typed into it would else become its least number, or 0, in silence.

    None has limits: beyond them the browser keeps the last number in silence too (widgets.number says what it takes).
    """
    fields = [
        (path.name, {keyword.arg for keyword in node.keywords}, len(node.args))
        for path in sorted((ROOT / "pages").rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "number_input"
    ]
    assert fields
    assert not [name for name, given, _ in fields if "required" not in given and None not in given]
    assert not [name for name, given, many in fields if many > 1 or {"min_value", "max_value"} & given]


@pytest.mark.parametrize(("asked", "taken"), [(0.0, 0.1), (5.0, 5.0), (1e9, 10.0), (-1.0, 0.1)])
def test_a_number_beyond_its_range_is_said(asked: float, taken: float) -> None:
    """What is taken in its place stands below the field."""
    app = AppTest.from_function(_ask_a_number).run()
    app.number_input(key="audit-mu").set_value(asked).run()
    assert app.text[0].value == f"{taken:g}"
    said = [one.value for one in app.caption]
    assert len(said) == (asked != taken) and all(f"0.1 to 10: {taken:g} is taken" in one for one in said)


def test_a_number_too_small_to_be_read_is_refused() -> None:
    """What would be read as zero is no number that somebody meant."""
    assert written_number("1e-300") == 1e-300 and written_number("0.0") == 0.0
    for text in ("1e-400", "0.5e-999", "x"):
        with pytest.raises(ValueError):
            written_number(text)


def _ask_a_number() -> None:
    import streamlit as st

    from pages.elements.widgets import number

    st.text(f"{number(st, 'audit-mu', 0.1, 10.0, start=1.0):g}")


def test_no_page_writes_entries_of_the_history_by_itself() -> None:
    """What a page notes in the address replaces it: Streamlit's parameters are set where somebody clicked, no more."""
    change = re.compile(r"st\.query_params\[[^\]]*\] = |del st\.query_params")
    assert [path.name for path in (ROOT / "pages").rglob("*.py") if change.search(path.read_text())] == ["gallery.py"]


def test_every_control_explains_itself() -> None:
    """Each input on each page has its help: its own, that of the table of controls, or that of shared arguments."""
    silent, observed = [], 0
    for path in sorted((ROOT / "pages").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if not (isinstance(node, ast.Call) and isinstance(node.func, (ast.Attribute, ast.Name))):
                continue
            name = node.func.attr if isinstance(node.func, ast.Attribute) else node.func.id
            ids = [each.value for each in node.args if isinstance(each, ast.Constant) and each.value in CONTROLS]
            spread = [keyword.value for keyword in node.keywords if keyword.arg is None]
            calls = [each for each in spread if isinstance(each, ast.Call) and ast.unparse(each.func) == "control"]
            ids += [each.args[0].value for each in calls if isinstance(each.args[0], ast.Constant)]
            if name not in INPUTS and not (name in DRAWN and ids):
                continue
            observed += 1
            given = {keyword.arg for keyword in node.keywords} & {"help", "words"}
            given |= {ast.unparse(each) for each in spread} & SHARED
            if not given and not (ids and all("help" in CONTROLS[id] for id in ids)):
                silent.append(f"{path.relative_to(ROOT)}:{node.lineno} {ast.unparse(node)[:80]}")
    assert observed > 90
    assert not silent, "\n".join(silent)


def test_every_control_of_the_table_is_drawn() -> None:
    """An entry that no page asks for is dead text; keys of budgets are made of their unit."""
    texts = "\n".join(path.read_text() for path in (ROOT / "pages").rglob("*.py"))
    made = {f"{form}-{unit}" for form in ("explore", "explore-confirm", "release") for unit in UNITS}
    made |= {f"compare-{axis}" for axis in AXES}
    assert not [id for id in CONTROLS if f'"{id}"' not in texts and id not in made]


def test_a_warning_about_persons_names_the_control_that_answers_it() -> None:
    """In a browser nobody has an option --person: the label alone is said."""
    for warning in (TableNote.PERSON_COLUMN, TableNote.PRIVATE_PERSON_COLUMN, TableNote.ROWS_SHARE_A_PERSON):
        words = warning.sentence(column="id", shared=2, rows=3)
        assert f"“{CONTROLS['person']['label']}”" in words and "--person" not in words
