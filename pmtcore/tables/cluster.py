"""Passes over a private table on a Dask cluster: a map over parts of the table, and a tree of integer sums.

Workers read parts of the table and return sums of integers, so the total is the same in any order, and if a part is
computed again after a worker was lost (proofs/noise.md, 14). Noise is drawn once, by the coordinator, after the spend
is in the ledger. Sums without noise are private: they are exchanged only between coordinator, scheduler and workers,
whose connections should be encrypted (``tls://``) on a shared network.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from operator import add
from typing import Any, TypeVar

import numpy as np

from pmtcore.base.block_sums import Block, block_sum
from pmtcore.base.messages import InputError, TableMessage, reraised_as
from pmtcore.base.private_rows import PrivateRows
from pmtcore.tables.coder import Coder
from pmtcore.tables.dialect import Dialect
from pmtcore.tables.sources import Cells, ManySource, ParquetSource, Source, TextSource

_WORKERS = 2  # of a cluster on this machine, with one thread each
_CONNECT_SECONDS = 10  # longest wait for a scheduler to accept a connection
_RETRIES = 5  # most repetitions of a part whose worker was lost
# Approximate rows of a part of a Parquet file: enough that sending the part and opening the file cost little. Parts of
# a small file have fewer rows, so that all workers have some.
_ROWS_OF_PART = 2**18
# Approximate number of parts of a smaller file, and most of a larger one; each costs the coordinator about 4 ms a pass.
_PARTS_OF_A_SMALL_FILE, _MOST_PARTS = 64, 1024
Summand = Callable[[np.ndarray, np.ndarray], np.ndarray]
R = TypeVar("R")


@dataclass(frozen=True, eq=False)
class TablePart:
    """Part of a table that workers read themselves: a file, or row groups of one."""

    source: ParquetSource | TextSource
    groups: tuple[int, ...] | None = None

    def blocks(self, names: Sequence[str], dialect: Dialect) -> Iterator[Cells]:
        """Yield blocks of the named columns, in one pass."""
        if isinstance(self.source, ParquetSource):
            return self.source.blocks(names, dialect, self.groups)
        return self.source.blocks(names, dialect)


def table_parts(source: Source) -> list[TablePart]:
    """Return the parts of a table that workers read.

    Raises:
        InputError: the table is in memory, or is a query.
    """
    if isinstance(source, ManySource):
        return [part for each in source.parts for part in table_parts(each)]
    if source.in_memory or not isinstance(source, ParquetSource | TextSource):
        raise InputError(TableMessage.CLUSTER_NEEDS_FILES)
    if isinstance(source, ParquetSource):
        return [TablePart(source, groups) for groups in _runs_of_groups(source.rows_of_groups())]
    return [TablePart(source)]


def _runs_of_groups(rows: Sequence[int]) -> list[tuple[int, ...]]:
    """Return runs of row groups with similar numbers of rows; for an empty file, one run without groups."""
    size = min(max(sum(rows) // _PARTS_OF_A_SMALL_FILE, 1), max(_ROWS_OF_PART, -(-sum(rows) // _MOST_PARTS)))
    runs: list[list[int]] = [[]]
    rows_in_run = 0
    for group, count in enumerate(rows):
        if runs[-1] and rows_in_run + count > size:
            runs.append([])
            rows_in_run = 0
        runs[-1].append(group)
        rows_in_run += count
    return [tuple(run) for run in runs]


def on_worker(task: Callable[[TablePart], R], part: TablePart) -> R:
    """Return the result of a task on one part; an error has no content of the table.

    Raises:
        InputError: the part could not be read, or the task failed.
    """
    try:
        return task(part)
    except InputError:
        raise
    except Exception as error:
        error_type = type(error).__name__
    raise InputError(TableMessage.WORKER_FAILED, reason=error_type)


def part_sum(part: TablePart, *, coder: Coder, dialect: Dialect, function: Summand) -> np.ndarray:
    """Return the sum of a function over the rows of one part."""

    def blocks() -> Iterator[Block]:
        for cells in part.blocks(coder.columns(), dialect):
            rows = coder.rows(cells)
            yield rows.x, rows.response

    private_rows = PrivateRows(blocks, 1, coder.names, weighted=coder.has_loss_weights)
    return block_sum(private_rows._blocks(), function, many=1)  # workers already use one thread per core


class Cluster:
    """Dask cluster, given by its address or started on this machine.

    Args:
        scheduler: its address (``tcp://...``, ``tls://...``); ``None``: two workers are started on this machine.

    Raises:
        InputError: Dask is not installed, or no scheduler answers at the address.
    """

    def __init__(self, scheduler: str | None = None) -> None:
        with reraised_as(InputError(TableMessage.NO_DASK), ImportError):
            distributed: Any = import_module("distributed")  # an extra
        self._own: Any = None
        if scheduler is None:
            self._own = distributed.LocalCluster(
                n_workers=_WORKERS, threads_per_worker=1, dashboard_address="127.0.0.1:0"
            )
        with reraised_as(InputError(TableMessage.NO_SCHEDULER, address=scheduler), OSError, ValueError):
            self.client: Any = distributed.Client(
                scheduler if self._own is None else self._own, timeout=_CONNECT_SECONDS
            )

    def sum_function(self, source: Source, coder: Coder, dialect: Dialect) -> Callable[[Summand], np.ndarray]:
        """Return a function that sums another function over the table's blocks, on the cluster."""
        source_parts = table_parts(source)

        def total(function: Summand) -> np.ndarray:
            task = partial(part_sum, coder=coder, dialect=dialect, function=function)
            return np.asarray(self.joined(source_parts, task, add))

        return total

    def joined(self, table_parts: Sequence[TablePart], task: Callable[[TablePart], R], join: Callable[[R, R], R]) -> R:
        """Return the results of a task on all parts, joined in a tree of neighbouring results, in order.

        Args:
            table_parts: parts of one table, at least one.
            task: computed for each part on a worker.
            join: combines the results of an earlier and a later part.

        Raises:
            InputError: a part could not be read, or the cluster failed; it has no content of the table.
        """
        submit = partial(self.client.submit, pure=False, retries=_RETRIES)
        results = [submit(on_worker, task, part) for part in table_parts]
        while len(results) > 1:
            pairs = zip(results[::2], results[1::2], strict=False)
            results = [*(submit(join, a, b) for a, b in pairs), *results[len(results) // 2 * 2 :]]
        try:
            result: R = results[0].result()
        except InputError:
            raise
        except Exception as error:  # of Dask's classes
            error_type = type(error).__name__
        else:
            return result
        raise InputError(TableMessage.CLUSTER_FAILED, reason=error_type)

    def close(self) -> None:
        """Close the connection to the cluster, and shut it down if this process started it."""
        self.client.close()
        if self._own is not None:
            self._own.close()
