"""The faults that the suite must notice are planted in text that is there."""

from benchmarks.mutants import every_mutant, gone


def test_each_fault_is_planted_in_todays_code() -> None:
    """A change that moves the text of a fault moves the fault too, or a full run stops before it begins."""
    assert not gone(every_mutant())
