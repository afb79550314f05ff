"""The shape of the code: headless core, imports one way, no assert."""

from __future__ import annotations

import ast
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
ROOMS = (
    "base",
    "glm",
    "accounting",
    "ledger",
    "mechanisms",
    "public",
    "tables",
    "local",
    "methods",
    "explore",
    "releases",
    "auditing",
    "sites",
    "report",
    "api",
    "cli",
    "papers",
    "__main__",
)


def core() -> list[Path]:
    return sorted((ROOT / "pmtcore").rglob("*.py"))


def module(path: Path) -> str:
    """Return a file as a dotted name; a package's ``__init__`` as the package."""
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


def imports(path: Path) -> set[str]:
    names = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.add(node.module)
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return names


@pytest.mark.slow
def test_the_core_never_imports_streamlit():
    """pmtcore is headless."""
    for path in core():
        assert not any(name.split(".")[0] == "streamlit" for name in imports(path)), path


@pytest.mark.slow
def test_imports_point_one_way():
    """A room imports from itself or from rooms below it: no two rooms need each other."""
    for path in core():
        here = module(path).split(".")[1:2]
        for name in imports(path):
            other = name.split(".")[1:2]
            if not name.startswith("pmtcore.") or not here or other == here or other[0] not in ROOMS:
                continue
            assert ROOMS.index(other[0]) < ROOMS.index(here[0]), f"{module(path)} imports {name}"


@pytest.mark.slow
def test_nothing_in_the_core_imports_the_papers():
    """The reproduction of the papers can be deleted without touching the core: its commands are in its own room."""
    for path in core():
        if module(path).split(".")[1:2] != ["papers"]:
            assert not any(name.startswith("pmtcore.papers") for name in imports(path)), path


def test_every_room_is_known():
    """A stranger finds the room by its subject: few rooms, each with a sentence about itself."""
    rooms = {path.name.removesuffix(".py") for path in (ROOT / "pmtcore").iterdir() if path.name != "__pycache__"}
    assert rooms - {"__init__", "py.typed"} == set(ROOMS)
    for room in (ROOT / "pmtcore").glob("*/__init__.py"):
        assert ast.get_docstring(ast.parse(room.read_text())), room


@pytest.mark.slow
def test_no_circle_inside_a_room():
    """Files import one way too."""
    known = {module(path): path for path in core()}
    rooms = {name for name, path in known.items() if path.name == "__init__.py"}  # hold a sentence, import nothing
    after = {name: sorted((imports(path) & known.keys()) - rooms - {name}) for name, path in known.items()}
    assert list(TopologicalSorter(after).static_order())


def test_no_script_lies_directly_in_pages():
    """Streamlit would run it without app.py (decision 0002)."""
    assert [path.name for path in (ROOT / "pages").glob("*.py")] == ["__init__.py"]


# What others are made from: all else in the core is final, so that whoever reads a class has read all of it.
EXTENDED = {
    # a method: what it plans, what comes out, and its parameters, which share fields
    "Plan",
    "OfPublicData",
    "RehearsedPlan",
    "ScorePlan",
    "IterativePlan",
    "SteppedTrials",
    "ClaimTest",
    "WaldTest",
    # what is stored by its fields
    "JsonFields",
    "PerturbedPlan",
    "PointSum",
    "StatisticPlan",
    "Outcome",
    "StatisticOutcome",
    "Parameters",
    "GlmParameters",
    "NewtonParameters",
    "PmtParameters",
    "PmtRidgeParameters",
    "PrintedParameters",
    "ErmParameters",
    "LocalParameters",
    "LocalMomentParameters",
    "RegressionParameters",
    # what the papers' experiments change of the core's own
    "LossSums",
    "Setting",
    # several of one kind
    "Influence",
    "NoiseSource",
    "LabNoise",
    "Message",
    "InputError",
    "LedgerError",
    "CapError",
    # what never leaves its session, and work that a page shows in steps
    "DerivedSource",
    "FileSource",
    "StaysInSession",
    "Steps",
    # the faces of models
    "Parametrized",
    "PrivateModel",
    "Reported",
}


def test_a_class_is_extended_only_where_it_is_meant_to_be():
    """Every class is final but for those listed, and each of these has a class made from it."""
    extended, own = set(), set()
    for path in core():
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ClassDef):
                own.add(node.name)
                bases = [ast.unparse(base).split("[")[0] for base in node.bases]
                extended |= {base.split(".")[-1] for base in bases if not base.startswith("argparse.")}
    assert extended & own == EXTENDED


@pytest.mark.slow
def test_checks_are_raised_not_asserted():
    """`assert` vanishes under -O: the core raises."""
    for path in core():
        assert not any(isinstance(node, ast.Assert) for node in ast.walk(ast.parse(path.read_text()))), path


def test_pages_hold_no_numpy():
    """A page that needs a formula has a piece of the core in it."""
    for path in (ROOT / "pages").rglob("*.py"):
        assert not any(name.split(".")[0] in {"numpy", "scipy"} for name in imports(path)), path


def _is_number(value: ast.expr) -> bool:
    if isinstance(value, ast.Tuple | ast.List):
        return bool(value.elts) and all(map(_is_number, value.elts))
    if isinstance(value, ast.BinOp):
        return _is_number(value.left) and _is_number(value.right)
    if isinstance(value, ast.UnaryOp):
        return _is_number(value.operand)
    return isinstance(value, ast.Constant) and type(value.value) in (int, float)


def test_every_tuned_number_has_its_reason():
    """A number with a name stands beside a comment on its line, or under one."""
    for path in core():
        lines = path.read_text().splitlines()
        for node in ast.parse("\n".join(lines)).body:
            if not isinstance(node, ast.Assign | ast.AnnAssign) or node.value is None or not _is_number(node.value):
                continue
            beside, above = lines[node.end_lineno - 1], lines[node.lineno - 2].strip()
            assert "#" in beside or above.startswith("#"), f"{module(path)}, line {node.lineno}: {beside.strip()}"
