"""Access to ``benchmarks/accuracy``, whose modules import each other by name."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks" / "accuracy"))


@pytest.fixture(scope="module")
def zoo_loader() -> ModuleType:
    """Return the module that loads the zoo's tables; the test is skipped where there is none."""
    import zoo  # in the folder that was added above

    try:
        return zoo.zoo_module()
    except FileNotFoundError as missing:
        pytest.skip(f"the zoo of tables is not here: {missing}")
