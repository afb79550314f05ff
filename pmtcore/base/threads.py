"""Threads of a pass over private rows: how many, and their results in the order of the blocks.

Blocks are summed by any number of threads. Their sums are added in the order of the table, so no bit depends on the
number of threads, whether a statistic is of integers or, in the lab, of floating-point numbers. Reading, parsing and
summing are stages of a pass with threads of their own, since numpy and Arrow release the interpreter's lock; each stage
has one block more than it has threads in memory.
"""

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import chain, islice
from threading import Semaphore, local
from typing import Self, TypeVar

import numpy as np

from pmtcore.base.messages import whole_number_between

R = TypeVar("R")
VARIABLE = "PMT_THREADS"
# More threads than any machine has cores are a typing error.
MOST_THREADS = 256
# Most threads that read cells in a pass. For a million rows by eleven columns the calling thread reads and splits the
# text in 0.5 s; parsing takes 0.9 s, and converting and hashing the numbers 1.0 s. More threads would wait.
_MOST_READERS = 3
# Fewest numbers of a pass that is divided among threads: two threads took as long as one for 200,000 rows by eleven
# numbers, and were 1.1 to 1.2 times faster for twice as many and for 20,000 rows by 201 (decision 160).
_FEWEST_NUMBERS = 3 * 10**6
_chosen: list[int] = []


def available_cores() -> int:
    """Return the number of cores that this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on every system
        return os.cpu_count() or 1


def set_threads(threads: int | None) -> None:
    """Choose the number of threads of all passes of this process; ``None``: that of the environment.

    Raises:
        InputError: not a number between 1 and 256.
    """
    _chosen[:] = [] if threads is None else [whole_number_between("threads", threads, 1, MOST_THREADS)]


def threads_of_passes() -> int:
    """Return the number of threads of a pass: the chosen one, that of ``PMT_THREADS``, or one.

    One by default: a library must not take the cores of the process that it is called in. The command line takes all.

    Raises:
        InputError: the variable is no number between 1 and 256.
    """
    if _chosen:
        return _chosen[0]
    given = os.environ.get(VARIABLE, "").strip()
    if not given:
        return 1
    return whole_number_between(VARIABLE, given, 1, MOST_THREADS)


def thread_count(numbers: int) -> int:
    """Return the number of threads of a pass over so many numbers: one, where more would not be faster."""
    return threads_of_passes() if numbers >= _FEWEST_NUMBERS else 1


def reader_threads() -> int:
    """Return the number of threads that read the cells of a pass."""
    return min(threads_of_passes(), _MOST_READERS)


class Buffers:
    """Memory that each thread reuses from block to block, since the system clears new memory, which takes time."""

    def __init__(self) -> None:
        self._own = local()

    def array(self, name: str, size: int) -> np.ndarray:
        """Return an array of ``size`` numbers, with the values that this thread last left under this name."""
        buffers = vars(self._own)
        if len(buffers.get(name, ())) < size:
            buffers[name] = np.empty(size)
        return np.asarray(buffers[name][:size])

    def __reduce__(self) -> tuple[type[Self], tuple[()]]:
        return type(self), ()


def in_order(tasks: Iterable[Callable[[], R]], threads: int | None = None) -> Iterator[R]:
    """Yield the results of tasks in the order of the tasks; a task is requested only when a thread will soon run it.

    Args:
        tasks: functions to call; the iterator that makes them runs in the calling thread.
        threads: how many are computed at a time; ``None``: as many as a pass of this process has.

    Raises:
        Exception: that of the first task in order that fails; later tasks are cancelled.
    """
    threads = threads_of_passes() if threads is None else threads
    remaining = iter(tasks)
    # A table of one block starts no thread.
    first = deque(islice(remaining, 0 if threads == 1 else 2))
    starts_threads = len(first) == 2
    # No task, and so no block, stays in memory when it is done.
    remaining = chain((first.popleft() for _ in range(len(first))), remaining)
    if not starts_threads:
        # Not ``yield from map(...)``, which would take a task's StopIteration for the end of the tasks.
        while task := deque(islice(remaining, 1)):
            yield task.pop()()
        return
    waiting: deque[Future[R]] = deque()
    # A thread goes on while an earlier block takes longer; only a block that is not done yet takes memory.
    room = Semaphore(threads + 1)
    with ThreadPoolExecutor(threads) as pool:
        try:
            room.acquire()
            for function in remaining:
                waiting.append(pool.submit(function))
                del function
                waiting[-1].add_done_callback(lambda _: room.release())
                while waiting and waiting[0].done():
                    yield waiting.popleft().result()
                room.acquire()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()
