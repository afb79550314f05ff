"""Variables are named for what they are, and docstrings say what a function does."""

import ast
import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
# Words that tell what was done to a value, and not what it is.
EMPTY = {"found", "held", "whole", "kept", "seen"}
# Words that tell whose a value is, or that somebody said it; in tests they are clear from the few lines around them.
EMPTY_IN_CODE = {"asked", "got", "mine", "taken", "told", "ways", "whose"}
PLACES = ("pmtcore", "pages", "app.py", "benchmarks", "docs", ".ci", "tests")


def bound(tree: ast.AST) -> Iterator[str]:
    """Yield each name that a module gives to a value, an argument, a field or a function."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.arg):
            yield node.arg
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.ExceptHandler):
            yield node.name or ""


def sources(place: Path) -> Iterator[tuple[Path, str]]:
    """Yield the Python files of a folder, and its notebooks as their code."""
    for path in [place] if place.is_file() else sorted(place.rglob("*.py")):
        yield path, path.read_text()
    for path in sorted(place.rglob("*.ipynb")):
        cells = json.loads(path.read_text())["cells"]
        code = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
        lines = "\n".join(code).splitlines()
        yield path, "\n".join("pass" if line.lstrip().startswith(("%", "!")) else line for line in lines)


@pytest.mark.parametrize("place", PLACES)
def test_no_name_says_only_what_was_done(place: str):
    """A reader learns from a name what the value is: a release, a curve, the fields of a record."""
    empty = {
        f"{path.relative_to(ROOT).as_posix()}: {name}"
        for path, source in sources(ROOT / place)
        for name in bound(ast.parse(source))
        if name in (EMPTY if place == "tests" else EMPTY | EMPTY_IN_CODE)
    }
    assert not empty


def test_every_class_has_a_name_of_its_own():
    """Whoever meets a class in a signature or an error finds the one that is meant."""
    places: dict[str, list[str]] = {}
    for path, source in (*sources(ROOT / "pmtcore"), *sources(ROOT / "pages")):
        for name in re.findall(r"^ *class (\w+)", source, re.MULTILINE):
            places.setdefault(name, []).append(path.relative_to(ROOT).as_posix())
    assert not {name: files for name, files in places.items() if len(files) > 1}


def test_every_kind_of_name_is_read():
    """The check reads variables, arguments, loops, fields, functions and handlers."""
    source = (
        "def kept(found, *, held=1):\n    for whole in found: pass\nclass C:\n    seen: int\n"
        "try: pass\nexcept ValueError as found: pass\n"
    )
    assert set(bound(ast.parse(source))) >= EMPTY
    assert EMPTY.isdisjoint(bound(ast.parse("x.found = y.kept(seen=1)")))


# First words of docstrings. A new one belongs here if it is a verb in the imperative.
VERBS = set(
    """
    Accept Add Agree Allow Answer Append Apply Ask Attack Audit Begin Bring Build Call Carry Change Check Choose
    Clip Close Collect Combine Compare Complete Compute Condition Convert Count Create Cut Decide Decode Delete
    Derive Describe Divide Do Double Draw Drop Encode Encrypt End Enter Escape Estimate Exclude Execute Expand
    Extrapolate File Fill Fit Fix Free Give Go Group Guess Halve Hand Hash Hide Hold Import Index Infer Insert Join
    Keep Label Lead Learn Leave Let Lift Limit Linearize List Load Log Look Lower Make Mark Measure Migrate Minimize
    Mix Name Note Obey Open Parse Place Plan Post Predict Prepare Print Project Put Quantize Quote Raise Read
    Recommend Recompute Record Refuse Register Release Remove Render Replace Report Require Reserve Restore Retire
    Return Rotate Round Run Say Scale Seal See Select Send Serve Set Share Show Silence Simulate Solve Spend Split
    Start State Stop Store Sum Suppress Take Tally Tell Test Truncate Try Wait Walk Warn Weight Whiten Write Yield
    """.split()  # noqa: SIM905  # as a list it would take 158 lines
)


@pytest.mark.parametrize("place", ["pmtcore", "pages", "app.py"])
def test_docstrings_begin_with_a_verb(place: str):
    """A reader learns from the first word what a function does: it returns, draws, reads or refuses something."""
    nouns = [
        f"{path.relative_to(ROOT).as_posix()}, {node.name}: {text.splitlines()[0]}"
        for path, source in sources(ROOT / place)
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        if (text := ast.get_docstring(node)) and re.match(r"\w*", text).group() not in VERBS
    ]
    assert not nouns
