"""All audits in one run: in steps, stoppable, kept with its date, so that a later visit opens on it."""

from __future__ import annotations

import datetime
import json
from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, final

from pmtcore.auditing.faults import FAULTS
from pmtcore.auditing.lower_bound import Audit, audit
from pmtcore.base.paths import assets, cache_directory
from pmtcore.methods.registry import methods

TRIALS = 10_000  # see a fault of 30 % at a claim of 1, in under a second a method
CLAIM = 1.0  # where an attacker is neither blind nor certain
_FILE = "audits.json"


@final
@dataclass(frozen=True)
class Record:
    """Audits by method id, or by fault id, with the day they were computed."""

    computed: str
    found: dict[str, Audit]

    def as_dict(self) -> dict[str, Any]:
        """Plain fields."""
        return {"computed": self.computed, "audits": {id: vars(one) for id, one in self.found.items()}}

    @classmethod
    def from_dict(cls, record: dict[str, Any]) -> Record:
        """Back from :meth:`as_dict`; entries of methods that are gone are left out."""
        known = {*(entry.id for entry in methods()), *FAULTS}
        wanted = [item.name for item in fields(Audit)]
        found = {
            id: Audit(**{name: values[name] for name in wanted})
            for id, values in record["audits"].items()
            if id in known
        }
        return cls(str(record["computed"]), found)


def subjects() -> list[str]:
    """What is audited: every method, then every planted fault."""
    return [*(entry.id for entry in methods()), *FAULTS]


@final
class Sweep:
    """A run over methods and faults that advances in steps and keeps what it has."""

    def __init__(self, ids: Sequence[str] = (), trials: int = TRIALS) -> None:
        self.ids = list(ids) or subjects()
        self.trials = trials
        self.found: dict[str, Audit] = {}
        self.stopped = False

    @property
    def live(self) -> bool:
        """Whether work is left and nobody stopped it."""
        return not self.stopped and len(self.found) < len(self.ids)

    @property
    def share(self) -> float:
        """Share done."""
        return len(self.found) / len(self.ids)

    @property
    def next(self) -> str:
        """What comes next."""
        return self.ids[len(self.found)]

    def step(self) -> bool:
        """One audit; ``False`` when nothing is left or it was stopped."""
        if not self.live:
            return False
        id = self.next
        self.found[id] = FAULTS[id].run(CLAIM, self.trials) if id in FAULTS else audit(id, CLAIM, self.trials)
        return True

    def stop(self) -> None:
        """Leave it at what is done."""
        self.stopped = True

    def record(self) -> Record:
        """What is done, with today's date."""
        return Record(datetime.datetime.now(datetime.UTC).date().isoformat(), dict(self.found))


def store(record: Record, path: Path | None = None) -> None:
    """Keep a record for later visits; nothing happens where the folder cannot be written."""
    path = cache_directory() / _FILE if path is None else path
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(record.as_dict(), indent=1) + "\n", encoding="utf-8")
    except OSError:
        return


def stored() -> Record | None:
    """The latest record that is kept: of this machine, else the one that comes with the project."""
    for path in (cache_directory() / _FILE, assets() / _FILE):
        try:
            return Record.from_dict(json.loads(path.read_text(encoding="utf-8")))
        except (OSError, ValueError, KeyError, TypeError):
            continue
    return None
