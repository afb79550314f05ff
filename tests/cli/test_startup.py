"""A command loads no library that it does not use: asked of ``sys.modules`` in a process of its own, not of a clock."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pyarrow.csv as pcsv
import pyarrow.parquet as pq
import pytest

ROOT = Path(__file__).resolve().parents[2]
TABLES = ("--private", "assets/demo-private.csv", "--public", "assets/demo-public.csv", "--target", "y")
# Libraries of other commands, each of them slow to load or large.
HEAVY = {
    *("pandas", "polars", "sklearn", "narwhals", "formulaic", "duckdb", "dask", "streamlit", "plotly", "cryptography"),
    *("nacl", "mpmath", "opendp", "scipy.stats", "scipy.optimize", "scipy.integrate", "pyarrow.parquet"),
    *("numpy.f2py", "numpy.testing", "unittest", "sqlalchemy", "asyncio.events"),
    *("pyarrow.dataset", "pmtcore.explore.moment", "pmtcore.papers", "pmtcore.auditing.comparison"),
}
# Methods that were not asked for.
OTHERS = {"pmtcore.methods.noisy_newton", "pmtcore.methods.joint_moment.method", "pmtcore.methods.baselines"}
RUN = """
import runpy, sys
sys.argv = ["second-moment", *{arguments!r}]
try:
    runpy.run_module("pmtcore", run_name="__main__")
except SystemExit as done:
    print("status", done.code)
print("loaded", *sys.modules)
"""
NAMES = """
from pmtcore.cli.startup import own_process
own_process()
import numpy as np, scipy.special
assert not {"numpy.f2py", "numpy.ma"} & set(__import__("sys").modules)
assert "ma" in np.__all__ and "f2py" in dir(np) and np.ma.masked_array([1.0]).sum() == 1
"""
LOADING = """
import gc, inspect
from pmtcore.cli.startup import loading, own_process
with loading():
    assert gc.isenabled() and inspect.getdoc(loading) and not gc.get_freeze_count()
own_process()
with loading():
    import scipy.linalg, scipy.special
    assert not gc.isenabled() and not inspect.getdoc(loading)
assert gc.isenabled() and inspect.getdoc(loading) and gc.get_freeze_count() > 10_000
assert scipy.special.ndtr(0.0) == 0.5 and "Array API" in scipy.special.ndtr.__doc__
"""


def loaded(tmp_path, *arguments):
    """Return the modules that one command loads, having checked that it succeeded."""
    environment = os.environ | {"PMT_LEDGER": str(tmp_path / "ledger.db"), "HOME": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", RUN.format(arguments=arguments)],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    assert "status 0" in done.stdout, done.stderr
    return set(done.stdout.rpartition("loaded ")[2].split())


@pytest.mark.parametrize("form", [(), pytest.param(("--json",), marks=pytest.mark.slow)], ids=["text", "json"])
@pytest.mark.parametrize(
    ("command", "also"),
    [
        (("release", *TABLES, "--method", "joint-pmt", "--mu", "1"), OTHERS),
        pytest.param(
            ("release", *TABLES, "--method", "joint-pmt", "--mu", "1", "--dataset", "survey"),
            set(),
            marks=pytest.mark.slow,
        ),
        pytest.param(
            ("release", *TABLES, "--method", "pmt-ridge", "--mu", "1", "--seed", "1"),
            set(),
            marks=pytest.mark.slow,
        ),
        pytest.param(
            ("plan", *TABLES[2:], "--rows", "2000", "--mu", "1", "--method", "joint-pmt"),
            {"sqlite3"},
            marks=pytest.mark.slow,
        ),
        (("describe", *TABLES), {"sqlite3"}),
    ],
    ids=["release", "release-recorded", "release-seeded", "plan", "describe"],
)
def test_a_command_loads_what_it_uses(command, also, form, tmp_path):
    """Neither the libraries of other commands, nor a sampler or a database where there is no noise and no spend."""
    assert not (HEAVY | also) & loaded(tmp_path, *command, *form)


@pytest.mark.slow
def test_parquet_alone_loads_its_reader(tmp_path):
    """A Parquet file needs one module more than text."""
    place = tmp_path / "rows.parquet"
    pq.write_table(pcsv.read_csv(ROOT / "assets/demo-private.csv"), place)
    command = ("release", "--private", str(place), *TABLES[2:], "--method", "joint-pmt", "--mu", "1")
    modules = loaded(tmp_path, *command)
    assert "pyarrow.parquet" in modules
    assert not (HEAVY - {"pyarrow.parquet"}) & modules


@pytest.mark.slow
def test_pandas_is_still_there_for_commands_that_need_it(tmp_path):
    """Hidden while pyarrow starts, and found where a formula asks for it."""
    formula = ("--private", TABLES[1], "--public", TABLES[3], "--formula", "y ~ x1 + log(abs(x2) + 1)")
    assert "pandas" in loaded(tmp_path, "release", *formula, "--method", "joint-pmt", "--mu", "1")


@pytest.mark.slow
def test_other_code_in_the_process_is_left_alone():
    """A call from a notebook hides nothing: pyarrow recognizes a frame afterwards."""
    code = f"""
from pmtcore.cli.main import main
assert main(["describe", *{TABLES!r}, "--json"]) == 0
import pandas as pd, pyarrow as pa
assert pa.array(pd.Series([1.0, None])).null_count == 1
"""
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, check=True)


def test_modules_are_loaded_without_collecting_or_parsing_documentation():
    """While a command of a process of its own loads, and no longer; other code in the process is left alone."""
    subprocess.run([sys.executable, "-c", LOADING], cwd=ROOT, capture_output=True, check=True)


def test_numpy_has_all_its_names_afterwards():
    """They are hidden while SciPy copies them, and no longer."""
    subprocess.run([sys.executable, "-c", NAMES], cwd=ROOT, capture_output=True, check=True)
