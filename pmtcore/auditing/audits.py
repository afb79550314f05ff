"""Audits of all methods and faults in one run that advances in steps, can be stopped, and is stored with its date."""

from __future__ import annotations

import datetime
import json
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from pmtcore.auditing.faults import FAULTS
from pmtcore.auditing.lower_bound import Audit, audit
from pmtcore.base.paths import assets_folder, cache_directory, write_cached
from pmtcore.base.steps import Steps
from pmtcore.methods.registry import methods

# Enough to detect a fault of 30 % at a claim of 1, in under a second a method.
TRIALS = 10_000
# A budget at which the best attacker's power is neither near the false alarm rate nor near 1.
CLAIM = 1.0
_FILE = "audits.json"


@dataclass(frozen=True)
class AuditRecord:
    """Audits by method id, or by fault id, with the day they were computed."""

    computed: str
    audits: dict[str, Audit]

    def as_dict(self) -> dict[str, Any]:
        """Return plain fields."""
        return {"computed": self.computed, "audits": {id: vars(one) for id, one in self.audits.items()}}

    @classmethod
    def from_dict(cls, record: dict[str, Any]) -> AuditRecord:
        """Return the record of :meth:`as_dict`; entries of methods that no longer exist are left out."""
        known = {*(entry.id for entry in methods()), *FAULTS}
        wanted = [item.name for item in fields(Audit)]
        audits = {
            id: Audit(**{name: values[name] for name in wanted})
            for id, values in record["audits"].items()
            if id in known
        }
        return cls(str(record["computed"]), audits)


class Sweep(Steps):
    """Audits of every method, then of every planted fault, in steps."""

    def __init__(self) -> None:
        self.ids = [*(entry.id for entry in methods()), *FAULTS]
        self.audits: dict[str, Audit] = {}

    @property
    def share(self) -> float:
        """Return the share of the work that is done."""
        return len(self.audits) / len(self.ids)

    @property
    def next(self) -> str:
        """Return the id of the next audit."""
        return self.ids[len(self.audits)]

    def _advance(self) -> None:
        """Run one audit."""
        id = self.next
        self.audits[id] = FAULTS[id].run(CLAIM, TRIALS) if id in FAULTS else audit(id, CLAIM, TRIALS)

    def record(self) -> AuditRecord:
        """Return the results so far, with today's date."""
        return AuditRecord(datetime.datetime.now(datetime.UTC).date().isoformat(), dict(self.audits))


def store_record(record: AuditRecord, path: Path | None = None) -> None:
    """Store a record for later visits; nothing happens where the folder cannot be written."""
    write_cached(path or cache_directory() / _FILE, json.dumps(record.as_dict(), indent=1) + "\n")


def latest_record() -> AuditRecord | None:
    """Return the latest stored record: of this machine, else the one that comes with the project."""
    for path in (cache_directory() / _FILE, assets_folder() / _FILE):
        try:
            return AuditRecord.from_dict(json.loads(path.read_text(encoding="utf-8")))
        except (OSError, ValueError, KeyError, TypeError):
            continue
    return None
