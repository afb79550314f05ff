"""The release command: a request, its spend in a ledger, the record in print."""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from uuid import uuid4

from pmtcore.accounting.units import Unit
from pmtcore.api.summary import text as in_words
from pmtcore.base.checks import InputError
from pmtcore.cli.arguments import budget_from, problem_from, settings_from, user
from pmtcore.cli.files import read_small, write_small
from pmtcore.cli.follow import following
from pmtcore.ledger.account import counted_mu
from pmtcore.methods.registry import method

Answer = tuple[Mapping[str, Any], str]  # the JSON object, the text


def arguments(parser: argparse.ArgumentParser) -> None:
    """What a release is asked for, beside its tables and its budget."""
    parser.add_argument("--method", metavar="ID", help="see 'methods'")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="a parameter of the method")
    parser.add_argument("--config", metavar="FILE", help="a request saved by the application or by --save-config")
    parser.add_argument("--save-config", metavar="FILE", help="write the request, to be used again")
    parser.add_argument(
        "--rows-per-person", type=int, metavar="K", help="how many rows one person may have (default 1)"
    )
    parser.add_argument("--person", metavar="COLUMN", help="who a row is of: at most K rows of each are used")
    parser.add_argument(
        "--person-rule", default="first", metavar="first|mean", help="which rows: K, or one, their mean"
    )
    parser.add_argument("--ask", action="store_true", help="ask a second person to agree; then release with the key")
    parser.add_argument("--seed", type=int, help="repeatable noise: the result is then a lab figure")
    parser.add_argument(
        "--ledger", metavar="URL", help="where the spend is kept, a file or a database URL (default: your own ledger)"
    )
    parser.add_argument("--lab", action="store_true", help="outside any ledger: the result is then a lab figure")
    parser.add_argument("--dataset", metavar="NAME", help="whose cap in the ledger it counts against")
    parser.add_argument("--purpose", default="", help="kept in the ledger")
    parser.add_argument("--key", metavar="KEY", help="repeating a key repeats the outcome and spends nothing")
    parser.add_argument("--progress", action="store_true", help="say how far it is, on standard error, if no terminal")
    parser.add_argument("--out", metavar="FILE", help="also write what is printed to this file")


def run(chosen: argparse.Namespace) -> Answer:
    """One release, in the ledger named or in the user's own; outside any for the lab, or where it costs nothing.

    The demo table is made up: without a data set's name it spends nothing that counts.
    """
    from pmtcore.mechanisms.noise import SecureNoise, SeededNoise  # noqa: PLC0415
    from pmtcore.releases.release import preview, release  # noqa: PLC0415
    from pmtcore.tables.demo import is_demo  # noqa: PLC0415

    request = _request(chosen)
    source = SecureNoise() if chosen.seed is None else SeededNoise(chosen.seed)
    if chosen.ledger is not None and chosen.dataset is None:
        raise InputError("--ledger needs --dataset NAME, whose cap the spend counts against.")
    unit = None if chosen.person is None else Unit(request.rows_per_person, chosen.person, chosen.person_rule)
    problem = problem_from(chosen, unit)
    if chosen.save_config:
        text = json.dumps(request.as_dict(), indent=2) + "\n"
        write_small(chosen.save_config, text)
    if chosen.ask:
        return _asked(chosen, problem, request)
    demo = chosen.dataset is None and problem.table is not None and is_demo(problem.table)
    lab = chosen.lab or demo or (chosen.seed is not None and chosen.ledger is None)
    if lab or (chosen.ledger is None and preview(problem, request).guarantee.mu == 0):
        with following(chosen.progress, problem, request) as progress:
            progress.spend()  # of nothing
            record = release(problem, request, source, progress).as_dict()
        return record, in_words(record)
    return _recorded(chosen, problem, request, source)


def _asked(chosen: argparse.Namespace, problem: Any, request: Any) -> Answer:
    """What was asked for, and how another person answers."""
    from pmtcore.ledger.log import Ledger, default_url  # noqa: PLC0415
    from pmtcore.releases.agreement import ask  # noqa: PLC0415

    book = Ledger(chosen.ledger or default_url())
    dataset, key = chosen.dataset or Path(chosen.private).name, chosen.key or uuid4().hex
    found = ask(user(), problem, request, book, dataset, key, chosen.purpose)
    text = f"Asked for {found.dataset!r} with key {key}, by {found.by}: nothing is spent. Another person answers with "
    return found.as_dict(), text + f"'ledger agree --key {key}'; the same release with --key {key} then spends."


def _recorded(chosen: argparse.Namespace, problem: Any, request: Any, source: Any) -> Answer:
    """The release with its spend, and where both are kept."""
    from pmtcore.ledger.log import Ledger, default_url  # noqa: PLC0415
    from pmtcore.releases.outcome import SpendPlace, account_after, after_spend, before_spend  # noqa: PLC0415
    from pmtcore.releases.release import preview, recorded_release  # noqa: PLC0415

    dataset, key = chosen.dataset or Path(chosen.private).name, chosen.key or uuid4().hex
    cost = preview(problem, request).guarantee
    with before_spend():
        book = Ledger(chosen.ledger or default_url())
        if chosen.ledger is None:
            book.first_cap(dataset, counted_mu(cost.person.mu, cost.neighbours.value))
    with following(chosen.progress, problem, request) as progress:
        found = recorded_release(problem, request, source, book, dataset, key, chosen.purpose, user().name, progress)
        with after_spend(SpendPlace(book, found.dataset, key, cost.person.mu)):
            account = account_after(book, found.dataset)
            place = {"place": book.place, "dataset": found.dataset, "key": key}
            total = {} if account is None else {"spent": account.spent, "cap": account.cap}
            record = {
                **found.as_dict(),
                "ledger_key": key,
                "ledger": {**found.record.get("ledger", {}), **place, **total},
            }
            return record, in_words(record) + "\n\n" + _where(record["ledger"])


def _where(place: Mapping[str, Any]) -> str:
    """Where a spend is recorded, and what it adds up to, where the ledger still says so."""
    total = f"mu {place['spent']:.4g} of {place['cap']:.4g} is spent. " if place.get("cap") is not None else ""
    return (
        f"Recorded in the ledger {place['place']} as {place['dataset']!r} with key {place['key']}: {total}"
        f"Head: {place.get('head', '')}"
    )


def _request(chosen: argparse.Namespace) -> Any:
    from pmtcore.releases.release import Request, request_from_json  # noqa: PLC0415

    if chosen.config:
        base = request_from_json(read_small(chosen.config))
    else:
        if chosen.method is None:
            raise InputError("A release needs --method ID (or --config FILE); see 'python -m pmtcore methods'.")
        base = Request(method(chosen.method).id, budget_from(chosen))
    given = any(value is not None for value in (chosen.mu, chosen.rho, chosen.epsilon))
    return Request.from_dict(
        {
            "method": chosen.method or base.method,
            "mu": (budget_from(chosen) if given else base.budget).mu,
            "parameters": {**base.parameters, **settings_from(chosen.set)},
            "delta": base.delta if chosen.delta is None else chosen.delta,
            "rows_per_person": base.rows_per_person if chosen.rows_per_person is None else chosen.rows_per_person,
        }
    )
