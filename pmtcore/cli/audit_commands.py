"""Commands beside release and compare: plan, gallery, report, audit."""

from __future__ import annotations

import argparse
import math
import sys
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pmtcore.accounting.budgets import ONLY_RESPONSES
from pmtcore.base.labels import Label
from pmtcore.base.messages import CommandMessage, InputError, LabReason, reraised_as, whole_number_between
from pmtcore.base.numbers import figure
from pmtcore.base.strict_json import parsed
from pmtcore.cli.arguments import Answer, numbers_from, public_from, table_of
from pmtcore.cli.files import read_small, writable, write_small
from pmtcore.methods.registry import method, recommended

if TYPE_CHECKING:
    from pmtcore.papers.gallery.engine import Figure
    from pmtcore.public.moments import PublicData

_SHOWN = 3  # methods: the recommended one, and two others to compare it with


def plan(chosen: argparse.Namespace) -> Answer:
    """Predict errors from public rows and a number of private rows."""
    from pmtcore.api.summary import table_lines  # noqa: PLC0415
    from pmtcore.releases import planning  # noqa: PLC0415

    public, notes = public_from(chosen)
    n = chosen.rows if chosen.private is None else table_of(chosen.private, "private").n
    first = recommended(public).id if chosen.method is None else method(chosen.method).id
    mus = numbers_from("--mu", chosen.mu)
    plans = planning.plan(public, n, mus, None if chosen.method is None else [first])
    order = planning.ranked(plans, first)
    plans = sorted(plans, key=lambda planned: order.index(planned.method))
    rows = [row for planned in plans for row in planned.rows()]
    shown = order if chosen.all else order[:_SHOWN]
    record: dict[str, Any] = {"label": Label.PUBLIC.value, "rows": rows, "n": n, "public_rows": public.m}
    record["recommended"] = first
    lines = table_lines(row for row in rows if row["method"] in shown)
    lines += [f"{id}: {ONLY_RESPONSES}" for id in shown if method(id).protects_responses_only]
    if len(shown) < len(order):
        lines.append(f"{len(order) - len(shown)} other methods with --all.")
    record["verdict"] = [planning.verdict(public, n, mu, first) for mu in mus]
    if chosen.width is not None:
        if chosen.coefficient is None:
            raise InputError(CommandMessage.WIDTH_NEEDS_COEFFICIENT)
        record["budget_for_width"] = planning.budget_for(public, n, first, chosen.coefficient, half_width=chosen.width)
        record["rows_for_width"] = planning.rows_for(public, first, mus[0], chosen.coefficient, half_width=chosen.width)
        budget, enough = record["budget_for_width"], record["rows_for_width"]
        lines.append(
            f"{chosen.coefficient} within {chosen.width:g} by {first}: "
            f"{'no budget is enough' if budget is None else f'mu = {figure(budget)}'} with {n:,} rows, "
            f"{'no number of rows is enough' if enough is None else f'{enough:,} rows'} at mu = {mus[0]:g}."
        )
    if chosen.time:
        record["expected"], words = _time(public, n, first, mus[0])
        lines.append(words)
    record["notes"] = list(notes)
    return record, "\n".join([*lines, *record["verdict"], *notes])


def _time(public: PublicData, n: int, id: str, mu: float) -> tuple[dict[str, Any], str]:
    """Measure how long a release takes on this machine, and the memory it needs, from made-up rows."""
    from pmtcore.releases.duration import expected  # noqa: PLC0415
    from pmtcore.releases.progress import in_time  # noqa: PLC0415

    duration = expected(method(id).planned(public, n, mu), public, n)
    words = (
        f"A release of {n:,} rows by {id} takes about {in_time(duration.seconds)} of computing here and "
        f"{math.ceil(duration.megabytes):,} MB beside the program; reading the table comes on top."
    )
    return {"method": id, **duration.as_dict()}, words


def gallery(chosen: argparse.Namespace) -> Answer:
    """List the papers' figures, or compute one."""
    from pmtcore.papers.gallery.catalogue import figure, figures  # noqa: PLC0415
    from pmtcore.papers.gallery.engine import Computation, store  # noqa: PLC0415

    if chosen.all:
        return _all_computed(chosen)
    if chosen.open:
        return _open_listed([figure(id) for id in chosen.figure.split(",")] if chosen.figure else figures())
    writable(chosen.folder)
    chosen.out = chosen.folder
    if chosen.figure is None and chosen.check:
        return _all_checked()
    if chosen.figure is None:
        shown = [{"id": f.id, "title": f.title, "claim": f.claim, "trials": f.trials} for f in figures()]
        return {"figures": shown}, "\n".join(f"{f['id']:5} {f['title']}: {f['claim']}" for f in shown)
    made = figure(chosen.figure)
    if chosen.check:
        return _checked(made)
    workers = whole_number_between("workers", chosen.workers, 0, 64)
    if chosen.mend:
        return _mended(made, workers)
    trials = (made.quick if chosen.quick else None) if chosen.trials is None else chosen.trials
    run = Computation(made, trials, workers)
    try:
        for share in run.steps():
            if sys.stderr.isatty():
                sys.stderr.write(f"\r{share:.0%}")
    except KeyboardInterrupt:
        if not run.share:
            raise
        sys.stderr.write("pmtcore: stopped; what was done is kept.\n")
    record = run.as_dict()
    store(record)
    return record, _found(made, record)


def _open_listed(chosen: Sequence[Figure]) -> Answer:
    """Return claims without an answer, and what would give one."""
    from pmtcore.papers.gallery.engine import load_stored  # noqa: PLC0415
    from pmtcore.papers.gallery.unsettled import open_claims  # noqa: PLC0415

    listed = [claim for made in chosen for claim in open_claims(made, load_stored(made))]
    counts = Counter(claim.why for claim in listed)
    every = f"{len(listed)} of {sum(len(made.claims) for made in chosen)} claims are open"
    cheap = f"100 more trials in 10 processor minutes would tell: {sum(claim.cheap for claim in listed)}"
    last = "; ".join([every, *(f"{why.value}: {count}" for why, count in counts.items()), cheap])
    return {"open": [claim.as_dict() for claim in listed]}, "\n".join([*(claim.words for claim in listed), last])


_STEPS = (0.02, 0.1, 0.3, 1.0)  # of each figure's trials: every figure says something before one says all


def _all_computed(chosen: argparse.Namespace) -> Answer:
    """Compute every figure whose table is here with the papers' trials; progress goes to the error stream."""
    from pmtcore.papers.gallery.catalogue import figure, figures  # noqa: PLC0415
    from pmtcore.papers.gallery.engine import compute_all, needed  # noqa: PLC0415

    wanted = figures() if chosen.figure is None else [figure(id) for id in chosen.figure.split(",")]
    ready, missing = [], []
    for made in wanted:
        try:
            needed(made)
        except InputError:
            missing.append(made.id)
        else:
            ready.append(made)
    folder = None if chosen.folder is None else Path(chosen.folder)
    trials: dict[str, int] = {}
    began, goal = time.process_time(), sum(made.trials for made in ready)
    try:
        for made, count, seconds in compute_all(
            ready, _STEPS, whole_number_between("workers", chosen.workers, 0, 64), folder
        ):
            trials[made.id] = count
            left = f"{sum(trials.values()) / goal:.0%} of all trials in this run"
            sys.stderr.write(f"{made.id:6} {count:5} of {made.trials} trials, {seconds:.2f} s each; {left}\n")
    except KeyboardInterrupt:
        sys.stderr.write("pmtcore: stopped; what was done is kept, and the same command goes on.\n")
    words = f"{len(trials)} of {len(ready)} figures computed further in {time.process_time() - began:.0f} CPU seconds"
    words += f"; no table here: {', '.join(missing)}" * bool(missing)
    return {"computed": trials, "missing": missing}, words


def _found(made: Figure, record: dict[str, Any]) -> str:
    lines = [f"{made.source}, {record['trials']} trials"]
    lines += [f"{v['answer']}: {v['claim']} ({v['figures']})" for v in record["verdict"]]
    return "\n".join(lines)


def _stored(made: Figure) -> dict[str, Any]:
    """Return the stored result of a figure whose table is here.

    Raises:
        InputError: the table is not here, or nothing is stored of the figure as it is described.
    """
    from pmtcore.papers.gallery.engine import load_stored, needed  # noqa: PLC0415

    needed(made)
    record = load_stored(made)
    if record is None:
        raise InputError(CommandMessage.NO_STORED_RESULT, id=made.id)
    return record


def _mended(made: Figure, workers: int) -> Answer:
    """Compute again the lines of a stored result that today's code gives otherwise."""
    from pmtcore.papers.gallery.engine import Computation, lines_to_mend, mended, store  # noqa: PLC0415

    record = _stored(made)
    again = lines_to_mend(made, record)
    if again == ():
        return record, f"{made.id}: as today's code gives it; nothing to compute"
    run = Computation(made, record["trials"], workers, again).run()
    record = run.as_dict() if again is None else mended(record, run)
    store(record)
    return record, _found(made, record)


def _checked(made: Figure) -> Answer:
    """Return True where the stored result of a figure is what today's code gives."""
    from pmtcore.papers.gallery.engine import stale  # noqa: PLC0415

    record = _stored(made)
    changed = stale(made, record)
    words = "as today's code gives it" if not changed else f"STALE: {', '.join(changed)} come out differently today"
    return {"id": made.id, "computed": record["computed"], "stale": list(changed)}, f"{made.id}: {words}"


def _all_checked() -> Answer:
    """Check every figure whose table is here; name those without a table or a result."""
    from pmtcore.papers.gallery.catalogue import figures  # noqa: PLC0415

    lines, changed, silent = [], [], []
    for made in figures():
        try:
            results, words = _checked(made)
        except InputError:
            silent.append(made.id)
            continue
        lines.append(words)
        changed += [made.id] if results["stale"] else []
    lines.append(
        f"{len(changed)} of {len(lines)} stale" + (f"; no table or no result: {', '.join(silent)}" * bool(silent))
    )
    return {"stale": changed, "unchecked": silent}, "\n".join(lines)


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
            record = parsed(read_small(chosen.release))
        if not isinstance(record, dict):
            raise InputError(CommandMessage.NOT_A_RELEASE)
        record = _known(record, chosen.check)
    with reraised_as(InputError(CommandMessage.NOT_A_RELEASE)):
        text = render(record, account, head)
    write_small(chosen.html, text)
    return {"html": chosen.html}, f"report written to {chosen.html}"


def _known(record: dict[str, Any], ledger_url: str | None) -> dict[str, Any]:
    """Return the record of a file, marked as a lab figure unless a ledger at hand holds the very same.

    Whoever can write a file can write a record: what may leave is what the ledger knows.
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
