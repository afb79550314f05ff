"""Arguments from the fifth on are keyword-only."""

import ast
from pathlib import Path

ROOT = Path(__file__).parents[1]


def by_place(function: ast.FunctionDef, in_class: bool) -> int:
    """Return how many arguments a caller may give by place; the object itself does not count."""
    static = any(isinstance(each, ast.Name) and each.id == "staticmethod" for each in function.decorator_list)
    return len(function.args.posonlyargs) + len(function.args.args) - (in_class and not static)


def many(source: str) -> set[str]:
    """Functions of a module with five or more arguments by place."""
    tree = ast.parse(source)
    methods = {id(item) for node in ast.walk(tree) if isinstance(node, ast.ClassDef) for item in node.body}
    functions = (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))
    return {each.name for each in functions if by_place(each, id(each) in methods) > 4}


def test_arguments_from_the_fifth_on_are_named():
    """Every function of the package and of the app."""
    long = set()
    for path in sorted([*ROOT.glob("pmtcore/**/*.py"), *ROOT.glob("pages/**/*.py"), ROOT / "app.py"]):
        long |= {f"{path.relative_to(ROOT).as_posix()}:{name}" for name in many(path.read_text())}
    assert not long


def test_a_function_with_five_is_seen():
    """The check counts what a caller counts."""
    assert many("def f(a, b, c, d, e): ...") == {"f"}
    assert many("def f(a, b, c, d, *, e): ...") == set()
    assert many("class C:\n    def f(self, a, b, c, d): ...") == set()
