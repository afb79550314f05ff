"""Shared fixtures: one seed by default, many with ``--seeds N``; real tables, or a stated skip."""

from __future__ import annotations

import pytest

from pmtcore import datasets


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--seeds", type=int, default=1, help="repeat seeded tests with this many seeds")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "seed" in metafunc.fixturenames:
        metafunc.parametrize("seed", range(20261121, 20261121 + metafunc.config.getoption("--seeds")))


@pytest.fixture
def real_tables() -> None:
    """Skip, saying why, where the real tables are not on this machine."""
    if not datasets.entry("white-wine").available or not datasets.entry("power-plant").available:
        pytest.skip("real tables are absent: set PMT_DATA_DIR, or put them into ../shared/data")
