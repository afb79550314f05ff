"""``second-moment``: the command line; ``second-moment app`` opens the application on its demo.

The application is a folder of its own, in the source tree beside this package and in an installation under
``second_moment_app``; this package never imports it.
"""

import argparse
import importlib.util
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from pmtcore.base.messages import CommandMessage, InputError, reraised_as, whole_number_between
from pmtcore.base.paths import application_folder
from pmtcore.cli.arguments import Answer
from pmtcore.cli.parser import parser

_PATHS = ("PMT_LEDGER", "PMT_DATA_DIR")  # may be relative to the user's working directory


def main(arguments: Sequence[str] | None = None) -> int:
    """Run; returns the exit status."""
    from pmtcore.cli.main import main as command_line  # noqa: PLC0415  # which runs this module's commands

    return command_line(arguments)


def run(chosen: argparse.Namespace) -> Answer:
    """Run the application until it is stopped, at a port and an address if they are named."""
    port = None if chosen.port is None else whole_number_between("port", chosen.port, 1, 65_535)
    where = {"port": port, "address": chosen.address}
    status = _open([f"--server.{name}={value}" for name, value in where.items() if value is not None])
    if status:
        raise InputError(CommandMessage.APPLICATION_ENDED, status=status)
    return {"status": status}, "The application was stopped."


def completion(chosen: argparse.Namespace) -> Answer:
    """Print the code by which a shell completes the commands: ``eval "$(second-moment completion bash)"``."""
    with reraised_as(InputError(CommandMessage.NO_COMPLETION), ImportError):
        import shtab  # noqa: PLC0415  # an extra
    made = parser()
    made.prog = "second-moment"
    text = shtab.complete(made, shell=chosen.shell)
    return {"shell": chosen.shell, "script": text}, text


def _open(options: Sequence[str]) -> int:
    """Run the application with options of its server until it is stopped."""
    folder = application_folder()
    if folder is None or importlib.util.find_spec("streamlit") is None:
        raise InputError(CommandMessage.NO_APPLICATION)
    here = {name: os.environ[name] for name in _PATHS if os.environ.get(name)}
    settings = {name: value if "://" in value else str(Path(value).absolute()) for name, value in here.items()}
    command = [sys.executable, "-m", "streamlit", "run", str(folder / "app.py"), *options]
    return subprocess.run(command, cwd=folder, env=os.environ | settings, check=False).returncode  # noqa: S603
