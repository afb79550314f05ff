"""Execute the notebooks: every cell runs, or the command fails.

    python docs/notebooks/run.py            # in CI
    python docs/notebooks/run.py --write    # and keep the outputs, which the site shows

Each runs in an empty folder, with a ledger of its own, so that nothing is left behind and no budget of yours is spent.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
QUIET = ["--IPKernelApp.log_level=40"]  # a kernel on this machine alone may speak without encryption
MOST_BYTES = 100_000  # of a notebook with its outputs: small enough to be read in a change


def execute(path: Path, write: bool) -> str:
    """Run one; the reason it failed, or nothing."""
    notebook = nbformat.read(path, as_version=4)
    with tempfile.TemporaryDirectory() as folder:
        os.environ["PMT_LEDGER"] = str(Path(folder) / "own.db")
        place = {"metadata": {"path": folder}}
        client = NotebookClient(notebook, timeout=120, kernel_name="python3", resources=place, extra_arguments=QUIET)
        try:
            client.execute()
        except CellExecutionError as error:
            return str(error)
    for cell in notebook.cells:
        cell.metadata.clear()
        cell.pop("id", None)
    notebook.nbformat_minor = 4  # without random ids, so that a new run changes outputs only
    notebook.metadata = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}}
    text = nbformat.writes(notebook).replace(f"{folder}/", "")  # where it ran is nobody's business
    if len(text) > MOST_BYTES:
        return f"{len(text)} bytes with outputs, more than {MOST_BYTES}: print less"
    if write:
        path.write_text(text + "\n", encoding="utf-8")
    return ""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", action="store_true")
    parser.add_argument("names", nargs="*", help="default: all")
    chosen = parser.parse_args()
    os.environ["PYTHONPATH"] = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    failed = 0
    for path in [HERE / name for name in chosen.names] or sorted(HERE.glob("*.ipynb")):
        began = time.perf_counter()
        reason = execute(path, chosen.write)
        failed += bool(reason)
        print(f"{path.name}: {reason or f'{time.perf_counter() - began:.1f} s'}", flush=True)
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
