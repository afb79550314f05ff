"""What commands share: arguments for tables and budgets, and what they become."""

from __future__ import annotations

import argparse
import atexit
import os
from collections.abc import Sequence
from typing import Any

from pmtcore.accounting.budgets import Budget, checked_delta
from pmtcore.accounting.units import Unit
from pmtcore.base.checks import InputError, one_of
from pmtcore.base.roles import Actor, Role
from pmtcore.cli.files import read_small

try:
    import pwd
except ImportError:  # not a POSIX system
    pwd = None  # type: ignore[assignment]


def budget_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--mu", type=float, help="total budget in GDP")
    parser.add_argument("--rho", type=float, help="total budget in zCDP")
    parser.add_argument("--epsilon", type=float, help="total epsilon; needs --delta")
    parser.add_argument("--delta", type=float, help="with --epsilon: the budget; else: where epsilon is stated")


def table_arguments(parser: argparse.ArgumentParser, private: bool = True) -> None:
    if private:
        parser.add_argument(
            "--private",
            required=True,
            metavar="PLACE",
            help="a file (CSV, TSV, Parquet, gzip'ed too), a folder or pattern of Parquet files, an address of an "
            "object store, or of a database with --query; read in blocks, of any size",
        )
        parser.add_argument("--query", metavar="SELECT", help="rows of the database whose address --private is")
        parser.add_argument(
            "--overlap", default="", metavar="REASON", help="why public rows may be private rows too; recorded"
        )
        parser.add_argument("--private-rows", type=int, metavar="N", help="declare n instead of counting")
        parser.add_argument("--engine", default="here", metavar="here|dask", help="where passes over private rows run")
        parser.add_argument("--scheduler", metavar="ADDRESS", help="of a Dask cluster; without one, two workers here")
    parser.add_argument("--public", metavar="FILE")
    parser.add_argument("--public-moment", metavar="FILE", help="a second moment matrix in place of public rows")
    parser.add_argument("--public-rows", type=int, metavar="M", help="rows behind the moment matrix, if known")
    parser.add_argument("--public-ridge", type=float, default=0.0, help="for columns collinear in the public rows")
    parser.add_argument("--target", required=True, metavar="COLUMN")
    parser.add_argument("--features", metavar="A,B", help="default: all columns that both tables have")
    parser.add_argument("--no-intercept", action="store_true")
    parser.add_argument("--missing", default="empty-row", metavar="empty-row|public-median|refuse")
    parser.add_argument("--unseen", default="other", metavar="other|refuse", help="levels only private rows have")
    parser.add_argument("--levels", action="append", default=[], metavar="'COLUMN=A|B|C'", help="declared categories")
    parser.add_argument(
        "--kind", action="append", default=[], metavar="COLUMN=number|level|date", help="how a column is read"
    )
    parser.add_argument("--collinear", default="drop", metavar="drop|refuse", help="columns others give away")
    parser.add_argument("--schema", metavar="FILE", help="a declared schema (JSON: columns, dialect)")
    families = "gaussian|logistic|poisson|boosting"
    parser.add_argument("--family", default="gaussian", metavar=families, help="what kind of regression")
    parser.add_argument("--lam", type=float, help="ridge penalty of a family other than gaussian (default 0.01)")
    parser.add_argument("--positive", metavar="LABEL", help="the value of the target that counts as 1")


def public_from(chosen: argparse.Namespace) -> Any:
    """The public side alone: nothing private is read."""
    from pmtcore.tables.problem import prepare_moment, prepare_public  # noqa: PLC0415
    from pmtcore.tables.table import read_moment_path, read_path  # noqa: PLC0415

    choices = choices_from(chosen)
    if chosen.public_moment is not None:
        return prepare_moment(read_moment_path(chosen.public_moment), choices, chosen.public_rows)
    return prepare_public(read_path(chosen.public, "public"), choices)


def choices_from(chosen: argparse.Namespace) -> Any:
    from pmtcore.tables.choices import Choices, levels_from_text  # noqa: PLC0415

    if (chosen.public is None) == (chosen.public_moment is None):
        raise InputError("Give --public FILE or --public-moment FILE, one of the two.")
    features = None if chosen.features is None else tuple(part.strip() for part in chosen.features.split(","))
    return Choices(
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
        kinds=settings_from(chosen.kind, "--kind", "COLUMN=KIND"),
        collinear=chosen.collinear,
        overlap=getattr(chosen, "overlap", ""),
    )


def user() -> Actor:
    """Return who runs the command: the user that the system knows, who may do everything with files that are theirs.

    Variables such as LOGNAME are not asked: anybody may set them to another person's name.
    """
    if pwd is None:  # not a POSIX system
        return Actor(os.getlogin(), Role.OWNER)
    try:
        return Actor(pwd.getpwuid(os.getuid()).pw_name, Role.OWNER)
    except KeyError:  # a container's user without a name
        return Actor(f"user {os.getuid()}", Role.OWNER)


def problem_from(chosen: argparse.Namespace, unit: Unit | None = None) -> Any:
    """The problem that the arguments describe.

    Args:
        unit: what an identifier column keeps of each person; ``None`` without one.
    """
    from pmtcore.tables.problem import prepare  # noqa: PLC0415
    from pmtcore.tables.schema import schema_from_json  # noqa: PLC0415
    from pmtcore.tables.table import query_table, read_moment_path, read_path, with_rows  # noqa: PLC0415

    choices = choices_from(chosen)
    choices = choices if unit is None else choices.of_person(unit)
    private = query_table(chosen.private, chosen.query) if chosen.query else read_path(chosen.private, "private")
    if chosen.private_rows is not None:
        private = with_rows(private, chosen.private_rows)
    schema = None if chosen.schema is None else schema_from_json(read_small(chosen.schema))
    public = read_path(chosen.public, "public") if chosen.public is not None else read_moment_path(chosen.public_moment)
    cluster = cluster_from(chosen)
    return prepare(private, public, choices, public_rows=chosen.public_rows, schema=schema, cluster=cluster)


def cluster_from(chosen: argparse.Namespace) -> Any:
    """Where passes over private rows run: a cluster, left at the end of the program, or ``None`` for here."""
    if one_of("engine", chosen.engine, ("here", "dask")) == "here":
        if chosen.scheduler is not None:
            raise InputError("--scheduler needs --engine dask.")
        return None
    from pmtcore.tables.cluster import Cluster  # noqa: PLC0415

    found = Cluster(chosen.scheduler)
    atexit.register(found.close)
    return found


def number_from(name: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise InputError(f"{name} takes numbers, got {text!r}.") from None


def budget_from(chosen: argparse.Namespace) -> Budget:
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


def settings_from(pairs: Sequence[str], option: str = "--set", form: str = "NAME=VALUE") -> dict[str, str]:
    for pair in pairs:
        if "=" not in pair:
            raise InputError(f"{option} takes {form}, got {pair!r}.")
    return dict(pair.split("=", 1) for pair in pairs)
