"""Registered data sets: a curator says once where a table and its public companion lie; analysts choose by name."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from pmtcore.base.checks import InputError, number_between
from pmtcore.base.roles import Action, Actor
from pmtcore.data.fingerprint import hashed
from pmtcore.data.tables import Table, read_path
from pmtcore.ledger.beside import data_folder
from pmtcore.ledger.log import Ledger


def place() -> Path:
    """``PMT_REGISTER``, or a file in the user's data folder."""
    return Path(os.environ.get("PMT_REGISTER") or data_folder() / "register.json")


def register(actor: Actor, ledger: Ledger, name: str, private: str, public: str, cap: float) -> None:
    """Register a table with its public companion and a cap; its fingerprint goes into the ledger.

    Raises:
        Forbidden: the actor is no curator; InputError: a table cannot be read, or the ledger refuses.
    """
    actor.require(Action.REGISTER)
    number_between("cap", cap, 1e-6, 1000.0)
    read_path(public, "public")
    ledger.admit(name, hashed(read_path(private, "private"), ledger.fingerprint_key))
    ledger.cap(name, cap)
    found = {**_all(), name.strip(): {"private": str(private), "public": str(public)}}
    file = place()
    file.parent.mkdir(parents=True, exist_ok=True)
    new = file.with_name(f"{file.name}.{os.getpid()}")
    new.write_text(json.dumps(found, indent=1), encoding="utf-8")
    new.replace(file)


def registered(actor: Actor) -> list[str]:
    """The names an actor may choose from."""
    return sorted(_all()) if actor.may(Action.USE_REGISTERED) else []


def opened(actor: Actor, name: str) -> tuple[Table, Table]:
    """The private table and its public companion.

    Raises:
        Forbidden: the actor may not; InputError: no such data set, or a file is gone.
    """
    actor.require(Action.USE_REGISTERED)
    entry = _all().get(name)
    if entry is None:
        raise InputError(f"There is no registered data set {name!r}; ask a curator to register it.")
    return read_path(entry["private"], "private"), read_path(entry["public"], "public")


def _all() -> dict[str, Any]:
    try:
        found = json.loads(place().read_bytes())
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, RecursionError):
        raise InputError("The register of data sets cannot be read; restore it from a copy.") from None
    return found if isinstance(found, dict) else {}
