"""The release command: a request, its spend in a ledger, its progress, the record in print."""

import argparse
import json
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

from pmtcore.accounting.budgets import Unit
from pmtcore.api.loading import in_words
from pmtcore.base.messages import CommandMessage, InputError, SpendMessage
from pmtcore.base.release_record import ReleaseRecord
from pmtcore.cli.arguments import Answer, budget_from, current_user, print_note, problem_from, settings_from
from pmtcore.cli.files import STANDARD_INPUT, read_small, write_small
from pmtcore.ledger.account import counted_mu
from pmtcore.ledger.log import Ledger, default_url
from pmtcore.mechanisms.noise import NoiseSource, SecureNoise, SeededNoise
from pmtcore.methods.registry import recommended_method
from pmtcore.releases.outcome import SpendPlace, account_after, after_spend, before_spend
from pmtcore.releases.progress import Progress, Report
from pmtcore.releases.release import (
    Request,
    planned_guarantee,
    progress_of,
    recorded_release,
    release,
    request_from_json,
)
from pmtcore.tables.named import is_demo
from pmtcore.tables.problem import Problem
from pmtcore.tables.streams import without_keys

_LEDGER_FILES_NOTE = (
    "Beside it lie two small files, .key and .head: copy all three together, and keep .key from others. Without them "
    "nobody can tell whether the ledger was changed."
)
_DELAY = 1.0  # seconds before progress is reported
_INTERVAL = 0.5  # seconds between two reports, on a terminal; ten times as long elsewhere


def run(chosen: argparse.Namespace) -> Answer:
    """Make one release, in the ledger named or the user's own; outside any for the lab, or where it costs nothing.

    The demo table is synthetic: without a data set's name its release is recorded in no ledger.
    """
    saved = request_from_json(read_small(chosen.config)) if chosen.config else None
    source = SecureNoise() if chosen.seed is None else SeededNoise(chosen.seed)
    _check_where(chosen)
    before = 1 if saved is None else saved.rows_per_person
    rows = before if chosen.rows_per_person is None else chosen.rows_per_person
    unit = Unit(rows, chosen.person or "", chosen.person_rule)
    problem = problem_from(chosen, unit if unit.column else None)
    request = _request(chosen, saved, problem, rows)
    if chosen.save_config:
        write_small(chosen.save_config, json.dumps(request.as_dict(), indent=2) + "\n")
    if chosen.ask:
        return _ask(chosen, problem, request, **_named(chosen))
    demo = chosen.dataset is None and problem.table is not None and is_demo(problem.table)
    lab = chosen.lab or demo or (chosen.seed is not None and chosen.ledger is None)
    if lab or (chosen.ledger is None and planned_guarantee(problem, request).mu == 0):
        with progress_reporter(chosen.progress or chosen.verbose, problem, request) as progress:
            progress.spend()  # of nothing
            record = release(problem, request, source, progress).as_dict()
        return record, in_words(record)
    return _recorded(chosen, problem, request, source, **_named(chosen))


def _check_where(chosen: argparse.Namespace) -> None:
    """Refuse a call that names a spend and asks for none, or a ledger without a data set in it.

    Raises:
        InputError: the call does so.
    """
    if chosen.ask and chosen.seed is not None:
        raise InputError(CommandMessage.ASK_HAS_NO_SEED)
    if chosen.lab or (chosen.seed is not None and chosen.ledger is None):
        for name in ("ledger", "dataset", "key", "purpose", "ask"):
            if getattr(chosen, name):
                raise InputError(CommandMessage.LAB_HAS_NO_LEDGER, option=f"--{name}")
    if chosen.ledger is not None and chosen.dataset is None:
        raise InputError(CommandMessage.LEDGER_NEEDS_DATASET)


def _ask(chosen: argparse.Namespace, problem: Problem, request: Request, *, dataset: str, key: str) -> Answer:
    """Say what was requested, and how another person answers."""
    from pmtcore.releases.register import ask  # noqa: PLC0415

    ledger = Ledger(chosen.ledger or default_url())
    pending = ask(current_user(), problem, request, ledger, dataset=dataset, key=key, purpose=chosen.purpose)
    message = f"Asked for {pending.dataset!r} with key {key}, by {pending.by}: nothing is spent."
    spends = f"the same release with --key {key} then spends."
    return pending.as_dict(), f"{message} Another person answers with 'ledger agree --key {key}'; {spends}"


def _recorded(
    chosen: argparse.Namespace, problem: Problem, request: Request, source: NoiseSource, *, dataset: str, key: str
) -> Answer:
    """Release, and say where the spend and the record are stored."""
    begun = not _is_there(chosen.ledger or default_url())
    cost = planned_guarantee(problem, request)
    with before_spend():
        ledger = Ledger(chosen.ledger or default_url())
        if chosen.ledger is None:
            ledger.first_cap(dataset, counted_mu(cost.person.mu, cost.neighbours.value))
    with progress_reporter(chosen.progress or chosen.verbose, problem, request) as progress:
        recorded = recorded_release(
            problem,
            request,
            source,
            ledger,
            dataset=dataset,
            key=key,
            purpose=chosen.purpose,
            by=current_user().name,
            progress=progress,
        )
        with after_spend(SpendPlace(ledger, recorded.dataset, key, cost.person.mu)):
            if begun:
                print_note(chosen, f"A ledger is begun: {ledger.place}. {_LEDGER_FILES_NOTE}")
            if recorded.other_rows:
                print_note(chosen, SpendMessage.OTHER_ROWS.sentence(dataset=recorded.dataset))
            account = account_after(ledger, recorded.dataset)
            place = {"place": ledger.place, "dataset": recorded.dataset, "key": key}
            total = {} if account is None else {"spent": account.spent, "cap": account.cap}
            record: ReleaseRecord = {
                **recorded.as_dict(),
                "ledger_key": key,
                "ledger": {**recorded.record.get("ledger", {}), **place, **total},
            }
            return record, in_words(record) + "\n\n" + _where_recorded(record["ledger"])


def _where_recorded(place: Mapping[str, Any]) -> str:
    """Return where a spend is recorded, and the total of its account, where the ledger can be read."""
    total = f"mu {place['spent']:.4g} of {place['cap']:.4g} is spent. " if place.get("cap") is not None else ""
    return (
        f"Recorded in the ledger {place['place']} as {place['dataset']!r} with key {place['key']}: {total}"
        f"Head: {place.get('head', '')}"
    )


def _request(chosen: argparse.Namespace, saved: Request | None, problem: Problem, rows: int) -> Request:
    """Return the request: as saved, changed by the command line; the recommended method where none is named."""
    named = chosen.method or (None if saved is None else saved.method)
    given = any(value is not None for value in (chosen.mu, chosen.rho, chosen.epsilon))
    budget = budget_from(chosen) if given or saved is None else saved.budget
    request = Request.from_dict(
        {
            "method": named or recommended_method(problem.public).id,
            "mu": budget.mu,
            "parameters": {**({} if saved is None else saved.parameters), **settings_from(chosen.set)},
            "delta": chosen.delta if chosen.delta is not None or saved is None else saved.delta,
            "rows_per_person": rows,
        }
    )
    if named is None:
        print_note(
            chosen, f"method {request.method}: the recommended one for these tables; 'plan' compares it with others."
        )
    return request


def _named(chosen: argparse.Namespace) -> dict[str, str]:
    """Return the data set and the key of a spend: those given, or the private table's name and a key drawn anew."""
    return {"dataset": chosen.dataset or _data_set(chosen.private), "key": chosen.key or uuid4().hex}


def _data_set(place: str) -> str:
    """Return the name of the private table in the ledger, where none was given."""
    return "standard input" if place == STANDARD_INPUT else Path(without_keys(place)).name


def _is_there(url: str) -> bool:
    """Return True where a ledger in a file exists already; one in a database counts as there."""
    path = url.removeprefix("sqlite:///")
    return "://" in path or Path(path).exists()


@contextmanager
def progress_reporter(always: bool, problem: Problem, request: Request) -> Iterator[Progress]:
    """Report progress on standard error, where that is a terminal or it was asked for.

    Raises:
        KeyboardInterrupt: with a sentence on what is spent.
    """
    terminal = sys.stderr.isatty()
    start = last = time.monotonic()
    said = False

    def tell(report: Report) -> None:
        nonlocal last, said
        now = time.monotonic()
        if not (terminal or always) or now - start < _DELAY or now - last < (_INTERVAL if terminal else 10 * _INTERVAL):
            return
        last, said = now, True
        sys.stderr.write(f"\r\x1b[K{report.words}" if terminal else f"{report.words}\n")
        sys.stderr.flush()

    progress = progress_of(problem, request, tell)
    try:
        yield progress
    except KeyboardInterrupt as stop:
        unspent = f"{SpendMessage.STOPPED.sentence()} {SpendMessage.NOTHING.sentence()}"
        raise KeyboardInterrupt(str(stop) or unspent) from None
    finally:
        if said and terminal:
            sys.stderr.write("\r\x1b[K")
