"""What is true of every control on every page, whatever state shows it."""

from __future__ import annotations

import ast

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
