"""Shared fixtures: one seed by default, many with ``--seeds N``; real tables, or a stated skip; slow tests in CI.

Tests marked ``slow`` (coverage of bands, whole pages for every role, browsers: more than a CPU second a test) run in
CI (``CI=true``), with ``--slow``, and where ``-m`` asks for them; elsewhere they are deselected, and counted in the
summary.
"""

from __future__ import annotations

import enum
import os
import pwd
import re
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path

for _threads in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_threads, "1")  # workers run side by side and share the cores

import pytest  # noqa: E402
from hypothesis import HealthCheck, settings  # noqa: E402

from pmtcore.ledger import database  # noqa: E402
from pmtcore.releases import release  # noqa: E402
from pmtcore.tables import named  # noqa: E402

# The same examples in every run, however slow the machine; --hypothesis-profile=default draws others.
settings.register_profile(
    "suite", derandomize=True, deadline=None, database=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("suite")
# Each worker runs whole files, in this order, so that no long file is left for the end; files that mostly wait for a
# browser alternate with those that compute.
_LONGEST_FILES = (
    *("methods/test_coverage", "e2e/test_journeys", "e2e/test_accessibility", "e2e/test_sign_in", "app/test_roles"),
    *("e2e/test_forgotten", "papers/test_gallery", "e2e/test_explore_journey", "methods/test_laws", "e2e/test_team"),
    *("e2e/test_traces", "tables/test_rows", "sites/test_killed_processes", "tables/test_one_row", "e2e/test_browser"),
    *("app/test_pages", "methods/test_gradients", "methods/test_joint_refined", "app/test_role_links"),
    *("methods/test_labels_methods", "app/test_families", "e2e/test_hostile_names", "app/test_one_answer"),
    *("papers/test_papers", "app/test_release_page", "methods/test_linear", "mechanisms/test_minimizer"),
    *("app/test_hostile_names", "app/test_explore_page", "app/test_walk", "tables/test_cluster", "test_packaging"),
)
_LONGEST_ID = 100  # most characters of one value in the id of a test


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--seeds", type=int, default=1, help="repeat seeded tests with this many seeds")
    parser.addoption("--slow", action="store_true", help="run slow tests too, as CI does")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Put the longest files first; leave out slow tests, except in CI or where they are asked for."""
    order = {f"tests/{name}.py": at for at, name in enumerate(_LONGEST_FILES)}
    items.sort(key=lambda item: order.get(item.nodeid.partition("::")[0], len(order)))
    if config.getoption("--slow") or config.option.markexpr or os.environ.get("CI", "").lower() in ("1", "true"):
        return
    slow = [item for item in items if item.get_closest_marker("slow")]
    if slow:
        config.hook.pytest_deselected(items=slow)
        items[:] = [item for item in items if not item.get_closest_marker("slow")]


def pytest_make_parametrize_id(val: object) -> str | None:
    """Return a readable id where pytest has only the argument's name and a number; None elsewhere."""
    named = val is None or isinstance(val, bool | int | float | complex | enum.Enum | re.Pattern)
    if named or hasattr(val, "__name__") or (isinstance(val, str | bytes) and len(val) <= _LONGEST_ID):
        return None
    return _shortened(_readable(val))


def _readable(value: object) -> str:
    """Return a readable text of a value without memory addresses: its entries, a file name, the class of an error."""
    if isinstance(value, bytes):
        return value.decode("ascii", "backslashreplace")
    if isinstance(value, Mapping):
        return ",".join(f"{_readable(key)}={_readable(entry)}" for key, entry in value.items()) or "none"
    if isinstance(value, list | tuple | set | frozenset):
        return ",".join(map(_readable, value)) or "none"
    if isinstance(value, Path):
        return value.name
    if isinstance(value, BaseException):
        return type(value).__name__
    text = getattr(value, "__name__", None) or str(value)
    return type(value).__name__ if " at 0x" in text else text


def _shortened(text: str) -> str:
    """Return a text in one line; of a long one, its beginning and end."""
    ends = text if len(text) <= _LONGEST_ID else f"{text[: _LONGEST_ID // 2]}...{text[-_LONGEST_ID // 3 :]}"
    return ends.encode("unicode_escape").decode("ascii")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "seed" in metafunc.fixturenames:
        metafunc.parametrize("seed", range(20261121, 20261121 + metafunc.config.getoption("--seeds")))


@pytest.fixture
def real_tables() -> None:
    """Skip, with the reason, where the real tables are not on this machine."""
    if not named.entry("white-wine").available or not named.entry("power-plant").available:
        pytest.skip("real tables are absent: set PMT_DATA_DIR, or put them into ../shared/data")


@pytest.fixture(autouse=True, scope="session")
def own_ledger(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Let tests write to a ledger of their own."""
    home = tmp_path_factory.mktemp("ledger")
    os.environ |= {"PMT_LEDGER": str(home / "ledger.db"), "XDG_DATA_HOME": str(home)}


@pytest.fixture(autouse=True)
def empty_ledger() -> None:
    """Remove the ledger, its notes and caches of earlier tests."""
    home = Path(os.environ["XDG_DATA_HOME"])
    for path in [*home.glob("ledger.db*"), *home.glob("second-moment/*")]:
        path.unlink(missing_ok=True)
    database._VERIFIED.clear()
    release._ADMITTED.clear()


@pytest.fixture(scope="session")
def postgres(tmp_path_factory):
    """Yield a PostgreSQL server of the tests' own; skipped, with the reason, where there is none."""
    binary = shutil.which("pg_ctl") or next(map(str, Path("/usr/lib/postgresql").glob("*/bin/pg_ctl")), None)
    if binary is None:
        pytest.skip("no PostgreSQL server on this machine (apt-get install postgresql)")
    home = Path(tempfile.mkdtemp(prefix="pmt-pg-", dir="/tmp"))  # the path of a socket must be short
    user = {}
    if os.geteuid() == 0:  # the server refuses to run as root
        try:
            nobody = pwd.getpwnam("postgres")
        except KeyError:
            nobody = pwd.getpwnam("nobody")
        os.chown(home, nobody.pw_uid, nobody.pw_gid)
        user = {"user": nobody.pw_uid, "group": nobody.pw_gid}
    data = home / "data"

    def run(*arguments):
        done = subprocess.run([*arguments], cwd=home, capture_output=True, text=True, timeout=600, **user)
        if done.returncode:
            shutil.rmtree(home, ignore_errors=True)
            pytest.skip(f"PostgreSQL does not start here: {done.stderr.strip()[-200:]}")

    run(binary, "init", "-D", str(data), "-o", "-U pmt -A trust")
    log = str(home / "log")
    run(
        binary,
        "start",
        "-w",
        "-D",
        str(data),
        "-l",
        log,
        "-o",
        f"-k {home} -c listen_addresses='' -c max_connections=150",
    )
    yield f"postgresql://pmt@/postgres?host={home}"
    run(binary, "stop", "-m", "immediate", "-D", str(data))
    shutil.rmtree(home, ignore_errors=True)
