"""The faults that the suite must notice are planted in text that is there, and leave a program that runs."""

import ast

import pytest

from benchmarks.mutants import ROOT, every_mutant, gone


def test_each_fault_is_planted_in_todays_code() -> None:
    """A change that moves the text of a fault moves the fault too, or a full run stops before it begins."""
    assert not gone(every_mutant())


@pytest.mark.slow
def test_each_fault_leaves_valid_python() -> None:
    """A fault that the parser notices says nothing of the tests, and ends a full run half-way."""
    for mutant in every_mutant():
        if mutant.file.endswith(".py"):
            text = (ROOT / mutant.file).read_text()
            ast.parse(text.replace(mutant.old, mutant.new, 1), mutant.name)
