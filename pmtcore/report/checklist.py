"""What a reader of a guarantee should ask, answered for one release; after NIST SP 800-226 (2025), which names these.

Each answer is taken from the record or is true of every release that this package makes; what the package cannot know
is said to be the reader's to fill in.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pmtcore.accounting.budgets import Neighbours, of_person, only_responses, person_note
from pmtcore.base.numbers import figure, power_of_ten
from pmtcore.methods.registry import method


def checklist(record: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return questions with their answers, in order."""
    entry, promise = method(record["method"]), record["guarantee"]
    person, note = of_person(promise), person_note(promise)
    relation, responses = Neighbours(promise["neighbours"]), only_responses(promise)
    local = "Local: each row is randomized on its owner's device; the collector is not trusted."
    central = "Central: one curator holds the rows in the clear and is trusted; readers of the result are not."
    exact = record["public"].get("noise") == "exact"
    return [
        (
            "Unit of protection",
            f"{responses} {_unit(promise.get('rows_per_person', 1))}".strip(),
        ),
        ("Neighbouring relation", f"{relation.value}: {relation.words}."),
        ("Trust model", local if entry.local else central),
        (
            "Strength",
            f"mu = {figure(person['mu'], 4)}, epsilon = {figure(person['epsilon'], 4)} at delta = "
            f"{power_of_ten(person['delta'])}{f' ({note})' if note else ''}.",
        ),
        (
            "Mechanism",
            f"{entry.title} ({entry.id}): {entry.claim.reason}. Its proof is in the documentation of this program, "
            "under Proofs.",
        ),
        (
            "Randomness and floating point",
            "Exact discrete noise on an integer grid from the system's entropy."
            if exact and record["seed"] is None
            else "The noise came from a seed that can be repeated: no protection against who knows it."
            if record["seed"] is not None
            else "Noise from the system's entropy, in floating point: an attack on its last bits is not excluded.",
        ),
        (
            "Composition",
            "All releases from one data set are added up in the ledger, of which this report holds an extract."
            if "ledger" in record
            else "This release is in no ledger: what else was released from these rows is not known here.",
        ),
        (
            "Unprotected quantities",
            ("Every column of the private rows but the target; " if responses else "")
            + "The number of private rows; the names of the columns; the categories and everything else taken from the "
            "public rows; the choices of method, budget and parameters, if no private row was looked at for them.",
        ),
        (
            "Side channels",
            "Time, memory and the files of the machine that computes are not protected. Whether a release fails does "
            "not depend on any one private row, unless the policy 'refuse' was chosen.",
        ),
        (
            "Not covered",
            "What the public rows say about the people in them; what is true of people in general and so of everyone; "
            "access to the private rows by other ways.",
        ),
        ("Utility", _utility(record)),
        ("Data handling", "Who may see the private rows, for how long they are kept, who was asked: yours to fill in."),
    ]


def _unit(rows: int) -> str:
    if rows > 1:
        return (
            f"One person with at most {rows:,} rows of the private table: the guarantee in words is for all of them. "
            "That nobody has more is the curator's to see to, where the table was not cut to it."
        )
    return (
        "One row of the private table. Somebody who has several rows there is protected less: with k rows as by a "
        "guarantee of k times this mu. That nobody has more than one row is yours to check."
    )


def _utility(record: Mapping[str, Any]) -> str:
    if not record["bands"]:
        return "This method gives no error bands."
    return "The bands hold the noise, the sampling and, where it is predicted, the truncation, at 95 %."
