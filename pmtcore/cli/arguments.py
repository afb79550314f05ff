"""Conversion of the arguments for tables and budgets that several commands share."""

from __future__ import annotations

import argparse
import atexit
import os
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pmtcore.base import memory, threads
from pmtcore.base.escaping import one_line
from pmtcore.base.messages import CommandMessage, InputError, one_of, parse_number, reraised_as
from pmtcore.base.roles import Actor, Role
from pmtcore.cli.files import STANDARD_INPUT, read_input, read_small
from pmtcore.cli.startup import is_own_process, start_arrow

if TYPE_CHECKING:
    from pmtcore.accounting.budgets import Budget, Unit
    from pmtcore.public.moments import PublicData
    from pmtcore.tables.choices import Choices
    from pmtcore.tables.cluster import Cluster
    from pmtcore.tables.problem import Problem
    from pmtcore.tables.table import MomentTable, Table
    from pmtcore.tables.table import Role as TableRole

Answer = tuple[Mapping[str, Any], str]  # the JSON object, the text

try:
    import pwd
except ImportError:  # not a POSIX system
    pwd = None  # type: ignore[assignment]


def public_from(chosen: argparse.Namespace) -> tuple[PublicData, tuple[str, ...]]:
    """Return the public data and notes on its columns; nothing private is read."""
    from pmtcore.tables.findings import public_alone  # noqa: PLC0415

    return public_alone(public_table_of(chosen), choices_from(chosen), chosen.public_rows)


def public_table_of(chosen: argparse.Namespace) -> Table | MomentTable:
    """Read the public table, or the public moment matrix, that the arguments name."""
    from pmtcore.tables.table import read_moment_path  # noqa: PLC0415

    return table_of(chosen.public, "public") if chosen.public is not None else read_moment_path(chosen.public_moment)


def table_of(path: str, role: TableRole, rows: int | None = None) -> Table:
    """Read the table in a file, or on standard input, perhaps with a declared number of rows.

    Raises:
        InputError: it cannot be read.
    """
    from pmtcore.tables.table import read_path, read_table  # noqa: PLC0415

    if path == STANDARD_INPUT:
        return read_table(read_input(), "standard input", role, rows=rows)
    return read_path(path, role, rows)


def choices_from(chosen: argparse.Namespace) -> Choices:
    """Return the data choices that the options give."""
    from pmtcore.tables.choices import Choices, levels_from_text  # noqa: PLC0415

    start_arrow()

    if (chosen.public is None) == (chosen.public_moment is None):
        raise InputError(CommandMessage.ONE_PUBLIC_SIDE)
    if (not chosen.target) == (chosen.formula is None):  # an empty target counts as none
        raise InputError(CommandMessage.NOTHING_TO_FIT)
    features = None if chosen.features is None else tuple(filter(None, map(str.strip, chosen.features.split(","))))
    return Choices.of(
        chosen,
        chosen.target,
        chosen.formula,
        features=features,
        intercept=not chosen.no_intercept,
        levels=levels_from_text(chosen.levels),
        family=chosen.family,
        kinds=settings_from(chosen.kind, "--kind", "COLUMN=KIND"),
    )


def current_user() -> Actor:
    """Return the user of the operating system, who may do everything with files that are theirs.

    Variables such as LOGNAME are not used, since anybody may set them to another person's name.
    """
    if pwd is None:  # not a POSIX system
        return Actor(os.getlogin(), Role.OWNER)
    try:
        return Actor(pwd.getpwuid(os.getuid()).pw_name, Role.OWNER)
    except KeyError:  # a container's user without a name
        return Actor(f"user {os.getuid()}", Role.OWNER)


def problem_from(chosen: argparse.Namespace, unit: Unit | None = None) -> Problem:
    """Prepare the problem that the arguments describe.

    Args:
        chosen: parsed arguments.
        unit: what an identifier column keeps of each person; ``None`` without one.
    """
    from pmtcore.tables.findings import open_findings  # noqa: PLC0415
    from pmtcore.tables.problem import prepare  # noqa: PLC0415
    from pmtcore.tables.schema import schema_from_json  # noqa: PLC0415
    from pmtcore.tables.table import query_table  # noqa: PLC0415

    choices = choices_from(chosen)
    choose_threads(chosen)
    choices = choices if unit is None else choices.of_named_person(unit)
    where, rows = chosen.private, chosen.private_rows
    private = query_table(where, chosen.query, rows) if chosen.query else table_of(where, "private", rows)
    schema = None if chosen.schema is None else schema_from_json(read_small(chosen.schema))
    public = public_table_of(chosen)
    cluster = cluster_from(chosen)
    problem = prepare(private, public, choices, public_rows=chosen.public_rows, schema=schema, cluster=cluster)
    return replace(problem, notes=(*open_findings(private, public, choices, schema), *problem.notes))


def choose_threads(chosen: argparse.Namespace) -> None:
    """Choose the threads of passes over private rows: those asked for; else, in a process of its own, all cores.

    Such a process may also keep more rows between passes.
    """
    if is_own_process():
        memory.runs_one_command()
    if chosen.threads is not None:
        threads.set_threads(chosen.threads)
    elif is_own_process() and not os.environ.get(threads.VARIABLE):
        threads.set_threads(threads.available_cores())


def cluster_from(chosen: argparse.Namespace) -> Cluster | None:
    """Start the cluster for passes over private rows, left at the end of the program; ``None`` for this process."""
    if one_of("engine", chosen.engine, ("here", "dask")) == "here":
        if chosen.scheduler is not None:
            raise InputError(CommandMessage.SCHEDULER_NEEDS_DASK)
        return None
    from pmtcore.tables.cluster import Cluster  # noqa: PLC0415

    cluster = Cluster(chosen.scheduler)
    atexit.register(cluster.close)
    return cluster


def print_note(chosen: argparse.Namespace, sentence: str) -> None:
    """Write a sentence to standard error, unless quiet or JSON output was requested."""
    if not (chosen.quiet or chosen.json):
        with suppress(OSError, ValueError):
            sys.stderr.write(f"{one_line(sentence)}\n")


def number_from(name: str, text: str) -> float:
    """Return the number in a text, or raise an InputError that names the argument."""
    with reraised_as(InputError(CommandMessage.NUMBERS_NEEDED, option=name, given=text), ValueError):
        return parse_number(text)


def numbers_from(name: str, text: str) -> list[float]:
    """Return the numbers of a list with commas, one at least, or raise an InputError that names it."""
    return [number_from(name, part) for part in text.split(",") if part.strip()] or [number_from(name, text)]


def budget_from(chosen: argparse.Namespace) -> Budget:
    """Return the budget that the options give."""
    from pmtcore.accounting.budgets import Budget  # noqa: PLC0415

    not_one, lacks_delta = CommandMessage.ONE_BUDGET, CommandMessage.EPSILON_NEEDS_DELTA
    given = (chosen.mu, chosen.rho, chosen.epsilon, chosen.delta)
    return Budget.from_one_unit(*given, not_one=not_one, lacks_delta=lacks_delta)


def settings_from(pairs: Sequence[str], option: str = "--set", form: str = "NAME=VALUE") -> dict[str, str]:
    """Return the names and values of an option that is given several times."""
    for pair in pairs:
        if "=" not in pair:
            raise InputError(CommandMessage.OPTION_FORM, option=option, form=form, given=pair)
    settings: dict[str, str] = {}
    for name, value in (pair.split("=", 1) for pair in pairs):
        if name in settings:
            raise InputError(CommandMessage.SAID_TWICE, option=option, name=name)
        settings[name] = value
    return settings
