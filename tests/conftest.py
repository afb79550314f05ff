"""Shared fixtures: one seed by default, many with ``--seeds N``; real tables, or a stated skip."""

from __future__ import annotations

import os
from pathlib import Path

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


@pytest.fixture(autouse=True, scope="session")
def own_ledger(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Tests of the app write to a ledger of their own."""
    os.environ["PMT_LEDGER"] = str(tmp_path_factory.mktemp("ledger") / "ledger.db")


@pytest.fixture(autouse=True)
def empty_ledger() -> None:
    """Each test starts with an empty one."""
    Path(os.environ["PMT_LEDGER"]).unlink(missing_ok=True)
