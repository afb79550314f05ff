"""Problems, ledgers and comparisons that several tests use."""

from __future__ import annotations

import dataclasses
import multiprocessing
import sqlite3
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
import sqlalchemy as sql

from pmtcore.accounting.budgets import Budget, Spend, compose, gaussian_mu, mu_of_checked_epsilon, pure_epsilon
from pmtcore.base.messages import InputError, Message
from pmtcore.base.private_rows import Curator, PrivateRows, RowCache
from pmtcore.glm.rows import Rows
from pmtcore.ledger import account
from pmtcore.ledger.log import Entry, Ledger
from pmtcore.mechanisms.minimizer import LossSums, row_pieces
from pmtcore.methods.registry import make_parameters, method
from pmtcore.public.moments import INTERCEPT, PublicData, public_from_rows
from pmtcore.tables.synthetic import Synthetic, synthetic

TEST = Curator("a test compares it")
FALSE_ALARM = 1e-6


def in_processes(function: Callable[..., None], arguments: Iterable[tuple[object, ...]]) -> list[Any]:
    """Call a function in a forked process for each tuple of arguments, all at the same time.

    Returns:
        What the processes put into the queue, which is the last argument, in the order in which they did.
    """
    fork = multiprocessing.get_context("fork")
    queue = fork.Queue()
    processes = [fork.Process(target=function, args=(*values, queue)) for values in arguments]
    for process in processes:
        process.start()
    answers = [queue.get(timeout=600) for _ in processes]
    for process in processes:
        process.join()
    return answers


def reserve(
    ledger: Ledger, dataset: str, key: str, request: dict[str, Any], mu: float, *, neighbours: str, **more: Any
) -> Entry | None:
    """Enter a spend in a ledger, without a release."""
    return ledger.spend(dataset, key, account.spend_fields(request, mu, neighbours, **more))


def names(d: int, intercept: bool = False) -> tuple[str, ...]:
    return ((INTERCEPT,) if intercept else ()) + tuple(f"x{j}" for j in range(d - intercept))


def sides(draw: Synthetic) -> tuple[PublicData, PrivateRows]:
    """Return public data and private rows of a synthetic draw."""
    columns = names(draw.private_x.shape[1])
    public = public_from_rows(draw.public_x, draw.public_y, columns, "y")
    return public, PrivateRows.from_arrays(draw.private_x, draw.private_y, columns)


def make(n: int, m: int, seed: int, **settings: float) -> tuple[Synthetic, PublicData, PrivateRows]:
    draw = synthetic(n, m, seed=seed, **settings)  # type: ignore[arg-type]
    return (draw, *sides(draw))


def plan(id: str, public: PublicData, n: int, mu: float, **values: object) -> object:
    entry = method(id)
    return entry.plan(public, n, Budget(mu), make_parameters(entry, values))


def weather(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return rows in badly scaled units: an intercept, pressures near 1000, numbers near 1e-6, two nearly collinear."""
    rng = np.random.default_rng(seed)
    pressure = 1013 + 5 * rng.standard_normal(n)
    warm = 15 + 7 * rng.standard_normal(n)
    tiny = 1e-6 * rng.standard_normal(n)
    dew = warm - 2 + 0.3 * rng.standard_normal(n)
    x = np.column_stack([np.ones(n), pressure, warm, tiny, dew])
    y = 400 + 0.06 * pressure - 1.9 * warm + 2e5 * tiny + 0.4 * dew + rng.standard_normal(n)
    return x, y


def suited(entry, *problems):
    """Return the first of the problems whose family a method fits, without an intercept where the method has none.

    For a method that protects the responses alone, the covariates are declared public.
    """
    problem = next(one for one in problems if one.public.family.id in entry.families)
    if entry.protects_responses_only:
        declared = dataclasses.replace(problem.public, covariates_are_public=True)
        return dataclasses.replace(
            problem, public=declared, choices=dataclasses.replace(problem.choices, covariates="public")
        )
    if entry.task != "nonlinear":
        return problem
    z = problem.private.concatenate(lambda x, y: np.column_stack([x, y])).reveal(TEST)
    public = public_from_rows(problem.public.rows[:, 1:-1], problem.public.rows[:, -1], problem.public.names[1:], "y")
    return dataclasses.replace(
        problem, public=public, private=PrivateRows.from_arrays(z[:, 1:-1], z[:, -1], problem.public.names[1:])
    )


def gathered(pieces: RowCache[Rows]) -> Rows:
    """Return all rows that a solver reads in blocks."""
    parts: list[Rows] = []

    def take(blocks: Iterable[Rows]) -> np.ndarray:
        parts.extend(blocks)
        return np.zeros(())

    pieces.sum(take, in_order=True)
    columns = ([getattr(part, name) for part in parts] for name in ("features", "response", "weights"))
    return Rows(*(np.concatenate(values) for values in columns))


def in_pieces(rows: Rows) -> RowCache[Rows]:
    """Return rows in the form in which a solver reads them."""
    table = PrivateRows.from_arrays(rows.features, rows.response, names(rows.features.shape[1]))
    return row_pieces(table, lambda x, y: Rows(x, y, rows.weights))


def clipped_table(data: LossSums) -> np.ndarray:
    """Return the clipped rows with their responses (n, d + 1)."""
    rows = gathered(data._rows)
    return np.column_stack([rows.features, rows.response])


@contextmanager
def refused(
    message: Message, error: type[InputError] = InputError, **facts: object
) -> Iterator[pytest.ExceptionInfo[InputError]]:
    """Fail unless an error of this kind, with these facts among its own, is raised in this context.

    Sentences have tests of their own.
    """
    with pytest.raises(error) as caught:
        yield caught
    assert message in (caught.value.message, caught.value.kind), str(caught.value)
    assert {name: caught.value.facts[name] for name in facts} == facts, caught.value.facts


@contextmanager
def only_grows() -> Iterator[None]:
    """Fail unless a trigger of the ledger's tables refuses a statement in this context, by the error code."""
    with pytest.raises((sqlite3.IntegrityError, sql.exc.DatabaseError)) as caught:
        yield
    error = getattr(caught.value, "orig", caught.value)
    codes = (getattr(error, name, None) for name in ("sqlite_errorname", "sqlstate"))
    assert {"SQLITE_CONSTRAINT_TRIGGER", "P0001"} & set(codes), error


def total_mu(parts: Iterable[Spend]) -> float:
    """Return the total mu: Gaussian parts composed, purely private parts through the mu that their sum implies."""
    spends = tuple(parts)
    pure = pure_epsilon(spends)
    return compose([gaussian_mu(spends), mu_of_checked_epsilon(pure) if pure else 0.0])
