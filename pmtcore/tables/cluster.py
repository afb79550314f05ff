"""Passes over a private table on a Dask cluster: a map over parts of the table, and a tree of integer sums.

Workers read the table where it lies and hand on sums of integers, so a part that is computed twice, in another order
or on another machine after a worker was lost changes no bit (proofs/noise.md, 14). Noise is drawn once, by the
coordinator,
after the spend is in the ledger. Sums without noise are private: they stay between coordinator, scheduler and workers,
whose connections are to be encrypted (``tls://``) where others can listen.
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

_WORKERS = 2  # of a cluster of one's own: this machine's, one thread each
_PATIENCE = 10  # seconds that a scheduler has to answer
_TRIES = 5  # of a part whose worker was lost
# Rows of a part of a Parquet file, about: enough to repay handing it over, and opening the file, where row groups are
# small. Of a small file fewer, so that many workers have some.
_ROWS_OF_PART = 2**18
# Parts of a smaller file, about, and of a larger one, at most: each takes the coordinator some 4 ms a pass.
_PARTS, _MOST_PARTS = 64, 1024
Summand = Callable[[np.ndarray, np.ndarray], np.ndarray]
R = TypeVar("R")


@dataclass(frozen=True, eq=False)
class TablePart:
    """Part of a table that is sent to workers by name: a file, or row groups of one."""

    source: ParquetSource | TextSource
    groups: tuple[int, ...] | None = None

    def blocks(self, names: Sequence[str], dialect: Dialect) -> Iterator[Cells]:
        """Yield blocks of the named columns, in one pass."""
        if isinstance(self.source, ParquetSource):
            return self.source.blocks(names, dialect, self.groups)
        return self.source.blocks(names, dialect)


def parts(source: Source) -> list[TablePart]:
    """Return a table as parts that workers read for themselves.

    Raises:
        InputError: the table lies in this process's memory, or is a query.
    """
    if isinstance(source, ManySource):
        return [part for each in source.parts for part in parts(each)]
    if source.in_memory or not isinstance(source, ParquetSource | TextSource):
        raise InputError(TableMessage.CLUSTER_NEEDS_FILES)
    if isinstance(source, ParquetSource):
        return [TablePart(source, groups) for groups in _runs_of_groups(source.rows_of_groups())]
    return [TablePart(source)]


def _runs_of_groups(rows: Sequence[int]) -> list[tuple[int, ...]]:
    """Return row groups as runs of about as many rows, at least one run; an empty file has one without a group."""
    size = min(max(sum(rows) // _PARTS, 1), max(_ROWS_OF_PART, -(-sum(rows) // _MOST_PARTS)))
    runs: list[list[int]] = [[]]
    filled = 0
    for group, count in enumerate(rows):
        if runs[-1] and filled + count > size:
            runs.append([])
            filled = 0
        runs[-1].append(group)
        filled += count
    return [tuple(run) for run in runs]


def on_worker(task: Callable[[TablePart], R], part: TablePart) -> R:
    """Return the result of a task on one part; an error there reveals nothing of what was read.

    Raises:
        InputError: the part could not be read, or the task failed.
    """
    try:
        return task(part)
    except InputError:
        raise
    except Exception as error:
        kind = type(error).__name__
    raise InputError(TableMessage.WORKER_FAILED, reason=kind)


def part_sum(part: TablePart, *, coder: Coder, dialect: Dialect, function: Summand) -> np.ndarray:
    """Return the sum of a function over the rows of one part."""

    def blocks() -> Iterator[Block]:
        for cells in part.blocks(coder.columns(), dialect):
            rows = coder.rows(cells)
            yield rows.x, rows.response

    read = PrivateRows(blocks, 1, coder.names, weighted=coder.has_loss_weights)
    return block_sum(read._blocks(), function, many=1)  # a worker has a thread for each core already


class Cluster:
    """A Dask cluster: somebody's, or one of this machine's own.

    Args:
        scheduler: its address (``tcp://...``, ``tls://...``); ``None`` starts two workers here.

    Raises:
        InputError: Dask is not installed, or nobody answers at the address.
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
            self.client: Any = distributed.Client(scheduler if self._own is None else self._own, timeout=_PATIENCE)

    def adder(self, source: Source, coder: Coder, dialect: Dialect) -> Callable[[Summand], np.ndarray]:
        """Return a function that sums another one over the table's blocks, on the cluster."""
        source_parts = parts(source)

        def total(function: Summand) -> np.ndarray:
            task = partial(part_sum, coder=coder, dialect=dialect, function=function)
            return np.asarray(self.joined(source_parts, task, add))

        return total

    def joined(self, table_parts: Sequence[TablePart], task: Callable[[TablePart], R], join: Callable[[R, R], R]) -> R:
        """Return the joined results of a task on all parts: a map, and a tree that joins neighbouring results in order.

        Args:
            table_parts: parts of one table, at least one.
            task: computed of each part on a worker.
            join: makes one result of those of an earlier and of a later part.

        Raises:
            InputError: a part could not be read, or the cluster failed; without a word of what was read.
        """
        submit = partial(self.client.submit, pure=False, retries=_TRIES)
        level = [submit(on_worker, task, part) for part in table_parts]
        while len(level) > 1:
            pairs = zip(level[::2], level[1::2], strict=False)
            level = [*(submit(join, a, b) for a, b in pairs), *level[len(level) // 2 * 2 :]]
        try:
            result: R = level[0].result()
        except InputError:
            raise
        except Exception as error:  # of Dask's own kinds
            kind = type(error).__name__
        else:
            return result
        raise InputError(TableMessage.CLUSTER_FAILED, reason=kind)

    def close(self) -> None:
        """Close the connection to the cluster, and shut it down if this process started it."""
        self.client.close()
        if self._own is not None:
            self._own.close()
