"""The command line: ``python -m pmtcore COMMAND``; all the application does, headless.

Exit status 0, or 2 for bad input with one line on standard error and no traceback. ``--json`` prints one
JSON object; without it, text for people.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

from pmtcore.budgets import (
    Budget,
    Guarantee,
    Neighbours,
    attacker_power,
    checked_delta,
    epsilon_from_rho_bound,
)
from pmtcore.checks import InputError, whole_number_between
from pmtcore.records import Curator, Label, plain
from pmtcore.registry import method, methods

_CURATOR = Curator("the command line, run by whoever holds the private table")
_PRIVATE = f"[{Label.PRIVATE.value}] "
Answer = tuple[Mapping[str, Any], str]  # the JSON object, the text


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit status."""
    try:
        chosen = _parser().parse_args(arguments)
        record, text = chosen.run(chosen)
        output = json.dumps(_finite(plain(dict(record))), indent=2, allow_nan=False) if chosen.json else text
        if getattr(chosen, "out", None):
            Path(chosen.out).write_text(output + "\n", encoding="utf-8")
        print(output)
    except InputError as error:
        print(f"pmtcore: {error}", file=sys.stderr)
        return 2
    except OSError as error:
        print(f"pmtcore: {error.strerror or 'the file cannot be used'}: {error.filename}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("pmtcore: stopped.", file=sys.stderr)
        return 130
    return 0


class _Parser(argparse.ArgumentParser):
    """argparse, with its complaints in one line."""

    def error(self, message: str) -> NoReturn:
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
    _budget_arguments(convert)
    describe = command("describe", _describe, "Conditioning and truncation of the private rows; for the curator.")
    _table_arguments(describe)
    describe.add_argument("--eta", type=float, default=0.05, help="failure probability behind the radius")
    release = command("release", _release, "One private release.")
    _table_arguments(release)
    _budget_arguments(release)
    release.add_argument("--method", metavar="ID", help="see 'methods'")
    release.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="a parameter of the method")
    release.add_argument("--config", metavar="FILE", help="a request saved by the application or by --save-config")
    release.add_argument("--save-config", metavar="FILE", help="write the request, to be used again")
    release.add_argument("--seed", type=int, help="repeatable noise: the result is then a lab figure")
    release.add_argument("--out", metavar="FILE", help="also write what is printed to this file")
    compare = command("compare", _compare, "Lab: distance of methods to the non-private fit over repeated trials.")
    _table_arguments(compare)
    compare.add_argument("--methods", required=True, metavar="ID,ID")
    compare.add_argument("--mu", required=True, metavar="M[,M...]", help="total budgets")
    compare.add_argument("--trials", type=int, default=100)
    compare.add_argument("--scale", default="none", metavar="none|z|minmax|max")
    compare.add_argument("--seed", type=int, default=0)
    compare.add_argument("--axis", default="budget", metavar="AXIS", help="budget, 'private rows', 'public rows', ...")
    compare.add_argument("--values", metavar="X[,X...]", help="places on another axis than the budget")
    local = command("local", _local, "Local model: publish a configuration, randomize own rows, aggregate reports.")
    _local_arguments(local)
    gallery = command("gallery", _gallery, "The papers' experiments: the list, or one recomputed with its verdict.")
    gallery.add_argument("figure", nargs="?", metavar="FIGURE", help="such as A1; without it, the list")
    gallery.add_argument("--quick", action="store_true", help="fewer trials than the paper")
    gallery.add_argument("--trials", type=int, help="a number of trials of your own")
    gallery.add_argument("--workers", type=int, default=2, help="processes")
    return parser


def _budget_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--mu", type=float, help="total budget in GDP")
    parser.add_argument("--rho", type=float, help="total budget in zCDP")
    parser.add_argument("--epsilon", type=float, help="total epsilon; needs --delta")
    parser.add_argument("--delta", type=float, help="with --epsilon: the budget; else: where epsilon is stated")


def _table_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--private", required=True, metavar="FILE")
    parser.add_argument("--public", metavar="FILE")
    parser.add_argument("--public-moment", metavar="FILE", help="a second moment matrix in place of public rows")
    parser.add_argument("--public-rows", type=int, metavar="M", help="rows behind the moment matrix, if known")
    parser.add_argument("--public-ridge", type=float, default=0.0, help="for columns collinear in the public rows")
    parser.add_argument("--target", required=True, metavar="COLUMN")
    parser.add_argument("--features", metavar="A,B", help="default: all columns that both tables have")
    parser.add_argument("--no-intercept", action="store_true")
    parser.add_argument("--missing", default="refuse", metavar="refuse|empty-row|public-median")
    parser.add_argument("--unseen", default="refuse", metavar="refuse|other", help="levels only private rows have")
    parser.add_argument("--levels", action="append", default=[], metavar="'COLUMN=A|B|C'", help="declared categories")
    families = "gaussian|logistic|poisson|boosting"
    parser.add_argument("--family", default="gaussian", metavar=families, help="what kind of regression")
    parser.add_argument("--lam", type=float, help="ridge penalty of a family other than gaussian (default 0.01)")
    parser.add_argument("--positive", metavar="LABEL", help="the value of the target that counts as 1")


def _methods(_: argparse.Namespace) -> Answer:
    entries = methods()
    lines = [f"{e.id:16} {e.standing.value:6} {e.neighbours.value:12} {e.title}  ({e.source})" for e in entries]
    return {"methods": [entry.as_dict() for entry in entries]}, "\n".join(lines)


def _convert(chosen: argparse.Namespace) -> Answer:
    budget = _budget(chosen)
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
    from pmtcore.diagnostics import exact  # noqa: PLC0415  # commands load only what they need
    from pmtcore.truncation import checked_eta  # noqa: PLC0415

    problem = _problem(chosen)
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
    return record, "\n".join(lines)


def _release(chosen: argparse.Namespace) -> Answer:
    from pmtcore.noise import SecureNoise, SeededNoise  # noqa: PLC0415
    from pmtcore.release import release  # noqa: PLC0415

    request = _request(chosen)
    source = SecureNoise() if chosen.seed is None else SeededNoise(chosen.seed)
    problem = _problem(chosen)
    if chosen.save_config:
        text = json.dumps(request.as_dict(), indent=2) + "\n"
        Path(chosen.save_config).write_text(text, encoding="utf-8")
    record = release(problem, request, source).as_dict()
    return record, _release_text(record)


def _release_text(record: Mapping[str, Any]) -> str:
    guarantee = record["guarantee"]
    lines = [
        f"{record['title']} ({record['method']}), standing: {record['standing']}"
        + ("" if record["standing"] == "sound" else f": {'; '.join(record['standing_reasons'])}"),
        f"n = {record['n']}, public rows = {record['public_rows']}",
        f"mu = {guarantee['mu']:.4g}, rho = {guarantee['rho']:.4g}, epsilon = {guarantee['epsilon']:.4g} "
        f"at delta = {guarantee['delta']:g} ({guarantee['neighbours']})",
        record["guarantee_in_words"],
        "",
    ]
    width = max([len(name) for name in record["coefficients"]], default=10)
    if record["coefficients"]:
        lines.append(f"{'':{width}} {'coefficient':>12} {'privacy sd':>11} {'sampling sd':>11}   95 % band")
    for name, value in record["coefficients"].items():
        band = record["bands"].get(name)
        tail = (
            f"{band['privacy']:11.4g} {band['sampling']:11.4g}   [{band['low']:.4g}, {band['high']:.4g}]"
            if band
            else ""
        )
        lines.append(f"{name:{width}} {value:12.5g} {tail}")
    return "\n".join([*lines, *record["notes"]]).rstrip()


def _compare(chosen: argparse.Namespace) -> Answer:
    from pmtcore.experiments import Comparison, rescaled  # noqa: PLC0415

    problem = rescaled(_problem(chosen), chosen.scale)
    names = [name.strip() for name in chosen.methods.split(",") if name.strip()]
    mus = [_number("--mu", part) for part in chosen.mu.split(",") if part.strip()]
    values = [_number("--values", part) for part in (chosen.values or "").split(",") if part.strip()]
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


def _local_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of the three halves."""
    parser.add_argument("step", choices=("configure", "randomize", "aggregate"))
    parser.add_argument("--public", metavar="FILE", help="public rows, labelled or not (configure, aggregate)")
    parser.add_argument("--rows", metavar="FILE", help="own rows (randomize)")
    parser.add_argument("--reports", metavar="FILE", help="randomized reports, JSON lines or Parquet (aggregate)")
    parser.add_argument("--config", metavar="FILE", help="the published configuration (randomize, aggregate)")
    parser.add_argument("--out", dest="destination", metavar="FILE", help="where to write: configuration or reports")
    parser.add_argument("--target", metavar="COLUMN")
    parser.add_argument("--features", metavar="A,B")
    parser.add_argument("--no-intercept", action="store_true")
    parser.add_argument("--family", default="logistic")
    parser.add_argument("--positive", metavar="LABEL")
    parser.add_argument("--epsilon", type=float, help="of each report, pure with PrivUnit (configure)")
    parser.add_argument("--mu", type=float, help="of each report, in place of epsilon (configure)")
    parser.add_argument("--scheme", default="whitened", metavar="whitened|moments")
    parser.add_argument("--response-bound", type=float, default=0.0)
    parser.add_argument("--people", type=int, default=10_000, help="expected number of reports (configure)")


def _local(chosen: argparse.Namespace) -> Answer:
    from pmtcore.local.commands import run  # noqa: PLC0415
    from pmtcore.noise import SecureNoise  # noqa: PLC0415

    return run(chosen, SecureNoise())


def _gallery(chosen: argparse.Namespace) -> Answer:
    from pmtcore.gallery import Computation, figure, figures, store  # noqa: PLC0415

    if chosen.figure is None:
        listed = [{"id": f.id, "title": f.title, "claim": f.claim, "trials": f.trials} for f in figures()]
        return {"figures": listed}, "\n".join(f"{f['id']:5} {f['title']}: {f['claim']}" for f in listed)
    made = figure(chosen.figure)
    trials = chosen.trials or (made.quick if chosen.quick else None)
    run = Computation(made, trials, workers=whole_number_between("workers", chosen.workers, 0, 64))
    try:
        for share in run.steps():
            if sys.stderr.isatty():
                print(f"\r{share:.0%}", end="", file=sys.stderr, flush=True)
    except KeyboardInterrupt:
        if not run.share:
            raise
        print("pmtcore: stopped; what was done is kept.", file=sys.stderr)
    record = run.as_dict()
    store(record)
    lines = [f"{made.source}, {record['trials']} trials"]
    lines += [
        f"{'holds         ' if v['holds'] else 'does not hold '} {v['claim']} ({v['figures']})"
        for v in record["verdict"]
    ]
    return record, "\n".join(lines)


def _request(chosen: argparse.Namespace) -> Any:
    from pmtcore.release import Request, request_from_json  # noqa: PLC0415

    if chosen.config:
        base = request_from_json(Path(chosen.config).read_bytes())
    else:
        if chosen.method is None:
            raise InputError("A release needs --method ID (or --config FILE); see 'python -m pmtcore methods'.")
        base = Request(method(chosen.method).id, _budget(chosen))
    given = any(value is not None for value in (chosen.mu, chosen.rho, chosen.epsilon))
    return Request.from_dict(
        {
            "method": chosen.method or base.method,
            "mu": (_budget(chosen) if given else base.budget).mu,
            "parameters": {**base.parameters, **_settings(chosen.set)},
            "delta": base.delta if chosen.delta is None else chosen.delta,
        }
    )


def _settings(pairs: Sequence[str]) -> dict[str, str]:
    for pair in pairs:
        if "=" not in pair:
            raise InputError(f"--set takes NAME=VALUE, got {pair!r}.")
    return dict(pair.split("=", 1) for pair in pairs)


def _budget(chosen: argparse.Namespace) -> Budget:
    given = [name for name in ("mu", "rho", "epsilon") if getattr(chosen, name) is not None]
    if len(given) != 1:
        raise InputError("Give the total budget once: --mu M, or --rho R, or --epsilon E with --delta D.")
    if chosen.delta is not None:
        checked_delta(chosen.delta)
    if chosen.mu is not None:
        return Budget(chosen.mu)
    if chosen.rho is not None:
        return Budget.from_rho(chosen.rho)
    if chosen.delta is None:
        raise InputError("--epsilon needs --delta.")
    return Budget.from_epsilon(chosen.epsilon, chosen.delta)


def _problem(chosen: argparse.Namespace) -> Any:
    from pmtcore.choices import Choices, levels_from_text  # noqa: PLC0415
    from pmtcore.encoding import prepare  # noqa: PLC0415
    from pmtcore.tables import read_moment_path, read_path  # noqa: PLC0415

    if (chosen.public is None) == (chosen.public_moment is None):
        raise InputError("Give --public FILE or --public-moment FILE, one of the two.")
    features = None if chosen.features is None else tuple(part.strip() for part in chosen.features.split(","))
    choices = Choices(
        target=chosen.target,
        features=features,
        intercept=not chosen.no_intercept,
        missing=chosen.missing,
        unseen=chosen.unseen,
        levels=levels_from_text(chosen.levels),
        public_ridge=chosen.public_ridge,
        family=chosen.family,
        lam=chosen.lam,
        positive=chosen.positive,
    )
    private = read_path(chosen.private, "private")
    public = read_path(chosen.public, "public") if chosen.public else read_moment_path(chosen.public_moment)
    return prepare(private, public, choices, public_rows=chosen.public_rows)


def _number(name: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise InputError(f"{name} takes numbers, got {text!r}.") from None


def _finite(value: Any) -> Any:
    """JSON has no infinity and no NaN: both become null."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    return [_finite(item) for item in value] if isinstance(value, list) else value
