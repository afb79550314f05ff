"""Curators' actions on data sets, and releases that a second person agrees to; the ledger records who acted and why.

A registered data set consists of the places of its private and its public table, the unit of protection, a declared
schema, and whether a second person has to agree to releases. Analysts choose it by name and never upload.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, final

from pmtcore.accounting.budgets import Budget, Unit
from pmtcore.base.messages import InputError, ReleaseMessage, number_between
from pmtcore.base.roles import Action, Actor
from pmtcore.ledger.account import CAP_RANGE, Account
from pmtcore.ledger.agreements import PendingRequest
from pmtcore.ledger.log import Ledger
from pmtcore.mechanisms.noise import NoiseSource
from pmtcore.releases.release import Recorded, Request, admit, recorded_release, spend_of, tables_digest
from pmtcore.tables.choices import Choices
from pmtcore.tables.fingerprint import hash_cells
from pmtcore.tables.named import NamedTable
from pmtcore.tables.problem import Problem, PublicSide, default_choices, prepare
from pmtcore.tables.schema import Schema
from pmtcore.tables.table import MomentTable, Table, read_path


@dataclass(frozen=True)
class Registered:
    """A registered data set with its tables opened."""

    name: str
    private: Table
    public: Table
    unit: Unit
    second: bool
    schema: Schema

    @property
    def first(self) -> Choices:
        """Return the default choices of target and features, with the curator's unit.

        Raises:
            InputError: the tables have no numeric column in common.
        """
        return self.with_registered_person(default_choices(self.private, self.public))

    def with_registered_person(self, choices: Choices) -> Choices:
        """Return choices with the curator's identifier column in place of any other.

        Raises:
            InputError: a policy is ``refuse``; a refusal would reveal private rows before a spend is recorded.
        """
        if "refuse" in (choices.missing, choices.unseen):
            raise InputError(ReleaseMessage.REGISTERED_REFUSES_NO_ROW)
        return choices.of_person(self.unit) if self.unit.column else choices

    def problem(self, choices: Choices) -> Problem:
        """Return the problem of these choices, under the curator's unit and schema.

        Raises:
            InputError: the tables do not fit the choices.
        """
        return prepare(self.private, self.public, self.with_registered_person(choices), schema=self.schema)


def register(
    actor: Actor,
    ledger: Ledger,
    name: str,
    private: str,
    *,
    public: str,
    cap: float,
    unit: Unit | None = None,
    second: bool = False,
    schema: Mapping[str, Any] | None = None,
) -> None:
    """Register a table with its public companion and a cap; its fingerprint goes into the ledger.

    Args:
        actor: who registers; a curator.
        ledger: that keeps caps and fingerprints.
        name: of the data set.
        private: place of the private table.
        public: place of the public table.
        cap: largest total mu.
        unit: what people are protected by; ``None``: one row each.
        second: whether a second person has to agree to each release.
        schema: declared, see :meth:`Schema.from_dict`; ``None``: what the public table suggests, kept from now on.

    Raises:
        Forbidden: the actor is no curator; InputError: the tables cannot be read or do not fit, or the ledger refuses.
    """
    actor.require(Action.REGISTER)
    number_between("cap", cap, *CAP_RANGE)
    unit = unit or Unit()
    shown = read_path(public, "public")
    declared = shown.schema if schema is None else Schema.from_dict(schema)
    entry = Registered(name, read_path(private, "private"), shown, unit, second, declared)
    entry.problem(entry.first)
    key, most_rows = ledger.fingerprint_key, ledger.most_rows_hashed
    ledger.enter_table(name, hash_cells(entry.private, key, declared.dialect, most_rows=most_rows))
    fields = {"private": str(private), "public": str(public), "unit": unit.as_dict(), "second": second}
    ledger.note(name, "register", {**fields, "schema": declared.as_dict()}, by=actor.name, role=actor.role_name)
    ledger.cap(name, cap, by=actor.name, role=actor.role_name)


def registered_names(actor: Actor, ledger: Ledger) -> list[str]:
    """Return the names of the data sets that an actor may choose from."""
    return sorted(ledger.registered()) if actor.may(Action.USE_REGISTERED) else []


def open_registered(actor: Actor, ledger: Ledger, name: str) -> Registered:
    """Open a registered data set.

    Raises:
        Forbidden: the actor may not; InputError: no such data set, or a file is gone.
    """
    actor.require(Action.USE_REGISTERED)
    entry = ledger.registered().get(name.strip())
    if entry is None:
        raise InputError(ReleaseMessage.NOT_REGISTERED, dataset=name)
    private, public = read_path(entry["private"], "private"), read_path(entry["public"], "public")
    schema = public.schema if entry["schema"] is None else Schema.from_dict(entry["schema"])
    return Registered(name, private, public, Unit.from_dict(entry["unit"]), entry["second"], schema)


def cap(actor: Actor, ledger: Ledger, name: str, mu: float, *, reason: str = "") -> Account:
    """Set or raise a cap.

    Raises:
        Forbidden: the actor is no curator; InputError: out of range.
    """
    actor.require(Action.CAP)
    return ledger.cap(name, mu, reason, by=actor.name, role=actor.role_name)


def part(actor: Actor, ledger: Ledger, name: str, other: str, *, reason: str) -> None:
    """Let two overlapping data sets spend from separate accounts, for a stated reason.

    Raises:
        Forbidden: the actor is no curator; InputError: no reason.
    """
    actor.require(Action.PART)
    ledger.part(name, other, reason, by=actor.name, role=actor.role_name)


def retire(actor: Actor, ledger: Ledger, name: str, reason: str) -> None:
    """End a data set, for a stated reason.

    Raises:
        Forbidden: the actor is no curator; InputError: no reason.
    """
    actor.require(Action.RETIRE)
    ledger.retire(name, reason, by=actor.name, role=actor.role_name)


def ask(
    actor: Actor, problem: Problem, request: Request, ledger: Ledger, *, dataset: str, key: str, purpose: str = ""
) -> PendingRequest:
    """Ask for a release that a second person has to agree to; nothing is spent.

    The request stores a keyed digest of both tables: an agreed release is made from exactly these rows or refused.

    Raises:
        Forbidden: the actor may not release; InputError: the cap would be passed, or as :func:`preview`.
    """
    actor.require(Action.RELEASE)
    admit(problem, ledger, dataset)
    tables = tables_digest(problem, ledger)
    return ledger.agreements.ask(dataset, key, spend_of(problem, request, purpose, actor.name, tables=tables))


def answer(actor: Actor, ledger: Ledger, key: str, agrees: bool, *, reason: str = "") -> PendingRequest:
    """Agree to another person's request, or decline it with a reason.

    Raises:
        Forbidden: the actor is no curator; InputError: the request is the actor's own, or is answered already.
    """
    actor.require(Action.AGREE)
    return ledger.agreements.answer(key, agrees, actor.name, reason, role=actor.role_name)


def pending_requests(actor: Actor, ledger: Ledger) -> list[PendingRequest]:
    """Return all requests for agreement, newest first.

    Raises:
        Forbidden: the actor may not read the ledger.
    """
    actor.require(Action.READ_LEDGER)
    return ledger.agreements.all()


def carry_out(actor: Actor, ledger: Ledger, key: str, source: NoiseSource) -> Recorded:
    """Make exactly the release that was requested and agreed to, from the registered data set; once.

    Raises:
        Forbidden: the actor may not release; InputError: it is not agreed to, or its data set is not registered.
    """
    actor.require(Action.RELEASE)
    pending = ledger.agreements.one(key)
    if pending.state == "declined":
        raise InputError(ReleaseMessage.DECLINED, reason=pending.reason)
    fields = pending.fields
    problem = open_registered(actor, ledger, pending.dataset).problem(Choices.from_dict(fields.get("choices", {})))
    request = request_of(pending)
    return recorded_release(
        problem, request, source, ledger, dataset=pending.dataset, key=key, purpose=fields["purpose"], by=actor.name
    )


def request_of(pending: PendingRequest) -> Request:
    """Return the request exactly as it was asked for."""
    stated = pending.fields["request"]
    rows = stated.get("rows_per_person", 1)
    return Request(stated["method"], Budget(stated["mu"]), stated["parameters"], stated["delta"], rows)


@final
@dataclass(slots=True)
class Tables:
    """The two tables as read, before columns are chosen. ``key`` changes whenever a table does."""

    key: str
    title: str
    private: Table
    public: Table | MomentTable
    lab_reasons: tuple[str, ...] = ()
    public_rows: int | None = None  # rows behind a moment matrix
    named: NamedTable | None = None  # the entry of a table that was opened by name
    schema: Schema | None = None  # a declared schema, in place of the one inferred from the public table
    source: Registered | None = None  # where a curator registered them
    repaired: tuple[str, tuple[str, ...] | None] | None = None  # an automatic repair: its sentence, features after it

    @property
    def registered(self) -> str:
        """Return the data set's name, where a curator registered it; else empty."""
        return "" if self.source is None else self.source.name

    @property
    def first(self) -> Choices:
        """Return the default choices of target and features.

        Raises:
            InputError: the tables have no numeric column in common.
        """
        if self.source is not None:
            return self.source.first
        return default_choices(self.private, self.public) if self.named is None else self.named.choices

    def problem(self, choices: Choices, side: Callable[[], PublicSide] | None = None) -> Problem:
        """Return the problem of these choices.

        Args:
            choices: of the user.
            side: returns the public side of these tables and choices, as for
                :func:`pmtcore.tables.problem.prepare`; registered tables have their own.

        Raises:
            InputError: the tables do not fit the choices.
        """
        if self.source is not None:
            return self.source.problem(choices)
        rows, reasons, schema = self.public_rows, self.lab_reasons, self.schema
        tables = self.private, self.public, choices
        return prepare(*tables, lab_reasons=reasons, public_rows=rows, schema=schema, side=side)

    @property
    def may_be_studied(self) -> bool:
        """Return whether exact figures of these tables may be shown: they are synthetic, or public tables for study."""
        return bool(self.lab_reasons)
