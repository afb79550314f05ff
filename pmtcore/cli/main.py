"""The command line: ``python -m pmtcore COMMAND``; all the application does, headless.

Exit status 0, or 2 for bad input with one line on standard error and no traceback (1 for an error of its own, which
quotes nothing). ``--json`` prints one
JSON object; without it, text for people.
"""

from __future__ import annotations

import argparse
import errno
import json
import math
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any, NoReturn

from pmtcore.accounting.budgets import Guarantee, Neighbours, attacker_power, epsilon_from_rho_bound
from pmtcore.base.checks import InputError
from pmtcore.base.escaping import one_line, terminal
from pmtcore.base.records import Curator, Label, plain
from pmtcore.cli import audit_commands as more
from pmtcore.cli import explore as exploring
from pmtcore.cli import ledger as ledgers
from pmtcore.cli import releases, study
from pmtcore.cli.arguments import (
    budget_arguments,
    budget_from,
    number_from,
    problem_from,
    table_arguments,
)
from pmtcore.cli.files import writable, write_small
from pmtcore.methods.registry import methods

_CURATOR = Curator("the command line, run by whoever holds the private table")
_LONGEST = 400  # characters of a complaint that repeats an argument: five lines of a terminal
_PRIVATE = f"[{Label.PRIVATE.value}] "
Answer = tuple[Mapping[str, Any], str]  # the JSON object, the text


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit status."""
    kept = ""
    try:
        chosen = _parser().parse_args(arguments)
        writable(getattr(chosen, "out", None))
        record, text = chosen.run(chosen)
        kept = _kept(record)
        output = json.dumps(_finite(plain(dict(record))), indent=2, allow_nan=False) if chosen.json else terminal(text)
        _hand_out(output, getattr(chosen, "out", None))
    except InputError as error:
        return _complain(f"{error}{kept}")
    except OSError as error:
        why = error.strerror or "the file cannot be used"
        return _complain(f"{why}: {error.filename}{kept}" if error.filename else f"{why}; nothing was printed.{kept}")
    except KeyboardInterrupt as stop:
        _complain(f"stopped{f': {stop}' if str(stop) else ''}.{kept}")
        return 130
    except (Exception, MemoryError) as error:
        if os.environ.get("PMT_DEBUG"):
            raise
        _complain(f"an error of the program itself ({type(error).__name__}); PMT_DEBUG=1 shows where.{kept}")
        return 1
    return 0


def _kept(record: Mapping[str, Any]) -> str:
    """How a release that is spent can be had again."""
    where = record.get("ledger")
    if not isinstance(where, Mapping) or "place" not in where:
        return ""
    return (
        f" The release is spent and its record is kept: 'report --ledger {where['place']} --key {where['key']}', or "
        f"the same release with --key {where['key']}, gives it again and spends nothing."
    )


def _hand_out(output: str, path: str | None) -> None:
    """Write the answer to the file asked for, and print it.

    Raises:
        OSError: where that fails; the caller says what became of a spend.
    """
    if path:
        write_small(path, output + "\n")
    if sys.stdout is None:  # closed by whoever started this
        raise OSError(errno.EBADF, "standard output is closed")
    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(errors="backslashreplace")  # a terminal that lacks a letter gets its code
    try:
        print(output)
        sys.stdout.flush()
    except OSError:
        with suppress(OSError, ValueError):  # else the interpreter tries once more as it ends
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise


def _complain(sentence: str) -> int:
    with suppress(OSError, ValueError):
        print(f"pmtcore: {one_line(sentence)}", file=sys.stderr)
    return 2


class _Parser(argparse.ArgumentParser):
    """argparse, with its complaints in one line."""

    def error(self, message: str) -> NoReturn:
        message = message if len(message) <= _LONGEST else f"{message[:_LONGEST]}…"
        raise InputError(f"{message}; see '{self.prog} --help'.")


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="python -m pmtcore", description="Private regression with public second moments.")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND", parser_class=_Parser)
    common = _Parser(add_help=False)
    common.add_argument("--json", action="store_true", help="print one JSON object")

    def command(name: str, run: Callable[[argparse.Namespace], Answer], help: str) -> argparse.ArgumentParser:
        made = commands.add_parser(name, help=help, description=help, parents=[common])
        made.set_defaults(run=run)
        return made

    command("methods", _methods, "List the methods: standing, neighbours, errata, parameters.")
    convert = command("convert", _convert, "A total budget in the other units.")
    budget_arguments(convert)
    describe = command("describe", _describe, "Conditioning and truncation of the private rows; for the curator.")
    table_arguments(describe)
    describe.add_argument("--eta", type=float, default=0.05, help="failure probability behind the radius")
    plan = command("plan", more.plan, "What a budget buys, from public rows and the number of private ones; free.")
    table_arguments(plan, private=False)
    plan.add_argument("--rows", type=int, required=True, metavar="N", help="private rows")
    plan.add_argument("--mu", required=True, metavar="M[,M...]", help="total budgets")
    plan.add_argument("--method", metavar="ID", help="default: every sound method that predicts its errors")
    plan.add_argument("--time", action="store_true", help="also how long a release takes here, and how much memory")
    plan.add_argument("--coefficient", metavar="NAME", help="with --width: the budget and the rows it takes")
    plan.add_argument("--width", type=float, help="wanted 95 %% half-width of the coefficient")
    release = command("release", releases.run, "One private release, its spend in a ledger.")
    table_arguments(release)
    budget_arguments(release)
    releases.arguments(release)
    explore = command("explore", exploring.run, "Any regression from a joint moment that was released; spends nothing.")
    exploring.arguments(explore)
    compare = command("compare", _compare, "Lab: distance of methods to the non-private fit over repeated trials.")
    table_arguments(compare)
    compare.add_argument("--methods", required=True, metavar="ID,ID")
    compare.add_argument("--mu", required=True, metavar="M[,M...]", help="total budgets")
    compare.add_argument("--trials", type=int, default=100)
    compare.add_argument("--scale", default="none", metavar="none|z|minmax|max")
    compare.add_argument("--seed", type=int, default=0)
    compare.add_argument("--axis", default="budget", metavar="AXIS", help="budget, 'private rows', 'public rows', ...")
    compare.add_argument("--values", metavar="X[,X...]", help="places on another axis than the budget")
    ledger = command(
        "ledger", ledgers.run, "The budget: caps, spends, data sets, agreements, and whether it is intact."
    )
    ledgers.arguments(ledger)
    audit = command("audit", more.audit, "Attack a method: a lower bound on its privacy against its claim.")
    audit.add_argument("id", metavar="ID", help="a method, or 'all'")
    audit.add_argument("--mu", type=float, default=1.0, help="the claim")
    audit.add_argument("--trials", type=int, default=20_000)
    audit.add_argument("--seed", type=int, default=1)
    audit.add_argument("--rows-per-person", type=int, metavar="K", help="neighbours differ in a person with many rows")
    audit.add_argument("--person-rule", default="first", metavar="first|mean", help="with it: which rows count")
    report = command("report", more.report, "One self-contained HTML file about a release, for stakeholders.")
    report.add_argument("--ledger", metavar="URL")
    report.add_argument("--key", metavar="KEY", help="of the release in the ledger")
    report.add_argument("--release", metavar="FILE", help="what release --json printed")
    report.add_argument("--check", metavar="URL", help="with --release: the ledger that holds it (default: your own)")
    report.add_argument("--html", required=True, metavar="FILE", help="where to write")
    local = command("local", more.local, "Local model: publish a configuration, randomize own rows, aggregate reports.")
    more.local_arguments(local)
    together = command("study", releases.run, "Several institutions, one regression: create, join, run, simulate.")
    study.arguments(together, common)
    gallery = command("gallery", more.gallery, "The papers' experiments: the list, or one recomputed with its verdict.")
    gallery.add_argument("figure", nargs="?", metavar="FIGURE", help="such as A1; without it, the list")
    gallery.add_argument("--quick", action="store_true", help="fewer trials than the paper")
    gallery.add_argument("--trials", type=int, help="a number of trials of your own")
    gallery.add_argument("--check", action="store_true", help="whether the stored result is what today's code gives")
    gallery.add_argument(
        "--mend",
        action="store_true",
        help="compute again only what today's code gives otherwise, with the stored trials",
    )
    gallery.add_argument("--workers", type=int, default=2, help="processes")
    return parser


def _methods(_: argparse.Namespace) -> Answer:
    entries = methods()
    lines = [f"{e.id:16} {e.standing.value:6} {e.neighbours.value:12} {e.title}  ({e.source})" for e in entries]
    return {"methods": [entry.as_dict() for entry in entries]}, "\n".join(lines)


def _convert(chosen: argparse.Namespace) -> Answer:
    budget = budget_from(chosen)
    record: dict[str, Any] = {"mu": budget.mu, "rho": budget.rho, "epsilon": None, "delta": chosen.delta}
    lines = [f"mu      {budget.mu:.6g}", f"rho     {budget.rho:.6g}"]
    if chosen.delta is None:
        lines.append("epsilon needs --delta")
    else:
        record["epsilon"] = Guarantee(budget.mu, Neighbours.REPLACE_ONE, chosen.delta).epsilon
        record["epsilon_bound_of_paper_b"] = epsilon_from_rho_bound(budget.rho, chosen.delta)
        lines.append(f"epsilon {record['epsilon']:.6g} at delta {chosen.delta:g}")
    record["detected_at_5_percent_false_alarms"] = float(attacker_power(budget.mu, 0.05))
    lines.append(
        f"An attacker who allows 5 % false alarms finds a person in at most "
        f"{100 * record['detected_at_5_percent_false_alarms']:.1f} % of the cases."
    )
    return record, "\n".join(lines)


def _describe(chosen: argparse.Namespace) -> Answer:
    from pmtcore.auditing.diagnostics import exact, rows_in_words, unusual_rows  # noqa: PLC0415  # loaded where needed
    from pmtcore.mechanisms.truncation import checked_eta  # noqa: PLC0415

    problem = problem_from(chosen)
    found = exact(problem, checked_eta(chosen.eta)).reveal(_CURATOR)
    record = {"label": found.label.value, "n": problem.private.n, "public_rows": problem.public.m, **found.as_dict()}
    lines = [
        _PRIVATE + "exact figures of the private rows; not for publication",
        f"{'':8}{'kappa':>12}{'kappa_bar':>12}",
    ]
    for name in ("before", "after"):
        figures = record[name]
        lines.append(
            f"{name:8}{figures['kappa']:12.4g}{figures['kappa_bar']:12.4g}  lambda_min {figures['lambda_min']:.4g}"
        )
    lines.append(f"radius {found.radius:.4g}, truncation rate {100 * record['truncation_rate']:.3g} %")
    unusual = unusual_rows(problem).reveal(_CURATOR)
    record |= unusual
    lines += rows_in_words(unusual, problem.private.n)
    return record, "\n".join(lines)


def _compare(chosen: argparse.Namespace) -> Answer:
    from pmtcore.auditing.comparison import Comparison, rescaled  # noqa: PLC0415

    problem = rescaled(problem_from(chosen), chosen.scale)
    names = [name.strip() for name in chosen.methods.split(",") if name.strip()]
    mus = [number_from("--mu", part) for part in chosen.mu.split(",") if part.strip()]
    values = [number_from("--values", part) for part in (chosen.values or "").split(",") if part.strip()]
    run = Comparison(problem, names, mus, trials=chosen.trials, seed=chosen.seed, axis=chosen.axis, values=values).run()
    rows = [summary.as_dict() for summary in run.summaries().reveal(_CURATOR)]
    norm = run.reference_norm().reveal(_CURATOR)
    lines = [_PRIVATE + f"distance to the non-private fit (length {norm:.4g})"]
    lines.append(f"{'method':16} {chosen.axis[:8]:>8} {'median':>11} {'mean':>11} {'sd':>11} {'trials':>7}")
    for row in rows:
        lines.append(
            f"{row['method']:16} {row['x']:8.4g} {row['error_median']:11.4g} {row['error_mean']:11.4g} "
            f"{row['error_sd']:11.4g} {row['trials']:7d}"
        )
    return {"label": Label.PRIVATE.value, "rows": rows, "reference_norm": norm, "scale": chosen.scale}, "\n".join(lines)


def _finite(value: Any) -> Any:
    """JSON has no infinity and no NaN: both become null."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    return [_finite(item) for item in value] if isinstance(value, list) else value
