"""Install the wheel into empty environments and run the README's example in each.

    PYTHONPATH=. python benchmarks/matrix.py            # Python 3.11 to 3.13, as far as installed, in every way
    PYTHONPATH=. python benchmarks/matrix.py --quick    # this Python, the newest dependencies and pandas 2.2: in CI
    PYTHONPATH=. python benchmarks/matrix.py --only oldest --tests tests/tables   # some tests too, in each environment

Needs uv (``pip install uv``). *Oldest* are the lowest versions that the bounds in pyproject.toml allow; *pandas 2.2* is
the newest of everything else with it. An environment has only the base dependencies, without Streamlit and Plotly.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PYTHONS = ("3.11", "3.12", "3.13")
WAYS = {"oldest": ["--resolution", "lowest-direct"], "pandas 2.2": ["pandas==2.2.*"], "newest": []}
SHOWN = ("numpy", "pandas", "scipy", "pyarrow", "narwhals", "sqlalchemy")
TOOLS = ("hypothesis", "mpmath", "polars", "pytest", "pytest-rerunfailures", "pytest-xdist", "scikit-learn")
ABSENT = "import importlib.util as u; assert not any(map(u.find_spec, ('streamlit', 'plotly', 'sklearn')))\n"


def run(*command: str, **settings: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*command], text=True, capture_output=True, **settings)


def pythons() -> dict[str, str]:
    """Return the interpreters of the wanted versions on this machine."""
    places = [shutil.which(f"python{version}") for version in PYTHONS]
    homes = sorted(Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")).glob("versions/3.*/bin/python"))
    interpreters: dict[str, str] = {}
    for place in [sys.executable, *filter(None, places), *map(str, homes)]:
        version = run(place, "-c", "import sys; print('%d.%d' % sys.version_info[:2])").stdout.strip()
        if version in PYTHONS:
            interpreters.setdefault(version, place)
    return dict(sorted(interpreters.items()))


def wheel(folder: Path) -> Path:
    """Return the wheel of this tree."""
    run(sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder), cwd=ROOT, check=True)
    return next(folder.glob("*.whl"))


def example() -> str:
    """Return the lines of the README's example."""
    text = (ROOT / "README.md").read_text()
    return re.search(r"<!-- example -->\n```python\n(.*?)```", text, re.DOTALL).group(1)


def uv(*arguments: str) -> str:
    done = run(shutil.which("uv") or str(Path(sys.executable).with_name("uv")), *arguments)
    if done.returncode:
        raise SystemExit(done.stderr)
    return done.stdout


def environment(home: Path, python: str, way: str, built: Path) -> tuple[str, dict[str, str]]:
    """Return an empty environment with the wheel, and the installed versions."""
    base = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    uv("venv", "-q", "--python", python, str(home))
    inside = str(home / "bin" / "python")
    uv("pip", "install", "-q", "--python", inside, *base, *WAYS[way])
    uv("pip", "install", "-q", "--python", inside, "--no-deps", str(built))
    names = {
        e["name"]: e["version"] for e in json.loads(uv("pip", "list", "-q", "--format", "json", "--python", inside))
    }
    return inside, {name: names[name] for name in SHOWN}


def tests(inside: str, versions: dict[str, str], chosen: list[str], folder: Path) -> str:
    """Return the last line of a run of some tests, with the tools they need beside the fixed versions."""
    pins = folder / "pins.txt"
    pins.write_text("".join(f"{name}=={version}\n" for name, version in versions.items()))
    uv("pip", "install", "-q", "--python", inside, "-c", str(pins), *TOOLS)
    command = [inside, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-o", "minversion=1", "-n", "2", *chosen]
    done = run(*command, cwd=ROOT, env=os.environ | {"PYTHONPATH": str(ROOT)})
    if done.returncode:
        print(done.stdout[-6000:])
    return done.stdout.strip().splitlines()[-1]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--only", choices=WAYS, help="one way of choosing versions")
    parser.add_argument("--tests", nargs="*", default=[])
    chosen = parser.parse_args()
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        built = wheel(Path(folder))
        cells = [(v, p, way) for v, p in pythons().items() for way in WAYS if chosen.only in (None, way)]
        if chosen.quick:
            here = ".".join(map(str, sys.version_info[:2]))
            cells = [(here, sys.executable, way) for way in ("pandas 2.2", "newest")]
        for version, python, way in cells:
            place = Path(folder) / f"{version} {way}".replace(" ", "-")
            place.mkdir()
            inside, versions = environment(place / "env", python, way, built)
            began = time.perf_counter()
            shutil.copytree(ROOT / "assets", place / "assets", ignore=shutil.ignore_patterns("gallery", "*.png"))
            done = run(inside, "-I", "-c", ABSENT + example(), cwd=place)
            words = f"{time.perf_counter() - began:.1f} s" if done.returncode == 0 else "FAILED\n" + done.stderr[-3000:]
            if done.returncode == 0 and chosen.tests:
                words += ", " + tests(inside, versions, chosen.tests, place)
            failed += done.returncode != 0 or " failed" in words or " error" in words
            print(f"Python {version}, {way}: {', '.join(f'{n} {v}' for n, v in versions.items())}: {words}", flush=True)
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
