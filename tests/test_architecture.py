"""The shape of the code: headless core, imports one way, no assert, short functions."""

from __future__ import annotations

import ast
import statistics
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LAYERS = [
    {"checks", "errata"},
    {"budgets", "families"},
    {"choices"},
    {"newton"},
    {"records", "accountant", "accounts"},
    {"noise", "truncation", "tables", "synthetic", "bands", "moments", "targets"},
    {"registry", "radius", "encoding", "datasets"},
    {"glm", "objective", "exact", "ledger_schema", "ledger", "clipping", "joint_parameters"},
    {"sufficient", "diagnostics", "erm", "joint", "second_pass"},
    {"refined", "retrieval"},
    {"local", "methods"},
    {"release", "experiments", "planning"},
    {"gallery"},
    {"audit"},
    {"faults", "attacks", "learn", "peers"},
    {"words", "figures", "report"},
    {"arguments", "commands"},
    {"cli"},
    {"__main__"},
]
SAME_LAYER = {
    ("radius", "registry"),
    ("moments", "truncation"),
    ("encoding", "datasets"),
    ("datasets", "encoding"),
    ("radius", "noise"),
}


def core() -> list[Path]:
    return sorted((ROOT / "pmtcore").rglob("*.py"))


def part(path: Path) -> str:
    """The layer's word for a file: its module, or its package inside pmtcore."""
    inside = path.relative_to(ROOT / "pmtcore").parts
    return inside[0].removesuffix(".py")


def imports(path: Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module)
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return found


def test_the_core_never_imports_streamlit():
    """pmtcore is headless."""
    for path in core():
        assert not any(name.split(".")[0] == "streamlit" for name in imports(path)), path


def test_imports_point_one_way():
    """A module imports from its own layer or below; nothing imports the methods but what is above them."""
    level = {name: at for at, names in enumerate(LAYERS) for name in names}
    for path in core():
        here = part(path)
        if here == "__init__":
            continue
        for name in imports(path):
            if not name.startswith("pmtcore."):
                continue
            other = name.split(".")[1]
            if other == here or other not in level:
                continue
            if here == "registry" and other == "methods":
                continue  # found when asked for, inside a function
            assert level[other] <= level[here], f"{path.name} imports {other}"


def test_no_script_lies_directly_in_pages():
    """Streamlit would run it without app.py (decision 0002)."""
    assert [path.name for path in (ROOT / "pages").glob("*.py")] == ["__init__.py"]


def test_checks_are_raised_not_asserted():
    """`assert` vanishes under -O: the core raises."""
    for path in core():
        assert not any(isinstance(node, ast.Assert) for node in ast.walk(ast.parse(path.read_text()))), path


def test_pages_hold_no_numpy():
    """A page that needs a formula has a piece of the core in it."""
    for path in (ROOT / "pages").rglob("*.py"):
        assert not any(name.split(".")[0] in {"numpy", "scipy"} for name in imports(path)), path


def test_functions_are_short():
    """Nine functions in ten have bodies under 36 lines, and modules stay under 400 lines."""
    lengths = []
    for path in [*core(), *(ROOT / "pages").rglob("*.py")]:
        text = path.read_text()
        assert len(text.splitlines()) < 400, path
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef):
                lengths.append(node.end_lineno - node.body[0].lineno + 1)
    assert statistics.quantiles(lengths, n=10)[-1] < 36
    assert statistics.median(lengths) <= 10
