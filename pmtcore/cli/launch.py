"""``second-moment``: without a command the application on its demo, with one the command line.

The application is a folder of its own, in the source tree beside this package and in an installation under
``second_moment_app``; this package never imports it.
"""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from pmtcore.base.checks import InputError
from pmtcore.base.paths import application
from pmtcore.cli.main import main as command_line

_PATHS = ("PMT_LEDGER", "PMT_DATA_DIR")  # may be relative to where the user stands


def main(arguments: Sequence[str] | None = None) -> int:
    """Run; returns the exit status."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    if given:
        return command_line(given)
    try:
        return _open()
    except InputError as error:
        print(f"second-moment: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 0


def _open() -> int:
    """The application, until it is stopped."""
    folder = application()
    if folder is None or importlib.util.find_spec("streamlit") is None:
        raise InputError(
            "The application needs the extra 'app': pip install 'second-moment[app]'; the command line works without "
            "it, see 'second-moment --help'."
        )
    here = {name: os.environ[name] for name in _PATHS if os.environ.get(name)}
    settings = {name: value if "://" in value else str(Path(value).absolute()) for name, value in here.items()}
    command = [sys.executable, "-m", "streamlit", "run", str(folder / "app.py")]
    return subprocess.run(command, cwd=folder, env=os.environ | settings, check=False).returncode  # noqa: S603
