"""Tests ask for kinds and figures, not for the words of a sentence."""

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent
# Tests whose subject is the words of an error: that a secret is not in them, or that each has its own.
ABOUT_WORDS = {"base/test_messages.py", "base/test_exits.py", "helpers.py"}
# So many words and more are a sentence; fewer are a name or a figure that must, or must not, be in it.
SENTENCE = 3


def of_error(node: ast.expr) -> bool:
    """Return whether this is the text of an exception that was caught."""
    return (
        isinstance(node, ast.Call)
        and ast.unparse(node.func) == "str"
        and len(node.args) == 1
        and ast.unparse(node.args[0]).endswith((".value", "error"))
    )


def prose(source: str) -> Iterator[str]:
    """Yield what a test asks of the words of an exception."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and ast.unparse(node.func) in ("pytest.raises", "pytest.warns"):
            yield from (ast.unparse(node) for keyword in node.keywords if keyword.arg == "match")
        elif isinstance(node, ast.Compare):
            both = [node.left, *node.comparators]
            words = [str(one.value) for one in both if isinstance(one, ast.Constant)]
            if any(map(of_error, both)) and any(len(text.split()) >= SENTENCE for text in words):
                yield ast.unparse(node)


def test_no_test_asks_for_the_words_of_an_error():
    """Sentences may be rewritten without a test that fails: kinds and facts say what went wrong."""
    asked = [
        f"{path.relative_to(ROOT)}: {words}"
        for path in sorted(ROOT.rglob("*.py"))
        if path.relative_to(ROOT).as_posix() not in ABOUT_WORDS
        for words in prose(path.read_text())
    ]
    assert not asked


def test_what_counts_as_words_of_an_error():
    """A pattern, and a sentence compared with an exception; a name in it, or the words of a report, are none."""
    assert list(prose("with pytest.raises(ValueError, match='so'): pass"))
    assert list(prose("assert 'this is so' in str(caught.value)"))
    assert not list(prose("assert 'SECRET' not in str(caught.value) and 'this is so' in report(release)"))
