"""Sums over blocks of rows, without warnings, which would reveal something of a row."""

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import TypeVar

import numpy as np

from pmtcore.base import threads

Block = tuple[np.ndarray, np.ndarray]  # features (k, d), response (k,)
Transform = Callable[[np.ndarray, np.ndarray], Block]  # of the rows of a block, each by itself
Summand = Callable[[np.ndarray, np.ndarray], np.ndarray]
T = TypeVar("T")


def total(parts: Iterable[np.ndarray]) -> np.ndarray:
    """Return the sum of one or more arrays.

    Raises:
        ValueError: no array.
    """
    every = iter(parts)
    first = next(every, None)
    if first is None:
        raise ValueError("a table of private rows has at least one block")
    return sum(every, start=first)


def block_sum(blocks: Iterable[Block], function: Summand, many: int | None = None) -> np.ndarray:
    """Return ``sum over blocks of function(features, response)``, without warnings.

    Args:
        blocks: the blocks.
        function: from a block to its summand.
        many: threads that sum; ``None``: as many as a pass of this process has.

    Raises:
        ValueError: no block.
    """
    tasks = (partial(without_warnings, function, features, response) for features, response in blocks)
    return total(threads.in_order(tasks, many))


def quiet_sum(function: Callable[[Iterable[T]], np.ndarray], pieces: Iterable[T]) -> np.ndarray:
    """Return the sum over pieces without a warning, in the thread that computes it."""
    with np.errstate(all="ignore"):
        return function(pieces)


def without_warnings(function: Summand, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Compute a figure of private rows without a warning: whether something overflowed is private too."""
    with np.errstate(all="ignore"):
        return np.asarray(function(x, y))


def split_blocks(blocks: Iterable[Block], size: int) -> Iterator[Block]:
    """Yield the rows of each block in nearly equal parts of at most ``size`` rows, as views of the block."""
    for x, y in blocks:
        rows = max(-(-len(y) // max(-(-len(y) // size), 1)), 1)
        for start in range(0, len(y), rows):
            yield x[start : start + rows], y[start : start + rows]


def resized_blocks(blocks: Iterable[Block], size: int) -> Iterator[Block]:
    """Yield the same rows in blocks of ``size`` rows in row-major order; the last one may be shorter."""
    features, response, count = np.empty((0, 0)), np.empty(0), 0
    for x, y in blocks:
        start = 0
        while start < len(y):
            if count == 0:
                features, response = np.empty((size, x.shape[1])), np.empty((size, *y.shape[1:]))
            part = min(size - count, len(y) - start)
            features[count : count + part] = x[start : start + part]
            response[count : count + part] = y[start : start + part]
            start, count = start + part, count + part
            if count == size:
                yield features, response
                count = 0
    if count:
        yield features[:count], response[:count]
