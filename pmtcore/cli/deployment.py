"""``python -m pmtcore check --deploy``: the checks of settings that a server with sign-in makes when it starts."""

import argparse
import os
import tomllib
from pathlib import Path
from typing import Any

from pmtcore.base.deployment import deployment_problems
from pmtcore.base.messages import CommandMessage, InputError, reraised_as
from pmtcore.base.paths import application_folder
from pmtcore.cli.arguments import Answer
from pmtcore.cli.files import read_small


def run(chosen: argparse.Namespace) -> Answer:
    """Check the settings.

    Raises:
        InputError: the server would not start with them; each setting is named, and none of their values.
    """
    if not chosen.deploy:
        raise InputError(CommandMessage.NOTHING_TO_CHECK)
    folder = application_folder()
    own = None if folder is None else folder / ".streamlit" / "secrets.toml"
    place = chosen.secrets or own
    secrets = _toml(place) if chosen.secrets or (own is not None and own.exists()) else {}
    options = _options({} if folder is None else _toml(folder / ".streamlit" / "config.toml"))
    wrong = deployment_problems(secrets, os.environ, options)
    serious = [problem for problem in wrong if problem.serious]
    if serious:
        shown = " ".join(problem.sentence for problem in serious)
        raise InputError(CommandMessage.SETTINGS_WRONG, problems=shown, kinds=[problem.kind for problem in serious])
    words = [problem.sentence for problem in wrong] or ["Nothing is wrong." if secrets else "Nobody signs in here."]
    record = {"sign_in": bool(secrets), "problems": [{"kind": p.kind.value, "setting": p.setting} for p in wrong]}
    return record, "\n".join(words)


def _toml(path: str | Path | None) -> dict[str, Any]:
    with reraised_as(InputError(CommandMessage.NOT_TOML, place=str(path))):
        return tomllib.loads(read_small(str(path)).decode())


def _options(sections: dict[str, Any]) -> dict[str, Any]:
    """Return Streamlit's options by their names: ``section.name``."""
    return {f"{section}.{name}": value for section, names in sections.items() for name, value in names.items()}
