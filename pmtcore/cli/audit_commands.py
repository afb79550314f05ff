"""Commands beside release and compare: plan, report, audit."""

from __future__ import annotations

import argparse
import math
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from pmtcore.accounting.budgets import ONLY_RESPONSES, Budget
from pmtcore.base.labels import Label
from pmtcore.base.messages import CommandMessage, InputError, LabReason, reraised_as
from pmtcore.base.numbers import rounded
from pmtcore.base.strict_json import parse_json
from pmtcore.cli.arguments import Answer, numbers_from, public_from, settings_from, table_of
from pmtcore.cli.files import read_small, write_small
from pmtcore.methods.registry import make_parameters, method, recommended_method

if TYPE_CHECKING:
    from pmtcore.methods.registry import Plan
    from pmtcore.public.moments import PublicData

_METHODS_COMPARED = 3  # methods: the recommended one, and two others to compare it with


def plan(chosen: argparse.Namespace) -> Answer:
    """Predict errors from public rows and a number of private rows."""
    from pmtcore.api.summary import table_lines  # noqa: PLC0415
    from pmtcore.releases import planning  # noqa: PLC0415

    public, notes = public_from(chosen)
    n = chosen.rows if chosen.private is None else table_of(chosen.private, "private").n
    entry = recommended_method(public) if chosen.method is None else method(chosen.method)
    first, parameters = entry.id, make_parameters(entry, settings_from(chosen.set))
    mus = numbers_from("--mu", chosen.mu)
    plans = planning.plan(public, n, mus, None if chosen.method is None else [first], parameters={first: parameters})
    order = planning.ranked_methods(plans, first)
    plans = sorted(plans, key=lambda planned: order.index(planned.method))
    rows = [row for planned in plans for row in planned.rows()]
    shown = order if chosen.all else order[:_METHODS_COMPARED]
    record: dict[str, Any] = {"label": Label.PUBLIC.value, "rows": rows, "n": n, "public_rows": public.m}
    record["recommended"] = first
    lines = table_lines(row for row in rows if row["method"] in shown)
    lines += [f"{id}: {ONLY_RESPONSES}" for id in shown if method(id).protects_responses_only]
    if len(shown) < len(order):
        lines.append(f"{len(order) - len(shown)} other methods with --all.")
    record["verdict"] = [planning.verdict(public, n, mu, first, parameters=parameters) for mu in mus]
    if chosen.width is not None:
        if chosen.coefficient is None:
            raise InputError(CommandMessage.WIDTH_NEEDS_COEFFICIENT)
        name, width = chosen.coefficient, chosen.width
        budget = planning.budget_for(public, n, first, name, half_width=width, parameters=parameters)
        enough = planning.rows_for(public, first, mus[0], name, half_width=width, parameters=parameters)
        record["budget_for_width"], record["rows_for_width"] = budget, enough
        lines.append(
            f"{chosen.coefficient} within {chosen.width:g} by {first}: "
            f"{'no budget is enough' if budget is None else f'mu = {rounded(budget)}'} with {n:,} rows, "
            f"{'no number of rows is enough' if enough is None else f'{enough:,} rows'} at mu = {mus[0]:g}."
        )
    if chosen.time:
        record["expected"], words = _time(public, n, entry.plan(public, n, Budget(mus[0]), parameters), first)
        lines.append(words)
    record["notes"] = list(notes)
    return record, "\n".join([*lines, *record["verdict"], *notes])


def _time(public: PublicData, n: int, plan: Plan, id: str) -> tuple[dict[str, Any], str]:
    """Measure the time and memory of a release on this machine, with synthetic rows."""
    from pmtcore.releases.duration import predict_duration  # noqa: PLC0415
    from pmtcore.releases.progress import in_time  # noqa: PLC0415

    duration = predict_duration(plan, public, n)
    words = (
        f"A release of {n:,} rows by {id} takes about {in_time(duration.seconds)} of computing here and "
        f"{math.ceil(duration.megabytes):,} MB beside the program; reading the table comes on top."
    )
    return {"method": id, **duration.as_dict()}, words


def report(chosen: argparse.Namespace) -> Answer:
    """Write the report of a release, from the ledger or from a saved record."""
    from pmtcore.ledger.log import Ledger  # noqa: PLC0415
    from pmtcore.report.html import report as render  # noqa: PLC0415

    if (chosen.ledger is None) == (chosen.release is None):
        raise InputError(CommandMessage.RELEASE_OR_LEDGER)
    account = head = None
    if chosen.ledger is not None:
        ledger = Ledger(chosen.ledger, make=False)
        entry = ledger.entry(chosen.key or "")
        if entry is None or entry.record is None:
            raise InputError(CommandMessage.NO_RELEASE_OF_KEY)
        record: Any = entry.record
        account, head = ledger.account(entry.dataset).as_dict(), ledger.verify()["head"]
    else:
        with reraised_as(InputError(CommandMessage.RELEASE_NOT_JSON)):
            record = parse_json(read_small(chosen.release))
        if not isinstance(record, dict):
            raise InputError(CommandMessage.NOT_A_RELEASE)
        record = _known(record, chosen.check)
    with reraised_as(InputError(CommandMessage.NOT_A_RELEASE)):
        text = render(record, account, head)
    write_small(chosen.html, text)
    return {"html": chosen.html}, f"report written to {chosen.html}"


def _known(record: dict[str, Any], ledger_url: str | None) -> dict[str, Any]:
    """Return the record of a file, marked as a lab figure unless a ledger at hand contains the identical record.

    A file can be forged; only a record that the ledger contains may leave.
    """
    from pmtcore.ledger.log import Ledger, default_url  # noqa: PLC0415

    if record.get("standing") != "sound":
        return record
    recorded, where = None, record.get("ledger")
    from pmtcore.ledger.chain import LedgerError  # noqa: PLC0415  # the ledger is slow to load

    with suppress(LedgerError):
        key = str(where.get("key", "")) if isinstance(where, dict) else ""
        entry = Ledger(ledger_url or default_url(), make=False).entry(key)
        recorded = None if entry is None else entry.record
    bare = {name: value for name, value in record.items() if name not in ("ledger", "ledger_key")}
    if recorded is not None and bare == {name: value for name, value in recorded.items() if name != "ledger"}:
        return record
    return {**record, "standing": "lab", "standing_reasons": [LabReason.NOT_IN_LEDGER.sentence()]}


def audit(chosen: argparse.Namespace) -> Answer:
    """Compute a lower bound on a method's privacy against its claim; ``all`` audits every method."""
    from pmtcore.auditing.lower_bound import People  # noqa: PLC0415
    from pmtcore.auditing.lower_bound import audit as run  # noqa: PLC0415
    from pmtcore.methods.registry import methods  # noqa: PLC0415

    count = chosen.rows_per_person
    people = None if count is None else People.of(count, chosen.person_rule)
    if chosen.id == "all":
        if people is not None:
            raise InputError(CommandMessage.PEOPLE_NEED_METHOD)
        audits = [run(entry.id, chosen.mu, chosen.trials, chosen.seed) for entry in methods()]
        lines = [f"{a.method:20} claimed {a.claimed:<6.3g} bound {a.lower_bound:<6.3g} {a.verdict}" for a in audits]
        return {"audits": [a.as_dict() for a in audits]}, "\n".join(lines)
    one = run(method(chosen.id).id, chosen.mu, chosen.trials, chosen.seed, people=people)
    text = (
        f"{one.method}: claimed mu = {one.claimed:g}, lower bound {one.lower_bound:.4g} at {one.confidence:.0%} "
        f"confidence, {one.trials} runs ({one.pair}).\n{one.verdict}"
    )
    return one.as_dict(), text
