"""What one installs: a light package with the application beside it."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from pmtcore.base import paths
from pmtcore.cli import launch

ROOT = Path(__file__).resolve().parents[1]
LIGHT = """
import sys

class Refuse:
    def find_spec(self, name, *_):
        if name.split(".")[0] in {"streamlit", "plotly", "sklearn", "formulaic", "polars", "dask", "psycopg"}:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Refuse())
from pmtcore.cli.main import main

for arguments in (
    ["methods"],
    ["convert", "--mu", "1", "--delta", "1e-6"],
    ["plan", "--public", "assets/demo-public.csv", "--rows", "2000", "--target", "y", "--mu", "1"],
):
    assert main(arguments) == 0
"""


def tracked(*folders: str) -> set[str]:
    """Files under version control, or on disk where there is no git."""
    collected = [path for folder in folders for path in (ROOT / folder).rglob("*") if path.is_file()]
    return {str(path.relative_to(ROOT)) for path in collected if "__pycache__" not in path.parts}


@pytest.mark.slow
def test_the_wheel_carries_package_and_application(tmp_path):
    """Every file of the package and of the app is in it, and the mark that it has types."""
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True, timeout=600)
    (wheel,) = tmp_path.glob("*.whl")
    names = set(zipfile.ZipFile(wheel).namelist())
    assert tracked("pmtcore") <= names and "pmtcore/py.typed" in names
    assert {
        f"second_moment_app/{name}" for name in {"app.py", *tracked("pages", "assets", ".streamlit", "docs/proofs")}
    } <= names
    entry = next(name for name in names if name.endswith("entry_points.txt"))
    assert "second-moment = pmtcore.cli.launch:main" in zipfile.ZipFile(wheel).read(entry).decode()


@pytest.mark.slow
def test_the_readmes_line_installs_the_wheel(tmp_path):
    """The line as printed, from building to what pip is asked for: its extra and all, in any shell."""
    line = re.search(r"<!-- wheel -->\n```sh\n(.*?)\n```", (ROOT / "README.md").read_text(), re.DOTALL).group(1)
    build, install = line.split(" && ")
    assert build == "pip wheel -q --no-deps ." and install.startswith("pip install ")
    made = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    subprocess.run(made, cwd=ROOT, check=True, capture_output=True, timeout=600)
    asked = install.replace("pip install", f"{sys.executable} -m pip install --dry-run --no-deps --no-index")
    for shell in filter(shutil.which, ("sh", "bash", "dash", "zsh")):
        done = subprocess.run([shell, "-c", asked], cwd=tmp_path, capture_output=True, text=True, timeout=600)
        assert done.returncode == 0, done.stderr
    assert "does not provide the extra" not in done.stderr


@pytest.mark.slow
def test_the_base_runs_without_the_extras():
    """Methods, conversion and planning need neither Streamlit nor Plotly nor any other extra."""
    subprocess.run([sys.executable, "-c", LIGHT], cwd=ROOT, check=True, capture_output=True, timeout=600)


def test_an_installed_application_is_found(tmp_path, monkeypatch):
    """Beside an installed package lies `second_moment_app`; without it there is no application."""
    monkeypatch.setattr(paths, "_PACKAGE", tmp_path / "pmtcore")
    assert paths.application_folder() is None
    (tmp_path / "second_moment_app" / "pages" / "elements").mkdir(parents=True)
    (tmp_path / "second_moment_app" / "app.py").touch()
    assert paths.application_folder() == tmp_path / "second_moment_app"


def test_second_moment_opens_the_application(monkeypatch, tmp_path):
    """``second-moment app`` starts Streamlit in the application's folder; relative places keep their meaning."""
    by_name = {}

    def run(command, **settings):
        by_name.update(settings, command=command)
        return subprocess.CompletedProcess(command, 0)

    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PMT_LEDGER", "my.db")
    monkeypatch.setattr(launch.subprocess, "run", run)
    assert launch.main(["app"]) == 0
    assert by_name["cwd"] == ROOT and by_name["command"][-1] == str(ROOT / "app.py")
    assert by_name["env"]["PMT_LEDGER"] == str(tmp_path / "my.db")


@pytest.mark.parametrize("missing", ["application", "streamlit"])
def test_without_the_extra_it_says_what_to_install(missing, monkeypatch, capsys):
    """One sentence and exit status 2."""
    if missing == "application":
        monkeypatch.setattr(launch, "application_folder", lambda: None)
    else:
        monkeypatch.setattr(launch.importlib.util, "find_spec", lambda name: None)
    assert launch.main(["app"]) == 2
    assert "second-moment[app]" in capsys.readouterr().err


def test_with_a_command_it_is_the_command_line(capsys):
    """The same subcommands as ``python -m pmtcore``."""
    assert launch.main(["convert", "--mu", "1"]) == 0
    assert "rho" in capsys.readouterr().out
