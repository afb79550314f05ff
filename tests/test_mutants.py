"""The faults that the suite must notice are planted in text that is there, and leave a program that runs."""

import ast
import builtins

import pytest

from benchmarks.mutants import ROOT, every_mutant, gone


def test_each_fault_is_planted_in_todays_code() -> None:
    """A change that moves the text of a fault moves the fault too, or a full run stops before it begins."""
    assert not gone(every_mutant())


def unbound_names(source: str) -> set[str]:
    """Return the names that a module reads and nothing in it binds, in whatever scope."""
    read: set[str] = set()
    bound = {*vars(builtins), "__file__", "__name__", "__doc__"}
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Name(id=name, ctx=ast.Load()):
                read.add(name)
            case ast.Name(id=name) | ast.FunctionDef(name=name) | ast.ClassDef(name=name) | ast.arg(arg=name):
                bound.add(name)
            case ast.alias(name=name, asname=alias):
                bound.add((alias or name).partition(".")[0])
            case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
                bound.add(name)
    return read - bound


@pytest.mark.slow
def test_each_fault_leaves_a_program_that_can_run() -> None:
    """A fault that the parser refuses, or that asks for a name that nothing has, says nothing of the tests."""
    lacking = {}
    for mutant in every_mutant():
        if mutant.file.endswith(".py"):
            text = (ROOT / mutant.file).read_text()
            if names := unbound_names(text.replace(mutant.old, mutant.new, 1)) - unbound_names(text):
                lacking[mutant.name] = names
    assert not lacking
