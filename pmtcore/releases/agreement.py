"""Releases that two people stand for: ask, answer, carry out. Roles are asked here, the rest is the ledger's."""

from __future__ import annotations

from pmtcore.accounting.budgets import Budget
from pmtcore.base.messages import InputError, ReleaseMessage
from pmtcore.base.roles import Action, Actor
from pmtcore.ledger.agreements import Asked
from pmtcore.ledger.log import Ledger
from pmtcore.mechanisms.noise import NoiseSource
from pmtcore.releases.register import opened
from pmtcore.releases.release import Recorded, Request, admit, recorded_release, spend_of, tables_digest
from pmtcore.tables.choices import Choices
from pmtcore.tables.problem import Problem


def ask(
    actor: Actor, problem: Problem, request: Request, ledger: Ledger, dataset: str, key: str, purpose: str = ""
) -> Asked:
    """Ask for a release that a second person has to agree to; nothing is spent.

    The request keeps a keyed digest of both tables: what is agreed to is released from those rows or not at all.

    Raises:
        Forbidden: the actor may not release; InputError: the cap would be passed, or as :func:`preview`.
    """
    actor.require(Action.RELEASE)
    admit(problem, ledger, dataset)
    tables = tables_digest(problem, ledger)
    return ledger.agreements.ask(dataset, key, spend_of(problem, request, purpose, actor.name, tables))


def answer(actor: Actor, ledger: Ledger, key: str, agrees: bool, reason: str = "") -> Asked:
    """Agree to what another person asked for, or decline it with a reason.

    Raises:
        Forbidden: the actor is no curator; InputError: it is their own, or was answered.
    """
    actor.require(Action.AGREE)
    return ledger.agreements.answer(key, agrees, actor.name, reason, actor.role_name)


def asked(actor: Actor, ledger: Ledger) -> list[Asked]:
    """Everything that was asked for, newest first.

    Raises:
        Forbidden: the actor may not read the ledger.
    """
    actor.require(Action.READ_LEDGER)
    return ledger.agreements.all()


def carry_out(actor: Actor, ledger: Ledger, key: str, source: NoiseSource) -> Recorded:
    """Release exactly what was asked for and agreed to, from the registered data set; once.

    Raises:
        Forbidden: the actor may not release; InputError: it is not agreed to, or its data set is not registered.
    """
    actor.require(Action.RELEASE)
    wanted = ledger.agreements.one(key)
    if wanted.state == "declined":
        raise InputError(ReleaseMessage.DECLINED, reason=wanted.reason)
    fields = wanted.fields
    problem = opened(actor, ledger, wanted.dataset).problem(Choices.from_dict(fields.get("choices", {})))
    request = asked_for(wanted)
    return recorded_release(problem, request, source, ledger, wanted.dataset, key, fields["purpose"], by=actor.name)


def asked_for(wanted: Asked) -> Request:
    """Return the request, letter by letter as it was asked for."""
    stated = wanted.fields["request"]
    rows = stated.get("rows_per_person", 1)
    return Request(stated["method"], Budget(stated["mu"]), stated["parameters"], stated["delta"], rows)
