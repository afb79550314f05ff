"""What is true of every control on every page, whatever state shows it."""

from __future__ import annotations

import ast
import re

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


def test_a_number_that_was_not_understood_keeps_the_last_one() -> None:
    """Each number field is required: letters typed into it would else become its least number, or 0, in silence."""
    fields = [
        (path.name, node)
        for path in sorted((ROOT / "pages").rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "number_input"
    ]
    assert len(fields) > 20
    silent = [name for name, node in fields if "required" not in {keyword.arg for keyword in node.keywords}]
    assert not silent


def test_no_page_writes_entries_of_the_history_by_itself() -> None:
    """What a page notes in the address replaces it: Streamlit's parameters are set where somebody clicked, no more."""
    change = re.compile(r"st\.query_params\[[^\]]*\] = |del st\.query_params")
    assert [path.name for path in (ROOT / "pages").rglob("*.py") if change.search(path.read_text())] == ["gallery.py"]


def test_every_control_explains_itself() -> None:
    """Each input on each page has its help; a spread of shared arguments (``**common``) has to bring it."""
    silent, seen = [], 0
    for path in sorted((ROOT / "pages").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in INPUTS:
                seen += 1
                given = {keyword.arg for keyword in node.keywords}
                spread = [k.value for k in node.keywords if k.arg is None and isinstance(k.value, ast.Name)]
                if "help" not in given and not any(name.id in ("common", "more") for name in spread):
                    silent.append(f"{path.relative_to(ROOT)}:{node.lineno} {ast.unparse(node)[:80]}")
    assert seen > 60
    assert not silent, "\n".join(silent)
