"""Commands of one call each: methods, convert, describe, compare."""

import argparse
from typing import Any

from pmtcore.accounting.budgets import Guarantee, Neighbours, attacker_power, epsilon_from_rho_bound
from pmtcore.base.labels import Label
from pmtcore.base.private_rows import Curator
from pmtcore.cli.arguments import Answer, budget_from, numbers_from, problem_from
from pmtcore.methods.registry import method, methods, search
from pmtcore.report.strength import strength

CURATOR = Curator("the command line, run by whoever holds the private table")
PRIVATE = f"[{Label.PRIVATE.value}] "


def list_methods(chosen: argparse.Namespace) -> Answer:
    """List the methods, all or those that have the words in a name."""
    entries = search(" ".join(chosen.words)) if chosen.words else methods()
    lines = []
    for entry in entries:
        source = entry.origin.source
        called = (*entry.origin.names, *entry.origin.also)
        names = "; ".join([source, *(name for name in called if not name.startswith(source))])
        relation = entry.claim.neighbours.value
        lines.append(f"{entry.id:16} {entry.standing.value:6} {relation:20} {entry.title}  ({names})")
    nothing = f"No method has {' '.join(chosen.words)!r} in a name; 'methods' lists all."
    return {"methods": [entry.as_dict() for entry in entries]}, "\n".join(lines) or nothing


def convert(chosen: argparse.Namespace) -> Answer:
    """Convert a budget between mu, rho and epsilon at a delta."""
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
    lines.append(strength(budget.mu).sentence)
    return record, "\n".join(lines)


def describe(chosen: argparse.Namespace) -> Answer:
    """Describe the tables: conditioning, truncation and unusual rows."""
    from pmtcore.auditing.diagnostics import exact_diagnosis, rows_in_words, unusual_rows  # noqa: PLC0415  # loaded where needed
    from pmtcore.mechanisms.truncation import checked_eta  # noqa: PLC0415

    problem = problem_from(chosen)
    diagnosed = exact_diagnosis(problem, checked_eta(chosen.eta)).reveal(CURATOR)
    record = {
        "label": diagnosed.label.value,
        "n": problem.private.n,
        "public_rows": problem.public.m,
        **diagnosed.as_dict(),
    }
    lines = [
        PRIVATE + "exact figures of the private rows; not for publication",
        f"{'':8}{'kappa':>12}{'kappa_bar':>12}",
    ]
    for name in ("before", "after"):
        figures = record[name]
        lines.append(
            f"{name:8}{figures['kappa']:12.4g}{figures['kappa_bar']:12.4g}  lambda_min {figures['lambda_min']:.4g}"
        )
    lines.append(f"radius {diagnosed.radius:.4g}, truncation rate {100 * record['truncation_rate']:.3g} %")
    unusual = unusual_rows(problem).reveal(CURATOR)
    record |= unusual
    lines += rows_in_words(unusual, problem.private.n)
    return record, "\n".join(lines)


def compare(chosen: argparse.Namespace) -> Answer:
    """Compare methods over repeated releases."""
    from pmtcore.auditing.comparison import Comparison, rescaled_problem  # noqa: PLC0415

    problem = rescaled_problem(problem_from(chosen), chosen.scale)
    names = [method(name.strip()).id for name in chosen.methods.split(",") if name.strip()]
    mus = numbers_from("--mu", chosen.mu)
    values = numbers_from("--values", chosen.values) if chosen.values else []
    run = Comparison(problem, names, mus, trials=chosen.trials, seed=chosen.seed, axis=chosen.axis, values=values).run()
    rows = [vars(summary) for summary in run.summaries().reveal(CURATOR)]
    norm = run.reference_norm().reveal(CURATOR)
    lines = [PRIVATE + f"distance to the non-private fit (length {norm:.4g})"]
    lines.append(f"{'method':16} {chosen.axis[:8]:>8} {'median':>11} {'mean':>11} {'sd':>11} {'trials':>7}")
    for row in rows:
        lines.append(
            f"{row['method']:16} {row['x']:8.4g} {row['error_median']:11.4g} {row['error_mean']:11.4g} "
            f"{row['error_sd']:11.4g} {row['trials']:7d}"
        )
    return {"label": Label.PRIVATE.value, "rows": rows, "reference_norm": norm, "scale": chosen.scale}, "\n".join(lines)
